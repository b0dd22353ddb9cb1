/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-test-train.h"

#include "gradus-json.h"
#include "gradus-philox.h"

#include <math.h>
#include <string.h>

static const GradusArraySpec *
source_inputs (GradusBatchSource *source, guint *n)
{
  *n = 1;
  return &((GradusTestSource *) source)->input;
}

static const GradusArraySpec *
source_targets (GradusBatchSource *source, guint *n)
{
  *n = 1;
  return &((GradusTestSource *) source)->target;
}

static gint64
source_n_samples (GradusBatchSource *source)
{
  return ((GradusTestSource *) source)->n;
}

static gint64
source_n_batches (GradusBatchSource *source)
{
  GradusTestSource *self = (GradusTestSource *) source;

  return (self->n + self->batch_size - 1) / self->batch_size;
}

static guint
source_batch_size (GradusBatchSource *source)
{
  return ((GradusTestSource *) source)->batch_size;
}

static void
source_set_batch_size (GradusBatchSource *source, guint batch_size)
{
  ((GradusTestSource *) source)->next_batch_size = batch_size;
}

static gboolean
source_seek (GradusBatchSource *source, gint64 epoch, gint64 position, GError **error)
{
  GradusTestSource *self = (GradusTestSource *) source;

  self->batch_size = self->next_batch_size;
  self->epoch = epoch;
  self->position = position;
  return TRUE;
}

static const GradusBatch *
source_next (GradusBatchSource *source, GError **error)
{
  GradusTestSource *self = (GradusTestSource *) source;
  GradusPermutation order;
  gint64            first = self->position * self->batch_size;

  if (first >= self->n)
    return NULL;
  gradus_permutation_init (&order, 7, self->epoch, self->n);
  self->batch.n_samples = MIN (self->batch_size, self->n - first);
  for (guint i = 0; i < self->batch.n_samples; i++)
    {
      gint64 s = self->shuffle ? (gint64) gradus_permutation_at (&order, first + i) : first + i;

      self->samples[i] = s;
      memcpy (self->batch_x + i * self->n_features, self->x + s * self->n_features,
              self->n_features * sizeof (float));
      self->batch_labels[i] = self->labels[s];
      self->batch_y[i] = self->y[s];
    }
  self->position++;
  return &self->batch;
}

static void
source_cancel (GradusBatchSource *source)
{
}

static void
source_free (GradusBatchSource *source)
{
  gradus_test_source_free ((GradusTestSource *) source);
}

static const GradusBatchSourceFuncs source_funcs = {
  source_inputs, source_targets, source_n_samples, source_n_batches, source_batch_size,
  source_set_batch_size, source_seek, source_next, source_cancel, source_free,
};

GradusTestSource *
gradus_test_source_new (gint64 n, guint n_features, guint n_classes, guint batch_size, guint64 seed, gboolean shuffle)
{
  GradusTestSource *self = g_new0 (GradusTestSource, 1);
  GradusPhilox      random = gradus_philox (seed, 1, 0);

  self->parent.funcs = &source_funcs;
  self->n = n;
  self->n_features = n_features;
  self->n_classes = n_classes;
  self->shuffle = shuffle;
  self->batch_size = self->next_batch_size = batch_size;
  self->input = (GradusArraySpec){ "x", GRADUS_DTYPE_FLOAT32, 1, { n_features } };
  self->target = (GradusArraySpec){ "y", n_classes ? GRADUS_DTYPE_UINT8 : GRADUS_DTYPE_FLOAT32,
                                    0, { 0 } };
  self->x = g_new0 (float, n * n_features);
  self->y = g_new0 (float, n);
  self->labels = g_new0 (guint8, n);
  gradus_philox_fill_normals (&random, 0, n * n_features, self->x);
  for (gint64 i = 0; i < n; i++)
    {
      float sum = 0;

      for (guint f = 0; f < n_features; f++)
        sum += self->x[i * n_features + f] * (f % 2 ? -1 : 1);
      self->y[i] = 3 * sum + 2;
      self->labels[i] = n_classes ? (guint) (fabsf (sum) * 2) % n_classes : 0;
    }
  self->batch_x = g_new0 (float, batch_size * n_features);
  self->batch_y = g_new0 (float, batch_size);
  self->batch_labels = g_new0 (guint8, batch_size);
  self->samples = g_new0 (gint64, batch_size);
  self->inputs[0] = self->batch_x;
  self->targets[0] = n_classes ? (const void *) self->batch_labels : self->batch_y;
  self->batch = (GradusBatch){ 0, self->inputs, self->targets, self->samples };
  return self;
}

void
gradus_test_source_free (GradusTestSource *self)
{
  g_free (self->x);
  g_free (self->y);
  g_free (self->labels);
  g_free (self->batch_x);
  g_free (self->batch_y);
  g_free (self->batch_labels);
  g_free (self->samples);
  g_free (self);
}

static guint
observer_series (GradusObserver *observer, const char *name, GradusSeriesKind kind)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;
  guint               index;

  if (g_ptr_array_find_with_equal_func (self->names, name, g_str_equal, &index))
    return index;
  g_ptr_array_add (self->names, g_strdup (name));
  return self->names->len - 1;
}

/* A value is recorded once for a step. */
static void
keep (GradusTestObserver *self, guint series, gint64 step, const void *bits, gsize bytes)
{
  char *key = g_strdup_printf ("%s %" G_GINT64_FORMAT, (char *) self->names->pdata[series], step);

  if (g_hash_table_contains (self->values, key))
    g_error ("%s was recorded twice", key);
  g_hash_table_insert (self->values, key, g_bytes_new (bits, bytes));
}

static void
observer_scalar (GradusObserver *observer, guint series, gint64 step, double value)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;

  keep (self, series, step, &value, sizeof value);
  if (self->on_scalar != NULL)
    self->on_scalar (self->data, self->names->pdata[series], step);
}

static void
observer_histogram (GradusObserver *observer, guint series, gint64 step, const GradusHistogram *h)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;
  g_autoptr (GByteArray) bits = g_byte_array_new ();
  double sum = 0;

  for (guint i = 0; i < h->n; i++)
    {
      sum += h->counts[i];
      g_assert_cmpfloat (h->edges[i], <, h->edges[i + 1]);
    }
  g_assert_cmpfloat (sum, ==, h->count - h->nans - h->infs);
  g_byte_array_append (bits, (const guint8 *) h->counts, h->n * sizeof (double));
  g_byte_array_append (bits, (const guint8 *) h->edges, h->n * sizeof (double));
  keep (self, series, step, bits->data, bits->len);
}

static void
observer_blob (GradusObserver *observer, guint series, gint64 step, const char *format, const void *data, gsize bytes)
{
  keep ((GradusTestObserver *) observer, series, step, data, bytes);
}

static void
observer_event (GradusObserver *observer,
                gint64          step,
                GradusEventKind kind,
                GradusSeverity  severity,
                const char     *subject,
                const char     *message,
                const char     *data)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;
  g_autoptr (GError) error = NULL;

  if (data != NULL)
    {
      g_autoptr (JsonNode) node = gradus_json_parse (data, -1, "event", &error);

      g_assert_no_error (error);
    }
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->events, g_strdup_printf ("%d %s: %s %s", kind, subject, message,
                                                  data ? data : ""));
  g_mutex_unlock (&self->lock);
}

static void
observer_status (GradusObserver *observer, gint64 step, GradusRunStatus status, const char *message)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;

  g_ptr_array_add (self->statuses, g_strdup_printf ("%d %" G_GINT64_FORMAT, status, step));
}

static void
observer_taken (GradusObserver *observer, gint64 id, gint64 step, const char *error)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;

  g_ptr_array_add (self->taken, g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s", id,
                                                 step, error ? error : "ok"));
}

static void
observer_checkpoint (GradusObserver *observer, const GradusCheckpointInfo *info)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;

  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->checkpoints,
                   g_strdup_printf ("%" G_GINT64_FORMAT " %d %s %s", info->step, info->best,
                                    info->path, info->sha256));
  g_mutex_unlock (&self->lock);
}

static void
observer_removed (GradusObserver *observer, gint64 step)
{
  GradusTestObserver *self = (GradusTestObserver *) observer;

  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->removed, g_strdup_printf ("%" G_GINT64_FORMAT, step));
  g_mutex_unlock (&self->lock);
}

static const GradusObserverFuncs observer_funcs = {
  observer_series, observer_scalar, observer_histogram,  observer_event,
  observer_status, observer_taken,  observer_checkpoint, observer_removed,
  observer_blob,
};

GradusTestObserver *
gradus_test_observer_new (void)
{
  GradusTestObserver *self = g_new0 (GradusTestObserver, 1);

  self->parent.funcs = &observer_funcs;
  g_mutex_init (&self->lock);
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                        (GDestroyNotify) g_bytes_unref);
  self->events = g_ptr_array_new_with_free_func (g_free);
  self->statuses = g_ptr_array_new_with_free_func (g_free);
  self->taken = g_ptr_array_new_with_free_func (g_free);
  self->checkpoints = g_ptr_array_new_with_free_func (g_free);
  self->removed = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
gradus_test_observer_free (GradusTestObserver *self)
{
  g_ptr_array_unref (self->names);
  g_hash_table_unref (self->values);
  g_ptr_array_unref (self->events);
  g_ptr_array_unref (self->statuses);
  g_ptr_array_unref (self->taken);
  g_ptr_array_unref (self->checkpoints);
  g_ptr_array_unref (self->removed);
  g_mutex_clear (&self->lock);
  g_free (self);
}

static GBytes *
find_bits (GradusTestObserver *self, const char *name, gint64 step)
{
  g_autofree char *key = g_strdup_printf ("%s %" G_GINT64_FORMAT, name, step);

  return g_hash_table_lookup (self->values, key);
}

gboolean
gradus_test_observer_has (GradusTestObserver *self, const char *name, gint64 step)
{
  return find_bits (self, name, step) != NULL;
}

double
gradus_test_observer_value (GradusTestObserver *self, const char *name, gint64 step)
{
  GBytes *bits = find_bits (self, name, step);
  double  value;

  if (bits == NULL)
    g_error ("there is no %s at step %" G_GINT64_FORMAT, name, step);
  memcpy (&value, g_bytes_get_data (bits, NULL), sizeof value);
  return value;
}

void
gradus_test_assert_same (GradusTestObserver *a, GradusTestObserver *b)
{
  GHashTableIter iter;
  gpointer       key, bits;
  guint          n = 0;

  g_hash_table_iter_init (&iter, a->values);
  while (g_hash_table_iter_next (&iter, &key, &bits))
    {
      GBytes *other = g_hash_table_lookup (b->values, key);

      if (g_str_has_prefix (key, "time/") || g_str_has_prefix (key, "builds") || g_str_has_prefix (key, "throughput") ||
          g_str_has_prefix (key, "memory/"))
        continue;
      if (other == NULL || !g_bytes_equal (bits, other))
        g_error ("%s differs", (char *) key);
      n++;
    }
  g_assert_cmpint (n, >, 10);
}

GradusModel *
gradus_test_model (const char *json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse (json, -1, "model.json", &error);
  GradusModel *model;

  g_assert_no_error (error);
  model = gradus_model_new_from_json (json_node_get_object (node), "model.json", "", &error);
  g_assert_no_error (error);
  return model;
}

static JsonObject *
member (JsonObject *object, const char *name)
{
  return json_object_has_member (object, name) ? json_object_get_object_member (object, name) : NULL;
}

GradusTrainerOptions *
gradus_test_options (const char *json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse (json, -1, "recipe.json", &error);
  JsonObject           *object;
  GradusTrainerOptions *options;

  g_assert_no_error (error);
  object = json_node_get_object (node);
  options = gradus_trainer_options_new (member (object, "compile"), member (object, "fit"),
                                        member (object, "log"), member (object, "checkpoints"),
                                        "recipe.json", NULL, &error);
  g_assert_no_error (error);
  return options;
}
