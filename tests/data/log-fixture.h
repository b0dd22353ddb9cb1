/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib/gstdio.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "log/gradus-log-reader.h"
#include "log/gradus-recorder.h"
#include "log/gradus-run.h"

/* A workspace in a temporary folder that is removed with the fixture. */
typedef struct
{
  char            *path;
  GradusWorkspace *workspace;
} LogFixture;

static inline void
log_remove_tree (const char *path)
{
  GDir *folder = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  const char *name;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      log_remove_tree (child);
    }
  g_clear_pointer (&folder, g_dir_close);
  g_remove (path);
}

static inline char *
log_temporary_folder (void)
{
  g_autoptr (GError) error = NULL;
  char *path = g_dir_make_tmp ("gradus-log-XXXXXX", &error);

  g_assert_no_error (error);
  return path;
}

static inline void
log_fixture_open (LogFixture *self)
{
  g_autoptr (GError) error = NULL;

  self->workspace = gradus_workspace_open (self->path, GRADUS_WORKSPACE_CREATE, &error);
  g_assert_no_error (error);
}

static inline void
log_fixture_set_up (LogFixture *self, gconstpointer data)
{
  self->path = log_temporary_folder ();
  log_fixture_open (self);
}

static inline void
log_fixture_tear_down (LogFixture *self, gconstpointer data)
{
  g_clear_pointer (&self->workspace, gradus_workspace_unref);
  log_remove_tree (self->path);
  g_free (self->path);
}

static inline gint64
log_make_run (GradusWorkspace *workspace, const char *name)
{
  const GradusRunSpec spec = { .name = name, .status = GRADUS_RUN_QUEUED };
  g_autoptr (GError) error = NULL;
  gint64 run = gradus_run_create (workspace, &spec, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpint (run, >, 0);
  return run;
}

static inline GradusRecorder *
log_make_recorder (GradusWorkspace *workspace)
{
  g_autoptr (GError) error = NULL;
  GradusRecorder *recorder = gradus_recorder_new (workspace, 0, NULL, NULL, &error);

  g_assert_no_error (error);
  return recorder;
}

static inline GradusObserver *
log_attach (GradusRecorder *recorder, gint64 run)
{
  g_autoptr (GError) error = NULL;
  GradusObserver *observer = gradus_recorder_attach (recorder, run, NULL, NULL, NULL, &error);

  g_assert_no_error (error);
  return observer;
}

static inline void
log_flush (GradusRecorder *recorder)
{
  g_autoptr (GError) error = NULL;

  gradus_recorder_flush (recorder, &error);
  g_assert_no_error (error);
}

static inline guint
log_scalar_series (GradusObserver *observer, const char *name)
{
  return observer->funcs->series (observer, name, GRADUS_SERIES_SCALAR);
}

static inline GradusLogReader *
log_make_reader (GradusWorkspace *workspace)
{
  g_autoptr (GError) error = NULL;
  GradusLogReader *reader = gradus_log_reader_new (workspace, &error);

  g_assert_no_error (error);
  return reader;
}

/* All rows of a run's series. */
static inline GArray *
log_read_scalars (GradusWorkspace *workspace, gint64 run, const char *name)
{
  g_autoptr (GradusLogReader) reader = log_make_reader (workspace);
  g_autoptr (GradusSeriesInfo) info = NULL;
  g_autoptr (GError) error = NULL;
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (GradusScalar));

  info = gradus_log_reader_find_series (reader, run, name, &error);
  g_assert_no_error (error);
  if (info != NULL)
    gradus_log_reader_scalars (reader, info->id, G_MININT64, 0, rows, &error);
  g_assert_no_error (error);
  return rows;
}

/* Runs SQL on a file as another program would. */
static inline void
log_sql (const char *path, const char *sql)
{
  sqlite3 *db = NULL;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (db);
}

static inline gint64
log_sql_int (const char *path, const char *sql)
{
  sqlite3      *db = NULL;
  sqlite3_stmt *stmt = NULL;
  gint64        value;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_step (stmt), ==, SQLITE_ROW);
  value = sqlite3_column_int64 (stmt, 0);
  sqlite3_finalize (stmt);
  sqlite3_close (db);
  return value;
}
