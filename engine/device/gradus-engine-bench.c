/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-engine-bench.h"

#include "gradus-philox.h"
#include "passes/gradus-passes.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 64
#define CLASSES 10
#define WARM_UP 5
#define ALONE_RUNS 15
#define MAX_VARIABLES 64

typedef struct
{
  GradusProgram *program;
  GradusValueId  variables[MAX_VARIABLES];
  guint          n_variables;
  gboolean       failed;
  GError       **error;
} Builder;

static void
add (Builder *b, const char *op, const char *attrs, const GradusValueId *inputs, guint n, GradusValueId *outputs)
{
  if (!b->failed && !gradus_program_add_node_text (b->program, op, 0, inputs, n, attrs, outputs, b->error))
    b->failed = TRUE;
}

static GradusValueId
weight (Builder *b, const char *layer, const char *variable, GradusShape shape)
{
  g_autofree char *name = g_strconcat (layer, "/", variable, NULL);
  GradusValueId id = gradus_program_add_variable (b->program, name, GRADUS_VARIABLE_WEIGHT, GRADUS_DTYPE_FLOAT32, shape);

  b->variables[b->n_variables++] = id;
  return id;
}

/* @op and its bias, then relu. */
static GradusValueId
layer (Builder *b, const char *name, const char *op, const char *attrs, GradusValueId x, GradusShape kernel, gboolean relu)
{
  GradusValueId y = GRADUS_NO_VALUE;
  GradusValueId w = weight (b, name, "kernel", kernel);
  GradusValueId bias = weight (b, name, "bias", gradus_shape (1, kernel.dims[kernel.rank - 1]));

  gradus_program_set_scope (b->program, GRADUS_PHASE_FORWARD, name);
  add (b, op, attrs, (GradusValueId[]){ x, w }, 2, &y);
  add (b, "bias_add", NULL, (GradusValueId[]){ y, bias }, 2, &y);
  if (relu)
    add (b, "relu", NULL, &y, 1, &y);
  return y;
}

static GradusValueId
dense (Builder *b, const char *name, GradusValueId x, gint64 from, gint64 to, gboolean relu)
{
  return layer (b, name, "matmul", NULL, x, gradus_shape (2, from, to), relu);
}

static GradusValueId
build_mlp (Builder *b)
{
  GradusValueId x = gradus_program_add_input (b->program, "x", GRADUS_DTYPE_FLOAT32,
                                              gradus_shape (2, (gint64) GRADUS_DIM_BATCH, (gint64) 784));

  x = dense (b, "dense", x, 784, 512, TRUE);
  x = dense (b, "dense_1", x, 512, 256, TRUE);
  return dense (b, "dense_2", x, 256, CLASSES, FALSE);
}

/* 28 steps of 28 numbers, as the rows of a small image. */
static GradusValueId
build_lstm (Builder *b)
{
  GradusValueId y[3] = { GRADUS_NO_VALUE, GRADUS_NO_VALUE, GRADUS_NO_VALUE }, inputs[4];

  inputs[0] = gradus_program_add_input (b->program, "x", GRADUS_DTYPE_FLOAT32,
                                        gradus_shape (3, (gint64) GRADUS_DIM_BATCH, (gint64) 28, (gint64) 28));
  inputs[1] = weight (b, "lstm", "kernel", gradus_shape (2, (gint64) 28, (gint64) 512));
  inputs[2] = weight (b, "lstm", "recurrent_kernel", gradus_shape (2, (gint64) 128, (gint64) 512));
  inputs[3] = weight (b, "lstm", "bias", gradus_shape (1, (gint64) 512));
  gradus_program_set_scope (b->program, GRADUS_PHASE_FORWARD, "lstm");
  add (b, "lstm", NULL, inputs, 4, y);
  add (b, "step_last", NULL, y, 1, y);
  return dense (b, "dense", y[0], 128, CLASSES, FALSE);
}

static GradusValueId
build_cnn (Builder *b)
{
  GradusValueId pooled[2] = { GRADUS_NO_VALUE, GRADUS_NO_VALUE }, flat = GRADUS_NO_VALUE;
  GradusValueId x = gradus_program_add_input (
      b->program, "x", GRADUS_DTYPE_FLOAT32,
      gradus_shape (4, (gint64) GRADUS_DIM_BATCH, (gint64) 28, (gint64) 28, (gint64) 1));

  x = layer (b, "conv2d", "conv", "pads=1,1,1,1", x, gradus_shape (4, (gint64) 3, (gint64) 3, (gint64) 1, (gint64) 32), TRUE);
  x = layer (b, "conv2d_1", "conv", "pads=1,1,1,1", x, gradus_shape (4, (gint64) 3, (gint64) 3, (gint64) 32, (gint64) 64), TRUE);
  add (b, "max_pool", NULL, &x, 1, pooled);
  add (b, "reshape", "shape=-1,12544", pooled, 1, &flat);
  x = dense (b, "dense", flat, 12544, 128, TRUE);
  return dense (b, "dense_1", x, 128, CLASSES, FALSE);
}

static GradusValueId
op1 (Builder *b, const char *op, const char *attrs, GradusValueId x)
{
  GradusValueId y = GRADUS_NO_VALUE;

  add (b, op, attrs, &x, 1, &y);
  return y;
}

static GradusValueId
op2 (Builder *b, const char *op, const char *attrs, GradusValueId x, GradusValueId y)
{
  GradusValueId z = GRADUS_NO_VALUE;

  add (b, op, attrs, (GradusValueId[]){ x, y }, 2, &z);
  return z;
}

static GradusValueId
layer_norm (Builder *b, const char *block, const char *part, GradusValueId x)
{
  g_autofree char *name = g_strconcat (block, "/", part, NULL);
  GradusValueId y[3] = { GRADUS_NO_VALUE };
  GradusValueId gamma = weight (b, name, "gamma", gradus_shape (1, (gint64) 128));
  GradusValueId beta = weight (b, name, "beta", gradus_shape (1, (gint64) 128));

  add (b, "layer_norm", NULL, (GradusValueId[]){ x, gamma, beta }, 3, y);
  return y[0];
}

/* As (batch, heads, steps, features of a head). */
static GradusValueId
heads (Builder *b, const char *block, const char *part, GradusValueId x)
{
  g_autofree char *name = g_strconcat (block, "/", part, NULL);

  return op1 (b, "transpose", "perm=0,2,1,3", op1 (b, "reshape", "shape=-1,64,4,32", dense (b, name, x, 128, 128, FALSE)));
}

/* Attention of four heads, then two dense layers, each around a normalisation and added to what went in. */
static GradusValueId
transformer_block (Builder *b, const char *block, GradusValueId x)
{
  g_autofree char *output = g_strconcat (block, "/output", NULL), *wide = g_strconcat (block, "/wide", NULL);
  g_autofree char *narrow = g_strconcat (block, "/narrow", NULL);
  GradusValueId a = layer_norm (b, block, "norm", x), f;
  GradusValueId q = op1 (b, "affine", "scale=0.1767766952966369", heads (b, block, "query", a));
  GradusValueId k = heads (b, block, "key", a), v = heads (b, block, "value", a);
  GradusValueId weights = op1 (b, "masked_softmax", "causal=1", op2 (b, "matmul", "transpose_b=1", q, k));

  a = op1 (b, "transpose", "perm=0,2,1,3", op2 (b, "matmul", NULL, weights, v));
  x = op2 (b, "add", NULL, x, dense (b, output, op1 (b, "reshape", "shape=-1,64,128", a), 128, 128, FALSE));
  f = dense (b, wide, layer_norm (b, block, "norm_1", x), 128, 512, TRUE);
  return op2 (b, "add", NULL, x, dense (b, narrow, f, 512, 128, FALSE));
}

static GradusValueId
build_transformer (Builder *b)
{
  GradusValueId x = gradus_program_add_input (b->program, "x", GRADUS_DTYPE_FLOAT32,
                                              gradus_shape (3, (gint64) GRADUS_DIM_BATCH, (gint64) 64, (gint64) 128));

  x = transformer_block (b, "block", x);
  x = transformer_block (b, "block_1", x);
  return dense (b, "head", op1 (b, "reduce_mean", "axes=1", x), 128, CLASSES, FALSE);
}

static const struct
{
  const char *name;
  GradusValueId (*build) (Builder *b);
} networks[] = {
  { "mlp", build_mlp },
  { "cnn", build_cnn },
  { "transformer", build_transformer },
  { "lstm", build_lstm },
};

const char *const *
gradus_engine_bench_names (void)
{
  static const char *const names[] = { "mlp", "cnn", "transformer", "lstm", NULL };
  return names;
}

static GradusValueId
state (Builder *b, GradusValueId variable, const char *what)
{
  const GradusValue *value = gradus_program_value (b->program, variable);
  g_autofree char *name = g_strconcat ("adam/", value->name, "/", what, NULL);

  return gradus_program_add_variable (b->program, name, GRADUS_VARIABLE_OPTIMIZER, value->type.dtype, value->type.shape);
}

/* Gradient norm, clipping and one Adam step a variable, as a trainer does it. */
static void
add_update (Builder *b, const GradusValueId *gradients)
{
  GradusValueId rate = gradus_program_add_hyper (b->program, "learning_rate", 1e-3f);
  GradusValueId limit = gradus_program_add_hyper (b->program, "clip", 0.0f);
  GradusValueId step = gradus_program_add_hyper (b->program, "step", 1.0f);
  GradusValueId squares[MAX_VARIABLES] = { 0 }, norm = GRADUS_NO_VALUE, scale = GRADUS_NO_VALUE;

  gradus_program_set_scope (b->program, GRADUS_PHASE_UPDATE, NULL);
  for (guint i = 0; i < b->n_variables; i++)
    add (b, "sum_squares", NULL, &gradients[i], 1, &squares[i]);
  add (b, "global_norm", NULL, squares, b->n_variables, &norm);
  add (b, "clip_scale", NULL, (GradusValueId[]){ norm, limit }, 2, &scale);
  gradus_program_add_output (b->program, "gradient_norm", norm);
  for (guint i = 0; i < b->n_variables; i++)
    {
      GradusValueId inputs[] = { b->variables[i], state (b, b->variables[i], "m"), state (b, b->variables[i], "v"),
                                 gradients[i], scale, rate, step };
      add (b, "adam_step", NULL, inputs, G_N_ELEMENTS (inputs), NULL);
    }
}

GradusProgram *
gradus_engine_bench_program (const char *name, GError **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new (name);
  Builder b = { .program = program, .error = error };
  GradusValueId gradients[MAX_VARIABLES], loss[2] = { GRADUS_NO_VALUE, GRADUS_NO_VALUE }, logits = GRADUS_NO_VALUE;
  GradusValueId labels;

  for (guint i = 0; i < G_N_ELEMENTS (networks); i++)
    if (g_str_equal (networks[i].name, name))
      logits = networks[i].build (&b);
  if (logits == GRADUS_NO_VALUE)
    {
      if (!b.failed)
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                     _ ("There is no benchmark “%s” of the engine; take mlp, cnn, transformer or lstm."), name);
      return NULL;
    }
  labels = gradus_program_add_input (program, "labels", GRADUS_DTYPE_INT32, gradus_shape (1, (gint64) GRADUS_DIM_BATCH));
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "loss");
  add (&b, "sparse_softmax_cross_entropy", NULL, (GradusValueId[]){ logits, labels }, 2, loss);
  add (&b, "reduce_mean", NULL, loss, 1, &loss[0]);
  if (b.failed)
    return NULL;
  gradus_program_add_output (program, "loss", loss[0]);
  if (!gradus_autodiff (program, loss[0], b.variables, b.n_variables, gradients, error))
    return NULL;
  add_update (&b, gradients);
  return b.failed ? NULL : gradus_passes_run (program, error);
}

static gboolean
fill_variables (GradusVariables *variables, guint64 seed, GError **error)
{
  for (guint i = 0; i < gradus_variables_n (variables); i++)
    {
      GradusVariableRole role;
      GradusValueType type;
      const char *name = gradus_variables_name (variables, i, &role, &type);
      GradusPhilox philox = gradus_philox (seed, gradus_philox_stream (name), 0);
      gint64 n = gradus_shape_count (&type.shape);
      g_autofree float *data = g_new0 (float, MAX (n, 1));
      double scale = 0.05;

      for (gint64 k = 0; k < n && role == GRADUS_VARIABLE_WEIGHT; k++)
        data[k] = (float) (scale * (2.0 * gradus_philox_float (&philox, (guint64) k) - 1.0));
      if (!gradus_variables_write (variables, i, data, (gsize) n * sizeof *data, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gradus_engine_bench_fill (GradusExecution *execution, GradusProgram *program, GradusVariables *variables, gint64 batch, guint64 seed, GError **error)
{
  GradusValueId x = gradus_program_find (program, "x"), labels = gradus_program_find (program, "labels");
  GradusShape shape = gradus_shape_bind (&gradus_program_value (program, x)->type.shape, gradus_sizes (batch, 1));
  gint64 n = gradus_shape_count (&shape);
  g_autofree float *images = g_new (float, n);
  g_autofree gint32 *classes = g_new (gint32, batch);
  GradusPhilox philox = gradus_philox (seed, 1, 0);

  gradus_philox_fill_floats (&philox, 0, (gsize) n, images);
  for (gint64 i = 0; i < batch; i++)
    classes[i] = (gint32) (gradus_philox_word (&philox, (guint64) (n + i)) % CLASSES);
  return fill_variables (variables, seed, error)
         && gradus_execution_set_input (execution, x, images, gradus_sizes (batch, 1), error)
         && gradus_execution_set_input (execution, labels, classes, gradus_sizes (batch, 1), error)
         && gradus_execution_synchronise (execution, error);
}

static double
now_ms (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec * 1e-6;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return x < y ? -1 : x > y;
}

/* One kernel on its own memory, again and again: the least time. */
static gboolean
time_kernel (GradusDevice *device, GradusKernel *kernel, gsize scratch, const GradusKernelRequest *request, double *least, GError **error)
{
  const GradusNode *node = request->node;
  guint n = node->n_inputs + node->n_outputs;
  g_autofree void **memory = g_new0 (void *, n + 1);
  g_autofree gsize *bytes = g_new0 (gsize, n + 1);
  GradusKernelArgs args = { memory, memory + node->n_inputs, NULL, 0, 0 };
  gboolean done = TRUE;

  for (guint i = 0; i < n; i++)
    {
      const GradusValueType *type = i < node->n_inputs ? &request->inputs[i] : &request->outputs[i - node->n_inputs];
      bytes[i] = (gsize) gradus_shape_count (&type->shape) * gradus_dtype_size (type->dtype);
      memory[i] = device->funcs->allocate (device, bytes[i], done ? error : NULL);
      done = done && memory[i] != NULL;
    }
  memory[n] = device->funcs->allocate (device, scratch, done ? error : NULL);
  bytes[n] = scratch;
  args.scratch = memory[n];
  done = done && memory[n] != NULL;
  *least = INFINITY;
  for (guint i = 0; i < ALONE_RUNS && done; i++)
    {
      double start = now_ms ();
      done = device->funcs->run (device, NULL, kernel, &args, error);
      *least = MIN (*least, now_ms () - start);
    }
  for (guint i = 0; i <= n; i++)
    device->funcs->deallocate (device, memory[i], bytes[i]);
  return done;
}

static gboolean
time_library (GradusProgram *program, GradusDevice *device, double *sum, GError **error)
{
  *sum = 0;
  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    {
      const GradusNode *node = gradus_program_node (program, i);
      g_autofree GradusValueType *types = g_new0 (GradusValueType, node->n_inputs + node->n_outputs + 1);
      GradusKernelRequest request = { node, types, types + node->n_inputs };
      GradusKernel *kernel = NULL;
      gsize scratch = 0;
      double least = 0;
      gboolean done;

      for (guint k = 0; k < node->n_inputs + node->n_outputs; k++)
        {
          GradusValueId id = k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
          if (id == GRADUS_NO_VALUE)
            continue;
          types[k] = gradus_program_value (program, id)->type;
          types[k].shape = gradus_shape_bind (&types[k].shape, gradus_sizes (BATCH, 1));
        }
      if (!device->funcs->prepare (device, &request, &kernel, &scratch, error))
        return FALSE;
      done = strcmp (device->funcs->kernel_provider (kernel), "c") == 0
             || time_kernel (device, kernel, scratch, &request, &least, error);
      device->funcs->kernel_free (device, kernel);
      if (!done)
        return FALSE;
      *sum += least;
    }
  return TRUE;
}

static gboolean
time_steps (GradusExecution *execution, GradusProgram *program, guint steps, GradusEngineBench *result, GError **error)
{
  g_autofree double *times = g_new (double, steps);
  GradusValueId step = gradus_program_find (program, "step");
  gint64 phases[3];

  result->step_min_ms = INFINITY;
  for (guint i = 0; i < WARM_UP + steps; i++)
    {
      double start = now_ms (), spent;

      gradus_execution_set_hyper (execution, step, (float) (i + 1));
      if (!gradus_execution_run (execution, gradus_sizes (BATCH, 1), 1, i + 1, error))
        return FALSE;
      spent = now_ms () - start;
      if (i < WARM_UP)
        continue;
      times[i - WARM_UP] = spent;
      if (spent >= result->step_min_ms)
        continue;
      result->step_min_ms = spent;
      gradus_execution_times (execution, phases);
      result->forward_ms = (double) phases[0] * 1e-6;
      result->backward_ms = (double) phases[1] * 1e-6;
      result->update_ms = (double) phases[2] * 1e-6;
    }
  qsort (times, steps, sizeof *times, compare_doubles);
  result->step_ms = times[steps / 2];
  return TRUE;
}

gboolean
gradus_engine_bench_run (const char *name, GradusDevice *device, guint steps, GradusEngineBench *result, GError **error)
{
  g_autoptr (GradusProgram) program = NULL;
  g_autoptr (GradusPlan) plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  double start = now_ms ();

  g_return_val_if_fail (name != NULL && device != NULL && steps > 0 && result != NULL, FALSE);
  memset (result, 0, sizeof *result);
  result->batch = BATCH;
  program = gradus_engine_bench_program (name, error);
  if (program == NULL)
    return FALSE;
  plan = gradus_plan_new (program, gradus_sizes (BATCH, 1), error);
  if (plan == NULL)
    return FALSE;
  variables = gradus_variables_new (program, device, error);
  if (variables == NULL)
    return FALSE;
  execution = gradus_execution_new (plan, variables, device, error);
  if (execution == NULL)
    return FALSE;
  result->build_ms = now_ms () - start;
  result->plan = gradus_plan_memory (plan);
  result->memory = gradus_execution_memory (execution);
  return gradus_engine_bench_fill (execution, program, variables, BATCH, 1, error)
         && time_steps (execution, program, steps, result, error)
         && time_library (program, device, &result->library_ms, error);
}
