/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-axis.h"
#include "gradus-workbench.h"

G_BEGIN_DECLS

/* Histograms of one variable of the focused run, weights or gradients, with the choice of it. */
#define GRADUS_TYPE_HISTOGRAM_CARD (gradus_histogram_card_get_type ())
G_DECLARE_FINAL_TYPE (GradusHistogramCard, gradus_histogram_card, GRADUS, HISTOGRAM_CARD, GtkWidget)

GtkWidget *gradus_histogram_card_new (GradusAxis *axis);
void gradus_histogram_card_set_workbench (GradusHistogramCard *self, GradusWorkbench *workbench);

G_END_DECLS
