/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-dataset-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define AUTO_BYTES (64 * 1024 * 1024)
#define AUTO_MIN 2
#define AUTO_MAX 8

static const char *const part_names[] = { "train", "validation", "test" };

const char *
gradus_part_name (GradusPart part)
{
  g_return_val_if_fail (part < GRADUS_N_PARTS, NULL);
  return part_names[part];
}

GradusDataset *
gradus_dataset_ref (GradusDataset *self)
{
  g_atomic_ref_count_inc (&self->references);
  return self;
}

void
gradus_dataset_unref (GradusDataset *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->references))
    return;
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    {
      if (i == GRADUS_PART_VALIDATION && self->split)
        continue;
      gradus_cache_free (self->parts[i].cache);
      gradus_source_free (self->parts[i].source);
    }
  for (guint i = 0; i < G_N_ELEMENTS (self->fitted); i++)
    {
      g_free (self->fitted[i].fill);
      g_free (self->fitted[i].mean);
      g_free (self->fitted[i].scale);
    }
  gradus_stages_clear (&self->stages);
  g_mutex_clear (&self->mutex);
  g_free (self);
}

const char *const *
gradus_dataset_warnings (GradusDataset *self)
{
  return (const char *const *) self->stages.warnings->pdata;
}

gint64
gradus_dataset_n_samples (GradusDataset *self, GradusPart part)
{
  g_return_val_if_fail (part < GRADUS_N_PARTS, 0);
  return self->parts[part].n_samples;
}

const GradusArraySpec *
gradus_dataset_inputs (GradusDataset *self, guint *n)
{
  *n = self->n_inputs;
  return self->inputs;
}

const GradusArraySpec *
gradus_dataset_targets (GradusDataset *self, guint *n)
{
  *n = self->n_targets;
  return self->targets;
}

gint64
gradus_dataset_n_classes (GradusDataset *self)
{
  return self->parts[GRADUS_PART_TRAIN].source->n_classes;
}

const char *const *
gradus_dataset_class_names (GradusDataset *self)
{
  return (const char *const *) self->parts[GRADUS_PART_TRAIN].source->class_names;
}

guint
gradus_dataset_batch_size (GradusDataset *self)
{
  return self->stages.batch_size;
}

/* Whether the shapes differ in axes of size 1 only; then @dims gets @want with the sizes of the
 * axes that take any (-1). */
static gboolean
fit (const GradusArraySpec *have, guint rank, const gint64 *want, gint64 *dims)
{
  guint i = 0, k = 0;

  /* The same rank goes axis by axis, so that a free axis can take a size of 1. */
  if (rank == have->rank)
    {
      for (; i < rank && (want[i] == have->dims[i] || want[i] == -1); i++)
        dims[i] = have->dims[i];
      if (i == rank)
        return TRUE;
      i = 0;
    }
  for (;;)
    {
      for (; i < have->rank && have->dims[i] == 1; i++)
        ;
      for (; k < rank && want[k] == 1; k++)
        dims[k] = 1;
      if (i == have->rank || k == rank)
        return i == have->rank && k == rank;
      if (want[k] != -1 && want[k] != have->dims[i])
        return FALSE;
      dims[k++] = have->dims[i++];
    }
}

gboolean
gradus_dataset_set_input_shape (GradusDataset *self,
                                guint          i,
                                guint          rank,
                                const gint64  *dims,
                                GError       **error)
{
  GradusArraySpec *spec;
  GradusArraySpec  wanted;
  gint64           fitted[GRADUS_BATCH_MAX_RANK];
  g_autofree char *have = NULL, *want = NULL;

  g_return_val_if_fail (i < self->n_inputs && rank <= GRADUS_BATCH_MAX_RANK, FALSE);

  spec = &self->inputs[i];
  wanted = *spec;
  wanted.rank = rank;
  for (guint k = 0; k < rank; k++)
    wanted.dims[k] = dims[k];
  if (!fit (spec, rank, dims, fitted))
    {
      have = gradus_array_spec_to_string (spec);
      want = gradus_array_spec_to_string (&wanted);
      g_set_error (
          error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
          _ ("The samples of the data's “%s” are %s, but the model's input wants %s. Change "
             "the model's input shape, or add a Reshape layer."),
          spec->name, have, want);
      return FALSE;
    }
  self->free_time[i] = rank > 0 && rank == spec->rank && dims[0] == -1;
  memcpy (wanted.dims, fitted, rank * sizeof fitted[0]);
  *spec = wanted;
  if (self->echoes)
    self->targets[i] = wanted;
  return TRUE;
}

gboolean
gradus_dataset_check_labels (GradusDataset *self, gint64 n_classes, GError **error)
{
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    {
      if (self->parts[i].source == NULL || (i == GRADUS_PART_VALIDATION && self->split))
        continue;
      if (!gradus_source_check_labels (self->parts[i].source, n_classes, error))
        return FALSE;
    }
  return TRUE;
}

char *
gradus_dataset_fingerprint (GradusDataset *self, GradusPart part, GError **error)
{
  g_return_val_if_fail (part < GRADUS_N_PARTS, NULL);

  if (self->parts[part].source == NULL || (part == GRADUS_PART_VALIDATION && self->split))
    return NULL;
  return gradus_source_fingerprint (self->parts[part].source, error);
}

gint64
gradus_dataset_batch_bytes (GradusDataset *self, guint batch_size)
{
  double bytes = sizeof (gint64);

  /* In floating point, to be sound where integers would overflow; exact below 2^53. */
  for (guint i = 0; i < self->n_inputs; i++)
    bytes += (double) gradus_array_spec_bytes (&self->inputs[i]);
  for (guint i = 0; i < self->n_targets && !self->echoes; i++)
    bytes += (double) gradus_array_spec_bytes (&self->targets[i]);
  bytes *= batch_size;
  return bytes < 0x1p62 ? (gint64) bytes : G_MAXINT64;
}

guint
gradus_dataset_depth (GradusDataset *self, guint batch_size)
{
  if (self->stages.prefetch >= 0)
    return self->stages.prefetch;
  return CLAMP (AUTO_BYTES / gradus_dataset_batch_bytes (self, batch_size), AUTO_MIN, AUTO_MAX);
}

GradusDatasetMemory
gradus_dataset_memory (GradusDataset *self, guint batch_size)
{
  GradusDatasetMemory memory = { 0 };
  guint               size = batch_size > 0 ? batch_size : self->stages.batch_size;

  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    {
      if (self->parts[i].source == NULL)
        continue;
      memory.batches +=
          gradus_dataset_batch_bytes (self, size) * (1 + gradus_dataset_depth (self, size));
      if (!self->stages.cache)
        memory.batches += gradus_cache_sample_bytes (self->parts[i].source) * size;
      if (i == GRADUS_PART_VALIDATION && self->split)
        continue;
      memory.sources += self->parts[i].source->resident;
      if (self->stages.cache)
        memory.cache += gradus_cache_bytes (self->parts[i].source);
    }
  return memory;
}

static JsonNode *
describe_inputs (GradusDataset *self)
{
  g_autoptr (JsonArray) inputs = json_array_new ();

  for (guint i = 0; i < self->n_inputs; i++)
    {
      JsonObject *input = json_object_new ();
      JsonArray  *shape = json_array_new ();

      for (guint k = 0; k < self->inputs[i].rank; k++)
        json_array_add_int_element (shape, self->inputs[i].dims[k]);
      json_object_set_string_member (input, "name", self->inputs[i].name);
      json_object_set_string_member (
          input, "dtype",
          gradus_dtype_name (self->parts[GRADUS_PART_TRAIN].source->inputs[i].dtype));
      json_object_set_array_member (input, "shape", shape);
      json_array_add_object_element (inputs, input);
    }
  return json_node_init_array (json_node_alloc (), inputs);
}

JsonObject *
gradus_dataset_describe (GradusDataset *self)
{
  JsonObject        *description = json_object_new ();
  const char *const *names = gradus_dataset_class_names (self);

  json_object_set_array_member (description, "stages", json_array_ref (self->stages.kept));
  json_object_set_member (description, "inputs", describe_inputs (self));
  if (names != NULL)
    {
      JsonArray *list = json_array_new ();

      for (; *names != NULL; names++)
        json_array_add_string_element (list, *names);
      json_object_set_array_member (description, "class_names", list);
    }
  return description;
}

static gboolean
make_cache (GradusDataset *self, GradusPart part, GError **error)
{
  GradusPart owner = part == GRADUS_PART_VALIDATION && self->split ? GRADUS_PART_TRAIN : part;
  GradusDatasetPart *of = &self->parts[owner];
  gboolean           fine = TRUE;

  g_mutex_lock (&self->mutex);
  if (self->stages.cache && of->cache == NULL && gradus_cache_bytes (of->source) > 0)
    {
      of->cache = gradus_cache_new (of->source, error);
      fine = of->cache != NULL;
    }
  /* Written once: batches that are open already read it without the mutex. */
  if (self->parts[part].cache == NULL && of->cache != NULL)
    self->parts[part].cache = of->cache;
  g_mutex_unlock (&self->mutex);
  return fine;
}

GradusBatchSource *
gradus_dataset_open (GradusDataset *self, GradusPart part, GError **error)
{
  g_return_val_if_fail (self != NULL && part < GRADUS_N_PARTS, NULL);

  if (self->parts[part].source == NULL || !make_cache (self, part, error))
    return NULL;
  return gradus_batches_new (self, part, error);
}
