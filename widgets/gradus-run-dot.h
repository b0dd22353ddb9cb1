/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_RUN_DOT (gradus_run_dot_get_type ())
G_DECLARE_FINAL_TYPE (GradusRunDot, gradus_run_dot, GRADUS, RUN_DOT, GtkToggleButton)

/* A toggle button in the shape of a dot: filled with the run's colour when active (shown in the
   charts), a dim ring when not. Use GtkToggleButton's "active" and "toggled". */
GtkWidget *gradus_run_dot_new (void);

/* Run colour's number. */
void gradus_run_dot_set_color (GradusRunDot *self, int color);

/* What a screen reader calls it: "Show cnn-7 in the charts". */
void gradus_run_dot_set_run_name (GradusRunDot *self, const char *run_name);

G_END_DECLS
