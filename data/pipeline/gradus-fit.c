/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-fit.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#include "source/gradus-vectorize.h"

#define CHUNK 256

static gint64
train_sample (gpointer data, gint64 i)
{
  const GradusDatasetPart *part = data;

  return part->is_subset ? gradus_subset_at (&part->subset, i) : i;
}

static GradusSource *
own_source (GradusDataset *self, GradusPart part)
{
  return part == GRADUS_PART_VALIDATION && self->split ? NULL : self->parts[part].source;
}

/* The object of the kept stage @name, made our own. */
static JsonObject *
own_stage (GradusDataset *self, const char *name)
{
  for (guint i = 0; i < json_array_get_length (self->stages.kept); i++)
    {
      JsonObject *stage = json_array_get_object_element (self->stages.kept, i);

      if (json_object_has_member (stage, name))
        return json_object_get_object_member (stage, name);
    }
  return NULL;
}

static JsonArray *
numbers (const float *values, guint n)
{
  JsonArray *list = json_array_new ();

  for (guint i = 0; i < n; i++)
    json_array_add_double_element (list, (double) values[i]);
  return list;
}

static gboolean
fit_words (GradusDataset *self, GError **error)
{
  GradusDatasetPart *train = &self->parts[GRADUS_PART_TRAIN];
  JsonArray         *list = json_array_new ();
  g_autoptr (GPtrArray) words = NULL;

  words = gradus_vectorize_adapt (&self->stages.vectorize, train->source, train->n_samples, train_sample, train);
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    if (own_source (self, i) != NULL
        && !gradus_vectorize_apply (&self->stages.vectorize, words, self->parts[i].source, error))
      return FALSE;
  for (guint i = 0; i < words->len; i++)
    json_array_add_string_element (list, words->pdata[i]);
  json_object_set_array_member (own_stage (self, "vectorize"), "words", list);
  return TRUE;
}

void
gradus_dataset_convert (GradusDataset *self, guint k, const void *from, GradusDType type, gsize n, float *to)
{
  const GradusFitted *fitted = &self->fitted[k];

  gradus_convert (from, type, n, NULL, 0, to);
  for (gsize i = 0; i < n && fitted->fill != NULL; i++)
    if (isnan (to[i]))
      to[i] = fitted->fill[i % fitted->n];
  for (guint r = 0; r < self->stages.n_rescales; r++)
    for (gsize i = 0; i < n; i++)
      to[i] = to[i] * self->stages.rescales[r].scale + self->stages.rescales[r].offset;
  for (gsize i = 0; i < n && fitted->mean != NULL; i++)
    to[i] = (to[i] - fitted->mean[i % fitted->n]) * fitted->scale[i % fitted->n];
}

/* Sums over the training samples of input @k, in double, in their order: mean and variance of each feature. */
static gboolean
measure (GradusDataset *self, guint k, float *mean, float *variance, GError **error)
{
  GradusDatasetPart     *train = &self->parts[GRADUS_PART_TRAIN];
  const GradusArraySpec *spec = &train->source->inputs[k];
  gsize                  bytes = gradus_array_spec_bytes (spec);
  gsize                  n = bytes / gradus_dtype_size (spec->dtype);
  guint                  features = self->fitted[k].n;
  g_autofree double     *sums = g_new0 (double, features), *squares = g_new0 (double, features);
  g_autofree double     *counts = g_new0 (double, features);
  g_autofree char       *raw = g_malloc (bytes * CHUNK);
  g_autofree float      *row = g_new (float, MAX (n, 1));
  void                  *inputs[GRADUS_SOURCE_MAX_ARRAYS] = { NULL };
  gint64                 samples[CHUNK];

  inputs[k] = raw;
  for (gint64 first = 0; first < train->n_samples; first += CHUNK)
    {
      guint there = MIN (CHUNK, train->n_samples - first);

      for (guint i = 0; i < there; i++)
        samples[i] = train_sample (train, first + i);
      if (!train->source->funcs->read (train->source, samples, there, inputs, NULL, error))
        return FALSE;
      for (guint i = 0; i < there; i++)
        {
          gradus_dataset_convert (self, k, raw + i * bytes, spec->dtype, n, row);
          for (gsize j = 0; j < n; j++)
            if (isfinite (row[j]))
              {
                sums[j % features] += (double) row[j];
                squares[j % features] += (double) row[j] * (double) row[j];
                counts[j % features]++;
              }
        }
    }
  for (guint f = 0; f < features; f++)
    {
      double m = counts[f] > 0 ? sums[f] / counts[f] : 0;

      mean[f] = (float) m;
      variance[f] = counts[f] > 0 ? (float) MAX (squares[f] / counts[f] - m * m, 0) : 1;
    }
  return TRUE;
}

static gboolean
fit_fill (GradusDataset *self, JsonArray *list, guint k, GError **error)
{
  GradusFitted     *fitted = &self->fitted[k];
  g_autofree float *mean = g_new0 (float, fitted->n), *variance = g_new0 (float, fitted->n);

  /* The values as the source has them: rescaling comes after filling. */
  if (self->stages.fill == GRADUS_FILL_MEAN)
    {
      guint    n = self->stages.n_rescales;
      gboolean fine;

      self->stages.n_rescales = 0;
      fine = measure (self, k, mean, variance, error);
      self->stages.n_rescales = n;
      if (!fine)
        return FALSE;
    }
  for (guint f = 0; f < fitted->n && self->stages.fill == GRADUS_FILL_VALUE; f++)
    mean[f] = self->stages.fill_value;
  json_array_add_array_element (list, numbers (mean, fitted->n));
  fitted->fill = g_steal_pointer (&mean);
  return TRUE;
}

static gboolean
fit_normalize (GradusDataset *self, JsonArray *means, JsonArray *scales, guint k, GError **error)
{
  GradusFitted     *fitted = &self->fitted[k];
  g_autofree float *mean = g_new0 (float, fitted->n), *scale = g_new0 (float, fitted->n);

  if (!measure (self, k, mean, scale, error))
    return FALSE;
  /* Keras's epsilon under the square root's result; what is constant becomes 0. */
  for (guint f = 0; f < fitted->n; f++)
    scale[f] = 1 / MAX (sqrtf (scale[f]), 1e-7f);
  json_array_add_array_element (means, numbers (mean, fitted->n));
  json_array_add_array_element (scales, numbers (scale, fitted->n));
  fitted->mean = g_steal_pointer (&mean);
  fitted->scale = g_steal_pointer (&scale);
  return TRUE;
}

gboolean
gradus_dataset_fit (GradusDataset *self, GError **error)
{
  GradusSource *train = self->parts[GRADUS_PART_TRAIN].source;
  JsonArray    *fills = json_array_new (), *means = json_array_new (), *scales = json_array_new ();
  gboolean      fine = !train->is_text || fit_words (self, error);

  for (guint k = 0; k < train->n_inputs && fine; k++)
    {
      self->fitted[k].n = train->inputs[k].rank > 0 ? train->inputs[k].dims[train->inputs[k].rank - 1] : 1;
      fine = (self->stages.fill == GRADUS_FILL_NONE || fit_fill (self, fills, k, error))
             && (!self->stages.normalize || fit_normalize (self, means, scales, k, error));
    }
  if (fine && self->stages.fill != GRADUS_FILL_NONE)
    json_object_set_array_member (own_stage (self, "fill_missing"), "fitted", json_array_ref (fills));
  if (fine && self->stages.normalize)
    {
      json_object_set_array_member (own_stage (self, "normalize"), "mean", json_array_ref (means));
      json_object_set_array_member (own_stage (self, "normalize"), "scale", json_array_ref (scales));
    }
  json_array_unref (fills);
  json_array_unref (means);
  json_array_unref (scales);
  return fine;
}
