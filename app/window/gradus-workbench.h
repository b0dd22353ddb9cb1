/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-run-data.h"
#include "gradus-run-item.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_WORKBENCH_OPENING,
  GRADUS_WORKBENCH_READY,
  GRADUS_WORKBENCH_FAILED,
} GradusWorkbenchState;

/**
 * GradusWorkbench:
 *
 * What the window works on: the workspace with its runs, the recipe at hand (the draft), and the
 * session that trains. Everything slow happens on other threads; what it shows of a run comes out
 * of the log. Main thread only.
 *
 * Properties: "state" (GradusWorkbenchState as int), "busy" (boolean: a run of this process is on
 * or waits), "focus" (GradusRunItem: what the panel shows; NULL for nothing), "active"
 * (GradusRunItem: the run that is on, of whatever process; NULL for none).
 *
 * Signals:
 *   "run-ended" (name, outcome, good): a run of this process is over; @outcome is a sentence
 *   "refused" (message): the run did not take a command, and says why
 *   "stalled" (reason): the log cannot be written and the run waits; NULL: it can be again
 *   "trouble" (message): something asked for could not be done
 *   "shown-changed": other runs are in the charts, or in other colours
 *   "focus-data": the data of the focused run is there or is another object
 */
#define GRADUS_TYPE_WORKBENCH (gradus_workbench_get_type ())
G_DECLARE_FINAL_TYPE (GradusWorkbench, gradus_workbench, GRADUS, WORKBENCH, GObject)

/* @workspace: folder; NULL for the default. Opens nothing yet. */
GradusWorkbench *gradus_workbench_new (const char *workspace);

/* Begins to open the workspace; again after a failure. */
void                 gradus_workbench_open (GradusWorkbench *self);
GradusWorkbenchState gradus_workbench_get_state (GradusWorkbench *self);
/* Why it could not be opened. */
const char *gradus_workbench_get_error (GradusWorkbench *self);
/* NULL, or why nothing can be written. */
const char *gradus_workbench_get_read_only_reason (GradusWorkbench *self);
/* NULL, or why the run waits for the log. */
const char *gradus_workbench_get_stall (GradusWorkbench *self);
const char *gradus_workbench_get_path (GradusWorkbench *self);

/* (element-type GradusRunItem): the draft, then the newest first. */
GListModel    *gradus_workbench_get_runs (GradusWorkbench *self);
GradusRunItem *gradus_workbench_get_focus (GradusWorkbench *self);
void           gradus_workbench_set_focus (GradusWorkbench *self, GradusRunItem *item);
GradusRunItem *gradus_workbench_get_active (GradusWorkbench *self);
gboolean       gradus_workbench_is_busy (GradusWorkbench *self);

/* In the charts or not. */
void       gradus_workbench_set_shown (GradusWorkbench *self, GradusRunItem *item, gboolean shown);
/* (element-type GradusRunItem) (transfer container): those in the charts, the focused one last. */
GPtrArray *gradus_workbench_get_shown (GradusWorkbench *self);
/* The data of a run that is shown or focused; NULL for others. */
GradusRunData *gradus_workbench_get_data (GradusWorkbench *self, GradusRunItem *item);
/* Which histograms the focused run's data holds; NULL for the first weights. */
void gradus_workbench_set_variable (GradusWorkbench *self, const char *variable);

/* The recipe at hand becomes @recipe, and is focused. */
void           gradus_workbench_set_draft (GradusWorkbench *self, GradusRecipe *recipe);
GradusRunItem *gradus_workbench_get_draft (GradusWorkbench *self);
void           gradus_workbench_discard_draft (GradusWorkbench *self);

/* Asks for recipe and summary of @item; "recipe-changed" of the item tells when they are there. */
void gradus_workbench_request_summary (GradusWorkbench *self, GradusRunItem *item);
void gradus_workbench_request_recipe (GradusWorkbench *self, GradusRunItem *item);

/* Trains the recipe: at once, or when those before it are through. The draft becomes the run. */
void gradus_workbench_train (GradusWorkbench *self, GradusRecipe *recipe);
void gradus_workbench_resume (GradusWorkbench *self, GradusRunItem *item);
/* A command of gradus-session.h, as JSON, through the log. */
void gradus_workbench_command (GradusWorkbench *self, GradusRunItem *item, const char *command);
void gradus_workbench_set_option (GradusWorkbench *self,
                                  GradusRunItem   *item,
                                  const char      *name,
                                  double           value);
void gradus_workbench_rename (GradusWorkbench *self, GradusRunItem *item, const char *name);
/* Moves a waiting run of this process up or down the queue. */
void gradus_workbench_move (GradusWorkbench *self, GradusRunItem *item, int by);

/* Takes @item out of the list; the log keeps it until gradus_workbench_delete(). */
void gradus_workbench_hide (GradusWorkbench *self, GradusRunItem *item);
void gradus_workbench_unhide (GradusWorkbench *self, GradusRunItem *item);
void gradus_workbench_delete (GradusWorkbench *self, GradusRunItem *item);

/* Asks the run of this process to stop and keep, at once; those that wait are not started. */
void gradus_workbench_stop_now (GradusWorkbench *self);
/* Stops and keeps, writes everything, closes. Waits; for the end of the process. */
void gradus_workbench_close (GradusWorkbench *self);

G_END_DECLS
