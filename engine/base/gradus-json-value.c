/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-json-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

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

void
gradus_json_document_refuse_value (GradusJsonDocument *document,
                                   const char         *pointer,
                                   JsonNode           *node,
                                   const char         *right)
{
  g_autofree char *found = describe (node);

  /* Translators: what is right ("a string"), what was found ("the number 3"). */
  gradus_json_document_refuse (document, pointer, _ ("%s is expected, but %s is there."), right,
                               found);
}

static const char *
read_string (GradusJsonDocument *document, const char *pointer, JsonNode *node)
{
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    return json_node_get_string (node);
  gradus_json_document_refuse_value (document, pointer, node, _ ("A string"));
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
read_int (GradusJsonDocument *document, const char *pointer, JsonNode *node, gint64 min, gint64 max)
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
    right = g_strdup_printf (_ ("A whole number of at least %" PRId64), min);
  else
    right = g_strdup_printf (_ ("A whole number from %" PRId64 " to %" PRId64), min, max);
  gradus_json_document_refuse_value (document, pointer, node, right);
  return 0;
}

static double
read_double (GradusJsonDocument *document,
             const char         *pointer,
             JsonNode           *node,
             double              min,
             double              max)
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
  gradus_json_document_refuse_value (document, pointer, node, right);
  return 0;
}

static GradusJsonObject *
read_object (GradusJsonDocument *document, const char *pointer, JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    return gradus_json_object_new (document, json_node_get_object (node), g_strdup (pointer));
  gradus_json_document_refuse_value (document, pointer, node, _ ("An object"));
  return NULL;
}

static GradusJsonArray *
read_array (GradusJsonDocument *document, const char *pointer, JsonNode *node, guint max_length)
{
  GradusJsonArray *self;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    {
      gradus_json_document_refuse_value (document, pointer, node, _ ("An array"));
      return NULL;
    }
  if (json_array_get_length (json_node_get_array (node)) > max_length)
    {
      gradus_json_document_refuse (document, pointer,
                                   _ ("The array has %u elements; at most %u are possible here."),
                                   json_array_get_length (json_node_get_array (node)), max_length);
      return NULL;
    }
  self = g_new0 (GradusJsonArray, 1);
  self->document = gradus_json_document_ref (document);
  self->array = json_array_ref (json_node_get_array (node));
  self->pointer = g_strdup (pointer);
  return self;
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

const char *
gradus_json_string (GradusJsonObject *self, const char *key, const char *fallback)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);
  const char      *value = node != NULL ? read_string (self->document, pointer, node) : NULL;

  return value != NULL ? value : fallback;
}

gint64
gradus_json_int (GradusJsonObject *self, const char *key, gint64 min, gint64 max, gint64 fallback)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);
  gint64           value = node != NULL ? read_int (self->document, pointer, node, min, max) : 0;

  return node != NULL && self->document->error == NULL ? value : fallback;
}

double
gradus_json_double (GradusJsonObject *self,
                    const char       *key,
                    double            min,
                    double            max,
                    double            fallback)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);
  double           value = node != NULL ? read_double (self->document, pointer, node, min, max) : 0;

  return node != NULL && self->document->error == NULL ? value : fallback;
}

gboolean
gradus_json_bool (GradusJsonObject *self, const char *key, gboolean fallback)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);

  if (node == NULL)
    return fallback;
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return json_node_get_boolean (node);
  gradus_json_document_refuse_value (self->document, pointer, node, _ ("true or false"));
  return fallback;
}

int
gradus_json_enum (GradusJsonObject *self, const char *key, const char *const *names, int fallback)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
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
  gradus_json_document_refuse_value (self->document, pointer, node, right);
  return fallback;
}

GradusJsonObject *
gradus_json_object (GradusJsonObject *self, const char *key)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
  JsonNode        *node = present (self, key);

  return node != NULL ? read_object (self->document, pointer, node) : NULL;
}

GradusJsonArray *
gradus_json_array (GradusJsonObject *self, const char *key, guint max_length)
{
  g_autofree char *pointer = gradus_json_pointer_append (self->pointer, key);
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
  g_autofree char *pointer = gradus_json_pointer_index (self->pointer, index);

  return read_string (self->document, pointer, gradus_json_array_node (self, index));
}

gint64
gradus_json_array_int (GradusJsonArray *self, guint index, gint64 min, gint64 max)
{
  g_autofree char *pointer = gradus_json_pointer_index (self->pointer, index);

  return read_int (self->document, pointer, gradus_json_array_node (self, index), min, max);
}

double
gradus_json_array_double (GradusJsonArray *self, guint index, double min, double max)
{
  g_autofree char *pointer = gradus_json_pointer_index (self->pointer, index);

  return read_double (self->document, pointer, gradus_json_array_node (self, index), min, max);
}

GradusJsonObject *
gradus_json_array_object (GradusJsonArray *self, guint index)
{
  g_autofree char *pointer = gradus_json_pointer_index (self->pointer, index);

  return read_object (self->document, pointer, gradus_json_array_node (self, index));
}

GradusJsonArray *
gradus_json_array_array (GradusJsonArray *self, guint index, guint max_length)
{
  g_autofree char *pointer = gradus_json_pointer_index (self->pointer, index);

  return read_array (self->document, pointer, gradus_json_array_node (self, index), max_length);
}
