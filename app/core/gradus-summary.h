/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-recipe.h"

G_BEGIN_DECLS

/**
 * GradusSummaryLayer:
 * @output_shape: as Keras prints it, "(None, 26, 26, 32)"
 * @bytes: of weights, gradients, optimizer state and kept activations at the recipe's batch size
 */
typedef struct
{
  char  *name;
  char  *class_name;
  char  *output_shape;
  gint64 parameters;
  gint64 trainable;
  gint64 bytes;
} GradusSummaryLayer;

/**
 * GradusSummaryPart:
 *
 * One part of the data ("train", "validation", "test").
 */
typedef struct
{
  char  *name;
  char  *inputs;  /* shape and type of one sample, "(28, 28) uint8" */
  char  *targets;
  gint64 n_samples;
  gint64 n_batches;
} GradusSummaryPart;

/**
 * GradusSummary:
 * @peak_bytes: what the run will hold at once: the device's arenas, data cache and batches
 * @device_bytes: of it the device's arenas, known from the plan
 * @data_bytes: of it the caches and the batches on their way
 * @free_bytes: what the machine and its control group have free now
 * @lower_bound: of the step's temporaries in @device_bytes; no plan could do with less
 * @price: the work that a step does twice to need less, as a share of all its work; 0: none
 * @over_budget: why the recipe's own memory budget is not kept; NULL where it is
 * @remedies: where it would not fit, what would help, a sentence each
 * @largest_batch: the largest batch size that would fit into @free_bytes
 * @warning: what should be known before the run, in English as in the log; NULL: nothing
 *
 * What a recipe would do, without training: asked by `gradus-cli check` and by the window.
 */
typedef struct
{
  GPtrArray *layers; /* of GradusSummaryLayer */
  GPtrArray *parts;  /* of GradusSummaryPart */
  char      *model_name;
  gint64     parameters;
  gint64     trainable;
  gint64     batch_size;
  gint64     steps_per_epoch;
  gint64     epochs;
  gint64     peak_bytes;
  gint64     device_bytes;
  gint64     data_bytes;
  gint64     free_bytes;
  gint64     largest_batch;
  gint64     lower_bound;
  double     price;
  GPtrArray *remedies; /* of char * */
  char      *over_budget;
  char      *warning;
  guint      n_classes; /* 0 where the targets are not classes */
} GradusSummary;

/* Opens the data, builds and plans the model, checks shapes, labels and memory. A run that would
 * not fit is no error here: compare @peak_bytes with @free_bytes. Any thread; takes from some
 * milliseconds to a second or so, so never the main loop's. */
GradusSummary *gradus_summary_new (GradusRecipe *recipe, GError **error);
void           gradus_summary_free (GradusSummary *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusSummary, gradus_summary_free)

G_END_DECLS
