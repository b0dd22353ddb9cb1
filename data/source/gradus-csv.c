/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-csv.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_BYTES (G_GINT64_CONSTANT (2) << 30)
#define MAX_CELLS (1 << 28)
#define LINES_LOOKED_AT 20

G_GNUC_PRINTF (4, 5)
static gboolean
refuse (const GradusCsv *self, GError **error, gint64 line, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  /* Translators: a file, the number of a line in it, and what is wrong there. */
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("%s, line %" PRId64 ": %s"), self->file.path,
               line, what);
  return FALSE;
}

gboolean
gradus_csv_number (const char *cell, double *number)
{
  char *end;

  while (g_ascii_isspace (*cell))
    cell++;
  /* What strtod reads besides decimal numbers is none here. */
  if (!g_ascii_isdigit (*cell) && strchr ("+-.", *cell) == NULL)
    return FALSE;
  if (*cell == '\0' || strpbrk (cell, "xXnN") != NULL)
    return FALSE;
  *number = g_ascii_strtod (cell, &end);
  if (end == cell || !isfinite (*number))
    return FALSE;
  while (g_ascii_isspace (*end))
    end++;
  return *end == '\0';
}

static gboolean
no_memory (GradusCsv *self, GError **error)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("%s does not fit into the memory that is free."), self->file.path);
  return FALSE;
}

static gboolean
load_packed (GradusCsv *self, GError **error)
{
  g_autoptr (GradusGunzip) stream = gradus_gunzip_new (&self->file);
  gsize room = 1 << 16, got = 0;

  for (;;)
    {
      char *more = g_try_realloc (self->text, room + 1);

      if (more == NULL)
        return no_memory (self, error);
      self->text = more;
      if (!gradus_gunzip_read (stream, self->text + self->bytes, room - self->bytes, &got, error))
        return FALSE;
      self->bytes += got;
      if (self->bytes < room)
        return TRUE;
      if ((gint64) room >= MAX_BYTES)
        return refuse (self, error, 1, _ ("The table has more than 2 GiB; cut it into parts."));
      room *= 2;
    }
}

static gboolean
load (GradusCsv *self, GError **error)
{
  const char *end;

  if (self->file.size >= MAX_BYTES)
    return refuse (self, error, 1, _ ("The table has more than 2 GiB; cut it into parts."));
  if (gradus_file_is_gzip (&self->file))
    {
      if (!load_packed (self, error))
        return FALSE;
    }
  else
    {
      self->bytes = self->file.size;
      self->text = g_try_malloc (self->bytes + 1);
      if (self->text == NULL)
        return no_memory (self, error);
      if (!gradus_file_read (&self->file, 0, self->text, self->bytes, error))
        return FALSE;
    }
  self->text[self->bytes] = '\0';
  if (!g_utf8_validate_len (self->text, self->bytes, &end))
    {
      gint64 line = 1;

      for (const char *at = self->text; at < end; at++)
        line += *at == '\n';
      return refuse (self, error, line, _ ("The bytes are no text in UTF-8. Save the table as UTF-8."));
    }
  return TRUE;
}

/* Delimiters in the line at @at, those in quotes not counted; @next gets the line's end. */
static guint
count_delimiters (const char *at, char delimiter, const char **next)
{
  guint    n = 0;
  gboolean quoted = FALSE;

  for (; *at != '\0' && (quoted || *at != '\n'); at++)
    if (*at == '"')
      quoted = !quoted;
    else
      n += !quoted && *at == delimiter;
  *next = *at == '\n' ? at + 1 : at;
  return n;
}

static gboolean
is_blank_line (const char *at)
{
  return *at == '\n' || (*at == '\r' && (at[1] == '\n' || at[1] == '\0'));
}

static char
guess_delimiter (const char *text)
{
  static const char candidates[] = ",\t;|";
  char              best = ',';
  guint             most = 0;

  for (const char *c = candidates; *c != '\0'; c++)
    {
      const char *at = text;
      guint       first = 0, lines = 0;
      gboolean    alike = TRUE;

      for (; *at != '\0' && lines < LINES_LOOKED_AT && alike; lines++)
        {
          gboolean blank = is_blank_line (at);
          guint    n = count_delimiters (at, *c, &at);

          first = lines == 0 ? n : first;
          alike = blank || n == first;
        }
      if (alike && first > most)
        {
          most = first;
          best = *c;
        }
    }
  return best;
}

/* The cell at @*at, made plain and ended where it stands; FALSE if its quote does not end. @last gets whether the
 * row ends with it. */
static gboolean
take_cell (char **at, char delimiter, guint32 *line, char **cell, gboolean *last)
{
  char    *from = *at, *to = *at;
  gboolean quoted = *from == '"';
  char     stop;

  *cell = to;
  from += quoted;
  while (*from != '\0' && (quoted || (*from != delimiter && *from != '\n')))
    {
      if (quoted && *from == '"')
        {
          from++;
          if (*from != '"')
            {
              quoted = FALSE;
              continue;
            }
        }
      *line += *from == '\n';
      *to++ = *from++;
    }
  if (quoted)
    return FALSE;
  stop = *from;
  if (stop != delimiter && to > *cell && to[-1] == '\r')
    to--;
  *last = stop != delimiter;
  *line += stop == '\n';
  *at = from + (stop != '\0');
  *to = '\0';
  return TRUE;
}

static gboolean
cut (GradusCsv *self, char delimiter, GError **error)
{
  g_autoptr (GArray) cells = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) lines = g_array_new (FALSE, FALSE, sizeof (guint32));
  char   *at = self->text, *end = self->text + self->bytes;
  guint32 line = 1;

  if (g_str_has_prefix (at, "\xef\xbb\xbf"))
    at += 3;
  if (delimiter == 0)
    delimiter = guess_delimiter (at);
  while (at < end)
    {
      guint    n = 0;
      guint32  start = line;
      gboolean last = is_blank_line (at);

      if (last)
        {
          at = strchr (at, '\n') != NULL ? strchr (at, '\n') + 1 : end;
          line++;
          continue;
        }
      g_array_append_val (lines, start);
      while (!last)
        {
          char   *cell;
          guint32 offset;

          if (!take_cell (&at, delimiter, &line, &cell, &last))
            return refuse (self, error, start, _ ("A quote begins here and does not end."));
          if (++n > GRADUS_CSV_MAX_COLUMNS)
            return refuse (self, error, start, _ ("The row has more than %d cells."),
                           GRADUS_CSV_MAX_COLUMNS);
          if (cells->len == MAX_CELLS)
            return refuse (self, error, start, _ ("The table has more than %d cells; cut it into parts."),
                           MAX_CELLS);
          offset = cell - self->text;
          g_array_append_val (cells, offset);
        }
      if (self->n_columns == 0)
        self->n_columns = n;
      if (n != self->n_columns)
        return refuse (self, error, start,
                       _ ("The row has %u cells, but the first one has %u. Complete the row, or say which "
                          "“delimiter” is meant."),
                       n, self->n_columns);
    }
  self->n_rows = lines->len;
  self->cells = (guint32 *) (gpointer) g_array_free (g_steal_pointer (&cells), FALSE);
  self->lines = (guint32 *) (gpointer) g_array_free (g_steal_pointer (&lines), FALSE);
  return TRUE;
}

static gboolean
looks_like_header (const GradusCsv *self)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  double number;

  if (self->n_rows < 2)
    return FALSE;
  for (guint c = 0; c < self->n_columns; c++)
    {
      const char *name = gradus_csv_cell (self, 0, c);

      if (*name == '\0' || gradus_csv_number (name, &number)
          || !g_hash_table_add (seen, (gpointer) name))
        return FALSE;
      for (gint64 row = 1; row < self->n_rows; row++)
        if (g_str_equal (gradus_csv_cell (self, row, c), name))
          return FALSE;
    }
  return TRUE;
}

static void
take_names (GradusCsv *self, int header)
{
  if (header < 0)
    header = looks_like_header (self);
  self->names = g_new0 (char *, self->n_columns + 1);
  for (guint c = 0; c < self->n_columns; c++)
    self->names[c] = header ? g_strdup (gradus_csv_cell (self, 0, c)) : g_strdup_printf ("%u", c);
  if (!header)
    return;
  self->n_rows--;
  memmove (self->cells, self->cells + self->n_columns,
           self->n_rows * self->n_columns * sizeof *self->cells);
  memmove (self->lines, self->lines + 1, self->n_rows * sizeof *self->lines);
}

GradusCsv *
gradus_csv_read (const char *path, char delimiter, int header, GError **error)
{
  g_autoptr (GradusCsv) self = g_new0 (GradusCsv, 1);

  self->file.fd = -1;
  if (!gradus_file_open (&self->file, path, error) || !load (self, error)
      || !cut (self, delimiter, error))
    return NULL;
  if (self->n_rows > 0)
    take_names (self, header);
  if (self->n_rows == 0)
    {
      refuse (self, error, 1, _ ("The table has no rows."));
      return NULL;
    }
  return g_steal_pointer (&self);
}

void
gradus_csv_free (GradusCsv *self)
{
  if (self == NULL)
    return;
  gradus_file_close (&self->file);
  g_free (self->text);
  g_free (self->cells);
  g_free (self->lines);
  g_strfreev (self->names);
  g_free (self);
}

const char *
gradus_csv_cell (const GradusCsv *self, gint64 row, guint column)
{
  return self->text + self->cells[row * self->n_columns + column];
}

int
gradus_csv_column (const GradusCsv *self, const char *name)
{
  for (guint c = 0; c < self->n_columns; c++)
    if (g_str_equal (self->names[c], name))
      return c;
  return -1;
}
