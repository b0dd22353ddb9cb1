/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* A row of the run list: dot, name, badge of a finding, best value, state, spark line. */
#define GRADUS_TYPE_RUN_ROW (gradus_run_row_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunRow, gradus_run_row, GRADUS, RUN_ROW, GtkWidget)

GtkWidget *gradus_run_row_new (GradusWorkbench *workbench);
/* @item may be NULL. */
void           gradus_run_row_set_item (GradusRunRow *self, GradusRunItem *item);
GradusRunItem *gradus_run_row_get_item (GradusRunRow *self);

G_END_DECLS
