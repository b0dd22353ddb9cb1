/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <zlib.h>

/* Files for the tests of IDX and of the pipeline. */

static inline void
put_u32 (GByteArray *bytes, guint32 value)
{
  guint32 big = GUINT32_TO_BE (value);

  g_byte_array_append (bytes, (const guint8 *) &big, 4);
}

/* A header; sizes follow as guint varargs. */
static inline GByteArray *
idx_header (guint8 type, guint axes, ...)
{
  GByteArray *bytes = g_byte_array_new ();
  va_list     args;

  put_u32 (bytes, (guint32) type << 8 | axes);
  va_start (args, axes);
  for (guint i = 0; i < axes; i++)
    put_u32 (bytes, va_arg (args, guint));
  va_end (args);
  return bytes;
}

static inline GByteArray *
gzip_bytes (const guint8 *data, gsize n)
{
  GByteArray *out = g_byte_array_new ();
  z_stream    stream = { 0 };

  g_assert_cmpint (deflateInit2 (&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), ==, Z_OK);
  g_byte_array_set_size (out, deflateBound (&stream, n) + 64);
  stream.next_in = (guint8 *) data;
  stream.avail_in = n;
  stream.next_out = out->data;
  stream.avail_out = out->len;
  g_assert_cmpint (deflate (&stream, Z_FINISH), ==, Z_STREAM_END);
  g_byte_array_set_size (out, stream.total_out);
  deflateEnd (&stream);
  return out;
}

static inline char *
write_bytes (const char *folder, const char *name, const guint8 *data, gsize n)
{
  char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, (const char *) data, n, NULL));
  return path;
}

static inline void
remove_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      g_unlink (path);
    }
  g_rmdir (folder);
}
