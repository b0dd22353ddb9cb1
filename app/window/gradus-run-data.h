/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-feed.h"
#include "gradus-histogram-item.h"
#include "gradus-point-series.h"

G_BEGIN_DECLS

/**
 * GradusRunData:
 *
 * What the charts show of one run: its scalar series, marks, events, checkpoints and one variable's
 * histograms, kept current by the feed while the run is tracked. Main thread only.
 *
 * Signals (no arguments): "series-added", "events-changed", "checkpoints-changed",
 * "variables-changed", and "changed" after every update, whatever came.
 */
#define GRADUS_TYPE_RUN_DATA (gradus_run_data_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunData, gradus_run_data, GRADUS, RUN_DATA, GObject)

GradusRunData *gradus_run_data_new (gint64 run);
gint64         gradus_run_data_get_run (GradusRunData *self);

/* Adds what the feed read. Takes the update's rows. */
void gradus_run_data_apply (GradusRunData *self, GradusFeedDetail *detail);

/* The series @name, NULL while the run has none. */
GradusSeries *gradus_run_data_get_series (GradusRunData *self, const char *name);
/* Its last value; NaN where there is none. */
double gradus_run_data_get_last (GradusRunData *self, const char *name);
/* Mean of a time series over the last steps, in seconds; NaN where there is none. */
double gradus_run_data_get_recent (GradusRunData *self, const char *name);

/* Names of the metrics (without "train/"), "loss" first; free with g_strfreev. */
char **gradus_run_data_get_metrics (GradusRunData *self);

/* (element-type GradusMark): interventions, and the span of the finding that is pointed at. */
GListModel *gradus_run_data_get_marks (GradusRunData *self);
/* (element-type GradusLogEvent): findings, and why a run failed; newest first. */
GPtrArray *gradus_run_data_get_findings (GradusRunData *self);
/* Why a command was refused, if one was since the last call; NULL at first. Free with g_free. */
char *gradus_run_data_take_refusal (GradusRunData *self);
/* What a live option was last set to while the run was on; NaN where nobody changed it. */
double gradus_run_data_get_option (GradusRunData *self, const char *option);
/* (element-type GradusLogCheckpoint): by step. */
GPtrArray *gradus_run_data_get_checkpoints (GradusRunData *self);
/* (element-type utf8): names of the histogram series. */
GPtrArray *gradus_run_data_get_variables (GradusRunData *self);
/* (element-type GradusHistogramItem) of the variable that the feed was asked for. */
GListModel *gradus_run_data_get_histograms (GradusRunData *self);

/* Highlights steps @first to @last in the charts, or nothing where @first > @last. */
void gradus_run_data_set_span (GradusRunData *self, gint64 first, gint64 last, const char *label);

/* Where an epoch ends cannot be read off the log before the first has ended. */
void gradus_run_data_set_steps_per_epoch (GradusRunData *self, gint64 steps);
/* 0 while not known. */
gint64 gradus_run_data_get_steps_per_epoch (GradusRunData *self);
/* Whether all that the log had has been read once. */
gboolean gradus_run_data_is_complete (GradusRunData *self);

G_END_DECLS
