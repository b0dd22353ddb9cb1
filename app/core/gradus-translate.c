/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-translate.h"

#include <glib/gi18n.h>
#include <string.h>

#include "gradus-catalogue.h"
#include "gradus-log-locale.h"

/* A message of more than this is no sentence of ours. */
#define MAX_MESSAGE 4000

static GMutex      lock;
static GHashTable *known; /* message -> translation, both for ever */

/* The formats of the catalogue in use, those with the most text first: they say the most. */
static gint
compare_lengths (gconstpointer a, gconstpointer b)
{
  gsize x = strlen (*(const char *const *) a), y = strlen (*(const char *const *) b);

  return x < y ? 1 : x > y ? -1 : 0;
}

static GPtrArray *
load_formats (void)
{
  const char *folder = bindtextdomain (GETTEXT_PACKAGE, NULL);

  for (const char *const *name = g_get_language_names (); folder != NULL && *name != NULL; name++)
    {
      g_autofree char *file = g_strconcat (GETTEXT_PACKAGE, ".mo", NULL);
      g_autofree char *path = g_build_filename (folder, *name, "LC_MESSAGES", file, NULL);
      g_autofree char *bytes = NULL;
      gsize            size;
      GPtrArray       *formats;

      if (!g_file_get_contents (path, &bytes, &size, NULL))
        continue;
      formats = gradus_catalogue_formats ((const guint8 *) bytes, size);
      g_ptr_array_sort (formats, compare_lengths);
      return formats;
    }
  return g_ptr_array_new ();
}

static const GPtrArray *
get_formats (void)
{
  static GPtrArray *formats;

  if (g_once_init_enter (&formats))
    g_once_init_leave (&formats, load_formats ());
  return formats;
}

static char *translate (const char *message, guint depth);

/* Cheap, and rules out nearly all: what stands before the first conversion, or else between it and the next. */
static gboolean
may_match (const char *format, const char *message)
{
  const char      *first = strchr (format, '%'), *start;
  g_autofree char *piece = NULL;

  if (first > format)
    return strncmp (format, message, (gsize) (first - format)) == 0;
  start = first + strcspn (first, " “”.:,");
  piece = g_strndup (start, strcspn (start, "%"));
  return strstr (message, piece) != NULL;
}

/* By a format; an argument may be a message itself (a cause). */
static char *
translate_format (const char *message, guint depth)
{
  const GPtrArray *formats = get_formats ();

  for (guint i = 0; i < formats->len; i++)
    {
      const char           *format = formats->pdata[i], *translated = g_dgettext (GETTEXT_PACKAGE, format);
      g_autoptr (GPtrArray) arguments = NULL;

      if (translated == format || !may_match (format, message))
        continue;
      arguments = gradus_catalogue_match (format, message);
      if (arguments == NULL)
        continue;
      for (guint k = 0; k < arguments->len && depth < 3; k++)
        {
          char *inner = translate (arguments->pdata[k], depth + 1);

          g_free (arguments->pdata[k]);
          arguments->pdata[k] = inner;
        }
      return gradus_catalogue_fill (translated, arguments);
    }
  return NULL;
}

static char *
translate_whole (const char *message, guint depth)
{
  const char *plain = *message != '\0' ? g_dgettext (GETTEXT_PACKAGE, message) : message;

  return plain != message || *message == '\0' ? g_strdup (plain) : translate_format (message, depth);
}

/* Where the first @n sentences of @message end: at the blank after them, or at its end; NULL: it has fewer. */
static const char *
sentence_end (const char *message, guint n)
{
  const char *end = message;

  while (n-- > 0)
    {
      if (*end == '\0')
        return NULL;
      for (end++; *end != '\0' && !(end[-1] == '.' && end[0] == ' '); end++)
        continue;
    }
  return end;
}

/* Sentence by sentence, as few as are a message at a time: an argument at the end of one would swallow the
 * next. @strict: NULL where any is left over. */
static char *
translate_sentences (const char *message, guint depth, gboolean strict)
{
  const char *end;

  for (guint n = 1; (end = sentence_end (message, n)) != NULL; n++)
    {
      g_autofree char *first = g_strndup (message, (gsize) (end - message));
      g_autofree char *begun = translate_whole (first, depth), *rest = NULL;

      if (begun == NULL)
        continue;
      if (*end == '\0')
        return g_steal_pointer (&begun);
      rest = translate_sentences (end + 1, depth, strict);
      if (rest != NULL)
        return g_strconcat (begun, " ", rest, NULL);
    }
  return strict ? NULL : g_strdup (message);
}

static char *
translate (const char *message, guint depth)
{
  char *made = translate_sentences (message, depth, TRUE);

  return made != NULL ? made : translate_sentences (message, depth, FALSE);
}

const char *
gradus_translate (const char *message)
{
  const char *found;
  gpointer    before;

  if (message == NULL || *message == '\0')
    return "";
  if (strlen (message) > MAX_MESSAGE || !g_utf8_validate (message, -1, NULL))
    return message;
  /* The thread may be one that writes the log. */
  before = gradus_log_locale_pause ();
  g_mutex_lock (&lock);
  if (known == NULL)
    known = g_hash_table_new (g_str_hash, g_str_equal);
  found = g_hash_table_lookup (known, message);
  if (found == NULL)
    {
      g_autofree char *made = translate (message, 0);

      found = g_intern_string (made);
      g_hash_table_insert (known, (gpointer) g_intern_string (message), (gpointer) found);
    }
  g_mutex_unlock (&lock);
  gradus_log_locale_resume (before);
  return found;
}
