/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-test-device.h"
#include "gradus-test-train.h"
#include "train/gradus-evaluate.h"
#include "train/gradus-tensor-histogram.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define INPUT                                                                                      \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}}"

static const char classifier[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": [" INPUT ","
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 16}},"
    "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"bn\"}},"
    "{\"class_name\": \"Activation\", \"config\": {\"name\": \"act\", \"activation\": \"relu\"}},"
    "{\"class_name\": \"Dropout\", \"config\": {\"name\": \"dropout\", \"rate\": 0.25}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"classes\", \"units\": 3,"
    " \"activation\": \"softmax\"}}]}}";
static const char line[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"line\", \"layers\": [" INPUT ","
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 1}}]}}";

#define COMPILE                                                                                    \
  "\"compile\": {\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.01}}," \
  " \"loss\": \"sparse_categorical_crossentropy\", \"metrics\": [\"accuracy\", \"f1_score\", \"auc\"]}"
#define COMPILE_LINE                                                                               \
  "\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.1,"   \
  " \"momentum\": 0.5}}, \"loss\": \"mse\"}"

typedef struct
{
  const char         *model, *options;
  guint               threads;
  gboolean            observed;
  const char         *workspace, *folder, *resume;
  GradusTrainer      *trainer;
  GradusTestObserver *observer;
  GradusTestSource   *train, *validation, *test;
  GradusDevice       *device;
  GradusModel        *net;
  GradusTrainerOptions *opts;
  gint64                change, stop; /* the steps after which test_live_resume() does so */
} Run;

static void
run_open (Run *run, GError **error)
{
  guint classes = run->model == classifier ? 3 : 0;
  GradusTrainerConfig config = { .seed = 5, .workspace = run->workspace,
                                 .checkpoint_folder = run->folder, .resume = run->resume };

  run->device = gradus_test_device_open ("cpu", MAX (1, run->threads));
  run->net = gradus_test_model (run->model);
  run->opts = gradus_test_options (run->options);
  run->train = gradus_test_source_new (50, 4, classes, 8, 1, TRUE);
  run->validation = gradus_test_source_new (21, 4, classes, 8, 2, FALSE);
  run->test = gradus_test_source_new (13, 4, classes, 8, 3, FALSE);
  run->observer = gradus_test_observer_new ();
  config.model = run->net;
  config.options = run->opts;
  config.device = run->device;
  config.train = &run->train->parent;
  config.validation = &run->validation->parent;
  config.test = &run->test->parent;
  config.observer = run->observed ? &run->observer->parent : NULL;
  run->trainer = gradus_trainer_new (&config, error);
}

static void
run_close (Run *run)
{
  g_clear_pointer (&run->trainer, gradus_trainer_free);
  gradus_test_source_free (run->train);
  gradus_test_source_free (run->validation);
  gradus_test_source_free (run->test);
  gradus_test_observer_free (run->observer);
  gradus_trainer_options_free (run->opts);
  gradus_model_unref (run->net);
  gradus_test_device_close (run->device);
}

static void
run_all (Run *run, GradusRunStatus wanted)
{
  g_autoptr (GError) error = NULL;

  run_open (run, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_trainer_run (run->trainer, &error), ==, wanted);
  if (wanted != GRADUS_RUN_FAILED)
    g_assert_no_error (error);
}

static char *
make_workspace (void)
{
  char *path = g_dir_make_tmp ("gradus-trainer-XXXXXX", NULL);

  g_assert_nonnull (path);
  return path;
}

static void
remove_workspace (const char *path)
{
  g_autofree char *folder = g_build_filename (path, "checkpoints", "run", NULL);
  g_autofree char *parent = g_build_filename (path, "checkpoints", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (folder, name, NULL);

      g_unlink (file);
    }
  g_rmdir (folder);
  g_rmdir (parent);
  g_assert_cmpint (g_rmdir (path), ==, 0);
}

static char *
step_path (const char *workspace, gint64 step)
{
  g_autofree char *name = g_strdup_printf ("step-%" G_GINT64_FORMAT ".safetensors", step);

  return g_build_filename (workspace, "checkpoints", "run", name, NULL);
}

/* Two checkpoints have the same tensors, bit by bit. */
static void
assert_same_tensors (const char *path_a, const char *path_b)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) a = gradus_checkpoint_open (path_a, &error);
  g_autoptr (GradusCheckpoint) b = NULL;

  g_assert_no_error (error);
  b = gradus_checkpoint_open (path_b, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_checkpoint_n_tensors (a), ==, gradus_checkpoint_n_tensors (b));
  g_assert_cmpint (gradus_checkpoint_n_tensors (a), >=, 8);
  for (guint i = 0; i < gradus_checkpoint_n_tensors (a); i++)
    {
      const GradusTensorView *x = gradus_checkpoint_tensor (a, i);
      const GradusTensorView *y = gradus_checkpoint_tensor (b, i);

      g_assert_cmpstr (x->name, ==, y->name);
      g_assert_cmpmem (x->data, x->bytes, y->data, y->bytes);
    }
}

static void
test_line (void)
{
  Run run = { line, "{" COMPILE_LINE ", \"fit\": {\"epochs\": 30}}", 1, TRUE };
  GradusTrainerProgress progress;

  run_all (&run, GRADUS_RUN_FINISHED);
  gradus_trainer_progress (run.trainer, &progress);
  g_assert_cmpint (progress.step, ==, 30 * 7);
  g_assert_cmpint (progress.n_steps, ==, 30 * 7);
  g_assert_cmpfloat (progress.test_loss, <, 1e-3);
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "train/loss", 1), >, 1);
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "test/loss", 210), ==,
                     progress.test_loss);
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "epoch", 14), ==, 2);
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "memory/host/peak", 1), >, 1e6);
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "memory/device/current", 1), >, 100);
  g_assert_true (gradus_test_observer_has (run.observer, "weight/dense/kernel", 64));
  g_assert_true (gradus_test_observer_has (run.observer, "gradient/dense/bias", 1));
  g_assert_true (gradus_test_observer_has (run.observer, "gradient_norm/dense", 3));
  g_assert_false (gradus_test_observer_has (run.observer, "train/loss", 0));
  run_close (&run);
}

/* A step of one neuron by hand: mean squared error, plain SGD. */
static void
test_by_hand (void)
{
  Run run = { line,
              "{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": "
              "{\"learning_rate\": 0.1}}, \"loss\": \"mse\"}, \"fit\": {\"epochs\": 1, "
              "\"steps_per_epoch\": 2}}",
              1, TRUE };
  g_autoptr (GError) error = NULL;
  float  w[4] = { 0 }, b = 0;
  double grads[5] = { 0 }, norm = 0;
  g_autofree char *workspace = make_workspace ();
  g_autofree char *path = step_path (workspace, 2);
  g_autoptr (GradusCheckpoint) last = NULL;
  double losses[2];

  run.workspace = workspace;
  run.folder = "checkpoints/run";
  run_open (&run, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_trainer_run (run.trainer, &error), ==, GRADUS_RUN_FINISHED);
  for (guint s = 0; s < 2; s++)
    losses[s] = gradus_test_observer_value (run.observer, "train/loss", s + 1);
  last = gradus_checkpoint_open (path, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < gradus_checkpoint_n_tensors (last); i++)
    {
      const GradusTensorView *view = gradus_checkpoint_tensor (last, i);

      memcpy (strstr (view->name, "bias") ? &b : w, view->data, view->bytes);
    }
  /* The weights after the second step say what they were before it, and so its loss and gradient. */
  run.train->parent.funcs->seek (&run.train->parent, 0, 1, NULL);
  {
    const GradusBatch *batch = run.train->parent.funcs->next (&run.train->parent, NULL);
    const float       *x = batch->inputs[0], *y = batch->targets[0];
    double             w0[5], a[5][6] = { { 0 } };

    /* w' = w - lr * 2/n * X'(Xw - y) is linear in w: solve for w. */
    for (guint r = 0; r < 5; r++)
      {
        a[r][r] = 1;
        a[r][5] = r < 4 ? w[r] : b;
        for (guint i = 0; i < batch->n_samples; i++)
          {
            double xr = r < 4 ? x[4 * i + r] : 1;

            for (guint c = 0; c < 5; c++)
              a[r][c] -= 0.1 * 2 / batch->n_samples * xr * (c < 4 ? x[4 * i + c] : 1);
            a[r][5] -= 0.1 * 2 / batch->n_samples * xr * y[i];
          }
      }
    for (guint p = 0; p < 5; p++)
      for (guint r = 0; r < 5; r++)
        {
          double f = r == p ? 0 : a[r][p] / a[p][p];

          for (guint c = 0; c < 6; c++)
            a[r][c] -= f * a[p][c];
        }
    for (guint r = 0; r < 5; r++)
      w0[r] = a[r][5] / a[r][r];
    {
      double loss = 0;

      for (guint i = 0; i < batch->n_samples; i++)
        {
          double d = w0[4] - y[i];

          for (guint c = 0; c < 4; c++)
            d += x[4 * i + c] * w0[c];
          loss += d * d / batch->n_samples;
          for (guint c = 0; c < 5; c++)
            grads[c] += 2 * d / batch->n_samples * (c < 4 ? x[4 * i + c] : 1);
        }
      g_assert_cmpfloat_with_epsilon (loss, losses[1], 1e-4 * losses[1]);
    }
  }
  for (guint c = 0; c < 5; c++)
    norm += grads[c] * grads[c];
  g_assert_cmpfloat_with_epsilon (sqrt (norm),
                                  gradus_test_observer_value (run.observer, "gradient_norm", 2),
                                  1e-3);
  run_close (&run);
  g_clear_pointer (&last, gradus_checkpoint_close);
  remove_workspace (workspace);
}

static void
test_determinism (void)
{
  static const char options[] = "{" COMPILE ", \"fit\": {\"epochs\": 3}, \"log\": "
                                "{\"histograms_every\": 5}}";
  Run runs[4];
  g_autofree char *workspace = make_workspace ();
  g_autofree char *other = make_workspace ();
  g_autofree char *a = step_path (workspace, 21);
  g_autofree char *b = step_path (other, 21);

  for (guint i = 0; i < 4; i++)
    {
      runs[i] = (Run){ classifier, options, i + 1, i < 3 };
      runs[i].workspace = i == 0 ? workspace : i == 3 ? other : NULL;
      runs[i].folder = runs[i].workspace ? "checkpoints/run" : NULL;
      run_all (&runs[i], GRADUS_RUN_FINISHED);
    }
  gradus_test_assert_same (runs[0].observer, runs[1].observer);
  gradus_test_assert_same (runs[0].observer, runs[2].observer);
  /* Observed or not, the weights are the same. */
  assert_same_tensors (a, b);
  for (guint i = 0; i < 4; i++)
    run_close (&runs[i]);
  remove_workspace (workspace);
  remove_workspace (other);
}

/* From each checkpoint on, in the middle of an epoch too, everything is as if never stopped. */
static void
test_resume (void)
{
  static const char options[] =
      "{" COMPILE ", \"fit\": {\"epochs\": 4, \"clip\": {\"global_norm\": 0.5}, "
      "\"early_stopping\": {\"patience\": 9, \"restore_best\": true}},"
      "\"log\": {\"histograms_every\": 5},"
      "\"checkpoints\": {\"every\": 5, \"keep\": 100}}";
  g_autofree char *workspace = make_workspace ();
  g_autofree char *last = step_path (workspace, 28);
  Run whole = { classifier, options, 2, TRUE };

  whole.workspace = workspace;
  whole.folder = "checkpoints/run";
  run_all (&whole, GRADUS_RUN_FINISHED);
  for (gint64 step = 5; step <= 25; step += 5)
    {
      g_autofree char *second = make_workspace ();
      g_autofree char *from = step_path (workspace, step);
      g_autofree char *folder = g_build_filename (second, "checkpoints", "run", NULL);
      g_autofree char *end = step_path (second, 28);
      g_autoptr (GError) error = NULL;
      Run rest = { classifier, options, 1 + step % 3, TRUE };

      /* Beside the others: the best weights are in the file of their step. */
      g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
      for (gint64 s = 1; s <= step; s++)
        {
          g_autofree char *original = step_path (workspace, s);
          g_autofree char *copy = step_path (second, s);
          g_autofree char *data = NULL;
          gsize length;

          if (g_file_get_contents (original, &data, &length, NULL))
            g_assert_true (g_file_set_contents (copy, data, length, NULL));
        }
      g_free (from);
      from = step_path (second, step);
      rest.workspace = second;
      rest.folder = "checkpoints/run";
      rest.resume = from;
      run_all (&rest, GRADUS_RUN_FINISHED);
      g_assert_false (gradus_test_observer_has (rest.observer, "train/loss", step));
      g_assert_true (gradus_test_observer_has (rest.observer, "train/loss", step + 1));
      gradus_test_assert_same (rest.observer, whole.observer);
      assert_same_tensors (last, end);
      run_close (&rest);
      remove_workspace (second);
    }
  run_close (&whole);
  remove_workspace (workspace);
}

/* The numbers of an epoch are means over samples, whatever the last batch. */
static void
test_counts (void)
{
  Run run = { classifier, "{" COMPILE ", \"fit\": {\"epochs\": 2}, \"checkpoints\": {\"keep\": 5}}",
              2, TRUE };
  g_autofree char *workspace = make_workspace ();
  g_autofree char *path = step_path (workspace, 14);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = NULL;
  g_auto (GradusEvaluation) result = { 0 };
  double           correct = 0;
  float           *probabilities = NULL;
  double           accuracy, loss = 0;

  run.workspace = workspace;
  run.folder = "checkpoints/run";
  run_all (&run, GRADUS_RUN_FINISHED);
  accuracy = gradus_test_observer_value (run.observer, "train/accuracy", 14);
  g_assert_cmpfloat_with_epsilon (accuracy * 50, round (accuracy * 50), 1e-9);
  checkpoint = gradus_checkpoint_open (path, &error);
  g_assert_no_error (error);
  g_assert_true (gradus_infer (checkpoint, run.device, (const void *[]){ run.validation->x },
                               (GradusDType[]){ GRADUS_DTYPE_FLOAT32 }, 21, 1, &probabilities, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < 21; i++)
    {
      const float *p = probabilities + 3 * i;
      guint        best = p[1] > p[0] ? 1 : 0;

      best = p[2] > p[best] ? 2 : best;
      g_assert_cmpfloat_with_epsilon (p[0] + p[1] + p[2], 1, 1e-5);
      correct += best == run.validation->labels[i];
      loss -= log (p[run.validation->labels[i]]);
    }
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "validation/accuracy", 14), ==,
                     correct / 21);
  g_assert_cmpfloat_with_epsilon (gradus_test_observer_value (run.observer, "validation/loss", 14),
                                  loss / 21, 1e-5);
  g_assert_true (gradus_evaluate (checkpoint, run.opts, run.device, &run.validation->parent,
                                  &result, &error));
  g_assert_cmpint (result.samples, ==, 21);
  g_assert_cmpfloat (result.accuracy, ==, correct / 21);
  g_free (probabilities);
  run_close (&run);
  g_clear_pointer (&checkpoint, gradus_checkpoint_close);
  remove_workspace (workspace);
}

static gboolean
contains (GPtrArray *lines, const char *part)
{
  for (guint i = 0; i < lines->len; i++)
    if (strstr (lines->pdata[i], part) != NULL)
      return TRUE;
  return FALSE;
}

static void
post_at (gpointer data, const char *name, gint64 step)
{
  Run *run = data;

  if (!g_str_equal (name, "train/loss"))
    return;
  if (step == 3)
    {
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_PAUSE, 1, NULL, 0);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 2, "learning_rate", 0.002);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 3, "momentum", 0.5);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 4, "dropout", 2);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 5, "dropout", 0.5);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 6, "batch_size", 5);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 7, "threads", 2);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 8, "clip", 0.25);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 9, "colour", 1);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_STEP, 10, NULL, 0);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_CHECKPOINT, 11, NULL, 0);
      gradus_trainer_post (run->trainer, GRADUS_COMMAND_RESUME, 12, NULL, 0);
    }
  if (step == 20)
    gradus_trainer_post (run->trainer, GRADUS_COMMAND_STOP, 13, NULL, 0);
}

static void
test_commands (void)
{
  Run run = { classifier, "{" COMPILE ", \"fit\": {\"epochs\": 50}, \"checkpoints\": "
                          "{\"keep\": 9}}", 1, TRUE };
  g_autofree char *workspace = make_workspace ();
  g_autofree char *manual = step_path (workspace, 4);
  g_autofree char *stopped = step_path (workspace, 20);
  g_autoptr (GError) error = NULL;
  GPtrArray *taken;

  run.workspace = workspace;
  run.folder = "checkpoints/run";
  run_open (&run, &error);
  g_assert_no_error (error);
  run.observer->on_scalar = post_at;
  run.observer->data = &run;
  g_assert_cmpint (gradus_trainer_run (run.trainer, &error), ==, GRADUS_RUN_STOPPED);
  g_assert_no_error (error);
  taken = run.observer->taken;
  g_assert_cmpint (taken->len, ==, 13);
  g_assert_cmpstr (taken->pdata[0], ==, "1 3 ok");
  g_assert_cmpstr (taken->pdata[1], ==, "2 3 ok");
  g_assert_cmpstr (taken->pdata[2], ==, "3 3 This run has no momentum to change.");
  g_assert_true (g_str_has_prefix (taken->pdata[3], "4 3 dropout must be from 0"));
  g_assert_cmpstr (taken->pdata[4], ==, "5 3 ok");
  g_assert_cmpstr (taken->pdata[7], ==, "8 3 ok");
  g_assert_true (g_str_has_prefix (taken->pdata[8], "9 3 There is no live option “colour”"));
  g_assert_cmpstr (taken->pdata[9], ==, "10 3 ok");
  g_assert_cmpstr (taken->pdata[10], ==, "11 4 ok");
  g_assert_cmpstr (taken->pdata[11], ==, "12 4 ok");
  g_assert_cmpstr (taken->pdata[12], ==, "13 20 ok");
  g_assert_true (contains (run.observer->events, "1 learning_rate:"));
  g_assert_true (contains (run.observer->events, "0.002"));
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "learning_rate", 3), ==, 0.01f);
  g_assert_cmpfloat (gradus_test_observer_value (run.observer, "learning_rate", 4), ==, 0.002f);
  /* 7 batches of 8 in the first epoch, then 10 of 5. */
  g_assert_true (gradus_test_observer_has (run.observer, "epoch", 7));
  g_assert_true (gradus_test_observer_has (run.observer, "epoch", 17));
  g_assert_true (g_file_test (manual, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (stopped, G_FILE_TEST_EXISTS));
  g_assert_cmpstr (run.observer->statuses->pdata[0], ==, "1 0");
  g_assert_cmpstr (run.observer->statuses->pdata[1], ==, "2 3");
  g_assert_cmpstr (run.observer->statuses->pdata[2], ==, "1 4");
  g_assert_cmpstr (run.observer->statuses->pdata[3], ==, "4 20");
  run_close (&run);
  remove_workspace (workspace);
}

static void
change_at (gpointer data, const char *name, gint64 step)
{
  Run *run = data;

  if (g_str_equal (name, "train/loss") && step == run->change)
    gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, 1, "learning_rate", 0.003);
  if (g_str_equal (name, "train/loss") && step == run->stop)
    gradus_trainer_post (run->trainer, GRADUS_COMMAND_STOP, 2, NULL, 0);
}

/* A live change after step @change survives stopping after step @stop and resuming. */
static void
check_live_resume (gint64 change, gint64 stop)
{
  static const char options[] = "{" COMPILE ", \"fit\": {\"epochs\": 3}}";
  g_autofree char *workspace = make_workspace ();
  g_autofree char *path = step_path (workspace, stop);
  g_autoptr (GError) error = NULL;
  Run whole = { classifier, options, 1, TRUE, .change = change };
  Run half = { classifier, options, 1, TRUE, .change = change, .stop = stop };
  Run rest = { classifier, options, 1, TRUE };

  run_open (&whole, &error);
  whole.observer->on_scalar = change_at;
  whole.observer->data = &whole;
  g_assert_cmpint (gradus_trainer_run (whole.trainer, &error), ==, GRADUS_RUN_FINISHED);
  half.workspace = rest.workspace = workspace;
  half.folder = rest.folder = "checkpoints/run";
  run_open (&half, &error);
  half.observer->on_scalar = change_at;
  half.observer->data = &half;
  g_assert_cmpint (gradus_trainer_run (half.trainer, &error), ==, GRADUS_RUN_STOPPED);
  rest.resume = path;
  run_all (&rest, GRADUS_RUN_FINISHED);
  g_assert_cmpfloat (gradus_test_observer_value (rest.observer, "learning_rate", stop + 1), ==,
                     0.003f);
  gradus_test_assert_same (rest.observer, whole.observer);
  run_close (&whole);
  run_close (&half);
  run_close (&rest);
  remove_workspace (workspace);
}

/* In an epoch, and at its end, where a checkpoint is there already when the change comes. */
static void
test_live_resume (void)
{
  check_live_resume (2, 10);
  check_live_resume (7, 7);
}

/* Posts commands when an evaluation takes its batch number @at. */
static struct
{
  const GradusBatchSourceFuncs *funcs;
  GradusTrainer                *trainer;
  guint                         at, n;
  gboolean                      pause;
} urgent;

static gpointer
resume_soon (gpointer data)
{
  GradusTestObserver *observer = data;
  gboolean            paused = FALSE;

  /* Paused at once, not when the evaluation is over. */
  while (!paused)
    {
      g_usleep (1000);
      g_mutex_lock (&observer->lock);
      for (guint i = 0; i < observer->statuses->len; i++)
        paused = paused || g_str_has_prefix (observer->statuses->pdata[i], "2 ");
      g_mutex_unlock (&observer->lock);
    }
  g_assert_cmpuint (urgent.n, ==, urgent.at);
  gradus_trainer_post (urgent.trainer, GRADUS_COMMAND_CHECKPOINT, 6, NULL, 0);
  gradus_trainer_post (urgent.trainer, GRADUS_COMMAND_RESUME, 7, NULL, 0);
  return NULL;
}

static const GradusBatch *
next_with_command (GradusBatchSource *source, GError **error)
{
  if (++urgent.n == urgent.at)
    gradus_trainer_post (urgent.trainer, urgent.pause ? GRADUS_COMMAND_PAUSE : GRADUS_COMMAND_STOP,
                         5, NULL, 0);
  return urgent.funcs->next (source, error);
}

static void
watch_source (Run *run, GradusTestSource *source, guint at, gboolean pause)
{
  static GradusBatchSourceFuncs funcs;

  urgent.funcs = run->train->parent.funcs;
  urgent.trainer = run->trainer;
  urgent.at = at;
  urgent.n = 0;
  urgent.pause = pause;
  funcs = *urgent.funcs;
  funcs.next = next_with_command;
  source->parent.funcs = &funcs;
}

#define EVALUATED "{" COMPILE ", \"fit\": {\"epochs\": 3}, \"checkpoints\": {\"keep\": 9}}"

/* A stop is heard inside the evaluation of an epoch or of the end; resumed, all is as if it had
 * not been. @at: the batch of the part's evaluations. */
static void
check_stop_in_evaluation (gboolean test, guint at, gint64 step, gint64 position)
{
  g_autofree char *workspace = make_workspace ();
  g_autofree char *straight = make_workspace ();
  g_autofree char *path = step_path (workspace, step);
  g_autofree char *end = step_path (workspace, 21);
  g_autofree char *straight_end = step_path (straight, 21);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = NULL;
  Run whole = { classifier, EVALUATED, 1, TRUE };
  Run half = { classifier, EVALUATED, 1, TRUE };
  Run rest = { classifier, EVALUATED, 1, TRUE };

  whole.workspace = straight;
  half.workspace = rest.workspace = workspace;
  whole.folder = half.folder = rest.folder = "checkpoints/run";
  run_all (&whole, GRADUS_RUN_FINISHED);
  run_open (&half, &error);
  watch_source (&half, test ? half.test : half.validation, at, FALSE);
  g_assert_cmpint (gradus_trainer_run (half.trainer, &error), ==, GRADUS_RUN_STOPPED);
  g_assert_no_error (error);
  g_assert_cmpuint (urgent.n, ==, at);
  g_assert_true (g_str_has_prefix (half.observer->taken->pdata[0], "5 "));
  checkpoint = gradus_checkpoint_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (json_object_get_int_member (gradus_checkpoint_state (checkpoint), "position"),
                   ==, position);
  rest.resume = path;
  run_all (&rest, GRADUS_RUN_FINISHED);
  if (step < 21)
    gradus_test_assert_same (rest.observer, whole.observer);
  if (!test)
    g_assert_cmpfloat (gradus_test_observer_value (rest.observer, "validation/loss", step), ==,
                       gradus_test_observer_value (whole.observer, "validation/loss", step));
  g_assert_cmpfloat (gradus_test_observer_value (rest.observer, "test/loss", 21), ==,
                     gradus_test_observer_value (whole.observer, "test/loss", 21));
  assert_same_tensors (end, straight_end);
  /* What stood for the epoch without its values was replaced. */
  g_clear_pointer (&checkpoint, gradus_checkpoint_close);
  checkpoint = gradus_checkpoint_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (json_object_get_int_member (gradus_checkpoint_state (checkpoint), "position"),
                   ==, 0);
  run_close (&whole);
  run_close (&half);
  run_close (&rest);
  remove_workspace (workspace);
  remove_workspace (straight);
}

static void
test_stop_in_evaluation (void)
{
  check_stop_in_evaluation (FALSE, 2, 7, 7);
  check_stop_in_evaluation (FALSE, 11, 21, 7);
  check_stop_in_evaluation (TRUE, 1, 21, 0);
}

/* A pause is heard there too and changes no bit; what is no matter of hurry waits. */
static void
test_pause_in_evaluation (void)
{
  g_autofree char *workspace = make_workspace ();
  g_autoptr (GError) error = NULL;
  Run whole = { classifier, EVALUATED, 1, TRUE };
  Run paused = { classifier, EVALUATED, 1, TRUE };
  GThread *thread;

  run_all (&whole, GRADUS_RUN_FINISHED);
  paused.workspace = workspace;
  paused.folder = "checkpoints/run";
  run_open (&paused, &error);
  watch_source (&paused, paused.validation, 5, TRUE);
  thread = g_thread_new ("resume", resume_soon, paused.observer);
  g_assert_cmpint (gradus_trainer_run (paused.trainer, &error), ==, GRADUS_RUN_FINISHED);
  g_assert_no_error (error);
  g_thread_join (thread);
  g_assert_cmpint (paused.observer->taken->len, ==, 3);
  g_assert_true (g_str_has_prefix (paused.observer->taken->pdata[1], "7 "));
  g_assert_true (g_str_has_prefix (paused.observer->taken->pdata[2], "6 "));
  gradus_test_assert_same (paused.observer, whole.observer);
  run_close (&whole);
  run_close (&paused);
  remove_workspace (workspace);
}

static void
test_early_stopping (void)
{
  Run run = { line,
              "{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": "
              "{\"learning_rate\": 0.001}}, \"loss\": \"mse\"}, \"fit\": {\"epochs\": 50, "
              "\"early_stopping\": {\"monitor\": \"validation/loss\", \"patience\": 2, "
              "\"min_delta\": 1e9, \"restore_best\": true}},"
              " \"checkpoints\": {\"keep\": 1}}",
              1, TRUE };
  g_autofree char *workspace = make_workspace ();
  g_autofree char *first = step_path (workspace, 7);
  g_autofree char *second = step_path (workspace, 14);
  g_autofree char *last = step_path (workspace, 21);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) a = NULL, b = NULL;
  GradusTrainerProgress progress;

  run.workspace = workspace;
  run.folder = "checkpoints/run";
  run_all (&run, GRADUS_RUN_FINISHED);
  /* No value is 1e9 better than the first: two more epochs, then its weights again. */
  gradus_trainer_progress (run.trainer, &progress);
  g_assert_cmpint (progress.step, ==, 21);
  g_assert_true (contains (run.observer->events, "put back"));
  a = gradus_checkpoint_open (first, &error);
  g_assert_no_error (error);
  b = gradus_checkpoint_open (last, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < gradus_checkpoint_n_tensors (a); i++)
    g_assert_cmpmem (gradus_checkpoint_tensor (a, i)->data, gradus_checkpoint_tensor (a, i)->bytes,
                     gradus_checkpoint_tensor (b, i)->data, gradus_checkpoint_tensor (b, i)->bytes);
  /* The middle one is neither the latest nor marked. */
  g_assert_false (g_file_test (second, G_FILE_TEST_EXISTS));
  g_assert_true (contains (run.observer->removed, "14"));
  run_close (&run);
  g_clear_pointer (&a, gradus_checkpoint_close);
  g_clear_pointer (&b, gradus_checkpoint_close);
  remove_workspace (workspace);
}

#define EXPLODE(policy)                                                                            \
  "{\"compile\": {\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": "       \
  "0.01}}, \"loss\": \"mse\"}, \"fit\": {\"epochs\": 2, \"on_nonfinite\": \"" policy "\"},"        \
  " \"checkpoints\": {\"every\": 1, \"keep\": 50}}"

static void
test_nonfinite (void)
{
  static const char *const policies[] = { EXPLODE ("stop"), EXPLODE ("skip"), EXPLODE ("ignore") };

  for (guint p = 0; p < 3; p++)
    {
      Run run = { line, policies[p], 1, TRUE };
      GradusTrainerProgress progress;
      g_autoptr (GError) error = NULL;
      GradusRunStatus status;

      run_open (&run, &error);
      g_assert_no_error (error);
      run.train->x[4 * 17] = NAN;
      status = gradus_trainer_run (run.trainer, &error);
      gradus_trainer_progress (run.trainer, &progress);
      if (p == 0)
        {
          g_assert_cmpint (status, ==, GRADUS_RUN_FAILED);
          g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NONFINITE);
          g_assert_true (contains (run.observer->events, "\"rule\": \"nonfinite\""));
        }
      else
        {
          g_assert_cmpint (status, ==, GRADUS_RUN_FINISHED);
          g_assert_cmpint (progress.step, ==, p == 1 ? 12 : 14);
          g_assert_true (p == 1 ? isfinite (progress.test_loss) : isnan (progress.test_loss));
        }
      run_close (&run);
    }
}

static void
test_bad_label (void)
{
  Run run = { classifier, "{" COMPILE "}", 1, TRUE };
  g_autoptr (GError) error = NULL;

  run_open (&run, &error);
  run.train->labels[33] = 7;
  g_assert_cmpint (gradus_trainer_run (run.trainer, &error), ==, GRADUS_RUN_FAILED);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "Sample 33 has the label 7"));
  run_close (&run);
}

static void
test_mismatch (void)
{
  g_autoptr (GError) error = NULL;
  Run run = { classifier, "{" COMPILE "}", 1, TRUE };
  static const char wide[] =
      "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["
      "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 5], \"name\": \"x\"}},"
      "{\"class_name\": \"Dense\", \"config\": {\"units\": 1}}]}}";

  run.model = wide;
  run_open (&run, &error);
  g_assert_null (run.trainer);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "(None, 5)"));
  g_assert_nonnull (strstr (error->message, "(None, 4)"));
  run_close (&run);
}

static void
test_memory (void)
{
  Run run = { classifier, "{" COMPILE ", \"fit\": {\"epochs\": 1}}", 1, TRUE };
  g_autoptr (GError) error = NULL;
  GradusTrainerMemory memory;
  GradusDeviceMemory  device;
  g_autofree char    *text = NULL;

  run_open (&run, &error);
  g_assert_no_error (error);
  memory = gradus_trainer_memory (run.trainer);
  g_assert_cmpint (gradus_trainer_memory_at (run.trainer, 8), ==, memory.total);
  g_assert_cmpint (gradus_trainer_memory_at (run.trainer, 800), >, memory.total);
  g_assert_cmpint (gradus_trainer_layer (run.trainer, 1).memory, >, 0);
  text = gradus_trainer_program_text (run.trainer);
  g_assert_nonnull (strstr (text, "adam_step"));
  g_assert_cmpint (gradus_trainer_run (run.trainer, &error), ==, GRADUS_RUN_FINISHED);
  device = run.device->funcs->memory (run.device);
  g_assert_cmpint (device.current, ==, memory.total - memory.checkpoint);
  run_close (&run);
}

/* Against counting by the edges, one by one; a value at an edge may fall on either side of it. */
static void
test_histogram (void)
{
  GradusTensorHistogram h;
  float  data[1003];
  double sum = 0, squares = 0;

  for (guint i = 0; i < 1003; i++)
    {
      data[i] = i % 10 == 0 ? 0 : sinf (i) * 3 - 1;
      sum += data[i];
      squares += (double) data[i] * data[i];
    }
  gradus_tensor_histogram (&h, data, 1003);
  g_assert_cmpint (h.histogram.n, ==, 64);
  g_assert_cmpint (h.histogram.zeros, ==, 101);
  g_assert_cmpfloat_with_epsilon (h.histogram.mean, sum / 1003, 1e-9);
  g_assert_cmpfloat_with_epsilon (h.histogram.stddev,
                                  sqrt (squares / 1003 - sum * sum / 1003 / 1003), 1e-9);
  for (guint b = 0; b < 64; b++)
    {
      guint low = 0, high = 0;

      for (guint i = 0; i < 1003; i++)
        {
          low += data[i] > h.edges[b] + 1e-5 && data[i] < h.edges[b + 1] - 1e-5;
          high += data[i] > h.edges[b] - 1e-5 && data[i] < h.edges[b + 1] + 1e-5;
        }
      g_assert_cmpfloat (h.counts[b], >=, low);
      g_assert_cmpfloat (h.counts[b], <=, high);
    }
  data[500] = NAN;
  data[501] = INFINITY;
  gradus_tensor_histogram (&h, data, 1003);
  g_assert_cmpint (h.histogram.nans, ==, 1);
  g_assert_cmpint (h.histogram.infs, ==, 1);
  g_assert_true (isfinite (h.histogram.mean) && isfinite (h.histogram.max));
  for (guint i = 0; i < 1003; i++)
    data[i] = 2;
  gradus_tensor_histogram (&h, data, 1003);
  g_assert_cmpint (h.histogram.n, ==, 1);
  g_assert_cmpfloat (h.counts[0], ==, 1003);
  data[0] = -3e38f;
  data[1] = 3e38f;
  gradus_tensor_histogram (&h, data, 1003);
  g_assert_cmpfloat (h.counts[0] + h.counts[63] + h.counts[32], ==, 1003);
  gradus_tensor_histogram (&h, data, 0);
  g_assert_cmpint (h.histogram.n, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trainer/line", test_line);
  g_test_add_func ("/trainer/by-hand", test_by_hand);
  g_test_add_func ("/trainer/determinism", test_determinism);
  g_test_add_func ("/trainer/resume", test_resume);
  g_test_add_func ("/trainer/live-resume", test_live_resume);
  g_test_add_func ("/trainer/stop-in-evaluation", test_stop_in_evaluation);
  g_test_add_func ("/trainer/pause-in-evaluation", test_pause_in_evaluation);
  g_test_add_func ("/trainer/counts", test_counts);
  g_test_add_func ("/trainer/commands", test_commands);
  g_test_add_func ("/trainer/early-stopping", test_early_stopping);
  g_test_add_func ("/trainer/nonfinite", test_nonfinite);
  g_test_add_func ("/trainer/bad-label", test_bad_label);
  g_test_add_func ("/trainer/mismatch", test_mismatch);
  g_test_add_func ("/trainer/memory", test_memory);
  g_test_add_func ("/trainer/histogram", test_histogram);
  return g_test_run ();
}
