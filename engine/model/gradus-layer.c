/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer.h"
#include "model/gradus-layer-formula.h"

#include "gradus-philox.h"

#include <glib/gi18n-lib.h>
#include <string.h>

static const GradusLayerClass *const classes[] = {
  &gradus_layer_activity_regularization,
  &gradus_layer_input,       &gradus_layer_rescaling,
  &gradus_layer_flatten,     &gradus_layer_reshape,
  &gradus_layer_dense,       &gradus_layer_conv1d,
  &gradus_layer_conv2d,      &gradus_layer_conv3d,
  &gradus_layer_depthwise_conv1d, &gradus_layer_depthwise_conv2d,
  &gradus_layer_separable_conv1d, &gradus_layer_separable_conv2d,
  &gradus_layer_conv1d_transpose, &gradus_layer_conv2d_transpose,
  &gradus_layer_max_pooling1d, &gradus_layer_max_pooling2d, &gradus_layer_max_pooling3d,
  &gradus_layer_average_pooling1d, &gradus_layer_average_pooling2d,
  &gradus_layer_average_pooling3d,
  &gradus_layer_global_max_pooling1d, &gradus_layer_global_max_pooling2d,
  &gradus_layer_global_max_pooling3d, &gradus_layer_global_average_pooling1d,
  &gradus_layer_global_average_pooling2d, &gradus_layer_global_average_pooling3d,
  &gradus_layer_up_sampling1d, &gradus_layer_up_sampling2d, &gradus_layer_up_sampling3d,
  &gradus_layer_zero_padding1d, &gradus_layer_zero_padding2d, &gradus_layer_zero_padding3d,
  &gradus_layer_cropping1d,  &gradus_layer_cropping2d, &gradus_layer_cropping3d,
  &gradus_layer_dropout,     &gradus_layer_activation,
  &gradus_layer_add,         &gradus_layer_concatenate,
  &gradus_layer_subtract,    &gradus_layer_multiply,
  &gradus_layer_average,     &gradus_layer_maximum,
  &gradus_layer_minimum,     &gradus_layer_re_lu,
  &gradus_layer_leaky_re_lu, &gradus_layer_p_re_lu,
  &gradus_layer_elu,         &gradus_layer_permute,
  &gradus_layer_repeat_vector,
  &gradus_layer_formula,
  &gradus_layer_batch_normalization, &gradus_layer_layer_normalization,
  &gradus_layer_rms_normalization, &gradus_layer_group_normalization,
  &gradus_layer_unit_normalization, &gradus_layer_normalization,
  &gradus_layer_softmax,     &gradus_layer_multi_head_attention,
  &gradus_layer_attention,   &gradus_layer_additive_attention,
  &gradus_layer_einsum_dense, &gradus_layer_dot,
  &gradus_layer_embedding,   &gradus_layer_masking,
  &gradus_layer_simple_rnn,  &gradus_layer_lstm,
  &gradus_layer_gru,         &gradus_layer_bidirectional,
  &gradus_layer_time_distributed,
};

const char *const gradus_call_mask_names[GRADUS_N_CALL_MASKS] = { "mask", "query_mask", "value_mask",
                                                                  "key_mask", "attention_mask" };

static const char *const merge_names[] = { "concat", "sum", "mul", "ave", NULL };
static const char *const padding_names[] = { "valid", "same", NULL };
static const char *const causal_names[] = { "valid", "same", "causal", NULL };
static const char *const interpolation_names[] = { "nearest", "bilinear", NULL };

const GradusLayerClass *
gradus_layer_class_find (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    if (g_str_equal (classes[i]->name, name))
      return classes[i];
  return NULL;
}

const char *
gradus_layer_class_nearest (const char *name)
{
  const char *names[G_N_ELEMENTS (classes) + 1] = { NULL };

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    names[i] = classes[i]->name;
  return gradus_json_nearest (name, names);
}

static guint
n_args (const GradusLayerClass *klass)
{
  guint n = 0;

  while (klass->args != NULL && klass->args[n].name != NULL)
    n++;
  return n;
}

GradusLayer *
gradus_layer_new (const GradusLayerClass *klass, const char *name)
{
  GradusLayer *self = g_new0 (GradusLayer, 1);

  self->klass = klass;
  self->name = g_strdup (name);
  self->trainable = TRUE;
  self->args = g_new0 (GradusArg, n_args (klass) + 1);
  return self;
}

void
gradus_layer_free (GradusLayer *self)
{
  for (guint i = 0; i < n_args (self->klass); i++)
    g_clear_pointer (&self->args[i].layer, gradus_layer_free);
  g_free (self->name);
  g_free (self->pointer);
  for (guint i = 0; i < n_args (self->klass); i++)
    {
      g_free (self->args[i].text);
      g_clear_pointer (&self->args[i].floats, g_array_unref);
      gradus_layer_arg_clear_formula (&self->args[i]);
    }
  g_free (self->args);
  g_free (self);
}

/* Numbers that a list must have; 0: any. */
static guint
n_wanted (GradusArgKind kind)
{
  return kind >= GRADUS_ARG_SINGLE && kind <= GRADUS_ARG_TRIPLE ? kind - GRADUS_ARG_SINGLE + 1 : 0;
}

static gboolean
refuse_length (const GradusArgSpec *spec, GradusJsonObject *config, guint wanted, guint met)
{
  if (wanted == 2)
    gradus_json_refuse (config, spec->name,
                        _("A list of two whole numbers is wanted, not of %u."), met);
  else
    gradus_json_refuse (config, spec->name, _("One number or a list of %u is wanted, not of %u."),
                        wanted, met);
  return FALSE;
}

/* A list that GlobalPooling, Reshape and the like take; Keras 2 wrote some as one number. */
static gboolean
read_ints (const GradusArgSpec *spec, GradusJsonObject *config, JsonNode *node, GradusArg *arg)
{
  guint wanted = n_wanted (spec->kind);
  g_autoptr (GradusJsonArray) array = NULL;

  if (JSON_NODE_HOLDS_VALUE (node) && spec->kind == GRADUS_ARG_AXES)
    {
      arg->n = 1;
      arg->ints[0] = gradus_json_int (config, spec->name, spec->min, spec->max, 0);
      return TRUE;
    }
  if (JSON_NODE_HOLDS_VALUE (node) && wanted > 0)
    {
      arg->n = wanted;
      for (guint i = 0; i < wanted; i++)
        arg->ints[i] = gradus_json_int (config, spec->name, spec->min, spec->max, 0);
      return TRUE;
    }
  if ((array = gradus_json_array (config, spec->name, GRADUS_MAX_RANK - 1)) == NULL)
    return FALSE;
  arg->n = gradus_json_array_length (array);
  if (wanted > 0 && arg->n != wanted)
    return refuse_length (spec, config, wanted, arg->n);
  for (guint i = 0; i < arg->n; i++)
    if (spec->kind == GRADUS_ARG_AXES && spec->min > 0 && JSON_NODE_HOLDS_NULL (gradus_json_array_node (array, i)))
      arg->ints[i] = GRADUS_ARG_NULL;
    else
      arg->ints[i] = gradus_json_array_int (array, i, spec->min, spec->max);
  return TRUE;
}

/* One axis of edges: a number for both, or a list of two. */
static gboolean
read_edge (const GradusArgSpec *spec, GradusJsonObject *config, GradusJsonArray *array, guint i, gint64 *edge)
{
  JsonNode  *node = gradus_json_array_node (array, i);
  JsonArray *pair;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    {
      edge[0] = edge[1] = gradus_json_array_int (array, i, spec->min, spec->max);
      return TRUE;
    }
  pair = json_node_get_array (node);
  if (json_array_get_length (pair) != 2)
    return refuse_length (spec, config, 2, json_array_get_length (pair));
  for (guint k = 0; k < 2; k++)
    {
      JsonNode *number = json_array_get_element (pair, k);
      gboolean  whole = JSON_NODE_HOLDS_VALUE (number) && json_node_get_value_type (number) == G_TYPE_INT64;

      edge[k] = whole ? json_node_get_int (number) : -1;
      if (edge[k] < spec->min || edge[k] > spec->max)
        {
          gradus_json_array_refuse (array, i, _("Two whole numbers from %.0f to %.0f are wanted."),
                                    spec->min, spec->max);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
read_edges (const GradusArgSpec *spec, GradusJsonObject *config, JsonNode *node, GradusArg *arg)
{
  guint n_axes = spec->kind - GRADUS_ARG_EDGES_1 + 1;
  g_autoptr (GradusJsonArray) array = NULL;

  arg->n = 2 * n_axes;
  if (JSON_NODE_HOLDS_VALUE (node))
    {
      for (guint i = 0; i < arg->n; i++)
        arg->ints[i] = gradus_json_int (config, spec->name, spec->min, spec->max, 0);
      return TRUE;
    }
  if ((array = gradus_json_array (config, spec->name, GRADUS_MAX_RANK)) == NULL)
    return FALSE;
  /* Of one axis, [before, after] without a list around it. */
  if (n_axes == 1 && gradus_json_array_length (array) == 2)
    {
      for (guint i = 0; i < 2; i++)
        arg->ints[i] = gradus_json_array_int (array, i, spec->min, spec->max);
      return TRUE;
    }
  if (gradus_json_array_length (array) != n_axes)
    return refuse_length (spec, config, n_axes == 1 ? 2 : n_axes, gradus_json_array_length (array));
  for (guint i = 0; i < n_axes; i++)
    if (!read_edge (spec, config, array, i, &arg->ints[2 * i]))
      return FALSE;
  return TRUE;
}

/* Whether every leaf of @node is a number and they are at most @most together. */
static gboolean
collect_floats (JsonNode *node, gsize most, GArray *floats)
{
  double value;

  if (JSON_NODE_HOLDS_ARRAY (node))
    {
      JsonArray *array = json_node_get_array (node);

      for (guint i = 0; i < json_array_get_length (array); i++)
        if (!collect_floats (json_array_get_element (array, i), most, floats))
          return FALSE;
      return TRUE;
    }
  if (!JSON_NODE_HOLDS_VALUE (node) || floats->len >= most
      || (json_node_get_value_type (node) != G_TYPE_INT64 && json_node_get_value_type (node) != G_TYPE_DOUBLE))
    return FALSE;
  value = json_node_get_double (node);
  g_array_append_val (floats, value);
  return TRUE;
}

static gboolean
read_floats (const GradusArgSpec *spec, GradusJsonObject *config, JsonNode *node, GradusArg *arg)
{
  g_clear_pointer (&arg->floats, g_array_unref);
  arg->floats = g_array_new (FALSE, FALSE, sizeof (double));
  if (collect_floats (node, (gsize) spec->max, arg->floats) && arg->floats->len > 0)
    return TRUE;
  gradus_json_refuse (config, spec->name, _("A number or a list of at most %.0f numbers is wanted."),
                      spec->max);
  return FALSE;
}

static gboolean
read_text (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg)
{
  const char *text = gradus_json_string (config, spec->name, NULL);

  if (text != NULL && strlen (text) > spec->max)
    gradus_json_refuse (config, spec->name, _("At most %.0f characters are taken here."), spec->max);
  g_free (arg->text);
  arg->text = g_strdup (text);
  return !gradus_json_failed (config);
}

/* A name, or Keras 3's {"module": "builtins", "class_name": "function", "config": "relu"}. */
static gboolean
read_activation (const GradusArgSpec *spec, GradusJsonObject *config, JsonNode *node, GradusArg *arg)
{
  g_autoptr (GradusJsonObject) object = NULL;
  const char *name, *near;

  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      object = gradus_json_object (config, spec->name);
      name = object ? gradus_json_string (object, "config", NULL) : NULL;
      if (object != NULL && name == NULL)
        gradus_json_refuse (object, "config", _("The name of an activation is wanted here."));
    }
  else
    name = gradus_json_string (config, spec->name, NULL);
  if (name == NULL)
    return FALSE;
  if ((arg->activation = gradus_activation_find (name)) != NULL)
    return TRUE;
  near = gradus_activation_nearest (name);
  if (near != NULL)
    gradus_json_refuse (config, spec->name,
                        _("There is no activation “%s”; did you mean “%s”?"), name, near);
  else
    gradus_json_refuse (config, spec->name,
                        _("This version of Gradus has no activation “%s”; choose one such as "
                          "“relu”, “tanh” or “softmax”."),
                        name);
  return FALSE;
}

static gboolean
read_only (const GradusArgSpec *spec, GradusJsonObject *config, JsonNode *node)
{
  g_autoptr (JsonNode) wanted = gradus_json_parse (spec->fallback, -1, "", NULL);
  g_autofree char *met = NULL;

  if (JSON_NODE_HOLDS_NULL (node) || json_node_equal (wanted, node))
    return TRUE;
  met = gradus_json_to_string (node, FALSE);
  if (strlen (met) > 60)
    strcpy (g_utf8_find_prev_char (met, met + 58), "…");
  if (g_str_equal (spec->name, "data_format"))
    {
      gradus_json_refuse (config, spec->name,
                          _("Channels come last here, and this layer wants %s. Build the model with "
                            "data_format “channels_last” and give it data whose last axis is the "
                            "channels; a Permute layer moves them."),
                          met);
      return FALSE;
    }
  gradus_json_refuse (config, spec->name,
                      _("This version of Gradus knows the argument, but takes only %s, not %s."),
                      spec->fallback, met);
  return FALSE;
}

static gboolean
read_fallback (const GradusArgSpec *spec, GradusArg *arg)
{
  g_autofree char *text = g_strdup_printf ("{\"%s\": %s}", spec->name, spec->fallback);
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "", NULL);
  g_autoptr (GradusJsonObject) object = gradus_json_open (node, NULL, NULL);
  const GradusArgSpec copy = { spec->name, spec->kind, NULL, spec->min, spec->max };
  GradusLayerClass    klass = { .args = (const GradusArgSpec[]){ copy, { 0 } } };
  GradusLayer         layer = { .klass = &klass, .args = arg };

  if (g_str_equal (spec->fallback, "null"))
    {
      arg->is_null = TRUE;
      return TRUE;
    }
  return gradus_layer_read_args (&layer, object);
}

/* A layer inside another; those inside it in turn are nobody's wish. */
static gboolean
read_layer (const GradusArgSpec *spec, GradusJsonObject *cursor, GradusArg *arg)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (cursor, spec->name);
  g_autoptr (GradusJsonObject) config = NULL;
  const GradusLayerClass      *klass;
  const char                  *name;

  if (object == NULL)
    return FALSE;
  gradus_json_require (object, "class_name", "config", NULL);
  gradus_json_ignore (object, "module", "registered_name", "build_config", "name", "shared_object_id", NULL);
  name = gradus_json_string (object, "class_name", NULL);
  config = gradus_json_object (object, "config");
  if (name == NULL || config == NULL)
    return FALSE;
  klass = gradus_layer_class_find (name);
  if (klass == NULL || klass->args == NULL)
    {
      gradus_json_refuse (object, "class_name", _("This version of Gradus has no layer “%s”."), name);
      return FALSE;
    }
  for (const GradusArgSpec *inner = klass->args; inner->name != NULL; inner++)
    if (inner->kind == GRADUS_ARG_LAYER)
      {
        gradus_json_refuse (object, "class_name", _("A wrapper cannot stand inside a wrapper here."));
        return FALSE;
      }
  arg->layer = gradus_layer_new (klass, gradus_json_string (config, "name", klass->snake));
  arg->layer->pointer = g_strdup (gradus_json_pointer (object));
  arg->layer->trainable = gradus_json_bool (config, "trainable", TRUE);
  gradus_json_ignore (config, "dtype", "batch_input_shape", NULL);
  return gradus_layer_read_args (arg->layer, config) && gradus_json_end (config, NULL) &&
         gradus_json_end (object, NULL);
}

static gboolean
read_arg (const GradusArgSpec *spec, GradusJsonObject *config, JsonNode *node, GradusArg *arg)
{
  switch (spec->kind)
    {
    case GRADUS_ARG_INT:
      arg->i = gradus_json_int (config, spec->name, spec->min, spec->max, 0);
      break;
    case GRADUS_ARG_FLOAT:
      arg->f = gradus_json_double (config, spec->name, spec->min, spec->max, 0);
      break;
    case GRADUS_ARG_BOOL:
      arg->i = gradus_json_bool (config, spec->name, FALSE);
      break;
    case GRADUS_ARG_SINGLE:
    case GRADUS_ARG_PAIR:
    case GRADUS_ARG_TRIPLE:
    case GRADUS_ARG_DIMS:
    case GRADUS_ARG_AXES:
      return read_ints (spec, config, node, arg);
    case GRADUS_ARG_EDGES_1:
    case GRADUS_ARG_EDGES_2:
    case GRADUS_ARG_EDGES_3:
      return read_edges (spec, config, node, arg);
    case GRADUS_ARG_TEXT:
      return read_text (spec, config, arg);
    case GRADUS_ARG_FLOATS:
      return read_floats (spec, config, node, arg);
    case GRADUS_ARG_FORMULA:
      return read_text (spec, config, arg) && gradus_layer_arg_read_formula (spec, config, arg);
    case GRADUS_ARG_NAMES:
      return gradus_layer_arg_read_names (spec, config, arg);
    case GRADUS_ARG_VARIABLES:
      return gradus_layer_arg_read_variables (spec, config, arg);
    case GRADUS_ARG_PADDING:
      arg->i = gradus_json_enum (config, spec->name, padding_names, 0);
      break;
    case GRADUS_ARG_CAUSAL:
      arg->i = gradus_json_enum (config, spec->name, causal_names, 0);
      break;
    case GRADUS_ARG_INTERPOLATION:
      arg->i = gradus_json_enum (config, spec->name, interpolation_names, 0);
      break;
    case GRADUS_ARG_ACTIVATION:
      return read_activation (spec, config, node, arg);
    case GRADUS_ARG_INITIALIZER:
      return gradus_initializer_read (&arg->initializer, config, spec->name, node);
    case GRADUS_ARG_REGULARIZER:
      return gradus_regularizer_read (&arg->regularizer, config, spec->name, node);
    case GRADUS_ARG_CONSTRAINT:
      return gradus_constraint_read (&arg->constraint, config, spec->name, node);
    case GRADUS_ARG_SEED:
      arg->i = gradus_json_int (config, spec->name, G_MININT64, G_MAXINT64, 0);
      break;
    case GRADUS_ARG_LAYER:
      return read_layer (spec, config, arg);
    case GRADUS_ARG_MERGE_MODE:
      arg->i = gradus_json_enum (config, spec->name, merge_names, 0);
      break;
    case GRADUS_ARG_UNUSED:
    case GRADUS_ARG_ONLY:
      g_assert_not_reached ();
    }
  return !gradus_json_failed (config);
}

gboolean
gradus_layer_read_args (GradusLayer *self, GradusJsonObject *config)
{
  for (guint i = 0; i < n_args (self->klass); i++)
    {
      const GradusArgSpec *spec = &self->klass->args[i];
      JsonNode            *node = gradus_json_node (config, spec->name);
      GradusArg           *arg = &self->args[i];

      if (spec->kind == GRADUS_ARG_ONLY)
        {
          if (node != NULL && !read_only (spec, config, node))
            return FALSE;
        }
      else if (spec->kind == GRADUS_ARG_UNUSED)
        continue;
      else if (node != NULL && !JSON_NODE_HOLDS_NULL (node))
        {
          if (!read_arg (spec, config, node, arg))
            return FALSE;
        }
      else if (spec->fallback == NULL)
        {
          gradus_json_require (config, spec->name, NULL);
          return FALSE;
        }
      else if (!read_fallback (spec, arg))
        return FALSE;
    }
  return !gradus_json_failed (config);
}

/* [1, 2] for one axis, [[1, 2], [0, 1]] for more. */
static void
write_edges (const GradusArg *arg, JsonNode *node)
{
  JsonArray *axes = json_array_new (), *edge = axes;

  for (guint i = 0; i < arg->n; i++)
    {
      if (arg->n > 2 && i % 2 == 0)
        {
          edge = json_array_new ();
          json_array_add_array_element (axes, edge);
        }
      json_array_add_int_element (edge, arg->ints[i]);
    }
  json_node_init_array (node, axes);
  json_array_unref (axes);
}

static JsonNode *
write_layer (const GradusLayer *layer)
{
  JsonObject *object = json_object_new (), *config = json_object_new ();
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  json_object_set_string_member (config, "name", layer->name);
  json_object_set_boolean_member (config, "trainable", layer->trainable);
  gradus_layer_write_args (layer, config);
  json_object_set_string_member (object, "module", layer->klass->module != NULL ? layer->klass->module : "keras.layers");
  json_object_set_string_member (object, "class_name", layer->klass->name);
  json_object_set_object_member (object, "config", config);
  json_object_set_null_member (object, "registered_name");
  json_node_take_object (node, object);
  return node;
}

static JsonNode *
write_arg (const GradusArgSpec *spec, const GradusArg *arg)
{
  JsonNode  *node = json_node_new (JSON_NODE_VALUE);
  JsonArray *array;

  if (spec->kind == GRADUS_ARG_ONLY || arg->is_null)
    {
      json_node_unref (node);
      return gradus_json_parse (spec->fallback, -1, "", NULL);
    }
  switch (spec->kind)
    {
    case GRADUS_ARG_INT:
    case GRADUS_ARG_SEED:
      json_node_set_int (node, arg->i);
      break;
    case GRADUS_ARG_FLOAT:
      json_node_set_double (node, arg->f);
      break;
    case GRADUS_ARG_BOOL:
      json_node_set_boolean (node, arg->i != 0);
      break;
    case GRADUS_ARG_NAMES:
      json_node_unref (node);
      return gradus_layer_arg_write_names (arg);
    case GRADUS_ARG_VARIABLES:
      json_node_unref (node);
      return gradus_layer_arg_write_variables (arg);
    case GRADUS_ARG_FORMULA:
    case GRADUS_ARG_TEXT:
      json_node_set_string (node, arg->text);
      break;
    case GRADUS_ARG_FLOATS:
      array = json_array_new ();
      for (guint i = 0; i < arg->floats->len; i++)
        json_array_add_double_element (array, g_array_index (arg->floats, double, i));
      json_node_init_array (node, array);
      json_array_unref (array);
      break;
    case GRADUS_ARG_AXES:
      if (arg->n == 1 && arg->ints[0] != GRADUS_ARG_NULL)
        {
          json_node_set_int (node, arg->ints[0]);
          break;
        }
      G_GNUC_FALLTHROUGH;
    case GRADUS_ARG_SINGLE:
    case GRADUS_ARG_PAIR:
    case GRADUS_ARG_TRIPLE:
    case GRADUS_ARG_DIMS:
      array = json_array_new ();
      for (guint i = 0; i < arg->n; i++)
        if (arg->ints[i] == GRADUS_ARG_NULL)
          json_array_add_null_element (array);
        else
          json_array_add_int_element (array, arg->ints[i]);
      json_node_init_array (node, array);
      json_array_unref (array);
      break;
    case GRADUS_ARG_EDGES_1:
    case GRADUS_ARG_EDGES_2:
    case GRADUS_ARG_EDGES_3:
      write_edges (arg, node);
      break;
    case GRADUS_ARG_PADDING:
    case GRADUS_ARG_CAUSAL:
      json_node_set_string (node, causal_names[arg->i]);
      break;
    case GRADUS_ARG_INTERPOLATION:
      json_node_set_string (node, interpolation_names[arg->i]);
      break;
    case GRADUS_ARG_ACTIVATION:
      json_node_set_string (node, arg->activation->name);
      break;
    case GRADUS_ARG_INITIALIZER:
      json_node_unref (node);
      return gradus_initializer_write (&arg->initializer);
    case GRADUS_ARG_REGULARIZER:
      json_node_unref (node);
      return gradus_regularizer_write (&arg->regularizer);
    case GRADUS_ARG_CONSTRAINT:
      json_node_unref (node);
      return gradus_constraint_write (&arg->constraint);
    case GRADUS_ARG_LAYER:
      json_node_unref (node);
      return write_layer (arg->layer);
    case GRADUS_ARG_MERGE_MODE:
      if (arg->i == GRADUS_MERGE_NONE)
        json_node_init_null (node);
      else
        json_node_set_string (node, merge_names[arg->i]);
      break;
    case GRADUS_ARG_UNUSED:
    case GRADUS_ARG_ONLY:
      break;
    }
  return node;
}

void
gradus_layer_write_args (const GradusLayer *self, JsonObject *config)
{
  for (guint i = 0; i < n_args (self->klass); i++)
    {
      const GradusArgSpec *spec = &self->klass->args[i];

      /* What can have one value only is left out, since not every version of Keras knows it; but
       * data_format's default is a setting of the reader's machine. */
      if (spec->kind == GRADUS_ARG_UNUSED)
        continue;
      if (spec->kind != GRADUS_ARG_ONLY || g_str_equal (spec->name, "data_format"))
        json_object_set_member (config, spec->name, write_arg (spec, &self->args[i]));
    }
}

const GradusArg *
gradus_layer_arg (const GradusLayer *self, const char *name)
{
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    if (g_str_equal (self->klass->args[i].name, name))
      return &self->args[i];
  g_assert_not_reached ();
}

const GradusArg *
gradus_layer_find_arg (const GradusLayer *self, const char *name)
{
  for (guint i = 0; self->klass->args != NULL && self->klass->args[i].name != NULL; i++)
    if (g_str_equal (self->klass->args[i].name, name))
      return self->klass->args[i].kind == GRADUS_ARG_ONLY ||
                     self->klass->args[i].kind == GRADUS_ARG_UNUSED || self->args[i].is_null
                 ? NULL
                 : &self->args[i];
  return NULL;
}

const GradusArg *
gradus_layer_weight_arg (const GradusLayer *self, const char *weight, const char *what)
{
  const char      *slash = strrchr (weight, '/');
  const char      *last = slash != NULL ? slash + 1 : weight;
  g_autofree char *own = g_strdup_printf ("%s_%s", last, what);
  const GradusArg *arg = gradus_layer_find_arg (self, own);
  g_autofree char *shorter = NULL;

  if (arg == NULL && g_str_has_suffix (last, "_kernel"))
    {
      shorter = g_strdup_printf ("%.*s_%s", (int) (strlen (last) - strlen ("_kernel")), last, what);
      arg = gradus_layer_find_arg (self, shorter);
    }
  /* The kernel of a depthwise convolution alone. */
  if (arg == NULL && g_str_equal (last, "kernel"))
    {
      g_autofree char *depthwise = g_strdup_printf ("depthwise_%s", what);

      arg = gradus_layer_find_arg (self, depthwise);
    }
  /* Of a layer inside this one it says so itself; without a layer of its own for the way back the
   * first does. */
  for (guint i = n_args (self->klass); arg == NULL && i-- > 0;)
    {
      const GradusLayer *inner = self->klass->args[i].kind == GRADUS_ARG_LAYER ? self->args[i].layer
                                                                               : NULL;
      gboolean back = g_str_equal (self->klass->args[i].name, "backward_layer");

      if (inner != NULL && (!back || g_str_has_prefix (weight, "backward_")))
        return gradus_layer_weight_arg (inner, weight, what);
    }
  return arg;
}

GradusValueId
gradus_layer_weight (const GradusLayer *self, GradusLayerBuild *build, const char *name)
{
  GradusWeightSpec weights[GRADUS_LAYER_MAX_WEIGHTS];
  guint            n = self->klass->weights (self, build->shapes, weights);
  g_autofree char *full = g_strdup_printf ("%s/%s", self->name, name);

  for (guint i = 0; i < n; i++)
    if (g_str_equal (weights[i].name, name))
      {
        gboolean fixed = weights[i].statistic || !self->trainable;

        return gradus_program_add_variable (build->program, full,
                                            fixed ? GRADUS_VARIABLE_STATISTIC
                                                  : GRADUS_VARIABLE_WEIGHT,
                                            GRADUS_DTYPE_FLOAT32, weights[i].shape);
      }
  g_assert_not_reached ();
}

guint64
gradus_layer_stream (const GradusLayer *self, const char *purpose)
{
  g_autofree char *text = g_strdup_printf ("%s/%s", self->name, purpose);

  return gradus_philox_stream (text);
}

gboolean
gradus_layer_finish (const GradusLayer *self,
                     GradusLayerBuild  *build,
                     GradusValueId      value,
                     GError           **error)
{
  const GradusActivation *activation = gradus_layer_arg (self, "activation")->activation;

  if (gradus_layer_arg (self, "use_bias")->i)
    {
      GradusValueId inputs[2] = { value, gradus_layer_weight (self, build, "bias") };

      if (!gradus_program_add_node (build->program, "bias_add", 0, inputs, 2, &value, error, NULL))
        return FALSE;
    }
  if (g_strcmp0 (activation->op, "softmax") == 0)
    build->logits = value;
  return gradus_activation_build (activation, build->program, value, &build->output, error);
}

gboolean
gradus_layer_named_axes (const GradusLayer *self, const GradusShape *shape, guint32 *mask, GError **error)
{
  const GradusArg *arg = gradus_layer_arg (self, "axis");
  guint32          named = 0;

  for (guint i = 0; i < MAX (1, arg->n); i++)
    {
      gint64 axis = arg->n > 0 ? arg->ints[i] : arg->i;
      gint64 at = axis < 0 ? axis + shape->rank : axis;

      if (at < 1 || at >= shape->rank || (named & (1u << at)) != 0)
        {
          g_autofree char *met = gradus_shape_to_string (shape);

          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("its axis is %d and its input has the shape %s, of which the first axis is "
                         "the batch. Name another axis, each once; -1 is the last."),
                       (int) axis, met);
          return FALSE;
        }
      named |= 1u << at;
    }
  if (mask != NULL)
    *mask = named;
  return TRUE;
}

gboolean
gradus_layer_axes_last (GradusLayerBuild *build, guint32 mask, gboolean back, GradusValueId *value, GError **error)
{
  guint  rank = build->shapes[0].rank, n = 0;
  gint64 perm[GRADUS_MAX_RANK], inverse[GRADUS_MAX_RANK];

  for (guint last = 0; last < 2; last++)
    for (guint i = 0; i < rank; i++)
      if (((mask >> i) & 1) == last)
        perm[n++] = i;
  for (guint i = 0; i < rank; i++)
    inverse[perm[i]] = i;
  if (mask >> (rank - __builtin_popcount (mask)) << (rank - __builtin_popcount (mask)) == mask)
    return TRUE;
  return gradus_program_add_node (build->program, "transpose", 0, value, 1, value, error, "perm", rank, back ? inverse : perm, NULL);
}
