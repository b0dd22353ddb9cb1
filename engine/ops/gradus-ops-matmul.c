/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-activation.h"
#include "ops/gradus-op-matmul.h"

static gboolean
flag (const GradusNode *node, const char *name)
{
  return gradus_node_int (node, name) != 0;
}

/* All rows of a, whatever item they are of, meet the same matrix. */
static gboolean
is_one_product (const GradusNode *node, const GradusShape *b)
{
  return b->rank == 2 && !flag (node, "transpose_a");
}

static gint64
product_of (const gint64 *dims, guint n)
{
  gint64 product = 1;

  for (guint i = 0; i < n; i++)
    product *= dims[i];
  return product;
}

/* Where all axes but the last are rows. */
static void
fold_rows (const GradusShape *shape, gint64 *rows, gint64 *columns)
{
  *columns = shape->dims[shape->rank - 1];
  *rows = product_of (shape->dims, shape->rank - 1);
}

/* The size of axis @i of the items; 1 where there is only one matrix. */
static gint64
item_dim (const GradusShape *shape, guint i)
{
  return shape->rank == 2 ? 1 : shape->dims[i];
}

static void
set_items (const GradusShape *a, const GradusShape *b, GradusMatmulSizes *sizes)
{
  gint64 a_stride[GRADUS_MAX_RANK], b_stride[GRADUS_MAX_RANK];

  gradus_op_strides (a, a_stride);
  gradus_op_strides (b, b_stride);
  sizes->n_axes = MAX (a->rank, b->rank) - 2;
  for (guint i = 0; i < sizes->n_axes; i++)
    {
      gint64 a_dim = item_dim (a, i), b_dim = item_dim (b, i);

      sizes->dims[i] = a_dim == 1 ? b_dim : a_dim;
      sizes->a_strides[i] = a_dim == 1 ? 0 : a_stride[i];
      sizes->b_strides[i] = b_dim == 1 ? 0 : b_stride[i];
    }
  sizes->items = product_of (sizes->dims, sizes->n_axes);
}

void
gradus_op_matmul_sizes (const GradusNode *node, const GradusShape *a, const GradusShape *b, GradusMatmulSizes *sizes)
{
  gboolean ta = flag (node, "transpose_a"), tb = flag (node, "transpose_b");
  gint64   a_dims[2] = { a->dims[a->rank - 2], a->dims[a->rank - 1] };
  gint64   b_dims[2] = { b->dims[b->rank - 2], b->dims[b->rank - 1] };

  *sizes = (GradusMatmulSizes){ .items = 1 };
  if (flag (node, "fold"))
    {
      fold_rows (a, &a_dims[0], &a_dims[1]);
      fold_rows (b, &b_dims[0], &b_dims[1]);
    }
  else if (is_one_product (node, b))
    fold_rows (a, &a_dims[0], &a_dims[1]);
  else
    set_items (a, b, sizes);
  sizes->m = a_dims[ta];
  sizes->k = a_dims[!ta];
  sizes->n = b_dims[!tb];
  sizes->a_row = ta ? 1 : a_dims[1];
  sizes->a_column = ta ? a_dims[1] : 1;
  sizes->b_row = tb ? 1 : b_dims[1];
  sizes->b_column = tb ? b_dims[1] : 1;
}

void
gradus_op_matmul_item (const GradusMatmulSizes *sizes, gint64 item, gint64 *a, gint64 *b)
{
  *a = *b = 0;
  for (guint i = sizes->n_axes; i-- > 0;)
    {
      gint64 at = item % sizes->dims[i];

      item /= sizes->dims[i];
      *a += at * sizes->a_strides[i];
      *b += at * sizes->b_strides[i];
    }
}

/* The axes before the last two of both, as far as they agree. */
static gboolean
infer_items (const GradusNode *node, const GradusValueType *inputs, GradusShape *output, GError **error)
{
  const GradusShape *a = &inputs[0].shape, *b = &inputs[1].shape;

  if (a->rank != 2 && b->rank != 2 && a->rank != b->rank)
    return gradus_op_refuse (node, inputs, error,
                             _ ("Both must have as many axes, or one of them two."));
  output->rank = MAX (a->rank, b->rank);
  for (guint i = 0; i < output->rank - 2; i++)
    {
      gint64 a_dim = item_dim (a, i), b_dim = item_dim (b, i);

      if (a_dim != b_dim && a_dim != 1 && b_dim != 1)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("In each axis before the last two the sizes must be equal or "
                                    "one of them 1."));
      output->dims[i] = a_dim == 1 ? b_dim : a_dim;
    }
  return TRUE;
}

/* A sum over all axes but the last: what the gradient of a matrix is. */
static gboolean
infer_fold (const GradusNode *node, const GradusValueType *inputs, GradusShape *output, GError **error)
{
  const GradusShape *a = &inputs[0].shape, *b = &inputs[1].shape;
  gboolean           fits = a->rank == b->rank;

  for (guint i = 0; fits && i + 1 < a->rank; i++)
    fits = a->dims[i] == b->dims[i];
  if (!fits || !flag (node, "transpose_a") || flag (node, "transpose_b"))
    return gradus_op_refuse (node, inputs, error,
                             _ ("Folded, the first is transposed and all axes but the last must "
                                "agree."));
  *output = gradus_shape (2, a->dims[a->rank - 1], b->dims[b->rank - 1]);
  return TRUE;
}

static gboolean
infer_product (const GradusNode *node, const GradusValueType *inputs, GradusShape *output, GError **error)
{
  const GradusShape *a = &inputs[0].shape, *b = &inputs[1].shape;
  const gint64      *a_dims = &a->dims[a->rank - 2], *b_dims = &b->dims[b->rank - 2];
  gboolean           ta = flag (node, "transpose_a"), tb = flag (node, "transpose_b");

  if (a_dims[!ta] != b_dims[tb])
    return gradus_op_refuse (node, inputs, error,
                             _ ("The columns of the first must be as many as the rows of the "
                                "second."));
  if (!infer_items (node, inputs, output, error))
    return FALSE;
  output->dims[output->rank - 2] = a_dims[ta];
  output->dims[output->rank - 1] = b_dims[!tb];
  return TRUE;
}

GRADUS_INFER (infer_matmul)
{
  GradusShape output = { 0 }, bias;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_activation (node, inputs, error))
    return FALSE;
  if (inputs[0].shape.rank < 2 || inputs[1].shape.rank < 2)
    return gradus_op_refuse (node, inputs, error, _ ("Both must have at least two axes."));
  if (!(flag (node, "fold") ? infer_fold (node, inputs, &output, error)
                            : infer_product (node, inputs, &output, error)))
    return FALSE;
  bias = gradus_shape (1, output.dims[output.rank - 1]);
  if (gradus_op_has_input (node, 2) && !gradus_op_check_shape (node, inputs, 2, &bias, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = output;
  return TRUE;
}

static gboolean
emit_product (GradusProgram *program,
              GradusValueId  a,
              gboolean       transpose_a,
              GradusValueId  b,
              gboolean       transpose_b,
              gboolean       fold,
              GradusValueId *product,
              GError       **error)
{
  const GradusValueId inputs[] = { a, b };

  return gradus_program_add_node (program, "matmul", 0, inputs, 2, product, error, "transpose_a",
                                  (gint64) transpose_a, "transpose_b", (gint64) transpose_b, "fold",
                                  (gint64) fold, NULL);
}

/* Sums a gradient over what was repeated. */
static gboolean
sum_to_operand (GradusProgram *program, GradusValueId operand, GradusValueId *gradient, GError **error)
{
  GradusShape from = gradus_op_type (program, *gradient)->shape;
  GradusShape to = gradus_op_type (program, operand)->shape;
  gint64      axes[GRADUS_MAX_RANK];

  for (guint i = 0; i < from.rank - 2; i++)
    axes[i] = i;
  if (to.rank < from.rank)
    return gradus_program_add_node (program, "reduce_sum", 0, gradient, 1, gradient, error, "axes",
                                    from.rank - 2, axes, NULL);
  return gradus_shape_equal (&from, &to)
         || gradus_op_emit (program, "sum_to_like", gradient, error, 2, *gradient, operand);
}

/* The gradient of the second, of which all rows of the first met one. */
static gboolean
gradient_of_matrix (GradusProgram    *program,
                    const GradusNode *node,
                    GradusValueId     dy,
                    GradusValueId    *gradient,
                    GError          **error)
{
  gboolean tb = flag (node, "transpose_b");
  guint    rank = gradus_op_type (program, dy)->shape.rank;

  return emit_product (program, tb ? dy : node->inputs[0], TRUE, tb ? node->inputs[0] : dy, FALSE,
                       rank > 2, gradient, error);
}

GRADUS_GRADIENT (gradient_matmul)
{
  gboolean      ta = flag (node, "transpose_a"), tb = flag (node, "transpose_b");
  GradusValueId a = node->inputs[0], b = node->inputs[1], dy;
  GradusValueId da, db;

  if (!gradus_op_activation_gradient (program, node, output_gradients[0], &dy, error))
    return FALSE;
  if (gradus_op_wants (0))
    {
      /* Folded, the first is as it was: its rows are the second's. */
      if (!(ta ? emit_product (program, b, tb, dy, TRUE, FALSE, &da, error)
               : emit_product (program, dy, FALSE, b, !tb, FALSE, &da, error))
          || !sum_to_operand (program, a, &da, error))
        return FALSE;
      input_gradients[0] = da;
    }
  if (gradus_op_wants (1))
    {
      GradusShape shape = gradus_op_type (program, b)->shape;

      if (is_one_product (node, &shape)
              ? !gradient_of_matrix (program, node, dy, &db, error)
              : (!(tb ? emit_product (program, dy, TRUE, a, ta, FALSE, &db, error)
                      : emit_product (program, a, !ta, dy, FALSE, FALSE, &db, error))
                 || !sum_to_operand (program, b, &db, error)))
        return FALSE;
      input_gradients[1] = db;
    }
  return node->n_inputs < 3 || !gradus_op_wants (2)
         || gradus_op_bias_gradient (program, dy, &input_gradients[2], error);
}

GRADUS_COST (cost_matmul)
{
  GradusMatmulSizes s;

  gradus_op_matmul_sizes (node, &inputs[0].shape, &inputs[1].shape, &s);
  gradus_op_cost (node, inputs, outputs, 2.0 * s.items * s.m * s.k * s.n, cost);
}

GRADUS_REFERENCE (reference_matmul)
{
  const double     *bias = gradus_op_has_input (call->node, 2) ? call->inputs[2] : NULL;
  gboolean          relu = gradus_op_activation_is_relu (call->node);
  double           *y = call->outputs[0];
  GradusMatmulSizes s;

  gradus_op_matmul_sizes (call->node, &call->input_types[0].shape, &call->input_types[1].shape, &s);
  for (gint64 item = 0; item < s.items; item++)
    {
      gint64 a_at, b_at;

      gradus_op_matmul_item (&s, item, &a_at, &b_at);
      for (gint64 i = 0; i < s.m; i++)
        for (gint64 j = 0; j < s.n; j++)
          {
            const double *a = call->inputs[0] + a_at + i * s.a_row;
            const double *b = call->inputs[1] + b_at + j * s.b_column;
            double        sum = bias != NULL ? bias[j] : 0;

            for (gint64 k = 0; k < s.k; k++)
              sum += a[k * s.a_column] * b[k * s.b_row];
            *y++ = relu && sum < 0 ? 0 : sum;
          }
    }
}

static const GradusAttrSpec matmul_attrs[] = {
  { "transpose_a", GRADUS_ATTR_INT, "0" },
  { "transpose_b", GRADUS_ATTR_INT, "0" },
  { "fold", GRADUS_ATTR_INT, "0" }, /* all axes but the last are rows, of both */
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
  { "f32[B,3,5] f32[5,4] f32[4]", "activation=relu" },
  { "f32[B,2,3,5] f32[4,5]", "transpose_b=1" },
  { "f32[B,5,3] f32[5,4]", "transpose_a=1" },
  { "f32[B,5,3] f32[4,5]", "transpose_a=1 transpose_b=1" },
  { "f32[B,3,5] f32[B,5,4] f32[4]", NULL },
  { "f32[B,2,3,5] f32[B,2,4,5]", "transpose_b=1" },
  { "f32[B,2,5,3] f32[B,1,5,4]", "transpose_a=1" },
  { "f32[1,2,3,5] f32[B,1,4,5]", "transpose_b=1" },
  { "f32[3,5] f32[B,5,4]", NULL },
  { "f32[B,3,2] f32[B,3,4]", "transpose_a=1 fold=1" },
  { "f32[4099,B] f32[4099,20]", "transpose_a=1", 1e-4 },
  { "f32[5,2048] f32[2048,64] f32[64]", "activation=relu", 1e-4 },
  { "f32[B,33,21] f32[B,21,18]", NULL },
  { "f32[B,7,33,5] f32[B,7,34,5]", "transpose_b=1" },
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
