/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <locale.h>

#include "graph/gradus-op.h"

/* The error that adding @op gives; the program stays as it was. */
static char *
refusal (GradusProgram       *program,
         const char          *op,
         const GradusValueId *in,
         guint                n,
         const char          *attrs)
{
  g_autoptr (GError) error = NULL;
  guint              values = gradus_program_n_values (program);
  guint              nodes = gradus_program_n_nodes (program);
  GradusValueId      out[4];

  g_assert_false (gradus_program_add_node_text (program, op, 0, in, n, attrs, out, &error));
  g_assert_nonnull (error);
  g_assert_cmpuint (gradus_program_n_values (program), ==, values);
  g_assert_cmpuint (gradus_program_n_nodes (program), ==, nodes);
  return g_strdup (error->message);
}

static GradusProgram *
dense_program (GradusValueId *logits)
{
  GradusProgram     *program = gradus_program_new ("dense");
  g_autoptr (GError) error = NULL;
  GradusValueId      x, kernel, bias, y;

  x = gradus_program_add_input (program, "x", GRADUS_DTYPE_UINT8, gradus_shape (3, -1L, 28L, 28L));
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "rescaling");
  gradus_program_add_node (program, "affine", 0, &x, 1, &y, &error, "scale", 1.0 / 255, NULL);
  g_assert_no_error (error);
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "flatten");
  gradus_program_add_node (program, "reshape", 0, &y, 1, &y, &error, "shape", 2u,
                           (const gint64[]) { -1, 784 }, NULL);
  g_assert_no_error (error);
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "dense");
  kernel = gradus_program_add_variable (program, "dense/kernel", GRADUS_VARIABLE_WEIGHT,
                                        GRADUS_DTYPE_FLOAT32, gradus_shape (2, 784L, 10L));
  bias = gradus_program_add_variable (program, "dense/bias", GRADUS_VARIABLE_WEIGHT,
                                      GRADUS_DTYPE_FLOAT32, gradus_shape (1, 10L));
  gradus_program_add_node (program, "matmul", 0, (GradusValueId[]) { y, kernel, bias }, 3, &y,
                           &error, "activation", "relu", NULL);
  g_assert_no_error (error);
  gradus_program_add_output (program, "logits", y);
  *logits = y;
  return program;
}

static void
test_build (void)
{
  GradusValueId             logits;
  g_autoptr (GradusProgram) program = dense_program (&logits);
  const GradusValue        *value = gradus_program_value (program, logits);
  const GradusNode         *node;
  const char               *name;
  guint                     n;

  g_assert_cmpint (value->kind, ==, GRADUS_VALUE_TEMPORARY);
  g_assert_cmpuint (value->type.shape.rank, ==, 2);
  g_assert_cmpint (value->type.shape.dims[0], ==, GRADUS_DIM_BATCH);
  g_assert_cmpint (value->type.shape.dims[1], ==, 10);
  node = gradus_program_node (program, value->producer);
  g_assert_cmpstr (node->op->name, ==, "matmul");
  g_assert_cmpstr (node->layer, ==, "dense");
  g_assert_cmpstr (gradus_node_string (node, "activation"), ==, "relu");
  g_assert_cmpint (gradus_node_int (node, "transpose_a"), ==, 0);
  node = gradus_program_node (program, 1);
  g_assert_cmpint (gradus_node_ints (node, "shape", &n)[1], ==, 784);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpuint (gradus_program_n_outputs (program), ==, 1);
  g_assert_cmpuint (gradus_program_output (program, 0, &name), ==, logits);
  g_assert_cmpstr (name, ==, "logits");
  g_assert_cmpuint (gradus_program_find (program, "logits"), ==, logits);
  g_assert_cmpuint (gradus_program_find (program, "x"), ==, 0);
  g_assert_cmpuint (gradus_program_find (program, "nobody"), ==, GRADUS_NO_VALUE);
}

static void
test_print (void)
{
  GradusValueId             logits;
  g_autoptr (GradusProgram) program = dense_program (&logits);
  g_autofree char          *text = NULL;

  gradus_program_add_hyper (program, "learning_rate", 0.001f);
  text = gradus_program_to_string (program);
  g_assert_cmpstr (text, ==,
                   "program dense\n"
                   "  input %0 x uint8(None, 28, 28)\n"
                   "  variable %3 dense/kernel float32(784, 10) weight\n"
                   "  variable %4 dense/bias float32(10,) weight\n"
                   "  hyper %6 learning_rate float32() = 0.00100000005\n"
                   "forward:\n"
                   "  %1 float32(None, 28, 28) = affine(%0) scale=0.00392156863  # rescaling\n"
                   "  %2 float32(None, 784) = reshape(%1) shape=-1,784  # flatten\n"
                   "  %5 float32(None, 10) = matmul(%2, %3, %4) activation=relu  # dense\n"
                   "  output logits = %5\n");
}

static void
test_shared (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new (NULL);
  GradusValueId             first, second;

  first = gradus_program_add_variable (program, "w", GRADUS_VARIABLE_WEIGHT, GRADUS_DTYPE_FLOAT32,
                                       gradus_shape (1, 3L));
  second = gradus_program_add_variable (program, "w", GRADUS_VARIABLE_WEIGHT, GRADUS_DTYPE_FLOAT32,
                                        gradus_shape (1, 3L));
  g_assert_cmpuint (first, ==, second);
  g_assert_cmpuint (gradus_program_add_hyper (program, "rate", 0.5f), ==,
                    gradus_program_add_hyper (program, "rate", 0.5f));
}

static void
test_filter (void)
{
  GradusValueId             logits;
  g_autoptr (GradusProgram) program = dense_program (&logits), filtered = NULL;
  const gfloat              one = 1;
  GradusValueId             constant, more;
  g_autofree char          *text = NULL;

  constant = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &one);
  gradus_program_add_node (program, "multiply", 0, (GradusValueId[]) { logits, constant }, 2, &more,
                           NULL, NULL);
  filtered = gradus_program_filter (program, (gboolean[]) { TRUE, TRUE, TRUE, FALSE });
  g_assert_cmpuint (gradus_program_n_nodes (filtered), ==, 3);
  g_assert_cmpuint (gradus_program_n_values (filtered), ==, 6);
  text = gradus_program_to_string (filtered);
  g_assert_nonnull (strstr (text, "  %5 float32(None, 10) = matmul(%4, %1, %2) activation=relu"));
  g_assert_nonnull (strstr (text, "output logits = %5"));
}

static void
check_contains (char *message, const char *const *parts)
{
  for (guint i = 0; parts[i] != NULL; i++)
    if (strstr (message, parts[i]) == NULL)
      g_error ("“%s” is missing in “%s”", parts[i], message);
  g_free (message);
}

static void
test_refusals (void)
{
  g_autoptr (GradusProgram) program = gradus_program_new (NULL);
  GradusValueId             x, k, image, labels, small;

  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "dense_1");
  x = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, gradus_shape (2, -1L, 784L));
  k = gradus_program_add_input (program, "k", GRADUS_DTYPE_FLOAT32, gradus_shape (2, 700L, 10L));
  image = gradus_program_add_input (program, "i", GRADUS_DTYPE_FLOAT32,
                                    gradus_shape (4, -1L, 28L, 28L, 3L));
  small = gradus_program_add_input (program, "s", GRADUS_DTYPE_FLOAT32,
                                    gradus_shape (4, 3L, 3L, 4L, 8L));
  labels = gradus_program_add_input (program, "l", GRADUS_DTYPE_INT32, gradus_shape (1, -1L));

  check_contains (refusal (program, "matmul", (GradusValueId[]) { x, k }, 2, NULL),
                  (const char *const[]) { "dense_1", "matmul", "(None, 784)", "(700, 10)", NULL });
  check_contains (refusal (program, "matmul", (GradusValueId[]) { x, labels }, 2, NULL),
                  (const char *const[]) { "matmul", "int32", NULL });
  check_contains (refusal (program, "matmul", (GradusValueId[]) { x, k }, 2, "activation=cosh"),
                  (const char *const[]) { "relu", "cosh", NULL });
  check_contains (refusal (program, "matmul", (GradusValueId[]) { x, k }, 2, "colour=red"),
                  (const char *const[]) { "matmul", "colour", NULL });
  check_contains (refusal (program, "matmul", (GradusValueId[]) { x, k }, 2, "transpose_a=maybe"),
                  (const char *const[]) { "transpose_a", "maybe", NULL });
  check_contains (refusal (program, "matmul", &x, 1, NULL),
                  (const char *const[]){ "matmul", NULL });
  check_contains (refusal (program, "matmul", (GradusValueId[]) { x, GRADUS_NO_VALUE }, 2, NULL),
                  (const char *const[]) { "matmul", NULL });
  check_contains (refusal (program, "warp", &x, 1, NULL), (const char *const[]) { "warp", NULL });
  check_contains (refusal (program, "conv", (GradusValueId[]) { image, small }, 2, NULL),
                  (const char *const[]) { "conv", "channels", "(None, 28, 28, 3)", NULL });
  check_contains (refusal (program, "max_pool", &image, 1, "pool=40,40 strides=1,1"),
                  (const char *const[]) { "max_pool", NULL });
  check_contains (refusal (program, "max_pool", &image, 1, "pool=2,2 pads=2,0,0,0"),
                  (const char *const[]) { "padding", NULL });
  check_contains (refusal (program, "max_pool", &image, 1, "strides=0,1"),
                  (const char *const[]) { "Strides", NULL });
  check_contains (refusal (program, "reshape", &x, 1, "shape=-1,28,29"),
                  (const char *const[]) { "784", "812", "(None, 28, 29)", NULL });
  check_contains (refusal (program, "reshape", &x, 1, "shape=784"),
                  (const char *const[]) { "reshape", NULL });
  check_contains (refusal (program, "transpose", &x, 1, "perm=0,0"),
                  (const char *const[]) { "transpose", NULL });
  check_contains (refusal (program, "reduce_sum", &x, 1, "axes=0,0"),
                  (const char *const[]) { "reduce_sum", NULL });
  check_contains (refusal (program, "reduce_sum", &x, 1, "axes=2"),
                  (const char *const[]) { "reduce_sum", NULL });
  check_contains (refusal (program, "add", (GradusValueId[]) { x, k }, 2, NULL),
                  (const char *const[]) { "add", NULL });
  check_contains (refusal (program, "add", (GradusValueId[]) { x, image }, 2, NULL),
                  (const char *const[]) { "add", NULL });
  check_contains (refusal (program, "concat", (GradusValueId[]) { x, x }, 2, "axis=0"),
                  (const char *const[]) { "batch", NULL });
  check_contains (refusal (program, "concat", (GradusValueId[]) { x, k }, 2, "axis=7"),
                  (const char *const[]) { "7", NULL });
  check_contains (refusal (program, "slice", &x, 1, "begin=780 size=5"),
                  (const char *const[]) { "780", NULL });
  check_contains (refusal (program, "slice", &x, 1, "axis=0 begin=0 size=1"),
                  (const char *const[]) { "slice", NULL });
  check_contains (refusal (program, "cast", &x, 1, "dtype=complex64"),
                  (const char *const[]) { "complex64", NULL });
  check_contains (
      refusal (program, "sparse_softmax_cross_entropy", (GradusValueId[]){ x, x }, 2, NULL),
      (const char *const[]){ "int32", NULL });
}

static void
test_locale (void)
{
  static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8" };
  g_autofree char         *saved = g_strdup (setlocale (LC_ALL, NULL));
  gboolean                 found = FALSE;

  for (guint i = 0; !found && i < G_N_ELEMENTS (locales); i++)
    found = setlocale (LC_ALL, locales[i]) != NULL;
  if (!found)
    g_test_skip ("no locale with a decimal comma is installed");
  else
    test_print ();
  setlocale (LC_ALL, saved);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/program/build", test_build);
  g_test_add_func ("/program/print", test_print);
  g_test_add_func ("/program/shared", test_shared);
  g_test_add_func ("/program/filter", test_filter);
  g_test_add_func ("/program/refusals", test_refusals);
  g_test_add_func ("/program/locale", test_locale);
  return g_test_run ();
}
