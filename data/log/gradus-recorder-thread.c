/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "log/gradus-recorder-private.h"
#include "gradus-log-locale.h"

#define WATCHED_US 50000
#define UNWATCHED_US 100000
#define LOOK_US 20000
#define WATCH_LOOK_US G_USEC_PER_SEC

gboolean
recorder_start_thread (pthread_t *thread,
                       gpointer (*func) (gpointer data),
                       gpointer   data,
                       GError   **error)
{
  int code = pthread_create (thread, NULL, func, data);

  if (code == 0)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("No thread could be started for the run log: %s. Close other programs, or raise the "
                  "limits of memory and processes."),
               g_strerror (code));
  return FALSE;
}

void
recorder_wait_until (GradusRecorder *self, gint64 at)
{
  struct timespec until = { .tv_sec = at / G_USEC_PER_SEC, .tv_nsec = at % G_USEC_PER_SEC * 1000 };

  pthread_cond_timedwait (&self->wake, &self->lock, &until);
}

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

gpointer
recorder_thread (gpointer data)
{
  GradusRecorder *self = data;

  gradus_log_locale_enter ();
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
        recorder_commit (self);
      else if (self->runs->len == 0)
        pthread_cond_wait (&self->wake, &self->lock);
      else
        recorder_wait_until (self, self->looked_at + LOOK_US);
    }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}
