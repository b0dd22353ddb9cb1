/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* Train: findings, the charts of the shown runs, histograms of the focused one, and its panel. */
#define GRADUS_TYPE_TRAIN_PAGE (gradus_train_page_get_type ())
G_DECLARE_FINAL_TYPE (GradusTrainPage, gradus_train_page, GRADUS, TRAIN_PAGE, GtkWidget)

void gradus_train_page_set_workbench (GradusTrainPage *self, GradusWorkbench *workbench);
/* The keyboard goes to the button of a recipe that is ready to train; FALSE where there is none. */
gboolean gradus_train_page_grab_train (GradusTrainPage *self);

G_END_DECLS
