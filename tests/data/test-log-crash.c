/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log-fixture.h"
#include "log/gradus-log-watch.h"
#include "log/gradus-run-lock.h"

#define N_SERIES 8

/* What the child had handed over, and when, in memory that outlives it. */
typedef struct
{
  gint   n;
  gint64 at[1 << 16];
} Diary;

/* Records a step of all series each 2 ms, one line in the diary a step, until it is killed. */
static void
record_until_killed (const char *path, gint64 run, Diary *diary)
{
  GradusWorkspace *workspace = gradus_workspace_open (path, 0, NULL);
  GradusRecorder  *recorder = gradus_recorder_new (workspace, 0, NULL, NULL, NULL);
  GradusObserver  *observer = gradus_recorder_attach (recorder, run, NULL, NULL, NULL, NULL);
  guint            series[N_SERIES];

  for (int i = 0; i < N_SERIES; i++)
    {
      g_autofree char *name = g_strdup_printf ("series/%d", i);

      series[i] = log_scalar_series (observer, name);
    }
  observer->funcs->status (observer, 0, GRADUS_RUN_RUNNING, "Training began.");
  for (gint64 step = 1; step < (gint64) G_N_ELEMENTS (diary->at); step++)
    {
      for (int i = 0; i < N_SERIES; i++)
        observer->funcs->scalar (observer, series[i], step, (double) step * i);
      diary->at[step - 1] = g_get_monotonic_time ();
      g_atomic_int_set (&diary->n, (gint) step);
      g_usleep (2000);
    }
}

static void
kill_one (LogFixture *f, gulong after_us)
{
  Diary *diary =
      mmap (NULL, sizeof *diary, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  gint64 run = log_make_run (f->workspace, "run");
  gint64 promised = 0, killed_at;
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GradusRunInfo) info = NULL;
  g_autoptr (GPtrArray) events = NULL;
  int   status;
  pid_t child;

  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  child = fork ();
  if (child == 0)
    {
      record_until_killed (f->path, run, diary);
      _exit (1);
    }
  while (g_atomic_int_get (&diary->n) == 0)
    g_usleep (1000);
  g_usleep (after_us);
  killed_at = g_get_monotonic_time ();
  g_assert_cmpint (kill (child, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFSIGNALED (status));
  for (gint i = 0; i < g_atomic_int_get (&diary->n); i++)
    if (diary->at[i] <= killed_at - 200000)
      promised = i + 1;

  /* A reader says what is true before anybody wrote it down. */
  f->workspace = gradus_workspace_open (f->path, GRADUS_WORKSPACE_READ_ONLY, NULL);
  reader = log_make_reader (f->workspace);
  info = gradus_log_reader_run (reader, run, NULL);
  g_assert_cmpint (info->status, ==, GRADUS_RUN_INTERRUPTED);
  g_assert_cmpint (info->finished, ==, 0);
  g_clear_pointer (&info, gradus_run_info_free);
  g_clear_pointer (&reader, gradus_log_reader_free);
  gradus_workspace_unref (f->workspace);

  log_fixture_open (f);
  reader = log_make_reader (f->workspace);
  info = gradus_log_reader_run (reader, run, NULL);
  g_assert_cmpint (info->status, ==, GRADUS_RUN_INTERRUPTED);
  g_assert_cmpint (info->finished, >, 0);
  events = gradus_log_reader_events (reader, run, 0, NULL);
  g_assert_cmpstr (((GradusLogEvent *)g_ptr_array_index (events, events->len - 1))->subject, ==,
                   "interrupted");
  for (int i = 0; i < N_SERIES && promised > 0; i++)
    {
      g_autofree char *name = g_strdup_printf ("series/%d", i);
      g_autoptr (GArray) rows = log_read_scalars (f->workspace, run, name);

      g_assert_cmpint (rows->len, >=, promised);
      for (guint j = 0; j < rows->len; j++)
        {
          g_assert_cmpint (g_array_index (rows, GradusScalar, j).step, ==, j + 1);
          g_assert_cmpfloat (g_array_index (rows, GradusScalar, j).value, ==, (j + 1.0) * i);
        }
    }
  g_assert_cmpint (log_sql_int (gradus_workspace_log_path (f->workspace),
                                "SELECT count(*) FROM pragma_integrity_check"
                                " WHERE integrity_check <> 'ok'"),
                   ==, 0);
  munmap (diary, sizeof *diary);
}

static void
test_kill (LogFixture *f, gconstpointer data)
{
  int n = g_test_slow () ? 50 : 5;

  for (int i = 0; i < n; i++)
    kill_one (f, (gulong) g_test_rand_int_range (1000, 900000));
}

/* A queued run that nobody claimed waits; one whose process died does not. */
static void
test_recover_queued (LogFixture *f, gconstpointer data)
{
  gint64 waiting = log_make_run (f->workspace, "waiting");
  gint64 claimed = log_make_run (f->workspace, "claimed");
  gint64 running = log_make_run (f->workspace, "running");
  g_autoptr (GradusRunLock) lock = NULL;
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autofree char      *uuid = NULL;
  g_autofree char      *path = NULL;
  g_autofree char      *live = NULL;
  const gint64          runs[] = { waiting, claimed, running };
  const GradusRunStatus statuses[] = { GRADUS_RUN_QUEUED, GRADUS_RUN_INTERRUPTED,
                                       GRADUS_RUN_RUNNING };

  gradus_run_find (f->workspace, "claimed", &uuid, NULL);
  path = gradus_workspace_lock_path (f->workspace, uuid);
  g_assert_true (g_file_set_contents (path, "", 0, NULL));
  gradus_run_find (f->workspace, "running", &live, NULL);
  lock = gradus_run_lock_take (f->workspace, live, NULL);
  g_assert_true (gradus_run_set_status (f->workspace, running, GRADUS_RUN_RUNNING, NULL));
  g_assert_cmpint (gradus_workspace_recover (f->workspace, NULL), ==, 1);
  for (int i = 0; i < 3; i++)
    {
      g_autoptr (GradusRunInfo) info = gradus_log_reader_run (reader, runs[i], NULL);

      g_assert_cmpint (info->status, ==, statuses[i]);
    }
}

typedef struct
{
  gint   n;
  gint64 run;
  gint   status;
  gint   last_step;
} Seen;

static void
changed_cb (GradusLogReader *reader, gpointer user_data)
{
  Seen *seen = user_data;
  g_autoptr (GradusRunInfo) info = gradus_log_reader_run (reader, seen->run, NULL);
  g_autoptr (GPtrArray) series = gradus_log_reader_series (reader, seen->run, NULL);

  for (guint i = 0; i < series->len; i++)
    g_atomic_int_set (&seen->last_step,
                      (gint) ((GradusSeriesInfo *)g_ptr_array_index (series, i))->last_step);
  g_atomic_int_set (&seen->status, (gint) info->status);
  g_atomic_int_inc (&seen->n);
}

static gint64
await (const gint *value, gint wanted)
{
  gint64 begun = g_get_monotonic_time ();

  while (g_atomic_int_get (value) != wanted
         && g_get_monotonic_time () - begun < 10 * G_USEC_PER_SEC)
    g_usleep (500);
  g_assert_cmpint (g_atomic_int_get (value), ==, wanted);
  return g_get_monotonic_time () - begun;
}

/* A child records, a watch here sees it, at most 20 times a second, then sees it die. */
static void
test_watch (LogFixture *f, gconstpointer data)
{
  Diary *diary =
      mmap (NULL, sizeof *diary, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Seen  seen = { .run = log_make_run (f->workspace, "run") };
  pid_t child;
  gint  before;
  g_autoptr (GradusLogWatch) watch = NULL;
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  child = fork ();
  if (child == 0)
    {
      record_until_killed (f->path, seen.run, diary);
      _exit (1);
    }
  while (g_atomic_int_get (&diary->n) == 0)
    g_usleep (1000);
  log_fixture_open (f);
  watch = gradus_log_watch_new (f->workspace, changed_cb, &seen, &error);
  g_assert_no_error (error);
  await (&seen.status, GRADUS_RUN_RUNNING);
  before = g_atomic_int_get (&seen.n);
  g_usleep (G_USEC_PER_SEC);
  g_assert_cmpint (g_atomic_int_get (&seen.n) - before, >=, 5);
  g_assert_cmpint (g_atomic_int_get (&seen.n) - before, <=, 21);
  g_assert_cmpint (g_atomic_int_get (&seen.last_step), >, 100);

  g_assert_cmpint (kill (child, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
  await (&seen.status, GRADUS_RUN_INTERRUPTED);
  munmap (diary, sizeof *diary);
}

/* An idle log is left alone; a poke and a commit are both answered soon. */
static void
test_watch_idle (LogFixture *f, gconstpointer data)
{
  Seen            seen = { .run = log_make_run (f->workspace, "run") };
  GradusRecorder *recorder = log_make_recorder (f->workspace);
  GradusObserver *observer = log_attach (recorder, seen.run);
  guint           series = log_scalar_series (observer, "a");
  GradusLogWatch *watch = gradus_log_watch_new (f->workspace, changed_cb, &seen, NULL);
  gint            n;

  await (&seen.n, 1);
  g_usleep (700000);
  n = g_atomic_int_get (&seen.n);
  g_usleep (700000);
  g_assert_cmpint (g_atomic_int_get (&seen.n), ==, n);
  gradus_log_watch_poke (watch);
  g_assert_cmpint (await (&seen.n, n + 1), <, 200000);
  g_usleep (1100000);

  observer->funcs->scalar (observer, series, 5, 1);
  g_assert_cmpint (await (&seen.last_step, 5), <, 400000);
  gradus_log_watch_free (watch);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func)                                                                            \
  g_test_add (path, LogFixture, NULL, log_fixture_set_up, func, log_fixture_tear_down)
  ADD ("/log/crash/kill", test_kill);
  ADD ("/log/crash/watch", test_watch);
  ADD ("/log/crash/recover-queued", test_recover_queued);
  ADD ("/log/crash/watch-idle", test_watch_idle);
  return g_test_run ();
}
