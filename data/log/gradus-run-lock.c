/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-run-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct _GradusRunLock
{
  char *path;
  int   fd;
};

static struct flock
whole_file (short type)
{
  return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

static gboolean
fail (GError **error, const char *path, int err)
{
  GradusError code = err == ENOSPC || err == EDQUOT                      ? GRADUS_ERROR_NO_SPACE
                     : err == EACCES || err == EROFS || err == EPERM ? GRADUS_ERROR_READ_ONLY
                                                                     : GRADUS_ERROR_IO;

  g_set_error (error, GRADUS_ERROR, code, _ ("The lock “%s” could not be made: %s."), path,
               g_strerror (err));
  return FALSE;
}

/* Opens and locks; FALSE without an error if the file was removed in between by who had it. */
static gboolean
try_lock (const char *path, int *fd, GError **error)
{
  struct flock lock = whole_file (F_WRLCK);
  struct stat  opened, present;

  *fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (*fd < 0)
    return fail (error, path, errno);
  if (fcntl (*fd, F_OFD_SETLK, &lock) != 0)
    {
      int err = errno;

      close (*fd);
      if (err != EAGAIN && err != EACCES)
        return fail (error, path, err);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_BUSY,
                   _ ("The run is being trained already. Wait for its end, or stop it first."));
      return FALSE;
    }
  if (fstat (*fd, &opened) == 0 && stat (path, &present) == 0 && opened.st_ino == present.st_ino)
    return TRUE;
  close (*fd);
  return FALSE;
}

/* The name comes out of the log, which anybody may have made: it must not lead out of the folder,
 * where a lock would be made and removed. */
static gboolean
is_inside (const char *uuid)
{
  return *uuid != '\0' && strchr (uuid, '/') == NULL && strcmp (uuid, ".") != 0
         && strcmp (uuid, "..") != 0;
}

GradusRunLock *
gradus_run_lock_take (GradusWorkspace *workspace, const char *uuid, GError **error)
{
  g_autofree char   *path = NULL;
  g_autoptr (GError) failure = NULL;
  GradusRunLock     *self;
  int                fd;

  g_return_val_if_fail (workspace != NULL && uuid != NULL, NULL);

  if (!is_inside (uuid))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                   _ ("The run log names a run “%s”, which is no UUID, so the run can only be looked "
                      "at. Choose another run."),
                   uuid);
      return NULL;
    }
  path = gradus_workspace_lock_path (workspace, uuid);
  while (!try_lock (path, &fd, &failure))
    if (failure != NULL)
      {
        g_propagate_error (error, g_steal_pointer (&failure));
        return NULL;
      }
  self = g_new (GradusRunLock, 1);
  self->path = g_steal_pointer (&path);
  self->fd = fd;
  return self;
}

void
gradus_run_lock_release (GradusRunLock *self)
{
  g_return_if_fail (self != NULL);

  g_unlink (self->path);
  close (self->fd);
  g_free (self->path);
  g_free (self);
}

gboolean
gradus_run_lock_is_held (GradusWorkspace *workspace, const char *uuid)
{
  g_autofree char *path = NULL;
  struct flock     lock = whole_file (F_WRLCK);
  int              fd;
  gboolean         held;

  g_return_val_if_fail (workspace != NULL && uuid != NULL, FALSE);

  if (!is_inside (uuid))
    return FALSE;
  path = gradus_workspace_lock_path (workspace, uuid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return FALSE;
  held = fcntl (fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close (fd);
  return held;
}
