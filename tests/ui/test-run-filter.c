/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "gradus-run-filter.h"

static GradusRunItem *
item_new (const char *name, double loss)
{
  GradusRunItem *item = gradus_run_item_new ();
  GradusRunInfo *info = g_new0 (GradusRunInfo, 1);
  GradusRunDetails *details = g_new0 (GradusRunDetails, 1);

  info->id = 1;
  info->uuid = g_strdup ("");
  info->name = g_strdup (name);
  info->host = g_strdup ("");
  info->engine_version = g_strdup ("");
  info->note = g_strdup ("");
  info->status = GRADUS_RUN_FINISHED;
  info->best_validation_loss = loss;
  info->best_validation_accuracy = info->test_accuracy = NAN;
  gradus_run_item_take_info (item, info);
  details->optimizer = g_strdup ("Adam");
  details->loss = g_strdup ("");
  details->learning_rate = 1e-3;
  details->batch_size = 64;
  gradus_run_item_take_details (item, details);

  return item;
}

static void
test_matches (void)
{
  static const struct
  {
    const char *text;
    gboolean    matches;
  } cases[] = {
    { "", TRUE },
    { "cnn", TRUE },
    { "CNN-7", TRUE },
    { "mlp", FALSE },
    { "adam cnn", TRUE },
    { "loss < 0.25", TRUE },
    { "loss<0.25", TRUE },
    { "loss > 0.25", FALSE },
    { "Loss <= 0.218 cnn", TRUE },
    { "rate = 1e-3", TRUE },
    { "rate = 2e-3", FALSE },
    { "batch >= 64 loss < 0.1", FALSE },
    { "accuracy > 0", FALSE }, /* not known: nothing can be said of it */
  };
  g_autoptr (GradusRunItem) item = item_new ("cnn-7", 0.218);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GradusRunFilter) filter = gradus_run_filter_new (cases[i].text);

      g_test_message ("%s", cases[i].text);
      g_assert_cmpint (gradus_run_filter_matches (filter, item), ==, cases[i].matches);
    }
}

static void
test_diverged (void)
{
  g_autoptr (GradusRunItem) item = item_new ("cnn-7", 0.218);
  g_autofree char *best = gradus_run_item_describe_best (item);

  g_assert_cmpstr (best, !=, "NaN");
  g_assert_false (gradus_run_item_is_diverged (item));
  g_assert_false (gradus_run_item_is_live (item));
  g_assert_cmpfloat (gradus_run_item_get_seconds_left (item), <, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run-filter/matches", test_matches);
  g_test_add_func ("/run-filter/diverged", test_diverged);

  return g_test_run ();
}
