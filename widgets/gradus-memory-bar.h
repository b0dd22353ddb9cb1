/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_MEMORY_BAR (gradus_memory_bar_get_type ())
G_DECLARE_FINAL_TYPE (GradusMemoryBar, gradus_memory_bar, GRADUS, MEMORY_BAR, GtkWidget)

/* "Memory  190 of 2 048 MB" over a bar with a mark at the peak, "peak" and "planned" below it. */
GtkWidget *gradus_memory_bar_new (const char *title);

/* In bytes; @total is what the bar's full length means. NaN for what is not known. */
void gradus_memory_bar_set (GradusMemoryBar *self, double now, double peak, double planned, double total);

G_END_DECLS
