/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-error.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_SERIES_SCALAR,
  GRADUS_SERIES_HISTOGRAM,
  GRADUS_SERIES_CURVE,
  GRADUS_SERIES_MATRIX,
  GRADUS_SERIES_SAMPLE,
  GRADUS_SERIES_TEXT,
} GradusSeriesKind;

/**
 * GradusHistogram:
 * @count: all values, the non-finite ones included
 * @zeros, @nans, @infs: how many values are exactly 0, NaN, infinite
 * @n: bins
 * @edges: n + 1 ascending edges; the last bin includes its right edge
 * @counts: n counts of finite values
 *
 * min, max, mean and stddev are over the finite values; NaN if there is none.
 */
typedef struct
{
  double        min, max, mean, stddev;
  gint64        count, zeros, nans, infs;
  guint         n;
  const double *edges;
  const double *counts;
} GradusHistogram;

typedef enum
{
  GRADUS_RUN_QUEUED,
  GRADUS_RUN_RUNNING,
  GRADUS_RUN_PAUSED,
  GRADUS_RUN_FINISHED,
  GRADUS_RUN_STOPPED,
  GRADUS_RUN_FAILED,
  GRADUS_RUN_INTERRUPTED,
} GradusRunStatus;

typedef enum
{
  GRADUS_EVENT_FINDING,
  GRADUS_EVENT_INTERVENTION,
  GRADUS_EVENT_CHECKPOINT,
  GRADUS_EVENT_STATUS,
  GRADUS_EVENT_MESSAGE,
} GradusEventKind;

typedef enum
{
  GRADUS_SEVERITY_NOTE,
  GRADUS_SEVERITY_WARNING,
  GRADUS_SEVERITY_ERROR,
} GradusSeverity;

/**
 * GradusCheckpointInfo:
 * @step: optimizer updates done
 * @path: relative to the workspace
 * @sha256: lower-case hexadecimal digest of the file
 * @metrics: JSON object of the values known at that step, such as {"validation/loss": 0.3}
 * @best: whether it is the best by the monitored value so far
 */
typedef struct
{
  gint64      step;
  const char *path;
  gint64      bytes;
  const char *sha256;
  const char *metrics;
  gboolean    best;
} GradusCheckpointInfo;

typedef struct _GradusObserver GradusObserver;

/**
 * GradusObserverFuncs:
 *
 * What the trainer tells. data/log implements it with the recorder. Every call may come from the
 * training thread or the checkpoint thread, copies what it is given, stamps it with the time, and
 * returns at once unless the recorder's queue is full, when it waits: a record is never dropped.
 * Strings are English; they are translated when shown.
 */
typedef struct
{
  /* A handle for a series of the run, made if new. */
  guint (*series) (GradusObserver *self, const char *name, GradusSeriesKind kind);
  void (*scalar) (GradusObserver *self, guint series, gint64 step, double value);
  void (*histogram) (GradusObserver        *self,
                     guint                  series,
                     gint64                 step,
                     const GradusHistogram *histogram);
  /* @data: JSON or NULL; a finding's names its rule and cause. */
  void (*event) (GradusObserver *self,
                 gint64          step,
                 GradusEventKind kind,
                 GradusSeverity  severity,
                 const char     *subject,
                 const char     *message,
                 const char     *data);
  void (*status) (GradusObserver *self, gint64 step, GradusRunStatus status, const char *message);
  /* The command with the log's @id took effect after @step; @error is NULL, or why it could not. The
   * log says so in an event of kind message; what the command changed is an event of its own. */
  void (*command_taken) (GradusObserver *self, gint64 id, gint64 step, const char *error);
  /* The file is in place and synced: the row may be written. */
  void (*checkpoint) (GradusObserver *self, const GradusCheckpointInfo *info);
  /* The row goes first; the caller deletes the file when this returned. Returns once the row is
   * gone. */
  void (*checkpoint_removed) (GradusObserver *self, gint64 step);
  /* A record of any other kind than scalar and histogram. Of kind matrix: @format "float64 ROWSxCOLUMNS",
   * @data little-endian and row-major. */
  void (*blob) (GradusObserver *self,
                guint           series,
                gint64          step,
                const char     *format,
                const void     *data,
                gsize           bytes);
} GradusObserverFuncs;

/* An implementation embeds this as its first member. */
struct _GradusObserver
{
  const GradusObserverFuncs *funcs;
};

G_END_DECLS
