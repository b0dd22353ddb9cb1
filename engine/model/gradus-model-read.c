/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

#include <glib/gi18n-lib.h>

gboolean
gradus_model_read_call (GradusModel      *model,
                        GradusJsonObject *root,
                        guint             layer,
                        const GradusTensor *inputs,
                        guint             n_inputs,
                        const GradusCallOptions *options)
{
  GError *error = NULL;

  if (gradus_model_call (model, layer, inputs, n_inputs, options, &error))
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
    found = gradus_model_read_batch_shape (inner, "batch_input_shape", &shape);
  else if (gradus_json_has (config, "build_input_shape"))
    found = gradus_model_read_batch_shape (config, "build_input_shape", &shape);
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
  GradusTensor value = { 0, 0 };
  guint        n;

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
          (!add_input (model, config, layers) || !gradus_model_read_call (model, root, 0, NULL, 0, &GRADUS_CALL_OPTIONS_NONE)))
        return FALSE;
      if ((layer = gradus_model_read_layer (model, object)) == NULL)
        return FALSE;
      if (i > 0 && layer->klass == &gradus_layer_input)
        {
          gradus_json_refuse (object, "class_name",
                              _("An InputLayer stands first in a Sequential model."));
          return FALSE;
        }
      if (!gradus_model_read_call (model, root, model->layers->len - 1, &value,
                 layer->klass == &gradus_layer_input ? 0 : 1, &GRADUS_CALL_OPTIONS_NONE))
        return FALSE;
      value.call = model->calls->len - 1;
    }
  if (model->calls->len < 2)
    {
      gradus_json_refuse (config, "layers",
                          _("The model has an input and nothing else. Add a layer."));
      return FALSE;
    }
  g_array_append_val (model->inputs, ((GradusTensor){ 0, 0 }));
  g_array_append_val (model->outputs, value);
  return TRUE;
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
  gradus_model_check_policy (config);
  ok = klass == 0 ? read_sequential (*model, root, config) : gradus_model_read_functional (*model, root, config);
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
