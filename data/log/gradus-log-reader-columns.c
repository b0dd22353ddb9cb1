/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "log/gradus-log-reader-private.h"

typedef struct
{
  GradusLogReader *reader;
  gint64           series;
  double           step0, step1;
  guint            n;
  GradusLogColumn *out;
} Scan;

/* The one rule of which column a step is in, monotonic in the step; -1 and n outside. */
static gint64
column_of (const Scan *scan, gint64 step)
{
  double x = (double) step;

  if (x < scan->step0)
    return -1;
  if (x > scan->step1)
    return scan->n;
  if (x == scan->step1)
    return scan->n - 1;
  return MIN ((gint64) ((x - scan->step0) / (scan->step1 - scan->step0) * scan->n),
              (gint64) scan->n - 1);
}

static gboolean
scan_rows (Scan *scan, gint64 first, gint64 last, GError **error)
{
  sqlite3_stmt *stmt = gradus_log_reader_statement (
      scan->reader, READER_SCALARS,
      "SELECT step, time, value FROM scalar WHERE series = ?1"
      " AND step >= ?2 AND step <= ?3 ORDER BY step LIMIT ?4",
      error);
  GError *failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, scan->series);
  sqlite3_bind_int64 (stmt, 2, first);
  sqlite3_bind_int64 (stmt, 3, last);
  sqlite3_bind_int64 (stmt, 4, -1);
  while (gradus_sqlite_step (stmt, &failure))
    {
      gint64 step = sqlite3_column_int64 (stmt, 0);
      gint64 column = column_of (scan, step);

      if (column >= 0 && column < scan->n)
        gradus_log_column_add (&scan->out[column], step, sqlite3_column_int64 (stmt, 1),
                               gradus_sqlite_column_double (stmt, 2));
    }
  return gradus_log_reader_done (failure, error);
}

static guint
read_buckets (Scan *scan, int level, gint64 begin, gint64 end, GradusLogColumn *buckets,
              GError **error)
{
  sqlite3_stmt *stmt = gradus_log_reader_statement (
      scan->reader, READER_BUCKETS,
      "SELECT " GRADUS_PYRAMID_COLUMNS " FROM scalar_pyramid"
      " WHERE series = ? AND level = ? AND bucket >= ? AND bucket < ? ORDER BY bucket",
      error);
  guint n = 0;

  if (stmt == NULL)
    return 0;
  sqlite3_bind_int64 (stmt, 1, scan->series);
  sqlite3_bind_int64 (stmt, 2, level);
  sqlite3_bind_int64 (stmt, 3, begin);
  sqlite3_bind_int64 (stmt, 4, end);
  while (n < GRADUS_PYRAMID_FAN && gradus_sqlite_step (stmt, error))
    gradus_pyramid_read (stmt, 0, &buckets[n++]);
  sqlite3_reset (stmt);
  return n;
}

/* Buckets of one level, at most 64: what fits a column is merged, what does not is looked into. */
static gboolean
scan_buckets (Scan *scan, int level, gint64 begin, gint64 end, GError **error)
{
  GradusLogColumn    buckets[GRADUS_PYRAMID_FAN];
  g_autoptr (GError) failure = NULL;
  guint              n = read_buckets (scan, level, begin, end, buckets, &failure);

  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      gint64   first = column_of (scan, buckets[i].first_step);
      gint64   last = column_of (scan, buckets[i].last_step);
      gint64   below = (begin + i) * GRADUS_PYRAMID_FAN;
      gboolean done = TRUE;

      if (last < 0 || first >= scan->n)
        continue;
      if (first == last)
        gradus_log_column_merge (&scan->out[first], &buckets[i]);
      else if (level > 1)
        done = scan_buckets (scan, level - 1, below, below + GRADUS_PYRAMID_FAN, error);
      else
        done = scan_rows (scan, buckets[i].first_step, buckets[i].last_step, error);
      if (!done)
        return FALSE;
    }
  return TRUE;
}

/* How many buckets a level has, and the last step that they reach. */
static gboolean
count_buckets (Scan *scan, int level, gint64 *n, gint64 *last_step, GError **error)
{
  sqlite3_stmt *stmt = gradus_log_reader_statement (
      scan->reader, READER_LAST_BUCKET,
      "SELECT bucket, last_step FROM scalar_pyramid WHERE series = ? AND level = ?"
      " ORDER BY bucket DESC LIMIT 1",
      error);
  GError *failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, scan->series);
  sqlite3_bind_int64 (stmt, 2, level);
  *n = 0;
  if (gradus_sqlite_step (stmt, &failure))
    {
      *n = sqlite3_column_int64 (stmt, 0) + 1;
      *last_step = sqlite3_column_int64 (stmt, 1);
    }
  sqlite3_reset (stmt);
  return gradus_log_reader_done (failure, error);
}

/* From the oldest rows to the newest: the buckets of each level that the next does not cover, then
 * the rows of the open one. */
static gboolean
scan_all (Scan *scan, GError **error)
{
  gint64 covered = 0;
  gint64 last_step = G_MININT64;

  for (int level = GRADUS_PYRAMID_LEVELS - 1; level >= 1; level--)
    {
      gint64 n;

      if (!count_buckets (scan, level, &n, &last_step, error)
          || (n > covered && !scan_buckets (scan, level, covered, n, error)))
        return FALSE;
      covered = n * GRADUS_PYRAMID_FAN;
    }
  return scan_rows (scan, last_step == G_MININT64 ? last_step : last_step + 1, G_MAXINT64, error);
}

gboolean
gradus_log_reader_columns (GradusLogReader *self,
                           gint64           series,
                           double           step0,
                           double           step1,
                           guint            n,
                           GradusLogColumn *out,
                           GError         **error)
{
  Scan     scan = { self, series, step0, step1, n, out };
  gboolean nested, done;

  g_return_val_if_fail (self != NULL && out != NULL && n > 0, FALSE);
  g_return_val_if_fail (step0 <= step1 && isfinite (step0) && isfinite (step1), FALSE);

  memset (out, 0, n * sizeof *out);
  nested = !sqlite3_get_autocommit (self->db);
  if (!nested && !gradus_log_reader_begin (self, error))
    return FALSE;
  done = scan_all (&scan, error);
  if (!nested)
    gradus_log_reader_end (self);
  return done;
}
