/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

static JsonArray *
shape_array (const GradusShape *shape)
{
  JsonArray *array = json_array_new ();

  for (guint i = 0; i < shape->rank; i++)
    if (shape->dims[i] < 0)
      json_array_add_null_element (array);
    else
      json_array_add_int_element (array, shape->dims[i]);
  return array;
}

static JsonObject *
policy (void)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();

  json_object_set_string_member (config, "name", "float32");
  json_object_set_string_member (object, "module", "keras");
  json_object_set_string_member (object, "class_name", "DTypePolicy");
  json_object_set_object_member (object, "config", config);
  json_object_set_null_member (object, "registered_name");
  return object;
}

static JsonObject *
layer_config (GradusLayer *layer)
{
  JsonObject *config = json_object_new ();

  if (layer->klass == &gradus_layer_input)
    {
      json_object_set_array_member (config, "batch_shape", shape_array (&layer->input_shape));
      json_object_set_string_member (config, "dtype", gradus_dtype_name (layer->input_dtype));
      json_object_set_boolean_member (config, "sparse", FALSE);
      json_object_set_string_member (config, "name", layer->name);
      return config;
    }
  json_object_set_string_member (config, "name", layer->name);
  json_object_set_boolean_member (config, "trainable", layer->trainable);
  json_object_set_object_member (config, "dtype", policy ());
  gradus_layer_write_args (layer, config);
  return config;
}

/* Of the layer's first use: a shape, or the list of them that a layer that merges is built from. */
static JsonArray *
build_shape (GradusModel *model, guint layer)
{
  GradusLayer *self = gradus_model_layer_at (model, layer);
  JsonArray   *shapes = NULL;
  GradusCall  *first = NULL;

  if (self->klass->max_inputs <= 1)
    return shape_array (&self->built_shapes[0]);
  for (guint c = 0; c < model->calls->len && first == NULL; c++)
    if (gradus_model_call_at (model, c)->layer == layer)
      first = gradus_model_call_at (model, c);
  g_assert (first != NULL);
  shapes = json_array_new ();
  for (guint i = 0; i < first->n_inputs; i++)
    json_array_add_array_element (
        shapes, shape_array (gradus_model_tensor_shape (model, first->inputs[i])));
  return shapes;
}

/* Of a layer whose inputs are arguments of their own. */
static JsonObject *
build_shapes (GradusLayer *layer)
{
  static const char *const names[] = { "query_shape", "value_shape", "key_shape" };
  JsonObject *build = json_object_new (), *shapes = json_object_new ();

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (layer->built_shapes[i].rank > 0)
      json_object_set_array_member (shapes, names[i], shape_array (&layer->built_shapes[i]));
  json_object_set_object_member (build, "shapes_dict", shapes);
  return build;
}

static JsonObject *
layer_object (GradusModel *model, guint index)
{
  GradusLayer *layer = gradus_model_layer_at (model, index);
  JsonObject  *object = json_object_new ();

  json_object_set_string_member (object, "module", layer->klass->module != NULL ? layer->klass->module : "keras.layers");
  json_object_set_string_member (object, "class_name", layer->klass->name);
  json_object_set_object_member (object, "config", layer_config (layer));
  json_object_set_null_member (object, "registered_name");
  if (layer->is_built && (layer->klass->call & GRADUS_CALL_SEPARATE) != 0)
    json_object_set_object_member (object, "build_config", build_shapes (layer));
  else if (layer->is_built)
    {
      JsonObject *build = json_object_new ();

      json_object_set_array_member (build, "input_shape", build_shape (model, index));
      json_object_set_object_member (object, "build_config", build);
    }
  return object;
}

static JsonArray *
triple (GradusModel *model, GradusTensor tensor)
{
  GradusCall *source = gradus_model_call_at (model, tensor.call);
  JsonArray  *array = json_array_new ();

  json_array_add_string_element (array, gradus_model_layer_at (model, source->layer)->name);
  json_array_add_int_element (array, source->index);
  json_array_add_int_element (array, tensor.output);
  return array;
}

static JsonObject *
tensor_object (GradusModel *model, GradusTensor tensor)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();

  json_object_set_array_member (config, "shape",
                                shape_array (gradus_model_tensor_shape (model, tensor)));
  json_object_set_string_member (config, "dtype", "float32");
  json_object_set_array_member (config, "keras_history", triple (model, tensor));
  json_object_set_string_member (object, "class_name", "__keras_tensor__");
  json_object_set_object_member (object, "config", config);
  return object;
}

static JsonObject *
call_kwargs (GradusModel *model, GradusCall *call)
{
  guint       n_inputs = call->n_inputs - call->options.n_masks;
  JsonObject *kwargs = json_object_new ();

  if (call->options.training >= 0)
    json_object_set_boolean_member (kwargs, "training", call->options.training);
  if (call->options.causal)
    json_object_set_boolean_member (kwargs, "use_causal_mask", TRUE);
  for (guint i = 0; i < GRADUS_N_CALL_MASKS; i++)
    if (call->options.mask[i] > 0)
      json_object_set_object_member (
          kwargs, gradus_call_mask_names[i], tensor_object (model, call->inputs[n_inputs + call->options.mask[i] - 1]));
  return kwargs;
}

static JsonObject *
inbound_node (GradusModel *model, GradusCall *call)
{
  JsonObject *node = json_object_new ();
  JsonArray  *args = json_array_new ();
  GradusLayer *layer = gradus_model_layer_at (model, call->layer);
  /* Layers that merge get one argument, which is a list. */
  gboolean   joined = layer->klass->max_inputs > 1 && (layer->klass->call & GRADUS_CALL_SEPARATE) == 0;
  JsonArray *list = joined ? json_array_new () : args;

  for (guint i = 0; i < call->n_inputs - call->options.n_masks; i++)
    json_array_add_object_element (list, tensor_object (model, call->inputs[i]));
  if (list != args)
    json_array_add_array_element (args, list);
  json_object_set_array_member (node, "args", args);
  json_object_set_object_member (node, "kwargs", call_kwargs (model, call));
  return node;
}

static JsonArray *
inbound_nodes (GradusModel *model, guint layer)
{
  JsonArray *nodes = json_array_new ();

  for (guint c = 0; c < model->calls->len; c++)
    {
      GradusCall *call = gradus_model_call_at (model, c);

      if (call->layer == layer && call->n_inputs > 0)
        json_array_add_object_element (nodes, inbound_node (model, call));
    }
  return nodes;
}

static JsonArray *
ends (GradusModel *model, GArray *calls)
{
  JsonArray *array;

  if (calls->len == 1)
    return triple (model, g_array_index (calls, GradusTensor, 0));
  array = json_array_new ();
  for (guint i = 0; i < calls->len; i++)
    json_array_add_array_element (array, triple (model, g_array_index (calls, GradusTensor, i)));
  return array;
}

static JsonArray *
layers_array (GradusModel *model)
{
  JsonArray *layers = json_array_new ();

  for (guint i = 0; i < model->layers->len; i++)
    {
      GradusLayer *layer = gradus_model_layer_at (model, i);
      JsonObject  *object = layer_object (model, i);

      if (!model->sequential)
        {
          json_object_set_string_member (object, "name", layer->name);
          json_object_set_array_member (object, "inbound_nodes", inbound_nodes (model, i));
        }
      json_array_add_object_element (layers, object);
    }
  return layers;
}

JsonNode *
gradus_model_to_json (GradusModel *model)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  json_object_set_string_member (config, "name", model->name);
  json_object_set_boolean_member (config, "trainable", TRUE);
  json_object_set_array_member (config, "layers", layers_array (model));
  if (model->sequential)
    {
      json_object_set_string_member (object, "module", "keras");
      json_object_set_string_member (object, "class_name", "Sequential");
      json_object_set_null_member (object, "registered_name");
      json_object_set_array_member (config, "build_input_shape",
                                    shape_array (&gradus_model_call_at (model, 0)->shapes[0]));
    }
  else
    {
      json_object_set_string_member (object, "module", "keras.src.models.functional");
      json_object_set_string_member (object, "class_name", "Functional");
      json_object_set_string_member (object, "registered_name", "Functional");
      json_object_set_array_member (config, "input_layers", ends (model, model->inputs));
      json_object_set_array_member (config, "output_layers", ends (model, model->outputs));
    }
  json_object_set_object_member (object, "config", config);
  if (model->canvas != NULL)
    json_object_set_member (object, "gradus", json_node_copy (model->canvas));
  json_node_take_object (node, object);
  return node;
}
