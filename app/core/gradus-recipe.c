/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-recipe.h"

#include "gradus-recipe-schema.h"
#include "train/gradus-trainer.h"

#include <errno.h>
#include <glib/gi18n-lib.h>

struct _GradusRecipe
{
  GObject   parent_instance;
  JsonNode *root;
  char     *base;
  char     *source;
};

G_DEFINE_FINAL_TYPE (GradusRecipe, gradus_recipe, G_TYPE_OBJECT)

static void
gradus_recipe_finalize (GObject *object)
{
  GradusRecipe *self = GRADUS_RECIPE (object);

  g_clear_pointer (&self->root, json_node_unref);
  g_free (self->base);
  g_free (self->source);
  G_OBJECT_CLASS (gradus_recipe_parent_class)->finalize (object);
}

static void
gradus_recipe_class_init (GradusRecipeClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_recipe_finalize;
}

static void
gradus_recipe_init (GradusRecipe *self)
{
}

/* Checking ----------------------------------------------------------------------------------- */

/* json_node_copy() shares objects and arrays; a recipe's must be its own. */
static JsonNode *
copy_node (JsonNode *node)
{
  g_autoptr (GList) members = NULL;
  JsonNode   *copy = NULL;
  JsonObject *object = NULL;
  JsonArray  *array = NULL;

  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      object = json_object_new ();
      members = json_object_get_members (json_node_get_object (node));
      for (GList *l = members; l != NULL; l = l->next)
        json_object_set_member (
            object, l->data,
            copy_node (json_object_get_member (json_node_get_object (node), l->data)));
      copy = json_node_new (JSON_NODE_OBJECT);
      json_node_take_object (copy, object);
      return copy;
    }
  if (JSON_NODE_HOLDS_ARRAY (node))
    {
      array = json_array_new ();
      for (guint i = 0; i < json_array_get_length (json_node_get_array (node)); i++)
        json_array_add_element (array,
                                copy_node (json_array_get_element (json_node_get_array (node), i)));
      copy = json_node_new (JSON_NODE_ARRAY);
      json_node_take_array (copy, array);
      return copy;
    }
  return json_node_copy (node);
}

/* Puts the file's content in the place of a model that is named by its path. */
static gboolean
load_model (JsonObject *recipe, const char *base, const char *source, GError **error)
{
  JsonNode        *node = json_object_get_member (recipe, "model");
  JsonNode        *model = NULL;
  g_autofree char *path = NULL;
  g_autoptr (GError) local = NULL;

  if (node == NULL || json_node_get_value_type (node) != G_TYPE_STRING)
    return TRUE;
  path = g_canonicalize_filename (json_node_get_string (node), base);
  if (g_str_has_suffix (path, ".keras") || g_str_has_suffix (path, ".h5"))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                   _ ("/model in %s: Files such as %s cannot be read in this version of Gradus. "
                      "Save the model's JSON with to_json() and name that file."),
                   source, path);
      return FALSE;
    }
  model = gradus_json_load_file (path, &local);
  if (model == NULL)
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&local), _ ("/model in %s: "), source);
      return FALSE;
    }
  if (!JSON_NODE_HOLDS_OBJECT (model))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s is not a model. The JSON that Keras's to_json() writes would be right."),
                   path);
      json_node_unref (model);
      return FALSE;
    }
  json_object_set_member (recipe, "model", model);
  return TRUE;
}

/* Has the trainer read its four parts and write them back with every default. */
static gboolean
check_options (JsonObject *recipe, const char *source, GError **error)
{
  static const char *const parts[] = { "compile", "fit", "log", "checkpoints" };
  JsonObject              *objects[G_N_ELEMENTS (parts)] = { NULL };
  JsonObject              *normalized = NULL;
  g_autoptr (GradusTrainerOptions) options = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    objects[i] = json_object_get_object_member (recipe, parts[i]);
  options = gradus_trainer_options_new (objects[0], objects[1], objects[2], objects[3], source,
                                        &normalized, error);
  if (options == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    json_object_set_member (recipe, parts[i], json_object_dup_member (normalized, parts[i]));
  json_object_unref (normalized);
  return TRUE;
}

/* Checks @root, which is changed: defaults are added, paths are made absolute. */
static gboolean
check (JsonNode *root, const char *base, const char *source, GError **error)
{
  g_autoptr (GradusJsonObject) object = gradus_json_open (root, source, error);
  GradusFieldContext context = { base };

  if (object == NULL || !load_model (json_node_get_object (root), base, source, error))
    return FALSE;
  gradus_fields_apply (object, gradus_recipe_fields, &context);
  return gradus_json_end (object, error)
         && check_options (json_node_get_object (root), source, error);
}

static GradusRecipe *
recipe_new (JsonNode *root, const char *base, const char *source, GError **error)
{
  GradusRecipe *self = NULL;

  if (!check (root, base, source, error))
    return NULL;
  self = g_object_new (GRADUS_TYPE_RECIPE, NULL);
  self->root = json_node_ref (root);
  self->base = g_strdup (base);
  self->source = g_strdup (source);
  return self;
}

GradusRecipe *
gradus_recipe_load (const char *path, GError **error)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *absolute = NULL;
  g_autofree char *base = NULL;

  g_return_val_if_fail (path != NULL, NULL);

  root = gradus_json_load_file (path, error);
  if (root == NULL)
    return NULL;
  absolute = g_canonicalize_filename (path, NULL);
  base = g_path_get_dirname (absolute);
  return recipe_new (root, base, path, error);
}

GradusRecipe *
gradus_recipe_parse (const char *text, const char *base, const char *source, GError **error)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *absolute = NULL;

  g_return_val_if_fail (text != NULL && source != NULL, NULL);

  root = gradus_json_parse (text, -1, source, error);
  if (root == NULL)
    return NULL;
  absolute = g_canonicalize_filename (base != NULL ? base : ".", NULL);
  return recipe_new (root, absolute, source, error);
}

GradusRecipe *
gradus_recipe_copy (GradusRecipe *self)
{
  GradusRecipe *copy = NULL;

  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);

  copy = g_object_new (GRADUS_TYPE_RECIPE, NULL);
  copy->root = copy_node (self->root);
  copy->base = g_strdup (self->base);
  copy->source = g_strdup (self->source);
  return copy;
}

/* Paths -------------------------------------------------------------------------------------- */

static gboolean
to_index (const char *word, guint *index)
{
  guint64 value = 0;

  if (!g_ascii_string_to_unsigned (word, 10, 0, G_MAXINT, &value, NULL))
    return FALSE;
  *index = (guint)value;
  return TRUE;
}

/* The member @word of @node: a key, or in a list a number or the key of an object in it. */
static JsonNode *
step_into (JsonNode *node, const char *word)
{
  JsonArray *array = NULL;
  guint      index = 0;

  if (JSON_NODE_HOLDS_OBJECT (node))
    return json_object_get_member (json_node_get_object (node), word);
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return NULL;
  array = json_node_get_array (node);
  if (to_index (word, &index))
    return index < json_array_get_length (array) ? json_array_get_element (array, index) : NULL;
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *element = json_array_get_element (array, i);

      if (JSON_NODE_HOLDS_OBJECT (element)
          && json_object_has_member (json_node_get_object (element), word))
        return json_object_get_member (json_node_get_object (element), word);
    }
  return NULL;
}

/* What holds the last word of the path; missing objects on the way are made. */
static JsonNode *
find_holder (JsonNode *root, char **words, GError **error)
{
  JsonNode *node = root;

  for (guint i = 0; words[i + 1] != NULL; i++)
    {
      JsonNode *next = step_into (node, words[i]);

      if (next == NULL && JSON_NODE_HOLDS_OBJECT (node))
        {
          json_object_set_object_member (json_node_get_object (node), words[i], json_object_new ());
          next = step_into (node, words[i]);
        }
      if (next == NULL || !(JSON_NODE_HOLDS_OBJECT (next) || JSON_NODE_HOLDS_ARRAY (next)))
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("There is nothing to set below “%s” in the recipe. Check the path."),
                       words[i]);
          return NULL;
        }
      node = next;
    }
  return node;
}

static void
replace_element (JsonArray *array, guint index, JsonNode *value)
{
  g_autoptr (GPtrArray) rest = g_ptr_array_new_with_free_func ((GDestroyNotify)json_node_unref);
  guint n = json_array_get_length (array);

  for (guint i = index + 1; i < n; i++)
    g_ptr_array_add (rest, json_array_dup_element (array, i));
  for (guint i = n; i > index; i--)
    json_array_remove_element (array, i - 1);
  if (value != NULL)
    json_array_add_element (array, copy_node (value));
  for (guint i = 0; i < rest->len; i++)
    json_array_add_element (array, json_node_ref (g_ptr_array_index (rest, i)));
}

/* Sets or drops the stage that has the key @word; adds it if there is none. */
static gboolean
put_by_key (JsonNode *root, JsonArray *array, const char *word, JsonNode *value, GError **error)
{
  JsonObject *data = NULL;

  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode   *element = json_array_get_element (array, i);
      JsonObject *object = JSON_NODE_HOLDS_OBJECT (element) ? json_node_get_object (element) : NULL;

      if (object == NULL || !json_object_has_member (object, word))
        continue;
      if (value == NULL)
        json_array_remove_element (array, i);
      else
        json_object_set_member (object, word, copy_node (value));
      return TRUE;
    }
  if (value == NULL)
    return TRUE;
  data = json_object_get_object_member (json_node_get_object (root), "data");
  if (json_object_get_array_member (data, "pipeline") != array)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("“%s” is not a place in the list. A number from 0 to %u would be right."),
                   word, json_array_get_length (array));
      return FALSE;
    }
  gradus_recipe_add_stage (data, word, copy_node (value));
  return TRUE;
}

static gboolean
put (JsonNode *root, JsonNode *holder, const char *word, JsonNode *value, GError **error)
{
  JsonArray *array = NULL;
  guint      index = 0;

  if (JSON_NODE_HOLDS_OBJECT (holder))
    {
      if (value == NULL)
        json_object_remove_member (json_node_get_object (holder), word);
      else
        json_object_set_member (json_node_get_object (holder), word, copy_node (value));
      return TRUE;
    }
  array = json_node_get_array (holder);
  if (!to_index (word, &index))
    return put_by_key (root, array, word, value, error);
  if (index > json_array_get_length (array))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("The list has %u elements; element %u cannot be set."),
                   json_array_get_length (array), index);
      return FALSE;
    }
  replace_element (array, index, value);
  return TRUE;
}

/* Another optimizer does not know the old one's settings, but for the learning rate. */
static void
drop_foreign_settings (JsonNode *root, const char *path)
{
  JsonNode *config = NULL;
  g_autoptr (GList) members = NULL;

  if (!g_str_equal (path, "compile.optimizer.class_name"))
    return;
  config = step_into (step_into (step_into (root, "compile"), "optimizer"), "config");
  if (config == NULL || !JSON_NODE_HOLDS_OBJECT (config))
    return;
  members = json_object_get_members (json_node_get_object (config));
  for (GList *l = members; l != NULL; l = l->next)
    if (!g_str_equal (l->data, "learning_rate"))
      json_object_remove_member (json_node_get_object (config), l->data);
}

gboolean
gradus_recipe_set (GradusRecipe *self, const char *path, JsonNode *value, GError **error)
{
  g_autoptr (JsonNode) root = NULL;
  g_auto (GStrv) words = NULL;
  JsonNode *holder = NULL;

  g_return_val_if_fail (GRADUS_IS_RECIPE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  words = g_strsplit (path, ".", 64);
  for (guint i = 0; i == 0 || words[i] != NULL; i++)
    if (words[i] == NULL || *words[i] == '\0')
      {
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                     _ ("“%s” is not a path into the recipe. Something like “fit.epochs” would be "
                        "right."),
                     path);
        return FALSE;
      }
  root = copy_node (self->root);
  holder = find_holder (root, words, error);
  if (holder == NULL || !put (root, holder, words[g_strv_length (words) - 1], value, error))
    return FALSE;
  drop_foreign_settings (root, path);
  if (!check (root, self->base, self->source, error))
    return FALSE;
  json_node_unref (self->root);
  self->root = g_steal_pointer (&root);
  return TRUE;
}

gboolean
gradus_recipe_set_double (GradusRecipe *self, const char *path, double value, GError **error)
{
  g_autoptr (JsonNode) node = json_node_init_double (json_node_alloc (), value);

  return gradus_recipe_set (self, path, node, error);
}

gboolean
gradus_recipe_set_int (GradusRecipe *self, const char *path, gint64 value, GError **error)
{
  g_autoptr (JsonNode) node = json_node_init_int (json_node_alloc (), value);

  return gradus_recipe_set (self, path, node, error);
}

gboolean
gradus_recipe_set_string (GradusRecipe *self, const char *path, const char *value, GError **error)
{
  g_autoptr (JsonNode) node = json_node_init_string (json_node_alloc (), value);

  return gradus_recipe_set (self, path, node, error);
}

gboolean
gradus_recipe_assign (GradusRecipe *self, const char *assignment, GError **error)
{
  const char      *equals = NULL;
  g_autofree char *path = NULL;
  g_autoptr (JsonNode) value = NULL;

  g_return_val_if_fail (GRADUS_IS_RECIPE (self), FALSE);
  g_return_val_if_fail (assignment != NULL, FALSE);

  equals = strchr (assignment, '=');
  if (equals == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("“%s” sets nothing. PATH=VALUE would be right, such as “fit.epochs=3”."),
                   assignment);
      return FALSE;
    }
  path = g_strndup (assignment, equals - assignment);
  value = gradus_json_parse (equals + 1, -1, path, NULL);
  if (value == NULL)
    {
      if (equals[1] == '{' || equals[1] == '[' || equals[1] == '"')
        {
          value = gradus_json_parse (equals + 1, -1, path, error);
          return FALSE;
        }
      value = json_node_init_string (json_node_alloc (), equals + 1);
    }
  if (!gradus_recipe_set (self, path, JSON_NODE_HOLDS_NULL (value) ? NULL : value, error))
    {
      g_prefix_error (error, _ ("--set %s: "), assignment);
      return FALSE;
    }
  return TRUE;
}

/* Reading ------------------------------------------------------------------------------------ */

JsonNode *
gradus_recipe_get (GradusRecipe *self, const char *path)
{
  g_auto (GStrv) words = NULL;
  JsonNode *node = NULL;

  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  words = g_strsplit (path, ".", -1);
  node = self->root;
  for (guint i = 0; node != NULL && words[i] != NULL; i++)
    node = step_into (node, words[i]);
  return node;
}

double
gradus_recipe_get_double (GradusRecipe *self, const char *path, double fallback)
{
  JsonNode *node = gradus_recipe_get (self, path);
  GType     type = node != NULL ? json_node_get_value_type (node) : G_TYPE_INVALID;

  return type == G_TYPE_DOUBLE || type == G_TYPE_INT64 ? json_node_get_double (node) : fallback;
}

gint64
gradus_recipe_get_int (GradusRecipe *self, const char *path, gint64 fallback)
{
  JsonNode *node = gradus_recipe_get (self, path);
  GType     type = node != NULL ? json_node_get_value_type (node) : G_TYPE_INVALID;

  return type == G_TYPE_DOUBLE || type == G_TYPE_INT64 ? json_node_get_int (node) : fallback;
}

gboolean
gradus_recipe_get_boolean (GradusRecipe *self, const char *path, gboolean fallback)
{
  JsonNode *node = gradus_recipe_get (self, path);

  return node != NULL && json_node_get_value_type (node) == G_TYPE_BOOLEAN
             ? json_node_get_boolean (node)
             : fallback;
}

const char *
gradus_recipe_get_string (GradusRecipe *self, const char *path, const char *fallback)
{
  JsonNode *node = gradus_recipe_get (self, path);

  return node != NULL && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : fallback;
}

JsonObject *
gradus_recipe_get_object (GradusRecipe *self)
{
  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);
  return json_node_get_object (self->root);
}

const char *
gradus_recipe_get_source (GradusRecipe *self)
{
  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);
  return self->source;
}

const char *
gradus_recipe_get_base (GradusRecipe *self)
{
  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);
  return self->base;
}

char *
gradus_recipe_get_model_json (GradusRecipe *self)
{
  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);
  return gradus_json_to_string (gradus_recipe_get (self, "model"), FALSE);
}

/* Keys in the order of the table, whatever order they were set in. */
static JsonNode *
ordered (JsonObject *object)
{
  JsonObject *result = json_object_new ();
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  for (guint i = 0; gradus_recipe_fields[i].name != NULL; i++)
    if (json_object_has_member (object, gradus_recipe_fields[i].name))
      json_object_set_member (result, gradus_recipe_fields[i].name,
                              json_object_dup_member (object, gradus_recipe_fields[i].name));
  json_node_take_object (node, result);
  return node;
}

char *
gradus_recipe_to_json (GradusRecipe *self, gboolean pretty)
{
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (GRADUS_IS_RECIPE (self), NULL);
  root = ordered (json_node_get_object (self->root));
  return gradus_json_to_string (root, pretty);
}

void
gradus_recipe_set_fingerprint (GradusRecipe *self, const char *part, const char *fingerprint)
{
  JsonNode *node = NULL;

  g_return_if_fail (GRADUS_IS_RECIPE (self));
  g_return_if_fail (part != NULL && fingerprint != NULL);

  node = step_into (step_into (self->root, "data"), part);
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    json_object_set_string_member (json_node_get_object (node), "fingerprint", fingerprint);
}
