/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-recipe.h"
#include "pipeline/gradus-pipeline.h"
#include "train/gradus-trainer.h"

G_BEGIN_DECLS

/**
 * GradusPreparation:
 *
 * A recipe with all that it names opened and fitted together: data, model, options, device and
 * trainer. Nothing large is allocated yet. One thread at a time.
 */
typedef struct
{
  GradusDataset        *dataset;
  GradusModel          *model;
  GradusTrainerOptions *options;
  GradusDevice         *device;
  GradusBatchSource    *parts[GRADUS_N_PARTS]; /* NULL where the recipe has none */
  JsonObject           *extras;
  char                 *workspace; /* these three as in the target */
  char                 *checkpoint_folder;
  char                 *resume;
  GradusTrainer        *trainer;
} GradusPreparation;

/**
 * GradusPreparationTarget:
 *
 * Where a run reports and keeps; all NULL for a trial.
 */
typedef struct
{
  GradusObserver *observer;
  const char     *workspace;
  const char     *checkpoint_folder;
  const char     *resume;
} GradusPreparationTarget;

/* Opens data and model and checks that they fit: shapes, labels inside the classes. Then builds
 * and plans. Errors are those of the parts, naming file and place. */
GradusPreparation *gradus_preparation_new (GradusRecipe                  *recipe,
                                           const GradusPreparationTarget *target,
                                           GError                       **error);
/* Only the data, for evaluating: trainer, model and device stay NULL. @model: what it must fit. */
GradusPreparation *gradus_preparation_new_data (GradusRecipe *recipe,
                                                GradusModel  *model,
                                                GError      **error);
void               gradus_preparation_free (GradusPreparation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusPreparation, gradus_preparation_free)

/* Bytes that the run will take on top of what it has now, at @batch_size (0: the recipe's). */
gint64 gradus_preparation_need (GradusPreparation *self, guint batch_size);
/* The largest batch size whose need is at most @free_bytes; 0 if not even 1 is. */
gint64 gradus_preparation_largest_batch (GradusPreparation *self, gint64 free_bytes);
/* Fails with GRADUS_ERROR_NO_MEMORY, naming the batch that would fit, if it does not. */
gboolean gradus_preparation_check_memory (GradusPreparation *self, GError **error);
/* Writes the data's fingerprints into @recipe; adds the name of every part whose fingerprint was
 * another one before to @changed (of char *, optional). */
gboolean gradus_preparation_fingerprint (GradusPreparation *self,
                                         GradusRecipe      *recipe,
                                         GPtrArray         *changed,
                                         GError           **error);

G_END_DECLS
