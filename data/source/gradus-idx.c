/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-idx.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define MAX_AXES (GRADUS_BATCH_MAX_RANK + 1)
#define MAX_HEADER (4 + 4 * MAX_AXES)

static const struct
{
  guint8      type;
  guint8      size;
  GradusDType dtype;
} types[] = {
  { 0x08, 1, GRADUS_DTYPE_UINT8 },   { 0x09, 1, GRADUS_DTYPE_INT32 },
  { 0x0b, 2, GRADUS_DTYPE_INT32 },   { 0x0c, 4, GRADUS_DTYPE_INT32 },
  { 0x0d, 4, GRADUS_DTYPE_FLOAT32 }, { 0x0e, 8, GRADUS_DTYPE_FLOAT64 },
};

G_GNUC_PRINTF (3, 4)
static gboolean
refuse (GradusIdx *self, GError **error, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  /* Translators: file name, then a sentence. */
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("%s is not a whole IDX file: %s"),
               self->file.path, what);
  return FALSE;
}

static guint32
big_endian (const guint8 *bytes)
{
  return (guint32) bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static const char *
known_format (const guint8 *head)
{
  static const struct
  {
    const char *bytes, *name;
  } formats[] = { { "\x93NUM", "NPY" },       { "PK\x03\x04", "ZIP (NPZ)" }, { "\x89PNG", "PNG" },
                  { "\xff\xd8\xff", "JPEG" }, { "\x89HDF", "HDF5" },         { "SQLi", "SQLite" } };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (memcmp (head, formats[i].bytes, strlen (formats[i].bytes)) == 0)
      return formats[i].name;
  return NULL;
}

static gboolean
check_magic (GradusIdx *self, const guint8 *head, GError **error)
{
  const char *format = known_format (head);

  if (format != NULL)
    return refuse (self, error, _ ("it starts as a %s file does. Choose another file or source."),
                   format);
  if (head[0] != 0 || head[1] != 0)
    return refuse (self, error,
                   _ ("bytes 0 and 1 are %02x %02x, where 00 00 stand in an IDX file."), head[0],
                   head[1]);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i].type == head[2])
      {
        self->type = head[2];
        self->dtype = types[i].dtype;
        self->row = types[i].size;
        self->rank = head[3];
        if (self->rank < 1 || self->rank > MAX_AXES)
          return refuse (self, error,
                         _ ("byte 3 says that there are %u axes; from 1 to %d are possible."),
                         self->rank, MAX_AXES);
        self->header = 4 + 4 * self->rank;
        return TRUE;
      }
  return refuse (self, error,
                 _ ("byte 2 is %02x, which is no element type; 08, 09, 0b, 0c, 0d and 0e are."),
                 head[2]);
}

/* @sizes: of the axes. Sets n, dims and row; on return row * n is known not to overflow. */
static gboolean
check_axes (GradusIdx *self, const guint8 *sizes, GError **error)
{
  guint  axes = self->rank;
  gint64 total = self->row;

  for (guint i = 0; i < axes; i++)
    {
      gint64 size = big_endian (sizes + 4 * i);

      if (size == 0)
        return refuse (self, error,
                       _ ("axis %u has size 0 (byte %u), so there are no samples in it."), i,
                       4 + 4 * i);
      if (total > G_MAXINT64 / 4 / size)
        return refuse (self, error,
                       _ ("the sizes from byte 4 on multiply to more bytes than any file has."));
      total *= size;
      if (i == 0)
        self->n = size;
      else
        {
          self->dims[i - 1] = size;
          self->row *= size;
        }
    }
  self->rank = axes - 1;
  return TRUE;
}

static char *
axes_to_string (GradusIdx *self)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "%" G_GINT64_FORMAT, self->n);
  for (guint i = 0; i < self->rank; i++)
    g_string_append_printf (text, " × %" G_GINT64_FORMAT, self->dims[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* @length: bytes after the header that are there; beyond the promised ones it need not be exact. */
static gboolean
check_length (GradusIdx *self, gint64 length, gboolean packed, GError **error)
{
  g_autofree char *axes = NULL;
  gint64           promised = self->row * self->n;

  if (length == promised)
    return TRUE;
  axes = axes_to_string (self);
  if (length < promised)
    return refuse (self, error,
                   packed ? _ ("its header promises %s samples' elements, %" PRId64
                               " bytes, but unpacked it ends after %" PRId64 ". Get the file anew.")
                          : _ ("its header promises %s samples' elements, %" PRId64
                               " bytes, but the file ends after %" PRId64 ". Get the file anew."),
                   axes, self->header + promised, self->header + length);
  return refuse (self, error,
                 _ ("its header promises %s samples' elements, %" PRId64
                    " bytes, but more follow from byte %" PRId64
                    " on. It is mislabelled or was written over; get the file anew."),
                 axes, self->header + promised, self->header + promised);
}

static void
swap_bytes (GradusIdx *self, void *data, gint64 bytes)
{
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
  if (self->type == 0x0c || self->type == 0x0d)
    for (guint32 *p = data, *end = p + bytes / 4; p < end; p++)
      *p = GUINT32_SWAP_LE_BE (*p);
  else if (self->type == 0x0e)
    for (guint64 *p = data, *end = p + bytes / 8; p < end; p++)
      *p = GUINT64_SWAP_LE_BE (*p);
#endif
}

/* int8 and int16 become int32. */
static void
widen (GradusIdx *self, const guint8 *from, gint32 *to, gint64 bytes)
{
  if (self->type == 0x09)
    for (gint64 i = 0; i < bytes; i++)
      to[i] = (gint8) from[i];
  else
    for (gint64 i = 0; i < bytes / 2; i++)
      to[i] = (gint16) (from[2 * i] << 8 | from[2 * i + 1]);
}

static gboolean
open_plain (GradusIdx *self, GError **error)
{
  guint8 head[MAX_HEADER];

  if (self->file.size < 4)
    return refuse (self, error, _ ("it has only %" PRId64 " bytes."), self->file.size);
  if (!gradus_file_read (&self->file, 0, head, 4, error) || !check_magic (self, head, error))
    return FALSE;
  if (self->file.size < self->header)
    return refuse (self, error,
                   _ ("it ends at byte %" PRId64 ", within its header of %" PRId64 " bytes."),
                   self->file.size, self->header);
  return gradus_file_read (&self->file, 4, head + 4, self->header - 4, error)
         && check_axes (self, head + 4, error)
         && check_length (self, self->file.size - self->header, FALSE, error);
}

/* Before a byte is allocated. */
static gboolean
check_unpacked (GradusIdx *self, GError **error)
{
  gint64 bytes = self->row * self->n;
  gint64 memory = (gint64) sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGE_SIZE);

  if (bytes > gradus_gunzip_bound (self->file.size))
    return refuse (self, error,
                   _ ("its header promises %" PRId64 " bytes, more than %" PRId64
                      " compressed bytes can hold."),
                   bytes, self->file.size);
  if (bytes <= memory / 2)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("Unpacked, %s would take %" PRId64
                  " bytes of memory, more than half of this machine's. Unpack it with gunzip and "
                  "choose the unpacked file, which is read piece by piece."),
               self->file.path, bytes);
  return FALSE;
}

static gboolean
open_packed (GradusIdx *self, GError **error)
{
  g_autoptr (GradusGunzip) gunzip = gradus_gunzip_new (&self->file);
  guint8 head[MAX_HEADER], more;
  gint64 bytes;
  gsize  got;

  if (!gradus_gunzip_read (gunzip, head, 4, &got, error))
    return FALSE;
  if (got < 4)
    return refuse (self, error, _ ("unpacked it has only %" PRId64 " bytes."), (gint64)got);
  if (!check_magic (self, head, error)
      || !gradus_gunzip_read (gunzip, head + 4, self->header - 4, &got, error))
    return FALSE;
  if ((gint64) got < self->header - 4)
    return refuse (self, error, _ ("unpacked it ends within its header."));
  if (!check_axes (self, head + 4, error) || !check_unpacked (self, error))
    return FALSE;

  bytes = self->row * self->n;
  self->data = g_try_malloc (bytes);
  if (self->data == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("There is no memory to unpack %s: it needs %" PRId64 " bytes."),
                   self->file.path, bytes);
      return FALSE;
    }
  if (!gradus_gunzip_read (gunzip, self->data, bytes, &got, error)
      || !check_length (self, got, TRUE, error)
      || !gradus_gunzip_read (gunzip, &more, 1, &got, error)
      || !check_length (self, bytes + got, TRUE, error))
    return FALSE;
  swap_bytes (self, self->data, bytes);
  return TRUE;
}

GradusIdx *
gradus_idx_open (const char *path, GError **error)
{
  g_autoptr (GradusIdx) self = g_new0 (GradusIdx, 1);

  g_return_val_if_fail (path != NULL, NULL);

  if (!gradus_file_open (&self->file, path, error))
    return NULL;
  if (!(gradus_file_is_gzip (&self->file) ? open_packed (self, error) : open_plain (self, error)))
    return NULL;
  return g_steal_pointer (&self);
}

void
gradus_idx_free (GradusIdx *self)
{
  gradus_file_close (&self->file);
  g_free (self->data);
  g_free (self);
}

const void *
gradus_idx_peek (GradusIdx *self, gint64 sample)
{
  if (self->data == NULL || self->type == 0x09 || self->type == 0x0b)
    return NULL;
  return self->data + sample * self->row;
}

gint64
gradus_idx_byte (GradusIdx *self, gint64 sample)
{
  return self->header + sample * self->row;
}

gboolean
gradus_idx_read (GradusIdx *self, gint64 first, gint64 n, void *out, GError **error)
{
  gint64   bytes = n * self->row;
  gboolean narrow = self->type == 0x09 || self->type == 0x0b;
  guint8  *into = out;

  g_return_val_if_fail (first >= 0 && n >= 0 && first <= self->n - n, FALSE);

  /* Narrow elements go to the end of the space for the wide ones and are widened from the front:
   * never is one overwritten before it was read. */
  if (narrow)
    into += n * self->row / (self->type == 0x09 ? 1 : 2) * sizeof (gint32) - bytes;
  if (self->data != NULL)
    memcpy (into, self->data + first * self->row, bytes);
  else
    {
      if (!gradus_file_read (&self->file, gradus_idx_byte (self, first), into, bytes, error))
        return FALSE;
      swap_bytes (self, into, bytes);
    }
  if (narrow)
    widen (self, into, out, bytes);
  return TRUE;
}
