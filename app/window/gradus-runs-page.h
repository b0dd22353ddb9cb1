/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* Runs: the table of all runs, sorted by any column, filtered by words and comparisons. */
#define GRADUS_TYPE_RUNS_PAGE (gradus_runs_page_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunsPage, gradus_runs_page, GRADUS, RUNS_PAGE, GtkWidget)

void gradus_runs_page_set_workbench (GradusRunsPage *self, GradusWorkbench *workbench);
void gradus_runs_page_find (GradusRunsPage *self);

G_END_DECLS
