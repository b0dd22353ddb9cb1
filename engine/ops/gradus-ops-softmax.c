/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

GRADUS_INFER (infer_softmax)
{
  if (inputs[0].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("The first must have at least one axis."));
  return gradus_op_infer_elementwise (node, inputs, outputs, error);
}

GRADUS_GRADIENT (gradient_softmax)
{
  return gradus_op_emit (program, "softmax_grad", &input_gradients[0], error, 2,
                         output_gradients[0], node->outputs[0]);
}

GRADUS_GRADIENT (gradient_log_softmax)
{
  return gradus_op_emit (program, "log_softmax_grad", &input_gradients[0], error, 2,
                         output_gradients[0], node->outputs[0]);
}

static gint64
last_axis (const GradusReferenceCall *call)
{
  const GradusShape *shape = &call->input_types[0].shape;

  return shape->dims[shape->rank - 1];
}

static gint64
rows (const GradusReferenceCall *call)
{
  gint64 n = last_axis (call);

  return n > 0 ? gradus_op_count (&call->input_types[0]) / n : 0;
}

/* log(sum(exp(x))), shifted by the greatest. */
static double
log_sum_exp (const double *x, gint64 n)
{
  double greatest = x[0], sum = 0;

  for (gint64 i = 1; i < n; i++)
    greatest = MAX (greatest, x[i]);
  for (gint64 i = 0; i < n; i++)
    sum += exp (x[i] - greatest);
  return greatest + log (sum);
}

GRADUS_REFERENCE (reference_softmax)
{
  gint64 n = last_axis (call);

  for (gint64 r = 0; r < rows (call); r++)
    {
      const double *x = call->inputs[0] + r * n;
      double        total = log_sum_exp (x, n);

      for (gint64 i = 0; i < n; i++)
        call->outputs[0][r * n + i] = exp (x[i] - total);
    }
}

GRADUS_REFERENCE (reference_log_softmax)
{
  gint64 n = last_axis (call);

  for (gint64 r = 0; r < rows (call); r++)
    {
      const double *x = call->inputs[0] + r * n;
      double        total = log_sum_exp (x, n);

      for (gint64 i = 0; i < n; i++)
        call->outputs[0][r * n + i] = x[i] - total;
    }
}

/* dx = y (dy - sum(dy y)) */
GRADUS_REFERENCE (reference_softmax_grad)
{
  gint64 n = last_axis (call);

  for (gint64 r = 0; r < rows (call); r++)
    {
      const double *dy = call->inputs[0] + r * n, *y = call->inputs[1] + r * n;
      double        sum = 0;

      for (gint64 i = 0; i < n; i++)
        sum += dy[i] * y[i];
      for (gint64 i = 0; i < n; i++)
        call->outputs[0][r * n + i] = y[i] * (dy[i] - sum);
    }
}

/* dx = dy - exp(y) sum(dy) */
GRADUS_REFERENCE (reference_log_softmax_grad)
{
  gint64 n = last_axis (call);

  for (gint64 r = 0; r < rows (call); r++)
    {
      const double *dy = call->inputs[0] + r * n, *y = call->inputs[1] + r * n;
      double        sum = 0;

      for (gint64 i = 0; i < n; i++)
        sum += dy[i];
      for (gint64 i = 0; i < n; i++)
        call->outputs[0][r * n + i] = dy[i] - exp (y[i]) * sum;
    }
}

/* x, [mask]: as many axes, each as long or 1 */
GRADUS_INFER (infer_masked_softmax)
{
  const GradusShape *x = &inputs[0].shape, *mask = &inputs[1].shape;
  gboolean           fits = TRUE;

  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (x->rank < 2)
    return gradus_op_refuse (node, inputs, error, _ ("The first must have at least two axes."));
  if (gradus_op_has_input (node, 1))
    {
      fits = mask->rank == x->rank;
      for (guint i = 0; fits && i < x->rank; i++)
        fits = mask->dims[i] == 1 || mask->dims[i] == x->dims[i];
    }
  if (!fits)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The mask must have as many axes as the first, each as long or of "
                                "size 1."));
  outputs[0] = inputs[0];
  return TRUE;
}

/* Where the mask is read for element @at of x. */
static double
mask_at (const GradusReferenceCall *call, const gint64 *at)
{
  const GradusShape *mask = &call->input_types[1].shape;
  gint64             index = 0;

  for (guint i = 0; i < mask->rank; i++)
    index = index * mask->dims[i] + (mask->dims[i] == 1 ? 0 : at[i]);
  return call->inputs[1][index];
}

static gboolean
is_seen (const GradusReferenceCall *call, gint64 index)
{
  guint  rank = call->input_types[0].shape.rank;
  gint64 at[GRADUS_MAX_RANK];

  gradus_op_unravel (&call->input_types[0].shape, index, at);
  if (gradus_node_int (call->node, "causal") != 0 && at[rank - 1] > at[rank - 2])
    return FALSE;
  return !gradus_op_has_input (call->node, 1) || mask_at (call, at) > 0.5;
}

/* A row of which nothing is seen becomes zeros. */
GRADUS_REFERENCE (reference_masked_softmax)
{
  gint64 n = last_axis (call);

  for (gint64 r = 0; r < rows (call); r++)
    {
      const double *x = call->inputs[0] + r * n;
      double       *y = call->outputs[0] + r * n, greatest = -INFINITY, sum = 0;

      for (gint64 i = 0; i < n; i++)
        if (is_seen (call, r * n + i))
          greatest = MAX (greatest, x[i]);
      for (gint64 i = 0; i < n; i++)
        sum += y[i] = is_seen (call, r * n + i) ? exp (x[i] - greatest) : 0;
      for (gint64 i = 0; i < n && sum > 0; i++)
        y[i] /= sum;
    }
}

static const GradusAttrSpec masked_attrs[] = { { "causal", GRADUS_ATTR_INT, "0" }, { NULL } };

static const GradusOpCase masked_cases[] = {
  { "f32[B,4,4]", "causal=1" },
  { "f32[B,2,3,5] f32<2[B,1,1,5]", NULL },
  { "f32[B,2,5,5] f32<2[B,1,5,5]", "causal=1" },
  { "f32[B,3,5] f32<2[1,3,1]", NULL },
  { "f32[B,2,3,7]", NULL },
  { "f32[B,2,33,131] f32<2[B,1,1,131]", "causal=1" },
  { NULL },
};

static const GradusOpCase cases[] = {
  { "f32[B,4]", NULL },
  { "f32[B,1]", NULL },
  { "f32[5]", NULL },
  { "f32*5[B,3,10]", NULL },
  { "f32[B,131]", NULL },
  { NULL },
};

static const GradusOpCase grad_cases[] = {
  { "f32[B,4] f32%[B,4]", NULL },
  { "f32[B,1] f32%[B,1]", NULL },
  { "f32[B,3,10] f32%[B,3,10]", NULL },
  { "f32[B,131] f32%[B,131]", NULL, 1e-4 },
  { NULL },
};

static const GradusOpCase log_grad_cases[] = {
  { "f32[B,4] f32[B,4]", NULL },
  { "f32[B,1] f32[B,1]", NULL },
  { "f32[B,3,10] f32[B,3,10]", NULL, 1e-4 },
  { "f32[B,131] f32[B,131]", NULL, 1e-4 },
  { NULL },
};

#define SOFTMAX_HINT N_ ("its inputs are infinite or not numbers, or so far apart that the difference overflows")
#define GRADIENT_HINT N_ ("the gradient that arrived is so large that the sum over the classes overflows")

const GradusOp gradus_ops_softmax[] = {
  {
    .name = "softmax",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .infer = infer_softmax,
    .gradient = gradient_softmax,
    .gradient_needs = GRADUS_NEEDS_OUTPUT (0),
    .inplace = 0,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_transcendental,
    .nan_hint = SOFTMAX_HINT,
    .reference = reference_softmax,
    .cases = cases,
  },
  {
    .name = "softmax_grad",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_softmax,
    .inplace = 0,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = GRADIENT_HINT,
    .reference = reference_softmax_grad,
    .cases = grad_cases,
  },
  {
    .name = "masked_softmax",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 2,
    .n_outputs = 1,
    .attrs = masked_attrs,
    .infer = infer_masked_softmax,
    .gradient = gradient_softmax,
    .gradient_needs = GRADUS_NEEDS_OUTPUT (0),
    .no_gradient = 1u << 1,
    .inplace = 0,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_transcendental,
    .nan_hint = SOFTMAX_HINT,
    .reference = reference_masked_softmax,
    .cases = masked_cases,
  },
  {
    .name = "log_softmax",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .infer = infer_softmax,
    .gradient = gradient_log_softmax,
    .gradient_needs = GRADUS_NEEDS_OUTPUT (0),
    .inplace = 0,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_transcendental,
    .nan_hint = SOFTMAX_HINT,
    .reference = reference_log_softmax,
    .cases = cases,
  },
  {
    .name = "log_softmax_grad",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_softmax,
    .inplace = 0,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_transcendental,
    .nan_hint = GRADIENT_HINT,
    .reference = reference_log_softmax_grad,
    .cases = log_grad_cases,
  },
  { NULL },
};
