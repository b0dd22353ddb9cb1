/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>

#include "log/gradus-run-lock.h"
#include "log/gradus-run.h"
#include "log/gradus-workspace-private.h"

#define TRANSACTION_US 25000
#define PAUSE_US 5000
/* Rows between two looks at the clock: well under a millisecond. */
#define CHUNK_ROWS 256

typedef struct
{
  GradusWorkspace *workspace;
  gint64           run;
  const gint      *cancelled;
  void           (*progress) (double share, gpointer user_data);
  gpointer         user_data;
  double           total;
  double           gone;
} Deletion;

/* One table's share of the work: rows of the run, a chunk at a time. */
typedef struct
{
  const char *sql;
} Stage;

static const Stage stages[] = {
  { "DELETE FROM scalar WHERE (series, step) IN (SELECT series, step FROM scalar WHERE series ="
    " (SELECT min(s.id) FROM series AS s WHERE s.run = ?1 AND EXISTS"
    " (SELECT 1 FROM scalar WHERE series = s.id)) LIMIT ?2)" },
  { "DELETE FROM scalar_pyramid WHERE (series, level, bucket) IN (SELECT series, level, bucket FROM"
    " scalar_pyramid WHERE series = (SELECT min(s.id) FROM series AS s WHERE s.run = ?1 AND EXISTS"
    " (SELECT 1 FROM scalar_pyramid WHERE series = s.id)) LIMIT ?2)" },
  { "DELETE FROM histogram WHERE rowid IN (SELECT rowid FROM histogram WHERE series IN"
    " (SELECT id FROM series WHERE run = ?1) LIMIT ?2 / 8)" },
  { "DELETE FROM blob WHERE rowid IN (SELECT rowid FROM blob WHERE series IN"
    " (SELECT id FROM series WHERE run = ?1) LIMIT ?2 / 64)" },
  { "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE run = ?1 LIMIT ?2)" },
  { "DELETE FROM command WHERE id IN (SELECT id FROM command WHERE run = ?1 LIMIT ?2)" },
  { "DELETE FROM checkpoint WHERE id IN (SELECT id FROM checkpoint WHERE run = ?1 LIMIT ?2)" },
  { "DELETE FROM series WHERE id IN (SELECT id FROM series WHERE run = ?1 LIMIT ?2)" },
  { "DELETE FROM run WHERE id = ?1" },
};

static gboolean
is_cancelled (Deletion *self, GError **error)
{
  if (self->cancelled == NULL || !g_atomic_int_get (self->cancelled))
    return FALSE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_CANCELLED,
                       _ ("The run was not deleted to the end."));
  return TRUE;
}

/* Works on a stage for one transaction; *@more says whether there is something left. */
static gboolean
run_transaction (Deletion *self, const char *sql, gboolean *more, GError **error)
{
  sqlite3      *db = gradus_workspace_begin (self->workspace, error);
  gint64        until = g_get_monotonic_time () + TRANSACTION_US * 3 / 5;
  sqlite3_stmt *stmt;
  gboolean      done;

  if (db == NULL)
    return FALSE;
  stmt = gradus_sqlite_prepare (db, sql, error);
  done = stmt != NULL;
  *more = TRUE;
  while (done && *more && g_get_monotonic_time () < until)
    {
      sqlite3_bind_int64 (stmt, 1, self->run);
      if (sqlite3_bind_parameter_count (stmt) > 1)
        sqlite3_bind_int64 (stmt, 2, CHUNK_ROWS);
      done = gradus_sqlite_run (stmt, error);
      *more = done && sqlite3_changes (db) > 0;
      self->gone += sqlite3_changes (db);
    }
  sqlite3_finalize (stmt);
  if (done)
    return gradus_workspace_commit (self->workspace, error);
  gradus_workspace_rollback (self->workspace);
  return FALSE;
}

static gboolean
delete_rows (Deletion *self, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (stages); i++)
    for (gboolean more = TRUE; more;)
      {
        if (is_cancelled (self, error)
            || !run_transaction (self, stages[i].sql, &more, error))
          return FALSE;
        if (self->progress != NULL)
          self->progress (MIN (self->gone / MAX (self->total, 1), 1), self->user_data);
        g_usleep (PAUSE_US);
      }
  return TRUE;
}

/* The pages that became free go back to the file system, likewise in small parts. */
static gboolean
give_back (Deletion *self, GError **error)
{
  for (;;)
    {
      sqlite3 *db = gradus_workspace_begin (self->workspace, error);
      gint64   until = g_get_monotonic_time () + TRANSACTION_US * 3 / 5;
      gint64   free_pages = 0;
      gboolean done = TRUE;

      if (db == NULL)
        return FALSE;
      do
        done = gradus_sqlite_exec (db, "PRAGMA incremental_vacuum(64)", error)
               && gradus_sqlite_get (db, "PRAGMA freelist_count", 0, &free_pages, error);
      while (done && free_pages > 0 && g_get_monotonic_time () < until);
      if (!done)
        {
          gradus_workspace_rollback (self->workspace);
          return FALSE;
        }
      if (!gradus_workspace_commit (self->workspace, error))
        return FALSE;
      if (free_pages == 0)
        return TRUE;
      g_usleep (PAUSE_US);
    }
}

static gboolean
delete_folder (const char *path, GError **error)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char      *name;

  if (folder == NULL)
    return TRUE;
  while ((name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);

      g_unlink (file);
    }
  if (g_rmdir (path) == 0 || errno == ENOENT)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO,
               _ ("The checkpoints in “%s” could not be deleted: %s. Delete the folder yourself."),
               path, g_strerror (errno));
  return FALSE;
}

static gboolean
count_rows (Deletion *self, GError **error)
{
  gint64   count = 0;
  gboolean done;
  sqlite3 *db = gradus_workspace_acquire (self->workspace, error);

  if (db == NULL)
    return FALSE;
  done = gradus_sqlite_get (db, "SELECT sum(count) FROM series WHERE run = ?1", self->run, &count,
                            error);
  gradus_workspace_release (self->workspace);
  self->total = (double) count;
  return done;
}

gboolean
gradus_run_delete (GradusWorkspace *workspace,
                   gint64           run,
                   const gint      *cancelled,
                   void           (*progress) (double share, gpointer user_data),
                   gpointer         user_data,
                   GError         **error)
{
  Deletion self = { workspace, run, cancelled, progress, user_data, 0, 0 };
  g_autofree char *reference = g_strdup_printf ("#%" G_GINT64_FORMAT, run);
  g_autofree char *uuid = NULL;
  g_autofree char *folder = NULL;
  g_autoptr (GradusRunLock) lock = NULL;

  g_return_val_if_fail (workspace != NULL, FALSE);

  if (gradus_run_find (workspace, reference, &uuid, error) == 0
      || (lock = gradus_run_lock_take (workspace, uuid, error)) == NULL
      || !count_rows (&self, error) || !delete_rows (&self, error))
    return FALSE;
  if (g_uuid_string_is_valid (uuid))
    folder = gradus_workspace_checkpoint_folder (workspace, uuid);
  if (!give_back (&self, error))
    return FALSE;
  gradus_workspace_copy_wal (workspace);
  return folder == NULL || delete_folder (folder, error);
}
