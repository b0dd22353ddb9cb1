/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

#include "gradus-error.h"

G_BEGIN_DECLS

/* Private to data/log: SQLite with GError. */

/* How long a statement waits for another process's transaction. */
#define GRADUS_SQLITE_BUSY_MS 5000

/**
 * GradusSqliteMode:
 * @GRADUS_SQLITE_WRITE: read and write an existing file
 * @GRADUS_SQLITE_CREATE: likewise, or a new one
 * @GRADUS_SQLITE_READ: read beside a writer
 * @GRADUS_SQLITE_FROZEN: read a file that nobody can write, without locks or a write-ahead log
 */
typedef enum
{
  GRADUS_SQLITE_WRITE,
  GRADUS_SQLITE_CREATE,
  GRADUS_SQLITE_READ,
  GRADUS_SQLITE_FROZEN,
} GradusSqliteMode;

/* A connection for one thread at a time; close it with sqlite3_close_v2(). */
sqlite3 *gradus_sqlite_open (const char *path, GradusSqliteMode mode, GError **error);

/* Sets @error from the connection's last failure, whose result code is @rc. Returns FALSE. */
gboolean gradus_sqlite_fail (sqlite3 *db, int rc, GError **error);

/* Runs statements without results. */
gboolean gradus_sqlite_exec (sqlite3 *db, const char *sql, GError **error);

/* A statement kept for long; finalize it with sqlite3_finalize(). */
sqlite3_stmt *gradus_sqlite_prepare (sqlite3 *db, const char *sql, GError **error);

/* Runs a statement that yields no row, and resets it. */
gboolean gradus_sqlite_run (sqlite3_stmt *stmt, GError **error);

/* Whether there is one more row. FALSE at the end, after which *@error is still unset, and after a
 * failure; the statement is reset in both cases. */
gboolean gradus_sqlite_step (sqlite3_stmt *stmt, GError **error);

/* The first column of the first row of @sql with ?1 bound to @argument; 0 if there is none. */
gboolean gradus_sqlite_get (sqlite3    *db,
                            const char *sql,
                            gint64      argument,
                            gint64     *value,
                            GError    **error);

/* As @sql with ?1 and ?2 bound, without a result. */
gboolean gradus_sqlite_run_ints (sqlite3    *db,
                                 const char *sql,
                                 gint64      first,
                                 gint64      second,
                                 GError    **error);

/* Columns with SQL's NULL in mind: NaN, and a copied string, valid UTF-8 whatever the
 * file holds, or NULL. */
double gradus_sqlite_column_double (sqlite3_stmt *stmt, int column);
char  *gradus_sqlite_column_string (sqlite3_stmt *stmt, int column);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (sqlite3_stmt, sqlite3_finalize)

G_END_DECLS
