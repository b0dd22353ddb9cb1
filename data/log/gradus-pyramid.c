/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-pyramid.h"

#include <math.h>

#define LEVEL_SHIFT 6

G_STATIC_ASSERT (1 << LEVEL_SHIFT == GRADUS_PYRAMID_FAN);

static void
begin (GradusLogColumn *column, gint64 step, gint64 time, double value)
{
  *column = (GradusLogColumn){
    .first_step = step,
    .first_time = time,
    .first = value,
    .min = NAN,
    .max = NAN,
  };
}

void
gradus_log_column_add (GradusLogColumn *column, gint64 step, gint64 time, double value)
{
  if (column->count == 0)
    begin (column, step, time, value);
  column->count++;
  column->last_step = step;
  column->last_time = time;
  column->last = value;
  if (G_LIKELY (isfinite (value)))
    {
      /* The negations let the first value replace the NaN. */
      if (!(value >= column->min))
        {
          column->min = value;
          column->min_step = step;
        }
      if (!(value <= column->max))
        {
          column->max = value;
          column->max_step = step;
        }
      column->sum += value;
    }
  else if (isnan (value))
    column->n_nan++;
  else if (value > 0)
    column->n_pinf++;
  else
    column->n_ninf++;
}

void
gradus_log_column_merge (GradusLogColumn *column, const GradusLogColumn *next)
{
  if (next->count == 0)
    return;
  if (column->count == 0)
    {
      *column = *next;
      return;
    }
  column->count += next->count;
  column->last_step = next->last_step;
  column->last_time = next->last_time;
  column->last = next->last;
  if (isnan (column->min) || next->min < column->min)
    {
      column->min = next->min;
      column->min_step = next->min_step;
    }
  if (isnan (column->max) || next->max > column->max)
    {
      column->max = next->max;
      column->max_step = next->max_step;
    }
  column->sum += next->sum;
  column->n_nan += next->n_nan;
  column->n_pinf += next->n_pinf;
  column->n_ninf += next->n_ninf;
}

void
gradus_pyramid_bind (sqlite3_stmt *stmt, int first, const GradusLogColumn *column)
{
  const gint64 ints[] = { column->first_step, column->last_step, column->first_time,
                          column->last_time };

  for (int i = 0; i < 4; i++)
    sqlite3_bind_int64 (stmt, first + i, ints[i]);
  sqlite3_bind_double (stmt, first + 4, column->first);
  sqlite3_bind_double (stmt, first + 5, column->last);
  sqlite3_bind_double (stmt, first + 6, column->min);
  sqlite3_bind_int64 (stmt, first + 7, column->min_step);
  sqlite3_bind_double (stmt, first + 8, column->max);
  sqlite3_bind_int64 (stmt, first + 9, column->max_step);
  sqlite3_bind_double (stmt, first + 10, column->sum);
  sqlite3_bind_int64 (stmt, first + 11, column->count);
  sqlite3_bind_int64 (stmt, first + 12, column->n_nan);
  sqlite3_bind_int64 (stmt, first + 13, column->n_pinf);
  sqlite3_bind_int64 (stmt, first + 14, column->n_ninf);
}

void
gradus_pyramid_read (sqlite3_stmt *stmt, int first, GradusLogColumn *column)
{
  column->first_step = sqlite3_column_int64 (stmt, first);
  column->last_step = sqlite3_column_int64 (stmt, first + 1);
  column->first_time = sqlite3_column_int64 (stmt, first + 2);
  column->last_time = sqlite3_column_int64 (stmt, first + 3);
  column->first = gradus_sqlite_column_double (stmt, first + 4);
  column->last = gradus_sqlite_column_double (stmt, first + 5);
  column->min = gradus_sqlite_column_double (stmt, first + 6);
  column->min_step = sqlite3_column_int64 (stmt, first + 7);
  column->max = gradus_sqlite_column_double (stmt, first + 8);
  column->max_step = sqlite3_column_int64 (stmt, first + 9);
  column->sum = gradus_sqlite_column_double (stmt, first + 10);
  column->count = sqlite3_column_int64 (stmt, first + 11);
  column->n_nan = sqlite3_column_int64 (stmt, first + 12);
  column->n_pinf = sqlite3_column_int64 (stmt, first + 13);
  column->n_ninf = sqlite3_column_int64 (stmt, first + 14);
}

gboolean
gradus_pyramid_writer_init (GradusPyramidWriter *writer, sqlite3 *db, GError **error)
{
  writer->db = db;
  writer->insert = gradus_sqlite_prepare (
      db,
      "INSERT INTO scalar_pyramid(series, level, bucket, " GRADUS_PYRAMID_COLUMNS ")"
      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      error);
  return writer->insert != NULL;
}

void
gradus_pyramid_writer_clear (GradusPyramidWriter *writer)
{
  g_clear_pointer (&writer->insert, sqlite3_finalize);
}

void
gradus_pyramid_total (const GradusPyramid *self, GradusLogColumn *total)
{
  *total = (GradusLogColumn){ 0 };
  for (int i = GRADUS_PYRAMID_LEVELS - 1; i >= 0; i--)
    gradus_log_column_merge (total, &self->open[i]);
}

static gint64
total_count (const GradusPyramid *self)
{
  gint64 count = 0;

  for (int i = 0; i < GRADUS_PYRAMID_LEVELS; i++)
    count += self->open[i].count;
  return count;
}

/* open[0] holds rows; open[level] the full buckets of @level that fill none of the next yet. */
static gboolean
close_buckets (GradusPyramid *self, GradusPyramidWriter *writer, GError **error)
{
  gint64 total = total_count (self);

  for (int level = 1; level < GRADUS_PYRAMID_LEVELS; level++)
    {
      GradusLogColumn *bucket = &self->open[level - 1];

      if (bucket->count >> (LEVEL_SHIFT * level) == 0)
        return TRUE;
      sqlite3_bind_int64 (writer->insert, 1, self->series);
      sqlite3_bind_int64 (writer->insert, 2, level);
      sqlite3_bind_int64 (writer->insert, 3, (total >> (LEVEL_SHIFT * level)) - 1);
      gradus_pyramid_bind (writer->insert, 4, bucket);
      if (!gradus_sqlite_run (writer->insert, error))
        return FALSE;
      gradus_log_column_merge (&self->open[level], bucket);
      bucket->count = 0;
    }
  return TRUE;
}

gboolean
gradus_pyramid_append (GradusPyramid       *self,
                       GradusPyramidWriter *writer,
                       gint64               step,
                       gint64               time,
                       double               value,
                       GError             **error)
{
  gradus_log_column_add (&self->open[0], step, time, value);
  return G_LIKELY (self->open[0].count < GRADUS_PYRAMID_FAN) || close_buckets (self, writer, error);
}

/* The first bucket of level 1 that reaches to @step or beyond, found by halving; one past the last
 * if there is none. @before is the last step of the bucket before it. */
static gboolean
find_bucket (
    sqlite3 *db, gint64 series, gint64 step, gint64 *bucket, gint64 *before, GError **error)
{
  g_autoptr (sqlite3_stmt) probe = NULL;
  g_autoptr (GError)       failure = NULL;
  gint64                   low = 0, high;

  if (!gradus_sqlite_get (db,
                          "SELECT coalesce(max(bucket) + 1, 0) FROM scalar_pyramid"
                          " WHERE series = ? AND level = 1",
                          series, &high, error))
    return FALSE;
  probe = gradus_sqlite_prepare (db,
                                 "SELECT last_step FROM scalar_pyramid"
                                 " WHERE series = ? AND level = 1 AND bucket = ?",
                                 error);
  if (probe == NULL)
    return FALSE;
  sqlite3_bind_int64 (probe, 1, series);
  *before = G_MININT64;
  /* Nearly always asked about the end. */
  if (step == G_MAXINT64)
    low = MAX (high - 1, 0);
  while (low < high)
    {
      gint64 middle = low + (high - low) / 2;
      gint64 last;

      sqlite3_bind_int64 (probe, 2, middle);
      if (!gradus_sqlite_step (probe, &failure))
        {
          if (failure == NULL)
            gradus_sqlite_fail (NULL, SQLITE_CORRUPT, &failure);
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
      last = sqlite3_column_int64 (probe, 0);
      sqlite3_reset (probe);
      if (last < step)
        {
          low = middle + 1;
          *before = last;
        }
      else
        high = middle;
    }
  *bucket = low;
  return TRUE;
}

static gboolean
drop_buckets (sqlite3 *db, gint64 series, gint64 first, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      db, "DELETE FROM scalar_pyramid WHERE series = ? AND level = ? AND bucket >= ?", error);

  if (stmt == NULL)
    return FALSE;
  for (int level = 1; level < GRADUS_PYRAMID_LEVELS; level++)
    {
      sqlite3_bind_int64 (stmt, 1, series);
      sqlite3_bind_int64 (stmt, 2, level);
      sqlite3_bind_int64 (stmt, 3, first >> (LEVEL_SHIFT * (level - 1)));
      if (!gradus_sqlite_run (stmt, error))
        return FALSE;
    }
  return TRUE;
}

/* Fills open[1..] from the @n_buckets full buckets of level 1 and those above. */
static gboolean
load_open (GradusPyramid *self, sqlite3 *db, gint64 n_buckets, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      db,
      "SELECT " GRADUS_PYRAMID_COLUMNS " FROM scalar_pyramid"
      " WHERE series = ? AND level = ? AND bucket >= ? ORDER BY bucket",
      error);
  g_autoptr (GError) failure = NULL;

  if (stmt == NULL)
    return FALSE;
  for (int level = 1; level < GRADUS_PYRAMID_LEVELS; level++)
    {
      gint64 above = n_buckets >> (LEVEL_SHIFT * level);

      sqlite3_bind_int64 (stmt, 1, self->series);
      sqlite3_bind_int64 (stmt, 2, level);
      sqlite3_bind_int64 (stmt, 3, above << LEVEL_SHIFT);
      while (gradus_sqlite_step (stmt, &failure))
        {
          GradusLogColumn bucket;

          gradus_pyramid_read (stmt, 0, &bucket);
          gradus_log_column_merge (&self->open[level], &bucket);
        }
      if (failure != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
append_rows (GradusPyramid *self, GradusPyramidWriter *writer, gint64 after, GError **error)
{
  g_autoptr (sqlite3_stmt) stmt = gradus_sqlite_prepare (
      writer->db, "SELECT step, time, value FROM scalar WHERE series = ? AND step > ?", error);
  g_autoptr (GError) failure = NULL;

  if (stmt == NULL)
    return FALSE;
  sqlite3_bind_int64 (stmt, 1, self->series);
  sqlite3_bind_int64 (stmt, 2, after);
  while (gradus_sqlite_step (stmt, &failure))
    if (!gradus_pyramid_append (self, writer, sqlite3_column_int64 (stmt, 0),
                                sqlite3_column_int64 (stmt, 1),
                                gradus_sqlite_column_double (stmt, 2), error))
      return FALSE;
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

gboolean
gradus_pyramid_rebuild (
    GradusPyramid *self, GradusPyramidWriter *writer, gint64 series, gint64 step, GError **error)
{
  gint64 bucket, before;

  *self = (GradusPyramid){ .series = series };
  return find_bucket (writer->db, series, step, &bucket, &before, error)
         && (step == G_MAXINT64 || drop_buckets (writer->db, series, bucket, error))
         && load_open (self, writer->db, bucket, error)
         && append_rows (self, writer, before, error);
}
