/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "app-fixture.h"
#include "gradus-json.h"
#include "gradus-npy.h"

#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>

static const char *program;
static char       *folder;
/* How often a run is killed. */
static guint n_kills = 5;

typedef struct
{
  int   status;
  char *out;
  char *err;
} Result;

static void
result_clear (Result *result)
{
  g_free (result->out);
  g_free (result->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Result, result_clear)

static GSubprocess *
spawn (GSubprocessFlags flags, const char *locale, const char *const *arguments)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (flags);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  GSubprocess *process = NULL;

  g_subprocess_launcher_setenv (launcher, "LC_ALL", locale, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", folder, TRUE);
  g_ptr_array_add (argv, (char *)program);
  for (guint i = 0; arguments[i] != NULL; i++)
    g_ptr_array_add (argv, (char *)arguments[i]);
  g_ptr_array_add (argv, NULL);
  process = g_subprocess_launcher_spawnv (launcher, (const char *const *)argv->pdata, &error);
  g_assert_no_error (error);
  return process;
}

static Result
run_in (const char *locale, const char *const *arguments)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) process =
      spawn (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, locale, arguments);
  Result result = { 0 };

  g_subprocess_communicate_utf8 (process, NULL, NULL, &result.out, &result.err, &error);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_get_if_exited (process));
  result.status = g_subprocess_get_exit_status (process);
  if (*result.err != '\0')
    g_test_message ("%s", g_strchomp (result.err));
  return result;
}

#define RUN(...) run_in ("C.UTF-8", (const char *const[]){ __VA_ARGS__, NULL })

static char *
example (const char *name)
{
  return g_build_filename (GRADUS_SOURCE_RESOURCES, "examples", name, NULL);
}

static char *
file_with (const char *name, const char *text)
{
  char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return path;
}

/* ---------------------------------------------------------------------------------------------- */

static void
test_help (void)
{
  static const char *const commands[] = { "train",  "runs",  "evaluate", "infer",
                                          "export", "check", "bench",    "doctor" };
  g_auto (Result) all = RUN ("--help");
  g_auto (Result) none = RUN ("trian");

  g_assert_cmpint (all.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_auto (Result) one = RUN (commands[i], "--help");

      g_assert_cmpint (one.status, ==, 0);
      g_assert_nonnull (strstr (one.out, commands[i]));
      g_assert_nonnull (strstr (all.out, commands[i]));
    }
  g_assert_cmpint (none.status, ==, 2);
  g_assert_nonnull (strstr (none.err, "train"));
}

static void
test_refused (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *broken = file_with ("broken.json", "{\"name\": ");
  g_autofree char *unknown = file_with ("unknown.json", "{\"nmae\": \"x\"}");
  const struct
  {
    const char *arguments[6];
    const char *words[3];
  } cases[] = {
    { { "train", NULL }, { "recipe" } },
    { { "train", "/nowhere.json", NULL }, { "/nowhere.json" } },
    { { "train", broken, NULL }, { "broken.json", "line 1" } },
    { { "train", unknown, NULL }, { "unknown.json", "nmae", "name" } },
    { { "train", line, "--set", "fit.epochs=no", NULL }, { "fit.epochs=no", "/fit/epochs" } },
    { { "train", line, "--set", "fit.epoch=1", NULL }, { "epochs" } },
    { { "train", line, "--device", "cuda", NULL }, { "cuda" } },
    { { "train", line, "--threads", "-1", NULL }, { "/fit/threads", "-1" } },
    { { "train", line, "--seed", "-1", NULL }, { "/seed", "-1" } },
    { { "train", line, "--frobnicate", NULL }, { "frobnicate" } },
    { { "train", line, "another", NULL }, { "another" } },
    { { "train", "--resume", "nobody", NULL }, { "nobody" } },
    { { "train", line, "--quiet", "--json", NULL }, { "--json" } },
    { { "train", line, "--workspace", broken, NULL }, { "broken.json" } },
    { { "runs", "list", "--workspace", "/nowhere", NULL }, { "/nowhere" } },
    { { "runs", "dance", NULL }, { "dance" } },
    { { "runs", "show", "nobody", NULL }, { "nobody" } },
    { { "runs", "delete", "nobody", NULL }, { "nobody" } },
    { { "runs", "export", "nobody", "--to", "tensorboard", NULL }, { "tensorboard", "csv" } },
    { { "runs", "import", "x", NULL }, { "version" } },
    { { "check", "/nowhere.json", NULL }, { "/nowhere.json" } },
    { { "evaluate", "nobody", NULL }, { "--data" } },
    { { "evaluate", "nobody", "--data", line, NULL }, { "nobody" } },
    { { "infer", "nobody", NULL }, { "--input" } },
    { { "export", "nobody", "out", "--to", "onnx", NULL }, { "onnx" } },
    { { "bench", "nothing", NULL }, { "nothing", "cnn" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Result) result = run_in ("C.UTF-8", cases[i].arguments);

      g_assert_cmpint (result.status, ==, 2);
      g_assert_cmpstr (result.out, ==, "");
      g_assert_cmpint (strlen (result.err), >, 0);
      for (guint j = 0; j < 3 && cases[i].words[j] != NULL; j++)
        g_assert_nonnull (strstr (result.err, cases[i].words[j]));
    }
}

/* Data and models that cannot be: refused with file and place, and no run is left behind. */
static void
test_bad_input (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *dense = example ("fashion-dense.json");
  g_autofree char *truncated = file_with ("truncated.idx", "not an idx file");
  g_autofree char *inputs = g_strdup_printf ("data.train.inputs=%s", truncated);
  g_autofree char *workspace = g_build_filename (folder, "bad-input", NULL);
  g_auto (Result) missing =
      RUN ("train", dense, "--workspace", workspace, "--set", "data.train.inputs=/nowhere.gz");
  g_auto (Result) wrong = RUN ("train", dense, "--workspace", workspace, "--set", inputs);
  g_auto (Result) shape = RUN ("train", line, "--workspace", workspace, "--set",
                               "model.config.layers.0.config.batch_shape=[null, 7]");
  g_auto (Result) labels = RUN ("train", dense, "--workspace", workspace, "--set",
                                "model.config.layers.3.config.units=5");
  g_auto (Result) layer = RUN ("train", line, "--workspace", workspace, "--set",
                               "model.config.layers.1.class_name=Denze");
  g_auto (Result) runs = RUN ("runs", "--workspace", workspace);

  g_assert_cmpint (missing.status, ==, 2);
  g_assert_nonnull (strstr (missing.err, "/nowhere.gz"));
  g_assert_cmpint (wrong.status, ==, 2);
  g_assert_nonnull (strstr (wrong.err, "truncated.idx"));
  g_assert_cmpint (shape.status, ==, 2);
  g_assert_nonnull (strstr (shape.err, "7"));
  if (g_file_test ("/usr/share/datasets/fashion-mnist", G_FILE_TEST_IS_DIR))
    {
      g_assert_cmpint (labels.status, ==, 2);
      g_assert_nonnull (strstr (labels.err, "labels-idx1-ubyte.gz"));
    }
  g_assert_cmpint (layer.status, ==, 2);
  g_assert_nonnull (strstr (layer.err, "Dense"));
  /* Not even a workspace was made, and looking for runs makes none. */
  g_assert_cmpint (runs.status, ==, 2);
  g_assert_false (g_file_test (workspace, G_FILE_TEST_EXISTS));
}

/* Runs the program by the shell with its output going to @where; its exit status. */
static int
run_to (const char *arguments, const char *where, char **err)
{
  g_autofree char *command = g_strdup_printf ("exec 2>&1 >%s; exec '%s' %s", where, program, arguments);
  const char      *argv[] = { "bash", "-c", command, NULL };
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autoptr (GSubprocess) process = NULL;

  g_subprocess_launcher_setenv (launcher, "LC_ALL", "C.UTF-8", TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", folder, TRUE);
  process = g_subprocess_launcher_spawnv (launcher, argv, NULL);
  g_assert_true (g_subprocess_communicate_utf8 (process, NULL, NULL, err, NULL, NULL));
  return g_subprocess_get_if_exited (process) ? g_subprocess_get_exit_status (process) : -1;
}

/* What cannot be written is not done, whatever says it; a closed pipe is nothing to speak of. */
static void
test_output (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *workspace = g_build_filename (folder, "output", NULL);
  g_autofree char *train = g_strdup_printf ("train '%s' --workspace '%s'", line, workspace);
  g_autofree char *json = g_strconcat (train, " --json", NULL);
  g_autofree char *quiet = g_strconcat (train, " --quiet", NULL);
  g_autofree char *list = g_strdup_printf ("runs list --workspace '%s'", workspace);
  g_autofree char *show = g_strdup_printf ("runs show '#1' --workspace '%s'", workspace);
  g_autofree char *csv
      = g_strdup_printf ("runs export '#1' - --to csv --workspace '%s'", workspace);
  g_autofree char *delete = g_strdup_printf ("runs delete '#3' --workspace '%s'", workspace);
  g_autofree char *evaluate
      = g_strdup_printf ("evaluate '#1' --data '%s' --workspace '%s'", line, workspace);
  g_autofree char *check = g_strdup_printf ("check '%s'", line);
  const char      *all[] = { train,  json,     quiet, list,       show,        csv,          delete,
                             evaluate, check, "doctor", "--help", "--version", "bench --help" };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      g_autofree char *err = NULL;
      g_autofree char *none = NULL;
      int              status = run_to (all[i], "/dev/full", &err);

      g_test_message ("%s: %d, %s", all[i], status, err);
      g_assert_cmpint (status, >, 0);
      g_assert_nonnull (strstr (err, "gradus-cli"));
      /* The reader is gone before anything is written. */
      if (all[i] == delete)
        continue;
      run_to (all[i], " >(exec true)", &none);
      g_assert_cmpstr (none, ==, "");
    }
}

/* With too little address space, at whatever point it ends, the program says so and never crashes
 * or hangs. */
static void
test_little_memory (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *workspace = g_build_filename (folder, "little-memory", NULL);
  g_autofree char *arguments =
      g_strdup_printf ("train '%s' --workspace '%s' --quiet", line, workspace);
  g_autofree char *whole = NULL;
  g_autofree char *version = NULL;

  g_assert_cmpint (run_to (arguments, "/dev/null", &whole), ==, 0);
  if (run_to ("--version", "/dev/null; ulimit -v 600000", &version) != 0)
    {
      g_test_skip ("this build needs more address space than is given here");
      return;
    }
  for (guint kib = 80000; kib <= 320000; kib += 20000)
    {
      g_autofree char *where = g_strdup_printf ("/dev/null; ulimit -v %u", kib);
      g_autofree char *err = NULL;
      int              status = run_to (arguments, where, &err);

      g_test_message ("%u KiB: %d, %s", kib, status, err);
      /* 127: too little for the libraries themselves. */
      g_assert_cmpint (status, >=, 0);
      if (status != 0 && status != 127)
        g_assert_nonnull (strstr (err, "gradus-cli: "));
    }
}

static JsonObject *
json_line (const char *line)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse (line, -1, "output", &error);

  g_assert_no_error (error);
  return json_node_dup_object (node);
}

static void
test_train_json (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *workspace = g_build_filename (folder, "json", NULL);
  g_auto (Result) result = RUN ("train", line, "--workspace", workspace, "--json", "--set",
                                "fit.epochs=3", "--seed", "7", "--threads", "1");
  g_auto (GStrv) lines = g_strsplit (g_strchomp (result.out), "\n", -1);
  g_autoptr (JsonObject) first = NULL;
  g_autoptr (JsonObject) last = NULL;

  g_assert_cmpint (result.status, ==, 0);
  g_assert_cmpint (g_strv_length (lines), ==, 5);
  first = json_line (lines[0]);
  g_assert_cmpstr (json_object_get_string_member (first, "event"), ==, "started");
  for (guint i = 1; i <= 3; i++)
    {
      g_autoptr (JsonObject) epoch = json_line (lines[i]);

      g_assert_cmpstr (json_object_get_string_member (epoch, "event"), ==, "epoch");
      g_assert_cmpint (json_object_get_int_member (epoch, "epoch"), ==, i);
      g_assert_true (json_object_has_member (epoch, "validation_loss"));
    }
  last = json_line (lines[4]);
  g_assert_cmpstr (json_object_get_string_member (last, "status"), ==, "finished");
  g_assert_true (g_file_test (json_object_get_string_member (last, "log"), G_FILE_TEST_EXISTS));
  g_assert_true (
      g_file_test (json_object_get_string_member (last, "checkpoint"), G_FILE_TEST_EXISTS));
}

/* What a person does with a run, in two languages. */
static void
round_trip (const char *locale, const char *name)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *workspace = g_build_filename (folder, name, NULL);
  g_autofree char *exported = g_build_filename (folder, "model.safetensors", NULL);
  g_autofree char *csv = g_build_filename (folder, "run.csv", NULL);
  g_autofree char *input = g_build_filename (folder, "x.npy", NULL);
  g_autofree char *argument = g_strconcat ("x=", input, NULL);
  g_autofree char *answers = g_build_filename (folder, "answers", NULL);
  g_autofree char *answer = g_build_filename (answers, "dense.npy", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GradusNpy) npy = NULL;
  static const float xs[3] = { 0, 1, -1 };
  GradusShape        shape = gradus_shape (2, G_GINT64_CONSTANT (3), G_GINT64_CONSTANT (1));

#define IN(...) run_in (locale, (const char *const[]){ __VA_ARGS__, NULL })
  g_auto (Result) train = IN ("train", line, "--workspace", workspace, "--set", "fit.epochs=30");
  g_auto (Result) quiet = IN ("train", line, "--workspace", workspace, "--quiet");
  g_auto (Result) list = IN ("runs", "--workspace", workspace);
  g_auto (Result) show = IN ("runs", "show", "line", "--workspace", workspace);
  g_auto (Result) table = IN ("runs", "export", "#1", csv, "--to", "csv", "--workspace", workspace);
  g_auto (Result) evaluate =
      IN ("evaluate", "line", "--data", line, "--json", "--workspace", workspace);
  g_auto (Result) export =
      IN ("export", "line@best", exported, "--to", "safetensors", "--workspace", workspace);
  g_auto (Result) file = IN ("evaluate", exported, "--data", line);

  g_assert_cmpint (train.status, ==, 0);
  g_assert_nonnull (strstr (train.out, "30/30"));
  g_assert_nonnull (strstr (train.out, "runs.sqlite"));
  g_assert_nonnull (strstr (train.out, ".safetensors"));
  g_assert_cmpint (quiet.status, ==, 0);
  g_assert_null (strstr (quiet.out, "20/20"));
  g_assert_cmpint (list.status, ==, 0);
  g_assert_nonnull (strstr (list.out, "line 2"));
  g_assert_cmpint (show.status, ==, 0);
  g_assert_nonnull (strstr (show.out, "train/loss"));
  g_assert_nonnull (strstr (show.out, "status  running"));
  g_assert_nonnull (strstr (show.out, "status  finished"));
  g_assert_cmpint (table.status, ==, 0);
  g_assert_true (g_file_get_contents (csv, &text, NULL, NULL));
  g_assert_true (g_str_has_prefix (text, "series,kind,step,time_ms,value\n"));
  g_assert_nonnull (strstr (text, "\ntrain/loss,scalar,1,"));
  g_assert_cmpint (evaluate.status, ==, 0);
  {
    g_autoptr (JsonObject) result = json_line (g_strchomp (evaluate.out));

    g_assert_cmpfloat (json_object_get_double_member (result, "loss"), <, 0.05);
  }
  g_assert_cmpint (export.status, ==, 0);
  g_assert_cmpint (file.status, ==, 0);

  g_assert_true (gradus_npy_write (input, GRADUS_DTYPE_FLOAT32, &shape, xs, NULL));
  {
    g_auto (Result) infer = IN ("infer", exported, "--input", argument, "--output", answers);
    g_auto (Result) wrong = IN ("infer", exported, "--input", "y=none.npy", "--output", answers);

    g_assert_cmpint (infer.status, ==, 0);
    g_assert_cmpint (wrong.status, ==, 2);
  }
  npy = gradus_npy_read (answer, NULL);
  g_assert_nonnull (npy);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpfloat_with_epsilon (((float *)npy->data)[i], 3 * xs[i] + 2, 0.3);
  {
    g_auto (Result) delete = IN ("runs", "delete", "line 2", "--workspace", workspace);
    g_auto (Result) left = IN ("runs", "--workspace", workspace);

    g_assert_cmpint (delete.status, ==, 0);
    g_assert_null (strstr (left.out, "line 2"));
  }
#undef IN
}

static void
test_round_trip (void)
{
  round_trip ("C.UTF-8", "round-trip");
}

static void
test_chinese (void)
{
  round_trip ("zh_CN.UTF-8", "chinese");
}

static void
test_check (void)
{
  g_autofree char *line = example ("line.json");
  g_auto (Result) result = RUN ("check", line);

  g_assert_cmpint (result.status, ==, 0);
  g_assert_nonnull (strstr (result.out, "Dense"));
  g_assert_nonnull (strstr (result.out, "(None, 1)"));
  g_assert_nonnull (strstr (result.out, "896"));
}

static void
test_doctor (void)
{
  g_auto (Result) plain = RUN ("doctor");
  g_auto (Result) train = RUN ("doctor", "--train");

  g_assert_cmpint (plain.status, ==, 0);
  g_assert_nonnull (strstr (plain.out, "oneDNN"));
  g_assert_nonnull (strstr (plain.out, "cuda"));
  g_assert_cmpint (train.status, ==, 0);
  g_assert_nonnull (strstr (train.out, "y = "));
}

/* Stopping and killing ------------------------------------------------------------------------- */

#define LONG "--set", "data.train.samples=16384", "--set", "checkpoints.every=200"

static GSubprocess *
start_training_with (GSubprocessFlags flags,
                     const char      *workspace,
                     const char      *first,
                     const char      *second)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *epochs = g_strdup_printf ("fit.epochs=%u", 12 * n_kills);
  const char *whole[]
      = { "train", line, "--workspace", workspace, "--quiet", LONG, "--set", epochs, NULL };
  const char *again[] = { "train", first, second, "--workspace", workspace, "--quiet", NULL };

  return spawn (flags, "C.UTF-8", first != NULL ? again : whole);
}

static GSubprocess *
start_training (const char *workspace, const char *first, const char *second)
{
  return start_training_with (G_SUBPROCESS_FLAGS_STDOUT_SILENCE, workspace, first, second);
}

/* A run that cannot go on is refused with what would be right, and stays what it was. */
static void
test_resume_refused (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *workspace = g_build_filename (folder, "resume-refused", NULL);
  static const struct
  {
    const char *run, *assignment, *word;
  } cases[] = {
    { "1", "seed=3", "raise fit.epochs above 20" },
    { "2", "data.train.samples=7", "data" },
    { "2", "data.train.generator=foo", "foo" },
    { "2", "model.config.layers.1.config.units=7", "model" },
    { "2", "fit.device=cuda", "cuda" },
    { "2", "fit.epochs=0", "/fit/epochs" },
    { "2", "fit.epoch=1", "epochs" },
    { "3", "fit.epochs=30", "3" },
  };
  g_auto (Result) whole = RUN ("train", line, "--workspace", workspace, "--quiet");
  g_autoptr (GSubprocess) process = start_training (workspace, NULL, NULL);
  g_autoptr (GradusRunInfo) info = NULL;

  g_assert_cmpint (whole.status, ==, 0);
  g_usleep (700000);
  g_subprocess_send_signal (process, SIGINT);
  g_subprocess_wait (process, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Result) result = RUN ("train", "--resume", cases[i].run, "--workspace", workspace,
                                    "--quiet", "--set", cases[i].assignment);

      g_assert_cmpint (result.status, ==, 2);
      g_assert_nonnull (strstr (result.err, cases[i].word));
    }
  info = app_fixture_run (workspace, "line 2");
  g_assert_cmpint (info->status, ==, GRADUS_RUN_STOPPED);
}

/* The log is taken away under a run: it fails, and says of which file. */
static void
test_lost_log (void)
{
  g_autofree char *line = example ("line.json");
  g_autofree char *workspace = g_build_filename (folder, "lost-log", NULL);
  g_autofree char *log = g_build_filename (workspace, "runs.sqlite", NULL);
  const char *arguments[] = { "train",  line, "--workspace", workspace, "--json", LONG,
                              "--set",  "fit.epochs=100000", NULL };
  g_autoptr (GSubprocess) process =
      spawn (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, "C.UTF-8", arguments);
  g_autofree char *out = NULL, *err = NULL;

  g_usleep (700000);
  g_assert_cmpint (g_unlink (log), ==, 0);
  g_assert_true (g_subprocess_communicate_utf8 (process, NULL, NULL, &out, &err, NULL));
  g_assert_true (g_subprocess_get_if_exited (process));
  g_assert_cmpint (g_subprocess_get_exit_status (process), ==, 1);
  g_assert_nonnull (strstr (out, "\"status\":\"failed\""));
  g_assert_nonnull (strstr (err, log));
  g_assert_nonnull (strstr (err, "removed or replaced"));
}

static void
test_interrupt (void)
{
  g_autofree char *workspace = g_build_filename (folder, "interrupt", NULL);
  g_autoptr (GSubprocess) process =
      start_training_with (G_SUBPROCESS_FLAGS_STDOUT_PIPE, workspace, NULL, NULL);
  g_autoptr (GradusRunInfo) info = NULL;
  g_autofree char *out = NULL;

  g_usleep (700000);
  g_subprocess_send_signal (process, SIGINT);
  g_assert_true (g_subprocess_communicate_utf8 (process, NULL, NULL, &out, NULL, NULL));
  g_assert_nonnull (strstr (out, "gradus-cli train --resume 1 --workspace "));
  g_assert_true (g_subprocess_get_if_exited (process));
  g_assert_cmpint (g_subprocess_get_exit_status (process), ==, 0);
  info = app_fixture_run (workspace, "line");
  g_assert_cmpint (info->status, ==, GRADUS_RUN_STOPPED);
  g_assert_cmpint (info->last_step, >, 0);
}

/* Waits until the log knows of @more steps after @before: by the run's own progress and not by the
 * clock, so that a kill comes under way on any machine. */
static gint64
await_steps (const char *workspace, gint64 before, gint64 more)
{
  g_autofree char *log = g_build_filename (workspace, "runs.sqlite", NULL);
  gint64           until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  while (g_get_monotonic_time () < until)
    {
      if (g_file_test (log, G_FILE_TEST_EXISTS))
        {
          g_autoptr (GradusWorkspace) opened
              = gradus_workspace_open (workspace, GRADUS_WORKSPACE_READ_ONLY, NULL);
          g_autoptr (GradusLogReader) reader
              = opened != NULL ? gradus_log_reader_new (opened, NULL) : NULL;
          g_autoptr (GradusRunInfo) info
              = reader != NULL ? gradus_log_reader_run (reader, 1, NULL) : NULL;

          if (info != NULL && info->status == GRADUS_RUN_RUNNING
              && info->last_step >= before + more)
            return info->last_step;
        }
      g_usleep (5000);
    }
  g_assert_not_reached ();
}

/* Killed under way and resumed each time, the run ends with the bits of a run that was
 * left alone. */
static void
test_kill (void)
{
  g_autofree char *calm = g_build_filename (folder, "calm", NULL);
  g_autofree char *workspace = g_build_filename (folder, "killed", NULL);
  g_autoptr (GSubprocess) whole = start_training (calm, NULL, NULL);
  g_autoptr (GSubprocess) process = NULL;
  gint64 before = 0;

  g_subprocess_wait_check (whole, NULL, NULL);
  process = start_training (workspace, NULL, NULL);
  for (guint i = 0; i < n_kills; i++)
    {
      gint64 step = await_steps (workspace, i == 0 ? 0 : before, 400 + i % 7 * 50);

      g_subprocess_force_exit (process);
      g_subprocess_wait (process, NULL, NULL);
      g_assert_true (g_subprocess_get_if_signaled (process));
      {
        g_autoptr (GradusRunInfo) info = app_fixture_run (workspace, "line");

        g_assert_cmpint (info->status, ==, GRADUS_RUN_INTERRUPTED);
        g_assert_cmpint (info->last_step, >=, step);
        before = info->last_step;
      }
      g_test_message ("killed under way at step %" G_GINT64_FORMAT, before);
      g_clear_object (&process);
      process = start_training (workspace, "--resume", "line");
    }
  g_subprocess_wait (process, NULL, NULL);
  {
    g_autoptr (GradusRunInfo) info = app_fixture_run (workspace, "line");

    g_assert_cmpint (info->status, ==, GRADUS_RUN_FINISHED);
  }
  app_fixture_compare_runs (calm, "line", workspace, "line");
  app_fixture_compare_weights (calm, "line", workspace, "line");
}

int
main (int argc, char **argv)
{
  int result = 0;

  g_test_init (&argc, &argv, NULL);
  program = g_getenv ("GRADUS_CLI");
  g_assert_nonnull (program);
  if (g_getenv ("GRADUS_TEST_KILLS") != NULL)
    n_kills = (guint)g_ascii_strtoull (g_getenv ("GRADUS_TEST_KILLS"), NULL, 10);
  folder = app_fixture_folder ();
  g_test_add_func ("/cli/help", test_help);
  g_test_add_func ("/cli/refused", test_refused);
  g_test_add_func ("/cli/bad-input", test_bad_input);
  g_test_add_func ("/cli/output", test_output);
  g_test_add_func ("/cli/little-memory", test_little_memory);
  g_test_add_func ("/cli/train-json", test_train_json);
  g_test_add_func ("/cli/round-trip", test_round_trip);
  g_test_add_func ("/cli/chinese", test_chinese);
  g_test_add_func ("/cli/check", test_check);
  g_test_add_func ("/cli/doctor", test_doctor);
  g_test_add_func ("/cli/resume-refused", test_resume_refused);
  g_test_add_func ("/cli/lost-log", test_lost_log);
  g_test_add_func ("/cli/interrupt", test_interrupt);
  g_test_add_func ("/cli/kill", test_kill);
  result = g_test_run ();
  app_fixture_remove (folder);
  g_free (folder);
  return result;
}
