/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-json.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

/* What all cursors of a document share. */
typedef struct
{
  guint   references;
  char   *file;
  GError *error;
} Document;

struct _GradusJsonObject
{
  Document   *document;
  JsonObject *object;
  char       *pointer;
  GHashTable *known;
};

struct _GradusJsonArray
{
  Document  *document;
  JsonArray *array;
  char      *pointer;
};

static Document *
document_ref (Document *self)
{
  self->references++;
  return self;
}

static void
document_unref (Document *self)
{
  if (--self->references > 0)
    return;
  g_free (self->file);
  g_clear_error (&self->error);
  g_free (self);
}

static char *
pointer_append (const char *pointer, const char *key)
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

static char *
pointer_index (const char *pointer, guint index)
{
  return g_strdup_printf ("%s/%u", pointer, index);
}

/* "/compile/loss in recipe.json" */
static char *
place (Document *document, const char *pointer)
{
  const char *where = *pointer != 0 ? pointer : _ ("the top level");

  if (document->file == NULL)
    return g_strdup (where);
  /* Translators: a place in a JSON file, such as "/compile/loss in recipe.json". */
  return g_strdup_printf (_ ("%s in %s"), where, document->file);
}

static void
take_error (Document *document, GError *error)
{
  if (document->error == NULL)
    document->error = error;
  else
    g_error_free (error);
}

G_GNUC_PRINTF (3, 4)
static void
refuse (Document *document, const char *pointer, const char *format, ...)
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

/* What stands there, for a message: «the string “abc”». */
static char *
describe (JsonNode *node)
{
  char             buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *start = NULL;
  const char      *string;

  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return g_strdup (_ ("null"));
  if (JSON_NODE_HOLDS_OBJECT (node))
    return g_strdup (_ ("an object"));
  if (JSON_NODE_HOLDS_ARRAY (node))
    return g_strdup (_ ("an array"));
  switch (json_node_get_value_type (node))
    {
    case G_TYPE_BOOLEAN:
      return g_strdup (json_node_get_boolean (node) ? "true" : "false");
    case G_TYPE_INT64:
      return g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));
    case G_TYPE_DOUBLE:
      return g_strdup (g_ascii_dtostr (buffer, sizeof buffer, json_node_get_double (node)));
    default:
      string = json_node_get_string (node);
      if (g_utf8_strlen (string, -1) <= 40)
        return g_strdup_printf (_ ("the string “%s”"), string);
      start = g_utf8_substring (string, 0, 40);
      return g_strdup_printf (_ ("the string “%s…”"), start);
    }
}

static void
refuse_value (Document *document, const char *pointer, JsonNode *node, const char *right)
{
  g_autofree char *found = describe (node);

  /* Translators: what is right ("a string"), what was found ("the number 3"). */
  refuse (document, pointer, _ ("%s is expected, but %s is there."), right, found);
}

static GradusJsonObject *
object_new (Document *document, JsonObject *object, char *pointer)
{
  GradusJsonObject *self = g_new0 (GradusJsonObject, 1);

  self->document = document_ref (document);
  self->object = json_object_ref (object);
  self->pointer = pointer;
  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

GradusJsonObject *
gradus_json_open_at (JsonNode *node, const char *file, const char *pointer, GError **error)
{
  Document         *document;
  GradusJsonObject *self = NULL;

  g_return_val_if_fail (node != NULL && pointer != NULL, NULL);

  document = g_new0 (Document, 1);
  document->references = 1;
  document->file = g_strdup (file);
  if (JSON_NODE_HOLDS_OBJECT (node))
    self = object_new (document, json_node_get_object (node), g_strdup (pointer));
  else
    {
      refuse_value (document, pointer, node, _ ("An object"));
      g_propagate_error (error, g_steal_pointer (&document->error));
    }
  document_unref (document);
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
  document_unref (self->document);
  g_free (self);
}

void
gradus_json_array_free (GradusJsonArray *self)
{
  if (self == NULL)
    return;
  g_free (self->pointer);
  json_array_unref (self->array);
  document_unref (self->document);
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

/* The value unless it is absent, null, or all is lost anyway. */
static JsonNode *
present (GradusJsonObject *self, const char *key)
{
  JsonNode *node = gradus_json_node (self, key);

  if (self->document->error != NULL || node == NULL || JSON_NODE_HOLDS_NULL (node))
    return NULL;
  return node;
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
      refuse (self->document, self->pointer, _ ("The key “%s” is missing; add it."), key);
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

static const char *
read_string (Document *document, const char *pointer, JsonNode *node)
{
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    return json_node_get_string (node);
  refuse_value (document, pointer, node, _ ("A string"));
  return NULL;
}

static gboolean
read_number (JsonNode *node, double *value)
{
  if (!JSON_NODE_HOLDS_VALUE (node))
    return FALSE;
  if (json_node_get_value_type (node) == G_TYPE_INT64)
    *value = (double) json_node_get_int (node);
  else if (json_node_get_value_type (node) == G_TYPE_DOUBLE)
    *value = json_node_get_double (node);
  else
    return FALSE;
  return TRUE;
}

static gint64
read_int (Document *document, const char *pointer, JsonNode *node, gint64 min, gint64 max)
{
  g_autofree char *right = NULL;
  double           number = 0;
  gint64           value = 0;
  gboolean         fine = FALSE;

  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64)
    {
      value = json_node_get_int (node);
      fine = TRUE;
    }
  else if (read_number (node, &number) && number == trunc (number) && fabs (number) < 0x1p53)
    {
      value = (gint64) number;
      fine = TRUE;
    }
  if (fine && value >= min && value <= max)
    return value;

  if (min == G_MININT64 && max == G_MAXINT64)
    right = g_strdup (_ ("A whole number"));
  else if (max == G_MAXINT64)
    right = g_strdup_printf (_ ("A whole number of at least %" G_GINT64_FORMAT), min);
  else
    right = g_strdup_printf (_ ("A whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT),
                             min, max);
  refuse_value (document, pointer, node, right);
  return 0;
}

static double
read_double (Document *document, const char *pointer, JsonNode *node, double min, double max)
{
  char             low[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *right = NULL;
  double           value;

  if (read_number (node, &value) && isfinite (value) && value >= min && value <= max)
    return value;

  g_ascii_formatd (low, sizeof low, "%.15g", min);
  g_ascii_formatd (high, sizeof high, "%.15g", max);
  if (min <= -G_MAXDOUBLE && max >= G_MAXDOUBLE)
    right = g_strdup (_ ("A number"));
  else if (max >= G_MAXDOUBLE)
    right = g_strdup_printf (_ ("A number of at least %s"), low);
  else if (min <= -G_MAXDOUBLE)
    right = g_strdup_printf (_ ("A number of at most %s"), high);
  else
    right = g_strdup_printf (_ ("A number from %s to %s"), low, high);
  refuse_value (document, pointer, node, right);
  return 0;
}

static GradusJsonObject *
read_object (Document *document, const char *pointer, JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    return object_new (document, json_node_get_object (node), g_strdup (pointer));
  refuse_value (document, pointer, node, _ ("An object"));
  return NULL;
}

static GradusJsonArray *
read_array (Document *document, const char *pointer, JsonNode *node, guint max_length)
{
  GradusJsonArray *self;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    {
      refuse_value (document, pointer, node, _ ("An array"));
      return NULL;
    }
  if (json_array_get_length (json_node_get_array (node)) > max_length)
    {
      refuse (document, pointer, _ ("The array has %u elements; at most %u are possible here."),
              json_array_get_length (json_node_get_array (node)), max_length);
      return NULL;
    }
  self = g_new0 (GradusJsonArray, 1);
  self->document = document_ref (document);
  self->array = json_array_ref (json_node_get_array (node));
  self->pointer = g_strdup (pointer);
  return self;
}

const char *
gradus_json_string (GradusJsonObject *self, const char *key, const char *fallback)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);
  const char      *value = node != NULL ? read_string (self->document, pointer, node) : NULL;

  return value != NULL ? value : fallback;
}

gint64
gradus_json_int (GradusJsonObject *self, const char *key, gint64 min, gint64 max, gint64 fallback)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);
  gint64           value = node != NULL ? read_int (self->document, pointer, node, min, max) : 0;

  return node != NULL && self->document->error == NULL ? value : fallback;
}

double
gradus_json_double (GradusJsonObject *self, const char *key, double min, double max, double fallback)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);
  double           value = node != NULL ? read_double (self->document, pointer, node, min, max) : 0;

  return node != NULL && self->document->error == NULL ? value : fallback;
}

gboolean
gradus_json_bool (GradusJsonObject *self, const char *key, gboolean fallback)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);

  if (node == NULL)
    return fallback;
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return json_node_get_boolean (node);
  refuse_value (self->document, pointer, node, _ ("true or false"));
  return fallback;
}

int
gradus_json_enum (GradusJsonObject *self, const char *key, const char *const *names, int fallback)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  g_autofree char *all = NULL, *right = NULL;
  JsonNode        *node = present (self, key);
  const char      *word = NULL;

  if (node == NULL)
    return fallback;
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    word = json_node_get_string (node);
  for (int i = 0; word != NULL && names[i] != NULL; i++)
    if (strcmp (word, names[i]) == 0)
      return i;

  all = g_strjoinv ("”, “", (char **) names);
  /* Translators: a list of words, already in quotation marks between them. */
  right = g_strdup_printf (_ ("One of “%s”"), all);
  refuse_value (self->document, pointer, node, right);
  return fallback;
}

GradusJsonObject *
gradus_json_object (GradusJsonObject *self, const char *key)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);

  return node != NULL ? read_object (self->document, pointer, node) : NULL;
}

GradusJsonArray *
gradus_json_array (GradusJsonObject *self, const char *key, guint max_length)
{
  g_autofree char *pointer = pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);

  return node != NULL ? read_array (self->document, pointer, node, max_length) : NULL;
}

guint
gradus_json_array_length (const GradusJsonArray *self)
{
  return json_array_get_length (self->array);
}

JsonNode *
gradus_json_array_node (GradusJsonArray *self, guint index)
{
  g_return_val_if_fail (index < gradus_json_array_length (self), NULL);
  return json_array_get_element (self->array, index);
}

const char *
gradus_json_array_string (GradusJsonArray *self, guint index)
{
  g_autofree char *pointer = pointer_index (self->pointer, index);

  return read_string (self->document, pointer, gradus_json_array_node (self, index));
}

gint64
gradus_json_array_int (GradusJsonArray *self, guint index, gint64 min, gint64 max)
{
  g_autofree char *pointer = pointer_index (self->pointer, index);

  return read_int (self->document, pointer, gradus_json_array_node (self, index), min, max);
}

double
gradus_json_array_double (GradusJsonArray *self, guint index, double min, double max)
{
  g_autofree char *pointer = pointer_index (self->pointer, index);

  return read_double (self->document, pointer, gradus_json_array_node (self, index), min, max);
}

GradusJsonObject *
gradus_json_array_object (GradusJsonArray *self, guint index)
{
  g_autofree char *pointer = pointer_index (self->pointer, index);

  return read_object (self->document, pointer, gradus_json_array_node (self, index));
}

GradusJsonArray *
gradus_json_array_array (GradusJsonArray *self, guint index, guint max_length)
{
  g_autofree char *pointer = pointer_index (self->pointer, index);

  return read_array (self->document, pointer, gradus_json_array_node (self, index), max_length);
}

void
gradus_json_refuse (GradusJsonObject *self, const char *key, const char *format, ...)
{
  g_autofree char *pointer
      = key != NULL ? pointer_append (self->pointer, key) : g_strdup (self->pointer);
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  refuse (self->document, pointer, "%s", what);
}

void
gradus_json_array_refuse (GradusJsonArray *self, guint index, const char *format, ...)
{
  g_autofree char *pointer = pointer_index (self->pointer, index);
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  refuse (self->document, pointer, "%s", what);
}

void
gradus_json_refuse_unavailable (GradusJsonObject *self, const char *key, const char *word)
{
  g_autofree char *pointer
      = key != NULL ? pointer_append (self->pointer, key) : g_strdup (self->pointer);
  g_autofree char *where = place (self->document, pointer);

  take_error (self->document,
              g_error_new (GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                           _ ("%s: “%s” is not available in this version of Gradus; remove it."),
                           where, word));
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
  g_autofree const char **names
      = (const char **) g_hash_table_get_keys_as_array (self->known, NULL);
  const char *near = gradus_json_nearest (key, names);
  GError     *error;

  if (near != NULL && !json_object_has_member (self->object, near))
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
