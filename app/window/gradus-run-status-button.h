/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* The run in progress, in the header of every page: ring, name, epoch, time left. Hidden while
 * there is none. */
#define GRADUS_TYPE_RUN_STATUS_BUTTON (gradus_run_status_button_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunStatusButton, gradus_run_status_button, GRADUS, RUN_STATUS_BUTTON,
                      GtkButton)

void gradus_run_status_button_set_workbench (GradusRunStatusButton *self,
                                             GradusWorkbench       *workbench);

G_END_DECLS
