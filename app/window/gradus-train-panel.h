/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* The instrument panel of the focused run: controls, progress, live options, where the time goes,
 * memory, checkpoints. */
#define GRADUS_TYPE_TRAIN_PANEL (gradus_train_panel_get_type ())
G_DECLARE_FINAL_TYPE (GradusTrainPanel, gradus_train_panel, GRADUS, TRAIN_PANEL, GtkWidget)

void gradus_train_panel_set_workbench (GradusTrainPanel *self, GradusWorkbench *workbench);

G_END_DECLS
