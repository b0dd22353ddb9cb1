/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"
#include "gradus-json.h"
#include "graph/gradus-program.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_LOSS_SPARSE_CROSSENTROPY,
  GRADUS_LOSS_CROSSENTROPY,
  GRADUS_LOSS_SQUARED_ERROR,
  GRADUS_LOSS_ABSOLUTE_ERROR,
} GradusLossKind;

typedef struct
{
  GradusLossKind kind;
  gboolean       from_logits;
} GradusLoss;

typedef enum
{
  GRADUS_METRIC_AUTO, /* "accuracy": Keras chooses by the shapes */
  GRADUS_METRIC_SPARSE,
  GRADUS_METRIC_CATEGORICAL,
  GRADUS_METRIC_BINARY,
} GradusMetricKind;

#define GRADUS_MAX_METRICS 4

typedef struct
{
  const char      *name; /* of the series, "accuracy" */
  GradusMetricKind kind;
} GradusMetric;

/* Read "loss" and "metrics" of @compile; refuse through the cursor. */
gboolean  gradus_loss_read    (GradusLoss *self, GradusJsonObject *compile);
JsonNode *gradus_loss_write   (const GradusLoss *self);
gboolean  gradus_metrics_read (GradusMetric *metrics, guint *n, GradusJsonObject *compile);

/* One head of the model as the loss sees it. */
typedef struct
{
  GradusValueId   output, logits; /* of gradus_model_build() */
  GradusShape     shape;          /* of the output */
  const char     *name;           /* of the output's layer */
  GradusArraySpec target;         /* as the data has it */
  GradusValueId   target_input;   /* (out) */
  GradusValueId   labels;         /* (out): as the loss takes it */
  GradusValueId   prediction;     /* (out): as metrics take it */
  gint64          n_classes;      /* (out): 0 if targets are no labels */
} GradusHead;

/* Adds the target's input and the loss of each sample [B]. Fails with GRADUS_ERROR_REFUSED where target
 * and output do not fit. */
gboolean gradus_loss_build   (const GradusLoss *self,
                              GradusProgram    *program,
                              GradusHead       *head,
                              GradusValueId    *losses,
                              GError          **error);
/* How many samples of the batch are right, a scalar. */
gboolean gradus_metric_build (const GradusMetric *self,
                              GradusProgram      *program,
                              GradusHead         *head,
                              GradusValueId      *sum,
                              GError            **error);

G_END_DECLS
