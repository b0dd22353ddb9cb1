/* SPDX-License-Identifier: Apache-2.0 */

/* Schedules, accumulation, averages and what else stands around an optimizer's step, in whole runs. */

#include "gradus-json.h"
#include "gradus-test-device.h"
#include "gradus-test-train.h"
#include "train/gradus-evaluate.h"
#include "train/gradus-schedule.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define INPUT                                                                                      \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}}"
#define MODEL(dropout)                                                                             \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": [" INPUT ","       \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 12,"                   \
  " \"activation\": \"tanh\", \"kernel_regularizer\": {\"class_name\": \"L2\", \"config\": {\"l2\": 0.01}}," \
  " \"activity_regularizer\": {\"class_name\": \"L1\", \"config\": {\"l1\": 0.001}},"             \
  " \"bias_constraint\": \"max_norm\"}}," dropout                                                  \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"head\", \"units\": 3,"                     \
  " \"activation\": \"softmax\"}}]}}"
#define DROPOUT "{\"class_name\": \"Dropout\", \"config\": {\"name\": \"dropout\", \"rate\": 0.25}},"
#define NORM "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"bn\", \"momentum\": 0.5}},"
#define COMPILE(optimizer)                                                                         \
  "\"compile\": {\"optimizer\": " optimizer ", \"loss\": \"sparse_categorical_crossentropy\","     \
  " \"metrics\": [\"accuracy\"]}"

typedef struct
{
  const char           *model, *options;
  guint                 threads, batch;
  const char           *workspace, *resume;
  GradusTrainer        *trainer;
  GradusTestObserver   *observer;
  GradusTestSource     *train, *validation;
  GradusDevice         *device;
  GradusModel          *net;
  GradusTrainerOptions *opts;
} Run;

static void
run_open (Run *run)
{
  GradusTrainerConfig config = { .seed = 5, .workspace = run->workspace, .resume = run->resume,
                                 .checkpoint_folder = run->workspace ? "checkpoints/run" : NULL };
  g_autoptr (GError) error = NULL;

  run->device = gradus_test_device_open ("cpu", MAX (1, run->threads));
  /* Small as the work is, the tiles go to all workers. */
  gradus_test_device_set_grain (run->device, 0);
  run->net = gradus_test_model (run->model);
  run->opts = gradus_test_options (run->options);
  run->train = gradus_test_source_new (50, 4, 3, run->batch, 1, FALSE);
  run->validation = gradus_test_source_new (21, 4, 3, 8, 2, FALSE);
  run->observer = gradus_test_observer_new ();
  config.model = run->net;
  config.options = run->opts;
  config.device = run->device;
  config.train = &run->train->parent;
  config.validation = &run->validation->parent;
  config.observer = &run->observer->parent;
  run->trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
}

static void
run_go (Run *run)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (gradus_trainer_run (run->trainer, &error), ==, GRADUS_RUN_FINISHED);
  g_assert_no_error (error);
}

static void
run_close (Run *run)
{
  gradus_trainer_free (run->trainer);
  gradus_test_source_free (run->train);
  gradus_test_source_free (run->validation);
  gradus_test_observer_free (run->observer);
  gradus_trainer_options_free (run->opts);
  gradus_model_unref (run->net);
  gradus_test_device_close (run->device);
}

static double
value (Run *run, const char *name, gint64 step)
{
  return gradus_test_observer_value (run->observer, name, step);
}

static char *
make_workspace (void)
{
  char *path = g_dir_make_tmp ("gradus-optimize-XXXXXX", NULL);

  g_assert_nonnull (path);
  return path;
}

static char *
folder_of (const char *workspace)
{
  return g_build_filename (workspace, "checkpoints", "run", NULL);
}

static char *
step_path (const char *workspace, gint64 step)
{
  g_autofree char *folder = folder_of (workspace);
  g_autofree char *name = g_strdup_printf ("step-%" G_GINT64_FORMAT ".safetensors", step);

  return g_build_filename (folder, name, NULL);
}

/* Calls @func with the paths in the run's folder. */
static void
for_files (const char *workspace, void (*func) (const char *path, gpointer data), gpointer data)
{
  g_autofree char *folder = folder_of (workspace);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      func (path, data);
    }
}

static void
remove_file (const char *path, gpointer data)
{
  g_unlink (path);
}

static void
remove_workspace (const char *path)
{
  g_autofree char *folder = folder_of (path);
  g_autofree char *parent = g_path_get_dirname (folder);

  for_files (path, remove_file, NULL);
  g_rmdir (folder);
  g_rmdir (parent);
  g_assert_cmpint (g_rmdir (path), ==, 0);
}

typedef struct
{
  const char *to;
  gint64      last;
} Copy;

static void
copy_file (const char *path, gpointer data)
{
  const Copy      *copy = data;
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *folder = folder_of (copy->to);
  g_autofree char *target = g_build_filename (folder, name, NULL);
  g_autofree char *bytes = NULL;
  gsize            length;

  if (g_ascii_strtoll (name + strlen ("step-"), NULL, 10) > copy->last)
    return;
  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  g_assert_true (g_file_set_contents (target, bytes, length, NULL));
}

static GradusCheckpoint *
open_checkpoint (const char *workspace, gint64 step)
{
  g_autofree char   *path = step_path (workspace, step);
  g_autoptr (GError) error = NULL;
  GradusCheckpoint  *checkpoint = gradus_checkpoint_open (path, &error);

  g_assert_no_error (error);
  return checkpoint;
}

static const GradusTensorView *
tensor (GradusCheckpoint *checkpoint, const char *name)
{
  for (guint i = 0; i < gradus_checkpoint_n_tensors (checkpoint); i++)
    if (g_str_equal (gradus_checkpoint_tensor (checkpoint, i)->name, name))
      return gradus_checkpoint_tensor (checkpoint, i);
  return NULL;
}

/* Everything at once, so that whatever was forgotten in a checkpoint is missed. */
#define EVERYTHING                                                                                 \
  "{" COMPILE ("{\"class_name\": \"AdamW\", \"config\": {\"amsgrad\": true,"                       \
               " \"learning_rate\": {\"class_name\": \"CosineDecay\", \"config\":"                 \
               " {\"initial_learning_rate\": 0.05, \"decay_steps\": 40}}}}")                       \
  ", \"fit\": {\"epochs\": 6, \"accumulate\": 2, \"warmup_steps\": 3, \"ema\": {\"decay\": 0.8},"  \
  " \"clip\": {\"norm\": 0.2},"                                                                    \
  " \"reduce_on_plateau\": {\"monitor\": \"train/loss\", \"patience\": 1, \"min_delta\": 0.2,"     \
  " \"factor\": 0.5, \"min_lr\": 0.001},"                                                          \
  " \"early_stopping\": {\"patience\": 9, \"restore_best\": true}},"                               \
  "\"log\": {\"histograms_every\": 5}, \"checkpoints\": {\"every\": 3, \"keep\": 100}}"
/* 50 samples in batches of 8: 7 batches, 4 steps an epoch. */
#define LAST 24

static void
test_resume (void)
{
  static const guint threads[] = { 1, 2, 3, 8 };
  g_autofree char *workspace = make_workspace ();
  Run              whole = { MODEL (DROPOUT NORM), EVERYTHING, 1, 8, workspace };

  run_open (&whole);
  run_go (&whole);
  g_assert_true (gradus_test_observer_has (whole.observer, "train/loss", LAST));
  g_assert_false (gradus_test_observer_has (whole.observer, "train/loss", LAST + 1));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      gint64           step = 3 * (1 + 2 * i);
      g_autofree char *second = make_workspace ();
      g_autofree char *folder = folder_of (second);
      g_autofree char *from = step_path (second, step);
      g_autoptr (GradusCheckpoint) a = NULL;
      g_autoptr (GradusCheckpoint) b = NULL;
      Run rest = { MODEL (DROPOUT NORM), EVERYTHING, threads[i], 8, second, from };
      Copy copy = { second, step };

      g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
      for_files (workspace, copy_file, &copy);
      run_open (&rest);
      run_go (&rest);
      g_assert_true (gradus_test_observer_has (rest.observer, "train/loss", step + 1));
      gradus_test_assert_same (rest.observer, whole.observer);
      a = open_checkpoint (workspace, LAST);
      b = open_checkpoint (second, LAST);
      g_assert_cmpint (gradus_checkpoint_n_tensors (a), ==, gradus_checkpoint_n_tensors (b));
      for (guint t = 0; t < gradus_checkpoint_n_tensors (a); t++)
        {
          const GradusTensorView *x = gradus_checkpoint_tensor (a, t);
          const GradusTensorView *y = gradus_checkpoint_tensor (b, t);

          g_assert_cmpstr (x->name, ==, y->name);
          g_assert_cmpmem (x->data, x->bytes, y->data, y->bytes);
          g_assert_false (g_str_has_suffix (x->name, "/sum"));
        }
      g_assert_nonnull (tensor (a, "optimizer/dense/kernel/velocity_hat"));
      g_assert_nonnull (tensor (a, "optimizer/dense/kernel/average"));
      run_close (&rest);
      remove_workspace (second);
    }
  run_close (&whole);
  remove_workspace (workspace);
}

/* Three batches of 4 are one of 12, and the rest of the epoch, 2 samples, is a step of its own. */
static void
test_accumulate (void)
{
#define OPTIMIZER COMPILE ("{\"class_name\": \"AdamW\", \"config\": {\"learning_rate\": 0.02}}")
#define FIT ", \"fit\": {\"epochs\": 3, \"clip\": {\"global_norm\": 0.3}"
  Run large = { MODEL (""), "{" OPTIMIZER FIT "}}", 1, 12 };
  Run small = { MODEL (""), "{" OPTIMIZER FIT ", \"accumulate\": 3}}", 2, 4 };
  static const char *const names[] = { "train/loss", "gradient_norm", "train/regularization",
                                       "learning_rate" };
  GradusTrainerProgress progress;

  run_open (&large);
  run_open (&small);
  run_go (&large);
  run_go (&small);
  gradus_trainer_progress (small.trainer, &progress);
  g_assert_cmpint (progress.step, ==, 15);
  g_assert_cmpint (progress.n_steps, ==, 15);
  for (gint64 step = 1; step <= 15; step++)
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      g_assert_cmpfloat_with_epsilon (value (&small, names[i], step), value (&large, names[i], step),
                                      2e-5);
  for (gint64 step = 5; step <= 15; step += 5)
    {
      g_assert_cmpfloat (value (&small, "train/accuracy", step), ==,
                         value (&large, "train/accuracy", step));
      g_assert_cmpfloat_with_epsilon (value (&small, "validation/loss", step),
                                      value (&large, "validation/loss", step), 2e-5);
    }
  run_close (&large);
  run_close (&small);
}

/* Warm-up first, then the schedule from its beginning; it counts steps, not batches. */
static void
test_rate (void)
{
  Run run = { MODEL (""),
              "{" COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\":"
                           " {\"class_name\": \"PiecewiseConstantDecay\", \"config\":"
                           " {\"boundaries\": [2, 4], \"values\": [0.4, 0.2, 0.1]}}}}")
              ", \"fit\": {\"epochs\": 3, \"accumulate\": 2, \"warmup_steps\": 4}}", 1, 8 };
  static const double wanted[] = { 0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1, 0.1 };

  run_open (&run);
  run_go (&run);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_cmpfloat (value (&run, "learning_rate", i + 1), ==, (float) wanted[i]);
  run_close (&run);
}

static void
set_rate_cb (gpointer data, const char *name, gint64 step)
{
  Run *run = data;

  if (g_str_equal (name, "train/loss") && (step == 3 || step == 6))
    gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, step, "learning_rate",
                         step == 3 ? 0.07 : NAN);
  if (g_str_equal (name, "train/loss") && step == 8)
    gradus_trainer_post (run->trainer, GRADUS_COMMAND_SET, step, "learning_rate", NAN);
}

/* A rate that is set stands until it is given back; then the schedule is where it would have been. */
static void
test_override (void)
{
  Run run = { MODEL (""),
              "{" COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\":"
                           " {\"class_name\": \"ExponentialDecay\", \"config\":"
                           " {\"initial_learning_rate\": 0.5, \"decay_steps\": 1,"
                           " \"decay_rate\": 0.5}}}}")
              ", \"fit\": {\"epochs\": 2}}", 1, 8 };
  GPtrArray *taken;

  run_open (&run);
  run.observer->on_scalar = set_rate_cb;
  run.observer->data = &run;
  run_go (&run);
  for (gint64 step = 1; step <= 14; step++)
    g_assert_cmpfloat (value (&run, "learning_rate", step), ==,
                       step >= 4 && step <= 6 ? 0.07f : (float) (0.5 * pow (0.5, step - 1)));
  taken = run.observer->taken;
  g_assert_cmpint (taken->len, ==, 3);
  g_assert_cmpstr (taken->pdata[0], ==, "3 3 ok");
  g_assert_cmpstr (taken->pdata[1], ==, "6 6 ok");
  g_assert_nonnull (strstr (taken->pdata[2], "already"));
  run_close (&run);
}

/* Numbers of PyTorch 1.13's OneCycleLR; Keras has none. After the last step the rate stays. */
static void
test_one_cycle (void)
{
  static const struct
  {
    const char *more;
    double      rates[11];
  } cases[] = {
    { "", { 0.004, 0.052, 0.1, 0.0950484632, 0.0811745654, 0.0611262022, 0.0388741978, 0.0188258346,
            0.0049519368, 4e-07, 4e-07 } },
    { ", \"anneal_strategy\": \"linear\", \"pct_start\": 0.4, \"three_phase\": true,"
      " \"div_factor\": 10, \"final_div_factor\": 100",
      { 0.01, 0.04, 0.07, 0.1, 0.07, 0.04, 0.01, 0.0067, 0.0034, 0.0001, 0.0001 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "{\"rate\": {\"class_name\": \"OneCycle\", \"config\": {\"max_learning_rate\": 0.1,"
          " \"total_steps\": 10%s}}}", cases[i].more);
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "", &error);
      g_autoptr (GradusJsonObject) object = gradus_json_open (node, NULL, &error);
      GradusSchedule schedule;

      g_assert_true (gradus_schedule_read (&schedule, object, "rate"));
      for (gint64 step = 0; step < 11; step++)
        g_assert_cmpfloat_with_epsilon (gradus_schedule_value (&schedule, step), cases[i].rates[step],
                                        1e-10);
    }
}

static void
check_example (const GradusScheduleClass *klass)
{
  g_autofree char *example = gradus_schedule_example (klass, 0.25, 1000);
  g_autofree char *text = g_strdup_printf ("{\"rate\": %s}", example);
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "", &error);
  g_autoptr (GradusJsonObject) object = gradus_json_open (node, NULL, &error);
  g_autoptr (JsonNode) written = NULL;
  g_autofree char *again = NULL;
  GradusSchedule schedule;

  g_assert_no_error (error);
  gradus_schedule_read (&schedule, object, "rate");
  gradus_json_check (object, &error);
  g_assert_no_error (error);
  written = gradus_schedule_write (&schedule);
  again = gradus_json_to_string (written, FALSE);
  g_assert_cmpstr (again, ==, example);
  g_assert_cmpfloat (gradus_schedule_value (&schedule, g_str_equal (klass->class_name, "OneCycle") ? 299 : 0),
                     ==, 0.25);
  g_assert_cmpfloat (gradus_schedule_value (&schedule, 1000), <, 0.25);
}

/* What the form offers is what the reader takes, and what is read is what was written. */
static void
test_examples (void)
{
  guint n;
  const GradusScheduleClass *classes = gradus_schedule_classes (&n);

  g_assert_cmpint (n, ==, 7);
  for (guint i = 0; i < n; i++)
    check_example (&classes[i]);
}

static gboolean
has_event (Run *run, const char *text)
{
  for (guint i = 0; i < run->observer->events->len; i++)
    if (strstr (run->observer->events->pdata[i], text) != NULL)
      return TRUE;
  return FALSE;
}

/* No epoch is better by 10 than the first: every second one reduces, down to the least. */
static void
test_plateau (void)
{
  Run run = { MODEL (""),
              "{" COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.1}}")
              ", \"fit\": {\"epochs\": 9, \"reduce_on_plateau\": {\"monitor\": \"val_loss\","
              " \"patience\": 2, \"factor\": 0.5, \"min_delta\": 10, \"min_lr\": 0.03}}}", 1, 25 };
  static const double wanted[] = { 0.1, 0.1, 0.1, 0.05, 0.05, 0.03, 0.03, 0.03, 0.03 };

  run_open (&run);
  run_go (&run);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_cmpfloat_with_epsilon (value (&run, "learning_rate", 2 * i + 2), wanted[i], 1e-7);
  g_assert_true (has_event (&run, "The learning rate was reduced"));
  run_close (&run);
}

/* What is evaluated, taken from a checkpoint and exported are the averages; training goes on with
 * the weights. */
static void
test_average (void)
{
#define SGD COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.5}}")
  g_autofree char *workspace = make_workspace ();
  Run plain = { MODEL (""), "{" SGD ", \"fit\": {\"epochs\": 2}}", 1, 8 };
  Run run = { MODEL (""), "{" SGD ", \"fit\": {\"epochs\": 2, \"ema\": {\"decay\": 0.9}}}", 1, 8,
              workspace };
  g_autofree char *exported = g_build_filename (workspace, "model", NULL);
  g_autoptr (GradusCheckpoint) checkpoint = NULL;
  g_autoptr (GradusCheckpoint) model = NULL;
  g_auto (GradusEvaluation) result = { 0 };
  const GradusTensorView *weight, *average, *taken;
  g_autoptr (GError) error = NULL;

  run_open (&plain);
  run_open (&run);
  run_go (&plain);
  run_go (&run);
  g_assert_cmpfloat (value (&run, "train/loss", 14), ==, value (&plain, "train/loss", 14));
  g_assert_cmpfloat (value (&run, "validation/loss", 14), !=, value (&plain, "validation/loss", 14));
  checkpoint = open_checkpoint (workspace, 14);
  weight = tensor (checkpoint, "dense/kernel");
  average = tensor (checkpoint, "optimizer/dense/kernel/average");
  g_assert_cmpint (memcmp (weight->data, average->data, weight->bytes), !=, 0);
  g_assert_true (gradus_evaluate (checkpoint, run.opts, run.device, &run.validation->parent, &result,
                                  &error));
  g_assert_no_error (error);
  g_assert_cmpfloat (result.loss, ==, value (&run, "validation/loss", 14));
  g_assert_true (gradus_checkpoint_export_safetensors (checkpoint, exported, &error));
  g_assert_no_error (error);
  model = gradus_checkpoint_open (exported, &error);
  g_assert_no_error (error);
  taken = tensor (model, "dense/kernel");
  g_assert_cmpmem (taken->data, taken->bytes, average->data, average->bytes);
  g_unlink (exported);
  run_close (&plain);
  run_close (&run);
  remove_workspace (workspace);
}

/* At the end the best weights are back: averages, since these were watched. */
static void
test_restore_best (void)
{
  g_autofree char *workspace = make_workspace ();
  Run run = { MODEL (""),
              "{" COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 3.0,"
                           " \"use_ema\": true, \"ema_momentum\": 0.5}}")
              ", \"fit\": {\"epochs\": 40, \"early_stopping\": {\"patience\": 3,"
              " \"restore_best\": true}}, \"checkpoints\": {\"keep\": 100}}", 1, 8, workspace };
  GradusTrainerProgress progress;
  gint64 best = 7;
  g_autoptr (GradusCheckpoint) a = NULL;
  g_autoptr (GradusCheckpoint) b = NULL;
  const GradusTensorView *wanted, *met;

  run_open (&run);
  run_go (&run);
  gradus_trainer_progress (run.trainer, &progress);
  g_assert_cmpint (progress.step, <, 40 * 7);
  g_assert_true (has_event (&run, "The best weights were put back"));
  for (gint64 step = 7; step <= progress.step; step += 7)
    if (value (&run, "validation/loss", step) < value (&run, "validation/loss", best))
      best = step;
  g_assert_cmpint (best, ==, progress.step - 3 * 7);
  a = open_checkpoint (workspace, best);
  b = open_checkpoint (workspace, progress.step);
  wanted = tensor (a, "optimizer/dense/kernel/average");
  met = tensor (b, "dense/kernel");
  g_assert_cmpmem (met->data, met->bytes, wanted->data, wanted->bytes);
  met = tensor (b, "optimizer/dense/kernel/average");
  g_assert_cmpmem (met->data, met->bytes, wanted->data, wanted->bytes);
  run_close (&run);
  remove_workspace (workspace);
}

/* Each batch of a step is seen by the moving statistics, and drops its own elements. */
static void
test_statistics (void)
{
#define PLAIN COMPILE ("{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.0}}")
  g_autofree char *workspace = make_workspace ();
  g_autofree char *other = make_workspace ();
  Run one = { MODEL (NORM), "{" PLAIN ", \"fit\": {\"epochs\": 1}}", 1, 8, workspace };
  Run many = { MODEL (NORM), "{" PLAIN ", \"fit\": {\"epochs\": 1, \"accumulate\": 7}}", 1, 8, other };
  g_autoptr (GradusCheckpoint) a = NULL;
  g_autoptr (GradusCheckpoint) b = NULL;
  const GradusTensorView *x, *y;

  run_open (&one);
  run_open (&many);
  run_go (&one);
  run_go (&many);
  a = open_checkpoint (workspace, 7);
  b = open_checkpoint (other, 1);
  x = tensor (a, "bn/moving_variance");
  y = tensor (b, "bn/moving_variance");
  g_assert_cmpmem (x->data, x->bytes, y->data, y->bytes);
  /* It is said beforehand that this is not the large batch. */
  g_assert_true (has_event (&many, "bn:"));
  g_assert_false (has_event (&one, "bn:"));
  run_close (&one);
  run_close (&many);
  remove_workspace (workspace);
  remove_workspace (other);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimize/resume", test_resume);
  g_test_add_func ("/optimize/accumulate", test_accumulate);
  g_test_add_func ("/optimize/rate", test_rate);
  g_test_add_func ("/optimize/override", test_override);
  g_test_add_func ("/optimize/one-cycle", test_one_cycle);
  g_test_add_func ("/optimize/examples", test_examples);
  g_test_add_func ("/optimize/plateau", test_plateau);
  g_test_add_func ("/optimize/average", test_average);
  g_test_add_func ("/optimize/restore-best", test_restore_best);
  g_test_add_func ("/optimize/statistics", test_statistics);
  return g_test_run ();
}
