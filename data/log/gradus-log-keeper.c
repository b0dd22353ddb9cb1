/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <pthread.h>

#include "log/gradus-recorder-private.h"

#define SYNC_US (5 * G_USEC_PER_SEC)
#define LOOK_US (G_USEC_PER_SEC / 4)
/* 32 MiB of write-ahead log: seconds of the fastest recording, a day of the usual. */
#define COPY_PAGES 8192

/* A checkpoint of SQLite's own would sync twice inside the recorder's commit, which then could take
 * longer than a record may wait. Here most of it happens beside the commits. */
struct _GradusLogKeeper
{
  GradusWorkspace *workspace;
  sqlite3         *db;
  pthread_t        thread;
  pthread_mutex_t  lock;
  pthread_cond_t   wake;
  gboolean         running;
  gboolean         stop;
  gint             ready;
};

static void
copy_wal (GradusLogKeeper *self)
{
  /* The second round takes what was committed during the first, so that little is left. */
  for (int i = 0; i < 2; i++)
    sqlite3_wal_checkpoint_v2 (self->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
  g_atomic_int_set (&self->ready, TRUE);
}

static gpointer
keeper_thread (gpointer data)
{
  GradusLogKeeper *self = data;
  gint64           synced_at = g_get_monotonic_time ();

  pthread_mutex_lock (&self->lock);
  while (!self->stop)
    {
      struct timespec until;
      gint64          at = g_get_monotonic_time () + LOOK_US;

      until.tv_sec = at / G_USEC_PER_SEC;
      until.tv_nsec = at % G_USEC_PER_SEC * 1000;
      pthread_cond_timedwait (&self->wake, &self->lock, &until);
      pthread_mutex_unlock (&self->lock);
      if (gradus_workspace_wal_pages (self->workspace) > COPY_PAGES
          && !g_atomic_int_get (&self->ready))
        copy_wal (self);
      if (g_get_monotonic_time () - synced_at >= SYNC_US)
        {
          gradus_workspace_sync (self->workspace, NULL);
          synced_at = g_get_monotonic_time ();
        }
      pthread_mutex_lock (&self->lock);
    }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

GradusLogKeeper *
gradus_log_keeper_new (GradusWorkspace *workspace, GError **error)
{
  GradusLogKeeper   *self;
  pthread_condattr_t attributes;
  sqlite3           *db
      = gradus_sqlite_open (gradus_workspace_log_path (workspace), GRADUS_SQLITE_WRITE, error);

  if (db == NULL)
    return NULL;
  if (!gradus_sqlite_exec (db, "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0", error))
    {
      sqlite3_close_v2 (db);
      return NULL;
    }
  self = g_new0 (GradusLogKeeper, 1);
  self->workspace = workspace;
  self->db = db;
  pthread_mutex_init (&self->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&self->wake, &attributes);
  pthread_condattr_destroy (&attributes);
  self->running = recorder_start_thread (&self->thread, keeper_thread, self, error);
  if (!self->running)
    g_clear_pointer (&self, gradus_log_keeper_free);
  return self;
}

void
gradus_log_keeper_free (GradusLogKeeper *self)
{
  pthread_mutex_lock (&self->lock);
  self->stop = TRUE;
  pthread_cond_signal (&self->wake);
  pthread_mutex_unlock (&self->lock);
  if (self->running)
    pthread_join (self->thread, NULL);
  sqlite3_close_v2 (self->db);
  pthread_cond_destroy (&self->wake);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

gboolean
gradus_log_keeper_take_ready (GradusLogKeeper *self)
{
  return g_atomic_int_compare_and_exchange (&self->ready, TRUE, FALSE);
}
