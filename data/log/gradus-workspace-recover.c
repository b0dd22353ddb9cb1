/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>

#include "log/gradus-run-lock.h"
#include "log/gradus-workspace-private.h"

typedef struct
{
  gint64 id;
  char  *uuid;
} Suspect;

static void
suspect_clear (Suspect *suspect)
{
  g_free (suspect->uuid);
}

gboolean
gradus_workspace_is_abandoned (GradusWorkspace *self, const char *uuid, gboolean queued)
{
  g_autofree char *path = gradus_workspace_lock_path (self, uuid);

  if (queued && g_access (path, F_OK) != 0)
    return FALSE;
  return !gradus_run_lock_is_held (self, uuid);
}

static GArray *
find_suspects (GradusWorkspace *self, GError **error)
{
  g_autoptr (GArray) suspects = g_array_new (FALSE, FALSE, sizeof (Suspect));
  g_autoptr (GError) failure = NULL;
  sqlite3_stmt      *stmt;
  sqlite3           *db = gradus_workspace_acquire (self, error);

  if (db == NULL)
    return NULL;
  g_array_set_clear_func (suspects, (GDestroyNotify) suspect_clear);
  stmt = gradus_sqlite_prepare (db,
                                "SELECT id, uuid, status = 'queued' FROM run"
                                " WHERE status IN ('queued', 'running', 'paused')",
                                &failure);
  while (stmt != NULL && gradus_sqlite_step (stmt, &failure))
    {
      const char *uuid = (const char *) sqlite3_column_text (stmt, 1);

      if (gradus_workspace_is_abandoned (self, uuid, sqlite3_column_int (stmt, 2)))
        {
          Suspect suspect = { sqlite3_column_int64 (stmt, 0), g_strdup (uuid) };

          g_array_append_val (suspects, suspect);
        }
    }
  sqlite3_finalize (stmt);
  gradus_workspace_release (self);
  if (failure == NULL)
    return g_steal_pointer (&suspects);
  g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}

/* It ended, for all the log knows, with its newest row. */
static gboolean
mark_interrupted (sqlite3 *db, gint64 run, GError **error)
{
  static const char *const statements[] = {
    "INSERT INTO event(run, step, time, kind, severity, subject, message)"
    " SELECT id, coalesce((SELECT max(last_step) FROM series WHERE run = ?1), 0),"
    " coalesce((SELECT max(last_time) FROM series WHERE run = ?1), 0), 'status', 'warning',"
    " 'interrupted', ?2 FROM run WHERE id = ?1 AND status IN ('queued', 'running', 'paused')",
    "UPDATE run SET status = 'interrupted',"
    " finished = coalesce(started, created)"
    " + coalesce((SELECT max(last_time) FROM series WHERE run = ?1), 0)"
    " WHERE id = ?1 AND status IN ('queued', 'running', 'paused')",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (statements); i++)
    {
      g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (db, statements[i], error);

      if (stmt == NULL)
        return FALSE;
      sqlite3_bind_int64 (stmt, 1, run);
      if (sqlite3_bind_parameter_count (stmt) > 1)
        sqlite3_bind_text (stmt, 2,
                           N_ ("The program that trained the run ended without saying so."), -1,
                           SQLITE_STATIC);
      if (!gradus_sqlite_run (stmt, error))
        return FALSE;
    }
  return TRUE;
}

int
gradus_workspace_recover (GradusWorkspace *self, GError **error)
{
  g_autoptr (GArray) suspects = NULL;
  int                n = 0;

  g_return_val_if_fail (self != NULL, -1);

  suspects = find_suspects (self, error);
  if (suspects == NULL)
    return -1;
  for (guint i = 0; i < suspects->len; i++)
    {
      const Suspect *suspect = &g_array_index (suspects, Suspect, i);
      /* Holding the lock keeps the run from being resumed just now. */
      g_autoptr (GradusRunLock) lock = gradus_run_lock_take (self, suspect->uuid, NULL);
      sqlite3                  *db;

      if (lock == NULL)
        continue;
      db = gradus_workspace_begin (self, error);
      if (db == NULL)
        return -1;
      if (!mark_interrupted (db, suspect->id, error))
        {
          gradus_workspace_rollback (self);
          return -1;
        }
      if (!gradus_workspace_commit (self, error))
        return -1;
      n++;
    }
  return n;
}
