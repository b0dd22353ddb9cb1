/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-device.h"
#include "gradus-cli.h"
#include "gradus-json.h"
#include "gradus-machine.h"
#include "gradus-model-reference.h"
#include "gradus-session.h"
#include "log/gradus-run.h"
#include "log/gradus-workspace.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void
say (const char *label, const char *value)
{
  guint width = gradus_cli_width (label);

  g_print ("%s%*s%s\n", label, width < 18 ? (int)(18 - width) : 1, "", value);
}

static const char *
text_of (JsonObject *object, const char *key)
{
  return json_object_get_string_member_with_default (object, key, "-");
}

static void
say_versions (JsonObject *machine)
{
  say ("Gradus", GRADUS_VERSION);
  say ("oneDNN", text_of (machine, "onednn"));
  say ("OpenBLAS", text_of (machine, "openblas"));
  say ("SQLite", gradus_workspace_sqlite_version ());
  say (_ ("System"), text_of (machine, "system"));
}

static void
say_processor (JsonObject *machine)
{
  g_autofree char *cores = g_strdup_printf ("%d", (int)g_get_num_processors ());

  say (_ ("Processor"), text_of (machine, "cpu"));
  say (_ ("Cores"), cores);
  say (_ ("Instructions"), text_of (machine, "instruction_set"));
}

static void
say_memory (void)
{
  gboolean         by_group = FALSE;
  g_autofree char *total = gradus_cli_size (gradus_machine_total_memory ());
  g_autofree char *available = gradus_cli_size (gradus_machine_free_memory (&by_group));
  g_autofree char *text =
      by_group
          ? g_strdup_printf (_ ("%s free of %s (limited by the control group)"), available, total)
          : g_strdup_printf (_ ("%s free of %s"), available, total);

  say (_ ("Memory"), text);
}

/* "2 threads, avx512; oneDNN 2.6.3 (avx512_core_amx), OpenBLAS (Zen)" */
static char *
describe_cpu (GradusDevice *cpu)
{
  g_autofree char *text = cpu->funcs->describe (cpu);
  g_autoptr (JsonNode) node = text != NULL ? gradus_json_parse (text, -1, NULL, NULL) : NULL;
  JsonObject *object = NULL;
  int         threads = 0;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return g_strdup (_ ("ready"));
  object = json_node_get_object (node);
  threads = (int)json_object_get_int_member_with_default (object, "threads", 1);
  return g_strdup_printf (
      g_dngettext (GETTEXT_PACKAGE, "%d thread, %s; providers oneDNN (%s) and OpenBLAS (%s)",
                   "%d threads, %s; providers oneDNN (%s) and OpenBLAS (%s)", threads),
      threads, text_of (object, "isa"), text_of (object, "onednn_isa"),
      text_of (object, "openblas_core"));
}

static gboolean
say_devices (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) cpu = gradus_device_open ("cpu", 0, &error);
  g_autofree char *why = gradus_machine_why_no_gpu ();
  g_autofree char *described = cpu != NULL ? describe_cpu (cpu) : g_strdup (error->message);

  say (_ ("Device cpu"), described);
  say (_ ("Device cuda"), why);
  return cpu != NULL;
}

static gint64
folder_bytes (const char *path)
{
  g_autoptr (GFile) folder = g_file_new_for_path (path);
  guint64 bytes = 0;

  g_file_measure_disk_usage (folder, G_FILE_MEASURE_NONE, NULL, NULL, NULL, &bytes, NULL, NULL,
                             NULL);
  return (gint64)bytes;
}

static gboolean
say_workspace (const char *folder)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = folder != NULL ? g_strdup (folder) : gradus_workspace_default_path ();
  g_autoptr (GradusWorkspace) workspace = NULL;
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GPtrArray) runs = NULL;
  g_autofree char *size = NULL;
  g_autofree char *text = NULL;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    {
      text = g_strdup_printf (_ ("%s (will be made by the first run)"), path);
      say (_ ("Workspace"), text);
      return TRUE;
    }
  workspace = gradus_workspace_open (folder, 0, &error);
  reader = workspace != NULL ? gradus_log_reader_new (workspace, &error) : NULL;
  runs = reader != NULL ? gradus_log_reader_runs (reader, &error) : NULL;
  if (runs == NULL)
    {
      say (_ ("Workspace"), error->message);
      return g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
    }
  size = gradus_cli_size (folder_bytes (path));
  text = g_strdup_printf (
      g_dngettext (GETTEXT_PACKAGE, "%s: %u run, %s", "%s: %u runs, %s", runs->len),
      gradus_workspace_path (workspace), runs->len, size);
  say (_ ("Workspace"), text);
  if (gradus_workspace_read_only_reason (workspace) != NULL)
    say ("", gradus_workspace_read_only_reason (workspace));
  return TRUE;
}

/* doctor --train ------------------------------------------------------------------------------ */

/* One neuron on y = 3x + 2. */
static const char line_recipe[] =
    "{\"name\": \"doctor\", \"seed\": 1,"
    " \"data\": {\"train\": {\"type\": \"generator\", \"generator\": \"line\", \"samples\": 1024,"
    "   \"noise\": 0.05}, \"validation\": {\"split\": 0.125},"
    "   \"pipeline\": [{\"cache\": \"memory\"}, {\"shuffle\": true}, {\"batch\": 32},"
    "                  {\"prefetch\": \"auto\"}]},"
    " \"model\": {\"class_name\": \"Sequential\", \"config\": {\"name\": \"line\", \"layers\": ["
    "   {\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 1],"
    "     \"dtype\": \"float32\", \"name\": \"x\"}},"
    "   {\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 1}}]}},"
    " \"compile\": {\"optimizer\": {\"class_name\": \"SGD\","
    "   \"config\": {\"learning_rate\": 0.1}}, \"loss\": \"mean_squared_error\"},"
    " \"fit\": {\"epochs\": 20}}";

typedef struct
{
  GradusRunStatus status;
  char           *message;
} Ending;

static void
on_ended (const char *uuid, GradusRunStatus status, const GError *error, gpointer data)
{
  Ending *ending = data;

  ending->status = status;
  ending->message = error != NULL ? g_strdup (error->message) : NULL;
}

static gboolean
report (gboolean fine, const char *what, const char *detail)
{
  g_print ("%s %s%s%s\n", fine ? "✓" : "✗", what, detail != NULL ? ": " : "",
           detail != NULL ? detail : "");
  return fine;
}

static float
scalar_tensor (GradusCheckpoint *checkpoint, const char *name)
{
  for (guint i = 0; i < gradus_checkpoint_n_tensors (checkpoint); i++)
    {
      const GradusTensorView *view = gradus_checkpoint_tensor (checkpoint, i);

      if (g_str_equal (view->name, name) && view->bytes == sizeof (float))
        {
          float value = 0;

          memcpy (&value, view->data, sizeof value);
          return value;
        }
    }
  return NAN;
}

/* What was learnt must be in the checkpoint, and the way there in the log. */
static gboolean
check_learnt (GradusWorkspace *workspace, const char *uuid)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (workspace, &error);
  gint64 run = reader != NULL ? gradus_run_find (workspace, uuid, NULL, &error) : 0;
  g_autoptr (GradusSeriesInfo) loss =
      run != 0 ? gradus_log_reader_find_series (reader, run, "train/loss", &error) : NULL;
  g_autoptr (GradusCheckpoint) checkpoint = NULL;
  g_autofree char *detail = NULL;
  double           slope = NAN;
  double           offset = NAN;

  if (!report (loss != NULL && loss->count > 0, _ ("The log has the curve"),
               error != NULL ? error->message : NULL))
    return FALSE;
  checkpoint = gradus_model_reference_open (gradus_workspace_path (workspace), uuid, NULL, &error);
  if (!report (checkpoint != NULL, _ ("The checkpoint can be read"),
               error != NULL ? error->message : NULL))
    return FALSE;
  slope = scalar_tensor (checkpoint, "dense/kernel");
  offset = scalar_tensor (checkpoint, "dense/bias");
  detail = g_strdup_printf ("y = %.3f x + %.3f", slope, offset);
  return report (fabs (slope - 3) < 0.05 && fabs (offset - 2) < 0.05, _ ("The line was learnt"),
                 detail);
}

static gboolean
train_line (const char *folder)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = gradus_recipe_parse (line_recipe, NULL, "doctor.json", &error);
  g_autoptr (GradusSession) session = recipe != NULL ? gradus_session_new (folder, &error) : NULL;
  g_autofree char *uuid = NULL;
  Ending           ending = { GRADUS_RUN_FAILED, NULL };
  gint64           start = g_get_monotonic_time ();
  g_autofree char *detail = NULL;
  gboolean         fine = FALSE;

  if (!report (session != NULL, _ ("A workspace can be made"),
               error != NULL ? error->message : NULL))
    return FALSE;
  gradus_session_set_listener (session, &(GradusSessionListener){ .ended = on_ended }, &ending);
  uuid = gradus_session_submit (session, recipe, &error);
  if (!report (uuid != NULL, _ ("A run can be made"), error != NULL ? error->message : NULL))
    return FALSE;
  gradus_session_wait (session);
  detail = ending.message != NULL
               ? g_steal_pointer (&ending.message)
               : g_strdup_printf ("%.2f s", (double)(g_get_monotonic_time () - start) / 1e6);
  fine = report (ending.status == GRADUS_RUN_FINISHED, _ ("The run finished"), detail)
         && check_learnt (gradus_session_get_workspace (session), uuid);
  gradus_session_close (session);
  return fine;
}

static void
remove_folder (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name = NULL;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR) && !g_file_test (child, G_FILE_TEST_IS_SYMLINK))
        remove_folder (child);
      else
        unlink (child);
    }
  rmdir (path);
}

static gboolean
try_training (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("gradus-doctor-XXXXXX", &error);
  gboolean         fine = FALSE;

  g_print ("\n%s\n", _ ("Learning y = 3x + 2:"));
  if (folder == NULL)
    return report (FALSE, _ ("A workspace can be made"), error->message);
  fine = train_line (folder);
  remove_folder (folder);
  g_print ("%s\n", fine ? _ ("Everything works.") : _ ("Something does not work; see above."));
  return fine;
}

int
gradus_cli_doctor (int argc, char **argv)
{
  g_autofree char   *folder = NULL;
  gboolean           train = FALSE;
  const GOptionEntry entries[] = {
    { "train", 0, 0, G_OPTION_ARG_NONE, &train,
      N_ ("Also learn y = 3x + 2 in a workspace of its own and say whether the whole path works"),
      NULL },
    { "workspace", 0, 0, G_OPTION_ARG_FILENAME, &folder, N_ ("Folder of the log"), N_ ("DIR") },
    { NULL },
  };
  g_autoptr (JsonObject) machine = NULL;
  gboolean fine = TRUE;

  if (!gradus_cli_parse (
          &argc, &argv, entries, NULL, 0, 0,
          _ ("Says what this machine has, and with --train whether everything works."), NULL))
    return GRADUS_CLI_REFUSED;
  machine = gradus_machine_describe ();
  say_versions (machine);
  say_processor (machine);
  say_memory ();
  fine = say_devices ();
  fine = say_workspace (folder) && fine;
  if (train)
    fine = try_training () && fine;
  return fine ? GRADUS_CLI_DONE : GRADUS_CLI_FAILED;
}
