/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-log-reader.h"
#include "log/gradus-sqlite.h"

G_BEGIN_DECLS

/* Private to data/log: the summary of a scalar series in buckets of 64 rows, of 64 buckets, ... */

#define GRADUS_PYRAMID_FAN 64
#define GRADUS_PYRAMID_LEVELS 8

/* A row, or a column that comes after it, joins a column. */
void gradus_log_column_add (GradusLogColumn *column, gint64 step, gint64 time, double value);
void gradus_log_column_merge (GradusLogColumn *column, const GradusLogColumn *next);

/* Column names of a bucket in the order that the two functions below speak of. */
#define GRADUS_PYRAMID_COLUMNS                                                                    \
  "first_step, last_step, first_time, last_time, first_value, last_value, min, min_step, max,"    \
  " max_step, sum, count, nans, pinfs, ninfs"
#define GRADUS_PYRAMID_N_COLUMNS 15

/* Binds or reads the columns from parameter or column @first on. */
void gradus_pyramid_bind (sqlite3_stmt *stmt, int first, const GradusLogColumn *column);
void gradus_pyramid_read (sqlite3_stmt *stmt, int first, GradusLogColumn *column);

/**
 * GradusPyramid:
 * @open: the bucket of each level that is not full; all of them together are the series
 *
 * The writer's side of one series, used inside a transaction of @db. After a rollback it must be
 * loaded anew.
 */
typedef struct
{
  gint64          series;
  GradusLogColumn open[GRADUS_PYRAMID_LEVELS];
} GradusPyramid;

/* Statements that all pyramids of a connection share. */
typedef struct
{
  sqlite3      *db;
  sqlite3_stmt *insert;
} GradusPyramidWriter;

gboolean gradus_pyramid_writer_init (GradusPyramidWriter *writer, sqlite3 *db, GError **error);
void     gradus_pyramid_writer_clear (GradusPyramidWriter *writer);

/* Adds the next row, which must be after all others; writes the buckets that it fills. */
gboolean gradus_pyramid_append (GradusPyramid       *self,
                                GradusPyramidWriter *writer,
                                gint64               step,
                                gint64               time,
                                double               value,
                                GError             **error);

/* Throws away what was summed over rows from @step on and sums the rows anew, after they changed;
 * with G_MAXINT64, takes up the series as it stands. */
gboolean gradus_pyramid_rebuild (GradusPyramid       *self,
                                 GradusPyramidWriter *writer,
                                 gint64               series,
                                 gint64               step,
                                 GError             **error);

/* The whole series. */
void gradus_pyramid_total (const GradusPyramid *self, GradusLogColumn *total);

G_END_DECLS
