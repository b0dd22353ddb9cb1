/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-fuzz.h"
#include "gradus-json.h"
#include "model/gradus-model.h"

/* Fuzzing of a model's reader. What it takes can be looked at, built, written and read again. */

static void
use (GradusModel *model)
{
  g_autoptr (JsonNode) node = gradus_model_to_json (model);
  g_autoptr (GradusModel) again = NULL;
  g_autoptr (GradusProgram) program = gradus_program_new ("fuzz");
  g_autoptr (GError) error = NULL;
  g_autofree GradusValueId *outputs = g_new0 (GradusValueId, gradus_model_n_outputs (model));

  again = gradus_model_new_from_json (json_node_get_object (node), "again.json", "", &error);
  if (again == NULL || gradus_model_n_layers (again) != gradus_model_n_layers (model)
      || gradus_model_n_parameters (again, NULL) != gradus_model_n_parameters (model, NULL))
    g_error ("not read again: %s", error ? error->message : "another model");
  for (guint i = 0; i < gradus_model_n_layers (model); i++)
    if (gradus_model_layer (model, i).parameters < 0)
      abort ();
  if (!gradus_model_build (model, program, TRUE, NULL, outputs, NULL, NULL, &error))
    fuzz_check_refusal (error);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse ((const char *) data, size, "fuzz.json", &error);
  g_autoptr (GradusModel) model = NULL;

  if (node == NULL)
    fuzz_check_refusal (error);
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return 0;
  model = gradus_model_new_from_json (json_node_get_object (node), "fuzz.json", "/model", &error);
  if (model == NULL)
    fuzz_check_refusal (error);
  else
    use (model);
  return 0;
}

#ifndef LIBFUZZER
static void
add_seed (GPtrArray *seeds, JsonObject *model)
{
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  g_autofree char *text = NULL;

  json_node_set_object (node, model);
  text = gradus_json_to_string (node, FALSE);
  g_ptr_array_add (seeds, g_string_new (text));
}

/* The models of the golden cases. */
static GPtrArray *
make_seeds (void)
{
  GPtrArray       *seeds = g_ptr_array_new ();
  g_autofree char *folder = g_build_filename (g_getenv ("G_TEST_SRCDIR"), "golden", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *text = NULL;
      g_autoptr (JsonNode) node = NULL;

      if (!g_str_has_suffix (name, ".json") || !g_file_get_contents (path, &text, NULL, NULL))
        continue;
      node = gradus_json_parse (text, -1, name, NULL);
      if (node != NULL && json_object_has_member (json_node_get_object (node), "model"))
        add_seed (seeds, json_object_get_object_member (json_node_get_object (node), "model"));
    }
  g_assert_cmpuint (seeds->len, >, 10);
  return seeds;
}

int
main (int argc, char **argv)
{
  return fuzz_main (argc, argv, make_seeds (), 4000, fuzz_change_text);
}
#endif
