/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/* "float32", or Keras 3's {"class_name": "DTypePolicy", "config": {"name": "float32"}}. */
void
gradus_model_check_policy (GradusJsonObject *config)
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
gboolean
gradus_model_read_batch_shape (GradusJsonObject *config, const char *key, GradusShape *shape)
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
          if (i == 1)
            {
              shape->dims[i] = GRADUS_DIM_TIME;
              continue;
            }
          gradus_json_array_refuse (array, i,
                                    _("Only the batch and the axis after it, the steps of a "
                                      "sequence, may have a free size; write a number here."));
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
    gradus_model_read_batch_shape (config, key, &layer->input_shape);
  if (dtype != NULL && !gradus_dtype_from_name (dtype, &layer->input_dtype))
    gradus_json_refuse (config, "dtype", _("There is no type “%s”; write “float32”."), dtype);
}

/* Layers of Keras whose names are near to one that is here, but which do something else. */
static const char *const other_layers[] = { "LayerNormalization",
                                            "GroupNormalization",
                                            "UnitNormalization",
                                            "RMSNormalization",
                                            "SpectralNormalization",
                                            "SpatialDropout2D",
                                            "AlphaDropout",
                                            "Dot",
                                            "ReLU",
                                            NULL };

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
  near = g_strv_contains (other_layers, name) ? NULL : gradus_layer_class_nearest (name);
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
  static const char *const values[] = { "learning_rate", "momentum",      "clip",     "step",
                                        "loss",          "loss_sum",      "target/0", "gradient_norm",
                                        "penalty",       "weight_decay",  "sum_keep", "sum_weight",
                                        "sum_factor",    NULL };

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
GradusLayer *
gradus_model_read_layer (GradusModel *model, GradusJsonObject *object)
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
      gradus_model_check_policy (config);
      /* Keras 2 wrote it into the first layer. */
      gradus_json_ignore (config, "batch_input_shape", NULL);
      gradus_layer_read_args (layer, config);
    }
  return gradus_json_end (config, NULL) && gradus_json_end (object, NULL) ? layer : NULL;
}
