/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-cache.h"
#include "gradus-pipeline.h"
#include "gradus-stages.h"
#include "gradus-subset.h"

G_BEGIN_DECLS

/* @source and @cache of a split belong to training. */
typedef struct
{
  GradusSource *source;
  GradusCache  *cache;  /* made when batches are first opened */
  GradusSubset  subset; /* of the source, if the dataset is split */
  gboolean      is_subset;
  gint64        n_samples;
} GradusDatasetPart;

/* What was fitted for an input, of @n features each; NULL: no such stage. */
typedef struct
{
  guint  n;
  float *fill, *mean, *scale;
} GradusFitted;

struct _GradusDataset
{
  gatomicrefcount   references;
  guint64           seed;
  GradusStages      stages;
  GradusDatasetPart parts[GRADUS_N_PARTS];
  GradusFitted      fitted[GRADUS_SOURCE_MAX_ARRAYS];
  gboolean          free_time[GRADUS_SOURCE_MAX_ARRAYS]; /* the model takes sequences of any length */
  gboolean          echoes; /* targets are the inputs */
  gboolean          split; /* validation is cut from training */
  guint             n_inputs, n_targets;
  GradusArraySpec   inputs[GRADUS_SOURCE_MAX_ARRAYS], targets[GRADUS_SOURCE_MAX_ARRAYS];
  GMutex            mutex; /* guards making the caches */
};

/* The ring's batches beyond the one that is lent out; 0: none is made ahead. */
guint gradus_dataset_depth (GradusDataset *self, guint batch_size);
/* Bytes of one batch. */
gint64 gradus_dataset_batch_bytes (GradusDataset *self, guint batch_size);

/* gradus-batches.c: what gradus_dataset_open() gives. */
GradusBatchSource *gradus_batches_new (GradusDataset *dataset, GradusPart part, GError **error);

G_END_DECLS
