/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-sqlite.h"

#include <errno.h>
#include <math.h>
#include <glib/gi18n-lib.h>

static int
busy_cb (void *data, int n_calls)
{
  if (n_calls >= GRADUS_SQLITE_BUSY_MS)
    return 0;
  g_usleep (1000);
  return 1;
}

static gboolean
means_no_space (int err)
{
  return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

/* SQLite has a code of its own for ENOSPC alone, and keeps the number of a failure within COMMIT
 * nowhere but in errno. */
static gboolean
is_no_space (sqlite3 *db, int rc, int last_errno)
{
  if ((rc & 0xff) == SQLITE_FULL)
    return TRUE;
  return db != NULL && (rc & 0xff) == SQLITE_IOERR
         && (means_no_space (sqlite3_system_errno (db)) || means_no_space (last_errno));
}

gboolean
gradus_sqlite_fail (sqlite3 *db, int rc, GError **error)
{
  int         last_errno = errno;
  int         extended = db != NULL ? sqlite3_extended_errcode (db) : rc;
  const char *path = db != NULL ? sqlite3_db_filename (db, "main") : NULL;
  const char *detail = db != NULL ? sqlite3_errmsg (db) : sqlite3_errstr (rc);

  if (path == NULL || *path == '\0')
    path = "runs.sqlite";

  if (is_no_space (db, extended, last_errno))
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_SPACE,
                 _ ("There is no room left on the disk for the run log “%s”. Make room on it."),
                 path);
  else
    switch (rc & 0xff)
      {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_BUSY,
                     _ ("Another program keeps the run log “%s” locked. Close what has it open "
                        "for writing, then try again."),
                     path);
        break;
      case SQLITE_READONLY:
      case SQLITE_PERM:
        g_set_error (
            error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY,
            _ ("The run log “%s” may not be written. Change the permissions of its folder, "
               "or choose another workspace."),
            path);
        break;
      case SQLITE_NOTADB:
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                     _ ("“%s” is not a run log. Move the file away, or choose another workspace."),
                     path);
        break;
      case SQLITE_CORRUPT:
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                     _ ("The run log “%s” is damaged (%s). Keep a copy of it, and choose another "
                        "workspace."),
                     path, detail);
        break;
      case SQLITE_NOMEM:
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                     _ ("There is not enough memory to use the run log “%s”."), path);
        break;
      default:
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO,
                     _ ("The run log “%s” could not be used: %s."), path, detail);
        break;
      }
  return FALSE;
}

sqlite3 *
gradus_sqlite_open (const char *path, GradusSqliteMode mode, GError **error)
{
  static const int flags[] = { SQLITE_OPEN_READWRITE, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                               SQLITE_OPEN_READONLY, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI };
  sqlite3         *db = NULL;
  g_autofree char *escaped = g_uri_escape_string (path, "/", FALSE);
  g_autofree char *uri = g_strconcat ("file:", escaped, "?immutable=1", NULL);
  int              rc;

  rc = sqlite3_open_v2 (mode == GRADUS_SQLITE_FROZEN ? uri : path, &db,
                        flags[mode] | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
  if (rc != SQLITE_OK)
    {
      gradus_sqlite_fail (db, rc, error);
      sqlite3_close_v2 (db);
      return NULL;
    }
  sqlite3_busy_handler (db, busy_cb, NULL);
  sqlite3_db_config (db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  return db;
}

gboolean
gradus_sqlite_exec (sqlite3 *db, const char *sql, GError **error)
{
  int rc = sqlite3_exec (db, sql, NULL, NULL, NULL);

  return rc == SQLITE_OK || gradus_sqlite_fail (db, rc, error);
}

sqlite3_stmt *
gradus_sqlite_prepare (sqlite3 *db, const char *sql, GError **error)
{
  sqlite3_stmt *stmt = NULL;
  int           rc = sqlite3_prepare_v3 (db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);

  if (rc != SQLITE_OK)
    gradus_sqlite_fail (db, rc, error);
  return stmt;
}

gboolean
gradus_sqlite_step (sqlite3_stmt *stmt, GError **error)
{
  int rc = sqlite3_step (stmt);

  if (rc == SQLITE_ROW)
    return TRUE;
  if (rc != SQLITE_DONE)
    gradus_sqlite_fail (sqlite3_db_handle (stmt), rc, error);
  sqlite3_reset (stmt);
  return FALSE;
}

gboolean
gradus_sqlite_run (sqlite3_stmt *stmt, GError **error)
{
  int rc = sqlite3_step (stmt);

  if (G_UNLIKELY (rc != SQLITE_DONE && rc != SQLITE_ROW))
    gradus_sqlite_fail (sqlite3_db_handle (stmt), rc, error);
  sqlite3_reset (stmt);
  return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

gboolean
gradus_sqlite_get (sqlite3 *db, const char *sql, gint64 argument, gint64 *value, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (db, sql, error);
  g_autoptr (GError) failure = NULL;

  if (stmt == NULL)
    return FALSE;
  if (sqlite3_bind_parameter_count (stmt) > 0)
    sqlite3_bind_int64 (stmt, 1, argument);
  *value = gradus_sqlite_step (stmt, &failure) ? sqlite3_column_int64 (stmt, 0) : 0;
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  return TRUE;
}

gboolean
gradus_sqlite_run_ints (sqlite3 *db, const char *sql, gint64 first, gint64 second, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (db, sql, error);

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, first);
  if (sqlite3_bind_parameter_count (stmt) > 1)
    sqlite3_bind_int64 (stmt, 2, second);
  return gradus_sqlite_run (stmt, error);
}

double
gradus_sqlite_column_double (sqlite3_stmt *stmt, int column)
{
  if (sqlite3_column_type (stmt, column) == SQLITE_NULL)
    return NAN;
  return sqlite3_column_double (stmt, column);
}

char *
gradus_sqlite_column_string (sqlite3_stmt *stmt, int column)
{
  const char *text = (const char *)sqlite3_column_text (stmt, column);

  return text == NULL || g_utf8_validate (text, -1, NULL) ? g_strdup (text)
                                                          : g_utf8_make_valid (text, -1);
}
