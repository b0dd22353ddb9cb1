/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

GRADUS_INFER (infer_reduce)
{
  guint32 mask;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_axes (node, inputs, inputs[0].shape.rank, &mask, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape
    = gradus_op_reduced_shape (&inputs[0].shape, mask, gradus_node_int (node, "keepdims") != 0);
  return TRUE;
}

static guint
axes_of_mask (guint32 mask, gint64 *axes)
{
  guint n = 0;

  for (guint i = 0; i < GRADUS_MAX_RANK; i++)
    if ((mask & (1u << i)) != 0)
      axes[n++] = i;
  return n;
}

/* @dy, of the shape of @node's output, over the shape of its input. */
static gboolean
put_back (GradusProgram    *program,
          const GradusNode *node,
          GradusValueId     dy,
          gboolean          mean,
          GradusValueId    *dx,
          GError          **error)
{
  const GradusValueId in[] = { dy, node->inputs[0] };
  guint32             mask;
  gint64              axes[GRADUS_MAX_RANK];
  guint               n;

  gradus_op_axes (node, NULL, gradus_op_type (program, node->inputs[0])->shape.rank, &mask, NULL);
  n = axes_of_mask (mask, axes);
  return gradus_program_add_node (program, "broadcast_like", 0, in, 2, dx, error, "axes", n, axes,
                                  "scale_mean", (gint64) mean, NULL);
}

GRADUS_GRADIENT (gradient_reduce_sum)
{
  return put_back (program, node, output_gradients[0], FALSE, &input_gradients[0], error);
}

GRADUS_GRADIENT (gradient_reduce_mean)
{
  return put_back (program, node, output_gradients[0], TRUE, &input_gradients[0], error);
}

/* The gradient is shared equally by all that are the greatest, as in TensorFlow. x - max(x) is 0 for
 * these and negative for the others, and relu_grad lets through what stands where its second
 * argument is positive. */
GRADUS_GRADIENT (gradient_reduce_max)
{
  const float   one = 1;
  guint         n;
  const gint64 *axes = gradus_node_ints (node, "axes", &n);
  GradusValueId x = node->inputs[0], max, below, ones, chosen, count, share;

  ones = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &one);
  return put_back (program, node, node->outputs[0], FALSE, &max, error)
         && gradus_op_emit (program, "subtract", &below, error, 2, x, max)
         && gradus_program_add_node (program, "affine", 0, &below, 1, &below, error, "offset", 1e-30,
                                     NULL)
         && gradus_op_emit (program, "broadcast_like", &ones, error, 2, ones, x)
         && gradus_op_emit (program, "relu_grad", &chosen, error, 2, ones, below)
         && gradus_program_add_node (program, "reduce_sum", 0, &chosen, 1, &count, error, "axes", n,
                                     axes, "keepdims", gradus_node_int (node, "keepdims"), NULL)
         && gradus_op_emit (program, "divide", &share, error, 2, output_gradients[0], count)
         && put_back (program, node, share, FALSE, &share, error)
         && gradus_op_emit (program, "multiply", &input_gradients[0], error, 2, chosen, share);
}

/* The place in an array of @reduced shape (axes of @mask left out or 1) for a place in @shape. */
static gint64
reduced_index (const GradusShape *shape, guint32 mask, const gint64 *at)
{
  gint64 index = 0;

  for (guint i = 0; i < shape->rank; i++)
    if ((mask & (1u << i)) == 0)
      index = index * shape->dims[i] + at[i];
  return index;
}

static double
group_size (const GradusShape *shape, guint32 mask)
{
  double size = 1;

  for (guint i = 0; i < shape->rank; i++)
    if ((mask & (1u << i)) != 0)
      size *= shape->dims[i];
  return size;
}

typedef enum
{
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_MAX,
} Reduction;

static void
reduce (const GradusReferenceCall *call, Reduction reduction)
{
  const GradusShape *shape = &call->input_types[0].shape;
  double            *y = call->outputs[0];
  gint64             at[GRADUS_MAX_RANK];
  guint32            mask;

  gradus_op_axes (call->node, NULL, shape->rank, &mask, NULL);
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    y[i] = reduction == REDUCE_MAX ? -INFINITY : 0;
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      gint64 to;

      gradus_op_unravel (shape, i, at);
      to = reduced_index (shape, mask, at);
      if (reduction != REDUCE_MAX)
        y[to] += call->inputs[0][i];
      else if (call->inputs[0][i] > y[to] || isnan (call->inputs[0][i]))
        y[to] = call->inputs[0][i];
    }
  if (reduction == REDUCE_MEAN)
    for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
      y[i] /= group_size (shape, mask);
}

GRADUS_REFERENCE (reference_reduce_sum)
{
  reduce (call, REDUCE_SUM);
}

GRADUS_REFERENCE (reference_reduce_mean)
{
  reduce (call, REDUCE_MEAN);
}

GRADUS_REFERENCE (reference_reduce_max)
{
  reduce (call, REDUCE_MAX);
}

/* x, like -> y */
GRADUS_INFER (infer_broadcast_like)
{
  GradusShape left_out, kept;
  guint32     mask;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_axes (node, inputs, inputs[1].shape.rank, &mask, error))
    return FALSE;
  left_out = gradus_op_reduced_shape (&inputs[1].shape, mask, FALSE);
  kept = gradus_op_reduced_shape (&inputs[1].shape, mask, TRUE);
  if (!gradus_shape_equal (&inputs[0].shape, &kept)
      && !gradus_op_check_shape (node, inputs, 0, &left_out, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = inputs[1].shape;
  return TRUE;
}

GRADUS_GRADIENT (gradient_broadcast_like)
{
  const GradusShape *x = &gradus_op_type (program, node->inputs[0])->shape;
  const GradusShape *like = &gradus_op_type (program, node->inputs[1])->shape;
  gint64             axes[GRADUS_MAX_RANK];
  guint32            mask;
  guint              n;

  if (!gradus_op_wants (0))
    return TRUE;
  if (like->rank == 0)
    {
      input_gradients[0] = output_gradients[0];
      return TRUE;
    }
  gradus_op_axes (node, NULL, like->rank, &mask, NULL);
  n = axes_of_mask (mask, axes);
  return gradus_program_add_node (program,
                                  gradus_node_int (node, "scale_mean") != 0 ? "reduce_mean"
                                                                            : "reduce_sum",
                                  0, output_gradients, 1, &input_gradients[0], error, "axes", n,
                                  axes, "keepdims", (gint64) (x->rank == like->rank), NULL);
}

GRADUS_REFERENCE (reference_broadcast_like)
{
  const GradusShape *shape = &call->output_types[0].shape;
  gint64             at[GRADUS_MAX_RANK];
  guint32            mask;
  double             divisor;

  gradus_op_axes (call->node, NULL, shape->rank, &mask, NULL);
  divisor = gradus_node_int (call->node, "scale_mean") != 0 ? group_size (shape, mask) : 1;
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      gradus_op_unravel (shape, i, at);
      call->outputs[0][i] = call->inputs[0][reduced_index (shape, mask, at)] / divisor;
    }
}

static gboolean
can_sum_to (const GradusShape *x, const GradusShape *like)
{
  if (like->rank == 0)
    return TRUE;
  if (x->rank != like->rank)
    return FALSE;
  for (guint i = 0; i < x->rank; i++)
    if (like->dims[i] != x->dims[i] && like->dims[i] != 1)
      return FALSE;
  return TRUE;
}

/* x, like -> y */
GRADUS_INFER (infer_sum_to_like)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (!can_sum_to (&inputs[0].shape, &inputs[1].shape))
    return gradus_op_refuse (node, inputs, error,
                             _ ("The second must be one number, or have 1 or the size of the first "
                                "in each axis."));
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = inputs[1].shape;
  return TRUE;
}

GRADUS_GRADIENT (gradient_sum_to_like)
{
  const GradusShape  *x = &gradus_op_type (program, node->inputs[0])->shape;
  const GradusShape  *like = &gradus_op_type (program, node->inputs[1])->shape;
  const GradusValueId in[] = { output_gradients[0], node->inputs[0] };
  gint64              axes[GRADUS_MAX_RANK];
  guint               n = 0;

  if (!gradus_op_wants (0))
    return TRUE;
  for (guint i = 0; i < x->rank; i++)
    if (like->rank == 0 || x->dims[i] != like->dims[i])
      axes[n++] = i;
  if (n == 0)
    {
      input_gradients[0] = output_gradients[0];
      return TRUE;
    }
  return gradus_program_add_node (program, "broadcast_like", 0, in, 2, &input_gradients[0], error,
                                  "axes", n, axes, NULL);
}

GRADUS_REFERENCE (reference_sum_to_like)
{
  const GradusShape *shape = &call->input_types[0].shape, *like = &call->output_types[0].shape;
  gint64             at[GRADUS_MAX_RANK];
  guint32            mask = 0;

  for (guint i = 0; i < shape->rank; i++)
    if (like->rank == 0 || like->dims[i] == 1)
      mask |= 1u << i;
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = 0;
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      gradus_op_unravel (shape, i, at);
      call->outputs[0][reduced_index (shape, mask, at)] += call->inputs[0][i];
    }
}

GRADUS_INFER (infer_sum_squares)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_shape (0);
  return TRUE;
}

GRADUS_GRADIENT (gradient_sum_squares)
{
  GradusValueId product, x = node->inputs[0];

  return gradus_op_emit (program, "multiply", &product, error, 2, x, output_gradients[0])
         && gradus_program_add_node (program, "affine", 0, &product, 1, &input_gradients[0], error,
                                     "scale", 2.0, NULL);
}

GRADUS_REFERENCE (reference_sum_squares)
{
  double sum = 0;

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    sum += call->inputs[0][i] * call->inputs[0][i];
  call->outputs[0][0] = sum;
}

static const GradusAttrSpec reduce_attrs[] = {
  { "axes", GRADUS_ATTR_INTS, "" },
  { "keepdims", GRADUS_ATTR_INT, "0" },
  { NULL },
};

static const GradusAttrSpec broadcast_attrs[] = {
  { "axes", GRADUS_ATTR_INTS, "" },
  { "scale_mean", GRADUS_ATTR_INT, "0" },
  { NULL },
};

/* Where all is summed the numbers are positive: those of both signs cancel out to next to nothing. */
static const GradusOpCase reduce_cases[] = {
  { "f32+[B,3,4]", NULL },
  { "f32[B,3,4]", "axes=0", 1e-4 },
  { "f32[B,3,4]", "axes=1 keepdims=1" },
  { "f32[B,3,4]", "axes=2" },
  { "f32[B,2,3,5]", "axes=1,2" },
  { "f32+[B,5,3,2]", "axes=0,1,2" },
  { "f32+[B]", "keepdims=1" },
  { "f32[1,1]", "axes=0" },
  { "f32[]", NULL },
  { "f32+[B,37,33]", NULL },
  { "f32[B,37,33]", "axes=1", 1e-4 },
  { "f32[B,28,28,17]", "axes=0,1,2", 1e-4 },
  { NULL },
};

static const GradusOpCase broadcast_cases[] = {
  { "f32[B,4] f32[B,3,4]", "axes=1 scale_mean=1" },
  { "f32[B,1,4] f32[B,3,4]", "axes=1" },
  { "f32[] f32[B,3,4]", "axes=0,1,2 scale_mean=1" },
  { "f32[4] f32[B,3,4]", "axes=0,1" },
  { "f32[B] f32[B,7]", "axes=1" },
  { "f32[] f32[]", NULL },
  { "f32[B,17] f32[B,7,7,17]", "axes=1,2 scale_mean=1" },
  { NULL },
};

static const GradusOpCase sum_to_like_cases[] = {
  { "f32+[B,3,4] f32[]", NULL },
  { "f32[B,3,4] f32[1,3,4]", NULL, 1e-4 },
  { "f32[B,3,4] f32[B,1,4]", NULL },
  { "f32+[B,3,4] f32[1,3,1]", NULL },
  { "f32[B,3] f32[B,3]", NULL },
  { "f32[B,129] f32[1,129]", NULL, 1e-4 },
  { NULL },
};

static const GradusOpCase sum_squares_cases[] = {
  { "f32[7,5]", NULL },
  { "f32[B]", NULL },
  { "f32[1]", NULL },
  { "f32[]", NULL },
  { "f32[3,3,32,33]", NULL },
  { NULL },
};

#define SUM_HINT N_ ("its numbers are so large that their sum overflows")

#define REDUCE_ROW(op_name, builder, needs, reference_, hint)                                      \
  {                                                                                                \
    .name = op_name, .version = 1, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1,               \
    .attrs = reduce_attrs, .infer = infer_reduce, .gradient = builder,                             \
    .gradient_needs = (needs), .inplace = -1,                                                      \
    .precision = GRADUS_PRECISION_FLOAT32, .cost = gradus_op_cost_elementwise, .nan_hint = hint,   \
    .reference = reference_, .cases = reduce_cases,                                                \
  }

const GradusOp gradus_ops_reduce[] = {
  REDUCE_ROW ("reduce_sum", gradient_reduce_sum, 0, reference_reduce_sum, SUM_HINT),
  REDUCE_ROW ("reduce_mean",
              gradient_reduce_mean,
              0,
              reference_reduce_mean,
              N_ ("its numbers are so large that their sum overflows, or there are none: the mean of "
                  "an empty axis is not a number")),
  REDUCE_ROW ("reduce_max",
              gradient_reduce_max,
              GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_OUTPUT (0),
              reference_reduce_max,
              N_ ("an axis is empty: the greatest of no numbers is minus infinity")),
  {
    .name = "broadcast_like",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attrs = broadcast_attrs,
    .infer = infer_broadcast_like,
    .gradient = gradient_broadcast_like,
    .shape_only = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_elementwise,
    .reference = reference_broadcast_like,
    .cases = broadcast_cases,
  },
  {
    .name = "sum_to_like",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_sum_to_like,
    .gradient = gradient_sum_to_like,
    .shape_only = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = SUM_HINT,
    .reference = reference_sum_to_like,
    .cases = sum_to_like_cases,
  },
  {
    .name = "sum_squares",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .infer = infer_sum_squares,
    .gradient = gradient_sum_squares,
    .gradient_needs = GRADUS_NEEDS_INPUT (0),
    .inplace = -1,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = N_ ("its numbers are so large that their squares overflow; clip or lower the learning "
                    "rate"),
    .reference = reference_sum_squares,
    .cases = sum_squares_cases,
  },
  { NULL },
};
