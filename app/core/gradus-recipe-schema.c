/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-recipe-schema.h"

#include <glib/gi18n-lib.h>
#include <math.h>

/* Names -------------------------------------------------------------------------------------- */

static const char *const optimizer_names[] = { "SGD", "Adam", NULL };

static const char *const later_optimizer_names[] = { "AdamW",  "RMSprop",   "Adagrad", "Adadelta",
                                                     "Adamax", "Nadam",     "Ftrl",    "Lion",
                                                     "Lamb",   "Adafactor", NULL };

static const char *const loss_names[] = { "sparse_categorical_crossentropy",
                                          "categorical_crossentropy", "mean_squared_error", NULL };

/* Keras's short names and class names, for what stands in the list above. */
static const struct
{
  const char *alias;
  const char *name;
} loss_aliases[] = {
  { "mse", "mean_squared_error" },
  { "MSE", "mean_squared_error" },
  { "MeanSquaredError", "mean_squared_error" },
  { "SparseCategoricalCrossentropy", "sparse_categorical_crossentropy" },
  { "CategoricalCrossentropy", "categorical_crossentropy" },
};

static const char *const later_loss_names[] = { "binary_crossentropy",
                                                "mean_absolute_error",
                                                "mae",
                                                "huber",
                                                "hinge",
                                                "squared_hinge",
                                                "categorical_hinge",
                                                "kl_divergence",
                                                "kld",
                                                "poisson",
                                                "log_cosh",
                                                "cosine_similarity",
                                                "mean_absolute_percentage_error",
                                                "mean_squared_logarithmic_error",
                                                "binary_focal_crossentropy",
                                                "categorical_focal_crossentropy",
                                                "ctc",
                                                "dice",
                                                "tversky",
                                                NULL };

static const char *const metric_names[] = { "accuracy", NULL };

static const char *const later_metric_names[] = { "sparse_categorical_accuracy",
                                                  "categorical_accuracy",
                                                  "binary_accuracy",
                                                  "top_k_categorical_accuracy",
                                                  "sparse_top_k_categorical_accuracy",
                                                  "precision",
                                                  "recall",
                                                  "auc",
                                                  "f1_score",
                                                  "mean_squared_error",
                                                  "mse",
                                                  "mean_absolute_error",
                                                  "mae",
                                                  "root_mean_squared_error",
                                                  "r2_score",
                                                  "mean_io_u",
                                                  NULL };

static const char *const mode_names[] = { "auto", "min", "max", NULL };
static const char *const device_names[] = { "cpu", NULL };
static const char *const nonfinite_names[] = { "stop", "skip", "ignore", NULL };

const char *const *
gradus_recipe_optimizers (void)
{
  return optimizer_names;
}

const char *const *
gradus_recipe_losses (void)
{
  return loss_names;
}

const char *const *
gradus_recipe_metrics (void)
{
  return metric_names;
}

/* compile ------------------------------------------------------------------------------------ */

static void
check_learning_rate (GradusJsonObject         *object,
                     const GradusField        *field,
                     const GradusFieldContext *context)
{
  JsonNode *node = gradus_json_node (object, field->name);

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    gradus_json_refuse_unavailable (object, field->name, "learning rate schedule");
  else
    gradus_json_double (object, field->name, field->min, field->max, 0);
}

#define OPTIMIZER_FIELDS_LATER                                                                     \
  GRADUS_FIELD_IS_LATER ("weight_decay"), GRADUS_FIELD_IS_LATER ("clipnorm"),                      \
      GRADUS_FIELD_IS_LATER ("clipvalue"), GRADUS_FIELD_IS_LATER ("global_clipnorm"),              \
      GRADUS_FIELD_IS_LATER ("use_ema"), GRADUS_FIELD_IS_LATER ("loss_scale_factor"),              \
      GRADUS_FIELD_IS_LATER ("gradient_accumulation_steps"),                                       \
  {                                                                                                \
    "name", GRADUS_FIELD_STRING, .help = N_ ("A label; changes nothing")                           \
  }

static const GradusField sgd_fields[] = {
  { "learning_rate", GRADUS_FIELD_CHECK, 0, 1e6, "0.01", .check = check_learning_rate,
    .help = N_ ("Step size") },
  { "momentum", GRADUS_FIELD_NUMBER, 0, 1, "0.0", .help = N_ ("Share of the last update kept") },
  { "nesterov", GRADUS_FIELD_BOOLEAN, .fallback = "false", .help = N_ ("Look ahead") },
  OPTIMIZER_FIELDS_LATER,
  { NULL },
};

static const GradusField adam_fields[] = {
  { "learning_rate", GRADUS_FIELD_CHECK, 0, 1e6, "0.001", .check = check_learning_rate,
    .help = N_ ("Step size") },
  { "beta_1", GRADUS_FIELD_NUMBER, 0, 0.9999999, "0.9", .help = N_ ("Decay of the first moment") },
  { "beta_2", GRADUS_FIELD_NUMBER, 0, 0.9999999, "0.999",
    .help = N_ ("Decay of the second moment") },
  { "epsilon", GRADUS_FIELD_NUMBER, 0, 1, "1e-7", .help = N_ ("Added to the divisor") },
  GRADUS_FIELD_IS_LATER ("amsgrad"),
  OPTIMIZER_FIELDS_LATER,
  { NULL },
};

const GradusField *
gradus_recipe_optimizer_fields (const char *class_name)
{
  if (g_strcmp0 (class_name, "SGD") == 0)
    return sgd_fields;
  return g_strcmp0 (class_name, "Adam") == 0 ? adam_fields : NULL;
}

/* "adam" as Keras's compile() takes it becomes {"class_name": "Adam", "config": {}}. */
static void
expand_class (GradusJsonObject *object, const char *key, const char *const *names)
{
  JsonNode   *node = gradus_json_node (object, key);
  JsonObject *expanded = NULL;
  const char *name = NULL;

  if (node == NULL || json_node_get_value_type (node) != G_TYPE_STRING)
    return;
  name = json_node_get_string (node);
  for (guint i = 0; names[i] != NULL; i++)
    if (g_ascii_strcasecmp (names[i], name) == 0)
      name = names[i];
  expanded = json_object_new ();
  json_object_set_string_member (expanded, "class_name", name);
  json_object_set_object_member (expanded, "config", json_object_new ());
  json_object_set_object_member (gradus_json_peek (object), key, expanded);
}

static void
ensure_object (GradusJsonObject *object, const char *key)
{
  if (!gradus_json_has (object, key))
    json_object_set_object_member (gradus_json_peek (object), key, json_object_new ());
}

static void
refuse_name (GradusJsonObject  *object,
             const char        *key,
             const char        *name,
             const char *const *names,
             const char *const *later)
{
  const char      *near = NULL;
  g_autofree char *list = NULL;

  if (g_strv_contains (later, name))
    {
      gradus_json_refuse_unavailable (object, key, name);
      return;
    }
  near = gradus_json_nearest (name, names);
  list = g_strjoinv (", ", (char **)names);
  if (near != NULL)
    gradus_json_refuse (object, key, _ ("“%s” is not known; did you mean “%s”?"), name, near);
  else
    gradus_json_refuse (object, key, _ ("“%s” is not known; there are %s."), name, list);
}

static void
check_optimizer (GradusJsonObject         *object,
                 const GradusField        *field,
                 const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) optimizer = NULL;
  g_autoptr (GradusJsonObject) settings = NULL;
  const GradusField *fields = NULL;
  const char        *name = NULL;

  expand_class (object, field->name, optimizer_names);
  ensure_object (object, field->name);
  optimizer = gradus_json_object (object, field->name);
  if (optimizer == NULL)
    return;
  name = gradus_json_string (optimizer, "class_name", NULL);
  if (name == NULL && !gradus_json_has (optimizer, "class_name"))
    {
      name = "Adam";
      json_object_set_string_member (gradus_json_peek (optimizer), "class_name", name);
    }
  gradus_json_ignore (optimizer, "config", "module", "registered_name", "build_config", NULL);
  gradus_json_end (optimizer, NULL);
  fields = gradus_recipe_optimizer_fields (name);
  if (fields == NULL)
    {
      if (name != NULL)
        refuse_name (optimizer, "class_name", name, optimizer_names, later_optimizer_names);
      return;
    }
  ensure_object (optimizer, "config");
  settings = gradus_json_object (optimizer, "config");
  if (settings != NULL)
    gradus_fields_apply (settings, fields, context);
}

static const GradusField crossentropy_fields[] = {
  { "from_logits", GRADUS_FIELD_BOOLEAN, .fallback = "false",
    .help = N_ ("The model gives logits, not probabilities") },
  { "name", .kind = GRADUS_FIELD_STRING },
  { "reduction", .kind = GRADUS_FIELD_STRING },
  GRADUS_FIELD_IS_LATER ("ignore_class"),
  GRADUS_FIELD_IS_LATER ("label_smoothing"),
  GRADUS_FIELD_IS_LATER ("axis"),
  GRADUS_FIELD_IS_LATER ("dtype"),
  { NULL },
};

static const GradusField plain_loss_fields[] = {
  { "name", .kind = GRADUS_FIELD_STRING },
  { "reduction", .kind = GRADUS_FIELD_STRING },
  GRADUS_FIELD_IS_LATER ("dtype"),
  { NULL },
};

static const char *
loss_canonical (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (loss_aliases); i++)
    if (g_strcmp0 (loss_aliases[i].alias, name) == 0)
      return loss_aliases[i].name;
  return g_strv_contains (loss_names, name) ? name : NULL;
}

static void
check_loss_object (GradusJsonObject *loss, const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) settings = NULL;
  const char *name = NULL;
  const char *known = NULL;

  if (gradus_json_has (loss, "formula"))
    {
      gradus_json_refuse_unavailable (loss, "formula", "formula");
      return;
    }
  if (!gradus_json_has (loss, "class_name"))
    {
      gradus_json_refuse_unavailable (loss, NULL, "dictionary by head");
      return;
    }
  name = gradus_json_string (loss, "class_name", NULL);
  gradus_json_ignore (loss, "config", "module", "registered_name", NULL);
  gradus_json_end (loss, NULL);
  if (name == NULL)
    return;
  known = loss_canonical (name);
  if (known == NULL)
    {
      refuse_name (loss, "class_name", name, loss_names, later_loss_names);
      return;
    }
  json_object_set_string_member (gradus_json_peek (loss), "class_name", known);
  ensure_object (loss, "config");
  settings = gradus_json_object (loss, "config");
  if (settings != NULL)
    gradus_fields_apply (
        settings, strstr (known, "crossentropy") != NULL ? crossentropy_fields : plain_loss_fields,
        context);
}

static void
check_loss (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  JsonNode   *node = gradus_json_node (object, field->name);
  const char *name = NULL;
  const char *known = NULL;

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autoptr (GradusJsonObject) loss = gradus_json_object (object, field->name);

      if (loss != NULL)
        check_loss_object (loss, context);
      return;
    }
  name = gradus_json_string (object, field->name, NULL);
  if (name == NULL)
    {
      gradus_json_require (object, field->name, NULL);
      return;
    }
  known = loss_canonical (name);
  if (known == NULL)
    refuse_name (object, field->name, name, loss_names, later_loss_names);
  else
    json_object_set_string_member (gradus_json_peek (object), field->name, known);
}

static void
check_metrics (GradusJsonObject         *object,
               const GradusField        *field,
               const GradusFieldContext *context)
{
  g_autoptr (GradusJsonArray) list = NULL;
  JsonNode *node = gradus_json_node (object, field->name);

  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    {
      json_object_set_array_member (gradus_json_peek (object), field->name, json_array_new ());
      return;
    }
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      gradus_json_refuse_unavailable (object, field->name, "dictionary of lists by head");
      return;
    }
  list = gradus_json_array (object, field->name, 64);
  if (list == NULL)
    return;
  for (guint i = 0; i < gradus_json_array_length (list); i++)
    {
      const char *name = gradus_json_array_string (list, i);

      if (name == NULL || g_strv_contains (metric_names, name))
        continue;
      if (g_strcmp0 (name, "acc") == 0)
        json_node_set_string (gradus_json_array_node (list, i), "accuracy");
      else
        refuse_name (object, field->name, name, metric_names, later_metric_names);
    }
}

static const GradusField compile_fields[] = {
  { "optimizer", GRADUS_FIELD_CHECK, .check = check_optimizer,
    .help = N_ ("{\"class_name\", \"config\"} as Keras writes it") },
  { "loss", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_loss,
    .help = N_ ("A Keras name or {\"class_name\", \"config\"}") },
  { "metrics", GRADUS_FIELD_CHECK, .fallback = "[]", .check = check_metrics,
    .help = N_ ("A list of names") },
  GRADUS_FIELD_IS_LATER ("loss_weights"),
  GRADUS_FIELD_IS_LATER ("class_weight"),
  GRADUS_FIELD_IS_LATER ("sample_weight"),
  { NULL },
};

/* fit, log, checkpoints ---------------------------------------------------------------------- */

static void
check_precision (GradusJsonObject         *object,
                 const GradusField        *field,
                 const GradusFieldContext *context)
{
  JsonNode   *node = gradus_json_node (object, field->name);
  const char *name = NULL;

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    {
      gradus_json_refuse_unavailable (object, field->name, "loss_scale");
      return;
    }
  name = gradus_json_string (object, field->name, NULL);
  if (name == NULL)
    {
      if (!gradus_json_has (object, field->name))
        json_object_set_string_member (gradus_json_peek (object), field->name, "float32");
    }
  else if (g_str_has_prefix (name, "mixed_"))
    gradus_json_refuse_unavailable (object, field->name, name);
  else if (!g_str_equal (name, "float32"))
    gradus_json_refuse (object, field->name, _ ("“%s” is not known; “float32” would be right."),
                        name);
}

static const GradusField clip_fields[] = {
  { "global_norm", GRADUS_FIELD_NUMBER, 1e-30, 1e30, .required = TRUE,
    .help = N_ ("Largest norm of all gradients together") },
  GRADUS_FIELD_IS_LATER ("norm"),
  GRADUS_FIELD_IS_LATER ("value"),
  { NULL },
};

static void
check_clip (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  g_autoptr (GradusJsonObject) clip = gradus_json_object (object, field->name);

  if (clip != NULL)
    gradus_fields_apply (clip, clip_fields, context);
}

static void
check_device (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  const char *name = gradus_json_string (object, field->name, NULL);

  if (name == NULL)
    {
      if (!gradus_json_has (object, field->name))
        json_object_set_string_member (gradus_json_peek (object), field->name, "cpu");
    }
  else if (g_str_has_prefix (name, "cuda") || g_str_has_prefix (name, "gpu"))
    gradus_json_refuse_unavailable (object, field->name, name);
  else if (!g_strv_contains (device_names, name))
    gradus_json_refuse (object, field->name, _ ("There is no device “%s”; “cpu” would be right."),
                        name);
}

static const GradusField fit_fields[] = {
  { "epochs", GRADUS_FIELD_INT, 1, 1000000, "1", .help = N_ ("Passes over the training data") },
  { "threads", GRADUS_FIELD_INT, 0, 1024, "0",
    .help = N_ ("Worker threads; 0: one a core. The result does not depend on it") },
  { "device", GRADUS_FIELD_CHECK, .fallback = "\"cpu\"", .check = check_device,
    .help = N_ ("Where the run computes") },
  { "precision", GRADUS_FIELD_CHECK, .fallback = "\"float32\"", .check = check_precision,
    .help = N_ ("Type that the network computes in") },
  { "clip", GRADUS_FIELD_CHECK, .check = check_clip,
    .help = N_ ("{\"global_norm\": x}; absent: gradients are not clipped") },
  { "on_nonfinite", GRADUS_FIELD_CHOICE, .fallback = "\"stop\"", .names = nonfinite_names,
    .help = N_ ("What to do when a loss or gradient is NaN or infinite") },
  GRADUS_FIELD_IS_LATER ("steps_per_epoch"),
  GRADUS_FIELD_IS_LATER ("validation_every"),
  GRADUS_FIELD_IS_LATER ("accumulate"),
  GRADUS_FIELD_IS_LATER ("warmup_steps"),
  GRADUS_FIELD_IS_LATER ("ema"),
  GRADUS_FIELD_IS_LATER ("early_stopping"),
  GRADUS_FIELD_IS_LATER ("reduce_on_plateau"),
  GRADUS_FIELD_IS_LATER ("memory_budget"),
  GRADUS_FIELD_IS_LATER ("rematerialize"),
  { NULL },
};

static const GradusField log_fields[] = {
  { "scalars_every", GRADUS_FIELD_INT, 1, 1000000000, "1", .help = N_ ("Steps between scalars") },
  { "histograms_every", GRADUS_FIELD_INT, 0, 1000000000, "64",
    .help = N_ ("Steps between histograms; 0: none") },
  GRADUS_FIELD_IS_LATER ("per_layer_every"),
  GRADUS_FIELD_IS_LATER ("watch"),
  GRADUS_FIELD_IS_LATER ("profile"),
  { NULL },
};

static void
check_every (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  JsonNode *node = gradus_json_node (object, field->name);

  if (!gradus_json_has (object, field->name))
    json_object_set_string_member (gradus_json_peek (object), field->name, "epoch");
  else if (json_node_get_value_type (node) != G_TYPE_STRING)
    gradus_json_int (object, field->name, 1, 1000000000, 1);
  else if (g_strcmp0 (json_node_get_string (node), "epoch") != 0)
    gradus_json_refuse (object, field->name,
                        _ ("“%s” is not known; “epoch” or a number of steps would be right."),
                        json_node_get_string (node));
}

static const GradusField checkpoint_fields[] = {
  { "every", GRADUS_FIELD_CHECK, .fallback = "\"epoch\"", .check = check_every,
    .help = N_ ("\"epoch\" or a number of steps") },
  { "keep", GRADUS_FIELD_INT, 1, 100000, "3", .help = N_ ("How many of the latest are kept") },
  { "best", GRADUS_FIELD_BOOLEAN, .fallback = "true",
    .help = N_ ("Keep the best by the monitored value too") },
  { "monitor", GRADUS_FIELD_STRING, .fallback = "\"validation/loss\"",
    .help = N_ ("Series that says which is best") },
  { "mode", GRADUS_FIELD_CHOICE, .fallback = "\"auto\"", .names = mode_names,
    .help = N_ ("Whether smaller or larger is better") },
  GRADUS_FIELD_IS_LATER ("disk_budget"),
  { NULL },
};

/* Top level ---------------------------------------------------------------------------------- */

static const GradusField data_fields[] = {
  { "train", GRADUS_FIELD_CHECK, .required = TRUE, .check = gradus_recipe_check_source,
    .help = N_ ("A source") },
  { "validation", GRADUS_FIELD_CHECK, .check = gradus_recipe_check_validation,
    .help = N_ ("A source, or {\"split\": share of the training data}") },
  { "test", GRADUS_FIELD_CHECK, .check = gradus_recipe_check_source,
    .help = N_ ("A source; chooses nothing, used once at the end") },
  { "pipeline", GRADUS_FIELD_CHECK, .check = gradus_recipe_check_pipeline,
    .help = N_ ("A list of stages, each an object with one key") },
  { "on_error", GRADUS_FIELD_CHECK, .fallback = "\"stop\"", .check = gradus_recipe_check_on_error,
    .help = N_ ("What to do with a sample that cannot be read") },
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
  { "name", GRADUS_FIELD_STRING, .fallback = "\"run\"", .help = N_ ("What the run is called") },
  { "seed", GRADUS_FIELD_INT, 0, 9007199254740992., "0",
    .help = N_ ("Everything random is drawn from it") },
  { "note", GRADUS_FIELD_STRING, .help = N_ ("Any text") },
  { "tags", GRADUS_FIELD_STRINGS, .help = N_ ("Words to find the run by") },
  { "data", GRADUS_FIELD_OBJECT, .required = TRUE, .members = data_fields },
  { "model", GRADUS_FIELD_CHECK, .required = TRUE, .check = check_model,
    .help = N_ ("A Keras JSON file, or the model itself") },
  { "compile", GRADUS_FIELD_OBJECT, .required = TRUE, .members = compile_fields },
  { "fit", GRADUS_FIELD_OBJECT, .members = fit_fields },
  { "log", GRADUS_FIELD_OBJECT, .members = log_fields },
  { "checkpoints", GRADUS_FIELD_OBJECT, .members = checkpoint_fields },
  { NULL },
};

/* Applying ----------------------------------------------------------------------------------- */

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

static void
apply_path (GradusJsonObject *object, const GradusField *field, const GradusFieldContext *context)
{
  const char      *path = gradus_json_string (object, field->name, NULL);
  g_autofree char *absolute = NULL;

  if (path == NULL)
    return;
  if (*path == '\0')
    {
      gradus_json_refuse (object, field->name, _ ("The path is empty; a file would be right."));
      return;
    }
  absolute = g_canonicalize_filename (path, context->base);
  json_object_set_string_member (gradus_json_peek (object), field->name, absolute);
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
      apply_path (object, field, context);
      break;
    case GRADUS_FIELD_CHOICE:
      gradus_json_enum (object, field->name, field->names, 0);
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
  else if (field->kind == GRADUS_FIELD_OBJECT)
    {
      if (!field->required)
        ensure_object (object, field->name);
      child = gradus_json_object (object, field->name);
      if (child != NULL)
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
