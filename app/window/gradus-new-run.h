/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <adwaita.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/**
 * GradusNewRun:
 *
 * The form for a recipe's main options. Every field is checked as it is typed, by the same rules
 * as a recipe file; what the recipe would need is looked up meanwhile. A start is an example, the
 * recipe at hand, or a past run.
 *
 * Signals: "train" (GradusRecipe) and "keep" (GradusRecipe); the form closes itself.
 */
#define GRADUS_TYPE_NEW_RUN (gradus_new_run_get_type ())
G_DECLARE_FINAL_TYPE (GradusNewRun, gradus_new_run, GRADUS, NEW_RUN, AdwWindow)

/* @start: (nullable): the run or draft to start from */
GradusNewRun *gradus_new_run_new (GradusWorkbench *workbench, GradusRunItem *start);

G_END_DECLS
