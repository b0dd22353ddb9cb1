/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-dataset-private.h"
#include "gradus-philox.h"

G_BEGIN_DECLS

#define GRADUS_MAX_ARRAYS (2 * GRADUS_SOURCE_MAX_ARRAYS)

/* Room for one batch. */
typedef struct
{
  GradusBatch batch;
  gint64      epoch, position;
  gint64     *samples;
  float      *weights; /* or NULL */
  void       *arrays[GRADUS_MAX_ARRAYS]; /* inputs, then targets */
} GradusSlot;

/**
 * GradusFiller:
 *
 * Fills slots with the batches of a part: which samples, from where, converted. One thread at a
 * time; the counters may be read by any.
 */
typedef struct
{
  GradusDataset     *dataset;
  GradusDatasetPart *part;
  gboolean           shuffle, drop_remainder;
  guint              n_arrays;
  guint              batch_size;
  void              *scratch[GRADUS_MAX_ARRAYS]; /* what neither source nor cache keeps, or NULL */
  GradusPermutation  order;
  gint64             order_epoch;

  /* Relaxed atomics. */
  gint64 n_batches, n_samples, read_ns, convert_ns;
} GradusFiller;

void gradus_filler_init (GradusFiller *self, GradusDataset *dataset, GradusPart part);
void gradus_filler_clear (GradusFiller *self);
/* Scratch space for, and from now on, batches of this size; FALSE if there is no memory. */
gboolean gradus_filler_set_batch_size (GradusFiller *self, guint batch_size);
/* In an epoch. */
gint64   gradus_filler_count (GradusFiller *self);
gboolean gradus_filler_fill (GradusFiller *self,
                             GradusSlot   *slot,
                             gint64        epoch,
                             gint64        position,
                             GError      **error);

/* Memory for a batch of the filler's size; FALSE if there is none. */
gboolean gradus_slot_init (GradusSlot *self, GradusFiller *filler);
void     gradus_slot_clear (GradusSlot *self);

/* Monotonic time, and an atomic counter of such times or of anything. */
gint64 gradus_now_ns (void);
void   gradus_count (gint64 *counter, gint64 by);

G_END_DECLS
