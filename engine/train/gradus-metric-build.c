/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-metric.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define EPSILON 1e-7

/* As Keras's compile() does for "accuracy". */
static GradusMetricKind
choose (const GradusHead *head)
{
  if (head->shape.dims[head->shape.rank - 1] == 1)
    return GRADUS_METRIC_BINARY;
  return head->labels != GRADUS_NO_VALUE ? GRADUS_METRIC_SPARSE : GRADUS_METRIC_CATEGORICAL;
}

static gboolean
refuse (const GradusMetric *self, GError **error)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("The metric “%s” does not fit the loss: one takes a label a sample, the other a "
                 "number for each output. Choose the “sparse” kind of both, or of neither."),
               self->name);
  return FALSE;
}

/* The mean of a value a row. */
static gboolean
add_mean (GradusProgram *program, const GradusHead *head, GradusValueId rows, GradusValueId *sums, guint *n, GError **error)
{
  GradusValueId inputs[2] = { rows, head->valid };

  *n = 2;
  return gradus_program_add_node (program, "weighted_sum", 0, inputs, 2, sums, error, NULL);
}

static gboolean
add_correct (const GradusMetric *self, GradusProgram *program, const GradusHead *head, GradusValueId *rows, GError **error)
{
  GradusMetricKind kind = self->klass->kind == GRADUS_METRIC_AUTO ? choose (head)
                                                                  : self->klass->kind;
  GradusValueId    sparse[2] = { head->prediction, head->labels };
  GradusValueId    dense[2] = { head->prediction, head->targets };

  if (kind == GRADUS_METRIC_SPARSE)
    return head->labels != GRADUS_NO_VALUE
               ? gradus_program_add_node (program, "correct_sparse", 0, sparse, 2, rows, error, NULL)
               : refuse (self, error);
  /* One output and labels of 0 and 1 */
  if (kind == GRADUS_METRIC_BINARY && head->targets == GRADUS_NO_VALUE &&
      head->shape.dims[head->shape.rank - 1] == 1)
    {
      gint64 shape[GRADUS_MAX_RANK];

      for (guint i = 0; i < head->shape.rank; i++)
        shape[i] = head->shape.dims[i];
      if (!gradus_program_add_node (program, "cast", 0, &sparse[1], 1, &dense[1], error, "dtype",
                                    "float32", NULL) ||
          !gradus_program_add_node (program, "reshape", 0, &dense[1], 1, &sparse[1], error, "shape",
                                    head->shape.rank, shape, NULL))
        return FALSE;
      dense[1] = sparse[1];
    }
  if (dense[1] == GRADUS_NO_VALUE)
    return refuse (self, error);
  if (kind == GRADUS_METRIC_CATEGORICAL)
    return gradus_program_add_node (program, "correct_categorical", 0, dense, 2, rows, error, NULL);
  return gradus_program_add_node (program, "correct_binary", 0, dense, 2, rows, error, "threshold",
                                  self->threshold, NULL);
}

static gboolean
add_top_k (const GradusMetric *self, GradusProgram *program, const GradusHead *head, GradusValueId *rows, GError **error)
{
  GradusValueId inputs[2] = { head->prediction, head->labels };

  if (head->labels == GRADUS_NO_VALUE &&
      !gradus_program_add_node (program, "arg_max", 0, &head->targets, 1, &inputs[1], error, NULL))
    return FALSE;
  return gradus_program_add_node (program, "in_top_k", 0, inputs, 2, rows, error, "k", self->k, NULL);
}

static gboolean
add_thresholds (const GradusMetric *self, GradusProgram *program, const GradusHead *head, GradusValueId *sums, guint *n, GError **error)
{
  GradusValueId inputs[4] = { head->prediction, head->targets, GRADUS_NO_VALUE, head->valid };

  if (head->targets == GRADUS_NO_VALUE)
    inputs[1] = head->labels;
  if (self->from_logits &&
      !gradus_program_add_node (program, "sigmoid", 0, &head->prediction, 1, &inputs[0], error, NULL))
    return FALSE;
  inputs[2] = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32,
                                           gradus_shape (1, (gint64) self->n_thresholds),
                                           self->thresholds);
  *n = self->n_thresholds * 4;
  return gradus_program_add_node (program, "threshold_counts", 0, inputs, 4, sums, error, "top_k",
                                  self->top_k, "class_id", self->class_id, NULL);
}

static gboolean
add_counts (const GradusMetric *self, GradusProgram *program, const GradusHead *head, GradusValueId *sums, guint *n, GError **error)
{
  gint64        classes = head->shape.dims[head->shape.rank - 1];
  GradusValueId inputs[3] = { head->prediction, head->targets, head->valid };

  if (head->targets == GRADUS_NO_VALUE)
    inputs[1] = head->labels;
  *n = classes * 4;
  if (self->klass->kind == GRADUS_METRIC_R2)
    return gradus_program_add_node (program, "residual_moments", 0, inputs, 3, sums, error, NULL);
  if (self->klass->kind == GRADUS_METRIC_F1)
    return gradus_program_add_node (program, "class_counts", 0, inputs, 3, sums, error, "threshold",
                                    self->threshold, NULL);
  *n = MAX (2, classes) * MAX (2, classes);
  return gradus_program_add_node (program, "confusion_counts", 0, inputs, 3, sums, error,
                                  "threshold", self->threshold, NULL);
}

static gboolean
add_loss (const GradusMetric *self, GradusProgram *program, const GradusHead *head, GradusValueId *rows, GError **error)
{
  GradusLoss loss = self->loss;
  gboolean   sparse = loss.klass != NULL && loss.klass->kind == GRADUS_LOSS_SPARSE;

  if (self->klass->kind == GRADUS_METRIC_RMSE)
    gradus_loss_find (&loss, "mean_squared_error");
  if ((sparse ? head->labels : head->targets) == GRADUS_NO_VALUE)
    return refuse (self, error);
  return gradus_loss_values (&loss, program, head,
                             loss.from_logits ? head->output : head->prediction, head->logits, rows,
                             error);
}

/* Numbers of float64 that a metric may keep: a confusion matrix of 2048 classes. */
#define MAX_SUMS (4 * 1024 * 1024)

gboolean
gradus_metric_build (const GradusMetric *self,
                     GradusProgram      *program,
                     const GradusHead   *head,
                     GradusValueId      *sums,
                     guint              *n,
                     GError            **error)
{
  gint64        classes = head->shape.dims[head->shape.rank - 1];
  GradusValueId rows;

  if (head->labels != GRADUS_NO_VALUE && gradus_head_rows (head) != head->n_labels)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("The metric “%s” cannot be had with CTC, whose labels are not one for each "
                     "step. Leave it out."),
                   self->name);
      return FALSE;
    }
  switch (self->klass->kind)
    {
    case GRADUS_METRIC_AUTO:
    case GRADUS_METRIC_SPARSE:
    case GRADUS_METRIC_CATEGORICAL:
    case GRADUS_METRIC_BINARY:
      return add_correct (self, program, head, &rows, error) &&
             add_mean (program, head, rows, sums, n, error);
    case GRADUS_METRIC_TOP_K:
    case GRADUS_METRIC_SPARSE_TOP_K:
      return add_top_k (self, program, head, &rows, error) &&
             add_mean (program, head, rows, sums, n, error);
    case GRADUS_METRIC_PRECISION:
    case GRADUS_METRIC_RECALL:
    case GRADUS_METRIC_AUC:
      return add_thresholds (self, program, head, sums, n, error);
    case GRADUS_METRIC_CONFUSION:
    case GRADUS_METRIC_MEAN_IOU:
    case GRADUS_METRIC_F1:
    case GRADUS_METRIC_R2:
      if (self->klass->kind <= GRADUS_METRIC_MEAN_IOU && classes > MAX_SUMS / classes)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("The metric “%s” is for models with fewer classes. Leave it out."),
                       self->name);
          return FALSE;
        }
      return add_counts (self, program, head, sums, n, error);
    case GRADUS_METRIC_RMSE:
    case GRADUS_METRIC_LOSS:
    case GRADUS_METRIC_COSINE:
      return add_loss (self, program, head, &rows, error) &&
             add_mean (program, head, rows, sums, n, error);
    }
  g_assert_not_reached ();
}

static double
share (double part, double whole)
{
  return whole == 0 ? 0 : part / whole;
}

/* Keras's interpolation of a precision-recall curve (Davis and Goadrich 2006, "The relationship
 * between precision-recall and ROC curves"). */
static double
area_pr (const double *sums, guint n)
{
  double area = 0;

  for (guint i = 0; i + 1 < n; i++, sums += 4)
    {
      double dtp = sums[0] - sums[4], p = sums[0] + sums[1], next = sums[4] + sums[5];
      double slope = share (dtp, MAX (p - next, 0));
      double intercept = sums[4] - slope * next;
      double ratio = p > 0 && next > 0 ? p / next : 1;

      area += share (slope * (dtp + intercept * log (ratio)), sums[4] + sums[7]);
    }
  return area;
}

static double
area (const GradusMetric *self, const double *sums)
{
  double sum = 0;

  if (self->pr && self->summation == GRADUS_SUMMATION_INTERPOLATION)
    return area_pr (sums, self->n_thresholds);
  for (guint i = 0; i + 1 < self->n_thresholds; i++)
    {
      double x[2], y[2], height;

      for (guint k = 0; k < 2; k++)
        {
          const double *at = sums + (i + k) * 4;
          double        recall = share (at[0], at[0] + at[3]);

          x[k] = self->pr ? recall : share (at[1], at[1] + at[2]);
          y[k] = self->pr ? share (at[0], at[0] + at[1]) : recall;
        }
      height = self->summation == GRADUS_SUMMATION_INTERPOLATION ? (y[0] + y[1]) / 2
               : self->summation == GRADUS_SUMMATION_MINORING    ? MIN (y[0], y[1])
                                                                 : MAX (y[0], y[1]);
      sum += (x[0] - x[1]) * height;
    }
  return sum;
}

static double
f1_of (const double *counts)
{
  double precision = counts[0] / (counts[0] + counts[1] + EPSILON);
  double recall = counts[0] / (counts[0] + counts[2] + EPSILON);

  return 2 * (precision * recall / (precision + recall + EPSILON));
}

static double
f1 (const GradusMetric *self, const double *sums, guint classes)
{
  double all[4] = { 0 }, score = 0;

  for (guint c = 0; c < classes; c++)
    for (guint i = 0; i < 4; i++)
      all[i] += sums[c * 4 + i];
  if (self->average == GRADUS_AVERAGE_MICRO)
    return f1_of (all);
  for (guint c = 0; c < classes; c++)
    score += f1_of (sums + c * 4) * (self->average == GRADUS_AVERAGE_WEIGHTED
                                         ? sums[c * 4 + 3] / (all[3] + EPSILON)
                                         : 1.0 / classes);
  return score;
}

/* The mean over the classes that were seen or said. */
static double
mean_iou (const double *sums, guint classes)
{
  double sum = 0;
  guint  met = 0;

  for (guint c = 0; c < classes; c++)
    {
      double either = 0, both = sums[c * classes + c];

      for (guint k = 0; k < classes; k++)
        either += sums[c * classes + k] + sums[k * classes + c];
      if (either == 0)
        continue;
      met++;
      sum += both / (either - both);
    }
  return share (sum, met);
}

static double
diagonal (const double *sums, guint classes)
{
  double all = 0, right = 0;

  for (guint i = 0; i < classes * classes; i++)
    all += sums[i];
  for (guint c = 0; c < classes; c++)
    right += sums[c * classes + c];
  return all > 0 ? right / all : NAN;
}

static double
r2 (const double *sums, guint n)
{
  double score = 0;

  for (guint c = 0; c < n; c++, sums += 4)
    {
      double total = sums[1] - sums[0] * (sums[0] / sums[3]);
      double raw = 1 - sums[2] / total;

      score += isinf (raw) ? 0 : raw / n;
    }
  return score;
}

double
gradus_metric_result (const GradusMetric *self, const double *sums, guint n)
{
  guint classes = (guint) lround (sqrt (n));

  switch (self->klass->kind)
    {
    case GRADUS_METRIC_PRECISION:
      return share (sums[0], sums[0] + sums[1]);
    case GRADUS_METRIC_RECALL:
      return share (sums[0], sums[0] + sums[3]);
    case GRADUS_METRIC_AUC:
      return area (self, sums);
    case GRADUS_METRIC_F1:
      return f1 (self, sums, n / 4);
    case GRADUS_METRIC_R2:
      return r2 (sums, n / 4);
    case GRADUS_METRIC_MEAN_IOU:
      return mean_iou (sums, classes);
    case GRADUS_METRIC_CONFUSION:
      return diagonal (sums, classes);
    default:
      break;
    }
  if (sums[1] == 0)
    return NAN;
  if (self->klass->kind == GRADUS_METRIC_RMSE)
    return sqrt (sums[0] / sums[1]);
  return (self->klass->kind == GRADUS_METRIC_COSINE ? -1 : 1) * sums[0] / sums[1];
}
