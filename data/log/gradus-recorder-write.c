/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#include "log/gradus-recorder-private.h"
#include "log/gradus-run.h"

gboolean
recorder_writer_init (RecorderWriter  *writer,
                      GradusWorkspace *workspace,
                      guint            capacity,
                      GError         **error)
{
  sqlite3 *db = gradus_workspace_acquire (workspace, error);
  gboolean ready;

  if (db == NULL)
    return FALSE;
  writer->workspace = workspace;
  writer->db = db;
  ready = gradus_pyramid_writer_init (&writer->pyramid, db, error)
          && (writer->insert_scalar = gradus_sqlite_prepare (
                  db, "INSERT INTO scalar(series, step, time, value) VALUES(?, ?, ?, ?)", error))
          && (writer->upsert_scalar = gradus_sqlite_prepare (
                  db, "INSERT OR REPLACE INTO scalar(series, step, time, value) VALUES(?, ?, ?, ?)",
                  error))
          && (writer->update_series = gradus_sqlite_prepare (
                  db,
                  "UPDATE series SET first_step = ?, last_step = ?, first_time = ?, last_time = ?,"
                  " last_value = ?, min = ?, min_step = ?, max = ?, max_step = ?, count = ?,"
                  " nans = ?, pinfs = ?, ninfs = ?, generation = ? WHERE id = ?",
                  error))
          && (writer->insert_histogram = gradus_sqlite_prepare (
                  db,
                  "INSERT OR REPLACE INTO histogram(series, step, time, min, max, mean, stddev,"
                  " count, zeros, nans, infs, edges, counts)"
                  " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  error))
          && (writer->insert_event = gradus_sqlite_prepare (
                  db,
                  "INSERT INTO event(run, step, time, kind, severity, subject, message, data)"
                  " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                  error));
  gradus_workspace_release (workspace);
  writer->sorted = g_new (RecorderScalar, capacity);
  return ready;
}

void
recorder_writer_clear (RecorderWriter *writer)
{
  if (writer->db != NULL)
    gradus_workspace_acquire (writer->workspace, NULL);
  gradus_pyramid_writer_clear (&writer->pyramid);
  sqlite3_finalize (writer->insert_scalar);
  sqlite3_finalize (writer->upsert_scalar);
  sqlite3_finalize (writer->update_series);
  sqlite3_finalize (writer->insert_histogram);
  sqlite3_finalize (writer->insert_event);
  if (writer->db != NULL)
    gradus_workspace_release (writer->workspace);
  g_free (writer->sorted);
  g_free (writer->offsets);
}

static gboolean
update_scalar_series (RecorderWriter *writer, RecorderSeries *series, GError **error)
{
  sqlite3_stmt   *stmt = writer->update_series;
  GradusLogColumn total;

  gradus_pyramid_total (&series->pyramid, &total);
  sqlite3_bind_int64 (stmt, 1, total.first_step);
  sqlite3_bind_int64 (stmt, 2, total.last_step);
  sqlite3_bind_int64 (stmt, 3, total.first_time);
  sqlite3_bind_int64 (stmt, 4, total.last_time);
  sqlite3_bind_double (stmt, 5, total.count > 0 ? total.last : NAN);
  sqlite3_bind_double (stmt, 6, total.count > 0 ? total.min : NAN);
  sqlite3_bind_int64 (stmt, 7, total.min_step);
  sqlite3_bind_double (stmt, 8, total.count > 0 ? total.max : NAN);
  sqlite3_bind_int64 (stmt, 9, total.max_step);
  sqlite3_bind_int64 (stmt, 10, total.count);
  sqlite3_bind_int64 (stmt, 11, total.n_nan);
  sqlite3_bind_int64 (stmt, 12, total.n_pinf);
  sqlite3_bind_int64 (stmt, 13, total.n_ninf);
  sqlite3_bind_int64 (stmt, 14, series->generation);
  sqlite3_bind_int64 (stmt, 15, series->id);
  return gradus_sqlite_run (stmt, error);
}

/* Finds or makes the row, and takes up what the log knows of a series that is there. */
static gboolean
load_series (RecorderWriter *writer, RecorderSeries *series, GError **error)
{
  g_autoptr (sqlite3_stmt) insert = NULL;
  g_autoptr (sqlite3_stmt) find = NULL;
  g_autoptr (GError)       failure = NULL;
  const char              *kind = gradus_series_kind_name (series->kind);
  GradusLogColumn          total;

  if (series->loaded)
    return TRUE;
  insert = gradus_sqlite_prepare (writer->db,
                                  "INSERT INTO series(run, name, kind) VALUES(?, ?, ?)"
                                  " ON CONFLICT(run, name) DO UPDATE SET kind = excluded.kind",
                                  error);
  if (insert == NULL)
    return FALSE;
  sqlite3_bind_int64 (insert, 1, series->run->run);
  sqlite3_bind_text (insert, 2, series->name, -1, SQLITE_STATIC);
  sqlite3_bind_text (insert, 3, kind, -1, SQLITE_STATIC);
  if (!gradus_sqlite_run (insert, error))
    return FALSE;
  find = gradus_sqlite_prepare (
      writer->db, "SELECT id, generation FROM series WHERE run = ? AND name = ?", error);
  if (find == NULL)
    return FALSE;
  sqlite3_bind_int64 (find, 1, series->run->run);
  sqlite3_bind_text (find, 2, series->name, -1, SQLITE_STATIC);
  if (!gradus_sqlite_step (find, &failure))
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  series->id = sqlite3_column_int64 (find, 0);
  series->generation = sqlite3_column_int64 (find, 1);
  sqlite3_reset (find);
  if (!gradus_pyramid_rebuild (&series->pyramid, &writer->pyramid, series->id, G_MAXINT64, error))
    return FALSE;
  gradus_pyramid_total (&series->pyramid, &total);
  series->last_step = total.count > 0 ? total.last_step : G_MININT64;
  series->loaded = TRUE;
  return TRUE;
}

static int
compare_steps (gconstpointer a, gconstpointer b, gpointer data)
{
  const RecorderScalar *x = a;
  const RecorderScalar *y = b;

  return x->step < y->step ? -1 : x->step > y->step;
}

/* Puts the rows of one series into the order of their steps, of equal ones the last alone. */
static guint
order_rows (RecorderScalar *rows, guint n)
{
  guint i, kept = 0;

  for (i = 1; i < n && rows[i - 1].step < rows[i].step; i++)
    ;
  if (i >= n)
    return n;
  g_qsort_with_data (rows, (int) n, sizeof *rows, compare_steps, NULL);
  for (i = 1; i < n; i++)
    {
      if (rows[i].step != rows[kept].step)
        kept++;
      rows[kept] = rows[i];
    }
  return kept + 1;
}

static gboolean
write_row (sqlite3_stmt *stmt, const RecorderScalar *row, GError **error)
{
  sqlite3_bind_int64 (stmt, 2, row->step);
  sqlite3_bind_int64 (stmt, 3, row->time);
  sqlite3_bind_double (stmt, 4, row->value);
  return gradus_sqlite_run (stmt, error);
}

static gboolean
append_rows (RecorderWriter *writer, RecorderSeries *series, const RecorderScalar *rows, guint n,
             GError **error)
{
  sqlite3_bind_int64 (writer->insert_scalar, 1, series->id);
  for (guint i = 0; i < n; i++)
    if (!write_row (writer->insert_scalar, &rows[i], error)
        || !gradus_pyramid_append (&series->pyramid, &writer->pyramid, rows[i].step, rows[i].time,
                                   rows[i].value, error))
      return FALSE;
  return TRUE;
}

static gboolean
replace_rows (RecorderWriter *writer, RecorderSeries *series, const RecorderScalar *rows, guint n,
              GError **error)
{
  sqlite3_bind_int64 (writer->upsert_scalar, 1, series->id);
  for (guint i = 0; i < n; i++)
    if (!write_row (writer->upsert_scalar, &rows[i], error))
      return FALSE;
  series->generation++;
  return gradus_pyramid_rebuild (&series->pyramid, &writer->pyramid, series->id, rows[0].step,
                                 error);
}

static gboolean
write_series (RecorderWriter *writer, RecorderSeries *series, RecorderScalar *rows, guint n,
              GError **error)
{
  if (!load_series (writer, series, error))
    return FALSE;
  n = order_rows (rows, n);
  if (!(rows[0].step > series->last_step ? append_rows : replace_rows) (writer, series, rows, n,
                                                                        error))
    return FALSE;
  series->last_step = MAX (series->last_step, rows[n - 1].step);
  return update_scalar_series (writer, series, error);
}

/* Counts, then places: rows of one series come to stand together in the order they came in. */
static void
sort_by_series (RecorderWriter *writer, const RecorderScalar *scalars, guint n, guint n_series)
{
  guint begin = 0;

  if (writer->n_offsets < n_series + 1)
    {
      writer->n_offsets = 2 * n_series + 1;
      writer->offsets = g_renew (guint, writer->offsets, writer->n_offsets);
    }
  memset (writer->offsets, 0, (n_series + 1) * sizeof (guint));
  for (guint i = 0; i < n; i++)
    writer->offsets[scalars[i].series]++;
  for (guint i = 0; i <= n_series; i++)
    {
      guint count = writer->offsets[i];

      writer->offsets[i] = begin;
      begin += count;
    }
  for (guint i = 0; i < n; i++)
    writer->sorted[writer->offsets[scalars[i].series]++] = scalars[i];
}

gboolean
recorder_write_scalars (RecorderWriter       *writer,
                        GPtrArray            *series,
                        const RecorderScalar *scalars,
                        guint                 n,
                        GError              **error)
{
  guint begin = 0;

  sort_by_series (writer, scalars, n, series->len);
  for (guint i = 0; i < series->len; i++)
    {
      guint end = writer->offsets[i];

      if (end > begin
          && !write_series (writer, g_ptr_array_index (series, i), &writer->sorted[begin],
                            end - begin, error))
        return FALSE;
      begin = end;
    }
  return TRUE;
}

gboolean
recorder_write_event (RecorderWriter *writer,
                      gint64          run,
                      gint64          step,
                      gint64          time,
                      GradusEventKind kind,
                      GradusSeverity  severity,
                      const char     *subject,
                      const char     *message,
                      const char     *data,
                      GError        **error)
{
  sqlite3_stmt *stmt = writer->insert_event;

  sqlite3_bind_int64 (stmt, 1, run);
  sqlite3_bind_int64 (stmt, 2, step);
  sqlite3_bind_int64 (stmt, 3, time);
  sqlite3_bind_text (stmt, 4, gradus_event_kind_name (kind), -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 5, gradus_severity_name (severity), -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 6, subject, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (stmt, 7, message, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (stmt, 8, data, -1, SQLITE_TRANSIENT);
  return gradus_sqlite_run (stmt, error);
}

/* NULL where there are no values: a histogram of nothing has no bins. */
static void
bind_doubles (sqlite3_stmt *stmt, int parameter, const double *values, guint n)
{
  guint64 *bits = n > 0 ? g_memdup2 (values, n * sizeof *values) : NULL;

  for (guint i = 0; i < n; i++)
    bits[i] = GUINT64_TO_LE (bits[i]);
  sqlite3_bind_blob (stmt, parameter, bits, (int) (n * sizeof *bits), g_free);
}

/* @table: histogram or blob, before the row is there. */
#define COUNT_ROW(table)                                                                           \
  "UPDATE series SET"                                                                              \
  " count = count + (SELECT count(*) = 0 FROM " table " WHERE series = ?1 AND step = ?2),"         \
  " generation = generation + (SELECT count(*) FROM " table " WHERE series = ?1 AND step = ?2),"

static gboolean
count_row (RecorderWriter *writer, gboolean blob, gint64 series, gint64 step, gint64 time, GError **error)
{
  g_autofree char *sql = g_strconcat (
      blob ? COUNT_ROW ("blob") : COUNT_ROW ("histogram"),
      " first_step = min(coalesce(first_step, ?2), ?2),"
      " last_step = max(coalesce(last_step, ?2), ?2),"
      " first_time = min(coalesce(first_time, ?3), ?3),"
      " last_time = max(coalesce(last_time, ?3), ?3) WHERE id = ?1",
      NULL);
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (writer->db, sql, error);

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, series);
  sqlite3_bind_int64 (stmt, 2, step);
  sqlite3_bind_int64 (stmt, 3, time);
  return gradus_sqlite_run (stmt, error);
}

static gboolean
write_histogram (RecorderWriter *writer, GPtrArray *list, RecorderItem *item, GError **error)
{
  RecorderSeries        *series = g_ptr_array_index (list, item->series);
  const GradusHistogram *h = &item->histogram;
  sqlite3_stmt          *stmt = writer->insert_histogram;

  if (!load_series (writer, series, error)
      || !count_row (writer, FALSE, series->id, item->step, item->time, error))
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, series->id);
  sqlite3_bind_int64 (stmt, 2, item->step);
  sqlite3_bind_int64 (stmt, 3, item->time);
  sqlite3_bind_double (stmt, 4, h->min);
  sqlite3_bind_double (stmt, 5, h->max);
  sqlite3_bind_double (stmt, 6, h->mean);
  sqlite3_bind_double (stmt, 7, h->stddev);
  sqlite3_bind_int64 (stmt, 8, h->count);
  sqlite3_bind_int64 (stmt, 9, h->zeros);
  sqlite3_bind_int64 (stmt, 10, h->nans);
  sqlite3_bind_int64 (stmt, 11, h->infs);
  bind_doubles (stmt, 12, h->edges, h->n > 0 ? h->n + 1 : 0);
  bind_doubles (stmt, 13, h->counts, h->n);
  return gradus_sqlite_run (stmt, error);
}

static gboolean
write_blob (RecorderWriter *writer, GPtrArray *list, RecorderItem *item, GError **error)
{
  RecorderSeries *series = g_ptr_array_index (list, item->series);
  g_autoptr (sqlite3_stmt) stmt = NULL;

  if (!load_series (writer, series, error)
      || !count_row (writer, TRUE, series->id, item->step, item->time, error))
    return FALSE;
  stmt = gradus_sqlite_prepare (
      writer->db,
      "INSERT OR REPLACE INTO blob(series, step, time, format, data) VALUES(?, ?, ?, ?, ?)", error);
  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, series->id);
  sqlite3_bind_int64 (stmt, 2, item->step);
  sqlite3_bind_int64 (stmt, 3, item->time);
  sqlite3_bind_text (stmt, 4, item->subject, -1, SQLITE_STATIC);
  sqlite3_bind_blob64 (stmt, 5, item->data, item->bytes, SQLITE_STATIC);
  return gradus_sqlite_run (stmt, error);
}

static gboolean
write_status (RecorderWriter *writer, RecorderItem *item, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      writer->db, "UPDATE run SET status = ?2, finished = ?3 WHERE id = ?1", error);
  const char *name = gradus_run_status_name (item->status);

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, item->run->run);
  sqlite3_bind_text (stmt, 2, name, -1, SQLITE_STATIC);
  if (item->status >= GRADUS_RUN_FINISHED)
    sqlite3_bind_int64 (stmt, 3, gradus_workspace_now ());
  return gradus_sqlite_run (stmt, error)
         && recorder_write_event (writer, item->run->run, item->step, item->time,
                                  GRADUS_EVENT_STATUS, item->severity, name, item->message, NULL,
                                  error);
}

/* An answer, not an intervention: who trains tells of what the command changed. */
static gboolean
write_taken (RecorderWriter *writer, RecorderItem *item, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      writer->db,
      "INSERT INTO event(run, step, time, kind, severity, subject, message, data)"
      " SELECT run, ?2, ?3, 'message', ?4,"
      " CASE WHEN json_valid(command) THEN coalesce(json_extract(command, '$.command'), 'command')"
      " ELSE 'command' END, ?5,"
      " json_object('command', id, 'request',"
      " CASE WHEN json_valid(command) THEN json(command) END, 'error', ?6)"
      " FROM command WHERE id = ?1",
      error);

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, item->id);
  sqlite3_bind_int64 (stmt, 2, item->step);
  sqlite3_bind_int64 (stmt, 3, item->time);
  sqlite3_bind_text (stmt, 4, item->message != NULL ? "warning" : "note", -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 5,
                     item->message != NULL ? item->message
                                           : N_ ("The command took effect after this step."),
                     -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 6, item->message, -1, SQLITE_STATIC);
  return gradus_sqlite_run (stmt, error)
         && gradus_sqlite_run_ints (writer->db, "UPDATE command SET taken_step = ?2 WHERE id = ?1",
                                    item->id, item->step, error);
}

gboolean
recorder_write_untaken (
    RecorderWriter *writer, gint64 run, gint64 time, const char *why, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      writer->db,
      "INSERT INTO event(run, step, time, kind, severity, subject, message, data)"
      " SELECT run, coalesce((SELECT max(last_step) FROM series WHERE run = ?1), 0), ?2,"
      " 'message', 'warning',"
      " CASE WHEN json_valid(command) THEN coalesce(json_extract(command, '$.command'), 'command')"
      " ELSE 'command' END, ?3,"
      " json_object('command', id, 'request',"
      " CASE WHEN json_valid(command) THEN json(command) END, 'error', ?3)"
      " FROM command WHERE run = ?1 AND taken_step IS NULL",
      error);

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, run);
  sqlite3_bind_int64 (stmt, 2, time);
  sqlite3_bind_text (stmt, 3, why, -1, SQLITE_STATIC);
  return gradus_sqlite_run (stmt, error)
         && gradus_sqlite_run_ints (
             writer->db,
             "UPDATE command SET taken_step = -1 WHERE run = ?1 AND taken_step IS NULL", run, 0,
             error);
}

static gboolean
write_checkpoint (RecorderWriter *writer, RecorderItem *item, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      writer->db,
      "INSERT INTO checkpoint(run, step, path, bytes, sha256, metrics, best)"
      " VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run, step) DO UPDATE SET path = excluded.path,"
      " bytes = excluded.bytes, sha256 = excluded.sha256, metrics = excluded.metrics,"
      " best = excluded.best",
      error);

  if (stmt == NULL)
    return FALSE;
  if (item->best
      && !gradus_sqlite_run_ints (writer->db, "UPDATE checkpoint SET best = 0 WHERE run = ?1",
                                  item->run->run, 0, error))
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, item->run->run);
  sqlite3_bind_int64 (stmt, 2, item->step);
  sqlite3_bind_text (stmt, 3, item->subject, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (stmt, 4, item->id);
  sqlite3_bind_text (stmt, 5, item->message, -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 6, item->data, -1, SQLITE_STATIC);
  sqlite3_bind_int (stmt, 7, item->best);
  return gradus_sqlite_run (stmt, error)
         && recorder_write_event (writer, item->run->run, item->step, item->time,
                                  GRADUS_EVENT_CHECKPOINT, GRADUS_SEVERITY_NOTE, item->subject,
                                  N_ ("A checkpoint was written."), item->data, error);
}

gboolean
recorder_write_item (RecorderWriter *writer, GPtrArray *series, RecorderItem *item, GError **error)
{
  switch (item->type)
    {
    case ITEM_HISTOGRAM:
      return write_histogram (writer, series, item, error);
    case ITEM_BLOB:
      return write_blob (writer, series, item, error);
    case ITEM_EVENT:
      return recorder_write_event (writer, item->run->run, item->step, item->time, item->kind,
                                   item->severity, item->subject, item->message, item->data, error);
    case ITEM_STATUS:
      return write_status (writer, item, error);
    case ITEM_TAKEN:
      return write_taken (writer, item, error);
    case ITEM_CHECKPOINT:
      return write_checkpoint (writer, item, error);
    case ITEM_REMOVED:
      return gradus_sqlite_run_ints (writer->db,
                                     "DELETE FROM checkpoint WHERE run = ?1 AND step = ?2",
                                     item->run->run, item->step, error);
    case ITEM_DETACH:
      return recorder_write_untaken (
          writer, item->run->run, item->time,
          N_ ("The command was not taken: the run ended before its turn came."), error);
    default:
      g_assert_not_reached ();
    }
}

static gboolean
rewind_series (RecorderWriter *writer, gint64 id, gint64 step, GError **error)
{
  RecorderSeries series = { .id = id };
  gint64         generation;

  if (!gradus_sqlite_run_ints (writer->db, "DELETE FROM scalar WHERE series = ?1 AND step > ?2", id,
                               step, error)
      || !gradus_sqlite_get (writer->db, "SELECT generation FROM series WHERE id = ?1", id,
                             &generation, error)
      || !gradus_pyramid_rebuild (&series.pyramid, &writer->pyramid, id, step + 1, error))
    return FALSE;
  series.generation = generation + 1;
  return update_scalar_series (writer, &series, error);
}

static gboolean
rewind_other (RecorderWriter *writer, gint64 id, gint64 step, GError **error)
{
  return gradus_sqlite_run_ints (writer->db,
                                 "DELETE FROM histogram WHERE series = ?1 AND step > ?2", id, step,
                                 error)
         && gradus_sqlite_run_ints (writer->db, "DELETE FROM blob WHERE series = ?1 AND step > ?2",
                                    id, step, error)
         && gradus_sqlite_run_ints (
             writer->db,
             "UPDATE series SET generation = generation + 1,"
             " (count, first_step, last_step, first_time, last_time) ="
             " (SELECT count(*), min(step), max(step), min(time), max(time) FROM"
             " (SELECT step, time FROM histogram WHERE series = ?1"
             " UNION ALL SELECT step, time FROM blob WHERE series = ?1)) WHERE id = ?1",
             id, 0, error);
}

static gboolean
collect_paths (
    RecorderWriter *writer, gint64 run, gint64 step, GPtrArray *paths, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      writer->db, "SELECT path FROM checkpoint WHERE run = ? AND step > ?", error);
  g_autoptr (GError) failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, run);
  sqlite3_bind_int64 (stmt, 2, step);
  while (gradus_sqlite_step (stmt, &failure))
    g_ptr_array_add (paths, gradus_sqlite_column_string (stmt, 0));
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

gboolean
recorder_write_rewind (RecorderWriter *writer,
                       gint64          run,
                       gint64          step,
                       gint64          time,
                       GPtrArray      *paths,
                       GError        **error)
{
  g_autoptr (sqlite3_stmt) stmt
      = gradus_sqlite_prepare (writer->db, "SELECT id, kind FROM series WHERE run = ?", error);
  g_autoptr (GArray) series = g_array_new (FALSE, FALSE, 2 * sizeof (gint64));
  g_autoptr (GError) failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, run);
  while (gradus_sqlite_step (stmt, &failure))
    {
      gint64 pair[2] = { sqlite3_column_int64 (stmt, 0),
                         g_str_equal (sqlite3_column_text (stmt, 1), "scalar") };

      g_array_append_val (series, pair);
    }
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  for (guint i = 0; i < series->len; i++)
    {
      const gint64 *pair = &g_array_index (series, gint64, 2 * i);

      if (!(pair[1] ? rewind_series : rewind_other) (writer, pair[0], step, error))
        return FALSE;
    }
  return collect_paths (writer, run, step, paths, error)
         && gradus_sqlite_run_ints (writer->db,
                                    "DELETE FROM checkpoint WHERE run = ?1 AND step > ?2", run,
                                    step, error)
         && gradus_sqlite_run_ints (
             writer->db,
             "DELETE FROM event WHERE run = ?1 AND step > ?2 AND kind IN ('finding', 'checkpoint')",
             run, step, error)
         && recorder_write_event (writer, run, step, time, GRADUS_EVENT_STATUS,
                                  GRADUS_SEVERITY_NOTE, "rewind",
                                  N_ ("The run goes on from this step; what came after it was "
                                      "taken out of the log."),
                                  NULL, error);
}
