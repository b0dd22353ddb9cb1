/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* The runs of the workspace: the selected row is the workbench's focus, dots are what the charts
 * show. */
#define GRADUS_TYPE_RUN_LIST (gradus_run_list_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunList, gradus_run_list, GRADUS, RUN_LIST, GtkWidget)

void gradus_run_list_set_workbench (GradusRunList *self, GradusWorkbench *workbench);
/* Brings up the entry to search in. */
void gradus_run_list_find (GradusRunList *self);
/* The keyboard goes to the selected row. */
void gradus_run_list_grab_rows (GradusRunList *self);

G_END_DECLS
