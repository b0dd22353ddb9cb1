/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-axis.h"

#include <inttypes.h>

#include "ops/gradus-op-family.h"

/* What works along one axis: the attribute “axis”, counted from the end where it is negative. */

gboolean
gradus_op_axis (const GradusNode *node, const GradusValueType *inputs, guint rank, guint *axis, GError **error)
{
  gint64 wanted = gradus_node_int (node, "axis");

  if (wanted < -(gint64) rank || wanted >= (gint64) rank)
    return gradus_op_refuse (node, inputs, error, _ ("Axis %" PRId64 " is not one of its %u axes."),
                             wanted, rank);
  *axis = (guint) (wanted < 0 ? wanted + (gint64) rank : wanted);
  return TRUE;
}

/* The three sizes of a bound shape: before the axis, of it, after it. */
GradusAxis
gradus_op_axis_split (const GradusNode *node, const GradusShape *shape)
{
  GradusAxis split = { 1, 1, 1 };
  guint      axis = 0;

  gradus_op_axis (node, NULL, shape->rank, &axis, NULL);
  for (guint i = 0; i < shape->rank; i++)
    *(i < axis ? &split.outer : i == axis ? &split.n : &split.inner) *= shape->dims[i];
  return split;
}

GRADUS_INFER (infer_along)
{
  guint axis;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_axis (node, inputs, inputs[0].shape.rank, &axis, error))
    return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

/* The axis gone, or 1 with “keepdims”. */
GRADUS_INFER (infer_reduced)
{
  guint axis;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_axis (node, inputs, inputs[0].shape.rank, &axis, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_op_reduced_shape (&inputs[0].shape, 1u << axis,
                                              gradus_node_int (node, "keepdims") != 0);
  return TRUE;
}

GRADUS_INFER (infer_arg)
{
  if (!infer_reduced (node, inputs, outputs, error))
    return FALSE;
  outputs[0].dtype = GRADUS_DTYPE_INT32;
  return TRUE;
}

static gboolean
no_gradient_flows (GradusProgram       *program,
                   const GradusNode    *node,
                   const GradusValueId *output_gradients,
                   GradusValueId       *input_gradients,
                   GError             **error)
{
  return TRUE;
}

/* The first of equals, or the last if asked; a NaN is taken for the best, as NumPy does it. */
static void
find_best (const GradusReferenceCall *call, double sign)
{
  GradusAxis split = gradus_op_axis_split (call->node, &call->input_types[0].shape);
  gboolean   last = gradus_node_int (call->node, "last") != 0;

  for (gint64 o = 0; o < split.outer; o++)
    for (gint64 i = 0; i < split.inner; i++)
      {
        const double *x = call->inputs[0] + o * split.n * split.inner + i;
        gint64        best = 0;

        for (gint64 k = 1; k < split.n; k++)
          {
            double a = sign * x[best * split.inner], b = sign * x[k * split.inner];

            if (!isnan (a) && (isnan (b) || b > a || (last && b == a)))
              best = k;
          }
        call->outputs[0][o * split.inner + i] = (double) best;
      }
}

GRADUS_REFERENCE (reference_argmax)
{
  find_best (call, 1);
}

GRADUS_REFERENCE (reference_argmin)
{
  find_best (call, -1);
}

GRADUS_GRADIENT (gradient_cumsum)
{
  return gradus_program_add_node (program, "cumsum", 0, output_gradients, 1, &input_gradients[0],
                                  error, "axis", gradus_node_int (node, "axis"), "exclusive",
                                  gradus_node_int (node, "exclusive"), "reverse",
                                  (gint64) !gradus_node_int (node, "reverse"), NULL);
}

GRADUS_REFERENCE (reference_cumsum)
{
  GradusAxis split = gradus_op_axis_split (call->node, &call->input_types[0].shape);
  gboolean   exclusive = gradus_node_int (call->node, "exclusive") != 0;
  gboolean   reverse = gradus_node_int (call->node, "reverse") != 0;

  for (gint64 o = 0; o < split.outer; o++)
    for (gint64 i = 0; i < split.inner; i++)
      {
        double sum = 0;

        for (gint64 k = 0; k < split.n; k++)
          {
            gint64 at = (o * split.n + (reverse ? split.n - 1 - k : k)) * split.inner + i;
            double x = call->inputs[0][at];

            call->outputs[0][at] = exclusive ? sum : sum + x;
            sum += x;
          }
      }
}

GRADUS_GRADIENT (gradient_reverse)
{
  return gradus_program_add_node (program, "reverse", 0, output_gradients, 1, &input_gradients[0],
                                  error, "axis", gradus_node_int (node, "axis"), NULL);
}

GRADUS_REFERENCE (reference_reverse)
{
  GradusAxis split = gradus_op_axis_split (call->node, &call->input_types[0].shape);

  for (gint64 o = 0; o < split.outer; o++)
    for (gint64 k = 0; k < split.n; k++)
      for (gint64 i = 0; i < split.inner; i++)
        call->outputs[0][(o * split.n + split.n - 1 - k) * split.inner + i]
          = call->inputs[0][(o * split.n + k) * split.inner + i];
}

GRADUS_GRADIENT (gradient_reduce_prod)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0] };

  return gradus_program_add_node (program, "reduce_prod_grad", 0, in, 2, &input_gradients[0], error,
                                  "axis", gradus_node_int (node, "axis"), "keepdims",
                                  gradus_node_int (node, "keepdims"), NULL);
}

GRADUS_REFERENCE (reference_reduce_prod)
{
  GradusAxis split = gradus_op_axis_split (call->node, &call->input_types[0].shape);

  for (gint64 o = 0; o < split.outer; o++)
    for (gint64 i = 0; i < split.inner; i++)
      {
        double product = 1;

        for (gint64 k = 0; k < split.n; k++)
          product *= call->inputs[0][(o * split.n + k) * split.inner + i];
        call->outputs[0][o * split.inner + i] = product;
      }
}

/* dy, x -> dx: the product of the others, without a division, so that zeros are right. */
GRADUS_INFER (infer_reduce_prod_grad)
{
  guint       axis;
  GradusShape reduced;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_axis (node, inputs, inputs[1].shape.rank, &axis, error))
    return FALSE;
  reduced = gradus_op_reduced_shape (&inputs[1].shape, 1u << axis,
                                     gradus_node_int (node, "keepdims") != 0);
  outputs[0] = inputs[1];
  return gradus_op_check_shape (node, inputs, 0, &reduced, error);
}

GRADUS_REFERENCE (reference_reduce_prod_grad)
{
  GradusAxis split = gradus_op_axis_split (call->node, &call->input_types[1].shape);

  for (gint64 o = 0; o < split.outer; o++)
    for (gint64 i = 0; i < split.inner; i++)
      {
        const double *x = call->inputs[1] + o * split.n * split.inner + i;
        double       *dx = call->outputs[0] + o * split.n * split.inner + i;
        double        product = call->inputs[0][o * split.inner + i];

        for (gint64 k = 0; k < split.n; k++)
          {
            dx[k * split.inner] = product;
            product *= x[k * split.inner];
          }
        product = 1;
        for (gint64 k = split.n - 1; k >= 0; k--)
          {
            dx[k * split.inner] *= product;
            product *= x[k * split.inner];
          }
      }
}

/* The k greatest of the last axis in falling order, and where they stood. */
GRADUS_INFER (infer_top_k)
{
  gint64 k = gradus_node_int (node, "k");
  guint  rank = inputs[0].shape.rank;

  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (rank == 0)
    return gradus_op_refuse (node, inputs, error, _ ("It must have an axis."));
  if (k < 1 || k > inputs[0].shape.dims[rank - 1])
    return gradus_op_refuse (node, inputs, error,
                             _ ("k is %" PRId64 "; it must be from 1 to the size of the last axis."), k);
  outputs[0] = inputs[0];
  outputs[0].shape.dims[rank - 1] = k;
  outputs[1] = outputs[0];
  outputs[1].dtype = GRADUS_DTYPE_INT32;
  return TRUE;
}

GRADUS_GRADIENT (gradient_top_k)
{
  return gradus_op_emit (program, "top_k_grad", &input_gradients[0], error, 3, output_gradients[0],
                         node->outputs[1], node->inputs[0]);
}

/* Equals keep their order; a NaN comes before all numbers. */
GRADUS_REFERENCE (reference_top_k)
{
  const GradusShape *shape = &call->input_types[0].shape;
  gint64             n = shape->dims[shape->rank - 1], k = gradus_node_int (call->node, "k");
  double             sign = gradus_node_int (call->node, "largest") != 0 ? 1 : -1;

  for (gint64 row = 0; row < gradus_op_count (&call->output_types[0]) / k; row++)
    {
      const double *x = call->inputs[0] + row * n;
      double       *y = call->outputs[0] + row * k, *index = call->outputs[1] + row * k;
      gint64        kept = 0;

      for (gint64 i = 0; i < n; i++)
        {
          gint64 at = kept;

          while (at > 0 && !isnan (y[at - 1]) && (isnan (x[i]) || sign * x[i] > sign * y[at - 1]))
            at--;
          if (at == k)
            continue;
          kept = MIN (kept + 1, k);
          for (gint64 j = kept - 1; j > at; j--)
            {
              y[j] = y[j - 1];
              index[j] = index[j - 1];
            }
          y[at] = x[i];
          index[at] = (double) i;
        }
    }
}

/* dy, index, x -> dx */
GRADUS_INFER (infer_top_k_grad)
{
  outputs[0] = inputs[2];
  return gradus_op_check_shape (node, inputs, 1, &inputs[0].shape, error);
}

GRADUS_REFERENCE (reference_top_k_grad)
{
  const GradusShape *dy = &call->input_types[0].shape, *dx = &call->output_types[0].shape;
  gint64             k = dy->dims[dy->rank - 1], n = dx->dims[dx->rank - 1];

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = 0;
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    call->outputs[0][i / k * n + (gint64) call->inputs[1][i]] += call->inputs[0][i];
}

/* Labels to rows of 0 with a 1 at the label; a label outside gives zeros. */
GRADUS_INFER (infer_one_hot)
{
  gint64 classes = gradus_node_int (node, "classes");

  if (inputs[0].dtype != GRADUS_DTYPE_INT32)
    return gradus_op_refuse (node, inputs, error, _ ("Labels must be int32."));
  if (classes < 1 || inputs[0].shape.rank == GRADUS_MAX_RANK)
    return gradus_op_refuse (node, inputs, error,
                             _ ("It needs one class at least, and room for another axis."));
  outputs[0].dtype = GRADUS_DTYPE_FLOAT32;
  outputs[0].shape = inputs[0].shape;
  outputs[0].shape.dims[outputs[0].shape.rank++] = classes;
  return TRUE;
}

GRADUS_REFERENCE (reference_one_hot)
{
  gint64 classes = gradus_node_int (call->node, "classes");

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = call->inputs[0][i / classes] == (double) (i % classes) ? 1 : 0;
}

/* The last two axes' upper or lower triangle, from diagonal k on; the rest 0. */
GRADUS_INFER (infer_triangle)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (inputs[0].shape.rank < 2)
    return gradus_op_refuse (node, inputs, error, _ ("It must have two axes at least."));
  outputs[0] = inputs[0];
  return TRUE;
}

GRADUS_GRADIENT (gradient_triangle)
{
  return gradus_program_add_node (program, "triangle", 0, output_gradients, 1, &input_gradients[0],
                                  error, "upper", gradus_node_int (node, "upper"), "k",
                                  gradus_node_int (node, "k"), NULL);
}

GRADUS_REFERENCE (reference_triangle)
{
  const GradusShape *shape = &call->input_types[0].shape;
  gint64             rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
  gint64             k = gradus_node_int (call->node, "k");
  gboolean           upper = gradus_node_int (call->node, "upper") != 0;

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      gint64 diagonal = i % columns - i / columns % rows;

      call->outputs[0][i] = (upper ? diagonal >= k : diagonal <= k) ? call->inputs[0][i] : 0;
    }
}

static const GradusAttrSpec arg_attrs[] = {
  { "axis", GRADUS_ATTR_INT, "-1" },
  { "keepdims", GRADUS_ATTR_INT, "0" },
  { "last", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec cumsum_attrs[] = {
  { "axis", GRADUS_ATTR_INT, "-1" },
  { "exclusive", GRADUS_ATTR_INT, "0" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec axis_attrs[] = { { "axis", GRADUS_ATTR_INT, "-1" }, { NULL } };
static const GradusAttrSpec prod_attrs[] = {
  { "axis", GRADUS_ATTR_INT, "-1" },
  { "keepdims", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec top_k_attrs[] = {
  { "k", GRADUS_ATTR_INT, "1" },
  { "largest", GRADUS_ATTR_INT, "1" },
  { NULL },
};
static const GradusAttrSpec one_hot_attrs[] = { { "classes", GRADUS_ATTR_INT, "2" }, { NULL } };
static const GradusAttrSpec triangle_attrs[] = {
  { "upper", GRADUS_ATTR_INT, "1" },
  { "k", GRADUS_ATTR_INT, "0" },
  { NULL },
};

static const GradusOpCase arg_cases[] = {
  { "f32[B,7]", NULL },
  { "f32[B,7]", "axis=0" },
  { "f32<3[B,5,4]", "axis=1 keepdims=1" },
  { "f32<3[B,5,4]", "axis=1 last=1" },
  { "f32[B,1031]", "axis=-1" },
  { NULL },
};
static const GradusOpCase cumsum_cases[] = {
  { "f32[B,7]", NULL },
  { "f32+[B,5,4]", "axis=1" },
  { "f32+[B,5,4]", "axis=1 exclusive=1" },
  { "f32+[B,5,4]", "axis=0 reverse=1" },
  { "f32+[B,33]", "exclusive=1 reverse=1" },
  { NULL },
};
static const GradusOpCase reverse_cases[] = {
  { "f32[B,7]", NULL },
  { "f32[B,5,4]", "axis=1" },
  { "f32[B,5,4]", "axis=0" },
  { NULL },
};
static const GradusOpCase prod_cases[] = {
  { "f32+[B,5]", NULL },
  { "f32[B,5,4]", "axis=1 keepdims=1" },
  { "f32[B,3,2]", "axis=0" },
  { NULL },
};
static const GradusOpCase prod_grad_cases[] = {
  { "f32[B] f32[B,5]", NULL },
  { "f32[B,1,4] f32<2[B,5,4]", "axis=1 keepdims=1" },
  { NULL },
};
static const GradusOpCase top_k_cases[] = {
  { "f32[B,7]", "k=3" },
  { "f32[B,3,9]", "k=9" },
  { "f32[B,33]", "k=4 largest=0" },
  { NULL },
};
static const GradusOpCase top_k_grad_cases[] = {
  { "f32[B,1] i32<7[B,1] f32[B,7]", NULL },
  { NULL },
};
static const GradusOpCase one_hot_cases[] = {
  { "i32<5[B]", "classes=5" },
  { "i32<9[B,3]", "classes=4" },
  { NULL },
};
static const GradusOpCase triangle_cases[] = {
  { "f32[B,5]", NULL },
  { "f32[B,4,5]", "upper=0" },
  { "f32[B,6,4]", "upper=1 k=1" },
  { "f32[B,4,5]", "upper=0 k=-1" },
  { NULL },
};

#define ROW(op, spec, in, out, infer_, gradient_, cost_, the_cases)                                \
  .name = #op, .version = 1, .min_inputs = (in), .max_inputs = (in), .n_outputs = (out),           \
  .attrs = (spec), .infer = (infer_), .gradient = (gradient_), .inplace = -1,                      \
  .precision = GRADUS_PRECISION_WIDEST, .cost = (cost_), .reference = reference_##op,              \
  .cases = (the_cases)

const GradusOp gradus_ops_axis[] = {
  {
    ROW (argmax, arg_attrs, 1, 1, infer_arg, no_gradient_flows, gradus_op_cost_elementwise, arg_cases),
    .no_gradient = 1u,
  },
  {
    ROW (argmin, arg_attrs, 1, 1, infer_arg, no_gradient_flows, gradus_op_cost_elementwise, arg_cases),
    .no_gradient = 1u,
  },
  {
    ROW (cumsum, cumsum_attrs, 1, 1, infer_along, gradient_cumsum, gradus_op_cost_elementwise, cumsum_cases),
    .nan_hint = N_ ("its numbers are so large that their sum overflows"),
  },
  { ROW (reverse, axis_attrs, 1, 1, infer_along, gradient_reverse, gradus_op_cost_move, reverse_cases) },
  {
    ROW (reduce_prod, prod_attrs, 1, 1, infer_reduced, gradient_reduce_prod, gradus_op_cost_elementwise, prod_cases),
    .gradient_needs = GRADUS_NEEDS_INPUT (0),
    .nan_hint = N_ ("the product of so many numbers overflows"),
  },
  {
    ROW (reduce_prod_grad, prod_attrs, 2, 1, infer_reduce_prod_grad, NULL, gradus_op_cost_elementwise, prod_grad_cases),
    .nan_hint = N_ ("the product of so many numbers overflows"),
  },
  {
    ROW (top_k, top_k_attrs, 1, 2, infer_top_k, gradient_top_k, gradus_op_cost_elementwise, top_k_cases),
    .gradient_needs = GRADUS_NEEDS_OUTPUT (1),
  },
  {
    ROW (top_k_grad, NULL, 3, 1, infer_top_k_grad, NULL, gradus_op_cost_move, top_k_grad_cases),
    .shape_only = 1u << 2,
  },
  {
    ROW (one_hot, one_hot_attrs, 1, 1, infer_one_hot, no_gradient_flows, gradus_op_cost_move, one_hot_cases),
    .no_gradient = 1u,
  },
  { ROW (triangle, triangle_attrs, 1, 1, infer_triangle, gradient_triangle, gradus_op_cost_move, triangle_cases) },
  { NULL },
};
