/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that is promised, saved and given back. */

#include <string.h>
#include <unistd.h>

#include "gradus-test-device.h"
#include "gradus-test-train.h"

#define OPTIONS(fit)                                                                                                   \
  "{\"compile\": {\"optimizer\": \"adam\", \"loss\": \"sparse_categorical_crossentropy\", \"metrics\": [\"accuracy\"]}," \
  " \"fit\": {" fit "}, \"log\": {\"histograms_every\": 4}}"

/* @depth blocks of Dense, batch normalisation, an activation and dropout. */
static char *
deep_net (guint depth)
{
  GString *json = g_string_new ("{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["
                                "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}}");

  for (guint i = 0; i < depth; i++)
    g_string_append_printf (json,
                            ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"d%u\", \"units\": 32}}"
                            ", {\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"n%u\"}}"
                            ", {\"class_name\": \"Activation\", \"config\": {\"name\": \"a%u\", \"activation\": \"tanh\"}}"
                            ", {\"class_name\": \"Dropout\", \"config\": {\"name\": \"o%u\", \"rate\": 0.1}}",
                            i, i, i, i);
  g_string_append (json, ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"c\", \"units\": 3, \"activation\": \"softmax\"}}]}}");
  return g_string_free (json, FALSE);
}

typedef struct
{
  GradusModel          *model;
  GradusTrainerOptions *options;
  GradusTestSource     *train, *validation;
  GradusTestObserver   *observer;
  GradusDevice         *device;
  GradusTrainer        *trainer;
} Run;

static void
run_open (Run *run, const char *net, const char *options, guint batch)
{
  g_autoptr (GError)  error = NULL;
  GradusTrainerConfig config = { .seed = 5 };

  run->model = gradus_test_model (net);
  run->options = gradus_test_options (options);
  run->train = gradus_test_source_new (200, 4, 3, batch, 1, TRUE);
  run->validation = gradus_test_source_new (21, 4, 3, 8, 2, FALSE);
  run->observer = gradus_test_observer_new ();
  run->device = gradus_test_device_open ("cpu", 2);
  config.model = run->model;
  config.options = run->options;
  config.device = run->device;
  config.train = &run->train->parent;
  config.validation = &run->validation->parent;
  config.observer = &run->observer->parent;
  run->trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
}

static void
run_train (Run *run)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (gradus_trainer_run (run->trainer, &error), ==, GRADUS_RUN_FINISHED);
  g_assert_no_error (error);
}

static void
run_close (Run *run)
{
  gradus_trainer_free (run->trainer);
  gradus_test_observer_free (run->observer);
  gradus_test_source_free (run->train);
  gradus_test_source_free (run->validation);
  gradus_trainer_options_free (run->options);
  gradus_model_unref (run->model);
  gradus_test_device_close (run->device);
}

static void
test_rematerialised_bits (void)
{
  static const char *const ways[] = { OPTIONS ("\"epochs\": 2, \"rematerialize\": \"sqrt\""),
                                      OPTIONS ("\"epochs\": 2, \"memory_budget\": 1") };
  g_autofree char *net = deep_net (6);
  Run              plain;

  run_open (&plain, net, OPTIONS ("\"epochs\": 2, \"rematerialize\": \"none\""), 40);
  run_train (&plain);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      Run other;

      run_open (&other, net, ways[i], 40);
      g_assert_cmpint (gradus_trainer_memory (other.trainer).rematerialized, !=, GRADUS_REMATERIALIZE_NONE);
      g_assert_cmpfloat (gradus_trainer_memory (other.trainer).price, >, 0);
      run_train (&other);
      for (gint64 step = 1; step <= 10; step++)
        g_assert_true (gradus_test_observer_value (plain.observer, "train/loss", step)
                       == gradus_test_observer_value (other.observer, "train/loss", step));
      g_assert_true (gradus_test_observer_value (plain.observer, "validation/loss", 10)
                     == gradus_test_observer_value (other.observer, "validation/loss", 10));
      g_assert_true (gradus_test_observer_value (plain.observer, "gradient_norm", 10)
                     == gradus_test_observer_value (other.observer, "gradient_norm", 10));
      run_close (&other);
    }
  run_close (&plain);
}

/* A deep network needs about the root of what it needed; the cheap way lies between. */
static void
test_savings (void)
{
  g_autofree char    *net = deep_net (24);
  GradusTrainerMemory none, cheap, sqrt_;
  Run                 run;

  run_open (&run, net, OPTIONS ("\"epochs\": 1"), 200);
  none = gradus_trainer_memory (run.trainer);
  g_assert_true (gradus_trainer_memory_with (run.trainer, GRADUS_REMATERIALIZE_CHEAP, &cheap));
  g_assert_true (gradus_trainer_memory_with (run.trainer, GRADUS_REMATERIALIZE_SQRT, &sqrt_));
  g_test_message ("step: %" G_GINT64_FORMAT " kept, %" G_GINT64_FORMAT " cheap (%.0f %%), %" G_GINT64_FORMAT " by segments (%.0f %%)",
                  none.step, cheap.step, 100 * cheap.price, sqrt_.step, 100 * sqrt_.price);
  g_assert_cmpint (cheap.step, <, none.step * 3 / 4);
  g_assert_cmpint (sqrt_.step, <, none.step / 2);
  g_assert_cmpfloat (cheap.price, <, 0.2);
  g_assert_cmpfloat (sqrt_.price, <, 0.5);
  run_close (&run);
}

static void
test_budget_takes_the_least (void)
{
  g_autofree char    *net = deep_net (24);
  GradusTrainerMemory cheap;
  g_autofree char    *options = NULL;
  Run                 run;

  run_open (&run, net, OPTIONS ("\"epochs\": 1, \"memory_budget\": 1000000000"), 200);
  g_assert_cmpint (gradus_trainer_memory (run.trainer).rematerialized, ==, GRADUS_REMATERIALIZE_NONE);
  g_assert_true (gradus_trainer_memory_with (run.trainer, GRADUS_REMATERIALIZE_CHEAP, &cheap));
  run_close (&run);
  options = g_strdup_printf (OPTIONS ("\"epochs\": 1, \"memory_budget\": %" G_GINT64_FORMAT), cheap.total);
  run_open (&run, net, options, 200);
  g_assert_cmpint (gradus_trainer_memory (run.trainer).rematerialized, ==, GRADUS_REMATERIALIZE_CHEAP);
  g_assert_cmpint (gradus_trainer_memory (run.trainer).total, ==, cheap.total);
  run_close (&run);
}

/* What was promised is what the device was asked for, to the byte. */
static void
test_promise_is_kept (void)
{
  static const char *const ways[] = { OPTIONS ("\"epochs\": 1, \"rematerialize\": \"none\""),
                                      OPTIONS ("\"epochs\": 1, \"rematerialize\": \"sqrt\"") };
  g_autofree char *net = deep_net (5);

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      GradusTrainerMemory memory;
      Run                 run;

      run_open (&run, net, ways[i], 40);
      memory = gradus_trainer_memory (run.trainer);
      run_train (&run);
      g_assert_cmpint (run.device->funcs->memory (run.device).peak, ==, memory.total - memory.checkpoint);
      run_close (&run);
    }
}

static gint64
read_status (const char *key)
{
  g_autofree char *text = NULL;
  const char      *line;

  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL))
    return -1;
  line = strstr (text, key);
  return line == NULL ? -1 : g_ascii_strtoll (line + strlen (key), NULL, 10);
}

/* Two hundred runs in one process leave nothing behind. */
static void
test_everything_is_given_back (void)
{
  g_autofree char *net = deep_net (3);
  gint64           size = 0, threads = 0;

  for (guint i = 0; i < 200; i++)
    {
      Run run;

      run_open (&run, net, OPTIONS ("\"epochs\": 1"), 40);
      run_train (&run);
      run_close (&run);
      if (i == 50)
        {
          size = read_status ("VmRSS:");
          threads = read_status ("Threads:");
        }
    }
  g_test_message ("%" G_GINT64_FORMAT " kB after 50 runs, %" G_GINT64_FORMAT " after 200; %" G_GINT64_FORMAT " threads",
                  size, read_status ("VmRSS:"), threads);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  g_assert_cmpint (read_status ("VmRSS:"), <=, size + 2048);
#endif
  g_assert_cmpint (read_status ("Threads:"), ==, threads);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/rematerialised-bits", test_rematerialised_bits);
  g_test_add_func ("/memory/savings", test_savings);
  g_test_add_func ("/memory/budget-takes-the-least", test_budget_takes_the_least);
  g_test_add_func ("/memory/promise-is-kept", test_promise_is_kept);
  g_test_add_func ("/memory/everything-is-given-back", test_everything_is_given_back);
  return g_test_run ();
}
