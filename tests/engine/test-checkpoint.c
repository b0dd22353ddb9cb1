/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-philox.h"
#include "gradus-test-train.h"
#include "train/gradus-checkpoint-writer.h"
#include "train/gradus-evaluate.h"
#include "train/gradus-safetensors.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static const char model[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 40}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"out\", \"units\": 1}}]}}";
#define COMPILE "\"compile\": {\"optimizer\": \"adam\", \"loss\": \"mse\"}"

static char *
file_of (const char *workspace, gint64 step)
{
  g_autofree char *name = g_strdup_printf ("step-%" G_GINT64_FORMAT ".safetensors", step);

  return g_build_filename (workspace, "checkpoints", "run", name, NULL);
}

static gboolean
exists (const char *workspace, gint64 step)
{
  g_autofree char *path = file_of (workspace, step);

  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
remove_tree (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      remove_tree (inner);
    }
  if (dir != NULL)
    g_rmdir (path);
  else
    g_unlink (path);
}

/* A run of @options in @workspace, @beside it a thread with the trainer; the observer tells what
 * became of it. */
static GradusTestObserver *
train_beside (const char *workspace, const char *options, GThreadFunc beside)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 1, &error);
  g_autoptr (GradusModel) net = gradus_test_model (model);
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options (options);
  g_autoptr (GradusTestSource) source = gradus_test_source_new (40, 4, 0, 8, 1, TRUE);
  g_autoptr (GradusTestSource) validation = gradus_test_source_new (20, 4, 0, 8, 2, FALSE);
  g_autoptr (JsonObject) extras = json_object_new ();
  GThread            *thread = NULL;
  GradusTestObserver *observer = gradus_test_observer_new ();
  GradusTrainerConfig config = { .model = net, .options = opts, .device = device,
                                 .train = &source->parent, .validation = &validation->parent,
                                 .observer = &observer->parent, .seed = 3,
                                 .workspace = workspace, .checkpoint_folder = "checkpoints/run",
                                 .extras = extras };
  g_autoptr (GradusTrainer) trainer = NULL;

  json_object_set_string_member (extras, "class_name", "shirt");
  trainer = gradus_trainer_new (&config, &error);
  g_assert_no_error (error);
  if (beside != NULL)
    thread = g_thread_new ("beside", beside, trainer);
  gradus_trainer_run (trainer, &error);
  g_assert_no_error (error);
  if (beside != NULL)
    g_thread_join (thread);
  return observer;
}

static GradusTestObserver *
train (const char *workspace, const char *options)
{
  return train_beside (workspace, options, NULL);
}

/* The latest ones and the best stay; each row says the file's digest; a row goes before its file. */
static void
test_retention (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autoptr (GradusTestObserver) observer = train (
      workspace, "{" COMPILE ", \"fit\": {\"epochs\": 6}, \"checkpoints\": {\"every\": 2, "
                 "\"keep\": 2, \"monitor\": \"validation/loss\", \"mode\": \"max\"}}");
  g_autoptr (GError) error = NULL;

  /* Every second of 30 steps and the end of the first epoch, which is the best of a falling loss. */
  g_assert_true (exists (workspace, 30));
  g_assert_true (exists (workspace, 28));
  g_assert_true (exists (workspace, 5));
  g_assert_false (exists (workspace, 26));
  g_assert_false (exists (workspace, 2));
  g_assert_cmpint (observer->checkpoints->len, ==, 16);
  g_assert_cmpint (observer->removed->len, ==, 13);
  for (guint i = 0; i < observer->checkpoints->len; i++)
    {
      g_auto (GStrv) words = g_strsplit (observer->checkpoints->pdata[i], " ", 4);
      g_autofree char *path = g_build_filename (workspace, words[2], NULL);
      g_autofree char *data = NULL;
      g_autofree char *digest = NULL;
      gsize length;

      g_assert_cmpint (words[1][0] == '1', ==, g_str_equal (words[0], "5"));
      if (!g_file_get_contents (path, &data, &length, NULL))
        continue;
      digest = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (guint8 *) data, length);
      g_assert_cmpstr (digest, ==, words[3]);
    }
  remove_tree (workspace);
}

static void
test_contents (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autoptr (GradusTestObserver) observer = train (workspace, "{" COMPILE "}");
  g_autofree char *path = file_of (workspace, 5);
  g_autofree char *exported = g_build_filename (workspace, "model.safetensors", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = gradus_checkpoint_open (path, &error);
  g_autoptr (GradusCheckpoint) taken = NULL;
  g_autoptr (GradusModel) net = NULL;

  g_assert_no_error (error);
  g_assert_cmpint (gradus_checkpoint_step (checkpoint), ==, 5);
  g_assert_cmpint (gradus_checkpoint_epoch (checkpoint), ==, 1);
  g_assert_cmpint (gradus_checkpoint_n_tensors (checkpoint), ==, 12);
  g_assert_cmpstr (json_object_get_string_member (gradus_checkpoint_extras (checkpoint),
                                                  "class_name"), ==, "shirt");
  net = gradus_checkpoint_model (checkpoint, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_model_n_parameters (net, NULL), ==, 241);
  g_assert_true (gradus_checkpoint_export_safetensors (checkpoint, exported, &error));
  taken = gradus_checkpoint_open (exported, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradus_checkpoint_n_tensors (taken), ==, 4);
  g_assert_nonnull (gradus_checkpoint_extras (taken));
  g_assert_false (json_object_has_member (gradus_checkpoint_state (taken), "sums"));
  remove_tree (workspace);
}

/* Opens @data as a file: an error of ours, or a checkpoint whose every part can be looked at. */
static gboolean
try_open (const char *path, const guint8 *data, gsize length, GError **error)
{
  g_autoptr (GradusCheckpoint) checkpoint = NULL;
  g_autoptr (GradusModel) net = NULL;
  guint64 sum = 0;

  g_assert_true (g_file_set_contents (path, (const char *) data, length, NULL));
  if ((checkpoint = gradus_checkpoint_open (path, error)) == NULL)
    return FALSE;
  for (guint i = 0; i < gradus_checkpoint_n_tensors (checkpoint); i++)
    for (gsize b = 0; b < gradus_checkpoint_tensor (checkpoint, i)->bytes; b++)
      sum += gradus_checkpoint_tensor (checkpoint, i)->data[b];
  g_assert_cmpuint (sum, <, G_MAXUINT64);
  net = gradus_checkpoint_model (checkpoint, NULL);
  return TRUE;
}

static void
test_damage (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autoptr (GradusTestObserver) observer = train (workspace, "{" COMPILE "}");
  g_autofree char *path = file_of (workspace, 5);
  g_autofree char *bad = g_build_filename (workspace, "bad.safetensors", NULL);
  g_autofree char *data = NULL;
  gsize        length;
  GradusPhilox random = gradus_philox (1, 2, 3);
  guint        refused = 0;

  g_assert_true (g_file_get_contents (path, &data, &length, NULL));
  for (gsize cut = 0; cut < length; cut += 1 + cut / 16)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (try_open (bad, (guint8 *) data, cut, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT);
    }
  for (guint i = 0; i < 2000; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (data, length);
      g_autoptr (GError) error = NULL;
      guint changes = 1 + gradus_philox_word (&random, 8 * i) % 3;

      /* The header is where it hurts. */
      for (guint c = 0; c < changes; c++)
        copy[gradus_philox_word (&random, 8 * i + 1 + c) % 3000] =
            gradus_philox_word (&random, 8 * i + 4 + c);
      if (!try_open (bad, copy, length, &error))
        {
          refused++;
          g_assert_cmpint (error->domain, ==, GRADUS_ERROR);
        }
    }
  g_assert_cmpint (refused, >, 500);
  remove_tree (workspace);
}

/* Headers made to hurt; the data after them has 16 bytes. */
static void
test_hostile (void)
{
  static const char *const headers[] = {
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [0, 20]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [4, 20]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [3], \"data_offsets\": [0, 16]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [-4], \"data_offsets\": [0, 16]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [16, 0]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [4294967296, 4294967296, 4294967296], \"data_offsets\": [0, 16]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [1,1,1,1,1,1,1,1,1,4], \"data_offsets\": [0, 16]}}",
    "{\"a\": {\"dtype\": \"Q4\", \"shape\": [4], \"data_offsets\": [0, 16]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}, "
    "\"b\": {\"dtype\": \"F32\", \"shape\": [3], \"data_offsets\": [4, 16]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [0, 16]}, "
    "\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [0, 16]}}",
    "{\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [0.5, 16]}}",
    "{\"a\": [], \"__metadata__\": {}}",
    "{\"__metadata__\": {\"gradus\": 3}}",
    "{\"__metadata__\": []}",
    "{}",
    "{",
  };
  GradusSafetensors tensors;

  for (gsize i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_autoptr (GError) error = NULL;
      guint64 length = strlen (headers[i]);
      g_autofree guint8 *file = g_malloc0 (8 + length + 16);

      memcpy (file, &length, 8);
      memcpy (file + 8, headers[i], length);
      g_assert_false (gradus_safetensors_read (&tensors, file, 8 + length + 16, "bad", &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT);
      g_test_message ("%s", error->message);
      g_clear_error (&error);
      length = G_MAXUINT64 - 4;
      memcpy (file, &length, 8);
      g_assert_false (gradus_safetensors_read (&tensors, file, 8 + strlen (headers[i]), "bad", &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT);
    }
}

static void
test_foreign (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (workspace, "x.safetensors", NULL);
  g_autoptr (GError) error = NULL;
  static const struct
  {
    const char *metadata;
    int         code;
  } cases[] = {
    { NULL, GRADUS_ERROR_CORRUPT },
    { "{\"format\": 99, \"step\": 1, \"epoch\": 0, \"model\": {}}", GRADUS_ERROR_NEWER },
    { "{\"format\": 1, \"step\": -1, \"epoch\": 0, \"model\": {}}", GRADUS_ERROR_CORRUPT },
    { "{\"format\": 1, \"step\": 1, \"epoch\": 0, \"model\": 3}", GRADUS_ERROR_CORRUPT },
    { "{\"format\": 1, \"step\": 1, \"epoch\": 0}", GRADUS_ERROR_CORRUPT },
    { "[", GRADUS_ERROR_CORRUPT },
  };

  g_assert_null (gradus_checkpoint_open (path, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *const metadata[] = { cases[i].metadata ? "gradus" : NULL, cases[i].metadata, NULL };
      g_autoptr (GByteArray) header = gradus_safetensors_header (NULL, 0, metadata);

      g_assert_false (try_open (path, header->data, header->len, &error));
      g_assert_error (error, GRADUS_ERROR, cases[i].code);
      g_clear_error (&error);
    }
  remove_tree (workspace);
}

/* A checkpoint of another model or optimizer is refused by name. */
static void
test_other_model (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autoptr (GradusTestObserver) observer = train (
      workspace, "{\"compile\": {\"optimizer\": \"sgd\", \"loss\": \"mse\"}}");
  g_autofree char *path = file_of (workspace, 5);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 1, &error);
  g_autoptr (GradusModel) net = gradus_test_model (model);
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options ("{" COMPILE "}");
  g_autoptr (GradusTestSource) source = gradus_test_source_new (40, 4, 0, 8, 1, TRUE);
  GradusTrainerConfig config = { .model = net, .options = opts, .device = device,
                                 .train = &source->parent, .seed = 3, .resume = path };
  g_autoptr (GradusTrainer) trainer = gradus_trainer_new (&config, &error);

  g_assert_no_error (error);
  g_assert_cmpint (gradus_trainer_run (trainer, &error), ==, GRADUS_RUN_FAILED);
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "optimizer/dense/kernel/m"));
  g_clear_error (&error);
  g_clear_pointer (&trainer, gradus_trainer_free);
  config.seed = 4;
  trainer = gradus_trainer_new (&config, &error);
  g_assert_cmpint (gradus_trainer_run (trainer, &error), ==, GRADUS_RUN_FAILED);
  g_assert_nonnull (strstr (error->message, "another seed"));
  remove_tree (workspace);
}

static gpointer
make_room (gpointer limit)
{
  g_usleep (300 * 1000);
  setrlimit (RLIMIT_FSIZE, limit);
  return NULL;
}

/* No room: a finding once, the run waits, and goes on when there is room. */
static void
test_full_disk (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autoptr (GradusTestObserver) observer = NULL;
  struct rlimit normal, small;
  GThread      *thread;
  guint         findings = 0;
  gboolean      paused = FALSE;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &normal), ==, 0);
  small = normal;
  small.rlim_cur = 1000;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &small), ==, 0);
  thread = g_thread_new ("room", make_room, &normal);
  observer = train (workspace, "{" COMPILE ", \"fit\": {\"epochs\": 3}}");
  g_thread_join (thread);
  for (guint i = 0; i < observer->events->len; i++)
    findings += strstr (observer->events->pdata[i], "The disk is full") != NULL;
  for (guint i = 0; i < observer->statuses->len; i++)
    paused = paused || g_str_has_prefix (observer->statuses->pdata[i], "2 ");
  g_assert_cmpint (findings, ==, 1);
  g_assert_true (paused);
  g_assert_true (g_str_has_prefix (observer->statuses->pdata[observer->statuses->len - 1], "3 15"));
  g_assert_true (exists (workspace, 5));
  g_assert_true (exists (workspace, 10));
  g_assert_true (exists (workspace, 15));
  remove_tree (workspace);
}

static gpointer
post_stop (gpointer trainer)
{
  g_usleep (300 * 1000);
  gradus_trainer_post (trainer, GRADUS_COMMAND_SET, 6, "learning_rate", 0.1);
  gradus_trainer_post (trainer, GRADUS_COMMAND_STOP, 7, NULL, 0);
  return NULL;
}

/* Who waits for room can be stopped, and the stop is answered as taken. */
static void
test_stop_on_full_disk (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autoptr (GradusTestObserver) observer = NULL;
  struct rlimit normal, small;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &normal), ==, 0);
  small = normal;
  small.rlim_cur = 1000;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &small), ==, 0);
  observer = train_beside (workspace, "{" COMPILE ", \"fit\": {\"epochs\": 3}}", post_stop);
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &normal), ==, 0);
  g_assert_cmpint (observer->taken->len, ==, 1);
  g_assert_true (g_str_has_prefix (observer->taken->pdata[0], "7 "));
  g_assert_null (strstr (observer->taken->pdata[0], "not"));
  g_assert_true (g_str_has_prefix (observer->statuses->pdata[observer->statuses->len - 1], "4 "));
  g_assert_cmpint (observer->checkpoints->len, ==, 0);
  remove_tree (workspace);
}

/* A file that is to be written anew keeps its row until the new one is whole. */
static void
test_rewrite_on_full_disk (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (workspace, "checkpoints", "run", NULL);
  g_autofree char *path = file_of (workspace, 5);
  g_autoptr (GradusTestObserver) observer = gradus_test_observer_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpointWriter) writer = NULL;
  struct rlimit normal, small;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_file_set_contents (path, "old", 3, NULL);
  writer = gradus_checkpoint_writer_new (workspace, "checkpoints/run", &observer->parent, 3, 4000, 5,
                                         &error);
  g_assert_no_error (error);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &normal), ==, 0);
  small = normal;
  small.rlim_cur = 1000;
  for (guint round = 0; round < 2; round++)
    {
      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, round == 0 ? &small : &normal), ==, 0);
      gradus_checkpoint_writer_submit (writer, 5, g_byte_array_new (), g_strdup ("{}"), FALSE, FALSE);
      while (!gradus_checkpoint_writer_wait (writer, 10 * 1000))
        if (gradus_checkpoint_writer_is_full (writer))
          gradus_checkpoint_writer_cancel (writer);
      g_assert_cmpint (observer->removed->len, ==, round);
      g_assert_cmpint (observer->checkpoints->len, ==, round);
    }
  remove_tree (workspace);
}

/* What a killed process left half-written goes, and so do files of steps that were taken back. */
static void
test_leftovers (void)
{
  g_autofree char *workspace = g_dir_make_tmp ("gradus-checkpoint-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (workspace, "checkpoints", "run", NULL);
  g_autofree char *part = g_build_filename (folder, "step-7.safetensors.part", NULL);
  g_autofree char *other = g_build_filename (folder, "notes.txt", NULL);
  g_autofree char *late = file_of (workspace, 9);
  g_autofree char *early = file_of (workspace, 3);
  g_autoptr (GError) error = NULL;
  GradusCheckpointWriter *writer;

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_file_set_contents (part, "x", 1, NULL);
  g_file_set_contents (other, "x", 1, NULL);
  g_file_set_contents (late, "x", 1, NULL);
  g_file_set_contents (early, "x", 1, NULL);
  writer = gradus_checkpoint_writer_new (workspace, "checkpoints/run", NULL, 3, 16, 5, &error);
  g_assert_no_error (error);
  gradus_checkpoint_writer_free (writer);
  g_assert_false (g_file_test (part, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (late, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (early, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (other, G_FILE_TEST_EXISTS));
  remove_tree (workspace);
}

int
main (int argc, char **argv)
{
  setlocale (LC_ALL, "");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/checkpoint/retention", test_retention);
  g_test_add_func ("/checkpoint/contents", test_contents);
  g_test_add_func ("/checkpoint/damage", test_damage);
  g_test_add_func ("/checkpoint/hostile", test_hostile);
  g_test_add_func ("/checkpoint/foreign", test_foreign);
  g_test_add_func ("/checkpoint/other-model", test_other_model);
  g_test_add_func ("/checkpoint/full-disk", test_full_disk);
  g_test_add_func ("/checkpoint/stop-on-full-disk", test_stop_on_full_disk);
  g_test_add_func ("/checkpoint/rewrite-on-full-disk", test_rewrite_on_full_disk);
  g_test_add_func ("/checkpoint/leftovers", test_leftovers);
  return g_test_run ();
}
