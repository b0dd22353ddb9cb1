/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-run.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <string.h>

#include "gradus-json.h"
#include "log/gradus-run-lock.h"
#include "log/gradus-workspace-private.h"

/* Of a name. */
#define MOST_CHARACTERS 200

static gboolean
check_name (const char *name, GError **error)
{
  gboolean printable = g_utf8_validate (name, -1, NULL);

  for (const char *c = name; printable && *c != '\0'; c = g_utf8_next_char (c))
    printable = !g_unichar_iscntrl (g_utf8_get_char (c));
  if (printable && *name != '\0' && *name != '#' && g_utf8_strlen (name, -1) <= MOST_CHARACTERS)
    return TRUE;
  if (printable && g_utf8_strlen (name, -1) <= MOST_CHARACTERS)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                 _ ("“%s” cannot be the name of a run: a name is not empty and does not begin with "
                    "“#”. Choose another one."),
                 name);
  else
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                 _ ("This cannot be the name of a run: a name is one line of at most %d characters. "
                    "Choose another one."),
                 MOST_CHARACTERS);
  return FALSE;
}

static gboolean
fail_not_found (GradusWorkspace *workspace, gint64 run, GError **error)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
               _ ("There is no run #%" PRId64 " in “%s”."), run, gradus_workspace_path (workspace));
  return FALSE;
}

/* The name, or the name with the first free number. */
static char *
free_name (sqlite3 *db, const char *name, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt
      = gradus_sqlite_prepare (db, "SELECT 1 FROM run WHERE name = ?", error);
  g_autofree char *candidate = g_strdup (name);

  if (stmt == NULL)
    return NULL;
  for (guint number = 2;; number++)
    {
      g_autoptr (GError) failure = NULL;
      gboolean           taken;

      sqlite3_bind_text (stmt, 1, candidate, -1, SQLITE_TRANSIENT);
      taken = gradus_sqlite_step (stmt, &failure);
      sqlite3_reset (stmt);
      if (failure != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return NULL;
        }
      if (!taken)
        return g_steal_pointer (&candidate);
      g_free (candidate);
      candidate = g_strdup_printf ("%s %u", name, number);
    }
}

#define PLANNED_EPOCHS(recipe)                                                                    \
  "CASE WHEN json_valid(" recipe ") THEN CAST(json_extract(" recipe ", '$.fit.epochs') AS REAL) END"

static gint64
insert_run (
    sqlite3 *db, const GradusRunSpec *spec, const char *uuid, const char *name, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      db,
      "INSERT INTO run(uuid, name, status, created, recipe, model, device, seed, host,"
      " engine_version, parent, parent_step, note, planned_epochs)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, nullif(?11, 0),"
      " CASE WHEN ?11 <> 0 THEN ?12 END, ?13, " PLANNED_EPOCHS ("?5") ")",
      error);
  const char *texts[] = { uuid, name, gradus_run_status_name (spec->status) };

  if (stmt == NULL)
    return 0;
  for (int i = 0; i < 3; i++)
    sqlite3_bind_text (stmt, 1 + i, texts[i], -1, SQLITE_STATIC);
  sqlite3_bind_int64 (stmt, 4, gradus_workspace_now ());
  sqlite3_bind_text (stmt, 5, spec->recipe, -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 6, spec->model, -1, SQLITE_STATIC);
  sqlite3_bind_text (stmt, 7, spec->device, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (stmt, 8, spec->seed);
  sqlite3_bind_text (stmt, 9, spec->host != NULL ? spec->host : g_get_host_name (), -1,
                     SQLITE_STATIC);
  sqlite3_bind_text (stmt, 10,
                     spec->engine_version != NULL ? spec->engine_version : GRADUS_VERSION, -1,
                     SQLITE_STATIC);
  sqlite3_bind_int64 (stmt, 11, spec->parent);
  sqlite3_bind_int64 (stmt, 12, spec->parent_step);
  sqlite3_bind_text (stmt, 13, spec->note, -1, SQLITE_STATIC);
  return gradus_sqlite_run (stmt, error) ? sqlite3_last_insert_rowid (db) : 0;
}

gint64
gradus_run_create (GradusWorkspace     *workspace,
                   const GradusRunSpec *spec,
                   char               **uuid,
                   char               **name,
                   GError             **error)
{
  g_autofree char *new_uuid = NULL;
  g_autofree char *new_name = NULL;
  sqlite3         *db;
  gint64           id;

  g_return_val_if_fail (workspace != NULL && spec != NULL && spec->name != NULL, 0);

  if (!check_name (spec->name, error))
    return 0;
  db = gradus_workspace_begin (workspace, error);
  if (db == NULL)
    return 0;
  new_uuid = g_uuid_string_random ();
  new_name = spec->unique_name ? free_name (db, spec->name, error) : g_strdup (spec->name);
  id = new_name != NULL ? insert_run (db, spec, new_uuid, new_name, error) : 0;
  if (id == 0)
    {
      gradus_workspace_rollback (workspace);
      return 0;
    }
  if (!gradus_workspace_commit (workspace, error))
    return 0;
  if (uuid != NULL)
    *uuid = g_steal_pointer (&new_uuid);
  if (name != NULL)
    *name = g_steal_pointer (&new_name);
  return id;
}

/* Runs an UPDATE of one run, its id at ?1, texts from ?2 on. */
static gboolean
update_run (GradusWorkspace   *workspace,
            gint64             run,
            const char        *sql,
            const char *const *texts,
            int                n_texts,
            GError           **error)
{
  sqlite3      *db = gradus_workspace_begin (workspace, error);
  sqlite3_stmt *stmt;
  gboolean      done;

  if (db == NULL)
    return FALSE;
  stmt = gradus_sqlite_prepare (db, sql, error);
  if (stmt != NULL)
    {
      sqlite3_bind_int64 (stmt, 1, run);
      for (int i = 0; i < n_texts; i++)
        sqlite3_bind_text (stmt, 2 + i, texts[i], -1, SQLITE_STATIC);
    }
  done = stmt != NULL && gradus_sqlite_run (stmt, error);
  sqlite3_finalize (stmt);
  if (done && sqlite3_changes (db) == 0)
    done = fail_not_found (workspace, run, error);
  if (done)
    return gradus_workspace_commit (workspace, error);
  gradus_workspace_rollback (workspace);
  return FALSE;
}

gboolean
gradus_run_set_status (GradusWorkspace *workspace,
                       gint64           run,
                       GradusRunStatus  status,
                       GError         **error)
{
  g_autofree char *finished = NULL;
  const char      *texts[2];

  g_return_val_if_fail (workspace != NULL, FALSE);

  if (status >= GRADUS_RUN_FINISHED)
    finished = g_strdup_printf ("%" G_GINT64_FORMAT, gradus_workspace_now ());
  texts[0] = gradus_run_status_name (status);
  texts[1] = finished;
  return update_run (workspace, run,
                     "UPDATE run SET status = ?2, finished = CAST(?3 AS INTEGER) WHERE id = ?1",
                     texts, 2, error);
}

gboolean
gradus_run_set_documents (GradusWorkspace *workspace,
                          gint64           run,
                          const char      *recipe,
                          const char      *model,
                          const char      *device,
                          GError         **error)
{
  const char *texts[] = { recipe, model, device };

  g_return_val_if_fail (workspace != NULL, FALSE);

  return update_run (workspace, run,
                     "UPDATE run SET recipe = coalesce(?2, recipe), model = coalesce(?3, model),"
                     " device = coalesce(?4, device), planned_epochs = CASE WHEN ?2 IS NULL"
                     " THEN planned_epochs ELSE " PLANNED_EPOCHS ("?2") " END WHERE id = ?1",
                     texts, 3, error);
}

gboolean
gradus_run_rename (GradusWorkspace *workspace, gint64 run, const char *name, GError **error)
{
  g_return_val_if_fail (workspace != NULL && name != NULL, FALSE);

  return check_name (name, error)
         && update_run (workspace, run, "UPDATE run SET name = ?2 WHERE id = ?1", &name, 1, error);
}

gboolean
gradus_run_set_note (GradusWorkspace *workspace, gint64 run, const char *note, GError **error)
{
  g_return_val_if_fail (workspace != NULL, FALSE);

  return update_run (workspace, run, "UPDATE run SET note = ?2 WHERE id = ?1", &note, 1, error);
}

gboolean
gradus_run_set_archived (GradusWorkspace *workspace, gint64 run, gboolean archived, GError **error)
{
  g_return_val_if_fail (workspace != NULL, FALSE);

  return update_run (workspace, run,
                     archived ? "UPDATE run SET archived = 1 WHERE id = ?1"
                              : "UPDATE run SET archived = 0 WHERE id = ?1",
                     NULL, 0, error);
}

static gboolean
check_command (const char *command, GError **error)
{
  g_autoptr (JsonNode) node = gradus_json_parse (command, -1, "command", NULL);

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("“%s” is no command: a command is a JSON object such as "
                  "{\"command\": \"pause\"}."),
               command);
  return FALSE;
}

static char *
get_uuid (GradusWorkspace *workspace, gint64 run, GError **error)
{
  g_autofree char *reference = g_strdup_printf ("#%" G_GINT64_FORMAT, run);
  char            *uuid = NULL;

  gradus_run_find (workspace, reference, &uuid, error);
  return uuid;
}

gint64
gradus_log_post_command (GradusWorkspace *workspace,
                         gint64           run,
                         const char      *command,
                         GError         **error)
{
  g_autofree char *uuid = NULL;
  sqlite3         *db;
  sqlite3_stmt    *stmt;
  gint64           id = 0;

  g_return_val_if_fail (workspace != NULL && command != NULL, 0);

  if (!check_command (command, error) || (uuid = get_uuid (workspace, run, error)) == NULL)
    return 0;
  if (!gradus_run_lock_is_held (workspace, uuid))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED,
                   _ ("The run is not being trained, so that nobody would take the command. Resume "
                      "it first."));
      return 0;
    }
  db = gradus_workspace_begin (workspace, error);
  if (db == NULL)
    return 0;
  stmt = gradus_sqlite_prepare (
      db, "INSERT INTO command(run, created, command) VALUES(?, ?, ?)", error);
  if (stmt != NULL)
    {
      sqlite3_bind_int64 (stmt, 1, run);
      sqlite3_bind_int64 (stmt, 2, gradus_workspace_now ());
      sqlite3_bind_text (stmt, 3, command, -1, SQLITE_STATIC);
      if (gradus_sqlite_run (stmt, error))
        id = sqlite3_last_insert_rowid (db);
    }
  sqlite3_finalize (stmt);
  if (id == 0)
    {
      gradus_workspace_rollback (workspace);
      return 0;
    }
  if (!gradus_workspace_commit (workspace, error))
    return 0;
  gradus_workspace_command_posted (workspace);
  return id;
}
