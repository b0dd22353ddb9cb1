/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "log/gradus-run.h"
#include "log/gradus-workspace-private.h"

#define MOST_LISTED 8

typedef struct
{
  gint64   id;
  char    *uuid;
  GString *listed;
  guint    n;
} Matches;

static gboolean
collect (sqlite3 *db, const char *sql, const char *reference, Matches *matches, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (db, sql, error);
  g_autoptr (GError)       failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_text (stmt, 1, reference, -1, SQLITE_STATIC);
  while (gradus_sqlite_step (stmt, &failure))
    {
      if (matches->n == 0)
        {
          matches->id = sqlite3_column_int64 (stmt, 0);
          matches->uuid = gradus_sqlite_column_string (stmt, 1);
        }
      if (matches->n < MOST_LISTED)
        g_string_append_printf (matches->listed, "%s#%lld", matches->n > 0 ? ", " : "",
                                sqlite3_column_int64 (stmt, 0));
      matches->n++;
    }
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

static gboolean
collect_number (sqlite3 *db, const char *number, Matches *matches, GError **error)
{
  gint64 id;

  /* A reference that is no number names no run. */
  return !g_ascii_string_to_signed (number, 10, 1, G_MAXINT64, &id, NULL)
         || collect (db, "SELECT id, uuid FROM run WHERE id = CAST(?1 AS INTEGER)", number, matches,
                     error);
}

static gboolean
find (sqlite3 *db, const char *reference, Matches *matches, GError **error)
{
  if (*reference == '#')
    return collect_number (db, reference + 1, matches, error);
  if (!collect (db, "SELECT id, uuid FROM run WHERE uuid = lower(?1)", reference, matches, error))
    return FALSE;
  if (matches->n == 0
      && !collect (db, "SELECT id, uuid FROM run WHERE name = ?1 ORDER BY id DESC", reference,
                   matches, error))
    return FALSE;
  /* A shell takes an unquoted #1 for a comment. */
  return matches->n > 0 || collect_number (db, reference, matches, error);
}

gint64
gradus_run_find (GradusWorkspace *workspace, const char *reference, char **uuid, GError **error)
{
  g_autoptr (GString) listed = g_string_new (NULL);
  Matches             matches = { .listed = listed };
  sqlite3            *db;
  gint64              id = 0;
  gboolean            done;

  g_return_val_if_fail (workspace != NULL && reference != NULL, 0);

  db = gradus_workspace_open_reader (workspace, error);
  if (db == NULL)
    return 0;
  done = find (db, reference, &matches, error);
  sqlite3_close_v2 (db);
  if (done && matches.n == 0)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
                 _ ("There is no run “%s” in “%s”. Give a name, a UUID or #number from the list of "
                    "runs."),
                 reference, gradus_workspace_path (workspace));
  else if (done && matches.n > 1)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                 _ ("%u runs are called “%s”. Say which by its number: %s%s."), matches.n, reference,
                 listed->str, matches.n > MOST_LISTED ? ", …" : "");
  else if (done)
    {
      id = matches.id;
      if (uuid != NULL)
        *uuid = g_steal_pointer (&matches.uuid);
    }
  g_free (matches.uuid);
  return id;
}
