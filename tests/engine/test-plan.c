/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/gradus-plan.h"

#include "device/gradus-engine-bench.h"
#include "plan/gradus-plan-place.h"

#include <string.h>

#define N_RANDOM 300

/* No two blocks in use at the same node share a byte; the size is reached and not below the bound. */
static void
check_blocks (const GradusPlanBlock *blocks, guint n, gint64 size)
{
  gint64 end = 0;

  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpint (blocks[i].offset, >=, 0);
      g_assert_cmpint (blocks[i].offset % GRADUS_PLAN_ALIGNMENT, ==, 0);
      end = MAX (end, blocks[i].offset + blocks[i].bytes);
      for (guint k = 0; k < i; k++)
        if (blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last)
          g_assert_true (blocks[i].offset + blocks[i].bytes <= blocks[k].offset
                         || blocks[k].offset + blocks[k].bytes <= blocks[i].offset);
    }
  g_assert_cmpint (end, ==, size);
  g_assert_cmpint (size, >=, gradus_plan_lower_bound (blocks, n));
}

static void
test_place_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  double worst = 1;

  for (guint round = 0; round < N_RANDOM; round++)
    {
      GradusPlanBlock blocks[60];
      guint n = (guint) g_rand_int_range (random, 1, G_N_ELEMENTS (blocks) + 1);
      gint64 size;

      for (guint i = 0; i < n; i++)
        {
          guint32 first = (guint32) g_rand_int_range (random, 0, 40);
          blocks[i] = (GradusPlanBlock){ 64 * g_rand_int_range (random, 1, 100), first,
                                         first + (guint32) g_rand_int_range (random, 0, 12), -1 };
        }
      size = gradus_plan_place (blocks, n);
      check_blocks (blocks, n, size);
      worst = MAX (worst, (double) size / (double) gradus_plan_lower_bound (blocks, n));
    }
  g_test_message ("worst arena over its bound: %.3f", worst);
  g_assert_cmpfloat (worst, <, 1.35);
}

static void
test_place_known (void)
{
  /* One after the other: the largest is enough. */
  GradusPlanBlock chain[] = { { 64, 0, 1, 0 }, { 640, 2, 3, 0 }, { 128, 4, 5, 0 } };
  /* A chain in which each meets the next. */
  GradusPlanBlock steps[] = { { 128, 0, 1, 0 }, { 128, 1, 2, 0 }, { 128, 2, 3, 0 }, { 128, 3, 4, 0 } };
  /* All at once. */
  GradusPlanBlock heap[] = { { 64, 0, 9, 0 }, { 128, 0, 9, 0 }, { 192, 0, 9, 0 } };
  /* A large one fits below only when the two small ones lie side by side. */
  GradusPlanBlock gap[] = { { 64, 0, 2, 0 }, { 64, 0, 2, 0 }, { 128, 3, 4, 0 }, { 64, 2, 3, 0 } };

  g_assert_cmpint (gradus_plan_place (chain, 3), ==, 640);
  check_blocks (chain, 3, 640);
  g_assert_cmpint (gradus_plan_place (steps, 4), ==, 256);
  check_blocks (steps, 4, 256);
  g_assert_cmpint (gradus_plan_place (heap, 3), ==, 384);
  check_blocks (heap, 3, 384);
  g_assert_cmpint (gradus_plan_place (gap, 4), ==, 192);
  check_blocks (gap, 4, 192);
}

static GradusValueId
add (GradusProgram *program, const char *op, const char *attrs, guint n, ...)
{
  GradusValueId inputs[4], outputs[4] = { GRADUS_NO_VALUE };
  g_autoptr (GError) error = NULL;
  va_list args;

  va_start (args, n);
  for (guint i = 0; i < n; i++)
    inputs[i] = va_arg (args, GradusValueId);
  va_end (args);
  gradus_program_add_node_text (program, op, 0, inputs, n, attrs, outputs, &error);
  g_assert_no_error (error);
  return outputs[0];
}

static GradusValueId
input (GradusProgram *program, const char *name, gint64 columns)
{
  return gradus_program_add_input (program, name, GRADUS_DTYPE_FLOAT32,
                                   gradus_shape (2, (gint64) GRADUS_DIM_BATCH, columns));
}

static GradusPlan *
plan (GradusProgram *program, gint64 batch)
{
  g_autoptr (GError) error = NULL;
  GradusPlan *made = gradus_plan_new (program, gradus_sizes (batch, 1), &error);

  g_assert_no_error (error);
  return made;
}

/* When a value must still be there, straight from the program: from its maker to its last reader,
 * through aliases, and to the end if it is an output. */
static GradusNodeId
last_reader (GradusProgram *program, GradusValueId id)
{
  GradusNodeId last = gradus_program_value (program, id)->producer;

  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    {
      const GradusNode *node = gradus_program_node (program, i);
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] == id)
          {
            if (k >= 32 || (node->op->shape_only & (1u << k)) == 0)
              last = MAX (last, i);
            if (node->op->alias)
              last = MAX (last, last_reader (program, node->outputs[0]));
          }
    }
  for (guint i = 0; i < gradus_program_n_outputs (program); i++)
    if (gradus_program_output (program, i, NULL) == id)
      last = gradus_program_n_nodes (program);
  return last;
}

/* What a chain of aliases is a view of. */
static GradusValueId
viewed (GradusProgram *program, GradusValueId id)
{
  for (;;)
    {
      const GradusValue *value = gradus_program_value (program, id);
      const GradusNode *node;
      if (value->kind != GRADUS_VALUE_TEMPORARY)
        return id;
      node = gradus_program_node (program, value->producer);
      if (!node->op->alias)
        return id;
      id = node->inputs[0];
    }
}

/* Brute force: two values whose contents are both needed never share a byte, unless one is the other
 * under another shape, or the later one was written in place by the node that read the earlier last. */
static void
check_plan (GradusPlan *p)
{
  GradusProgram *program = gradus_plan_program (p);
  gint64 batch = gradus_plan_max (p).batch;
  guint n = gradus_program_n_values (program);

  for (guint a = 0; a < n; a++)
    {
      const GradusValue *va = gradus_program_value (program, a);
      if (gradus_program_value (program, gradus_plan_root (p, a))->kind != GRADUS_VALUE_TEMPORARY)
        continue;
      g_assert_cmpint (gradus_plan_offset (p, a) + gradus_plan_bytes (p, a, gradus_sizes (batch, 1)), <=, gradus_plan_memory (p).step);
      for (guint b = 0; b < n; b++)
        {
          const GradusValue *vb = gradus_program_value (program, b);
          const GradusNode *maker;
          gint64 a0 = gradus_plan_offset (p, a), a1 = a0 + gradus_plan_bytes (p, a, gradus_sizes (batch, 1));
          gint64 b0 = gradus_plan_offset (p, b), b1 = b0 + gradus_plan_bytes (p, b, gradus_sizes (batch, 1));

          if (a == b || gradus_program_value (program, gradus_plan_root (p, b))->kind != GRADUS_VALUE_TEMPORARY
              || va->producer > vb->producer || viewed (program, a) == viewed (program, b) || a1 <= b0 || b1 <= a0)
            continue;
          /* They overlap and b is made after a, or by the same node. */
          maker = gradus_program_node (program, vb->producer);
          if (last_reader (program, a) < vb->producer)
            continue;
          g_assert_cmpuint (last_reader (program, a), ==, vb->producer);
          g_assert_cmpuint (va->producer, <, vb->producer);
          g_assert_cmpint (maker->op->inplace, >=, 0);
          g_assert_cmpuint (vb->output, ==, 0);
          g_assert_cmpuint (viewed (program, maker->inputs[maker->op->inplace]), ==, viewed (program, a));
          g_assert_cmpint (a0, ==, b0);
        }
    }
  g_assert_cmpint (gradus_plan_memory (p).step, >=, gradus_plan_memory (p).lower_bound);
}

static void
test_in_place (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("chain");
  g_autoptr (GradusPlan) p = NULL;
  GradusValueId x = input (program, "x", 16), y = x, z;

  for (guint i = 0; i < 5; i++)
    y = add (program, "relu", NULL, 1, y);
  gradus_program_add_output (program, "y", y);
  p = plan (program, 8);
  check_plan (p);
  /* The first cannot write over the input, the others over each other. */
  g_assert_cmpint (gradus_plan_memory (p).step, ==, 8 * 16 * 4);
  g_assert_cmpint (gradus_plan_memory (p).io, ==, 8 * 16 * 4);
  g_assert_cmpint (gradus_plan_memory (p).lower_bound, ==, 8 * 16 * 4);
  g_clear_pointer (&p, gradus_plan_unref);

  /* Somebody reads y later, so it stays. */
  z = add (program, "sigmoid", NULL, 1, y);
  z = add (program, "add", NULL, 2, z, y);
  gradus_program_add_output (program, "z", z);
  p = plan (program, 8);
  check_plan (p);
  g_assert_cmpint (gradus_plan_memory (p).step, ==, 2 * 8 * 16 * 4);
  g_assert_cmpint (gradus_plan_offset (p, z), !=, gradus_plan_offset (p, y));
}

static void
test_output_is_kept (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("kept");
  g_autoptr (GradusPlan) p = NULL;
  GradusValueId y = add (program, "relu", NULL, 1, input (program, "x", 16)), z;
  GradusNodeId first, last;

  gradus_program_add_output (program, "y", y);
  z = add (program, "tanh", NULL, 1, y);
  p = plan (program, 4);
  check_plan (p);
  g_assert_cmpint (gradus_plan_offset (p, z), !=, gradus_plan_offset (p, y));
  g_assert_true (gradus_plan_live (p, y, &first, &last));
  g_assert_cmpuint (first, ==, 0);
  g_assert_cmpuint (last, ==, 1);
  g_assert_false (gradus_plan_live (p, 0, &first, &last));
}

static void
test_alias (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("alias");
  g_autoptr (GradusPlan) p = NULL;
  GradusValueId x = input (program, "x", 12), y, view, z;

  view = add (program, "reshape", "shape=-1,3,4", 1, x);
  y = add (program, "relu", NULL, 1, view);
  z = add (program, "reshape", "shape=-1,12", 1, y);
  gradus_program_add_output (program, "z", z);
  p = plan (program, 4);
  check_plan (p);
  g_assert_cmpuint (gradus_plan_root (p, view), ==, x);
  g_assert_cmpuint (gradus_plan_root (p, z), ==, y);
  g_assert_cmpint (gradus_plan_memory (p).step, ==, 4 * 12 * 4);
}

static void
test_shape_only (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("shape-only");
  g_autoptr (GradusPlan) p = NULL;
  GradusValueId x = add (program, "exp", NULL, 1, input (program, "x", 64));
  GradusValueId part = add (program, "slice", "begin=0 size=8", 1, x);
  GradusNodeId first, last;

  part = add (program, "relu", NULL, 1, part);
  gradus_program_add_output (program, "y", add (program, "slice_grad", "begin=0", 2, part, x));
  p = plan (program, 4);
  check_plan (p);
  g_assert_true (gradus_plan_live (p, x, &first, &last));
  g_assert_cmpuint (last, ==, 1);
}

static void
test_random_programs (void)
{
  static const char *const unary[] = { "relu", "exp", "square", "softmax" };
  static const char *const binary[] = { "add", "multiply", "subtract" };
  g_autoptr (GRand) random = g_rand_new_with_seed (5);

  for (guint round = 0; round < 60; round++)
    {
      g_autoptr (GradusProgram) program = gradus_program_new ("random");
      g_autoptr (GradusPlan) p = NULL;
      GradusValueId values[48];
      guint n = 0;

      values[n++] = input (program, "a", 24);
      values[n++] = input (program, "b", 24);
      while (n < G_N_ELEMENTS (values))
        {
          GradusValueId a = values[g_rand_int_range (random, (gint32) MAX ((gint) n - 6, 0), (gint32) n)];
          GradusValueId b = values[g_rand_int_range (random, 0, (gint32) n)];
          gint32 what = g_rand_int_range (random, 0, 10);

          if (what < 4)
            values[n] = add (program, unary[what], NULL, 1, a);
          else if (what < 8)
            values[n] = add (program, binary[what % 3], NULL, 2, a, b);
          else if (what == 8)
            values[n] = add (program, "reshape", "shape=-1,24", 1, add (program, "reshape", "shape=-1,4,6", 1, a));
          else
            values[n] = add (program, "sum_to_like", NULL, 2, a, b);
          n++;
        }
      gradus_program_add_output (program, "last", values[n - 1]);
      gradus_program_add_output (program, "middle", values[n / 2]);
      p = plan (program, 5);
      check_plan (p);
    }
}

/* The layer of the first node that has one. */
static const char *
first_layer (GradusProgram *program)
{
  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    if (gradus_program_node (program, i)->layer != NULL)
      return gradus_program_node (program, i)->layer;
  g_assert_not_reached ();
}

static void
test_networks (void)
{
  for (const char *const *name = gradus_engine_bench_names (); *name != NULL; name++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GradusProgram) program = gradus_engine_bench_program (*name, &error);
      g_autoptr (GradusPlan) p = NULL;
      g_autofree char *text = NULL, *mark = NULL;
      GradusPlanMemory memory;

      g_assert_no_error (error);
      p = plan (program, 64);
      check_plan (p);
      memory = gradus_plan_memory (p);
      g_assert_cmpint (memory.optimizer, ==, 2 * memory.variables);
      g_assert_cmpint (memory.step, <=, memory.lower_bound + memory.lower_bound / 20);
      g_assert_cmpint (gradus_plan_layer_bytes (p, first_layer (program)), >, 0);
      g_assert_cmpint (gradus_plan_layer_bytes (p, "no such layer"), ==, 0);
      text = gradus_plan_to_string (p);
      g_assert_nonnull (strstr (text, "adam_step"));
      mark = g_strdup_printf ("[%s]", first_layer (program));
      g_assert_nonnull (strstr (text, mark));
    }
}

static void
test_refuses (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("huge");
  g_autoptr (GError) error = NULL;
  GradusValueId x = input (program, "x", G_GINT64_CONSTANT (1) << 40);

  gradus_program_add_output (program, "y", add (program, "relu", NULL, 1, x));
  g_assert_null (gradus_plan_new (program, gradus_sizes (G_GINT64_CONSTANT (1) << 30, 1), &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY);
  g_clear_error (&error);
  g_assert_null (gradus_plan_new (program, gradus_sizes (G_GINT64_CONSTANT (1) << 20, 1), &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/place-random", test_place_random);
  g_test_add_func ("/plan/place-known", test_place_known);
  g_test_add_func ("/plan/in-place", test_in_place);
  g_test_add_func ("/plan/output-is-kept", test_output_is_kept);
  g_test_add_func ("/plan/alias", test_alias);
  g_test_add_func ("/plan/shape-only", test_shape_only);
  g_test_add_func ("/plan/random-programs", test_random_programs);
  g_test_add_func ("/plan/networks", test_networks);
  g_test_add_func ("/plan/refuses", test_refuses);
  return g_test_run ();
}
