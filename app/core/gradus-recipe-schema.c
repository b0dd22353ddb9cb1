/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-recipe-schema.h"

#include <glib/gi18n-lib.h>

/* Top level ---------------------------------------------------------------------------------- */

static const GradusField data_fields[] = {
  { "train", GRADUS_FIELD_CHECK, .required = TRUE, .check = gradus_recipe_check_source },
  { "validation", GRADUS_FIELD_CHECK, .check = gradus_recipe_check_validation },
  { "test", GRADUS_FIELD_CHECK, .check = gradus_recipe_check_source },
  { "pipeline", GRADUS_FIELD_CHECK, .check = gradus_recipe_check_pipeline },
  { "on_error", GRADUS_FIELD_CHECK, .fallback = "\"stop\"", .check = gradus_recipe_check_on_error },
  { NULL },
};

static void
check_model (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) model = gradus_json_object (object, field->name);
  const char *class_name = NULL;

  if (model == NULL)
    return;
  class_name = gradus_json_string (model, "class_name", NULL);
  gradus_json_require (model, "class_name", "config", NULL);
  if (class_name != NULL && !g_str_equal (class_name, "Sequential")
      && !g_str_equal (class_name, "Functional") && !g_str_equal (class_name, "Model"))
    gradus_json_refuse (model, "class_name",
                        _ ("“%s” is not a model; “Sequential” or “Functional” would be right."),
                        class_name);
}

const GradusField gradus_recipe_fields[] = {
  { "name", GRADUS_FIELD_STRING, .fallback = "\"run\"" },
  { "seed", GRADUS_FIELD_INT, 0, 9007199254740992., "0" },
  { "note", GRADUS_FIELD_STRING },
  { "tags", GRADUS_FIELD_STRINGS },
  { "data", GRADUS_FIELD_OBJECT, .required = TRUE, .members = data_fields },
  { "model", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_model },
  { "compile", GRADUS_FIELD_PART, .required = TRUE },
  { "fit", GRADUS_FIELD_PART },
  { "log", GRADUS_FIELD_PART },
  { "checkpoints", GRADUS_FIELD_PART },
  { NULL },
};

/* Applying ----------------------------------------------------------------------------------- */

static void
ensure_object (GradusJsonObject *object, const char *key)
{
  if (!gradus_json_has (object, key))
    json_object_set_object_member (gradus_json_peek (object), key, json_object_new ());
}

static void
set_default (GradusJsonObject *object, const GradusField *field)
{
  if (field->fallback != NULL)
    json_object_set_member (gradus_json_peek (object), field->name,
                            json_from_string (field->fallback, NULL));
}

static void
apply_int (GradusJsonObject *object, const GradusField *field)
{
  gint64 value = gradus_json_int (object, field->name, (gint64)field->min, (gint64)field->max,
                                  (gint64)field->min);

  if (!gradus_json_failed (object))
    json_object_set_int_member (gradus_json_peek (object), field->name, value);
}

static void
apply_number (GradusJsonObject *object, const GradusField *field)
{
  double value = gradus_json_double (object, field->name, field->min, field->max, field->min);

  if (!gradus_json_failed (object))
    json_object_set_double_member (gradus_json_peek (object), field->name, value);
}

void
gradus_field_apply_path (GradusJsonObject         *object,
                         const char               *key,
                         const GradusFieldContext *context)
{
  const char      *path = gradus_json_string (object, key, NULL);
  g_autofree char *absolute = NULL;

  if (path == NULL)
    return;
  if (*path == '\0')
    {
      gradus_json_refuse (object, key, _ ("The path is empty; a file would be right."));
      return;
    }
  absolute = g_canonicalize_filename (path, context->base);
  json_object_set_string_member (gradus_json_peek (object), key, absolute);
}

static void
apply_strings (GradusJsonObject *object, const GradusField *field)
{
  g_autoptr (GradusJsonArray) list = gradus_json_array (object, field->name, 100000);

  for (guint i = 0; list != NULL && i < gradus_json_array_length (list); i++)
    gradus_json_array_string (list, i);
}

/* What a later version brings may stand there switched off. */
static void
apply_later (GradusJsonObject *object, const GradusField *field)
{
  JsonNode *node = gradus_json_node (object, field->name);

  if (json_node_get_value_type (node) == G_TYPE_BOOLEAN && !json_node_get_boolean (node))
    return;
  gradus_json_unavailable (object, field->name, NULL);
}

static void
apply_present (GradusJsonObject         *object,
               const GradusField        *field,
               const GradusFieldContext *context)
{
  switch (field->kind)
    {
    case GRADUS_FIELD_STRING:
      gradus_json_string (object, field->name, NULL);
      break;
    case GRADUS_FIELD_PATH:
      gradus_field_apply_path (object, field->name, context);
      break;
    case GRADUS_FIELD_INT:
      apply_int (object, field);
      break;
    case GRADUS_FIELD_NUMBER:
      apply_number (object, field);
      break;
    case GRADUS_FIELD_BOOLEAN:
      gradus_json_bool (object, field->name, FALSE);
      break;
    case GRADUS_FIELD_STRINGS:
      apply_strings (object, field);
      break;
    case GRADUS_FIELD_LATER:
      apply_later (object, field);
      break;
    case GRADUS_FIELD_OBJECT:
    case GRADUS_FIELD_PART:
    case GRADUS_FIELD_CHECK:
      g_assert_not_reached ();
    }
}

static void
apply_field (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) child = NULL;

  if (field->required)
    gradus_json_require (object, field->name, NULL);
  if (field->kind == GRADUS_FIELD_CHECK)
    {
      field->check (object, field, context);
      if (!gradus_json_has (object, field->name))
        set_default (object, field);
    }
  else if (field->kind == GRADUS_FIELD_OBJECT || field->kind == GRADUS_FIELD_PART)
    {
      if (!field->required)
        ensure_object (object, field->name);
      child = gradus_json_object (object, field->name);
      if (child != NULL && field->kind == GRADUS_FIELD_OBJECT)
        gradus_fields_apply (child, field->members, context);
    }
  else if (gradus_json_has (object, field->name))
    apply_present (object, field, context);
  else
    set_default (object, field);
}

void
gradus_fields_apply (GradusJsonObject         *object,
                     const GradusField        *fields,
                     const GradusFieldContext *context)
{
  /* Unknown keys first: a default that is written in would no longer be suggested for one. */
  for (guint i = 0; fields[i].name != NULL; i++)
    gradus_json_ignore (object, fields[i].name, NULL);
  gradus_json_end (object, NULL);
  for (guint i = 0; fields[i].name != NULL; i++)
    apply_field (object, &fields[i], context);
}
