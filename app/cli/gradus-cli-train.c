/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cli.h"
#include "gradus-json.h"
#include "gradus-preparation.h"
#include "gradus-progress.h"
#include "gradus-translate.h"
#include "log/gradus-run.h"

#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Of a number; a negative one that is given is refused, not passed over. */
#define NOT_GIVEN G_MININT

typedef struct
{
  char    *workspace;
  GStrv    assignments;
  gint64   seed;
  char    *device;
  int      threads;
  char    *resume;
  gboolean quiet;
  gboolean json;
} Options;

typedef struct
{
  GradusSession      *session;
  GradusProgressLine *line;
  GMainLoop          *loop;
  int                 interrupts;
  /* Written by the session's thread before the loop is told to end. */
  GradusRunStatus status;
  char           *message;
} Train;

/* Listening ---------------------------------------------------------------------------------- */

static JsonObject *
event_object (const char *event, const char *uuid)
{
  JsonObject *object = json_object_new ();

  json_object_set_string_member (object, "event", event);
  json_object_set_string_member (object, "run", uuid);
  return object;
}

static void
on_epoch (const GradusProgress *progress, gpointer data)
{
  Train *train = data;

  gradus_progress_line_epoch (train->line, progress);
}

/* The sentence that says why, where there is one; free with g_free. */
static char *
cause_of (const char *details)
{
  g_autoptr (JsonNode) node = details != NULL ? gradus_json_parse (details, -1, NULL, NULL) : NULL;
  const char *cause = NULL;

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    cause = json_object_get_string_member_with_default (json_node_get_object (node), "cause", NULL);
  return cause != NULL && strchr (cause, ' ') != NULL ? g_strdup (cause) : NULL;
}

static void
on_event (const char    *uuid,
          gint64         step,
          GradusSeverity severity,
          const char    *message,
          const char    *details,
          gpointer       data)
{
  Train           *train = data;
  const char      *title = severity == GRADUS_SEVERITY_ERROR     ? _ ("Error:")
                           : severity == GRADUS_SEVERITY_WARNING ? _ ("Warning:")
                                                                 : _ ("Note:");
  g_autofree char *cause = cause_of (details);
  g_autofree char *text =
      g_strconcat (title, " ", gradus_translate (message), cause != NULL ? " " : NULL, cause != NULL ? gradus_translate (cause) : NULL, NULL);
  g_autoptr (JsonObject) object = event_object ("event", uuid);

  json_object_set_int_member (object, "step", step);
  json_object_set_string_member (object, "severity", gradus_severity_name (severity));
  json_object_set_string_member (object, "message", message);
  if (cause != NULL)
    json_object_set_string_member (object, "cause", cause);
  gradus_progress_line_say (train->line, text, object);
}

static gboolean
quit_cb (gpointer data)
{
  g_main_loop_quit (data);
  return G_SOURCE_REMOVE;
}

static void
on_ended (const char *uuid, GradusRunStatus status, const GError *error, gpointer data)
{
  Train *train = data;

  train->status = status;
  train->message = error != NULL ? g_strdup (error->message) : NULL;
  g_idle_add (quit_cb, train->loop);
}

/* The main loop ------------------------------------------------------------------------------ */

static gboolean
update_cb (gpointer data)
{
  Train         *train = data;
  GradusProgress progress;

  if (gradus_session_get_progress (train->session, &progress))
    gradus_progress_line_update (train->line, &progress);
  return G_SOURCE_CONTINUE;
}

/* GLib's signal sources start a thread, and end the process where none can be started. */
static int signal_pipe[2] = { -1, -1 };

static void
on_signal (int number)
{
  int     saved = errno;
  ssize_t written = write (signal_pipe[1], "", 1);

  (void)written;
  errno = saved;
}

static gboolean
interrupt_cb (int fd, GIOCondition condition, gpointer data)
{
  Train *train = data;
  char   byte = 0;

  if (read (fd, &byte, 1) != 1)
    return G_SOURCE_CONTINUE;
  if (++train->interrupts > 1)
    {
      gradus_progress_line_clear (train->line);
      /* Everything but the last moment is in the log; the run is shown as interrupted. */
      _exit (GRADUS_CLI_FAILED);
    }
  gradus_progress_line_say (train->line,
                            _ ("Stopping after this step and keeping the run. Once more to quit at "
                               "once."),
                            NULL);
  gradus_session_stop (train->session);
  return G_SOURCE_CONTINUE;
}

static void
wait_for_end (Train *train)
{
  guint update = gradus_cli_terminal_width () > 0 ? g_timeout_add (100, update_cb, train) : 0;
  static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
  struct sigaction before[G_N_ELEMENTS (signals)];
  guint            interrupt = 0;
  gboolean         heard = g_unix_open_pipe (signal_pipe, FD_CLOEXEC, NULL)
                   && g_unix_set_fd_nonblocking (signal_pipe[0], TRUE, NULL)
                   && g_unix_set_fd_nonblocking (signal_pipe[1], TRUE, NULL);

  /* Without a pipe a signal ends the process, and the log shows the run as interrupted. */
  if (heard)
    {
      interrupt = g_unix_fd_add (signal_pipe[0], G_IO_IN, interrupt_cb, train);
      for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
        sigaction (signals[i], &action, &before[i]);
    }
  g_main_loop_run (train->loop);
  if (update != 0)
    g_source_remove (update);
  if (heard)
    {
      for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
        sigaction (signals[i], &before[i], NULL);
      g_source_remove (interrupt);
    }
  gradus_progress_line_clear (train->line);
}

/* The end ------------------------------------------------------------------------------------ */

static char *
last_checkpoint (GradusWorkspace *workspace, GradusLogReader *reader, gint64 run)
{
  g_autoptr (GPtrArray) rows = gradus_log_reader_checkpoints (reader, run, NULL);
  GradusLogCheckpoint *last = NULL;

  if (rows == NULL || rows->len == 0)
    return NULL;
  last = g_ptr_array_index (rows, rows->len - 1);
  return gradus_workspace_resolve (workspace, last->path);
}

static char *
labelled (const char *label, const char *value)
{
  guint width = gradus_cli_width (label);

  return g_strdup_printf ("%s%*s%s", label, width < 22 ? (int)(22 - width) : 1, "", value);
}

static void
say_value (Train *train, JsonObject *object, const char *key, const char *label, double value)
{
  g_autofree char *number = NULL;
  g_autofree char *text = NULL;

  if (isnan (value))
    return;
  number = gradus_cli_number (value);
  text = labelled (label, number);
  json_object_set_double_member (object, key, value);
  gradus_progress_line_say (train->line, text, NULL);
}

static void
say_text (Train *train, JsonObject *object, const char *key, const char *label, const char *value)
{
  g_autofree char *text = labelled (label, value);

  json_object_set_string_member (object, key, value);
  gradus_progress_line_say (train->line, text, NULL);
}

/* The command that resumes the run, for the shell. */
static void
say_how_to_go_on (Train *train, gint64 run)
{
  const char *path = gradus_workspace_path (gradus_session_get_workspace (train->session));
  g_autofree char *usual = gradus_workspace_default_path ();
  g_autofree char *quoted = g_shell_quote (path);
  g_autoptr (GString) command = g_string_new (NULL);
  g_autofree char *text = NULL;

  g_string_printf (command, "gradus-cli train --resume %" G_GINT64_FORMAT, run);
  if (!g_str_equal (path, usual))
    g_string_append_printf (command, " --workspace %s", quoted);
  text = labelled (_ ("Go on with:"), command->str);
  gradus_progress_line_say (train->line, text, NULL);
}

/* Names the run, what it reached, its log and its checkpoint. */
static void
report (Train *train, const char *uuid)
{
  GradusWorkspace *workspace = gradus_session_get_workspace (train->session);
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (workspace, NULL);
  g_autoptr (GradusRunInfo) info = NULL;
  g_autoptr (JsonObject) object = event_object ("ended", uuid);
  g_autofree char *checkpoint = NULL;
  gint64           run = gradus_run_find (workspace, uuid, NULL, NULL);

  json_object_set_string_member (object, "status", gradus_run_status_name (train->status));
  if (train->message != NULL)
    json_object_set_string_member (object, "message", train->message);
  info = reader != NULL && run != 0 ? gradus_log_reader_run (reader, run, NULL) : NULL;
  if (info == NULL)
    {
      /* The log may be what failed. */
      gradus_progress_line_say (train->line, NULL, object);
      return;
    }
  {
    g_autofree char *name = g_strdup_printf ("%s (#%" G_GINT64_FORMAT "), %s", info->name, run,
                                             gradus_cli_status (train->status));

    say_text (train, object, "name", _ ("Run:"), name);
    json_object_set_string_member (object, "name", info->name);
  }
  say_value (train, object, "test_accuracy", _ ("Test accuracy:"), info->test_accuracy);
  say_value (train, object, "test_loss", _ ("Test loss:"), info->test_loss);
  say_value (train, object, "validation_accuracy", _ ("Validation accuracy:"),
             info->validation_accuracy);
  say_value (train, object, "validation_loss", _ ("Validation loss:"), info->validation_loss);
  say_text (train, object, "log", _ ("Log:"), gradus_workspace_log_path (workspace));
  checkpoint = last_checkpoint (workspace, reader, run);
  if (checkpoint != NULL)
    say_text (train, object, "checkpoint", _ ("Checkpoint:"), checkpoint);
  if (train->status == GRADUS_RUN_STOPPED)
    say_how_to_go_on (train, run);
  gradus_progress_line_say (train->line, NULL, object);
}

/* The start ---------------------------------------------------------------------------------- */

static gboolean
apply_options (GradusRecipe *recipe, const Options *options, GError **error)
{
  for (guint i = 0; options->assignments != NULL && options->assignments[i] != NULL; i++)
    if (!gradus_recipe_assign (recipe, options->assignments[i], error))
      return FALSE;
  return (options->seed == NOT_GIVEN || gradus_recipe_set_int (recipe, "seed", options->seed, error))
         && (options->threads == NOT_GIVEN
             || gradus_recipe_set_int (recipe, "fit.threads", options->threads, error))
         && (options->device == NULL
             || gradus_recipe_set_string (recipe, "fit.device", options->device, error));
}

/* What is wrong with data, model or memory is refused before there is a run. */
static gboolean
check_recipe (GradusRecipe *recipe, GError **error)
{
  g_autoptr (GradusPreparation) trial = gradus_preparation_new (recipe, NULL, error);

  return trial != NULL && gradus_preparation_check_memory (trial, error);
}

/* The options that change a stored recipe, as assignments. */
static char **
resume_assignments (const Options *options)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  if (options->assignments != NULL)
    g_strv_builder_addv (builder, (const char **)options->assignments);
  if (options->threads != NOT_GIVEN)
    {
      g_autofree char *threads = g_strdup_printf ("fit.threads=%d", options->threads);

      g_strv_builder_add (builder, threads);
    }
  if (options->device != NULL)
    {
      g_autofree char *device = g_strdup_printf ("fit.device=%s", options->device);

      g_strv_builder_add (builder, device);
    }
  return g_strv_builder_end (builder);
}

static char *
start (Train *train, const Options *options, const char *path, GError **error)
{
  g_autoptr (GradusRecipe) recipe = NULL;
  g_auto (GStrv) assignments = NULL;

  if (path != NULL)
    {
      recipe = gradus_recipe_load (path, error);
      if (recipe == NULL || !apply_options (recipe, options, error)
          || !check_recipe (recipe, error))
        return NULL;
    }
  train->session = gradus_session_new (options->workspace, error);
  if (train->session == NULL)
    return NULL;
  gradus_session_set_listener (
      train->session,
      &(GradusSessionListener){ .epoch = on_epoch, .event = on_event, .ended = on_ended }, train);
  if (path != NULL)
    return gradus_session_submit (train->session, recipe, error);
  assignments = resume_assignments (options);
  /* Refused, the run stays what it was. */
  if (!gradus_session_check_resume (train->session, options->resume,
                                    (const char *const *)assignments, error))
    return NULL;
  return gradus_session_resume (train->session, options->resume, (const char *const *)assignments,
                                error);
}

static int
run (Train *train, const Options *options, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *uuid = start (train, options, path, &error);
  g_autoptr (JsonObject) object = NULL;

  if (uuid == NULL)
    return gradus_cli_refuse (error);
  object = event_object ("started", uuid);
  gradus_progress_line_say (train->line, NULL, object);
  wait_for_end (train);
  report (train, uuid);
  if (train->status == GRADUS_RUN_FAILED)
    {
      gradus_cli_complain ("%s", train->message != NULL ? train->message : _ ("The run failed."));
      return GRADUS_CLI_FAILED;
    }
  return GRADUS_CLI_DONE;
}

int
gradus_cli_train (int argc, char **argv)
{
  Options            options = { .seed = NOT_GIVEN, .threads = NOT_GIVEN };
  const GOptionEntry entries[] = {
    { "workspace", 0, 0, G_OPTION_ARG_FILENAME, &options.workspace,
      N_ ("Folder of the log and the checkpoints"), N_ ("DIR") },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.assignments,
      N_ ("Set a value of the recipe, such as fit.epochs=3"), N_ ("PATH=VALUE") },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &options.seed, N_ ("What everything random is drawn from"),
      N_ ("N") },
    { "device", 0, 0, G_OPTION_ARG_STRING, &options.device, N_ ("Where to compute: cpu"),
      N_ ("DEVICE") },
    { "threads", 0, 0, G_OPTION_ARG_INT, &options.threads,
      N_ ("Worker threads; the result does not depend on it"), N_ ("N") },
    { "resume", 0, 0, G_OPTION_ARG_STRING, &options.resume,
      N_ ("Go on with a stopped or interrupted run"), N_ ("RUN") },
    { "quiet", 0, 0, G_OPTION_ARG_NONE, &options.quiet, N_ ("Say only how it ended"), NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("Print JSON, an object a line"), NULL },
    { NULL },
  };
  Train train = { .status = GRADUS_RUN_FAILED };
  int   result = GRADUS_CLI_REFUSED;

  if (!gradus_cli_parse (&argc, &argv, entries, "RECIPE.json", 0, 1,
                         _ ("Trains the model of a recipe and keeps curves, checkpoints and events "
                            "in the workspace's log."),
                         _ ("Ctrl+C stops after the step in progress and keeps the run; once more "
                            "quits at once.")))
    return GRADUS_CLI_REFUSED;
  if ((argc > 1) == (options.resume != NULL))
    gradus_cli_complain (_ ("Name either a recipe, or with --resume a run."));
  else if (options.quiet && options.json)
    gradus_cli_complain (_ ("--quiet and --json exclude each other."));
  else if (options.resume != NULL && options.seed != NOT_GIVEN)
    gradus_cli_complain (_ ("A run that goes on keeps its seed; leave --seed out."));
  else
    {
      train.line = gradus_progress_line_new (options.json    ? GRADUS_PROGRESS_JSON
                                             : options.quiet ? GRADUS_PROGRESS_QUIET
                                                             : GRADUS_PROGRESS_PLAIN);
      train.loop = g_main_loop_new (NULL, FALSE);
      result = run (&train, &options, argc > 1 ? argv[1] : NULL);
      g_clear_object (&train.session);
      g_main_loop_unref (train.loop);
      gradus_progress_line_free (train.line);
    }
  g_free (train.message);
  g_free (options.workspace);
  g_strfreev (options.assignments);
  g_free (options.device);
  g_free (options.resume);
  return result;
}
