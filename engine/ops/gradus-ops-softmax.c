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
