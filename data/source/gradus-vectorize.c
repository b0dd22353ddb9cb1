/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-vectorize.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define UNKNOWN 1
#define FIRST 2

typedef struct
{
  const char *word;
  gint64      count;
} Entry;

static char *
standardize (const GradusVectorize *self, const char *text)
{
  char *out = g_malloc (strlen (text) + 1), *to = out;

  for (; *text != '\0'; text++)
    if (self->standardize == GRADUS_STANDARDIZE_NONE)
      *to++ = *text;
    else if (self->standardize == GRADUS_STANDARDIZE_LOWER || !g_ascii_ispunct (*text))
      *to++ = self->standardize == GRADUS_STANDARDIZE_STRIP ? *text : g_ascii_tolower (*text);
  *to = '\0';
  return out;
}

/* The next word of @*at, which is changed; NULL at the end. @keep holds a character. */
static const char *
next_word (const GradusVectorize *self, char **at, char keep[8])
{
  char *start;

  if (self->characters)
    {
      gsize n = **at != '\0' ? (gsize) (g_utf8_next_char (*at) - *at) : 0;

      memcpy (keep, *at, n);
      keep[n] = '\0';
      *at += n;
      return n > 0 ? keep : NULL;
    }
  while (g_ascii_isspace (**at))
    (*at)++;
  start = *at;
  while (**at != '\0' && !g_ascii_isspace (**at))
    (*at)++;
  if (**at != '\0')
    *(*at)++ = '\0';
  return *start != '\0' ? start : NULL;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const Entry *one = a, *other = b;

  if (one->count != other->count)
    return one->count > other->count ? -1 : 1;
  return strcmp (other->word, one->word);
}

GPtrArray *
gradus_vectorize_adapt (const GradusVectorize *self,
                        GradusSource          *source,
                        gint64                 n,
                        gint64 (*at) (gpointer data, gint64 i),
                        gpointer               data)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  GPtrArray     *words = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer       word, count;

  for (gint64 i = 0; i < n; i++)
    {
      g_autofree char *text = standardize (self, source->funcs->text (source, at (data, i)));
      char            *place = text, keep[8];
      const char      *next;

      while ((next = next_word (self, &place, keep)) != NULL)
        {
          gint64 *counted = g_hash_table_lookup (counts, next);

          if (counted == NULL)
            g_hash_table_insert (counts, g_strdup (next), counted = g_new0 (gint64, 1));
          (*counted)++;
        }
    }
  g_hash_table_iter_init (&iter, counts);
  while (g_hash_table_iter_next (&iter, &word, &count))
    g_array_append_val (entries, ((Entry){ word, *(gint64 *) count }));
  g_array_sort (entries, compare);
  for (guint i = 0; i < entries->len && i + FIRST < self->vocabulary; i++)
    g_ptr_array_add (words, g_strdup (g_array_index (entries, Entry, i).word));
  return words;
}

gboolean
gradus_vectorize_apply (const GradusVectorize *self, GPtrArray *words, GradusSource *source, GError **error)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);
  gint32 *out = g_try_malloc0_n (source->n_samples, self->length * sizeof *out);
  gint32 *lengths = g_try_malloc0_n (source->n_samples, sizeof *lengths);

  if (out == NULL || lengths == NULL)
    {
      g_free (out);
      g_free (lengths);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("There is no memory for the words of the texts; make “length” smaller."));
      return FALSE;
    }
  for (guint i = 0; i < words->len; i++)
    g_hash_table_insert (places, words->pdata[i], GUINT_TO_POINTER (i + FIRST));
  for (gint64 i = 0; i < source->n_samples; i++)
    {
      g_autofree char *text = standardize (self, source->funcs->text (source, i));
      char            *place = text, keep[8];
      const char      *next;

      while (lengths[i] < (gint32) self->length && (next = next_word (self, &place, keep)) != NULL)
        {
          gpointer found = g_hash_table_lookup (places, next);

          out[i * self->length + lengths[i]++] =
              found != NULL ? (gint32) GPOINTER_TO_UINT (found) : UNKNOWN;
        }
    }
  source->funcs->take_words (source, self->length, out, lengths);
  return TRUE;
}
