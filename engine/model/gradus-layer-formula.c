/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer-formula.h"

#include <glib/gi18n-lib.h>

gboolean
gradus_layer_arg_read_formula (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg)
{
  g_autoptr (GError) error = NULL;

  if (arg->text == NULL)
    return FALSE;
  g_clear_pointer (&arg->formula, gradus_formula_free);
  arg->formula = gradus_formula_parse (arg->text, &error);
  if (arg->formula == NULL)
    gradus_json_refuse (config, spec->name, "%s", error->message);
  return arg->formula != NULL;
}

/* A name that a formula can say. */
static gboolean
is_name (const char *name)
{
  if (!g_ascii_isalpha (name[0]) && name[0] != '_')
    return FALSE;
  for (; *name != '\0'; name++)
    if (!g_ascii_isalnum (*name) && *name != '_')
      return FALSE;
  return TRUE;
}

gboolean
gradus_layer_arg_read_names (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg)
{
  g_autoptr (GradusJsonArray) array = gradus_json_array (config, spec->name, (guint) spec->max);

  if (array == NULL)
    return FALSE;
  g_clear_pointer (&arg->names, g_ptr_array_unref);
  arg->names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < gradus_json_array_length (array); i++)
    {
      const char *name = gradus_json_array_string (array, i);

      if (name == NULL)
        return FALSE;
      if (!is_name (name) || g_ptr_array_find_with_equal_func (arg->names, name, g_str_equal, NULL))
        {
          gradus_json_array_refuse (array, i,
                                    _ ("“%s” cannot be a name here: names are letters, digits and “_”, begin with no digit, and differ."),
                                    name);
          return FALSE;
        }
      g_ptr_array_add (arg->names, g_strdup (name));
    }
  return TRUE;
}

static void
variable_clear (gpointer data)
{
  g_free (((GradusArgVariable *) data)->name);
}

static gboolean
read_shape (GradusJsonObject *object, GradusShape *shape)
{
  g_autoptr (GradusJsonArray) array = NULL;

  *shape = gradus_shape (0);
  if (!gradus_json_has (object, "shape"))
    return TRUE;
  array = gradus_json_array (object, "shape", GRADUS_MAX_RANK);
  if (array == NULL)
    return FALSE;
  shape->rank = gradus_json_array_length (array);
  for (guint i = 0; i < shape->rank; i++)
    shape->dims[i] = gradus_json_array_int (array, i, 1, 1 << 24);
  if (!gradus_json_failed (object) && gradus_shape_count (shape) > (1 << 28))
    gradus_json_refuse (object, "shape", _ ("A variable of a formula has at most %d numbers."), 1 << 28);
  return !gradus_json_failed (object);
}

static gboolean
read_variable (GradusJsonObject *cursor, const char *name, GradusArgVariable *variable)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (cursor, name);
  JsonNode                    *node;

  if (object == NULL)
    return FALSE;
  if (!is_name (name))
    {
      gradus_json_refuse (cursor, name, _ ("“%s” cannot be a name here: names are letters, digits and “_”, begin with no digit, and differ."), name);
      return FALSE;
    }
  variable->trainable = gradus_json_bool (object, "trainable", TRUE);
  node = gradus_json_node (object, "initializer");
  if (node == NULL)
    {
      g_autoptr (JsonNode)         fallback = gradus_json_parse ("{\"initializer\": \"glorot_uniform\"}", -1, "", NULL);
      g_autoptr (GradusJsonObject) keras = gradus_json_open (fallback, NULL, NULL);

      gradus_initializer_read (&variable->initializer, keras, "initializer", gradus_json_node (keras, "initializer"));
    }
  else if (!gradus_initializer_read (&variable->initializer, object, "initializer", node))
    return FALSE;
  return read_shape (object, &variable->shape) && gradus_json_end (object, NULL);
}

gboolean
gradus_layer_arg_read_variables (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg)
{
  g_autoptr (GradusJsonObject) cursor = gradus_json_object (config, spec->name);
  g_autoptr (GList)            names = NULL;

  if (cursor == NULL)
    return FALSE;
  g_clear_pointer (&arg->variables, g_array_unref);
  arg->variables = g_array_new (FALSE, TRUE, sizeof (GradusArgVariable));
  g_array_set_clear_func (arg->variables, variable_clear);
  names = json_object_get_members (gradus_json_peek (cursor));
  if (g_list_length (names) > spec->max)
    {
      gradus_json_refuse (config, spec->name, _ ("A formula has at most %.0f variables of its own."), spec->max);
      return FALSE;
    }
  for (GList *l = names; l != NULL; l = l->next)
    {
      GradusArgVariable variable = { 0 };

      if (!read_variable (cursor, l->data, &variable))
        return FALSE;
      variable.name = g_strdup (l->data);
      g_array_append_val (arg->variables, variable);
    }
  return gradus_json_end (cursor, NULL);
}

JsonNode *
gradus_layer_arg_write_names (const GradusArg *arg)
{
  JsonNode  *node = json_node_new (JSON_NODE_ARRAY);
  JsonArray *array = json_array_new ();

  for (guint i = 0; i < arg->names->len; i++)
    json_array_add_string_element (array, arg->names->pdata[i]);
  json_node_take_array (node, array);
  return node;
}

JsonNode *
gradus_layer_arg_write_variables (const GradusArg *arg)
{
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);
  JsonObject *all = json_object_new ();

  for (guint i = 0; i < arg->variables->len; i++)
    {
      const GradusArgVariable *variable = &g_array_index (arg->variables, GradusArgVariable, i);
      JsonObject              *object = json_object_new ();
      JsonArray               *shape = json_array_new ();

      for (guint k = 0; k < variable->shape.rank; k++)
        json_array_add_int_element (shape, variable->shape.dims[k]);
      json_object_set_array_member (object, "shape", shape);
      json_object_set_member (object, "initializer", gradus_initializer_write (&variable->initializer));
      json_object_set_boolean_member (object, "trainable", variable->trainable);
      json_object_set_object_member (all, variable->name, object);
    }
  json_node_take_object (node, all);
  return node;
}

void
gradus_layer_arg_clear_formula (GradusArg *arg)
{
  g_clear_pointer (&arg->formula, gradus_formula_free);
  g_clear_pointer (&arg->names, g_ptr_array_unref);
  g_clear_pointer (&arg->variables, g_array_unref);
}
