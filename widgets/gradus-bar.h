/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_BAR (gradus_bar_get_type ())
G_DECLARE_FINAL_TYPE (GradusBar, gradus_bar, GRADUS, BAR, GtkWidget)

/* A thin bar with round ends in a trough, with or without a mark. Private to this library. */
GtkWidget *gradus_bar_new (void);

/* @fraction and @mark from 0 to 1; NaN for none. */
void gradus_bar_set (GradusBar *self, double fraction, double mark);

G_END_DECLS
