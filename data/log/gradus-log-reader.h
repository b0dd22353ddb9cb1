/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-observer.h"
#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/**
 * GradusLogReader:
 *
 * A read-only connection to the log, used by one thread at a time. Errors of every function: BUSY,
 * CORRUPT, IO, NOT_FOUND where a run is asked for that is not there. A call sees one state of the
 * log; gradus_log_reader_begin() makes several calls see the same one.
 */
typedef struct _GradusLogReader GradusLogReader;

GradusLogReader *gradus_log_reader_new (GradusWorkspace *workspace,
                                        GError         **error) G_GNUC_WARN_UNUSED_RESULT;
void             gradus_log_reader_free (GradusLogReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusLogReader, gradus_log_reader_free)

/* A number that differs after another connection, of any process, has written. Microseconds; call
 * it outside begin()/end(). -1 with an error. */
gint64 gradus_log_reader_data_version (GradusLogReader *self, GError **error);

/* Keep it short: the log cannot be tidied while a state is held. */
gboolean gradus_log_reader_begin (GradusLogReader *self, GError **error);
void     gradus_log_reader_end (GradusLogReader *self);

/**
 * GradusRunInfo:
 * @status: as it truly is: a run that says running, paused, or queued by a process, and whose lock
 *   is free, is interrupted
 * @created, @started, @finished: ms since 1970 UTC, 0 if not yet
 * @last_step: the newest step of any of its scalars, 0 if none
 * @last_time: ms since @started of that
 * @epochs: the last value of series `epoch`, 0 if none
 * @planned_epochs: fit.epochs of the recipe, 0 if unknown
 * @train_loss, @train_accuracy, @validation_loss, @validation_accuracy: last values, NaN if none
 * @best_validation_loss, @best_validation_accuracy: lowest and highest, NaN if none
 * @test_accuracy, @test_loss: NaN if none
 * @n_findings, @worst: findings, and the worst severity among them (note if none)
 */
typedef struct
{
  gint64          id;
  char           *uuid;
  char           *name;
  GradusRunStatus status;
  gint64          created, started, finished;
  gint64          seed;
  char           *host;
  char           *engine_version;
  gint64          parent, parent_step;
  char           *note;
  gboolean        archived;
  gint64          last_step, last_time;
  double          epochs, planned_epochs;
  double          train_loss, train_accuracy;
  double          validation_loss, validation_accuracy;
  double          best_validation_loss, best_validation_accuracy;
  double          test_loss, test_accuracy;
  guint           n_findings;
  GradusSeverity  worst;
} GradusRunInfo;

void gradus_run_info_free (GradusRunInfo *info);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusRunInfo, gradus_run_info_free)

/* Newest first: (element-type GradusRunInfo), owning. 1,000 runs of 50 series in under 50 ms. */
GPtrArray     *gradus_log_reader_runs (GradusLogReader *self, GError **error);
GradusRunInfo *gradus_log_reader_run (GradusLogReader *self, gint64 run, GError **error);

/* The JSON of a run; an empty string where there is none, NULL with an error. */
char *gradus_log_reader_recipe (GradusLogReader *self, gint64 run, GError **error);
char *gradus_log_reader_model (GradusLogReader *self, gint64 run, GError **error);
char *gradus_log_reader_device (GradusLogReader *self, gint64 run, GError **error);

/* What the run's model says under gradus.parameters; 0 where it says nothing, -1 with an error. */
gint64 gradus_log_reader_parameters (GradusLogReader *self, gint64 run, GError **error);

/**
 * GradusSeriesInfo:
 * @count: rows; for the kinds other than scalar and histogram too
 * @first_step, @last_step: 0 if empty
 * @first_time, @last_time: ms since the run's start
 * @last_value: of a scalar series; NaN otherwise
 * @min, @max, @min_step, @max_step: over the finite values (their first occurrence); NaN and 0 if
 *   there is none
 * @n_nan, @n_pinf, @n_ninf: non-finite values
 * @generation: grows when rows that were there changed or went (a resume), so that a copy must be
 *   read anew; not when rows are appended
 */
typedef struct
{
  gint64           id;
  gint64           run;
  char            *name;
  GradusSeriesKind kind;
  gint64           count;
  gint64           first_step, last_step;
  gint64           first_time, last_time;
  double           last_value;
  double           min, max;
  gint64           min_step, max_step;
  gint64           n_nan, n_pinf, n_ninf;
  gint64           generation;
} GradusSeriesInfo;

void gradus_series_info_free (GradusSeriesInfo *info);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusSeriesInfo, gradus_series_info_free)

/* All series of a run in the order of their names: (element-type GradusSeriesInfo), owning. */
GPtrArray *gradus_log_reader_series (GradusLogReader *self, gint64 run, GError **error);

/* One of them; NULL without an error if the run has none of that name. */
GradusSeriesInfo *gradus_log_reader_find_series (GradusLogReader *self,
                                                 gint64           run,
                                                 const char      *name,
                                                 GError         **error);

/* One row of a scalar series; a NaN reads back as NaN, and -0 as 0. @time: ms since the run's
 * start. */
typedef struct
{
  gint64 step;
  gint64 time;
  double value;
} GradusScalar;

/* Appends to @out (of GradusScalar) the rows with after < step, in order, at most @limit of them
 * (0: all). For following a live run pass the last step you have. G_MININT64: from the start. */
gboolean gradus_log_reader_scalars (GradusLogReader *self,
                                    gint64           series,
                                    gint64           after,
                                    gsize            limit,
                                    GArray          *out,
                                    GError         **error);

/**
 * GradusLogColumn:
 * @count: rows in the column, non-finite ones included; if 0, all else is 0
 * @first, @last: values at the ends; may be non-finite
 * @min, @max, @sum: over the finite values; NaN, NaN and 0 if there is none
 */
typedef struct
{
  gint64 count;
  gint64 first_step, last_step, first_time, last_time;
  double first, last;
  double min, max, sum;
  gint64 min_step, max_step;
  gint64 n_nan, n_pinf, n_ninf;
} GradusLogColumn;

/* Column i of @n covers the steps from step0 + i * (step1 - step0) / n up to, not including, the
 * next one's (finite real numbers; the last includes step1). Exact: what reading every row would
 * give, out of the pyramid. */
gboolean gradus_log_reader_columns (GradusLogReader *self,
                                    gint64           series,
                                    double           step0,
                                    double           step1,
                                    guint            n,
                                    GradusLogColumn *out,
                                    GError         **error);

/* A histogram row: @histogram's arrays belong to it. */
typedef struct
{
  gint64          step;
  gint64          time;
  GradusHistogram histogram;
} GradusLogHistogram;

void gradus_log_histogram_free (GradusLogHistogram *histogram);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusLogHistogram, gradus_log_histogram_free)

/* Appends the steps (gint64) with after < step that the histogram series has. */
gboolean gradus_log_reader_histogram_steps (GradusLogReader *self,
                                            gint64           series,
                                            gint64           after,
                                            GArray          *out,
                                            GError         **error);

/* The histogram at @step, or the nearest before it, or else the first; NULL without an error if
 * the series is empty. */
GradusLogHistogram *gradus_log_reader_histogram (GradusLogReader *self,
                                                 gint64           series,
                                                 gint64           step,
                                                 GError         **error);

/* Those with step0 <= step <= step1, in order, at most @max (0: all), thinned evenly with the first
 * and last kept: (element-type GradusLogHistogram), owning. */
GPtrArray *gradus_log_reader_histograms (GradusLogReader *self,
                                         gint64           series,
                                         gint64           step0,
                                         gint64           step1,
                                         guint            max,
                                         GError         **error);

typedef struct
{
  gint64          id;
  gint64          run;
  gint64          step;
  gint64          time; /* ms since the run's start */
  GradusEventKind kind;
  GradusSeverity  severity;
  char           *subject; /* never NULL */
  char           *message; /* never NULL; English */
  char           *data;    /* JSON or NULL */
} GradusLogEvent;

void gradus_log_event_free (GradusLogEvent *event);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusLogEvent, gradus_log_event_free)

/* Events with id > @after, in that order, of a run (0: of all): (element-type GradusLogEvent),
 * owning. */
GPtrArray *gradus_log_reader_events (GradusLogReader *self,
                                     gint64           run,
                                     gint64           after,
                                     GError         **error);

typedef struct
{
  gint64   id;
  gint64   run;
  gint64   step;
  char    *path; /* relative to the workspace */
  gint64   bytes;
  char    *sha256;
  char    *metrics; /* JSON or NULL */
  gboolean pinned;
  gboolean best;
} GradusLogCheckpoint;

void gradus_log_checkpoint_free (GradusLogCheckpoint *checkpoint);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusLogCheckpoint, gradus_log_checkpoint_free)

/* By step: (element-type GradusLogCheckpoint), owning. */
GPtrArray *gradus_log_reader_checkpoints (GradusLogReader *self, gint64 run, GError **error);

typedef struct
{
  gint64 id;
  gint64 run;
  gint64 created; /* ms since 1970 UTC */
  char  *command; /* JSON */
} GradusLogCommand;

void gradus_log_command_free (GradusLogCommand *command);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusLogCommand, gradus_log_command_free)

/* Commands of a run (0: of all) that nobody has taken yet: (element-type GradusLogCommand). */
GPtrArray *gradus_log_reader_commands (GradusLogReader *self, gint64 run, GError **error);

G_END_DECLS
