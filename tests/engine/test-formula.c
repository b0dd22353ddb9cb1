/* SPDX-License-Identifier: Apache-2.0 */
#include "device/gradus-execution.h"
#include "formula/gradus-formula.h"
#include "passes/gradus-passes.h"

#include <math.h>
#include <string.h>

static double
evaluate (const char *text, double x, double y)
{
  static const char *const       names[] = { "x", "y", NULL };
  const double                   values[] = { x, y };
  g_autoptr (GError)             error = NULL;
  g_autoptr (GradusFormula)      formula = gradus_formula_parse (text, &error);
  g_autoptr (GradusFormulaNumber) number = NULL;

  g_assert_no_error (error);
  number = gradus_formula_number_new (formula, names, &error);
  g_assert_no_error (error);
  return gradus_formula_number_evaluate (number, values);
}

static void
test_numbers (void)
{
  static const struct
  {
    const char *text;
    double      wanted; /* at x = 3, y = 4 */
  } cases[] = {
    { "x + y * 2", 11 },
    { "(x + y) * 2", 14 },
    { "x - y - 1", -2 },
    { "-x ^ 2", -9 },
    { "2 ^ -1", 0.5 },
    { "2 ^ 3 ^ 2", 512 },
    { "2 ** 3", 8 },
    { "x % 2", 1 },
    { "- 7 % 3", 2 },
    { "x / y", 0.75 },
    { "1 / x * x", 1 },
    { "x < y", 1 },
    { "x >= y", 0 },
    { "(x == 3) + (y != 3)", 2 },
    { "where(x > 2, 10, 20)", 10 },
    { "where(0, x, y)", 4 },
    { "clip(x * y, 0, 5)", 5 },
    { "minimum(x, y) + maximum(x, 10)", 13 },
    { "0.5 * (1 + cos(pi * x / 3))", 0 },
    { "exp(1) - e", 0 },
    { "sqrt(x ^ 2 + y ^ 2)", 5 },
    { "abs(-x) + sign(-y)", 2 },
    { "leaky_relu(-1, 0.25)", -0.25 },
    { "leaky_relu(x * 0 - 4, 0.25)", -1 },
    { "pow(x, 2) + mod(y, 3)", 10 },
    { ".5e1", 5 },
    { " \n x ", 3 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      double got = evaluate (cases[i].text, 3, 4);

      g_test_message ("%s", cases[i].text);
      g_assert_cmpfloat_with_epsilon (got, cases[i].wanted, 1e-6);
    }
}

static void
test_refusals (void)
{
  static const char *const names[] = { "x", "rate", NULL };
  static const struct
  {
    const char *text, *part;
  } cases[] = {
    { "", "Column 1 " },
    { "x +", "Column 4 " },
    { "x + * 2", "Column 5 " },
    { "(x", "“)”" },
    { "x)", "Column 2 " },
    { "x 2", "Column 3 " },
    { "sigmiod(x)", "did you mean “sigmoid”" },
    { "rat * x", "did you mean “rate”" },
    { "1 + z", "Column 5 " },
    { "where(x, 1)", "3 arguments" },
    { "exp(x, x)", "1 argument" },
    { "exp(x, axis=1)", "axis" },
    { "sum(x, axis=0)", "samples" },
    { "sum(x, axis=7)", "no axis 7" },
    { "x[0]", "Axis 0" },
    { "x[:, 5]", "Axis 1" },
    { "x[:, 2:2]", "Nothing is left" },
    { "x[..., ...]", "one" },
    { "x[:, ::0]", "step" },
    { "matmul(x, 2)", "matrices" },
    { "reshape(x, 7)", "numbers a sample" },
    { "transpose(x, 1, 0)", "samples" },
    { "1..2", "Column " },
    { "x ? 1", "Column 3 " },
    { "ä", "Column 1 " },
    { "1e999", "Column 1 " },
  };
  g_autoptr (GString) deep = g_string_new (NULL), wide = g_string_new ("1");

  for (gsize i = 0; i < G_N_ELEMENTS (cases) + 2; i++)
    {
      g_autoptr (GError)        error = NULL;
      g_autoptr (GradusFormula) formula = NULL;
      g_autoptr (GradusProgram) program = gradus_program_new ("test");
      GradusValueId             values[2], output;
      const char               *text, *part;

      for (guint k = 0; i == G_N_ELEMENTS (cases) && k < 200; k++)
        g_string_append (deep, "(-");
      for (guint k = 0; i > G_N_ELEMENTS (cases) && k < 1500; k++)
        g_string_append (wide, "+1");
      text = i < G_N_ELEMENTS (cases) ? cases[i].text : i == G_N_ELEMENTS (cases) ? deep->str : wide->str;
      part = i < G_N_ELEMENTS (cases) ? cases[i].part : "at most";
      g_test_message ("%.60s", text);
      values[0] = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (2, (gint64) GRADUS_DIM_BATCH, (gint64) 3));
      values[1] = gradus_program_add_hyper (program, "rate", 1);
      formula = gradus_formula_parse (text, &error);
      if (formula != NULL)
        g_assert_false (gradus_formula_build (formula, program, names, values, &output, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_test_message ("  %s", error->message);
      g_assert_nonnull (strstr (error->message, part));
    }
}

/* A random expression as text, and its value by C's own arithmetic. */
static double
grow (GRand *random, guint depth, GString *text, double x, double y)
{
  double a, b;
  gint32 what = depth == 0 ? g_rand_int_range (random, 0, 3) : g_rand_int_range (random, 0, 10);

  switch (what)
    {
    case 0:
      g_string_append_c (text, 'x');
      return x;
    case 1:
      g_string_append_c (text, 'y');
      return y;
    case 2:
      a = g_rand_int_range (random, 1, 9);
      g_string_append_printf (text, "%d", (int) a);
      return a;
    case 3:
      g_string_append (text, "tanh(");
      a = grow (random, depth - 1, text, x, y);
      g_string_append_c (text, ')');
      return tanh (a);
    case 4:
      g_string_append (text, "-(");
      a = grow (random, depth - 1, text, x, y);
      g_string_append_c (text, ')');
      return -a;
    default:
      g_string_append_c (text, '(');
      a = grow (random, depth - 1, text, x, y);
      g_string_append (text, what == 5 ? " + " : what == 6 ? " - " : what == 7 ? " * " : what == 8 ? " / (2 + " : " < ");
      if (what == 8)
        g_string_append (text, "abs(");
      b = grow (random, depth - 1, text, x, y);
      g_string_append (text, what == 8 ? ")))" : ")");
      return what == 5 ? a + b : what == 6 ? a - b : what == 7 ? a * b : what == 8 ? a / (2 + fabs (b)) : a < b;
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (4);

  for (guint i = 0; i < 300; i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      double              x = g_rand_double_range (random, -2, 2), y = g_rand_double_range (random, -2, 2);
      double              wanted = grow (random, 4, text, x, y), got = evaluate (text->str, x, y);

      g_assert_cmpfloat_with_epsilon (got, wanted, 1e-6 * (1 + fabs (wanted)));
    }
}

/* Whatever is typed, it is parsed or refused. */
static void
test_garbage (void)
{
  static const char alphabet[] = "xy01.9e+-*/%^@<>=!()[],: sumaxis_exp\n\"\\";
  g_autoptr (GRand) random = g_rand_new_with_seed (5);

  for (guint i = 0; i < 50000; i++)
    {
      char                      text[40];
      gint32                    n = g_rand_int_range (random, 0, sizeof text - 1);
      g_autoptr (GError)        error = NULL;
      g_autoptr (GradusFormula) formula = NULL;

      for (gint32 k = 0; k < n; k++)
        text[k] = alphabet[g_rand_int_range (random, 0, sizeof alphabet - 1)];
      text[n] = '\0';
      formula = gradus_formula_parse (text, &error);
      g_assert_true ((formula == NULL) == (error != NULL));
    }
}

#define B 5

/* @text over x [B,6] and a trained beta [6] on @device: the output's sum and the gradient of beta. */
static void
run (const char *device_name, const char *text, gint64 width, float *sum, float *gradient, float nudge, guint nudged)
{
  static const char *const    names[] = { "x", "beta", NULL };
  g_autoptr (GError)          error = NULL;
  g_autoptr (GradusFormula)   formula = gradus_formula_parse (text, &error);
  g_autoptr (GradusProgram)   program = gradus_program_new ("test");
  g_autoptr (GradusDevice)    device = gradus_device_open (device_name, 1, &error);
  g_autoptr (GradusPlan)      plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;
  GradusValueId               values[2], output, loss, d;
  float                       x[B * 6], beta[6];

  g_assert_no_error (error);
  values[0] = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (2, (gint64) GRADUS_DIM_BATCH, (gint64) 6));
  values[1] = gradus_program_add_variable (program, "beta", GRADUS_VARIABLE_WEIGHT, GRADUS_DTYPE_FLOAT32, gradus_shape (1, width));
  gradus_formula_build (formula, program, names, values, &output, &error);
  g_assert_no_error (error);
  g_assert_true (gradus_program_add_node_text (program, "reduce_sum", 0, &output, 1, NULL, &loss, &error));
  g_assert_true (gradus_autodiff (program, loss, &values[1], 1, &d, &error));
  gradus_program_add_output (program, "loss", loss);
  gradus_program_add_output (program, "d", d);
  plan = gradus_plan_new (program, gradus_sizes (B, 1), &error);
  variables = gradus_variables_new (program, device, &error);
  execution = gradus_execution_new (plan, variables, device, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (x); i++)
    x[i] = 0.1f * (float) (i % 7) - 0.25f;
  for (guint i = 0; i < 6; i++)
    beta[i] = 0.5f + 0.3f * (float) i + (i == nudged ? nudge : 0);
  g_assert_true (gradus_variables_write (variables, 0, beta, (gsize) width * sizeof (float), &error));
  g_assert_true (gradus_execution_set_input (execution, values[0], x, gradus_sizes (B, 1), &error));
  g_assert_true (gradus_execution_run (execution, gradus_sizes (B, 1), 1, 1, &error));
  g_assert_true (gradus_execution_read (execution, loss, sum, sizeof *sum, &error));
  if (gradient != NULL)
    g_assert_true (gradus_execution_read (execution, d, gradient, (gsize) width * sizeof (float), &error));
}

static void
test_gradients (void)
{
  static const struct
  {
    const char *text;
    gint64      width;
  } cases[] = {
    { "x * sigmoid(beta * x)", 6 },
    { "beta ^ 2 * x + exp(x * beta)", 6 },
    { "mean(square(x - beta)) * 3", 6 },
    { "softmax(x * beta)[:, 2:5:2]", 6 },
    { "where(x > 0, x * beta, sin(beta))", 6 },
    { "matmul(reshape(x, 2, 3), reshape(x * beta, 3, 2))", 6 },
    { "concat(x * beta, x)[..., 1] * 2", 6 },
    { "max(x * beta) - min(x / beta) + sum(cumsum(beta * x))", 6 },
    { "prod(1 + x * beta, axis=-1) + reverse(beta * x)", 6 },
    { "transpose(reshape(x * beta, 3, 2), 0, 2, 1) % 7", 6 },
    { "beta * mean(beta)", 6 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint device = 0; device < 2; device++)
      {
        const char *name = device == 0 ? "ref" : "cpu";
        float       gradient[6], middle;

        g_test_message ("%s on %s", cases[i].text, name);
        run (name, cases[i].text, cases[i].width, &middle, gradient, 0, 0);
        for (guint k = 0; k < cases[i].width; k++)
          {
            float high, low, slope;

            run (name, cases[i].text, cases[i].width, &high, NULL, 0.01f, k);
            run (name, cases[i].text, cases[i].width, &low, NULL, -0.01f, k);
            slope = (high - low) / 0.02f;
            g_assert_cmpfloat_with_epsilon (gradient[k], slope, 0.01 * (0.1 + fabsf (slope)));
          }
      }
}

/* A formula says what an op of its own says. */
static void
test_same_as_op (void)
{
  static const struct
  {
    const char *formula, *plain;
  } pairs[] = {
    { "0.5 * x * beta * (1 + erf(x * beta / sqrt(2)))", "gelu(x * beta)" },
    { "x * beta * sigmoid(x * beta)", "swish(x * beta)" },
    { "where(x * beta > 0, x * beta, exp(x * beta) - 1)", "elu(x * beta)" },
    { "log(1 + exp(x * beta))", "softplus(x * beta)" },
    { "exp(x * beta) / sum(exp(x * beta))", "softmax(x * beta)" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      float a, b, da[6], db[6];
      /* A softmax sums to one: weigh it, so that there is something to see. */
      g_autofree char *left = g_strconcat ("x * (", pairs[i].formula, ")", NULL);
      g_autofree char *right = g_strconcat ("x * (", pairs[i].plain, ")", NULL);

      run ("cpu", left, 6, &a, da, 0, 0);
      run ("cpu", right, 6, &b, db, 0, 0);
      g_assert_cmpfloat_with_epsilon (a, b, 1e-5);
      for (guint k = 0; k < 6; k++)
        g_assert_cmpfloat_with_epsilon (da[k], db[k], 1e-5);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formula/numbers", test_numbers);
  g_test_add_func ("/formula/refusals", test_refusals);
  g_test_add_func ("/formula/random", test_random);
  g_test_add_func ("/formula/garbage", test_garbage);
  g_test_add_func ("/formula/gradients", test_gradients);
  g_test_add_func ("/formula/same-as-op", test_same_as_op);
  return g_test_run ();
}
