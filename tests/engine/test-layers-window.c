/* SPDX-License-Identifier: Apache-2.0 */

/* What the golden cases of the window layers do not reach: masks, and sequences of any length. */

#include <math.h>
#include <string.h>

#include "gradus-test-ops.h"
#include "model/gradus-layer.h"

#define BATCH 2
#define STEPS 3
#define CHANNELS 2

/* GlobalAveragePooling1D over (None, steps, 2) with a mask, as Keras defines it. */
static void
check_masked_average (gint64 steps, gboolean keepdims)
{
  static const double x[] = { 1, 10, 2, 20, 300, 3000, 4, 40, 500, 5000, 600, 6000 };
  static const double mask[] = { 1, 1, 0, 1, 0, 0 };
  static const double wanted[] = { 1.5, 15, 4, 40 };
  g_autoptr (GradusProgram) program = gradus_program_new ("masked");
  GradusLayer  *layer = gradus_layer_new (gradus_layer_class_find ("GlobalAveragePooling1D"), "pool");
  GradusShape   shape = gradus_shape (3, (gint64) GRADUS_DIM_BATCH, steps, (gint64) CHANNELS), output;
  GradusValueId input = gradus_program_add_input (program, "x", GRADUS_DTYPE_FLOAT32, shape);
  GradusValueId given = gradus_program_add_input (
      program, "mask", GRADUS_DTYPE_FLOAT32, gradus_shape (2, (gint64) GRADUS_DIM_BATCH, steps));
  GradusLayerBuild build = { .program = program, .inputs = &input, .shapes = &shape, .masks = &given, .n_inputs = 1 };
  g_autoptr (GError) error = NULL;
  g_autofree double **values = NULL;

  layer->args[1].i = keepdims;
  g_assert_true (layer->klass->infer (layer, &shape, 1, &output, &error));
  g_assert_cmpuint (output.rank, ==, keepdims ? 3 : 2);
  g_assert_true (layer->klass->build (layer, &build, &error));
  g_assert_no_error (error);
  g_assert_true (gradus_shape_equal (&gradus_program_value (program, build.output)->type.shape, &output));

  if (steps == STEPS)
    {
      guint n = gradus_program_n_values (program);

      values = g_new0 (double *, n);
      values[input] = g_memdup2 (x, sizeof x);
      values[given] = g_memdup2 (mask, sizeof mask);
      gradus_test_evaluate (program, values, BATCH, 1, 1);
      for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
        g_assert_cmpfloat (fabs (values[build.output][i] - wanted[i]), <, 1e-9);
      gradus_test_free_values (g_steal_pointer (&values), n);
    }
  gradus_layer_free (layer);
}

static void
test_masked_average (void)
{
  for (guint keepdims = 0; keepdims < 2; keepdims++)
    {
      check_masked_average (STEPS, keepdims);
      check_masked_average (GRADUS_DIM_TIME, keepdims);
    }
}

/* A window over a length that is not known has no size: refused, in words. */
static void
test_free_axis (void)
{
  static const char *const names[] = { "Conv1D", "MaxPooling1D", "AveragePooling1D", "UpSampling1D", "ZeroPadding1D",
                                       "Cropping1D", "GlobalMaxPooling1D", NULL };
  GradusShape shape = gradus_shape (3, (gint64) GRADUS_DIM_BATCH, (gint64) GRADUS_DIM_TIME, (gint64) 2);

  for (guint i = 0; names[i] != NULL; i++)
    {
      GradusLayer *layer = gradus_layer_new (gradus_layer_class_find (names[i]), "layer");
      g_autoptr (GError) error = NULL;
      GradusShape output;

      g_assert_false (layer->klass->infer (layer, &shape, 1, &output, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, "(None, None, 2)"));
      gradus_layer_free (layer);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/layers-window/masked-average", test_masked_average);
  g_test_add_func ("/layers-window/free-axis", test_free_axis);
  return g_test_run ();
}
