/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-fuzz.h"
#include "gradus-json.h"
#include "gradus-recipe.h"

/* Fuzzing of recipes. What is taken is its own stored copy, can be changed, and has members in
 * place. */

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  static const char *const assignments[] = {
    "fit.epochs=3",       "seed=5",          "data.pipeline.batch=8", "compile.loss=mse",
    "compile.metrics.0=accuracy", "name=null", "data.pipeline.0=[]",    "checkpoints.every=7",
  };
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = gradus_recipe_parse (text, "/nowhere", "fuzz.json", &error);
  g_autoptr (GradusRecipe) again = NULL;
  g_autofree char *stored = NULL;
  g_autofree char *twice = NULL;

  if (recipe == NULL)
    {
      fuzz_check_refusal (error);
      return 0;
    }
  stored = gradus_recipe_to_json (recipe, FALSE);
  again = gradus_recipe_parse (stored, "/elsewhere", "log", &error);
  if (again == NULL)
    g_error ("“%s” is not read again: %s", stored, error->message);
  twice = gradus_recipe_to_json (again, FALSE);
  if (!g_str_equal (stored, twice))
    g_error ("“%s” became “%s”", stored, twice);
  for (guint i = 0; i < G_N_ELEMENTS (assignments); i++)
    {
      g_autoptr (GError) refused = NULL;

      if (!gradus_recipe_assign (again, assignments[i], &refused))
        fuzz_check_refusal (refused);
    }
  return 0;
}

#ifndef LIBFUZZER
int
main (int argc, char **argv)
{
  static const char *const names[] = { "line.json", "fashion-dense.json", "fashion-cnn.json" };
  GPtrArray *seeds = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADUS_EXAMPLES"), names[i], NULL);
      g_autoptr (GradusRecipe) recipe = gradus_recipe_load (path, NULL);
      g_autofree char *text = NULL;

      g_assert_nonnull (recipe);
      text = gradus_recipe_to_json (recipe, FALSE);
      g_ptr_array_add (seeds, g_string_new (text));
    }
  return fuzz_main (argc, argv, seeds, 4000, fuzz_change_text);
}
#endif
