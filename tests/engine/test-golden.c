/* SPDX-License-Identifier: Apache-2.0 */
#include "device/gradus-execution.h"
#include "gradus-json.h"
#include "train/gradus-compile.h"

#include <math.h>
#include <string.h>

/* Numbers from Keras: golden/make_golden.py says what a case holds. Run on every device there is. */

typedef struct
{
  GradusShape shape;
  GradusDType dtype;
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
read_array (JsonObject *object)
{
  Array       array = { 0 };
  JsonArray  *shape = json_object_get_array_member (object, "shape");
  JsonArray  *data = json_object_get_array_member (object, "data");
  const char *dtype = json_object_get_string_member_with_default (object, "dtype", "float32");

  g_assert_true (gradus_dtype_from_name (dtype, &array.dtype));
  array.shape.rank = json_array_get_length (shape);
  for (guint i = 0; i < array.shape.rank; i++)
    array.shape.dims[i] = json_array_get_int_element (shape, i);
  array.n = json_array_get_length (data);
  g_assert_cmpint (array.n, ==, gradus_shape_count (&array.shape));
  array.floats = g_new (float, MAX (1, array.n));
  array.ints = g_new (gint32, MAX (1, array.n));
  for (gsize i = 0; i < array.n; i++)
    {
      array.floats[i] = json_array_get_double_element (data, i);
      array.ints[i] = array.floats[i];
    }
  return array;
}

/* As the type says; bytes too are written as whole numbers. */
static gpointer
array_data (const Array *array)
{
  guint8 *bytes;

  if (array->dtype == GRADUS_DTYPE_FLOAT32)
    return g_memdup2 (array->floats, array->n * sizeof (float));
  if (array->dtype == GRADUS_DTYPE_INT32)
    return g_memdup2 (array->ints, array->n * sizeof (gint32));
  g_assert_cmpint (array->dtype, ==, GRADUS_DTYPE_UINT8);
  bytes = g_malloc (array->n);
  for (gsize i = 0; i < array->n; i++)
    bytes[i] = array->ints[i];
  return bytes;
}

/* The largest difference, measured by the largest number there; a gradient that is zero in exact
 * arithmetic is noise, so there is a floor. */
static void
compare (const char *what, const float *met, const float *wanted, gsize n, double tolerance)
{
  double scale = 0.02, worst = 0;
  gsize  at = 0;

  for (gsize i = 0; i < n; i++)
    scale = fmax (scale, fabs (wanted[i]));
  for (gsize i = 0; i < n; i++)
    if (!(fabs ((double) met[i] - wanted[i]) <= worst))
      {
        worst = fabs ((double) met[i] - wanted[i]);
        at = i;
      }
  if (!(worst <= tolerance * scale))
    {
      g_test_message ("%s: element %" G_GSIZE_FORMAT " is %.9g, wanted %.9g (tolerance %g of %g)",
                      what, at, met[at], wanted[at], tolerance, scale);
      g_test_fail ();
    }
}

typedef struct
{
  JsonObject           *json;
  GradusDevice         *device;
  GradusModel          *model;
  GradusTrainerOptions *options;
  double                tolerance;
  Array                 inputs, targets;
  GradusBinding         binding;
} Case;

/* The size of a free time axis, if there is one. */
static gint64
steps (Case *self)
{
  return self->inputs.shape.rank > 1 ? self->inputs.shape.dims[1] : 1;
}

static void
write_weights (Case *self, GradusVariables *variables)
{
  JsonObject    *weights = json_object_get_object_member (self->json, "weights");
  JsonObjectIter iter;
  const char    *name;
  JsonNode      *node;

  json_object_iter_init (&iter, weights);
  while (json_object_iter_next (&iter, &name, &node))
    {
      g_auto (Array) array = read_array (json_node_get_object (node));
      g_autoptr (GError) error = NULL;
      guint index;

      g_assert_true (gradus_variables_find (variables, name, &index));
      gradus_variables_write (variables, index, array.floats, array.n * sizeof (float), &error);
      g_assert_no_error (error);
    }
}

static void
check_outputs (Case *self)
{
  GradusCompiled compiled;
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusPlan) plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  g_auto (Array) wanted = read_array (json_object_get_object_member (self->json, "outputs"));
  g_autofree float *met = g_new (float, wanted.n);
  g_autofree gpointer data = array_data (&self->inputs);
  gint64 batch = self->inputs.shape.dims[0];

  gradus_compile_infer (&compiled, self->model, self->binding.dtypes, &error);
  g_assert_no_error (error);
  plan = gradus_plan_new (compiled.program, gradus_sizes (batch, steps (self)), &error);
  g_assert_no_error (error);
  variables = gradus_variables_new (compiled.program, self->device, &error);
  g_assert_no_error (error);
  write_weights (self, variables);
  execution = gradus_execution_new (plan, variables, self->device, &error);
  g_assert_no_error (error);
  g_assert_true (gradus_execution_set_input (execution, compiled.inputs[0], data, gradus_sizes (batch, steps (self)), &error));
  g_assert_true (gradus_execution_run (execution, gradus_sizes (batch, steps (self)), 0, 0, &error));
  gradus_execution_read (execution, compiled.predictions[0], met, wanted.n * sizeof (float), &error);
  g_assert_no_error (error);
  compare ("outputs", met, wanted.floats, wanted.n, self->tolerance);
  gradus_compiled_clear (&compiled);
}

static void
check_gradients (Case *self, GradusCompiled *compiled, GradusExecution *execution)
{
  JsonObject *gradients = json_object_get_object_member (self->json, "gradients");

  g_assert_cmpint (json_object_get_size (gradients), ==, compiled->n_gradients);
  for (guint i = 0; i < compiled->n_gradients; i++)
    {
      g_auto (Array) wanted = read_array (json_object_get_object_member (gradients,
                                                                         compiled->names[i]));
      g_autofree float *met = g_new (float, wanted.n);
      g_autofree char *what = g_strdup_printf ("gradient of %s", compiled->names[i]);
      g_autoptr (GError) error = NULL;

      gradus_execution_read (execution, compiled->gradients[i], met, wanted.n * sizeof (float),
                             &error);
      g_assert_no_error (error);
      compare (what, met, wanted.floats, wanted.n, self->tolerance);
    }
}

static void
check_final (Case *self, GradusVariables *variables)
{
  JsonObject    *weights = json_object_get_object_member (self->json, "final_weights");
  JsonObjectIter iter;
  const char    *name;
  JsonNode      *node;

  json_object_iter_init (&iter, weights);
  while (json_object_iter_next (&iter, &name, &node))
    {
      g_auto (Array) wanted = read_array (json_node_get_object (node));
      g_autofree float *met = g_new (float, wanted.n);
      g_autofree char *what = g_strdup_printf ("%s after the last step", name);
      g_autoptr (GError) error = NULL;
      guint index;

      g_assert_true (gradus_variables_find (variables, name, &index));
      gradus_variables_read (variables, index, met, wanted.n * sizeof (float), &error);
      g_assert_no_error (error);
      compare (what, met, wanted.floats, wanted.n, 10 * self->tolerance);
    }
}

static void
check_training (Case *self)
{
  GradusCompiled compiled;
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusPlan) plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  JsonArray *losses = json_object_get_array_member (self->json, "losses");
  g_autofree gpointer data = array_data (&self->inputs);
  g_autofree gpointer targets = array_data (&self->targets);
  gint64 batch = self->inputs.shape.dims[0];

  gradus_compile_train (&compiled, self->model, self->options, &self->binding, &error);
  g_assert_no_error (error);
  plan = gradus_plan_new (compiled.program, gradus_sizes (batch, steps (self)), &error);
  g_assert_no_error (error);
  variables = gradus_variables_new (compiled.program, self->device, &error);
  g_assert_no_error (error);
  write_weights (self, variables);
  gradus_optimizer_initialize (&self->options->optimizer, variables, &error);
  g_assert_no_error (error);
  execution = gradus_execution_new (plan, variables, self->device, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < json_array_get_length (losses); i++)
    {
      GradusValueId step = gradus_program_find (compiled.program, "step");
      GradusValueId rate = gradus_program_find (compiled.program, "learning_rate");
      const GradusSchedule *schedule = &self->options->optimizer.schedule;
      float         loss, wanted = json_array_get_double_element (losses, i);
      g_autofree char *what = g_strdup_printf ("loss of step %u", i + 1);

      if (step != GRADUS_NO_VALUE)
        gradus_execution_set_hyper (execution, step, i + 1);
      if (schedule->klass != NULL)
        gradus_execution_set_hyper (execution, rate, gradus_schedule_value (schedule, i));
      g_assert_true (gradus_execution_set_input (execution, compiled.inputs[0], data, gradus_sizes (batch, steps (self)), &error));
      g_assert_true (gradus_execution_set_input (execution, compiled.heads[0].target, targets, gradus_sizes (batch, steps (self)), &error));
      gradus_execution_run (execution, gradus_sizes (batch, steps (self)), 0, i + 1, &error);
      g_assert_no_error (error);
      gradus_execution_read (execution, compiled.loss, &loss, sizeof loss, &error);
      g_assert_no_error (error);
      compare (what, &loss, &wanted, 1, 10 * self->tolerance);
      if (i == 0)
        check_gradients (self, &compiled, execution);
    }
  check_final (self, variables);
  gradus_compiled_clear (&compiled);
}

static void
bind (Case *self)
{
  guint rank = self->targets.shape.rank;

  self->binding = (GradusBinding){ .n_inputs = 1, .dtypes = { self->inputs.dtype } };
  self->binding.n_targets = 1;
  self->binding.targets[0] = (GradusArraySpec){ "target", self->targets.dtype, rank - 1, { 0 } };
  for (guint i = 1; i < rank; i++)
    self->binding.targets[0].dims[i - 1] = self->targets.shape.dims[i];
}

static void
run_case (const char *path, const char *device_name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_load_file (path, &error);
  g_autoptr (JsonObject) compile = json_object_new ();
  JsonObject *fit = NULL;
  Case        self = { 0 };

  g_assert_no_error (error);
  self.json = json_node_get_object (node);
  self.device = gradus_device_open (device_name, 2, &error);
  g_assert_no_error (error);
  self.tolerance = json_object_get_double_member_with_default (self.json, "tolerance", 2e-5);
  self.model = gradus_model_new_from_json (json_object_get_object_member (self.json, "model"),
                                           path, "/model", &error);
  g_assert_no_error (error);
  json_object_set_member (compile, "loss", json_object_dup_member (self.json, "loss"));
  json_object_set_member (compile, "optimizer", json_object_dup_member (self.json, "optimizer"));
  if (json_object_has_member (self.json, "fit"))
    fit = json_object_get_object_member (self.json, "fit");
  self.options = gradus_trainer_options_new (compile, fit, NULL, NULL, path, NULL, &error);
  g_assert_no_error (error);
  self.inputs = read_array (json_object_get_object_member (self.json, "inputs"));
  self.targets = read_array (json_object_get_object_member (self.json, "targets"));
  bind (&self);
  check_outputs (&self);
  check_training (&self);
  array_clear (&self.inputs);
  array_clear (&self.targets);
  gradus_trainer_options_free (self.options);
  gradus_model_unref (self.model);
  gradus_device_unref (self.device);
}

static void
test_ref (gconstpointer path)
{
  run_case (path, "ref");
}

static void
test_cpu (gconstpointer path)
{
  run_case (path, "cpu");
}

static int
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

int
main (int argc, char **argv)
{
  g_autofree char *folder = NULL;
  g_autoptr (GDir) dir = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  g_test_init (&argc, &argv, NULL);
  folder = g_test_build_filename (G_TEST_DIST, "golden", NULL);
  dir = g_dir_open (folder, 0, NULL);
  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".json"))
      g_ptr_array_add (names, g_strdup (name));
  g_assert_cmpint (names->len, >=, 100);
  g_ptr_array_sort (names, by_name);
  for (guint i = 0; i < names->len; i++)
    {
      char            *path = g_build_filename (folder, names->pdata[i], NULL);
      g_autofree char *ref = g_strdup_printf ("/golden/ref/%s", (char *) names->pdata[i]);
      g_autofree char *cpu = g_strdup_printf ("/golden/cpu/%s", (char *) names->pdata[i]);

      g_test_add_data_func (ref, path, test_ref);
      g_test_add_data_func_full (cpu, path, test_cpu, g_free);
    }
  return g_test_run ();
}
