/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-pieces.h"
#include "gradus-draw.h"

#include <math.h>

/* The lines themselves. A trace of columns is drawn with one box a column, one of points as a smooth
   line; both in pieces, see gradus-chart-pieces.c. */
#define GRADUS_TYPE_CHART_DATA (gradus_chart_data_get_type ())
G_DECLARE_FINAL_TYPE (GradusChartData, gradus_chart_data, GRADUS, CHART_DATA, GtkWidget)

#define TRAIN_WIDTH 1.25
#define VALUE_WIDTH 1.6
#define VALIDATION_WIDTH 2.0
#define FAINT 0.3
#define MARK_HEIGHT 6
#define CALM_PIXELS 3.0

struct _GradusChartData
{
  GtkWidget parent_instance;

  GradusChart *chart; /* borrowed: the chart owns this */
};

G_DEFINE_FINAL_TYPE (GradusChartData, gradus_chart_data, GTK_TYPE_WIDGET)

/* @color over the card at @strength, opaque: where runs of a line overlap nothing gets darker. */
static GdkRGBA
mix (const GdkRGBA *color, const GdkRGBA *card, double strength)
{
  float s = (float) strength;

  return (GdkRGBA){ card->red + (color->red - card->red) * s,
                    card->green + (color->green - card->green) * s,
                    card->blue + (color->blue - card->blue) * s, 1.0f };
}

static void
add_vertex (GArray *vertices, double x, double y, gboolean *gap)
{
  GradusVertex vertex = { (float) x, (float) y, *gap };

  g_array_append_val (vertices, vertex);
  *gap = FALSE;
}

/* One vertex a column, at the mean. */
static void
add_means (GArray *vertices, const GradusPlot *plot, const GradusTrace *trace)
{
  gboolean gap = TRUE;

  for (guint i = 0; i < trace->n_columns; i++)
    {
      const GradusColumn *column = &trace->columns[i];

      if (isfinite (column->min))
        add_vertex (vertices, plot->left + (i + 0.5) * plot->width / trace->n_columns,
                    gradus_plot_get_py (plot, gradus_column_get_mean (column)), &gap);
      else if (column->count > 0)
        gap = TRUE;
    }
}

/* Two vertices a column, at its extremes, in the direction in which the column goes. */
static GArray *
make_extremes (const GradusPlot *plot, const GradusTrace *trace)
{
  GArray  *vertices = g_array_sized_new (FALSE, FALSE, sizeof (GradusVertex), 2 * trace->n_columns);
  gboolean gap = TRUE;

  for (guint i = 0; i < trace->n_columns; i++)
    {
      const GradusColumn *column = &trace->columns[i];
      gboolean            rising = column->last >= column->first;
      double              x = plot->left + (i + 0.5) * plot->width / trace->n_columns;

      if (!isfinite (column->min))
        {
          gap |= column->count > 0;
          continue;
        }
      add_vertex (vertices, x, gradus_plot_get_py (plot, rising ? column->min : column->max), &gap);
      if (column->min != column->max)
        add_vertex (vertices, x, gradus_plot_get_py (plot, rising ? column->max : column->min), &gap);
    }
  return vertices;
}

/* Whether the columns are so low on average that the line is a line and not a thicket: then it is
   worth, and cheap enough, to be drawn smooth. */
static gboolean
is_calm (const GradusPlot *plot, const GradusTrace *trace)
{
  double travel = 0.0;

  for (guint i = 0; i < trace->n_columns; i++)
    if (isfinite (trace->columns[i].min))
      travel += gradus_plot_get_py (plot, trace->columns[i].min) - gradus_plot_get_py (plot, trace->columns[i].max);
  return travel <= CALM_PIXELS * trace->n_columns;
}

static GArray *
make_vertices (const GradusPlot *plot, const GradusTrace *trace, gboolean stepped)
{
  GArray  *vertices = g_array_sized_new (FALSE, FALSE, sizeof (GradusVertex),
                                         trace->n_columns + trace->n_points * (stepped ? 2 : 1));
  gboolean gap = TRUE;
  double   last_y = 0.0;

  add_means (vertices, plot, trace);
  for (guint i = 0; i < trace->n_points; i++)
    {
      const GradusPoint *point = &trace->points[i];
      double             x = gradus_plot_get_px (plot, point->x), y;

      if (!isfinite (point->value))
        {
          gap = TRUE;
          continue;
        }
      /* A neighbour far outside the view only gives the direction. */
      x = CLAMP (x, -1e5, 1e5);
      y = gradus_plot_get_py (plot, point->value);
      if (stepped && !gap)
        add_vertex (vertices, x, last_y, &gap);
      add_vertex (vertices, x, y, &gap);
      last_y = y;
    }
  return vertices;
}

/* What column @i covers on the screen, on whole device pixels. */
static void
add_column (GArray            *boxes,
            const GradusPlot  *plot,
            const GradusTrace *trace,
            guint              i,
            double             top,
            double             bottom,
            double             unit)
{
  GradusBox box = { (float) (plot->left + i * plot->width / trace->n_columns),
                    (float) (plot->width / trace->n_columns) };

  box.top = (float) MAX (floor (top / unit) * unit, plot->top);
  box.bottom = (float) MIN (ceil (bottom / unit) * unit, plot->top + plot->height);
  if (box.bottom > box.top)
    g_array_append_val (boxes, box);
}

static GArray *
make_band (const GradusPlot *plot, const GradusTrace *trace, double unit)
{
  GArray *boxes = g_array_sized_new (FALSE, FALSE, sizeof (GradusBox), trace->n_columns);

  for (guint i = 0; i < trace->n_columns; i++)
    {
      const GradusColumn *column = &trace->columns[i];

      if (isfinite (column->min))
        add_column (boxes, plot, trace, i, gradus_plot_get_py (plot, column->max),
                    gradus_plot_get_py (plot, column->min), unit);
    }
  return boxes;
}

/* Columns up to the last point. */
static guint
count_columns (const GradusTrace *trace)
{
  guint end = trace->n_columns;

  while (end > 0 && trace->columns[end - 1].count == 0)
    end--;
  return end;
}

/* From the lowest to the highest of each column, joined to the last value of the one before. */
static GArray *
make_columns (const GradusPlot *plot, const GradusTrace *trace, double unit, double width)
{
  GArray *boxes = g_array_sized_new (FALSE, FALSE, sizeof (GradusBox), trace->n_columns);
  double last = NAN;
  guint  end = count_columns (trace);

  for (guint i = 0; i < end; i++)
    {
      const GradusColumn *column = &trace->columns[i];
      double              low = column->min, high = column->max;

      if (!isfinite (low))
        {
          if (column->count > 0)
            last = NAN;
          if (isnan (last))
            continue;
          low = high = last;
        }
      else
        {
          if (isfinite (last))
            {
              low = MIN (low, last);
              high = MAX (high, last);
            }
          last = column->last;
        }
      add_column (boxes, plot, trace, i, gradus_plot_get_py (plot, high) - width / 2.0,
                  gradus_plot_get_py (plot, low) + width / 2.0, unit);
    }
  return boxes;
}

/* From each column's highest value to the bottom. */
static GArray *
make_area (const GradusPlot *plot, const GradusTrace *trace, double unit)
{
  GArray *boxes = g_array_new (FALSE, FALSE, sizeof (GradusBox));
  double  bottom = plot->top + plot->height, top = NAN;
  guint   begin = 0, end = count_columns (trace);

  /* Neighbours of the same height become one box. */
  for (guint i = 0; i <= end; i++)
    {
      double next = top;

      if (i < end && isfinite (trace->columns[i].max))
        next = MAX (plot->top, floor (gradus_plot_get_py (plot, trace->columns[i].max) / unit) * unit);
      if (i < end && (next == top || isnan (next)))
        continue;
      if (isfinite (top) && bottom > top)
        {
          GradusBox box = { (float) (plot->left + begin * plot->width / trace->n_columns),
                            (float) ((i - begin) * plot->width / trace->n_columns), (float) top, (float) bottom };

          g_array_append_val (boxes, box);
        }
      begin = i;
      top = next;
    }
  return boxes;
}

static void
fill_vertices (GtkSnapshot *snapshot, const GradusPlot *plot, GArray *array, const GdkRGBA *color)
{
  const GradusVertex   *vertices = (const GradusVertex *) (gpointer) array->data;
  double          bottom = plot->top + plot->height;
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) plot->left, (float) plot->top, (float) plot->width,
                                               (float) plot->height);
  cairo_t        *cr;

  if (array->len == 0)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &bounds);
  for (guint i = 0; i < array->len; i++)
    {
      if (vertices[i].gap)
        cairo_move_to (cr, vertices[i].x, bottom);
      cairo_line_to (cr, vertices[i].x, vertices[i].y);
      if (i + 1 == array->len || vertices[i + 1].gap)
        {
          cairo_line_to (cr, vertices[i].x, bottom);
          cairo_close_path (cr);
        }
    }
  gdk_cairo_set_source_rgba (cr, color);
  cairo_fill (cr);
  cairo_destroy (cr);
}

static double
get_width (GradusLineRole role)
{
  switch (role)
    {
    case GRADUS_LINE_TRAIN:
      return TRAIN_WIDTH;
    case GRADUS_LINE_VALIDATION:
      return VALIDATION_WIDTH;
    case GRADUS_LINE_VALUE:
    default:
      return VALUE_WIDTH;
    }
}

static void
draw_area (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit, const GdkRGBA *color)
{
  const GradusPlot *plot = &self->chart->plot;
  gboolean          stepped = (gradus_line_get_flags (line->line) & GRADUS_LINE_STEPPED) != 0;

  if (line->raw.dense)
    {
      g_autoptr (GArray) boxes = make_area (plot, &line->raw, unit);

      gradus_chart_pieces_fill (&line->behind, snapshot, boxes, color);
    }
  else
    {
      g_autoptr (GArray) vertices = make_vertices (plot, &line->raw, stepped);

      fill_vertices (snapshot, plot, vertices, color);
    }
}

/* What lies behind the lines: bands, areas, and the raw points of a smoothed line. */
static void
draw_behind (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit)
{
  const GradusChart *chart = self->chart;
  const GdkRGBA     *color = gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  GradusLineFlags    flags = gradus_line_get_flags (line->line);
  GdkRGBA            band = gradus_draw_fade (color, chart->palette.band);

  gradus_chart_pieces_begin (&line->behind, &chart->plot);
  if ((flags & GRADUS_LINE_AREA) != 0)
    draw_area (self, snapshot, line, unit, &band);
  /* One run's band is read; two are mud. */
  if (line->raw.dense && ((flags & GRADUS_LINE_BAND) != 0 || line->smooth != NULL))
    {
      if (gradus_chart_is_focus (self->chart, line))
        {
          g_autoptr (GArray) boxes = make_band (&chart->plot, &line->raw, unit);

          gradus_chart_pieces_fill (&line->behind, snapshot, boxes, &band);
        }
    }
  else if (line->smooth != NULL)
    {
      g_autoptr (GArray) vertices
          = make_vertices (&chart->plot, &line->raw, (flags & GRADUS_LINE_STEPPED) != 0);
      GdkRGBA faint = mix (color, &chart->palette.card, FAINT);

      gradus_chart_pieces_stroke (&line->behind, snapshot, vertices, 1.0, &faint);
    }
  gradus_chart_pieces_end (&line->behind);
}

static void
draw_line (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit)
{
  const GradusChart *chart = self->chart;
  const GradusTrace *trace = line->smooth != NULL ? &line->smoothed : &line->raw;
  GradusLineFlags    flags = gradus_line_get_flags (line->line);
  GradusLineRole     role = gradus_line_get_role (line->line);
  double             width = get_width (role);
  GdkRGBA            color = *gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  g_autoptr (GArray) vertices = NULL;
  g_autoptr (GArray) boxes = NULL;

  if (role == GRADUS_LINE_TRAIN)
    color = mix (&color, &chart->palette.card, chart->palette.train);

  if (!trace->dense || (flags & GRADUS_LINE_BAND) != 0 || line->smooth != NULL)
    vertices = make_vertices (&chart->plot, trace, (flags & GRADUS_LINE_STEPPED) != 0 && line->smooth == NULL);
  else if (is_calm (&chart->plot, trace))
    vertices = make_extremes (&chart->plot, trace);
  else
    boxes = make_columns (&chart->plot, trace, unit, width);

  gradus_chart_pieces_begin (&line->front, &chart->plot);
  if (boxes != NULL)
    gradus_chart_pieces_fill (&line->front, snapshot, boxes, &color);
  else
    gradus_chart_pieces_stroke (&line->front, snapshot, vertices, width, &color);
  gradus_chart_pieces_end (&line->front);
}

/* Values that are not finite: a tick at the bottom for NaN and minus infinity, at the top for
   infinity, so that they are seen and hide nothing. */
static void
draw_non_finite (GradusChartData *self, GtkSnapshot *snapshot, const GradusChartLine *line)
{
  const GradusChart *chart = self->chart;
  const GradusPlot  *plot = &chart->plot;
  double             bottom = plot->top + plot->height - MARK_HEIGHT;

  for (guint i = 0; i < line->raw.n_columns; i++)
    {
      const GradusColumn *column = &line->raw.columns[i];
      double              x = plot->left + i * plot->width / line->raw.n_columns;

      if (column->n_nan + column->n_negative_infinite > 0)
        gradus_draw_rect (snapshot, x, bottom, 2, MARK_HEIGHT, &chart->palette.error);
      if (column->n_positive_infinite > 0)
        gradus_draw_rect (snapshot, x, plot->top, 2, MARK_HEIGHT, &chart->palette.error);
    }
  for (guint i = 0; i < line->raw.n_points; i++)
    {
      const GradusPoint *point = &line->raw.points[i];
      double             x = round (gradus_plot_get_px (plot, point->x)) - 1;

      if (point->x >= plot->x0 && point->x <= plot->x1 && !isfinite (point->value))
        gradus_draw_rect (snapshot, x, point->value > 0 ? plot->top : bottom, 2, MARK_HEIGHT,
                          &chart->palette.error);
    }
}

static gboolean
find_place (const GradusPlot *plot, double x, double value, double *px, double *py)
{
  if (!isfinite (value) || x < plot->x0 || x > plot->x1 || value < plot->y0 || value > plot->y1)
    return FALSE;
  *px = gradus_plot_get_px (plot, x);
  *py = gradus_plot_get_py (plot, value);
  return TRUE;
}

static void
draw_symbols (GradusChartData *self, GtkSnapshot *snapshot, const GradusChartLine *line)
{
  const GradusChart *chart = self->chart;
  GradusSeries      *series = gradus_line_get_series (line->line);
  const GdkRGBA     *color = gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  GradusLineFlags    flags = gradus_line_get_flags (line->line);
  double             x, y;

  if (line->has_last && (flags & GRADUS_LINE_END_DOT) != 0)
    {
      GradusPoint last = line->last;

      if (line->smooth != NULL)
        gradus_series_get_nearest (line->smooth, chart->plot.kind, INFINITY, &last);
      if (find_place (&chart->plot, last.x, last.value, &x, &y))
        gradus_draw_dot (snapshot, x, y, 3.5, color, 1.5, &chart->palette.card);
    }
  if (line->has_best
      && find_place (&chart->plot, gradus_series_x_of_step (series, chart->plot.kind, line->best.step),
                     line->best.value, &x, &y))
    gradus_draw_star (snapshot, x, y, 6.0, color, 1.5, &chart->palette.card);
}

typedef void (*DrawFunc) (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit);

/* The focused run comes last, and of each run the train line before the validation line. */
static void
draw_ordered (GradusChartData *self, GtkSnapshot *snapshot, DrawFunc draw, double unit)
{
  for (guint pass = 0; pass < 4; pass++)
    for (guint i = 0; i < self->chart->lines->len; i++)
      {
        GradusChartLine *line = g_ptr_array_index (self->chart->lines, i);
        guint            place = gradus_chart_is_focus (self->chart, line) ? 2 : 0;

        if (gradus_line_get_role (line->line) == GRADUS_LINE_VALIDATION)
          place++;
        if (place == pass)
          draw (self, snapshot, line, unit);
      }
}

static void
draw_symbols_func (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit)
{
  draw_non_finite (self, snapshot, line);
  gradus_chart_draw_outside (self->chart, snapshot, line);
  draw_symbols (self, snapshot, line);
}

static void
gradus_chart_data_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusChartData  *self = GRADUS_CHART_DATA (widget);
  const GradusPlot *plot = &self->chart->plot;
  double            unit = 1.0 / gtk_widget_get_scale_factor (widget);

  if (plot->width <= 0 || plot->height <= 0)
    return;
  gtk_snapshot_push_clip (snapshot, &GRAPHENE_RECT_INIT (
                                        (float) plot->left - GRADUS_CLIP_SLACK, (float) plot->top - GRADUS_CLIP_SLACK,
                                        (float) plot->width + 2 * GRADUS_CLIP_SLACK,
                                        (float) plot->height + 2 * GRADUS_CLIP_SLACK));
  draw_ordered (self, snapshot, draw_behind, unit);
  draw_ordered (self, snapshot, draw_line, unit);
  gtk_snapshot_pop (snapshot);
  draw_ordered (self, snapshot, draw_symbols_func, unit);
}

static void
gradus_chart_data_class_init (GradusChartDataClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_chart_data_snapshot;
  gtk_widget_class_set_css_name (widget_class, "plot");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_chart_data_init (GradusChartData *self)
{
  gtk_widget_set_can_target (GTK_WIDGET (self), FALSE);
}

GtkWidget *
gradus_chart_data_new (GradusChart *chart)
{
  GradusChartData *self = g_object_new (GRADUS_TYPE_CHART_DATA, NULL);

  self->chart = chart;
  return GTK_WIDGET (self);
}
