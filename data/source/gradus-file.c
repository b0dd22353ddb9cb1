/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1024 * 1024)
#define MAX_PIECES 64

static gboolean
fail (GradusFile *self, int number, GError **error)
{
  g_set_error (error, GRADUS_ERROR, number == ENOENT ? GRADUS_ERROR_NOT_FOUND : GRADUS_ERROR_IO,
               number == ENOENT ? _ ("%s is not there (%s); correct the path.")
                                : _ ("%s cannot be read: %s."),
               self->path, g_strerror (number));
  return FALSE;
}

gboolean
gradus_file_open (GradusFile *self, const char *path, GError **error)
{
  struct stat info;

  self->path = g_strdup (path);
  /* Not to be held up by a pipe that nobody writes into. */
  self->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (self->fd < 0)
    return fail (self, errno, error);
  if (fstat (self->fd, &info) < 0)
    return fail (self, errno, error);
  if (!S_ISREG (info.st_mode))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s is not a regular file; choose a data file."), path);
      return FALSE;
    }
  self->size = info.st_size;
  return TRUE;
}

void
gradus_file_close (GradusFile *self)
{
  if (self->path != NULL && self->fd >= 0)
    close (self->fd);
  g_clear_pointer (&self->path, g_free);
  self->fd = -1;
}

gboolean
gradus_file_read (GradusFile *self, gint64 offset, void *out, gsize n, GError **error)
{
  gsize done = 0;

  while (done < n)
    {
      gssize got = pread (self->fd, (char *) out + done, n - done, offset + done);

      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return fail (self, errno, error);
      if (got == 0)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO,
                       _ ("%s ends at byte %" PRId64 ", before what is to be read there. "
                          "It has been cut short since it was opened; restore it."),
                       self->path, offset + (gint64)done);
          return FALSE;
        }
      done += got;
    }
  return TRUE;
}

gboolean
gradus_file_fingerprint (GradusFile *self, GChecksum *checksum, GError **error)
{
  g_autofree guchar *buffer = g_malloc (PIECE);
  g_autofree char   *head = g_strdup_printf ("file %" G_GINT64_FORMAT "\n", self->size);
  gint64             pieces = (self->size + PIECE - 1) / PIECE;
  gint64             taken = MIN (pieces, MAX_PIECES);

  g_checksum_update (checksum, (const guchar *) head, -1);
  for (gint64 i = 0; i < taken; i++)
    {
      gint64 offset = i * PIECE;
      gint64 length;

      if (pieces > MAX_PIECES)
        offset = (gint64) ((double) (self->size - PIECE) / (MAX_PIECES - 1) * (double) i);
      length = MIN (PIECE, self->size - offset);
      if (!gradus_file_read (self, offset, buffer, length, error))
        return FALSE;
      g_checksum_update (checksum, buffer, length);
    }
  return TRUE;
}
