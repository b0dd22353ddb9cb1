/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>

#include "log/gradus-log-reader-private.h"
#include "log/gradus-run.h"

GradusLogReader *
gradus_log_reader_new (GradusWorkspace *workspace, GError **error)
{
  GradusLogReader *self;
  sqlite3         *db;

  g_return_val_if_fail (workspace != NULL, NULL);

  db = gradus_workspace_open_reader (workspace, error);
  if (db == NULL)
    return NULL;
  if (!gradus_sqlite_exec (db, "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY", error))
    {
      sqlite3_close_v2 (db);
      return NULL;
    }
  self = g_new0 (GradusLogReader, 1);
  self->workspace = gradus_workspace_ref (workspace);
  self->db = db;
  return self;
}

void
gradus_log_reader_free (GradusLogReader *self)
{
  g_return_if_fail (self != NULL);

  for (int i = 0; i < N_READER_STATEMENTS; i++)
    sqlite3_finalize (self->statements[i]);
  sqlite3_close_v2 (self->db);
  gradus_workspace_unref (self->workspace);
  g_free (self);
}

sqlite3_stmt *
gradus_log_reader_statement (GradusLogReader *self,
                             ReaderStatement  which,
                             const char      *sql,
                             GError         **error)
{
  if (self->statements[which] == NULL)
    self->statements[which] = gradus_sqlite_prepare (self->db, sql, error);
  else
    sqlite3_reset (self->statements[which]);
  return self->statements[which];
}

gboolean
gradus_log_reader_done (GError *failure, GError **error)
{
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, failure);
  return FALSE;
}

gint64
gradus_log_reader_data_version (GradusLogReader *self, GError **error)
{
  sqlite3_stmt *stmt;
  gint64        version = -1;

  g_return_val_if_fail (self != NULL, -1);

  stmt = gradus_log_reader_statement (self, READER_DATA_VERSION, "PRAGMA data_version", error);
  if (stmt != NULL && gradus_sqlite_step (stmt, error))
    version = sqlite3_column_int64 (stmt, 0);
  sqlite3_reset (stmt);
  return version;
}

gboolean
gradus_log_reader_begin (GradusLogReader *self, GError **error)
{
  g_return_val_if_fail (self != NULL, FALSE);
  return gradus_sqlite_exec (self->db, "BEGIN", error);
}

void
gradus_log_reader_end (GradusLogReader *self)
{
  g_return_if_fail (self != NULL);
  sqlite3_exec (self->db, "COMMIT", NULL, NULL, NULL);
}

/* Runs */

void
gradus_run_info_free (GradusRunInfo *info)
{
  g_free (info->uuid);
  g_free (info->name);
  g_free (info->host);
  g_free (info->engine_version);
  g_free (info->note);
  g_free (info);
}

#define RUN_COLUMNS                                                                               \
  "id, uuid, name, status, created, started, finished, seed, host, engine_version, parent,"       \
  " parent_step, note, archived, planned_epochs"

/* A writer's death shows in its lock before anybody may have written it down. */
static GradusRunStatus
true_status (GradusLogReader *self, const GradusRunInfo *info)
{
  gboolean queued = info->status == GRADUS_RUN_QUEUED;

  if ((queued || info->status == GRADUS_RUN_RUNNING || info->status == GRADUS_RUN_PAUSED)
      && gradus_workspace_is_abandoned (self->workspace, info->uuid, queued))
    return GRADUS_RUN_INTERRUPTED;
  return info->status;
}

static GradusRunInfo *
read_run (GradusLogReader *self, sqlite3_stmt *stmt)
{
  GradusRunInfo *info = g_new0 (GradusRunInfo, 1);

  info->id = sqlite3_column_int64 (stmt, 0);
  info->uuid = gradus_sqlite_column_string (stmt, 1);
  info->name = gradus_sqlite_column_string (stmt, 2);
  if (!gradus_run_status_from_name ((const char *) sqlite3_column_text (stmt, 3), &info->status))
    info->status = GRADUS_RUN_INTERRUPTED;
  info->created = sqlite3_column_int64 (stmt, 4);
  info->started = sqlite3_column_int64 (stmt, 5);
  info->finished = sqlite3_column_int64 (stmt, 6);
  info->seed = sqlite3_column_int64 (stmt, 7);
  info->host = gradus_sqlite_column_string (stmt, 8);
  info->engine_version = gradus_sqlite_column_string (stmt, 9);
  info->parent = sqlite3_column_int64 (stmt, 10);
  info->parent_step = sqlite3_column_int64 (stmt, 11);
  info->note = gradus_sqlite_column_string (stmt, 12);
  info->archived = sqlite3_column_int (stmt, 13) != 0;
  info->planned_epochs = sqlite3_column_double (stmt, 14);
  info->status = true_status (self, info);
  info->train_loss = info->train_accuracy = NAN;
  info->validation_loss = info->validation_accuracy = NAN;
  info->best_validation_loss = info->best_validation_accuracy = NAN;
  info->test_loss = info->test_accuracy = NAN;
  return info;
}

/* The columns are name, last_step, last_time, last_value, min, max. */
static void
read_metric (GradusRunInfo *info, sqlite3_stmt *stmt)
{
  const struct
  {
    const char *name;
    double     *last, *min, *max;
  } metrics[] = {
    { "epoch", &info->epochs, NULL, NULL },
    { "train/loss", &info->train_loss, NULL, NULL },
    { "train/accuracy", &info->train_accuracy, NULL, NULL },
    { "validation/loss", &info->validation_loss, &info->best_validation_loss, NULL },
    { "validation/accuracy", &info->validation_accuracy, NULL, &info->best_validation_accuracy },
    { "test/loss", &info->test_loss, NULL, NULL },
    { "test/accuracy", &info->test_accuracy, NULL, NULL },
  };
  const char *name = (const char *) sqlite3_column_text (stmt, 0);
  gint64      step = sqlite3_column_int64 (stmt, 1);

  if (step > info->last_step)
    info->last_step = step;
  info->last_time = MAX (info->last_time, sqlite3_column_int64 (stmt, 2));
  for (gsize i = 0; i < G_N_ELEMENTS (metrics); i++)
    if (g_str_equal (metrics[i].name, name))
      {
        *metrics[i].last = gradus_sqlite_column_double (stmt, 3);
        if (metrics[i].min != NULL)
          *metrics[i].min = gradus_sqlite_column_double (stmt, 4);
        if (metrics[i].max != NULL)
          *metrics[i].max = gradus_sqlite_column_double (stmt, 5);
      }
}

/* Seven look-ups in an index a run are a tenth of reading all of its series. */
static gboolean
read_metrics (GradusLogReader *self, GradusRunInfo *info, GError **error)
{
  sqlite3_stmt *stmt = gradus_log_reader_statement (
      self, READER_RUN_SERIES,
      "SELECT name, last_step, last_time, last_value, min, max FROM series WHERE run = ?"
      " AND name IN ('epoch', 'test/accuracy', 'test/loss', 'train/accuracy', 'train/loss',"
      " 'validation/accuracy', 'validation/loss')",
      error);
  GError *failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, info->id);
  while (gradus_sqlite_step (stmt, &failure))
    read_metric (info, stmt);
  return gradus_log_reader_done (failure, error);
}

static void
read_finding (GradusRunInfo *info, sqlite3_stmt *stmt)
{
  GradusSeverity severity = GRADUS_SEVERITY_NOTE;

  gradus_severity_from_name ((const char *) sqlite3_column_text (stmt, 1), &severity);
  info->n_findings += (guint) sqlite3_column_int (stmt, 2);
  info->worst = MAX (info->worst, severity);
}

static gboolean
read_all_findings (GradusLogReader *self, GHashTable *by_id, GError **error)
{
  sqlite3_stmt *stmt = gradus_log_reader_statement (
      self, READER_ALL_FINDINGS,
      "SELECT run, severity, count(*) FROM event WHERE kind = 'finding' GROUP BY run, severity",
      error);
  GError *failure = NULL;

  if (stmt == NULL)
    return FALSE;
  while (gradus_sqlite_step (stmt, &failure))
    {
      gint64         run = sqlite3_column_int64 (stmt, 0);
      GradusRunInfo *info = g_hash_table_lookup (by_id, &run);

      if (info != NULL)
        read_finding (info, stmt);
    }
  return gradus_log_reader_done (failure, error);
}

static gboolean
read_list (GradusLogReader *self, GPtrArray *runs, GError **error)
{
  g_autoptr (GHashTable) by_id = g_hash_table_new (g_int64_hash, g_int64_equal);
  sqlite3_stmt          *stmt = gradus_log_reader_statement (
      self, READER_RUNS, "SELECT " RUN_COLUMNS " FROM run ORDER BY id DESC", error);
  GError *failure = NULL;

  if (stmt == NULL)
    return FALSE;
  while (gradus_sqlite_step (stmt, &failure))
    {
      GradusRunInfo *info = read_run (self, stmt);

      g_ptr_array_add (runs, info);
      g_hash_table_insert (by_id, &info->id, info);
    }
  if (!gradus_log_reader_done (failure, error))
    return FALSE;
  for (guint i = 0; i < runs->len; i++)
    if (!read_metrics (self, g_ptr_array_index (runs, i), error))
      return FALSE;
  return read_all_findings (self, by_id, error);
}

GPtrArray *
gradus_log_reader_runs (GradusLogReader *self, GError **error)
{
  g_autoptr (GPtrArray) runs = NULL;
  gboolean              nested, done;

  g_return_val_if_fail (self != NULL, NULL);

  runs = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_run_info_free);
  nested = !sqlite3_get_autocommit (self->db);
  if (!nested && !gradus_log_reader_begin (self, error))
    return NULL;
  done = read_list (self, runs, error);
  if (!nested)
    gradus_log_reader_end (self);
  return done ? g_steal_pointer (&runs) : NULL;
}

static gboolean
fail_no_run (GradusLogReader *self, gint64 run, GError **error)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
               _ ("There is no run #%" PRId64 " in “%s”."), run,
               gradus_workspace_path (self->workspace));
  return FALSE;
}

GradusRunInfo *
gradus_log_reader_run (GradusLogReader *self, gint64 run, GError **error)
{
  g_autoptr (GradusRunInfo) info = NULL;
  sqlite3_stmt             *stmt;
  GError                   *failure = NULL;

  g_return_val_if_fail (self != NULL, NULL);

  stmt = gradus_log_reader_statement (self, READER_RUN,
                                      "SELECT " RUN_COLUMNS " FROM run WHERE id = ?", error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  if (gradus_sqlite_step (stmt, &failure))
    info = read_run (self, stmt);
  else if (failure == NULL)
    fail_no_run (self, run, &failure);
  sqlite3_reset (stmt);
  if (!gradus_log_reader_done (failure, error) || !read_metrics (self, info, error))
    return NULL;
  stmt = gradus_log_reader_statement (
      self, READER_RUN_FINDINGS,
      "SELECT run, severity, count(*) FROM event WHERE run = ? AND kind = 'finding'"
      " GROUP BY severity",
      error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  while (gradus_sqlite_step (stmt, &failure))
    read_finding (info, stmt);
  return gradus_log_reader_done (failure, error) ? g_steal_pointer (&info) : NULL;
}

static char *
read_document (GradusLogReader *self, const char *sql, gint64 run, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (self->db, sql, error);
  GError                  *failure = NULL;
  char                    *text = NULL;

  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  if (gradus_sqlite_step (stmt, &failure))
    text = gradus_sqlite_column_string (stmt, 0);
  else if (failure == NULL)
    fail_no_run (self, run, &failure);
  gradus_log_reader_done (failure, error);
  return text;
}

char *
gradus_log_reader_recipe (GradusLogReader *self, gint64 run, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  return read_document (self, "SELECT coalesce(recipe, '') FROM run WHERE id = ?", run, error);
}

char *
gradus_log_reader_model (GradusLogReader *self, gint64 run, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  return read_document (self, "SELECT coalesce(model, '') FROM run WHERE id = ?", run, error);
}

char *
gradus_log_reader_device (GradusLogReader *self, gint64 run, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  return read_document (self, "SELECT coalesce(device, '') FROM run WHERE id = ?", run, error);
}

gint64
gradus_log_reader_parameters (GradusLogReader *self, gint64 run, GError **error)
{
  g_autofree char *text = NULL;

  g_return_val_if_fail (self != NULL, -1);
  text = read_document (self,
                        "SELECT CASE WHEN json_valid(model) THEN"
                        " CAST(json_extract(model, '$.gradus.parameters') AS TEXT) END"
                        " FROM run WHERE id = ?",
                        run, error);
  return text != NULL ? MAX (g_ascii_strtoll (text, NULL, 10), 0) : -1;
}

/* Events, checkpoints, commands */

void
gradus_log_event_free (GradusLogEvent *event)
{
  g_free (event->subject);
  g_free (event->message);
  g_free (event->data);
  g_free (event);
}

static GradusLogEvent *
read_event (sqlite3_stmt *stmt)
{
  GradusLogEvent *event = g_new0 (GradusLogEvent, 1);

  event->id = sqlite3_column_int64 (stmt, 0);
  event->run = sqlite3_column_int64 (stmt, 1);
  event->step = sqlite3_column_int64 (stmt, 2);
  event->time = sqlite3_column_int64 (stmt, 3);
  event->kind = GRADUS_EVENT_MESSAGE;
  gradus_event_kind_from_name ((const char *) sqlite3_column_text (stmt, 4), &event->kind);
  event->severity = GRADUS_SEVERITY_NOTE;
  gradus_severity_from_name ((const char *) sqlite3_column_text (stmt, 5), &event->severity);
  event->subject = gradus_sqlite_column_string (stmt, 6);
  event->message = gradus_sqlite_column_string (stmt, 7);
  event->data = gradus_sqlite_column_string (stmt, 8);
  return event;
}

#define EVENT_COLUMNS                                                                             \
  "id, run, step, time, kind, severity, coalesce(subject, ''), coalesce(message, ''), data"

GPtrArray *
gradus_log_reader_events (GradusLogReader *self, gint64 run, gint64 after, GError **error)
{
  g_autoptr (GPtrArray) events = NULL;
  sqlite3_stmt         *stmt;
  GError               *failure = NULL;

  g_return_val_if_fail (self != NULL, NULL);

  events = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_log_event_free);
  if (run != 0)
    stmt = gradus_log_reader_statement (
        self, READER_RUN_EVENTS,
        "SELECT " EVENT_COLUMNS " FROM event WHERE id > ?1 AND run = ?2 ORDER BY id", error);
  else
    stmt = gradus_log_reader_statement (
        self, READER_EVENTS, "SELECT " EVENT_COLUMNS " FROM event WHERE id > ?1 ORDER BY id",
        error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, after);
  if (run != 0)
    sqlite3_bind_int64 (stmt, 2, run);
  while (gradus_sqlite_step (stmt, &failure))
    g_ptr_array_add (events, read_event (stmt));
  return gradus_log_reader_done (failure, error) ? g_steal_pointer (&events) : NULL;
}

void
gradus_log_checkpoint_free (GradusLogCheckpoint *checkpoint)
{
  g_free (checkpoint->path);
  g_free (checkpoint->sha256);
  g_free (checkpoint->metrics);
  g_free (checkpoint);
}

GPtrArray *
gradus_log_reader_checkpoints (GradusLogReader *self, gint64 run, GError **error)
{
  g_autoptr (GPtrArray) checkpoints = NULL;
  sqlite3_stmt         *stmt;
  GError               *failure = NULL;

  g_return_val_if_fail (self != NULL, NULL);

  checkpoints = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_log_checkpoint_free);
  stmt = gradus_log_reader_statement (
      self, READER_CHECKPOINTS,
      "SELECT id, run, step, path, bytes, coalesce(sha256, ''), metrics, pinned, best"
      " FROM checkpoint WHERE run = ? ORDER BY step",
      error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  while (gradus_sqlite_step (stmt, &failure))
    {
      GradusLogCheckpoint *checkpoint = g_new0 (GradusLogCheckpoint, 1);

      checkpoint->id = sqlite3_column_int64 (stmt, 0);
      checkpoint->run = sqlite3_column_int64 (stmt, 1);
      checkpoint->step = sqlite3_column_int64 (stmt, 2);
      checkpoint->path = gradus_sqlite_column_string (stmt, 3);
      checkpoint->bytes = sqlite3_column_int64 (stmt, 4);
      checkpoint->sha256 = gradus_sqlite_column_string (stmt, 5);
      checkpoint->metrics = gradus_sqlite_column_string (stmt, 6);
      checkpoint->pinned = sqlite3_column_int (stmt, 7) != 0;
      checkpoint->best = sqlite3_column_int (stmt, 8) != 0;
      g_ptr_array_add (checkpoints, checkpoint);
    }
  return gradus_log_reader_done (failure, error) ? g_steal_pointer (&checkpoints) : NULL;
}

void
gradus_log_command_free (GradusLogCommand *command)
{
  g_free (command->command);
  g_free (command);
}

GPtrArray *
gradus_log_reader_commands (GradusLogReader *self, gint64 run, GError **error)
{
  g_autoptr (GPtrArray) commands = NULL;
  sqlite3_stmt         *stmt;
  GError               *failure = NULL;

  g_return_val_if_fail (self != NULL, NULL);

  commands = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_log_command_free);
  stmt = gradus_log_reader_statement (self, READER_COMMANDS,
                                      "SELECT id, run, created, command FROM command"
                                      " WHERE taken_step IS NULL AND ?1 IN (0, run) ORDER BY id",
                                      error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  while (gradus_sqlite_step (stmt, &failure))
    {
      GradusLogCommand *command = g_new0 (GradusLogCommand, 1);

      command->id = sqlite3_column_int64 (stmt, 0);
      command->run = sqlite3_column_int64 (stmt, 1);
      command->created = sqlite3_column_int64 (stmt, 2);
      command->command = gradus_sqlite_column_string (stmt, 3);
      g_ptr_array_add (commands, command);
    }
  return gradus_log_reader_done (failure, error) ? g_steal_pointer (&commands) : NULL;
}
