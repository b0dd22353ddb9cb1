/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-json.h"

#include <math.h>
#include <string.h>

/* json-glib's own generator writes 1e-08 as 1e-08.0 and leaves control characters as they are:
 * neither is JSON. */
static void write_node (GString *out, JsonNode *node, gboolean pretty, guint level);

static void
write_string (GString *out, const char *string)
{
  g_autofree char *valid = g_utf8_make_valid (string, -1);

  g_string_append_c (out, '"');
  for (const char *c = valid; *c != 0; c++)
    if (*c == '"' || *c == '\\')
      g_string_append_printf (out, "\\%c", *c);
    else if (*c == '\n')
      g_string_append (out, "\\n");
    else if (*c == '\t')
      g_string_append (out, "\\t");
    else if ((guchar) *c < 0x20)
      g_string_append_printf (out, "\\u%04x", (guchar) *c);
    else
      g_string_append_c (out, *c);
  g_string_append_c (out, '"');
}

/* The fewest digits that are read back as the same number. */
static void
write_double (GString *out, double value)
{
  static const char *const formats[] = { "%.15g", "%.16g", "%.17g" };
  char                     text[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (value))
    {
      g_string_append (out, "null");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      g_ascii_formatd (text, sizeof text, formats[i], value);
      if (g_ascii_strtod (text, NULL) == value)
        break;
    }
  g_string_append (out, text);
  /* So that it stays a double when read again. */
  if (strpbrk (text, ".e") == NULL)
    g_string_append (out, ".0");
}

static void
write_break (GString *out, gboolean pretty, guint level)
{
  if (!pretty)
    return;
  g_string_append_c (out, '\n');
  for (guint i = 0; i < level; i++)
    g_string_append (out, "  ");
}

static void
write_array (GString *out, JsonArray *array, gboolean pretty, guint level)
{
  guint n = json_array_get_length (array);

  g_string_append_c (out, '[');
  for (guint i = 0; i < n; i++)
    {
      if (i > 0)
        g_string_append_c (out, ',');
      write_break (out, pretty, level + 1);
      write_node (out, json_array_get_element (array, i), pretty, level + 1);
    }
  if (n > 0)
    write_break (out, pretty, level);
  g_string_append_c (out, ']');
}

static void
write_object (GString *out, JsonObject *object, gboolean pretty, guint level)
{
  JsonObjectIter iter;
  const char    *key;
  JsonNode      *value;
  gboolean       first = TRUE;

  g_string_append_c (out, '{');
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &key, &value))
    {
      if (!first)
        g_string_append_c (out, ',');
      first = FALSE;
      write_break (out, pretty, level + 1);
      write_string (out, key);
      g_string_append (out, pretty ? ": " : ":");
      write_node (out, value, pretty, level + 1);
    }
  if (!first)
    write_break (out, pretty, level);
  g_string_append_c (out, '}');
}

static void
write_value (GString *out, JsonNode *node)
{
  switch (json_node_get_value_type (node))
    {
    case G_TYPE_INT64:
      g_string_append_printf (out, "%" G_GINT64_FORMAT, json_node_get_int (node));
      break;
    case G_TYPE_DOUBLE:
      write_double (out, json_node_get_double (node));
      break;
    case G_TYPE_BOOLEAN:
      g_string_append (out, json_node_get_boolean (node) ? "true" : "false");
      break;
    default:
      write_string (out, json_node_get_string (node));
    }
}

static void
write_node (GString *out, JsonNode *node, gboolean pretty, guint level)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    write_object (out, json_node_get_object (node), pretty, level);
  else if (JSON_NODE_HOLDS_ARRAY (node))
    write_array (out, json_node_get_array (node), pretty, level);
  else if (JSON_NODE_HOLDS_VALUE (node))
    write_value (out, node);
  else
    g_string_append (out, "null");
}

char *
gradus_json_to_string (JsonNode *node, gboolean pretty)
{
  GString *out;

  g_return_val_if_fail (node != NULL, NULL);

  out = g_string_new (NULL);
  write_node (out, node, pretty, 0);
  return g_string_free (out, FALSE);
}
