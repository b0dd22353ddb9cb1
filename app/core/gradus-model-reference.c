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

static GradusCheckpoint *
open_in_log (GradusWorkspace *workspace,
             const char      *run_name,
             const char      *which,
             char           **path,
             GError         **error)
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
  return gradus_model_reference_open_row (workspace, row, path, error);
}

GradusCheckpoint *
gradus_model_reference_open_row (GradusWorkspace           *workspace,
                                 const GradusLogCheckpoint *row,
                                 char                     **path,
                                 GError                   **error)
{
  g_autofree char *file = gradus_workspace_resolve (workspace, row->path);
  g_autofree char *digest = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = gradus_checkpoint_open (file, error);

  if (checkpoint == NULL)
    return NULL;
  digest = gradus_checkpoint_digest (checkpoint);
  if (*row->sha256 != '\0' && !g_str_equal (digest, row->sha256))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                   _ ("“%s” is not what was written: its SHA-256 differs from the one in the log. "
                      "Use another checkpoint."),
                   file);
      return NULL;
    }
  if (path != NULL)
    *path = g_steal_pointer (&file);
  return g_steal_pointer (&checkpoint);
}

GradusCheckpoint *
gradus_model_reference_open (const char *workspace,
                             const char *reference,
                             char      **path,
                             GError    **error)
{
  g_autoptr (GradusWorkspace) opened = NULL;
  g_autofree char  *run = NULL;
  const char       *at = NULL;
  GradusCheckpoint *checkpoint = NULL;

  g_return_val_if_fail (reference != NULL, NULL);

  if (g_file_test (reference, G_FILE_TEST_IS_REGULAR))
    {
      checkpoint = gradus_checkpoint_open (reference, error);
      if (checkpoint != NULL && path != NULL)
        *path = g_strdup (reference);
      return checkpoint;
    }
  if (strchr (reference, G_DIR_SEPARATOR) != NULL || g_str_has_suffix (reference, ".safetensors"))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND, _ ("There is no file %s."),
                   reference);
      return NULL;
    }
  opened = gradus_workspace_open (workspace, 0, error);
  if (opened == NULL)
    return NULL;
  at = strrchr (reference, '@');
  run = at != NULL ? g_strndup (reference, at - reference) : g_strdup (reference);
  return open_in_log (opened, run, at != NULL ? at + 1 : NULL, path, error);
}
