/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-run-item.h"
#include "log/gradus-log-watch.h"

G_BEGIN_DECLS

/**
 * GradusFeed:
 *
 * Reads the log for the window, on the watch's thread, and hands what is new to the main loop: the
 * list of runs, and of the tracked runs every point, event, checkpoint and histogram, each once.
 * A long run comes in pieces, so that the main loop never has more than a frame's work at once; if
 * the main loop is behind, reading waits.
 */
typedef struct _GradusFeed GradusFeed;

/* @details, @spark: NULL where they are as they were. */
typedef struct
{
  GradusRunInfo    *info;
  GradusRunDetails *details;
  GArray           *spark;      /* of double */
  gint64            parameters; /* of its model; 0 where nothing is known yet, or nothing new */
} GradusFeedRun;

/* Points to append after those with a step of @cut and above were forgotten. */
typedef struct
{
  char   *name;
  gint64  cut;    /* G_MAXINT64: nothing is to be forgotten */
  GArray *steps;  /* of gint64 */
  GArray *times;  /* of gint64, ms since the run began */
  GArray *values; /* of double */
} GradusFeedPoints;

/**
 * GradusFeedDetail:
 * @ticket: what gradus_feed_track() was given with the run
 * @points: of GradusFeedPoints
 * @recent: of GradusFeedPoints with one value: the mean over the last steps
 * @events: of GradusLogEvent, all of them; NULL where nothing changed
 * @checkpoints: of GradusLogCheckpoint, all of them; NULL where nothing changed
 * @variables: names of the histogram series; NULL where nothing changed
 * @histograms: of GradusLogHistogram; NULL where nothing changed
 * @histograms_anew: they replace those that were there
 * @complete: nothing is left to be read
 */
typedef struct
{
  gint64     run;
  guint      ticket;
  GPtrArray *points;
  GPtrArray *recent;
  GPtrArray *events;
  GPtrArray *checkpoints;
  GPtrArray *variables;
  GPtrArray *histograms;
  gboolean   histograms_anew;
  gboolean   complete;
} GradusFeedDetail;

/**
 * GradusFeedUpdate:
 * @all: @runs is the whole list; a run that is not there is gone
 * @runs: of GradusFeedRun, newest first
 * @details: of GradusFeedDetail
 * @error: why reading failed; everything else is empty then
 */
typedef struct
{
  gboolean   all;
  GPtrArray *runs;
  GPtrArray *details;
  GError    *error;
} GradusFeedUpdate;

/* On the main loop. The callee may steal what it likes; the rest is freed afterwards. */
typedef void (*GradusFeedFunc) (GradusFeedUpdate *update, gpointer user_data);

/* Starts the watch; waits for the disk, so not from the main loop, but the updates go there. */
GradusFeed *gradus_feed_new (GradusWorkspace *workspace,
                             GradusFeedFunc   func,
                             gpointer         user_data,
                             GError         **error);
/* No callback comes after this. Waits for a read in progress (milliseconds). Main loop. */
void gradus_feed_free (GradusFeed *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusFeed, gradus_feed_free)

typedef struct
{
  gint64 run;
  guint  ticket; /* another number reads the run anew */
} GradusFeedTrack;

/* From now on the @n runs of @tracks are followed; of @focus also the histograms of @variable
 * (NULL: the first). */
void gradus_feed_track (GradusFeed            *self,
                        const GradusFeedTrack *tracks,
                        guint                  n,
                        gint64                 focus,
                        const char            *variable);

/* The whole list is read again soon: a run was made or deleted. */
void gradus_feed_refresh (GradusFeed *self);

G_END_DECLS
