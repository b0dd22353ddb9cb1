/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-log-reader.h"
#include "log/gradus-pyramid.h"
#include "log/gradus-workspace-private.h"

G_BEGIN_DECLS

/* Private to the reader's files. */

typedef enum
{
  READER_DATA_VERSION,
  READER_RUNS,
  READER_RUN,
  READER_RUN_SERIES,
  READER_ALL_FINDINGS,
  READER_RUN_FINDINGS,
  READER_SERIES,
  READER_FIND_SERIES,
  READER_SCALARS,
  READER_BUCKETS,
  READER_LAST_BUCKET,
  READER_HISTOGRAM_STEPS,
  READER_HISTOGRAM,
  READER_EVENTS,
  READER_RUN_EVENTS,
  READER_CHECKPOINTS,
  READER_COMMANDS,
  READER_LIVE_RUNS,
  N_READER_STATEMENTS
} ReaderStatement;

struct _GradusLogReader
{
  GradusWorkspace *workspace;
  sqlite3         *db;
  sqlite3_stmt    *statements[N_READER_STATEMENTS];
};

/* The statement, prepared at its first use and reset; NULL with an error. */
sqlite3_stmt *gradus_log_reader_statement (GradusLogReader *self,
                                           ReaderStatement  which,
                                           const char      *sql,
                                           GError         **error);

/* Ends a loop over gradus_sqlite_step(): TRUE if there was no failure; otherwise passes it on. */
gboolean gradus_log_reader_done (GError *failure, GError **error);

G_END_DECLS
