/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_PROGRESS_RING (gradus_progress_ring_get_type ())
G_DECLARE_FINAL_TYPE (GradusProgressRing, gradus_progress_ring, GRADUS, PROGRESS_RING, GtkWidget)

/* A ring of 16 pixels that fills clockwise from the top. Decoration: the text beside it says it. */
GtkWidget *gradus_progress_ring_new (void);

/* From 0 to 1. */
void   gradus_progress_ring_set_fraction (GradusProgressRing *self, double fraction);
double gradus_progress_ring_get_fraction (GradusProgressRing *self);

/* Run colour's number, or GRADUS_COLOR_DIM. */
void gradus_progress_ring_set_color (GradusProgressRing *self, int color);

G_END_DECLS
