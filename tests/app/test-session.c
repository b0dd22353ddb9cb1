/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "app-fixture.h"
#include "gradus-preparation.h"
#include "log/gradus-run.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/mount.h>

static const char *program;

/* Trains @recipe to its end in @folder and returns the run's uuid. */
static char *
train (const char *folder, GradusRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  char *uuid = NULL;

  g_assert_no_error (error);
  uuid = gradus_session_submit (session, recipe, &error);
  g_assert_no_error (error);
  gradus_session_wait (session);
  return uuid;
}

static void
resume (const char *folder, const char *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  g_autofree char *uuid = NULL;

  g_assert_no_error (error);
  uuid = gradus_session_resume (session, run, NULL, &error);
  g_assert_no_error (error);
  gradus_session_wait (session);
}

static GradusRunStatus
status_of (const char *folder, const char *run)
{
  g_autoptr (GradusRunInfo) info = app_fixture_run (folder, run);

  return info->status;
}

/* Posts a command from a process of its own. */
static void
post (const char *folder, const char *run, const char *command)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) other = g_subprocess_new (G_SUBPROCESS_FLAGS_NONE, &error, program,
                                                    "--post", folder, run, command, NULL);

  g_assert_no_error (error);
  g_subprocess_wait_check (other, NULL, &error);
  g_assert_no_error (error);
}

static int
post_main (const char *folder, const char *name, const char *command)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusWorkspace) workspace = gradus_workspace_open (folder, 0, &error);
  gint64 run = workspace != NULL ? gradus_run_find (workspace, name, NULL, &error) : 0;

  if (run != 0 && gradus_log_post_command (workspace, run, command, &error) != 0)
    return 0;
  g_printerr ("%s\n", error->message);
  return 1;
}

/* ---------------------------------------------------------------------------------------------- */

static void
test_line (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GradusRecipe) recipe = app_fixture_line ("fit.epochs=8", NULL);
  g_autofree char *uuid = train (folder, recipe);
  g_autoptr (GradusRunInfo) info = app_fixture_run (folder, uuid);
  g_autoptr (GArray) loss = app_fixture_scalars (folder, uuid, "train/loss");
  g_autoptr (GArray) validation = app_fixture_scalars (folder, uuid, "validation/loss");
  static const char *const every_step[] = { "learning_rate",     "gradient_norm",
                                            "time/step",         "time/input_wait",
                                            "throughput",        "memory/host/current",
                                            "memory/host/peak",  "memory/device/current",
                                            "memory/device/peak" };

  g_assert_cmpint (info->status, ==, GRADUS_RUN_FINISHED);
  g_assert_cmpint (loss->len, ==, 8 * 28);
  g_assert_cmpint (g_array_index (loss, GradusScalar, 0).step, ==, 1);
  g_assert_cmpfloat (g_array_index (loss, GradusScalar, 0).value, >, 1);
  g_assert_cmpfloat (g_array_index (loss, GradusScalar, loss->len - 1).value, <, 0.05);
  g_assert_cmpint (validation->len, ==, 8);
  g_assert_cmpint (g_array_index (validation, GradusScalar, 0).step, ==, 28);
  for (guint i = 0; i < G_N_ELEMENTS (every_step); i++)
    {
      g_autoptr (GArray) rows = app_fixture_scalars (folder, uuid, every_step[i]);

      g_test_message ("%s: %u", every_step[i], rows->len);
      g_assert_cmpint (rows->len, >=, 8);
    }
  app_fixture_compare_weights (folder, uuid, folder, uuid);
  app_fixture_remove (folder);
}

static void
test_same_seed (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GradusRecipe) recipe = app_fixture_line ("fit.epochs=5", NULL);
  g_autoptr (GradusRecipe) other = app_fixture_line ("fit.epochs=5", "seed=43", NULL);
  g_autoptr (GradusRecipe) threads =
      app_fixture_line ("fit.epochs=5", "fit.threads=1", "data.pipeline.prefetch=0", NULL);
  g_autofree char *a = train (folder, recipe);
  g_autofree char *b = train (folder, recipe);
  g_autofree char *c = train (folder, other);
  g_autofree char *d = train (folder, threads);
  g_autoptr (GArray) loss_a = app_fixture_scalars (folder, a, "train/loss");
  g_autoptr (GArray) loss_c = app_fixture_scalars (folder, c, "train/loss");

  g_assert_cmpint (app_fixture_compare_runs (folder, a, folder, b), >=, 4);
  app_fixture_compare_weights (folder, a, folder, b);
  app_fixture_compare_runs (folder, a, folder, d);
  app_fixture_compare_weights (folder, a, folder, d);
  g_assert_cmpfloat (g_array_index (loss_a, GradusScalar, 3).value, !=,
                     g_array_index (loss_c, GradusScalar, 3).value);
  app_fixture_remove (folder);
}

/* A run that takes a while, so that it can be met under way. */
static GradusRecipe *
long_line (void)
{
  return app_fixture_line ("fit.epochs=40", "data.train.samples=8192", "checkpoints.every=300",
                           NULL);
}

static void
test_stop_and_resume (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = long_line ();
  g_autofree char *whole = train (folder, recipe);
  g_autofree char *uuid = NULL;
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  GradusProgress progress;
  gint64         steps = 0;

  g_assert_no_error (error);
  uuid = gradus_session_submit (session, recipe, &error);
  g_assert_no_error (error);
  app_fixture_wait_until (gradus_session_get_progress (session, &progress) && progress.step > 500);
  gradus_session_stop (session);
  gradus_session_wait (session);
  g_clear_object (&session);
  {
    g_autoptr (GradusRunInfo) info = app_fixture_run (folder, uuid);

    g_assert_cmpint (info->status, ==, GRADUS_RUN_STOPPED);
    steps = info->last_step;
  }
  g_assert_cmpint (steps, <, 40 * 224);
  resume (folder, uuid);
  g_assert_cmpint (status_of (folder, uuid), ==, GRADUS_RUN_FINISHED);
  app_fixture_compare_runs (folder, whole, folder, uuid);
  app_fixture_compare_weights (folder, whole, folder, uuid);
  app_fixture_remove (folder);
}

static void
test_resume_refused (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = app_fixture_line ("fit.epochs=2", NULL);
  g_autofree char *uuid = train (folder, recipe);
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  g_autofree char *again = NULL;

  g_assert_null (gradus_session_resume (session, uuid, NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_clear_error (&error);
  g_assert_null (gradus_session_resume (session, "nobody", NULL, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);
  again =
      gradus_session_resume (session, uuid, (const char *const[]){ "fit.epochs=3", NULL }, &error);
  g_assert_no_error (error);
  gradus_session_wait (session);
  {
    g_autoptr (GradusRunInfo) info = app_fixture_run (folder, uuid);

    g_assert_cmpint (info->status, ==, GRADUS_RUN_FINISHED);
    g_assert_cmpint (info->last_step, ==, 3 * 28);
  }
  app_fixture_remove (folder);
}

/* A resume that cannot begin takes nothing away: of another model, without its device, and when no
 * checkpoint is left. */
static void
test_resume_keeps (void)
{
  static const char *const other_model[]
      = { "fit.epochs=3", "model.config.layers.0.config.batch_shape=[null, 7]", NULL };
  static const char *const no_device[] = { "fit.epochs=3", "fit.device=nothing", NULL };
  static const char *const longer[] = { "fit.epochs=3", NULL };
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = app_fixture_line ("fit.epochs=2", NULL);
  g_autofree char *uuid = train (folder, recipe);
  g_autofree char *checkpoints = g_build_filename (folder, "checkpoints", uuid, NULL);
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);

  g_assert_no_error (error);
  g_assert_null (gradus_session_resume (session, uuid, other_model, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_cmpint (status_of (folder, uuid), ==, GRADUS_RUN_FINISHED);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *again = NULL;
      g_autoptr (GArray) loss = NULL;

      g_clear_error (&error);
      if (i == 1)
        app_fixture_remove (checkpoints);
      again = gradus_session_resume (session, uuid, i == 0 ? no_device : longer, &error);
      g_assert_no_error (error);
      gradus_session_wait (session);
      g_assert_cmpint (status_of (folder, uuid), ==, GRADUS_RUN_FAILED);
      loss = app_fixture_scalars (folder, uuid, "train/loss");
      g_assert_cmpuint (loss->len, ==, 2 * 28);
    }
  app_fixture_remove (folder);
}

/* Turns a bit in the middle of a checkpoint's weights. */
static void
damage (const char *folder, const char *uuid, gint64 step)
{
  g_autofree char *name = g_strdup_printf ("step-%" G_GINT64_FORMAT ".safetensors", step);
  g_autofree char *path = g_build_filename (folder, "checkpoints", uuid, name, NULL);
  g_autofree char *data = NULL;
  gsize length = 0;

  g_assert_true (g_file_get_contents (path, &data, &length, NULL));
  data[length - 1] ^= 0x40;
  g_assert_true (g_file_set_contents (path, data, length, NULL));
}

static void
go_on (const char *folder, const char *uuid)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  g_autofree char *again = NULL;

  g_assert_no_error (error);
  again = gradus_session_resume (session, uuid, (const char *const[]){ "fit.epochs=4", NULL }, &error);
  g_assert_no_error (error);
  gradus_session_wait (session);
}

/* A checkpoint with other bits than were written is none: the run goes on from an older one and
 * says so, and where there is no other it is refused and nothing of the log goes. */
static void
test_resume_damaged (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GradusRecipe) recipe = app_fixture_line ("fit.epochs=3", NULL);
  g_autofree char *uuid = train (folder, recipe);
  g_autoptr (GArray) loss = NULL;
  guint messages = app_fixture_count_events (folder, uuid, "message");

  for (gint64 step = 28; step <= 3 * 28; step += 28)
    damage (folder, uuid, step);
  go_on (folder, uuid);
  g_assert_cmpint (status_of (folder, uuid), ==, GRADUS_RUN_FAILED);
  loss = app_fixture_scalars (folder, uuid, "train/loss");
  g_assert_cmpuint (loss->len, ==, 3 * 28);
  damage (folder, uuid, 28);
  go_on (folder, uuid);
  g_assert_cmpint (status_of (folder, uuid), ==, GRADUS_RUN_FINISHED);
  g_assert_cmpuint (app_fixture_count_events (folder, uuid, "message"), >, messages);
  g_clear_pointer (&loss, g_array_unref);
  loss = app_fixture_scalars (folder, uuid, "train/loss");
  g_assert_cmpuint (loss->len, ==, 4 * 28);
  app_fixture_remove (folder);
}

static void
test_commands (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = long_line ();
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  g_autofree char *uuid = NULL;
  g_autofree char *whole = NULL;
  GradusProgress   progress;
  gint64           step = 0;

  g_assert_no_error (error);
  uuid = gradus_session_submit (session, recipe, &error);
  g_assert_no_error (error);
  app_fixture_wait_until (gradus_session_get_progress (session, &progress) && progress.step > 50);

  post (folder, uuid, "{\"command\": \"pause\"}");
  app_fixture_wait_until (gradus_session_get_progress (session, &progress)
                          && progress.status == GRADUS_RUN_PAUSED);
  step = progress.step;
  app_fixture_wait_until (status_of (folder, uuid) == GRADUS_RUN_PAUSED);
  gradus_session_get_progress (session, &progress);
  g_assert_cmpint (progress.step, ==, step);

  post (folder, uuid, "{\"command\": \"step\"}");
  app_fixture_wait_until (gradus_session_get_progress (session, &progress)
                          && progress.step == step + 1);
  g_usleep (50000);
  gradus_session_get_progress (session, &progress);
  g_assert_cmpint (progress.step, ==, step + 1);

  post (folder, uuid, "{\"command\": \"checkpoint\"}");
  post (folder, uuid, "{\"command\": \"nonsense\"}");
  post (folder, uuid, "{\"command\": \"set\", \"name\": \"speed\", \"value\": 1}");
  post (folder, uuid, "{\"command\": \"resume\"}");
  gradus_session_wait (session);
  g_assert_cmpint (status_of (folder, uuid), ==, GRADUS_RUN_FINISHED);
  g_assert_cmpint (app_fixture_count_events (folder, uuid, "checkpoint"), >, 0);
  g_clear_object (&session);

  /* Whatever was done to it, the run is the same. */
  whole = train (folder, recipe);
  app_fixture_compare_runs (folder, whole, folder, uuid);
  app_fixture_compare_weights (folder, whole, folder, uuid);
  app_fixture_remove (folder);
}

static void
test_queue (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) first = long_line ();
  g_autoptr (GradusRecipe) next = app_fixture_line ("fit.epochs=1", NULL);
  g_autoptr (GradusSession) session = gradus_session_new (folder, &error);
  g_autofree char *a = gradus_session_submit (session, first, &error);
  g_autofree char *b = gradus_session_submit (session, next, &error);
  g_autofree char *c = gradus_session_submit (session, next, &error);
  g_autofree char *d = gradus_session_submit (session, next, &error);
  g_auto (GStrv) queue = NULL;

  g_assert_no_error (error);
  app_fixture_wait_until (status_of (folder, a) == GRADUS_RUN_RUNNING);
  g_assert_cmpint (status_of (folder, b), ==, GRADUS_RUN_QUEUED);
  g_assert_true (gradus_session_move (session, d, 0));
  queue = gradus_session_get_queue (session);
  g_assert_cmpint (g_strv_length (queue), ==, 3);
  g_assert_cmpstr (queue[0], ==, d);
  g_assert_cmpstr (queue[1], ==, b);
  g_assert_true (gradus_session_command (session, b, "{\"command\": \"stop\"}", &error));
  g_assert_no_error (error);
  post (folder, c, "{\"command\": \"stop\"}");
  g_assert_true (gradus_session_command (session, a, "{\"command\": \"stop\"}", &error));
  gradus_session_wait (session);
  g_assert_cmpint (status_of (folder, a), ==, GRADUS_RUN_STOPPED);
  g_assert_cmpint (status_of (folder, b), ==, GRADUS_RUN_STOPPED);
  g_assert_cmpint (status_of (folder, c), ==, GRADUS_RUN_STOPPED);
  g_assert_cmpint (status_of (folder, d), ==, GRADUS_RUN_FINISHED);
  app_fixture_remove (folder);
}

/* A run that cannot begin is in the log as failed, with the reason, and the next one starts. */
static void
test_failed (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) wrong = app_fixture_line (
      "data.train={\"type\": \"idx\", \"inputs\": \"/nowhere/a\", \"targets\": \"/nowhere/b\"}",
      NULL);
  g_autoptr (GradusRecipe) right = app_fixture_line ("fit.epochs=1", NULL);
  g_autofree char *a = train (folder, wrong);
  g_autofree char *b = train (folder, right);

  g_assert_cmpint (status_of (folder, a), ==, GRADUS_RUN_FAILED);
  g_assert_cmpint (app_fixture_count_events (folder, a, "/nowhere/a"), >, 0);
  g_assert_cmpint (status_of (folder, b), ==, GRADUS_RUN_FINISHED);
  app_fixture_remove (folder);
}

static void
test_memory_refused (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe =
      app_fixture_line ("data.train.samples=100000000", "data.pipeline.batch=1048576",
                        "model.config.layers.1.config.units=500000", NULL);
  g_autoptr (GradusPreparation) trial = gradus_preparation_new (recipe, NULL, &error);

  if (trial != NULL)
    {
      g_assert_false (gradus_preparation_check_memory (trial, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY);
    }
  g_assert_nonnull (error);
  g_test_message ("%s", error->message);
}

/* Full disk ------------------------------------------------------------------------------------ */

static void
fill (const char *path)
{
  g_autofree char *block = g_malloc0 (65536);
  FILE            *file = fopen (path, "w");

  g_assert_nonnull (file);
  setbuf (file, NULL);
  while (fwrite (block, 1, 65536, file) == 65536)
    ;
  while (fwrite (block, 1, 512, file) == 512)
    ;
  fclose (file);
}

static void
test_full_disk (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autofree char *workspace = g_build_filename (folder, "workspace", NULL);
  g_autofree char *filler = g_build_filename (folder, "filler", NULL);
  g_autofree char *elsewhere = app_fixture_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = app_fixture_line (
      "fit.epochs=600", "data.train.samples=8192", "log.scalars_every=10", "log.histograms_every=0",
      "log.per_layer_every=0", "checkpoints.every=20000", NULL);
  g_autoptr (GradusSession) session = NULL;
  g_autofree char *uuid = NULL;
  g_autofree char *whole = NULL;
  GradusProgress   progress;

  if (mount ("tmpfs", folder, "tmpfs", 0, "size=64M") != 0)
    {
      g_test_skip ("a small file system cannot be mounted here");
      app_fixture_remove (folder);
      app_fixture_remove (elsewhere);
      return;
    }
  session = gradus_session_new (workspace, &error);
  g_assert_no_error (error);
  uuid = gradus_session_submit (session, recipe, &error);
  g_assert_no_error (error);
  app_fixture_wait_until (gradus_session_get_progress (session, &progress) && progress.step > 200);
  fill (filler);
  app_fixture_wait_until (gradus_session_get_progress (session, &progress)
                          && progress.status == GRADUS_RUN_PAUSED);
  g_unlink (filler);
  gradus_session_wait (session);
  g_assert_cmpint (status_of (workspace, uuid), ==, GRADUS_RUN_FINISHED);
  g_assert_cmpint (app_fixture_count_events (workspace, uuid, "finding"), >, 0);
  g_clear_object (&session);

  whole = train (elsewhere, recipe);
  app_fixture_compare_runs (elsewhere, whole, workspace, uuid);
  g_assert_cmpint (umount2 (folder, MNT_DETACH), ==, 0);
  app_fixture_remove (folder);
  app_fixture_remove (elsewhere);
}

/* Closing on a disk that stays full ends, at the cost of what there is no room for. */
static void
test_close_on_full_disk (void)
{
  g_autofree char *folder = app_fixture_folder ();
  g_autofree char *workspace = g_build_filename (folder, "workspace", NULL);
  g_autofree char *filler = g_build_filename (folder, "filler", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = app_fixture_line ("fit.epochs=100000", NULL);
  g_autoptr (GradusSession) session = NULL;
  g_autofree char *uuid = NULL;
  GradusProgress   progress;
  gint64           begin;

  if (mount ("tmpfs", folder, "tmpfs", 0, "size=64M") != 0)
    {
      g_test_skip ("a small file system cannot be mounted here");
      app_fixture_remove (folder);
      return;
    }
  session = gradus_session_new (workspace, &error);
  g_assert_no_error (error);
  uuid = gradus_session_submit (session, recipe, &error);
  g_assert_no_error (error);
  app_fixture_wait_until (gradus_session_get_progress (session, &progress) && progress.step > 50);
  fill (filler);
  begin = g_get_monotonic_time ();
  g_test_expect_message ("Gradus-Data", G_LOG_LEVEL_WARNING, "*are lost*no room*");
  gradus_session_close (session);
  g_test_assert_expected_messages ();
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 60 * G_USEC_PER_SEC);
  g_clear_object (&session);
  g_unlink (filler);
  g_assert_cmpint (umount2 (folder, MNT_DETACH), ==, 0);
  app_fixture_remove (folder);
}

int
main (int argc, char **argv)
{
  g_autofree char *self = NULL;

  if (argc == 5 && g_str_equal (argv[1], "--post"))
    return post_main (argv[2], argv[3], argv[4]);
  self = g_file_read_link ("/proc/self/exe", NULL);
  program = self;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/session/line", test_line);
  g_test_add_func ("/session/same-seed", test_same_seed);
  g_test_add_func ("/session/stop-and-resume", test_stop_and_resume);
  g_test_add_func ("/session/resume-refused", test_resume_refused);
  g_test_add_func ("/session/resume-keeps", test_resume_keeps);
  g_test_add_func ("/session/resume-damaged", test_resume_damaged);
  g_test_add_func ("/session/commands", test_commands);
  g_test_add_func ("/session/queue", test_queue);
  g_test_add_func ("/session/failed", test_failed);
  g_test_add_func ("/session/memory-refused", test_memory_refused);
  g_test_add_func ("/session/full-disk", test_full_disk);
  g_test_add_func ("/session/close-on-full-disk", test_close_on_full_disk);
  return g_test_run ();
}
