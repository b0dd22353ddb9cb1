/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer-window.h"

#include <glib/gi18n-lib.h>

/* clang-format off */
/* The arguments of Keras, by the kind of a size. */
#define SLIDING(SIZE, ones, PADDING)                                                               \
  { "kernel_size", SIZE, NULL, 1, 1 << 16 },                                                       \
  { "strides", SIZE, ones, 1, 1 << 16 },                                                           \
  { "padding", PADDING, "\"valid\"", 0, 0 },                                                       \
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },                                   \
  { "dilation_rate", SIZE, ones, 1, 1 << 16 }
#define FILTERS { "filters", GRADUS_ARG_INT, NULL, 1, 1 << 24 }
#define MULTIPLIER { "depth_multiplier", GRADUS_ARG_INT, "1", 1, 1 << 16 }
#define KERNEL(kernel)                                                                             \
  { kernel "_initializer", GRADUS_ARG_INITIALIZER, "\"glorot_uniform\"", 0, 0 },                   \
  { kernel "_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },                                        \
  { kernel "_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 }
#define FINISH                                                                                     \
  { "activation", GRADUS_ARG_ACTIVATION, "\"linear\"", 0, 0 },                                     \
  { "use_bias", GRADUS_ARG_BOOL, "true", 0, 0 },                                                   \
  { "bias_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },                               \
  { "bias_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },                                           \
  { "activity_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },                                       \
  { "bias_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 }
/* What Keras 2 wrote of the class that these were derived from. */
#define INHERITED                                                                                  \
  { "groups", GRADUS_ARG_ONLY, "1", 0, 0 },                                                        \
  { "kernel_initializer", GRADUS_ARG_UNUSED, "", 0, 0 },                                           \
  { "kernel_regularizer", GRADUS_ARG_UNUSED, "", 0, 0 },                                           \
  { "kernel_constraint", GRADUS_ARG_UNUSED, "", 0, 0 }
/* clang-format on */

/* (sizes, @channels, @filters) */
static GradusShape
kernel_shape (const GradusLayer *layer, gint64 channels, gint64 filters)
{
  const GradusArg *size = gradus_layer_arg (layer, "kernel_size");
  GradusShape      shape = { .rank = size->n + 2 };

  for (guint i = 0; i < size->n; i++)
    shape.dims[i] = size->ints[i];
  shape.dims[size->n] = channels;
  shape.dims[size->n + 1] = filters;
  return shape;
}

static gint64
channels_of (const GradusShape *input)
{
  return input->dims[input->rank - 1];
}

static GradusWeightSpec
weight (const GradusLayer *layer, const char *name, GradusShape shape, const char *initializer)
{
  return (GradusWeightSpec){ name, shape, FALSE,
                             &gradus_layer_arg (layer, initializer)->initializer };
}

/* Appends the bias, if there is one, and says how many weights there are. */
static guint
with_bias (const GradusLayer *layer, gint64 channels, GradusWeightSpec *weights, guint n)
{
  weights[n] = weight (layer, "bias", gradus_shape (1, channels), "bias_initializer");
  return gradus_layer_arg (layer, "use_bias")->i ? n + 1 : n;
}

static gboolean
settle (const GradusLayer *layer,
        const GradusShape *input,
        GradusLayerWindow *window,
        GError           **error)
{
  gradus_layer_window_read (layer, "kernel_size", window);
  return gradus_layer_window_settle (window, input, gradus_layer_arg (layer, "padding")->i, error);
}

static gboolean
refuse_strided_dilation (const GradusLayerWindow *window, GError **error)
{
  gboolean strided = FALSE, dilated = FALSE;

  for (guint i = 0; i < window->n_axes; i++)
    {
      strided |= window->strides[i] > 1;
      dilated |= window->dilations[i] > 1;
    }
  if (!strided || !dilated)
    return FALSE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("it has both strides and dilation_rate above 1, which Keras does not "
                          "allow either. Leave one of them at 1."));
  return TRUE;
}

static gboolean
add_conv (GradusLayerBuild        *build,
          const GradusLayerWindow *w,
          GradusValueId            x,
          GradusValueId            kernel,
          gint64                   groups,
          GradusValueId           *y,
          GError                 **error)
{
  const GradusValueId inputs[] = { x, kernel };

  return gradus_program_add_node (build->program, "conv", 0, inputs, 2, y, error, "strides",
                                  w->n_axes, w->strides, "pads", 2 * w->n_axes, w->pads,
                                  "dilations", w->n_axes, w->dilations, "groups", groups, NULL);
}

/* Conv1D, Conv2D, Conv3D */
static gboolean
conv_infer (const GradusLayer *layer,
            const GradusShape *inputs,
            guint              n_inputs,
            GradusShape       *output,
            GError           **error)
{
  gint64            groups = gradus_layer_arg (layer, "groups")->i;
  gint64            filters = gradus_layer_arg (layer, "filters")->i;
  GradusLayerWindow window;

  if (!gradus_layer_check_axes (layer, &inputs[0], error)
      || !settle (layer, &inputs[0], &window, error) || refuse_strided_dilation (&window, error))
    return FALSE;
  if (channels_of (&inputs[0]) % groups != 0 || filters % groups != 0)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("it has %d groups, which must divide both its %d filters and the %d channels "
                      "of its input. Change groups or filters."),
                   (int)groups, (int)filters, (int)channels_of (&inputs[0]));
      return FALSE;
    }
  *output = gradus_layer_axes_shape (window.n_axes, window.out, filters);
  return TRUE;
}

static guint
conv_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  gint64 filters = gradus_layer_arg (layer, "filters")->i;
  gint64 channels = channels_of (input) / gradus_layer_arg (layer, "groups")->i;

  weights[0] =
      weight (layer, "kernel", kernel_shape (layer, channels, filters), "kernel_initializer");
  return with_bias (layer, filters, weights, 1);
}

static gboolean
conv_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId     value, kernel = gradus_layer_weight (layer, build, "kernel");
  GradusLayerWindow window;

  return settle (layer, &build->shapes[0], &window, error)
         && add_conv (build, &window, build->inputs[0], kernel,
                      gradus_layer_arg (layer, "groups")->i, &value, error)
         && gradus_layer_finish (layer, build, value, error);
}

#define CONV(variable, name, snake, SIZE, ones, PADDING)                                           \
  static const GradusArgSpec variable##_args[] = {                                                 \
    FILTERS,                                                                                       \
    SLIDING (SIZE, ones, PADDING),                                                                 \
    { "groups", GRADUS_ARG_INT, "1", 1, 1 << 24 },                                                 \
    KERNEL ("kernel"),                                                                             \
    FINISH,                                                                                        \
    { NULL },                                                                                      \
  };                                                                                               \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, variable##_args, 1, 1, conv_infer, conv_weights, conv_build, NULL, NULL,          \
  };

CONV (conv1d, "Conv1D", "conv1d", GRADUS_ARG_SINGLE, "1", GRADUS_ARG_CAUSAL)
CONV (conv2d, "Conv2D", "conv2d", GRADUS_ARG_PAIR, "[1, 1]", GRADUS_ARG_PADDING)
CONV (conv3d, "Conv3D", "conv3d", GRADUS_ARG_TRIPLE, "[1, 1, 1]", GRADUS_ARG_PADDING)

/* DepthwiseConv1D, DepthwiseConv2D: a group for each channel. Keras keeps the kernel as (sizes,
 * channels, multiplier), which lies in memory as (sizes, 1, channels * multiplier). */
static gboolean
add_depthwise (const GradusLayer       *layer,
               GradusLayerBuild        *build,
               const GradusLayerWindow *window,
               const char              *name,
               GradusValueId           *y,
               GError                 **error)
{
  gint64        channels = channels_of (&build->shapes[0]);
  gint64        multiplier = gradus_layer_arg (layer, "depth_multiplier")->i;
  GradusShape   shape = kernel_shape (layer, 1, channels * multiplier);
  GradusValueId kernel = gradus_layer_weight (layer, build, name);

  return gradus_program_add_node (build->program, "reshape", 0, &kernel, 1, &kernel, error, "shape",
                                  shape.rank, shape.dims, NULL)
         && add_conv (build, window, build->inputs[0], kernel, channels, y, error);
}

static gboolean
depthwise_infer (const GradusLayer *layer,
                 const GradusShape *inputs,
                 guint              n_inputs,
                 GradusShape       *output,
                 GError           **error)
{
  GradusLayerWindow window;

  if (!gradus_layer_check_axes (layer, &inputs[0], error)
      || !settle (layer, &inputs[0], &window, error))
    return FALSE;
  *output = gradus_layer_axes_shape (window.n_axes, window.out,
                                     channels_of (&inputs[0])
                                         * gradus_layer_arg (layer, "depth_multiplier")->i);
  return TRUE;
}

static guint
depthwise_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  gint64 multiplier = gradus_layer_arg (layer, "depth_multiplier")->i;

  weights[0] = weight (layer, "kernel", kernel_shape (layer, channels_of (input), multiplier),
                       "depthwise_initializer");
  return with_bias (layer, channels_of (input) * multiplier, weights, 1);
}

static gboolean
depthwise_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusLayerWindow window;
  GradusValueId     value;

  return settle (layer, &build->shapes[0], &window, error)
         && add_depthwise (layer, build, &window, "kernel", &value, error)
         && gradus_layer_finish (layer, build, value, error);
}

#define DEPTHWISE(variable, name, snake, SIZE, ones)                                               \
  static const GradusArgSpec variable##_args[] = {                                                 \
    SLIDING (SIZE, ones, GRADUS_ARG_PADDING),                                                      \
    MULTIPLIER,                                                                                    \
    KERNEL ("depthwise"),                                                                          \
    FINISH,                                                                                        \
    INHERITED,                                                                                     \
    { NULL },                                                                                      \
  };                                                                                               \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, variable##_args, 1, 1, depthwise_infer, depthwise_weights, depthwise_build,       \
    NULL, NULL,                                                                                    \
  };

DEPTHWISE (depthwise_conv1d, "DepthwiseConv1D", "depthwise_conv1d", GRADUS_ARG_SINGLE, "1")
DEPTHWISE (depthwise_conv2d, "DepthwiseConv2D", "depthwise_conv2d", GRADUS_ARG_PAIR, "[1, 1]")

/* SeparableConv1D, SeparableConv2D: a depthwise convolution, then one of size 1. */
static gboolean
separable_infer (const GradusLayer *layer,
                 const GradusShape *inputs,
                 guint              n_inputs,
                 GradusShape       *output,
                 GError           **error)
{
  if (!depthwise_infer (layer, inputs, n_inputs, output, error))
    return FALSE;
  output->dims[output->rank - 1] = gradus_layer_arg (layer, "filters")->i;
  return TRUE;
}

static guint
separable_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  gint64      multiplier = gradus_layer_arg (layer, "depth_multiplier")->i;
  gint64      filters = gradus_layer_arg (layer, "filters")->i;
  GradusShape point = { .rank = input->rank };

  for (guint i = 0; i + 2 < point.rank; i++)
    point.dims[i] = 1;
  point.dims[point.rank - 2] = channels_of (input) * multiplier;
  point.dims[point.rank - 1] = filters;
  weights[0] =
      weight (layer, "depthwise_kernel", kernel_shape (layer, channels_of (input), multiplier),
              "depthwise_initializer");
  weights[1] = weight (layer, "pointwise_kernel", point, "pointwise_initializer");
  return with_bias (layer, filters, weights, 2);
}

static gboolean
separable_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusLayerWindow       window;
  const GradusLayerWindow point = { .n_axes = gradus_layer_axes (layer),
                                    .strides = { 1, 1, 1 },
                                    .dilations = { 1, 1, 1 } };
  GradusValueId           deep, value;

  return settle (layer, &build->shapes[0], &window, error)
         && add_depthwise (layer, build, &window, "depthwise_kernel", &deep, error)
         && add_conv (build, &point, deep, gradus_layer_weight (layer, build, "pointwise_kernel"),
                      1, &value, error)
         && gradus_layer_finish (layer, build, value, error);
}

#define SEPARABLE(variable, name, snake, SIZE, ones)                                               \
  static const GradusArgSpec variable##_args[] = {                                                 \
    FILTERS,                                                                                       \
    SLIDING (SIZE, ones, GRADUS_ARG_PADDING),                                                      \
    MULTIPLIER,                                                                                    \
    KERNEL ("depthwise"),                                                                          \
    KERNEL ("pointwise"),                                                                          \
    FINISH,                                                                                        \
    INHERITED,                                                                                     \
    { NULL },                                                                                      \
  };                                                                                               \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, variable##_args, 1, 1, separable_infer, separable_weights, separable_build,       \
    NULL, NULL,                                                                                    \
  };

SEPARABLE (separable_conv1d, "SeparableConv1D", "separable_conv1d", GRADUS_ARG_SINGLE, "1")
SEPARABLE (separable_conv2d, "SeparableConv2D", "separable_conv2d", GRADUS_ARG_PAIR, "[1, 1]")

/* Conv1DTranspose, Conv2DTranspose. The padding is Keras's as its JAX backend has it: of the whole that
 * the windows reach, “same” keeps strides times the input, or as output_padding says. */
static gint64
transposed_axis (GradusLayerWindow *w,
                 guint              i,
                 gint64             in,
                 gboolean           same,
                 const GradusArg   *output_padding)
{
  gint64 size = (w->window[i] - 1) * w->dilations[i] + 1, stride = w->strides[i];
  gint64 extra = output_padding->is_null ? MAX (size, stride) - size : output_padding->ints[i];
  gint64 left = size - 1, right = size - 1 + extra;

  if (same)
    {
      gint64 both = output_padding->is_null ? stride + size - 2 : size + size % 2 - 2 + extra;

      left = MIN (both / 2 + both % 2, size - 1);
      right = both - left;
    }
  w->out[i] = (in - 1) * stride + 2 + left + right - size;
  w->pads[2 * i] = size - 1 - left;
  w->pads[2 * i + 1] = MAX (0, (in - 1) * stride + size - w->out[i] - w->pads[2 * i]);
  return w->out[i];
}

static gboolean
transposed_settle (const GradusLayer *layer,
                   const GradusShape *input,
                   GradusLayerWindow *window,
                   GError           **error)
{
  const GradusArg *output_padding = gradus_layer_arg (layer, "output_padding");

  gradus_layer_window_read (layer, "kernel_size", window);
  if (refuse_strided_dilation (window, error))
    return FALSE;
  for (guint i = 0; i < window->n_axes; i++)
    {
      if (!output_padding->is_null && output_padding->ints[i] >= window->strides[i])
        {
          g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                               _ ("its output_padding must be less than its strides. Leave it out, "
                                  "or make it smaller."));
          return FALSE;
        }
      if (transposed_axis (window, i, input->dims[1 + i],
                           gradus_layer_arg (layer, "padding")->i == 1, output_padding)
          < 1)
        {
          g_set_error_literal (
              error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
              _ ("its padding takes all of its output away. Use padding “valid”."));
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
transposed_infer (const GradusLayer *layer,
                  const GradusShape *inputs,
                  guint              n_inputs,
                  GradusShape       *output,
                  GError           **error)
{
  GradusLayerWindow window;

  if (!gradus_layer_check_axes (layer, &inputs[0], error)
      || !transposed_settle (layer, &inputs[0], &window, error))
    return FALSE;
  *output =
      gradus_layer_axes_shape (window.n_axes, window.out, gradus_layer_arg (layer, "filters")->i);
  return TRUE;
}

static guint
transposed_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  gint64 filters = gradus_layer_arg (layer, "filters")->i;

  weights[0] = weight (layer, "kernel", kernel_shape (layer, filters, channels_of (input)),
                       "kernel_initializer");
  return with_bias (layer, filters, weights, 1);
}

static gboolean
transposed_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusValueId inputs[] = { build->inputs[0], gradus_layer_weight (layer, build, "kernel") };
  GradusLayerWindow   w;
  GradusValueId       value;

  return transposed_settle (layer, &build->shapes[0], &w, error)
         && gradus_program_add_node (build->program, "conv_transpose", 0, inputs, 2, &value, error,
                                     "strides", w.n_axes, w.strides, "pads", 2 * w.n_axes, w.pads,
                                     "dilations", w.n_axes, w.dilations, "output_size", w.n_axes,
                                     w.out, NULL)
         && gradus_layer_finish (layer, build, value, error);
}

#define TRANSPOSED(variable, name, snake, SIZE, ones)                                              \
  static const GradusArgSpec variable##_args[] = {                                                 \
    FILTERS,                                                                                       \
    SLIDING (SIZE, ones, GRADUS_ARG_PADDING),                                                      \
    { "output_padding", SIZE, "null", 0, 1 << 16 },                                                \
    { "groups", GRADUS_ARG_ONLY, "1", 0, 0 },                                                      \
    KERNEL ("kernel"),                                                                             \
    FINISH,                                                                                        \
    { NULL },                                                                                      \
  };                                                                                               \
  const GradusLayerClass gradus_layer_##variable = {                                               \
    name, snake, variable##_args, 1, 1, transposed_infer, transposed_weights, transposed_build,    \
    NULL, NULL,                                                                                    \
  };

TRANSPOSED (conv1d_transpose, "Conv1DTranspose", "conv1d_transpose", GRADUS_ARG_SINGLE, "1")
TRANSPOSED (conv2d_transpose, "Conv2DTranspose", "conv2d_transpose", GRADUS_ARG_PAIR, "[1, 1]")
