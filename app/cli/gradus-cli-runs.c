/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cli.h"
#include "gradus-run-export.h"
#include "gradus-translate.h"
#include "log/gradus-run.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static char *
epochs_text (const GradusRunInfo *info)
{
  g_autofree char *done = g_strdup_printf ("%.0f", floor (info->epochs + 1e-9));

  return info->planned_epochs > 0 ? g_strdup_printf ("%s/%.0f", done, info->planned_epochs)
                                  : g_strdup (done);
}

/* list ---------------------------------------------------------------------------------------- */

static void
add_run (GPtrArray *rows, const GradusRunInfo *info)
{
  g_autofree char *id = g_strdup_printf ("#%" G_GINT64_FORMAT, info->id);
  g_autofree char *epochs = epochs_text (info);
  g_autofree char *loss = gradus_cli_number (info->best_validation_loss);
  g_autofree char *accuracy = gradus_cli_number (info->best_validation_accuracy);
  g_autofree char *test = gradus_cli_number (info->test_accuracy);
  g_autofree char *age = gradus_cli_age (info->created);

  gradus_cli_add_row (rows, id, info->name, gradus_cli_status (info->status), epochs, loss,
                      accuracy, test, age, NULL);
}

static int
list_runs (GradusWorkspace *workspace)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (workspace, &error);
  g_autoptr (GPtrArray) runs = reader != NULL ? gradus_log_reader_runs (reader, &error) : NULL;
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_strfreev);

  if (runs == NULL)
    return gradus_cli_refuse (error);
  if (runs->len == 0)
    {
      g_print (_ ("There are no runs in %s yet.\n"), gradus_workspace_path (workspace));
      return GRADUS_CLI_DONE;
    }
  gradus_cli_add_row (rows, "#", _ ("Name"), _ ("State"), _ ("Epochs"), _ ("Best val. loss"),
                      _ ("Best val. acc."), _ ("Test acc."), _ ("Created"), NULL);
  for (guint i = 0; i < runs->len; i++)
    add_run (rows, g_ptr_array_index (runs, i));
  gradus_cli_table (rows, "rllrrrrl");
  return GRADUS_CLI_DONE;
}

/* show ---------------------------------------------------------------------------------------- */

static void
show_series (GradusLogReader *reader, gint64 run)
{
  g_autoptr (GPtrArray) series = gradus_log_reader_series (reader, run, NULL);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_strfreev);

  if (series == NULL || series->len == 0)
    return;
  gradus_cli_add_row (rows, _ ("Series"), _ ("Kind"), _ ("Records"), _ ("Last"),
                      _ ("Minimum"), _ ("Maximum"), NULL);
  for (guint i = 0; i < series->len; i++)
    {
      GradusSeriesInfo *info = g_ptr_array_index (series, i);
      g_autofree char  *count = g_strdup_printf ("%" G_GINT64_FORMAT, info->count);
      g_autofree char  *last = gradus_cli_number (info->last_value);
      g_autofree char  *min = gradus_cli_number (info->min);
      g_autofree char  *max = gradus_cli_number (info->max);

      gradus_cli_add_row (rows, info->name, gradus_series_kind_name (info->kind), count, last,
                          min, max, NULL);
    }
  g_print ("\n");
  gradus_cli_table (rows, "llrrrr");
}

static void
show_checkpoints (GradusLogReader *reader, GradusWorkspace *workspace, gint64 run)
{
  g_autoptr (GPtrArray) list = gradus_log_reader_checkpoints (reader, run, NULL);

  if (list == NULL || list->len == 0)
    return;
  g_print ("\n%s\n", _ ("Checkpoints:"));
  for (guint i = 0; i < list->len; i++)
    {
      GradusLogCheckpoint *row = g_ptr_array_index (list, i);
      g_autofree char     *size = gradus_cli_size (row->bytes);
      g_autofree char     *path = gradus_workspace_resolve (workspace, row->path);

      g_print ("  ");
      g_print (_ ("step %" PRId64), row->step);
      g_print ("  %s  %s%s\n", size, path, row->best ? _ ("  (best)") : "");
    }
}

static const char *
event_word (GradusEventKind kind)
{
  switch (kind)
    {
    case GRADUS_EVENT_FINDING:
      return _ ("finding");
    case GRADUS_EVENT_INTERVENTION:
      return _ ("intervention");
    case GRADUS_EVENT_CHECKPOINT:
      return _ ("checkpoint");
    case GRADUS_EVENT_STATUS:
      return _ ("status");
    case GRADUS_EVENT_MESSAGE:
      return _ ("message");
    }
  return "";
}

/* A change of status has the new status for its subject and no message. */
static const char *
event_text (const GradusLogEvent *event)
{
  GradusRunStatus status = 0;

  if (*event->message != '\0')
    return gradus_translate (event->message);
  if (event->kind == GRADUS_EVENT_STATUS && gradus_run_status_from_name (event->subject, &status))
    return gradus_cli_status (status);
  return event->subject;
}

static void
show_events (GradusLogReader *reader, gint64 run)
{
  g_autoptr (GPtrArray) list = gradus_log_reader_events (reader, run, 0, NULL);

  if (list == NULL || list->len == 0)
    return;
  g_print ("\n%s\n", _ ("Events:"));
  for (guint i = 0; i < list->len; i++)
    {
      GradusLogEvent *event = g_ptr_array_index (list, i);

      g_print ("  ");
      g_print (_ ("step %" PRId64), event->step);
      g_print ("  %s  %s\n", event_word (event->kind), event_text (event));
    }
}

static void
show_line (const char *label, const char *value)
{
  if (value != NULL && *value != '\0')
    g_print ("%s %s\n", label, value);
}

static void
show_value (const char *label, double value)
{
  g_autofree char *number = gradus_cli_number (value);

  if (!isnan (value))
    g_print ("%s %s\n", label, number);
}

static int
show_run (GradusWorkspace *workspace, const char *reference)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GradusRunInfo) info = NULL;
  g_autofree char *age = NULL;
  g_autofree char *epochs = NULL;
  gint64           run = gradus_run_find (workspace, reference, NULL, &error);

  if (run == 0)
    return gradus_cli_refuse (error);
  reader = gradus_log_reader_new (workspace, &error);
  info = reader != NULL ? gradus_log_reader_run (reader, run, &error) : NULL;
  if (info == NULL)
    return gradus_cli_refuse (error);
  age = gradus_cli_age (info->created);
  epochs = epochs_text (info);
  g_print ("%s (#%" G_GINT64_FORMAT ", %s)\n", info->name, info->id, info->uuid);
  show_line (_ ("State:"), gradus_cli_status (info->status));
  show_line (_ ("Created:"), age);
  show_line (_ ("Epochs:"), epochs);
  g_print ("%s %" G_GINT64_FORMAT "\n", _ ("Steps:"), info->last_step);
  g_print ("%s %" G_GINT64_FORMAT "\n", _ ("Seed:"), info->seed);
  show_line (_ ("Machine:"), info->host);
  show_line (_ ("Note:"), info->note);
  show_value (_ ("Training loss:"), info->train_loss);
  show_value (_ ("Best validation loss:"), info->best_validation_loss);
  show_value (_ ("Best validation accuracy:"), info->best_validation_accuracy);
  show_value (_ ("Test loss:"), info->test_loss);
  show_value (_ ("Test accuracy:"), info->test_accuracy);
  show_series (reader, run);
  show_checkpoints (reader, workspace, run);
  show_events (reader, run);
  return GRADUS_CLI_DONE;
}

/* delete, export ------------------------------------------------------------------------------ */

static void
on_delete_progress (double share, gpointer data)
{
  if (gradus_cli_terminal_width () > 0)
    g_print ("\r%s %3.0f %%", _ ("Deleting"), share * 100);
}

static int
delete_run (GradusWorkspace *workspace, const char *reference)
{
  g_autoptr (GError) error = NULL;
  gint64   run = gradus_run_find (workspace, reference, NULL, &error);
  gboolean done = FALSE;

  if (run == 0)
    return gradus_cli_refuse (error);
  done = gradus_run_delete (workspace, run, NULL, on_delete_progress, NULL, &error);
  if (gradus_cli_terminal_width () > 0)
    g_print ("\r\x1b[K");
  if (!done)
    return gradus_cli_refuse (error);
  g_print (_ ("Deleted run #%" PRId64 ".\n"), run);
  return GRADUS_CLI_DONE;
}

static int
export_run (GradusWorkspace *workspace, const char *reference, const char *format, const char *path)
{
  g_autoptr (GError) error = NULL;
  gint64 run = 0;

  if (g_strcmp0 (format, "tensorboard") == 0 || g_strcmp0 (format, "archive") == 0)
    {
      gradus_cli_complain (
          _ ("Export to “%s” is not available in this version of Gradus; “csv” is."), format);
      return GRADUS_CLI_REFUSED;
    }
  if (format != NULL && !g_str_equal (format, "csv"))
    {
      gradus_cli_complain (_ ("There is no format “%s”; “csv” would be right."), format);
      return GRADUS_CLI_REFUSED;
    }
  if (format == NULL || path == NULL)
    {
      gradus_cli_complain (_ ("Say what to write and where: export RUN --to csv FILE."));
      return GRADUS_CLI_REFUSED;
    }
  run = gradus_run_find (workspace, reference, NULL, &error);
  if (run == 0 || !gradus_run_export_csv (workspace, run, path, &error))
    return gradus_cli_refuse (error);
  return GRADUS_CLI_DONE;
}

int
gradus_cli_runs (int argc, char **argv)
{
  g_autofree char   *folder = NULL;
  g_autofree char   *format = NULL;
  const GOptionEntry entries[] = {
    { "workspace", 0, 0, G_OPTION_ARG_FILENAME, &folder, N_ ("Folder of the log"), N_ ("DIR") },
    { "to", 0, 0, G_OPTION_ARG_STRING, &format, N_ ("Format to export: csv"), N_ ("FORMAT") },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusWorkspace) workspace = NULL;
  const char *what = NULL;

  if (!gradus_cli_parse (&argc, &argv, entries,
                         "[list | show RUN | delete RUN | export RUN --to csv FILE]", 0, 3,
                         _ ("Lists, shows, deletes and exports the runs of a workspace."),
                         _ ("The CSV file has the columns series, kind, step, time_ms and value; "
                            "with “-” it goes to standard output.")))
    return GRADUS_CLI_REFUSED;
  what = argc > 1 ? argv[1] : "list";
  if (g_str_equal (what, "import"))
    {
      gradus_cli_complain (_ ("Importing runs is not available in this version of Gradus."));
      return GRADUS_CLI_REFUSED;
    }
  workspace = gradus_cli_open_workspace (folder, &error);
  if (workspace == NULL)
    return gradus_cli_refuse (error);
  if (g_str_equal (what, "list") && argc <= 2)
    return list_runs (workspace);
  if (g_str_equal (what, "show") && argc == 3)
    return show_run (workspace, argv[2]);
  if (g_str_equal (what, "delete") && argc == 3)
    return delete_run (workspace, argv[2]);
  if (g_str_equal (what, "export") && argc >= 3)
    return export_run (workspace, argv[2], format, argc == 4 ? argv[3] : NULL);
  gradus_cli_complain (_ ("“%s” is not understood here. See “gradus-cli runs --help”."), what);
  return GRADUS_CLI_REFUSED;
}
