/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/resource.h>

#include "log-fixture.h"

#define STEPS 40000

/* A limit on the size of files stands in for a full disk. */
static void
limit_files (rlim_t bytes)
{
  struct rlimit limit;

  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  limit.rlim_cur = bytes != 0 ? bytes : limit.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
}

typedef struct
{
  gint n_stalls;
  gint n_ends;
  gint n_fails;
} Stalls;

static void
stalled_cb (gboolean stalled, const char *reason, gpointer user_data)
{
  Stalls *self = user_data;

  if (stalled)
    g_assert_nonnull (reason);
  g_atomic_int_inc (stalled ? &self->n_stalls : &self->n_ends);
}

static void
await (const gint *value, gint wanted)
{
  gint64 until = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;

  while (g_atomic_int_get (value) < wanted && g_get_monotonic_time () < until)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (value), >=, wanted);
}

static gpointer
produce (gpointer data)
{
  GradusObserver *observer = data;
  guint           series = log_scalar_series (observer, "a");
  guint           other = log_scalar_series (observer, "b");

  for (gint64 step = 1; step <= STEPS; step++)
    {
      observer->funcs->scalar (observer, series, step, (double) step);
      observer->funcs->scalar (observer, other, step, -(double) step);
    }
  return NULL;
}

static void
test_full (LogFixture *f, gconstpointer data)
{
  const GradusRecorderFuncs funcs = { stalled_cb };
  Stalls                    stalls = { 0 };
  gint64                    run = log_make_run (f->workspace, "run");
  g_autoptr (GError) error = NULL;
  GradusRecorder *recorder = gradus_recorder_new (f->workspace, 4096, &funcs, &stalls, &error);
  GradusObserver *observer;
  GThread        *thread;
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GPtrArray) events = NULL;
  guint               n_findings = 0;
  GradusRecorderStats stats;

  g_assert_no_error (error);
  observer = log_attach (recorder, run);
  limit_files (300000);
  thread = g_thread_new ("producer", produce, observer);
  await (&stalls.n_stalls, 1);
  g_assert_false (gradus_recorder_flush (recorder, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_SPACE);
  g_clear_error (&error);
  g_usleep (600000);
  gradus_recorder_get_stats (recorder, &stats);
  g_assert_cmpuint (stats.waits, >, 0);
  g_assert_cmpint (g_atomic_int_get (&stalls.n_ends), ==, 0);

  limit_files (0);
  g_thread_join (thread);
  log_flush (recorder);
  g_assert_cmpint (g_atomic_int_get (&stalls.n_stalls), ==, 1);
  g_assert_cmpint (g_atomic_int_get (&stalls.n_ends), ==, 1);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (GArray) rows = log_read_scalars (f->workspace, run, i == 0 ? "a" : "b");

      g_assert_cmpuint (rows->len, ==, STEPS);
      for (guint j = 0; j < rows->len; j++)
        g_assert_cmpfloat (g_array_index (rows, GradusScalar, j).value, ==,
                           i == 0 ? j + 1.0 : -(j + 1.0));
    }
  events = gradus_log_reader_events (reader, run, 0, NULL);
  for (guint i = 0; i < events->len; i++)
    {
      const GradusLogEvent *event = g_ptr_array_index (events, i);

      n_findings += event->kind == GRADUS_EVENT_FINDING;
    }
  g_assert_cmpuint (n_findings, ==, 1);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
  g_assert_cmpint (log_sql_int (gradus_workspace_log_path (f->workspace),
                                "SELECT sum(count) FROM scalar_pyramid WHERE level = 1"),
                   ==, 2 * (STEPS / 64 * 64));
}

/* Everything else that writes says so and leaves the log as it was. */
static void
test_full_functions (LogFixture *f, gconstpointer data)
{
  g_autofree char    *note = g_strnfill (1 << 20, 'n');
  const GradusRunSpec spec = { .name = "run", .note = note };
  g_autoptr (GError) error = NULL;

  limit_files (300000);
  g_assert_cmpint (gradus_run_create (f->workspace, &spec, NULL, NULL, &error), ==, 0);
  limit_files (0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_SPACE);
  g_clear_error (&error);
  g_assert_cmpint (gradus_run_create (f->workspace, &spec, NULL, NULL, &error), >, 0);
  g_assert_no_error (error);
  g_assert_cmpint (
      log_sql_int (gradus_workspace_log_path (f->workspace), "SELECT count(*) FROM run"), ==, 1);
}

/* Another program that keeps the log locked is waited for likewise. */
static void
test_locked (LogFixture *f, gconstpointer data)
{
  const GradusRecorderFuncs funcs = { stalled_cb };
  Stalls                    stalls = { 0 };
  gint64                    run = log_make_run (f->workspace, "run");
  GradusRecorder           *recorder = gradus_recorder_new (f->workspace, 0, &funcs, &stalls, NULL);
  GradusObserver           *observer = log_attach (recorder, run);
  g_autoptr (GArray) rows = NULL;
  sqlite3 *db = NULL;

  g_assert_cmpint (sqlite3_open (gradus_workspace_log_path (f->workspace), &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
  observer->funcs->scalar (observer, log_scalar_series (observer, "a"), 1, 1);
  await (&stalls.n_stalls, 1);
  sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_close (db);
  await (&stalls.n_ends, 1);
  log_flush (recorder);
  rows = log_read_scalars (f->workspace, run, "a");
  g_assert_cmpuint (rows->len, ==, 1);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

/* The failing log is told of once, and whoever settles hears why. */
static void
failed_cb (const char *reason, gpointer user_data)
{
  g_assert_nonnull (strstr (reason, "runs.sqlite"));
  g_atomic_int_inc (&((Stalls *) user_data)->n_fails);
}

static void
remove_log (LogFixture *f)
{
  g_assert_cmpint (g_unlink (gradus_workspace_log_path (f->workspace)), ==, 0);
}

static void
replace_log (LogFixture *f)
{
  remove_log (f);
  g_assert_true (g_file_set_contents (gradus_workspace_log_path (f->workspace), "", 0, NULL));
}

static void
remove_wal (LogFixture *f)
{
  g_autofree char *path = g_strconcat (gradus_workspace_log_path (f->workspace), "-wal", NULL);

  g_assert_cmpint (g_unlink (path), ==, 0);
}

static void
remove_folder (LogFixture *f)
{
  log_remove_tree (f->path);
}

/* A log that fails of what does not mend itself loses the run, and says so. */
static void
test_lost (LogFixture *f, gconstpointer data)
{
  void (*const break_log) (LogFixture *) = (void (*) (LogFixture *)) (guintptr) data;
  const GradusRecorderFuncs funcs = { stalled_cb, failed_cb };
  Stalls                    stalls = { 0 };
  gint64                    run = log_make_run (f->workspace, "run");
  g_autoptr (GError) error = NULL;
  GradusRecorder *recorder = gradus_recorder_new (f->workspace, 0, &funcs, &stalls, &error);
  GradusObserver *observer = log_attach (recorder, run);
  guint           series = log_scalar_series (observer, "a");

  observer->funcs->scalar (observer, series, 1, 1);
  g_assert_true (gradus_recorder_settle (recorder, observer, TRUE, &error));
  break_log (f);
  for (gint64 step = 2; step <= 2 * STEPS; step++)
    observer->funcs->scalar (observer, series, step, 1);
  g_assert_false (gradus_recorder_settle (recorder, observer, TRUE, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_IO);
  g_assert_nonnull (strstr (error->message, gradus_workspace_log_path (f->workspace)));
  await (&stalls.n_fails, 1);
  g_assert_cmpint (stalls.n_fails, ==, 1);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

/* Even what was handed over last. */
static void
test_lost_at_the_end (LogFixture *f, gconstpointer data)
{
  gint64          run = log_make_run (f->workspace, "run");
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, run);
  g_autoptr (GError) error = NULL;

  observer->funcs->scalar (observer, log_scalar_series (observer, "a"), 1, 1);
  log_flush (recorder);
  remove_log (f);
  g_assert_false (gradus_recorder_settle (recorder, observer, TRUE, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_IO);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

int
main (int argc, char **argv)
{
  signal (SIGXFSZ, SIG_IGN);
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func)                                                                            \
  g_test_add (path, LogFixture, NULL, log_fixture_set_up, func, log_fixture_tear_down)
  ADD ("/log/full/recorder", test_full);
  ADD ("/log/full/functions", test_full_functions);
  ADD ("/log/full/locked", test_locked);
  ADD ("/log/full/lost-at-the-end", test_lost_at_the_end);
#undef ADD
#define ADD(path, func)                                                                            \
  g_test_add ("/log/lost/" path, LogFixture, (gconstpointer) (guintptr) func, log_fixture_set_up,  \
              test_lost, log_fixture_tear_down)
  ADD ("removed", remove_log);
  ADD ("replaced", replace_log);
  ADD ("write-ahead-log", remove_wal);
  ADD ("folder", remove_folder);
  return g_test_run ();
}
