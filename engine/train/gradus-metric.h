/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-loss.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_METRIC_AUTO, /* "accuracy": Keras chooses by the shapes */
  GRADUS_METRIC_SPARSE,
  GRADUS_METRIC_CATEGORICAL,
  GRADUS_METRIC_BINARY,
  GRADUS_METRIC_TOP_K,
  GRADUS_METRIC_SPARSE_TOP_K,
  GRADUS_METRIC_PRECISION,
  GRADUS_METRIC_RECALL,
  GRADUS_METRIC_AUC,
  GRADUS_METRIC_F1,
  GRADUS_METRIC_CONFUSION,
  GRADUS_METRIC_MEAN_IOU,
  GRADUS_METRIC_RMSE,
  GRADUS_METRIC_R2,
  GRADUS_METRIC_LOSS,   /* the mean of a loss */
  GRADUS_METRIC_COSINE, /* the mean of the cosine, not of its negative */
} GradusMetricKind;

typedef enum
{
  GRADUS_AVERAGE_MACRO,
  GRADUS_AVERAGE_MICRO,
  GRADUS_AVERAGE_WEIGHTED,
} GradusAverage;

typedef enum
{
  GRADUS_SUMMATION_INTERPOLATION,
  GRADUS_SUMMATION_MINORING,
  GRADUS_SUMMATION_MAJORING,
} GradusSummation;

typedef struct
{
  GradusMetricKind kind;
  const char      *name, *also; /* as recipes write it; another name, or NULL */
  const char      *class_name;
  gboolean         is_min;      /* the smaller the better */
} GradusMetricClass;

/**
 * GradusMetric:
 * @name: of the series, "accuracy"; owned
 * @threshold: of a binary decision; < 0: the greatest prediction decides
 * @thresholds: ascending; owned
 * @class_id, @top_k: -1 and 0: all
 *
 * A metric with Keras's arguments. It is computed from sums in float64 that are the same for any
 * number of workers and add up over the batches of an epoch.
 */
typedef struct
{
  const GradusMetricClass *klass;
  char                    *name;
  double                   threshold;
  float                   *thresholds;
  guint                    n_thresholds;
  gint64                   k, class_id, top_k;
  gboolean                 from_logits, pr;
  GradusSummation          summation;
  GradusAverage            average;
  GradusLoss               loss; /* of kinds LOSS and COSINE */
} GradusMetric;

void gradus_metric_free (GradusMetric *self);

/* Names of all metrics as recipes write them, ended by NULL. */
const char *const *gradus_metric_names (void);
/* The metric at @index of @array: a name, or {"class_name", "config"}. Refuses through the cursor. */
GradusMetric *gradus_metric_read  (GradusJsonArray *array, guint index);
JsonNode     *gradus_metric_write (const GradusMetric *self);
/* Whether a series whose name ends in that of a metric (“f1_score”) is better when smaller. */
gboolean      gradus_metric_is_min (const char *series);

/* Adds what the metric sums over a batch: float64 [@n] after gradus_loss_build(). */
gboolean gradus_metric_build (const GradusMetric *self,
                              GradusProgram      *program,
                              const GradusHead   *head,
                              GradusValueId      *sums,
                              guint              *n,
                              GError            **error);
/* The value of the @n sums of any number of batches; NaN if there is none. Of a confusion matrix the
 * share on the diagonal. */
double gradus_metric_result (const GradusMetric *self, const double *sums, guint n);

G_END_DECLS
