/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer-window.h"

#include <glib/gi18n-lib.h>

static gboolean
settle (const GradusLayer *layer,
        const GradusShape *input,
        GradusLayerWindow *window,
        GError           **error)
{
  gradus_layer_window_read (layer, "pool_size", window);
  return gradus_layer_window_settle (window, input, gradus_layer_arg (layer, "padding")->i, error);
}

static gboolean
pool_infer (const GradusLayer *layer,
            const GradusShape *inputs,
            guint              n_inputs,
            GradusShape       *output,
            GError           **error)
{
  GradusLayerWindow window;

  if (!gradus_layer_check_axes (layer, &inputs[0], error)
      || !settle (layer, &inputs[0], &window, error))
    return FALSE;
  *output = gradus_layer_axes_shape (window.n_axes, window.out, inputs[0].dims[inputs[0].rank - 1]);
  return TRUE;
}

static gboolean
add_pool (const GradusLayer *layer, GradusLayerBuild *build, const char *op, GError **error)
{
  GradusValueId     outputs[2];
  GradusLayerWindow w;

  if (!settle (layer, &build->shapes[0], &w, error)
      || !gradus_program_add_node (build->program, op, 0, build->inputs, 1, outputs, error, "pool",
                                   w.n_axes, w.window, "strides", w.n_axes, w.strides, "pads",
                                   2 * w.n_axes, w.pads, NULL))
    return FALSE;
  build->output = outputs[0];
  return TRUE;
}

/* MaxPooling1D, MaxPooling2D, MaxPooling3D: the op keeps the winner's place in one byte. */
static gboolean
max_infer (const GradusLayer *layer,
           const GradusShape *inputs,
           guint              n_inputs,
           GradusShape       *output,
           GError           **error)
{
  const GradusArg *size = gradus_layer_arg (layer, "pool_size");
  gint64           places = 1;

  for (guint i = 0; i < size->n && places <= 256; i++)
    places *= size->ints[i];
  if (places <= 256)
    return pool_infer (layer, inputs, n_inputs, output, error);
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("its window holds more than 256 places. Use a smaller pool_size, or "
                          "two pooling layers."));
  return FALSE;
}

static gboolean
max_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return add_pool (layer, build, "max_pool", error);
}

/* AveragePooling1D, AveragePooling2D, AveragePooling3D */
static gboolean
average_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return add_pool (layer, build, "average_pool", error);
}

#define POOL_ARGS(variable, SIZE, twos)                                                            \
  static const GradusArgSpec variable[] = {                                                        \
    { "pool_size", SIZE, twos, 1, 1 << 16 },                                                       \
    { "strides", SIZE, "null", 1, 1 << 16 },                                                       \
    { "padding", GRADUS_ARG_PADDING, "\"valid\"", 0, 0 },                                          \
    { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },                                 \
    { NULL },                                                                                      \
  }

POOL_ARGS (pool1d_args, GRADUS_ARG_SINGLE, "2");
POOL_ARGS (pool2d_args, GRADUS_ARG_PAIR, "[2, 2]");
POOL_ARGS (pool3d_args, GRADUS_ARG_TRIPLE, "[2, 2, 2]");

#define POOL(variable, name, snake, args, infer, build)                                            \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, args, 1, 1, infer, NULL, build, NULL, NULL,                                       \
  };

POOL (max_pooling1d, "MaxPooling1D", "max_pooling1d", pool1d_args, max_infer, max_build)
POOL (max_pooling2d, "MaxPooling2D", "max_pooling2d", pool2d_args, max_infer, max_build)
POOL (max_pooling3d, "MaxPooling3D", "max_pooling3d", pool3d_args, max_infer, max_build)
POOL (average_pooling1d,
      "AveragePooling1D",
      "average_pooling1d",
      pool1d_args,
      pool_infer,
      average_build)
POOL (average_pooling2d,
      "AveragePooling2D",
      "average_pooling2d",
      pool2d_args,
      pool_infer,
      average_build)
POOL (average_pooling3d,
      "AveragePooling3D",
      "average_pooling3d",
      pool3d_args,
      pool_infer,
      average_build)

/* GlobalMaxPooling1D and so on */
static const GradusArgSpec global_args[] = {
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },
  { "keepdims", GRADUS_ARG_BOOL, "false", 0, 0 },
  { NULL },
};

static gboolean
global_infer (const GradusLayer *layer,
              const GradusShape *inputs,
              guint              n_inputs,
              GradusShape       *output,
              GError           **error)
{
  static const gint64 ones[GRADUS_LAYER_AXES] = { 1, 1, 1 };
  guint               n_axes = gradus_layer_axes (layer);

  if (!gradus_layer_check_axes (layer, &inputs[0], error))
    return FALSE;
  *output = gradus_layer_axes_shape (gradus_layer_arg (layer, "keepdims")->i ? n_axes : 0, ones,
                                     inputs[0].dims[inputs[0].rank - 1]);
  return TRUE;
}

static gboolean
add_reduction (const GradusLayer *layer,
               GradusLayerBuild  *build,
               const char        *op,
               GradusValueId      x,
               GradusValueId     *y,
               GError           **error)
{
  static const gint64 axes[GRADUS_LAYER_AXES] = { 1, 2, 3 };

  return gradus_program_add_node (build->program, op, 0, &x, 1, y, error, "axes",
                                  gradus_layer_axes (layer), axes, "keepdims",
                                  gradus_layer_arg (layer, "keepdims")->i, NULL);
}

static gboolean
global_max_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return add_reduction (layer, build, "reduce_max", build->inputs[0], &build->output, error);
}

static gboolean
global_average_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return add_reduction (layer, build, "reduce_mean", build->inputs[0], &build->output, error);
}

#define GLOBAL(variable, name, snake, build)                                                       \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, global_args, 1, 1, global_infer, NULL, build, NULL, NULL,                         \
  };

GLOBAL (global_max_pooling1d, "GlobalMaxPooling1D", "global_max_pooling1d", global_max_build)
GLOBAL (global_max_pooling2d, "GlobalMaxPooling2D", "global_max_pooling2d", global_max_build)
GLOBAL (global_max_pooling3d, "GlobalMaxPooling3D", "global_max_pooling3d", global_max_build)
GLOBAL (global_average_pooling2d,
        "GlobalAveragePooling2D",
        "global_average_pooling2d",
        global_average_build)
GLOBAL (global_average_pooling3d,
        "GlobalAveragePooling3D",
        "global_average_pooling3d",
        global_average_build)

/* GlobalAveragePooling1D is over the real steps of a sequence, where a mask says which these are. */
static gboolean
masked_average_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const gint64  per_step[3] = { -1, build->shapes[0].dims[1], 1 };
  GradusValueId values[2] = { build->inputs[0], build->masks[0] }, parts[2], mask;

  if (build->masks[0] == GRADUS_NO_VALUE)
    return global_average_build (layer, build, error);
  if (!gradus_program_add_node (build->program, "reshape", 0, &build->masks[0], 1, &mask, error,
                                "shape", 3u, per_step, NULL))
    return FALSE;
  values[1] = mask;
  return gradus_program_add_node (build->program, "multiply", 0, values, 2, &parts[0], error, NULL)
         && add_reduction (layer, build, "reduce_sum", parts[0], &parts[0], error)
         && add_reduction (layer, build, "reduce_sum", mask, &parts[1], error)
         && gradus_program_add_node (build->program, "divide", 0, parts, 2, &build->output, error,
                                     NULL);
}

const GradusLayerClass gradus_layer_global_average_pooling1d = {
  .name = "GlobalAveragePooling1D",
  .snake = "global_average_pooling1d",
  .args = global_args,
  .min_inputs = 1,
  .max_inputs = 1,
  .infer = global_infer,
  .build = masked_average_build,
  .free_time = TRUE,
};
