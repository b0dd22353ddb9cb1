/* SPDX-License-Identifier: Apache-2.0 */

/* Every gradient of the op table against central finite differences of the reference kernels, in
 * float64. Driven by the table: a new row with a gradient is tested by its cases. */

#include <math.h>
#include <string.h>

#include "gradus-test-ops.h"
#include "passes/gradus-passes.h"

#define EPSILON 1e-6
#define ATOL 1e-5
#define RTOL 1e-3
#define EACH_ELEMENT_UP_TO 40

typedef struct
{
  const GradusOp     *op;
  const GradusOpCase *c;
  gint64              batch;
  GradusProgram      *program;
  GArray             *inputs;
  GradusValueId       ids[16];
  GradusValueId       gradients[16];
  GradusValueId       loss;
  double            **values;
} Check;

/* The loss is a weighted sum over output 0, with weights that are all different. */
static void
add_loss (Check *check)
{
  GradusValueId          y = gradus_program_node (check->program, 0)->outputs[0], weighted;
  GradusTestInput        weights = { .type = gradus_program_value (check->program, y)->type };
  gint64                 n = gradus_shape_count (&weights.type.shape);
  g_autofree double     *wide = gradus_test_fill (&weights, 12);
  g_autofree float      *narrow = g_new (float, n + 1);
  g_autoptr (GError)     error = NULL;
  GradusValueId          w;

  for (gint64 i = 0; i < n; i++)
    narrow[i] = wide[i];
  w = gradus_program_add_constant (check->program, GRADUS_DTYPE_FLOAT32, weights.type.shape,
                                   narrow);
  gradus_program_add_node (check->program, "multiply", 0, (GradusValueId[]) { y, w }, 2, &weighted,
                           &error, NULL);
  g_assert_no_error (error);
  gradus_program_add_node (check->program, "reduce_sum", 0, &weighted, 1, &check->loss, &error,
                           NULL);
  g_assert_no_error (error);
}

static gboolean
has_gradient (Check *check, guint i)
{
  const GradusTestInput *input = &g_array_index (check->inputs, GradusTestInput, i);
  guint32                closed = check->op->no_gradient | check->op->shape_only;

  return !input->missing && input->type.dtype == GRADUS_DTYPE_FLOAT32
         && (i >= 32 || (closed & (1u << i)) == 0);
}

static double
loss_at (Check *check)
{
  gradus_test_evaluate (check->program, check->values, check->batch, 5, 3);
  return check->values[check->loss][0];
}

/* The slope of the loss along @direction in input @i. */
static double
slope (Check *check, guint i, const double *direction, gint64 n)
{
  double            *x = check->values[check->ids[i]];
  g_autofree double *kept = g_memdup2 (x, (n + 1) * sizeof *x);
  double             above, below;

  for (gint64 j = 0; j < n; j++)
    x[j] = kept[j] + EPSILON * direction[j];
  above = loss_at (check);
  for (gint64 j = 0; j < n; j++)
    x[j] = kept[j] - EPSILON * direction[j];
  below = loss_at (check);
  memcpy (x, kept, n * sizeof *x);
  return (above - below) / (2 * EPSILON);
}

static void
compare (Check *check, guint i, gint64 element, double met, double wanted)
{
  if (fabs (met - wanted) <= ATOL + RTOL * fabs (wanted))
    return;
  g_error ("%s %s (%s), batch %d, input %u, element %d: the gradient is %.9g, the slope %.9g",
           check->op->name, check->c->inputs, check->c->attrs != NULL ? check->c->attrs : "",
           (int) check->batch, i, (int) element, met, wanted);
}

static void
check_input (Check *check, guint i)
{
  const GradusTestInput *input = &g_array_index (check->inputs, GradusTestInput, i);
  gint64                 n = gradus_shape_count (&input->type.shape);
  g_autofree double     *gradient = NULL;
  g_autofree double     *direction = g_new0 (double, n + 1);
  g_autoptr (GRand)      random = g_rand_new_with_seed (i);
  double                 along = 0;

  loss_at (check);
  gradient = g_memdup2 (check->values[check->gradients[i]], (n + 1) * sizeof (double));
  for (gint64 j = 0; j < n; j++)
    {
      direction[j] = g_rand_double_range (random, -1, 1);
      along += direction[j] * gradient[j];
    }
  compare (check, i, -1, along, slope (check, i, direction, n));
  if (n > EACH_ELEMENT_UP_TO)
    return;
  memset (direction, 0, n * sizeof *direction);
  for (gint64 j = 0; j < n; j++)
    {
      direction[j] = 1;
      compare (check, i, j, gradient[j], slope (check, i, direction, n));
      direction[j] = 0;
    }
}

/* Which values of the forward node the gradient's nodes read, as GRADUS_NEEDS_*. */
static guint32
values_read (Check *check, guint first)
{
  const GradusNode *forward = gradus_program_node (check->program, 0);
  guint32           read = 0;

  for (guint i = first; i < gradus_program_n_nodes (check->program); i++)
    {
      const GradusNode *node = gradus_program_node (check->program, i);

      g_assert_cmpint (node->phase, ==, GRADUS_PHASE_BACKWARD);
      for (guint j = 0; j < node->n_inputs; j++)
        {
          if (j < 32 && (node->op->shape_only & (1u << j)) != 0)
            continue;
          for (guint k = 0; k < forward->n_inputs; k++)
            if (node->inputs[j] == forward->inputs[k] && node->inputs[j] != GRADUS_NO_VALUE)
              read |= GRADUS_NEEDS_INPUT (k);
          for (guint k = 0; k < forward->n_outputs; k++)
            if (node->inputs[j] == forward->outputs[k])
              read |= GRADUS_NEEDS_OUTPUT (k);
        }
    }
  return read;
}

static guint32
check_case (const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  Check              check = { .op = op, .c = c, .batch = batch };
  g_autoptr (GError) error = NULL;
  GradusValueId      wanted[16];
  guint              n_wanted = 0, places[16], first, n_values;
  guint32            read;

  check.inputs = gradus_test_parse_case (c, batch);
  g_assert_cmpuint (check.inputs->len, <=, G_N_ELEMENTS (check.ids));
  check.program = gradus_test_program (op, c, check.inputs, check.ids);
  add_loss (&check);
  for (guint i = 0; i < check.inputs->len; i++)
    {
      check.gradients[i] = GRADUS_NO_VALUE;
      if (has_gradient (&check, i))
        {
          places[n_wanted] = i;
          wanted[n_wanted++] = check.ids[i];
        }
    }
  first = gradus_program_n_nodes (check.program);
  {
    GradusValueId gradients[16];

    gradus_autodiff (check.program, check.loss, wanted, n_wanted, gradients, &error);
    g_assert_no_error (error);
    for (guint i = 0; i < n_wanted; i++)
      check.gradients[places[i]] = gradients[i];
  }
  read = values_read (&check, first);
  n_values = gradus_program_n_values (check.program);
  check.values = g_new0 (double *, n_values);
  for (guint i = 0; i < check.inputs->len; i++)
    if (check.ids[i] != GRADUS_NO_VALUE)
      check.values[check.ids[i]]
        = gradus_test_fill (&g_array_index (check.inputs, GradusTestInput, i), i);
  for (guint i = 0; i < check.inputs->len; i++)
    if (has_gradient (&check, i))
      {
        g_assert_cmpuint (check.gradients[i], !=, GRADUS_NO_VALUE);
        g_assert_true (gradus_shape_equal (
          &gradus_program_value (check.program, check.gradients[i])->type.shape,
          &gradus_program_value (check.program, check.ids[i])->type.shape));
        check_input (&check, i);
      }
  gradus_test_free_values (check.values, n_values);
  gradus_program_unref (check.program);
  g_array_unref (check.inputs);
  return read;
}

/* An op over integers (affine and cast of a u8) has cases without any gradient. */
static gboolean
case_applies (const GradusOpCase *c, const GradusOp *op)
{
  g_autoptr (GArray)       inputs = gradus_test_parse_case (c, 2);
  GradusValueId            ids[16];
  g_autoptr (GradusProgram) program = gradus_test_program (op, c, inputs, ids);
  GradusDType              y
    = gradus_program_value (program, gradus_program_node (program, 0)->outputs[0])->type.dtype;

  return y == GRADUS_DTYPE_FLOAT32
         && g_array_index (inputs, GradusTestInput, 0).type.dtype == GRADUS_DTYPE_FLOAT32;
}

static void
test_op (gconstpointer data)
{
  const GradusOp *op = data;
  guint32         read = 0;
  guint           checked = 0;

  g_assert_nonnull (op->cases);
  for (const GradusOpCase *c = op->cases; c->inputs != NULL; c++)
    {
      if (!case_applies (c, op))
        continue;
      read |= check_case (op, c, 3);
      read |= check_case (op, c, 1);
      checked++;
    }
  /* Where no input is to be learned there is nothing to check. */
  if (op->max_inputs > 31 || op->no_gradient + 1 != 1u << op->max_inputs)
    g_assert_cmpuint (checked, >, 0);
  g_assert_cmphex (read, ==, op->gradient_needs);
}

/* At kinks and ties, where differences say nothing: the gradient of sum(op(inputs)). */
static void
check_at (const char   *op,
          const char   *attrs,
          guint         n_inputs,
          guint         n,
          const double *numbers,
          const double *wanted)
{
  g_autoptr (GradusProgram) program = gradus_program_new (NULL);
  g_autoptr (GError)        error = NULL;
  GradusValueId             ids[2], gradients[2], y[2], loss;
  double                  **values;

  for (guint i = 0; i < n_inputs; i++)
    ids[i] = gradus_program_add_variable (program, i == 0 ? "a" : "b", GRADUS_VARIABLE_WEIGHT,
                                          GRADUS_DTYPE_FLOAT32, gradus_shape (1, (gint64) n));
  gradus_program_add_node_text (program, op, 0, ids, n_inputs, attrs, y, &error);
  g_assert_no_error (error);
  gradus_program_add_node (program, "reduce_sum", 0, y, 1, &loss, &error, NULL);
  g_assert_no_error (error);
  gradus_autodiff (program, loss, ids, n_inputs, gradients, &error);
  g_assert_no_error (error);
  values = g_new0 (double *, gradus_program_n_values (program));
  for (guint i = 0; i < n_inputs; i++)
    values[ids[i]] = g_memdup2 (numbers + i * n, n * sizeof *numbers);
  gradus_test_evaluate (program, values, 1, 1, 1);
  for (guint i = 0; i < n_inputs; i++)
    for (guint j = 0; j < n; j++)
      if (values[gradients[i]][j] != wanted[i * n + j])
        g_error ("%s: gradient %u of input %u is %g and should be %g", op, j, i,
                 values[gradients[i]][j], wanted[i * n + j]);
  gradus_test_free_values (values, gradus_program_n_values (program));
}

static void
test_kinks (void)
{
  const double at[] = { -1, 0, 1 };

  check_at ("relu", NULL, 1, 3, at, (const double[]){ 0, 0, 1 });
  check_at ("abs", NULL, 1, 3, at, (const double[]){ -1, 0, 1 });
  check_at ("leaky_relu", "alpha=0.5", 1, 3, at, (const double[]){ 0.5, 1, 1 });
  check_at ("relu6", NULL, 1, 3, (const double[]){ 0, 6, 7 }, (const double[]){ 0, 0, 0 });
  check_at ("hard_sigmoid", NULL, 1, 3, (const double[]){ -3, 3, 4 }, (const double[]){ 0, 0, 0 });
  check_at ("reduce_max", NULL, 1, 3, (const double[]){ 1, 3, 3 }, (const double[]){ 0, 0.5, 0.5 });
  check_at ("maximum", NULL, 2, 3, (const double[]){ 1, 2, 3, 2, 2, 2 },
            (const double[]){ 0, 1, 1, 1, 0, 0 });
  check_at ("minimum", NULL, 2, 3, (const double[]){ 1, 2, 3, 2, 2, 2 },
            (const double[]){ 1, 1, 0, 0, 0, 1 });
}

/* Graphs at random: values read by several nodes, by one node twice, or by nobody. */
static void
test_random_graphs (void)
{
  static const char *const unary[] = {
    "tanh", "sigmoid", "softplus", "silu", "square", "negative"
  };
  static const char *const binary[] = { "add", "subtract", "multiply", "add_n" };
  g_autoptr (GRand)        random = g_rand_new_with_seed (77);

  for (guint graph = 0; graph < 100; graph++)
    {
      const GradusOp     op = { .name = "graph" };
      const GradusOpCase c = { .inputs = "f32[2,3] f32[2,3] f32[1,3]" };
      Check              check = { .op = &op, .c = &c, .batch = 1 };
      GArray            *made = g_array_new (FALSE, FALSE, sizeof (GradusValueId));
      g_autoptr (GError) error = NULL;
      guint              n_values;

      check.inputs = gradus_test_parse_case (&c, 1);
      check.program = gradus_program_new ("graph");
      for (guint i = 0; i < 3; i++)
        {
          g_autofree char *name = g_strdup_printf ("input_%u", i);

          check.ids[i] = gradus_program_add_variable (
            check.program, name, GRADUS_VARIABLE_WEIGHT, GRADUS_DTYPE_FLOAT32,
            g_array_index (check.inputs, GradusTestInput, i).type.shape);
          if (i < 2)
            g_array_append_val (made, check.ids[i]);
        }
      for (guint i = 0; i < 12; i++)
        {
          GradusValueId in[2], y;

          in[0] = g_array_index (made, GradusValueId, g_rand_int_range (random, 0, made->len));
          in[1] = g_array_index (made, GradusValueId, g_rand_int_range (random, 0, made->len));
          if (g_rand_boolean (random))
            gradus_program_add_node (check.program, unary[g_rand_int_range (random, 0, 6)], 0, in,
                                     1, &y, &error, NULL);
          else if (i % 5 == 4)
            gradus_program_add_node (check.program, "multiply", 0,
                                     (GradusValueId[]){ in[0], check.ids[2] }, 2, &y, &error, NULL);
          else
            gradus_program_add_node (check.program, binary[g_rand_int_range (random, 0, 4)], 0, in,
                                     2, &y, &error, NULL);
          g_assert_no_error (error);
          /* Bounded, so that squares of squares stay numbers that differences can tell apart. */
          gradus_program_add_node (check.program, "tanh", 0, &y, 1, &y, &error, NULL);
          g_array_append_val (made, y);
        }
      gradus_program_add_node (check.program, "sum_squares", 0,
                               &g_array_index (made, GradusValueId, made->len - 1), 1, &check.loss,
                               &error, NULL);
      gradus_autodiff (check.program, check.loss, check.ids, 3, check.gradients, &error);
      g_assert_no_error (error);
      n_values = gradus_program_n_values (check.program);
      check.values = g_new0 (double *, n_values);
      for (guint i = 0; i < 3; i++)
        check.values[check.ids[i]]
          = gradus_test_fill (&g_array_index (check.inputs, GradusTestInput, i), i);
      for (guint i = 0; i < 3; i++)
        if (check.gradients[i] != GRADUS_NO_VALUE)
          check_input (&check, i);
        else
          {
            g_autofree double *direction = g_new0 (double, 7);

            direction[0] = 1;
            compare (&check, i, 0, 0, slope (&check, i, direction, 1));
          }
      gradus_test_free_values (check.values, n_values);
      gradus_program_unref (check.program);
      g_array_unref (check.inputs);
      g_array_unref (made);
    }
}

int
main (int argc, char **argv)
{
  guint                  n;
  const GradusOp *const *table = gradus_op_table (&n);

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gradient/kinks", test_kinks);
  g_test_add_func ("/gradient/random-graphs", test_random_graphs);
  for (guint i = 0; i < n; i++)
    if (table[i]->gradient != NULL)
      {
        g_autofree char *path = g_strconcat ("/ops-gradient/", table[i]->name, NULL);

        g_test_add_data_func (path, table[i], test_op);
      }
  return g_test_run ();
}
