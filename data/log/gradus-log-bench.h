/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-error.h"

G_BEGIN_DECLS

/**
 * GradusLogBench:
 * @records_per_s: scalars handed over, until all were in the log, by the time that took
 * @dropped: handed over and not found in the log afterwards; always 0
 * @bytes_per_scalar: of the log's file at the end, pyramid and all
 * @ns_per_record: a call of the observer, waits not counted
 * @waits: times the queue was full
 * @longest_commit_ms: of the recorder
 * @reads, @longest_read_ms: of the reader that followed at 20 Hz
 */
typedef struct
{
  double  seconds;
  double  records_per_s;
  guint64 records;
  guint64 dropped;
  double  bytes_per_scalar;
  double  ns_per_record;
  guint64 waits;
  double  longest_commit_ms;
  guint64 reads;
  double  longest_read_ms;
} GradusLogBench;

/* Records @n_series interleaved series as fast as they are taken for @seconds into a workspace made
 * in @folder (NULL: the temporary folder) and removed afterwards, while a reader follows at 20 Hz.
 * Waits. */
gboolean gradus_log_bench (const char     *folder,
                           double          seconds,
                           guint           n_series,
                           GradusLogBench *result,
                           GError        **error);

G_END_DECLS
