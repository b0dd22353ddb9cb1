/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-constraint.h"

#include "gradus-error.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

typedef enum
{
  KIND_MAX_NORM,
  KIND_MIN_MAX_NORM,
  KIND_UNIT_NORM,
  KIND_NON_NEG,
  N_KINDS,
} Kind;

static const struct
{
  const char *class_name, *word;
  double      max;
} rows[N_KINDS] = {
  { "MaxNorm", "max_norm", 2 },
  { "MinMaxNorm", "min_max_norm", 1 },
  { "UnitNorm", "unit_norm", 1 },
  { "NonNeg", "non_neg", 0 },
};

static gboolean
find_kind (const char *name, guint *kind)
{
  for (*kind = 0; *kind < N_KINDS; (*kind)++)
    if (g_str_equal (name, rows[*kind].class_name) || g_str_equal (name, rows[*kind].word))
      return TRUE;
  return FALSE;
}

static void
read_axes (GradusConstraint *self, GradusJsonObject *config)
{
  JsonNode *node = gradus_json_node (config, "axis");
  g_autoptr (GradusJsonArray) list = NULL;

  if (node == NULL || !JSON_NODE_HOLDS_ARRAY (node))
    {
      self->axes[0] = gradus_json_int (config, "axis", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1, 0);
      return;
    }
  if ((list = gradus_json_array (config, "axis", GRADUS_MAX_RANK)) == NULL)
    return;
  self->n_axes = gradus_json_array_length (list);
  for (guint i = 0; i < self->n_axes; i++)
    self->axes[i] = gradus_json_array_int (list, i, -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1);
  if (self->n_axes == 0)
    gradus_json_refuse (config, "axis", _("Name at least one axis."));
}

static void
read_config (GradusConstraint *self, GradusJsonObject *config)
{
  if (self->kind == KIND_NON_NEG)
    return;
  read_axes (self, config);
  if (self->kind == KIND_UNIT_NORM)
    return;
  self->max = gradus_json_double (config, "max_value", 0, 1e30, self->max);
  if (self->kind == KIND_MAX_NORM)
    return;
  self->min = gradus_json_double (config, "min_value", 0, 1e30, self->min);
  self->rate = gradus_json_double (config, "rate", 0, 1, self->rate);
  if (self->min > self->max)
    gradus_json_refuse (config, "min_value", _("The least norm must not be above the greatest."));
}

gboolean
gradus_constraint_read (GradusConstraint *self,
                        GradusJsonObject *cursor,
                        const char       *key,
                        JsonNode         *node)
{
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  const char *name;

  *self = (GradusConstraint){ .rate = 1, .n_axes = 1 };
  if (JSON_NODE_HOLDS_VALUE (node))
    name = gradus_json_string (cursor, key, NULL);
  else
    {
      if ((object = gradus_json_object (cursor, key)) == NULL)
        return FALSE;
      gradus_json_ignore (object, "module", "registered_name", "build_config", NULL);
      gradus_json_require (object, "class_name", NULL);
      name = gradus_json_string (object, "class_name", NULL);
      config = gradus_json_object (object, "config");
    }
  if (name == NULL || gradus_json_failed (cursor))
    return FALSE;
  if (!find_kind (name, &self->kind))
    {
      gradus_json_refuse (object ? object : cursor, object ? "class_name" : key,
                          _("There is no constraint “%s”; choose “MaxNorm”, “MinMaxNorm”, “UnitNorm” "
                            "or “NonNeg”."),
                          name);
      return FALSE;
    }
  self->max = rows[self->kind].max;
  self->min = self->kind == KIND_UNIT_NORM ? 1 : 0;
  if (config != NULL)
    read_config (self, config);
  return (config == NULL || gradus_json_end (config, NULL)) &&
         (object == NULL || gradus_json_end (object, NULL));
}

JsonNode *
gradus_constraint_write (const GradusConstraint *self)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  if (self->kind == KIND_MIN_MAX_NORM)
    {
      json_object_set_double_member (config, "min_value", self->min);
      json_object_set_double_member (config, "rate", self->rate);
    }
  if (self->kind <= KIND_MIN_MAX_NORM)
    json_object_set_double_member (config, "max_value", self->max);
  if (self->kind != KIND_NON_NEG && self->n_axes == 1)
    json_object_set_int_member (config, "axis", self->axes[0]);
  else if (self->kind != KIND_NON_NEG)
    {
      JsonArray *axes = json_array_new ();

      for (guint i = 0; i < self->n_axes; i++)
        json_array_add_int_element (axes, self->axes[i]);
      json_object_set_array_member (config, "axis", axes);
    }
  json_object_set_string_member (object, "module", "keras.constraints");
  json_object_set_string_member (object, "class_name", rows[self->kind].class_name);
  json_object_set_object_member (object, "config", config);
  json_object_set_null_member (object, "registered_name");
  json_node_take_object (node, object);
  return node;
}

gboolean
gradus_constraint_build (const GradusConstraint *self,
                         GradusProgram          *program,
                         GradusValueId           variable,
                         GError                **error)
{
  gint64 rank = gradus_program_value (program, variable)->type.shape.rank;
  gint64 axes[GRADUS_MAX_RANK];

  if (self->kind == KIND_NON_NEG)
    return gradus_program_add_node (program, "constrain_positive", 0, &variable, 1, NULL, error, NULL);
  for (guint i = 0; i < self->n_axes; i++)
    {
      axes[i] = self->axes[i] < 0 ? self->axes[i] + rank : self->axes[i];
      if (axes[i] >= 0 && axes[i] < rank)
        continue;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("The constraint of “%s” names the axis %" PRId64 ", but the weight has %" PRId64
                      " axes. Name one that is there."),
                   gradus_program_value (program, variable)->name, self->axes[i], rank);
      return FALSE;
    }
  return gradus_program_add_node (program, "constrain_norm", 0, &variable, 1, NULL, error, "axes",
                                  self->n_axes, axes, "min", self->min, "max", self->max, "rate",
                                  self->rate, NULL);
}
