/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "log/gradus-recorder-private.h"

#define RETRY_US 250000

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
  self->abandon = FALSE;
  reason = g_steal_pointer (&self->stall_reason);
  pthread_mutex_unlock (&self->lock);
  if (self->funcs.stalled != NULL)
    self->funcs.stalled (FALSE, reason, self->user_data);
}

/* Room comes back, and a lock is let go; anything else that lasts does not mend itself. */
static gboolean
is_waited_for (GradusError code)
{
  return code == GRADUS_ERROR_NO_SPACE || code == GRADUS_ERROR_BUSY;
}

/* What waits now is lost: says so to every run that it may be of. Called with the lock held. */
static void
lose (GradusRecorder *self)
{
  for (guint i = 0; i < self->runs->len; i++)
    {
      RecorderRun *run = g_ptr_array_index (self->runs, i);

      if (run->lost == NULL)
        run->lost = g_error_new_literal (GRADUS_ERROR, (int) self->stall_code, self->stall_reason);
    }
}

/* After a failed try: whether to go on without what could not be written. @news is set the first
 * time. Called with the lock held. */
static gboolean
give_up (GradusRecorder *self, gboolean *news)
{
  if (!self->abandon && !is_waited_for (self->stall_code)
      && g_get_monotonic_time () - self->stalled_since >= RECORDER_GIVE_UP_US)
    self->abandon = *news = TRUE;
  if (self->abandon)
    lose (self);
  return self->abandon;
}

/* Commits */

static gboolean
is_durable (const RecorderItem *item)
{
  return item->type == ITEM_STATUS || item->type == ITEM_CHECKPOINT || item->type == ITEM_DETACH;
}

void
recorder_unload (GPtrArray *series, RecorderRun *run)
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
      recorder_unload (self->known, NULL);
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

void
recorder_commit (GradusRecorder *self)
{
  guint64 records = self->n_front + self->front_items->len;
  guint64 ticket = self->tickets_wanted;
  gboolean written = FALSE;
  gboolean given_up = FALSE;
  gboolean failed = FALSE;

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
        if (!written && !give_up (self, &failed))
          recorder_wait_until (self, g_get_monotonic_time () + RETRY_US);
        given_up = !written && give_up (self, &failed);
        pthread_mutex_unlock (&self->lock);
      }
  if (failed && self->funcs.failed != NULL)
    self->funcs.failed (self->stall_reason, self->user_data);
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
