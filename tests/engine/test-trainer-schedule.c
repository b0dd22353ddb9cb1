/* SPDX-License-Identifier: Apache-2.0 */

/* What goes on over many steps: accumulation, schedules, averages, plateaus; and all of it resumed. */

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "gradus-test-device.h"
#include "gradus-test-train.h"

#define NET(extra)                                                                                 \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["                 \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}},"   \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 16, \"activation\": \"tanh\","              \
  " \"kernel_regularizer\": {\"module\": \"keras.regularizers\", \"class_name\": \"L2\", \"config\": {\"l2\": 0.001}}}}," \
  extra                                                                                            \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"b\", \"units\": 3, \"activation\": \"softmax\"}}]}}"
#define DROPOUT "{\"class_name\": \"Dropout\", \"config\": {\"name\": \"d\", \"rate\": 0.25}},"
#define BATCH_NORM "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"n\"}},"
#define COMPILE(optimizer)                                                                         \
  "\"compile\": {\"optimizer\": " optimizer ", \"loss\": \"sparse_categorical_crossentropy\","     \
  " \"metrics\": [\"accuracy\"]}"

typedef struct
{
  GradusTestObserver *observer;
  GradusTrainer      *trainer;
  gint64              stop; /* after this step; 0: never */
} Run;

static void
scalar_cb (gpointer data, const char *name, gint64 step)
{
  Run *run = data;

  if (step == run->stop && g_str_equal (name, "train/loss"))
    gradus_trainer_post (run->trainer, GRADUS_COMMAND_STOP, 1, NULL, 0);
}

static GradusRunStatus
train (Run *run, const char *net, const char *options, guint batch, guint threads, const char *workspace, const char *resume)
{
  g_autoptr (GError)               error = NULL;
  g_autoptr (GradusModel)          model = gradus_test_model (net);
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options (options);
  g_autoptr (GradusTestSource)     source = gradus_test_source_new (50, 4, 3, batch, 1, TRUE);
  g_autoptr (GradusTestSource)     validation = gradus_test_source_new (21, 4, 3, 8, 2, FALSE);
  GradusDevice                    *device = gradus_test_device_open ("cpu", threads);
  GradusRunStatus                  status;
  GradusTrainerConfig              config = {
                 .model = model,
                 .options = opts,
                 .device = device,
                 .train = &source->parent,
                 .validation = &validation->parent,
                 .observer = &run->observer->parent,
                 .seed = 5,
                 .workspace = workspace,
                 .checkpoint_folder = workspace != NULL ? "checkpoints/run" : NULL,
                 .resume = resume,
  };

  run->observer->on_scalar = scalar_cb;
  run->observer->data = run;
  run->trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
  status = gradus_trainer_run (run->trainer, &error);
  g_assert_no_error (error);
  g_clear_pointer (&run->trainer, gradus_trainer_free);
  gradus_test_device_close (device);
  return status;
}

static void
run_whole (Run *run, const char *net, const char *options, guint batch, guint threads)
{
  *run = (Run) { .observer = gradus_test_observer_new () };
  g_assert_cmpint (train (run, net, options, batch, threads, NULL, NULL), ==, GRADUS_RUN_FINISHED);
}

/* Four batches of 8 are one of 32, the short last group too; what a regulariser adds counts once. */
static void
test_accumulation_is_a_large_batch (void)
{
  static const char small[] = "{" COMPILE ("{\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.01}}")
                              ", \"fit\": {\"epochs\": 4, \"accumulate\": 4, \"clip\": {\"global_norm\": 0.5}}}";
  static const char large[] = "{" COMPILE ("{\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.01}}")
                              ", \"fit\": {\"epochs\": 4, \"clip\": {\"global_norm\": 0.5}}}";
  static const char *const names[] = { "train/loss", "gradient_norm", "train/regularization" };
  Run a, b;

  run_whole (&a, NET (""), small, 8, 2);
  run_whole (&b, NET (""), large, 32, 2);
  for (gint64 step = 1; step <= 8; step++)
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (a.observer, names[i], step),
                                      gradus_test_observer_value (b.observer, names[i], step), 2e-5);
  g_assert_false (gradus_test_observer_has (a.observer, "train/loss", 9));
  g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (a.observer, "train/accuracy", 8),
                                  gradus_test_observer_value (b.observer, "train/accuracy", 8), 1e-6);
  gradus_test_observer_free (a.observer);
  gradus_test_observer_free (b.observer);
}

static void
test_schedule_is_recorded (void)
{
  static const char options[] =
    "{" COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": {\"class_name\": \"CosineDecay\", \"config\":"
                 " {\"initial_learning_rate\": 0.2, \"decay_steps\": 20}}}}")
    ", \"fit\": {\"epochs\": 3, \"warmup_steps\": 4}}";
  Run run;

  run_whole (&run, NET (""), options, 8, 1);
  for (gint64 step = 1; step <= 21; step++)
    {
      /* The schedule begins where the warm-up ends. */
      double done = (double) (step - 1), rate = 0.1 * (1 + cos (G_PI * fmin (done - 4, 20) / 20));

      if (done < 4)
        rate = gradus_test_observer_value (run.observer, "learning_rate", step);
      g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (run.observer, "learning_rate", step), rate, 1e-6);
    }
  /* The warm-up rises to where the schedule is. */
  for (gint64 step = 1; step < 4; step++)
    g_assert_cmpfloat (gradus_test_observer_value (run.observer, "learning_rate", step), <,
                       gradus_test_observer_value (run.observer, "learning_rate", step + 1));
  gradus_test_observer_free (run.observer);
}

static void
test_plateau_lowers_the_rate (void)
{
  static const char options[] =
    "{" COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.1}}")
    ", \"fit\": {\"epochs\": 6, \"reduce_on_plateau\": {\"monitor\": \"validation/loss\", \"factor\": 0.5, \"patience\": 2,"
    " \"min_delta\": 100, \"min_lr\": 0.03}}}";
  Run run;

  run_whole (&run, NET (""), options, 8, 1);
  g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (run.observer, "learning_rate", 1), 0.1, 1e-7);
  /* Nothing is ever better by 100: after two epochs of waiting half, then no lower than the least. */
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "learning_rate", 30), <, 0.051);
  g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (run.observer, "learning_rate", 42), 0.03, 1e-7);
  gradus_test_observer_free (run.observer);
}

static void
remove_tree (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      remove_tree (inner);
    }
  g_remove (path);
}

#define EVERYTHING                                                                                  \
  "{" COMPILE ("{\"class_name\": \"AdamW\", \"config\": {\"weight_decay\": 0.01, \"learning_rate\": {\"class_name\":"      \
               " \"ExponentialDecay\", \"config\": {\"initial_learning_rate\": 0.05, \"decay_steps\": 10,"                \
               " \"decay_rate\": 0.8}}}}")                                                          \
  ", \"fit\": {\"epochs\": 6, \"accumulate\": 2, \"warmup_steps\": 3, \"ema\": {\"decay\": 0.9},"  \
  " \"clip\": {\"norm\": 0.5}, \"early_stopping\": {\"monitor\": \"validation/loss\", \"patience\": 2, \"restore_best\": true}," \
  " \"reduce_on_plateau\": {\"monitor\": \"validation/loss\", \"factor\": 0.5, \"patience\": 1}},"  \
  " \"log\": {\"histograms_every\": 3}}"

static void
test_same_bits_for_all_threads (void)
{
  Run one;

  run_whole (&one, NET (DROPOUT BATCH_NORM), EVERYTHING, 8, 1);
  for (guint threads = 2; threads <= 8; threads += threads == 3 ? 5 : 1)
    {
      Run other;

      run_whole (&other, NET (DROPOUT BATCH_NORM), EVERYTHING, 8, threads);
      gradus_test_assert_same (one.observer, other.observer);
      gradus_test_assert_same (other.observer, one.observer);
      gradus_test_observer_free (other.observer);
    }
  gradus_test_observer_free (one.observer);
}

/* Stopped after any step and resumed, all is as if it had never stopped. */
static void
test_resume_in_the_middle (void)
{
  Run whole;

  run_whole (&whole, NET (DROPOUT BATCH_NORM), EVERYTHING, 8, 2);
  for (gint64 stop = 1; stop <= 13; stop += 3)
    {
      g_autofree char *workspace = g_dir_make_tmp ("gradus-trainer-XXXXXX", NULL);
      g_autofree char *file = g_strdup_printf ("%s/checkpoints/run/step-%" G_GINT64_FORMAT ".safetensors", workspace, stop);
      Run first = { .observer = gradus_test_observer_new (), .stop = stop };
      Run second = { .observer = gradus_test_observer_new () };

      g_assert_cmpint (train (&first, NET (DROPOUT BATCH_NORM), EVERYTHING, 8, 2, workspace, NULL), ==, GRADUS_RUN_STOPPED);
      g_assert_true (g_file_test (file, G_FILE_TEST_EXISTS));
      g_assert_cmpint (train (&second, NET (DROPOUT BATCH_NORM), EVERYTHING, 8, 3, workspace, file), ==, GRADUS_RUN_FINISHED);
      gradus_test_assert_same (second.observer, whole.observer);
      g_assert_false (gradus_test_observer_has (second.observer, "train/loss", stop));
      g_assert_true (gradus_test_observer_has (second.observer, "train/loss", stop + 1));
      gradus_test_observer_free (first.observer);
      gradus_test_observer_free (second.observer);
      remove_tree (workspace);
    }
  gradus_test_observer_free (whole.observer);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/schedule/accumulation-is-a-large-batch", test_accumulation_is_a_large_batch);
  g_test_add_func ("/schedule/schedule-is-recorded", test_schedule_is_recorded);
  g_test_add_func ("/schedule/plateau-lowers-the-rate", test_plateau_lowers_the_rate);
  g_test_add_func ("/schedule/same-bits-for-all-threads", test_same_bits_for_all_threads);
  g_test_add_func ("/schedule/resume-in-the-middle", test_resume_in_the_middle);
  return g_test_run ();
}
