/* SPDX-License-Identifier: Apache-2.0 */

/* A step that is not finite is made once more, and the first op that made it so is named. */

#include <math.h>
#include <string.h>

#include "gradus-test-device.h"
#include "gradus-test-train.h"

#define NET(formula)                                                                                                  \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["                                    \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}},"                      \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"first\", \"units\": 6}},"                                     \
  "{\"module\": \"gradus\", \"class_name\": \"Formula\", \"config\": {\"name\": \"odd\", \"formula\": \"" formula "\"}}," \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"last\", \"units\": 1}}]}}"
#define OPTIONS(rate, policy)                                                                                         \
  "{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": " rate "}}, \"loss\": \"mse\"}," \
  " \"fit\": {\"epochs\": 3, \"on_nonfinite\": \"" policy "\"}}"

typedef struct
{
  GradusTestObserver *observer;
  GradusRunStatus     status;
  GError             *error;
} Result;

static void
train (Result *result, const char *net, const char *options, double spoilt)
{
  g_autoptr (GError)               error = NULL;
  g_autoptr (GradusModel)          model = gradus_test_model (net);
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options (options);
  g_autoptr (GradusTestSource)     source = gradus_test_source_new (40, 4, 0, 8, 1, TRUE);
  GradusDevice                    *device = gradus_test_device_open ("cpu", 2);
  GradusTrainer                   *trainer;
  GradusTrainerConfig              config = {
                 .model = model, .options = opts, .device = device, .train = &source->parent, .seed = 5 };

  *result = (Result) { .observer = gradus_test_observer_new () };
  config.observer = &result->observer->parent;
  if (!isfinite (spoilt))
    source->x[4 * 17 + 2] = (float) spoilt;
  trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
  result->status = gradus_trainer_run (trainer, &result->error);
  gradus_trainer_free (trainer);
  gradus_test_device_close (device);
}

static void
result_clear (Result *result)
{
  gradus_test_observer_free (result->observer);
  g_clear_error (&result->error);
}

static gboolean
told (Result *result, const char *part)
{
  for (guint i = 0; i < result->observer->events->len; i++)
    if (strstr (result->observer->events->pdata[i], part) != NULL)
      return TRUE;
  return FALSE;
}

static void
test_names_the_op (void)
{
  static const struct
  {
    const char *net, *op;
  } faults[] = {
    { NET ("log(x - 100)"), "log" },
    { NET ("sqrt(x - 100)"), "sqrt" },
    { NET ("x / (x * 0)"), "divide" },
    { NET ("reciprocal(x * 0)"), "reciprocal" },
    { NET ("exp(x * 0 + 100)"), "exp" },
    { NET ("square(x * 1e30)"), "square" },
    { NET ("x * 1e30 * (x * 1e30)"), "multiply" },
    { NET ("(x - 100) ^ 0.3"), "power" },
    { NET ("asin(x * 0 + 2)"), "asin" },
    { NET ("mod(x, x * 0)"), "modulo" },
    { NET ("sum(square(x) + 3e38)"), "reduce_sum" },
    { NET ("cosh(x * 0 + 500)"), "cosh" },
    { NET ("sqrt(abs(x) * 0)"), "sqrt_grad" },
    { NET ("prod(x * 0 + 1e30)"), "reduce_prod" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      g_autofree char *op = g_strdup_printf ("“%s” of layer “odd”", faults[i].op);
      Result           result;

      train (&result, faults[i].net, OPTIONS ("0.01", "stop"), 0);
      g_assert_cmpint (result.status, ==, GRADUS_RUN_FAILED);
      g_assert_error (result.error, GRADUS_ERROR, GRADUS_ERROR_NONFINITE);
      g_test_message ("%s", result.error->message);
      g_assert_nonnull (strstr (result.error->message, op));
      g_assert_true (told (&result, op));
      result_clear (&result);
    }
}

static void
test_names_the_sample (void)
{
  Result result;

  train (&result, NET ("tanh(x)"), OPTIONS ("0.01", "stop"), NAN);
  g_assert_cmpint (result.status, ==, GRADUS_RUN_FAILED);
  g_assert_nonnull (strstr (result.error->message, "Sample 17"));
  g_assert_true (told (&result, "Sample 17"));
  result_clear (&result);
}

/* A rate that is far too high ends in an overflow that is told, and never in a hang or a crash. */
static void
test_explosions (void)
{
  static const char *const rates[] = { "1e4", "1e5", "1e6" };

  for (guint i = 0; i < G_N_ELEMENTS (rates); i++)
    {
      g_autofree char *options = g_strdup_printf ("{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": %s}},"
                                                  " \"loss\": \"mse\"}, \"fit\": {\"epochs\": 3}}",
                                                  rates[i]);
      Result           result;

      train (&result, NET ("x * 1"), options, 0);
      g_assert_cmpint (result.status, ==, GRADUS_RUN_FAILED);
      g_assert_error (result.error, GRADUS_ERROR, GRADUS_ERROR_NONFINITE);
      g_test_message ("%s", result.error->message);
      g_assert_nonnull (strstr (result.error->message, "The first is made by"));
      result_clear (&result);
    }
}

/* Skipping: the finding is there, the weights stay good, and the others' steps are as if nobody had looked. */
static void
test_skips (void)
{
  Result result, again;

  train (&result, NET ("tanh(x)"), OPTIONS ("0.01", "skip"), INFINITY);
  g_assert_cmpint (result.status, ==, GRADUS_RUN_FINISHED);
  g_assert_true (told (&result, "A step was skipped"));
  g_assert_true (told (&result, "Sample 17"));
  g_assert_true (isfinite (gradus_test_observer_value (result.observer, "train/loss", 12)));
  train (&again, NET ("tanh(x)"), OPTIONS ("0.01", "skip"), INFINITY);
  gradus_test_assert_same (result.observer, again.observer);
  result_clear (&result);
  result_clear (&again);
  train (&result, NET ("tanh(x)"), OPTIONS ("0.01", "ignore"), INFINITY);
  g_assert_cmpint (result.status, ==, GRADUS_RUN_FINISHED);
  g_assert_false (told (&result, "Sample 17"));
  result_clear (&result);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/blame/names-the-op", test_names_the_op);
  g_test_add_func ("/blame/names-the-sample", test_names_the_sample);
  g_test_add_func ("/blame/explosions", test_explosions);
  g_test_add_func ("/blame/skips", test_skips);
  return g_test_run ();
}
