/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-filler.h"
#include "gradus-log-locale.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

typedef struct
{
  GradusBatchSource parent;

  /* Of the thread that makes batches, or of seek() while that one rests. */
  GradusFiller filler;
  guint        n_slots;
  GradusSlot  *slots;

  GMutex   mutex; /* guards what follows, and each slot while it is in neither's hands */
  GCond    changed;
  GThread *thread;
  guint    depth;
  guint    wanted_batch_size;
  gint64   epoch, position;           /* the next one to give */
  gint64   make_epoch, make_position; /* the next one to make */
  guint    first, ready;              /* slots first to first + ready - 1 are made */
  gboolean held;                      /* the slot before first is lent out */
  gboolean making, quit, cancelled;
  GError  *failure; /* of what would have come after the ready ones */

  gint64 full_ns; /* a relaxed atomic */
} Batches;

/* With the mutex, which is let go meanwhile. */
static void
make_next (Batches *self)
{
  GradusSlot *slot = &self->slots[(self->first + self->ready) % self->n_slots];
  gint64      epoch = self->make_epoch, position = self->make_position;
  g_autoptr (GError) error = NULL;
  gboolean made;

  self->making = TRUE;
  g_mutex_unlock (&self->mutex);
  made = gradus_filler_fill (&self->filler, slot, epoch, position, &error);
  g_mutex_lock (&self->mutex);
  self->making = FALSE;
  if (made)
    {
      self->ready++;
      self->make_position++;
      if (self->make_position == gradus_filler_count (&self->filler))
        {
          self->make_epoch++;
          self->make_position = 0;
        }
    }
  else
    self->failure = g_steal_pointer (&error);
  g_cond_broadcast (&self->changed);
}

static gpointer
maker_thread (gpointer data)
{
  Batches *self = data;

  gradus_log_locale_enter ();
  g_mutex_lock (&self->mutex);
  while (!self->quit)
    if (self->ready < self->depth && self->failure == NULL && !self->cancelled
        && gradus_filler_count (&self->filler) > 0)
      make_next (self);
    else
      {
        gint64 start = gradus_now_ns ();

        g_cond_wait (&self->changed, &self->mutex);
        gradus_count (&self->full_ns, gradus_now_ns () - start);
      }
  g_mutex_unlock (&self->mutex);
  return NULL;
}

static void
free_slots (Batches *self)
{
  for (guint i = 0; i < self->n_slots; i++)
    gradus_slot_clear (&self->slots[i]);
  gradus_filler_clear (&self->filler);
  g_clear_pointer (&self->slots, g_free);
  self->n_slots = 0;
}

static gboolean
allocate_slots (Batches *self, guint batch_size, GError **error)
{
  gboolean fine = gradus_filler_set_batch_size (&self->filler, batch_size);

  self->depth = gradus_dataset_depth (self->filler.dataset, batch_size);
  self->wanted_batch_size = batch_size;
  self->n_slots = self->depth + 1;
  self->slots = g_new0 (GradusSlot, self->n_slots);
  for (guint i = 0; i < self->n_slots && fine; i++)
    fine = gradus_slot_init (&self->slots[i], &self->filler);
  if (fine)
    return TRUE;
  free_slots (self);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("There is no memory for %u batches of %u samples; make the batch smaller."),
               self->depth + 1, batch_size);
  return FALSE;
}

static const GradusArraySpec *
batches_inputs (GradusBatchSource *source, guint *n)
{
  return gradus_dataset_inputs (((Batches *) source)->filler.dataset, n);
}

static const GradusArraySpec *
batches_targets (GradusBatchSource *source, guint *n)
{
  return gradus_dataset_targets (((Batches *) source)->filler.dataset, n);
}

static gint64
batches_n_samples (GradusBatchSource *source)
{
  return ((Batches *) source)->filler.part->n_samples;
}

static gint64
batches_n_batches (GradusBatchSource *source)
{
  return gradus_filler_count (&((Batches *) source)->filler);
}

static guint
batches_batch_size (GradusBatchSource *source)
{
  return ((Batches *) source)->filler.batch_size;
}

static void
batches_set_batch_size (GradusBatchSource *source, guint batch_size)
{
  Batches *self = (Batches *) source;

  g_return_if_fail (batch_size > 0 && batch_size <= GRADUS_MAX_BATCH_SIZE);
  g_mutex_lock (&self->mutex);
  self->wanted_batch_size = batch_size;
  g_mutex_unlock (&self->mutex);
}

/* Whether the batch asked for is the next to come anyway. */
static gboolean
comes_next (Batches *self, gint64 epoch, gint64 position)
{
  const GradusSlot *slot = self->ready > 0 ? &self->slots[self->first] : NULL;
  gint64            next_epoch = slot != NULL ? slot->epoch : self->make_epoch;
  gint64            next_position = slot != NULL ? slot->position : self->make_position;

  return self->slots != NULL && self->failure == NULL
         && self->wanted_batch_size == self->filler.batch_size && position == next_position
         && (epoch == next_epoch || !self->filler.shuffle);
}

static gboolean
seek_to (Batches *self, gint64 epoch, gint64 position, GError **error)
{
  gint64 n_batches;

  self->held = FALSE;
  if (!comes_next (self, epoch, position % MAX (gradus_filler_count (&self->filler), 1)))
    {
      /* Cancelled meanwhile, so that the maker rests. */
      self->cancelled = TRUE;
      while (self->making)
        g_cond_wait (&self->changed, &self->mutex);
      self->first = self->ready = 0;
      g_clear_error (&self->failure);
      if (self->slots == NULL || self->wanted_batch_size != self->filler.batch_size)
        {
          free_slots (self);
          if (!allocate_slots (self, self->wanted_batch_size, error))
            return FALSE;
        }
      n_batches = gradus_filler_count (&self->filler);
      self->make_epoch = position < n_batches ? epoch : epoch + 1;
      self->make_position = position < n_batches ? position : 0;
    }
  self->cancelled = FALSE;
  n_batches = gradus_filler_count (&self->filler);
  if (position > n_batches)
    {
      self->cancelled = TRUE;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("Batch %" PRId64 " is asked for, but an epoch has %" PRId64
                      ". The data or the batch size has changed."),
                   position, n_batches);
      return FALSE;
    }
  self->epoch = epoch;
  self->position = position;
  return TRUE;
}

static gboolean
batches_seek (GradusBatchSource *source, gint64 epoch, gint64 position, GError **error)
{
  Batches *self = (Batches *) source;
  gboolean fine;

  g_return_val_if_fail (epoch >= 0 && position >= 0, FALSE);
  g_mutex_lock (&self->mutex);
  fine = seek_to (self, epoch, position, error);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->mutex);
  return fine;
}

static gboolean
start_thread (Batches *self, GError **error)
{
  g_autoptr (GError) reason = NULL;

  if (self->depth == 0 || self->thread != NULL)
    return TRUE;
  self->thread = g_thread_try_new ("gradus-input", maker_thread, self, &reason);
  if (self->thread == NULL)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED,
                 _ ("No thread could be started for reading the data: %s."), reason->message);
  return self->thread != NULL;
}

/* With the mutex. */
static const GradusBatch *
take_next (Batches *self, GError **error)
{
  const GradusBatch *batch;

  if (self->held)
    {
      self->held = FALSE;
      g_cond_broadcast (&self->changed);
    }
  if (!self->cancelled && self->position == gradus_filler_count (&self->filler))
    return NULL;
  if (!start_thread (self, error))
    return NULL;
  if (self->depth == 0 && !self->cancelled && self->failure == NULL)
    make_next (self);
  while (self->ready == 0 && self->failure == NULL && !self->cancelled)
    g_cond_wait (&self->changed, &self->mutex);
  if (self->cancelled)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED,
                   _ ("Reading the data was cancelled."));
      return NULL;
    }
  if (self->ready == 0)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return NULL;
    }
  batch = &self->slots[self->first].batch;
  self->first = (self->first + 1) % self->n_slots;
  self->ready--;
  self->position++;
  self->held = TRUE;
  g_cond_broadcast (&self->changed);
  return batch;
}

static const GradusBatch *
batches_next (GradusBatchSource *source, GError **error)
{
  Batches           *self = (Batches *) source;
  const GradusBatch *batch;

  g_mutex_lock (&self->mutex);
  batch = take_next (self, error);
  g_mutex_unlock (&self->mutex);
  return batch;
}

static void
batches_cancel (GradusBatchSource *source)
{
  Batches *self = (Batches *) source;

  g_mutex_lock (&self->mutex);
  self->cancelled = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->mutex);
}

static void
batches_free (GradusBatchSource *source)
{
  Batches *self = (Batches *) source;

  g_mutex_lock (&self->mutex);
  self->quit = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->mutex);
  if (self->thread != NULL)
    g_thread_join (self->thread);
  free_slots (self);
  g_clear_error (&self->failure);
  g_mutex_clear (&self->mutex);
  g_cond_clear (&self->changed);
  gradus_dataset_unref (self->filler.dataset);
  g_free (self);
}

static gboolean
batches_has_weights (GradusBatchSource *source)
{
  return ((Batches *) source)->filler.part->source->weights != NULL;
}

static const GradusBatchSourceFuncs batches_funcs = {
  .inputs = batches_inputs,
  .targets = batches_targets,
  .n_samples = batches_n_samples,
  .n_batches = batches_n_batches,
  .batch_size = batches_batch_size,
  .set_batch_size = batches_set_batch_size,
  .seek = batches_seek,
  .next = batches_next,
  .cancel = batches_cancel,
  .free = batches_free,
  .has_weights = batches_has_weights,
};

GradusBatchSource *
gradus_batches_new (GradusDataset *dataset, GradusPart part, GError **error)
{
  Batches *self = g_new0 (Batches, 1);

  self->parent.funcs = &batches_funcs;
  gradus_filler_init (&self->filler, gradus_dataset_ref (dataset), part);
  g_mutex_init (&self->mutex);
  g_cond_init (&self->changed);
  if (allocate_slots (self, dataset->stages.batch_size, error))
    return &self->parent;
  batches_free (&self->parent);
  return NULL;
}

void
gradus_batch_source_stats (GradusBatchSource *source, GradusBatchStats *stats)
{
  Batches *self = (Batches *) source;

  g_return_if_fail (source->funcs == &batches_funcs);

  stats->batches = __atomic_load_n (&self->filler.n_batches, __ATOMIC_RELAXED);
  stats->samples = __atomic_load_n (&self->filler.n_samples, __ATOMIC_RELAXED);
  stats->read_ns = __atomic_load_n (&self->filler.read_ns, __ATOMIC_RELAXED);
  stats->convert_ns = __atomic_load_n (&self->filler.convert_ns, __ATOMIC_RELAXED);
  stats->full_ns = __atomic_load_n (&self->full_ns, __ATOMIC_RELAXED);
  g_mutex_lock (&self->mutex);
  stats->ready = self->ready;
  stats->capacity = self->depth;
  g_mutex_unlock (&self->mutex);
}
