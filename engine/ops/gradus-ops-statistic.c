/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

#include <string.h>

/* What metrics keep of a batch: sums in float64, which add up over batches to those of an epoch. Each
 * takes predictions [.., n], targets that are either class indices i32 [..] or f32 [.., n], and
 * optional weights f32 [..]. */

static GradusShape
without_last (const GradusShape *shape)
{
  GradusShape left = *shape;

  if (left.rank > 0)
    left.dims[--left.rank] = 0;
  return left;
}

static gboolean
check_inputs (const GradusNode *node, const GradusValueType *inputs, guint weights, GError **error)
{
  GradusShape sample = without_last (&inputs[0].shape);

  if (inputs[0].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least one axis."), 1);
  if (inputs[0].dtype != GRADUS_DTYPE_FLOAT32 && inputs[0].dtype != GRADUS_DTYPE_FLOAT64)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The predictions must be floating-point numbers."));
  if (inputs[1].dtype != GRADUS_DTYPE_INT32 && inputs[1].dtype != inputs[0].dtype)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The targets must have the type of the predictions."));
  if (!gradus_op_check_shape (node, inputs, 1,
                              inputs[1].dtype == GRADUS_DTYPE_INT32 ? &sample : &inputs[0].shape,
                              error))
    return FALSE;
  return !gradus_op_has_input (node, weights) ||
         gradus_op_check_shape (node, inputs, weights, &sample, error);
}

static gint64
last_of (const GradusValueType *type)
{
  return type->shape.dims[type->shape.rank - 1];
}

static void
statistic_type (GradusValueType *output, gint64 rows, gint64 columns)
{
  output->dtype = GRADUS_DTYPE_FLOAT64;
  output->shape = gradus_shape (2, rows, columns);
}

static gint64
rows_of (const GradusReferenceCall *call)
{
  gint64 n = last_of (&call->input_types[0]);

  return n > 0 ? gradus_op_count (&call->input_types[0]) / n : 0;
}

static gint64
first_greatest (const double *x, gint64 n)
{
  gint64 best = 0;

  for (gint64 i = 1; i < n; i++)
    if (x[i] > x[best])
      best = i;
  return best;
}

static double
target (const GradusReferenceCall *call, gint64 r, gint64 c, gint64 n)
{
  if (call->input_types[1].dtype == GRADUS_DTYPE_INT32)
    return call->inputs[1][r] == c ? 1 : 0;
  return call->inputs[1][r * n + c];
}

static double
weight (const GradusReferenceCall *call, guint input, gint64 r)
{
  return gradus_op_has_input (call->node, input) ? call->inputs[input][r] : 1;
}

static void
clear (const GradusReferenceCall *call)
{
  memset (call->outputs[0], 0, (gsize) gradus_op_count (&call->output_types[0]) * sizeof (double));
}

/* values, [weights] -> the sum of weight times value, that of the weights */
GRADUS_INFER (infer_weighted_sum)
{
  if (!gradus_op_check_floats (node, inputs, error) ||
      (gradus_op_has_input (node, 1) && !gradus_op_check_same (node, inputs, 1, 0, error)))
    return FALSE;
  outputs[0].dtype = GRADUS_DTYPE_FLOAT64;
  outputs[0].shape = gradus_shape (1, (gint64) 2);
  return TRUE;
}

/* What has no weight is left out, were it not a number. */
GRADUS_REFERENCE (reference_weighted_sum)
{
  clear (call);
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[0]); i++)
    {
      double w = weight (call, 1, i);

      call->outputs[0][0] += w == 0 ? 0 : w * call->inputs[0][i];
      call->outputs[0][1] += w;
    }
}

/* predictions, class indices -> 1 where fewer than k predictions are greater than the label's */
GRADUS_INFER (infer_in_top_k)
{
  if (!check_inputs (node, inputs, 2, error))
    return FALSE;
  if (inputs[1].dtype != GRADUS_DTYPE_INT32)
    return gradus_op_refuse (node, inputs, error, _ ("The labels must be of type int32."));
  outputs[0].dtype = GRADUS_DTYPE_FLOAT32;
  outputs[0].shape = without_last (&inputs[0].shape);
  return TRUE;
}

GRADUS_REFERENCE (reference_in_top_k)
{
  gint64 n = last_of (&call->input_types[0]), k = gradus_node_int (call->node, "k");

  for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)
    {
      const double *p = call->inputs[0] + r * n;
      double        label = call->inputs[1][r];
      gint64        greater = 0;

      call->outputs[0][r] = 0;
      if (!(label >= 0 && label < n))
        continue;
      for (gint64 c = 0; c < n; c++)
        greater += !(p[c] <= p[(gint64) label]);
      call->outputs[0][r] = greater < k;
    }
}

/* values -> where the first greatest of each row stands */
GRADUS_INFER (infer_arg_max)
{
  if (inputs[0].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least one axis."), 1);
  outputs[0].dtype = GRADUS_DTYPE_INT32;
  outputs[0].shape = without_last (&inputs[0].shape);
  return gradus_op_check_floats (node, inputs, error);
}

GRADUS_REFERENCE (reference_arg_max)
{
  gint64 n = last_of (&call->input_types[0]);

  for (gint64 r = 0; r < rows_of (call); r++)
    call->outputs[0][r] = (double) first_greatest (call->inputs[0] + r * n, n);
}

/* predictions, targets, ascending thresholds f32 [T], [weights] -> [T, 4]: weights of true positives,
 * false positives, true negatives, false negatives at each */
GRADUS_INFER (infer_threshold_counts)
{
  if (!check_inputs (node, inputs, 3, error) || !gradus_op_check_rank (node, inputs, 2, 1, error))
    return FALSE;
  if (gradus_node_int (node, "class_id") >= last_of (&inputs[0]))
    return gradus_op_refuse (node, inputs, error, _ ("There is no class %d."),
                             (int) gradus_node_int (node, "class_id"));
  statistic_type (&outputs[0], inputs[2].shape.dims[0], 4);
  return TRUE;
}

/* Whether prediction @c is one of the @k greatest, the first ones where some are equal; 0: all are. */
static gboolean
is_in_top (const double *p, gint64 c, gint64 n, gint64 k)
{
  gint64 before = 0;

  for (gint64 i = 0; i < n; i++)
    before += p[i] > p[c] || (p[i] == p[c] && i < c);
  return k == 0 || before < k;
}

GRADUS_REFERENCE (reference_threshold_counts)
{
  gint64 n = last_of (&call->input_types[0]), k = gradus_node_int (call->node, "top_k");
  gint64 only = gradus_node_int (call->node, "class_id");

  clear (call);
  for (gint64 r = 0; r < rows_of (call); r++)
    for (gint64 c = only < 0 ? 0 : only; c < (only < 0 ? n : only + 1); c++)
      {
        const double *p = call->inputs[0] + r * n;
        double        seen = is_in_top (p, c, n, k) ? p[c] : -1e10;
        gboolean      is_true = target (call, r, c, n) != 0;

        for (gint64 t = 0; t < gradus_op_count (&call->input_types[2]); t++)
          {
            gboolean positive = seen > call->inputs[2][t];

            call->outputs[0][t * 4 + (positive ? !is_true : 2 + is_true)] += weight (call, 3, r);
          }
      }
}

/* predictions, targets, [weights] -> [classes, classes]: weights by true and by predicted class. One
 * prediction is class 1 above the threshold, of several the first greatest is the class. */
GRADUS_INFER (infer_confusion_counts)
{
  gint64 n;

  if (!check_inputs (node, inputs, 2, error))
    return FALSE;
  n = MAX (2, last_of (&inputs[0]));
  statistic_type (&outputs[0], n, n);
  return TRUE;
}

static gint64
true_class (const GradusReferenceCall *call, gint64 r, gint64 n)
{
  if (call->input_types[1].dtype == GRADUS_DTYPE_INT32)
    return (gint64) call->inputs[1][r];
  return n == 1 ? call->inputs[1][r] != 0 : first_greatest (call->inputs[1] + r * n, n);
}

GRADUS_REFERENCE (reference_confusion_counts)
{
  gint64 n = last_of (&call->input_types[0]), classes = MAX (2, n);
  double threshold = gradus_node_float (call->node, "threshold");

  clear (call);
  for (gint64 r = 0; r < rows_of (call); r++)
    {
      gint64 of = true_class (call, r, n);
      gint64 as = n == 1 ? call->inputs[0][r] > threshold
                         : first_greatest (call->inputs[0] + r * n, n);

      if (of >= 0 && of < classes)
        call->outputs[0][of * classes + as] += weight (call, 2, r);
    }
}

/* predictions, targets, [weights] -> [n, 4]: a class's true positives, false positives, false
 * negatives, targets. @threshold < 0: the greatest prediction of a row is the positive one. */
GRADUS_INFER (infer_class_counts)
{
  if (!check_inputs (node, inputs, 2, error))
    return FALSE;
  statistic_type (&outputs[0], last_of (&inputs[0]), 4);
  return TRUE;
}

GRADUS_REFERENCE (reference_class_counts)
{
  gint64 n = last_of (&call->input_types[0]);
  double threshold = gradus_node_float (call->node, "threshold");

  clear (call);
  for (gint64 r = 0; r < rows_of (call); r++)
    for (gint64 c = 0; c < n; c++)
      {
        const double *p = call->inputs[0] + r * n;
        double        w = weight (call, 2, r), t = target (call, r, c, n);
        double        positive = threshold >= 0 ? p[c] > threshold
                                                : p[c] >= p[first_greatest (p, n)] && fabs (p[c]) > 1e-9;
        double       *counts = call->outputs[0] + c * 4;

        counts[0] += w * positive * t;
        counts[1] += w * positive * (1 - t);
        counts[2] += w * (1 - positive) * t;
        counts[3] += w * t;
      }
}

/* predictions, targets, [weights] -> [n, 4]: of each output the sums of weight times target, target
 * squared, difference squared, and of the weights */
GRADUS_INFER (infer_residual_moments)
{
  return infer_class_counts (node, inputs, outputs, error);
}

GRADUS_REFERENCE (reference_residual_moments)
{
  gint64 n = last_of (&call->input_types[0]);

  clear (call);
  for (gint64 r = 0; r < rows_of (call); r++)
    for (gint64 c = 0; c < n; c++)
      {
        double  w = weight (call, 2, r), t = target (call, r, c, n);
        double  difference = t - call->inputs[0][r * n + c];
        double *sums = call->outputs[0] + c * 4;

        sums[0] += w * t;
        sums[1] += w * t * t;
        sums[2] += w * difference * difference;
        sums[3] += w;
      }
}

static const GradusAttrSpec top_attrs[] = { { "k", GRADUS_ATTR_INT, "5" }, { NULL } };
static const GradusAttrSpec threshold_attrs[] = { { "top_k", GRADUS_ATTR_INT, "0" },
                                                  { "class_id", GRADUS_ATTR_INT, "-1" },
                                                  { NULL } };
static const GradusAttrSpec confusion_attrs[] = { { "threshold", GRADUS_ATTR_FLOAT, "0.5" },
                                                  { NULL } };
static const GradusAttrSpec class_attrs[] = { { "threshold", GRADUS_ATTR_FLOAT, "-1.0" }, { NULL } };

static const GradusOpCase weighted_sum_cases[] = {
  { "f32[B,5] -", NULL }, { "f32[B] f32+[B]", NULL }, { "f32[B,40,30] -", NULL }, { NULL },
};
static const GradusOpCase in_top_k_cases[] = {
  { "f32[B,10] i32<10[B]", "k=3" }, { "f32[B,3,4] i32<4[B,3]", "k=2" }, { NULL },
};
static const GradusOpCase arg_max_cases[] = { { "f32[B,5]", NULL }, { "f32[B,3,4]", NULL }, { NULL } };
static const GradusOpCase threshold_cases[] = {
  { "f32%[B,5] i32<5[B] f32=0.5[1] -", NULL },
  { "f32%[B,1] f32=1[B,1] f32=0.3[3] f32+[B]", NULL },
  { "f32%[B,5] i32<5[B] f32=0.2[1] -", "top_k=2" },
  { "f32%[B,3,5] f32%[B,3,5] f32=0.6[2] f32+[B,3]", "class_id=2" },
  { NULL },
};
static const GradusOpCase confusion_cases[] = {
  { "f32[B,5] i32<5[B] -", NULL },
  { "f32[B,3,4] f32%[B,3,4] f32+[B,3]", NULL },
  { "f32%[B,1] i32<2[B] -", "threshold=0.4" },
  { NULL },
};
static const GradusOpCase class_cases[] = {
  { "f32[B,5] i32<5[B] -", NULL },
  { "f32%[B,3,4] f32%[B,3,4] f32+[B,3]", "threshold=0.5" },
  { NULL },
};
static const GradusOpCase residual_cases[] = {
  { "f32[B,5] f32[B,5] -", NULL }, { "f32[B,3,1] f32[B,3,1] f32+[B,3]", NULL }, { NULL },
};

#define HINT N_ ("the predictions or targets are infinite or not numbers")

#define ROW(op, least, most, attrs_, cases_)                                                       \
  {                                                                                                \
    .name = #op, .version = 1, .min_inputs = least, .max_inputs = most, .n_outputs = 1,            \
    .attrs = attrs_, .infer = infer_##op, .inplace = -1, .precision = GRADUS_PRECISION_FLOAT32,    \
    .cost = gradus_op_cost_elementwise, .nan_hint = HINT, .reference = reference_##op,             \
    .cases = cases_,                                                                               \
  }

const GradusOp gradus_ops_statistic[] = {
  ROW (weighted_sum, 1, 2, NULL, weighted_sum_cases),
  ROW (in_top_k, 2, 2, top_attrs, in_top_k_cases),
  ROW (arg_max, 1, 1, NULL, arg_max_cases),
  ROW (threshold_counts, 3, 4, threshold_attrs, threshold_cases),
  ROW (confusion_counts, 2, 3, confusion_attrs, confusion_cases),
  ROW (class_counts, 2, 3, class_attrs, class_cases),
  ROW (residual_moments, 2, 3, NULL, residual_cases),
  { NULL },
};
