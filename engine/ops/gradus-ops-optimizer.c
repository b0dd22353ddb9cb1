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

/* @n_state variables, a gradient of the same shape, then scalars. */
static gboolean
infer_step (const GradusNode *node, const GradusValueType *inputs, guint n_state, GError **error)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  for (guint i = 1; i <= n_state; i++)
    if (!gradus_op_check_same (node, inputs, i, 0, error))
      return FALSE;
  for (guint i = n_state + 1; i < node->n_inputs; i++)
    if (gradus_op_has_input (node, i) && !gradus_op_check_scalar (node, inputs, i, error))
      return FALSE;
  return TRUE;
}

GRADUS_INFER (infer_sgd)
{
  return infer_step (node, inputs, 1, error);
}

GRADUS_INFER (infer_momentum)
{
  return infer_step (node, inputs, 2, error);
}

GRADUS_INFER (infer_adam)
{
  return infer_step (node, inputs, 3, error);
}

/* Weight decay is decoupled and comes first, as in Keras: variable -= variable decay lr. */
GRADUS_REFERENCE (reference_sgd)
{
  double scale = call->inputs[2][0], rate = call->inputs[3][0];
  double decay = gradus_op_has_input (call->node, 4) ? call->inputs[4][0] : 0;

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      double w = call->inputs[0][i];

      w -= w * decay * rate;
      call->outputs[0][i] = w - rate * call->inputs[1][i] * scale;
    }
}

GRADUS_REFERENCE (reference_momentum)
{
  double   scale = call->inputs[3][0], rate = call->inputs[4][0], momentum = call->inputs[5][0];
  gboolean nesterov = gradus_node_int (call->node, "nesterov") != 0;

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      double step = rate * call->inputs[2][i] * scale;
      double velocity = momentum * call->inputs[1][i] - step;

      call->outputs[1][i] = velocity;
      call->outputs[0][i] = call->inputs[0][i] + (nesterov ? momentum * velocity - step : velocity);
    }
}

/* Kingma and Ba, Adam, 2015, in the form before its section 2.1 as Keras has it: epsilon is outside
 * the bias correction. */
GRADUS_REFERENCE (reference_adam)
{
  double beta_1 = gradus_node_float (call->node, "beta_1");
  double beta_2 = gradus_node_float (call->node, "beta_2");
  double epsilon = gradus_node_float (call->node, "epsilon");
  double scale = call->inputs[4][0], step = call->inputs[6][0];
  double alpha = call->inputs[5][0] * sqrt (1 - pow (beta_2, step)) / (1 - pow (beta_1, step));

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      double g = call->inputs[3][i] * scale;
      double m = call->inputs[1][i] + (g - call->inputs[1][i]) * (1 - beta_1);
      double v = call->inputs[2][i] + (g * g - call->inputs[2][i]) * (1 - beta_2);

      call->outputs[1][i] = m;
      call->outputs[2][i] = v;
      call->outputs[0][i] = call->inputs[0][i] - m * alpha / (sqrt (v) + epsilon);
    }
}

GRADUS_COST (cost_adam)
{
  gradus_op_cost (node, inputs, outputs, 12.0 * gradus_op_count (&inputs[0]), cost);
}

static const GradusAttrSpec momentum_attrs[] = { { "nesterov", GRADUS_ATTR_INT, "0" }, { NULL } };
static const GradusAttrSpec adam_attrs[] = {
  { "beta_1", GRADUS_ATTR_FLOAT, "0.9" },
  { "beta_2", GRADUS_ATTR_FLOAT, "0.999" },
  { "epsilon", GRADUS_ATTR_FLOAT, "1e-7" },
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
static const GradusOpCase sgd_cases[] = {
  { "f32[5,3] f32[5,3] f32+[] f32+[]", NULL },
  { "f32[7] f32[7] f32=1[] f32=0.1[] f32=0.01[]", NULL },
  { "f32[131,67] f32[131,67] f32%[] f32=0.01[] -", NULL },
  { NULL },
};
static const GradusOpCase momentum_cases[] = {
  { "f32[5,3] f32[5,3] f32[5,3] f32+[] f32=0.1[] f32=0.9[]", NULL },
  { "f32[7] f32[7] f32[7] f32=1[] f32=0.1[] f32%[]", "nesterov=1" },
  { "f32[131,67] f32[131,67] f32[131,67] f32%[] f32=0.01[] f32=0.9[]", "nesterov=1" },
  { NULL },
};
static const GradusOpCase adam_cases[] = {
  { "f32[5,3] f32[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[] f32=1[]", NULL },
  { "f32[7] f32=0[7] f32=0[7] f32[7] f32=1[] f32=0.001[] f32=1[]", "epsilon=1e-3" },
  { "f32[131,67] f32[131,67] f32+[131,67] f32[131,67] f32%[] f32=0.001[] f32=1000[]",
    "beta_1=0.8" },
  { NULL },
};

#define STEP_HINT                                                                                  \
  N_ ("the gradient or the learning rate is so large that the step overflows; clip the gradients " \
      "or lower the learning rate")

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
      .name = "sgd_step",
      .version = 1,
      .min_inputs = 4,
      .max_inputs = 5,
      .n_outputs = 0,
      .infer = infer_sgd,
      .inplace = -1,
      .updates = 1u << 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = STEP_HINT,
      .reference = reference_sgd,
      .cases = sgd_cases,
  },
  {
      .name = "momentum_step",
      .version = 1,
      .min_inputs = 6,
      .max_inputs = 6,
      .n_outputs = 0,
      .attrs = momentum_attrs,
      .infer = infer_momentum,
      .inplace = -1,
      .updates = 1u << 0 | 1u << 1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = STEP_HINT,
      .reference = reference_momentum,
      .cases = momentum_cases,
  },
  {
      .name = "adam_step",
      .version = 1,
      .min_inputs = 7,
      .max_inputs = 7,
      .n_outputs = 0,
      .attrs = adam_attrs,
      .infer = infer_adam,
      .inplace = -1,
      .updates = 1u << 0 | 1u << 1 | 1u << 2,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = cost_adam,
      .nan_hint = STEP_HINT,
      .reference = reference_adam,
      .cases = adam_cases,
  },
  { NULL },
};
