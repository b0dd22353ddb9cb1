/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-philox.h"
#include "ops/gradus-op-family.h"

/* x or dy, rate */
GRADUS_INFER (infer_dropout)
{
  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_scalar (node, inputs, 1, error))
    return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

/* The same stream: the gradient draws the same mask again and nothing has to be kept. */
GRADUS_GRADIENT (gradient_dropout)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[1] };

  return gradus_program_add_node (program, "dropout_grad", node->stream, in, 2, &input_gradients[0],
                                  error, NULL);
}

GRADUS_REFERENCE (reference_dropout)
{
  double       rate = call->inputs[1][0];
  GradusPhilox philox = gradus_philox (call->seed, call->node->stream, call->step);

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i]
      = gradus_philox_float (&philox, i) >= rate ? call->inputs[0][i] / (1 - rate) : 0;
}

static const GradusOpCase cases[] = {
  { "f32[B,5] f32%[]", NULL },
  { "f32[B,5] f32=0[]", NULL },
  { "f32[B,2,3,5] f32=0.5[]", NULL },
  { "f32[] f32%[]", NULL },
  { "f32[B,1031] f32=0.25[]", NULL },
  { NULL },
};

#define DROPOUT_ROW(op, builder)                                                                   \
  {                                                                                                \
    .name = op, .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,                    \
    .infer = infer_dropout, .gradient = builder, .gradient_needs = GRADUS_NEEDS_INPUT (1),         \
    .no_gradient = 1u << 1, .inplace = 0, .random = TRUE,                                          \
    .precision = GRADUS_PRECISION_WIDEST,                                                          \
    .cost = gradus_op_cost_transcendental,                                                         \
    .nan_hint = N_ ("its input is so large that scaling by 1 / (1 - rate) overflows"),             \
    .reference = reference_dropout, .cases = cases,                                                \
  }

const GradusOp gradus_ops_random[] = {
  DROPOUT_ROW ("dropout", gradient_dropout),
  /* Linear in dy, so it is its own gradient. */
  DROPOUT_ROW ("dropout_grad", gradient_dropout),
  { NULL },
};
