/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/*
 * Normalisations of a sample by itself: over its last axes (J. L. Ba, J. R. Kiros, G. E. Hinton,
 * “Layer Normalization”, 2016; B. Zhang, R. Sennrich, “Root Mean Square Layer Normalization”,
 * 2019) or over groups of its channels (Y. Wu, K. He, “Group Normalization”, 2018).
 */

/* gamma's axes are the last of x; the others are kept. */
static gboolean
check_last_axes (const GradusNode *node, const GradusValueType *inputs, guint x, guint gamma, GradusShape *kept, GError **error)
{
  const GradusShape *whole = &inputs[x].shape, *part = &inputs[gamma].shape;
  gboolean           fits = part->rank >= 1 && part->rank < whole->rank;

  for (guint i = 0; fits && i < part->rank; i++)
    fits = part->dims[i] == whole->dims[whole->rank - part->rank + i];
  if (!fits)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The scale must have the shape of the last axes of what is "
                                "normalized."));
  *kept = *whole;
  kept->rank = whole->rank - part->rank;
  return TRUE;
}

GRADUS_INFER (infer_layer_norm)
{
  GradusShape kept;

  if (!gradus_op_check_floats (node, inputs, error)
      || !check_last_axes (node, inputs, 0, 1, &kept, error)
      || !gradus_op_check_same (node, inputs, 2, 1, error))
    return FALSE;
  outputs[0] = outputs[1] = outputs[2] = inputs[0];
  outputs[1].shape = outputs[2].shape = kept;
  return TRUE;
}

/* dy, x, gamma, mean, inverse -> dx, dgamma, dbeta */
GRADUS_INFER (infer_layer_norm_grad)
{
  GradusShape kept;

  if (!gradus_op_check_floats (node, inputs, error) || !gradus_op_check_same (node, inputs, 0, 1, error)
      || !check_last_axes (node, inputs, 1, 2, &kept, error)
      || !gradus_op_check_shape (node, inputs, 3, &kept, error)
      || !gradus_op_check_shape (node, inputs, 4, &kept, error))
    return FALSE;
  outputs[0] = inputs[1];
  outputs[1] = outputs[2] = inputs[2];
  return TRUE;
}

static gboolean
check_groups (const GradusNode *node, const GradusValueType *inputs, guint x, GradusShape *statistics, GError **error)
{
  const GradusShape *shape = &inputs[x].shape;
  gint64             groups = gradus_node_int (node, "groups"), channels;
  GradusShape        vector;

  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (shape->rank < 2)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least two axes."), x + 1);
  channels = shape->dims[shape->rank - 1];
  if (groups < 1 || channels < 1 || channels % groups != 0)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The channels must be a multiple of the groups."));
  vector = gradus_shape (1, channels);
  *statistics = gradus_shape (2, shape->dims[0], groups);
  return gradus_op_check_shape (node, inputs, x + 1, &vector, error);
}

GRADUS_INFER (infer_group_norm)
{
  GradusShape statistics;

  if (!check_groups (node, inputs, 0, &statistics, error)
      || !gradus_op_check_same (node, inputs, 2, 1, error))
    return FALSE;
  outputs[0] = outputs[1] = outputs[2] = inputs[0];
  outputs[1].shape = outputs[2].shape = statistics;
  return TRUE;
}

GRADUS_INFER (infer_group_norm_grad)
{
  GradusShape statistics;

  if (!check_groups (node, inputs, 1, &statistics, error)
      || !gradus_op_check_same (node, inputs, 0, 1, error)
      || !gradus_op_check_shape (node, inputs, 3, &statistics, error)
      || !gradus_op_check_shape (node, inputs, 4, &statistics, error))
    return FALSE;
  outputs[0] = inputs[1];
  outputs[1] = outputs[2] = inputs[2];
  return TRUE;
}

static void
hand_on (const GradusValueId *made, GradusValueId *input_gradients)
{
  for (guint i = 0; i < 3; i++)
    if (gradus_op_wants (i))
      input_gradients[i] = made[i];
}

GRADUS_GRADIENT (gradient_layer_norm)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0], node->inputs[1],
                               node->outputs[1], node->outputs[2] };
  GradusValueId       out[3];

  if (!gradus_program_add_node (program, "layer_norm_grad", 0, in, 5, out, error, "rms",
                                gradus_node_int (node, "rms"), NULL))
    return FALSE;
  hand_on (out, input_gradients);
  return TRUE;
}

GRADUS_GRADIENT (gradient_group_norm)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0], node->inputs[1],
                               node->outputs[1], node->outputs[2] };
  GradusValueId       out[3];

  if (!gradus_program_add_node (program, "group_norm_grad", 0, in, 5, out, error, "groups",
                                gradus_node_int (node, "groups"), NULL))
    return FALSE;
  hand_on (out, input_gradients);
  return TRUE;
}

GRADUS_COST (cost_norm)
{
  gradus_op_cost (node, inputs, outputs, 8.0 * gradus_op_count (&inputs[0]), cost);
}

/* A set of elements that share mean and variance, and how their places are found: with @inner
 * channels of @stride from each other side by side, @outer times, @channels apart. */
typedef struct
{
  gint64 first, outer, inner, channels, gamma;
} Set;

#define FOR_EACH(set, at, c)                                                                       \
  for (gint64 o_ = 0; o_ < (set)->outer; o_++)                                                     \
    for (gint64 i_ = 0, at = (set)->first + o_ * (set)->channels, c = (set)->gamma;                \
         i_ < (set)->inner; i_++, at++, c++)

static Set
layer_set (const GradusValueType *gamma, gint64 row)
{
  gint64 n = gradus_op_count (gamma);

  return (Set){ row * n, 1, n, n, 0 };
}

static Set
group_set (const GradusValueType *x, gint64 groups, gint64 index)
{
  gint64 channels = x->shape.dims[x->shape.rank - 1], inner = channels / groups;
  gint64 sample = x->shape.dims[0] > 0 ? gradus_op_count (x) / x->shape.dims[0] : 0;
  gint64 at = index % groups * inner;

  return (Set){ index / groups * sample + at, sample / channels, inner, channels, at };
}

static void
normalise (const GradusReferenceCall *call, const Set *set, gint64 index, gboolean rms)
{
  const double *x = call->inputs[0], *gamma = call->inputs[1], *beta = call->inputs[2];
  double        n = (double) (set->outer * set->inner), mean = 0, variance = 0, inverse;

  if (!rms)
    FOR_EACH (set, i, c) mean += x[i] / n;
  FOR_EACH (set, i, c) variance += (x[i] - mean) * (x[i] - mean) / n;
  inverse = 1 / sqrt (variance + gradus_node_float (call->node, "epsilon"));
  FOR_EACH (set, i, c) call->outputs[0][i] = (x[i] - mean) * inverse * gamma[c] + beta[c];
  call->outputs[1][index] = mean;
  call->outputs[2][index] = inverse;
}

/* With x' = (x - mean) inverse and g = dy gamma: dx = inverse (g - mean(g) - x' mean(g x')), the
 * middle only where the mean was taken off. */
static void
differentiate (const GradusReferenceCall *call, const Set *set, gint64 index, gboolean rms)
{
  const double *dy = call->inputs[0], *x = call->inputs[1], *gamma = call->inputs[2];
  double        mean = call->inputs[3][index], inverse = call->inputs[4][index];
  double        n = (double) (set->outer * set->inner), sum = 0, along = 0;

  FOR_EACH (set, i, c)
  {
    double normal = (x[i] - mean) * inverse;

    sum += dy[i] * gamma[c] / n;
    along += dy[i] * gamma[c] * normal / n;
    call->outputs[1][c] += dy[i] * normal;
    call->outputs[2][c] += dy[i];
  }
  FOR_EACH (set, i, c)
  call->outputs[0][i]
      = inverse * (dy[i] * gamma[c] - (rms ? 0 : sum) - (x[i] - mean) * inverse * along);
}

static void
clear_sums (const GradusReferenceCall *call)
{
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[1]); i++)
    call->outputs[1][i] = call->outputs[2][i] = 0;
}

GRADUS_REFERENCE (reference_layer_norm)
{
  gboolean rms = gradus_node_int (call->node, "rms") != 0;

  for (gint64 row = 0; row < gradus_op_count (&call->output_types[1]); row++)
    {
      Set set = layer_set (&call->input_types[1], row);

      normalise (call, &set, row, rms);
    }
}

GRADUS_REFERENCE (reference_layer_norm_grad)
{
  gboolean rms = gradus_node_int (call->node, "rms") != 0;

  clear_sums (call);
  for (gint64 row = 0; row < gradus_op_count (&call->input_types[3]); row++)
    {
      Set set = layer_set (&call->input_types[2], row);

      differentiate (call, &set, row, rms);
    }
}

GRADUS_REFERENCE (reference_group_norm)
{
  gint64 groups = gradus_node_int (call->node, "groups");

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[1]); i++)
    {
      Set set = group_set (&call->input_types[0], groups, i);

      normalise (call, &set, i, FALSE);
    }
}

GRADUS_REFERENCE (reference_group_norm_grad)
{
  gint64 groups = gradus_node_int (call->node, "groups");

  clear_sums (call);
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[3]); i++)
    {
      Set set = group_set (&call->input_types[1], groups, i);

      differentiate (call, &set, i, FALSE);
    }
}

static const GradusAttrSpec layer_attrs[] = {
  { "epsilon", GRADUS_ATTR_FLOAT, "0.001" },
  { "rms", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec layer_grad_attrs[] = { { "rms", GRADUS_ATTR_INT, "0" }, { NULL } };
static const GradusAttrSpec group_attrs[] = {
  { "groups", GRADUS_ATTR_INT, "1" },
  { "epsilon", GRADUS_ATTR_FLOAT, "0.001" },
  { NULL },
};
static const GradusAttrSpec group_grad_attrs[] = { { "groups", GRADUS_ATTR_INT, "1" }, { NULL } };

static const GradusOpCase layer_cases[] = {
  { "f32[B,5] f32+[5] f32[5]", NULL, 1e-4 },
  { "f32[B,3,7] f32[7] f32[7]", "epsilon=0.1", 1e-4 },
  { "f32[B,3,2,4] f32+[2,4] f32[2,4]", NULL, 1e-4 },
  { "f32[B,3,5] f32+[5] f32[5]", "rms=1", 1e-4 },
  { "f32[B,65,131] f32+[131] f32[131]", NULL, 1e-4 },
  { NULL },
};
static const GradusOpCase layer_grad_cases[] = {
  { "f32[B,5] f32[B,5] f32+[5] f32[B] f32+[B]", NULL, 1e-4 },
  { "f32[B,3,2,4] f32[B,3,2,4] f32+[2,4] f32[B,3] f32+[B,3]", "rms=1", 1e-4 },
  { "f32[B,65,131] f32[B,65,131] f32+[131] f32[B,65] f32+[B,65]", NULL, 1e-4 },
  { NULL },
};
static const GradusOpCase group_cases[] = {
  { "f32[B,3,6] f32+[6] f32[6]", "groups=2", 1e-4 },
  { "f32[B,2,3,4] f32+[4] f32[4]", "groups=4 epsilon=0.1", 1e-4 },
  { "f32[B,4] f32[4] f32[4]", NULL, 1e-4 },
  { "f32[B,9,9,34] f32+[34] f32[34]", "groups=17", 1e-4 },
  { NULL },
};
static const GradusOpCase group_grad_cases[] = {
  { "f32[B,3,6] f32[B,3,6] f32+[6] f32[B,2] f32+[B,2]", "groups=2", 1e-4 },
  { "f32[B,4] f32[B,4] f32+[4] f32[B,1] f32+[B,1]", NULL, 1e-4 },
  { "f32[B,9,9,34] f32[B,9,9,34] f32+[34] f32[B,17] f32+[B,17]", "groups=17", 1e-4 },
  { NULL },
};

#define NORM_HINT                                                                                  \
  N_ ("all numbers of a sample are equal and epsilon is very small, or they are so large that "    \
      "their squares overflow")

#define NORM_ROW(Name, Attrs, Infer, Gradient, Reference, Cases)                                   \
  {                                                                                                \
      .name = Name,                                                                                \
      .version = 1,                                                                                \
      .min_inputs = 3,                                                                             \
      .max_inputs = 3,                                                                             \
      .n_outputs = 3,                                                                              \
      .attrs = Attrs,                                                                              \
      .infer = Infer,                                                                              \
      .gradient = Gradient,                                                                        \
      .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (1)  \
                        | GRADUS_NEEDS_OUTPUT (2),                                                 \
      .inplace = -1,                                                                               \
      .precision = GRADUS_PRECISION_FLOAT32,                                                       \
      .cost = cost_norm,                                                                           \
      .nan_hint = NORM_HINT,                                                                       \
      .reference = Reference,                                                                      \
      .cases = Cases,                                                                              \
  }

#define NORM_GRAD_ROW(Name, Attrs, Infer, Reference, Cases)                                        \
  {                                                                                                \
      .name = Name,                                                                                \
      .version = 1,                                                                                \
      .min_inputs = 5,                                                                             \
      .max_inputs = 5,                                                                             \
      .n_outputs = 3,                                                                              \
      .attrs = Attrs,                                                                              \
      .infer = Infer,                                                                              \
      .inplace = -1,                                                                               \
      .precision = GRADUS_PRECISION_FLOAT32,                                                       \
      .cost = cost_norm,                                                                           \
      .nan_hint = NORM_HINT,                                                                       \
      .reference = Reference,                                                                      \
      .cases = Cases,                                                                              \
  }

const GradusOp gradus_ops_norm_sample[] = {
  NORM_ROW ("layer_norm", layer_attrs, infer_layer_norm, gradient_layer_norm, reference_layer_norm, layer_cases),
  NORM_GRAD_ROW ("layer_norm_grad", layer_grad_attrs, infer_layer_norm_grad, reference_layer_norm_grad, layer_grad_cases),
  NORM_ROW ("group_norm", group_attrs, infer_group_norm, gradient_group_norm, reference_group_norm, group_cases),
  NORM_GRAD_ROW ("group_norm_grad", group_grad_attrs, infer_group_norm_grad, reference_group_norm_grad, group_grad_cases),
  { NULL },
};
