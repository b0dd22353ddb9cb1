/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-json.h"
#include "gradus-test-train.h"
#include "model/gradus-initializer.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#define LAYER(class_name, config) "{\"class_name\": \"" class_name "\", \"config\": {" config "}}"
#define INPUT(shape) LAYER ("InputLayer", "\"batch_shape\": " shape ", \"name\": \"in\"")
#define SEQUENTIAL(layers)                                                                         \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [" layers "]}}"
#define FUNCTIONAL(layers, outputs)                                                                \
  "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [" layers            \
  "], \"input_layers\": [[\"in\", 0, 0]], \"output_layers\": " outputs "}}"
#define NODE(class_name, name, config, inbound)                                                    \
  "{\"class_name\": \"" class_name "\", \"name\": \"" name "\", \"config\": {\"name\": \"" name    \
  "\"" config "}, \"inbound_nodes\": " inbound "}"
#define TENSOR(name, node)                                                                         \
  "{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 4], \"dtype\": "          \
  "\"float32\", \"keras_history\": [\"" name "\", " node ", 0]}}"
#define IN4 NODE ("InputLayer", "in", ", \"batch_shape\": [null, 4]", "[]")

static void
test_summary (void)
{
  g_autoptr (GradusModel) model = gradus_test_model (SEQUENTIAL (
      INPUT ("[null, 28, 28, 1]") "," LAYER ("Conv2D", "\"filters\": 32, \"kernel_size\": 3, \"activation\": \"relu\"")
      "," LAYER ("Conv2D", "\"filters\": 64, \"kernel_size\": [3, 3], \"padding\": \"same\", \"strides\": 2")
      "," LAYER ("MaxPooling2D", "\"pool_size\": [2, 2]") "," LAYER ("Flatten", "") ","
      LAYER ("Dense", "\"units\": 10, \"trainable\": false") "," LAYER ("BatchNormalization", "")));
  gint64      trainable;
  GradusShape shape;

  g_assert_cmpint (gradus_model_n_layers (model), ==, 7);
  g_assert_cmpint (gradus_model_layer (model, 1).parameters, ==, 320);
  g_assert_cmpstr (gradus_model_layer (model, 2).name, ==, "conv2d_1");
  shape = gradus_model_layer (model, 2).output;
  g_assert_true (gradus_shape_equal (&shape, &(GradusShape){ 4, { -1, 13, 13, 64 } }));
  shape = gradus_model_layer (model, 3).output;
  g_assert_true (gradus_shape_equal (&shape, &(GradusShape){ 4, { -1, 6, 6, 64 } }));
  g_assert_cmpint (gradus_model_n_parameters (model, &trainable), ==,
                   320 + 18496 + 23050 + 40);
  g_assert_cmpint (trainable, ==, 320 + 18496 + 20);
  g_assert_cmpstr (gradus_model_input (model, 0, &shape, NULL), ==, "in");
  g_assert_cmpstr (gradus_model_output (model, 0, &shape), ==, "batch_normalization");
}

/* What each wrong file is told. */
static const struct
{
  const char *json, *wanted;
} refusals[] = {
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dens", "\"units\": 3")), "did you mean “Dense”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Wavelet", "\"units\": 3")), "no layer “Wavelet”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Lambda", "")),
    "no layer “Lambda”." },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"unit\": 3, \"units\": 3")),
    "Unknown key “unit”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "")), "units" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 0")), "units" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": \"ten\"")), "units" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"activation\": \"rely\"")),
    "did you mean “relu”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"kernel_initializer\": \"glorot\"")),
    "initializer “glorot”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"kernel_regularizer\": {\"class_name\": \"L3\"}")),
    "There is no regularizer “L3”" },
  { SEQUENTIAL (INPUT ("[null]") "," LAYER ("Dense", "\"units\": 3")), "features of the last axis" },
  { SEQUENTIAL (INPUT ("[null, 28, 28]") "," LAYER ("Conv2D", "\"filters\": 3, \"kernel_size\": 3")),
    "Put a Reshape before it" },
  { SEQUENTIAL (INPUT ("[null, 2, 2, 1]") "," LAYER ("Conv2D", "\"filters\": 3, \"kernel_size\": 3")),
    "its window covers 3 along axis 1" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 1]") "," LAYER ("Conv2D", "\"filters\": 3, \"kernel_size\": 3, \"strides\": 2, \"dilation_rate\": 2")),
    "dilation_rate above 1" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 3]") "," LAYER ("Conv2D", "\"filters\": 4, \"kernel_size\": 3, \"groups\": 2")),
    "must divide both its 4 filters and the 3 channels" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("Conv2D", "\"filters\": 4, \"kernel_size\": 3, \"data_format\": \"channels_first\"")),
    "Channels come last here" },
  { SEQUENTIAL (INPUT ("[null, 8, 2]") "," LAYER ("Conv2D", "\"filters\": 4, \"kernel_size\": 3")),
    "images (None, height, width, channels)" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("Conv1D", "\"filters\": 4, \"kernel_size\": 3")),
    "sequences (None, steps, channels)" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("MaxPooling3D", "")), "volumes" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("Conv2D", "\"filters\": 4, \"kernel_size\": 3, \"padding\": \"causal\"")),
    "padding" },
  { SEQUENTIAL (INPUT ("[null, 8, 2]") "," LAYER ("Conv1D", "\"filters\": 4, \"kernel_size\": [3, 3]")),
    "a list of 1 is wanted" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("Conv2DTranspose", "\"filters\": 4, \"kernel_size\": 3, \"strides\": 2, \"output_padding\": 2")),
    "less than its strides" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("UpSampling2D", "\"interpolation\": \"bicubic\"")),
    "bilinear" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("Cropping2D", "\"cropping\": [[4, 4], [0, 0]]")), "Crop less" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("ZeroPadding2D", "\"padding\": [[1, -1], [0, 0]]")),
    "Two whole numbers from 0" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("ZeroPadding2D", "\"padding\": [[1, 1, 1], [0, 0]]")),
    "two whole numbers" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("ZeroPadding2D", "\"padding\": [1, 1, 1]")),
    "two whole numbers" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("MaxPooling2D", "\"pool_size\": 17")), "256 places" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("MaxPooling2D", "\"pool_size\": [2, 2, 2]")),
    "two whole numbers" },
  { SEQUENTIAL (INPUT ("[null, 12]") "," LAYER ("Reshape", "\"target_shape\": [5, -1]")),
    "12 numbers a sample" },
  { SEQUENTIAL (INPUT ("[null, 12]") "," LAYER ("Dropout", "\"rate\": 1.5")), "rate" },
  { SEQUENTIAL (INPUT ("[null, 12]") "," LAYER ("Dropout", "\"rate\": 1")), "below 1" },
  { SEQUENTIAL (INPUT ("[null, 8, 8, 2]") "," LAYER ("BatchNormalization", "\"axis\": 0")),
    "of which the first axis is the batch" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Add", "")), "two or more" },
  { SEQUENTIAL (INPUT ("[32, 4]") "," LAYER ("Dense", "\"units\": 3")), "must be null here" },
  { SEQUENTIAL (INPUT ("[null, 4, null]") "," LAYER ("Dense", "\"units\": 3")), "may have a free size" },
  { SEQUENTIAL (INPUT ("[null, null]") "," LAYER ("Dense", "\"units\": 3")), "features of its input is free" },
  { SEQUENTIAL (INPUT ("[null, null, 4]") "," LAYER ("Flatten", "")), "how long its input is" },
  { SEQUENTIAL (INPUT ("[null, 2000000000, 2000000000, 2000000000]") "," LAYER ("Flatten", "")),
    "any memory" },
  { SEQUENTIAL (INPUT ("[null, 2000000000]") "," LAYER ("Dense", "\"units\": 200000000")),
    "any memory" },
  { SEQUENTIAL (INPUT ("[null, 4]")), "nothing else" },
  { SEQUENTIAL (""), "no layers" },
  { SEQUENTIAL (LAYER ("Dense", "\"units\": 3")), "Begin with an InputLayer" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"name\": \"in\"")),
    "two layers called “in”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"name\": \"optimizer\"")),
    "cannot be called “optimizer”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"name\": \"gradient/dense\"")),
    "cannot be called “gradient/dense”" },
  { SEQUENTIAL (LAYER ("InputLayer", "\"batch_shape\": [null, 4], \"name\": \"learning_rate\"") "," LAYER (
        "Dense", "\"units\": 3")),
    "cannot be called “learning_rate”" },
  { SEQUENTIAL (LAYER ("InputLayer", "\"batch_shape\": [null, 4], \"name\": \"loss\"") "," LAYER (
        "Dense", "\"units\": 3")),
    "cannot be called “loss”" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dense", "\"units\": 3, \"dtype\": \"float16\"")),
    "float16" },
  { SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Activation", "\"activation\": 3")), "activation" },
  { FUNCTIONAL (IN4 "," NODE ("Dense", "a", ", \"units\": 2", "[[[\"b\", 0, 0, {}]]]") "," NODE (
                    "Dense", "b", ", \"units\": 2", "[[[\"a\", 0, 0, {}]]]"), "[[\"b\", 0, 0]]"),
    "form a circle" },
  { FUNCTIONAL (IN4 "," NODE ("Dense", "a", ", \"units\": 2", "[[[\"z\", 0, 0, {}]]]"), "[[\"a\", 0, 0]]"),
    "from “z”" },
  { FUNCTIONAL (IN4 "," NODE ("Dense", "a", ", \"units\": 2", "[[[\"in\", 0, 0, {}]]]"), "[[\"q\", 0, 0]]"),
    "no layer “q”" },
  { FUNCTIONAL (IN4 "," NODE ("Dense", "a", ", \"units\": 2", "[[[\"in\", 0, 0, {}]]]") "," NODE (
                    "Add", "s", "", "[[[\"in\", 0, 0, {}], [\"a\", 0, 0, {}]]]"), "[[\"s\", 0, 0]]"),
    "do not fit" },
  { FUNCTIONAL (IN4 "," NODE ("Dense", "a", ", \"units\": 4", "[{\"args\": [" TENSOR ("in", "0") "], \"kwargs\": {\"initial\": true}}]"),
                "[[\"a\", 0, 0]]"),
    "takes no argument “initial”" },
  { "{\"class_name\": \"Graph\", \"config\": {}}", "class_name" },
  { "{\"class_name\": \"Sequential\"}", "config" },
  { "{\"config\": {\"layers\": []}}", "class_name" },
  { "[]", NULL },
};

static void
test_refusals (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (refusals); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = gradus_json_parse (refusals[i].json, -1, "bad.json", &error);
      GradusModel *model;

      g_assert_no_error (error);
      if (!JSON_NODE_HOLDS_OBJECT (node))
        continue;
      model = gradus_model_new_from_json (json_node_get_object (node), "bad.json", "/model", &error);
      g_assert_null (model);
      g_assert_nonnull (error);
      g_assert_cmpint (error->domain, ==, GRADUS_ERROR);
      g_test_message ("%s", error->message);
      if (strstr (error->message, refusals[i].wanted) == NULL)
        g_error ("“%s” lacks “%s”", error->message, refusals[i].wanted);
      g_assert_nonnull (strstr (error->message, "bad.json"));
      g_assert_nonnull (strstr (error->message, "/model"));
    }
}

static char *
round_trip (const char *json)
{
  g_autoptr (GradusModel) model = gradus_test_model (json);
  g_autoptr (JsonNode) node = gradus_model_to_json (model);

  return gradus_json_to_string (node, FALSE);
}

static void
check_round_trip (const char *json)
{
  g_autofree char *once = round_trip (json);
  g_autofree char *twice = round_trip (once);
  g_autoptr (GradusModel) a = gradus_test_model (json);
  g_autoptr (GradusModel) b = gradus_test_model (once);

  g_assert_cmpstr (once, ==, twice);
  g_assert_null (strstr (once, "compile_config"));
  g_assert_cmpint (gradus_model_n_layers (a), ==, gradus_model_n_layers (b));
  for (guint i = 0; i < gradus_model_n_layers (a); i++)
    {
      GradusLayerSummary x = gradus_model_layer (a, i), y = gradus_model_layer (b, i);

      g_assert_cmpstr (x.name, ==, y.name);
      g_assert_cmpstr (x.class_name, ==, y.class_name);
      g_assert_true (gradus_shape_equal (&x.output, &y.output));
      g_assert_cmpint (x.parameters, ==, y.parameters);
      g_assert_cmpint (x.trainable, ==, y.trainable);
    }
}

static void
test_round_trips (void)
{
  g_autofree char *folder = g_test_build_filename (G_TEST_DIST, "golden", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  guint       n = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *json = NULL;
      g_autoptr (JsonNode) node = NULL;
      g_autoptr (GError) error = NULL;

      if (!g_str_has_suffix (name, ".json"))
        continue;
      node = gradus_json_load_file (path, &error);
      g_assert_no_error (error);
      json = gradus_json_to_string (json_object_get_member (json_node_get_object (node), "model"),
                                    FALSE);
      check_round_trip (json);
      n++;
    }
  g_assert_cmpint (n, >=, 50);
  check_round_trip (SEQUENTIAL (INPUT ("[null, 4]") "," LAYER (
      "Dense", "\"units\": 3, \"kernel_initializer\": {\"class_name\": \"RandomNormal\", "
               "\"config\": {\"mean\": 0.5, \"stddev\": 0.25, \"seed\": 3}}")));
}

/* What Keras 2 wrote, with the arguments that its classes inherited, becomes what Keras 3 writes. */
static void
test_keras2_images (void)
{
  static const char keras2[] = SEQUENTIAL (
      INPUT ("[null, 8, 8, 2]") "," LAYER ("SeparableConv2D",
          "\"filters\": 3, \"kernel_size\": [3, 3], \"strides\": [1, 1], \"padding\": \"same\", \"data_format\": "
          "\"channels_last\", \"dilation_rate\": [1, 1], \"groups\": 1, \"depth_multiplier\": 2, \"kernel_initializer\": "
          "{\"class_name\": \"GlorotUniform\", \"config\": {\"seed\": null}}, \"kernel_regularizer\": null, "
          "\"kernel_constraint\": null") "," LAYER ("ZeroPadding2D", "\"padding\": [[1, 2], [3, 0]], \"data_format\": \"channels_last\"")
      "," LAYER ("Conv2DTranspose", "\"filters\": 4, \"kernel_size\": [3, 3], \"strides\": [2, 2], \"groups\": 1, \"output_padding\": null")
      "," LAYER ("Cropping2D", "\"cropping\": [1, 2]") "," LAYER ("GlobalAveragePooling2D", "\"data_format\": \"channels_last\", \"keepdims\": true"));
  g_autofree char *text = round_trip (keras2);
  g_autoptr (GradusModel) model = gradus_test_model (keras2);
  GradusShape shape = gradus_model_layer (model, 3).output;

  g_assert_true (gradus_shape_equal (&shape, &(GradusShape){ 4, { -1, 23, 23, 4 } }));
  g_assert_cmpint (gradus_model_layer (model, 1).parameters, ==, 9 * 2 * 2 + 4 * 3 + 3);
  g_assert_nonnull (strstr (text, "\"padding\":[[1,2],[3,0]]"));
  g_assert_nonnull (strstr (text, "\"cropping\":[[1,1],[2,2]]"));
  g_assert_nonnull (strstr (text, "\"output_padding\":null"));
  g_assert_nonnull (strstr (text, "\"depthwise_initializer\""));
  g_assert_null (strstr (text, "\"groups\""));
}

/* Keras builds a layer that merges from a list of shapes, and refuses to load one shape. */
static void
assert_merge_is_built_from_shapes (const char *json)
{
  g_autofree char *text = round_trip (json);

  g_assert_nonnull (strstr (text, "\"build_config\":{\"input_shape\":[[null,4],[null,4],[null,4]]}"));
  g_assert_nonnull (strstr (text, "\"build_config\":{\"input_shape\":[null,4]}"));
}

/* Shared layers, Keras 2's and Keras 3's connections, the canvas. */
static void
test_functional (void)
{
  static const char keras2[] = FUNCTIONAL (
      IN4 "," NODE ("Dense", "a", ", \"units\": 4", "[[[\"in\", 0, 0, {}]], [[\"a\", 0, 0, {}]]]") "," NODE (
          "Add", "s", "", "[[[\"a\", 0, 0, {}], [\"a\", 1, 0, {}], [\"in\", 0, 0, {}]]]"),
      "[[\"s\", 0, 0]]");
  static const char keras3[] = FUNCTIONAL (
      NODE ("Add", "s", "", "[{\"args\": [[" TENSOR ("a", "0") "," TENSOR ("a", "1") "," TENSOR ("in", "0") "]], \"kwargs\": {}}]") "," NODE (
          "Dense", "a", ", \"units\": 4",
          "[{\"args\": [" TENSOR ("in", "0") "], \"kwargs\": {\"mask\": null}}, {\"args\": [" TENSOR ("a", "0") "], \"kwargs\": {}}]") "," IN4,
      "[\"s\", 0, 0]");
  g_autoptr (GradusModel) a = gradus_test_model (keras2);
  g_autoptr (GradusModel) b = gradus_test_model (keras3);
  g_autoptr (GradusProgram) program = gradus_program_new ("test");
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  GradusValueId output;

  g_assert_cmpint (gradus_model_n_parameters (a, NULL), ==, 20);
  g_assert_cmpint (gradus_model_n_parameters (b, NULL), ==, 20);
  g_assert_true (gradus_model_build (b, program, TRUE, NULL, &output, NULL, NULL, &error));
  g_assert_no_error (error);
  text = gradus_program_to_string (program);
  g_assert_nonnull (strstr (text, "add_n"));
  check_round_trip (keras2);
  check_round_trip (keras3);
  assert_merge_is_built_from_shapes (keras2);
  assert_merge_is_built_from_shapes (keras3);
}

static void
test_keras2_sequential (void)
{
  g_autoptr (GradusModel) model = gradus_test_model (
      "{\"class_name\": \"Sequential\", \"keras_version\": \"2.9.0\", \"backend\": \"tensorflow\","
      " \"config\": {\"name\": \"s\", \"layers\": [{\"class_name\": \"Dense\", \"config\": "
      "{\"name\": \"d\", \"trainable\": true, \"batch_input_shape\": [null, 7], \"dtype\": "
      "\"float32\", \"units\": 2, \"kernel_initializer\": {\"class_name\": \"HeNormal\", "
      "\"config\": {\"seed\": null}, \"shared_object_id\": 1}, \"bias_initializer\": "
      "{\"class_name\": \"Zeros\", \"config\": {}}}, \"shared_object_id\": 3}]}}");
  GradusShape shape;

  gradus_model_input (model, 0, &shape, NULL);
  g_assert_cmpint (shape.dims[1], ==, 7);
  g_assert_cmpint (gradus_model_n_parameters (model, NULL), ==, 16);
}

/* Each use of a shared layer draws numbers of its own; the first keeps those of a layer used once. */
static void
test_shared_dropout (void)
{
  g_autoptr (GradusModel) net = gradus_test_model (FUNCTIONAL (
      IN4 "," NODE ("Dropout", "d", ", \"rate\": 0.5", "[[[\"in\", 0, 0, {}]], [[\"in\", 0, 0, {}]]]") "," NODE (
          "Add", "s", "", "[[[\"d\", 0, 0, {}], [\"d\", 1, 0, {}]]]"),
      "[[\"s\", 0, 0]]"));
  g_autoptr (GradusModel) once = gradus_test_model (
      SEQUENTIAL (INPUT ("[null, 4]") "," LAYER ("Dropout", "\"rate\": 0.5, \"name\": \"d\"")));
  guint64 streams[3] = { 0 };
  guint   n = 0;

  for (guint m = 0; m < 2; m++)
    {
      g_autoptr (GradusProgram) program = gradus_program_new ("test");
      g_autoptr (GError) error = NULL;
      GradusValueId output;

      gradus_model_build (m == 0 ? net : once, program, TRUE, NULL, &output, NULL, NULL, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < gradus_program_n_nodes (program); i++)
        if (g_str_equal (gradus_program_node (program, i)->op->name, "dropout"))
          streams[n++] = gradus_program_node (program, i)->stream;
    }
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmpuint (streams[0], !=, streams[1]);
  g_assert_cmpuint (streams[0], ==, streams[2]);
}

static GradusInitializer
initializer (const char *name)
{
  g_autofree char *json = g_strdup_printf ("{\"i\": \"%s\"}", name);
  g_autoptr (JsonNode) node = gradus_json_parse (json, -1, "", NULL);
  g_autoptr (GradusJsonObject) object = gradus_json_open (node, NULL, NULL);
  GradusInitializer result;

  g_assert_true (gradus_initializer_read (&result, object, "i", gradus_json_node (object, "i")));
  return result;
}

/* Range, mean and deviation as the formulas say. */
static void
test_initializers (void)
{
  static const struct
  {
    const char *name;
    double      limit, deviation;
  } cases[] = {
    { "glorot_uniform", 0.10954451, 0.06324555 }, /* sqrt (6 / 500), sqrt (2 / 500) */
    { "he_uniform", 0.17320508, 0.1 },            /* sqrt (6 / 200) */
    { "he_normal", 0.22736877, 0.1 },             /* two deviations of the cut one */
    { "glorot_normal", 0.14380263, 0.06324555 },
    { "lecun_normal", 0.16077400, 0.07071068 },
    { "lecun_uniform", 0.12247449, 0.07071068 },
    { "random_uniform", 0.05, 0.02886751 },
    { "truncated_normal", 0.1, 0.05 * 0.87962566 },
  };
  GradusShape shape = gradus_shape (2, (gint64) 200, (gint64) 300);
  g_autofree float *data = g_new (float, 60000);
  g_autofree float *again = g_new (float, 60000);

  for (gsize c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      GradusInitializer it = initializer (cases[c].name);
      double sum = 0, squares = 0, largest = 0;

      gradus_initializer_fill (&it, &shape, 42, "dense/kernel", data, 60000);
      gradus_initializer_fill (&it, &shape, 42, "dense/kernel", again, 60000);
      g_assert_cmpmem (data, 60000 * 4, again, 60000 * 4);
      for (guint i = 0; i < 60000; i++)
        {
          sum += data[i];
          squares += (double) data[i] * data[i];
          largest = fmax (largest, fabs (data[i]));
        }
      g_assert_cmpfloat (fabs (sum / 60000), <, 0.01 * cases[c].limit);
      g_assert_cmpfloat_with_epsilon (sqrt (squares / 60000), cases[c].deviation,
                                      0.01 * cases[c].deviation);
      g_assert_cmpfloat (largest, <=, cases[c].limit * 1.0001);
      g_assert_cmpfloat (largest, >, cases[c].limit * 0.99);
      gradus_initializer_fill (&it, &shape, 42, "dense_1/kernel", again, 60000);
      g_assert_cmpint (memcmp (data, again, 60000 * 4), !=, 0);
      gradus_initializer_fill (&it, &shape, 43, "dense/kernel", again, 60000);
      g_assert_cmpint (memcmp (data, again, 60000 * 4), !=, 0);
    }
}

static const struct
{
  const char *part, *json, *wanted;
} wrong_options[] = {
  { "compile", "{\"loss\": \"mse\"}", "optimizer" },
  { "compile", "{\"optimizer\": \"Adam\"}", "loss" },
  { "compile", "{\"optimizer\": \"Adan\", \"loss\": \"mse\"}", "did you mean “Adam”" },
  { "compile", "{\"optimizer\": \"Lamb\", \"loss\": \"mse\"}", "not available" },
  { "compile", "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rat\": 1}}, \"loss\": \"mse\"}",
    "did you mean “learning_rate”" },
  { "compile", "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": -1}}, \"loss\": \"mse\"}",
    "/compile/optimizer/config" },
  { "compile", "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"amsgrad\": 2}}, \"loss\": \"mse\"}",
    "amsgrad" },
  { "compile", "{\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": {\"class_name\": \"CosineDecai\", \"config\": {}}}}, \"loss\": \"mse\"}",
    "write “CosineDecay”" },
  { "compile", "{\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": {\"class_name\": \"CosineDecay\", \"config\": {\"initial_learning_rate\": 1}}}}, \"loss\": \"mse\"}",
    "decay_steps" },
  { "compile", "{\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": {\"class_name\": \"PiecewiseConstantDecay\", \"config\": {\"boundaries\": [3, 2], \"values\": [1, 2, 3]}}}}, \"loss\": \"mse\"}",
    "ascend" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"sparse_categorical_crossentrop\"}", "did you mean" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": {\"class_name\": \"CategoricalCrossentropy\", \"config\": {\"label_smoothing\": 1.5}}}",
    "label_smoothing" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"metrics\": [\"accurracy\"]}", "did you mean “accuracy”" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"class_weight\": \"balance\"}", "class_weight" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": {\"a\": \"mse\", \"b\": \"mea\"}}", "did you mean" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"loss_weights\": {\"a\": -1}}", "/compile/loss_weights" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"metrics\": {\"a\": [\"mae\", \"mae\"]}}", "twice" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"metrics\": [{\"class_name\": \"Precision\", \"config\": {\"threshold\": 0.5}}]}",
    "did you mean “thresholds”" },
  { "compile", "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"metrics\": [{\"class_name\": \"Presicion\"}]}", "“Precision”" },
  { "fit", "{\"epochs\": 0}", "/fit" },
  { "fit", "{\"epoch\": 3}", "did you mean “epochs”" },
  { "fit", "{\"precision\": \"mixed_bfloat16\"}", "precision" },
  { "fit", "{\"clip\": {\"value\": 1, \"norm\": 2}}", "one way" },
  { "fit", "{\"early_stopping\": {\"monitor\": \"validation/accuracy\"}}", "validation/accuracy" },
  { "fit", "{\"on_nonfinite\": \"panic\"}", "on_nonfinite" },
  { "fit", "{\"accumulate\": 0}", "accumulate" },
  { "fit", "{\"ema\": {\"decay\": 2}}", "decay" },
  { "fit", "{\"reduce_on_plateau\": {\"factor\": 1}}", "factor" },
  { "fit", "{\"reduce_on_plateau\": {\"monitor\": \"validation/acc\"}}", "validation/acc" },
  { "fit", "{\"warmup_steps\": -1}", "warmup_steps" },
  { "log", "{\"profile\": true}", "profile" },
  { "checkpoints", "{\"every\": \"hour\"}", "epoch" },
  { "checkpoints", "{\"keep\": 0}", "keep" },
};

static void
test_options (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (wrong_options); i++)
    {
      static const char good[] = "{\"optimizer\": \"Adam\", \"loss\": \"mse\"}";
      g_autoptr (JsonNode) compile = gradus_json_parse (good, -1, "", NULL);
      g_autoptr (JsonNode) part = gradus_json_parse (wrong_options[i].json, -1, "", NULL);
      g_autoptr (GError) error = NULL;
      const char *name = wrong_options[i].part;
      JsonObject *object = json_node_get_object (part);
      GradusTrainerOptions *options = gradus_trainer_options_new (
          g_str_equal (name, "compile") ? object : json_node_get_object (compile),
          g_str_equal (name, "fit") ? object : NULL, g_str_equal (name, "log") ? object : NULL,
          g_str_equal (name, "checkpoints") ? object : NULL, "r.json", NULL, &error);

      g_assert_null (options);
      g_test_message ("%s", error->message);
      if (strstr (error->message, wrong_options[i].wanted) == NULL ||
          strstr (error->message, "r.json") == NULL)
        g_error ("“%s” lacks “%s”", error->message, wrong_options[i].wanted);
    }
}

static void
test_normalized (void)
{
  g_autoptr (JsonNode) compile = gradus_json_parse ("{\"optimizer\": \"sgd\", \"loss\": \"mse\"}",
                                                    -1, "", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonObject) all = NULL, again = NULL;
  g_autoptr (GradusTrainerOptions) a = NULL, b = NULL;

  a = gradus_trainer_options_new (json_node_get_object (compile), NULL, NULL, NULL, "r", &all, &error);
  g_assert_no_error (error);
  b = gradus_trainer_options_new (json_object_get_object_member (all, "compile"),
                                  json_object_get_object_member (all, "fit"),
                                  json_object_get_object_member (all, "log"),
                                  json_object_get_object_member (all, "checkpoints"), "r", &again,
                                  &error);
  g_assert_no_error (error);
  g_assert_true (json_object_equal (all, again));
  g_assert_cmpfloat (
      json_object_get_double_member (
          json_object_get_object_member (
              json_object_get_object_member (json_object_get_object_member (all, "compile"),
                                             "optimizer"),
              "config"),
          "learning_rate"),
      ==, 0.01);
}

int
main (int argc, char **argv)
{
  setlocale (LC_ALL, "");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/model/shared-dropout", test_shared_dropout);
  g_test_add_func ("/model/summary", test_summary);
  g_test_add_func ("/model/refusals", test_refusals);
  g_test_add_func ("/model/round-trips", test_round_trips);
  g_test_add_func ("/model/keras-2-images", test_keras2_images);
  g_test_add_func ("/model/functional", test_functional);
  g_test_add_func ("/model/keras2-sequential", test_keras2_sequential);
  g_test_add_func ("/model/initializers", test_initializers);
  g_test_add_func ("/options/refusals", test_options);
  g_test_add_func ("/options/normalized", test_normalized);
  return g_test_run ();
}
