/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-convert.h"
#include "gradus-json.h"
#include "source/gradus-vectorize.h"

G_BEGIN_DECLS

#define GRADUS_MAX_RESCALES 8
#define GRADUS_MAX_BATCH_SIZE (1 << 20)
#define GRADUS_MAX_CLASSES 1000000
#define GRADUS_MAX_PREFETCH 1024

typedef enum
{
  GRADUS_FILL_NONE,
  GRADUS_FILL_MEAN,
  GRADUS_FILL_VALUE,
} GradusFill;

/**
 * GradusStages:
 * @prefetch: batches ahead, -1 for "auto"
 * @to_float: whether the inputs are cast or rescaled
 * @one_hot: classes; -1: as many as the data has; 0: no such stage
 * @vectorize: its length is 0 where there is no such stage
 * @warnings: sentences about an order that misleads
 * @kept: the stages that change what the model sees, in order
 *
 * The recipe's list `pipeline`, read and checked. Where a stage may stand is told in
 * gradus-pipeline.h.
 */
typedef struct
{
  gboolean      cache;
  gboolean      shuffle;
  guint         batch_size;
  gboolean      drop_remainder;
  int           prefetch;
  gboolean      to_float;
  guint         n_rescales;
  GradusRescale rescales[GRADUS_MAX_RESCALES];
  gint64        one_hot;
  GradusVectorize vectorize;
  GradusFill    fill;
  float         fill_value;
  gboolean      normalize;
  GPtrArray    *warnings;
  JsonArray    *kept;
} GradusStages;

/* Reads `pipeline` of @data (absent: batches of 32 and nothing else); errors stay in @data's
 * document. */
void gradus_stages_read (GradusStages *self, GradusJsonObject *data);
void gradus_stages_clear (GradusStages *self);

G_END_DECLS
