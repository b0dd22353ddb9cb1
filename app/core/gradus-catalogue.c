/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-catalogue.h"

#include <inttypes.h>
#include <string.h>

#define MAGIC 0x950412deu
#define SEGMENTS_END 0xffffffffu
#define MAX_MESSAGES 100000
#define LEAST_LETTERS 8

typedef struct
{
  const guint8 *bytes;
  gsize         size;
} Catalogue;

/* 0 beyond the end, which then finds nothing. */
static guint32
word_at (const Catalogue *self, guint64 offset)
{
  guint32 word;

  if (offset + sizeof word > self->size)
    return 0;
  memcpy (&word, self->bytes + offset, sizeof word);
  return word;
}

static const char *
text_at (const Catalogue *self, guint32 offset, guint32 length)
{
  if ((guint64) offset + length >= self->size || self->bytes[offset + length] != '\0')
    return NULL;
  return (const char *) self->bytes + offset;
}

/* The conversion at @at: its length, and the argument that it names (from 0), -1 for the next. 0: none; “%%” has
 * no argument and is -2. */
static gsize
conversion (const char *at, int *argument)
{
  const char *start = at, *digits;

  if (*at != '%')
    return 0;
  if (*++at == '%')
    {
      *argument = -2;
      return 2;
    }
  for (digits = at; g_ascii_isdigit (*at); at++)
    continue;
  *argument = -1;
  if (*at == '$' && at > digits)
    {
      *argument = (int) g_ascii_strtoull (digits, NULL, 10) - 1;
      at++;
    }
  at += strspn (at, "-+ #0'123456789.*hlqLjzt");
  return g_ascii_isalpha (*at) ? (gsize) (at + 1 - start) : 0;
}

/* Whether so much is said between the conversions that nothing else can be meant. */
static gboolean
says_something (const char *format)
{
  guint letters = 0;

  while (*format != '\0')
    {
      int   argument;
      gsize length = conversion (format, &argument);

      letters += length == 0 && g_ascii_isalpha (*format);
      format += length > 0 ? length : 1;
    }
  return letters >= LEAST_LETTERS;
}

static void
take_plain (const Catalogue *self, GPtrArray *formats)
{
  guint32 n = MIN (word_at (self, 8), MAX_MESSAGES), table = word_at (self, 12);

  for (guint32 i = 0; i < n; i++)
    {
      guint32     length = word_at (self, (guint64) table + 8 * i), offset = word_at (self, (guint64) table + 8 * i + 4);
      const char *text = text_at (self, offset, length);

      /* The first of a plural's forms ends at a zero byte of its own. */
      if (text != NULL && strchr (text, '%') != NULL && says_something (text))
        g_ptr_array_add (formats, g_strdup (text));
    }
}

/* "PRId64" as it is here. */
static const char *
expand (const char *segment)
{
  static const struct
  {
    const char *name, *here;
  } segments[] = { { "PRId64", PRId64 }, { "PRIi64", PRIi64 }, { "PRIu64", PRIu64 }, { "PRId32", PRId32 },
                   { "PRIu32", PRIu32 }, { "PRIx64", PRIx64 }, { "I", "" } };

  for (guint i = 0; segment != NULL && i < G_N_ELEMENTS (segments); i++)
    if (g_str_equal (segments[i].name, segment))
      return segments[i].here;
  return NULL;
}

/* One of the strings that are put together from pieces of the file and segments of the system. */
static char *
read_pieces (const Catalogue *self, guint64 at)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint32             n_segments = word_at (self, 28), table = word_at (self, 32);
  guint64             from = word_at (self, at);

  for (at += 4; text->len < 10000; at += 8)
    {
      guint32     length = word_at (self, at), segment = word_at (self, at + 4);
      const char *here;

      if (from + length > self->size || (length == 0 && segment == 0 && at + 8 > self->size))
        return NULL;
      g_string_append_len (text, (const char *) self->bytes + from, length);
      from += length;
      if (segment == SEGMENTS_END)
        return g_string_free (g_steal_pointer (&text), FALSE);
      if (segment >= n_segments)
        return NULL;
      here = expand (text_at (self, word_at (self, (guint64) table + 8 * segment + 4), word_at (self, (guint64) table + 8 * segment) - 1));
      if (here == NULL)
        return NULL;
      g_string_append (text, here);
    }
  return NULL;
}

static void
take_pieced (const Catalogue *self, GPtrArray *formats)
{
  guint32 n = word_at (self, 4) == 0 ? 0 : MIN (word_at (self, 36), MAX_MESSAGES), table = word_at (self, 40);

  for (guint32 i = 0; i < n; i++)
    {
      char *text = read_pieces (self, word_at (self, (guint64) table + 4 * i));

      if (text != NULL && says_something (text))
        g_ptr_array_add (formats, g_steal_pointer (&text));
      g_free (text);
    }
}

GPtrArray *
gradus_catalogue_formats (const guint8 *bytes, gsize size)
{
  GPtrArray *formats = g_ptr_array_new_with_free_func (g_free);
  Catalogue  self = { bytes, size };

  if (word_at (&self, 0) != MAGIC)
    return formats;
  take_plain (&self, formats);
  take_pieced (&self, formats);
  return formats;
}

GPtrArray *
gradus_catalogue_match (const char *format, const char *message)
{
  g_autoptr (GString)    pattern = g_string_new ("^");
  g_autoptr (GRegex)     regex = NULL;
  g_autoptr (GMatchInfo) match = NULL;
  GPtrArray             *arguments;

  while (*format != '\0')
    {
      int              argument;
      gsize            length = conversion (format, &argument);
      g_autofree char *literal = NULL;

      if (length > 0 && argument != -2)
        g_string_append (pattern, "(.*?)");
      else
        {
          literal = g_regex_escape_string (length > 0 ? "%" : format, length > 0 ? 1 : (gint) (g_utf8_next_char (format) - format));
          g_string_append (pattern, literal);
        }
      format = length > 0 ? format + length : g_utf8_next_char (format);
    }
  g_string_append_c (pattern, '$');
  regex = g_regex_new (pattern->str, G_REGEX_DOTALL | G_REGEX_DOLLAR_ENDONLY, 0, NULL);
  if (regex == NULL || !g_regex_match (regex, message, 0, &match))
    return NULL;
  arguments = g_ptr_array_new_with_free_func (g_free);
  for (int i = 1; i < g_match_info_get_match_count (match); i++)
    g_ptr_array_add (arguments, g_match_info_fetch (match, i));
  return arguments;
}

char *
gradus_catalogue_fill (const char *format, GPtrArray *arguments)
{
  GString *text = g_string_new (NULL);
  int      next = 0;

  while (*format != '\0')
    {
      int         argument;
      gsize       length = conversion (format, &argument);
      const char *end = length > 0 ? format + length : g_utf8_next_char (format);

      if (length == 0)
        g_string_append_len (text, format, end - format);
      else if (argument == -2)
        g_string_append_c (text, '%');
      else
        {
          int i = argument >= 0 ? argument : next++;

          g_string_append (text, i < (int) arguments->len ? arguments->pdata[i] : "");
        }
      format = end;
    }
  return g_string_free (text, FALSE);
}
