/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"
#include "gradus-draw.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

/* What the range of y leaves out: an arrowhead at the edge for each place, in the colour of its run,
   and the farthest value in words. */

/* Rows of an arrowhead, each two pixels wider than the one before. */
#define ROWS 4

/* Arrowheads that are closer become one. */
#define MIN_DISTANCE 12.0

/* Somebody who chose the range knows what lies beyond it. */
static gboolean
is_chosen (const GradusChart *self)
{
  return isfinite (self->y_lower) && isfinite (self->y_upper);
}

static void
note (GradusChart *self, double value)
{
  if (isfinite (value) && value > self->plot.y1)
    self->outside_high = fmax (self->outside_high, value);
  if (isfinite (value) && value < self->plot.y0)
    self->outside_low = fmin (self->outside_low, value);
}

gboolean
gradus_chart_measure_outside (GradusChart *self)
{
  double high = self->outside_high, low = self->outside_low;

  self->outside_high = self->outside_low = NAN;
  for (guint i = 0; i < self->lines->len && !is_chosen (self); i++)
    {
      const GradusTrace *trace = &((GradusChartLine *) g_ptr_array_index (self->lines, i))->raw;

      for (guint k = 0; k < trace->n_columns; k++)
        {
          note (self, trace->columns[k].min);
          note (self, trace->columns[k].max);
        }
      for (guint k = 0; k < trace->n_points; k++)
        if (trace->points[k].x >= self->plot.x0 && trace->points[k].x <= self->plot.x1)
          note (self, trace->points[k].value);
    }
  /* NaN for nothing equals itself here. */
  return memcmp (&high, &self->outside_high, sizeof high) != 0
         || memcmp (&low, &self->outside_low, sizeof low) != 0;
}

char *
gradus_chart_describe_outside (GradusChart *self)
{
  g_autofree char *high = NULL;
  g_autofree char *low = NULL;

  if (isfinite (self->outside_high))
    {
      g_autofree char *value = gradus_format_value (self->outside_high, self->unit);

      /* Translators: the highest value of a chart, which lies above what the chart shows. */
      high = g_strdup_printf (_("highest %s"), value);
    }
  if (isfinite (self->outside_low))
    {
      g_autofree char *value = gradus_format_value (self->outside_low, self->unit);

      /* Translators: the lowest value of a chart, which lies below what the chart shows. */
      low = g_strdup_printf (_("lowest %s"), value);
    }
  if (high != NULL && low != NULL)
    return g_strconcat (high, _(", "), low, NULL);
  return high != NULL ? g_steal_pointer (&high) : g_steal_pointer (&low);
}

/* Of rectangles: one that stays where it was is not painted again. */
static void
draw_arrowhead (GtkSnapshot *snapshot, const GradusPlot *plot, double x, gboolean above, const GdkRGBA *color)
{
  double middle = CLAMP (round (x), plot->left + ROWS, plot->left + plot->width - ROWS);

  for (int row = 0; row < ROWS; row++)
    gradus_draw_rect (snapshot, middle - row, above ? plot->top + row : plot->top + plot->height - 1 - row,
                      2 * row + 1, 1, color);
}

static void
draw_place (const GradusChart *self, GtkSnapshot *snapshot, double x, double low, double high,
            const GdkRGBA *color, double last[2])
{
  const GradusPlot *plot = &self->plot;
  gboolean          outside[2] = { isfinite (high) && high > plot->y1, isfinite (low) && low < plot->y0 };

  for (guint edge = 0; edge < 2; edge++)
    if (outside[edge] && !(x - last[edge] < MIN_DISTANCE))
      {
        draw_arrowhead (snapshot, plot, x, edge == 0, color);
        last[edge] = x;
      }
}

void
gradus_chart_draw_outside (const GradusChart *self, GtkSnapshot *snapshot, const GradusChartLine *line)
{
  const GradusPlot  *plot = &self->plot;
  const GradusTrace *trace = &line->raw;
  const GdkRGBA     *color = gradus_palette_get_run (&self->palette, gradus_line_get_color (line->line));
  double             last[2] = { NAN, NAN };

  if (isnan (self->outside_high) && isnan (self->outside_low))
    return;
  for (guint i = 0; i < trace->n_columns; i++)
    draw_place (self, snapshot, plot->left + (i + 0.5) * plot->width / trace->n_columns,
                trace->columns[i].min, trace->columns[i].max, color, last);
  for (guint i = 0; i < trace->n_points; i++)
    if (trace->points[i].x >= plot->x0 && trace->points[i].x <= plot->x1)
      draw_place (self, snapshot, gradus_plot_get_px (plot, trace->points[i].x), trace->points[i].value,
                  trace->points[i].value, color, last);
}
