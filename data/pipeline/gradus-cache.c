/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cache.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

struct _GradusCache
{
  GradusSource *source;
  guint8       *there; /* one byte a sample, so that threads do not share any */
  guint8       *data[2 * GRADUS_SOURCE_MAX_ARRAYS];
  gsize         bytes[2 * GRADUS_SOURCE_MAX_ARRAYS];
};

static const GradusArraySpec *
array_spec (GradusSource *source, guint k)
{
  return k < source->n_inputs ? &source->inputs[k] : &source->targets[k - source->n_inputs];
}

static gboolean
is_resident (GradusSource *source, guint k)
{
  return source->funcs->peek != NULL && source->funcs->peek (source, k, 0) != NULL;
}

gint64
gradus_cache_sample_bytes (GradusSource *source)
{
  gint64 bytes = 0;

  for (guint k = 0; k < source->n_inputs + source->n_targets; k++)
    if (!is_resident (source, k))
      bytes += gradus_array_spec_bytes (array_spec (source, k));
  return bytes;
}

gint64
gradus_cache_bytes (GradusSource *source)
{
  gint64 bytes = gradus_cache_sample_bytes (source);

  return bytes > 0 ? (bytes + 1) * source->n_samples : 0;
}

GradusCache *
gradus_cache_new (GradusSource *source, GError **error)
{
  GradusCache *self = g_new0 (GradusCache, 1);
  gboolean     fine;

  self->source = source;
  self->there = g_try_malloc0 (source->n_samples);
  fine = self->there != NULL;
  for (guint k = 0; k < source->n_inputs + source->n_targets && fine; k++)
    if (!is_resident (source, k))
      {
        self->bytes[k] = gradus_array_spec_bytes (array_spec (source, k));
        self->data[k] = g_try_malloc_n (source->n_samples, self->bytes[k]);
        fine = self->data[k] != NULL;
      }
  if (fine)
    return self;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("There is no memory to cache the data: it needs %" PRId64
                  " bytes. Remove the stage “cache”."),
               gradus_cache_bytes (source));
  gradus_cache_free (self);
  return NULL;
}

void
gradus_cache_free (GradusCache *self)
{
  if (self == NULL)
    return;
  for (guint k = 0; k < G_N_ELEMENTS (self->data); k++)
    g_free (self->data[k]);
  g_free (self->there);
  g_free (self);
}

static gboolean
read_run (GradusCache *self, const gint64 *samples, guint n, GError **error)
{
  void *arrays[2 * GRADUS_SOURCE_MAX_ARRAYS];

  for (guint k = 0; k < G_N_ELEMENTS (arrays); k++)
    arrays[k] = self->data[k] != NULL ? self->data[k] + samples[0] * self->bytes[k] : NULL;
  if (!self->source->funcs->read (self->source, samples, n, arrays, arrays + self->source->n_inputs,
                                  error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    __atomic_store_n (&self->there[samples[i]], TRUE, __ATOMIC_RELEASE);
  return TRUE;
}

static gboolean
is_there (GradusCache *self, gint64 sample)
{
  return __atomic_load_n (&self->there[sample], __ATOMIC_ACQUIRE);
}

gboolean
gradus_cache_fetch (GradusCache *self, const gint64 *samples, guint n, GError **error)
{
  for (guint i = 0, run; i < n; i += run)
    {
      run = 1;
      if (is_there (self, samples[i]))
        continue;
      while (i + run < n && samples[i + run] == samples[i] + run
             && !is_there (self, samples[i + run]))
        run++;
      if (!read_run (self, samples + i, run, error))
        return FALSE;
    }
  return TRUE;
}

const void *
gradus_cache_peek (GradusCache *self, guint k, gint64 sample)
{
  return self->data[k] != NULL ? self->data[k] + sample * self->bytes[k] : NULL;
}
