/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cli.h"
#include "gradus-json.h"
#include "gradus-model-reference.h"
#include "gradus-predict.h"
#include "gradus-preparation.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MODEL_HELP                                                                                 \
  N_ ("MODEL is a file, RUN for its newest checkpoint, RUN@STEP for that of a step, or RUN@best.")

static const char *const part_names[] = { "train", "validation", "test", NULL };

/* evaluate ----------------------------------------------------------------------------------- */

static gboolean
choose_part (GradusPreparation *data, const char *name, GradusPart *part, GError **error)
{
  static const GradusPart order[] = { GRADUS_PART_TEST, GRADUS_PART_VALIDATION, GRADUS_PART_TRAIN };
  const char             *near = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    if ((name == NULL || g_str_equal (name, gradus_part_name (order[i])))
        && data->parts[order[i]] != NULL)
      {
        *part = order[i];
        return TRUE;
      }
  near = name != NULL ? gradus_json_nearest (name, part_names) : NULL;
  if (name != NULL && !g_strv_contains (part_names, name))
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                 _ ("There is no part “%s” of the data; “%s” would be right."), name,
                 near != NULL ? near : "test");
  else
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                 _ ("The recipe has no data for “%s”. Name another with --part."), name);
  return FALSE;
}

static void
print_evaluation (const GradusEvaluation *result, GradusPart part, gboolean json)
{
  g_autofree char *loss = gradus_cli_number (result->loss);
  g_autofree char *accuracy = gradus_cli_number (result->accuracy);
  g_autoptr (JsonNode) node = NULL;
  g_autofree char *text = NULL;
  JsonObject      *object = NULL;

  if (!json)
    {
      g_print (_ ("Data: %s, %" PRId64 " samples\n"), gradus_part_name (part), result->samples);
      g_print (_ ("Loss: %s\n"), loss);
      if (!isnan (result->accuracy))
        g_print (_ ("Accuracy: %s\n"), accuracy);
      for (guint i = 0; i < result->n; i++)
        {
          g_autofree char *value = gradus_cli_number (result->values[i]);

          if (!g_str_equal (result->names[i], "accuracy"))
            g_print ("%s: %s\n", result->names[i], value);
        }
      return;
    }
  object = json_object_new ();
  json_object_set_string_member (object, "part", gradus_part_name (part));
  json_object_set_int_member (object, "samples", result->samples);
  if (isfinite (result->loss))
    json_object_set_double_member (object, "loss", result->loss);
  if (isfinite (result->accuracy))
    json_object_set_double_member (object, "accuracy", result->accuracy);
  for (guint i = 0; i < result->n; i++)
    if (isfinite (result->values[i]) && !g_str_equal (result->names[i], "accuracy"))
      json_object_set_double_member (object, result->names[i], result->values[i]);
  node = json_node_new (JSON_NODE_OBJECT);
  json_node_take_object (node, object);
  text = gradus_json_to_string (node, FALSE);
  g_print ("%s\n", text);
}

static int
evaluate (const char *workspace,
          const char *reference,
          const char *recipe_path,
          const char *part_name,
          gboolean    json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = gradus_recipe_load (recipe_path, &error);
  g_autoptr (GradusCheckpoint) checkpoint =
      recipe != NULL ? gradus_model_reference_open (workspace, reference, NULL, &error) : NULL;
  g_autoptr (GradusModel) model =
      checkpoint != NULL ? gradus_checkpoint_model (checkpoint, &error) : NULL;
  g_autoptr (GradusPreparation) data =
      model != NULL ? gradus_preparation_new_data (recipe, model, &error) : NULL;
  g_autoptr (GradusDevice) device = NULL;
  GradusPart       part = GRADUS_PART_TEST;
  g_auto (GradusEvaluation) result = { 0 };

  if (data == NULL || !choose_part (data, part_name, &part, &error))
    return gradus_cli_refuse (error);
  device = gradus_device_open (NULL, gradus_trainer_options_threads (data->options), &error);
  if (device == NULL)
    return gradus_cli_refuse (error);
  if (!gradus_evaluate (checkpoint, data->options, device, data->parts[part], &result, &error))
    return g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED) ? gradus_cli_refuse (error)
                                                                       : gradus_cli_fail (error);
  print_evaluation (&result, part, json);
  return GRADUS_CLI_DONE;
}

int
gradus_cli_evaluate (int argc, char **argv)
{
  g_autofree char   *workspace = NULL;
  g_autofree char   *data = NULL;
  g_autofree char   *part = NULL;
  gboolean           json = FALSE;
  const GOptionEntry entries[] = {
    { "data", 0, 0, G_OPTION_ARG_FILENAME, &data, N_ ("Recipe that names the data and the loss"),
      N_ ("RECIPE.json") },
    { "part", 0, 0, G_OPTION_ARG_STRING, &part,
      N_ ("test, validation or train; without it the first that is there"), N_ ("PART") },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("Print JSON"), NULL },
    { "workspace", 0, 0, G_OPTION_ARG_FILENAME, &workspace, N_ ("Folder of the log"), N_ ("DIR") },
    { NULL },
  };

  if (!gradus_cli_parse (&argc, &argv, entries, "MODEL --data RECIPE.json", 1, 1,
                         _ ("Measures a trained model on the data of a recipe."), _ (MODEL_HELP)))
    return GRADUS_CLI_REFUSED;
  if (data == NULL)
    {
      gradus_cli_complain (_ ("Name the data: --data RECIPE.json."));
      return GRADUS_CLI_REFUSED;
    }
  return evaluate (workspace, argv[1], data, part, json);
}

/* infer -------------------------------------------------------------------------------------- */

int
gradus_cli_infer (int argc, char **argv)
{
  g_autofree char *workspace = NULL;
  g_autofree char *output = NULL;
  g_auto (GStrv) inputs = NULL;
  gboolean           prepared = FALSE;
  const GOptionEntry entries[] = {
    { "input", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs,
      N_ ("Array for an input of the model; NAME= may be left out where there is one"),
      N_ ("NAME=FILE.npy") },
    { "output", 0, 0, G_OPTION_ARG_FILENAME, &output, N_ ("Folder for an array per output"),
      N_ ("DIR") },
    { "prepared", 0, 0, G_OPTION_ARG_NONE, &prepared,
      N_ ("The arrays are rescaled already, as the model got them in training"), NULL },
    { "workspace", 0, 0, G_OPTION_ARG_FILENAME, &workspace, N_ ("Folder of the log"), N_ ("DIR") },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();
  gint64 n_samples = 0;

  if (!gradus_cli_parse (&argc, &argv, entries, "MODEL --input NAME=FILE.npy --output DIR", 1, 1,
                         _ ("Gives NumPy arrays to a trained model and writes what it answers."),
                         _ (MODEL_HELP)))
    return GRADUS_CLI_REFUSED;
  if (inputs == NULL || output == NULL)
    {
      gradus_cli_complain (_ ("Name the arrays with --input and the folder with --output."));
      return GRADUS_CLI_REFUSED;
    }
  for (guint i = 0; inputs[i] != NULL; i++)
    {
      const char *equals = strchr (inputs[i], '=');

      g_ptr_array_add (names, equals != NULL ? g_strndup (inputs[i], equals - inputs[i]) : NULL);
      g_ptr_array_add (paths, equals != NULL ? (char *)equals + 1 : inputs[i]);
    }
  checkpoint = gradus_model_reference_open (workspace, argv[1], NULL, &error);
  if (checkpoint == NULL
      || !gradus_predict_files (checkpoint, (const char *const *)names->pdata,
                                (const char *const *)paths->pdata, paths->len, output, prepared,
                                &n_samples, &error))
    return gradus_cli_refuse (error);
  g_print (_ ("Wrote the answers for %" PRId64 " samples to %s.\n"), n_samples, output);
  return GRADUS_CLI_DONE;
}

/* export ------------------------------------------------------------------------------------- */

int
gradus_cli_export (int argc, char **argv)
{
  static const char *const later[] = { "keras", "onnx", "tflite", "h5", "gguf", "pytorch", NULL };
  g_autofree char         *workspace = NULL;
  g_autofree char         *format = NULL;
  const GOptionEntry       entries[] = {
          { "to", 0, 0, G_OPTION_ARG_STRING, &format, N_ ("Format: safetensors"), N_ ("FORMAT") },
          { "workspace", 0, 0, G_OPTION_ARG_FILENAME, &workspace, N_ ("Folder of the log"), N_ ("DIR") },
          { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = NULL;

  if (!gradus_cli_parse (&argc, &argv, entries, "MODEL --to FORMAT FILE", 2, 2,
                         _ ("Writes weights, model, preparation and class names of a trained model "
                            "into a file."),
                         _ (MODEL_HELP)))
    return GRADUS_CLI_REFUSED;
  if (format == NULL || !g_str_equal (format, "safetensors"))
    {
      if (format != NULL && g_strv_contains (later, format))
        gradus_cli_complain (_ ("Export to “%s” is not available in this version of Gradus; "
                                "“safetensors” is."),
                             format);
      else
        gradus_cli_complain (_ ("Name a format: --to safetensors."));
      return GRADUS_CLI_REFUSED;
    }
  checkpoint = gradus_model_reference_open (workspace, argv[1], NULL, &error);
  if (checkpoint == NULL || !gradus_checkpoint_export_safetensors (checkpoint, argv[2], &error))
    return gradus_cli_refuse (error);
  g_print (_ ("Wrote %s.\n"), argv[2]);
  return GRADUS_CLI_DONE;
}
