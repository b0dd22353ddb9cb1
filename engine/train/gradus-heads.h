/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-metric.h"

G_BEGIN_DECLS

#define GRADUS_MAX_HEADS 16
#define GRADUS_MAX_METRICS 32 /* of one head */

/* What a recipe says of a head; of every head where @head is NULL. */
typedef struct
{
  char      *head;
  gboolean   has_loss;
  GradusLoss loss;
  double     weight;
  GPtrArray *metrics; /* GradusMetric */
} GradusHeadOptions;

/**
 * GradusHeads:
 * @entries: GradusHeadOptions
 * @loss_by_head, @metrics_by_head, @weighted: how they were written: dictionaries; with loss weights
 * @class_weights: by class, 1 where none was given; NULL for none
 * @balanced: weights that make all classes count alike, from the counts in the training data
 * @sample_weight: name of the column; NULL for none
 *
 * The parts of `compile` that speak of losses and metrics.
 */
typedef struct
{
  GPtrArray *entries;
  gboolean   loss_by_head, metrics_by_head, weighted;
  double    *class_weights;
  guint      n_class_weights;
  gboolean   balanced;
  char      *sample_weight;
} GradusHeads;

gboolean gradus_heads_read  (GradusHeads *self, GradusJsonObject *compile);
void     gradus_heads_write (const GradusHeads *self, JsonObject *compile);
void     gradus_heads_clear (GradusHeads *self);

/* Refuses a head that is no output, and an output without a loss. @outputs ends with NULL. */
gboolean          gradus_heads_check   (const GradusHeads *self, const char *const *outputs, GError **error);
const GradusLoss *gradus_heads_loss    (const GradusHeads *self, const char *output);
double            gradus_heads_weight  (const GradusHeads *self, const char *output);
/* GradusMetric of @output, owned by @self; free the array. */
GPtrArray        *gradus_heads_metrics (const GradusHeads *self, const char *output);

/* Whether the recipe may name the series in a monitor: "validation/loss", "train/<head>/<metric>".
 * Which heads there are is known with the model alone. */
gboolean gradus_heads_may_monitor (const GradusHeads *self, const char *series);

G_END_DECLS
