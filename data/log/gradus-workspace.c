/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/gradus-schema.h"
#include "log/gradus-workspace-private.h"

/* Beyond this the write-ahead log is copied into the file by whoever commits; a recorder's keeper
 * does so long before. */
#define MOST_WAL_PAGES 32768

struct _GradusWorkspace
{
  int   ref_count;
  char *path;
  char *log_path;
  char *read_only_reason;
  gint  wal_pages;
  /* The file that the writing connection has open. */
  dev_t log_device;
  ino_t log_inode;
  gint  commands_posted;

  /* Guards the writing connection, held while a thread uses it. */
  pthread_mutex_t writer_lock;
  sqlite3        *writer;
};

gint64
gradus_workspace_now (void)
{
  return g_get_real_time () / 1000;
}

char *
gradus_workspace_default_path (void)
{
  return g_build_filename (g_get_user_data_dir (), "gradus", NULL);
}

static gboolean
fail_errno (GError **error, const char *path, int err)
{
  GradusError code = GRADUS_ERROR_IO;

  if (err == ENOSPC || err == EDQUOT)
    code = GRADUS_ERROR_NO_SPACE;
  else if (err == EACCES || err == EROFS || err == EPERM)
    code = GRADUS_ERROR_READ_ONLY;
  g_set_error (error, GRADUS_ERROR, code,
               _ ("The workspace folder “%s” could not be made: %s. Choose another workspace."),
               path, g_strerror (err));
  return FALSE;
}

static gboolean
make_folders (GradusWorkspace *self, GError **error)
{
  static const char *const names[] = { "models", "checkpoints", "locks" };

  if (g_mkdir_with_parents (self->path, 0755) != 0)
    return fail_errno (error, self->path, errno);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *folder = g_build_filename (self->path, names[i], NULL);

      if (g_mkdir (folder, 0755) != 0 && errno != EEXIST)
        return fail_errno (error, folder, errno);
      if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("“%s” is a file, and the workspace needs a folder there. Move the file "
                          "away, or choose another workspace."),
                       folder);
          return FALSE;
        }
    }
  return TRUE;
}

/* A file where a folder should be gets a sentence of its own, wherever on the path it stands. */
static gboolean
check_path (GradusWorkspace *self, gboolean create, GError **error)
{
  g_autofree char *part = g_strdup (self->path);

  if (g_file_test (self->log_path, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("“%s” is a folder, and the run log is a file. Move the folder away, or "
                      "choose another workspace."),
                   self->log_path);
      return FALSE;
    }
  for (;;)
    {
      GStatBuf         info;
      g_autofree char *child = NULL;

      if (g_stat (part, &info) == 0)
        {
          if (S_ISDIR (info.st_mode))
            break;
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("“%s” is a file, and a workspace is a folder. Choose another place."),
                       part);
          return FALSE;
        }
      child = g_steal_pointer (&part);
      part = g_path_get_dirname (child);
      if (strcmp (part, child) == 0)
        break;
    }
  if (g_file_test (self->path, G_FILE_TEST_IS_DIR))
    {
      if (g_file_test (self->log_path, G_FILE_TEST_EXISTS) || create)
        return TRUE;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
                   _ ("There is no run log in “%s”. Choose a workspace, or make one there."),
                   self->path);
      return FALSE;
    }
  if (create)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
               _ ("There is no workspace at “%s”. Choose another folder, or make one there."),
               self->path);
  return FALSE;
}

static int
committed_cb (void *data, sqlite3 *db, const char *name, int n_pages)
{
  GradusWorkspace *self = data;

  g_atomic_int_set (&self->wal_pages, n_pages);
  return SQLITE_OK;
}

static sqlite3 *
open_writer (GradusWorkspace *self, GError **error)
{
  sqlite3 *db = gradus_sqlite_open (self->log_path, GRADUS_SQLITE_CREATE, error);
  gint64   version;

  if (db == NULL)
    return NULL;
  if (sqlite3_db_readonly (db, "main") == 1)
    {
      gradus_sqlite_fail (NULL, SQLITE_READONLY, error);
      sqlite3_close_v2 (db);
      return NULL;
    }
  if (!gradus_schema_identify (db, &version, error))
    {
      sqlite3_close_v2 (db);
      return NULL;
    }
  if (version > gradus_schema_version ())
    {
      g_set_error (
          error, GRADUS_ERROR, GRADUS_ERROR_NEWER,
          _ ("The run log “%s” was written by a newer version of Gradus, so it can only be "
             "read. Update Gradus to write in it."),
          self->log_path);
      sqlite3_close_v2 (db);
      return NULL;
    }
  if (!gradus_schema_prepare (db, error))
    {
      sqlite3_close_v2 (db);
      return NULL;
    }
  sqlite3_wal_hook (db, committed_cb, self);
  return db;
}

/* What SQLite may find only at the first write is asked of the folder beforehand. One that is not
 * there yet is asked when it is made. */
static gboolean
may_write (GradusWorkspace *self, GError **error)
{
  if (g_access (self->path, F_OK) != 0)
    return TRUE;
  if (g_access (self->path, W_OK | X_OK) == 0
      && (g_access (self->log_path, F_OK) != 0 || g_access (self->log_path, W_OK) == 0))
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY,
               _ ("The workspace “%s” may not be written, so it can only be looked at. Change the "
                  "permissions of the folder, or choose another workspace to train in."),
               self->path);
  return FALSE;
}

/* Tries to write; where only that is refused, goes on with reading. */
static gboolean
open_log (GradusWorkspace *self, GradusWorkspaceFlags flags, GError **error)
{
  g_autoptr (GError) failure = NULL;
  GStatBuf info;
  sqlite3 *reader;

  if (flags & GRADUS_WORKSPACE_READ_ONLY)
    self->read_only_reason = g_strdup (_ ("The workspace was opened for reading only."));
  else if (may_write (self, &failure) && make_folders (self, &failure))
    self->writer = open_writer (self, &failure);
  if (self->writer != NULL && g_stat (self->log_path, &info) == 0)
    {
      self->log_device = info.st_dev;
      self->log_inode = info.st_ino;
    }

  if (self->writer != NULL)
    return TRUE;
  if (failure != NULL)
    {
      if ((!g_error_matches (failure, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY)
           && !g_error_matches (failure, GRADUS_ERROR, GRADUS_ERROR_NEWER))
          || !g_file_test (self->log_path, G_FILE_TEST_EXISTS))
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
      self->read_only_reason = g_strdup (failure->message);
    }
  reader = gradus_workspace_open_reader (self, error);
  if (reader == NULL)
    return FALSE;
  sqlite3_close_v2 (reader);
  return TRUE;
}

GradusWorkspace *
gradus_workspace_open (const char *path, GradusWorkspaceFlags flags, GError **error)
{
  g_autoptr (GradusWorkspace) self = g_new0 (GradusWorkspace, 1);
  g_autofree char *chosen = NULL;
  g_autoptr (GError) failure = NULL;

  self->ref_count = 1;
  pthread_mutex_init (&self->writer_lock, NULL);
  if (path != NULL && *path == '\0')
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _ ("The workspace's name is empty. Name a folder."));
      return NULL;
    }
  chosen = path != NULL ? g_strdup (path) : gradus_workspace_default_path ();
  self->path = g_canonicalize_filename (chosen, NULL);
  self->log_path = g_build_filename (self->path, "runs.sqlite", NULL);

  if (!check_path (self, (flags & GRADUS_WORKSPACE_CREATE) != 0, error)
      || !open_log (self, flags, error))
    return NULL;
  /* Where there is no room to write down that a run was interrupted, readers say so all the same. */
  if (self->writer != NULL && gradus_workspace_recover (self, &failure) < 0
      && g_error_matches (failure, GRADUS_ERROR, GRADUS_ERROR_CORRUPT))
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  return g_steal_pointer (&self);
}

GradusWorkspace *
gradus_workspace_ref (GradusWorkspace *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  g_atomic_int_inc (&self->ref_count);
  return self;
}

void
gradus_workspace_unref (GradusWorkspace *self)
{
  g_return_if_fail (self != NULL);

  if (!g_atomic_int_dec_and_test (&self->ref_count))
    return;
  sqlite3_close_v2 (self->writer);
  pthread_mutex_destroy (&self->writer_lock);
  g_free (self->path);
  g_free (self->log_path);
  g_free (self->read_only_reason);
  g_free (self);
}

const char *
gradus_workspace_path (GradusWorkspace *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return self->path;
}

const char *
gradus_workspace_log_path (GradusWorkspace *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return self->log_path;
}

const char *
gradus_workspace_read_only_reason (GradusWorkspace *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return self->read_only_reason;
}

char *
gradus_workspace_resolve (GradusWorkspace *self, const char *relative)
{
  g_return_val_if_fail (self != NULL && relative != NULL, NULL);
  return g_build_filename (self->path, relative, NULL);
}

char *
gradus_workspace_checkpoint_folder (GradusWorkspace *self, const char *uuid)
{
  g_return_val_if_fail (self != NULL && g_uuid_string_is_valid (uuid), NULL);
  return g_build_filename (self->path, "checkpoints", uuid, NULL);
}

char *
gradus_workspace_lock_path (GradusWorkspace *self, const char *uuid)
{
  g_return_val_if_fail (self != NULL && uuid != NULL, NULL);
  return g_build_filename (self->path, "locks", uuid, NULL);
}

sqlite3 *
gradus_workspace_acquire (GradusWorkspace *self, GError **error)
{
  if (self->writer == NULL)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY, self->read_only_reason);
      return NULL;
    }
  pthread_mutex_lock (&self->writer_lock);
  return self->writer;
}

void
gradus_workspace_release (GradusWorkspace *self)
{
  pthread_mutex_unlock (&self->writer_lock);
}

/* SQLite goes on writing into a file that nobody finds any more. */
static gboolean
check_in_place (GradusWorkspace *self, GError **error)
{
  g_autofree char *wal = g_strconcat (self->log_path, "-wal", NULL);
  GStatBuf         info;

  if (g_stat (self->log_path, &info) == 0)
    {
      if (info.st_dev == self->log_device && info.st_ino == self->log_inode
          && (gradus_workspace_wal_pages (self) == 0 || g_stat (wal, &info) == 0
              || errno != ENOENT))
        return TRUE;
    }
  else if (errno != ENOENT && errno != ENOTDIR)
    {
      int saved = errno;

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO, _ ("The run log “%s” could not be used: %s."),
                   self->log_path, g_strerror (saved));
      return FALSE;
    }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO,
               _ ("The run log “%s” was removed or replaced while it was in use. Put it back, or "
                  "start Gradus again to begin a new one."),
               self->log_path);
  return FALSE;
}

sqlite3 *
gradus_workspace_begin (GradusWorkspace *self, GError **error)
{
  sqlite3 *db = gradus_workspace_acquire (self, error);

  if (db == NULL)
    return NULL;
  if (!check_in_place (self, error) || !gradus_sqlite_exec (db, "BEGIN IMMEDIATE", error))
    {
      gradus_workspace_release (self);
      return NULL;
    }
  return db;
}

gboolean
gradus_workspace_commit (GradusWorkspace *self, GError **error)
{
  gboolean done = gradus_sqlite_exec (self->writer, "COMMIT", error);

  if (!done)
    sqlite3_exec (self->writer, "ROLLBACK", NULL, NULL, NULL);
  else if (gradus_workspace_wal_pages (self) > MOST_WAL_PAGES)
    gradus_workspace_checkpoint_wal (self);
  gradus_workspace_release (self);
  return done;
}

void
gradus_workspace_rollback (GradusWorkspace *self)
{
  sqlite3_exec (self->writer, "ROLLBACK", NULL, NULL, NULL);
  gradus_workspace_release (self);
}

guint
gradus_workspace_wal_pages (GradusWorkspace *self)
{
  return (guint) g_atomic_int_get (&self->wal_pages);
}

void
gradus_workspace_checkpoint_wal (GradusWorkspace *self)
{
  /* Who cannot copy everything now, for a reader's sake or for want of room, does so later. */
  sqlite3_wal_checkpoint_v2 (self->writer, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

void
gradus_workspace_copy_wal (GradusWorkspace *self)
{
  sqlite3 *db = gradus_sqlite_open (self->log_path, GRADUS_SQLITE_WRITE, NULL);

  if (db != NULL)
    sqlite3_wal_checkpoint_v2 (db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
  sqlite3_close_v2 (db);
}

gboolean
gradus_workspace_sync (GradusWorkspace *self, GError **error)
{
  /* SQLite keeps its locks on the two other files, so that this one may be opened and closed. */
  g_autofree char *path = g_strconcat (self->log_path, "-wal", NULL);
  int              fd = -1;
  int              saved = 0;

  if (self->writer != NULL && !check_in_place (self, error))
    return FALSE;
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return TRUE;
  if (fd < 0 || fdatasync (fd) != 0)
    saved = errno;
  if (fd >= 0)
    close (fd);
  if (saved == 0)
    return TRUE;
  if (saved == ENOSPC || saved == EDQUOT)
    return gradus_sqlite_fail (NULL, SQLITE_FULL, error);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO,
               _ ("The run log “%s” could not be written to the disk: %s."), self->log_path,
               g_strerror (saved));
  return FALSE;
}

void
gradus_workspace_command_posted (GradusWorkspace *self)
{
  g_atomic_int_inc (&self->commands_posted);
}

guint
gradus_workspace_commands_posted (GradusWorkspace *self)
{
  return (guint) g_atomic_int_get (&self->commands_posted);
}

static gboolean
probe (sqlite3 *db, GError **error)
{
  gint64 version;

  return gradus_schema_identify (db, &version, error);
}

sqlite3 *
gradus_workspace_open_reader (GradusWorkspace *self, GError **error)
{
  g_autoptr (GError) failure = NULL;
  sqlite3 *db;

  db = gradus_sqlite_open (self->log_path, GRADUS_SQLITE_READ, &failure);
  if (db != NULL && probe (db, &failure))
    return db;
  sqlite3_close_v2 (db);
  /* The small file of locks beside the log cannot be made in a folder that cannot be written. */
  if (self->writer == NULL
      && (g_error_matches (failure, GRADUS_ERROR, GRADUS_ERROR_READ_ONLY)
          || g_error_matches (failure, GRADUS_ERROR, GRADUS_ERROR_IO)))
    {
      db = gradus_sqlite_open (self->log_path, GRADUS_SQLITE_FROZEN, NULL);
      if (db != NULL && probe (db, NULL))
        return db;
      sqlite3_close_v2 (db);
    }
  g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}

const char *
gradus_workspace_sqlite_version (void)
{
  return sqlite3_libversion ();
}
