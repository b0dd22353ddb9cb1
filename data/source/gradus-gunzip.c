/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-file.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <zlib.h>

struct _GradusGunzip
{
  GradusFile *file;
  z_stream    stream;
  gint64      offset; /* of the file: what has been read */
  gboolean    ended;
  guint8      buffer[65536];
};

gboolean
gradus_file_is_gzip (GradusFile *self)
{
  guint8 magic[2];

  return self->size >= 2 && gradus_file_read (self, 0, magic, sizeof magic, NULL)
         && magic[0] == 0x1f && magic[1] == 0x8b;
}

gint64
gradus_gunzip_bound (gint64 compressed)
{
  /* A match of 258 bytes costs at least 2 bits. */
  return compressed > G_MAXINT64 / 1032 ? G_MAXINT64 : compressed * 1032;
}

GradusGunzip *
gradus_gunzip_new (GradusFile *file)
{
  GradusGunzip *self = g_new0 (GradusGunzip, 1);

  self->file = file;
  /* 16: a gzip header and its checksum. Fails only for lack of memory, as g_new() would. */
  if (inflateInit2 (&self->stream, 15 + 16) != Z_OK)
    g_error ("zlib cannot be set up");
  return self;
}

void
gradus_gunzip_free (GradusGunzip *self)
{
  inflateEnd (&self->stream);
  g_free (self);
}

static gboolean
refuse (GradusGunzip *self, const char *what, GError **error)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("%s is damaged at byte %" PRId64 " of its compressed data: %s. Get the "
                  "file anew."),
               self->file->path, self->offset - self->stream.avail_in, what);
  return FALSE;
}

static gboolean
refill (GradusGunzip *self, GError **error)
{
  gsize length = MIN ((gint64) sizeof self->buffer, self->file->size - self->offset);

  if (!gradus_file_read (self->file, self->offset, self->buffer, length, error))
    return FALSE;
  self->offset += length;
  self->stream.next_in = self->buffer;
  self->stream.avail_in = length;
  return TRUE;
}

/* One call of inflate(), with input. */
static gboolean
advance (GradusGunzip *self, GError **error)
{
  int status;

  if (self->stream.avail_in == 0)
    {
      if (self->offset == self->file->size)
        return refuse (self, _ ("it ends before its content does"), error);
      if (!refill (self, error))
        return FALSE;
    }
  status = inflate (&self->stream, Z_NO_FLUSH);
  if (status == Z_STREAM_END)
    {
      /* Members may follow one another; anything else after the last is refused by inflate(). */
      if (self->stream.avail_in == 0 && self->offset == self->file->size)
        self->ended = TRUE;
      else
        inflateReset (&self->stream);
    }
  else if (status != Z_OK)
    return refuse (self, self->stream.msg != NULL ? self->stream.msg : zError (status), error);
  return TRUE;
}

gboolean
gradus_gunzip_read (GradusGunzip *self, void *out, gsize n, gsize *got, GError **error)
{
  gsize done = 0;

  while (done < n && !self->ended)
    {
      guint now = MIN (n - done, G_MAXUINT / 2);

      self->stream.next_out = (guint8 *) out + done;
      self->stream.avail_out = now;
      while (self->stream.avail_out > 0 && !self->ended)
        if (!advance (self, error))
          return FALSE;
      done += now - self->stream.avail_out;
    }
  *got = done;
  return TRUE;
}
