/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-json.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* json-glib's own parser takes comments and duplicate keys and recurses without a limit. */
typedef struct
{
  const char *text, *at, *end;
  const char *file;
  guint       depth;
  guint       n_values;
  GString    *string;
  GError    **error;
} Parser;

static JsonNode *parse_value (Parser *self);

G_GNUC_PRINTF (2, 3)
static gpointer
fail (Parser *self, const char *format, ...)
{
  g_autofree char *what = NULL;
  guint            line = 1, column = 1;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);

  for (const char *c = self->text; c < self->at; c++)
    {
      if (*c == '\n')
        {
          line++;
          column = 1;
        }
      else if (((guchar) *c & 0xc0) != 0x80)
        column++;
    }
  g_set_error (self->error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               /* Translators: file name, line, column, a whole sentence. */
               _ ("%s is not valid JSON at line %u, column %u: %s"),
               self->file != NULL ? self->file : _ ("The text"), line, column, what);
  return NULL;
}

static void
skip_space (Parser *self)
{
  while (self->at < self->end
         && (*self->at == ' ' || *self->at == '\t' || *self->at == '\n' || *self->at == '\r'))
    self->at++;
}

/* The character at the cursor, 0 at the end: a text with a real 0 is refused beforehand. */
static char
peek (Parser *self)
{
  return self->at < self->end ? *self->at : 0;
}

static gboolean
take (Parser *self, char c)
{
  if (peek (self) != c)
    return FALSE;
  self->at++;
  return TRUE;
}

static gboolean
parse_hex (Parser *self, gunichar *value)
{
  *value = 0;
  for (guint i = 0; i < 4; i++, self->at++)
    {
      if (!g_ascii_isxdigit (peek (self)))
        return FALSE;
      *value = *value * 16 + g_ascii_xdigit_value (*self->at);
    }
  return TRUE;
}

static gboolean
parse_unicode_escape (Parser *self)
{
  gunichar high, low;

  if (!parse_hex (self, &high))
    return FALSE;
  if (high >= 0xd800 && high < 0xdc00)
    {
      if (!take (self, '\\') || !take (self, 'u') || !parse_hex (self, &low) || low < 0xdc00
          || low > 0xdfff)
        return FALSE;
      high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
  else if (high == 0 || (high >= 0xdc00 && high < 0xe000))
    return FALSE;
  g_string_append_unichar (self->string, high);
  return TRUE;
}

static gboolean
parse_escape (Parser *self)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char              c = peek (self);
  const char       *found = c != 0 ? strchr (from, c) : NULL;

  self->at++;
  if (c == 'u')
    return parse_unicode_escape (self);
  if (found == NULL)
    return FALSE;
  g_string_append_c (self->string, to[found - from]);
  return TRUE;
}

/* The string's text, valid until the next string. */
static const char *
parse_string (Parser *self)
{
  g_string_truncate (self->string, 0);
  if (!take (self, '"'))
    return fail (self, _ ("A string in double quotes is expected here."));
  for (;;)
    {
      const char *start = self->at;

      while (self->at < self->end && *self->at != '"' && *self->at != '\\'
             && (guchar) *self->at >= 0x20)
        self->at++;
      g_string_append_len (self->string, start, self->at - start);
      if (take (self, '"'))
        return self->string->str;
      if (self->at == self->end)
        return fail (self, _ ("The text ends within a string."));
      if (!take (self, '\\'))
        return fail (self, _ ("A control character in a string must be written as \\u00XX."));
      if (self->at == self->end || !parse_escape (self))
        return fail (self, _ ("This escape sequence is not known to JSON."));
    }
}

static gboolean
skip_digits (Parser *self)
{
  const char *start = self->at;

  while (g_ascii_isdigit (peek (self)))
    self->at++;
  return self->at > start;
}

static JsonNode *
parse_number (Parser *self)
{
  const char      *start = self->at;
  gboolean         whole = TRUE;
  g_autofree char *text = NULL;
  JsonNode        *node;
  double           value;

  take (self, '-');
  if (!take (self, '0') && !skip_digits (self))
    return fail (self, _ ("A value is expected here."));
  if (take (self, '.'))
    {
      whole = FALSE;
      if (!skip_digits (self))
        return fail (self, _ ("A digit is expected after the decimal point."));
    }
  if (take (self, 'e') || take (self, 'E'))
    {
      whole = FALSE;
      if (!take (self, '+'))
        take (self, '-');
      if (!skip_digits (self))
        return fail (self, _ ("A digit is expected in the exponent."));
    }
  if (g_ascii_isalnum (peek (self)))
    return fail (self, _ ("A number ends here, but a letter or digit follows."));

  text = g_strndup (start, self->at - start);
  node = json_node_alloc ();
  if (whole)
    {
      gint64 integer;

      errno = 0;
      integer = g_ascii_strtoll (text, NULL, 10);
      /* -0 is a double's: an integer would lose the sign. */
      if (errno == 0 && strcmp (text, "-0") != 0)
        return json_node_init_int (node, integer);
    }
  value = g_ascii_strtod (text, NULL);
  if (!isfinite (value))
    {
      json_node_unref (node);
      return fail (self, _ ("The number is too large."));
    }
  return json_node_init_double (node, value);
}

static JsonNode *
parse_word (Parser *self)
{
  static const char *const words[] = { "true", "false", "null" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      gsize length = strlen (words[i]);

      if ((gsize) (self->end - self->at) >= length && strncmp (self->at, words[i], length) == 0)
        {
          self->at += length;
          return i == 2 ? json_node_init_null (json_node_alloc ())
                        : json_node_init_boolean (json_node_alloc (), i == 0);
        }
    }
  return fail (self, _ ("A value is expected here: a string in double quotes, a number, true, "
                        "false, null, [ or {."));
}

static JsonNode *
parse_array (Parser *self)
{
  g_autoptr (JsonArray) array = json_array_new ();

  self->at++;
  skip_space (self);
  if (!take (self, ']'))
    for (;;)
      {
        JsonNode *element = parse_value (self);

        if (element == NULL)
          return NULL;
        json_array_add_element (array, element);
        skip_space (self);
        if (take (self, ']'))
          break;
        if (!take (self, ','))
          return fail (self, _ ("“,” or “]” is expected here."));
      }
  return json_node_init_array (json_node_alloc (), array);
}

static gboolean
parse_member (Parser *self, JsonObject *object)
{
  g_autofree char *key = NULL;
  JsonNode        *value;

  skip_space (self);
  key = g_strdup (parse_string (self));
  if (key == NULL)
    return FALSE;
  if (json_object_has_member (object, key))
    return fail (self, _ ("The key “%s” stands twice in this object; remove one."), key) != NULL;
  skip_space (self);
  if (!take (self, ':'))
    return fail (self, _ ("“:” is expected after the key “%s”."), key) != NULL;
  value = parse_value (self);
  if (value == NULL)
    return FALSE;
  json_object_set_member (object, key, value);
  return TRUE;
}

static JsonNode *
parse_object (Parser *self)
{
  g_autoptr (JsonObject) object = json_object_new ();

  self->at++;
  skip_space (self);
  if (!take (self, '}'))
    for (;;)
      {
        if (!parse_member (self, object))
          return NULL;
        skip_space (self);
        if (take (self, '}'))
          break;
        if (!take (self, ','))
          return fail (self, _ ("“,” or “}” is expected here."));
      }
  return json_node_init_object (json_node_alloc (), object);
}

static JsonNode *
parse_value (Parser *self)
{
  JsonNode *node;

  skip_space (self);
  if (self->at == self->end)
    return fail (self, _ ("The text ends where a value is expected."));
  if (++self->n_values > GRADUS_JSON_MAX_VALUES)
    return fail (self, _ ("There are more than %d values, the most that is read."),
                 GRADUS_JSON_MAX_VALUES);
  if (++self->depth > GRADUS_JSON_MAX_DEPTH)
    return fail (self, _ ("Arrays and objects are nested deeper than %d levels."),
                 GRADUS_JSON_MAX_DEPTH);

  switch (*self->at)
    {
    case '{':
      node = parse_object (self);
      break;
    case '[':
      node = parse_array (self);
      break;
    case '"':
      {
        const char *string = parse_string (self);

        node = string != NULL ? json_node_init_string (json_node_alloc (), string) : NULL;
        break;
      }
    case '-':
    case '0' ... '9':
      node = parse_number (self);
      break;
    default:
      node = parse_word (self);
    }
  self->depth--;
  return node;
}

JsonNode *
gradus_json_parse (const char *text, gssize length, const char *file, GError **error)
{
  Parser self = { .text = text, .at = text, .file = file, .error = error };
  g_autoptr (GString) string = g_string_new (NULL);
  g_autoptr (JsonNode) node = NULL;
  const char *valid;

  g_return_val_if_fail (text != NULL, NULL);

  self.string = string;
  self.end = text + (length < 0 ? strlen (text) : (gsize) length);
  if (self.end - text > GRADUS_JSON_MAX_BYTES)
    return fail (&self, _ ("The text is larger than %d bytes, the most that is read."),
                 GRADUS_JSON_MAX_BYTES);
  if (!g_utf8_validate_len (text, self.end - text, &valid))
    {
      self.at = valid;
      return fail (&self, _ ("This is not UTF-8 text."));
    }
  if (self.end - text >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
    self.at += 3;
  node = parse_value (&self);
  if (node == NULL)
    return NULL;
  skip_space (&self);
  if (self.at != self.end)
    return fail (&self, _ ("Something follows after the end of the value."));
  return g_steal_pointer (&node);
}

static gpointer
io_error (const char *path, int number, GError **error)
{
  g_set_error (error, GRADUS_ERROR, number == ENOENT ? GRADUS_ERROR_NOT_FOUND : GRADUS_ERROR_IO,
               _ ("%s cannot be read: %s."), path, g_strerror (number));
  return NULL;
}

static char *
read_file (const char *path, int fd, gsize *length, GError **error)
{
  g_autofree char *text = NULL;
  struct stat      info;
  gsize            done = 0;

  if (fstat (fd, &info) < 0)
    return io_error (path, errno, error);
  if (!S_ISREG (info.st_mode))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s is not a regular file; choose a JSON file."), path);
      return NULL;
    }
  if (info.st_size > GRADUS_JSON_MAX_BYTES)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s is larger than %d bytes, the most that is read of a JSON file."), path,
                   GRADUS_JSON_MAX_BYTES);
      return NULL;
    }
  text = g_malloc (info.st_size + 1);
  while (done < (gsize) info.st_size)
    {
      gssize got = read (fd, text + done, info.st_size - done);

      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return io_error (path, errno, error);
      if (got == 0)
        break;
      done += got;
    }
  text[done] = 0;
  *length = done;
  return g_steal_pointer (&text);
}

JsonNode *
gradus_json_load_file (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  gsize            length = 0;
  int              fd;

  g_return_val_if_fail (path != NULL, NULL);

  /* Not to be held up by a pipe that nobody writes into. */
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return io_error (path, errno, error);
  text = read_file (path, fd, &length, error);
  close (fd);
  return text != NULL ? gradus_json_parse (text, length, path, error) : NULL;
}
