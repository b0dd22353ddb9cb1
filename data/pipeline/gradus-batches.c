/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-dataset-private.h"

#include <glib/gi18n-lib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gradus-philox.h"

#define MAX_ARRAYS (2 * GRADUS_SOURCE_MAX_ARRAYS)

typedef struct
{
  GradusBatch batch;
  gint64      epoch, position;
  gint64     *samples;
  void       *arrays[MAX_ARRAYS]; /* inputs, then targets */
} Slot;

typedef struct
{
  GradusBatchSource  parent;
  GradusDataset     *dataset;
  GradusDatasetPart *part;
  gboolean           shuffle, drop_remainder;
  guint              n_arrays;

  /* Of the thread that makes batches, or of seek() while that one rests. */
  guint             batch_size;
  guint             n_slots;
  Slot             *slots;
  void             *scratch[MAX_ARRAYS]; /* what neither source nor cache keeps; NULL otherwise */
  GradusPermutation order;
  gint64            order_epoch;

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

  /* Written with relaxed atomics by the maker. */
  gint64 n_batches_made, n_samples_made, read_ns, convert_ns, full_ns;
} Batches;

static gint64
now_ns (void)
{
  struct timespec at;

  clock_gettime (CLOCK_MONOTONIC, &at);
  return (gint64) at.tv_sec * 1000000000 + at.tv_nsec;
}

static void
count (gint64 *counter, gint64 by)
{
  __atomic_fetch_add (counter, by, __ATOMIC_RELAXED);
}

static const GradusArraySpec *
made_spec (Batches *self, guint k)
{
  GradusDataset *dataset = self->dataset;

  return k < dataset->n_inputs ? &dataset->inputs[k] : &dataset->targets[k - dataset->n_inputs];
}

static const GradusArraySpec *
source_spec (Batches *self, guint k)
{
  GradusSource *source = self->part->source;

  return k < source->n_inputs ? &source->inputs[k] : &source->targets[k - source->n_inputs];
}

static gint64
count_batches (Batches *self)
{
  gint64 n = self->part->n_samples;

  return self->drop_remainder ? n / self->batch_size
                              : (n + self->batch_size - 1) / self->batch_size;
}

/* The sample at @place of @epoch. */
static gint64
sample_at (Batches *self, gint64 epoch, gint64 place)
{
  if (self->shuffle)
    {
      if (self->order_epoch != epoch)
        {
          gradus_permutation_init (&self->order, self->dataset->seed, epoch, self->part->n_samples);
          self->order_epoch = epoch;
        }
      place = gradus_permutation_at (&self->order, place);
    }
  return self->part->subset != NULL ? gradus_subset_at (self->part->subset, place) : place;
}

/* Array @k of the @i-th sample of the batch as the source gave it. */
static const void *
raw (Batches *self, const Slot *slot, guint k, guint i)
{
  GradusSource *source = self->part->source;
  const void   *found = NULL;

  if (self->scratch[k] != NULL)
    return (const char *) self->scratch[k] + i * gradus_array_spec_bytes (source_spec (self, k));
  if (self->part->cache != NULL)
    found = gradus_cache_peek (self->part->cache, k, slot->samples[i]);
  return found != NULL ? found : source->funcs->peek (source, k, slot->samples[i]);
}

static gboolean
fetch (Batches *self, Slot *slot, GError **error)
{
  GradusSource *source = self->part->source;
  guint         n = slot->batch.n_samples;

  if (self->part->cache != NULL)
    return gradus_cache_fetch (self->part->cache, slot->samples, n, error);
  for (guint k = 0; k < self->n_arrays; k++)
    if (self->scratch[k] != NULL)
      return source->funcs->read (source, slot->samples, n, self->scratch,
                                  self->scratch + source->n_inputs, error);
  return TRUE;
}

static void
convert_input (Batches *self, Slot *slot, guint k)
{
  const GradusArraySpec *from = source_spec (self, k);
  const GradusStages    *stages = &self->dataset->stages;
  gsize                  bytes = gradus_array_spec_bytes (from);
  gsize                  n = bytes / gradus_dtype_size (from->dtype);
  gboolean               copy = made_spec (self, k)->dtype == from->dtype && stages->n_rescales == 0;

  for (guint i = 0; i < slot->batch.n_samples; i++)
    if (copy)
      memcpy ((char *) slot->arrays[k] + i * bytes, raw (self, slot, k, i), bytes);
    else
      gradus_convert (raw (self, slot, k, i), from->dtype, n, stages->rescales, stages->n_rescales,
                      (float *) slot->arrays[k] + i * n);
}

static gint64
class_of (const void *value, GradusDType dtype)
{
  switch (dtype)
    {
    case GRADUS_DTYPE_INT32:
      return *(const gint32 *) value;
    case GRADUS_DTYPE_INT64:
      return *(const gint64 *) value;
    default:
      return *(const guint8 *) value;
    }
}

static gboolean
convert_target (Batches *self, Slot *slot, guint k, GError **error)
{
  const GradusArraySpec *from = source_spec (self, k);
  gsize                  n = gradus_array_spec_bytes (from) / gradus_dtype_size (from->dtype);
  gint64                 classes = self->dataset->stages.one_hot;

  for (guint i = 0; i < slot->batch.n_samples; i++)
    {
      const void *value = raw (self, slot, k, i);

      if (classes > 0)
        {
          float *row = (float *) slot->arrays[k] + i * classes;
          gint64 class = class_of (value, from->dtype);

          /* Checked at opening; a file may have been written over since. */
          if (class < 0 || class >= classes)
            return gradus_source_check_labels (self->part->source, classes, error);
          memset (row, 0, classes * sizeof *row);
          row[class] = 1;
        }
      else if (made_spec (self, k)->dtype == GRADUS_DTYPE_INT32)
        ((gint32 *) slot->arrays[k])[i] = (gint32) class_of (value, from->dtype);
      else
        gradus_convert (value, from->dtype, n, NULL, 0, (float *) slot->arrays[k] + i * n);
    }
  return TRUE;
}

static gboolean
make (Batches *self, Slot *slot, gint64 epoch, gint64 position, GError **error)
{
  gint64 start = now_ns (), between;
  gint64 place = position * self->batch_size;

  slot->epoch = epoch;
  slot->position = position;
  slot->batch.n_samples = MIN (self->batch_size, self->part->n_samples - place);
  for (guint i = 0; i < slot->batch.n_samples; i++)
    slot->samples[i] = sample_at (self, epoch, place + i);
  if (!fetch (self, slot, error))
    return FALSE;
  between = now_ns ();
  for (guint k = 0; k < self->n_arrays; k++)
    if (k < self->dataset->n_inputs)
      convert_input (self, slot, k);
    else if (!convert_target (self, slot, k, error))
      return FALSE;

  count (&self->read_ns, between - start);
  count (&self->convert_ns, now_ns () - between);
  count (&self->n_batches_made, 1);
  count (&self->n_samples_made, slot->batch.n_samples);
  return TRUE;
}

/* With the mutex, which is let go meanwhile. */
static void
make_next (Batches *self)
{
  Slot              *slot = &self->slots[(self->first + self->ready) % self->n_slots];
  gint64             epoch = self->make_epoch, position = self->make_position;
  g_autoptr (GError) error = NULL;
  gboolean           made;

  self->making = TRUE;
  g_mutex_unlock (&self->mutex);
  made = make (self, slot, epoch, position, &error);
  g_mutex_lock (&self->mutex);
  self->making = FALSE;
  if (made)
    {
      self->ready++;
      self->make_position++;
      if (self->make_position == count_batches (self))
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

  g_mutex_lock (&self->mutex);
  while (!self->quit)
    if (self->ready < self->depth && self->failure == NULL && !self->cancelled
        && count_batches (self) > 0)
      make_next (self);
    else
      {
        gint64 start = now_ns ();

        g_cond_wait (&self->changed, &self->mutex);
        count (&self->full_ns, now_ns () - start);
      }
  g_mutex_unlock (&self->mutex);
  return NULL;
}

static void
free_slots (Batches *self)
{
  for (guint s = 0; s < self->n_slots; s++)
    {
      free (self->slots[s].samples);
      for (guint k = 0; k < self->n_arrays; k++)
        free (self->slots[s].arrays[k]);
    }
  for (guint k = 0; k < self->n_arrays; k++)
    g_clear_pointer (&self->scratch[k], free);
  g_clear_pointer (&self->slots, g_free);
  self->n_slots = 0;
}

static gboolean
allocate (void **out, gsize bytes)
{
  return posix_memalign (out, 64, MAX (bytes, 1)) == 0;
}

static gboolean
needs_scratch (Batches *self, guint k)
{
  GradusSource *source = self->part->source;

  return self->part->cache == NULL
         && (source->funcs->peek == NULL || source->funcs->peek (source, k, 0) == NULL);
}

static gboolean
allocate_slots (Batches *self, guint batch_size, GError **error)
{
  guint    depth = gradus_dataset_depth (self->dataset, batch_size);
  gboolean fine = TRUE;

  self->depth = depth;
  self->batch_size = self->wanted_batch_size = batch_size;
  self->n_slots = depth + 1;
  self->slots = g_new0 (Slot, self->n_slots);
  for (guint s = 0; s < self->n_slots && fine; s++)
    {
      Slot *slot = &self->slots[s];

      fine = allocate ((void **) &slot->samples, sizeof (gint64) * batch_size);
      for (guint k = 0; k < self->n_arrays && fine; k++)
        fine = allocate (&slot->arrays[k],
                         gradus_array_spec_bytes (made_spec (self, k)) * batch_size);
      slot->batch.inputs = (const void *const *) slot->arrays;
      slot->batch.targets = (const void *const *) slot->arrays + self->dataset->n_inputs;
      slot->batch.samples = slot->samples;
    }
  for (guint k = 0; k < self->n_arrays && fine; k++)
    if (needs_scratch (self, k))
      fine = allocate (&self->scratch[k],
                       gradus_array_spec_bytes (source_spec (self, k)) * batch_size);
  if (fine)
    return TRUE;
  free_slots (self);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("There is no memory for %u batches of %u samples; make the batch smaller."),
               depth + 1, batch_size);
  return FALSE;
}

static const GradusArraySpec *
batches_inputs (GradusBatchSource *source, guint *n)
{
  return gradus_dataset_inputs (((Batches *) source)->dataset, n);
}

static const GradusArraySpec *
batches_targets (GradusBatchSource *source, guint *n)
{
  return gradus_dataset_targets (((Batches *) source)->dataset, n);
}

static gint64
batches_n_samples (GradusBatchSource *source)
{
  return ((Batches *) source)->part->n_samples;
}

static gint64
batches_n_batches (GradusBatchSource *source)
{
  return count_batches ((Batches *) source);
}

static guint
batches_batch_size (GradusBatchSource *source)
{
  return ((Batches *) source)->batch_size;
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
  const Slot *slot = self->ready > 0 ? &self->slots[self->first] : NULL;
  gint64      next_epoch = slot != NULL ? slot->epoch : self->make_epoch;
  gint64      next_position = slot != NULL ? slot->position : self->make_position;

  return self->slots != NULL && self->failure == NULL
         && self->wanted_batch_size == self->batch_size && position == next_position
         && (epoch == next_epoch || !self->shuffle);
}

static gboolean
seek_to (Batches *self, gint64 epoch, gint64 position, GError **error)
{
  gint64 n_batches;

  self->held = FALSE;
  if (!comes_next (self, epoch, position % MAX (count_batches (self), 1)))
    {
      /* Cancelled meanwhile, so that the maker rests. */
      self->cancelled = TRUE;
      while (self->making)
        g_cond_wait (&self->changed, &self->mutex);
      self->first = self->ready = 0;
      g_clear_error (&self->failure);
      if (self->slots == NULL || self->wanted_batch_size != self->batch_size)
        {
          free_slots (self);
          if (!allocate_slots (self, self->wanted_batch_size, error))
            return FALSE;
        }
      n_batches = count_batches (self);
      self->make_epoch = position < n_batches ? epoch : epoch + 1;
      self->make_position = position < n_batches ? position : 0;
    }
  self->cancelled = FALSE;
  n_batches = count_batches (self);
  if (position > n_batches)
    {
      self->cancelled = TRUE;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("Batch %" G_GINT64_FORMAT " is asked for, but an epoch has %" G_GINT64_FORMAT
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
  if (!self->cancelled && self->position == count_batches (self))
    return NULL;
  if (!start_thread (self, error))
    return NULL;
  if (self->depth == 0 && !self->cancelled && self->failure == NULL)
    make_next (self);
  while (self->ready == 0 && self->failure == NULL && !self->cancelled)
    g_cond_wait (&self->changed, &self->mutex);
  if (self->cancelled)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED, _ ("Reading the data was cancelled."));
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
  gradus_dataset_unref (self->dataset);
  g_free (self);
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
};

GradusBatchSource *
gradus_batches_new (GradusDataset *dataset, GradusPart part, GError **error)
{
  Batches *self = g_new0 (Batches, 1);

  self->parent.funcs = &batches_funcs;
  self->dataset = gradus_dataset_ref (dataset);
  self->part = &dataset->parts[part];
  self->shuffle = part == GRADUS_PART_TRAIN && dataset->stages.shuffle;
  self->drop_remainder = part == GRADUS_PART_TRAIN && dataset->stages.drop_remainder;
  self->n_arrays = dataset->n_inputs + dataset->n_targets;
  self->order_epoch = -1;
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

  stats->batches = __atomic_load_n (&self->n_batches_made, __ATOMIC_RELAXED);
  stats->samples = __atomic_load_n (&self->n_samples_made, __ATOMIC_RELAXED);
  stats->read_ns = __atomic_load_n (&self->read_ns, __ATOMIC_RELAXED);
  stats->convert_ns = __atomic_load_n (&self->convert_ns, __ATOMIC_RELAXED);
  stats->full_ns = __atomic_load_n (&self->full_ns, __ATOMIC_RELAXED);
  g_mutex_lock (&self->mutex);
  stats->ready = self->ready;
  stats->capacity = self->depth;
  g_mutex_unlock (&self->mutex);
}
