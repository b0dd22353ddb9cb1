/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/gradus-dataset-private.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "idx-fixture.h"

#define N 103
#define SIDE 5
#define PIXELS (SIDE * SIDE)

static char *folder;

static guint8
pixel (gint64 sample, guint i)
{
  return (guint8) (sample * 31 + i * 7);
}

static void
write_files (void)
{
  g_autoptr (GByteArray) images = idx_header (0x08, 3, N, SIDE, SIDE);
  g_autoptr (GByteArray) labels = idx_header (0x08, 1, N);
  g_autoptr (GByteArray) packed = NULL;

  for (gint64 s = 0; s < N; s++)
    {
      guint8 label = s % 10;

      for (guint i = 0; i < PIXELS; i++)
        {
          guint8 value = pixel (s, i);

          g_byte_array_append (images, &value, 1);
        }
      g_byte_array_append (labels, &label, 1);
    }
  packed = gzip_bytes (images->data, images->len);
  g_free (write_bytes (folder, "images", images->data, images->len));
  g_free (write_bytes (folder, "images.gz", packed->data, packed->len));
  g_free (write_bytes (folder, "labels", labels->data, labels->len));
}

static GradusDataset *
open_text (const char *text, guint64 seed, GError **error)
{
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "r.json", NULL);
  g_autoptr (GradusJsonObject) data = gradus_json_open_at (node, "r.json", "/data", NULL);

  return gradus_dataset_new (data, folder, seed, error);
}

/* @images: file of the training inputs; @parts: further members; @stages: the list's inside. */
static GradusDataset *
open_dataset (const char *images, const char *parts, const char *stages, guint64 seed)
{
  g_autofree char *text =
      g_strdup_printf ("{\"train\":{\"type\":\"idx\",\"inputs\":\"%s\",\"targets\":\"labels\"}%s,"
                       "\"pipeline\":[%s]}",
                       images, parts, stages);
  g_autoptr (GError) error = NULL;
  GradusDataset *dataset = open_text (text, seed, &error);

  g_assert_no_error (error);
  return dataset;
}

static GradusBatchSource *
open_batches (GradusDataset *dataset, GradusPart part)
{
  g_autoptr (GError) error = NULL;
  GradusBatchSource *source = gradus_dataset_open (dataset, part, &error);

  g_assert_no_error (error);
  g_assert_nonnull (source);
  return source;
}

/* Appends the epoch's samples to @order and all bytes of its batches to @bytes, from the present
 * place on. */
static guint
run_epoch (GradusBatchSource *source, GArray *order, GByteArray *bytes)
{
  guint                  n_inputs, n_targets, batches = 0;
  const GradusArraySpec *inputs = source->funcs->inputs (source, &n_inputs);
  const GradusArraySpec *targets = source->funcs->targets (source, &n_targets);
  const GradusBatch     *batch;
  g_autoptr (GError) error = NULL;

  while ((batch = source->funcs->next (source, &error)) != NULL)
    {
      batches++;
      g_array_append_vals (order, batch->samples, batch->n_samples);
      for (guint i = 0; i < n_inputs && bytes != NULL; i++)
        {
          g_assert_cmpuint (GPOINTER_TO_SIZE (batch->inputs[i]) % 64, ==, 0);
          g_byte_array_append (bytes, batch->inputs[i],
                               batch->n_samples * gradus_array_spec_bytes (&inputs[i]));
        }
      for (guint i = 0; i < n_targets && bytes != NULL; i++)
        g_byte_array_append (bytes, batch->targets[i],
                             batch->n_samples * gradus_array_spec_bytes (&targets[i]));
    }
  g_assert_no_error (error);
  return batches;
}

static GArray *
new_order (void)
{
  return g_array_new (FALSE, FALSE, sizeof (gint64));
}

static void
seek (GradusBatchSource *source, gint64 epoch, gint64 position)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (source->funcs->seek (source, epoch, position, &error));
  g_assert_no_error (error);
}

static void
assert_same (GArray *a, GArray *b)
{
  g_assert_cmpmem (a->data, a->len * sizeof (gint64), b->data, b->len * sizeof (gint64));
}

/* Values and shapes, and the short last batch; plain file, cached or not, and .gz. */
static void
test_values (void)
{
  static const char *const kinds[][2] = { { "images", "" },
                                          { "images", "{\"cache\":\"memory\"}," },
                                          { "images.gz", "" },
                                          { "images.gz", "{\"cache\":\"memory\"}," } };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_autofree char *stages = g_strconcat (
          kinds[k][1],
          "{\"batch\":10},{\"rescale\":{\"scale\":0.00392156862745098,\"offset\":-0.5}}", NULL);
      g_autoptr (GradusDataset) dataset = open_dataset (kinds[k][0], "", stages, 1);
      GradusBatchSource     *source = open_batches (dataset, GRADUS_PART_TRAIN);
      const GradusBatch     *batch;
      const GradusArraySpec *spec;
      guint                  n, batches = 0;

      spec = source->funcs->inputs (source, &n);
      g_assert_cmpuint (n, ==, 1);
      g_assert_cmpint (spec->dtype, ==, GRADUS_DTYPE_FLOAT32);
      g_assert_cmpint (spec->rank, ==, 2);
      spec = source->funcs->targets (source, &n);
      g_assert_cmpint (spec->dtype, ==, GRADUS_DTYPE_INT32);
      g_assert_cmpint (spec->rank, ==, 0);
      g_assert_cmpint (source->funcs->n_batches (source), ==, 11);
      g_assert_cmpint (source->funcs->n_samples (source), ==, N);
      for (guint epoch = 0; epoch < 2; epoch++)
        {
          seek (source, epoch, 0);
          for (batches = 0; (batch = source->funcs->next (source, NULL)) != NULL; batches++)
            {
              g_assert_cmpint (batch->n_samples, ==, batches < 10 ? 10 : 3);
              for (guint i = 0; i < batch->n_samples; i++)
                {
                  gint64       s = batch->samples[i];
                  const float *row = (const float *) batch->inputs[0] + i * PIXELS;

                  g_assert_cmpint (s, ==, batches * 10 + i);
                  g_assert_cmpint (((const gint32 *) batch->targets[0])[i], ==, s % 10);
                  for (guint p = 0; p < PIXELS; p++)
                    {
                      volatile float product = (float) pixel (s, p) * 0.00392156862745098f;
                      float          value = product + -0.5f;

                      g_assert_cmpmem (&row[p], 4, &value, 4);
                    }
                }
            }
          g_assert_cmpint (batches, ==, 11);
        }
      source->funcs->free (source);
    }
}

static void
test_dtypes (void)
{
  g_autoptr (GradusDataset) raw = open_dataset ("images", "", "{\"batch\":7}", 1);
  g_autoptr (GradusDataset) cast =
      open_dataset ("images", "", "{\"cast\":\"float32\"},{\"batch\":7}", 1);
  g_autoptr (GradusDataset) hot =
      open_dataset ("images", "", "{\"one_hot\":{\"classes\":12}},{\"batch\":7}", 1);
  g_autoptr (GradusDataset) as_data = open_dataset ("images", "", "{\"one_hot\":{}}", 1);
  GradusBatchSource *source = open_batches (raw, GRADUS_PART_TRAIN);
  const GradusBatch *batch = source->funcs->next (source, NULL);
  guint              n;

  g_assert_cmpint (((const guint8 *) batch->inputs[0])[PIXELS + 2], ==, pixel (1, 2));
  source->funcs->free (source);
  source = open_batches (cast, GRADUS_PART_TRAIN);
  batch = source->funcs->next (source, NULL);
  g_assert_cmpfloat (((const float *) batch->inputs[0])[PIXELS + 2], ==, pixel (1, 2));
  source->funcs->free (source);
  source = open_batches (hot, GRADUS_PART_TRAIN);
  batch = source->funcs->next (source, NULL);
  g_assert_cmpint (source->funcs->targets (source, &n)->dims[0], ==, 12);
  for (guint i = 0; i < 7; i++)
    for (guint c = 0; c < 12; c++)
      g_assert_cmpfloat (((const float *) batch->targets[0])[i * 12 + c], ==, c == i ? 1 : 0);
  source->funcs->free (source);
  g_assert_cmpint (gradus_dataset_targets (as_data, &n)->dims[0], ==, 10);
}

static void
test_order (void)
{
  const char *stages = "{\"shuffle\":true},{\"batch\":10}";
  g_autoptr (GradusDataset) dataset = open_dataset ("images", "", stages, 42);
  g_autoptr (GradusDataset) again = open_dataset ("images", "", stages, 42);
  g_autoptr (GradusDataset) other = open_dataset ("images", "", stages, 43);
  GradusBatchSource *a = open_batches (dataset, GRADUS_PART_TRAIN);
  GradusBatchSource *b = open_batches (again, GRADUS_PART_TRAIN);
  GradusBatchSource *c = open_batches (other, GRADUS_PART_TRAIN);
  g_autoptr (GArray) first = new_order (), second = new_order (), same = new_order (),
                     another = new_order ();
  guint8 seen[N] = { 0 };

  run_epoch (a, first, NULL);
  seek (a, 1, 0);
  run_epoch (a, second, NULL);
  run_epoch (b, same, NULL);
  run_epoch (c, another, NULL);
  assert_same (first, same);
  g_assert_cmpint (memcmp (first->data, second->data, N * 8), !=, 0);
  g_assert_cmpint (memcmp (first->data, another->data, N * 8), !=, 0);
  g_assert_cmpint (first->len, ==, N);
  for (guint i = 0; i < N; i++)
    g_assert_cmpint (seen[g_array_index (first, gint64, i)]++, ==, 0);
  a->funcs->free (a);
  b->funcs->free (b);
  c->funcs->free (c);
}

static void
test_split (void)
{
  g_autoptr (GradusDataset) dataset =
      open_dataset ("images", ",\"validation\":{\"split\":0.2}",
                    "{\"shuffle\":true},{\"batch\":{\"size\":10,\"drop_remainder\":true}}", 5);
  g_autoptr (GradusDataset) other =
      open_dataset ("images", ",\"validation\":{\"split\":0.2}", "{\"batch\":10}", 6);
  GradusBatchSource *train = open_batches (other, GRADUS_PART_TRAIN);
  GradusBatchSource *validation = open_batches (dataset, GRADUS_PART_VALIDATION);
  GradusBatchSource *drawn_anew = open_batches (other, GRADUS_PART_VALIDATION);
  GradusBatchSource *dropping = open_batches (dataset, GRADUS_PART_TRAIN);
  g_autoptr (GArray) a = new_order (), b = new_order (), c = new_order (), again = new_order ();
  guint8 seen[N] = { 0 };

  g_assert_cmpint (gradus_dataset_n_samples (dataset, GRADUS_PART_VALIDATION), ==, 21);
  g_assert_cmpint (gradus_dataset_n_samples (dataset, GRADUS_PART_TRAIN), ==, 82);
  g_assert_cmpint (gradus_dataset_n_samples (dataset, GRADUS_PART_TEST), ==, 0);
  g_assert_null (gradus_dataset_open (dataset, GRADUS_PART_TEST, NULL));

  /* Disjoint and complete, each in the source's order; the short last batch stays. */
  run_epoch (train, a, NULL);
  g_assert_cmpint (run_epoch (drawn_anew, b, NULL), ==, 3);
  for (guint i = 0; i < a->len; i++)
    {
      g_assert_cmpint (seen[g_array_index (a, gint64, i)]++, ==, 0);
      if (i > 0)
        g_assert_cmpint (g_array_index (a, gint64, i), >, g_array_index (a, gint64, i - 1));
    }
  for (guint i = 0; i < b->len; i++)
    {
      g_assert_cmpint (seen[g_array_index (b, gint64, i)]++, ==, 0);
      if (i > 0)
        g_assert_cmpint (g_array_index (b, gint64, i), >, g_array_index (b, gint64, i - 1));
    }
  g_assert_cmpint (a->len + b->len, ==, N);

  /* Validation is never shuffled; another seed draws others; training drops the remainder. */
  run_epoch (validation, c, NULL);
  g_assert_cmpint (memcmp (b->data, c->data, b->len * 8), !=, 0);
  seek (validation, 3, 0);
  run_epoch (validation, again, NULL);
  assert_same (c, again);
  g_assert_cmpint (dropping->funcs->n_batches (dropping), ==, 8);
  g_array_set_size (c, 0);
  g_assert_cmpint (run_epoch (dropping, c, NULL), ==, 8);
  g_assert_cmpint (c->len, ==, 80);
  train->funcs->free (train);
  validation->funcs->free (validation);
  drawn_anew->funcs->free (drawn_anew);
  dropping->funcs->free (dropping);
}

/* Prefetch, cache and packing change nothing of what comes. */
static void
test_identical (void)
{
  static const char *const kinds[][2] = {
    { "images", "{\"shuffle\":true},{\"batch\":9},{\"rescale\":{\"scale\":0.1}}" },
    { "images", "{\"shuffle\":true},{\"batch\":9},{\"rescale\":{\"scale\":0.1}},{\"prefetch\":0}" },
    { "images", "{\"shuffle\":true},{\"batch\":9},{\"rescale\":{\"scale\":0.1}},{\"prefetch\":1}" },
    { "images.gz",
      "{\"shuffle\":true},{\"batch\":9},{\"rescale\":{\"scale\":0.1}},{\"prefetch\":7}" },
    { "images", "{\"cache\":\"memory\"},{\"shuffle\":true},{\"batch\":9},"
                "{\"rescale\":{\"scale\":0.1}},{\"prefetch\":\"auto\"}" },
    { "images.gz", "{\"rescale\":{\"scale\":0.1}},{\"cache\":\"memory\"},{\"shuffle\":true},"
                   "{\"batch\":9},{\"prefetch\":64}" },
  };
  g_autoptr (GArray) order = new_order ();
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_autoptr (GradusDataset) dataset =
          open_dataset (kinds[k][0], ",\"validation\":{\"split\":0.1}", kinds[k][1], 11);
      GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);
      g_autoptr (GArray) this_order = new_order ();
      g_autoptr (GByteArray) this_bytes = g_byte_array_new ();

      for (guint epoch = 0; epoch < 4; epoch++)
        {
          seek (source, epoch, 0);
          run_epoch (source, this_order, this_bytes);
        }
      if (k == 0)
        {
          g_array_append_vals (order, this_order->data, this_order->len);
          g_byte_array_append (bytes, this_bytes->data, this_bytes->len);
        }
      assert_same (order, this_order);
      g_assert_cmpmem (bytes->data, bytes->len, this_bytes->data, this_bytes->len);
      source->funcs->free (source);
    }
}

/* From every place of three epochs on, by a fresh source and by one that stands elsewhere, also
 * right after a cancel. */
static void
test_seek (void)
{
  static const guint prefetches[] = { 0, 1, 3 };

  for (guint p = 0; p < G_N_ELEMENTS (prefetches); p++)
    {
      g_autofree char *stages =
          g_strdup_printf ("{\"shuffle\":true},{\"batch\":10},{\"prefetch\":%u}", prefetches[p]);
      g_autoptr (GradusDataset) dataset = open_dataset ("images", "", stages, 3);
      GradusBatchSource *wanderer = open_batches (dataset, GRADUS_PART_TRAIN);
      g_autoptr (GArray) straight = new_order ();
      g_autoptr (GError) error = NULL;

      for (gint64 epoch = 0; epoch < 3; epoch++)
        {
          seek (wanderer, epoch, 0);
          run_epoch (wanderer, straight, NULL);
        }
      for (gint64 epoch = 0; epoch < 3; epoch++)
        for (gint64 position = 0; position <= 11; position++)
          {
            GradusBatchSource *fresh = open_batches (dataset, GRADUS_PART_TRAIN);
            g_autoptr (GArray) a = new_order (), b = new_order ();
            guint rest = N - MIN (position * 10, N);

            seek (fresh, epoch, position);
            run_epoch (fresh, a, NULL);
            if (position % 3 == 0)
              wanderer->funcs->cancel (wanderer);
            seek (wanderer, epoch, position);
            run_epoch (wanderer, b, NULL);
            assert_same (a, b);
            g_assert_cmpint (a->len, ==, rest);
            g_assert_cmpmem (a->data, rest * 8,
                             (gint64 *) (gpointer) straight->data + (epoch + 1) * N - rest,
                             rest * 8);
            fresh->funcs->free (fresh);
          }
      g_assert_false (wanderer->funcs->seek (wanderer, 0, 12, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      seek (wanderer, 0, 0);
      g_assert_nonnull (wanderer->funcs->next (wanderer, NULL));
      wanderer->funcs->free (wanderer);
    }
}

/* A batch that is lent out stays as it is however long it is kept. */
static void
test_lent (void)
{
  g_autoptr (GradusDataset) dataset =
      open_dataset ("images", "", "{\"batch\":4},{\"cast\":\"float32\"},{\"prefetch\":2}", 3);
  GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);
  const GradusBatch *batch;
  guint              i = 0;

  while ((batch = source->funcs->next (source, NULL)) != NULL)
    {
      if (i++ % 5 == 0)
        g_usleep (3000);
      g_assert_cmpfloat (((const float *) batch->inputs[0])[3], ==, pixel ((i - 1) * 4, 3));
      g_assert_cmpint (batch->samples[0], ==, (i - 1) * 4);
    }
  source->funcs->free (source);
}

static void
test_batch_size (void)
{
  g_autoptr (GradusDataset) dataset =
      open_dataset ("images", "", "{\"batch\":4},{\"prefetch\":2}", 3);
  GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);

  g_assert_cmpint (source->funcs->next (source, NULL)->n_samples, ==, 4);
  source->funcs->set_batch_size (source, 50);
  g_assert_cmpint (source->funcs->next (source, NULL)->n_samples, ==, 4);
  g_assert_cmpint (source->funcs->batch_size (source), ==, 4);
  seek (source, 1, 0);
  g_assert_cmpint (source->funcs->batch_size (source), ==, 50);
  g_assert_cmpint (source->funcs->n_batches (source), ==, 3);
  g_assert_cmpint (source->funcs->next (source, NULL)->n_samples, ==, 50);
  g_assert_cmpint (source->funcs->next (source, NULL)->n_samples, ==, 50);
  g_assert_cmpint (source->funcs->next (source, NULL)->n_samples, ==, 3);
  g_assert_null (source->funcs->next (source, NULL));
  source->funcs->free (source);
}

/* A source that keeps its reader waiting until the gate opens. */
static struct
{
  GMutex   mutex;
  GCond    cond;
  gboolean open, waiting;
} gate;

static gboolean
gated_read (GradusSource *source,
            const gint64 *samples,
            guint         n,
            void *const  *inputs,
            void *const  *targets,
            GError      **error)
{
  g_mutex_lock (&gate.mutex);
  gate.waiting = TRUE;
  g_cond_broadcast (&gate.cond);
  while (!gate.open)
    g_cond_wait (&gate.cond, &gate.mutex);
  g_mutex_unlock (&gate.mutex);
  for (guint i = 0; i < n; i++)
    ((float *) inputs[0])[i] = ((float *) targets[0])[i] = samples[i];
  return TRUE;
}

static void
open_gate (gboolean open)
{
  g_mutex_lock (&gate.mutex);
  gate.open = open;
  gate.waiting = FALSE;
  g_cond_broadcast (&gate.cond);
  g_mutex_unlock (&gate.mutex);
}

static gpointer
cancel_when_waiting (gpointer data)
{
  GradusBatchSource *source = data;

  g_mutex_lock (&gate.mutex);
  while (!gate.waiting)
    g_cond_wait (&gate.cond, &gate.mutex);
  g_mutex_unlock (&gate.mutex);
  g_usleep (2000);
  source->funcs->cancel (source);
  return NULL;
}

static gpointer
open_later (gpointer data)
{
  g_usleep (5000);
  open_gate (TRUE);
  return NULL;
}

/* next() waits for a source that gives nothing; cancelling ends it although the source still does
 * not answer. A seek goes on where asked. */
static void
test_cancel (void)
{
  g_autoptr (GradusDataset) dataset =
      open_text ("{\"train\":{\"type\":\"generator\",\"generator\":\"line\",\"samples\":100},"
                 "\"pipeline\":[{\"batch\":10},{\"prefetch\":2}]}",
                 1, NULL);
  GradusSource            *gated = dataset->parts[GRADUS_PART_TRAIN].source;
  const GradusSourceFuncs *funcs = gated->funcs;
  GradusSourceFuncs        slow = *funcs;
  GradusBatchSource       *source;
  const GradusBatch       *batch;
  GThread                 *thread;
  g_autoptr (GError) error = NULL;

  slow.read = gated_read;
  gated->funcs = &slow;
  source = open_batches (dataset, GRADUS_PART_TRAIN);
  open_gate (FALSE);
  thread = g_thread_new ("cancel", cancel_when_waiting, source);
  g_assert_null (source->funcs->next (source, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED);
  g_thread_join (thread);
  g_clear_error (&error);
  g_assert_null (source->funcs->next (source, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED);

  thread = g_thread_new ("open", open_later, NULL);
  seek (source, 0, 7);
  batch = source->funcs->next (source, NULL);
  g_assert_cmpint (batch->samples[0], ==, 70);
  g_assert_cmpfloat (((const float *) batch->inputs[0])[3], ==, 73);
  g_thread_join (thread);

  /* Stopping while the maker waits for the source, and for room. */
  seek (source, 0, 1);
  g_assert_nonnull (source->funcs->next (source, NULL));
  open_gate (FALSE);
  source->funcs->set_batch_size (source, 20);
  thread = g_thread_new ("open", open_later, NULL);
  seek (source, 5, 0);
  source->funcs->free (source);
  g_thread_join (thread);
  gated->funcs = funcs;
}

/* Cancelled at any moment and freed at any moment: nothing hangs, nothing is lost. */
static void
test_cancel_anywhen (void)
{
  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *stages =
          g_strdup_printf ("{\"shuffle\":true},{\"batch\":2},{\"prefetch\":%u}", i % 3);
      g_autoptr (GradusDataset) dataset = open_dataset ("images", "", stages, 3);
      GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);
      g_autoptr (GError) error = NULL;
      GThread *thread;

      thread = g_thread_new ("cancel", (GThreadFunc) (gpointer) source->funcs->cancel, source);
      while (source->funcs->next (source, &error) != NULL)
        ;
      g_thread_join (thread);
      g_assert_true (error == NULL
                     || g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED));
      g_clear_error (&error);
      g_assert_null (source->funcs->next (source, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED);
      if (i % 2)
        {
          seek (source, i, i % 50);
          g_assert_nonnull (source->funcs->next (source, NULL));
        }
      source->funcs->free (source);
    }
}

/* A file cut short under way: every batch before, then the error, again and again; a seek back to
 * what is still there goes on. */
static void
test_truncated (void)
{
  static const guint prefetches[] = { 0, 3 };
  g_autofree char   *path = g_build_filename (folder, "images", NULL);

  for (guint p = 0; p < G_N_ELEMENTS (prefetches); p++)
    {
      g_autofree char *stages = g_strdup_printf ("{\"batch\":10},{\"prefetch\":%u}", prefetches[p]);
      g_autoptr (GradusDataset) dataset = open_dataset ("images", "", stages, 3);
      GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);
      g_autoptr (GError) error = NULL;
      guint n = 0;

      g_assert_cmpint (truncate (path, 16 + 45 * PIXELS), ==, 0);
      while (source->funcs->next (source, &error) != NULL)
        n++;
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_IO);
      g_assert_nonnull (strstr (error->message, "images ends at byte 1141"));
      g_assert_cmpint (n, ==, 4);
      g_clear_error (&error);
      g_assert_null (source->funcs->next (source, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_IO);
      seek (source, 0, 0);
      g_assert_nonnull (source->funcs->next (source, NULL));
      source->funcs->free (source);
      write_files ();
    }
}

/* Opened files stay readable when they go. */
static void
test_vanished (void)
{
  g_autoptr (GradusDataset) dataset = open_dataset ("images", "", "{\"batch\":10}", 3);
  GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);
  g_autofree char   *path = g_build_filename (folder, "images", NULL);
  g_autoptr (GArray) order = new_order ();
  g_autoptr (GError) error = NULL;

  g_unlink (path);
  g_assert_cmpint (run_epoch (source, order, NULL), ==, 11);
  source->funcs->free (source);
  g_assert_null (open_text ("{\"train\":{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":"
                            "\"labels\"}}",
                            1, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, path));
  write_files ();
}

static void
test_shape (void)
{
  g_autoptr (GradusDataset) dataset = open_dataset ("images", "", "", 3);
  const gint64 channel[] = { 5, 5, 1 }, front[] = { 1, -1, 5 }, wrong[] = { 5, 4, 1 },
               flat[] = { 25 };
  g_autoptr (GError) error = NULL;
  const GradusArraySpec *spec;
  guint                  n;

  g_assert_false (gradus_dataset_set_input_shape (dataset, 0, 3, wrong, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message,
                            "uint8 (5, 5), but the model's input wants uint8 (5, 4, "
                            "1)"));
  g_clear_error (&error);
  g_assert_false (gradus_dataset_set_input_shape (dataset, 0, 1, flat, NULL));
  g_assert_true (gradus_dataset_set_input_shape (dataset, 0, 3, channel, &error));
  g_assert_no_error (error);
  spec = gradus_dataset_inputs (dataset, &n);
  g_assert_cmpint (spec->rank, ==, 3);
  g_assert_cmpint (spec->dims[2], ==, 1);
  g_assert_true (gradus_dataset_set_input_shape (dataset, 0, 3, front, &error));
  spec = gradus_dataset_inputs (dataset, &n);
  g_assert_cmpint (spec->dims[0], ==, 1);
  g_assert_cmpint (spec->dims[1], ==, 5);
  g_assert_cmpint (gradus_array_spec_bytes (spec), ==, 25);
}

static void
test_labels (void)
{
  g_autoptr (GradusDataset) dataset = open_dataset (
      "images", ",\"test\":{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"labels\"}", "", 3);
  g_autoptr (GError) error = NULL;
  g_autofree char *print = NULL, *same = NULL;

  g_assert_cmpint (gradus_dataset_n_classes (dataset), ==, 10);
  g_assert_null (gradus_dataset_class_names (dataset));
  g_assert_true (gradus_dataset_check_labels (dataset, 10, &error));
  g_assert_false (gradus_dataset_check_labels (dataset, 9, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "labels, sample 9 (byte 17): the label is 9, but the "
                                            "classes are 0 to 8. Correct the label, or give the "
                                            "model 10 classes."));
  print = gradus_dataset_fingerprint (dataset, GRADUS_PART_TRAIN, NULL);
  same = gradus_dataset_fingerprint (dataset, GRADUS_PART_TEST, NULL);
  g_assert_cmpstr (print, ==, same);
  g_assert_null (gradus_dataset_fingerprint (dataset, GRADUS_PART_VALIDATION, NULL));
}

static void
refuse (const char *text, const char *words)
{
  g_autofree char *quoted = g_strdelimit (g_strdup (text), "'", '"');
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = open_text (quoted, 1, &error);

  g_assert_null (dataset);
  g_assert_nonnull (error);
  if (strstr (error->message, words) == NULL)
    g_error ("%s: “%s” does not say “%s”", text, error->message, words);
}

static void
refuse_stages (const char *stages, const char *words)
{
  g_autofree char *text = g_strdup_printf (
      "{'train':{'type':'idx','inputs':'images','targets':'labels'},'pipeline':[%s]}", stages);

  refuse (text, words);
}

#define TRAIN "'train':{'type':'idx','inputs':'images','targets':'labels'}"

static void
test_refusals (void)
{
  refuse ("{}", "/data in r.json: The key “train” is missing");
  refuse ("{'train':{'type':'idx'}}", "/data/train in r.json: The key “inputs” is missing");
  refuse ("{" TRAIN ",'tests':{}}", "Unknown key “tests” at /data in r.json");
  refuse ("{" TRAIN ",'validation':{'split':1.5}}", "/data/validation/split in r.json");
  refuse ("{" TRAIN ",'validation':{'split':0}}", "greater than 0 and less than 1");
  refuse ("{" TRAIN ",'validation':{'split':0.1,'stratify':true}}",
          "/data/validation/stratify in r.json: “stratify” is not available in this version");
  refuse ("{" TRAIN ",'validation':{'split':0.1,'splat':true}}", "Unknown key “splat”");
  refuse ("{" TRAIN ",'validation':{'folds':5,'fold':0}}", "“folds” is not available");
  refuse ("{" TRAIN ",'on_error':{'skip':3}}", "“skip” is not available");
  refuse ("{" TRAIN ",'test':{'type':'generator','generator':'line'}}",
          "/data/test in r.json: These samples have inputs float32 (1), but those of “train” have "
          "inputs uint8 (5, 5)");
  refuse ("{" TRAIN ",'test':{'type':'idx','inputs':'none','targets':'labels'}}", "is not there");

  refuse_stages ("3", "/data/pipeline/0 in r.json: An object is expected, but 3 is there");
  refuse_stages ("{}", "A stage is an object with one key, its name; 0 keys are there");
  refuse_stages ("{'cache':'memory','batch':3}", "2 keys are there");
  refuse_stages ("{'shufle':true}", "There is no stage “shufle”; did you mean “shuffle”?");
  refuse_stages ("{'cache':'memory'},{'resize':{'size':[3,3]}}",
                 "/data/pipeline/1 in r.json: “resize” is not available in this version");
  refuse_stages ("{'cache':{'file':'x'}}", "“file” is not available");
  refuse_stages ("{'cache':'disk'}", "One of “memory” is expected, but the string “disk” is there");
  refuse_stages ("{'cache':null}", "The key “cache” is missing");
  refuse_stages ("{'shuffle':{'window':100}}", "“window” is not available");
  refuse_stages ("{'shuffle':1}", "true or false is expected, but 1 is there");
  refuse_stages ("{'batch':0}",
                 "/data/pipeline/0/batch in r.json: A whole number from 1 to 1048576");
  refuse_stages ("{'batch':{'size':3,'pad':true}}", "“pad” is not available");
  refuse_stages ("{'batch':{'sise':3}}", "Unknown key “sise” at /data/pipeline/0/batch in r.json; "
                                         "did you mean “size”?");
  refuse_stages ("{'batch':3},{'batch':4}", "“batch” stands twice");
  refuse_stages ("{'batch':3},{'shuffle':true}",
                 "/data/pipeline/1 in r.json: “shuffle” stands after “batch”");
  refuse_stages ("{'prefetch':'fast'}", "One of “auto”");
  refuse_stages ("{'prefetch':1025}", "A whole number from 0 to 1024");
  refuse_stages ("{'cast':'float16'}", "One of “float32”");
  refuse_stages ("{'rescale':{'scale':'1/255'}}",
                 "/data/pipeline/0/rescale/scale in r.json: A number from -1e+30 to 1e+30 is "
                 "expected, but the string “1/255” is there");
  refuse_stages ("{'rescale':{'factor':2}}", "Unknown key “factor”");
  refuse_stages ("{'one_hot':{'classes':9}}",
                 "labels, sample 9 (byte 17): the label is 9, but the classes are 0 to 8");
  refuse_stages ("{'batch':{'size':104,'drop_remainder':true}}",
                 "There are 103 samples for training, fewer than one batch of 104");
}

static void
test_warnings (void)
{
  g_autoptr (GradusDataset) fine = open_dataset (
      "images", "",
      "{\"cache\":\"memory\"},{\"shuffle\":true},{\"batch\":4},{\"prefetch\":\"auto\"}", 1);
  g_autoptr (GradusDataset) odd = open_dataset (
      "images", "", "{\"prefetch\":2},{\"shuffle\":true},{\"batch\":4},{\"cache\":\"memory\"}", 1);
  const char *const *warnings = gradus_dataset_warnings (odd);

  g_assert_null (gradus_dataset_warnings (fine)[0]);
  g_assert_cmpint (g_strv_length ((char **) warnings), ==, 3);
  g_assert_true (
      g_str_has_prefix (warnings[0], "/data/pipeline/3: “cache” stands after “shuffle”"));
  g_assert_true (g_str_has_prefix (warnings[1], "/data/pipeline/3: “cache” stands after “batch”"));
  g_assert_true (g_str_has_prefix (warnings[2], "/data/pipeline/0: “prefetch” is not the last"));
}

static void
test_memory (void)
{
  g_autoptr (GradusDataset) plain = open_dataset ("images", "", "{\"batch\":10}", 1);
  g_autoptr (GradusDataset) cached = open_dataset (
      "images", ",\"validation\":{\"split\":0.1}",
      "{\"cache\":\"memory\"},{\"batch\":10},{\"cast\":\"float32\"},{\"prefetch\":3}", 1);
  g_autoptr (GradusDataset) packed = open_dataset ("images.gz", "", "{\"batch\":10}", 1);
  GradusDatasetMemory memory = gradus_dataset_memory (plain, 0);

  g_assert_cmpint (memory.sources, ==, 0);
  g_assert_cmpint (memory.cache, ==, 0);
  g_assert_cmpint (memory.batches, ==, 10 * (25 + 4 + 8) + 10 * 26);
  memory = gradus_dataset_memory (cached, 20);
  g_assert_cmpint (memory.cache, ==, N * 27);
  g_assert_cmpint (memory.batches, ==, 2 * 4 * 20 * (100 + 4 + 8));
  memory = gradus_dataset_memory (packed, 0);
  g_assert_cmpint (memory.sources, ==, N * 25);
}

static void
test_describe (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = open_text (
      "{\"train\":{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"labels\",\"class_names\":"
      "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"]},\"pipeline\":[{\"batch\":4},"
      "{\"rescale\":{\"scale\":0.5}},{\"shuffle\":false},{\"cast\":\"float32\"}]}",
      1, &error);
  g_autoptr (JsonObject) description = NULL;
  g_autoptr (JsonNode) node = NULL;
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (gradus_dataset_class_names (dataset)[9], ==, "j");
  description = gradus_dataset_describe (dataset);
  node = json_node_init_object (json_node_alloc (), description);
  text = gradus_json_to_string (node, FALSE);
  g_assert_cmpstr (
      text, ==,
      "{\"stages\":[{\"rescale\":{\"scale\":0.5}},{\"cast\":\"float32\"}],"
      "\"inputs\":[{\"name\":\"inputs\",\"dtype\":\"uint8\",\"shape\":[5,5]}],"
      "\"class_names\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"]}");
}

static void
test_stats (void)
{
  g_autoptr (GradusDataset) dataset =
      open_dataset ("images", "", "{\"batch\":10},{\"prefetch\":3}", 1);
  GradusBatchSource *source = open_batches (dataset, GRADUS_PART_TRAIN);
  GradusBatchStats   stats;

  g_assert_nonnull (source->funcs->next (source, NULL));
  for (guint i = 0; i < 1000; i++)
    {
      gradus_batch_source_stats (source, &stats);
      if (stats.ready == 3)
        break;
      g_usleep (1000);
    }
  g_assert_cmpint (stats.ready, ==, 3);
  g_assert_cmpint (stats.capacity, ==, 3);
  g_assert_cmpint (stats.batches, ==, 4);
  g_assert_cmpint (stats.samples, ==, 40);
  g_assert_cmpint (stats.read_ns, >, 0);
  g_assert_cmpint (stats.convert_ns, >, 0);
  source->funcs->free (source);
}

static void
test_line (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = open_text (
      "{\"train\":{\"type\":\"generator\",\"generator\":\"line\",\"samples\":2000,\"noise\":0.1},"
      "\"test\":{\"type\":\"generator\",\"generator\":\"line\",\"samples\":2000,\"noise\":0},"
      "\"pipeline\":[{\"cache\":\"memory\"},{\"shuffle\":true},{\"batch\":32}]}",
      42, &error);
  double             sum = 0, squares = 0, xs = 0;
  GradusBatchSource *source;
  const GradusBatch *batch;
  float              first = 0;

  g_assert_no_error (error);
  source = open_batches (dataset, GRADUS_PART_TRAIN);
  while ((batch = source->funcs->next (source, NULL)) != NULL)
    for (guint i = 0; i < batch->n_samples; i++)
      {
        float  x = ((const float *) batch->inputs[0])[i];
        double rest = ((const float *) batch->targets[0])[i] - (3 * x + 2);

        g_assert_true (x >= -1 && x < 1);
        if (batch->samples[i] == 0)
          first = x;
        xs += x * x;
        sum += rest;
        squares += rest * rest;
      }
  g_assert_cmpfloat_with_epsilon (sum / 2000, 0, 0.012);
  g_assert_cmpfloat_with_epsilon (sqrt (squares / 2000), 0.1, 0.01);
  g_assert_cmpfloat_with_epsilon (xs / 2000, 1.0 / 3, 0.04);
  source->funcs->free (source);

  /* The test's points are others, and without noise they lie on the line. */
  source = open_batches (dataset, GRADUS_PART_TEST);
  batch = source->funcs->next (source, NULL);
  g_assert_cmpfloat (((const float *) batch->inputs[0])[0], !=, first);
  for (guint i = 0; i < batch->n_samples; i++)
    g_assert_cmpfloat_with_epsilon (((const float *) batch->targets[0])[i],
                                    3 * ((const float *) batch->inputs[0])[i] + 2, 1e-6);
  source->funcs->free (source);
}

/* Every size of both parts: disjoint, complete, ascending; other seeds draw other samples. */
static void
test_subset (void)
{
  for (gint64 n = 2; n <= 70; n++)
    for (gint64 count = 1; count < n; count++)
      {
        GradusSubset        parts[2];
        g_autofree guint8 *seen = g_new0 (guint8, n);

        gradus_subset_draw (n, n, count, &parts[0], &parts[1]);
        g_assert_cmpint (gradus_subset_size (&parts[0]), ==, count);
        g_assert_cmpint (gradus_subset_size (&parts[1]), ==, n - count);
        for (guint k = 0; k < 2; k++)
          for (gint64 i = 0, before = -1; i < gradus_subset_size (&parts[k]); i++)
            {
              gint64 at = gradus_subset_at (&parts[k], i);

              g_assert_cmpint (at, >, before);
              g_assert_cmpint (at, <, n);
              g_assert_cmpint (seen[at]++, ==, 0);
              before = at;
            }
      }
}

/* As many samples as the generator makes are split in no time and no memory. */
static void
test_split_large (void)
{
  gint64 begun = g_get_monotonic_time ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = open_text (
      "{\"train\":{\"type\":\"generator\",\"generator\":\"line\",\"samples\":1000000000},"
      "\"validation\":{\"split\":0.1},\"pipeline\":[{\"shuffle\":true},{\"batch\":64}]}",
      3, &error);
  GradusBatchSource *train = NULL;

  g_assert_no_error (error);
  g_assert_cmpint (gradus_dataset_n_samples (dataset, GRADUS_PART_TRAIN), ==, 900000000);
  train = open_batches (dataset, GRADUS_PART_TRAIN);
  g_assert_nonnull (train->funcs->next (train, NULL));
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 2 * G_USEC_PER_SEC);
  train->funcs->free (train);
}

/* The targets are the inputs as the model gets them, in its shape. */
static void
test_echo (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset =
      open_text ("{\"train\":{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"inputs\"},"
                 "\"pipeline\":[{\"batch\":10},{\"rescale\":{\"scale\":0.5}}]}",
                 1, &error);
  const gint64           wanted[] = { SIDE, SIDE, 1 };
  const GradusArraySpec *targets;
  const GradusBatch     *batch;
  GradusBatchSource     *source;
  guint                  n;

  g_assert_no_error (error);
  g_assert_true (gradus_dataset_set_input_shape (dataset, 0, 3, wanted, &error));
  targets = gradus_dataset_targets (dataset, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (targets[0].rank, ==, 3);
  g_assert_cmpint (targets[0].dtype, ==, GRADUS_DTYPE_FLOAT32);
  source = open_batches (dataset, GRADUS_PART_TRAIN);
  seek (source, 0, 1);
  batch = source->funcs->next (source, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < PIXELS; i++)
    g_assert_cmpfloat (((const float *) batch->targets[0])[i], ==, 0.5f * pixel (10, i));
  source->funcs->free (source);
}

/* Each generator: finite, other samples in another part, classes in range, all of them met. */
static void
test_generators (void)
{
  static const struct
  {
    const char *spec;
    gint64      classes;
    gint64      features;
  } kinds[] = { { "\"blobs\",\"features\":3,\"classes\":4", 4, 3 },
                { "\"moons\"", 2, 2 },
                { "\"circles\"", 2, 2 },
                { "\"spirals\",\"classes\":5", 5, 2 },
                { "\"xor\",\"features\":3", 2, 3 },
                { "\"sine\"", 0, 1 },
                { "\"regression\",\"features\":5", 0, 5 },
                { "\"shapes\",\"targets\":[\"shape\"]", 3, 32 } };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_autofree char *text =
          g_strdup_printf ("{\"train\":{\"type\":\"generator\",\"generator\":%s,\"samples\":200},"
                           "\"test\":{\"type\":\"generator\",\"generator\":%s,\"samples\":200},"
                           "\"pipeline\":[{\"batch\":200}]}",
                           kinds[k].spec, kinds[k].spec);
      g_autoptr (GError) error = NULL;
      g_autoptr (GradusDataset) dataset = open_text (text, 1, &error);
      GradusBatchSource *parts[2];
      const GradusBatch *batches[2];
      guint              n;
      gsize              values;

      g_assert_no_error (error);
      g_assert_cmpint (gradus_dataset_n_classes (dataset), ==, kinds[k].classes);
      g_assert_cmpint (gradus_dataset_inputs (dataset, &n)[0].dims[0], ==, kinds[k].features);
      values = 200 * gradus_array_spec_bytes (gradus_dataset_inputs (dataset, &n)) / sizeof (float);
      for (guint i = 0; i < 2; i++)
        {
          parts[i] = open_batches (dataset, i == 0 ? GRADUS_PART_TRAIN : GRADUS_PART_TEST);
          batches[i] = parts[i]->funcs->next (parts[i], &error);
          g_assert_no_error (error);
        }
      g_assert_cmpint (memcmp (batches[0]->inputs[0], batches[1]->inputs[0], values * sizeof (float)),
                       !=, 0);
      for (gsize i = 0; i < values; i++)
        g_assert_true (isfinite (((const float *) batches[0]->inputs[0])[i]));
      g_assert_true (gradus_dataset_check_labels (dataset, MAX (kinds[k].classes, 1), &error)
                     || kinds[k].classes == 0);
      g_clear_error (&error);
      for (guint i = 0; i < 2; i++)
        parts[i]->funcs->free (parts[i]);
    }
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradus-pipeline-XXXXXX", NULL);
  write_files ();
  g_test_add_func ("/pipeline/subset", test_subset);
  g_test_add_func ("/pipeline/split-large", test_split_large);
  g_test_add_func ("/pipeline/values", test_values);
  g_test_add_func ("/pipeline/dtypes", test_dtypes);
  g_test_add_func ("/pipeline/order", test_order);
  g_test_add_func ("/pipeline/split", test_split);
  g_test_add_func ("/pipeline/identical", test_identical);
  g_test_add_func ("/pipeline/seek", test_seek);
  g_test_add_func ("/pipeline/lent", test_lent);
  g_test_add_func ("/pipeline/batch-size", test_batch_size);
  g_test_add_func ("/pipeline/cancel", test_cancel);
  g_test_add_func ("/pipeline/cancel-anywhen", test_cancel_anywhen);
  g_test_add_func ("/pipeline/truncated", test_truncated);
  g_test_add_func ("/pipeline/vanished", test_vanished);
  g_test_add_func ("/pipeline/shape", test_shape);
  g_test_add_func ("/pipeline/labels", test_labels);
  g_test_add_func ("/pipeline/refusals", test_refusals);
  g_test_add_func ("/pipeline/warnings", test_warnings);
  g_test_add_func ("/pipeline/memory", test_memory);
  g_test_add_func ("/pipeline/describe", test_describe);
  g_test_add_func ("/pipeline/stats", test_stats);
  g_test_add_func ("/pipeline/line", test_line);
  g_test_add_func ("/pipeline/echo", test_echo);
  g_test_add_func ("/pipeline/generators", test_generators);
  status = g_test_run ();
  remove_folder (folder);
  g_free (folder);
  return status;
}
