/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-axis.h"
#include "gradus-format.h"
#include "gradus-line.h"
#include "gradus-mark.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

typedef enum
{
  GRADUS_SCALE_LINEAR,
  GRADUS_SCALE_LOG, /* values of 0 and below are not drawn */
} GradusScale;

#define GRADUS_TYPE_CHART (gradus_chart_get_type ())
G_DECLARE_FINAL_TYPE (GradusChart, gradus_chart, GRADUS, CHART, GtkWidget)

/* Lines over a shared x axis. Title at the left, the last values of the focused run at the right.
   Stands on a card of the caller's (no frame of its own).

   Pointer: motion moves the cursor of all linked charts; dragging zooms into the span, with Alt
   selects it; the wheel zooms around the pointer, with Shift (or a horizontal wheel) pans; dragging
   with the middle button or with Shift pans; a double click shows all again. Keys: Left and Right
   move the cursor (by a point; with Ctrl by a tenth of the range), + and - zoom, Page Up and Down pan,
   Backspace goes back a zoom, 0 or Home shows all, Escape takes the cursor and the selection away.

   Accessibility: role IMG, label the title, description one sentence with the last values, kept
   current at most once a second, or the values at the cursor when a key moved it.

   Signal "mark-activated" (GradusMark *mark): a mark's triangle was clicked.
   Properties: "title" (string), "smoothing" (double), "robust" (boolean), "scale" (int). */
GtkWidget *gradus_chart_new (const char *title);

void        gradus_chart_set_title (GradusChart *self, const char *title);
const char *gradus_chart_get_title (GradusChart *self);

/* The axis to share; a chart starts with one of its own. */
void        gradus_chart_set_axis (GradusChart *self, GradusAxis *axis);
GradusAxis *gradus_chart_get_axis (GradusChart *self);

/* Lines are drawn in the order added, those of the focused run last. The chart keeps a reference.
   Adding a line twice does nothing. */
void gradus_chart_add_line (GradusChart *self, GradusLine *line);
void gradus_chart_remove_line (GradusChart *self, GradusLine *line);
void gradus_chart_clear_lines (GradusChart *self);

/* The lines (element GradusLine, owned by the chart). */
GPtrArray *gradus_chart_get_lines (GradusChart *self);

/* The run whose values stand in the header and in the description. Without one, that of the first
   line. */
void gradus_chart_set_focus_run (GradusChart *self, gint64 run);

/* Marks and spans (of GradusMark); one list model can serve many charts. Only those of runs with a
   line here are drawn. */
void gradus_chart_set_marks (GradusChart *self, GListModel *marks);

/* Whether labels stand beside the marks (else in the tooltip only). Off at first. */
void gradus_chart_set_mark_labels (GradusChart *self, gboolean mark_labels);

/* A dashed horizontal line at @value, named @label ("clip 1.0"); NaN for none. */
void gradus_chart_set_reference (GradusChart *self, double value, const char *label);

/* How values are written. */
void gradus_chart_set_unit (GradusChart *self, GradusUnit unit);

void        gradus_chart_set_scale (GradusChart *self, GradusScale scale);
GradusScale gradus_chart_get_scale (GradusChart *self);

/* The range of y. NaN (the initial state): from the points in view, on a linear scale from 0 where
   values are not negative and reach far enough down. */
void gradus_chart_set_y_range (GradusChart *self, double lower, double upper);

/* Leaves out of the range of y, of each line, the lowest and the highest hundredth of the points in
   view, and where its beginning is in view the first twentieth: the plunge from the initial weights.
   They are drawn up to the edge. Off at first. */
void     gradus_chart_set_robust (GradusChart *self, gboolean robust);
gboolean gradus_chart_get_robust (GradusChart *self);

/* Weight of the moving average in [0, 1); 0 draws the values themselves. The raw line stands
   faint behind the smoothed one. */
void   gradus_chart_set_smoothing (GradusChart *self, double weight);
double gradus_chart_get_smoothing (GradusChart *self);

/* A second value for the header, such as "peak 212 MB": dim, left of the others; NULL for none. */
void gradus_chart_set_note (GradusChart *self, const char *note);

/* The sentence that the accessible description holds, made now. Owned by the caller. */
char *gradus_chart_summarize (GradusChart *self);

G_END_DECLS
