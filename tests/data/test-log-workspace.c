/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log-fixture.h"
#include "log/gradus-run-lock.h"
#include "log/gradus-schema.h"

static GradusWorkspace *
refused (const char *path, GradusWorkspaceFlags flags, GradusError code, const char *mentions)
{
  g_autoptr (GError) error = NULL;
  GradusWorkspace *workspace = gradus_workspace_open (path, flags, &error);

  g_assert_null (workspace);
  g_assert_error (error, GRADUS_ERROR, (int) code);
  g_assert_nonnull (strstr (error->message, mentions));
  return workspace;
}

static void
test_create (LogFixture *f, gconstpointer data)
{
  static const char *const folders[] = { "models", "checkpoints", "locks" };
  const char              *log = gradus_workspace_log_path (f->workspace);
  g_autofree char         *missing = g_build_filename (f->path, "a", "b", NULL);
  g_autofree char         *resolved = gradus_workspace_resolve (f->workspace, "checkpoints/x");
  g_autofree char         *wanted = g_build_filename (f->path, "checkpoints", "x", NULL);
  g_autoptr (GradusWorkspace) made = NULL;
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 3; i++)
    {
      g_autofree char *folder = g_build_filename (f->path, folders[i], NULL);

      g_assert_true (g_file_test (folder, G_FILE_TEST_IS_DIR));
    }
  g_assert_null (gradus_workspace_read_only_reason (f->workspace));
  g_assert_cmpstr (resolved, ==, wanted);
  g_assert_cmpint (log_sql_int (log, "PRAGMA user_version"), ==, gradus_schema_version ());
  g_assert_cmpint (log_sql_int (log, "PRAGMA auto_vacuum"), ==, 2);
  g_assert_cmpint (log_sql_int (log, "PRAGMA application_id"), ==, GRADUS_SCHEMA_APPLICATION_ID);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM pragma_table_list('scalar') WHERE wr"),
                   ==, 1);

  refused (missing, 0, GRADUS_ERROR_NOT_FOUND, missing);
  made = gradus_workspace_open (missing, GRADUS_WORKSPACE_CREATE, &error);
  g_assert_no_error (error);
  g_assert_nonnull (made);
}

/* A log of an older version is brought up, step by step, and a failing step leaves it whole. */
static void
test_migration (LogFixture *f, gconstpointer data)
{
  static const char *const steps[] = { "CREATE TABLE a(x);",
                                       "ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES(1, 2);",
                                       "CREATE TABLE b(z); INSERT INTO nowhere VALUES(1);" };
  g_autofree char         *path = g_build_filename (f->path, "old.sqlite", NULL);
  g_autoptr (GError) error = NULL;
  sqlite3 *db = gradus_sqlite_open (path, GRADUS_SQLITE_CREATE, &error);
  gint64   value;

  g_assert_no_error (error);
  g_assert_true (gradus_schema_migrate (db, steps, 1, &error));
  g_assert_true (gradus_sqlite_exec (db, "INSERT INTO a VALUES(7)", &error));
  g_assert_false (gradus_schema_migrate (db, steps, 3, &error));
  g_assert_nonnull (strstr (error->message, "INSERT INTO nowhere"));
  g_clear_error (&error);
  g_assert_true (gradus_sqlite_get (db, "PRAGMA user_version", 0, &value, &error));
  g_assert_cmpint (value, ==, 2);
  g_assert_true (gradus_sqlite_get (db, "SELECT sum(x) FROM a", 0, &value, &error));
  g_assert_cmpint (value, ==, 8);
  g_assert_true (gradus_sqlite_get (db, "SELECT count(*) FROM sqlite_schema WHERE name = 'b'", 0,
                                    &value, &error));
  g_assert_cmpint (value, ==, 0);
  sqlite3_close (db);
}

/* The first version, with a run in it, gains what later ones brought. */
static void
test_older (LogFixture *f, gconstpointer data)
{
  g_autofree char *log = g_strdup (gradus_workspace_log_path (f->workspace));

  log_make_run (f->workspace, "kept");
  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  log_sql (log, "DROP VIEW experiment; PRAGMA user_version = 1");
  log_fixture_open (f);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM experiment WHERE name = 'kept'"), ==, 1);
  g_assert_cmpint (log_sql_int (log, "PRAGMA user_version"), ==, gradus_schema_version ());
}

static void
test_newer (LogFixture *f, gconstpointer data)
{
  g_autofree char    *log = g_strdup (gradus_workspace_log_path (f->workspace));
  gint64              run = log_make_run (f->workspace, "run");
  const GradusRunSpec spec = { .name = "other" };
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GPtrArray) runs = NULL;
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  log_sql (log, "ALTER TABLE run ADD COLUMN mood; PRAGMA user_version = 99");
  log_fixture_open (f);
  g_assert_nonnull (strstr (gradus_workspace_read_only_reason (f->workspace), "newer"));
  reader = log_make_reader (f->workspace);
  runs = gradus_log_reader_runs (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (runs->len, ==, 1);
  g_assert_cmpint (gradus_run_create (f->workspace, &spec, NULL, NULL, &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY);
  g_clear_error (&error);
  g_assert_false (gradus_run_rename (f->workspace, run, "x", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY);
  g_clear_error (&error);
  g_assert_null (gradus_recorder_new (f->workspace, 0, NULL, NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY);
}

/* What stands where the workspace's own log and folders should be, and a name that is none. */
static void
test_in_the_way (LogFixture *f, gconstpointer data)
{
  static const char *const names[] = { "models", "checkpoints", "locks" };
  g_autofree char *path = g_build_filename (f->path, "other", NULL);
  g_autofree char *log = g_build_filename (path, "runs.sqlite", NULL);

  refused ("", GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_REFUSED, "empty");
  refused ("", 0, GRADUS_ERROR_REFUSED, "empty");
  g_assert_cmpint (g_mkdir_with_parents (log, 0700), ==, 0);
  refused (path, GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_REFUSED, log);
  refused (path, 0, GRADUS_ERROR_REFUSED, log);
  g_assert_cmpint (g_rmdir (log), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *name = g_build_filename (path, names[i], NULL);

      g_rmdir (name);
      g_assert_true (g_file_set_contents (name, "", 0, NULL));
      refused (path, GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_REFUSED, name);
      g_assert_cmpint (g_unlink (name), ==, 0);
    }
}

static void
test_foreign (LogFixture *f, gconstpointer data)
{
  g_autofree char *log = g_strdup (gradus_workspace_log_path (f->workspace));
  g_autofree char *wal = g_strconcat (log, "-wal", NULL);
  g_autofree char *text = g_strnfill (8192, 'x');
  g_autofree char *inside = g_build_filename (log, "deeper", NULL);

  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  refused (log, GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_REFUSED, "is a file");
  refused (inside, GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_REFUSED, log);

  g_assert_true (g_file_set_contents (log, text, -1, NULL));
  refused (f->path, GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_CORRUPT, "not a run log");

  g_unlink (log);
  log_sql (log, "CREATE TABLE friends(name)");
  refused (f->path, GRADUS_WORKSPACE_CREATE, GRADUS_ERROR_REFUSED, "another program");
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM sqlite_schema"), ==, 1);
}

/* Pages of a log full of noise: an error that says so, from whatever meets them. */
static void
test_damaged (LogFixture *f, gconstpointer data)
{
  g_autofree char *log = g_strdup (gradus_workspace_log_path (f->workspace));
  g_autofree char *contents = NULL;
  gsize            length;
  g_autoptr (GradusWorkspace) workspace = NULL;
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 200; i++)
    log_make_run (f->workspace, "run");
  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  g_assert_true (g_file_get_contents (log, &contents, &length, NULL));
  memset (contents + 4096, 0x5a, length - 4096);
  g_assert_true (g_file_set_contents (log, contents, (gssize) length, NULL));
  workspace = gradus_workspace_open (f->path, 0, &error);
  if (workspace != NULL)
    {
      g_autoptr (GradusLogReader) reader = log_make_reader (workspace);

      g_assert_null (gradus_log_reader_runs (reader, &error));
    }
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT);
}

/* A child, without root's powers, looks at a workspace that it may not write. */
static int
look_without_rights (const char *path)
{
  g_autoptr (GradusWorkspace) workspace = NULL;
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GPtrArray) runs = NULL;
  g_autoptr (GError) error = NULL;
  const GradusRunSpec spec = { .name = "other" };

  if (geteuid () == 0 && (setgid (65534) != 0 || setuid (65534) != 0))
    return 2;
  workspace = gradus_workspace_open (path, GRADUS_WORKSPACE_CREATE, &error);
  if (workspace == NULL)
    return 3;
  if (gradus_workspace_read_only_reason (workspace) == NULL)
    return 4;
  reader = gradus_log_reader_new (workspace, NULL);
  runs = reader != NULL ? gradus_log_reader_runs (reader, NULL) : NULL;
  if (runs == NULL || runs->len != 1)
    return 5;
  if (gradus_run_create (workspace, &spec, NULL, NULL, &error) != 0
      || !g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY))
    return 6;
  return 0;
}

static void
test_read_only_folder (LogFixture *f, gconstpointer data)
{
  g_autofree char *log = g_strdup (gradus_workspace_log_path (f->workspace));
  int              status;
  pid_t            child;

  log_make_run (f->workspace, "run");
  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  g_assert_cmpint (chmod (log, 0444), ==, 0);
  g_assert_cmpint (chmod (f->path, 0555), ==, 0);
  child = fork ();
  if (child == 0)
    _exit (look_without_rights (f->path));
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (chmod (f->path, 0755), ==, 0);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

static void
test_asked_read_only (LogFixture *f, gconstpointer data)
{
  g_autoptr (GradusWorkspace) workspace = NULL;
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GPtrArray) runs = NULL;
  g_autoptr (GError) error = NULL;

  log_make_run (f->workspace, "run");
  workspace = gradus_workspace_open (f->path, GRADUS_WORKSPACE_READ_ONLY, &error);
  g_assert_no_error (error);
  g_assert_nonnull (gradus_workspace_read_only_reason (workspace));
  reader = log_make_reader (workspace);
  runs = gradus_log_reader_runs (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (runs->len, ==, 1);
  g_assert_false (gradus_run_rename (workspace, 1, "x", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY);
}

static void
test_locked (LogFixture *f, gconstpointer data)
{
  const GradusRunSpec spec = { .name = "other" };
  g_autoptr (GError) error = NULL;
  sqlite3 *db = NULL;

  g_assert_cmpint (sqlite3_open (gradus_workspace_log_path (f->workspace), &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
  g_assert_cmpint (gradus_run_create (f->workspace, &spec, NULL, NULL, &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_BUSY);
  g_clear_error (&error);
  sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_close (db);
  g_assert_cmpint (gradus_run_create (f->workspace, &spec, NULL, NULL, &error), >, 0);
  g_assert_no_error (error);
}

static void
test_runs (LogFixture *f, gconstpointer data)
{
  const GradusRunSpec spec = {
    .name = "cnn",
    .unique_name = TRUE,
    .recipe =
        "{\"fit\":{\"epochs\":5},\"compile\":{\"optimizer\":{\"class_name\":\"Adam\","
        "\"config\":{\"learning_rate\":0.25}}},\"data\":{\"pipeline\":[{\"cache\":\"memory\"},"
        "{\"batch\":64}]}}",
    .seed = 42,
  };
  g_autofree char *uuid = NULL;
  g_autofree char *name = NULL;
  g_autofree char *found = NULL;
  g_autofree char *recipe = NULL;
  g_autofree char *model = NULL;
  g_autofree char *by_number = NULL;
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusRunInfo) info = NULL;
  g_autoptr (GError) error = NULL;
  const char *log = gradus_workspace_log_path (f->workspace);
  gint64      first, second;

  first = gradus_run_create (f->workspace, &spec, &uuid, NULL, &error);
  g_assert_no_error (error);
  second = gradus_run_create (f->workspace, &spec, NULL, &name, &error);
  g_assert_cmpstr (name, ==, "cnn 2");
  g_assert_cmpint (gradus_run_find (f->workspace, uuid, NULL, &error), ==, first);
  g_assert_cmpint (gradus_run_find (f->workspace, "cnn 2", &found, &error), ==, second);
  by_number = g_strdup_printf ("#%" G_GINT64_FORMAT, first);
  g_assert_cmpint (gradus_run_find (f->workspace, by_number, NULL, &error), ==, first);
  g_assert_cmpint (gradus_run_find (f->workspace, by_number + 1, NULL, &error), ==, first);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_run_find (f->workspace, "dnn", NULL, &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_cmpint (gradus_run_find (f->workspace, "#x", NULL, &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);

  g_assert_true (gradus_run_rename (f->workspace, second, "cnn", &error));
  g_assert_cmpint (gradus_run_find (f->workspace, "cnn", NULL, &error), ==, 0);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, by_number));
  g_clear_error (&error);
  g_assert_false (gradus_run_rename (f->workspace, second, "#1", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_clear_error (&error);
  g_assert_false (gradus_run_rename (f->workspace, 99, "x", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);

  g_assert_true (gradus_run_set_note (f->workspace, first, "good", &error));
  g_assert_true (gradus_run_set_archived (f->workspace, first, TRUE, &error));
  g_assert_true (gradus_run_set_status (f->workspace, first, GRADUS_RUN_STOPPED, &error));
  g_assert_true (gradus_run_set_documents (f->workspace, first, NULL, "{\"m\":1}", NULL, &error));
  info = gradus_log_reader_run (reader, first, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (info->note, ==, "good");
  g_assert_cmpstr (info->uuid, ==, uuid);
  g_assert_true (info->archived);
  g_assert_cmpint (info->status, ==, GRADUS_RUN_STOPPED);
  g_assert_cmpint (info->finished, >=, info->created);
  g_assert_cmpint (info->seed, ==, 42);
  g_assert_cmpfloat (info->planned_epochs, ==, 5);
  g_assert_true (isnan (info->validation_loss));
  recipe = gradus_log_reader_recipe (reader, first, NULL);
  g_assert_cmpstr (recipe, ==, spec.recipe);
  model = gradus_log_reader_model (reader, first, NULL);
  g_assert_cmpstr (model, ==, "{\"m\":1}");
  g_assert_null (gradus_log_reader_run (reader, 99, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);

  g_assert_cmpint (log_sql_int (log,
                                "SELECT count(*) FROM experiment WHERE optimizer = 'Adam'"
                                " AND learning_rate = 0.25 AND epochs = 5 AND batch_size = 64"),
                   ==, 2);
}

/* A run whose recipe is no JSON does not spoil the view for the others. */
static void
test_experiment (LogFixture *f, gconstpointer data)
{
  const GradusRunSpec bad = { .name = "bad", .recipe = "{" };
  gint64              run = log_make_run (f->workspace, "good");
  GradusRecorder     *recorder = log_make_recorder (f->workspace);
  GradusObserver     *observer = log_attach (recorder, run);
  guint               loss = log_scalar_series (observer, "validation/loss");
  const char         *log = gradus_workspace_log_path (f->workspace);

  g_assert_cmpint (gradus_run_create (f->workspace, &bad, NULL, NULL, NULL), >, 0);
  observer->funcs->scalar (observer, loss, 1, 0.5);
  observer->funcs->scalar (observer, loss, 2, 0.25);
  observer->funcs->scalar (observer, loss, 3, 0.75);
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM experiment"), ==, 2);
  g_assert_cmpint (log_sql_int (log,
                                "SELECT count(*) FROM experiment WHERE last_validation_loss = 0.75"
                                " AND best_validation_loss = 0.25 AND steps = 3"
                                " AND json_extract(metrics, '$.\"validation/loss\".min') = 0.25"),
                   ==, 1);
}

static void
test_lock (LogFixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  GradusRunLock   *lock = gradus_run_lock_take (f->workspace, "some", &error);
  g_autofree char *path = gradus_workspace_lock_path (f->workspace, "some");

  g_assert_no_error (error);
  g_assert_true (gradus_run_lock_is_held (f->workspace, "some"));
  g_assert_false (gradus_run_lock_is_held (f->workspace, "other"));
  g_assert_null (gradus_run_lock_take (f->workspace, "some", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_BUSY);
  gradus_run_lock_release (lock);
  g_assert_false (gradus_run_lock_is_held (f->workspace, "some"));
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
}

/* A log that somebody made to hurt: its names lead to files outside of the folders of the workspace. */
static void
test_hostile_names (LogFixture *f, gconstpointer data)
{
  g_autofree char *log = g_strdup (gradus_workspace_log_path (f->workspace));
  g_autofree char *victim = g_build_filename (f->path, "models", "precious", NULL);
  g_autoptr (GError) error = NULL;
  gint64          run = log_make_run (f->workspace, "run");
  gint64          other;
  GradusRecorder *recorder;
  GradusObserver *observer;

  g_assert_true (g_file_set_contents (victim, "x", 1, NULL));
  log_sql (log, "INSERT INTO run(uuid, name, status, created)"
                " VALUES('../models/precious', 'bad', 'running', 0)");
  g_clear_pointer (&f->workspace, gradus_workspace_unref);
  log_fixture_open (f);
  g_assert_true (g_file_test (victim, G_FILE_TEST_EXISTS));
  other = log_sql_int (log, "SELECT id FROM run WHERE name = 'bad'");
  g_assert_null (gradus_run_lock_take (f->workspace, "../models/precious", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT);
  g_clear_error (&error);
  g_assert_false (gradus_run_delete (f->workspace, other, NULL, NULL, NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT);
  g_clear_error (&error);

  log_sql (log, "INSERT INTO checkpoint(run, step, path) SELECT id, 9, 'checkpoints/../models/precious'"
                " FROM run WHERE name = 'run'");
  recorder = log_make_recorder (f->workspace);
  observer = log_attach (recorder, run);
  g_assert_true (gradus_recorder_rewind (recorder, observer, 1, &error));
  gradus_recorder_detach (recorder, observer);
  gradus_recorder_free (recorder);
  g_assert_true (g_file_test (victim, G_FILE_TEST_EXISTS));
  g_assert_cmpint (log_sql_int (log, "SELECT count(*) FROM checkpoint"), ==, 0);
}

/* Text that is no UTF-8 comes out as such. */
static void
test_hostile_text (LogFixture *f, gconstpointer data)
{
  gint64 run = log_make_run (f->workspace, "run");
  g_autoptr (GradusLogReader) reader = log_make_reader (f->workspace);
  g_autoptr (GradusRunInfo) info = NULL;

  log_sql (gradus_workspace_log_path (f->workspace),
           "UPDATE run SET name = CAST(x'61ff62' AS TEXT), note = CAST(x'c3' AS TEXT)");
  info = gradus_log_reader_run (reader, run, NULL);
  g_assert_nonnull (info);
  g_assert_true (g_utf8_validate (info->name, -1, NULL));
  g_assert_true (g_utf8_validate (info->note, -1, NULL));
  g_assert_true (g_str_has_prefix (info->name, "a"));
}

/* A name that would break a list or steer a terminal names no run. */
static void
test_odd_names (LogFixture *f, gconstpointer data)
{
  g_autofree char  *longest = g_strnfill (200, 'x');
  g_autofree char  *longer = g_strnfill (201, 'x');
  const char *const refused_names[] = { "", "#1", "a\nb", "\x1b[31mred", "\t", "\xff", longer };
  const char *const taken_names[] = { longest, "a/b", "线性 😀", "-" };

  for (guint i = 0; i < G_N_ELEMENTS (refused_names); i++)
    {
      const GradusRunSpec spec = { .name = refused_names[i] };
      g_autoptr (GError)  error = NULL;

      g_assert_cmpint (gradus_run_create (f->workspace, &spec, NULL, NULL, &error), ==, 0);
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_assert_null (strpbrk (error->message, "\n\x1b\t"));
    }
  for (guint i = 0; i < G_N_ELEMENTS (taken_names); i++)
    log_make_run (f->workspace, taken_names[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func)                                                                            \
  g_test_add (path, LogFixture, NULL, log_fixture_set_up, func, log_fixture_tear_down)
  /* First, while there is no thread that a fork would lose. */
  ADD ("/log/workspace/read-only-folder", test_read_only_folder);
  ADD ("/log/workspace/create", test_create);
  ADD ("/log/workspace/migration", test_migration);
  ADD ("/log/workspace/older", test_older);
  ADD ("/log/workspace/newer", test_newer);
  ADD ("/log/workspace/foreign", test_foreign);
  ADD ("/log/workspace/in-the-way", test_in_the_way);
  ADD ("/log/workspace/damaged", test_damaged);
  ADD ("/log/workspace/asked-read-only", test_asked_read_only);
  ADD ("/log/workspace/locked", test_locked);
  ADD ("/log/workspace/runs", test_runs);
  ADD ("/log/workspace/experiment", test_experiment);
  ADD ("/log/workspace/lock", test_lock);
  ADD ("/log/workspace/hostile-names", test_hostile_names);
  ADD ("/log/workspace/hostile-text", test_hostile_text);
  ADD ("/log/workspace/odd-names", test_odd_names);
  return g_test_run ();
}
