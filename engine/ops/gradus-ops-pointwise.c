/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-rowwise.h"

/* Losses of prediction and target over the last axis, and their gradient ops
 * “<name>_grad” (dloss, prediction, target) -> dprediction. */

static GradusShape
without_last (const GradusShape *shape)
{
  GradusShape left = *shape;

  if (left.rank > 0)
    left.dims[--left.rank] = 0;
  return left;
}

static gboolean
check_pair (const GradusNode *node, const GradusValueType *inputs, guint p, GError **error)
{
  if (inputs[p].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least one axis."), p + 1);
  return gradus_op_check_floats (node, inputs, error) &&
         gradus_op_check_same (node, inputs, p + 1, p, error);
}

GRADUS_INFER (infer_loss)
{
  if (!check_pair (node, inputs, 0, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = without_last (&inputs[0].shape);
  return TRUE;
}

GRADUS_INFER (infer_loss_grad)
{
  GradusShape loss = without_last (&inputs[1].shape);

  if (!check_pair (node, inputs, 1, error) ||
      !gradus_op_check_shape (node, inputs, 0, &loss, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

GRADUS_GRADIENT (gradient_loss)
{
  g_autofree char    *op = g_strconcat (node->op->name, "_grad", NULL);
  const GradusValueId in[] = { output_gradients[0], node->inputs[0], node->inputs[1] };
  const GradusAttrSpec *specs = node->op->attrs;

  if (specs == NULL)
    return gradus_program_add_node (program, op, 0, in, 3, &input_gradients[0], error, NULL);
  if (specs[1].name == NULL)
    return gradus_program_add_node (program, op, 0, in, 3, &input_gradients[0], error,
                                    specs[0].name, node->attrs[0].f, NULL);
  return gradus_program_add_node (program, op, 0, in, 3, &input_gradients[0], error, specs[0].name,
                                  node->attrs[0].f, specs[1].name, node->attrs[1].f, NULL);
}

static double
parameter (const GradusNode *node, guint i)
{
  for (guint k = 0; node->op->attrs != NULL && node->op->attrs[k].name != NULL; k++)
    if (k == i)
      return node->attrs[k].f;
  return 0;
}

static gint64
last_of (const GradusValueType *type)
{
  return type->shape.dims[type->shape.rank - 1];
}

#define POINTWISE_REFERENCE(name, sums, value, derivative)                                         \
  GRADUS_REFERENCE (reference_##name)                                                              \
  {                                                                                                \
    gint64 n = last_of (&call->input_types[0]);                                                    \
    double a = parameter (call->node, 0), b = parameter (call->node, 1);                           \
    for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)                          \
      {                                                                                            \
        double sum = 0;                                                                            \
        for (gint64 i = r * n; i < (r + 1) * n; i++)                                               \
          sum += gradus_value_##name (call->inputs[0][i], call->inputs[1][i], a, b);               \
        call->outputs[0][r] = sums ? sum : sum / (double) n;                                       \
      }                                                                                            \
  }                                                                                                \
  GRADUS_REFERENCE (reference_##name##_grad)                                                       \
  {                                                                                                \
    gint64 n = last_of (&call->input_types[1]);                                                    \
    double a = parameter (call->node, 0), b = parameter (call->node, 1);                           \
    for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)                          \
      call->outputs[0][i] = call->inputs[0][i / n] / (sums ? 1.0 : (double) n)                     \
                            * gradus_slope_##name (call->inputs[1][i], call->inputs[2][i], a, b);  \
  }
GRADUS_POINTWISE_LOSSES (POINTWISE_REFERENCE)

#define ROWWISE_REFERENCE(name)                                                                    \
  GRADUS_REFERENCE (reference_##name)                                                              \
  {                                                                                                \
    gint64 n = last_of (&call->input_types[0]);                                                    \
    for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)                          \
      call->outputs[0][r] = gradus_value_##name (call->inputs[0] + r * n, call->inputs[1] + r * n, \
                                                 n, parameter (call->node, 0),                     \
                                                 parameter (call->node, 1));                       \
  }                                                                                                \
  GRADUS_REFERENCE (reference_##name##_grad)                                                       \
  {                                                                                                \
    gint64 n = last_of (&call->input_types[1]);                                                    \
    for (gint64 r = 0; r < gradus_op_count (&call->input_types[0]); r++)                           \
      gradus_grad_##name (call->inputs[1] + r * n, call->inputs[2] + r * n, n,                     \
                          parameter (call->node, 0), parameter (call->node, 1),                    \
                          call->inputs[0][r], call->outputs[0] + r * n);                           \
  }
GRADUS_ROWWISE_LOSSES (ROWWISE_REFERENCE)

/* logits [B, time, classes], labels i32 [B, length]; 0 is the blank and pads. */
static gboolean
check_ctc (const GradusNode *node, const GradusValueType *inputs, guint p, GError **error)
{
  if (!gradus_op_check_rank (node, inputs, p, 3, error) ||
      !gradus_op_check_rank (node, inputs, p + 1, 2, error))
    return FALSE;
  if (inputs[p + 1].dtype != GRADUS_DTYPE_INT32)
    return gradus_op_refuse (node, inputs, error, _ ("The labels must be of type int32."));
  if (inputs[p].dtype != GRADUS_DTYPE_FLOAT32 && inputs[p].dtype != GRADUS_DTYPE_FLOAT64)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The predictions must be floating-point numbers."));
  if (inputs[p].shape.dims[0] != inputs[p + 1].shape.dims[0])
    return gradus_op_refuse (node, inputs, error,
                             _ ("There must be a row of labels for each sample."));
  return TRUE;
}

GRADUS_INFER (infer_ctc)
{
  if (!check_ctc (node, inputs, 0, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_shape (1, inputs[0].shape.dims[0]);
  return TRUE;
}

GRADUS_INFER (infer_ctc_grad)
{
  GradusShape loss = gradus_shape (1, inputs[1].shape.dims[0]);

  if (!check_ctc (node, inputs, 1, error) || !gradus_op_check_shape (node, inputs, 0, &loss, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

static void
reference_ctc_rows (const GradusReferenceCall *call, guint p, gboolean gradient)
{
  const gint64 *dims = call->input_types[p].shape.dims;
  gint64        n = last_of (&call->input_types[p + 1]), row = dims[1] * dims[2];
  g_autofree double *room = g_new (double, gradus_ctc_room (dims[1], dims[2], n) + 1);

  for (gint64 r = 0; r < dims[0]; r++)
    {
      double loss = gradus_ctc (call->inputs[p] + r * row, dims[1], dims[2],
                                call->inputs[p + 1] + r * n, n, room,
                                gradient ? call->inputs[0][r] : 0,
                                gradient ? call->outputs[0] + r * row : NULL);

      if (!gradient)
        call->outputs[0][r] = loss;
    }
}

GRADUS_REFERENCE (reference_ctc)
{
  reference_ctc_rows (call, 0, FALSE);
}

GRADUS_REFERENCE (reference_ctc_grad)
{
  reference_ctc_rows (call, 1, TRUE);
}

GRADUS_COST (cost_ctc)
{
  guint p = node->op->n_outputs == 1 && node->n_inputs == 3 ? 1 : 0;

  gradus_op_cost (node, inputs, outputs,
                  20.0 * (double) gradus_op_count (&inputs[p])
                      + 120.0 * (double) inputs[p].shape.dims[1]
                            * (double) gradus_op_count (&inputs[p + 1]),
                  cost);
}

static const GradusAttrSpec huber_attrs[] = { { "delta", GRADUS_ATTR_FLOAT, "1.0" }, { NULL } };
static const GradusAttrSpec binary_focal_attrs[] = { { "gamma", GRADUS_ATTR_FLOAT, "2.0" },
                                                     { "balance", GRADUS_ATTR_FLOAT, "-1.0" },
                                                     { NULL } };
static const GradusAttrSpec focal_attrs[] = { { "gamma", GRADUS_ATTR_FLOAT, "2.0" },
                                              { "alpha", GRADUS_ATTR_FLOAT, "0.25" },
                                              { NULL } };

#define CASES(name, p, t)                                                                          \
  static const GradusOpCase name##_cases[] = { { p "[B,5] " t "[B,5]", NULL },                     \
                                               { p "[B,1] " t "[B,1]", NULL },                     \
                                               { p "[B,3,7] " t "[B,3,7]", NULL },                 \
                                               { p "[B,131] " t "[B,131]", NULL },                 \
                                               { NULL } };                                         \
  static const GradusOpCase name##_grad_cases[] = { { "f32[B] " p "[B,5] " t "[B,5]", NULL },      \
                                                    { "f32[B,3] " p "[B,3,7] " t "[B,3,7]", NULL }, \
                                                    { "f32[B] " p "[B,131] " t "[B,131]", NULL },  \
                                                    { NULL } };
#define CASES_WITH(name, p, t, attrs)                                                              \
  static const GradusOpCase name##_cases[] = { { p "[B,5] " t "[B,5]", NULL },                     \
                                               { p "[B,5] " t "[B,5]", attrs },                    \
                                               { p "[B,3,7] " t "[B,3,7]", attrs },                \
                                               { NULL } };                                         \
  static const GradusOpCase name##_grad_cases[] = { { "f32[B] " p "[B,5] " t "[B,5]", NULL },      \
                                                    { "f32[B,3] " p "[B,3,7] " t "[B,3,7]", attrs }, \
                                                    { NULL } };

CASES (mean_squared_error, "f32", "f32")
CASES (mean_absolute_error, "f32", "f32")
CASES (mean_absolute_percentage_error, "f32", "f32+")
CASES (mean_squared_logarithmic_error, "f32+", "f32+")
CASES_WITH (huber, "f32", "f32", "delta=0.5")
CASES (log_cosh, "f32", "f32")
CASES (poisson, "f32+", "f32+")
CASES (kl_divergence, "f32%", "f32%")
CASES (hinge, "f32", "f32")
CASES (squared_hinge, "f32", "f32")
CASES (binary_crossentropy, "f32%", "f32%")
CASES (sigmoid_binary_crossentropy, "f32", "f32%")
CASES_WITH (binary_focal_crossentropy, "f32%", "f32%", "gamma=1.5 balance=0.3")
CASES (categorical_hinge, "f32", "f32%")
CASES (cosine_similarity, "f32", "f32")
CASES_WITH (categorical_focal_crossentropy, "f32%", "f32%", "gamma=1.5 alpha=0.4")

static const GradusOpCase ctc_cases[] = {
  { "f32[B,6,4] i32<4[B,2]", NULL },
  { "f32[B,5,3] i32<3[B,3]", NULL },
  { "f32[B,12,9] i32<9[B,4]", NULL },
  { "f32[B,7,1] i32<1[B,2]", NULL },
  { NULL },
};
static const GradusOpCase ctc_grad_cases[] = {
  { "f32[B] f32[B,6,4] i32<4[B,2]", NULL },
  { "f32[B] f32[B,12,9] i32<9[B,4]", NULL },
  { NULL },
};

#define HINT                                                                                       \
  N_ ("predictions or targets are infinite, not numbers or outside what this loss is defined for; " \
      "lower the learning rate, check the targets and the last layer's activation")

#define ROW(op, attrs_)                                                                            \
  {                                                                                                \
    .name = #op, .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = attrs_,  \
    .infer = infer_loss, .gradient = gradient_loss,                                                \
    .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1), .no_gradient = 1u << 1,     \
    .inplace = -1, .precision = GRADUS_PRECISION_FLOAT32, .cost = gradus_op_cost_transcendental,   \
    .nan_hint = HINT, .reference = reference_##op, .cases = op##_cases,                            \
  },                                                                                               \
  {                                                                                                \
    .name = #op "_grad", .version = 1, .min_inputs = 3, .max_inputs = 3, .n_outputs = 1,           \
    .attrs = attrs_, .infer = infer_loss_grad, .inplace = -1,                                      \
    .precision = GRADUS_PRECISION_FLOAT32, .cost = gradus_op_cost_transcendental,                  \
    .nan_hint = HINT, .reference = reference_##op##_grad, .cases = op##_grad_cases,                \
  }

const GradusOp gradus_ops_pointwise[] = {
  ROW (mean_squared_error, NULL),
  ROW (mean_absolute_error, NULL),
  ROW (mean_absolute_percentage_error, NULL),
  ROW (mean_squared_logarithmic_error, NULL),
  ROW (huber, huber_attrs),
  ROW (log_cosh, NULL),
  ROW (poisson, NULL),
  ROW (kl_divergence, NULL),
  ROW (hinge, NULL),
  ROW (squared_hinge, NULL),
  ROW (binary_crossentropy, NULL),
  ROW (sigmoid_binary_crossentropy, NULL),
  ROW (binary_focal_crossentropy, binary_focal_attrs),
  ROW (categorical_hinge, NULL),
  ROW (cosine_similarity, NULL),
  ROW (categorical_focal_crossentropy, focal_attrs),
  {
    .name = "ctc",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_ctc,
    .gradient = gradient_loss,
    .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1),
    .no_gradient = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = cost_ctc,
    .nan_hint = HINT,
    .reference = reference_ctc,
    .cases = ctc_cases,
  },
  {
    .name = "ctc_grad",
    .version = 1,
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .infer = infer_ctc_grad,
    .inplace = -1,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = cost_ctc,
    .nan_hint = HINT,
    .reference = reference_ctc_grad,
    .cases = ctc_grad_cases,
  },
  { NULL },
};
