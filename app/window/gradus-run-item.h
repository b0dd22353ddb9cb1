/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>

#include "gradus-recipe.h"
#include "gradus-summary.h"
#include "log/gradus-log-reader.h"

G_BEGIN_DECLS

/**
 * GradusRunDetails:
 *
 * What lists show of a recipe. Strings are never NULL; numbers are NaN or 0 where the recipe says
 * nothing.
 */
typedef struct
{
  char  *optimizer;
  char  *loss;
  double learning_rate;
  double dropout;
  double clip;
  gint64 batch_size;
  gint64 epochs;
  gint64 n_layers;
  gboolean scheduled; /* more than a number says what the learning rate is */
} GradusRunDetails;

GradusRunDetails *gradus_run_details_new (GradusRecipe *recipe);
void              gradus_run_details_free (GradusRunDetails *details);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusRunDetails, gradus_run_details_free)

/**
 * GradusRunItem:
 *
 * A row of the run list: a run of the log, or the recipe at hand that has not been trained yet (the
 * draft). Main thread only. Signal "changed" (no arguments) when anything but the recipe changed;
 * "recipe-changed" when the recipe or the summary came.
 */
#define GRADUS_TYPE_RUN_ITEM (gradus_run_item_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunItem, gradus_run_item, GRADUS, RUN_ITEM, GObject)

GradusRunItem *gradus_run_item_new (void);
GradusRunItem *gradus_run_item_new_draft (GradusRecipe *recipe);

gboolean    gradus_run_item_is_draft (GradusRunItem *self);
/* 0 for a draft. */
gint64      gradus_run_item_get_id (GradusRunItem *self);
const char *gradus_run_item_get_uuid (GradusRunItem *self);
const char *gradus_run_item_get_name (GradusRunItem *self);

/* NULL for a draft. */
const GradusRunInfo *gradus_run_item_get_info (GradusRunItem *self);
/* (transfer full) */
void gradus_run_item_take_info (GradusRunItem *self, GradusRunInfo *info);

/* Running or paused: somebody trains it now. */
gboolean gradus_run_item_is_live (GradusRunItem *self);
/* A stopped, interrupted or failed run can go on from its last checkpoint. */
gboolean gradus_run_item_is_resumable (GradusRunItem *self);

/* Failed with a loss that is not a number. */
gboolean gradus_run_item_is_diverged (GradusRunItem *self);

/* Of the model; 0 where not known: runs of old logs, and those that have not begun. */
gint64 gradus_run_item_get_parameters (GradusRunItem *self);
void   gradus_run_item_set_parameters (GradusRunItem *self, gint64 parameters);

const GradusRunDetails *gradus_run_item_get_details (GradusRunItem *self);
void gradus_run_item_take_details (GradusRunItem *self, GradusRunDetails *details);

/* The validation loss from first to last, thinned. */
const double *gradus_run_item_get_spark (GradusRunItem *self, guint *n);
void          gradus_run_item_set_spark (GradusRunItem *self, const double *values, guint n);

/* Number of the run's colour, or -1 when it is not in the charts. */
int  gradus_run_item_get_color (GradusRunItem *self);
void gradus_run_item_set_color (GradusRunItem *self, int color);

/* Whether no run with the same loss function in the list has a lower validation loss. */
gboolean gradus_run_item_is_best (GradusRunItem *self);
void     gradus_run_item_set_best (GradusRunItem *self, gboolean best);

/* The recipe, once asked for; NULL before. */
GradusRecipe *gradus_run_item_get_recipe (GradusRunItem *self);
void          gradus_run_item_set_recipe (GradusRunItem *self, GradusRecipe *recipe);

/* What the recipe amounts to, or why that cannot be said; both NULL while it is not known. */
const GradusSummary *gradus_run_item_get_summary (GradusRunItem *self);
const char          *gradus_run_item_get_summary_error (GradusRunItem *self);
/* Gives the summary away, to the run that a draft became. NULL where there is none. */
GradusSummary *gradus_run_item_steal_summary (GradusRunItem *self);
void gradus_run_item_take_summary (GradusRunItem *self, GradusSummary *summary, const char *error);

/* Optimizer updates of one epoch and of the whole run; 0 where not known yet. */
gint64 gradus_run_item_get_steps_per_epoch (GradusRunItem *self);
void   gradus_run_item_set_steps_per_epoch (GradusRunItem *self, gint64 steps);
gint64 gradus_run_item_get_n_steps (GradusRunItem *self);

/* Sentences for people, translated; free with g_free. */
char *gradus_run_item_describe_state (GradusRunItem *self); /* "running", "2 h ago" */
char *gradus_run_item_describe_best (GradusRunItem *self);  /* "0.218"; "" where there is none */
/* Seconds to go; negative where not known. */
double gradus_run_item_get_seconds_left (GradusRunItem *self);

G_END_DECLS
