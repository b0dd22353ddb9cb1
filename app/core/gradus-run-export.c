/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-run-export.h"

#include "log/gradus-log-reader.h"
#include "log/gradus-run.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rows read at a time. */
#define CHUNK 16384

static void
write_name (FILE *file, const char *name)
{
  if (strpbrk (name, ",\"\r\n") == NULL)
    {
      fputs (name, file);
      return;
    }
  fputc ('"', file);
  for (const char *c = name; *c != '\0'; c++)
    {
      if (*c == '"')
        fputc ('"', file);
      fputc (*c, file);
    }
  fputc ('"', file);
}

static void
write_value (FILE *file, double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    fputs ("NaN", file);
  else if (isinf (value))
    fputs (value > 0 ? "inf" : "-inf", file);
  else
    fputs (g_ascii_dtostr (buffer, sizeof buffer, value), file);
}

static gboolean
write_series (FILE *file, GradusLogReader *reader, const GradusSeriesInfo *info, GError **error)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (GradusScalar));
  gint64 after = G_MININT64;

  do
    {
      g_array_set_size (rows, 0);
      if (!gradus_log_reader_scalars (reader, info->id, after, CHUNK, rows, error))
        return FALSE;
      for (guint i = 0; i < rows->len; i++)
        {
          const GradusScalar *row = &g_array_index (rows, GradusScalar, i);

          write_name (file, info->name);
          fprintf (file, ",%s,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",",
                   gradus_series_kind_name (info->kind), row->step, row->time);
          write_value (file, row->value);
          fputs ("\n", file);
          after = row->step;
        }
    }
  while (rows->len == CHUNK);
  return TRUE;
}

static gboolean
write_all (FILE *file, GradusWorkspace *workspace, gint64 run, GError **error)
{
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (workspace, error);
  g_autoptr (GPtrArray) series =
      reader != NULL ? gradus_log_reader_series (reader, run, error) : NULL;

  if (series == NULL)
    return FALSE;
  fputs ("series,kind,step,time_ms,value\n", file);
  for (guint i = 0; i < series->len; i++)
    {
      GradusSeriesInfo *info = g_ptr_array_index (series, i);

      if (info->kind == GRADUS_SERIES_SCALAR && !write_series (file, reader, info, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gradus_run_export_csv (GradusWorkspace *workspace, gint64 run, const char *path, GError **error)
{
  gboolean standard = g_str_equal (path, "-");
  FILE    *file = standard ? stdout : fopen (path, "we");
  gboolean done = FALSE;
  int      wrong = 0;

  g_return_val_if_fail (workspace != NULL && path != NULL, FALSE);

  if (file == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO, _ ("%s cannot be written: %s"), path,
                   g_strerror (errno));
      return FALSE;
    }
  done = write_all (file, workspace, run, error);
  errno = 0;
  if (fflush (file) != 0 || ferror (file))
    wrong = errno != 0 ? errno : EIO;
  if (!standard && fclose (file) != 0 && wrong == 0)
    wrong = errno;
  if (done && wrong != 0)
    {
      g_set_error (error, GRADUS_ERROR, wrong == ENOSPC ? GRADUS_ERROR_NO_SPACE : GRADUS_ERROR_IO,
                   _ ("%s cannot be written: %s"), path, g_strerror (wrong));
      return FALSE;
    }
  return done;
}
