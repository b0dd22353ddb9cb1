/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-npy.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "source/gradus-file.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define MAX_HEADER 65536

static const struct
{
  const char *code; /* without the byte order */
  GradusDType dtype;
} codes[] = {
  { "f4", GRADUS_DTYPE_FLOAT32 }, { "f8", GRADUS_DTYPE_FLOAT64 }, { "i4", GRADUS_DTYPE_INT32 },
  { "i8", GRADUS_DTYPE_INT64 },   { "u1", GRADUS_DTYPE_UINT8 },   { "b1", GRADUS_DTYPE_BOOL },
};

G_GNUC_PRINTF (3, 4)
static gboolean
refuse (GError **error, const char *path, const char *format, ...)
{
  g_autofree char *what = NULL;
  g_autofree char *text = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  /* What the file says may be any bytes. */
  text = g_utf8_make_valid (what, -1);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, "%s: %s", path, text);
  return FALSE;
}

/* Reading ------------------------------------------------------------------------------------ */

/* The header is a Python dictionary of three keys; this reads that and nothing more. */
typedef struct
{
  const char *at;
  const char *end;
} Scanner;

static void
skip_blanks (Scanner *scanner)
{
  while (scanner->at < scanner->end && g_ascii_isspace (*scanner->at))
    scanner->at++;
}

static gboolean
take (Scanner *scanner, char c)
{
  skip_blanks (scanner);
  if (scanner->at >= scanner->end || *scanner->at != c)
    return FALSE;
  scanner->at++;
  return TRUE;
}

static char *
take_string (Scanner *scanner)
{
  const char *start = NULL;
  char        quote = '\0';

  skip_blanks (scanner);
  if (scanner->at >= scanner->end || (*scanner->at != '\'' && *scanner->at != '"'))
    return NULL;
  quote = *scanner->at++;
  start = scanner->at;
  while (scanner->at < scanner->end && *scanner->at != quote)
    scanner->at++;
  if (scanner->at >= scanner->end)
    return NULL;
  return g_strndup (start, scanner->at++ - start);
}

static gboolean
take_word (Scanner *scanner, const char *word)
{
  gsize length = strlen (word);

  skip_blanks (scanner);
  if ((gsize)(scanner->end - scanner->at) < length || strncmp (scanner->at, word, length) != 0)
    return FALSE;
  scanner->at += length;
  return TRUE;
}

static gboolean
take_number (Scanner *scanner, gint64 *value)
{
  const char *start = NULL;

  skip_blanks (scanner);
  start = scanner->at;
  *value = 0;
  for (; scanner->at < scanner->end && g_ascii_isdigit (*scanner->at); scanner->at++)
    {
      if (*value > G_MAXINT64 / 20)
        return FALSE;
      *value = *value * 10 + (*scanner->at - '0');
    }
  return scanner->at > start;
}

static gboolean
take_shape (Scanner *scanner, GradusShape *shape)
{
  if (!take (scanner, '('))
    return FALSE;
  shape->rank = 0;
  while (!take (scanner, ')'))
    {
      if (shape->rank == GRADUS_MAX_RANK || !take_number (scanner, &shape->dims[shape->rank]))
        return FALSE;
      shape->rank++;
      if (!take (scanner, ',') && !(take (scanner, ')')))
        return FALSE;
      if (scanner->at[-1] == ')')
        return TRUE;
    }
  return TRUE;
}

static gboolean
parse_type (GradusNpy *self, const char *path, const char *descr, gboolean *swap, GError **error)
{
  char order = descr[0];

  for (guint i = 0; i < G_N_ELEMENTS (codes) && order != '\0'; i++)
    if (g_str_equal (codes[i].code, descr + 1) && strchr ("<>|=", order) != NULL)
      {
        self->dtype = codes[i].dtype;
        *swap = order == (G_BYTE_ORDER == G_LITTLE_ENDIAN ? '>' : '<');
        return TRUE;
      }
  return refuse (error, path,
                 _ ("The elements have type “%s”. One of <f4, <f8, <i4, <i8, |u1 and |b1 would be "
                    "right; convert the array with astype()."),
                 descr);
}

static gboolean
parse_header (GradusNpy *self, const char *path, Scanner scanner, gboolean *swap, GError **error)
{
  g_autofree char *descr = NULL;
  gboolean         has_order = FALSE;
  gboolean         has_shape = FALSE;
  gboolean         fine = take (&scanner, '{');

  while (fine && !take (&scanner, '}'))
    {
      g_autofree char *key = take_string (&scanner);

      fine = key != NULL && take (&scanner, ':');
      if (fine && g_str_equal (key, "descr") && descr == NULL)
        fine = (descr = take_string (&scanner)) != NULL;
      else if (fine && g_str_equal (key, "shape") && !has_shape)
        fine = has_shape = take_shape (&scanner, &self->shape);
      else if (fine && g_str_equal (key, "fortran_order") && !has_order)
        {
          if (take_word (&scanner, "True"))
            return refuse (error, path,
                           _ ("The array is stored column by column. Row by row would be right; "
                              "save numpy.ascontiguousarray(array)."));
          fine = has_order = take_word (&scanner, "False");
        }
      else
        fine = FALSE;
      if (fine)
        take (&scanner, ',');
    }
  skip_blanks (&scanner);
  if (!fine || descr == NULL || !has_order || !has_shape || scanner.at != scanner.end)
    return refuse (error, path,
                   _ ("The header is not one that NumPy writes. Save the array anew."));
  return parse_type (self, path, descr, swap, error);
}

/* The header's text and where the data starts. */
static gboolean
find_header (const char   *path,
             const guint8 *data,
             gsize         length,
             gsize        *start,
             gsize        *end,
             GError      **error)
{
  gsize size = 0;

  if (length < MAGIC_BYTES + 4 || memcmp (data, MAGIC, MAGIC_BYTES) != 0)
    return refuse (error, path, _ ("This is not a NumPy array (.npy). Save it with numpy.save()."));
  if (data[6] < 1 || data[6] > 3 || data[7] != 0)
    return refuse (error, path, _ ("The format has version %d.%d; 1.0 to 3.0 can be read."),
                   data[6], data[7]);
  *start = data[6] == 1 ? 10 : 12;
  if (length < *start)
    return refuse (error, path, _ ("The file ends inside its header, at byte %zu."), length);
  size = data[8] | (gsize)data[9] << 8;
  if (data[6] > 1)
    size |= (gsize)data[10] << 16 | (gsize)data[11] << 24;
  if (size > MAX_HEADER)
    return refuse (error, path,
                   _ ("The header says that it has %zu bytes; at most %d are possible."), size,
                   MAX_HEADER);
  *end = *start + size;
  if (length < *end)
    return refuse (error, path, _ ("The file ends inside its header, at byte %zu."), length);
  return TRUE;
}

static void
swap_bytes (GradusNpy *self)
{
  gsize   size = gradus_dtype_size (self->dtype);
  guint8 *data = self->data;

  for (gsize i = 0; i < self->bytes; i += size)
    for (gsize j = 0; j < size / 2; j++)
      {
        guint8 byte = data[i + j];

        data[i + j] = data[i + size - 1 - j];
        data[i + size - 1 - j] = byte;
      }
}

static gboolean
load_data (GradusNpy *self, GradusFile *file, gsize start, GError **error)
{
  gint64 count = gradus_shape_count (&self->shape);
  gsize  size = gradus_dtype_size (self->dtype);
  gsize  length = file->size - start;

  if (count < 0 || (guint64)count > G_MAXSSIZE / size || (gsize)count * size != length)
    {
      g_autofree char *shape = gradus_shape_to_string (&self->shape);

      return refuse (error, file->path,
                     _ ("The header speaks of an array of shape %s of %s, but %zu bytes of data "
                        "are there. Save the array anew."),
                     shape, gradus_dtype_name (self->dtype), length);
    }
  self->bytes = length;
  self->data = g_try_malloc (MAX (length, 1));
  if (self->data == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("%s does not fit into the memory that is free. Ask for fewer samples."),
                   file->path);
      return FALSE;
    }
  return gradus_file_read (file, start, self->data, length, error);
}

static gboolean
load (GradusNpy *self, GradusFile *file, GError **error)
{
  gsize              room = MIN (file->size, 12 + MAX_HEADER);
  g_autofree guint8 *head = g_malloc (room + 1);
  gsize              start = 0;
  gsize              end = 0;
  gboolean           swap = FALSE;

  if (!gradus_file_read (file, 0, head, room, error)
      || !find_header (file->path, head, room, &start, &end, error)
      || !parse_header (self, file->path,
                        (Scanner){ (const char *)head + start, (const char *)head + end }, &swap,
                        error)
      || !load_data (self, file, end, error))
    return FALSE;
  if (swap)
    swap_bytes (self);
  return TRUE;
}

GradusNpy *
gradus_npy_read (const char *path, GError **error)
{
  g_autoptr (GradusNpy) self = NULL;
  GradusFile file = { .fd = -1 };
  gboolean   fine = FALSE;

  g_return_val_if_fail (path != NULL, NULL);

  self = g_new0 (GradusNpy, 1);
  fine = gradus_file_open (&file, path, error) && load (self, &file, error);
  gradus_file_close (&file);
  return fine ? g_steal_pointer (&self) : NULL;
}

void
gradus_npy_free (GradusNpy *self)
{
  if (self == NULL)
    return;
  g_free (self->data);
  g_free (self);
}

/* Writing ------------------------------------------------------------------------------------ */

static char *
header_text (GradusDType dtype, const GradusShape *shape)
{
  GString    *text = g_string_new ("{'descr': '");
  const char *code = NULL;
  gsize       total = 0;

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    if (codes[i].dtype == dtype)
      code = codes[i].code;
  g_string_append_c (text, gradus_dtype_size (dtype) == 1    ? '|'
                           : G_BYTE_ORDER == G_LITTLE_ENDIAN ? '<'
                                                             : '>');
  g_string_append_printf (text, "%s', 'fortran_order': False, 'shape': (", code);
  for (guint i = 0; i < shape->rank; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT "%s", i > 0 ? " " : "", shape->dims[i],
                            i + 1 < shape->rank || shape->rank == 1 ? "," : "");
  g_string_append (text, "), }");
  /* The data starts at a multiple of 64, and a line end stands before it. */
  total = (10 + text->len + 1 + 63) / 64 * 64;
  while (10 + text->len + 1 < total)
    g_string_append_c (text, ' ');
  g_string_append_c (text, '\n');
  return g_string_free (text, FALSE);
}

gboolean
gradus_npy_write (const char        *path,
                  GradusDType        dtype,
                  const GradusShape *shape,
                  const void        *data,
                  GError           **error)
{
  g_autofree char *header = NULL;
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GError) local = NULL;
  guint8 start[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0 };
  gint64 count = 0;

  g_return_val_if_fail (path != NULL && shape != NULL, FALSE);
  count = gradus_shape_count (shape);
  g_return_val_if_fail (count >= 0, FALSE);

  if ((gsize)count * gradus_dtype_size (dtype) > G_MAXINT32)
    return refuse (error, path, _ ("The array would have more than 2 GB. Ask for fewer samples."));
  header = header_text (dtype, shape);
  start[8] = strlen (header) & 0xff;
  start[9] = strlen (header) >> 8;
  g_byte_array_append (bytes, start, sizeof start);
  g_byte_array_append (bytes, (const guint8 *)header, strlen (header));
  if (count > 0)
    g_byte_array_append (bytes, data, count * gradus_dtype_size (dtype));
  if (g_file_set_contents_full (path, (const char *)bytes->data, bytes->len,
                                G_FILE_SET_CONTENTS_CONSISTENT, 0666, &local))
    return TRUE;
  g_set_error (error, GRADUS_ERROR,
               g_error_matches (local, G_FILE_ERROR, G_FILE_ERROR_NOSPC) ? GRADUS_ERROR_NO_SPACE
                                                                         : GRADUS_ERROR_IO,
               _ ("%s cannot be written: %s"), path, local->message);
  return FALSE;
}
