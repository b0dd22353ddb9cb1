/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

#include "log/gradus-recorder-private.h"

#define DEFAULT_CAPACITY 65536
#define WATCHED_US 50000
#define UNWATCHED_US 100000
#define LOOK_US 20000
#define WATCH_LOOK_US G_USEC_PER_SEC
#define RETRY_US 250000
#define GIVE_UP_US (5 * G_USEC_PER_SEC)

static void
wait_until (GradusRecorder *self, gint64 at)
{
  struct timespec until = { .tv_sec = at / G_USEC_PER_SEC, .tv_nsec = at % G_USEC_PER_SEC * 1000 };

  pthread_cond_timedwait (&self->wake, &self->lock, &until);
}

/* Stalls */

static void
set_stalled (GradusRecorder *self, const GError *failure)
{
  gboolean news;

  pthread_mutex_lock (&self->lock);
  news = !self->stalled;
  if (news)
    self->stalled_since = g_get_monotonic_time ();
  self->stalled = TRUE;
  self->stall_code = failure->code;
  g_free (self->stall_reason);
  self->stall_reason = g_strdup (failure->message);
  pthread_cond_broadcast (&self->done);
  pthread_mutex_unlock (&self->lock);
  if (news && self->funcs.stalled != NULL)
    self->funcs.stalled (TRUE, failure->message, self->user_data);
}

static gboolean
write_stall_findings (GradusRecorder *self, gint64 seconds, const char *reason, GError **error)
{
  const char *message
      = N_ ("The run log could not be written for a while, so the run waited. Nothing was lost.");
  g_autofree char *escaped = g_strescape (reason, "");
  g_autofree char *data
      = g_strdup_printf ("{\"rule\":\"log-stalled\",\"cause\":\"%s\",\"seconds\":%" G_GINT64_FORMAT
                         "}",
                         escaped, seconds);
  sqlite3 *db = gradus_workspace_begin (self->workspace, error);

  if (db == NULL)
    return FALSE;
  for (guint i = 0; i < self->runs->len; i++)
    {
      RecorderRun *run = g_ptr_array_index (self->runs, i);
      gint64       step;

      if (!gradus_sqlite_get (
              db, "SELECT coalesce(max(last_step), 0) FROM series WHERE run = ?1", run->run, &step,
              error)
          || !recorder_write_event (&self->writer, run->run, step, recorder_run_time (run),
                                    GRADUS_EVENT_FINDING, GRADUS_SEVERITY_WARNING, "log", message,
                                    data, error))
        {
          gradus_workspace_rollback (self->workspace);
          return FALSE;
        }
    }
  return gradus_workspace_commit (self->workspace, error);
}

static void
end_stall (GradusRecorder *self)
{
  g_autofree char *reason = NULL;
  gint64           seconds;

  if (!self->stalled)
    return;
  seconds = (g_get_monotonic_time () - self->stalled_since + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC;
  /* Should room end again just here, the next stall's finding stands for both. */
  write_stall_findings (self, seconds, self->stall_code == GRADUS_ERROR_NO_SPACE
                                           ? "no space"
                                           : "not writable", NULL);
  pthread_mutex_lock (&self->lock);
  self->stalled = FALSE;
  reason = g_steal_pointer (&self->stall_reason);
  pthread_mutex_unlock (&self->lock);
  if (self->funcs.stalled != NULL)
    self->funcs.stalled (FALSE, reason, self->user_data);
}

/* Commits */

static gboolean
is_durable (const RecorderItem *item)
{
  return item->type == ITEM_STATUS || item->type == ITEM_CHECKPOINT || item->type == ITEM_DETACH;
}

/* What a rolled-back transaction had taught the series is forgotten. */
static void
unload (GPtrArray *series, RecorderRun *run)
{
  for (guint i = 0; i < series->len; i++)
    {
      RecorderSeries *one = g_ptr_array_index (series, i);

      if (one != NULL && (run == NULL || one->run == run))
        one->loaded = FALSE;
    }
}

/* The items up to @end, and the scalars before all if they are not written yet. */
static gboolean
write_part (GradusRecorder *self, guint end, GError **error)
{
  gboolean done = TRUE;
  sqlite3 *db;

  if (gradus_log_keeper_take_ready (self->keeper)
      && gradus_workspace_acquire (self->workspace, NULL) != NULL)
    {
      gradus_workspace_checkpoint_wal (self->workspace);
      gradus_workspace_release (self->workspace);
    }
  db = gradus_workspace_begin (self->workspace, error);
  if (db == NULL)
    return FALSE;
  if (!self->scalars_done)
    done = recorder_write_scalars (&self->writer, self->known, self->back, self->n_back, error);
  for (guint i = self->n_items_done; done && i < end; i++)
    done = recorder_write_item (&self->writer, self->known,
                                g_ptr_array_index (self->back_items, i), error);
  if (!done || !gradus_sqlite_exec (db, "COMMIT", error))
    {
      unload (self->known, NULL);
      gradus_workspace_rollback (self->workspace);
      return FALSE;
    }
  gradus_workspace_release (self->workspace);
  self->scalars_done = TRUE;
  self->n_items_done = end;
  return TRUE;
}

static gboolean
write_batch (GradusRecorder *self, GError **error)
{
  guint n = self->back_items->len;
  guint durable = self->n_items_done;

  while (durable < n && !is_durable (g_ptr_array_index (self->back_items, durable)))
    durable++;
  if ((!self->scalars_done || durable > self->n_items_done) && !write_part (self, durable, error))
    return FALSE;
  if (durable == n)
    return TRUE;
  return gradus_workspace_sync (self->workspace, error) && write_part (self, n, error);
}

static void
finish_detach (GradusRecorder *self, RecorderRun *run)
{
  gradus_workspace_sync (self->workspace, NULL);
  pthread_mutex_lock (&self->lock);
  for (guint i = 0; i < self->series->len; i++)
    {
      RecorderSeries *series = g_ptr_array_index (self->series, i);

      if (series == NULL || series->run != run)
        continue;
      g_hash_table_remove (run->series, series->name);
      g_free (series->name);
      g_free (series);
      self->series->pdata[i] = NULL;
      if (i < self->known->len)
        self->known->pdata[i] = NULL;
    }
  g_ptr_array_remove (self->runs, run);
  pthread_mutex_unlock (&self->lock);
  recorder_run_free (run);
}

static void
finish_batch (GradusRecorder *self)
{
  gboolean removed = FALSE;

  for (guint i = 0; i < self->back_items->len; i++)
    {
      RecorderItem *item = g_ptr_array_index (self->back_items, i);

      removed |= item->type == ITEM_REMOVED;
      if (item->type == ITEM_DETACH)
        finish_detach (self, item->run);
    }
  /* Else the file might be gone and its row back after a loss of power. */
  if (removed)
    gradus_workspace_sync (self->workspace, NULL);
  g_ptr_array_set_size (self->back_items, 0);
  self->n_back = 0;
}

/* Called and returns with the lock held. */
static void
commit (GradusRecorder *self)
{
  guint64 records = self->n_front + self->front_items->len;
  guint64 ticket = self->tickets_wanted;
  gboolean written = FALSE;
  gboolean given_up = FALSE;

  for (guint i = self->known->len; i < self->series->len; i++)
    g_ptr_array_add (self->known, g_ptr_array_index (self->series, i));
  self->n_back = self->n_front;
  self->n_front = 0;
  self->front_bytes = 0;
  self->first_at = 0;
  {
    RecorderScalar *scalars = self->front;
    GPtrArray      *items = self->front_items;

    self->front = self->back;
    self->back = scalars;
    self->front_items = self->back_items;
    self->back_items = items;
  }
  pthread_cond_broadcast (&self->room);
  pthread_mutex_unlock (&self->lock);

  self->n_items_done = 0;
  self->scalars_done = self->n_back == 0;
  if (records > 0)
    while (!written && !given_up)
      {
        g_autoptr (GError) failure = NULL;
        gint64             begun = g_get_monotonic_time ();
        guint64            took;

        written = write_batch (self, &failure);
        took = (guint64) (g_get_monotonic_time () - begun);
        if (!written)
          set_stalled (self, failure);
        pthread_mutex_lock (&self->lock);
        self->stats.commits += written;
        self->stats.total_commit_us += took;
        self->stats.longest_commit_us = MAX (self->stats.longest_commit_us, took);
        if (!written && !self->abandon)
          wait_until (self, g_get_monotonic_time () + RETRY_US);
        given_up = self->abandon;
        pthread_mutex_unlock (&self->lock);
      }
  if (written)
    end_stall (self);
  finish_batch (self);

  pthread_mutex_lock (&self->lock);
  self->stats.records += records;
  if (written)
    self->stats.committed += records;
  self->tickets_done = ticket;
  pthread_cond_broadcast (&self->done);
}

/* Commands */

static void
hand_out (GradusRecorder *self, sqlite3_stmt *stmt, RecorderRun *run, GPtrArray *commands,
          GArray *ids)
{
  sqlite3_bind_int64 (stmt, 1, run->run);
  sqlite3_bind_int64 (stmt, 2, run->last_command);
  while (gradus_sqlite_step (stmt, NULL))
    {
      gint64 id = sqlite3_column_int64 (stmt, 0);

      g_array_append_val (ids, id);
      g_ptr_array_add (commands, gradus_sqlite_column_string (stmt, 1));
      run->last_command = id;
    }
}

static gboolean
log_changed (GradusRecorder *self, sqlite3 *db)
{
  guint  posted = gradus_workspace_commands_posted (self->workspace);
  gint64 version;

  if (!gradus_sqlite_get (db, "PRAGMA data_version", 0, &version, NULL)
      || (version == self->data_version && posted == self->commands_posted))
    return FALSE;
  self->data_version = version;
  self->commands_posted = posted;
  return TRUE;
}

/* The callbacks run without the writing connection, so that they may answer at once. */
static void
look_at_commands (GradusRecorder *self)
{
  g_autoptr (GPtrArray) runs = NULL;
  sqlite3              *db;

  pthread_mutex_lock (&self->lock);
  runs = g_ptr_array_copy (self->runs, NULL, NULL);
  pthread_mutex_unlock (&self->lock);
  db = gradus_workspace_acquire (self->workspace, NULL);
  g_assert (db != NULL);
  if (!log_changed (self, db))
    {
      gradus_workspace_release (self->workspace);
      return;
    }
  gradus_workspace_release (self->workspace);
  for (guint i = 0; i < runs->len; i++)
    {
      RecorderRun          *run = g_ptr_array_index (runs, i);
      g_autoptr (GPtrArray) commands = g_ptr_array_new_with_free_func (g_free);
      g_autoptr (GArray)    ids = g_array_new (FALSE, FALSE, sizeof (gint64));
      sqlite3_stmt         *stmt;
      GradusRecorderCommandFunc command;

      pthread_mutex_lock (&self->lock);
      command = run->command;
      pthread_mutex_unlock (&self->lock);
      if (command == NULL)
        continue;
      db = gradus_workspace_acquire (self->workspace, NULL);
      stmt = gradus_sqlite_prepare (db,
                                    "SELECT id, command FROM command WHERE run = ? AND id > ?"
                                    " AND taken_step IS NULL ORDER BY id",
                                    NULL);
      if (stmt != NULL)
        hand_out (self, stmt, run, commands, ids);
      sqlite3_finalize (stmt);
      gradus_workspace_release (self->workspace);
      for (guint j = 0; j < ids->len; j++)
        command (run->run, g_array_index (ids, gint64, j), g_ptr_array_index (commands, j),
                 run->user_data);
    }
}

/* The thread */

static gint64
period (GradusRecorder *self, gint64 now)
{
  if (now - self->watch_looked_at >= WATCH_LOOK_US)
    {
      self->watched = gradus_run_lock_is_held (self->workspace, GRADUS_WORKSPACE_WATCH_LOCK);
      self->watch_looked_at = now;
    }
  return self->watched ? WATCHED_US : UNWATCHED_US;
}

static gpointer
recorder_thread (gpointer data)
{
  GradusRecorder *self = data;

  pthread_mutex_lock (&self->lock);
  for (;;)
    {
      gint64   now = g_get_monotonic_time ();
      gboolean waiting = self->n_front > 0 || self->front_items->len > 0;
      gboolean asked = self->tickets_wanted > self->tickets_done;

      if (self->stop && !waiting && !asked)
        break;
      /* Looking comes first: a run that fills the queue faster than it can be committed must
       * still be heard when it is told to pause. */
      if (!self->stop && self->runs->len > 0 && now - self->looked_at >= LOOK_US)
        {
          self->looked_at = now;
          pthread_mutex_unlock (&self->lock);
          look_at_commands (self);
          pthread_mutex_lock (&self->lock);
        }
      else if (self->stop || asked || self->n_front >= self->capacity / 2
               || (waiting && now - self->first_at >= period (self, now)))
        commit (self);
      else if (self->runs->len == 0)
        pthread_cond_wait (&self->wake, &self->lock);
      else
        wait_until (self, self->looked_at + LOOK_US);
    }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

/* Public */

static void
init_locks (GradusRecorder *self)
{
  pthread_condattr_t attributes;

  pthread_mutex_init (&self->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&self->wake, &attributes);
  pthread_cond_init (&self->room, &attributes);
  pthread_cond_init (&self->done, &attributes);
  pthread_condattr_destroy (&attributes);
}

static void
recorder_destroy (GradusRecorder *self)
{
  g_clear_pointer (&self->keeper, gradus_log_keeper_free);
  recorder_writer_clear (&self->writer);
  pthread_cond_destroy (&self->wake);
  pthread_cond_destroy (&self->room);
  pthread_cond_destroy (&self->done);
  pthread_mutex_destroy (&self->lock);
  g_free (self->front);
  g_free (self->back);
  g_ptr_array_unref (self->front_items);
  g_ptr_array_unref (self->back_items);
  g_ptr_array_unref (self->series);
  g_ptr_array_unref (self->known);
  g_ptr_array_unref (self->runs);
  g_free (self->stall_reason);
  gradus_workspace_unref (self->workspace);
  g_free (self);
}

GradusRecorder *
gradus_recorder_new (GradusWorkspace           *workspace,
                     guint                      capacity,
                     const GradusRecorderFuncs *funcs,
                     gpointer                   user_data,
                     GError                   **error)
{
  GradusRecorder *self;

  g_return_val_if_fail (workspace != NULL, NULL);

  self = g_new0 (GradusRecorder, 1);
  self->workspace = gradus_workspace_ref (workspace);
  if (funcs != NULL)
    self->funcs = *funcs;
  self->user_data = user_data;
  self->capacity = capacity != 0 ? capacity : DEFAULT_CAPACITY;
  self->front = g_new (RecorderScalar, self->capacity);
  self->back = g_new (RecorderScalar, self->capacity);
  self->front_items = g_ptr_array_new_with_free_func ((GDestroyNotify) recorder_item_free);
  self->back_items = g_ptr_array_new_with_free_func ((GDestroyNotify) recorder_item_free);
  self->series = g_ptr_array_new ();
  self->known = g_ptr_array_new ();
  self->runs = g_ptr_array_new ();
  init_locks (self);
  if (!recorder_writer_init (&self->writer, workspace, self->capacity, error)
      || (self->keeper = gradus_log_keeper_new (workspace, error)) == NULL)
    {
      recorder_destroy (self);
      return NULL;
    }
  pthread_create (&self->thread, NULL, recorder_thread, self);
  return self;
}

/* Called with the lock held. */
static void
abandon (GradusRecorder *self)
{
  if (self->abandon)
    return;
  self->abandon = TRUE;
  g_warning ("The run log could not be written; %u records and all that follow are lost: %s",
             self->n_front + self->front_items->len + self->n_back + self->back_items->len,
             self->stall_reason);
  pthread_cond_signal (&self->wake);
}

void
gradus_recorder_give_up (GradusRecorder *self)
{
  g_return_if_fail (self != NULL);

  pthread_mutex_lock (&self->lock);
  if (self->stalled && g_get_monotonic_time () - self->stalled_since >= GIVE_UP_US)
    abandon (self);
  pthread_mutex_unlock (&self->lock);
}

void
gradus_recorder_free (GradusRecorder *self)
{
  g_return_if_fail (self != NULL);

  if (!recorder_wait (self, GIVE_UP_US))
    {
      pthread_mutex_lock (&self->lock);
      abandon (self);
      pthread_mutex_unlock (&self->lock);
    }
  pthread_mutex_lock (&self->lock);
  self->stop = TRUE;
  pthread_cond_signal (&self->wake);
  pthread_mutex_unlock (&self->lock);
  pthread_join (self->thread, NULL);
  if (self->runs->len > 0)
    g_critical ("A recorder is freed while %u runs are attached", self->runs->len);
  gradus_workspace_sync (self->workspace, NULL);
  recorder_destroy (self);
}

static gboolean
start_run (GradusRecorder *self, RecorderRun *run, gint64 *started, gint64 *last_time,
           GError **error)
{
  sqlite3 *db = gradus_workspace_begin (self->workspace, error);

  if (db == NULL)
    return FALSE;
  if (gradus_sqlite_run_ints (db, "UPDATE run SET started = coalesce(started, ?2) WHERE id = ?1",
                              run->run, gradus_workspace_now (), error)
      && gradus_sqlite_get (db, "SELECT started FROM run WHERE id = ?1", run->run, started, error)
      && gradus_sqlite_get (db, "SELECT coalesce(max(last_time), 0) FROM series WHERE run = ?1",
                            run->run, last_time, error)
      && gradus_sqlite_get (db, "SELECT coalesce(max(id), 0) FROM command WHERE run = ?1", run->run,
                            &run->last_command, error)
      && recorder_write_untaken (&self->writer, run->run, *last_time,
                                 N_ ("The command was not taken: the run was not being trained."),
                                 error))
    return gradus_workspace_commit (self->workspace, error);
  gradus_workspace_rollback (self->workspace);
  return FALSE;
}

static char *
run_uuid (GradusWorkspace *workspace, gint64 run, GError **error)
{
  sqlite3            *db = gradus_workspace_acquire (workspace, error);
  sqlite3_stmt       *stmt = NULL;
  g_autoptr (GError)  failure = NULL;
  char               *uuid = NULL;

  if (db == NULL)
    return NULL;
  stmt = gradus_sqlite_prepare (db, "SELECT uuid FROM run WHERE id = ?", &failure);
  if (stmt != NULL)
    {
      sqlite3_bind_int64 (stmt, 1, run);
      if (gradus_sqlite_step (stmt, &failure))
        uuid = gradus_sqlite_column_string (stmt, 0);
      else if (failure == NULL)
        g_set_error (&failure, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
                     _ ("There is no run #%" PRId64 " in “%s”."), run,
                     gradus_workspace_path (workspace));
    }
  sqlite3_finalize (stmt);
  gradus_workspace_release (workspace);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return uuid;
}

GradusObserver *
gradus_recorder_attach (GradusRecorder           *self,
                        gint64                    run,
                        GradusRunLock            *lock,
                        GradusRecorderCommandFunc command,
                        gpointer                  user_data,
                        GError                  **error)
{
  RecorderRun     *state;
  g_autofree char *uuid = NULL;
  gint64           started, last_time, elapsed;

  g_return_val_if_fail (self != NULL, NULL);

  state = g_new0 (RecorderRun, 1);
  recorder_run_init_funcs (state);
  state->recorder = self;
  state->run = run;
  state->lock = lock;
  state->command = command;
  state->user_data = user_data;
  uuid = run_uuid (self->workspace, run, error);
  if (uuid == NULL
      || (lock == NULL
          && (state->lock = gradus_run_lock_take (self->workspace, uuid, error)) == NULL)
      || !start_run (self, state, &started, &last_time, error))
    {
      recorder_run_free (state);
      return NULL;
    }
  /* The clock on the wall may have been set back since; time never goes backwards in a run. */
  elapsed = MAX (gradus_workspace_now () - started, last_time);
  state->origin = g_get_monotonic_time () - elapsed * 1000;

  pthread_mutex_lock (&self->lock);
  g_ptr_array_add (self->runs, state);
  /* Makes the thread look for what was posted since the log was read above. */
  gradus_workspace_command_posted (self->workspace);
  pthread_cond_signal (&self->wake);
  pthread_mutex_unlock (&self->lock);
  return &state->parent;
}

void
gradus_recorder_detach (GradusRecorder *self, GradusObserver *observer)
{
  RecorderItem *item;

  g_return_if_fail (self != NULL && observer != NULL);

  item = g_new0 (RecorderItem, 1);
  item->type = ITEM_DETACH;
  item->run = (RecorderRun *) observer;
  item->time = recorder_run_time (item->run);
  /* While the log is stalled this returns before the thread has let go of the run: who is told of
   * commands may be gone by then. */
  pthread_mutex_lock (&self->lock);
  item->run->command = NULL;
  pthread_mutex_unlock (&self->lock);
  recorder_push (self, item);
  recorder_wait (self, GIVE_UP_US);
}

gboolean
gradus_recorder_flush (GradusRecorder *self, GError **error)
{
  g_return_val_if_fail (self != NULL, FALSE);

  if (recorder_wait (self, 0))
    return TRUE;
  pthread_mutex_lock (&self->lock);
  g_set_error_literal (error, GRADUS_ERROR, (int) self->stall_code,
                       self->stall_reason != NULL ? self->stall_reason
                                                  : _ ("The run log could not be written."));
  pthread_mutex_unlock (&self->lock);
  return FALSE;
}

/* A row of a log that somebody else made may name any file: only those of checkpoints are removed. */
static void
remove_checkpoint (GradusRecorder *self, const char *relative)
{
  g_autofree char *path
      = g_canonicalize_filename (relative, gradus_workspace_path (self->workspace));
  g_autofree char *folder = gradus_workspace_resolve (self->workspace, "checkpoints/");

  if (g_str_has_prefix (path, folder))
    g_unlink (path);
}

gboolean
gradus_recorder_rewind (GradusRecorder *self, GradusObserver *observer, gint64 step, GError **error)
{
  RecorderRun          *run = (RecorderRun *) observer;
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  g_return_val_if_fail (self != NULL && observer != NULL && step >= 0, FALSE);

  if (!gradus_recorder_flush (self, error)
      || gradus_workspace_begin (self->workspace, error) == NULL)
    return FALSE;
  pthread_mutex_lock (&self->lock);
  unload (self->series, run);
  pthread_mutex_unlock (&self->lock);
  if (!recorder_write_rewind (&self->writer, run->run, step, recorder_run_time (run), paths, error))
    {
      gradus_workspace_rollback (self->workspace);
      return FALSE;
    }
  if (!gradus_workspace_commit (self->workspace, error)
      || !gradus_workspace_sync (self->workspace, error))
    return FALSE;
  for (guint i = 0; i < paths->len; i++)
    remove_checkpoint (self, g_ptr_array_index (paths, i));
  return TRUE;
}

void
gradus_recorder_get_stats (GradusRecorder *self, GradusRecorderStats *stats)
{
  g_return_if_fail (self != NULL && stats != NULL);

  pthread_mutex_lock (&self->lock);
  *stats = self->stats;
  pthread_mutex_unlock (&self->lock);
}
