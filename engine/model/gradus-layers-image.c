/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

static gboolean
check_image (const GradusShape *input, GError **error)
{
  g_autofree char *met = NULL;

  if (input->rank == 4 && input->dims[1] > 0 && input->dims[2] > 0 && input->dims[3] > 0)
    return TRUE;
  met = gradus_shape_to_string (input);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("its input has shape %s, but images (None, height, width, channels) are wanted. "
                 "Put a Reshape before it, such as to (28, 28, 1), or give the input layer that "
                 "shape."),
               met);
  return FALSE;
}

/* Where a window of @size that moves by @stride over @in lands, and what it needs at the edges.
 * Keras puts the odd one of "same" at the end. */
static gint64
slide (gint64 in, gint64 size, gint64 stride, gboolean same, gint64 *before, gint64 *after)
{
  gint64 out, missing;

  *before = *after = 0;
  if (!same)
    return in < size ? 0 : (in - size) / stride + 1;
  out = (in + stride - 1) / stride;
  missing = MAX (0, (out - 1) * stride + size - in);
  *before = missing / 2;
  *after = missing - *before;
  return out;
}

typedef struct
{
  gint64 window[2], strides[2], dilations[2];
  gint64 pads[4]; /* top, bottom, left, right */
  gint64 out[2];
} Geometry;

static gboolean
settle (Geometry *geometry, const GradusShape *input, gboolean same, GError **error)
{
  for (guint i = 0; i < 2; i++)
    {
      gint64 size = (geometry->window[i] - 1) * geometry->dilations[i] + 1;

      geometry->out[i] = slide (input->dims[i + 1], size, geometry->strides[i], same,
                                &geometry->pads[2 * i], &geometry->pads[2 * i + 1]);
      if (geometry->out[i] < 1)
        {
          g_autofree char *met = gradus_shape_to_string (input);

          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("its window covers %" PRId64
                          " along axis %u, but its input has shape %s. Use a smaller window, "
                          "padding “same”, or fewer pooling layers before it."),
                       size, i + 1, met);
          return FALSE;
        }
    }
  return TRUE;
}

/* Conv2D */
static const GradusArgSpec conv2d_args[] = {
  { "filters", GRADUS_ARG_INT, NULL, 1, 1 << 24 },
  { "kernel_size", GRADUS_ARG_PAIR, NULL, 1, 1 << 16 },
  { "strides", GRADUS_ARG_PAIR, "[1, 1]", 1, 1 << 16 },
  { "padding", GRADUS_ARG_PADDING, "\"valid\"", 0, 0 },
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },
  { "dilation_rate", GRADUS_ARG_PAIR, "[1, 1]", 1, 1 << 16 },
  { "groups", GRADUS_ARG_ONLY, "1", 0, 0 },
  { "activation", GRADUS_ARG_ACTIVATION, "\"linear\"", 0, 0 },
  { "use_bias", GRADUS_ARG_BOOL, "true", 0, 0 },
  { "kernel_initializer", GRADUS_ARG_INITIALIZER, "\"glorot_uniform\"", 0, 0 },
  { "bias_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "kernel_regularizer", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "bias_regularizer", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "activity_regularizer", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "kernel_constraint", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "bias_constraint", GRADUS_ARG_ONLY, "null", 0, 0 },
  { NULL },
};

static gboolean
conv2d_geometry (const GradusLayer *layer, const GradusShape *input, Geometry *geometry, GError **error)
{
  for (guint i = 0; i < 2; i++)
    {
      geometry->window[i] = gradus_layer_arg (layer, "kernel_size")->ints[i];
      geometry->strides[i] = gradus_layer_arg (layer, "strides")->ints[i];
      geometry->dilations[i] = gradus_layer_arg (layer, "dilation_rate")->ints[i];
    }
  return settle (geometry, input, gradus_layer_arg (layer, "padding")->i == 1, error);
}

static gboolean
conv2d_infer (const GradusLayer *layer,
              const GradusShape *inputs,
              guint              n_inputs,
              GradusShape       *output,
              GError           **error)
{
  Geometry geometry;
  gboolean strided, dilated;

  if (!check_image (&inputs[0], error) || !conv2d_geometry (layer, &inputs[0], &geometry, error))
    return FALSE;
  strided = geometry.strides[0] > 1 || geometry.strides[1] > 1;
  dilated = geometry.dilations[0] > 1 || geometry.dilations[1] > 1;
  if (strided && dilated)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("it has both strides and dilation_rate above 1, which Keras does not "
                             "allow either. Leave one of them at 1."));
      return FALSE;
    }
  *output = gradus_shape (4, (gint64) GRADUS_DIM_BATCH, geometry.out[0], geometry.out[1],
                          gradus_layer_arg (layer, "filters")->i);
  return TRUE;
}

static guint
conv2d_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  const gint64 *size = gradus_layer_arg (layer, "kernel_size")->ints;
  gint64        filters = gradus_layer_arg (layer, "filters")->i;

  weights[0] = (GradusWeightSpec){ "kernel",
                                   gradus_shape (4, size[0], size[1], input->dims[3], filters),
                                   FALSE,
                                   &gradus_layer_arg (layer, "kernel_initializer")->initializer };
  weights[1] = (GradusWeightSpec){ "bias", gradus_shape (1, filters), FALSE,
                                   &gradus_layer_arg (layer, "bias_initializer")->initializer };
  return gradus_layer_arg (layer, "use_bias")->i ? 2 : 1;
}

static gboolean
conv2d_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId inputs[2] = { build->inputs[0], gradus_layer_weight (layer, build, "kernel") };
  GradusValueId value;
  Geometry      geometry;

  return conv2d_geometry (layer, &build->shapes[0], &geometry, error) &&
         gradus_program_add_node (build->program, "conv", 0, inputs, 2, &value, error,
                                  "strides", 2u, geometry.strides, "pads", 4u, geometry.pads,
                                  "dilations", 2u, geometry.dilations, NULL) &&
         gradus_layer_finish (layer, build, value, error);
}

const GradusLayerClass gradus_layer_conv2d = {
  "Conv2D", "conv2d", conv2d_args, 1, 1, conv2d_infer, conv2d_weights, conv2d_build, NULL, NULL,
};

/* MaxPooling2D: the op keeps the winner's place in one byte. */
static const GradusArgSpec max_pooling2d_args[] = {
  { "pool_size", GRADUS_ARG_PAIR, "[2, 2]", 1, 255 },
  { "strides", GRADUS_ARG_PAIR, "null", 1, 1 << 16 },
  { "padding", GRADUS_ARG_PADDING, "\"valid\"", 0, 0 },
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },
  { NULL },
};

static gboolean
pool_geometry (const GradusLayer *layer, const GradusShape *input, Geometry *geometry, GError **error)
{
  const GradusArg *size = gradus_layer_arg (layer, "pool_size");
  const GradusArg *strides = gradus_layer_arg (layer, "strides");

  for (guint i = 0; i < 2; i++)
    {
      geometry->window[i] = size->ints[i];
      geometry->strides[i] = strides->is_null ? size->ints[i] : strides->ints[i];
      geometry->dilations[i] = 1;
    }
  return settle (geometry, input, gradus_layer_arg (layer, "padding")->i == 1, error);
}

static gboolean
pool_infer (const GradusLayer *layer,
            const GradusShape *inputs,
            guint              n_inputs,
            GradusShape       *output,
            GError           **error)
{
  const gint64 *size = gradus_layer_arg (layer, "pool_size")->ints;
  Geometry      geometry;

  if (!check_image (&inputs[0], error) || !pool_geometry (layer, &inputs[0], &geometry, error))
    return FALSE;
  if (size[0] * size[1] > 256)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("its window holds more than 256 places. Use a smaller pool_size, or "
                             "two pooling layers."));
      return FALSE;
    }
  *output = gradus_shape (4, (gint64) GRADUS_DIM_BATCH, geometry.out[0], geometry.out[1],
                          inputs[0].dims[3]);
  return TRUE;
}

static gboolean
pool_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId outputs[2];
  Geometry      geometry;

  if (!pool_geometry (layer, &build->shapes[0], &geometry, error) ||
      !gradus_program_add_node (build->program, "max_pool", 0, build->inputs, 1, outputs, error,
                                "pool", 2u, geometry.window, "strides", 2u, geometry.strides,
                                "pads", 4u, geometry.pads, NULL))
    return FALSE;
  build->output = outputs[0];
  return TRUE;
}

const GradusLayerClass gradus_layer_max_pooling2d = {
  "MaxPooling2D", "max_pooling2d", max_pooling2d_args, 1, 1, pool_infer, NULL, pool_build, NULL, NULL,
};

/* GlobalAveragePooling2D */
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
  if (!check_image (&inputs[0], error))
    return FALSE;
  if (gradus_layer_arg (layer, "keepdims")->i)
    *output = gradus_shape (4, (gint64) GRADUS_DIM_BATCH, (gint64) 1, (gint64) 1,
                            inputs[0].dims[3]);
  else
    *output = gradus_shape (2, (gint64) GRADUS_DIM_BATCH, inputs[0].dims[3]);
  return TRUE;
}

static gboolean
global_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const gint64 axes[2] = { 1, 2 };

  return gradus_program_add_node (build->program, "reduce_mean", 0, build->inputs, 1,
                                  &build->output, error, "axes", 2u, axes, "keepdims",
                                  gradus_layer_arg (layer, "keepdims")->i, NULL);
}

const GradusLayerClass gradus_layer_global_average_pooling2d = {
  "GlobalAveragePooling2D", "global_average_pooling2d", global_args, 1, 1,
  global_infer, NULL, global_build, NULL, NULL,
};
