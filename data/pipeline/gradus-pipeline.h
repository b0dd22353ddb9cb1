/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "source/gradus-source.h"

G_BEGIN_DECLS

/**
 * GradusDataset:
 *
 * The recipe's `data` object at work: the sources of its three parts and the stages that turn
 * samples into batches. Reference counted; the functions here may be called from any thread, but
 * gradus_dataset_set_input_shape() only before batches are opened.
 *
 * What a batch holds, whatever order, threads or prefetching:
 *   inputs   the source's dtype, float32 after cast or rescale, and float32 for a float64 source
 *   targets  what "targets": "inputs" asks for: the inputs, as float32, after all stages; else class indices (rank 0, integer) as int32, all others as float32; after one_hot float32
 *            of shape (classes)
 *
 * Stages: cache, shuffle, batch (32 without one), rescale, cast, one_hot, prefetch. rescales work
 * in their order; for the rest the order does not matter. shuffle after batch is refused, and an
 * order that only misleads is told by gradus_dataset_warnings(). shuffle and drop_remainder are for
 * training only. Caching keeps what the source gave, before any stage.
 *
 * one_hot without "classes" takes as many as the training labels have.
 *
 * prefetch "auto" makes as many batches ahead as 64 MiB hold, but from 2 to 8; 0 makes each when
 * asked for, on the asking thread.
 */
typedef struct _GradusDataset GradusDataset;

typedef enum
{
  GRADUS_PART_TRAIN,
  GRADUS_PART_VALIDATION,
  GRADUS_PART_TEST,
  GRADUS_N_PARTS
} GradusPart;

/* "train", "validation", "test", as in the recipe. */
const char *gradus_part_name (GradusPart part);

/**
 * gradus_dataset_new:
 * @data: the recipe's `data` object; every key of it is read
 * @base: folder that relative paths start from
 *
 * Opens the sources (see gradus_source_open()) and checks the stages; nothing is cached yet. With
 * {"split": f} validation gets round(f n) samples of the training source, at least one and not all,
 * drawn by the seed, in the source's order. Labels are checked against nothing but one_hot: see
 * gradus_dataset_check_labels().
 */
GradusDataset *
gradus_dataset_new (GradusJsonObject *data, const char *base, guint64 seed, GError **error);
GradusDataset *gradus_dataset_ref (GradusDataset *self);
void           gradus_dataset_unref (GradusDataset *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusDataset, gradus_dataset_unref)

/* Sentences about an order of stages that misleads; NULL-terminated, empty if there is none. */
const char *const *gradus_dataset_warnings (GradusDataset *self);

/* Samples of the part; 0 if the recipe has none. */
gint64 gradus_dataset_n_samples (GradusDataset *self, GradusPart part);
/* What batches of every part hold. */
const GradusArraySpec *gradus_dataset_inputs (GradusDataset *self, guint *n);
const GradusArraySpec *gradus_dataset_targets (GradusDataset *self, guint *n);
/* Classes in the training labels; 0 if the target is not a class. */
gint64 gradus_dataset_n_classes (GradusDataset *self);
/* NULL if the recipe names none. */
const char *const *gradus_dataset_class_names (GradusDataset *self);
guint              gradus_dataset_batch_size (GradusDataset *self);

/**
 * gradus_dataset_set_input_shape:
 * @rank, @dims: the sample shape that the model wants for input @i; -1 takes any size
 *
 * A sample of (28, 28) is taken for (28, 28, 1) and so on, where only axes of size 1 differ. Fails
 * with GRADUS_ERROR_REFUSED saying both shapes otherwise.
 */
gboolean gradus_dataset_set_input_shape (GradusDataset *self,
                                         guint          i,
                                         guint          rank,
                                         const gint64  *dims,
                                         GError       **error);

/* gradus_source_check_labels() over all parts. Reads every label. */
gboolean gradus_dataset_check_labels (GradusDataset *self, gint64 n_classes, GError **error);

/* gradus_source_fingerprint() of the part's source; NULL without an error if it has none of its
 * own. */
char *gradus_dataset_fingerprint (GradusDataset *self, GradusPart part, GError **error);

/**
 * GradusDatasetMemory:
 * @sources: kept by the sources themselves (a .gz file is unpacked)
 * @cache: what "cache" will hold after an epoch
 * @batches: rings of all parts
 *
 * Bytes.
 */
typedef struct
{
  gint64 sources, cache, batches;
} GradusDatasetMemory;

/* Predicted use of memory. @batch_size 0: the recipe's. */
GradusDatasetMemory gradus_dataset_memory (GradusDataset *self, guint batch_size);

/* For checkpoints and exports: {"stages": [{"rescale": {"scale": ..}}], "class_names": [..]}: the
 * stages that change what the model sees, in order. (transfer full) */
JsonObject *gradus_dataset_describe (GradusDataset *self);

/**
 * gradus_dataset_open:
 *
 * Batches of a part; NULL without an error if the recipe has none. Stands at the start of epoch 0.
 * Free with its own funcs->free(), from the thread that uses it; holds a reference to the dataset.
 * Errors come in their order: next() yields every batch before the one that failed, then the error,
 * so that a run fails at the same step every time.
 */
GradusBatchSource *gradus_dataset_open (GradusDataset *self, GradusPart part, GError **error);

/**
 * GradusBatchStats:
 * @batches, @samples: made since opening
 * @read_ns: in the source and the cache
 * @convert_ns: rescale, cast, one_hot, copying
 * @full_ns: waiting because the ring was full: the consumer is the narrow one
 * @ready, @capacity: batches made ahead now, and the most there can be
 *
 * Where the time of the input goes.
 */
typedef struct
{
  gint64 batches, samples;
  gint64 read_ns, convert_ns, full_ns;
  guint  ready, capacity;
} GradusBatchStats;

/* Of a source that gradus_dataset_open() gave; any thread. */
void gradus_batch_source_stats (GradusBatchSource *source, GradusBatchStats *stats);

G_END_DECLS
