/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-schema.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/* The documents of a run stand last, so that a list of runs never reads over them. */
static const char schema_1[]
    = "CREATE TABLE run("
      " id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
      " status TEXT NOT NULL CHECK(status IN ('queued', 'running', 'paused', 'finished', 'stopped',"
      " 'failed', 'interrupted')),"
      " created INTEGER NOT NULL, started INTEGER, finished INTEGER, seed INTEGER, host TEXT,"
      " engine_version TEXT, parent INTEGER, parent_step INTEGER, note TEXT,"
      " archived INTEGER NOT NULL DEFAULT 0, planned_epochs REAL, device TEXT, recipe TEXT,"
      " model TEXT);"
      "CREATE INDEX run_name ON run(name);"
      "CREATE INDEX run_status ON run(status) WHERE status IN ('queued', 'running', 'paused');"
      "CREATE TABLE series("
      " id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, name TEXT NOT NULL,"
      " kind TEXT NOT NULL, count INTEGER NOT NULL DEFAULT 0, first_step INTEGER,"
      " last_step INTEGER, first_time INTEGER, last_time INTEGER, last_value REAL, min REAL,"
      " min_step INTEGER, max REAL, max_step INTEGER, nans INTEGER NOT NULL DEFAULT 0,"
      " pinfs INTEGER NOT NULL DEFAULT 0, ninfs INTEGER NOT NULL DEFAULT 0,"
      " generation INTEGER NOT NULL DEFAULT 0, UNIQUE(run, name));"
      "CREATE TABLE scalar("
      " series INTEGER NOT NULL, step INTEGER NOT NULL, time INTEGER NOT NULL, value REAL,"
      " PRIMARY KEY(series, step)) WITHOUT ROWID;"
      "CREATE TABLE scalar_pyramid("
      " series INTEGER NOT NULL, level INTEGER NOT NULL, bucket INTEGER NOT NULL,"
      " first_step INTEGER NOT NULL, last_step INTEGER NOT NULL, first_time INTEGER NOT NULL,"
      " last_time INTEGER NOT NULL, first_value REAL, last_value REAL, min REAL, min_step INTEGER,"
      " max REAL, max_step INTEGER, sum REAL, count INTEGER NOT NULL, nans INTEGER NOT NULL,"
      " pinfs INTEGER NOT NULL, ninfs INTEGER NOT NULL,"
      " PRIMARY KEY(series, level, bucket)) WITHOUT ROWID;"
      "CREATE TABLE histogram("
      " series INTEGER NOT NULL, step INTEGER NOT NULL, time INTEGER NOT NULL, min REAL, max REAL,"
      " mean REAL, stddev REAL, count INTEGER, zeros INTEGER, nans INTEGER, infs INTEGER,"
      " edges BLOB, counts BLOB, PRIMARY KEY(series, step));"
      "CREATE TABLE blob("
      " series INTEGER NOT NULL, step INTEGER NOT NULL, time INTEGER NOT NULL, format TEXT,"
      " data BLOB, PRIMARY KEY(series, step));"
      "CREATE TABLE event("
      " id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, step INTEGER NOT NULL,"
      " time INTEGER NOT NULL, kind TEXT NOT NULL, severity TEXT NOT NULL, subject TEXT,"
      " message TEXT, data TEXT);"
      "CREATE INDEX event_run ON event(run, id);"
      "CREATE INDEX event_finding ON event(run, severity) WHERE kind = 'finding';"
      "CREATE TABLE checkpoint("
      " id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, step INTEGER NOT NULL,"
      " path TEXT NOT NULL, bytes INTEGER, sha256 TEXT, metrics TEXT,"
      " pinned INTEGER NOT NULL DEFAULT 0, best INTEGER NOT NULL DEFAULT 0, UNIQUE(run, step));"
      "CREATE TABLE command("
      " id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, created INTEGER NOT NULL,"
      " command TEXT NOT NULL, taken_step INTEGER);"
      "CREATE INDEX command_waiting ON command(run, id) WHERE taken_step IS NULL;"
      "CREATE INDEX command_run ON command(run, id);";

#define LAST(name) "(SELECT last_value FROM series WHERE run = r.id AND name = '" name "')"
#define LEAST(name) "(SELECT min FROM series WHERE run = r.id AND name = '" name "')"
#define MOST(name) "(SELECT max FROM series WHERE run = r.id AND name = '" name "')"
#define RECIPE(path) "json_extract(r.recipe, '$." path "')"

/* json_extract() fails a whole query over one recipe that is no JSON, hence the CASE. */
static const char schema_2[]
    = "CREATE VIEW experiment AS SELECT r.id, r.uuid, r.name, r.status,"
      " datetime(r.created / 1000, 'unixepoch') AS created,"
      " (r.finished - r.started) / 1000.0 AS seconds, r.seed, r.host, r.parent, r.parent_step,"
      " r.note, r.archived,"
      " " RECIPE ("compile.optimizer.class_name") " AS optimizer,"
      " " RECIPE ("compile.optimizer.config.learning_rate") " AS learning_rate,"
      " " RECIPE ("compile.loss") " AS loss,"
      " " RECIPE ("fit.epochs") " AS epochs,"
      " (SELECT json_extract(stage.value, '$.batch') FROM json_each(r.recipe, '$.data.pipeline')"
      "  AS stage WHERE json_type(stage.value, '$.batch') = 'integer') AS batch_size,"
      " " RECIPE ("fit.precision") " AS precision,"
      " (SELECT max(last_step) FROM series WHERE run = r.id) AS steps,"
      " " LAST ("train/loss") " AS last_train_loss,"
      " " LEAST ("train/loss") " AS best_train_loss,"
      " " LAST ("train/accuracy") " AS last_train_accuracy,"
      " " MOST ("train/accuracy") " AS best_train_accuracy,"
      " " LAST ("validation/loss") " AS last_validation_loss,"
      " " LEAST ("validation/loss") " AS best_validation_loss,"
      " " LAST ("validation/accuracy") " AS last_validation_accuracy,"
      " " MOST ("validation/accuracy") " AS best_validation_accuracy,"
      " " LAST ("test/loss") " AS test_loss,"
      " " LAST ("test/accuracy") " AS test_accuracy,"
      " (SELECT json_group_object(name, json_object('last', last_value, 'min', min, 'max', max))"
      "  FROM series WHERE run = r.id AND kind = 'scalar' AND (name LIKE 'train/%'"
      "  OR name LIKE 'validation/%' OR name LIKE 'test/%')) AS metrics"
      " FROM (SELECT id, uuid, name, status, created, started, finished, seed, host, parent,"
      "  parent_step, note, archived,"
      "  CASE WHEN json_valid(recipe) THEN recipe ELSE '{}' END AS recipe FROM run) AS r;";

static const char *const steps[] = { schema_1, schema_2 };

int
gradus_schema_version (void)
{
  return G_N_ELEMENTS (steps);
}

/* Statement by statement, so that the one that fails can be named. */
static gboolean
run_step (sqlite3 *db, const char *sql, int step, GError **error)
{
  while (*sql != '\0')
    {
      sqlite3_stmt *stmt = NULL;
      const char   *rest = NULL;
      int           rc = sqlite3_prepare_v2 (db, sql, -1, &stmt, &rest);

      if (rc == SQLITE_OK && stmt != NULL)
        {
          do
            rc = sqlite3_step (stmt);
          while (rc == SQLITE_ROW);
          sqlite3_finalize (stmt);
        }
      if (rc != SQLITE_OK && rc != SQLITE_DONE)
        {
          gradus_sqlite_fail (db, rc, error);
          if (rest == NULL || rest == sql)
            rest = sql + strlen (sql);
          g_prefix_error (error, _ ("Step %d of the upgrade of the run log failed at “%.*s”. "), step,
                          (int) MIN (rest - sql, 300), sql);
          return FALSE;
        }
      sql = rest;
    }
  return TRUE;
}

gboolean
gradus_schema_migrate (sqlite3 *db, const char *const *list, int n_steps, GError **error)
{
  for (;;)
    {
      gint64           version;
      g_autofree char *pragma = NULL;

      /* Another process may have gone ahead while this one waited for the lock, so the version is
       * read inside the transaction. */
      if (!gradus_sqlite_exec (db, "BEGIN IMMEDIATE", error))
        return FALSE;
      if (!gradus_sqlite_get (db, "PRAGMA user_version", 0, &version, error))
        break;
      if (version >= n_steps)
        return gradus_sqlite_exec (db, "COMMIT", error);
      pragma = g_strdup_printf ("PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT",
                                (int) version + 1, GRADUS_SCHEMA_APPLICATION_ID);
      if (!run_step (db, list[version], (int) version + 1, error)
          || !gradus_sqlite_exec (db, pragma, error))
        break;
    }
  sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

gboolean
gradus_schema_prepare (sqlite3 *db, GError **error)
{
  gint64 version;

  /* auto_vacuum must stand before the first page is written. */
  if (!gradus_sqlite_exec (db,
                           "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
                           "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
                           "PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 0;"
                           "PRAGMA journal_size_limit = 67108864",
                           error)
      || !gradus_sqlite_get (db, "PRAGMA user_version", 0, &version, error))
    return FALSE;
  /* An up-to-date log is opened without waiting for who writes in it. */
  return version >= gradus_schema_version () || gradus_schema_migrate (db, steps, G_N_ELEMENTS (steps), error);
}

gboolean
gradus_schema_identify (sqlite3 *db, gint64 *version, GError **error)
{
  gint64 application, tables;

  if (!gradus_sqlite_get (db, "PRAGMA user_version", 0, version, error)
      || !gradus_sqlite_get (db, "PRAGMA application_id", 0, &application, error)
      || !gradus_sqlite_get (db, "SELECT count(*) FROM sqlite_schema", 0, &tables, error))
    return FALSE;
  if (application == GRADUS_SCHEMA_APPLICATION_ID
      || (application == 0 && tables == 0 && *version == 0))
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("“%s” is the database of another program. Choose another workspace."),
               sqlite3_db_filename (db, "main"));
  return FALSE;
}
