/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-remedies.h"

#include <glib/gi18n.h>
#include <inttypes.h>

static char *
size_text (gint64 bytes)
{
  return g_format_size_full ((guint64) MAX (bytes, 0), G_FORMAT_SIZE_IEC_UNITS);
}

/* Smaller batches that are put together to one step: as good as the large one but for BatchNormalization. */
static void
add_batch (GPtrArray *remedies, GradusPreparation *self, gint64 available)
{
  gint64           now = self->parts[GRADUS_PART_TRAIN]->funcs->batch_size (self->parts[GRADUS_PART_TRAIN]);
  gint64           batch = gradus_preparation_largest_batch (self, available);
  gint64           times;
  g_autofree char *saved = NULL;

  if (batch < 1 || batch >= now)
    return;
  times = (now + batch - 1) / batch;
  batch = (now + times - 1) / times;
  saved = size_text (gradus_preparation_need (self, 0) - gradus_preparation_need (self, (guint) batch));
  g_ptr_array_add (remedies, g_strdup_printf (_ ("A batch size of %" PRId64 " with fit.accumulate %" PRId64 " saves %s."), batch, times, saved));
}

static void
add_rematerialization (GPtrArray *remedies, GradusPreparation *self)
{
  GradusTrainerMemory now = gradus_trainer_memory (self->trainer), then;

  if (now.rematerialized == GRADUS_REMATERIALIZE_SQRT)
    return;
  for (guint how = now.rematerialized + 1; how <= GRADUS_REMATERIALIZE_SQRT; how++)
    {
      g_autofree char *saved = NULL;

      if (!gradus_trainer_memory_with (self->trainer, how, &then) || then.total >= now.total)
        continue;
      saved = size_text (now.total - then.total);
      g_ptr_array_add (remedies,
                       g_strdup_printf (how == GRADUS_REMATERIALIZE_CHEAP
                                          ? _ ("Making cheap values again (fit.memory_budget) saves %s for %.0f %% more work.")
                                          : _ ("Making values again by segments (fit.rematerialize “sqrt”) saves %s for %.0f %% more work."),
                                        saved, 100 * then.price));
    }
}

/* The checkpoint's copy has the optimizer's state as well. */
static void
add_optimizer (GPtrArray *remedies, GradusPreparation *self)
{
  GradusTrainerMemory now = gradus_trainer_memory (self->trainer);
  g_autofree char    *saved = NULL;

  if (now.optimizer == 0)
    return;
  saved = size_text (now.optimizer * (now.checkpoint > 0 ? 2 : 1));
  g_ptr_array_add (remedies, g_strdup_printf (_ ("An optimizer without state, SGD without momentum, saves %s."), saved));
}

GPtrArray *
gradus_remedies_new (GradusPreparation *self, gint64 available)
{
  GPtrArray *remedies = g_ptr_array_new_with_free_func (g_free);

  g_return_val_if_fail (self != NULL && self->trainer != NULL, remedies);

  add_batch (remedies, self, available);
  add_rematerialization (remedies, self);
  add_optimizer (remedies, self);
  return remedies;
}
