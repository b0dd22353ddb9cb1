/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* Crossentropies over the last axis, of logits or of probabilities (Keras: these are normalised and
 * then kept in [1e-7, 1 - 1e-7]), with a class index or a target for each class. A label outside the
 * classes gives NaN. */

#define LOWEST 1e-7

static GradusShape
without_last (const GradusShape *shape)
{
  GradusShape left = *shape;

  if (left.rank > 0)
    left.dims[--left.rank] = 0;
  return left;
}

/* @sparse: input @t holds class indices instead of a target a class. */
static gboolean
check_pair (const GradusNode *node, const GradusValueType *inputs, guint p, guint t, gboolean sparse, GError **error)
{
  GradusShape wanted = sparse ? without_last (&inputs[p].shape) : inputs[p].shape;

  if (inputs[p].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least one axis."), p + 1);
  if (sparse && inputs[t].dtype != GRADUS_DTYPE_INT32)
    return gradus_op_refuse (node, inputs, error, _ ("The labels must be of type int32."));
  if (!sparse && inputs[t].dtype != inputs[p].dtype)
    return gradus_op_refuse (node, inputs, error, _ ("The targets must have the type of the predictions."));
  if (inputs[p].dtype != GRADUS_DTYPE_FLOAT32 && inputs[p].dtype != GRADUS_DTYPE_FLOAT64)
    return gradus_op_refuse (node, inputs, error, _ ("The predictions must be floating-point numbers."));
  return gradus_op_check_shape (node, inputs, t, &wanted, error);
}

static gboolean
is_sparse (const GradusNode *node)
{
  return g_str_has_prefix (node->op->name, "sparse_");
}

static void
loss_type (const GradusValueType *inputs, GradusValueType *output)
{
  output->dtype = inputs[0].dtype;
  output->shape = without_last (&inputs[0].shape);
}

/* logits, target -> loss, softmax */
GRADUS_INFER (infer_softmax_loss)
{
  if (!check_pair (node, inputs, 0, 1, is_sparse (node), error))
    return FALSE;
  loss_type (inputs, &outputs[0]);
  outputs[1] = inputs[0];
  return TRUE;
}

/* probabilities, target -> loss */
GRADUS_INFER (infer_loss)
{
  if (!check_pair (node, inputs, 0, 1, is_sparse (node), error))
    return FALSE;
  loss_type (inputs, &outputs[0]);
  return TRUE;
}

/* dloss, softmax or probabilities, target -> their gradient */
GRADUS_INFER (infer_loss_grad)
{
  GradusShape loss = without_last (&inputs[1].shape);

  if (!check_pair (node, inputs, 1, 2, is_sparse (node), error)
      || !gradus_op_check_shape (node, inputs, 0, &loss, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

static gboolean
emit_loss_gradient (GradusProgram       *program,
                    const GradusNode    *node,
                    GradusValueId        read,
                    const GradusValueId *output_gradients,
                    GradusValueId       *input_gradients,
                    GError             **error)
{
  g_autofree char    *op = g_strconcat (node->op->name, "_grad", NULL);
  const GradusValueId in[] = { output_gradients[0], read, node->inputs[1] };

  return gradus_program_add_node (program, op, 0, in, 3, &input_gradients[0], error, NULL);
}

GRADUS_GRADIENT (gradient_softmax_loss)
{
  return emit_loss_gradient (program, node, node->outputs[1], output_gradients, input_gradients, error);
}

GRADUS_GRADIENT (gradient_loss)
{
  return emit_loss_gradient (program, node, node->inputs[0], output_gradients, input_gradients, error);
}

/* The target of class @c in row @r. */
static double
target (const GradusReferenceCall *call, guint input, gint64 r, gint64 c, gint64 n)
{
  if (!is_sparse (call->node))
    return call->inputs[input][r * n + c];
  return call->inputs[input][r] == c ? 1 : 0;
}

static gboolean
label_is_bad (const GradusReferenceCall *call, guint input, gint64 r, gint64 n)
{
  return is_sparse (call->node) && !(call->inputs[input][r] >= 0 && call->inputs[input][r] < n);
}

static gint64
classes_of (const GradusShape *shape)
{
  return shape->dims[shape->rank - 1];
}

GRADUS_REFERENCE (reference_softmax_loss)
{
  gint64 n = classes_of (&call->input_types[0].shape);

  for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)
    {
      const double *x = call->inputs[0] + r * n;
      double        greatest = -INFINITY, sum = 0, loss = 0;

      for (gint64 c = 0; c < n; c++)
        greatest = MAX (greatest, x[c]);
      for (gint64 c = 0; c < n; c++)
        sum += exp (x[c] - greatest);
      for (gint64 c = 0; c < n; c++)
        {
          double t = target (call, 1, r, c, n);

          call->outputs[1][r * n + c] = exp (x[c] - greatest) / sum;
          loss -= t != 0 ? t * (x[c] - greatest - log (sum)) : 0;
        }
      call->outputs[0][r] = label_is_bad (call, 1, r, n) ? NAN : loss;
    }
}

/* dlogits = dloss (softmax sum(targets) - target), which is softmax - target where these sum to 1. */
GRADUS_REFERENCE (reference_softmax_loss_grad)
{
  gint64 n = classes_of (&call->input_types[1].shape);

  for (gint64 r = 0; r < gradus_op_count (&call->input_types[0]); r++)
    {
      double total = 0, dloss = label_is_bad (call, 2, r, n) ? NAN : call->inputs[0][r];

      for (gint64 c = 0; c < n; c++)
        total += target (call, 2, r, c, n);
      for (gint64 c = 0; c < n; c++)
        call->outputs[0][r * n + c]
          = dloss * (call->inputs[1][r * n + c] * total - target (call, 2, r, c, n));
    }
}

static double
row_sum (const double *p, gint64 n)
{
  double sum = 0;

  for (gint64 c = 0; c < n; c++)
    sum += p[c];
  return sum;
}

GRADUS_REFERENCE (reference_loss)
{
  gint64 n = classes_of (&call->input_types[0].shape);

  for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)
    {
      const double *p = call->inputs[0] + r * n;
      double        sum = row_sum (p, n), loss = 0;

      for (gint64 c = 0; c < n; c++)
        {
          double t = target (call, 1, r, c, n);

          loss -= t != 0 ? t * log (CLAMP (p[c] / sum, LOWEST, 1 - LOWEST)) : 0;
        }
      call->outputs[0][r] = label_is_bad (call, 1, r, n) ? NAN : loss;
    }
}

/* With q = p / sum(p): dloss/dq is -t/q where q was not clipped, and
 * dloss/dp_c = (dloss/dq_c - sum_k(dloss/dq_k q_k)) / sum(p). */
GRADUS_REFERENCE (reference_loss_grad)
{
  gint64 n = classes_of (&call->input_types[1].shape);

  for (gint64 r = 0; r < gradus_op_count (&call->input_types[0]); r++)
    {
      const double *p = call->inputs[1] + r * n;
      double        sum = row_sum (p, n), along = 0;
      double        dloss = label_is_bad (call, 2, r, n) ? NAN : call->inputs[0][r];

      for (gint64 c = 0; c < n; c++)
        {
          double q = p[c] / sum;

          along += q < LOWEST || q > 1 - LOWEST ? 0 : -target (call, 2, r, c, n);
        }
      for (gint64 c = 0; c < n; c++)
        {
          double q = p[c] / sum;
          double dq = q < LOWEST || q > 1 - LOWEST ? 0 : -target (call, 2, r, c, n) / q;

          call->outputs[0][r * n + c] = dloss * (dq - along) / sum;
        }
    }
}

static const GradusOpCase sparse_softmax_cases[] = {
  { "f32[B,10] i32<10[B]", NULL },
  { "f32[B,2] i32<2[B]", NULL },
  { "f32[B,1] i32<1[B]", NULL },
  { "f32[B,3,5] i32<5[B,3]", NULL },
  { "f32*5[B,131] i32<131[B]", NULL },
  { NULL },
};
static const GradusOpCase sparse_softmax_grad_cases[] = {
  { "f32[B] f32%[B,10] i32<10[B]", NULL },
  { "f32[B,3] f32%[B,3,5] i32<5[B,3]", NULL },
  { "f32[B] f32%[B,131] i32<131[B]", NULL },
  { NULL },
};
static const GradusOpCase softmax_cases[] = {
  { "f32[B,10] f32%[B,10]", NULL },
  { "f32[B,2] f32%[B,2]", NULL },
  { "f32[B,3,5] f32%[B,3,5]", NULL },
  { "f32*5[B,131] f32%[B,131]", NULL },
  { NULL },
};
static const GradusOpCase softmax_grad_cases[] = {
  { "f32[B] f32%[B,10] f32%[B,10]", NULL },
  { "f32[B,3] f32%[B,3,5] f32%[B,3,5]", NULL },
  { "f32[B] f32%[B,131] f32%[B,131]", NULL, 1e-4 },
  { NULL },
};
static const GradusOpCase sparse_cases[] = {
  { "f32%[B,10] i32<10[B]", NULL },
  { "f32%[B,2] i32<2[B]", NULL },
  { "f32%[B,3,5] i32<5[B,3]", NULL },
  { "f32%[B,131] i32<131[B]", NULL },
  { NULL },
};
static const GradusOpCase sparse_grad_cases[] = {
  { "f32[B] f32%[B,10] i32<10[B]", NULL },
  { "f32[B,3] f32%[B,3,5] i32<5[B,3]", NULL },
  { "f32[B] f32%[B,131] i32<131[B]", NULL, 1e-4 },
  { NULL },
};
static const GradusOpCase dense_cases[] = {
  { "f32%[B,10] f32%[B,10]", NULL },
  { "f32%[B,2] f32%[B,2]", NULL },
  { "f32%[B,3,5] f32%[B,3,5]", NULL },
  { "f32%[B,131] f32%[B,131]", NULL },
  { NULL },
};
static const GradusOpCase dense_grad_cases[] = {
  { "f32[B] f32%[B,10] f32%[B,10]", NULL, 1e-4 },
  { "f32[B,3] f32%[B,3,5] f32%[B,3,5]", NULL, 1e-4 },
  { "f32[B] f32%[B,131] f32%[B,131]", NULL, 1e-4 },
  { NULL },
};

#define LOGITS_HINT                                                                                \
  N_ ("the logits are infinite, not numbers or so far apart that their difference overflows, or a " \
      "label lies outside the classes; lower the learning rate, check the labels")
#define PROBABILITIES_HINT                                                                         \
  N_ ("the probabilities of a sample sum to zero or are not numbers, or a label lies outside the " \
      "classes; end the model with softmax, check the labels")
#define GRADIENT_HINT                                                                              \
  N_ ("the gradient that arrived is too large, the probabilities sum to zero, or a label lies "    \
      "outside the classes")

#define LOSS_ROW(op, outputs_, infer_, builder, needs, hint, reference_, cases_)                   \
  {                                                                                                \
    .name = op, .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = outputs_,             \
    .infer = infer_, .gradient = builder, .gradient_needs = (needs),                               \
    .no_gradient = 1u << 1, .inplace = -1,                                                         \
    .precision = GRADUS_PRECISION_FLOAT32, .cost = gradus_op_cost_transcendental,                  \
    .nan_hint = hint, .reference = reference_, .cases = cases_,                                    \
  }

#define LOSS_GRAD_ROW(op, reference_, inplace_, cases_)                                            \
  {                                                                                                \
    .name = op, .version = 1, .min_inputs = 3, .max_inputs = 3, .n_outputs = 1,                    \
    .infer = infer_loss_grad, .inplace = inplace_, .precision = GRADUS_PRECISION_FLOAT32,          \
    .cost = gradus_op_cost_elementwise, .nan_hint = GRADIENT_HINT, .reference = reference_,        \
    .cases = cases_,                                                                               \
  }

const GradusOp gradus_ops_loss[] = {
  LOSS_ROW ("sparse_softmax_cross_entropy",
            2,
            infer_softmax_loss,
            gradient_softmax_loss,
            GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (1),
            LOGITS_HINT,
            reference_softmax_loss,
            sparse_softmax_cases),
  LOSS_GRAD_ROW ("sparse_softmax_cross_entropy_grad",
                 reference_softmax_loss_grad,
                 1,
                 sparse_softmax_grad_cases),
  LOSS_ROW ("softmax_cross_entropy",
            2,
            infer_softmax_loss,
            gradient_softmax_loss,
            GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (1),
            LOGITS_HINT,
            reference_softmax_loss,
            softmax_cases),
  LOSS_GRAD_ROW ("softmax_cross_entropy_grad", reference_softmax_loss_grad, 1, softmax_grad_cases),
  LOSS_ROW ("sparse_cross_entropy",
            1,
            infer_loss,
            gradient_loss,
            GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1),
            PROBABILITIES_HINT,
            reference_loss,
            sparse_cases),
  LOSS_GRAD_ROW ("sparse_cross_entropy_grad", reference_loss_grad, -1, sparse_grad_cases),
  LOSS_ROW ("cross_entropy",
            1,
            infer_loss,
            gradient_loss,
            GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1),
            PROBABILITIES_HINT,
            reference_loss,
            dense_cases),
  LOSS_GRAD_ROW ("cross_entropy_grad", reference_loss_grad, -1, dense_grad_cases),
  { NULL },
};
