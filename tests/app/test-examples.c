/* SPDX-License-Identifier: Apache-2.0 */
#include "app-fixture.h"

/* What each example is trained by here: less data than it has, and how far the loss must fall. */
typedef struct
{
  const char *name;
  const char *changes[4];
  double      falls; /* loss of the last steps by that of the first */
} Example;

static const Example examples[] = {
  { "line", { "fit.epochs=4" }, 0.2 },
  { "spirals", { "fit.epochs=5" }, 0.6 },
  { "fashion-dense", { "fit.epochs=1", "fit.steps_per_epoch=60" }, 0.5 },
  { "fashion-cnn", { "fit.epochs=1", "fit.steps_per_epoch=25", "data.pipeline.batch=16" }, 0.8 },
  { "lenet", { "fit.epochs=1", "fit.steps_per_epoch=60", "data.pipeline.batch=32" }, 0.6 },
  { "resnet-20", { "fit.epochs=1", "fit.steps_per_epoch=25", "data.pipeline.batch=16" }, 0.8 },
  { "separable", { "fit.epochs=1", "fit.steps_per_epoch=40", "data.pipeline.batch=16" }, 0.8 },
  { "unet", { "fit.epochs=1", "fit.steps_per_epoch=40", "data.pipeline.batch=16" }, 0.6 },
  { "heads", { "fit.epochs=2", "data.train.samples=1000" }, 0.8 },
  { "lstm", { "fit.epochs=2" }, 0.8 },
  { "gru", { "fit.epochs=2" }, 0.8 },
  { "transformer", { "fit.epochs=2" }, 0.6 },
  { "houses", { "fit.epochs=4" }, 0.3 },
  { "autoencoder", { "fit.epochs=1", "fit.steps_per_epoch=60" }, 0.75 },
};

static double
mean (GArray *rows, guint first, guint n)
{
  double sum = 0;

  for (guint i = first; i < first + n; i++)
    sum += g_array_index (rows, GradusScalar, i).value;
  return sum / n;
}

static void
test_learns (gconstpointer data)
{
  const Example   *example = data;
  g_autofree char *folder = app_fixture_folder ();
  g_autofree char *file = g_strconcat (example->name, ".json", NULL);
  g_autofree char *path = g_build_filename (g_getenv ("GRADUS_EXAMPLES"), file, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = gradus_recipe_load (path, &error);
  g_autoptr (GradusSession) session = NULL;
  g_autoptr (GArray) loss = NULL;
  g_autoptr (GradusRunInfo) info = NULL;
  g_autofree char *uuid = NULL;

  g_assert_no_error (error);
  /* What is looked at is the training; evaluating ten thousand pictures takes longer. */
  json_object_remove_member (json_node_get_object (gradus_recipe_get (recipe, "data")), "validation");
  json_object_remove_member (json_node_get_object (gradus_recipe_get (recipe, "data")), "test");
  g_assert_true (gradus_recipe_assign (recipe, "checkpoints.monitor=train/loss", &error));
  for (guint i = 0; i < G_N_ELEMENTS (example->changes) && example->changes[i] != NULL; i++)
    gradus_recipe_assign (recipe, example->changes[i], &error);
  g_assert_no_error (error);

  session = gradus_session_new (folder, &error);
  g_assert_no_error (error);
  uuid = gradus_session_submit (session, recipe, &error);
  g_assert_no_error (error);
  gradus_session_wait (session);
  info = app_fixture_run (folder, uuid);
  g_assert_cmpint (info->status, ==, GRADUS_RUN_FINISHED);
  loss = app_fixture_scalars (folder, uuid, "train/loss");
  g_assert_cmpuint (loss->len, >=, 20);
  g_test_message ("from %g to %g", mean (loss, 0, 3), mean (loss, loss->len - 5, 5));
  g_assert_cmpfloat (mean (loss, loss->len - 5, 5), <, example->falls * mean (loss, 0, 3));
  g_clear_object (&session);
  app_fixture_remove (folder);
}

/* No recipe beside these goes untested. */
static void
test_all (void)
{
  g_autoptr (GDir) folder = g_dir_open (g_getenv ("GRADUS_EXAMPLES"), 0, NULL);
  const char *file;
  guint       n = 0;

  while ((file = g_dir_read_name (folder)) != NULL)
    n += g_str_has_suffix (file, ".json");
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (examples));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/examples/all", test_all);
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = g_strconcat ("/examples/learns/", examples[i].name, NULL);

      g_test_add_data_func (path, &examples[i], test_learns);
    }
  return g_test_run ();
}
