/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "app-fixture.h"

#include "gradus-model-reference.h"
#include "log/gradus-run.h"

#include <glib/gstdio.h>
#include <stdarg.h>
#include <string.h>

char *
app_fixture_folder (void)
{
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("gradus-test-XXXXXX", &error);

  g_assert_no_error (error);
  return folder;
}

void
app_fixture_remove (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name = NULL;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (folder, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR) && !g_file_test (child, G_FILE_TEST_IS_SYMLINK))
        app_fixture_remove (child);
      else
        g_unlink (child);
    }
  g_rmdir (folder);
}

GradusRecipe *
app_fixture_line (const char *assignment, ...)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (GRADUS_SOURCE_RESOURCES, "examples", "line.json", NULL);
  GradusRecipe    *recipe = gradus_recipe_load (path, &error);
  va_list          args;

  g_assert_no_error (error);
  va_start (args, assignment);
  for (; assignment != NULL; assignment = va_arg (args, const char *))
    {
      gradus_recipe_assign (recipe, assignment, &error);
      g_assert_no_error (error);
    }
  va_end (args);
  return recipe;
}

/* Reading -------------------------------------------------------------------------------------- */

static GradusLogReader *
open_reader (const char *folder, const char *name, gint64 *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusWorkspace) workspace =
      gradus_workspace_open (folder, GRADUS_WORKSPACE_READ_ONLY, &error);
  GradusLogReader *reader = NULL;

  g_assert_no_error (error);
  *run = gradus_run_find (workspace, name, NULL, &error);
  g_assert_no_error (error);
  reader = gradus_log_reader_new (workspace, &error);
  g_assert_no_error (error);
  return reader;
}

GradusRunInfo *
app_fixture_run (const char *folder, const char *name)
{
  g_autoptr (GError) error = NULL;
  gint64 run = 0;
  g_autoptr (GradusLogReader) reader = open_reader (folder, name, &run);
  GradusRunInfo *info = gradus_log_reader_run (reader, run, &error);

  g_assert_no_error (error);
  return info;
}

static GArray *
read_scalars (GradusLogReader *reader, gint64 series)
{
  g_autoptr (GError) error = NULL;
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (GradusScalar));

  gradus_log_reader_scalars (reader, series, G_MININT64, 0, rows, &error);
  g_assert_no_error (error);
  return rows;
}

GArray *
app_fixture_scalars (const char *folder, const char *name, const char *series)
{
  g_autoptr (GError) error = NULL;
  gint64 run = 0;
  g_autoptr (GradusLogReader) reader = open_reader (folder, name, &run);
  g_autoptr (GradusSeriesInfo) info = gradus_log_reader_find_series (reader, run, series, &error);

  g_assert_no_error (error);
  g_assert_nonnull (info);
  return read_scalars (reader, info->id);
}

guint
app_fixture_count_events (const char *folder, const char *name, const char *word)
{
  g_autoptr (GError) error = NULL;
  gint64 run = 0;
  guint  n = 0;
  g_autoptr (GradusLogReader) reader = open_reader (folder, name, &run);
  g_autoptr (GPtrArray) events = gradus_log_reader_events (reader, run, 0, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < events->len; i++)
    {
      GradusLogEvent *event = g_ptr_array_index (events, i);

      if (strstr (event->message, word) != NULL || strstr (event->subject, word) != NULL
          || g_str_equal (gradus_event_kind_name (event->kind), word))
        n++;
    }
  return n;
}

/* Comparing ------------------------------------------------------------------------------------ */

/* The series outside the promise: time, what depends on it, and this process's memory. */
static gboolean
is_promised (const GradusSeriesInfo *info)
{
  return info->kind == GRADUS_SERIES_SCALAR && !g_str_has_prefix (info->name, "time/")
         && !g_str_equal (info->name, "throughput") && !g_str_equal (info->name, "builds")
         && !g_str_has_prefix (info->name, "memory/");
}

static void
compare_series (const GradusSeriesInfo *info, GArray *a, GArray *b)
{
  g_test_message ("%s: %u and %u", info->name, a->len, b->len);
  g_assert_cmpint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const GradusScalar *x = &g_array_index (a, GradusScalar, i);
      const GradusScalar *y = &g_array_index (b, GradusScalar, i);

      g_assert_cmpint (x->step, ==, y->step);
      g_assert_cmpmem (&x->value, sizeof x->value, &y->value, sizeof y->value);
    }
}

guint
app_fixture_compare_runs (const char *folder_a,
                          const char *name_a,
                          const char *folder_b,
                          const char *name_b)
{
  g_autoptr (GError) error = NULL;
  gint64 run_a = 0;
  gint64 run_b = 0;
  guint  n = 0;
  g_autoptr (GradusLogReader) reader_a = open_reader (folder_a, name_a, &run_a);
  g_autoptr (GradusLogReader) reader_b = open_reader (folder_b, name_b, &run_b);
  g_autoptr (GPtrArray) all = gradus_log_reader_series (reader_a, run_a, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < all->len; i++)
    {
      GradusSeriesInfo *info = g_ptr_array_index (all, i);
      g_autoptr (GradusSeriesInfo) other = NULL;
      g_autoptr (GArray) a = NULL;
      g_autoptr (GArray) b = NULL;

      if (!is_promised (info))
        continue;
      other = gradus_log_reader_find_series (reader_b, run_b, info->name, &error);
      g_assert_no_error (error);
      g_assert_nonnull (other);
      a = read_scalars (reader_a, info->id);
      b = read_scalars (reader_b, other->id);
      compare_series (info, a, b);
      n++;
    }
  return n;
}

void
app_fixture_compare_weights (const char *folder_a,
                             const char *run_a,
                             const char *folder_b,
                             const char *run_b)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCheckpoint) a = gradus_model_reference_open (folder_a, run_a, NULL, &error);
  g_autoptr (GradusCheckpoint) b =
      error == NULL ? gradus_model_reference_open (folder_b, run_b, NULL, &error) : NULL;

  g_assert_no_error (error);
  g_assert_cmpint (gradus_checkpoint_step (a), ==, gradus_checkpoint_step (b));
  g_assert_cmpint (gradus_checkpoint_n_tensors (a), ==, gradus_checkpoint_n_tensors (b));
  for (guint i = 0; i < gradus_checkpoint_n_tensors (a); i++)
    {
      const GradusTensorView *x = gradus_checkpoint_tensor (a, i);
      const GradusTensorView *y = gradus_checkpoint_tensor (b, i);

      g_assert_cmpstr (x->name, ==, y->name);
      g_assert_cmpmem (x->data, x->bytes, y->data, y->bytes);
    }
}
