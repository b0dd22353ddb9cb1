/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-recipe.h"

#include <string.h>

#define MODEL "{'class_name':'Sequential','config':{'name':'m','layers':[]}}"
#define SOURCE "{'type':'generator','generator':'line'}"
#define MINIMAL                                                                                    \
  "{'data':{'train':" SOURCE "},'model':" MODEL ",'compile':{'optimizer':'adam','loss':'mse'}}"

/* JSON with apostrophes for quotation marks. */
static char *
quoted (const char *text)
{
  return g_strdelimit (g_strdup (text), "'", '"');
}

static GradusRecipe *
parse (const char *text, GError **error)
{
  g_autofree char *json = quoted (text);

  return gradus_recipe_parse (json, "/base", "recipe.json", error);
}

static void
test_defaults (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = parse (MINIMAL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "name", NULL), ==, "run");
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "compile.loss", NULL), ==,
                   "mean_squared_error");
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "compile.optimizer.class_name", NULL), ==,
                   "Adam");
  g_assert_cmpfloat (
      gradus_recipe_get_double (recipe, "compile.optimizer.config.learning_rate", -1), ==, 0.001);
  g_assert_cmpint (gradus_recipe_get_int (recipe, "data.pipeline.batch", -1), ==, 32);
  g_assert_cmpint (gradus_recipe_get_int (recipe, "fit.epochs", -1), ==, 1);
  g_assert_cmpint (gradus_recipe_get_int (recipe, "checkpoints.keep", -1), ==, 3);
  g_assert_true (gradus_recipe_get_boolean (recipe, "checkpoints.best", FALSE));
  g_assert_cmpint (gradus_recipe_get_int (recipe, "log.histograms_every", -1), ==, 64);
}

/* The stored copy is a recipe, and the same one. */
static void
test_stored_copy (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = parse (MINIMAL, &error);
  g_autofree char *text = gradus_recipe_to_json (recipe, TRUE);
  g_autoptr (GradusRecipe) again = gradus_recipe_parse (text, "/elsewhere", "log", &error);
  g_autofree char *second = NULL;

  g_assert_no_error (error);
  second = gradus_recipe_to_json (again, TRUE);
  g_assert_cmpstr (text, ==, second);
  gradus_recipe_set_fingerprint (again, "train", "abc");
  g_assert_cmpstr (gradus_recipe_get_string (again, "data.train.fingerprint", NULL), ==, "abc");
}

static void
test_paths (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = parse (
      "{'data':{'train':{'type':'idx','inputs':'../a.gz','targets':'/b.gz'}},'model':" MODEL
      ",'compile':{'optimizer':'adam','loss':'sparse_categorical_crossentropy','metrics':['acc']}}",
      &error);

  g_assert_no_error (error);
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "data.train.inputs", NULL), ==, "/a.gz");
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "data.train.targets", NULL), ==, "/b.gz");
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "compile.metrics.0", NULL), ==, "accuracy");
}

/* A model with several inputs and outputs has a file for each. */
static void
test_inputs_by_name (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = parse (
      "{'data':{'train':{'type':'idx','inputs':{'a':'../a.gz','b':'/b'},'targets':{'u':'../u.gz','v':'/v'}}},'model':"
      MODEL ",'compile':{'optimizer':'adam','loss':'mse'}}",
      &error);
  g_autofree char *text = NULL;
  g_autoptr (GradusRecipe) again = NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "data.train.inputs.a", NULL), ==, "/a.gz");
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "data.train.inputs.b", NULL), ==, "/b");
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "data.train.targets.u", NULL), ==, "/u.gz");
  text = gradus_recipe_to_json (recipe, FALSE);
  again = gradus_recipe_parse (text, "/elsewhere", "again.json", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (gradus_recipe_get_string (again, "data.train.inputs.a", NULL), ==, "/a.gz");
}

static void
test_examples (void)
{
  static const char *const names[] = { "line.json", "fashion-dense.json", "fashion-cnn.json" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path =
          g_build_filename (GRADUS_SOURCE_RESOURCES, "examples", names[i], NULL);
      g_autoptr (GradusRecipe) recipe = gradus_recipe_load (path, &error);
      g_autofree char *model = NULL;

      g_assert_no_error (error);
      model = gradus_recipe_get_model_json (recipe);
      g_assert_nonnull (strstr (model, "Sequential"));
    }
}

static void
test_set (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = parse (MINIMAL, &error);
  g_autoptr (GradusRecipe) copy = gradus_recipe_copy (recipe);

  g_assert_true (gradus_recipe_assign (recipe, "fit.epochs=7", &error));
  g_assert_true (gradus_recipe_assign (recipe, "name=a run", &error));
  g_assert_true (gradus_recipe_assign (recipe, "data.pipeline.batch=128", &error));
  g_assert_true (gradus_recipe_assign (recipe, "data.pipeline.shuffle=true", &error));
  g_assert_true (gradus_recipe_assign (recipe, "fit.clip={\"global_norm\": 1}", &error));
  g_assert_true (
      gradus_recipe_set_double (recipe, "compile.optimizer.config.learning_rate", 0.5, &error));
  g_assert_no_error (error);
  g_assert_cmpint (gradus_recipe_get_int (recipe, "fit.epochs", 0), ==, 7);
  g_assert_cmpstr (gradus_recipe_get_string (recipe, "name", NULL), ==, "a run");
  g_assert_cmpint (gradus_recipe_get_int (recipe, "data.pipeline.batch", 0), ==, 128);
  g_assert_true (gradus_recipe_get_boolean (recipe, "data.pipeline.shuffle", FALSE));
  g_assert_cmpfloat (gradus_recipe_get_double (recipe, "fit.clip.global_norm", 0), ==, 1);
  g_assert_cmpint (gradus_recipe_get_int (copy, "fit.epochs", 0), ==, 1);

  /* Back to the defaults. */
  g_assert_true (gradus_recipe_set (recipe, "fit.epochs", NULL, &error));
  g_assert_cmpint (gradus_recipe_get_int (recipe, "fit.epochs", 0), ==, 1);
  g_assert_true (gradus_recipe_assign (recipe, "fit.clip=null", &error));
  g_assert_null (gradus_recipe_get (recipe, "fit.clip"));

  /* SGD does not know Adam's settings, and keeps the learning rate. */
  g_assert_true (gradus_recipe_set_string (recipe, "compile.optimizer.class_name", "SGD", &error));
  g_assert_null (gradus_recipe_get (recipe, "compile.optimizer.config.beta_1"));
  g_assert_cmpfloat (gradus_recipe_get_double (recipe, "compile.optimizer.config.learning_rate", 0),
                     ==, 0.5);
  g_assert_cmpfloat (gradus_recipe_get_double (recipe, "compile.optimizer.config.momentum", -1), ==,
                     0);
}

static void
test_set_refused (void)
{
  static const char *const wrong[] = { "fit.epochs=0",
                                       "fit.epochs=\"many\"",
                                       "fit.epoch=3",
                                       "fit.epochs",
                                       "=3",
                                       "fit..epochs=3",
                                       "data.pipeline.batch=-1",
                                       "compile.optimizer.config.learning_rate=-1",
                                       "compile.optimizer.class_name=Adan",
                                       "name.x=1",
                                       "seed=-1",
                                       "seed=1.5",
                                       "data.pipeline.9.batch=3",
                                       "fit.clip={\"global_norm\": -1}",
                                       "fit.clip={" };
  g_autoptr (GradusRecipe) recipe = parse (MINIMAL, NULL);
  g_autofree char *before = gradus_recipe_to_json (recipe, FALSE);

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *after = NULL;

      g_test_message ("%s", wrong[i]);
      g_assert_false (gradus_recipe_assign (recipe, wrong[i], &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      after = gradus_recipe_to_json (recipe, FALSE);
      g_assert_cmpstr (before, ==, after);
    }
}

/* What is refused, with the code and the words that must be in the message. */
static const struct
{
  const char *text;
  GradusError code;
  const char *pointer;
  const char *hint;
} refusals[] = {
  { "[]", GRADUS_ERROR_REFUSED, "recipe.json", "object" },
  { "{", GRADUS_ERROR_REFUSED, "recipe.json", "" },
  { "{}", GRADUS_ERROR_REFUSED, "recipe.json", "data" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL "}", GRADUS_ERROR_REFUSED, "", "compile" },
  { "{'data':{'train':" SOURCE "},'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "", "model" },
  { "{'data':{},'model':" MODEL ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data", "train" },
  { "{'checkpoint':{},'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "checkpoint", "checkpoints" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'loss':'mse','optimizer':{'class_name':'Adam','config':{'learning_rat':1}}}}",
    GRADUS_ERROR_REFUSED, "/compile/optimizer/config", "learning_rate" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'loss':'mse','optimizer':{'class_name':'Adm'}}}",
    GRADUS_ERROR_REFUSED, "/compile/optimizer/class_name", "Adam" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'loss':'mse','optimizer':{'class_name':'Lamb'}}}",
    GRADUS_ERROR_UNSUPPORTED, "/compile/optimizer/class_name", "Lamb" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL ",'compile':{'optimizer':'adam','loss':'msee'}}",
    GRADUS_ERROR_REFUSED, "/compile/loss", "mse" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL ",'compile':{'optimizer':'adam','loss':'hubber'}}",
    GRADUS_ERROR_REFUSED, "/compile/loss", "huber" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse','metrics':['f1_scor']}}",
    GRADUS_ERROR_REFUSED, "/compile/metrics", "f1_score" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'},'fit':{'epochs':'5'}}",
    GRADUS_ERROR_REFUSED, "/fit/epochs", "whole number" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'},'fit':{'precision':'mixed_float16'}}",
    GRADUS_ERROR_UNSUPPORTED, "/fit", "precision" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'},'fit':{'memory_budget':'lots'}}",
    GRADUS_ERROR_REFUSED, "/fit/memory_budget", "80 %" },
  { "{'data':{'train':" SOURCE "},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'},'fit':{'accumulate':0}}",
    GRADUS_ERROR_REFUSED, "/fit/accumulate", "0" },
  { "{'data':{'train':" SOURCE ",'pipeline':[{'btch':64}]},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/pipeline/0", "batch" },
  { "{'data':{'train':" SOURCE ",'pipeline':[{'augment':[]}]},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_UNSUPPORTED, "/data/pipeline/0", "augment" },
  { "{'data':{'train':" SOURCE ",'pipeline':[{'batch':64},{'batch':32}]},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/pipeline/1", "twice" },
  { "{'data':{'train':" SOURCE ",'pipeline':[{'batch':64,'shuffle':true}]},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/pipeline/0", "one key" },
  { "{'data':{'train':{'type':'tfrecord'}},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_UNSUPPORTED, "/data/train/type", "“idx” or “generator” would be right" },
  { "{'data':{'train':{'type':'idx','inputs':{'a':3},'targets':'/c'}},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/train/inputs/a", "string" },
  { "{'data':{'train':{'type':'idx','inputs':{'a':''},'targets':'/c'}},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/train/inputs/a", "empty" },
  { "{'data':{'train':{'type':'idk'}},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/train/type", "idx" },
  { "{'data':{'train':" SOURCE ",'validation':{'split':1.5}},'model':" MODEL
    ",'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/data/validation/split", "" },
  { "{'data':{'train':" SOURCE "},'model':'none.json','compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_NOT_FOUND, "/model", "/base/none.json" },
  { "{'data':{'train':" SOURCE "},'model':{'class_name':'Dense','config':{}},"
    "'compile':{'optimizer':'adam','loss':'mse'}}",
    GRADUS_ERROR_REFUSED, "/model/class_name", "Sequential" },
};

static void
test_refused (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (refusals); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GradusRecipe) recipe = parse (refusals[i].text, &error);

      g_assert_null (recipe);
      g_test_message ("%s", error->message);
      g_assert_error (error, GRADUS_ERROR, (int)refusals[i].code);
      g_assert_nonnull (strstr (error->message, "recipe.json"));
      g_assert_nonnull (strstr (error->message, refusals[i].pointer));
      g_assert_nonnull (strstr (error->message, refusals[i].hint));
    }
}

static void
test_missing (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gradus_recipe_load ("/nowhere/recipe.json", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, "/nowhere/recipe.json"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recipe/defaults", test_defaults);
  g_test_add_func ("/recipe/stored-copy", test_stored_copy);
  g_test_add_func ("/recipe/paths", test_paths);
  g_test_add_func ("/recipe/inputs-by-name", test_inputs_by_name);
  g_test_add_func ("/recipe/examples", test_examples);
  g_test_add_func ("/recipe/set", test_set);
  g_test_add_func ("/recipe/set-refused", test_set_refused);
  g_test_add_func ("/recipe/refused", test_refused);
  g_test_add_func ("/recipe/missing", test_missing);
  return g_test_run ();
}
