/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-axis.h"
#include "gradus-histogram-item.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

typedef enum
{
  GRADUS_HISTOGRAM_STACKED,      /* ridges, the newest in front */
  GRADUS_HISTOGRAM_OVERLAY,      /* all on one base line */
  GRADUS_HISTOGRAM_DISTRIBUTION, /* bands of percentiles over the steps */
  GRADUS_HISTOGRAM_HEAT_MAP,     /* steps to the right, values upwards, darker for more */
} GradusHistogramMode;

#define GRADUS_TYPE_HISTOGRAM_VIEW (gradus_histogram_view_get_type ())
G_DECLARE_FINAL_TYPE (GradusHistogramView, gradus_histogram_view, GRADUS, HISTOGRAM_VIEW, GtkWidget)

/* Histograms of one variable over the steps, with the control for the mode in its header, a slider
   for the step below and the numbers of that step at the right. Stands on a card of the caller's.

   Pointer: hovering picks a ridge; a click keeps it. Keys on the plot: Left, Right (or Up, Down) go a
   step back or on, Home and End to the first and last; the slider has its own.

   Properties: "mode" (int), "position" (uint: the number of the histogram shown), "title" (string).
   While the last one is shown, a new one becomes the one shown. */
GtkWidget *gradus_histogram_view_new (const char *title);

void gradus_histogram_view_set_title (GradusHistogramView *self, const char *title);

/* A widget after the title, such as a list of variables; NULL for none. */
void gradus_histogram_view_set_start_widget (GradusHistogramView *self, GtkWidget *widget);

/* List model of GradusHistogramItem in the order of steps; NULL for none. */
void        gradus_histogram_view_set_model (GradusHistogramView *self, GListModel *model);
GListModel *gradus_histogram_view_get_model (GradusHistogramView *self);

void                gradus_histogram_view_set_mode (GradusHistogramView *self, GradusHistogramMode mode);
GradusHistogramMode gradus_histogram_view_get_mode (GradusHistogramView *self);

/* Which histogram is shown strong and in numbers. */
void  gradus_histogram_view_set_position (GradusHistogramView *self, guint position);
guint gradus_histogram_view_get_position (GradusHistogramView *self);

/* Run colour's number. */
void gradus_histogram_view_set_color (GradusHistogramView *self, int color);

/* An axis whose cursor picks the histogram nearest to it, and whose kind names the steps; NULL for
   none. */
void gradus_histogram_view_set_axis (GradusHistogramView *self, GradusAxis *axis);

G_END_DECLS
