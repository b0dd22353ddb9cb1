/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer-window.h"

#include <glib/gi18n-lib.h>

/* UpSampling1D, UpSampling2D, UpSampling3D */
static const GradusArgSpec up1d_args[] = { { "size", GRADUS_ARG_INT, "2", 1, 1 << 16 }, { NULL } };
static const GradusArgSpec up2d_args[] = {
  { "size", GRADUS_ARG_PAIR, "[2, 2]", 1, 1 << 16 },
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },
  { "interpolation", GRADUS_ARG_INTERPOLATION, "\"nearest\"", 0, 0 },
  { NULL },
};
static const GradusArgSpec up3d_args[] = {
  { "size", GRADUS_ARG_TRIPLE, "[2, 2, 2]", 1, 1 << 16 },
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },
  { NULL },
};

static gboolean
up_infer (const GradusLayer *layer,
          const GradusShape *inputs,
          guint              n_inputs,
          GradusShape       *output,
          GError           **error)
{
  const GradusArg *size = gradus_layer_arg (layer, "size");
  guint            n_axes = gradus_layer_axes (layer);

  if (!gradus_layer_check_axes (layer, &inputs[0], error))
    return FALSE;
  *output = inputs[0];
  for (guint i = 0; i < n_axes; i++)
    output->dims[1 + i] *= n_axes == 1 ? size->i : size->ints[i];
  return TRUE;
}

static gboolean
up_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  guint    n_axes = gradus_layer_axes (layer);
  gboolean bilinear = n_axes == 2 && gradus_layer_arg (layer, "interpolation")->i == 1;

  return gradus_program_add_node (build->program, bilinear ? "resize_bilinear" : "resize_nearest",
                                  0, build->inputs, 1, &build->output, error, "size", n_axes,
                                  &build->output_shape.dims[1], NULL);
}

/* ZeroPadding1D and so on, Cropping1D and so on: the op adds, or with numbers below 0 takes away. */
static gboolean
edges_infer (const GradusLayer *layer,
             const char        *arg,
             gint64             sign,
             const GradusShape *input,
             GradusShape       *output,
             GError           **error)
{
  const gint64 *edges = gradus_layer_arg (layer, arg)->ints;

  if (!gradus_layer_check_axes (layer, input, error))
    return FALSE;
  *output = *input;
  for (guint i = 0; i < gradus_layer_axes (layer); i++)
    {
      g_autofree char *met = NULL;

      output->dims[1 + i] += sign * (edges[2 * i] + edges[2 * i + 1]);
      if (output->dims[1 + i] > 0)
        continue;
      met = gradus_shape_to_string (input);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("it takes away all of axis %u of its input, which has shape %s. Crop less."),
                   i + 1, met);
      return FALSE;
    }
  return TRUE;
}

static gboolean
edges_build (const GradusLayer *layer,
             const char        *arg,
             gint64             sign,
             GradusLayerBuild  *build,
             GError           **error)
{
  const gint64 *edges = gradus_layer_arg (layer, arg)->ints;
  gint64        before[GRADUS_MAX_RANK] = { 0 }, after[GRADUS_MAX_RANK] = { 0 };
  guint         rank = build->shapes[0].rank;

  for (guint i = 0; i < gradus_layer_axes (layer); i++)
    {
      before[1 + i] = sign * edges[2 * i];
      after[1 + i] = sign * edges[2 * i + 1];
    }
  return gradus_program_add_node (build->program, "pad", 0, build->inputs, 1, &build->output, error,
                                  "before", rank, before, "after", rank, after, NULL);
}

static gboolean
padding_infer (const GradusLayer *layer,
               const GradusShape *inputs,
               guint              n_inputs,
               GradusShape       *output,
               GError           **error)
{
  return edges_infer (layer, "padding", 1, &inputs[0], output, error);
}

static gboolean
padding_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return edges_build (layer, "padding", 1, build, error);
}

static gboolean
cropping_infer (const GradusLayer *layer,
                const GradusShape *inputs,
                guint              n_inputs,
                GradusShape       *output,
                GError           **error)
{
  return edges_infer (layer, "cropping", -1, &inputs[0], output, error);
}

static gboolean
cropping_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return edges_build (layer, "cropping", -1, build, error);
}

#define EDGES_ARGS(variable, name, KIND, fallback)                                                 \
  static const GradusArgSpec variable[] = {                                                        \
    { name, KIND, fallback, 0, 1 << 24 },                                                          \
    { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },                                 \
    { NULL },                                                                                      \
  }

EDGES_ARGS (padding1d_args, "padding", GRADUS_ARG_EDGES_1, "1");
EDGES_ARGS (padding2d_args, "padding", GRADUS_ARG_EDGES_2, "1");
EDGES_ARGS (padding3d_args, "padding", GRADUS_ARG_EDGES_3, "1");
static const GradusArgSpec cropping1d_args[] = { { "cropping", GRADUS_ARG_EDGES_1, "1", 0,
                                                   1 << 24 },
                                                 { NULL } };
EDGES_ARGS (cropping2d_args, "cropping", GRADUS_ARG_EDGES_2, "0");
EDGES_ARGS (cropping3d_args, "cropping", GRADUS_ARG_EDGES_3, "1");

#define RESAMPLE(variable, name, snake, args, infer, build)                                        \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, args, 1, 1, infer, NULL, build, NULL, NULL,                                       \
  };

RESAMPLE (up_sampling1d, "UpSampling1D", "up_sampling1d", up1d_args, up_infer, up_build)
RESAMPLE (up_sampling2d, "UpSampling2D", "up_sampling2d", up2d_args, up_infer, up_build)
RESAMPLE (up_sampling3d, "UpSampling3D", "up_sampling3d", up3d_args, up_infer, up_build)
RESAMPLE (zero_padding1d,
          "ZeroPadding1D",
          "zero_padding1d",
          padding1d_args,
          padding_infer,
          padding_build)
RESAMPLE (zero_padding2d,
          "ZeroPadding2D",
          "zero_padding2d",
          padding2d_args,
          padding_infer,
          padding_build)
RESAMPLE (zero_padding3d,
          "ZeroPadding3D",
          "zero_padding3d",
          padding3d_args,
          padding_infer,
          padding_build)
RESAMPLE (cropping1d, "Cropping1D", "cropping1d", cropping1d_args, cropping_infer, cropping_build)
RESAMPLE (cropping2d, "Cropping2D", "cropping2d", cropping2d_args, cropping_infer, cropping_build)
RESAMPLE (cropping3d, "Cropping3D", "cropping3d", cropping3d_args, cropping_infer, cropping_build)
