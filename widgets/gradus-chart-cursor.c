/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"
#include "gradus-draw.h"

#include <glib/gi18n-lib.h>
#include <math.h>

/* What moves with the pointer: the cursor's line, the values there, the span being dragged. */
#define GRADUS_TYPE_CHART_CURSOR (gradus_chart_cursor_get_type ())
G_DECLARE_FINAL_TYPE (GradusChartCursor, gradus_chart_cursor, GRADUS, CHART_CURSOR, GtkWidget)

#define MAX_ROWS 12
#define ROW_GAP 3
#define PADDING 9
#define COLUMN_GAP 14
#define SWATCH 14
#define POINTER_GAP 14

struct _GradusChartCursor
{
  GtkWidget parent_instance;

  GradusChart *chart; /* borrowed: the chart owns this */
};

G_DEFINE_FINAL_TYPE (GradusChartCursor, gradus_chart_cursor, GTK_TYPE_WIDGET)

typedef struct
{
  const GradusChartLine *line;
  GradusPoint            point;
  PangoLayout           *name;
  PangoLayout           *value;
} Row;

static void
clear_row (gpointer data)
{
  Row *row = data;

  g_clear_object (&row->name);
  g_clear_object (&row->value);
}

/* The highest value on top, as the lines are; what is not a number at the bottom. */
static int
compare_rows (gconstpointer a, gconstpointer b)
{
  double left = ((const Row *) a)->point.value, right = ((const Row *) b)->point.value;

  if (isnan (left) || isnan (right))
    return (isnan (left) != 0) - (isnan (right) != 0);
  return (left < right) - (left > right);
}

static GArray *
collect_rows (GradusChartCursor *self, double x)
{
  GradusChart *chart = self->chart;
  GArray      *rows = g_array_new (FALSE, TRUE, sizeof (Row));

  g_array_set_clear_func (rows, clear_row);
  for (guint i = 0; i < chart->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (chart->lines, i);
      GradusSeries    *series = line->smooth != NULL ? line->smooth : gradus_line_get_series (line->line);
      Row              row = { .line = line };
      double           x0, x1, slack = (chart->plot.x1 - chart->plot.x0) * 0.02;

      /* Where a run has not come yet it has no value. */
      if (gradus_series_get_x_range (series, chart->plot.kind, &x0, &x1) && x >= x0 - slack
          && x <= x1 + slack && gradus_series_get_nearest (series, chart->plot.kind, x, &row.point))
        g_array_append_val (rows, row);
    }
  g_array_sort (rows, compare_rows);
  return rows;
}

static void
draw_dots (GradusChartCursor *self, GtkSnapshot *snapshot, GArray *rows)
{
  const GradusPlot *plot = &self->chart->plot;

  for (guint i = 0; i < rows->len; i++)
    {
      const Row     *row = &g_array_index (rows, Row, i);
      const GdkRGBA *color
          = gradus_palette_get_run (&self->chart->palette, gradus_line_get_color (row->line->line));

      if (isfinite (row->point.value) && row->point.x >= plot->x0 && row->point.x <= plot->x1
          && row->point.value >= plot->y0 && row->point.value <= plot->y1)
        gradus_draw_dot (snapshot, gradus_plot_get_px (plot, row->point.x),
                         gradus_plot_get_py (plot, row->point.value), 3.0, color, 1.5,
                         &self->chart->palette.card);
    }
}

static char *
name_row (GradusChart *chart, const GradusChartLine *line)
{
  const char *run = gradus_line_get_run_name (line->line);
  const char *name = gradus_line_get_name (line->line);

  if (*run == '\0')
    return g_strdup (*name != '\0' ? name : chart->title);
  return g_strjoin (*name != '\0' ? "  " : "", run, name, NULL);
}

static PangoLayout *
make_title (GradusChartCursor *self, double x, GArray *rows)
{
  GradusChart     *chart = self->chart;
  g_autofree char *place = gradus_chart_format_x (chart, x);
  g_autofree char *text = NULL;

  if (chart->plot.kind != GRADUS_X_STEP && rows->len > 0)
    {
      g_autofree char *step = gradus_format_count (g_array_index (rows, Row, 0).point.step);

      /* Translators: %s is where the cursor is ("epoch 12.0"), then the number of a step. */
      text = g_strdup_printf (_("%s, step %s"), place, step);
    }
  return gradus_draw_layout (GTK_WIDGET (self), text != NULL ? text : place, FALSE);
}

static void
draw_card (GradusChartCursor *self, GtkSnapshot *snapshot, const graphene_rect_t *bounds)
{
  GdkRGBA        shadow = { 0, 0, 0, 0.16f };
  GskRoundedRect rounded;

  gsk_rounded_rect_init_from_rect (&rounded, bounds, 6.0f);
  gtk_snapshot_append_outset_shadow (snapshot, &rounded, &shadow, 0, 1, 0, 3);
  gtk_snapshot_push_rounded_clip (snapshot, &rounded);
  gtk_snapshot_append_color (snapshot, &self->chart->palette.card, bounds);
  gtk_snapshot_pop (snapshot);
  gtk_snapshot_append_border (
      snapshot, &rounded, (float[4]){ 1, 1, 1, 1 },
      (GdkRGBA[4]){ self->chart->palette.hairline, self->chart->palette.hairline,
                    self->chart->palette.hairline, self->chart->palette.hairline });
}

static void
measure_rows (GradusChartCursor *self, GArray *rows, guint n, double *names, double *values, double *height)
{
  *names = *values = *height = 0.0;
  for (guint i = 0; i < n; i++)
    {
      Row             *row = &g_array_index (rows, Row, i);
      g_autofree char *name = name_row (self->chart, row->line);
      g_autofree char *value = gradus_format_value (row->point.value, self->chart->unit);
      int              name_width, value_width, row_height;

      row->name = gradus_draw_layout (GTK_WIDGET (self), name, FALSE);
      row->value = gradus_draw_layout (GTK_WIDGET (self), value,
                                       gradus_line_get_role (row->line->line) != GRADUS_LINE_TRAIN);
      pango_layout_get_pixel_size (row->name, &name_width, &row_height);
      pango_layout_get_pixel_size (row->value, &value_width, NULL);
      *names = MAX (*names, name_width);
      *values = MAX (*values, value_width);
      *height = row_height + ROW_GAP;
    }
}

static PangoLayout *
make_rest (GradusChartCursor *self, guint n_rows, guint n_shown)
{
  g_autofree char *text
      = n_rows > n_shown
            ? g_strdup_printf (ngettext ("%u more", "%u more", n_rows - n_shown), n_rows - n_shown)
            : g_strdup ("");

  return gradus_draw_layout (GTK_WIDGET (self), text, FALSE);
}

static void
draw_row (GradusChartCursor *self, GtkSnapshot *snapshot, const Row *row, double left, double right, double y)
{
  const GradusPalette *palette = &self->chart->palette;
  gboolean             train = gradus_line_get_role (row->line->line) == GRADUS_LINE_TRAIN;
  GdkRGBA color = gradus_draw_fade (gradus_palette_get_run (palette, gradus_line_get_color (row->line->line)),
                                    train ? palette->train : 1.0);

  gradus_draw_pill (snapshot, left, y - 1.5, SWATCH - 4, train ? 2 : 3, &color);
  gradus_draw_text (snapshot, row->name, left + SWATCH, y, 0.0, &palette->dim);
  gradus_draw_text (snapshot, row->value, right, y, 1.0,
                    isfinite (row->point.value) ? &palette->text : &palette->error);
}

static void
draw_tooltip (GradusChartCursor *self, GtkSnapshot *snapshot, GArray *rows, double x, double px)
{
  GradusChart *chart = self->chart;
  g_autoptr (PangoLayout) title = make_title (self, x, rows);
  g_autoptr (PangoLayout) rest = NULL;
  guint           n = MIN (rows->len, MAX_ROWS);
  double          names, values, row_height, width, height, left, top, y;
  int             title_width, title_height;
  graphene_rect_t bounds;

  pango_layout_get_pixel_size (title, &title_width, &title_height);
  measure_rows (self, rows, n, &names, &values, &row_height);
  rest = make_rest (self, rows->len, n);
  width = MAX (title_width, SWATCH + names + COLUMN_GAP + values) + 2 * PADDING;
  height = title_height + ROW_GAP + (n + (rows->len > n ? 1 : 0)) * row_height + 2 * PADDING - ROW_GAP;

  left = px + POINTER_GAP;
  if (left + width > chart->width)
    left = MAX (0.0, px - POINTER_GAP - width);
  top = isnan (chart->pointer_y) ? chart->plot.top + 6 : chart->pointer_y - height / 2.0;
  top = MAX (0.0, MIN (top, chart->height - height));

  bounds = GRAPHENE_RECT_INIT ((float) floor (left), (float) floor (top), (float) ceil (width),
                               (float) ceil (height));
  draw_card (self, snapshot, &bounds);
  left += PADDING;
  y = top + PADDING + title_height / 2.0;
  gradus_draw_text (snapshot, title, left, y, 0.0, &chart->palette.dim);
  y += title_height / 2.0 + ROW_GAP + row_height / 2.0;
  for (guint i = 0; i < n; i++, y += row_height)
    draw_row (self, snapshot, &g_array_index (rows, Row, i), left, left + width - 2 * PADDING, y);
  if (rows->len > n)
    gradus_draw_text (snapshot, rest, left + SWATCH, y, 0.0, &chart->palette.dim);
}

static void
draw_span (GradusChartCursor *self, GtkSnapshot *snapshot, double px0, double px1)
{
  const GradusPlot *plot = &self->chart->plot;
  double            left = MAX (MIN (px0, px1), plot->left);
  double            right = MIN (MAX (px0, px1), plot->left + plot->width);

  if (right > left)
    gradus_draw_rect (snapshot, floor (left), plot->top, ceil (right - left), plot->height,
                      &self->chart->palette.selection);
}

static void
gradus_chart_cursor_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusChartCursor *self = GRADUS_CHART_CURSOR (widget);
  GradusChart       *chart = self->chart;
  const GradusPlot  *plot = &chart->plot;
  double             x = gradus_axis_get_cursor (chart->axis), x0, x1, px;
  gboolean           here = !isnan (chart->pointer_x) || gtk_widget_has_focus (GTK_WIDGET (chart));

  if (plot->width <= 0 || plot->height <= 0)
    return;
  if (gradus_axis_get_selection (chart->axis, &x0, &x1))
    draw_span (self, snapshot, gradus_plot_get_px (plot, x0), gradus_plot_get_px (plot, x1));
  if (!isnan (chart->drag_x0))
    draw_span (self, snapshot, chart->drag_x0, chart->drag_x1);
  if (isnan (x) || x < plot->x0 || x > plot->x1)
    return;

  g_autoptr (GArray) rows = collect_rows (self, x);
  px = gradus_plot_get_px (plot, x);
  gradus_draw_rect (snapshot, floor (px), plot->top, 1, plot->height, &chart->palette.axis);
  draw_dots (self, snapshot, rows);
  if (here && isnan (chart->drag_x0) && rows->len > 0)
    draw_tooltip (self, snapshot, rows, x, px);
}

static void
gradus_chart_cursor_class_init (GradusChartCursorClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_chart_cursor_snapshot;
  gtk_widget_class_set_css_name (widget_class, "plot");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_chart_cursor_init (GradusChartCursor *self)
{
  gtk_widget_set_can_target (GTK_WIDGET (self), FALSE);
}

GtkWidget *
gradus_chart_cursor_new (GradusChart *chart)
{
  GradusChartCursor *self = g_object_new (GRADUS_TYPE_CHART_CURSOR, NULL);

  self->chart = chart;
  return GTK_WIDGET (self);
}
