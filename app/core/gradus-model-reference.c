/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-model-reference.h"

#include "log/gradus-log-reader.h"
#include "log/gradus-run.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>

static GradusLogCheckpoint *
choose (GPtrArray *rows, const char *which)
{
  gint64 step = 0;

  if (which == NULL)
    return rows->len > 0 ? g_ptr_array_index (rows, rows->len - 1) : NULL;
  if (!g_str_equal (which, "best")
      && !g_ascii_string_to_signed (which, 10, 0, G_MAXINT64, &step, NULL))
    return NULL;
  for (guint i = 0; i < rows->len; i++)
    {
      GradusLogCheckpoint *row = g_ptr_array_index (rows, i);

      if (g_str_equal (which, "best") ? row->best : row->step == step)
        return row;
    }
  return NULL;
}

static void
refuse_choice (GPtrArray *rows, const char *run, const char *which, GError **error)
{
  g_autoptr (GString) steps = g_string_new (NULL);

  for (guint i = 0; i < rows->len; i++)
    g_string_append_printf (steps, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            ((GradusLogCheckpoint *)g_ptr_array_index (rows, i))->step);
  if (rows->len == 0)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
                 _ ("Run “%s” has no checkpoint. Train it further first."), run);
  else
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
                 _ ("Run “%s” has no checkpoint “%s”; there are those of the steps %s."), run,
                 which, steps->str);
}

static char *
find_in_log (GradusWorkspace *workspace, const char *run_name, const char *which, GError **error)
{
  gint64 run = gradus_run_find (workspace, run_name, NULL, error);
  g_autoptr (GradusLogReader) reader = run != 0 ? gradus_log_reader_new (workspace, error) : NULL;
  g_autoptr (GPtrArray) rows =
      reader != NULL ? gradus_log_reader_checkpoints (reader, run, error) : NULL;
  GradusLogCheckpoint *row = rows != NULL ? choose (rows, which) : NULL;

  if (rows == NULL)
    return NULL;
  if (row == NULL)
    {
      refuse_choice (rows, run_name, which, error);
      return NULL;
    }
  return gradus_workspace_resolve (workspace, row->path);
}

GradusCheckpoint *
gradus_model_reference_open (const char *workspace,
                             const char *reference,
                             char      **path,
                             GError    **error)
{
  g_autoptr (GradusWorkspace) opened = NULL;
  g_autofree char  *found = NULL;
  g_autofree char  *run = NULL;
  const char       *at = NULL;
  GradusCheckpoint *checkpoint = NULL;

  g_return_val_if_fail (reference != NULL, NULL);

  if (g_file_test (reference, G_FILE_TEST_IS_REGULAR))
    found = g_strdup (reference);
  else if (strchr (reference, G_DIR_SEPARATOR) != NULL
           || g_str_has_suffix (reference, ".safetensors"))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND, _ ("There is no file %s."),
                   reference);
      return NULL;
    }
  else
    {
      opened = gradus_workspace_open (workspace, 0, error);
      if (opened == NULL)
        return NULL;
      at = strrchr (reference, '@');
      run = at != NULL ? g_strndup (reference, at - reference) : g_strdup (reference);
      found = find_in_log (opened, run, at != NULL ? at + 1 : NULL, error);
    }
  checkpoint = found != NULL ? gradus_checkpoint_open (found, error) : NULL;
  if (checkpoint != NULL && path != NULL)
    *path = g_steal_pointer (&found);
  return checkpoint;
}
