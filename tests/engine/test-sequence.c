/* SPDX-License-Identifier: Apache-2.0 */
#include "device/gradus-execution.h"
#include "train/gradus-compile.h"

#include "gradus-test-train.h"

#include <math.h>
#include <string.h>

/* Texts of 5 to 100 words through one plan and one execution. */

#define BATCH 4
#define LONGEST 100
#define LAYER(name, config) "{\"class_name\": \"" name "\", \"config\": {" config "}}"
#define MODEL(mask)                                                                                      \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"texts\", \"layers\": ["                     \
  LAYER ("InputLayer", "\"batch_shape\": [null, null], \"name\": \"words\"") ","                         \
  LAYER ("Embedding", "\"input_dim\": 50, \"output_dim\": 6, \"mask_zero\": " mask) ","                  \
  LAYER ("LSTM", "\"units\": 7") "," LAYER ("Dense", "\"units\": 3, \"activation\": \"softmax\"") "]}}"

static gint64
length_of (guint i)
{
  return 5 + i * 37 % (LONGEST - 4);
}

static void
fill_words (float *words, gint64 steps)
{
  for (gint64 i = 0; i < BATCH * steps; i++)
    words[i] = (float) (1 + i * 7 % 49);
}

static void
test_buckets (void)
{
  g_assert_cmpint (gradus_time_bucket (1), ==, 8);
  g_assert_cmpint (gradus_time_bucket (8), ==, 8);
  g_assert_cmpint (gradus_time_bucket (65), ==, 80);
  g_assert_cmpint (gradus_time_bucket (257), ==, 320);
}

static void
test_padding (void)
{
  g_autoptr (GradusModel) masked = gradus_test_model (MODEL ("true"));
  g_autoptr (GradusModel) plain = gradus_test_model (MODEL ("false"));
  double padding = -1;

  g_assert_true (gradus_model_time_padding (masked, 0, &padding));
  g_assert_cmpfloat (padding, ==, 0);
  g_assert_false (gradus_model_time_padding (plain, 0, &padding));
}

/* The same outputs whether a text is lengthened or not, and a build a bucket at most. */
static void
test_lengths (void)
{
  g_autoptr (GradusModel) model = gradus_test_model (MODEL ("true"));
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 2, &error);
  g_autoptr (GradusPlan) plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) exact = NULL, bucketed = NULL;
  g_autofree float *words = g_new (float, BATCH * LONGEST);
  GradusDType    dtype = GRADUS_DTYPE_FLOAT32;
  GradusCompiled compiled;

  gradus_compile_infer (&compiled, model, &dtype, &error);
  g_assert_no_error (error);
  plan = gradus_plan_new (compiled.program, gradus_sizes (BATCH, LONGEST), &error);
  g_assert_no_error (error);
  variables = gradus_variables_new (compiled.program, device, &error);
  g_assert_true (gradus_model_initialize (model, variables, 3, &error));
  exact = gradus_execution_new (plan, variables, device, &error);
  bucketed = gradus_execution_new (plan, variables, device, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 60; i++)
    {
      gint64      steps = length_of (i), bucket = MIN (gradus_time_bucket (steps), LONGEST);
      GradusSizes given = gradus_sizes (BATCH, steps), run = gradus_sizes (BATCH, bucket);
      float       a[BATCH * 3], b[BATCH * 3];

      fill_words (words, steps);
      g_assert_true (gradus_execution_set_input (exact, compiled.inputs[0], words, given, &error));
      g_assert_true (gradus_execution_run (exact, given, 1, 1, &error));
      g_assert_true (gradus_execution_read (exact, compiled.predictions[0], a, sizeof a, &error));
      g_assert_true (gradus_execution_set_sequence (bucketed, compiled.inputs[0], words, given, bucket, 0, &error));
      g_assert_true (gradus_execution_run (bucketed, run, 1, 1, &error));
      g_assert_true (gradus_execution_read (bucketed, compiled.predictions[0], b, sizeof b, &error));
      g_assert_no_error (error);
      for (guint k = 0; k < BATCH * 3; k++)
        g_assert_cmpfloat_with_epsilon (a[k], b[k], 1e-6);
    }
  g_assert_cmpuint (gradus_execution_builds (bucketed), <=, 11);
  g_assert_cmpuint (gradus_execution_builds (exact), >, 40);
  g_assert_false (gradus_execution_run (exact, gradus_sizes (BATCH, LONGEST + 1), 1, 1, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  gradus_compiled_clear (&compiled);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sequence/buckets", test_buckets);
  g_test_add_func ("/sequence/padding", test_padding);
  g_test_add_func ("/sequence/lengths", test_lengths);
  return g_test_run ();
}
