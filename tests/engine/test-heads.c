/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-test-train.h"

#include "device/gradus-execution.h"
#include "gradus-json.h"
#include "passes/gradus-passes.h"
#include "train/gradus-trainer-private.h"

#include <math.h>
#include <string.h>

/* Losses, metrics and a model with three heads against numbers from Keras: golden/heads/make_heads.py
 * says what they are. */

typedef struct
{
  GradusDType dtype;
  GradusShape shape;
  gsize       n;
  float      *floats;
  gint32     *ints;
} Array;

static void
array_clear (Array *array)
{
  g_free (array->floats);
  g_free (array->ints);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Array, array_clear)

static Array
read_array (JsonObject *parent, const char *name)
{
  JsonObject *object = json_object_get_object_member (parent, name);
  JsonArray  *shape = json_object_get_array_member (object, "shape");
  JsonArray  *data = json_object_get_array_member (object, "data");
  Array       array = { .n = json_array_get_length (data) };

  g_assert_true (gradus_dtype_from_name (json_object_get_string_member (object, "dtype"),
                                         &array.dtype));
  array.shape.rank = json_array_get_length (shape);
  for (guint i = 0; i < array.shape.rank; i++)
    array.shape.dims[i] = json_array_get_int_element (shape, i);
  array.floats = g_new (float, array.n);
  array.ints = g_new (gint32, array.n);
  for (gsize i = 0; i < array.n; i++)
    {
      array.floats[i] = json_array_get_double_element (data, i);
      array.ints[i] = array.floats[i];
    }
  return array;
}

static const void *
array_data (const Array *array)
{
  return array->dtype == GRADUS_DTYPE_INT32 ? (const void *) array->ints : array->floats;
}

static GradusArraySpec
array_spec (const Array *array, const char *name)
{
  GradusArraySpec spec = { .name = name, .dtype = array->dtype, .rank = array->shape.rank - 1 };

  for (guint i = 1; i < array->shape.rank; i++)
    spec.dims[i - 1] = array->shape.dims[i];
  return spec;
}

static JsonNode *
load (const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "golden", "heads", name, NULL);
  JsonNode        *node = gradus_json_load_file (path, &error);

  g_assert_no_error (error);
  return node;
}

static void
assert_near (const char *what, double met, double wanted)
{
  if (!(fabs (met - wanted) <= 2e-5 * MAX (1, fabs (wanted))))
    {
      g_test_message ("%s is %.9g and should be %.9g", what, met, wanted);
      g_test_fail ();
    }
}

/* A program of one head whose output is its input. */
typedef struct
{
  GradusDevice    *device;
  GradusProgram   *program;
  GradusHead       head;
  GradusPlan      *plan;
  GradusVariables *variables;
  GradusExecution *execution;
} Bench;

static void
bench_open (Bench *self, const char *device, const Array *output, const Array *targets)
{
  g_autoptr (GError) error = NULL;

  *self = (Bench){ .device = gradus_device_open (device, 2, &error) };
  g_assert_no_error (error);
  self->program = gradus_program_new ("head");
  self->head = (GradusHead){ .name = "head", .logits = GRADUS_NO_VALUE,
                             .mask = GRADUS_NO_VALUE, .shape = output->shape,
                             .target = array_spec (targets, "y") };
  self->head.shape.dims[0] = GRADUS_DIM_BATCH;
  self->head.output = gradus_program_add_input (self->program, "x", GRADUS_DTYPE_FLOAT32,
                                                self->head.shape);
}

static void
bench_start (Bench *self)
{
  g_autoptr (GError) error = NULL;
  GradusProgram *program = gradus_passes_run (self->program, &error);

  g_assert_no_error (error);
  gradus_program_unref (self->program);
  self->program = program;
  self->plan = gradus_plan_new (program, gradus_sizes (16, 1), &error);
  g_assert_no_error (error);
  self->variables = gradus_variables_new (program, self->device, &error);
  g_assert_no_error (error);
  self->execution = gradus_execution_new (self->plan, self->variables, self->device, &error);
  g_assert_no_error (error);
}

static void
bench_run (Bench *self, const Array *output, const Array *targets)
{
  GradusSizes sizes = gradus_sizes (output->shape.dims[0], 1);
  g_autoptr (GError) error = NULL;

  gradus_execution_set_input (self->execution, gradus_program_find (self->program, "x"),
                              output->floats, sizes, &error);
  g_assert_no_error (error);
  gradus_execution_set_input (self->execution, gradus_program_find (self->program, "target/0"),
                              array_data (targets), sizes, &error);
  g_assert_no_error (error);
  gradus_execution_run (self->execution, sizes, 0, 1, &error);
  g_assert_no_error (error);
}

static void
bench_close (Bench *self)
{
  gradus_execution_free (self->execution);
  gradus_variables_free (self->variables);
  gradus_plan_unref (self->plan);
  gradus_program_unref (self->program);
  gradus_device_unref (self->device);
}

static void
bench_compare (Bench *self, const char *name, const Array *wanted, const char *what)
{
  g_autofree float *met = g_new (float, wanted->n);
  g_autoptr (GError) error = NULL;

  gradus_execution_read (self->execution, gradus_program_find (self->program, name), met,
                         wanted->n * sizeof (float), &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < wanted->n; i++)
    assert_near (what, met[i], wanted->floats[i]);
}

static void
check_loss (JsonObject *c, const char *device)
{
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), c);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusJsonObject) cursor = gradus_json_open (node, NULL, &error);
  g_auto (Array) output = read_array (c, "output");
  g_auto (Array) targets = read_array (c, "targets");
  g_auto (Array) losses = read_array (c, "losses");
  g_auto (Array) gradient = read_array (c, "gradient");
  GradusLoss     loss;
  GradusValueId  rows, sum, by;
  Bench          bench;

  g_assert_true (gradus_loss_read (&loss, cursor, "loss"));
  bench_open (&bench, device, &output, &targets);
  gradus_loss_build (&loss, bench.program, &bench.head, &rows, &error);
  g_assert_no_error (error);
  gradus_program_add_output (bench.program, "losses", rows);
  gradus_program_add_node (bench.program, "reduce_sum", 0, &rows, 1, &sum, &error, NULL);
  g_assert_no_error (error);
  gradus_autodiff (bench.program, sum, &bench.head.output, 1, &by, &error);
  g_assert_no_error (error);
  gradus_program_add_output (bench.program, "gradient", by);
  bench_start (&bench);
  bench_run (&bench, &output, &targets);
  bench_compare (&bench, "losses", &losses, loss.klass->name);
  bench_compare (&bench, "gradient", &gradient, loss.klass->name);
  bench_close (&bench);
}

static void
test_losses (gconstpointer device)
{
  g_autoptr (JsonNode) node = load ("losses.json");
  JsonArray *cases = json_node_get_array (node);

  g_assert_cmpint (json_array_get_length (cases), >=, 28);
  for (guint i = 0; i < json_array_get_length (cases); i++)
    check_loss (json_array_get_object_element (cases, i), device);
}

static GradusMetric *
read_metric (JsonObject *c)
{
  g_autoptr (JsonObject) object = json_object_new ();
  g_autoptr (JsonArray) list = json_array_new ();
  g_autoptr (JsonNode) node = NULL;
  g_autoptr (GradusJsonObject) cursor = NULL;
  g_autoptr (GradusJsonArray) array = NULL;
  g_autoptr (GError) error = NULL;
  GradusMetric *metric;

  json_array_add_element (list, json_object_dup_member (c, "metric"));
  json_object_set_array_member (object, "metrics", json_array_ref (list));
  node = json_node_init_object (json_node_alloc (), object);
  cursor = gradus_json_open (node, NULL, &error);
  array = gradus_json_array (cursor, "metrics", 1);
  metric = gradus_metric_read (array, 0);
  gradus_json_end (cursor, &error);
  g_assert_no_error (error);
  return metric;
}

static void
check_metric (JsonObject *c, const char *device)
{
  JsonArray    *batches = json_object_get_array_member (c, "batches");
  JsonObject   *first = json_array_get_object_element (batches, 0);
  GradusMetric *metric = read_metric (c);
  g_auto (Array) output = read_array (first, "output");
  g_auto (Array) targets = read_array (first, "targets");
  g_autoptr (GError) error = NULL;
  g_autofree double *sums = NULL;
  GradusLoss    loss;
  GradusValueId rows, sum;
  guint         n;
  Bench         bench;

  gradus_loss_find (&loss, targets.dtype == GRADUS_DTYPE_INT32 ? "sparse_categorical_crossentropy"
                                                               : "mse");
  bench_open (&bench, device, &output, &targets);
  gradus_loss_build (&loss, bench.program, &bench.head, &rows, &error);
  g_assert_no_error (error);
  gradus_metric_build (metric, bench.program, &bench.head, &sum, &n, &error);
  g_assert_no_error (error);
  gradus_program_add_output (bench.program, "sums", sum);
  bench_start (&bench);
  sums = g_new0 (double, n);
  for (guint i = 0; i < json_array_get_length (batches); i++)
    {
      JsonObject    *batch = json_array_get_object_element (batches, i);
      g_auto (Array) p = read_array (batch, "output");
      g_auto (Array) t = read_array (batch, "targets");
      g_autofree double *met = g_new (double, n);

      bench_run (&bench, &p, &t);
      gradus_execution_read (bench.execution, gradus_program_find (bench.program, "sums"), met,
                             n * sizeof (double), &error);
      g_assert_no_error (error);
      for (guint k = 0; k < n; k++)
        sums[k] += met[k];
    }
  assert_near (metric->klass->class_name, gradus_metric_result (metric, sums, n),
               json_object_get_double_member (c, "value"));
  bench_close (&bench);
  gradus_metric_free (metric);
}

static void
test_metrics (gconstpointer device)
{
  g_autoptr (JsonNode) node = load ("metrics.json");
  JsonArray *cases = json_node_get_array (node);

  g_assert_cmpint (json_array_get_length (cases), >=, 35);
  for (guint i = 0; i < json_array_get_length (cases); i++)
    check_metric (json_array_get_object_element (cases, i), device);
}

/* All samples in one batch, with a target for each head and, if there are any, weights. */
typedef struct
{
  GradusBatchSource parent;
  GradusArraySpec   input, specs[3];
  const void       *inputs[1], *targets[3];
  guint             n_targets;
  gboolean          done;
  GradusBatch       batch;
} HeadSource;

static const GradusArraySpec *
source_inputs (GradusBatchSource *source, guint *n)
{
  *n = 1;
  return &((HeadSource *) source)->input;
}

static const GradusArraySpec *
source_targets (GradusBatchSource *source, guint *n)
{
  *n = ((HeadSource *) source)->n_targets;
  return ((HeadSource *) source)->specs;
}

static gint64
source_samples (GradusBatchSource *source)
{
  return ((HeadSource *) source)->batch.n_samples;
}

static gint64
source_batches (GradusBatchSource *source)
{
  return 1;
}

static guint
source_batch_size (GradusBatchSource *source)
{
  return ((HeadSource *) source)->batch.n_samples;
}

static void
source_set_batch_size (GradusBatchSource *source, guint size)
{
}

static gboolean
source_seek (GradusBatchSource *source, gint64 epoch, gint64 position, GError **error)
{
  ((HeadSource *) source)->done = position > 0;
  return TRUE;
}

static const GradusBatch *
source_next (GradusBatchSource *source, GError **error)
{
  HeadSource *self = (HeadSource *) source;
  gboolean    done = self->done;

  self->done = TRUE;
  return done ? NULL : &self->batch;
}

static void
source_nothing (GradusBatchSource *source)
{
}

static gboolean
source_has_weights (GradusBatchSource *source)
{
  return ((HeadSource *) source)->batch.weights != NULL;
}

static const GradusBatchSourceFuncs source_funcs = {
  source_inputs,         source_targets, source_samples, source_batches, source_batch_size,
  source_set_batch_size, source_seek,    source_next,    source_nothing, source_nothing,
  source_has_weights,
};

/* The data of the golden case; the targets in another order than the heads. */
typedef struct
{
  JsonNode   *node;
  JsonObject *json;
  Array       x, weight, y[3];
  HeadSource  source;
} Three;

static const char *const head_names[] = { "size", "digit", "kind" };

static void
three_open (Three *self)
{
  HeadSource *source = &self->source;

  *self = (Three){ .node = load ("three-heads.json") };
  self->json = json_node_get_object (self->node);
  self->x = read_array (self->json, "inputs");
  self->weight = read_array (self->json, "sample_weight");
  source->parent.funcs = &source_funcs;
  source->input = array_spec (&self->x, "x");
  source->inputs[0] = self->x.floats;
  source->n_targets = 3;
  for (guint i = 0; i < 3; i++)
    {
      self->y[i] = read_array (json_object_get_object_member (self->json, "targets"), head_names[i]);
      source->specs[i] = array_spec (&self->y[i], head_names[i]);
      source->targets[i] = array_data (&self->y[i]);
    }
  source->batch = (GradusBatch){ .n_samples = self->x.shape.dims[0],
                                 .inputs = source->inputs,
                                 .targets = source->targets,
                                 .weights = self->weight.floats };
}

static void
three_close (Three *self)
{
  array_clear (&self->x);
  array_clear (&self->weight);
  for (guint i = 0; i < 3; i++)
    array_clear (&self->y[i]);
  json_node_unref (self->node);
}

static GradusModel *
three_model (Three *self)
{
  g_autoptr (GError) error = NULL;
  GradusModel *model = gradus_model_new_from_json (
      json_object_get_object_member (self->json, "model"), "three-heads.json", "/model", &error);

  g_assert_no_error (error);
  return model;
}

static GradusTrainerOptions *
three_options (Three *self, JsonObject *fit)
{
  g_autoptr (GError) error = NULL;
  GradusTrainerOptions *options = gradus_trainer_options_new (
      json_object_get_object_member (self->json, "compile"), fit, NULL, NULL, "three-heads.json",
      NULL, &error);

  g_assert_no_error (error);
  return options;
}

static void
each_weight (JsonObject *weights, GradusVariables *variables, gboolean compare)
{
  JsonObjectIter iter;
  const char    *name;

  json_object_iter_init (&iter, weights);
  while (json_object_iter_next (&iter, &name, NULL))
    {
      g_auto (Array) array = read_array (weights, name);
      g_autofree float *met = g_new (float, array.n);
      g_autoptr (GError) error = NULL;
      guint index;

      g_assert_true (gradus_variables_find (variables, name, &index));
      if (!compare)
        gradus_variables_write (variables, index, array.floats, array.n * sizeof (float), &error);
      else
        gradus_variables_read (variables, index, met, array.n * sizeof (float), &error);
      g_assert_no_error (error);
      for (gsize i = 0; compare && i < array.n; i++)
        assert_near (name, met[i], array.floats[i]);
    }
}

/* Ten steps: the loss of the model, that of each head, and the weights in the end. A head's loss is the
 * mean of what counts; Keras adds them up by the loss weights. */
static void
test_curve (gconstpointer device_name)
{
  Three data;
  g_autoptr (GError) error = NULL;
  GradusDevice         *device = gradus_device_open (device_name, 2, &error);
  GradusModel          *model;
  GradusTrainerOptions *options;
  GradusBinding         binding;
  GradusCompiled        compiled;
  GradusPlan           *plan;
  GradusVariables      *variables;
  GradusExecution      *execution;
  JsonArray            *curve;

  g_assert_no_error (error);
  three_open (&data);
  model = three_model (&data);
  options = three_options (&data, NULL);
  g_assert_true (gradus_binding_new (&binding, model, &data.source.parent, &error));
  gradus_compile_train (&compiled, model, options, &binding, &error);
  g_assert_no_error (error);
  g_assert_cmpint (compiled.n_scores, ==, 6);
  plan = gradus_plan_new (compiled.program, gradus_sizes (9, 1), &error);
  g_assert_no_error (error);
  variables = gradus_variables_new (compiled.program, device, &error);
  g_assert_no_error (error);
  execution = gradus_execution_new (plan, variables, device, &error);
  g_assert_no_error (error);
  each_weight (json_object_get_object_member (data.json, "weights"), variables, FALSE);
  curve = json_object_get_array_member (data.json, "curve");
  for (guint i = 0; i < json_array_get_length (curve); i++)
    {
      JsonObject *wanted = json_array_get_object_element (curve, i);
      float       loss;

      g_assert_true (gradus_check_labels (&compiled, &binding, &data.source.batch, &error));
      g_assert_true (gradus_set_batch (execution, &compiled, &binding, &data.source.batch, &error));
      gradus_execution_run (execution, gradus_sizes (9, 1), 0, i + 1, &error);
      g_assert_no_error (error);
      gradus_execution_read (execution, compiled.loss, &loss, sizeof loss, &error);
      g_assert_no_error (error);
      assert_near ("loss", loss, json_object_get_double_member (wanted, "loss"));
      g_assert_true (gradus_sums_read (&compiled, execution, &error));
      assert_near ("total", gradus_total_loss (&compiled, compiled.batch_sums), loss);
      for (guint s = 0; s < compiled.n_scores; s++)
        {
          const GradusScore *score = &compiled.scores[s];
          g_autofree char   *head = g_path_get_dirname (score->name);

          if (score->metric == NULL)
            assert_near (score->name, gradus_score_result (score, compiled.batch_sums),
                         json_object_get_double_member (wanted, head));
        }
    }
  each_weight (json_object_get_object_member (data.json, "final_weights"), variables, TRUE);
  gradus_execution_free (execution);
  gradus_variables_free (variables);
  gradus_plan_unref (plan);
  gradus_compiled_clear (&compiled);
  gradus_trainer_options_free (options);
  gradus_model_unref (model);
  gradus_device_unref (device);
  three_close (&data);
}

/* The names of the series, the live weight of a head, and the values of all heads in the log. */
static void
test_trainer (void)
{
  Three data;
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) fit = gradus_json_parse (
      "{\"epochs\": 3, \"early_stopping\": {\"monitor\": \"validation/digit/accuracy\","
      " \"patience\": 5}}", -1, "fit", &error);
  GradusTrainerConfig config = { 0 };
  GradusTestObserver *observer = gradus_test_observer_new ();
  GradusTrainer      *trainer;
  double              total = 0;

  three_open (&data);
  config.model = three_model (&data);
  config.options = three_options (&data, json_node_get_object (fit));
  config.device = gradus_device_open ("cpu", 2, &error);
  config.train = config.validation = config.test = &data.source.parent;
  config.observer = &observer->parent;
  trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
  gradus_trainer_post (trainer, GRADUS_COMMAND_SET, 1, "loss_weights/size", 0.25);
  gradus_trainer_post (trainer, GRADUS_COMMAND_SET, 2, "loss_weights/none", 1);
  g_assert_cmpint (gradus_trainer_run (trainer, &error), ==, GRADUS_RUN_FINISHED);
  g_assert_no_error (error);
  g_assert_true (g_str_has_suffix (observer->taken->pdata[0], "ok"));
  g_assert_false (g_str_has_suffix (observer->taken->pdata[1], "ok"));
  for (guint i = 0; i < 3; i++)
    {
      static const double weights[] = { 0.25, 1, 0.5 };
      g_autofree char *train = g_strdup_printf ("train/%s/loss", head_names[i]);
      g_autofree char *validation = g_strdup_printf ("validation/%s/loss", head_names[i]);
      g_autofree char *test = g_strdup_printf ("test/%s/loss", head_names[i]);

      for (gint64 step = 1; step <= 3; step++)
        g_assert_true (gradus_test_observer_has (observer, train, step));
      total += weights[i] * gradus_test_observer_value (observer, validation, 3);
      g_assert_cmpfloat (gradus_test_observer_value (observer, test, 3), ==,
                         gradus_test_observer_value (observer, validation, 3));
    }
  assert_near ("total", gradus_test_observer_value (observer, "validation/loss", 3), total);
  g_assert_true (gradus_test_observer_has (observer, "validation/digit/accuracy", 3));
  g_assert_true (gradus_test_observer_has (observer, "train/size/mae", 2));
  g_assert_false (gradus_test_observer_has (observer, "train/accuracy", 3));
  /* The first count of the matrix: a 0 taken for a 0. */
  g_assert_cmpfloat (gradus_test_observer_value (observer, "test/digit/confusion_matrix", 3), >=, 0);
  g_assert_false (gradus_test_observer_has (observer, "train/digit/confusion_matrix", 3));
  gradus_trainer_free (trainer);
  gradus_test_observer_free (observer);
  gradus_trainer_options_free (config.options);
  gradus_model_unref (config.model);
  gradus_device_unref (config.device);
  three_close (&data);
}

/* With weights that make classes count alike the loss is the mean of the losses of classes. */
static void
test_balanced (void)
{
  static const gint32 labels[] = { 0, 0, 0, 0, 0, 0, 2, 2, 1 };
  Three data;
  g_autoptr (GError) error = NULL;
  GradusModel *model = gradus_test_model (
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
      "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 6], \"name\": \"x\"}},"
      "{\"class_name\": \"Dense\", \"config\": {\"units\": 3, \"name\": \"d\"}}]}}");
  GradusTrainerOptions *options = gradus_test_options (
      "{\"compile\": {\"optimizer\": \"SGD\", \"class_weight\": \"balanced\", \"loss\":"
      " {\"class_name\": \"SparseCategoricalCrossentropy\", \"config\": {\"from_logits\": true}}}}");
  GradusBinding  binding;
  GradusCompiled compiled;

  three_open (&data);
  data.source.n_targets = 1;
  data.source.batch.weights = NULL;
  data.source.targets[0] = labels;
  data.source.specs[0] = (GradusArraySpec){ .name = "y", .dtype = GRADUS_DTYPE_INT32 };
  g_assert_true (gradus_binding_new (&binding, model, &data.source.parent, &error));
  gradus_compile_train (&compiled, model, options, &binding, &error);
  g_assert_no_error (error);
  g_assert_true (gradus_balance_classes (&compiled, &binding, &data.source.parent, &error));
  g_assert_cmpfloat (compiled.class_weights[0], ==, 9.0 / (3 * 6));
  g_assert_cmpfloat (compiled.class_weights[1], ==, 9.0 / 3);
  g_assert_cmpfloat (compiled.class_weights[2], ==, 9.0 / (3 * 2));
  g_assert_cmpint (compiled.heads[0].weight, !=, GRADUS_NO_VALUE);
  gradus_compiled_clear (&compiled);
  gradus_trainer_options_free (options);
  gradus_model_unref (model);
  three_close (&data);
}

/* Steps that a mask of the model calls padding are in no sum, whatever stands there. */
static void
test_mask (gconstpointer device)
{
  static const float  p[] = { 1, 2, NAN, 4, 5, 6 }, mask[] = { 1, 1, 0, 1, 0, 0 };
  static const float  t[] = { 2, 2, 9, 7, 9, 9 };
  const gint64        dims[] = { 2, 3, 1 };
  Array               output = { .dtype = GRADUS_DTYPE_FLOAT32, .n = 6, .floats = (float *) p };
  Array               targets = output;
  g_autoptr (GError) error = NULL;
  GradusLoss    loss;
  GradusValueId rows, pair[2], sums;
  double        met[2];
  Bench         bench;

  output.shape.rank = 3;
  memcpy (output.shape.dims, dims, sizeof dims);
  targets.shape = output.shape;
  targets.floats = (float *) t;
  g_assert_true (gradus_loss_find (&loss, "mse"));
  bench_open (&bench, device, &output, &targets);
  bench.head.mask = gradus_program_add_input (bench.program, "mask", GRADUS_DTYPE_FLOAT32,
                                              gradus_shape (2, (gint64) GRADUS_DIM_BATCH,
                                                            (gint64) 3));
  gradus_loss_build (&loss, bench.program, &bench.head, &rows, &error);
  g_assert_no_error (error);
  g_assert_cmpint (bench.head.valid, ==, bench.head.mask);
  pair[0] = rows;
  pair[1] = bench.head.valid;
  gradus_program_add_node (bench.program, "weighted_sum", 0, pair, 2, &sums, &error, NULL);
  g_assert_no_error (error);
  gradus_program_add_output (bench.program, "sums", sums);
  bench_start (&bench);
  gradus_execution_set_input (bench.execution, gradus_program_find (bench.program, "mask"), mask,
                              gradus_sizes (2, 1), &error);
  bench_run (&bench, &output, &targets);
  gradus_execution_read (bench.execution, gradus_program_find (bench.program, "sums"), met,
                         sizeof met, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (met[0], ==, 10);
  g_assert_cmpfloat (met[1], ==, 3);
  bench_close (&bench);
}

static const struct
{
  const char *compile, *wanted;
} misfits[] = {
  { "\"loss\": {\"digit\": \"mse\"}", "“kind” has no loss" },
  { "\"loss\": \"mse\"", "does not fit" },
  { "\"loss\": {\"digit\": \"mse\", \"knd\": \"mse\", \"size\": \"mse\"}", "no output “knd”" },
  { "\"loss\": \"mse\", \"loss_weights\": {\"sze\": 2}", "no output “sze”" },
  { "\"loss\": \"mse\", \"class_weight\": {\"0\": 2}", "one output" },
};

static void
test_misfits (void)
{
  Three data;
  GradusModel *model;

  three_open (&data);
  model = three_model (&data);
  for (gsize i = 0; i < G_N_ELEMENTS (misfits); i++)
    {
      g_autofree char *json = g_strdup_printf ("{\"compile\": {\"optimizer\": \"SGD\", %s}}",
                                               misfits[i].compile);
      GradusTrainerOptions *options = gradus_test_options (json);
      g_autoptr (GError) error = NULL;
      GradusBinding  binding;
      GradusCompiled compiled;

      g_assert_true (gradus_binding_new (&binding, model, &data.source.parent, &error));
      g_assert_false (gradus_compile_train (&compiled, model, options, &binding, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      if (strstr (error->message, misfits[i].wanted) == NULL)
        g_error ("%s", error->message);
      gradus_compiled_clear (&compiled);
      gradus_trainer_options_free (options);
    }
  gradus_model_unref (model);
  three_close (&data);
}

/* The page for readers names every loss and metric. */
static void
test_page (void)
{
  const char *const *names[] = { gradus_loss_names (), gradus_metric_names () };
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "docs", "recipes.md", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  const char *lines[2];

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  lines[0] = strstr (text, "| losses |");
  lines[1] = strstr (text, "| metrics |");
  for (guint i = 0; i < 2; i++)
    for (guint k = 0; names[i][k] != NULL; k++)
      if (g_strstr_len (lines[i], strcspn (lines[i], "\n"), names[i][k]) == NULL)
        g_error ("docs/recipes.md does not name “%s”", names[i][k]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/heads/losses/ref", "ref", test_losses);
  g_test_add_data_func ("/heads/losses/cpu", "cpu", test_losses);
  g_test_add_data_func ("/heads/metrics/ref", "ref", test_metrics);
  g_test_add_data_func ("/heads/metrics/cpu", "cpu", test_metrics);
  g_test_add_data_func ("/heads/curve/ref", "ref", test_curve);
  g_test_add_data_func ("/heads/curve/cpu", "cpu", test_curve);
  g_test_add_data_func ("/heads/mask/ref", "ref", test_mask);
  g_test_add_data_func ("/heads/mask/cpu", "cpu", test_mask);
  g_test_add_func ("/heads/trainer", test_trainer);
  g_test_add_func ("/heads/balanced", test_balanced);
  g_test_add_func ("/heads/misfits", test_misfits);
  g_test_add_func ("/heads/page", test_page);
  return g_test_run ();
}
