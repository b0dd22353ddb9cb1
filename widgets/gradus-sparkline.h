/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_SPARKLINE (gradus_sparkline_get_type ())
G_DECLARE_FINAL_TYPE (GradusSparkline, gradus_sparkline, GRADUS, SPARKLINE, GtkWidget)

/* A tiny line with a dot at its end, for rows of a list. Decoration: the row says the value. */
GtkWidget *gradus_sparkline_new (void);

/* Copies @n values, spread evenly from left to right; those not finite are left out. More than
   128 are reduced to the lowest and highest of each part. */
void gradus_sparkline_set_values (GradusSparkline *self, const double *values, gsize n);

/* Run colour's number, or GRADUS_COLOR_DIM (the initial state). */
void gradus_sparkline_set_color (GradusSparkline *self, int color);

G_END_DECLS
