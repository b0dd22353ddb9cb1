/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* Inputs from @first on are vectors with one number a channel. */
static gboolean
check_channels (const GradusNode      *node,
                const GradusValueType *inputs,
                guint                  x,
                guint                  first,
                GError               **error)
{
  GradusShape channels;

  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (inputs[x].shape.rank < 2)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least two axes."),
                             x + 1);
  channels = gradus_shape (1, inputs[x].shape.dims[inputs[x].shape.rank - 1]);
  for (guint i = first; i < node->n_inputs; i++)
    if (!gradus_op_check_shape (node, inputs, i, &channels, error))
      return FALSE;
  return TRUE;
}

GRADUS_INFER (infer_batch_norm)
{
  if (!check_channels (node, inputs, 0, 1, error))
    return FALSE;
  outputs[0] = inputs[0];
  outputs[1] = outputs[2] = inputs[1];
  return TRUE;
}

GRADUS_INFER (infer_inference)
{
  if (!check_channels (node, inputs, 0, 1, error))
    return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

/* dy, x, gamma, mean, variance -> dx, dgamma, dbeta */
GRADUS_INFER (infer_batch_norm_grad)
{
  if (!check_channels (node, inputs, 1, 2, error)
      || !gradus_op_check_same (node, inputs, 0, 1, error))
    return FALSE;
  outputs[0] = inputs[1];
  outputs[1] = outputs[2] = inputs[2];
  return TRUE;
}

GRADUS_GRADIENT (gradient_batch_norm)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0], node->inputs[1],
                               node->outputs[1], node->outputs[2] };
  GradusValueId       out[3];

  if (!gradus_program_add_node (program, "batch_norm_grad", 0, in, 5, out, error, "epsilon",
                                gradus_node_float (node, "epsilon"), NULL))
    return FALSE;
  for (guint i = 0; i < 3; i++)
    if (gradus_op_wants (i))
      input_gradients[i] = out[i];
  return TRUE;
}

/* With the statistics constant: y = (x - mean) k + beta with k = gamma / sqrt(variance + epsilon),
 * which bias_add, multiply and reductions can express. Nothing flows to the statistics. */
GRADUS_GRADIENT (gradient_inference)
{
  GradusValueId dy = output_gradients[0], shifted, root, k, normal, product;
  GradusValueId x = node->inputs[0], gamma = node->inputs[1], mean = node->inputs[3];
  GradusValueId variance = node->inputs[4];
  GradusShape   wide = gradus_op_type (program, x)->shape;
  gint64        axes[GRADUS_MAX_RANK], dims[GRADUS_MAX_RANK];
  guint         n = wide.rank - 1;

  for (guint i = 0; i < n; i++)
    {
      axes[i] = i;
      dims[i] = 1;
    }
  dims[n] = wide.dims[n];
  if (!gradus_program_add_node (program, "affine", 0, &variance, 1, &root, error, "offset",
                                gradus_node_float (node, "epsilon"), NULL)
      || !gradus_op_emit (program, "sqrt", &root, error, 1, root))
    return FALSE;
  if (gradus_op_wants (0)
      && (!gradus_op_emit (program, "divide", &k, error, 2, gamma, root)
          || !gradus_program_add_node (program, "reshape", 0, &k, 1, &k, error, "shape", n + 1,
                                       dims, NULL)
          || !gradus_op_emit (program, "multiply", &input_gradients[0], error, 2, dy, k)))
    return FALSE;
  if (gradus_op_wants (1)
      && (!gradus_op_emit (program, "negative", &shifted, error, 1, mean)
          || !gradus_op_emit (program, "bias_add", &shifted, error, 2, x, shifted)
          || !gradus_op_emit (program, "multiply", &product, error, 2, dy, shifted)
          || !gradus_program_add_node (program, "reduce_sum", 0, &product, 1, &normal, error,
                                       "axes", n, axes, NULL)
          || !gradus_op_emit (program, "divide", &input_gradients[1], error, 2, normal, root)))
    return FALSE;
  return !gradus_op_wants (2)
         || gradus_program_add_node (program, "reduce_sum", 0, &dy, 1, &input_gradients[2], error,
                                     "axes", n, axes, NULL);
}

GRADUS_COST (cost_batch_norm)
{
  gradus_op_cost (node, inputs, outputs, 8.0 * gradus_op_count (&inputs[0]), cost);
}

static gint64
channels_of (const GradusShape *x)
{
  return x->dims[x->rank - 1];
}

/* Mean and biased variance of channel @c. */
static void
moments (const double *x, gint64 count, gint64 channels, gint64 c, double *mean, double *variance)
{
  double sum = 0, squares = 0, n = (double) count / channels;

  for (gint64 i = c; i < count; i += channels)
    sum += x[i];
  *mean = sum / n;
  for (gint64 i = c; i < count; i += channels)
    squares += (x[i] - *mean) * (x[i] - *mean);
  *variance = squares / n;
}

static void
normalise (const double *x,
           double       *y,
           gint64        count,
           gint64        channels,
           gint64        c,
           double        mean,
           double        variance,
           double        epsilon,
           double        gamma,
           double        beta)
{
  double k = gamma / sqrt (variance + epsilon);

  for (gint64 i = c; i < count; i += channels)
    y[i] = (x[i] - mean) * k + beta;
}

GRADUS_REFERENCE (reference_batch_norm)
{
  gint64 count = gradus_op_count (&call->input_types[0]);
  gint64 channels = channels_of (&call->input_types[0].shape);
  double epsilon = gradus_node_float (call->node, "epsilon");

  for (gint64 c = 0; c < channels; c++)
    {
      double *mean = &call->outputs[1][c], *variance = &call->outputs[2][c];

      moments (call->inputs[0], count, channels, c, mean, variance);
      normalise (call->inputs[0], call->outputs[0], count, channels, c, *mean, *variance, epsilon,
                 call->inputs[1][c], call->inputs[2][c]);
    }
}

GRADUS_REFERENCE (reference_inference)
{
  gint64 count = gradus_op_count (&call->input_types[0]);
  gint64 channels = channels_of (&call->input_types[0].shape);

  for (gint64 c = 0; c < channels; c++)
    normalise (call->inputs[0], call->outputs[0], count, channels, c, call->inputs[3][c],
               call->inputs[4][c], gradus_node_float (call->node, "epsilon"), call->inputs[1][c],
               call->inputs[2][c]);
}

/* With x' = (x - mean) / s and s = sqrt(variance + epsilon):
 * dx = gamma / s (dy - mean(dy) - x' mean(dy x')) */
GRADUS_REFERENCE (reference_batch_norm_grad)
{
  const double *dy = call->inputs[0], *x = call->inputs[1], *gamma = call->inputs[2];
  const double *mean = call->inputs[3], *variance = call->inputs[4];
  gint64        count = gradus_op_count (&call->input_types[1]);
  gint64        channels = channels_of (&call->input_types[1].shape);
  double        epsilon = gradus_node_float (call->node, "epsilon"), n = (double) count / channels;

  for (gint64 c = 0; c < channels; c++)
    {
      double s = sqrt (variance[c] + epsilon), dgamma = 0, dbeta = 0;

      for (gint64 i = c; i < count; i += channels)
        {
          dbeta += dy[i];
          dgamma += dy[i] * (x[i] - mean[c]) / s;
        }
      for (gint64 i = c; i < count; i += channels)
        call->outputs[0][i]
          = gamma[c] / s * (dy[i] - dbeta / n - (x[i] - mean[c]) / s * dgamma / n);
      call->outputs[1][c] = dgamma;
      call->outputs[2][c] = dbeta;
    }
}

GRADUS_INFER (infer_moving_average)
{
  return gradus_op_check_floats (node, inputs, error)
         && gradus_op_check_same (node, inputs, 1, 0, error);
}

GRADUS_REFERENCE (reference_moving_average)
{
  double momentum = gradus_node_float (call->node, "momentum");

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    call->outputs[0][i] = call->inputs[0][i] * momentum + call->inputs[1][i] * (1 - momentum);
}

static const GradusAttrSpec norm_attrs[] = { { "epsilon", GRADUS_ATTR_FLOAT, "0.001" }, { NULL } };
static const GradusAttrSpec average_attrs[] = { { "momentum", GRADUS_ATTR_FLOAT, "0.99" },
                                                { NULL } };

static const GradusOpCase batch_norm_cases[] = {
  { "f32[B,3] f32+[3] f32[3]", NULL, 1e-4 },
  { "f32[B,3,2,4] f32+[4] f32[4]", "epsilon=0.01", 1e-4 },
  { "f32[B,5,1] f32+[1] f32[1]", NULL, 1e-4 },
  { "f32[B,9,9,17] f32+[17] f32[17]", NULL, 1e-4 },
  { NULL },
};

static const GradusOpCase batch_norm_grad_cases[] = {
  { "f32[B,3] f32[B,3] f32+[3] f32[3] f32+[3]", NULL, 1e-4 },
  { "f32[B,3,2,4] f32[B,3,2,4] f32+[4] f32[4] f32+[4]", "epsilon=0.01", 1e-4 },
  { "f32[B,9,9,17] f32[B,9,9,17] f32+[17] f32[17] f32+[17]", NULL, 1e-4 },
  { NULL },
};

static const GradusOpCase inference_cases[] = {
  { "f32[B,3] f32+[3] f32[3] f32[3] f32+[3]", NULL },
  { "f32[B,3,2,4] f32+[4] f32[4] f32[4] f32+[4]", "epsilon=0.01" },
  { "f32[B,9,9,17] f32+[17] f32[17] f32[17] f32+[17]", NULL },
  { NULL },
};

static const GradusOpCase moving_average_cases[] = {
  { "f32[5] f32[5]", NULL },
  { "f32[3,2] f32[3,2]", "momentum=0.5" },
  { "f32[67] f32[67]", "momentum=0" },
  { NULL },
};

#define NORM_HINT                                                                                  \
  N_ ("the variance of a channel is zero with a very small epsilon, or its values are so large "   \
      "that their squares overflow")

const GradusOp gradus_ops_norm[] = {
  {
      .name = "batch_norm",
      .version = 1,
      .min_inputs = 3,
      .max_inputs = 3,
      .n_outputs = 3,
      .attrs = norm_attrs,
      .infer = infer_batch_norm,
      .gradient = gradient_batch_norm,
      .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (1)
                        | GRADUS_NEEDS_OUTPUT (2),
      .inplace = -1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = cost_batch_norm,
      .nan_hint = NORM_HINT,
      .reference = reference_batch_norm,
      .cases = batch_norm_cases,
  },
  {
      .name = "batch_norm_grad",
      .version = 1,
      .min_inputs = 5,
      .max_inputs = 5,
      .n_outputs = 3,
      .attrs = norm_attrs,
      .infer = infer_batch_norm_grad,
      .inplace = -1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = cost_batch_norm,
      .nan_hint = NORM_HINT,
      .reference = reference_batch_norm_grad,
      .cases = batch_norm_grad_cases,
  },
  {
      .name = "batch_norm_inference",
      .version = 1,
      .min_inputs = 5,
      .max_inputs = 5,
      .n_outputs = 1,
      .attrs = norm_attrs,
      .infer = infer_inference,
      .gradient = gradient_inference,
      .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_INPUT (3)
                        | GRADUS_NEEDS_INPUT (4),
      .no_gradient = 1u << 3 | 1u << 4,
      .inplace = 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint =
          N_ ("a moving variance is negative or not a number; the weights come from a run that "
              "went wrong"),
      .reference = reference_inference,
      .cases = inference_cases,
  },
  {
      .name = "moving_average",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 0,
      .attrs = average_attrs,
      .infer = infer_moving_average,
      .inplace = -1,
      .updates = 1u << 0,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .reference = reference_moving_average,
      .cases = moving_average_cases,
  },
  { NULL },
};
