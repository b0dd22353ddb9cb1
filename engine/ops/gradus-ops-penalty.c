/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* What regularisers add to the loss: l1 sum |x| + l2 sum x², divided by the size of the first axis
 * where @mean says so. */

GRADUS_INFER (infer_penalty)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_shape (0);
  return TRUE;
}

GRADUS_INFER (infer_penalty_grad)
{
  if (!gradus_op_check_scalar (node, inputs, 0, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

GRADUS_GRADIENT (gradient_penalty)
{
  GradusValueId pair[2] = { output_gradients[0], node->inputs[0] };

  return gradus_program_add_node (program, "penalty_grad", 0, pair, 2, &input_gradients[0], error,
                                  "l1", gradus_node_float (node, "l1"), "l2",
                                  gradus_node_float (node, "l2"), "mean",
                                  gradus_node_int (node, "mean"), NULL);
}

static double
factor (const GradusReferenceCall *call, const GradusValueType *type)
{
  if (gradus_node_int (call->node, "mean") == 0 || type->shape.rank == 0)
    return 1;
  return 1.0 / MAX (1, type->shape.dims[0]);
}

GRADUS_REFERENCE (reference_penalty)
{
  double ones = 0, squares = 0;

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      ones += fabs (call->inputs[0][i]);
      squares += call->inputs[0][i] * call->inputs[0][i];
    }
  call->outputs[0][0] = (gradus_node_float (call->node, "l1") * ones
                         + gradus_node_float (call->node, "l2") * squares)
                        * factor (call, &call->input_types[0]);
}

GRADUS_REFERENCE (reference_penalty_grad)
{
  double dy = call->inputs[0][0] * factor (call, &call->input_types[1]);
  double l1 = gradus_node_float (call->node, "l1"), l2 = gradus_node_float (call->node, "l2");

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[1]); i++)
    {
      double x = call->inputs[1][i];

      call->outputs[0][i] = dy * (l1 * ((x > 0) - (x < 0)) + 2 * l2 * x);
    }
}

static const GradusAttrSpec attrs[] = {
  { "l1", GRADUS_ATTR_FLOAT, "0" },
  { "l2", GRADUS_ATTR_FLOAT, "0" },
  { "mean", GRADUS_ATTR_INT, "0" },
  { NULL },
};

static const GradusOpCase penalty_cases[] = {
  { "f32[7,5]", "l1=0.5" },
  { "f32[7,5]", "l2=0.25" },
  { "f32[B,3,4]", "l1=0.1 l2=0.2 mean=1" },
  { "f32[]", "l2=1 mean=1" },
  { "f32[3,3,32,33]", "l1=0.01 l2=0.02" },
  { NULL },
};
static const GradusOpCase penalty_grad_cases[] = {
  { "f32[] f32[7,5]", "l1=0.5" },
  { "f32[] f32[B,3,4]", "l1=0.1 l2=0.2 mean=1" },
  { "f32[] f32[3,3,32,33]", "l2=0.02" },
  { NULL },
};

#define HINT                                                                                       \
  N_ ("the weights or activations that a regulariser looks at are so large that their squares "    \
      "overflow")

const GradusOp gradus_ops_penalty[] = {
  {
      .name = "penalty",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 1,
      .attrs = attrs,
      .infer = infer_penalty,
      .gradient = gradient_penalty,
      .gradient_needs = GRADUS_NEEDS_INPUT (0),
      .inplace = -1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = HINT,
      .reference = reference_penalty,
      .cases = penalty_cases,
  },
  {
      .name = "penalty_grad",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 1,
      .attrs = attrs,
      .infer = infer_penalty_grad,
      .inplace = 1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = HINT,
      .reference = reference_penalty_grad,
      .cases = penalty_grad_cases,
  },
  { NULL },
};
