/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-dataset-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#define AUTO_BYTES (64 * 1024 * 1024)
#define AUTO_MIN 2
#define AUTO_MAX 8
/* 2^46: what an address space can hold. */
#define MAX_BATCH_BYTES (G_GINT64_CONSTANT (1) << 46)

static const char *const part_names[] = { "train", "validation", "test" };

const char *
gradus_part_name (GradusPart part)
{
  g_return_val_if_fail (part < GRADUS_N_PARTS, NULL);
  return part_names[part];
}

/* Which dtype a batch has what the source gives as @spec in. */
static GradusDType
batch_dtype (GradusDataset *self, const GradusArraySpec *spec, gboolean input)
{
  gboolean is_float = spec->dtype == GRADUS_DTYPE_FLOAT32 || spec->dtype == GRADUS_DTYPE_FLOAT64;

  if (input)
    return self->stages.to_float || is_float ? GRADUS_DTYPE_FLOAT32 : spec->dtype;
  return is_float || spec->rank > 0 || self->stages.one_hot != 0 ? GRADUS_DTYPE_FLOAT32
                                                                : GRADUS_DTYPE_INT32;
}

static void
make_specs (GradusDataset *self)
{
  GradusSource *source = self->parts[GRADUS_PART_TRAIN].source;

  self->n_inputs = source->n_inputs;
  self->n_targets = source->n_targets;
  for (guint i = 0; i < self->n_inputs; i++)
    {
      self->inputs[i] = source->inputs[i];
      self->inputs[i].dtype = batch_dtype (self, &source->inputs[i], TRUE);
    }
  for (guint i = 0; i < self->n_targets; i++)
    {
      self->targets[i] = source->targets[i];
      self->targets[i].dtype = batch_dtype (self, &source->targets[i], FALSE);
    }
  if (self->stages.one_hot < 0)
    self->stages.one_hot = MAX (source->n_classes, 1);
  if (self->stages.one_hot > 0)
    {
      self->targets[0].rank = 1;
      self->targets[0].dims[0] = self->stages.one_hot;
    }
}

static gboolean
same_arrays (GradusDataset         *self,
             const GradusArraySpec *a,
             guint                  n_a,
             const GradusArraySpec *b,
             guint                  n_b,
             gboolean               input)
{
  if (n_a != n_b)
    return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (!g_str_equal (a[i].name, b[i].name) || a[i].rank != b[i].rank
        || memcmp (a[i].dims, b[i].dims, a[i].rank * sizeof a[i].dims[0]) != 0
        || batch_dtype (self, &a[i], input) != batch_dtype (self, &b[i], input))
      return FALSE;
  return TRUE;
}

static char *
arrays_to_string (const GradusArraySpec *specs, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *spec = gradus_array_spec_to_string (&specs[i]);

      g_string_append_printf (text, "%s%s %s", i > 0 ? ", " : "", specs[i].name, spec);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
check_same (GradusDataset *self, GradusPart part, GradusJsonObject *data)
{
  GradusSource    *train = self->parts[GRADUS_PART_TRAIN].source;
  GradusSource    *other = self->parts[part].source;
  gboolean         inputs = same_arrays (self, train->inputs, train->n_inputs, other->inputs,
                                         other->n_inputs, TRUE);
  g_autofree char *have = NULL, *want = NULL;

  if (inputs && same_arrays (self, train->targets, train->n_targets, other->targets,
                             other->n_targets, FALSE))
    return TRUE;
  have = inputs ? arrays_to_string (other->targets, other->n_targets)
                : arrays_to_string (other->inputs, other->n_inputs);
  want = inputs ? arrays_to_string (train->targets, train->n_targets)
                : arrays_to_string (train->inputs, train->n_inputs);
  gradus_json_refuse (data, part_names[part],
                      _ ("These samples have %s, but those of “train” have %s. All parts must have "
                         "samples of one kind."),
                      have, want);
  return FALSE;
}

static GradusSource *
open_part (GradusDataset *self, GradusJsonObject *data, GradusPart part, const char *base)
{
  g_autoptr (GradusJsonObject) spec = gradus_json_object (data, part_names[part]);
  g_autoptr (GError)           error = NULL;
  GradusSource                *source;

  if (spec == NULL)
    return NULL;
  source = gradus_source_open (spec, base, self->seed, part_names[part], &error);
  if (source == NULL)
    {
      gradus_json_take_error (data, g_steal_pointer (&error));
      return NULL;
    }
  self->parts[part].source = source;
  self->parts[part].n_samples = source->n_samples;
  if (part != GRADUS_PART_TRAIN)
    check_same (self, part, data);
  return source;
}

static void
open_split (GradusDataset *self, GradusJsonObject *data, GradusJsonObject *split)
{
  GradusDatasetPart *train = &self->parts[GRADUS_PART_TRAIN];
  GradusDatasetPart *validation = &self->parts[GRADUS_PART_VALIDATION];
  gint64             n = train->n_samples, count;
  double             share;

  gradus_json_ignore (split, "fingerprint", NULL);
  gradus_json_unavailable (split, "stratify", "by", "folds", "fold", NULL);
  share = gradus_json_double (split, "split", 0, 1, 0.1);
  if (share <= 0 || share >= 1)
    gradus_json_refuse (split, "split", _ ("A share greater than 0 and less than 1 is expected."));
  if (n < 2)
    gradus_json_refuse (split, "split", _ ("One sample cannot be split; add data."));
  if (!gradus_json_end (split, NULL))
    return;
  count = CLAMP ((gint64) floor ((double) n * share + 0.5), 1, n - 1);
  self->split = TRUE;
  validation->source = train->source;
  validation->n_samples = count;
  train->n_samples = n - count;
  gradus_subset_draw (self->seed, n, count, &validation->subset, &train->subset);
}

static void
open_validation (GradusDataset *self, GradusJsonObject *data, const char *base)
{
  g_autoptr (GradusJsonObject) spec = NULL;

  spec = gradus_json_object (data, part_names[GRADUS_PART_VALIDATION]);
  if (spec == NULL)
    return;
  if (gradus_json_has (spec, "split") || gradus_json_has (spec, "folds"))
    open_split (self, data, spec);
  else
    open_part (self, data, GRADUS_PART_VALIDATION, base);
}

static void
check_stages (GradusDataset *self, GradusJsonObject *data)
{
  GradusStages *stages = &self->stages;
  GradusSource *train = self->parts[GRADUS_PART_TRAIN].source;
  gint64        sample = gradus_dataset_batch_bytes (self, 1);

  if (stages->one_hot > 0
      && (train->n_targets != 1 || train->targets[0].rank != 0
          || train->targets[0].dtype == GRADUS_DTYPE_FLOAT32
          || train->targets[0].dtype == GRADUS_DTYPE_FLOAT64))
    gradus_json_refuse (data, "pipeline",
                        _ ("“one_hot” needs one target that is a class, a whole number a sample; "
                           "remove the stage."));
  if (stages->one_hot > GRADUS_MAX_CLASSES)
    gradus_json_refuse (data, "pipeline",
                        _ ("“one_hot” would make %" G_GINT64_FORMAT
                           " values of each label; at most %d are possible. Are the labels right?"),
                        stages->one_hot, GRADUS_MAX_CLASSES);
  if (sample > MAX_BATCH_BYTES / stages->batch_size)
    gradus_json_refuse (data, "pipeline",
                        _ ("A batch of %u samples of %" G_GINT64_FORMAT
                           " bytes fits no memory; make it smaller."),
                        stages->batch_size, sample);
  if (stages->drop_remainder && self->parts[GRADUS_PART_TRAIN].n_samples < stages->batch_size)
    gradus_json_refuse (data, "pipeline",
                        _ ("There are %" G_GINT64_FORMAT
                           " samples for training, fewer than one batch of %u, and "
                           "“drop_remainder” drops what is no whole batch. Make the batch smaller."),
                        self->parts[GRADUS_PART_TRAIN].n_samples, stages->batch_size);
}

static gboolean
check_one_hot (GradusDataset *self, GError **error)
{
  return self->stages.one_hot == 0 || gradus_dataset_check_labels (self, self->stages.one_hot, error);
}

static void
read_on_error (GradusJsonObject *data)
{
  static const char *const words[] = { "stop", NULL };
  JsonNode                *node = gradus_json_node (data, "on_error");

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    gradus_json_refuse_unavailable (data, "on_error", "skip");
  else
    gradus_json_enum (data, "on_error", words, 0);
}

GradusDataset *
gradus_dataset_new (GradusJsonObject *data, const char *base, guint64 seed, GError **error)
{
  g_autoptr (GradusDataset) self = NULL;

  g_return_val_if_fail (data != NULL && base != NULL, NULL);

  self = g_new0 (GradusDataset, 1);
  g_atomic_ref_count_init (&self->references);
  g_mutex_init (&self->mutex);
  self->seed = seed;
  gradus_json_require (data, "train", NULL);
  read_on_error (data);
  gradus_stages_read (&self->stages, data);
  /* Before the files, which take their time. */
  gradus_json_ignore (data, "validation", "test", NULL);
  if (!gradus_json_end (data, error))
    return NULL;

  if (open_part (self, data, GRADUS_PART_TRAIN, base) != NULL)
    {
      open_validation (self, data, base);
      open_part (self, data, GRADUS_PART_TEST, base);
      make_specs (self);
      check_stages (self, data);
    }
  if (!gradus_json_check (data, error) || !check_one_hot (self, error))
    return NULL;
  return g_steal_pointer (&self);
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
      gradus_subset_free (self->parts[i].subset);
      if (i == GRADUS_PART_VALIDATION && self->split)
        continue;
      gradus_cache_free (self->parts[i].cache);
      gradus_source_free (self->parts[i].source);
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

/* Whether the shapes differ in axes of size 1 only; then @dims gets @want with the sizes of the axes
 * that take any (-1). */
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
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("The samples of the data's “%s” are %s, but the model's input wants %s. Change "
                      "the model's input shape, or add a Reshape layer."),
                   spec->name, have, want);
      return FALSE;
    }
  memcpy (wanted.dims, fitted, rank * sizeof fitted[0]);
  *spec = wanted;
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
  for (guint i = 0; i < self->n_targets; i++)
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
      memory.batches
          += gradus_dataset_batch_bytes (self, size) * (1 + gradus_dataset_depth (self, size));
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
  GradusPart         owner = part == GRADUS_PART_VALIDATION && self->split ? GRADUS_PART_TRAIN : part;
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
