/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/* "float32", or Keras 3's {"class_name": "DTypePolicy", "config": {"name": "float32"}}. */
static void
check_policy (GradusJsonObject *config)
{
  JsonNode   *node = gradus_json_node (config, "dtype");
  const char *name = NULL;

  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return;
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autoptr (GradusJsonObject) policy = gradus_json_object (config, "dtype");
      g_autoptr (GradusJsonObject) inner = policy ? gradus_json_object (policy, "config") : NULL;

      name = inner ? gradus_json_string (inner, "name", NULL) : NULL;
    }
  else
    name = gradus_json_string (config, "dtype", NULL);
  if (name != NULL && !g_str_equal (name, "float32"))
    gradus_json_refuse (config, "dtype",
                        _("A layer's type must be “float32” in this version of Gradus, not “%s”."),
                        name);
}

/* (None, 28, 28, 1), from batch_shape (Keras 3) or batch_input_shape (Keras 2). */
static gboolean
read_batch_shape (GradusJsonObject *config, const char *key, GradusShape *shape)
{
  g_autoptr (GradusJsonArray) array = gradus_json_array (config, key, GRADUS_MAX_RANK);
  gint64 count = 1;
  guint  n;

  if (array == NULL)
    return FALSE;
  n = gradus_json_array_length (array);
  if (n == 0 || !JSON_NODE_HOLDS_NULL (gradus_json_array_node (array, 0)))
    {
      gradus_json_refuse (config, key,
                          _("The first axis is the batch and must be null here, such as [null, 28, "
                            "28, 1]."));
      return FALSE;
    }
  *shape = (GradusShape){ .rank = n, .dims = { GRADUS_DIM_BATCH } };
  for (guint i = 1; i < n; i++)
    {
      if (JSON_NODE_HOLDS_NULL (gradus_json_array_node (array, i)))
        {
          gradus_json_array_refuse (array, i,
                                    _("This version of Gradus needs the size of every axis but "
                                      "the batch; write a number."));
          return FALSE;
        }
      shape->dims[i] = gradus_json_array_int (array, i, 1, 1ll << 31);
      if (gradus_json_failed (config))
        return FALSE;
      if (__builtin_mul_overflow (count, shape->dims[i], &count) || count > 1ll << 40)
        {
          gradus_json_refuse (config, key, _("One sample would hold more numbers than any memory."));
          return FALSE;
        }
    }
  return TRUE;
}

static void
read_input (GradusLayer *layer, GradusJsonObject *config)
{
  const char *dtype = gradus_json_string (config, "dtype", "float32");
  const char *key = gradus_json_has (config, "batch_shape") ? "batch_shape" : "batch_input_shape";

  gradus_json_ignore (config, "ragged", "sparse", "optional", "input_tensor", NULL);
  if (gradus_json_bool (config, "sparse", FALSE))
    gradus_json_refuse_unavailable (config, "sparse", _("sparse inputs"));
  if (gradus_json_bool (config, "ragged", FALSE))
    gradus_json_refuse_unavailable (config, "ragged", _("ragged inputs"));
  if (!gradus_json_has (config, key))
    gradus_json_require (config, "batch_shape", NULL);
  else
    read_batch_shape (config, key, &layer->input_shape);
  if (dtype != NULL && !gradus_dtype_from_name (dtype, &layer->input_dtype))
    gradus_json_refuse (config, "dtype", _("There is no type “%s”; write “float32”."), dtype);
}

static const GradusLayerClass *
read_class (GradusJsonObject *object)
{
  const char             *name;
  const GradusLayerClass *klass;
  const char             *near;

  gradus_json_require (object, "class_name", NULL);
  if ((name = gradus_json_string (object, "class_name", NULL)) == NULL)
    return NULL;
  if ((klass = gradus_layer_class_find (name)) != NULL)
    return klass;
  near = gradus_layer_class_nearest (name);
  if (near != NULL)
    gradus_json_refuse (object, "class_name", _("There is no layer “%s”; did you mean “%s”?"), name,
                        near);
  else
    gradus_json_refuse (object, "class_name", _("This version of Gradus has no layer “%s”."), name);
  return NULL;
}

static char *
unused_name (GradusModel *model, const GradusLayerClass *klass)
{
  g_autofree char *name = g_strdup (klass->snake);
  guint            other;

  for (guint i = 1; gradus_model_find_layer (model, name, &other); i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", klass->snake, i);
    }
  return g_steal_pointer (&name);
}

/* A training program finds values of its own by these names. An input stands beside them under its
 * bare name; the variables of other layers as "layer/variable". */
static gboolean
is_taken (const GradusLayerClass *klass, const char *name)
{
  static const char *const values[] = { "learning_rate", "momentum",      "clip",     "step", "loss",
                                        "loss_sum",      "gradient_norm", "target/0", NULL };

  return (klass == &gradus_layer_input && g_strv_contains (values, name)) ||
         g_str_equal (name, "optimizer") || g_str_has_prefix (name, "optimizer/") ||
         g_str_has_prefix (name, "gradient/") || g_str_has_prefix (name, "square/");
}

/* Names become parts of series and tensors, so they are plain. */
static gboolean
check_name (GradusModel *model, GradusJsonObject *config, const GradusLayerClass *klass, const char *name)
{
  guint other;

  if (is_taken (klass, name))
    gradus_json_refuse (config, "name",
                        _("A layer cannot be called “%s”, which has a meaning of its own in training. "
                          "Give it another name."),
                        name);
  if (*name == 0 || strlen (name) > 200 || strpbrk (name, "\n\r\t") != NULL)
    gradus_json_refuse (config, "name",
                        _("A layer's name must have 1 to 200 characters, and no line breaks."));
  else if (gradus_model_find_layer (model, name, &other))
    gradus_json_refuse (config, "name",
                        _("There are two layers called “%s”. Give each a name of its own."), name);
  return !gradus_json_failed (config);
}

/* Appends the layer that @object describes. NULL after a refusal. */
static GradusLayer *
read_layer (GradusModel *model, GradusJsonObject *object)
{
  const GradusLayerClass      *klass = read_class (object);
  g_autoptr (GradusJsonObject) config = NULL;
  g_autofree char             *fresh = NULL;
  const char                  *name;
  GradusLayer                 *layer;

  if (klass == NULL)
    return NULL;
  gradus_json_ignore (object, "module", "registered_name", "build_config", "name", "inbound_nodes",
                      "shared_object_id", NULL);
  gradus_json_require (object, "config", NULL);
  if ((config = gradus_json_object (object, "config")) == NULL)
    return NULL;
  fresh = unused_name (model, klass);
  name = gradus_json_string (config, "name", fresh);
  if (gradus_json_failed (config) || !check_name (model, config, klass, name))
    return NULL;
  layer = gradus_layer_new (klass, name);
  layer->pointer = g_strdup (gradus_json_pointer (object));
  g_ptr_array_add (model->layers, layer);
  layer->trainable = gradus_json_bool (config, "trainable", TRUE);
  if (klass == &gradus_layer_input)
    read_input (layer, config);
  else
    {
      check_policy (config);
      /* Keras 2 wrote it into the first layer. */
      gradus_json_ignore (config, "batch_input_shape", NULL);
      gradus_layer_read_args (layer, config);
    }
  return gradus_json_end (config, NULL) && gradus_json_end (object, NULL) ? layer : NULL;
}

/* A shape error becomes a refusal of the file at the layer's place. */
static gboolean
call (GradusModel      *model,
      GradusJsonObject *root,
      guint             layer,
      const guint      *inputs,
      guint             n_inputs)
{
  GError *error = NULL;

  if (gradus_model_call (model, layer, inputs, n_inputs, &error))
    return TRUE;
  g_prefix_error (&error, "%s%s%s: ", gradus_json_file (root) ? gradus_json_file (root) : "",
                  gradus_json_file (root) ? " " : "", gradus_model_layer_at (model, layer)->pointer);
  gradus_json_take_error (root, error);
  return FALSE;
}

/* The InputLayer that a Sequential may leave to be guessed from its shape. */
static gboolean
add_input (GradusModel *model, GradusJsonObject *config, GradusJsonArray *layers)
{
  g_autoptr (GradusJsonObject) first = gradus_json_array_object (layers, 0);
  g_autoptr (GradusJsonObject) inner = first ? gradus_json_object (first, "config") : NULL;
  GradusLayer                 *layer;
  GradusShape                  shape;
  gboolean                     found;

  if (inner == NULL)
    return FALSE;
  if (gradus_json_has (inner, "batch_input_shape"))
    found = read_batch_shape (inner, "batch_input_shape", &shape);
  else if (gradus_json_has (config, "build_input_shape"))
    found = read_batch_shape (config, "build_input_shape", &shape);
  else
    {
      gradus_json_refuse (config, "layers",
                          _("The shape of the input is not known. Begin with an InputLayer, such "
                            "as {\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": "
                            "[null, 28, 28, 1]}}."));
      return FALSE;
    }
  if (!found)
    return FALSE;
  layer = gradus_layer_new (&gradus_layer_input, "input_layer");
  layer->pointer = g_strdup (gradus_json_pointer (inner));
  layer->input_shape = shape;
  layer->input_dtype = GRADUS_DTYPE_FLOAT32;
  g_ptr_array_add (model->layers, layer);
  return TRUE;
}

static gboolean
read_sequential (GradusModel *model, GradusJsonObject *root, GradusJsonObject *config)
{
  g_autoptr (GradusJsonArray) layers = NULL;
  guint n, value = 0;

  gradus_json_ignore (config, "build_input_shape", NULL);
  gradus_json_require (config, "layers", NULL);
  if ((layers = gradus_json_array (config, "layers", GRADUS_MODEL_MAX_LAYERS)) == NULL)
    return FALSE;
  if ((n = gradus_json_array_length (layers)) == 0)
    {
      gradus_json_refuse (config, "layers", _("The model has no layers. Add at least one."));
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusJsonObject) object = gradus_json_array_object (layers, i);
      GradusLayer *layer;

      if (object == NULL)
        return FALSE;
      if (i == 0 && g_strcmp0 (gradus_json_string (object, "class_name", NULL), "InputLayer") != 0 &&
          (!add_input (model, config, layers) || !call (model, root, 0, NULL, 0)))
        return FALSE;
      if ((layer = read_layer (model, object)) == NULL)
        return FALSE;
      if (i > 0 && layer->klass == &gradus_layer_input)
        {
          gradus_json_refuse (object, "class_name",
                              _("An InputLayer stands first in a Sequential model."));
          return FALSE;
        }
      if (!call (model, root, model->layers->len - 1, &value,
                 layer->klass == &gradus_layer_input ? 0 : 1))
        return FALSE;
      value = model->calls->len - 1;
    }
  if (model->calls->len < 2)
    {
      gradus_json_refuse (config, "layers",
                          _("The model has an input and nothing else. Add a layer."));
      return FALSE;
    }
  g_array_append_val (model->inputs, ((guint){ 0 }));
  g_array_append_val (model->outputs, value);
  return TRUE;
}

/* Functional models: a use of a layer, as it stands in inbound_nodes. */
typedef struct
{
  guint   layer, index;
  GArray *inputs; /* Reference */
  guint   call;
  gboolean done;
} Use;

typedef struct
{
  const char *layer;
  guint       node;
} Reference;

static void
use_free (gpointer data)
{
  Use *use = data;

  g_array_unref (use->inputs);
  g_free (use);
}

/* ["name", 0, 0], and in Keras 2 a fourth member {}. */
static gboolean
read_triple (GradusJsonArray *array, Reference *reference)
{
  guint n = gradus_json_array_length (array);

  if (n < 3 || n > 4)
    {
      if (n > 0)
        gradus_json_array_refuse (array, 0, _("A reference has the form [\"layer\", 0, 0]."));
      return FALSE;
    }
  reference->layer = gradus_json_array_string (array, 0);
  reference->node = gradus_json_array_int (array, 1, 0, GRADUS_MODEL_MAX_LAYERS);
  gradus_json_array_int (array, 2, 0, 0);
  if (n == 4)
    {
      JsonNode *rest = gradus_json_array_node (array, 3);

      if (JSON_NODE_HOLDS_OBJECT (rest) && json_object_get_size (json_node_get_object (rest)) > 0)
        gradus_json_array_refuse (array, 3,
                                  _("This version of Gradus takes no arguments of a call here."));
    }
  return reference->layer != NULL;
}

static gboolean
add_reference (Use *use, const Reference *reference, GradusJsonObject *object)
{
  if (use->inputs->len >= GRADUS_MODEL_MAX_INPUTS)
    {
      gradus_json_refuse (object, NULL, _("A layer may have %d inputs at most."),
                          GRADUS_MODEL_MAX_INPUTS);
      return FALSE;
    }
  g_array_append_val (use->inputs, *reference);
  return TRUE;
}

/* {"class_name": "__keras_tensor__", "config": {"keras_history": ["name", 0, 0]}} */
static gboolean
read_tensor (Use *use, GradusJsonObject *object)
{
  const char *class_name = gradus_json_string (object, "class_name", "");
  g_autoptr (GradusJsonObject) config = NULL;
  g_autoptr (GradusJsonArray) history = NULL;
  Reference reference;

  if (g_strcmp0 (class_name, "__keras_tensor__") != 0)
    {
      gradus_json_refuse (object, "class_name", _("A “__keras_tensor__” is wanted here."));
      return FALSE;
    }
  gradus_json_require (object, "config", NULL);
  if ((config = gradus_json_object (object, "config")) == NULL)
    return FALSE;
  gradus_json_require (config, "keras_history", NULL);
  history = gradus_json_array (config, "keras_history", 4);
  return history != NULL && read_triple (history, &reference) &&
         add_reference (use, &reference, object);
}

/* Keras 3: {"args": [tensor | [tensor, ..]], "kwargs": {}} */
static gboolean
read_node3 (Use *use, GradusJsonObject *node)
{
  g_autoptr (GradusJsonArray) args = gradus_json_array (node, "args", GRADUS_MODEL_MAX_INPUTS);
  g_autoptr (GradusJsonObject) kwargs = gradus_json_object (node, "kwargs");

  if (kwargs != NULL)
    {
      JsonObject *members = gradus_json_peek (kwargs);
      g_autoptr (GList) names = json_object_get_members (members);

      for (GList *l = names; l != NULL; l = l->next)
        if (!JSON_NODE_HOLDS_NULL (json_object_get_member (members, l->data)))
          gradus_json_refuse (kwargs, l->data,
                              _("This version of Gradus takes no arguments of a call here."));
    }
  for (guint i = 0; args != NULL && i < gradus_json_array_length (args); i++)
    {
      if (JSON_NODE_HOLDS_ARRAY (gradus_json_array_node (args, i)))
        {
          g_autoptr (GradusJsonArray) list = gradus_json_array_array (args, i,
                                                                      GRADUS_MODEL_MAX_INPUTS);

          for (guint j = 0; list != NULL && j < gradus_json_array_length (list); j++)
            {
              g_autoptr (GradusJsonObject) tensor = gradus_json_array_object (list, j);

              if (tensor == NULL || !read_tensor (use, tensor))
                return FALSE;
            }
        }
      else
        {
          g_autoptr (GradusJsonObject) tensor = gradus_json_array_object (args, i);

          if (tensor == NULL || !read_tensor (use, tensor))
            return FALSE;
        }
    }
  return !gradus_json_failed (node);
}

/* Keras 2: [["name", 0, 0, {}], ..] */
static gboolean
read_node2 (Use *use, GradusJsonObject *object, GradusJsonArray *node)
{
  for (guint i = 0; i < gradus_json_array_length (node); i++)
    {
      g_autoptr (GradusJsonArray) triple = gradus_json_array_array (node, i, 4);
      Reference reference;

      if (triple == NULL || !read_triple (triple, &reference) ||
          !add_reference (use, &reference, object))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_uses (GradusModel *model, GPtrArray *uses, GradusJsonObject *object)
{
  g_autoptr (GradusJsonArray) nodes = gradus_json_array (object, "inbound_nodes",
                                                         GRADUS_MODEL_MAX_LAYERS);
  guint        index = model->layers->len - 1;
  GradusLayer *layer = gradus_model_layer_at (model, index);
  guint        n = nodes ? gradus_json_array_length (nodes) : 0;

  for (guint i = 0; i < MAX (n, layer->klass == &gradus_layer_input); i++)
    {
      Use     *use = g_new0 (Use, 1);
      gboolean ok = TRUE;

      use->layer = index;
      use->index = i;
      use->inputs = g_array_new (FALSE, FALSE, sizeof (Reference));
      g_ptr_array_add (uses, use);
      if (uses->len > GRADUS_MODEL_MAX_LAYERS)
        {
          gradus_json_refuse (object, "inbound_nodes", _("The model has too many connections."));
          return FALSE;
        }
      if (layer->klass == &gradus_layer_input)
        return TRUE;
      if (JSON_NODE_HOLDS_ARRAY (gradus_json_array_node (nodes, i)))
        {
          g_autoptr (GradusJsonArray) node = gradus_json_array_array (nodes, i,
                                                                      GRADUS_MODEL_MAX_INPUTS);

          ok = node != NULL && read_node2 (use, object, node);
        }
      else
        {
          g_autoptr (GradusJsonObject) node = gradus_json_array_object (nodes, i);

          ok = node != NULL && read_node3 (use, node);
        }
      if (!ok)
        return FALSE;
    }
  return !gradus_json_failed (object);
}

/* Key of a use for the table: "node:layer". */
static char *
use_key (const char *layer, guint node)
{
  return g_strdup_printf ("%u:%s", node, layer);
}

static Use *
find_use (GHashTable *table, const Reference *reference)
{
  g_autofree char *key = use_key (reference->layer, reference->node);

  return g_hash_table_lookup (table, key);
}

/* Calls @use if all of its inputs were called; sets @later otherwise. */
static gboolean
settle_use (GradusModel *model, GradusJsonObject *root, GHashTable *table, Use *use, gboolean *later)
{
  g_autofree guint *inputs = g_new (guint, MAX (1, use->inputs->len));

  for (guint i = 0; i < use->inputs->len; i++)
    {
      Reference *reference = &g_array_index (use->inputs, Reference, i);
      Use       *source = find_use (table, reference);

      if (source == NULL)
        {
          GradusLayer *layer = gradus_model_layer_at (model, use->layer);

          gradus_json_refuse (root, NULL,
                              _("Layer “%s” (%s) takes its input from “%s” (use %u), which is not "
                                "in the model."),
                              layer->name, layer->pointer, reference->layer, reference->node);
          return FALSE;
        }
      if (!source->done)
        {
          *later = TRUE;
          return TRUE;
        }
      inputs[i] = source->call;
    }
  /* Uses of one layer keep their order, which their numbers rely on. */
  if (use->index > 0)
    {
      Reference before = { gradus_model_layer_at (model, use->layer)->name, use->index - 1 };

      if (!find_use (table, &before)->done)
        {
          *later = TRUE;
          return TRUE;
        }
    }
  if (!call (model, root, use->layer, inputs, use->inputs->len))
    return FALSE;
  use->call = model->calls->len - 1;
  use->done = TRUE;
  return TRUE;
}

static gboolean
settle_uses (GradusModel *model, GradusJsonObject *root, GPtrArray *uses, GHashTable *table)
{
  gboolean later = TRUE, moved = TRUE;

  while (later && moved)
    {
      later = moved = FALSE;
      for (guint i = 0; i < uses->len; i++)
        {
          Use *use = g_ptr_array_index (uses, i);

          if (use->done)
            continue;
          if (!settle_use (model, root, table, use, &later))
            return FALSE;
          moved = moved || use->done;
        }
    }
  if (later)
    gradus_json_refuse (root, NULL,
                        _("The connections of the layers form a circle. Take one of them out."));
  return !later;
}

static gboolean
add_end (GradusJsonObject *config, const char *key, GHashTable *table, const Reference *reference, GArray *ends)
{
  Use *use = find_use (table, reference);

  if (use == NULL)
    {
      gradus_json_refuse (config, key, _("There is no layer “%s” with a use %u."), reference->layer,
                          reference->node);
      return FALSE;
    }
  g_array_append_val (ends, use->call);
  return TRUE;
}

/* ["name", 0, 0], a list of such, or a dictionary of such. */
static gboolean
read_ends (GradusJsonObject *config, const char *key, GHashTable *table, GArray *ends)
{
  JsonNode *node = gradus_json_node (config, key);
  Reference reference;

  gradus_json_require (config, key, NULL);
  if (gradus_json_failed (config))
    return FALSE;
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autoptr (GradusJsonObject) object = gradus_json_object (config, key);
      g_autoptr (GList) names = json_object_get_members (gradus_json_peek (object));

      for (GList *l = names; l != NULL; l = l->next)
        {
          g_autoptr (GradusJsonArray) triple = gradus_json_array (object, l->data, 4);

          if (triple == NULL || !read_triple (triple, &reference) ||
              !add_end (config, key, table, &reference, ends))
            return FALSE;
        }
    }
  else
    {
      g_autoptr (GradusJsonArray) list = gradus_json_array (config, key, GRADUS_MODEL_MAX_INPUTS);
      JsonNode *first = NULL;

      if (list == NULL)
        return FALSE;
      if (gradus_json_array_length (list) > 0)
        first = gradus_json_array_node (list, 0);
      if (first != NULL && JSON_NODE_HOLDS_VALUE (first))
        return read_triple (list, &reference) && add_end (config, key, table, &reference, ends);
      for (guint i = 0; i < gradus_json_array_length (list); i++)
        {
          g_autoptr (GradusJsonArray) triple = gradus_json_array_array (list, i, 4);

          if (triple == NULL || !read_triple (triple, &reference) ||
              !add_end (config, key, table, &reference, ends))
            return FALSE;
        }
    }
  if (ends->len == 0)
    gradus_json_refuse (config, key, _("At least one layer must be named here."));
  return !gradus_json_failed (config);
}

static gboolean
check_inputs (GradusModel *model, GradusJsonObject *config)
{
  for (guint i = 0; i < model->inputs->len; i++)
    {
      GradusCall *call = gradus_model_call_at (model, g_array_index (model->inputs, guint, i));

      if (gradus_model_layer_at (model, call->layer)->klass != &gradus_layer_input)
        {
          gradus_json_refuse (config, "input_layers", _("“%s” is not an InputLayer."),
                              gradus_model_layer_at (model, call->layer)->name);
          return FALSE;
        }
    }
  for (guint c = 0, seen; c < model->calls->len; c++)
    {
      GradusLayer *layer = gradus_model_layer_at (model, gradus_model_call_at (model, c)->layer);

      if (layer->klass != &gradus_layer_input)
        continue;
      for (seen = 0; seen < model->inputs->len; seen++)
        if (g_array_index (model->inputs, guint, seen) == c)
          break;
      if (seen == model->inputs->len)
        {
          gradus_json_refuse (config, "input_layers",
                              _("The InputLayer “%s” is missing in this list."), layer->name);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
read_functional (GradusModel *model, GradusJsonObject *root, GradusJsonObject *config)
{
  g_autoptr (GradusJsonArray) layers = NULL;
  g_autoptr (GPtrArray) uses = g_ptr_array_new_with_free_func (use_free);
  g_autoptr (GHashTable) table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  gradus_json_require (config, "layers", NULL);
  if ((layers = gradus_json_array (config, "layers", GRADUS_MODEL_MAX_LAYERS)) == NULL)
    return FALSE;
  for (guint i = 0; i < gradus_json_array_length (layers); i++)
    {
      g_autoptr (GradusJsonObject) object = gradus_json_array_object (layers, i);

      if (object == NULL || read_layer (model, object) == NULL ||
          !read_uses (model, uses, object))
        return FALSE;
    }
  for (guint i = 0; i < uses->len; i++)
    {
      Use *use = g_ptr_array_index (uses, i);

      g_hash_table_insert (table,
                           use_key (gradus_model_layer_at (model, use->layer)->name, use->index),
                           use);
    }
  return settle_uses (model, root, uses, table) &&
         read_ends (config, "input_layers", table, model->inputs) &&
         read_ends (config, "output_layers", table, model->outputs) &&
         check_inputs (model, config);
}

static gboolean
read_model (GradusModel **model, GradusJsonObject *root)
{
  static const char *const     classes[] = { "Sequential", "Functional", "Model", NULL };
  g_autoptr (GradusJsonObject) config = NULL;
  JsonNode                    *canvas;
  int                          klass;
  gboolean                     ok;

  gradus_json_require (root, "class_name", "config", NULL);
  klass = gradus_json_enum (root, "class_name", classes, 0);
  gradus_json_ignore (root, "module", "registered_name", "build_config", "compile_config",
                      "keras_version", "backend", "shared_object_id", NULL);
  canvas = gradus_json_node (root, "gradus");
  config = gradus_json_object (root, "config");
  if (gradus_json_failed (root) || config == NULL)
    return FALSE;
  *model = gradus_model_alloc (gradus_json_string (config, "name", "model"), klass == 0);
  if (canvas != NULL && !JSON_NODE_HOLDS_NULL (canvas))
    (*model)->canvas = json_node_copy (canvas);
  gradus_json_ignore (config, "trainable", NULL);
  check_policy (config);
  ok = klass == 0 ? read_sequential (*model, root, config) : read_functional (*model, root, config);
  return ok && gradus_json_end (config, NULL) && gradus_json_end (root, NULL);
}

GradusModel *
gradus_model_new_from_json (JsonObject *json,
                            const char *origin,
                            const char *pointer,
                            GError    **error)
{
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), json);
  g_autoptr (GradusJsonObject) root = NULL;
  g_autoptr (GradusModel) model = NULL;

  g_return_val_if_fail (json != NULL, NULL);
  if ((root = gradus_json_open_at (node, origin, pointer ? pointer : "", error)) == NULL)
    return NULL;
  if (!read_model (&model, root))
    {
      if (gradus_json_check (root, error))
        g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                             _("The model could not be read."));
      return NULL;
    }
  return g_steal_pointer (&model);
}
