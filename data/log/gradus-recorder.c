/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

#include "log/gradus-recorder-private.h"

#define DEFAULT_CAPACITY 65536

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
      || (self->keeper = gradus_log_keeper_new (workspace, error)) == NULL
      || !recorder_start_thread (&self->thread, recorder_thread, self, error))
    {
      recorder_destroy (self);
      return NULL;
    }
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
  if (self->stalled && g_get_monotonic_time () - self->stalled_since >= RECORDER_GIVE_UP_US)
    abandon (self);
  pthread_mutex_unlock (&self->lock);
}

void
gradus_recorder_free (GradusRecorder *self)
{
  g_return_if_fail (self != NULL);

  if (!recorder_wait (self, RECORDER_GIVE_UP_US))
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
  recorder_wait (self, RECORDER_GIVE_UP_US);
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

gboolean
gradus_recorder_settle (GradusRecorder *self,
                        GradusObserver *observer,
                        gboolean        patient,
                        GError        **error)
{
  RecorderRun *run = (RecorderRun *) observer;
  g_autoptr (GError) lost = NULL;

  gboolean     done;

  g_return_val_if_fail (self != NULL && observer != NULL, FALSE);

  done = recorder_wait (self, patient ? -1 : RECORDER_GIVE_UP_US);
  pthread_mutex_lock (&self->lock);
  if (run->lost != NULL)
    lost = g_error_copy (run->lost);
  else if (!done)
    lost = g_error_new_literal (GRADUS_ERROR, (int) self->stall_code, self->stall_reason);
  pthread_mutex_unlock (&self->lock);
  if (lost == NULL)
    return gradus_workspace_sync (self->workspace, error);
  g_propagate_error (error, g_steal_pointer (&lost));
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
  recorder_unload (self->series, run);
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
