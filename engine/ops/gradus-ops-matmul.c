/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-activation.h"

/* Rows, depth and columns of y = op(a) op(b). */
typedef struct
{
  gint64 m, k, n;
  gint64 a_row, a_column, b_row, b_column; /* strides */
} Sizes;

static gboolean
get_sizes (const GradusNode *node, const GradusValueType *inputs, Sizes *sizes)
{
  const gint64 *a = inputs[0].shape.dims, *b = inputs[1].shape.dims;
  gboolean      ta = gradus_node_int (node, "transpose_a") != 0;
  gboolean      tb = gradus_node_int (node, "transpose_b") != 0;

  sizes->m = ta ? a[1] : a[0];
  sizes->k = ta ? a[0] : a[1];
  sizes->n = tb ? b[0] : b[1];
  sizes->a_row = ta ? 1 : a[1];
  sizes->a_column = ta ? a[1] : 1;
  sizes->b_row = tb ? 1 : b[1];
  sizes->b_column = tb ? b[1] : 1;
  return sizes->k == (tb ? b[1] : b[0]);
}

GRADUS_INFER (infer_matmul)
{
  Sizes       sizes;
  GradusShape bias;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_rank (node, inputs, 0, 2, error)
      || !gradus_op_check_rank (node, inputs, 1, 2, error)
      || !gradus_op_check_activation (node, inputs, error))
    return FALSE;
  if (!get_sizes (node, inputs, &sizes))
    return gradus_op_refuse (node, inputs, error,
                             _ ("The columns of the first must be as many as the rows of the "
                                "second."));
  bias = gradus_shape (1, sizes.n);
  if (gradus_op_has_input (node, 2) && !gradus_op_check_shape (node, inputs, 2, &bias, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_shape (2, sizes.m, sizes.n);
  return TRUE;
}

static gboolean
emit_product (GradusProgram *program,
              GradusValueId  a,
              gboolean       transpose_a,
              GradusValueId  b,
              gboolean       transpose_b,
              GradusValueId *product,
              GError       **error)
{
  const GradusValueId inputs[] = { a, b };

  return gradus_program_add_node (program, "matmul", 0, inputs, 2, product, error, "transpose_a",
                                  (gint64) transpose_a, "transpose_b", (gint64) transpose_b, NULL);
}

GRADUS_GRADIENT (gradient_matmul)
{
  gboolean      ta = gradus_node_int (node, "transpose_a") != 0;
  gboolean      tb = gradus_node_int (node, "transpose_b") != 0;
  GradusValueId a = node->inputs[0], b = node->inputs[1], dy;

  if (!gradus_op_activation_gradient (program, node, output_gradients[0], &dy, error))
    return FALSE;
  if (gradus_op_wants (0)
      && !(ta ? emit_product (program, b, tb, dy, TRUE, &input_gradients[0], error)
              : emit_product (program, dy, FALSE, b, !tb, &input_gradients[0], error)))
    return FALSE;
  if (gradus_op_wants (1)
      && !(tb ? emit_product (program, dy, TRUE, a, ta, &input_gradients[1], error)
              : emit_product (program, a, !ta, dy, FALSE, &input_gradients[1], error)))
    return FALSE;
  return node->n_inputs < 3 || !gradus_op_wants (2)
         || gradus_op_bias_gradient (program, dy, &input_gradients[2], error);
}

GRADUS_COST (cost_matmul)
{
  Sizes sizes;

  get_sizes (node, inputs, &sizes);
  gradus_op_cost (node, inputs, outputs, 2.0 * sizes.m * sizes.k * sizes.n, cost);
}

GRADUS_REFERENCE (reference_matmul)
{
  const double *a = call->inputs[0], *b = call->inputs[1];
  const double *bias = gradus_op_has_input (call->node, 2) ? call->inputs[2] : NULL;
  gboolean      relu = gradus_op_activation_is_relu (call->node);
  Sizes         s;

  get_sizes (call->node, call->input_types, &s);
  for (gint64 i = 0; i < s.m; i++)
    for (gint64 j = 0; j < s.n; j++)
      {
        double sum = bias != NULL ? bias[j] : 0;

        for (gint64 k = 0; k < s.k; k++)
          sum += a[i * s.a_row + k * s.a_column] * b[k * s.b_row + j * s.b_column];
        call->outputs[0][i * s.n + j] = relu && sum < 0 ? 0 : sum;
      }
}

static const GradusAttrSpec matmul_attrs[] = {
  { "transpose_a", GRADUS_ATTR_INT, "0" },
  { "transpose_b", GRADUS_ATTR_INT, "0" },
  { "activation", GRADUS_ATTR_STRING, "linear" },
  { NULL },
};

static const GradusOpCase matmul_cases[] = {
  { "f32[B,5] f32[5,4] f32[4]", NULL },
  { "f32[B,5] f32[5,4]", "activation=relu" },
  { "f32[B,5] f32[5,4] f32[4]", "activation=relu" },
  { "f32[B,5] f32[4,5]", "transpose_b=1" },
  { "f32[B,3] f32[B,4]", "transpose_a=1" },
  { "f32[5,B] f32[4,5] f32[4]", "transpose_a=1 transpose_b=1" },
  { "f32[B,1] f32[1,1] f32[1]", NULL },
  { "f32[B,7] f32[7,1] -", NULL },
  { "f32[B,131] f32[131,67] f32[67]", "activation=relu" },
  { "f32[B,257] f32[B,33]", "transpose_a=1" },
  { NULL },
};

const GradusOp gradus_ops_matmul[] = {
  {
    .name = "matmul",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 1,
    .attrs = matmul_attrs,
    .infer = infer_matmul,
    .gradient = gradient_matmul,
    .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (0),
    .inplace = -1,
    .precision = GRADUS_PRECISION_LOWER,
    .cost = cost_matmul,
    .nan_hint = N_ ("weights or inputs have grown so large that their products overflow; lower the "
                    "learning rate or clip the gradients"),
    .reference = reference_matmul,
    .cases = matmul_cases,
  },
  { NULL },
};
