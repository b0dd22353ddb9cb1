/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>
#include <json-glib/json-glib.h>

#include "gradus-error.h"

G_BEGIN_DECLS

/**
 * GradusRecipe:
 *
 * Everything that a run depends on, as one JSON object. A recipe is always valid: what is loaded
 * or set is checked against the table of known keys first, and every default is in place.
 * Refusals are GRADUS_ERROR_REFUSED and name file, JSON pointer, and what would be right; a key
 * that a later version brings is GRADUS_ERROR_UNSUPPORTED. Files that a recipe names are made
 * absolute when it is loaded; whether they are there, and fit, is found by gradus_summary_new()
 * and by a session.
 *
 * Not thread-safe: one thread at a time, copies are independent.
 */
#define GRADUS_TYPE_RECIPE (gradus_recipe_get_type ())
G_DECLARE_FINAL_TYPE (GradusRecipe, gradus_recipe, GRADUS, RECIPE, GObject)

/* The recipe in the file @path; a model that it names by path is read too. */
GradusRecipe *gradus_recipe_load (const char *path, GError **error);
/* The recipe in @text. @base: folder that paths start from (NULL: the current one); @source: what
 * messages call the text, such as its file's name. */
GradusRecipe *gradus_recipe_parse (const char *text,
                                   const char *base,
                                   const char *source,
                                   GError    **error);
GradusRecipe *gradus_recipe_copy (GradusRecipe *self);

/**
 * gradus_recipe_set:
 * @path: dotted, such as "compile.optimizer.config.learning_rate"; a stage of the pipeline or
 *   a list's member by name or number: "data.pipeline.batch", "compile.metrics.0"
 * @value: (nullable): the new value; NULL takes the key's default, or drops it where it has none
 *
 * Sets one value. On failure the recipe is as it was. `data.pipeline.batch` adds the stage if it
 * is not there. The same check as at loading, so a form can show the message as it is.
 */
gboolean gradus_recipe_set (GradusRecipe *self, const char *path, JsonNode *value, GError **error);
gboolean gradus_recipe_set_double (GradusRecipe *self,
                                   const char   *path,
                                   double        value,
                                   GError      **error);
gboolean
gradus_recipe_set_int (GradusRecipe *self, const char *path, gint64 value, GError **error);
gboolean
gradus_recipe_set_string (GradusRecipe *self, const char *path, const char *value, GError **error);
/* @assignment: "PATH=VALUE", VALUE being JSON; a word that is no JSON is taken as a string,
 * and null takes the default. */
gboolean gradus_recipe_assign (GradusRecipe *self, const char *assignment, GError **error);

/* The value at a dotted path, or NULL; owned by the recipe until it changes. */
JsonNode   *gradus_recipe_get (GradusRecipe *self, const char *path);
double      gradus_recipe_get_double (GradusRecipe *self, const char *path, double fallback);
gint64      gradus_recipe_get_int (GradusRecipe *self, const char *path, gint64 fallback);
gboolean    gradus_recipe_get_boolean (GradusRecipe *self, const char *path, gboolean fallback);
const char *gradus_recipe_get_string (GradusRecipe *self, const char *path, const char *fallback);

/* The whole object; owned by the recipe. `model` is inlined and paths are absolute in it. */
JsonObject *gradus_recipe_get_object (GradusRecipe *self);
/* What messages call the recipe: its file's name. */
const char *gradus_recipe_get_source (GradusRecipe *self);
/* Absolute folder that the recipe's relative paths started from. */
const char *gradus_recipe_get_base (GradusRecipe *self);
/* The Keras JSON of the model as text; free with g_free. */
char       *gradus_recipe_get_model_json (GradusRecipe *self);

/* The stored copy: self-contained, with every default; stable member order. Free with g_free. */
char *gradus_recipe_to_json (GradusRecipe *self, gboolean pretty);

/**
 * gradus_recipe_set_fingerprint:
 * @part: "train", "validation" or "test"
 *
 * Writes the fingerprint of the data into the stored copy (`data.<part>.fingerprint`). A recipe
 * that carries one is held against the data when it runs, and a difference is told.
 */
void gradus_recipe_set_fingerprint (GradusRecipe *self, const char *part, const char *fingerprint);

G_END_DECLS
