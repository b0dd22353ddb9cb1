/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"

#include <math.h>
#include <string.h>

/* The share of the points that a robust range leaves out at each end. */
#define ROBUST_SHARE 0.01

/* And the share of a line at its beginning. */
#define PLUNGE_SHARE 0.05

/* Fewer points are all kept. */
#define MIN_ROBUST_POINTS 8

double
gradus_plot_get_px (const GradusPlot *plot, double x)
{
  return plot->left + (x - plot->x0) / (plot->x1 - plot->x0) * plot->width;
}

double
gradus_plot_get_py (const GradusPlot *plot, double y)
{
  double part;

  if (plot->scale == GRADUS_SCALE_LOG)
    part = y > 0.0 ? log (y / plot->y0) / log (plot->y1 / plot->y0) : -INFINITY;
  else
    part = (y - plot->y0) / (plot->y1 - plot->y0);
  /* Far outside is as good as just outside, and keeps cairo's 24.8 numbers from overflowing. */
  part = CLAMP (part, -4.0, 5.0);
  return plot->top + (1.0 - part) * plot->height;
}

double
gradus_plot_get_x (const GradusPlot *plot, double px)
{
  return plot->x0 + (px - plot->left) / plot->width * (plot->x1 - plot->x0);
}

void
gradus_trace_clear (GradusTrace *trace)
{
  g_free (trace->columns);
  g_free (trace->points);
  memset (trace, 0, sizeof *trace);
}

void
gradus_trace_read (GradusTrace *trace, GradusSeries *series, const GradusPlot *plot, guint n_columns)
{
  guint64 n;

  gradus_trace_clear (trace);
  if (n_columns == 0)
    return;

  trace->points = g_new (GradusPoint, n_columns + 2);
  n = gradus_series_get_points (series, plot->kind, plot->x0, plot->x1, n_columns + 2, trace->points);
  if (n <= n_columns + 2)
    {
      trace->n_points = (guint) n;
      return;
    }
  g_clear_pointer (&trace->points, g_free);
  trace->dense = TRUE;
  trace->n_columns = n_columns;
  trace->columns = g_new (GradusColumn, n_columns);
  gradus_series_reduce (series, plot->kind, plot->x0, plot->x1, n_columns, trace->columns);
}

gboolean
gradus_trace_equal (const GradusTrace *a, const GradusTrace *b)
{
  if (a->dense != b->dense || a->n_columns != b->n_columns || a->n_points != b->n_points)
    return FALSE;
  if (a->n_columns > 0 && memcmp (a->columns, b->columns, a->n_columns * sizeof *a->columns) != 0)
    return FALSE;
  return a->n_points == 0 || memcmp (a->points, b->points, a->n_points * sizeof *a->points) == 0;
}

typedef struct
{
  double value;
  double weight;
} Weighted;

static int
compare_weighted (gconstpointer a, gconstpointer b)
{
  double left = ((const Weighted *) a)->value, right = ((const Weighted *) b)->value;

  return (left > right) - (left < right);
}

/* Values below 0 have no place on a log axis and must not decide its range. */
static gboolean
counts (const GradusPlot *plot, double value)
{
  return isfinite (value) && (plot->scale != GRADUS_SCALE_LOG || value > 0.0);
}

/* The columns [*first, *last] that hold points. */
static gboolean
find_columns (const GradusTrace *trace, guint *first, guint *last)
{
  guint begin = 0, end = trace->n_columns;

  while (begin < end && trace->columns[begin].count == 0)
    begin++;
  while (end > begin && trace->columns[end - 1].count == 0)
    end--;
  *first = begin;
  *last = end > 0 ? end - 1 : 0;
  return begin < end;
}

/* Where the part of the line that counts begins. */
static double
skip_plunge (const GradusTrace *trace, const GradusPlot *plot)
{
  double x0, x1;

  if (trace->dense)
    {
      guint first, last;

      if (!find_columns (trace, &first, &last) || first == 0)
        /* A line that begins with the first column may have begun before it; epoch 0 has not. */
        if (plot->x0 > 0.0)
          return plot->x0;
      x0 = plot->x0 + (plot->x1 - plot->x0) * first / trace->n_columns;
      x1 = plot->x0 + (plot->x1 - plot->x0) * (last + 1) / trace->n_columns;
    }
  else
    {
      if (trace->n_points < MIN_ROBUST_POINTS || trace->points[0].x < plot->x0)
        return plot->x0;
      x0 = trace->points[0].x;
      x1 = MIN (trace->points[trace->n_points - 1].x, plot->x1);
    }
  return x0 + PLUNGE_SHARE * (x1 - x0);
}

static void
collect (const GradusTrace *trace, const GradusPlot *plot, double from, GArray *values)
{
  guint first = 0;

  if (trace->n_columns > 0)
    first = (guint) CLAMP ((from - plot->x0) / (plot->x1 - plot->x0) * trace->n_columns, 0.0,
                           trace->n_columns - 1.0);
  for (guint i = first; i < trace->n_columns; i++)
    {
      const GradusColumn *column = &trace->columns[i];
      Weighted            ends[2] = { { column->min, (double) column->count / 2.0 },
                                      { column->max, (double) column->count / 2.0 } };

      for (guint end = 0; end < 2; end++)
        if (counts (plot, ends[end].value))
          g_array_append_val (values, ends[end]);
    }
  for (guint i = 0; i < trace->n_points; i++)
    {
      const GradusPoint *point = &trace->points[i];
      Weighted           one = { point->value, 1.0 };

      if (point->x >= from && point->x <= plot->x1 && counts (plot, point->value))
        g_array_append_val (values, one);
    }
}

gboolean
gradus_trace_get_range (const GradusTrace *trace,
                        const GradusPlot  *plot,
                        gboolean           robust,
                        double            *low,
                        double            *high)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (Weighted));
  double total = 0.0, sum = 0.0;

  collect (trace, plot, robust ? skip_plunge (trace, plot) : plot->x0, values);
  if (values->len == 0)
    return FALSE;

  *low = INFINITY;
  *high = -INFINITY;
  for (guint i = 0; i < values->len; i++)
    {
      Weighted *one = &g_array_index (values, Weighted, i);

      *low = MIN (*low, one->value);
      *high = MAX (*high, one->value);
      total += one->weight;
    }
  if (!robust)
    return TRUE;

  g_array_sort (values, compare_weighted);
  *low = NAN;
  for (guint i = 0; i < values->len; i++)
    {
      Weighted *one = &g_array_index (values, Weighted, i);

      sum += one->weight;
      if (isnan (*low) && sum > ROBUST_SHARE * total)
        *low = one->value;
      *high = one->value;
      if (sum >= (1.0 - ROBUST_SHARE) * total)
        break;
    }
  return TRUE;
}
