/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-dataset-private.h"
#include "gradus-fit.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* 2^46: what an address space can hold. */
#define MAX_BATCH_BYTES (G_GINT64_CONSTANT (1) << 46)

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
  self->echoes = source->echoes;
  self->n_targets = self->echoes ? source->n_inputs : source->n_targets;
  /* What is compared with an output is no byte. */
  self->stages.to_float |= self->echoes;
  for (guint i = 0; i < self->n_inputs; i++)
    {
      self->inputs[i] = source->inputs[i];
      self->inputs[i].dtype = batch_dtype (self, &source->inputs[i], TRUE);
    }
  for (guint i = 0; i < self->n_targets && self->echoes; i++)
    self->targets[i] = self->inputs[i];
  for (guint i = 0; i < source->n_targets; i++)
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
  GradusSource *train = self->parts[GRADUS_PART_TRAIN].source;
  GradusSource *other = self->parts[part].source;
  gboolean      inputs =
      same_arrays (self, train->inputs, train->n_inputs, other->inputs, other->n_inputs, TRUE);
  g_autofree char *have = NULL, *want = NULL;

  if (inputs && train->echoes == other->echoes
      && same_arrays (self, train->targets, train->n_targets, other->targets, other->n_targets,
                      FALSE))
    return TRUE;
  have = inputs ? arrays_to_string (other->targets, other->n_targets)
                : arrays_to_string (other->inputs, other->n_inputs);
  want = inputs ? arrays_to_string (train->targets, train->n_targets)
                : arrays_to_string (train->inputs, train->n_inputs);
  gradus_json_refuse (data, gradus_part_name (part),
                      _ ("These samples have %s, but those of “train” have %s. All parts must have "
                         "samples of one kind."),
                      have, want);
  return FALSE;
}

static GradusSource *
open_part (GradusDataset *self, GradusJsonObject *data, GradusPart part, const char *base)
{
  g_autoptr (GradusJsonObject) spec = gradus_json_object (data, gradus_part_name (part));
  g_autoptr (GError) error = NULL;
  GradusSource *source;

  if (spec == NULL)
    return NULL;
  source = gradus_source_open (spec, base, self->seed, gradus_part_name (part),
                               self->parts[GRADUS_PART_TRAIN].source, &error);
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
  gradus_subset_draw (self->seed, n, count, &validation->subset, &train->subset);
  self->split = validation->is_subset = train->is_subset = TRUE;
  validation->source = train->source;
  validation->n_samples = count;
  train->n_samples = n - count;
}

static void
open_validation (GradusDataset *self, GradusJsonObject *data, const char *base)
{
  g_autoptr (GradusJsonObject) spec = NULL;

  spec = gradus_json_object (data, gradus_part_name (GRADUS_PART_VALIDATION));
  if (spec == NULL)
    return;
  if (gradus_json_has (spec, "split") || gradus_json_has (spec, "folds"))
    open_split (self, data, spec);
  else
    open_part (self, data, GRADUS_PART_VALIDATION, base);
}

static void
check_text (GradusDataset *self, GradusJsonObject *data)
{
  GradusSource *train = self->parts[GRADUS_PART_TRAIN].source;

  if (train->is_text && self->stages.vectorize.length == 0)
    gradus_json_refuse (data, "pipeline",
                        _ ("The samples are texts. Add the stage {\"vectorize\": {\"vocabulary\": 10000, "
                           "\"length\": 100}}, which makes numbers of them."));
  if (train->is_text && self->stages.to_float)
    gradus_json_refuse (data, "pipeline",
                        _ ("The samples are texts, whose words are counted and not measured; remove what "
                           "rescales, casts, fills or normalises them."));
  if (!train->is_text && self->stages.vectorize.length > 0)
    gradus_json_refuse (data, "pipeline", _ ("“vectorize” takes texts, but the samples are numbers; remove it."));
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
                        _ ("“one_hot” would make %" PRId64
                           " values of each label; at most %d are possible. Are the labels right?"),
                        stages->one_hot, GRADUS_MAX_CLASSES);
  if (sample > MAX_BATCH_BYTES / stages->batch_size)
    gradus_json_refuse (
        data, "pipeline",
        _ ("A batch of %u samples of %" PRId64 " bytes fits no memory; make it smaller."),
        stages->batch_size, sample);
  if (stages->drop_remainder && self->parts[GRADUS_PART_TRAIN].n_samples < stages->batch_size)
    gradus_json_refuse (
        data, "pipeline",
        _ ("There are %" PRId64 " samples for training, fewer than one batch of %u, and "
           "“drop_remainder” drops what is no whole batch. Make the batch smaller."),
        self->parts[GRADUS_PART_TRAIN].n_samples, stages->batch_size);
}

static gboolean
check_one_hot (GradusDataset *self, GError **error)
{
  return self->stages.one_hot == 0
         || gradus_dataset_check_labels (self, self->stages.one_hot, error);
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
      check_text (self, data);
      if (!gradus_json_failed (data) && !gradus_dataset_fit (self, error))
        return NULL;
      make_specs (self);
      check_stages (self, data);
    }
  if (!gradus_json_check (data, error) || !check_one_hot (self, error))
    return NULL;
  return g_steal_pointer (&self);
}
