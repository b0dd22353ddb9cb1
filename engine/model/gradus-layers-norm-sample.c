/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <math.h>

/* Normalisations of each sample by itself, and by numbers known beforehand. */
#define AXES "axis", GRADUS_ARG_AXES, "-1", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1
#define MAX_FLOATS 1048576

static gboolean
infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  *output = inputs[0];
  return gradus_layer_named_axes (layer, &inputs[0], NULL, error);
}

/* The axes named, in their order. */
static GradusShape
named_shape (const GradusLayer *layer, const GradusShape *input)
{
  GradusShape named = { .rank = 0 };
  guint32     mask = 0;

  gradus_layer_named_axes (layer, input, &mask, NULL);
  for (guint i = 0; i < input->rank; i++)
    if ((mask & (1u << i)) != 0)
      named.dims[named.rank++] = input->dims[i];
  return named;
}

static GradusValueId
filled (GradusLayerBuild *b, const GradusShape *shape, float value)
{
  gint64            n = gradus_shape_count (shape);
  g_autofree float *data = g_new (float, MAX (1, n));

  for (gint64 i = 0; i < n; i++)
    data[i] = value;
  return gradus_program_add_constant (b->program, GRADUS_DTYPE_FLOAT32, *shape, data);
}

static gboolean
has (const GradusLayer *layer, const char *flag)
{
  return gradus_layer_arg (layer, flag)->i != 0;
}

#define GAMMA_AND_BETA                                                  \
  { "center", GRADUS_ARG_BOOL, "true", 0, 0 },                          \
  { "scale", GRADUS_ARG_BOOL, "true", 0, 0 },                           \
  { "beta_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },    \
  { "gamma_initializer", GRADUS_ARG_INITIALIZER, "\"ones\"", 0, 0 },    \
  { "beta_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },                \
  { "gamma_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },               \
  { "beta_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },                 \
  { "gamma_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 }

static guint
gamma_and_beta (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  GradusShape shape = named_shape (layer, input);
  guint       n = 0;

  if (has (layer, "scale"))
    weights[n++] = (GradusWeightSpec){ "gamma", shape, FALSE, &gradus_layer_arg (layer, "gamma_initializer")->initializer };
  if (has (layer, "center"))
    weights[n++] = (GradusWeightSpec){ "beta", shape, FALSE, &gradus_layer_arg (layer, "beta_initializer")->initializer };
  return n;
}

/* @op over the input, its axes moved to the end, scale and centre, with one attribute. */
static gboolean
normalise (const GradusLayer *layer, GradusLayerBuild *b, const char *op, GradusValueId gamma, GradusValueId beta,
           const char *attribute, gint64 value, GError **error)
{
  GradusValueId inputs[3] = { b->inputs[0], gamma, beta }, outputs[3];
  guint32       mask = 0;

  if (!gradus_layer_named_axes (layer, &b->shapes[0], &mask, error) || !gradus_layer_axes_last (b, mask, FALSE, &inputs[0], error)
      || !gradus_program_add_node (b->program, op, 0, inputs, 3, outputs, error, "epsilon",
                                   gradus_layer_arg (layer, "epsilon")->f, attribute, value, NULL))
    return FALSE;
  b->output = outputs[0];
  return gradus_layer_axes_last (b, mask, TRUE, &b->output, error);
}

static GradusValueId
weight_or (const GradusLayer *layer, GradusLayerBuild *b, const char *flag, const char *name, float value)
{
  GradusShape shape = named_shape (layer, &b->shapes[0]);

  return has (layer, flag) ? gradus_layer_weight (layer, b, name) : filled (b, &shape, value);
}

/* LayerNormalization */
static const GradusArgSpec layer_args[] = {
  { AXES },
  { "epsilon", GRADUS_ARG_FLOAT, "0.001", 0, 1 },
  GAMMA_AND_BETA,
  { "rms_scaling", GRADUS_ARG_ONLY, "false", 0, 0 },
  { NULL },
};

static gboolean
layer_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  return normalise (layer, b, "layer_norm", weight_or (layer, b, "scale", "gamma", 1),
                    weight_or (layer, b, "center", "beta", 0), "rms", 0, error);
}

const GradusLayerClass gradus_layer_layer_normalization = {
  .name = "LayerNormalization", .snake = "layer_normalization", .args = layer_args, .min_inputs = 1, .max_inputs = 1,
  .infer = infer, .weights = gamma_and_beta, .build = layer_build, .mask = GRADUS_MASK_PASSES,
};

/* RMSNormalization */
static const GradusArgSpec rms_args[] = {
  { AXES },
  { "epsilon", GRADUS_ARG_FLOAT, "1e-06", 0, 1 },
  { NULL },
};

static guint
rms_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  weights[0] = (GradusWeightSpec){ "scale", named_shape (layer, input), FALSE, gradus_initializer_named ("ones") };
  return 1;
}

static gboolean
rms_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusShape shape = named_shape (layer, &b->shapes[0]);

  return normalise (layer, b, "layer_norm", gradus_layer_weight (layer, b, "scale"), filled (b, &shape, 0), "rms", 1, error);
}

const GradusLayerClass gradus_layer_rms_normalization = {
  .name = "RMSNormalization", .snake = "rms_normalization", .args = rms_args, .min_inputs = 1, .max_inputs = 1,
  .infer = infer, .weights = rms_weights, .build = rms_build, .mask = GRADUS_MASK_PASSES,
};

/* GroupNormalization */
static const GradusArgSpec group_args[] = {
  { "groups", GRADUS_ARG_INT, "32", -1, 1 << 28 },
  { "axis", GRADUS_ARG_INT, "-1", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1 },
  { "epsilon", GRADUS_ARG_FLOAT, "0.001", 0, 1 },
  GAMMA_AND_BETA,
  { NULL },
};

/* -1: each channel is a group of its own. */
static gint64
groups_of (const GradusLayer *layer, const GradusShape *input)
{
  gint64 groups = gradus_layer_arg (layer, "groups")->i;

  return groups == -1 ? named_shape (layer, input).dims[0] : groups;
}

static gboolean
group_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  gint64 channels, groups;

  if (!infer (layer, inputs, n_inputs, output, error))
    return FALSE;
  channels = named_shape (layer, &inputs[0]).dims[0];
  groups = groups_of (layer, &inputs[0]);
  if (channels > 0 && groups > 0 && channels % groups == 0)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("its input has %.0f channels, which %.0f groups do not divide evenly. Choose a number of groups that "
                 "divides them."),
               (double) channels, (double) groups);
  return FALSE;
}

static gboolean
group_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  return normalise (layer, b, "group_norm", weight_or (layer, b, "scale", "gamma", 1),
                    weight_or (layer, b, "center", "beta", 0), "groups", groups_of (layer, &b->shapes[0]), error);
}

const GradusLayerClass gradus_layer_group_normalization = {
  .name = "GroupNormalization", .snake = "group_normalization", .args = group_args, .min_inputs = 1, .max_inputs = 1,
  .infer = group_infer, .weights = gamma_and_beta, .build = group_build, .mask = GRADUS_MASK_PASSES,
};

/* UnitNormalization: x / max(sqrt(sum(x^2)), 1e-12) */
static const GradusArgSpec axis_args[] = { { AXES }, { NULL } };

static gboolean
unit_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusShape   scalar = { .rank = 0 };
  GradusValueId pair[2] = { b->inputs[0], filled (b, &scalar, 1e-24f) }, length;
  gint64        axes[GRADUS_MAX_RANK];
  guint32       mask = 0;
  guint         n = 0;

  if (!gradus_layer_named_axes (layer, &b->shapes[0], &mask, error))
    return FALSE;
  for (guint i = 0; i < b->shapes[0].rank; i++)
    if ((mask & (1u << i)) != 0)
      axes[n++] = i;
  if (!gradus_program_add_node (b->program, "square", 0, pair, 1, &length, error, NULL)
      || !gradus_program_add_node (b->program, "reduce_sum", 0, &length, 1, &length, error, "axes", n, axes, "keepdims",
                                   (gint64) 1, NULL))
    return FALSE;
  pair[0] = length;
  if (!gradus_program_add_node (b->program, "maximum", 0, pair, 2, &length, error, NULL)
      || !gradus_program_add_node (b->program, "sqrt", 0, &length, 1, &length, error, NULL))
    return FALSE;
  pair[0] = b->inputs[0];
  pair[1] = length;
  return gradus_program_add_node (b->program, "divide", 0, pair, 2, &b->output, error, NULL);
}

const GradusLayerClass gradus_layer_unit_normalization = {
  .name = "UnitNormalization", .snake = "unit_normalization", .args = axis_args, .min_inputs = 1, .max_inputs = 1,
  .infer = infer, .build = unit_build, .mask = GRADUS_MASK_PASSES,
};

/* Softmax */
static gboolean
softmax_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  if (gradus_layer_arg (layer, "axis")->n == 1)
    return infer (layer, inputs, n_inputs, output, error);
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("this version of Gradus takes a softmax over one axis. Name one."));
  return FALSE;
}

/* A mask as the input has its axes; those that it lacks at the front are 1. */
static gboolean
softmax_mask (GradusLayerBuild *b, guint32 axes, GradusValueId *mask, GError **error)
{
  GradusShape from = b->mask_shapes[0], to = b->shapes[0];

  *mask = b->mask_inputs[0];
  if (from.rank > to.rank)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _("its mask has more axes than its input."));
      return FALSE;
    }
  for (guint i = 0; i < to.rank; i++)
    to.dims[i] = i < to.rank - from.rank ? 1 : from.dims[i - (to.rank - from.rank)];
  return (from.rank == to.rank
          || gradus_program_add_node (b->program, "reshape", 0, mask, 1, mask, error, "shape", to.rank, to.dims, NULL))
         && gradus_layer_axes_last (b, axes, FALSE, mask, error);
}

static gboolean
softmax_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusValueId inputs[2] = { b->inputs[0], GRADUS_NO_VALUE };
  gboolean      masked = b->options.mask[GRADUS_CALL_MASK] > 0;
  guint32       axes = 0;

  if (!gradus_layer_named_axes (layer, &b->shapes[0], &axes, error) || !gradus_layer_axes_last (b, axes, FALSE, &inputs[0], error)
      || (masked && !softmax_mask (b, axes, &inputs[1], error))
      || !gradus_program_add_node (b->program, masked ? "masked_softmax" : "softmax", 0, inputs, masked ? 2 : 1, &b->output,
                                   error, NULL)
      || !gradus_layer_axes_last (b, axes, TRUE, &b->output, error))
    return FALSE;
  if (!masked && axes == 1u << (b->shapes[0].rank - 1))
    b->logits = b->inputs[0];
  return TRUE;
}

const GradusLayerClass gradus_layer_softmax = {
  .name = "Softmax", .snake = "softmax", .args = axis_args, .min_inputs = 1, .max_inputs = 1, .infer = softmax_infer,
  .build = softmax_build, .mask = GRADUS_MASK_PASSES, .call = GRADUS_CALL_ONE_MASK,
};

/* Normalization: by a mean and a variance that are given, or kept as weights that nothing trains. */
static const GradusArgSpec normalization_args[] = {
  { "axis", GRADUS_ARG_AXES, "-1", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1 },
  { "mean", GRADUS_ARG_FLOATS, "null", 0, MAX_FLOATS },
  { "variance", GRADUS_ARG_FLOATS, "null", 0, MAX_FLOATS },
  { "invert", GRADUS_ARG_BOOL, "false", 0, 0 },
  { NULL },
};

static gboolean
fits (const GradusArg *arg, gint64 count)
{
  return arg->is_null || arg->floats->len == 1 || (gint64) arg->floats->len == count;
}

static gboolean
normalization_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  const GradusArg *mean = gradus_layer_arg (layer, "mean"), *variance = gradus_layer_arg (layer, "variance");
  GradusShape      named;
  gint64           count;

  if (!infer (layer, inputs, n_inputs, output, error))
    return FALSE;
  named = named_shape (layer, &inputs[0]);
  count = gradus_shape_count (&named);
  if (mean->is_null == variance->is_null && fits (mean, count) && fits (variance, count))
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("its mean and variance must both be given or both be left out, each as one number or as %.0f."),
               (double) count);
  return FALSE;
}

static guint
normalization_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  GradusShape shape = named_shape (layer, input), scalar = { .rank = 0 };

  if (!gradus_layer_arg (layer, "mean")->is_null)
    return 0;
  weights[0] = (GradusWeightSpec){ "mean", shape, TRUE, gradus_initializer_named ("zeros") };
  weights[1] = (GradusWeightSpec){ "variance", shape, TRUE, gradus_initializer_named ("ones") };
  weights[2] = (GradusWeightSpec){ "count", scalar, TRUE, gradus_initializer_named ("zeros") };
  return 3;
}

/* A statistic in the shape that repeats along the axes that were not named. */
static gboolean
statistic (const GradusLayer *layer, GradusLayerBuild *b, const char *name, GradusValueId *value, GError **error)
{
  const GradusArg *arg = gradus_layer_arg (layer, name);
  GradusShape      named = named_shape (layer, &b->shapes[0]), wide = b->shapes[0];
  guint32          mask = 0;

  if (arg->is_null)
    *value = gradus_layer_weight (layer, b, name);
  else
    {
      gint64            n = gradus_shape_count (&named);
      g_autofree float *data = g_new (float, MAX (1, n));

      for (gint64 i = 0; i < n; i++)
        data[i] = (float) g_array_index (arg->floats, double, arg->floats->len == 1 ? 0 : i);
      *value = gradus_program_add_constant (b->program, GRADUS_DTYPE_FLOAT32, named, data);
    }
  gradus_layer_named_axes (layer, &b->shapes[0], &mask, NULL);
  for (guint i = 0; i < wide.rank; i++)
    if ((mask & (1u << i)) == 0)
      wide.dims[i] = 1;
  return gradus_program_add_node (b->program, "reshape", 0, value, 1, value, error, "shape", wide.rank, wide.dims, NULL);
}

static gboolean
pair_op (GradusLayerBuild *b, const char *op, GradusValueId x, GradusValueId y, GradusValueId *out, GError **error)
{
  const GradusValueId inputs[2] = { x, y };

  return gradus_program_add_node (b->program, op, 0, inputs, 2, out, error, NULL);
}

static gboolean
normalization_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusShape   scalar = { .rank = 0 };
  GradusValueId mean, deviation;

  /* Nothing reads it here, but it is kept with the others. */
  if (gradus_layer_arg (layer, "mean")->is_null)
    gradus_layer_weight (layer, b, "count");
  if (!statistic (layer, b, "mean", &mean, error) || !statistic (layer, b, "variance", &deviation, error)
      || !gradus_program_add_node (b->program, "sqrt", 0, &deviation, 1, &deviation, error, NULL)
      || !pair_op (b, "maximum", deviation, filled (b, &scalar, 1e-7f), &deviation, error))
    return FALSE;
  if (has (layer, "invert"))
    return pair_op (b, "multiply", b->inputs[0], deviation, &b->output, error)
           && pair_op (b, "add", b->output, mean, &b->output, error);
  return pair_op (b, "subtract", b->inputs[0], mean, &b->output, error)
         && pair_op (b, "divide", b->output, deviation, &b->output, error);
}

const GradusLayerClass gradus_layer_normalization = {
  .name = "Normalization", .snake = "normalization", .args = normalization_args, .min_inputs = 1, .max_inputs = 1,
  .infer = normalization_infer, .weights = normalization_weights, .build = normalization_build, .mask = GRADUS_MASK_PASSES,
};
