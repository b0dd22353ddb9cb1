/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-json-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

GradusJsonDocument *
gradus_json_document_ref (GradusJsonDocument *self)
{
  self->references++;
  return self;
}

static void
gradus_json_document_unref (GradusJsonDocument *self)
{
  if (--self->references > 0)
    return;
  g_free (self->file);
  g_clear_error (&self->error);
  g_free (self);
}

char *
gradus_json_pointer_append (const char *pointer, const char *key)
{
  g_autoptr (GString) result = g_string_new (pointer);

  g_string_append_c (result, '/');
  for (const char *c = key; *c != 0; c++)
    if (*c == '~')
      g_string_append (result, "~0");
    else if (*c == '/')
      g_string_append (result, "~1");
    else
      g_string_append_c (result, *c);
  return g_string_free (g_steal_pointer (&result), FALSE);
}

char *
gradus_json_pointer_index (const char *pointer, guint index)
{
  return g_strdup_printf ("%s/%u", pointer, index);
}

/* "/compile/loss in recipe.json" */
static char *
place (GradusJsonDocument *document, const char *pointer)
{
  const char *where = *pointer != 0 ? pointer : _ ("the top level");

  if (document->file == NULL)
    return g_strdup (where);
  /* Translators: a place in a JSON file, such as "/compile/loss in recipe.json". */
  return g_strdup_printf (_ ("%s in %s"), where, document->file);
}

static void
take_error (GradusJsonDocument *document, GError *error)
{
  if (document->error == NULL)
    document->error = error;
  else
    g_error_free (error);
}

void
gradus_json_document_refuse (GradusJsonDocument *document,
                             const char         *pointer,
                             const char         *format,
                             ...)
{
  g_autofree char *where = NULL, *what = NULL;
  va_list          args;

  if (document->error != NULL)
    return;
  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  where = place (document, pointer);
  /* Translators: a place in a JSON file, then a sentence. */
  g_set_error (&document->error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("%s: %s"), where, what);
}

GradusJsonObject *
gradus_json_object_new (GradusJsonDocument *document, JsonObject *object, char *pointer)
{
  GradusJsonObject *self = g_new0 (GradusJsonObject, 1);

  self->document = gradus_json_document_ref (document);
  self->object = json_object_ref (object);
  self->pointer = pointer;
  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

GradusJsonObject *
gradus_json_open_at (JsonNode *node, const char *file, const char *pointer, GError **error)
{
  GradusJsonDocument *document;
  GradusJsonObject   *self = NULL;

  g_return_val_if_fail (node != NULL && pointer != NULL, NULL);

  document = g_new0 (GradusJsonDocument, 1);
  document->references = 1;
  document->file = g_strdup (file);
  if (JSON_NODE_HOLDS_OBJECT (node))
    self = gradus_json_object_new (document, json_node_get_object (node), g_strdup (pointer));
  else
    {
      gradus_json_document_refuse_value (document, pointer, node, _ ("An object"));
      g_propagate_error (error, g_steal_pointer (&document->error));
    }
  gradus_json_document_unref (document);
  return self;
}

GradusJsonObject *
gradus_json_open (JsonNode *node, const char *file, GError **error)
{
  return gradus_json_open_at (node, file, "", error);
}

void
gradus_json_object_free (GradusJsonObject *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->known);
  g_free (self->pointer);
  json_object_unref (self->object);
  gradus_json_document_unref (self->document);
  g_free (self);
}

void
gradus_json_array_free (GradusJsonArray *self)
{
  if (self == NULL)
    return;
  g_free (self->pointer);
  json_array_unref (self->array);
  gradus_json_document_unref (self->document);
  g_free (self);
}

const char *
gradus_json_file (const GradusJsonObject *self)
{
  return self->document->file;
}

const char *
gradus_json_pointer (const GradusJsonObject *self)
{
  return self->pointer;
}

JsonObject *
gradus_json_peek (const GradusJsonObject *self)
{
  return self->object;
}

JsonNode *
gradus_json_node (GradusJsonObject *self, const char *key)
{
  g_return_val_if_fail (self != NULL && key != NULL, NULL);

  g_hash_table_add (self->known, g_strdup (key));
  return json_object_get_member (self->object, key);
}

gboolean
gradus_json_has (GradusJsonObject *self, const char *key)
{
  JsonNode *node = gradus_json_node (self, key);

  return node != NULL && !JSON_NODE_HOLDS_NULL (node);
}

void
gradus_json_require (GradusJsonObject *self, const char *key, ...)
{
  va_list args;

  va_start (args, key);
  for (; key != NULL; key = va_arg (args, const char *))
    if (!gradus_json_has (self, key))
      gradus_json_document_refuse (self->document, self->pointer,
                                   _ ("The key “%s” is missing; add it."), key);
  va_end (args);
}

void
gradus_json_ignore (GradusJsonObject *self, const char *key, ...)
{
  va_list args;

  va_start (args, key);
  for (; key != NULL; key = va_arg (args, const char *))
    gradus_json_node (self, key);
  va_end (args);
}

void
gradus_json_unavailable (GradusJsonObject *self, const char *key, ...)
{
  va_list args;

  va_start (args, key);
  for (; key != NULL; key = va_arg (args, const char *))
    if (gradus_json_has (self, key))
      gradus_json_refuse_unavailable (self, key, key);
  va_end (args);
}

void
gradus_json_refuse (GradusJsonObject *self, const char *key, const char *format, ...)
{
  g_autofree char *pointer =
      key != NULL ? gradus_json_pointer_append (self->pointer, key) : g_strdup (self->pointer);
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  gradus_json_document_refuse (self->document, pointer, "%s", what);
}

void
gradus_json_array_refuse (GradusJsonArray *self, guint index, const char *format, ...)
{
  g_autofree char *pointer = gradus_json_pointer_index (self->pointer, index);
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  gradus_json_document_refuse (self->document, pointer, "%s", what);
}

void
gradus_json_refuse_unavailable (GradusJsonObject *self, const char *key, const char *word)
{
  g_autofree char *pointer =
      key != NULL ? gradus_json_pointer_append (self->pointer, key) : g_strdup (self->pointer);
  g_autofree char *where = place (self->document, pointer);

  take_error (self->document,
              g_error_new (GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                           _ ("%s: “%s” is not available in this version of Gradus; remove it."),
                           where, word));
}

void
gradus_json_refuse_unavailable_but (
    GradusJsonObject *self, const char *key, const char *word, const char *one, const char *other)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
  g_autofree char *where = place (self->document, pointer);

  take_error (self->document,
              g_error_new (GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                           _ ("%s: “%s” is not available in this version of Gradus; “%s” or “%s” "
                              "would be right."),
                           where, word, one, other));
}

void
gradus_json_take_error (GradusJsonObject *self, GError *error)
{
  g_return_if_fail (error != NULL);
  take_error (self->document, error);
}

gboolean
gradus_json_failed (const GradusJsonObject *self)
{
  return self->document->error != NULL;
}

gboolean
gradus_json_check (GradusJsonObject *self, GError **error)
{
  if (self->document->error == NULL)
    return TRUE;
  g_propagate_error (error, g_error_copy (self->document->error));
  return FALSE;
}

static void
refuse_unknown (GradusJsonObject *self, const char *key)
{
  g_autofree char        *where = place (self->document, self->pointer);
  g_autofree const char **names =
      (const char **) g_hash_table_get_keys_as_array (self->known, NULL);
  const char *near = gradus_json_nearest (key, names);
  GError     *error;

  if (near != NULL)
    error = g_error_new (GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                         _ ("Unknown key “%s” at %s; did you mean “%s”?"), key, where, near);
  else
    error = g_error_new (GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                         _ ("Unknown key “%s” at %s; remove it."), key, where);
  take_error (self->document, error);
}

gboolean
gradus_json_end (GradusJsonObject *self, GError **error)
{
  JsonObjectIter iter;
  const char    *key;

  json_object_iter_init_ordered (&iter, self->object);
  while (self->document->error == NULL && json_object_iter_next_ordered (&iter, &key, NULL))
    if (!g_hash_table_contains (self->known, key))
      refuse_unknown (self, key);
  return gradus_json_check (self, error);
}

/* Levenshtein's distance with neighbours swapped counted once; over bytes, which does for names. */
static guint
distance (const char *a, const char *b)
{
  guint n = strlen (a), m = strlen (b);
  guint rows[3][65];

  if (n > 64 || m > 64)
    return G_MAXUINT;
  for (guint j = 0; j <= m; j++)
    rows[0][j] = j;
  for (guint i = 1; i <= n; i++)
    {
      guint *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

      now[0] = i;
      for (guint j = 1; j <= m; j++)
        {
          guint cost = g_ascii_tolower (a[i - 1]) != g_ascii_tolower (b[j - 1]);

          now[j] = MIN (MIN (last[j] + 1, now[j - 1] + 1), last[j - 1] + cost);
          if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
            now[j] = MIN (now[j], before[j - 2] + 1);
        }
    }
  return rows[n % 3][m];
}

const char *
gradus_json_nearest (const char *name, const char *const *names)
{
  const char *nearest = NULL;
  guint       best = MAX (1, strlen (name) / 3) + 1;

  for (; *names != NULL; names++)
    {
      guint far = distance (name, *names);

      /* Of equals the first in the alphabet: names may come out of a hash table. */
      if (far < best || (far == best && nearest != NULL && strcmp (*names, nearest) < 0))
        {
          best = far;
          nearest = *names;
        }
    }
  return nearest;
}
