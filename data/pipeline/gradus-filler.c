/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-filler.h"
#include "gradus-fit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

gint64
gradus_now_ns (void)
{
  struct timespec at;

  clock_gettime (CLOCK_MONOTONIC, &at);
  return (gint64) at.tv_sec * 1000000000 + at.tv_nsec;
}

void
gradus_count (gint64 *counter, gint64 by)
{
  __atomic_fetch_add (counter, by, __ATOMIC_RELAXED);
}

static const GradusArraySpec *
made_spec (GradusFiller *self, guint k)
{
  GradusDataset *dataset = self->dataset;

  return k < dataset->n_inputs ? &dataset->inputs[k] : &dataset->targets[k - dataset->n_inputs];
}

static const GradusArraySpec *
source_spec (GradusFiller *self, guint k)
{
  GradusSource *source = self->part->source;

  return k < source->n_inputs ? &source->inputs[k] : &source->targets[k - source->n_inputs];
}

gint64
gradus_filler_count (GradusFiller *self)
{
  gint64 n = self->part->n_samples;

  return self->drop_remainder ? n / self->batch_size
                              : (n + self->batch_size - 1) / self->batch_size;
}

/* The sample at @place of @epoch. */
static gint64
sample_at (GradusFiller *self, gint64 epoch, gint64 place)
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
  return self->part->is_subset ? gradus_subset_at (&self->part->subset, place) : place;
}

/* Array @k of the @i-th sample of the batch as the source gave it. */
static const void *
raw (GradusFiller *self, const GradusSlot *slot, guint k, guint i)
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
fetch (GradusFiller *self, GradusSlot *slot, GError **error)
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
convert_input (GradusFiller *self, GradusSlot *slot, guint k)
{
  const GradusArraySpec *from = source_spec (self, k);
  const GradusStages    *stages = &self->dataset->stages;
  gsize                  bytes = gradus_array_spec_bytes (from);
  gsize                  n = bytes / gradus_dtype_size (from->dtype);
  gboolean               fitted = stages->fill != GRADUS_FILL_NONE || stages->normalize;
  gboolean copy = made_spec (self, k)->dtype == from->dtype && stages->n_rescales == 0 && !fitted;

  /* Sequences are cut to the longest of the batch: what is after that is padding. */
  if (self->dataset->free_time[k] && slot->batch.time > 0)
    {
      bytes = bytes / from->dims[0] * slot->batch.time;
      n = n / from->dims[0] * slot->batch.time;
    }

  for (guint i = 0; i < slot->batch.n_samples; i++)
    if (copy)
      memcpy ((char *) slot->arrays[k] + i * bytes, raw (self, slot, k, i), bytes);
    else if (fitted)
      gradus_dataset_convert (self->dataset, k, raw (self, slot, k, i), from->dtype, n,
                              (float *) slot->arrays[k] + i * n);
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
convert_target (GradusFiller *self, GradusSlot *slot, guint k, GError **error)
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

/* The longest sequence of the batch, where the model takes any length. */
static void
measure_time (GradusFiller *self, GradusSlot *slot)
{
  GradusSource *source = self->part->source;

  slot->batch.time = 0;
  for (guint k = 0; k < self->dataset->n_inputs && source->lengths != NULL; k++)
    for (guint i = 0; i < slot->batch.n_samples && self->dataset->free_time[k]; i++)
      slot->batch.time = MAX (slot->batch.time, MAX (source->lengths[slot->samples[i]], 1));
}

gboolean
gradus_filler_fill (GradusFiller *self,
                    GradusSlot   *slot,
                    gint64        epoch,
                    gint64        position,
                    GError      **error)
{
  gint64 start = gradus_now_ns (), between;
  gint64 place = position * self->batch_size;

  slot->epoch = epoch;
  slot->position = position;
  slot->batch.n_samples = MIN (self->batch_size, self->part->n_samples - place);
  for (guint i = 0; i < slot->batch.n_samples; i++)
    slot->samples[i] = sample_at (self, epoch, place + i);
  if (!fetch (self, slot, error))
    return FALSE;
  between = gradus_now_ns ();
  measure_time (self, slot);
  for (guint i = 0; i < slot->batch.n_samples && slot->weights != NULL; i++)
    slot->weights[i] = self->part->source->weights[slot->samples[i]];
  for (guint k = 0; k < self->n_arrays; k++)
    if (k < self->dataset->n_inputs)
      convert_input (self, slot, k);
    else if (!convert_target (self, slot, k, error))
      return FALSE;

  gradus_count (&self->read_ns, between - start);
  gradus_count (&self->convert_ns, gradus_now_ns () - between);
  gradus_count (&self->n_batches, 1);
  gradus_count (&self->n_samples, slot->batch.n_samples);
  return TRUE;
}

static gboolean
allocate (void **out, gsize bytes)
{
  return posix_memalign (out, 64, MAX (bytes, 1)) == 0;
}

void
gradus_filler_init (GradusFiller *self, GradusDataset *dataset, GradusPart part)
{
  *self = (GradusFiller){ .dataset = dataset, .part = &dataset->parts[part], .order_epoch = -1 };
  self->shuffle = part == GRADUS_PART_TRAIN && dataset->stages.shuffle;
  self->drop_remainder = part == GRADUS_PART_TRAIN && dataset->stages.drop_remainder;
  self->n_arrays = dataset->n_inputs + (dataset->echoes ? 0 : dataset->n_targets);
}

void
gradus_filler_clear (GradusFiller *self)
{
  for (guint k = 0; k < self->n_arrays; k++)
    g_clear_pointer (&self->scratch[k], free);
}

static gboolean
needs_scratch (GradusFiller *self, guint k)
{
  GradusSource *source = self->part->source;

  return self->part->cache == NULL
         && (source->funcs->peek == NULL || source->funcs->peek (source, k, 0) == NULL);
}

gboolean
gradus_filler_set_batch_size (GradusFiller *self, guint batch_size)
{
  gradus_filler_clear (self);
  self->batch_size = batch_size;
  for (guint k = 0; k < self->n_arrays; k++)
    if (needs_scratch (self, k)
        && !allocate (&self->scratch[k],
                      gradus_array_spec_bytes (source_spec (self, k)) * batch_size))
      return FALSE;
  return TRUE;
}

gboolean
gradus_slot_init (GradusSlot *self, GradusFiller *filler)
{
  if (!allocate ((void **) &self->samples, sizeof (gint64) * filler->batch_size))
    return FALSE;
  for (guint k = 0; k < filler->n_arrays; k++)
    if (!allocate (&self->arrays[k],
                   gradus_array_spec_bytes (made_spec (filler, k)) * filler->batch_size))
      return FALSE;
  self->batch.inputs = (const void *const *) self->arrays;
  self->batch.targets = (const void *const *) self->arrays + (filler->dataset->echoes ? 0 : filler->dataset->n_inputs);
  self->batch.samples = self->samples;
  if (filler->part->source->weights != NULL
      && !allocate ((void **) &self->weights, sizeof (float) * filler->batch_size))
    return FALSE;
  self->batch.weights = self->weights;
  return TRUE;
}

void
gradus_slot_clear (GradusSlot *self)
{
  free (self->samples);
  free (self->weights);
  for (guint k = 0; k < G_N_ELEMENTS (self->arrays); k++)
    free (self->arrays[k]);
}
