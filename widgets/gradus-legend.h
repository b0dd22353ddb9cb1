/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_LEGEND (gradus_legend_get_type ())
G_DECLARE_FINAL_TYPE (GradusLegend, gradus_legend, GRADUS, LEGEND, GtkWidget)

/* Names of the runs in their colours, then what thin lines, strong lines and bands mean. Of more
   than six runs the rest are counted ("4 more"). */
GtkWidget *gradus_legend_new (void);

/* @names and @colors (run colours' numbers) of @n runs, the one at @focus (-1 none) in bold. */
void gradus_legend_set_runs (GradusLegend      *self,
                             const char *const *names,
                             const int         *colors,
                             guint              n,
                             int                focus);

G_END_DECLS
