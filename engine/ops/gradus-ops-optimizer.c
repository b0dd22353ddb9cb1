/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

GRADUS_INFER (infer_global_norm)
{
  for (guint i = 0; i < node->n_inputs; i++)
    if (!gradus_op_check_scalar (node, inputs, i, error))
      return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

GRADUS_REFERENCE (reference_global_norm)
{
  double sum = 0;

  for (guint i = 0; i < call->node->n_inputs; i++)
    sum += call->inputs[i][0];
  call->outputs[0][0] = sqrt (sum);
}

/* norm, limit -> scale */
GRADUS_INFER (infer_clip_scale)
{
  if (!gradus_op_check_scalar (node, inputs, 0, error)
      || !gradus_op_check_scalar (node, inputs, 1, error))
    return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

GRADUS_REFERENCE (reference_clip_scale)
{
  double norm = call->inputs[0][0], limit = call->inputs[1][0];

  call->outputs[0][0] = limit <= 0 || norm <= limit ? 1 : limit / norm;
}

/* sum (updated), gradient, keep, weight, factor -> mean. With keep 0 the sum begins anew. */
GRADUS_INFER (infer_accumulate)
{
  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_same (node, inputs, 1, 0, error))
    return FALSE;
  for (guint i = 2; i < 5; i++)
    if (!gradus_op_check_scalar (node, inputs, i, error))
      return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

GRADUS_REFERENCE (reference_accumulate)
{
  double keep = call->inputs[2][0], weight = call->inputs[3][0], factor = call->inputs[4][0];

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      double sum = (keep != 0 ? call->inputs[0][i] * keep : 0) + call->inputs[1][i] * weight;

      call->outputs[1][i] = sum;
      call->outputs[0][i] = sum * factor;
    }
}

/* average (updated), variable (updated), step */
GRADUS_INFER (infer_weight_average)
{
  return gradus_op_check_floats (node, inputs, error)
         && gradus_op_check_same (node, inputs, 1, 0, error)
         && gradus_op_check_scalar (node, inputs, 2, error);
}

/* As Keras: the first step's weights begin the average. */
GRADUS_REFERENCE (reference_weight_average)
{
  double step = call->inputs[2][0];
  double momentum = step > 1 ? gradus_node_float (call->node, "momentum") : 0;
  gint64 every = gradus_node_int (call->node, "overwrite");

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      double w = call->inputs[1][i];
      double average = (momentum != 0 ? call->inputs[0][i] * momentum : 0) + w * (1 - momentum);

      call->outputs[0][i] = average;
      call->outputs[1][i] = every > 0 && fmod (step, every) == 0 ? average : w;
    }
}

/* Nadam's product of the momenta so far. */
GRADUS_INFER (infer_nadam_product)
{
  return gradus_op_check_scalar (node, inputs, 0, error)
         && gradus_op_check_scalar (node, inputs, 1, error);
}

GRADUS_REFERENCE (reference_nadam_product)
{
  call->outputs[0][0] = call->inputs[0][0] * gradus_node_float (call->node, "beta_1")
                        * (1 - 0.5 * pow (0.96, call->inputs[1][0]));
}

/* Constraints change a variable after its update. */
GRADUS_INFER (infer_constrain_norm)
{
  guint32 mask;

  return gradus_op_check_floats (node, inputs, error)
         && gradus_op_axes (node, inputs, inputs[0].shape.rank, &mask, error);
}

/* In which sum of squares an element is counted. */
static gint64
norm_of (const GradusShape *shape, guint32 mask, gint64 index)
{
  gint64 coordinates[GRADUS_MAX_RANK], group = 0;

  gradus_op_unravel (shape, index, coordinates);
  for (guint a = 0; a < shape->rank; a++)
    if ((mask & (1u << a)) == 0)
      group = group * shape->dims[a] + coordinates[a];
  return group;
}

GRADUS_REFERENCE (reference_constrain_norm)
{
  const GradusShape *shape = &call->input_types[0].shape;
  gint64             n = gradus_op_count (&call->input_types[0]);
  double             min = gradus_node_float (call->node, "min");
  double             max = gradus_node_float (call->node, "max");
  double             rate = gradus_node_float (call->node, "rate");
  g_autofree double *squares = g_new0 (double, MAX (n, 1));
  guint32            mask;

  gradus_op_axes (call->node, call->input_types, shape->rank, &mask, NULL);
  for (gint64 i = 0; i < n; i++)
    squares[norm_of (shape, mask, i)] += call->inputs[0][i] * call->inputs[0][i];
  for (gint64 i = 0; i < n; i++)
    {
      double norm = sqrt (squares[norm_of (shape, mask, i)]);
      double wanted = rate * CLAMP (norm, min, max) + (1 - rate) * norm;

      call->outputs[0][i] = call->inputs[0][i] * wanted / (1e-7 + norm);
    }
}

GRADUS_INFER (infer_constrain_positive)
{
  return gradus_op_check_floats (node, inputs, error);
}

GRADUS_REFERENCE (reference_constrain_positive)
{
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    call->outputs[0][i] = MAX (call->inputs[0][i], 0);
}

static const GradusAttrSpec average_attrs[] = {
  { "momentum", GRADUS_ATTR_FLOAT, "0.99" },
  { "overwrite", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec nadam_attrs[] = { { "beta_1", GRADUS_ATTR_FLOAT, "0.9" }, { NULL } };
static const GradusAttrSpec norm_attrs[] = {
  { "axes", GRADUS_ATTR_INTS, "0" },
  { "min", GRADUS_ATTR_FLOAT, "0" },
  { "max", GRADUS_ATTR_FLOAT, "1" },
  { "rate", GRADUS_ATTR_FLOAT, "1" },
  { NULL },
};

static const GradusOpCase accumulate_cases[] = {
  { "f32[5,3] f32[5,3] f32=0[] f32=64[] f32=0.015625[]", NULL },
  { "f32[7] f32[7] f32=1[] f32=7[] f32%[]", NULL },
  { "f32[131,67] f32[131,67] f32=1[] f32=3[] f32=0.1[]", NULL },
  { NULL },
};
static const GradusOpCase weight_average_cases[] = {
  { "f32[5,3] f32[5,3] f32=1[]", "momentum=0.9" },
  { "f32[7] f32[7] f32=3[]", "momentum=0.9" },
  { "f32[131,67] f32[131,67] f32=6[]", "overwrite=3" },
  { "f32[131,67] f32[131,67] f32=7[]", "overwrite=3" },
  { NULL },
};
static const GradusOpCase nadam_product_cases[] = {
  { "f32%[] f32=1[]", NULL },
  { "f32%[] f32=30[]", "beta_1=0.8" },
  { NULL },
};
static const GradusOpCase constrain_norm_cases[] = {
  { "f32[5,3]", NULL },
  { "f32[5,3]", "axes=1 max=0.5" },
  { "f32[3,3,2,4]", "axes=0,1,2 min=1" },
  { "f32[3,2,4]", "axes=1 min=0.5 max=2 rate=0.75" },
  { "f32[131,67]", "axes= min=3 max=3" },
  { "f32=0[4,2]", "min=1" },
  { NULL },
};
static const GradusOpCase constrain_positive_cases[] = {
  { "f32[5,3]", NULL },
  { "f32[131,67]", NULL },
  { NULL },
};

static const GradusOpCase global_norm_cases[] = {
  { "f32+[] f32+[] f32+[]", NULL },
  { "f32+[]", NULL },
  { "f32=0[]", NULL },
  { NULL },
};
static const GradusOpCase clip_scale_cases[] = {
  { "f32=2[] f32=1[]", NULL },
  { "f32=0.5[] f32=1[]", NULL },
  { "f32=2[] f32=0[]", NULL },
  { NULL },
};
const GradusOp gradus_ops_optimizer[] = {
  {
      .name = "global_norm",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = G_MAXUINT,
      .n_outputs = 1,
      .infer = infer_global_norm,
      .inplace = -1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint =
          N_ ("the gradients are so large that their squares overflow; lower the learning rate"),
      .reference = reference_global_norm,
      .cases = global_norm_cases,
  },
  {
      .name = "clip_scale",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 1,
      .infer = infer_clip_scale,
      .inplace = -1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = N_ ("the norm of the gradients is not a number"),
      .reference = reference_clip_scale,
      .cases = clip_scale_cases,
  },
  {
      .name = "accumulate",
      .version = 1,
      .min_inputs = 5,
      .max_inputs = 5,
      .n_outputs = 1,
      .infer = infer_accumulate,
      .inplace = -1,
      .updates = 1u << 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = N_ ("a gradient of one of the batches that are put together overflows; lower the loss or "
              "clip the gradients"),
      .reference = reference_accumulate,
      .cases = accumulate_cases,
  },
  {
      .name = "weight_average",
      .version = 1,
      .min_inputs = 3,
      .max_inputs = 3,
      .n_outputs = 0,
      .attrs = average_attrs,
      .infer = infer_weight_average,
      .inplace = -1,
      .updates = 1u << 0 | 1u << 1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = N_ ("the weights that are averaged are not finite any more"),
      .reference = reference_weight_average,
      .cases = weight_average_cases,
  },
  {
      .name = "nadam_product",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 0,
      .attrs = nadam_attrs,
      .infer = infer_nadam_product,
      .inplace = -1,
      .updates = 1u << 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = N_ ("the product of the momenta in the checkpoint is not a number"),
      .reference = reference_nadam_product,
      .cases = nadam_product_cases,
  },
  {
      .name = "constrain_norm",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 0,
      .attrs = norm_attrs,
      .infer = infer_constrain_norm,
      .inplace = -1,
      .updates = 1u << 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = N_ ("the weights are so large that their squares overflow"),
      .reference = reference_constrain_norm,
      .cases = constrain_norm_cases,
  },
  {
      .name = "constrain_positive",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 0,
      .infer = infer_constrain_positive,
      .inplace = -1,
      .updates = 1u << 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .reference = reference_constrain_positive,
      .cases = constrain_positive_cases,
  },
  { NULL },
};
