/* SPDX-License-Identifier: Apache-2.0 */

/* Layers and losses that are formulas, in models that are read, trained and written. */

#include <math.h>
#include <string.h>

#include "gradus-json.h"
#include "gradus-test-device.h"
#include "gradus-test-train.h"

#define MODEL(layer)                                                                                                  \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["                                    \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}},"                      \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 8}}," layer ","                               \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"b\", \"units\": 1}}]}}"
#define FORMULA(config) "{\"module\": \"gradus\", \"class_name\": \"Formula\", \"config\": {\"name\": \"f\", " config "}}"
#define ACTIVATION(name) "{\"class_name\": \"Activation\", \"config\": {\"name\": \"f\", \"activation\": \"" name "\"}}"
#define OPTIONS(loss)                                                                                                 \
  "{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.05}}, \"loss\": " loss "}," \
  " \"fit\": {\"epochs\": 3}}"

/* The loss after some steps. */
static double
train (const char *json, const char *options, gint64 *parameters)
{
  g_autoptr (GError)               error = NULL;
  g_autoptr (GradusModel)          model = gradus_test_model (json);
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options (options);
  g_autoptr (GradusTestSource)     source = gradus_test_source_new (40, 4, 0, 8, 1, TRUE);
  g_autoptr (GradusTestObserver)   observer = gradus_test_observer_new ();
  GradusDevice                    *device = gradus_test_device_open ("cpu", 2);
  g_autoptr (GradusTrainer)        trainer = NULL;
  GradusTrainerConfig              config = {
                 .model = model,
                 .options = opts,
                 .device = device,
                 .train = &source->parent,
                 .observer = &observer->parent,
                 .seed = 5,
  };
  double loss;

  trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_trainer_run (trainer, &error), ==, GRADUS_RUN_FINISHED);
  g_assert_no_error (error);
  if (parameters != NULL)
    *parameters = gradus_model_n_parameters (model, NULL);
  loss = gradus_test_observer_value (observer, "train/loss", 15);
  g_clear_pointer (&trainer, gradus_trainer_free);
  gradus_test_device_close (device);
  return loss;
}

static void
test_layer_like_activation (void)
{
  gint64 parameters;
  double wanted = train (MODEL (ACTIVATION ("silu")), OPTIONS ("\"mse\""), NULL);
  double got = train (MODEL (FORMULA ("\"formula\": \"x * sigmoid(x)\"")), OPTIONS ("\"mse\""), &parameters);

  g_assert_cmpfloat_with_epsilon (got, wanted, 1e-5);
  g_assert_cmpint (parameters, ==, 4 * 8 + 8 + 8 + 1);
}

static void
test_variables_are_trained (void)
{
  gint64 parameters;
  double fixed = train (MODEL (FORMULA ("\"formula\": \"x * sigmoid(beta * x)\", \"variables\": {\"beta\": {\"shape\": [8],"
                                        " \"initializer\": \"ones\", \"trainable\": false}}")),
                        OPTIONS ("\"mse\""), &parameters);
  double trained = train (MODEL (FORMULA ("\"formula\": \"x * sigmoid(beta * x)\", \"variables\": {\"beta\": {\"shape\": [8],"
                                          " \"initializer\": \"ones\"}}")),
                          OPTIONS ("\"mse\""), NULL);

  g_assert_cmpint (parameters, ==, 4 * 8 + 8 + 8 + 8 + 1);
  g_assert_cmpfloat_with_epsilon (fixed, train (MODEL (ACTIVATION ("silu")), OPTIONS ("\"mse\""), NULL), 1e-5);
  g_assert_cmpfloat (trained, !=, fixed);
}

static void
test_losses (void)
{
  static const struct
  {
    const char *formula, *plain;
  } pairs[] = {
    { OPTIONS ("{\"formula\": \"mean(square(y - p) * w)\"}"), OPTIONS ("\"mse\"") },
    { OPTIONS ("{\"formula\": \"square(y - p)\"}"), OPTIONS ("\"mse\"") },
    { OPTIONS ("{\"formula\": \"abs(y - p)\"}"), OPTIONS ("\"mae\"") },
    { OPTIONS ("{\"formula\": \"where(abs(y - p) < 1, 0.5 * (y - p) ^ 2, abs(y - p) - 0.5)\"}"), OPTIONS ("\"huber\"") },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      double a = train (MODEL (ACTIVATION ("tanh")), pairs[i].formula, NULL);
      double b = train (MODEL (ACTIVATION ("tanh")), pairs[i].plain, NULL);

      g_assert_cmpfloat_with_epsilon (a, b, 1e-5 * (1 + b));
    }
}

static void
test_written_as_read (void)
{
  static const char json[] = MODEL (FORMULA ("\"formula\": \"where(x > 0, scale * x, x[:, 0:1])\", \"inputs\": [\"x\"],"
                                             " \"variables\": {\"scale\": {\"shape\": [8], \"initializer\": \"ones\"}}"));
  g_autoptr (GradusModel) model = gradus_test_model (json);
  g_autoptr (JsonNode)    first = gradus_model_to_json (model), second = NULL;
  g_autofree char        *text = gradus_json_to_string (first, FALSE), *again = NULL;
  g_autoptr (GradusModel) copy = gradus_test_model (text);

  second = gradus_model_to_json (copy);
  again = gradus_json_to_string (second, FALSE);
  g_assert_cmpstr (text, ==, again);
  g_assert_nonnull (strstr (text, "\"module\":\"gradus\",\"class_name\":\"Formula\""));
}

static void
test_refusals (void)
{
  static const struct
  {
    const char *json, *part;
  } cases[] = {
    { MODEL (FORMULA ("\"formula\": \"x * sigmiod(x)\"")), "did you mean “sigmoid”" },
    { MODEL (FORMULA ("\"formula\": \"x * bta\", \"variables\": {\"beta\": {}}")), "did you mean “beta”" },
    { MODEL (FORMULA ("\"formula\": \"x * beta\", \"variables\": {\"beta\": {\"shape\": [7]}}")), "8" },
    { MODEL (FORMULA ("\"formula\": \"x\", \"variables\": {\"x\": {}}")), "another name" },
    { MODEL (FORMULA ("\"formula\": \"x\", \"variables\": {\"2x\": {}}")), "letters" },
    { MODEL (FORMULA ("\"formula\": \"a + b\", \"inputs\": [\"a\", \"b\"]")), "names 2 inputs" },
    { MODEL (FORMULA ("\"formula\": \"1 + 2\"")), "each sample" },
    { MODEL (FORMULA ("\"formula\": \"x\", \"variables\": {\"v\": {\"shape\": [0]}}")), "shape" },
    { MODEL (FORMULA ("\"formula\": 3")), "formula" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError)      error = NULL;
      g_autoptr (JsonNode)    node = gradus_json_parse (cases[i].json, -1, "model.json", &error);
      g_autoptr (GradusModel) model = NULL;

      g_assert_no_error (error);
      model = gradus_model_new_from_json (json_node_get_object (node), "model.json", "", &error);
      g_assert_null (model);
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, cases[i].part));
    }
}

static void
test_schedule (void)
{
  static const char        options[] = "{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\":"
                                " {\"formula\": \"0.1 * 0.5 ^ (step / 5)\"}}}, \"loss\": \"mse\"}, \"fit\": {\"epochs\": 3}}";
  g_autoptr (GError)               error = NULL;
  g_autoptr (GradusModel)          model = gradus_test_model (MODEL (ACTIVATION ("tanh")));
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options (options);
  g_autoptr (GradusTestSource)     source = gradus_test_source_new (40, 4, 0, 8, 1, TRUE);
  g_autoptr (GradusTestObserver)   observer = gradus_test_observer_new ();
  g_autoptr (GradusDevice)         device = gradus_device_open ("cpu", 1, NULL);
  g_autoptr (GradusTrainer)        trainer = NULL;
  GradusTrainerConfig              config = {
                 .model = model, .options = opts, .device = device, .train = &source->parent, .observer = &observer->parent, .seed = 5 };

  trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_trainer_run (trainer, &error), ==, GRADUS_RUN_FINISHED);
  for (gint64 step = 1; step <= 15; step++)
    g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (observer, "learning_rate", step), 0.1 * pow (0.5, (step - 1) / 5.0), 1e-7);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formula-train/layer-like-activation", test_layer_like_activation);
  g_test_add_func ("/formula-train/variables-are-trained", test_variables_are_trained);
  g_test_add_func ("/formula-train/losses", test_losses);
  g_test_add_func ("/formula-train/schedule", test_schedule);
  g_test_add_func ("/formula-train/written-as-read", test_written_as_read);
  g_test_add_func ("/formula-train/refusals", test_refusals);
  return g_test_run ();
}
