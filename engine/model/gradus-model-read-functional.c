/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

#include <glib/gi18n-lib.h>

/* Functional models: a use of a layer, as it stands in inbound_nodes. */
typedef struct
{
  guint   layer, index;
  GArray *inputs; /* Reference */
  GradusCallOptions options;
  guint   call;
  gboolean done;
} Use;

typedef struct
{
  const char *layer;
  guint       node, tensor;
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
  reference->tensor = gradus_json_array_int (array, 2, 0, GRADUS_LAYER_MAX_OUTPUTS - 1);
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

/* Inputs that may be named. */
static const char *const input_names[] = { "query", "value", "key" };

static gboolean
read_named_tensor (Use *use, GradusJsonObject *kwargs, const char *name)
{
  g_autoptr (GradusJsonObject) tensor = gradus_json_object (kwargs, name);

  return tensor != NULL && read_tensor (use, tensor);
}

static gboolean
is_given (GradusJsonObject *kwargs, const char *name)
{
  JsonNode *node = json_object_get_member (gradus_json_peek (kwargs), name);

  return node != NULL && !JSON_NODE_HOLDS_NULL (node);
}

static gboolean
takes_argument (const GradusLayerClass *klass, const char *name)
{
  if (g_str_equal (name, "training"))
    return TRUE;
  if (g_str_equal (name, "use_causal_mask"))
    return (klass->call & GRADUS_CALL_CAUSAL) != 0;
  if (g_str_equal (name, "mask"))
    return (klass->call & GRADUS_CALL_ONE_MASK) != 0;
  for (guint i = 0; i < G_N_ELEMENTS (input_names); i++)
    if (g_str_equal (name, input_names[i]))
      return (klass->call & GRADUS_CALL_SEPARATE) != 0;
  for (guint i = 0; i < GRADUS_N_CALL_MASKS; i++)
    if (g_str_equal (name, gradus_call_mask_names[i]))
      return (klass->call & GRADUS_CALL_MASKS) != 0;
  return FALSE;
}

/* Arguments that Keras writes although they say nothing. */
static gboolean
says_nothing (const char *name, JsonNode *node)
{
  return JSON_NODE_HOLDS_NULL (node)
         || (g_str_equal (name, "return_attention_scores") && JSON_NODE_HOLDS_VALUE (node)
             && json_node_get_value_type (node) == G_TYPE_BOOLEAN && !json_node_get_boolean (node));
}

static gboolean
check_names (const GradusLayerClass *klass, GradusJsonObject *kwargs)
{
  JsonObject *members = gradus_json_peek (kwargs);
  g_autoptr (GList) names = json_object_get_members (members);

  for (GList *l = names; l != NULL; l = l->next)
    if (!says_nothing (l->data, json_object_get_member (members, l->data))
        && !takes_argument (klass, l->data))
      gradus_json_refuse (kwargs, l->data,
                          _("This version of Gradus takes no argument “%s” in a call of a %s layer."),
                          (const char *) l->data, klass->name);
  return !gradus_json_failed (kwargs);
}

/* What a call is given by name: options, then inputs, then masks. */
static gboolean
read_kwargs (const GradusLayerClass *klass, Use *use, GradusJsonObject *kwargs)
{
  if (!check_names (klass, kwargs))
    return FALSE;
  if (is_given (kwargs, "training"))
    use->options.training = gradus_json_bool (kwargs, "training", FALSE);
  if (is_given (kwargs, "use_causal_mask"))
    use->options.causal = gradus_json_bool (kwargs, "use_causal_mask", FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (input_names); i++)
    if (is_given (kwargs, input_names[i]) && !read_named_tensor (use, kwargs, input_names[i]))
      return FALSE;
  for (guint i = 0; i < GRADUS_N_CALL_MASKS; i++)
    if (is_given (kwargs, gradus_call_mask_names[i]))
      {
        if (!read_named_tensor (use, kwargs, gradus_call_mask_names[i]))
          return FALSE;
        use->options.mask[i] = (guint8) ++use->options.n_masks;
      }
  return !gradus_json_failed (kwargs);
}

static gboolean
read_argument (Use *use, GradusJsonArray *args, guint i)
{
  if (JSON_NODE_HOLDS_NULL (gradus_json_array_node (args, i)))
    return TRUE;
  if (JSON_NODE_HOLDS_ARRAY (gradus_json_array_node (args, i)))
    {
      g_autoptr (GradusJsonArray) list = gradus_json_array_array (args, i, GRADUS_MODEL_MAX_INPUTS);

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
  return TRUE;
}

/* Keras 3: {"args": [tensor | [tensor, ..]], "kwargs": {}} */
static gboolean
read_node3 (const GradusLayerClass *klass, Use *use, GradusJsonObject *node)
{
  g_autoptr (GradusJsonArray) args = gradus_json_array (node, "args", GRADUS_MODEL_MAX_INPUTS);
  g_autoptr (GradusJsonObject) kwargs = gradus_json_object (node, "kwargs");

  for (guint i = 0; args != NULL && i < gradus_json_array_length (args); i++)
    if (!read_argument (use, args, i))
      return FALSE;
  return (kwargs == NULL || read_kwargs (klass, use, kwargs)) && !gradus_json_failed (node);
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
      use->options = GRADUS_CALL_OPTIONS_NONE;
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

          ok = node != NULL && read_node3 (layer->klass, use, node);
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

static gboolean
check_tensor (GradusModel *model, GradusJsonObject *root, const Use *source, const Reference *reference)
{
  guint n = gradus_model_call_at (model, source->call)->n_outputs;

  if (reference->tensor >= n)
    gradus_json_refuse (root, NULL,
                        _("Output %u of layer “%s” is asked for, which has %u. Outputs are counted "
                          "from 0; a recurrent layer has states beside its output only with "
                          "return_state."),
                        reference->tensor, reference->layer, n);
  return reference->tensor < n;
}

/* Calls @use if all of its inputs were called; sets @later otherwise. */
static gboolean
settle_use (GradusModel *model, GradusJsonObject *root, GHashTable *table, Use *use, gboolean *later)
{
  g_autofree GradusTensor *inputs = g_new (GradusTensor, MAX (1, use->inputs->len));

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
      if (!check_tensor (model, root, source, reference))
        return FALSE;
      inputs[i] = (GradusTensor){ source->call, reference->tensor };
    }
  /* Uses of one layer keep their order, which their numbers rely on. */
  if (use->index > 0)
    {
      Reference before = { gradus_model_layer_at (model, use->layer)->name, use->index - 1, 0 };

      if (!find_use (table, &before)->done)
        {
          *later = TRUE;
          return TRUE;
        }
    }
  if (!gradus_model_read_call (model, root, use->layer, inputs, use->inputs->len, &use->options))
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
add_end (GradusModel *model, GradusJsonObject *config, const char *key, GHashTable *table, const Reference *reference, GArray *ends)
{
  Use *use = find_use (table, reference);

  if (use == NULL)
    {
      gradus_json_refuse (config, key, _("There is no layer “%s” with a use %u."), reference->layer,
                          reference->node);
      return FALSE;
    }
  if (!check_tensor (model, config, use, reference))
    return FALSE;
  g_array_append_val (ends, ((GradusTensor){ use->call, reference->tensor }));
  return TRUE;
}

/* ["name", 0, 0], a list of such, or a dictionary of such. */
static gboolean
read_ends (GradusModel *model, GradusJsonObject *config, const char *key, GHashTable *table, GArray *ends)
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
              !add_end (model, config, key, table, &reference, ends))
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
        return read_triple (list, &reference) && add_end (model, config, key, table, &reference, ends);
      for (guint i = 0; i < gradus_json_array_length (list); i++)
        {
          g_autoptr (GradusJsonArray) triple = gradus_json_array_array (list, i, 4);

          if (triple == NULL || !read_triple (triple, &reference) ||
              !add_end (model, config, key, table, &reference, ends))
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
      GradusCall *call = gradus_model_call_at (model, g_array_index (model->inputs, GradusTensor, i).call);

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
        if (g_array_index (model->inputs, GradusTensor, seen).call == c)
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

gboolean
gradus_model_read_functional (GradusModel *model, GradusJsonObject *root, GradusJsonObject *config)
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

      if (object == NULL || gradus_model_read_layer (model, object) == NULL ||
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
         read_ends (model, config, "input_layers", table, model->inputs) &&
         read_ends (model, config, "output_layers", table, model->outputs) &&
         check_inputs (model, config);
}
