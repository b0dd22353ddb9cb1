/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-log-bench.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>

#include "log/gradus-log-reader.h"
#include "log/gradus-log-watch.h"
#include "log/gradus-recorder.h"
#include "log/gradus-run.h"

#define READ_US 50000

typedef struct
{
  GradusWorkspace *workspace;
  gint64           run;
  gint             stop;
  guint64          n_reads;
  gint64           longest_us;
} Follower;

/* What a chart of the run's first series does while it is live. */
static gpointer
follow (gpointer data)
{
  Follower                   *self = data;
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (self->workspace, NULL);
  gint64                      last = G_MININT64;

  while (reader != NULL && !g_atomic_int_get (&self->stop))
    {
      gint64                begun = g_get_monotonic_time (), took;
      g_autoptr (GPtrArray) series = gradus_log_reader_series (reader, self->run, NULL);
      g_autoptr (GArray)    rows = g_array_new (FALSE, FALSE, sizeof (GradusScalar));

      if (series != NULL && series->len > 0)
        {
          const GradusSeriesInfo *info = g_ptr_array_index (series, 0);

          gradus_log_reader_scalars (reader, info->id, last, 0, rows, NULL);
          if (rows->len > 0)
            last = g_array_index (rows, GradusScalar, rows->len - 1).step;
        }
      took = g_get_monotonic_time () - begun;
      self->n_reads++;
      self->longest_us = MAX (self->longest_us, took);
      if (took < READ_US)
        g_usleep ((gulong) (READ_US - took));
    }
  return NULL;
}

static void
produce (GradusObserver *observer, double seconds, guint n_series, GradusLogBench *result)
{
  g_autofree guint *series = g_new (guint, n_series);
  gint64            begun, until;
  gint64            step = 0;

  for (guint i = 0; i < n_series; i++)
    {
      g_autofree char *name = g_strdup_printf ("bench/%03u", i);

      series[i] = observer->funcs->series (observer, name, GRADUS_SERIES_SCALAR);
    }
  begun = g_get_monotonic_time ();
  until = begun + (gint64) (seconds * G_USEC_PER_SEC);
  while (g_get_monotonic_time () < until)
    for (int batch = 0; batch < 16; batch++)
      {
        step++;
        for (guint i = 0; i < n_series; i++)
          observer->funcs->scalar (observer, series[i], step, (float) (1.0 / (double) step));
        result->records += n_series;
      }
  result->seconds = (double) (g_get_monotonic_time () - begun) / G_USEC_PER_SEC;
}

static gboolean
count_missing (GradusWorkspace *workspace, gint64 run, GradusLogBench *result, GError **error)
{
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (workspace, error);
  g_autoptr (GPtrArray)       series = NULL;
  guint64                     found = 0;

  if (reader == NULL || (series = gradus_log_reader_series (reader, run, error)) == NULL)
    return FALSE;
  for (guint i = 0; i < series->len; i++)
    {
      const GradusSeriesInfo *info = g_ptr_array_index (series, i);
      GradusLogColumn         all;

      if (!gradus_log_reader_columns (reader, info->id, 0, 1e15, 1, &all, error))
        return FALSE;
      found += (guint64) all.count;
    }
  result->dropped = result->records - found;
  return TRUE;
}

static gboolean
record (GradusWorkspace *workspace,
        double           seconds,
        guint            n_series,
        GradusLogBench  *result,
        GError         **error)
{
  const GradusRunSpec        spec = { .name = "bench", .status = GRADUS_RUN_RUNNING };
  g_autoptr (GradusRecorder) recorder = NULL;
  g_autoptr (GThread)        thread = NULL;
  GradusRecorderStats        stats;
  Follower                   follower = { .workspace = workspace };
  GradusObserver            *observer;
  gboolean                   flushed;
  gint64                     begun;

  follower.run = gradus_run_create (workspace, &spec, NULL, NULL, error);
  if (follower.run == 0)
    return FALSE;
  recorder = gradus_recorder_new (workspace, 0, NULL, NULL, error);
  if (recorder == NULL)
    return FALSE;
  observer = gradus_recorder_attach (recorder, follower.run, NULL, NULL, NULL, error);
  if (observer == NULL)
    return FALSE;
  thread = g_thread_new ("gradus-bench", follow, &follower);
  begun = g_get_monotonic_time ();
  produce (observer, seconds, n_series, result);
  flushed = gradus_recorder_flush (recorder, error);
  result->records_per_s
      = (double) result->records * G_USEC_PER_SEC / (double) (g_get_monotonic_time () - begun);
  gradus_recorder_get_stats (recorder, &stats);
  result->waits = stats.waits;
  result->longest_commit_ms = (double) stats.longest_commit_us / 1000;
  result->ns_per_record = (result->seconds * 1e9 - (double) stats.wait_us * 1e3)
                          / (double) MAX (result->records, 1);
  g_atomic_int_set (&follower.stop, TRUE);
  g_thread_join (g_steal_pointer (&thread));
  result->reads = follower.n_reads;
  result->longest_read_ms = (double) follower.longest_us / 1000;
  gradus_recorder_detach (recorder, observer);
  return flushed && count_missing (workspace, follower.run, result, error);
}

static void
remove_tree (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char      *name;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      remove_tree (child);
    }
  g_remove (path);
}

/* The workspace's last connection copies the write-ahead log into the file, which is then the whole
 * log. */
static gboolean
bench_in (const char *path, double seconds, guint n_series, GradusLogBench *result, GError **error)
{
  GradusWorkspace *workspace = gradus_workspace_open (path, GRADUS_WORKSPACE_CREATE, error);
  g_autofree char *log_path = NULL;
  GStatBuf         info;
  gboolean         done;

  if (workspace == NULL)
    return FALSE;
  done = record (workspace, seconds, n_series, result, error);
  log_path = g_strdup (gradus_workspace_log_path (workspace));
  gradus_workspace_unref (workspace);
  if (done && g_stat (log_path, &info) == 0)
    result->bytes_per_scalar = (double) info.st_size / (double) MAX (result->records, 1);
  return done;
}

gboolean
gradus_log_bench (const char     *folder,
                  double          seconds,
                  guint           n_series,
                  GradusLogBench *result,
                  GError        **error)
{
  g_autofree char *path = NULL;
  gboolean         done;

  g_return_val_if_fail (seconds > 0 && n_series > 0 && result != NULL, FALSE);

  *result = (GradusLogBench){ 0 };
  path = g_build_filename (folder != NULL ? folder : g_get_tmp_dir (), "gradus-bench-XXXXXX", NULL);
  if (g_mkdtemp (path) == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO, _ ("No folder could be made in “%s”."),
                   folder != NULL ? folder : g_get_tmp_dir ());
      return FALSE;
    }
  done = bench_in (path, seconds, n_series, result, error);
  remove_tree (path);
  return done;
}
