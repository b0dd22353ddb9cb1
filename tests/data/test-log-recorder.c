/* SPDX-License-Identifier: Apache-2.0 */
#include "log-fixture.h"

static gboolean
same_double (double a, double b)
{
  return memcmp (&a, &b, sizeof a) == 0 || (isnan (a) && isnan (b));
}

static void
check_rows (LogFixture   *f,
            gint64        run,
            const char   *name,
            const gint64 *steps,
            const double *values,
            guint         n)
{
  g_autoptr (GArray) rows = log_read_scalars (f->workspace, run, name);

  g_assert_cmpuint (rows->len, ==, n);
  for (guint i = 0; i < n; i++)
    {
      const GradusScalar *row = &g_array_index (rows, GradusScalar, i);

      g_assert_cmpint (row->step, ==, steps[i]);
      g_assert_true (same_double (row->value, values[i]));
    }
}

static void
test_non_finite (LogFixture *f, gconstpointer data)
{
  const double    values[] = { 1.5, NAN, INFINITY, -INFINITY, 0, 5e-324, 1.7976931348623157e308 };
  const gint64    steps[] = { 1, 2, 3, 4, 5, 6, 7 };
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  guint           series = log_scalar_series (observer, "train/loss");
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusSeriesInfo) info = NULL;

  for (int i = 0; i < 7; i++)
    observer->funcs->scalar (observer, series, steps[i], values[i]);
  log_flush (recorder);
  check_rows (f, run, "train/loss", steps, values, 7);
  info = gradus_log_reader_find_series (reader, run, "train/loss", NULL);
  g_assert_cmpint (info->count, ==, 7);
  g_assert_cmpint (info->n_nan, ==, 1);
  g_assert_cmpint (info->n_pinf, ==, 1);
  g_assert_cmpint (info->n_ninf, ==, 1);
  g_assert_cmpfloat (info->min, ==, 0);
  g_assert_cmpint (info->min_step, ==, 5);
  g_assert_cmpint (info->max_step, ==, 7);
  g_assert_cmpfloat (info->last_value, ==, values[6]);
  g_assert_cmpint (log_sql_int (gradus_workspace_log_path (f->workspace),
                                "SELECT count(*) FROM scalar WHERE value IS NULL"),
                   ==, 1);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

/* Rows out of order, twice at a step within a commit, and again in a later one: the last counts. */
static void
test_order (LogFixture *f, gconstpointer data)
{
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  guint           a = log_scalar_series (observer, "a");
  guint           b = log_scalar_series (observer, "b");
  const gint64    steps[] = { 1, 2, 3 };
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusSeriesInfo) info = NULL;

  g_assert_cmpuint (log_scalar_series (observer, "a"), ==, a);
  observer->funcs->scalar (observer, b, 2, 20);
  observer->funcs->scalar (observer, a, 3, 3);
  observer->funcs->scalar (observer, a, 1, 1);
  observer->funcs->scalar (observer, b, 1, 10);
  observer->funcs->scalar (observer, a, 2, -7);
  observer->funcs->scalar (observer, a, 2, 2);
  observer->funcs->scalar (observer, b, 3, 30);
  log_flush (recorder);
  check_rows (f, run, "a", steps, (const double[]){ 1, 2, 3 }, 3);
  check_rows (f, run, "b", steps, (const double[]){ 10, 20, 30 }, 3);

  observer->funcs->scalar (observer, a, 2, 99);
  log_flush (recorder);
  check_rows (f, run, "a", steps, (const double[]){ 1, 99, 3 }, 3);
  info = gradus_log_reader_find_series (reader, run, "a", NULL);
  g_assert_cmpint (info->count, ==, 3);
  g_assert_cmpfloat (info->max, ==, 99);
  g_assert_cmpfloat (info->min, ==, 1);
  g_assert_cmpfloat (info->last_value, ==, 3);
  g_assert_cmpint (info->generation, >, 0);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

/* A matrix of counts at two steps; written again at one, the last counts. */
static void
test_matrices (LogFixture *f, gconstpointer data)
{
  static const double counts[] = { 5, 1, 0, 7 }, later[] = { 6, 0, 0, 7 };
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  guint           series = observer->funcs->series (observer, "validation/confusion_matrix",
                                                    GRADUS_SERIES_MATRIX);
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusSeriesInfo) info = NULL;
  const char *path = gradus_workspace_log_path (f->workspace);

  observer->funcs->blob (observer, series, 10, "float64 2x2", counts, sizeof counts);
  observer->funcs->blob (observer, series, 20, "float64 2x2", counts, sizeof counts);
  log_flush (recorder);
  observer->funcs->blob (observer, series, 20, "float64 2x2", later, sizeof later);
  log_flush (recorder);
  info = gradus_log_reader_find_series (reader, run, "validation/confusion_matrix", NULL);
  g_assert_cmpint (info->kind, ==, GRADUS_SERIES_MATRIX);
  g_assert_cmpint (info->count, ==, 2);
  g_assert_cmpint (log_sql_int (path, "SELECT count(*) FROM blob WHERE step = 20 AND format ="
                                      " 'float64 2x2' AND hex(data) LIKE '0000000000001840%'"),
                   ==, 1);
  g_assert_cmpint (log_sql_int (path, "SELECT sum(length(data)) FROM blob"), ==, 64);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

/* What the pyramid says must be what reading every row says. */

static void
brute_force (const GArray *rows, double step0, double step1, guint n, GradusLogColumn *out)
{
  memset (out, 0, n * sizeof *out);
  for (guint i = 0; i < rows->len; i++)
    {
      const GradusScalar *row = &g_array_index (rows, GradusScalar, i);
      double              x = (double) row->step;
      guint               column;
      GradusLogColumn    *c;

      if (x < step0 || x > step1)
        continue;
      column = x == step1 ? n - 1 : MIN ((guint) ((x - step0) / (step1 - step0) * n), n - 1);
      c = &out[column];
      if (c->count++ == 0)
        {
          c->first_step = row->step;
          c->first_time = row->time;
          c->first = row->value;
          c->min = c->max = NAN;
        }
      c->last_step = row->step;
      c->last_time = row->time;
      c->last = row->value;
      c->n_nan += isnan (row->value);
      c->n_pinf += isinf (row->value) && row->value > 0;
      c->n_ninf += isinf (row->value) && row->value < 0;
      if (!isfinite (row->value))
        continue;
      c->sum += row->value;
      if (isnan (c->min) || row->value < c->min)
        c->min = row->value, c->min_step = row->step;
      if (isnan (c->max) || row->value > c->max)
        c->max = row->value, c->max_step = row->step;
    }
}

static void
assert_columns (const GradusLogColumn *a, const GradusLogColumn *b, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpint (a[i].count, ==, b[i].count);
      if (a[i].count == 0)
        continue;
      g_assert_cmpint (a[i].first_step, ==, b[i].first_step);
      g_assert_cmpint (a[i].last_step, ==, b[i].last_step);
      g_assert_cmpint (a[i].first_time, ==, b[i].first_time);
      g_assert_cmpint (a[i].last_time, ==, b[i].last_time);
      g_assert_true (same_double (a[i].first, b[i].first));
      g_assert_true (same_double (a[i].last, b[i].last));
      g_assert_true (same_double (a[i].min, b[i].min));
      g_assert_true (same_double (a[i].max, b[i].max));
      if (!isnan (a[i].min))
        {
          g_assert_cmpint (a[i].min_step, ==, b[i].min_step);
          g_assert_cmpint (a[i].max_step, ==, b[i].max_step);
        }
      g_assert_cmpfloat_with_epsilon (a[i].sum, b[i].sum, 1e-6);
      g_assert_cmpint (a[i].n_nan, ==, b[i].n_nan);
      g_assert_cmpint (a[i].n_pinf, ==, b[i].n_pinf);
      g_assert_cmpint (a[i].n_ninf, ==, b[i].n_ninf);
    }
}

static double
random_value (GRand *rand)
{
  switch (g_rand_int_range (rand, 0, 200))
    {
    case 0:
      return NAN;
    case 1:
      return INFINITY;
    case 2:
      return -INFINITY;
    default:
      return g_rand_double_range (rand, -100, 100);
    }
}

static void
check_pyramid (LogFixture *f, gint64 run, GRand *rand)
{
  g_autoptr (GArray) rows = log_read_scalars (f->workspace, run, "x");
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusSeriesInfo) info = gradus_log_reader_find_series (reader, run, "x", NULL);
  GradusLogColumn total;

  g_assert_cmpint (info->count, ==, rows->len);
  brute_force (rows, -1e15, 1e15, 1, &total);
  if (rows->len > 0)
    {
      g_assert_cmpint (info->first_step, ==, total.first_step);
      g_assert_cmpint (info->last_step, ==, total.last_step);
      g_assert_true (same_double (info->min, total.min));
      g_assert_true (same_double (info->max, total.max));
      g_assert_cmpint (info->n_nan, ==, total.n_nan);
    }
  for (int i = 0; i < 20; i++)
    {
      guint                       n = (guint) g_rand_int_range (rand, 1, 300);
      double                      last = rows->len > 0 ? (double) info->last_step : 1;
      double                      step0 = g_rand_double_range (rand, -10, last);
      double                      step1 = g_rand_double_range (rand, step0, last + 10);
      g_autofree GradusLogColumn *expected = g_new (GradusLogColumn, n);
      g_autofree GradusLogColumn *found = g_new (GradusLogColumn, n);
      g_autoptr (GError) error = NULL;

      if (i == 0)
        step0 = 0, step1 = last;
      brute_force (rows, step0, step1, n, expected);
      gradus_log_reader_columns (reader, info->id, step0, step1, n, found, &error);
      g_assert_no_error (error);
      assert_columns (found, expected, n);
    }
}

static void
test_pyramid (LogFixture *f, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (g_test_rand_int ());

  for (int round = 0; round < 6; round++)
    {
      g_autofree char *name = g_strdup_printf ("run %d", round);
      gint64           run = log_make_run (f->workspace, name);
      GradusRecorder  *recorder = log_make_recorder (f->workspace);
      GradusObserver  *observer = log_attach (recorder, run);
      guint            series = log_scalar_series (observer, "x");
      gint64           step = 0;

      for (int part = 0; part < 5; part++)
        {
          /* 64 * 64 and its neighbours among the sizes. */
          int n = part == 0 ? 4095 + round : g_rand_int_range (rand, 1, 9000);

          for (int i = 0; i < n; i++)
            {
              step += g_rand_int_range (rand, 1, 4);
              observer->funcs->scalar (observer, series, step, random_value (rand));
            }
          log_flush (recorder);
          check_pyramid (f, run, rand);
          if (part == 2)
            {
              /* Rows in the middle change. */
              for (int i = 0; i < 50; i++)
                observer->funcs->scalar (observer, series, g_rand_int_range (rand, 1, (gint32) step),
                                         random_value (rand));
              log_flush (recorder);
              check_pyramid (f, run, rand);
            }
          else if (part % 2 == 1)
            {
              g_autoptr (GError) error = NULL;

              step = g_rand_int_range (rand, 0, (gint32) step);
              gradus_recorder_rewind (recorder, observer, step, &error);
              g_assert_no_error (error);
              check_pyramid (f, run, rand);
            }
          if (part == 3)
            {
              /* Another process takes it up from here. */
              gradus_recorder_detach (recorder, observer);
              gradus_recorder_free (recorder);
              recorder = log_make_recorder (f->workspace);
              observer = log_attach (recorder, run);
              series = log_scalar_series (observer, "x");
            }
        }
      gradus_recorder_detach (recorder, observer);
      gradus_recorder_free (recorder);
    }
}

static void
add_histogram (GradusObserver *observer, guint series, gint64 step)
{
  const double          edges[] = { -1, 0, 1, (double) step };
  const double          counts[] = { 1, 2, 3 };
  const GradusHistogram histogram = { -1, 1, NAN, 0.5, 9, 1, 1, 1, 3, edges, counts };

  observer->funcs->histogram (observer, series, step, &histogram);
}

static void
test_histograms (LogFixture *f, gconstpointer data)
{
  const GradusHistogram empty = { NAN, NAN, NAN, NAN, 4, 0, 4, 0, 0, NULL, NULL };
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  guint series = observer->funcs->series (observer, "weight/dense/kernel", GRADUS_SERIES_HISTOGRAM);
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusSeriesInfo) info = NULL;
  g_autoptr (GradusLogHistogram) nearest = NULL;
  g_autoptr (GradusLogHistogram) none = NULL;
  g_autoptr (GradusLogHistogram) first = NULL;
  g_autoptr (GPtrArray) some = NULL;
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (gint64 step = 64; step <= 640; step += 64)
    add_histogram (observer, series, step);
  add_histogram (observer, series, 128);
  observer->funcs->histogram (observer, series, 700, &empty);
  log_flush (recorder);
  info = gradus_log_reader_find_series (reader, run, "weight/dense/kernel", NULL);
  g_assert_cmpint (info->kind, ==, GRADUS_SERIES_HISTOGRAM);
  g_assert_cmpint (info->count, ==, 11);
  g_assert_cmpint (info->last_step, ==, 700);
  g_assert_true (gradus_log_reader_histogram_steps (reader, info->id, 64, steps, NULL));
  g_assert_cmpuint (steps->len, ==, 10);

  nearest = gradus_log_reader_histogram (reader, info->id, 200, NULL);
  g_assert_cmpint (nearest->step, ==, 192);
  g_assert_cmpuint (nearest->histogram.n, ==, 3);
  g_assert_cmpfloat (nearest->histogram.edges[3], ==, 192);
  g_assert_cmpfloat (nearest->histogram.counts[2], ==, 3);
  g_assert_true (isnan (nearest->histogram.mean));
  g_assert_cmpint (nearest->histogram.count, ==, 9);
  first = gradus_log_reader_histogram (reader, info->id, 1, NULL);
  g_assert_cmpint (first->step, ==, 64);

  none = gradus_log_reader_histogram (reader, info->id, 700, NULL);
  g_assert_cmpuint (none->histogram.n, ==, 0);
  g_assert_cmpint (none->histogram.nans, ==, 4);
  g_assert_true (isnan (none->histogram.min));

  some = gradus_log_reader_histograms (reader, info->id, 64, 640, 4, NULL);
  g_assert_cmpuint (some->len, ==, 4);
  g_assert_cmpint (((GradusLogHistogram *)g_ptr_array_index (some, 0))->step, ==, 64);
  g_assert_cmpint (((GradusLogHistogram *)g_ptr_array_index (some, 3))->step, ==, 640);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

static void
test_events (LogFixture *f, gconstpointer data)
{
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GPtrArray) events = NULL;
  g_autoptr (GPtrArray) later = NULL;
  g_autoptr (GPtrArray) checkpoints = NULL;
  g_autoptr (GradusRunInfo) info = NULL;
  const GradusCheckpointInfo one = {
    10, "checkpoints/u/step-10.safetensors", 99, "ab", "{}", TRUE
  };
  const GradusCheckpointInfo two = {
    20, "checkpoints/u/step-20.safetensors", 98, "cd", NULL, TRUE
  };
  GradusLogEvent            *event;
  const GradusLogCheckpoint *checkpoint;

  observer->funcs->status (observer, 0, GRADUS_RUN_RUNNING, "Training began.");
  observer->funcs->event (observer, 7, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_WARNING, "train/loss",
                          "The loss jumps.", "{\"rule\":\"spike\"}");
  observer->funcs->event (observer, 8, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_ERROR, NULL, NULL,
                          NULL);
  observer->funcs->checkpoint (observer, &one);
  observer->funcs->checkpoint (observer, &two);
  observer->funcs->checkpoint_removed (observer, 10);
  events = gradus_log_reader_events (reader, run, 0, NULL);
  g_assert_cmpuint (events->len, ==, 5);
  event = g_ptr_array_index (events, 1);
  g_assert_cmpint (event->step, ==, 7);
  g_assert_cmpint (event->kind, ==, GRADUS_EVENT_FINDING);
  g_assert_cmpint (event->severity, ==, GRADUS_SEVERITY_WARNING);
  g_assert_cmpstr (event->subject, ==, "train/loss");
  g_assert_cmpstr (event->message, ==, "The loss jumps.");
  g_assert_cmpstr (event->data, ==, "{\"rule\":\"spike\"}");
  g_assert_cmpstr (((GradusLogEvent *)g_ptr_array_index (events, 2))->message, ==, "");
  later = gradus_log_reader_events (reader, 0, event->id, NULL);
  g_assert_cmpuint (later->len, ==, 3);

  checkpoints = gradus_log_reader_checkpoints (reader, run, NULL);
  g_assert_cmpuint (checkpoints->len, ==, 1);
  checkpoint = g_ptr_array_index (checkpoints, 0);
  g_assert_cmpint (checkpoint->step, ==, 20);
  g_assert_cmpstr (checkpoint->path, ==, two.path);
  g_assert_true (checkpoint->best);
  g_assert_null (checkpoint->metrics);

  observer->funcs->status (observer, 20, GRADUS_RUN_FINISHED, "Done.");
  gradus_recorder_detach (recorder, observer);
  info = gradus_log_reader_run (reader, run, NULL);
  g_assert_cmpint (info->status, ==, GRADUS_RUN_FINISHED);
  g_assert_cmpint (info->finished, >, 0);
  g_assert_cmpuint (info->n_findings, ==, 2);
  g_assert_cmpint (info->worst, ==, GRADUS_SEVERITY_ERROR);
  gradus_recorder_free (recorder);
}

/* A rewind takes histograms, checkpoints and findings along, and says so. */
static void
test_rewind (LogFixture *f, gconstpointer data)
{
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  guint           scalar = log_scalar_series (observer, "train/loss");
  guint           histogram = observer->funcs->series (observer, "w", GRADUS_SERIES_HISTOGRAM);
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSeriesInfo) info = NULL;
  g_autoptr (GPtrArray) events = NULL;
  g_autofree char           *file = g_build_filename (f->path, "checkpoints", "late", NULL);
  const GradusCheckpointInfo late = { 90, "checkpoints/late", 1, "ab", "{}", FALSE };
  const GradusLogEvent      *event;

  for (gint64 step = 1; step <= 100; step++)
    {
      observer->funcs->scalar (observer, scalar, step, (double) step);
      add_histogram (observer, histogram, step);
    }
  observer->funcs->event (observer, 70, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_NOTE, "", "", NULL);
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  observer->funcs->checkpoint (observer, &late);
  gradus_recorder_rewind (recorder, observer, 50, &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (file, G_FILE_TEST_EXISTS));
  info = gradus_log_reader_find_series (reader, run, "w", NULL);
  g_assert_cmpint (info->count, ==, 50);
  g_assert_cmpint (info->last_step, ==, 50);
  events = gradus_log_reader_events (reader, run, 0, NULL);
  g_assert_cmpuint (events->len, ==, 1);
  event = g_ptr_array_index (events, 0);
  g_assert_cmpstr (event->subject, ==, "rewind");
  g_assert_cmpint (event->step, ==, 50);

  observer->funcs->scalar (observer, scalar, 51, -1);
  log_flush (recorder);
  {
    g_autoptr (GArray) rows = log_read_scalars (f->workspace, run, "train/loss");

    g_assert_cmpuint (rows->len, ==, 51);
    g_assert_cmpfloat (g_array_index (rows, GradusScalar, 50).value, ==, -1);
  }
  gradus_recorder_rewind (recorder, observer, 0, &error);
  g_assert_no_error (error);
  {
    g_autoptr (GArray) rows = log_read_scalars (f->workspace, run, "train/loss");

    g_assert_cmpuint (rows->len, ==, 0);
  }
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

typedef struct
{
  GradusObserver *observer;
  guint           series;
  gint64          first;
} Producer;

static gpointer
produce (gpointer data)
{
  Producer *self = data;

  for (gint64 i = 0; i < 30000; i++)
    self->observer->funcs->scalar (self->observer, self->series, self->first + i, (double) i);
  return NULL;
}

/* A queue of 64 and four producers of two runs: they wait, and nothing is lost. */
static void
test_full_queue (LogFixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  GradusRecorder     *recorder = gradus_recorder_new (f->workspace, 64, NULL, NULL, &error);
  gint64              runs[2];
  GradusObserver     *observers[2];
  Producer            producers[4];
  GThread            *threads[4];
  GradusRecorderStats stats;

  g_assert_no_error (error);
  for (int i = 0; i < 2; i++)
    {
      runs[i] = log_make_run (f->workspace, i == 0 ? "one" : "two");
      observers[i] = log_attach (recorder, runs[i]);
    }
  for (int i = 0; i < 4; i++)
    {
      producers[i] = (Producer){ observers[i / 2], 0, 1 };
      producers[i].series = log_scalar_series (observers[i / 2], i % 2 == 0 ? "a" : "b");
      threads[i] = g_thread_new ("producer", produce, &producers[i]);
    }
  for (int i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  log_flush (recorder);
  gradus_recorder_get_stats (recorder, &stats);
  g_assert_cmpuint (stats.waits, >, 0);
  g_assert_cmpuint (stats.committed, ==, 120000);
  for (int i = 0; i < 4; i++)
    {
      g_autoptr (GArray) rows =
          log_read_scalars (f->workspace, runs[i / 2], i % 2 == 0 ? "a" : "b");

      g_assert_cmpuint (rows->len, ==, 30000);
    }
  for (int i = 0; i < 2; i++)
    gradus_recorder_detach (recorder, observers[i]);
  gradus_recorder_free (recorder);
}

typedef struct
{
  GMutex          lock;
  GString        *seen;
  GradusObserver *observer;
  gint            n;
} Commands;

static void
command_cb (gint64 run, gint64 id, const char *command, gpointer user_data)
{
  Commands *self = user_data;

  g_mutex_lock (&self->lock);
  g_string_append_printf (self->seen, "%s;", command);
  g_mutex_unlock (&self->lock);
  /* Answered on the spot, as a trainer that waits would. */
  self->observer->funcs->command_taken (self->observer, id, 42,
                                        strstr (command, "bad") != NULL ? "No such thing." : NULL);
  g_atomic_int_inc (&self->n);
}

static void
await (const gint *value, gint wanted)
{
  gint64 until = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;

  while (g_atomic_int_get (value) < wanted && g_get_monotonic_time () < until)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (value), ==, wanted);
}

static void
test_commands (LogFixture *f, gconstpointer data)
{
  Commands        commands = { .seen = g_string_new (NULL) };
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusWorkspace) other = NULL;
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GPtrArray) waiting = NULL;
  g_autoptr (GPtrArray) events = NULL;
  const GradusLogEvent *event;
  GradusObserver       *observer;
  gint64                asked_at, id;

  g_assert_cmpint (gradus_log_post_command (f->workspace, run, "{}", &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED);
  g_clear_error (&error);

  observer = gradus_recorder_attach (recorder, run, NULL, command_cb, &commands, &error);
  g_assert_no_error (error);
  commands.observer = observer;
  g_assert_cmpint (gradus_log_post_command (f->workspace, run, "pause", &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_clear_error (&error);
  g_assert_cmpint (gradus_log_post_command (f->workspace, 77, "{}", &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);

  /* From this process and, by a connection of its own, as from another. */
  asked_at = g_get_monotonic_time ();
  id = gradus_log_post_command (f->workspace, run, "{\"command\":\"pause\"}", &error);
  g_assert_no_error (error);
  await (&commands.n, 1);
  g_assert_cmpint (g_get_monotonic_time () - asked_at, <, G_USEC_PER_SEC);
  other = gradus_workspace_open (f->path, 0, &error);
  g_assert_no_error (error);
  gradus_log_post_command (other, run, "{\"command\":\"bad\"}", &error);
  g_assert_no_error (error);
  await (&commands.n, 2);
  g_assert_cmpstr (commands.seen->str, ==, "{\"command\":\"pause\"};{\"command\":\"bad\"};");

  log_flush (recorder);
  waiting = gradus_log_reader_commands (reader, 0, NULL);
  g_assert_cmpuint (waiting->len, ==, 0);
  events = gradus_log_reader_events (reader, run, 0, NULL);
  g_assert_cmpuint (events->len, ==, 2);
  event = g_ptr_array_index (events, 0);
  g_assert_cmpint (event->kind, ==, GRADUS_EVENT_MESSAGE);
  g_assert_cmpint (event->step, ==, 42);
  g_assert_cmpstr (event->subject, ==, "pause");
  {
    g_autofree char *start = g_strdup_printf ("{\"command\":%" G_GINT64_FORMAT ",", id);

    g_assert_true (g_str_has_prefix (event->data, start));
  }
  event = g_ptr_array_index (events, 1);
  g_assert_cmpint (event->severity, ==, GRADUS_SEVERITY_WARNING);
  g_assert_cmpstr (event->message, ==, "No such thing.");
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
  g_string_free (commands.seen, TRUE);
}

/* A command that nobody took before the end is answered, too. */
static void
test_untaken (LogFixture *f, gconstpointer data)
{
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GPtrArray) waiting = NULL;
  g_autoptr (GPtrArray) after = NULL;
  g_autoptr (GPtrArray) events = NULL;

  g_assert_cmpint (gradus_log_post_command (f->workspace, run, "{\"command\":\"stop\"}", NULL), >,
                   0);
  waiting = gradus_log_reader_commands (reader, run, NULL);
  g_assert_cmpuint (waiting->len, ==, 1);
  gradus_recorder_detach (recorder, observer);
  after = gradus_log_reader_commands (reader, run, NULL);
  g_assert_cmpuint (after->len, ==, 0);
  events = gradus_log_reader_events (reader, run, 0, NULL);
  g_assert_cmpuint (events->len, ==, 1);
  g_assert_cmpstr (((GradusLogEvent *)g_ptr_array_index (events, 0))->subject, ==, "stop");
  gradus_recorder_free (recorder);
}

/* Two processes cannot write one run; rows of a resumed run continue it. */
static void
test_attach_twice (LogFixture *f, gconstpointer data)
{
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  g_autoptr (GError) error = NULL;

  g_assert_null (gradus_recorder_attach (recorder, run, NULL, NULL, NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_null (gradus_recorder_attach (recorder, 99, NULL, NULL, NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (gradus_run_delete (f->workspace, run, NULL, NULL, NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_BUSY);
  gradus_recorder_detach (recorder, observer);
  observer = log_attach (recorder, run);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

/* Deleting a large run leaves nothing of it and everything of the one that is being recorded. */
static void
test_delete (LogFixture *f, gconstpointer data)
{
  gint64          old = log_make_run (f->workspace, "old");
  gint64          live = log_make_run (f->workspace, "live");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, old);
  guint           series = log_scalar_series (observer, "a");
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) rows = NULL;
  Producer    producer;
  GThread    *thread;
  const char *log = gradus_workspace_log_path (f->workspace);

  for (gint64 step = 1; step <= 200000; step++)
    observer->funcs->scalar (observer, series, step, 1);
  add_histogram (observer, observer->funcs->series (observer, "h", GRADUS_SERIES_HISTOGRAM), 1);
  observer->funcs->event (observer, 1, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_NOTE, "", "", NULL);
  gradus_recorder_detach (recorder, observer);

  observer = log_attach (recorder, live);
  producer = (Producer){ observer, log_scalar_series (observer, "a"), 1 };
  thread = g_thread_new ("producer", produce, &producer);
  gradus_run_delete (f->workspace, old, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_thread_join (thread);
  log_flush (recorder);
  rows = log_read_scalars (f->workspace, live, "a");
  g_assert_cmpuint (rows->len, ==, 30000);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM scalar"), ==, 30000);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM run"), ==, 1);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM series"), ==, 1);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM histogram"), ==, 0);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM event"), ==, 0);
  g_assert_cmpint (log_sql_int (log, "SELECT max(bucket) + 1 FROM scalar_pyramid WHERE level = 1"),
                   ==, 30000 / 64);
  g_assert_cmpint (log_sql_int (log, "PRAGMA freelist_count"), ==, 0);
  g_assert_cmpint (log_sql_int (log, "PRAGMA page_count"), <, 400);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func)                                                                            \
  g_test_add (path, LogFixture, NULL, log_fixture_set_up, func, log_fixture_tear_down)
  ADD ("/log/recorder/non-finite", test_non_finite);
  ADD ("/log/recorder/order", test_order);
  ADD ("/log/recorder/pyramid", test_pyramid);
  ADD ("/log/recorder/histograms", test_histograms);
  ADD ("/log/recorder/matrices", test_matrices);
  ADD ("/log/recorder/events", test_events);
  ADD ("/log/recorder/rewind", test_rewind);
  ADD ("/log/recorder/full-queue", test_full_queue);
  ADD ("/log/recorder/commands", test_commands);
  ADD ("/log/recorder/untaken", test_untaken);
  ADD ("/log/recorder/attach-twice", test_attach_twice);
  ADD ("/log/recorder/delete", test_delete);
  return g_test_run ();
}
