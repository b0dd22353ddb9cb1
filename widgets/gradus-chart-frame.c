/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"
#include "gradus-draw.h"

#include <glib/gi18n-lib.h>
#include <math.h>

/* Grid, axes, labels, spans, marks and the reference line. */
#define GRADUS_TYPE_CHART_FRAME (gradus_chart_frame_get_type ())
G_DECLARE_FINAL_TYPE (GradusChartFrame, gradus_chart_frame, GRADUS, CHART_FRAME, GtkWidget)

#define TICK_LENGTH 4
#define TRIANGLE_WIDTH 8
#define TRIANGLE_HEIGHT 5
#define MARK_STRENGTH 0.7

/* Under this width the axis does without the name of its unit. */
#define MIN_WIDTH_FOR_UNIT 250

struct _GradusChartFrame
{
  GtkWidget parent_instance;

  GradusChart *chart; /* borrowed: the chart owns this */
};

G_DEFINE_FINAL_TYPE (GradusChartFrame, gradus_chart_frame, GTK_TYPE_WIDGET)

static const char *
get_unit_name (GradusXKind kind)
{
  switch (kind)
    {
    case GRADUS_X_EPOCH:
      return _("epoch");
    case GRADUS_X_TIME:
      return _("time");
    case GRADUS_X_STEP:
    default:
      return _("step");
    }
}

static void
draw_grid (GradusChartFrame *self, GtkSnapshot *snapshot)
{
  GradusChart      *chart = self->chart;
  const GradusPlot *plot = &chart->plot;

  for (guint i = 0; i < chart->y_ticks.n; i++)
    {
      double           y = round (gradus_plot_get_py (plot, chart->y_ticks.at[i] / chart->y_factor));
      g_autofree char *text = gradus_chart_format_y_tick (chart, i);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);

      if (y < plot->top - 1 || y > plot->top + plot->height + 1)
        continue;
      if (y < plot->top + plot->height - 0.5)
        gradus_draw_rect (snapshot, plot->left, y, plot->width, 1, &chart->palette.grid);
      gradus_draw_text (snapshot, layout, plot->left - 8, y, 1.0, &chart->palette.dim);
    }
  gradus_draw_rect (snapshot, plot->left, plot->top + plot->height, plot->width, 1, &chart->palette.axis);
}

static void
draw_x_axis (GradusChartFrame *self, GtkSnapshot *snapshot)
{
  GradusChart      *chart = self->chart;
  const GradusPlot *plot = &chart->plot;
  double            bottom = plot->top + plot->height, right = plot->left + plot->width;
  double            free_from = -INFINITY, free_to = right + plot->left;

  if (plot->width >= MIN_WIDTH_FOR_UNIT)
    {
      g_autoptr (PangoLayout) unit
          = gradus_draw_layout (GTK_WIDGET (self), get_unit_name (plot->kind), FALSE);
      int width;

      pango_layout_get_pixel_size (unit, &width, NULL);
      gradus_draw_text (snapshot, unit, right, bottom + 13, 1.0, &chart->palette.dim);
      free_to = right - width - 8;
    }
  for (guint i = 0; i < chart->x_ticks.n; i++)
    {
      double           x = floor (gradus_plot_get_px (plot, chart->x_ticks.at[i]));
      g_autofree char *text = gradus_chart_format_x_tick (chart, i);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);
      int    width;
      double from;

      pango_layout_get_pixel_size (layout, &width, NULL);
      gradus_draw_rect (snapshot, MIN (x, right - 1), bottom, 1, TICK_LENGTH, &chart->palette.axis);
      from = MIN (x - width / 2.0, chart->width - (double) width);
      if (from < free_from || from + width > free_to)
        continue;
      gradus_draw_text (snapshot, layout, from, bottom + 13, 0.0, &chart->palette.dim);
      free_from = from + width + 8;
    }
}

static void
draw_triangle (GtkSnapshot *snapshot, double x, double y, const GdkRGBA *color)
{
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) (x - TRIANGLE_WIDTH / 2.0), (float) y,
                                               TRIANGLE_WIDTH, TRIANGLE_HEIGHT);
  cairo_t        *cr = gtk_snapshot_append_cairo (snapshot, &bounds);

  cairo_move_to (cr, x - TRIANGLE_WIDTH / 2.0, y);
  cairo_line_to (cr, x + TRIANGLE_WIDTH / 2.0, y);
  cairo_line_to (cr, x, y + TRIANGLE_HEIGHT);
  cairo_close_path (cr);
  gdk_cairo_set_source_rgba (cr, color);
  cairo_fill (cr);
  cairo_destroy (cr);
}

/* Beside the mark at @px, unless an earlier label, which ends at @label_end, stands there. */
static void
draw_mark_label (GradusChartFrame *self, GtkSnapshot *snapshot, GradusMark *mark, double px, double *label_end)
{
  const GradusPlot *plot = &self->chart->plot;
  g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), gradus_mark_get_label (mark), FALSE);
  gboolean before;
  double   left;
  int      width;

  pango_layout_get_pixel_size (layout, &width, NULL);
  before = px + 8 + width > plot->left + plot->width;
  left = before ? px - 8 - width : px + 8;
  if (left < *label_end)
    return;
  *label_end = left + width;
  gradus_draw_text (snapshot, layout, before ? px - 8 : px + 8, plot->top + 2, before ? 1.0 : 0.0, &self->chart->palette.dim);
}

static void
draw_mark (GradusChartFrame *self, GtkSnapshot *snapshot, GradusMark *mark, gboolean spans, double *label_end)
{
  GradusChart      *chart = self->chart;
  const GradusPlot *plot = &chart->plot;
  double            x0, x1, px0, px1;
  GdkRGBA           color;

  if (gradus_mark_is_span (mark) != spans || !gradus_chart_locate_mark (chart, mark, &x0, &x1))
    return;
  if (x1 < plot->x0 || x0 > plot->x1)
    return;

  px0 = round (gradus_plot_get_px (plot, MAX (x0, plot->x0)));
  px1 = round (gradus_plot_get_px (plot, MIN (x1, plot->x1)));
  if (spans)
    {
      gradus_draw_rect (snapshot, px0, plot->top, MAX (px1 - px0, 2), plot->height, &chart->palette.span);
      return;
    }
  color = gradus_draw_fade (&chart->palette.dim, MARK_STRENGTH);
  gradus_draw_dashes (snapshot, px0, plot->top + TRIANGLE_HEIGHT, plot->height - TRIANGLE_HEIGHT, TRUE, &color);
  draw_triangle (snapshot, px0 + 0.5, plot->top - 1, &color);
  if (chart->mark_labels && gradus_mark_get_label (mark) != NULL)
    draw_mark_label (self, snapshot, mark, px0, label_end);
}

static void
draw_marks (GradusChartFrame *self, GtkSnapshot *snapshot, gboolean spans)
{
  GListModel *marks = self->chart->marks;
  double      label_end = -G_MAXDOUBLE;

  for (guint i = 0; marks != NULL && i < g_list_model_get_n_items (marks); i++)
    {
      g_autoptr (GradusMark) mark = g_list_model_get_item (marks, i);

      draw_mark (self, snapshot, mark, spans, &label_end);
    }
}

static void
draw_reference (GradusChartFrame *self, GtkSnapshot *snapshot)
{
  GradusChart      *chart = self->chart;
  const GradusPlot *plot = &chart->plot;
  double            y;

  if (!isfinite (chart->reference) || chart->reference < plot->y0 || chart->reference > plot->y1)
    return;
  y = round (gradus_plot_get_py (plot, chart->reference));
  gradus_draw_dashes (snapshot, plot->left, y, plot->width, FALSE, &chart->palette.dim);
  if (chart->reference_label != NULL)
    {
      g_autoptr (PangoLayout) layout
          = gradus_draw_layout (GTK_WIDGET (self), chart->reference_label, FALSE);

      gradus_draw_text (snapshot, layout, plot->left + plot->width, y - 9, 1.0, &chart->palette.dim);
    }
}

static void
gradus_chart_frame_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusChartFrame *self = GRADUS_CHART_FRAME (widget);

  if (self->chart->plot.width <= 0 || self->chart->plot.height <= 0)
    return;
  draw_marks (self, snapshot, TRUE);
  draw_grid (self, snapshot);
  draw_x_axis (self, snapshot);
  draw_marks (self, snapshot, FALSE);
  draw_reference (self, snapshot);
}

static void
gradus_chart_frame_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  gradus_chart_resized (GRADUS_CHART_FRAME (widget)->chart, width, height);
}

static void
gradus_chart_frame_class_init (GradusChartFrameClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_chart_frame_snapshot;
  widget_class->size_allocate = gradus_chart_frame_size_allocate;
  gtk_widget_class_set_css_name (widget_class, "plot");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_chart_frame_init (GradusChartFrame *self)
{
}

GtkWidget *
gradus_chart_frame_new (GradusChart *chart)
{
  GradusChartFrame *self = g_object_new (GRADUS_TYPE_CHART_FRAME, NULL);

  self->chart = chart;
  return GTK_WIDGET (self);
}

gboolean
gradus_chart_locate_mark (GradusChart *self, GradusMark *mark, double *x0, double *x1)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      GradusSeries    *series = gradus_line_get_series (line->line);

      if (gradus_line_get_run (line->line) != gradus_mark_get_run (mark))
        continue;
      *x0 = gradus_series_x_of_step (series, self->plot.kind, gradus_mark_get_step (mark));
      *x1 = gradus_series_x_of_step (series, self->plot.kind, gradus_mark_get_last_step (mark));
      return isfinite (*x0) && isfinite (*x1);
    }
  return FALSE;
}

GradusMark *
gradus_chart_find_mark (GradusChart *self, double px, double py)
{
  if (self->marks == NULL || fabs (py - self->plot.top) > 10.0)
    return NULL;
  for (guint i = g_list_model_get_n_items (self->marks); i > 0; i--)
    {
      g_autoptr (GradusMark) mark = g_list_model_get_item (self->marks, i - 1);
      double x0, x1;

      if (!gradus_mark_is_span (mark) && gradus_chart_locate_mark (self, mark, &x0, &x1)
          && fabs (gradus_plot_get_px (&self->plot, x0) - px) <= TRIANGLE_WIDTH)
        return mark;
    }
  return NULL;
}
