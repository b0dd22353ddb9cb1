/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-recipe-schema.h"

#include <glib/gi18n-lib.h>

#include "source/gradus-source.h"
#include "source/gradus-vectorize.h"

/* Sources ------------------------------------------------------------------------------------ */

static const char *const later_source_names[] = { "npy",      "npz",    "image_folder",
                                                  "tfrecord", "packed", NULL };
static const char *const all_source_names[] = {
  "idx", "generator", "npy", "npz", "csv", "image_folder", "tfrecord", "text", "packed", NULL
};
static const char *const generator_names[] = { "line", "blobs", "moons",      "circles", "spirals",
                                               "xor",  "sine",  "regression", "shapes",  NULL };

/* A file, or an object with the file of each of the model's inputs. */
static void
check_inputs (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  JsonNode *node = gradus_json_node (object, field->name);
  g_autoptr (GradusJsonObject) by_name = NULL;
  g_autoptr (GList) names = NULL;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      gradus_field_apply_path (object, field->name, context);
      return;
    }
  by_name = gradus_json_object (object, field->name);
  names = json_object_get_members (gradus_json_peek (by_name));
  for (GList *l = names; l != NULL; l = l->next)
    gradus_field_apply_path (by_name, l->data, context);
}

/* Likewise, or the word "inputs", which is no file. */
static void
check_targets (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  if (!gradus_source_echoes (object))
    check_inputs (object, field, context);
}

static const GradusField idx_fields[] = {
  { "inputs", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_inputs },
  { "targets", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_targets },
  { "class_names", GRADUS_FIELD_STRINGS },
  { "fingerprint", GRADUS_FIELD_STRING },
  { NULL },
};

static void
check_generator (GradusJsonObject         *object,
                 const GradusField        *field,
                 const GradusFieldContext *context)
{
  gradus_json_enum (object, field->name, generator_names, 0);
}

static const GradusField generator_fields[] = {
  { "generator", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_generator },
  { "samples", GRADUS_FIELD_INT, 1, 100000000, "1024" },
  { "noise", GRADUS_FIELD_NUMBER, 0, 1e6, "0.1" },
  { "features", GRADUS_FIELD_INT, 1, 4096 },
  { "classes", GRADUS_FIELD_INT, 2, 4096 },
  { "size", GRADUS_FIELD_INT, 16, 256 },
  { "targets", GRADUS_FIELD_STRINGS },
  { "fingerprint", GRADUS_FIELD_STRING },
  { NULL },
};

/* Columns: a name, a list of names, or these by the model's names. The source reads them. */
static void
check_columns (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  gradus_json_node (object, field->name);
}

static const GradusField csv_fields[] = {
  { "file", GRADUS_FIELD_PATH, .required = TRUE },
  { "inputs", GRADUS_FIELD_CHECK, .check = check_columns },
  { "targets", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_columns },
  { "categorical", GRADUS_FIELD_STRINGS },
  { "missing", GRADUS_FIELD_STRINGS },
  { "weights", GRADUS_FIELD_STRING },
  { "header", GRADUS_FIELD_CHECK, .fallback = "\"auto\"", .check = check_columns },
  { "delimiter", GRADUS_FIELD_STRING, .fallback = "\"auto\"" },
  { "class_names", GRADUS_FIELD_STRINGS },
  { "fingerprint", GRADUS_FIELD_STRING },
  { NULL },
};

static const GradusField text_fields[] = {
  { "file", GRADUS_FIELD_PATH, .required = TRUE },
  { "column", GRADUS_FIELD_STRING, .required = TRUE },
  { "targets", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_columns },
  { "categorical", GRADUS_FIELD_STRINGS },
  { "missing", GRADUS_FIELD_STRINGS },
  { "weights", GRADUS_FIELD_STRING },
  { "header", GRADUS_FIELD_CHECK, .fallback = "\"auto\"", .check = check_columns },
  { "delimiter", GRADUS_FIELD_STRING, .fallback = "\"auto\"" },
  { "class_names", GRADUS_FIELD_STRINGS },
  { "fingerprint", GRADUS_FIELD_STRING },
  { NULL },
};

static void
refuse_source_type (GradusJsonObject *source, const char *type)
{
  const char *near = NULL;

  if (g_strv_contains (later_source_names, type))
    {
      gradus_json_refuse_unavailable_but (source, "type", type, "idx", "generator");
      return;
    }
  near = gradus_json_nearest (type, all_source_names);
  if (near != NULL)
    gradus_json_refuse (source, "type", _ ("“%s” is not known; did you mean “%s”?"), type, near);
  else
    gradus_json_refuse (source, "type",
                        _ ("“%s” is not known; “idx” or “generator” would be right."), type);
}

static void
apply_source (GradusJsonObject *source, const GradusFieldContext *context)
{
  const char *type = gradus_json_string (source, "type", NULL);

  gradus_json_require (source, "type", NULL);
  if (type == NULL)
    return;
  if (g_str_equal (type, "idx"))
    gradus_fields_apply (source, idx_fields, context);
  else if (g_str_equal (type, "generator"))
    gradus_fields_apply (source, generator_fields, context);
  else if (g_str_equal (type, "csv"))
    gradus_fields_apply (source, csv_fields, context);
  else if (g_str_equal (type, "text"))
    gradus_fields_apply (source, text_fields, context);
  else
    refuse_source_type (source, type);
}

void
gradus_recipe_check_source (GradusJsonObject         *object,
                            const GradusField        *field,
                            const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) source = gradus_json_object (object, field->name);

  if (source != NULL)
    apply_source (source, context);
}

static const GradusField split_fields[] = {
  { "split", GRADUS_FIELD_NUMBER, 1e-6, 0.999999, .required = TRUE },
  GRADUS_FIELD_IS_LATER ("stratify"),
  GRADUS_FIELD_IS_LATER ("by"),
  { "fingerprint", GRADUS_FIELD_STRING },
  { NULL },
};

void
gradus_recipe_check_validation (GradusJsonObject         *object,
                                const GradusField        *field,
                                const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) part = gradus_json_object (object, field->name);

  if (part == NULL)
    return;
  if (gradus_json_has (part, "folds"))
    gradus_json_refuse_unavailable (part, "folds", "folds");
  else if (gradus_json_has (part, "type"))
    apply_source (part, context);
  else
    gradus_fields_apply (part, split_fields, context);
}

/* Stages ------------------------------------------------------------------------------------- */

static const char *const later_stage_names[] = { "resize",  "crop",  "pad",    "filter",
                                                 "augment", "shard", "repeat", NULL };
static const char *const all_stage_names[] = { "rescale",  "cache",     "shuffle", "batch",
                                               "prefetch", "cast",      "one_hot", "normalize",
                                               "resize",   "crop",      "pad",     "fill_missing",
                                               "filter",   "vectorize", "augment", "shard",
                                               "repeat",   NULL };

static const GradusField rescale_fields[] = {
  { "scale", GRADUS_FIELD_NUMBER, -1e30, 1e30, "1.0" },
  { "offset", GRADUS_FIELD_NUMBER, -1e30, 1e30, "0.0" },
  { NULL },
};

static const GradusField one_hot_fields[] = {
  { "classes", GRADUS_FIELD_INT, 2, 1000000 },
  { NULL },
};

static const GradusField vectorize_fields[] = {
  { "vocabulary", GRADUS_FIELD_INT, 3, GRADUS_MAX_VOCABULARY, "10000" },
  { "length", GRADUS_FIELD_INT, 1, GRADUS_MAX_WORDS, .required = TRUE },
  { "standardize", GRADUS_FIELD_STRING, .fallback = "\"lower_and_strip_punctuation\"" },
  { "split", GRADUS_FIELD_STRING, .fallback = "\"whitespace\"" },
  { NULL },
};

static const GradusField fill_fields[] = {
  { "value", GRADUS_FIELD_CHECK, .fallback = "\"mean\"", .check = check_columns },
  { NULL },
};

static const GradusField normalize_fields[] = {
  { "fit", GRADUS_FIELD_STRING, .fallback = "\"train\"" },
  { NULL },
};

static const GradusField batch_fields[] = {
  { "size", GRADUS_FIELD_INT, 1, GRADUS_RECIPE_MAX_BATCH, .required = TRUE },
  { "drop_remainder", GRADUS_FIELD_BOOLEAN, .fallback = "false" },
  GRADUS_FIELD_IS_LATER ("pad"),
  GRADUS_FIELD_IS_LATER ("balance"),
  GRADUS_FIELD_IS_LATER ("buckets"),
  { NULL },
};

static void
check_stage_object (GradusJsonObject         *stage,
                    const char               *name,
                    const GradusField        *fields,
                    const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) settings = gradus_json_object (stage, name);

  if (settings != NULL)
    gradus_fields_apply (settings, fields, context);
}

/* A stage that is one word, such as {"cache": "memory"}. */
static void
check_stage_word (GradusJsonObject *stage, const char *name, const char *right)
{
  const char *word = NULL;

  if (JSON_NODE_HOLDS_OBJECT (gradus_json_node (stage, name)))
    {
      gradus_json_refuse_unavailable (stage, name, name);
      return;
    }
  word = gradus_json_string (stage, name, NULL);
  if (word != NULL && !g_str_equal (word, right))
    gradus_json_refuse (stage, name, _ ("“%s” is not known; “%s” would be right."), word, right);
}

static void
check_stage_value (GradusJsonObject *stage, const char *name, const GradusFieldContext *context)
{
  JsonNode *node = gradus_json_node (stage, name);
  gboolean  is_object = JSON_NODE_HOLDS_OBJECT (node);

  if (g_str_equal (name, "rescale"))
    check_stage_object (stage, name, rescale_fields, context);
  else if (g_str_equal (name, "one_hot"))
    check_stage_object (stage, name, one_hot_fields, context);
  else if (g_str_equal (name, "vectorize"))
    check_stage_object (stage, name, vectorize_fields, context);
  else if (g_str_equal (name, "fill_missing"))
    check_stage_object (stage, name, fill_fields, context);
  else if (g_str_equal (name, "normalize"))
    check_stage_object (stage, name, normalize_fields, context);
  else if (g_str_equal (name, "cache"))
    check_stage_word (stage, name, "memory");
  else if (g_str_equal (name, "cast"))
    check_stage_word (stage, name, "float32");
  else if (g_str_equal (name, "shuffle") && is_object)
    gradus_json_refuse_unavailable (stage, name, _ ("shuffle window"));
  else if (g_str_equal (name, "shuffle"))
    gradus_json_bool (stage, name, TRUE);
  else if (g_str_equal (name, "batch") && is_object)
    check_stage_object (stage, name, batch_fields, context);
  else if (g_str_equal (name, "batch"))
    gradus_json_int (stage, name, 1, GRADUS_RECIPE_MAX_BATCH, 1);
  else if (json_node_get_value_type (node) == G_TYPE_STRING)
    check_stage_word (stage, name, "auto");
  else
    gradus_json_int (stage, name, 0, 1024, 0);
}

static void
check_stage (GradusJsonObject *stage, GHashTable *seen, const GradusFieldContext *context)
{
  g_autoptr (GList) members = json_object_get_members (gradus_json_peek (stage));
  const char *name = members != NULL ? members->data : NULL;
  const char *near = NULL;

  if (name == NULL || members->next != NULL)
    {
      gradus_json_refuse (
          stage, NULL, _ ("A stage is an object with exactly one key, such as {\"batch\": 64}."));
      return;
    }
  if (g_strv_contains (later_stage_names, name))
    gradus_json_refuse_unavailable (stage, name, name);
  else if (!g_strv_contains (all_stage_names, name))
    {
      near = gradus_json_nearest (name, all_stage_names);
      if (near != NULL)
        gradus_json_refuse (stage, name, _ ("There is no such stage; did you mean “%s”?"), near);
      else
        gradus_json_refuse (stage, name, _ ("There is no such stage."));
    }
  else if (!g_hash_table_add (seen, g_strdup (name)))
    gradus_json_refuse (stage, name, _ ("The stage stands there twice; leave one out."));
  else if (!gradus_json_has (stage, name))
    gradus_json_refuse (stage, name, _ ("null is no setting; leave the stage out."));
  else
    check_stage_value (stage, name, context);
}

static void
check_stages (GradusJsonObject *object, const char *key, const GradusFieldContext *context)
{
  g_autoptr (GradusJsonArray) list = NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  if (!gradus_json_has (object, key))
    json_object_set_array_member (gradus_json_peek (object), key, json_array_new ());
  list = gradus_json_array (object, key, 100);
  if (list == NULL)
    return;
  for (guint i = 0; i < gradus_json_array_length (list); i++)
    {
      g_autoptr (GradusJsonObject) stage = gradus_json_array_object (list, i);

      if (stage != NULL)
        check_stage (stage, seen, context);
    }
  if (!gradus_json_failed (object) && !g_hash_table_contains (seen, "batch"))
    gradus_recipe_add_stage (gradus_json_peek (object), "batch",
                             json_node_init_int (json_node_alloc (), 32));
}

void
gradus_recipe_add_stage (JsonObject *data, const char *name, JsonNode *value)
{
  JsonArray  *stages = json_object_get_array_member (data, "pipeline");
  JsonArray  *result = json_array_new ();
  JsonObject *stage = json_object_new ();
  guint       n = json_array_get_length (stages);
  guint       at = n;

  /* In front of the prefetch, which comes last. */
  if (n > 0 && json_object_has_member (json_array_get_object_element (stages, n - 1), "prefetch"))
    at = n - 1;
  json_object_set_member (stage, name, value);
  for (guint i = 0; i <= n; i++)
    {
      if (i == at)
        json_array_add_object_element (result, stage);
      if (i < n)
        json_array_add_element (result, json_node_copy (json_array_get_element (stages, i)));
    }
  json_object_set_array_member (data, "pipeline", result);
}

void
gradus_recipe_check_pipeline (GradusJsonObject         *object,
                              const GradusField        *field,
                              const GradusFieldContext *context)
{
  check_stages (object, field->name, context);
}

void
gradus_recipe_check_on_error (GradusJsonObject         *object,
                              const GradusField        *field,
                              const GradusFieldContext *context)
{
  JsonNode *node = gradus_json_node (object, field->name);

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    gradus_json_refuse_unavailable (object, field->name, "skip");
  else if (gradus_json_has (object, field->name))
    check_stage_word (object, field->name, "stop");
}
