/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "log/gradus-log-reader-private.h"
#include "log/gradus-run.h"

void
gradus_series_info_free (GradusSeriesInfo *info)
{
  g_free (info->name);
  g_free (info);
}

#define SERIES_COLUMNS                                                                            \
  "id, run, name, kind, count, first_step, last_step, first_time, last_time, last_value, min,"    \
  " min_step, max, max_step, nans, pinfs, ninfs, generation"

static GradusSeriesInfo *
read_series (sqlite3_stmt *stmt)
{
  GradusSeriesInfo *info = g_new0 (GradusSeriesInfo, 1);

  info->id = sqlite3_column_int64 (stmt, 0);
  info->run = sqlite3_column_int64 (stmt, 1);
  info->name = gradus_sqlite_column_string (stmt, 2);
  info->kind = GRADUS_SERIES_TEXT;
  gradus_series_kind_from_name ((const char *) sqlite3_column_text (stmt, 3), &info->kind);
  info->count = sqlite3_column_int64 (stmt, 4);
  info->first_step = sqlite3_column_int64 (stmt, 5);
  info->last_step = sqlite3_column_int64 (stmt, 6);
  info->first_time = sqlite3_column_int64 (stmt, 7);
  info->last_time = sqlite3_column_int64 (stmt, 8);
  info->last_value = gradus_sqlite_column_double (stmt, 9);
  info->min = gradus_sqlite_column_double (stmt, 10);
  info->min_step = sqlite3_column_int64 (stmt, 11);
  info->max = gradus_sqlite_column_double (stmt, 12);
  info->max_step = sqlite3_column_int64 (stmt, 13);
  info->n_nan = sqlite3_column_int64 (stmt, 14);
  info->n_pinf = sqlite3_column_int64 (stmt, 15);
  info->n_ninf = sqlite3_column_int64 (stmt, 16);
  info->generation = sqlite3_column_int64 (stmt, 17);
  return info;
}

GPtrArray *
gradus_log_reader_series (GradusLogReader *self, gint64 run, GError **error)
{
  g_autoptr (GPtrArray) series = NULL;
  sqlite3_stmt         *stmt;
  GError               *failure = NULL;

  g_return_val_if_fail (self != NULL, NULL);

  series = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_series_info_free);
  stmt = gradus_log_reader_statement (
      self, READER_SERIES, "SELECT " SERIES_COLUMNS " FROM series WHERE run = ? ORDER BY name",
      error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  while (gradus_sqlite_step (stmt, &failure))
    g_ptr_array_add (series, read_series (stmt));
  return gradus_log_reader_done (failure, error) ? g_steal_pointer (&series) : NULL;
}

GradusSeriesInfo *
gradus_log_reader_find_series (GradusLogReader *self, gint64 run, const char *name, GError **error)
{
  GradusSeriesInfo *info = NULL;
  sqlite3_stmt     *stmt;

  g_return_val_if_fail (self != NULL && name != NULL, NULL);

  stmt = gradus_log_reader_statement (
      self, READER_FIND_SERIES,
      "SELECT " SERIES_COLUMNS " FROM series WHERE run = ? AND name = ?", error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, run);
  sqlite3_bind_text (stmt, 2, name, -1, SQLITE_TRANSIENT);
  if (gradus_sqlite_step (stmt, error))
    info = read_series (stmt);
  sqlite3_reset (stmt);
  return info;
}

gboolean
gradus_log_reader_scalars (GradusLogReader *self,
                           gint64           series,
                           gint64           after,
                           gsize            limit,
                           GArray          *out,
                           GError         **error)
{
  sqlite3_stmt *stmt;
  GError       *failure = NULL;

  g_return_val_if_fail (self != NULL && out != NULL, FALSE);
  g_return_val_if_fail (g_array_get_element_size (out) == sizeof (GradusScalar), FALSE);

  stmt = gradus_log_reader_statement (self, READER_SCALARS,
                                      "SELECT step, time, value FROM scalar WHERE series = ?1"
                                      " AND step >= ?2 AND step <= ?3 ORDER BY step LIMIT ?4",
                                      error);
  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, series);
  sqlite3_bind_int64 (stmt, 2, after == G_MININT64 ? after : MIN (after, G_MAXINT64 - 1) + 1);
  sqlite3_bind_int64 (stmt, 3, G_MAXINT64);
  sqlite3_bind_int64 (stmt, 4, limit != 0 ? (gint64) limit : -1);
  while (gradus_sqlite_step (stmt, &failure))
    {
      GradusScalar scalar = { sqlite3_column_int64 (stmt, 0), sqlite3_column_int64 (stmt, 1),
                              gradus_sqlite_column_double (stmt, 2) };

      g_array_append_val (out, scalar);
    }
  return gradus_log_reader_done (failure, error);
}

/* Histograms */

void
gradus_log_histogram_free (GradusLogHistogram *histogram)
{
  g_free ((double *) histogram->histogram.edges);
  g_free ((double *) histogram->histogram.counts);
  g_free (histogram);
}

gboolean
gradus_log_reader_histogram_steps (
    GradusLogReader *self, gint64 series, gint64 after, GArray *out, GError **error)
{
  sqlite3_stmt *stmt;
  GError       *failure = NULL;

  g_return_val_if_fail (self != NULL && out != NULL, FALSE);
  g_return_val_if_fail (g_array_get_element_size (out) == sizeof (gint64), FALSE);

  stmt = gradus_log_reader_statement (
      self, READER_HISTOGRAM_STEPS,
      "SELECT step FROM histogram WHERE series = ?1 AND step > ?2 ORDER BY step", error);
  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, series);
  sqlite3_bind_int64 (stmt, 2, after);
  while (gradus_sqlite_step (stmt, &failure))
    {
      gint64 step = sqlite3_column_int64 (stmt, 0);

      g_array_append_val (out, step);
    }
  return gradus_log_reader_done (failure, error);
}

static double *
read_doubles (sqlite3_stmt *stmt, int column, guint n)
{
  guint64 *bits = g_memdup2 (sqlite3_column_blob (stmt, column), n * sizeof *bits);

  for (guint i = 0; i < n; i++)
    bits[i] = GUINT64_FROM_LE (bits[i]);
  return (double *) bits;
}

/* A row whose two blobs do not fit each other is shown without bins. */
static GradusLogHistogram *
read_histogram (sqlite3_stmt *stmt)
{
  GradusLogHistogram *row = g_new0 (GradusLogHistogram, 1);
  GradusHistogram    *h = &row->histogram;
  guint               n_edges = (guint) sqlite3_column_bytes (stmt, 10) / sizeof (double);
  guint               n_counts = (guint) sqlite3_column_bytes (stmt, 11) / sizeof (double);

  row->step = sqlite3_column_int64 (stmt, 0);
  row->time = sqlite3_column_int64 (stmt, 1);
  h->min = gradus_sqlite_column_double (stmt, 2);
  h->max = gradus_sqlite_column_double (stmt, 3);
  h->mean = gradus_sqlite_column_double (stmt, 4);
  h->stddev = gradus_sqlite_column_double (stmt, 5);
  h->count = sqlite3_column_int64 (stmt, 6);
  h->zeros = sqlite3_column_int64 (stmt, 7);
  h->nans = sqlite3_column_int64 (stmt, 8);
  h->infs = sqlite3_column_int64 (stmt, 9);
  if (n_counts > 0 && n_edges == n_counts + 1)
    {
      h->n = n_counts;
      h->edges = read_doubles (stmt, 10, n_edges);
      h->counts = read_doubles (stmt, 11, n_counts);
    }
  return row;
}

/* The row at ?2, which must be there for one to be found. */
static GradusLogHistogram *
histogram_at (GradusLogReader *self, gint64 series, gint64 step, GError **error)
{
  GradusLogHistogram *row = NULL;
  sqlite3_stmt       *stmt = gradus_log_reader_statement (
      self, READER_HISTOGRAM,
      "SELECT step, time, min, max, mean, stddev, count, zeros, nans, infs, edges, counts"
      " FROM histogram WHERE series = ?1 AND step = ?2",
      error);

  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, series);
  sqlite3_bind_int64 (stmt, 2, step);
  if (gradus_sqlite_step (stmt, error))
    row = read_histogram (stmt);
  sqlite3_reset (stmt);
  return row;
}

GradusLogHistogram *
gradus_log_reader_histogram (GradusLogReader *self, gint64 series, gint64 step, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = NULL;
  g_autoptr (GError)       failure = NULL;
  gint64                   nearest = 0;
  gboolean                 found;

  g_return_val_if_fail (self != NULL, NULL);

  stmt = gradus_sqlite_prepare (
      self->db,
      "SELECT coalesce((SELECT max(step) FROM histogram WHERE series = ?1 AND step <= ?2),"
      " (SELECT min(step) FROM histogram WHERE series = ?1))",
      error);
  if (stmt == NULL)
    return NULL;
  sqlite3_bind_int64 (stmt, 1, series);
  sqlite3_bind_int64 (stmt, 2, step);
  found = gradus_sqlite_step (stmt, &failure)
          && sqlite3_column_type (stmt, 0) != SQLITE_NULL;
  if (found)
    nearest = sqlite3_column_int64 (stmt, 0);
  sqlite3_reset (stmt);
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  return found ? histogram_at (self, series, nearest, error) : NULL;
}

GPtrArray *
gradus_log_reader_histograms (GradusLogReader *self,
                              gint64           series,
                              gint64           step0,
                              gint64           step1,
                              guint            max,
                              GError         **error)
{
  g_autoptr (GPtrArray) rows = NULL;
  g_autoptr (GArray)    steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint                 n, kept;

  g_return_val_if_fail (self != NULL, NULL);

  if (!gradus_log_reader_histogram_steps (self, series,
                                          step0 > G_MININT64 ? step0 - 1 : step0, steps, error))
    return NULL;
  rows = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_log_histogram_free);
  for (n = 0; n < steps->len && g_array_index (steps, gint64, n) <= step1; n++)
    ;
  kept = max != 0 ? MIN (n, max) : n;
  for (guint i = 0; i < kept; i++)
    {
      guint   place = kept > 1 ? (guint) ((guint64) i * (n - 1) / (kept - 1)) : n - 1;
      GError *failure = NULL;
      GradusLogHistogram *row
          = histogram_at (self, series, g_array_index (steps, gint64, place), &failure);

      if (failure != NULL)
        {
          g_propagate_error (error, failure);
          return NULL;
        }
      /* Gone since, with a rewind. */
      if (row != NULL)
        g_ptr_array_add (rows, row);
    }
  return g_steal_pointer (&rows);
}
