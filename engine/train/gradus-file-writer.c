/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-file-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>
#include <unistd.h>

/* Hashing and writing take turns, so that neither waits for the whole of the other. */
#define PIECE (4 * 1024 * 1024)

static gboolean
failed (const char *path, int code, GError **error)
{
  GradusError kind = GRADUS_ERROR_IO;

  if (code == ENOSPC || code == EDQUOT || code == EFBIG)
    kind = GRADUS_ERROR_NO_SPACE;
  else if (code == EROFS || code == EACCES || code == EPERM)
    kind = GRADUS_ERROR_READ_ONLY;
  g_set_error (error, GRADUS_ERROR, kind,
               kind == GRADUS_ERROR_NO_SPACE
                   ? _("There is no room on the disk for “%s” (%s). Make room.")
                   : _("“%s” could not be written: %s. Check the folder and the disk."),
               path, g_strerror (code));
  return FALSE;
}

static gboolean
write_part (int fd, GChecksum *checksum, GBytes *part, const char *path, GError **error)
{
  gsize         size, done = 0;
  const guint8 *data = g_bytes_get_data (part, &size);

  while (done < size)
    {
      gssize n = write (fd, data + done, MIN (size - done, PIECE));

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return failed (path, n < 0 ? errno : ENOSPC, error);
      if (checksum != NULL)
        g_checksum_update (checksum, data + done, n);
      done += n;
    }
  return TRUE;
}

static gboolean
sync_folder (const char *folder, GError **error)
{
  int      fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  gboolean ok = fd >= 0 && fsync (fd) == 0;
  int      code = errno;

  if (fd >= 0)
    close (fd);
  return ok || failed (folder, code, error);
}

gboolean
gradus_file_write (const char    *path,
                   GBytes *const *parts,
                   guint          n_parts,
                   char         **sha256,
                   void         (*before) (gpointer data),
                   gpointer       before_data,
                   GError       **error)
{
  g_autofree char *temporary = g_strconcat (path, ".part", NULL);
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GChecksum) checksum = sha256 ? g_checksum_new (G_CHECKSUM_SHA256) : NULL;
  int      fd = open (temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  gboolean ok = TRUE;

  if (fd < 0)
    return failed (path, errno, error);
  for (guint i = 0; ok && i < n_parts; i++)
    ok = write_part (fd, checksum, parts[i], path, error);
  if (ok && fsync (fd) != 0)
    ok = failed (path, errno, error);
  if (close (fd) != 0 && ok)
    ok = failed (path, errno, error);
  if (ok && before != NULL)
    before (before_data);
  if (ok && g_rename (temporary, path) != 0)
    ok = failed (path, errno, error);
  if (!ok)
    {
      g_unlink (temporary);
      return FALSE;
    }
  if (!sync_folder (folder, error))
    return FALSE;
  if (sha256 != NULL)
    *sha256 = g_strdup (g_checksum_get_string (checksum));
  return TRUE;
}
