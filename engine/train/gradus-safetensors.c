/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-safetensors.h"

#include "gradus-json.h"

#include <glib/gi18n-lib.h>
#include <string.h>

static const struct
{
  const char *name;
  GradusDType dtype;
} dtypes[] = {
  { "F32", GRADUS_DTYPE_FLOAT32 }, { "F64", GRADUS_DTYPE_FLOAT64 }, { "I32", GRADUS_DTYPE_INT32 },
  { "I64", GRADUS_DTYPE_INT64 },   { "U8", GRADUS_DTYPE_UINT8 },    { "BOOL", GRADUS_DTYPE_BOOL },
};

static gboolean
damaged (const char *path, GError **error, const char *format, ...) G_GNUC_PRINTF (3, 4);

static gboolean
damaged (const char *path, GError **error, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
               _("“%s” is damaged or no safetensors file: %s Use another checkpoint."), path, what);
  return FALSE;
}

static gboolean
read_metadata (GradusSafetensors *self, JsonNode *node, const char *path, GError **error)
{
  JsonObjectIter iter;
  const char    *key;
  JsonNode      *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return damaged (path, error, _("its metadata is no object."));
  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &key, &value))
    {
      if (!JSON_NODE_HOLDS_VALUE (value) || json_node_get_value_type (value) != G_TYPE_STRING)
        return damaged (path, error, _("the metadata “%s” is no text."), key);
      g_hash_table_insert (self->metadata, g_strdup (key), g_strdup (json_node_get_string (value)));
    }
  return TRUE;
}

static gboolean
whole (JsonNode *node, gint64 *value)
{
  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) ||
      json_node_get_value_type (node) != G_TYPE_INT64)
    return FALSE;
  *value = json_node_get_int (node);
  return *value >= 0;
}

static gboolean
read_shape (JsonObject *object, GradusShape *shape)
{
  JsonNode  *node = json_object_get_member (object, "shape");
  JsonArray *array;

  if (node == NULL || !JSON_NODE_HOLDS_ARRAY (node))
    return FALSE;
  array = json_node_get_array (node);
  if (json_array_get_length (array) > GRADUS_MAX_RANK)
    return FALSE;
  *shape = (GradusShape){ .rank = json_array_get_length (array) };
  for (guint i = 0; i < shape->rank; i++)
    if (!whole (json_array_get_element (array, i), &shape->dims[i]))
      return FALSE;
  return TRUE;
}

static gboolean
read_dtype (JsonObject *object, GradusDType *dtype)
{
  JsonNode *node = json_object_get_member (object, "dtype");

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) ||
      json_node_get_value_type (node) != G_TYPE_STRING)
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (dtypes); i++)
    if (g_str_equal (json_node_get_string (node), dtypes[i].name))
      {
        *dtype = dtypes[i].dtype;
        return TRUE;
      }
  return FALSE;
}

static gboolean
read_tensor (GradusTensorView *view, JsonNode *node, const guint8 *buffer, gsize size, const char *path, GError **error)
{
  JsonObject *object;
  JsonNode   *offsets;
  gint64      begin, end, count, bytes;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return damaged (path, error, _("the entry of “%s” is no object."), view->name);
  object = json_node_get_object (node);
  if (!read_dtype (object, &view->dtype))
    return damaged (path, error, _("“%s” has a type that is not known here."), view->name);
  if (!read_shape (object, &view->shape))
    return damaged (path, error, _("“%s” has no proper shape."), view->name);
  offsets = json_object_get_member (object, "data_offsets");
  if (offsets == NULL || !JSON_NODE_HOLDS_ARRAY (offsets) ||
      json_array_get_length (json_node_get_array (offsets)) != 2 ||
      !whole (json_array_get_element (json_node_get_array (offsets), 0), &begin) ||
      !whole (json_array_get_element (json_node_get_array (offsets), 1), &end) || begin > end ||
      (guint64) end > size)
    return damaged (path, error, _("“%s” does not lie inside the file."), view->name);
  count = gradus_shape_count (&view->shape);
  if (count < 0 ||
      __builtin_mul_overflow (count, (gint64) gradus_dtype_size (view->dtype), &bytes) ||
      bytes != end - begin)
    return damaged (path, error, _("the size of “%s” does not follow from its shape."), view->name);
  view->data = buffer + begin;
  view->bytes = bytes;
  return TRUE;
}

static int
by_place (gconstpointer a, gconstpointer b)
{
  const GradusTensorView *x = a, *y = b;

  if (x->data != y->data)
    return x->data < y->data ? -1 : 1;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? -1 : 1;
  return strcmp (x->name, y->name);
}

static gboolean
check_places (GradusSafetensors *self, const guint8 *buffer, gsize size, const char *path, GError **error)
{
  const guint8 *at = buffer;

  g_array_sort (self->tensors, by_place);
  for (guint i = 0; i < self->tensors->len; i++)
    {
      GradusTensorView *view = &g_array_index (self->tensors, GradusTensorView, i);

      if (view->data != at)
        return damaged (path, error, _("there is a hole or an overlap before “%s”."), view->name);
      at += view->bytes;
      g_hash_table_insert (self->by_name, (gpointer) view->name, GUINT_TO_POINTER (i + 1));
    }
  if (at != buffer + size)
    return damaged (path, error, _("there are bytes that belong to no tensor."));
  return TRUE;
}

static void
clear_view (gpointer data)
{
  g_free ((char *) ((GradusTensorView *) data)->name);
}

gboolean
gradus_safetensors_read (GradusSafetensors *self,
                         const guint8      *data,
                         gsize              size,
                         const char        *path,
                         GError           **error)
{
  g_autoptr (JsonNode) header = NULL;
  g_autoptr (GError) inner = NULL;
  guint64        length;
  JsonObjectIter iter;
  const char    *name;
  JsonNode      *node;

  *self = (GradusSafetensors){ 0 };
  if (size < 10)
    return damaged (path, error, _("it is too short."));
  memcpy (&length, data, sizeof length);
  length = GUINT64_FROM_LE (length);
  if (length > GRADUS_SAFETENSORS_MAX_HEADER || length > size - 8 || data[8] != '{')
    return damaged (path, error, _("its header has no proper length."));
  header = gradus_json_parse ((const char *) data + 8, length, path, &inner);
  if (header == NULL || !JSON_NODE_HOLDS_OBJECT (header))
    return damaged (path, error, _("its header is no JSON object."));
  if (json_object_get_size (json_node_get_object (header)) > GRADUS_SAFETENSORS_MAX_TENSORS)
    return damaged (path, error, _("it has too many tensors."));

  self->tensors = g_array_new (FALSE, TRUE, sizeof (GradusTensorView));
  g_array_set_clear_func (self->tensors, clear_view);
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  json_object_iter_init (&iter, json_node_get_object (header));
  while (json_object_iter_next (&iter, &name, &node))
    {
      GradusTensorView view = { 0 };
      gboolean         ok;

      if (g_str_equal (name, "__metadata__"))
        ok = read_metadata (self, node, path, error);
      else
        {
          view.name = g_strdup (name);
          ok = read_tensor (&view, node, data + 8 + length, size - 8 - length, path, error);
          g_array_append_val (self->tensors, view);
        }
      if (!ok)
        {
          gradus_safetensors_clear (self);
          return FALSE;
        }
    }
  if (!check_places (self, data + 8 + length, size - 8 - length, path, error))
    {
      gradus_safetensors_clear (self);
      return FALSE;
    }
  return TRUE;
}

void
gradus_safetensors_clear (GradusSafetensors *self)
{
  g_clear_pointer (&self->by_name, g_hash_table_unref);
  g_clear_pointer (&self->metadata, g_hash_table_unref);
  g_clear_pointer (&self->tensors, g_array_unref);
}

const GradusTensorView *
gradus_safetensors_find (GradusSafetensors *self, const char *name)
{
  guint index = GPOINTER_TO_UINT (g_hash_table_lookup (self->by_name, name));

  return index == 0 ? NULL : &g_array_index (self->tensors, GradusTensorView, index - 1);
}

static const char *
dtype_name (GradusDType dtype)
{
  for (gsize i = 0; i < G_N_ELEMENTS (dtypes); i++)
    if (dtypes[i].dtype == dtype)
      return dtypes[i].name;
  g_assert_not_reached ();
}

static JsonObject *
tensor_entry (const GradusTensorView *view, gsize offset)
{
  JsonObject *entry = json_object_new ();
  JsonArray  *shape = json_array_new ();
  JsonArray  *offsets = json_array_new ();

  for (guint d = 0; d < view->shape.rank; d++)
    json_array_add_int_element (shape, view->shape.dims[d]);
  json_array_add_int_element (offsets, offset);
  json_array_add_int_element (offsets, offset + view->bytes);
  json_object_set_string_member (entry, "dtype", dtype_name (view->dtype));
  json_object_set_array_member (entry, "shape", shape);
  json_object_set_array_member (entry, "data_offsets", offsets);
  return entry;
}

GByteArray *
gradus_safetensors_header (const GradusTensorView *tensors, guint n, const char *const *metadata)
{
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  g_autofree char *text = NULL;
  JsonObject *header = json_object_new ();
  JsonObject *strings = json_object_new ();
  GByteArray *result = g_byte_array_new ();
  gsize       offset = 0, length;
  guint64     padded, encoded;

  for (guint i = 0; metadata[i] != NULL; i += 2)
    json_object_set_string_member (strings, metadata[i], metadata[i + 1]);
  json_object_set_object_member (header, "__metadata__", strings);
  for (guint i = 0; i < n; i++)
    {
      json_object_set_object_member (header, tensors[i].name, tensor_entry (&tensors[i], offset));
      offset += tensors[i].bytes;
    }
  json_node_take_object (node, header);
  text = gradus_json_to_string (node, FALSE);
  length = strlen (text);
  padded = (length + 7) / 8 * 8;
  encoded = GUINT64_TO_LE (padded);
  g_byte_array_append (result, (const guint8 *) &encoded, 8);
  g_byte_array_append (result, (const guint8 *) text, length);
  g_byte_array_append (result, (const guint8 *) "        ", padded - length);
  return result;
}
