/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-dtype.h"
#include "gradus-error.h"

G_BEGIN_DECLS

#define GRADUS_BATCH_MAX_RANK 8

/**
 * GradusArraySpec:
 * @name: name of the input or target; the model's own names where there are several
 * @dtype: element type
 * @rank: axes of ONE sample, batch axis not counted
 * @dims: sizes of those axes
 *
 * What a source yields under one name. Owned by the source, valid as long as it.
 */
typedef struct
{
  const char *name;
  GradusDType dtype;
  guint       rank;
  gint64      dims[GRADUS_BATCH_MAX_RANK];
} GradusArraySpec;

/**
 * GradusBatch:
 * @n_samples: samples in this batch; the last of an epoch may have fewer than the batch size
 * @inputs: one pointer per input spec: n_samples * (elements of a sample), row-major, 64-byte
 *   aligned
 * @targets: likewise per target spec
 * @samples: index of each sample in its source, for naming an offender
 * @weights: n_samples weights, what each counts in the loss; NULL where the source has none
 * @time: steps of the sequences in this batch, where the model leaves them free: then the first axis
 *   of a sample has this size in place of its spec's, which is the largest; 0: the spec's
 *
 * Borrowed: valid until the next call on the same source.
 */
typedef struct
{
  guint             n_samples;
  const void *const *inputs;
  const void *const *targets;
  const gint64     *samples;
  const float      *weights;
  gint64            time;
} GradusBatch;

typedef struct _GradusBatchSource GradusBatchSource;

/**
 * GradusBatchSourceFuncs:
 *
 * Where the trainer gets its batches. data/ implements it. All calls come from the training thread
 * but for @cancel, which may come from any. What is yielded is a pure function of (seed, epoch,
 * position), so seek() is all that resuming needs.
 */
typedef struct
{
  /* The inputs and targets; the arrays live as long as the source. */
  const GradusArraySpec *(*inputs) (GradusBatchSource *self, guint *n);
  const GradusArraySpec *(*targets) (GradusBatchSource *self, guint *n);
  gint64 (*n_samples) (GradusBatchSource *self);
  /* Batches in an epoch at the present batch size, the short last one included. */
  gint64 (*n_batches) (GradusBatchSource *self);
  guint (*batch_size) (GradusBatchSource *self);
  /* Takes effect at the next seek(). */
  void (*set_batch_size) (GradusBatchSource *self, guint batch_size);
  /* The next batch will be @position (0-based) of @epoch (0-based). */
  gboolean (*seek) (GradusBatchSource *self, gint64 epoch, gint64 position, GError **error);
  /* The next batch, waiting for it if need be; NULL without an error at the end of the epoch. */
  const GradusBatch *(*next) (GradusBatchSource *self, GError **error);
  /* Any thread: a next() that waits, and every later one until seek(), fails with
   * GRADUS_ERROR_CANCELLED. */
  void (*cancel) (GradusBatchSource *self);
  void (*free) (GradusBatchSource *self);
  /* Whether batches have weights; NULL: no. */
  gboolean (*has_weights) (GradusBatchSource *self);
} GradusBatchSourceFuncs;

/* An implementation embeds this as its first member. */
struct _GradusBatchSource
{
  const GradusBatchSourceFuncs *funcs;
};

G_END_DECLS
