/* SPDX-License-Identifier: Apache-2.0 */
#include "device/gradus-engine-bench.h"
#include "gradus-test-device.h"

#include <math.h>
#include <string.h>

/* Every allocation of the process is counted, the libraries' too. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1
extern void *__libc_malloc (size_t size);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *block, size_t size);
static _Atomic guint n_allocations;

void *
malloc (size_t size)
{
  n_allocations++;
  return __libc_malloc (size);
}

void *
calloc (size_t n, size_t size)
{
  n_allocations++;
  return __libc_calloc (n, size);
}

void *
realloc (void *block, size_t size)
{
  n_allocations++;
  return __libc_realloc (block, size);
}
#else
#define COUNTS_ALLOCATIONS 0
static guint n_allocations;
#endif

/* A training program at work. */
typedef struct
{
  GradusDevice    *device;
  GradusProgram   *program;
  GradusPlan      *plan;
  GradusVariables *variables;
  GradusExecution *execution;
} Work;

static void
work_init (Work *w, const char *network, const char *device, guint threads, gint64 batch)
{
  g_autoptr (GError) error = NULL;

  w->device = gradus_test_device_open (device, threads);
  w->program = gradus_engine_bench_program (network, &error);
  g_assert_no_error (error);
  w->plan = gradus_plan_new (w->program, gradus_sizes (batch, 1), &error);
  g_assert_no_error (error);
  w->variables = gradus_variables_new (w->program, w->device, &error);
  g_assert_no_error (error);
  w->execution = gradus_execution_new (w->plan, w->variables, w->device, &error);
  g_assert_no_error (error);
  g_assert_true (gradus_engine_bench_fill (w->execution, w->program, w->variables, batch, 7, &error));
}

static void
work_clear (Work *w)
{
  gradus_execution_free (w->execution);
  gradus_variables_free (w->variables);
  gradus_plan_unref (w->plan);
  gradus_program_unref (w->program);
  gradus_test_device_close (w->device);
}

static float
step (Work *w, gint64 batch, guint number)
{
  g_autoptr (GError) error = NULL;
  float loss = NAN;

  gradus_execution_set_hyper (w->execution, gradus_program_find (w->program, "step"), (float) number);
  g_assert_true (gradus_execution_run (w->execution, gradus_sizes (batch, 1), 1, number, &error));
  g_assert_no_error (error);
  g_assert_true (gradus_execution_read (w->execution, gradus_program_find (w->program, "loss"), &loss, sizeof loss, &error));
  return loss;
}

/* All variables, one after the other. */
static GByteArray *
weights (Work *w)
{
  GByteArray *all = g_byte_array_new ();

  for (guint i = 0; i < gradus_variables_n (w->variables); i++)
    {
      g_autoptr (GError) error = NULL;
      GradusValueType type;
      guint old = all->len;
      gsize bytes;

      gradus_variables_name (w->variables, i, NULL, &type);
      bytes = (gsize) gradus_shape_count (&type.shape) * sizeof (float);
      g_byte_array_set_size (all, old + (guint) bytes);
      g_assert_true (gradus_variables_read (w->variables, i, all->data + old, bytes, &error));
      g_assert_no_error (error);
    }
  return all;
}

static void
test_learns (void)
{
  Work w;
  float first, last = 0;

  work_init (&w, "mlp", "cpu", 2, 64);
  first = step (&w, 64, 1);
  for (guint i = 2; i <= 60; i++)
    last = step (&w, 64, i);
  g_assert_cmpfloat (first, <, 3.0f);
  g_assert_cmpfloat (last, <, 0.5f * first);
  work_clear (&w);
}

/* The same steps on the device of the reference kernels. */
static void
test_like_reference (void)
{
  Work cpu, ref;

  work_init (&cpu, "mlp", "cpu", 2, 8);
  work_init (&ref, "mlp", "ref", 1, 8);
  for (guint i = 1; i <= 3; i++)
    {
      float a = step (&cpu, 8, i), b = step (&ref, 8, i);
      g_assert_cmpfloat_with_epsilon (a, b, 2e-4f * b);
    }
  work_clear (&cpu);
  work_clear (&ref);
}

static void
check_threads (const char *network, gint64 batch, guint steps)
{
  static const guint threads[] = { 1, 2, 3, 8 };
  g_autoptr (GByteArray) wanted = NULL;
  float wanted_losses[8];

  for (guint t = 0; t < G_N_ELEMENTS (threads); t++)
    {
      g_autoptr (GByteArray) got = NULL;
      Work w;

      work_init (&w, network, "cpu", threads[t], batch);
      gradus_test_device_set_grain (w.device, 0);
      for (guint i = 0; i < steps; i++)
        {
          float loss = step (&w, i == 1 ? batch - 5 : batch, i + 1);
          if (t == 0)
            wanted_losses[i] = loss;
          g_assert_cmpmem (&loss, sizeof loss, &wanted_losses[i], sizeof loss);
        }
      got = weights (&w);
      if (t == 0)
        wanted = g_steal_pointer (&got);
      else
        g_assert_cmpmem (got->data, got->len, wanted->data, wanted->len);
      work_clear (&w);
    }
}

static void
test_threads (void)
{
  check_threads ("mlp", 64, 4);
  check_threads ("cnn", 24, 3);
}

static void
test_grain_changes_nothing (void)
{
  g_autoptr (GByteArray) a = NULL, b = NULL;
  Work w;

  work_init (&w, "mlp", "cpu", 3, 64);
  step (&w, 64, 1);
  a = weights (&w);
  work_clear (&w);
  work_init (&w, "mlp", "cpu", 3, 64);
  gradus_test_device_set_grain (w.device, 0);
  step (&w, 64, 1);
  b = weights (&w);
  work_clear (&w);
  g_assert_cmpmem (a->data, a->len, b->data, b->len);
}

static void
test_memory_is_predicted (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 2, &error);
  g_autoptr (GradusProgram) program = gradus_engine_bench_program ("cnn", &error);
  g_autoptr (GradusPlan) plan = gradus_plan_new (program, gradus_sizes (32, 1), &error);
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  GradusPlanMemory planned = gradus_plan_memory (plan);
  GradusExecutionMemory predicted, measured;
  gint64 before, store;

  g_assert_no_error (error);
  g_assert_true (gradus_execution_predict (plan, device, &predicted, &error));
  g_assert_cmpint (device->funcs->memory (device).peak, ==, 0);
  variables = gradus_variables_new (program, device, &error);
  store = device->funcs->memory (device).current;
  g_assert_cmpint (store, ==, planned.variables + planned.optimizer);
  before = device->funcs->memory (device).current;
  execution = gradus_execution_new (plan, variables, device, &error);
  g_assert_no_error (error);
  measured = gradus_execution_memory (execution);
  g_assert_cmpmem (&predicted, sizeof predicted, &measured, sizeof measured);
  g_assert_cmpint (device->funcs->memory (device).current - before, ==,
                   predicted.step + predicted.io + predicted.constants + predicted.scratch);
  g_assert_cmpint (device->funcs->memory (device).peak, ==, device->funcs->memory (device).current);
  g_clear_pointer (&execution, gradus_execution_free);
  g_clear_pointer (&variables, gradus_variables_free);
  g_assert_cmpint (device->funcs->memory (device).current, ==, 0);
}

static void
test_builds_are_cached (void)
{
  Work w;

  work_init (&w, "mlp", "cpu", 1, 16);
  g_assert_cmpuint (gradus_execution_builds (w.execution), ==, 1);
  for (guint i = 1; i < 6; i++)
    step (&w, i % 2 == 0 ? 16 : 9, i);
  g_assert_cmpuint (gradus_execution_builds (w.execution), ==, 2);
  for (gint64 batch = 1; batch <= 5; batch++)
    step (&w, batch, 7);
  g_assert_cmpuint (gradus_execution_builds (w.execution), ==, 7);
  step (&w, 5, 8);
  g_assert_cmpuint (gradus_execution_builds (w.execution), ==, 7);
  work_clear (&w);
}

static void
test_refuses (void)
{
  g_autoptr (GError) error = NULL;
  float number;
  Work w;

  work_init (&w, "mlp", "cpu", 1, 4);
  g_assert_false (gradus_execution_run (w.execution, gradus_sizes (5, 1), 1, 1, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_clear_error (&error);
  g_assert_false (gradus_execution_run (w.execution, gradus_sizes (0, 1), 1, 1, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_clear_error (&error);
  g_assert_false (gradus_variables_write (w.variables, 0, &number, sizeof number, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  work_clear (&w);
}

typedef struct
{
  guint nodes, stop_after;
  float loss;
  gint64 nanoseconds;
} Seen;

static gboolean
see_node (const GradusNode *node, const GradusValueType *types, const void *const *outputs, gint64 nanoseconds, gpointer user_data)
{
  Seen *seen = user_data;

  seen->nanoseconds += nanoseconds;
  if (g_str_equal (node->op->name, "reduce_mean"))
    seen->loss = *(const float *) outputs[0];
  for (guint i = 0; i < node->n_outputs; i++)
    g_assert_false (gradus_shape_is_free (&types[i].shape));
  return ++seen->nodes != seen->stop_after;
}

static void
test_inspect (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GByteArray) a = NULL, b = NULL;
  Seen seen = { 0 }, stopped = { .stop_after = 3 };
  float loss;
  Work w;

  work_init (&w, "cnn", "cpu", 2, 6);
  loss = step (&w, 6, 1);
  a = weights (&w);
  work_clear (&w);

  work_init (&w, "cnn", "cpu", 2, 6);
  g_assert_true (gradus_execution_inspect (w.execution, gradus_sizes (6, 1), 1, 1, GRADUS_PHASE_STATISTICS, see_node, &stopped, &error));
  g_assert_cmpuint (stopped.nodes, ==, 3);
  g_assert_true (gradus_execution_inspect (w.execution, gradus_sizes (6, 1), 1, 1, GRADUS_PHASE_STATISTICS, see_node, &seen, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (seen.nodes, ==, gradus_program_n_nodes (w.program));
  g_assert_cmpmem (&seen.loss, sizeof loss, &loss, sizeof loss);
  g_assert_cmpint (seen.nanoseconds, >, 0);
  b = weights (&w);
  g_assert_cmpmem (a->data, a->len, b->data, b->len);
  work_clear (&w);
}

static void
test_hypers (void)
{
  g_autoptr (GByteArray) a = NULL, b = NULL;
  GradusValueId rate;
  Work w;

  work_init (&w, "mlp", "cpu", 1, 4);
  rate = gradus_program_find (w.program, "learning_rate");
  g_assert_cmpfloat (gradus_execution_get_hyper (w.execution, rate), ==, 1e-3f);
  step (&w, 4, 1);
  gradus_execution_set_hyper (w.execution, rate, 0.0f);
  a = weights (&w);
  step (&w, 4, 2);
  b = weights (&w);
  /* Adam's state moves on, the weights do not; they come first. */
  g_assert_cmpmem (a->data, 784 * 512 * 4, b->data, 784 * 512 * 4);
  g_assert_cmpuint (gradus_execution_builds (w.execution), ==, 1);
  work_clear (&w);
}

static void
test_text (void)
{
  g_autofree char *text = NULL;
  Work w;

  work_init (&w, "cnn", "cpu", 1, 4);
  text = gradus_execution_to_string (w.execution);
  g_test_message ("%s", text);
  g_assert_nonnull (strstr (text, "by onednn"));
  g_assert_nonnull (strstr (text, "by nobody (alias)"));
  g_assert_nonnull (strstr (text, "lower bound"));
  work_clear (&w);
}

/* In a step after the first we allocate nothing. The libraries allocate for each call of a primitive,
 * always the same; where there are no such calls, there is nothing at all. */
/* After the first steps every one makes as many: none of ours, a constant number of the libraries'. */
static void
check_allocations (const char *network)
{
  g_autoptr (GError) error = NULL;
  guint counts[6];
  GradusValueId rate;
  Work w;

  work_init (&w, network, "cpu", 2, 16);
  rate = gradus_program_find (w.program, "learning_rate");
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      guint before = n_allocations;
      gradus_execution_set_hyper (w.execution, rate, 1e-3f / (float) (i + 1));
      g_assert_true (gradus_execution_run (w.execution, gradus_sizes (16, 1), 1, i, &error));
      counts[i] = n_allocations - before;
    }
  g_test_message ("%s: allocations of a step: %u, %u, %u, %u", network, counts[0], counts[1], counts[2], counts[3]);
  for (guint i = 2; i < G_N_ELEMENTS (counts); i++)
    g_assert_cmpuint (counts[i], ==, counts[1]);
  work_clear (&w);
}

static void
test_allocations (void)
{
  if (!COUNTS_ALLOCATIONS)
    {
      g_test_skip ("allocations cannot be counted here");
      return;
    }
  for (const char *const *name = gradus_engine_bench_names (); *name != NULL; name++)
    check_allocations (*name);
}

/* Runs without a library call: every op from which a step is made but products and convolutions. */
static void
test_no_allocation_of_ours (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 2, &error);
  g_autoptr (GradusProgram) program = gradus_program_new ("plain");
  g_autoptr (GradusPlan) plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  static const char *const ops[] = { "relu", "sigmoid", "softmax", "reduce_sum" };
  GradusValueId x = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32,
                                              gradus_shape (3, (gint64) GRADUS_DIM_BATCH, (gint64) 300, (gint64) 40));
  guint before;

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    g_assert_true (gradus_program_add_node_text (program, ops[i], 0, &x, 1, NULL, &x, &error));
  gradus_program_add_output (program, "y", x);
  plan = gradus_plan_new (program, gradus_sizes (32, 1), &error);
  variables = gradus_variables_new (program, device, &error);
  execution = gradus_execution_new (plan, variables, device, &error);
  g_assert_no_error (error);
  gradus_test_device_set_grain (device, 0);
  g_assert_true (gradus_execution_run (execution, gradus_sizes (32, 1), 1, 1, &error));
  before = n_allocations;
  for (guint i = 0; i < 20; i++)
    g_assert_true (gradus_execution_run (execution, gradus_sizes (32, 1), 1, i, &error));
  g_assert_cmpuint (n_allocations, ==, before);
}

static void
test_bench (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 0, &error);
  GradusEngineBench result;

  for (const char *const *name = gradus_engine_bench_names (); *name != NULL; name++)
    {
      g_assert_true (gradus_engine_bench_run (*name, device, g_test_perf () ? 200 : 3, &result, &error));
      g_assert_no_error (error);
      g_test_message ("%s: build %.1f ms, step %.3f ms (least %.3f: forward %.3f, backward %.3f, update %.3f), library "
                      "kernels alone %.3f ms, step arena %.1f MB (bound %.1f), scratch %.1f MB",
                      *name, result.build_ms, result.step_ms, result.step_min_ms, result.forward_ms, result.backward_ms,
                      result.update_ms, result.library_ms, (double) result.plan.step / 1e6,
                      (double) result.plan.lower_bound / 1e6, (double) result.memory.scratch / 1e6);
      g_assert_cmpfloat (result.step_min_ms, >, 0);
      g_assert_cmpfloat (result.library_ms, >, 0);
    }
  g_assert_false (gradus_engine_bench_run ("nonsense", device, 1, &result, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/execution/learns", test_learns);
  g_test_add_func ("/execution/like-reference", test_like_reference);
  g_test_add_func ("/execution/threads", test_threads);
  g_test_add_func ("/execution/grain", test_grain_changes_nothing);
  g_test_add_func ("/execution/memory-is-predicted", test_memory_is_predicted);
  g_test_add_func ("/execution/builds-are-cached", test_builds_are_cached);
  g_test_add_func ("/execution/refuses", test_refuses);
  g_test_add_func ("/execution/inspect", test_inspect);
  g_test_add_func ("/execution/hypers", test_hypers);
  g_test_add_func ("/execution/text", test_text);
  g_test_add_func ("/execution/allocations", test_allocations);
  g_test_add_func ("/execution/no-allocation-of-ours", test_no_allocation_of_ours);
  g_test_add_func ("/execution/bench", test_bench);
  return g_test_run ();
}
