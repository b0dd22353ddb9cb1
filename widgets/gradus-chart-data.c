/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"
#include "gradus-draw.h"

#include <math.h>
#include <string.h>

/* The lines themselves. A trace of columns is drawn with one colour node a column, one of points as
   a smooth line, recorded in short runs: the renderer strokes a recording again whenever a part of
   it is damaged. */
#define GRADUS_TYPE_CHART_DATA (gradus_chart_data_get_type ())
G_DECLARE_FINAL_TYPE (GradusChartData, gradus_chart_data, GRADUS, CHART_DATA, GtkWidget)

#define RUN_WIDTH 16.0

/* Replaying a recording costs much more than the strokes in it that are not damaged. So what no
   longer grows is recorded in pieces of this width, and only the end of a line in short ones. */
#define PIECE_WIDTH 256.0
#define TRAIN_WIDTH 1.25
#define VALUE_WIDTH 1.6
#define VALIDATION_WIDTH 2.0
#define FAINT 0.3
#define MARK_HEIGHT 6
#define CALM_PIXELS 3.0

/* A line on the edge of the plot is drawn in its full width. */
#define CLIP_SLACK 2.0f

struct _GradusChartData
{
  GtkWidget parent_instance;

  GradusChart *chart; /* borrowed: the chart owns this */
};

G_DEFINE_FINAL_TYPE (GradusChartData, gradus_chart_data, GTK_TYPE_WIDGET)

typedef struct
{
  float    x, y;
  gboolean gap; /* nothing joins this to the one before */
} Vertex;

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
  Vertex vertex = { (float) x, (float) y, *gap };

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
  GArray  *vertices = g_array_sized_new (FALSE, FALSE, sizeof (Vertex), 2 * trace->n_columns);
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
  GArray  *vertices = g_array_sized_new (FALSE, FALSE, sizeof (Vertex),
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

/* Records @n vertices; NULL if they lie outside of the plot. */
static GskRenderNode *
record_piece (const GradusPlot *plot, const Vertex *vertices, guint n, double width, const GdkRGBA *color)
{
  float           low = vertices[0].y, high = vertices[0].y, left = vertices[0].x, right = left;
  float           margin = (float) width;
  graphene_rect_t bounds;
  graphene_rect_t clip = GRAPHENE_RECT_INIT ((float) plot->left - margin, (float) plot->top - margin,
                                             (float) plot->width + 2 * margin,
                                             (float) plot->height + 2 * margin);
  GskRenderNode  *node;
  cairo_t        *cr;
  guint           begin = 0;

  for (guint i = 1; i < n; i++)
    {
      low = MIN (low, vertices[i].y);
      high = MAX (high, vertices[i].y);
      left = MIN (left, vertices[i].x);
      right = MAX (right, vertices[i].x);
    }
  graphene_rect_init (&bounds, floorf (left - margin), floorf (low - margin),
                      ceilf (right - left + 2 * margin) + 1, ceilf (high - low + 2 * margin) + 1);
  if (!graphene_rect_intersection (&bounds, &clip, &bounds))
    return NULL;

  node = gsk_cairo_node_new (&bounds);
  cr = gsk_cairo_node_get_draw_context (node);
  cairo_set_line_width (cr, width);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap (cr, CAIRO_LINE_CAP_ROUND);
  gdk_cairo_set_source_rgba (cr, color);
  for (guint i = 0; i < n; i++)
    {
      cairo_line_to (cr, vertices[i].x, vertices[i].y);
      if (n == 1)
        cairo_line_to (cr, vertices[i].x, vertices[i].y);
      if (i + 1 < n && vertices[i].x - vertices[begin].x < RUN_WIDTH)
        continue;
      cairo_stroke (cr);
      cairo_move_to (cr, vertices[i].x, vertices[i].y);
      begin = i;
    }
  cairo_destroy (cr);
  return node;
}

static gboolean
is_piece (const GradusChartPiece *piece, const Vertex *vertices, guint n, double width, const GdkRGBA *color)
{
  return piece->vertices != NULL && piece->n_vertices == n && piece->width == width
         && gdk_rgba_equal (&piece->color, color) && memcmp (piece->vertices, vertices, n * sizeof *vertices) == 0;
}

static void
stroke_piece (GtkSnapshot      *snapshot,
              const GradusPlot *plot,
              GradusChartLine  *line,
              const Vertex     *vertices,
              guint             n,
              double            width,
              const GdkRGBA    *color)
{
  GradusChartPiece *piece;

  if (line->n_pieces == line->pieces->len)
    g_array_set_size (line->pieces, line->n_pieces + 1);
  piece = &g_array_index (line->pieces, GradusChartPiece, line->n_pieces++);
  if (!is_piece (piece, vertices, n, width, color))
    {
      g_clear_pointer (&piece->node, gsk_render_node_unref);
      g_free (piece->vertices);
      piece->node = record_piece (plot, vertices, n, width, color);
      piece->vertices = g_memdup2 (vertices, n * sizeof *vertices);
      piece->n_vertices = n;
      piece->width = width;
      piece->color = *color;
    }
  if (piece->node != NULL)
    gtk_snapshot_append_node (snapshot, piece->node);
}

static void
stroke (GtkSnapshot *snapshot, const GradusPlot *plot, GradusChartLine *line, GArray *array, double width, const GdkRGBA *color)
{
  const Vertex *vertices = (const Vertex *) (gpointer) array->data;
  guint         begin = 0;
  double        end_x = array->len > 0 ? vertices[array->len - 1].x : 0.0;

  for (guint i = 1; i <= array->len; i++)
    {
      gboolean ends = i == array->len || vertices[i].gap;
      double   width_limit = end_x - vertices[begin].x > PIECE_WIDTH ? PIECE_WIDTH : RUN_WIDTH;

      if (!ends && vertices[i].x - vertices[begin].x < width_limit)
        continue;
      /* Pieces share the vertex where they meet. */
      stroke_piece (snapshot, plot, line, vertices + begin, i - begin + (ends ? 0 : 1), width, color);
      begin = i;
    }
}

/* Begins the pieces of @line anew; what was recorded for another place of the plot is of no use. */
static void
restart_pieces (GradusChartLine *line, const GradusPlot *plot)
{
  if (memcmp (&line->pieces_plot, plot, sizeof *plot) != 0)
    g_array_set_size (line->pieces, 0);
  line->pieces_plot = *plot;
  line->n_pieces = 0;
}

/* What a column covers on the screen, on whole device pixels. */
static void
add_column (GtkSnapshot      *snapshot,
            const GradusPlot *plot,
            const GradusTrace *trace,
            guint             i,
            double            top,
            double            bottom,
            double            unit,
            const GdkRGBA    *color)
{
  double x = plot->left + i * plot->width / trace->n_columns;

  top = floor (top / unit) * unit;
  bottom = ceil (bottom / unit) * unit;
  top = MAX (top, plot->top);
  bottom = MIN (bottom, plot->top + plot->height);
  if (bottom > top)
    gradus_draw_rect (snapshot, x, top, plot->width / trace->n_columns, bottom - top, color);
}

static void
draw_band (GtkSnapshot *snapshot, const GradusPlot *plot, const GradusTrace *trace, double unit, const GdkRGBA *color)
{
  for (guint i = 0; i < trace->n_columns; i++)
    {
      const GradusColumn *column = &trace->columns[i];

      if (isfinite (column->min))
        add_column (snapshot, plot, trace, i, gradus_plot_get_py (plot, column->max),
                    gradus_plot_get_py (plot, column->min), unit, color);
    }
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
static void
draw_columns (GtkSnapshot       *snapshot,
              const GradusPlot  *plot,
              const GradusTrace *trace,
              double             unit,
              double             width,
              const GdkRGBA     *color)
{
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
      add_column (snapshot, plot, trace, i, gradus_plot_get_py (plot, high) - width / 2.0,
                  gradus_plot_get_py (plot, low) + width / 2.0, unit, color);
    }
}

static void
fill_columns (GtkSnapshot *snapshot, const GradusPlot *plot, const GradusTrace *trace, double unit, const GdkRGBA *color)
{
  double bottom = plot->top + plot->height, top = NAN;
  guint  begin = 0, end = count_columns (trace);

  /* Neighbours of the same height become one node. */
  for (guint i = 0; i <= end; i++)
    {
      double next = top;

      if (i < end && isfinite (trace->columns[i].max))
        next = MAX (plot->top, floor (gradus_plot_get_py (plot, trace->columns[i].max) / unit) * unit);
      if (i < end && (next == top || isnan (next)))
        continue;
      if (isfinite (top) && bottom > top)
        gradus_draw_rect (snapshot, plot->left + begin * plot->width / trace->n_columns, top,
                          (i - begin) * plot->width / trace->n_columns, bottom - top, color);
      begin = i;
      top = next;
    }
}

static void
fill_vertices (GtkSnapshot *snapshot, const GradusPlot *plot, GArray *array, const GdkRGBA *color)
{
  const Vertex   *vertices = (const Vertex *) (gpointer) array->data;
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

/* What lies behind the lines: bands, areas, and the raw points of a smoothed line. */
static void
draw_behind (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit)
{
  const GradusChart *chart = self->chart;
  const GdkRGBA     *color = gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  GradusLineFlags    flags = gradus_line_get_flags (line->line);
  gboolean           stepped = (flags & GRADUS_LINE_STEPPED) != 0;
  GdkRGBA            band = gradus_draw_fade (color, chart->palette.band);

  restart_pieces (line, &chart->plot);
  if ((flags & GRADUS_LINE_AREA) != 0)
    {
      if (line->raw.dense)
        fill_columns (snapshot, &chart->plot, &line->raw, unit, &band);
      else
        {
          g_autoptr (GArray) vertices = make_vertices (&chart->plot, &line->raw, stepped);

          fill_vertices (snapshot, &chart->plot, vertices, &band);
        }
    }
  /* One run's band is read; two are mud. */
  if (line->raw.dense && ((flags & GRADUS_LINE_BAND) != 0 || line->smooth != NULL))
    {
      if (gradus_chart_is_focus (self->chart, line))
        draw_band (snapshot, &chart->plot, &line->raw, unit, &band);
    }
  else if (line->smooth != NULL)
    {
      g_autoptr (GArray) vertices = make_vertices (&chart->plot, &line->raw, stepped);
      GdkRGBA faint = mix (color, &chart->palette.card, FAINT);

      stroke (snapshot, &chart->plot, line, vertices, 1.0, &faint);
    }
}

static void
draw_line (GradusChartData *self, GtkSnapshot *snapshot, GradusChartLine *line, double unit)
{
  const GradusChart *chart = self->chart;
  const GradusTrace *trace = line->smooth != NULL ? &line->smoothed : &line->raw;
  GradusLineFlags    flags = gradus_line_get_flags (line->line);
  GradusLineRole     role = gradus_line_get_role (line->line);
  GdkRGBA            color = *gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  g_autoptr (GArray) vertices = NULL;

  if (role == GRADUS_LINE_TRAIN)
    color = mix (&color, &chart->palette.card, chart->palette.train);

  if (!trace->dense || (flags & GRADUS_LINE_BAND) != 0 || line->smooth != NULL)
    vertices = make_vertices (&chart->plot, trace, (flags & GRADUS_LINE_STEPPED) != 0 && line->smooth == NULL);
  else if (is_calm (&chart->plot, trace))
    vertices = make_extremes (&chart->plot, trace);
  else
    {
      draw_columns (snapshot, &chart->plot, trace, unit, get_width (role), &color);
      return;
    }
  stroke (snapshot, &chart->plot, line, vertices, get_width (role), &color);
  /* What is left of a longer line goes. */
  g_array_set_size (line->pieces, line->n_pieces);
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
                                        (float) plot->left - CLIP_SLACK, (float) plot->top - CLIP_SLACK,
                                        (float) plot->width + 2 * CLIP_SLACK,
                                        (float) plot->height + 2 * CLIP_SLACK));
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
