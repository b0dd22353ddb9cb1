/* SPDX-License-Identifier: Apache-2.0 */

/* Training steps of a small convolutional network, the whole way: program, autodiff, passes, plan and
 * execution on each device, against the program as written, evaluated in float64. */

#include <math.h>
#include <string.h>

#include "device/gradus-execution.h"
#include "device/ref/gradus-ref.h"
#include "gradus-philox.h"
#include "gradus-test-ops.h"
#include "passes/gradus-passes.h"
#include "plan/gradus-plan.h"

#define SEED 42
#define STEPS 3
#define MAX_BATCH 6

typedef struct
{
  GradusProgram *program;
  GradusValueId  x;
  GradusValueId  weights[16];
  guint          n_weights;
} Network;

static GradusValueId
add (GradusProgram *program, const char *op, const char *attrs, guint n, ...)
{
  GradusValueId      inputs[8], outputs[4];
  g_autoptr (GError) error = NULL;
  va_list            args;

  va_start (args, n);
  for (guint i = 0; i < n; i++)
    inputs[i] = va_arg (args, GradusValueId);
  va_end (args);
  gradus_program_add_node_text (program, op, 0, inputs, n, attrs, outputs, &error);
  g_assert_no_error (error);
  return outputs[0];
}

static GradusValueId
weight (Network *net, const char *name, GradusShape shape)
{
  GradusValueId id = gradus_program_add_variable (net->program, name, GRADUS_VARIABLE_WEIGHT,
                                                  GRADUS_DTYPE_FLOAT32, shape);

  return net->weights[net->n_weights++] = id;
}

static GradusValueId
state (Network *net, const char *name, const char *what, GradusVariableRole role, GradusShape shape)
{
  g_autofree char *full = g_strconcat (name, "/", what, NULL);

  return gradus_program_add_variable (net->program, full, role, GRADUS_DTYPE_FLOAT32, shape);
}

static GradusValueId
batch_norm (Network *net, GradusValueId x, gint64 channels)
{
  GradusShape        shape = gradus_shape (1, channels);
  GradusValueId      out[3], moving;
  GradusValueId      in[] = { x, weight (net, "norm/gamma", shape), weight (net, "norm/beta", shape) };
  g_autoptr (GError) error = NULL;

  gradus_program_add_node (net->program, "batch_norm", 0, in, 3, out, &error, NULL);
  g_assert_no_error (error);
  moving = state (net, "norm", "moving_mean", GRADUS_VARIABLE_STATISTIC, shape);
  add (net->program, "moving_average", NULL, 2, moving, out[1]);
  moving = state (net, "norm", "moving_variance", GRADUS_VARIABLE_STATISTIC, shape);
  add (net->program, "moving_average", NULL, 2, moving, out[2]);
  return out[0];
}

/* Uint8 images 7 by 7, three classes; a branch that is concatenated and one that is added. */
static GradusValueId
forward (Network *net)
{
  GradusProgram     *program = net->program;
  GradusValueId      x, y, z, dropped, labels, loss;
  g_autoptr (GError) error = NULL;

  net->x = gradus_program_add_input (program, "x", GRADUS_DTYPE_UINT8, gradus_shape (3, -1L, 7L, 7L));
  labels = gradus_program_add_input (program, "labels", GRADUS_DTYPE_INT32, gradus_shape (1, -1L));
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "conv");
  x = add (program, "affine", "scale=0.00784313725 offset=-1", 1, net->x);
  x = add (program, "reshape", "shape=-1,7,7,1", 1, x);
  y = add (program, "conv", "pads=1,1,1,1", 2, x, weight (net, "conv/kernel", gradus_shape (4, 3L, 3L, 1L, 4L)));
  /* No bias: behind it batch_norm would take it out again, and Adam would follow the rounding. */
  y = batch_norm (net, y, 4);
  y = add (program, "relu", NULL, 1, y);
  y = add (program, "max_pool", "pads=0,1,0,1", 1, y);
  z = add (program, "conv", "pads=1,1,1,1", 2, y,
           weight (net, "second/kernel", gradus_shape (4, 3L, 3L, 4L, 4L)));
  z = add (program, "bias_add", NULL, 2, z, weight (net, "second/bias", gradus_shape (1, 4L)));
  z = add (program, "relu", NULL, 1, z);
  y = add (program, "add", NULL, 2, y, z);
  z = add (program, "reduce_mean", "axes=1,2", 1, z);
  y = add (program, "reshape", "shape=-1,64", 1, y);
  gradus_program_add_node (program, "dropout", gradus_philox_stream ("dropout"),
                           (GradusValueId[]){ y, gradus_program_add_hyper (program, "rate", 0.25f) }, 2,
                           &dropped, &error, NULL);
  g_assert_no_error (error);
  y = add (program, "concat", "axis=1", 2, dropped, z);
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "dense");
  y = add (program, "matmul", NULL, 2, y, weight (net, "dense/kernel", gradus_shape (2, 68L, 3L)));
  y = add (program, "bias_add", NULL, 2, y, weight (net, "dense/bias", gradus_shape (1, 3L)));
  loss = add (program, "sparse_softmax_cross_entropy", NULL, 2, y, labels);
  return add (program, "reduce_mean", NULL, 1, loss);
}

static void
update (Network *net, const GradusValueId *gradients)
{
  GradusProgram *program = net->program;
  GradusValueId  squares[16], norm, scale, rate, step;

  gradus_program_set_scope (program, GRADUS_PHASE_UPDATE, NULL);
  for (guint i = 0; i < net->n_weights; i++)
    squares[i] = add (program, "sum_squares", NULL, 1, gradients[i]);
  gradus_program_add_node (program, "global_norm", 0, squares, net->n_weights, &norm, NULL, NULL);
  scale = add (program, "clip_scale", NULL, 2, norm, gradus_program_add_hyper (program, "clip", 0.5f));
  rate = gradus_program_add_hyper (program, "learning_rate", 0.01f);
  step = gradus_program_add_hyper (program, "step", 1);
  for (guint i = 0; i < net->n_weights; i++)
    {
      const GradusValue *w = gradus_program_value (program, net->weights[i]);
      GradusShape        shape = w->type.shape;
      const char        *name = w->name;

      add (program, "adam_step", NULL, 7, net->weights[i],
           state (net, name, "m", GRADUS_VARIABLE_OPTIMIZER, shape),
           state (net, name, "v", GRADUS_VARIABLE_OPTIMIZER, shape), gradients[i], scale, rate, step);
    }
  gradus_program_add_output (program, "gradient_norm", norm);
}

static void
network_init (Network *net)
{
  GradusValueId      gradients[16], loss;
  g_autoptr (GError) error = NULL;

  memset (net, 0, sizeof *net);
  net->program = gradus_program_new ("network");
  loss = forward (net);
  gradus_program_add_output (net->program, "loss", loss);
  gradus_autodiff (net->program, loss, net->weights, net->n_weights, gradients, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < net->n_weights; i++)
    g_assert_cmpuint (gradients[i], !=, GRADUS_NO_VALUE);
  update (net, gradients);
}

/* Numbers of the variable called @name at the start. */
static float *
initial (const char *name, gint64 n)
{
  GradusPhilox philox = gradus_philox (SEED, gradus_philox_stream (name), 0);
  float       *data = g_new0 (float, n + 1);
  gboolean     is_weight = g_str_has_suffix (name, "kernel") || g_str_has_suffix (name, "bias");

  for (gint64 i = 0; i < n; i++)
    if (is_weight)
      data[i] = gradus_philox_float (&philox, i) * 0.6f - 0.3f;
    else if (g_str_has_suffix (name, "gamma"))
      data[i] = 1;
  return data;
}

static void
make_batch (guint step, gint64 batch, guint8 *images, gint32 *labels)
{
  GradusPhilox philox = gradus_philox (SEED, gradus_philox_stream ("data"), step);

  for (gint64 i = 0; i < batch * 49; i++)
    images[i] = gradus_philox_word (&philox, i);
  for (gint64 i = 0; i < batch; i++)
    labels[i] = gradus_philox_word (&philox, 10000 + i) % 3;
}

/* Two full batches and a short last one. */
static gint64
batch_of (guint step)
{
  return step == STEPS ? 2 : MAX_BATCH;
}

typedef struct
{
  double losses[STEPS], norms[STEPS];
  /* Every variable after the last step, by name: arrays of double. */
  GHashTable *variables;
} Outcome;

static void
outcome_init (Outcome *outcome)
{
  memset (outcome, 0, sizeof *outcome);
  outcome->variables = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
}

/* The program as it was written, without passes or plan. */
static void
evaluate (Network *net, Outcome *outcome)
{
  GradusProgram *program = net->program;
  guint          n = gradus_program_n_values (program);
  double       **values = g_new0 (double *, n);
  guint8         images[MAX_BATCH * 49];
  gint32         labels[MAX_BATCH];
  GradusValueId  id_labels = gradus_program_find (program, "labels");

  outcome_init (outcome);
  for (guint i = 0; i < n; i++)
    {
      const GradusValue *value = gradus_program_value (program, i);
      gint64             count = gradus_shape_count (&value->type.shape);
      g_autofree float  *data = NULL;

      if (value->kind == GRADUS_VALUE_HYPER)
        {
          values[i] = g_new (double, 1);
          values[i][0] = value->initial;
        }
      else if (value->kind == GRADUS_VALUE_VARIABLE)
        {
          data = initial (value->name, count);
          values[i] = g_new (double, count + 1);
          gradus_ref_widen (GRADUS_DTYPE_FLOAT32, data, count, values[i]);
        }
    }
  values[net->x] = g_new (double, MAX_BATCH * 49 + 1);
  values[id_labels] = g_new (double, MAX_BATCH + 1);
  for (guint step = 1; step <= STEPS; step++)
    {
      gint64 batch = batch_of (step);

      make_batch (step, batch, images, labels);
      gradus_ref_widen (GRADUS_DTYPE_UINT8, images, batch * 49, values[net->x]);
      gradus_ref_widen (GRADUS_DTYPE_INT32, labels, batch, values[id_labels]);
      values[gradus_program_find (program, "step")][0] = step;
      for (guint i = 0; i < n; i++)
        if (gradus_program_value (program, i)->kind == GRADUS_VALUE_TEMPORARY)
          g_clear_pointer (&values[i], g_free);
      gradus_test_evaluate (program, values, batch, SEED, step);
      outcome->losses[step - 1] = values[gradus_program_find (program, "loss")][0];
      outcome->norms[step - 1] = values[gradus_program_find (program, "gradient_norm")][0];
    }
  for (guint i = 0; i < n; i++)
    if (gradus_program_value (program, i)->kind == GRADUS_VALUE_VARIABLE)
      g_hash_table_insert (outcome->variables, (gpointer) gradus_program_value (program, i)->name,
                           g_steal_pointer (&values[i]));
  gradus_test_free_values (values, n);
}

static void
fill_store (GradusVariables *store)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < gradus_variables_n (store); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;
      const char        *name = gradus_variables_name (store, i, &role, &type);
      gint64             n = gradus_shape_count (&type.shape);
      g_autofree float  *data = initial (name, n);

      gradus_variables_write (store, i, data, n * sizeof *data, &error);
      g_assert_no_error (error);
    }
}

static void
read_store (GradusVariables *store, Outcome *outcome)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < gradus_variables_n (store); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;
      const char        *name = gradus_variables_name (store, i, &role, &type);
      gint64             n = gradus_shape_count (&type.shape);
      g_autofree float  *data = g_new (float, n + 1);
      double            *wide = g_new (double, n + 1);

      gradus_variables_read (store, i, data, n * sizeof *data, &error);
      g_assert_no_error (error);
      gradus_ref_widen (GRADUS_DTYPE_FLOAT32, data, n, wide);
      g_hash_table_insert (outcome->variables, (gpointer) name, wide);
    }
}

static double
read_scalar (GradusExecution *execution, GradusProgram *program, const char *name)
{
  g_autoptr (GError) error = NULL;
  float              value;

  gradus_execution_read (execution, gradus_program_find (program, name), &value, sizeof value, &error);
  g_assert_no_error (error);
  return value;
}

/* The whole way on the device called @name. */
static void
execute (Network *net, const char *device_name, guint threads, gboolean passes, Outcome *outcome)
{
  g_autoptr (GError)          error = NULL;
  g_autoptr (GradusProgram)   program = NULL;
  g_autoptr (GradusDevice)    device = gradus_device_open (device_name, threads, &error);
  g_autoptr (GradusPlan)      plan = NULL;
  g_autoptr (GradusVariables) store = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  guint8                      images[MAX_BATCH * 49];
  gint32                      labels[MAX_BATCH];

  g_assert_no_error (error);
  outcome_init (outcome);
  program = passes ? gradus_passes_run (net->program, &error) : gradus_program_ref (net->program);
  g_assert_no_error (error);
  plan = gradus_plan_new (program, gradus_sizes (MAX_BATCH, 1), &error);
  g_assert_no_error (error);
  store = gradus_variables_new (program, device, &error);
  g_assert_no_error (error);
  fill_store (store);
  execution = gradus_execution_new (plan, store, device, &error);
  g_assert_no_error (error);
  for (guint step = 1; step <= STEPS; step++)
    {
      gint64 batch = batch_of (step);

      make_batch (step, batch, images, labels);
      gradus_execution_set_input (execution, gradus_program_find (program, "x"), images, gradus_sizes (batch, 1), &error);
      g_assert_no_error (error);
      gradus_execution_set_input (execution, gradus_program_find (program, "labels"), labels, gradus_sizes (batch, 1), &error);
      g_assert_no_error (error);
      gradus_execution_set_hyper (execution, gradus_program_find (program, "step"), step);
      gradus_execution_run (execution, gradus_sizes (batch, 1), SEED, step, &error);
      g_assert_no_error (error);
      outcome->losses[step - 1] = read_scalar (execution, program, "loss");
      outcome->norms[step - 1] = read_scalar (execution, program, "gradient_norm");
    }
  read_store (store, outcome);
}

static void
compare (Network *net, const Outcome *met, const Outcome *wanted, double tolerance)
{
  GHashTableIter iter;
  gpointer       name, data;

  for (guint i = 0; i < STEPS; i++)
    {
      g_assert_cmpfloat (fabs (met->losses[i] - wanted->losses[i]), <=, tolerance);
      g_assert_cmpfloat (fabs (met->norms[i] - wanted->norms[i]), <=, tolerance);
    }
  g_assert_cmpuint (g_hash_table_size (met->variables), ==, g_hash_table_size (wanted->variables));
  g_hash_table_iter_init (&iter, wanted->variables);
  while (g_hash_table_iter_next (&iter, &name, &data))
    {
      const double      *a = g_hash_table_lookup (met->variables, name), *b = data;
      const GradusValue *value
        = gradus_program_value (net->program, gradus_program_find (net->program, name));

      g_assert_nonnull (a);
      for (gint64 i = 0; i < gradus_shape_count (&value->type.shape); i++)
        if (!(fabs (a[i] - b[i]) <= tolerance))
          g_error ("%s[%d] is %.9g and should be %.9g", (char *) name, (int) i, a[i], b[i]);
    }
}

static void
outcome_clear (Outcome *outcome)
{
  g_hash_table_unref (outcome->variables);
}

/* The reference device differs from float64 by the rounding of each value. */
static void
test_ref (void)
{
  Network net;
  Outcome wanted, plain, optimised;

  network_init (&net);
  evaluate (&net, &wanted);
  g_assert_cmpfloat (wanted.norms[0], >, 0.01);
  execute (&net, "ref", 1, FALSE, &plain);
  compare (&net, &plain, &wanted, 2e-5);
  execute (&net, "ref", 1, TRUE, &optimised);
  compare (&net, &optimised, &wanted, 2e-5);
  outcome_clear (&wanted);
  outcome_clear (&plain);
  outcome_clear (&optimised);
  gradus_program_unref (net.program);
}

static void
test_cpu (void)
{
  Network net;
  Outcome wanted, plain, optimised, threaded;

  network_init (&net);
  evaluate (&net, &wanted);
  execute (&net, "cpu", 1, FALSE, &plain);
  compare (&net, &plain, &wanted, 5e-5);
  execute (&net, "cpu", 1, TRUE, &optimised);
  compare (&net, &optimised, &wanted, 5e-5);
  execute (&net, "cpu", 3, TRUE, &threaded);
  compare (&net, &threaded, &optimised, 0);
  outcome_clear (&wanted);
  outcome_clear (&plain);
  outcome_clear (&optimised);
  outcome_clear (&threaded);
  gradus_program_unref (net.program);
}

/* What is planned is less with passes than without, and the loss of a step is the same one. */
static void
test_passes_save (void)
{
  g_autoptr (GError)        error = NULL;
  g_autoptr (GradusProgram) optimised = NULL;
  Network                   net;

  network_init (&net);
  optimised = gradus_passes_run (net.program, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (gradus_program_n_nodes (optimised), <, gradus_program_n_nodes (net.program));
  for (guint i = 0; i < gradus_program_n_nodes (optimised); i++)
    {
      const GradusNode *node = gradus_program_node (optimised, i);

      /* Both are folded into what stands before them; the relu behind batch_norm stays. */
      g_assert_cmpstr (node->op->name, !=, "bias_add");
    }
  gradus_program_unref (net.program);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/step/ref", test_ref);
  g_test_add_func ("/step/cpu", test_cpu);
  g_test_add_func ("/step/passes-save", test_passes_save);
  return g_test_run ();
}
