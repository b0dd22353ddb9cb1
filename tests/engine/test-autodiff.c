/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <string.h>

#include "passes/gradus-passes.h"

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
weight (GradusProgram *program, const char *name, GradusShape shape)
{
  return gradus_program_add_variable (program, name, GRADUS_VARIABLE_WEIGHT, GRADUS_DTYPE_FLOAT32,
                                      shape);
}

static void
layer (GradusProgram *program, const char *name)
{
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, name);
}

static void
check_text (GradusProgram *program, const char *wanted)
{
  g_autofree char *text = gradus_program_to_string (program);

  g_assert_cmpstr (text, ==, wanted);
}

static GradusProgram *
optimise (GradusProgram *program)
{
  g_autoptr (GError) error = NULL;
  GradusProgram     *optimised = gradus_passes_run (program, &error);

  g_assert_no_error (error);
  return optimised;
}

/* A multilayer perceptron, printed as it trains: no gradient for the input, bias_add and relu folded. */
static void
test_perceptron (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("mlp"), optimised = NULL;
  g_autoptr (GError)        error = NULL;
  GradusValueId             x, labels, w1, b1, w2, y, loss, gradients[3];

  x = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (2, -1L, 4L));
  labels = gradus_program_add_input (program, "y", GRADUS_DTYPE_INT32, gradus_shape (1, -1L));
  w1 = weight (program, "a/kernel", gradus_shape (2, 4L, 3L));
  b1 = weight (program, "a/bias", gradus_shape (1, 3L));
  w2 = weight (program, "b/kernel", gradus_shape (2, 3L, 2L));
  layer (program, "a");
  y = add (program, "matmul", NULL, 2, x, w1);
  y = add (program, "bias_add", NULL, 2, y, b1);
  y = add (program, "relu", NULL, 1, y);
  layer (program, "b");
  y = add (program, "matmul", NULL, 2, y, w2);
  layer (program, "loss");
  y = add (program, "sparse_softmax_cross_entropy", NULL, 2, y, labels);
  loss = add (program, "reduce_mean", NULL, 1, y);
  gradus_program_add_output (program, "loss", loss);
  g_assert_true (gradus_autodiff (program, loss, (GradusValueId[]){ w1, b1, w2 }, 3, gradients, &error));
  g_assert_no_error (error);
  gradus_program_add_output (program, "a/kernel gradient", gradients[0]);
  gradus_program_add_output (program, "a/bias gradient", gradients[1]);
  gradus_program_add_output (program, "b/kernel gradient", gradients[2]);

  optimised = optimise (program);
  check_text (optimised,
              "program mlp\n"
              "  input %0 x float32(None, 4)\n"
              "  input %1 y int32(None,)\n"
              "  variable %2 a/kernel float32(4, 3) weight\n"
              "  variable %3 a/bias float32(3,) weight\n"
              "  variable %4 b/kernel float32(3, 2) weight\n"
              "  constant %10 float32() = 1\n"
              "forward:\n"
              "  %5 float32(None, 3) = matmul(%0, %2, %3) activation=relu  # a\n"
              "  %6 float32(None, 2) = matmul(%5, %4)  # b\n"
              "  %7 float32(None,), %8 float32(None, 2) = sparse_softmax_cross_entropy(%6, %1)  # loss\n"
              "  %9 float32() = reduce_mean(%7)  # loss\n"
              "backward:\n"
              "  %11 float32(None,) = broadcast_like(%10, %7) axes=0 scale_mean=1  # loss\n"
              "  %12 float32(None, 2) = sparse_softmax_cross_entropy_grad(%11, %8, %1)  # loss\n"
              "  %13 float32(None, 3) = matmul(%12, %4) transpose_b=1  # b\n"
              "  %14 float32(3, 2) = matmul(%5, %12) transpose_a=1  # b\n"
              "  %15 float32(None, 3) = relu_grad(%13, %5)  # a\n"
              "  %16 float32(3,) = reduce_sum(%15) axes=0  # a\n"
              "  %17 float32(4, 3) = matmul(%0, %15) transpose_a=1  # a\n"
              "  output loss = %9\n"
              "  output a/kernel gradient = %17\n"
              "  output a/bias gradient = %16\n"
              "  output b/kernel gradient = %14\n");
}

/* A weight used twice gets both gradients, added in the order of its readers. */
static void
test_shared (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("shared");
  g_autoptr (GError)        error = NULL;
  GradusValueId             w, a, b, loss, gradient;

  w = weight (program, "w", gradus_shape (1, 3L));
  layer (program, "first");
  a = add (program, "square", NULL, 1, w);
  layer (program, "second");
  b = add (program, "multiply", NULL, 2, a, w);
  loss = add (program, "reduce_sum", NULL, 1, b);
  g_assert_true (gradus_autodiff (program, loss, &w, 1, &gradient, &error));
  check_text (program,
              "program shared\n"
              "  variable %0 w float32(3,) weight\n"
              "  constant %4 float32() = 1\n"
              "forward:\n"
              "  %1 float32(3,) = square(%0)  # first\n"
              "  %2 float32(3,) = multiply(%1, %0)  # second\n"
              "  %3 float32() = reduce_sum(%2)  # second\n"
              "backward:\n"
              "  %5 float32(3,) = broadcast_like(%4, %2) axes=0  # second\n"
              "  %6 float32(3,) = multiply(%5, %0)  # second\n"
              "  %7 float32(3,) = multiply(%5, %1)  # second\n"
              "  %8 float32(3,) = square_grad(%6, %0)  # first\n"
              "  %9 float32(3,) = add_n(%8, %7)  # first\n");
  g_assert_cmpuint (gradient, ==, 9);
}

static void
test_same_value_twice (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new (NULL);
  GradusValueId             w, y, loss, gradient;
  const GradusNode         *node;

  w = weight (program, "w", gradus_shape (1, 3L));
  y = add (program, "multiply", NULL, 2, w, w);
  loss = add (program, "reduce_sum", NULL, 1, y);
  g_assert_true (gradus_autodiff (program, loss, &w, 1, &gradient, NULL));
  node = gradus_program_node (program, gradus_program_value (program, gradient)->producer);
  g_assert_cmpstr (node->op->name, ==, "add_n");
  g_assert_cmpuint (node->n_inputs, ==, 2);
}

static void
test_independent (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new (NULL);
  GradusValueId             w, other, loss, gradients[2];

  w = weight (program, "w", gradus_shape (1, 3L));
  other = weight (program, "other", gradus_shape (1, 3L));
  loss = add (program, "sum_squares", NULL, 1, w);
  add (program, "square", NULL, 1, other);
  g_assert_true (
    gradus_autodiff (program, loss, (GradusValueId[]){ w, other }, 2, gradients, NULL));
  g_assert_cmpuint (gradients[0], !=, GRADUS_NO_VALUE);
  g_assert_cmpuint (gradients[1], ==, GRADUS_NO_VALUE);
}

static void
test_refusals (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new (NULL);
  g_autoptr (GError)        error = NULL;
  GradusValueId             w, y, loss, gradient;

  w = weight (program, "w", gradus_shape (1, 3L));
  layer (program, "peak");
  y = add (program, "global_norm", NULL, 1, add (program, "sum_squares", NULL, 1, w));
  g_assert_false (gradus_autodiff (program, w, &w, 1, &gradient, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "(3,)"));
  g_clear_error (&error);
  loss = add (program, "square", NULL, 1, y);
  g_assert_false (gradus_autodiff (program, loss, &w, 1, &gradient, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "global_norm"));
  g_assert_nonnull (strstr (error->message, "peak"));
}

/* What somebody else reads is not folded away. */
static void
test_no_fusion (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("kept"), optimised = NULL;
  GradusValueId             x, w, b, z, y;

  x = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (2, -1L, 4L));
  w = weight (program, "w", gradus_shape (2, 4L, 3L));
  b = weight (program, "b", gradus_shape (1, 3L));
  z = add (program, "matmul", NULL, 2, x, w);
  y = add (program, "bias_add", NULL, 2, z, b);
  gradus_program_add_output (program, "y", add (program, "relu", NULL, 1, y));
  gradus_program_add_output (program, "before", y);
  gradus_program_add_output (program, "twice", add (program, "relu", NULL, 1, z));
  optimised = optimise (program);
  check_text (optimised,
              "program kept\n"
              "  input %0 x float32(None, 4)\n"
              "  variable %1 w float32(4, 3) weight\n"
              "  variable %2 b float32(3,) weight\n"
              "forward:\n"
              "  %3 float32(None, 3) = matmul(%0, %1)\n"
              "  %4 float32(None, 3) = bias_add(%3, %2)\n"
              "  %5 float32(None, 3) = relu(%4)\n"
              "  %6 float32(None, 3) = relu(%3)\n"
              "  output y = %5\n"
              "  output before = %4\n"
              "  output twice = %6\n");
}

static void
test_convolution (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("conv"), optimised = NULL;
  GradusValueId             x, w, b, z;

  x = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (4, -1L, 8L, 8L, 1L));
  w = weight (program, "w", gradus_shape (4, 3L, 3L, 1L, 2L));
  b = weight (program, "b", gradus_shape (1, 2L));
  z = add (program, "conv", "pads=1,1,1,1", 2, x, w);
  z = add (program, "bias_add", NULL, 2, z, b);
  gradus_program_add_output (program, "y", z);
  z = add (program, "conv", "strides=2,2", 3, x, w, b);
  gradus_program_add_output (program, "z", add (program, "relu", NULL, 1, z));
  optimised = optimise (program);
  check_text (optimised,
              "program conv\n"
              "  input %0 x float32(None, 8, 8, 1)\n"
              "  variable %1 w float32(3, 3, 1, 2) weight\n"
              "  variable %2 b float32(2,) weight\n"
              "forward:\n"
              "  %3 float32(None, 8, 8, 2) = conv(%0, %1, %2) pads=1,1,1,1\n"
              "  %4 float32(None, 3, 3, 2) = conv(%0, %1, %2) strides=2,2 activation=relu\n"
              "  output y = %3\n"
              "  output z = %4\n");
}

/* Reshapes in a row are one, those that change nothing none, dead nodes go, updates stay. */
static void
test_reshape_and_dead_code (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("shapes"), optimised = NULL;
  GradusValueId             x, y, m;

  x = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (3, -1L, 4L, 2L));
  m = gradus_program_add_variable (program, "m", GRADUS_VARIABLE_STATISTIC, GRADUS_DTYPE_FLOAT32,
                                   gradus_shape (1, 8L));
  y = add (program, "reshape", "shape=-1,2,4", 1, x);
  y = add (program, "reshape", "shape=-1,8", 1, y);
  add (program, "exp", NULL, 1, y);
  gradus_program_add_output (program, "flat", y);
  y = add (program, "reshape", "shape=-1,4,2", 1, y);
  gradus_program_add_output (program, "root", add (program, "sqrt", NULL, 1, y));
  y = add (program, "reduce_mean", "axes=0", 1, y);
  y = add (program, "reshape", "shape=8", 1, y);
  add (program, "moving_average", "momentum=0.9", 2, m, y);
  optimised = optimise (program);
  check_text (optimised,
              "program shapes\n"
              "  input %0 x float32(None, 4, 2)\n"
              "  variable %1 m float32(8,) statistic\n"
              "forward:\n"
              "  %2 float32(None, 8) = reshape(%0) shape=-1,8\n"
              "  %3 float32(None, 4, 2) = sqrt(%0)\n"
              "  %4 float32(4, 2) = reduce_mean(%0) axes=0\n"
              "  %5 float32(8,) = reshape(%4) shape=8\n"
              "  moving_average(%1, %5) momentum=0.9\n"
              "  output flat = %2\n"
              "  output root = %3\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/autodiff/perceptron", test_perceptron);
  g_test_add_func ("/autodiff/shared", test_shared);
  g_test_add_func ("/autodiff/same-value-twice", test_same_value_twice);
  g_test_add_func ("/autodiff/independent", test_independent);
  g_test_add_func ("/autodiff/refusals", test_refusals);
  g_test_add_func ("/passes/no-fusion", test_no_fusion);
  g_test_add_func ("/passes/convolution", test_convolution);
  g_test_add_func ("/passes/reshape-and-dead-code", test_reshape_and_dead_code);
  return g_test_run ();
}
