/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"
#include "gradus-draw.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#define LABEL_GAP 8
#define TOP_MARGIN 8
#define BOTTOM_MARGIN 22
#define RIGHT_MARGIN 4
#define PIXELS_PER_Y_TICK 22
#define X_TICK_GAP 36
#define MAX_Y_TICKS 6

/* Part of the range of y that is kept free above the highest value, so that a flat line does not
   lie on the edge. */
#define HEADROOM 0.02

/* Part of the range of y below which a range of positive values begins at 0. */
#define ZERO_SHARE 0.5

static guint
count_y_ticks (GradusChart *self)
{
  return (guint) CLAMP (self->plot.height / PIXELS_PER_Y_TICK + 1, 2, MAX_Y_TICKS);
}

/* Reads the lines anew. Returns whether one of them looks different from before. */
static gboolean
read_lines (GradusChart *self)
{
  guint    n_columns = (guint) MAX (0.0, self->plot.width * gtk_widget_get_scale_factor (GTK_WIDGET (self)));
  gboolean changed = FALSE;

  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      GradusSeries    *series = gradus_line_get_series (line->line);
      GradusTrace      raw = { 0 }, smoothed = { 0 };

      gradus_trace_read (&raw, series, &self->plot, n_columns);
      if (line->smooth != NULL)
        gradus_trace_read (&smoothed, line->smooth, &self->plot, n_columns);
      if (!gradus_trace_equal (&raw, &line->raw) || !gradus_trace_equal (&smoothed, &line->smoothed))
        changed = TRUE;
      gradus_trace_clear (&line->raw);
      gradus_trace_clear (&line->smoothed);
      line->raw = raw;
      line->smoothed = smoothed;
    }
  return changed;
}

static gboolean
points_differ (const GradusPoint *a, const GradusPoint *b)
{
  return memcmp (a, b, sizeof *a) != 0;
}

/* The same for the last and the best values, which may lie outside of what is in view. */
static gboolean
read_values (GradusChart *self)
{
  gboolean changed = FALSE;

  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      GradusSeries    *series = gradus_line_get_series (line->line);
      GradusLineFlags  flags = gradus_line_get_flags (line->line);
      GradusPoint      last = line->last, best = line->best;
      gboolean         had_last = line->has_last, had_best = line->has_best;

      line->has_last = gradus_series_get_nearest (series, self->plot.kind, INFINITY, &line->last);
      line->has_best = (flags & (GRADUS_LINE_BEST_LOWEST | GRADUS_LINE_BEST_HIGHEST)) != 0
                       && gradus_series_get_extreme (series, (flags & GRADUS_LINE_BEST_HIGHEST) != 0,
                                                     &line->best);
      changed |= had_last != line->has_last || had_best != line->has_best
                 || (had_last && points_differ (&last, &line->last))
                 || (had_best && points_differ (&best, &line->best));
    }
  return changed;
}

static void
tell_axis (GradusChart *self)
{
  double x0 = INFINITY, x1 = -INFINITY;

  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      double           from, to;

      if (gradus_series_get_x_range (gradus_line_get_series (line->line), self->plot.kind, &from, &to)
          && isfinite (from) && isfinite (to))
        {
          x0 = MIN (x0, from);
          x1 = MAX (x1, to);
        }
    }
  if (x0 <= x1)
    gradus_axis_set_extent (self->axis, self, x0, x1);
  else
    gradus_axis_unset_extent (self->axis, self);
}

static gboolean
measure_values (GradusChart *self, double *low, double *high)
{
  gboolean any = FALSE;

  *low = INFINITY;
  *high = -INFINITY;
  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      gboolean         robust
          = self->robust && gradus_line_get_role (line->line) != GRADUS_LINE_VALIDATION;
      double           from, to;

      if (!gradus_trace_get_range (&line->raw, &self->plot, robust, &from, &to))
        continue;
      any = TRUE;
      *low = MIN (*low, from);
      *high = MAX (*high, to);
      if ((gradus_line_get_flags (line->line) & GRADUS_LINE_AREA) != 0 && self->scale == GRADUS_SCALE_LINEAR)
        *low = MIN (*low, 0.0);
    }
  if (any && isfinite (self->reference) && (self->scale == GRADUS_SCALE_LINEAR || self->reference > 0.0))
    {
      *low = MIN (*low, self->reference);
      *high = MAX (*high, self->reference);
    }
  return any;
}

static void
choose_linear_range (GradusChart *self, double low, double high)
{
  guint       n_ticks = count_y_ticks (self);
  const char *name;
  double      y0, y1;

  if (low >= 0.0 && low < ZERO_SHARE * high)
    low = 0.0;
  if (!(high > low))
    {
      /* A flat line stands in the middle of a range of its own size. */
      double margin = low != 0.0 ? fabs (low) * 0.5 : 1.0;

      high = low + margin;
      low = low > 0.0 && low < margin ? 0.0 : low - margin;
    }

  self->y_factor = gradus_format_axis_scale (self->unit, MAX (fabs (low), fabs (high)), &name);
  self->y_unit = name;
  y0 = low * self->y_factor;
  y1 = high * self->y_factor;
  /* 1 is the top of an accuracy. */
  if (high != 1.0)
    y1 += HEADROOM * (y1 - y0);
  gradus_ticks_round_range (&y0, &y1, n_ticks);
  gradus_ticks_linear (y0, y1, n_ticks, self->unit == GRADUS_UNIT_COUNT, &self->y_ticks);
  self->plot.y0 = y0 / self->y_factor;
  self->plot.y1 = y1 / self->y_factor;
}

static void
choose_log_range (GradusChart *self, double low, double high)
{
  const char *name;

  if (!(high > low))
    {
      low /= 10.0;
      high *= 10.0;
    }
  self->y_factor = gradus_format_axis_scale (self->unit, high, &name);
  self->y_unit = name;
  self->plot.y0 = low * 0.9;
  self->plot.y1 = high * 1.1;
  gradus_ticks_log (self->plot.y0 * self->y_factor, self->plot.y1 * self->y_factor, count_y_ticks (self),
                    &self->y_ticks);
}

static void
choose_y_range (GradusChart *self)
{
  double low, high;

  self->plot.scale = self->scale;
  if (!measure_values (self, &low, &high))
    {
      low = self->scale == GRADUS_SCALE_LOG ? 0.1 : 0.0;
      high = 1.0;
    }
  if (self->scale == GRADUS_SCALE_LOG)
    choose_log_range (self, low, high);
  else
    choose_linear_range (self, low, high);

  if (isfinite (self->y_lower) && isfinite (self->y_upper))
    {
      self->plot.y0 = self->y_lower;
      self->plot.y1 = self->y_upper;
      if (self->scale == GRADUS_SCALE_LOG)
        gradus_ticks_log (self->y_lower * self->y_factor, self->y_upper * self->y_factor,
                          count_y_ticks (self), &self->y_ticks);
      else
        gradus_ticks_linear (self->y_lower * self->y_factor, self->y_upper * self->y_factor,
                             count_y_ticks (self), self->unit == GRADUS_UNIT_COUNT, &self->y_ticks);
    }
}

char *
gradus_chart_format_y_tick (GradusChart *self, guint i)
{
  g_autofree char *number = self->plot.scale == GRADUS_SCALE_LOG
                                ? gradus_ticks_format_log (self->y_ticks.at[i])
                                : gradus_ticks_format (&self->y_ticks, self->y_ticks.at[i]);

  /* The topmost label names the unit for all. */
  if (i + 1 == self->y_ticks.n && *self->y_unit != '\0')
    return g_strconcat (number, "\u00a0", self->y_unit, NULL);
  return g_steal_pointer (&number);
}

static double
measure_labels (GradusChart *self)
{
  double widest = 0.0;

  for (guint i = 0; i < self->y_ticks.n; i++)
    {
      g_autofree char *text = gradus_chart_format_y_tick (self, i);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (self->frame, text, FALSE);
      int width;

      pango_layout_get_pixel_size (layout, &width, NULL);
      widest = MAX (widest, width);
    }
  return widest;
}

static void
place_plot (GradusChart *self, double label_width)
{
  self->plot.left = label_width + LABEL_GAP;
  self->plot.top = TOP_MARGIN;
  self->plot.width = MAX (0.0, floor (self->width - self->plot.left - RIGHT_MARGIN));
  self->plot.height = MAX (0.0, floor (self->height - TOP_MARGIN - BOTTOM_MARGIN));
}

char *
gradus_chart_format_x_tick (GradusChart *self, guint i)
{
  if (self->plot.kind == GRADUS_X_TIME)
    return gradus_ticks_format_time (&self->x_ticks, self->x_ticks.at[i]);
  return gradus_ticks_format (&self->x_ticks, self->x_ticks.at[i]);
}

static void
fill_x_ticks (GradusChart *self, guint n)
{
  if (self->plot.kind == GRADUS_X_TIME)
    gradus_ticks_time (self->plot.x0, self->plot.x1, n, &self->x_ticks);
  else
    gradus_ticks_linear (self->plot.x0, self->plot.x1, n, self->plot.kind == GRADUS_X_STEP,
                         &self->x_ticks);
}

/* As many as have room: the last label is as wide as any. */
static void
choose_x_ticks (GradusChart *self)
{
  g_autofree char *text = NULL;
  g_autoptr (PangoLayout) layout = NULL;
  int width;

  fill_x_ticks (self, 4);
  if (self->x_ticks.n == 0)
    return;
  text = gradus_chart_format_x_tick (self, self->x_ticks.n - 1);
  layout = gradus_draw_layout (self->frame, text, FALSE);
  pango_layout_get_pixel_size (layout, &width, NULL);
  fill_x_ticks (self, (guint) CLAMP (self->plot.width / (width + X_TICK_GAP), 2, 12) + 1);
}

static gboolean
ticks_equal (const GradusTicks *a, const GradusTicks *b)
{
  return a->n == b->n && a->step == b->step && memcmp (a->at, b->at, a->n * sizeof a->at[0]) == 0;
}

void
gradus_chart_update (GradusChart *self)
{
  GradusPlot  old = self->plot;
  GradusTicks old_x = self->x_ticks, old_y = self->y_ticks;
  gboolean    changed, values_changed;
  const char *old_unit = self->y_unit;

  self->updating = TRUE;
  if (!self->palette_valid)
    {
      gradus_palette_read (&self->palette, GTK_WIDGET (self));
      self->palette_valid = TRUE;
      self->label_width = 0.0;
    }
  self->plot.kind = gradus_axis_get_kind (self->axis);
  tell_axis (self);
  gradus_axis_get_range (self->axis, &self->plot.x0, &self->plot.x1);

  changed = read_lines (self);
  values_changed = read_values (self);
  choose_y_range (self);
  if (!ticks_equal (&old_y, &self->y_ticks) || self->label_width == 0.0 || old_unit != self->y_unit)
    self->label_width = measure_labels (self);
  place_plot (self, self->label_width);
  if (self->plot.width != old.width || self->plot.height != old.height)
    {
      /* Another size has other columns and perhaps other labels, which may be wider; a second round
         settles it. */
      changed |= read_lines (self);
      choose_y_range (self);
      self->label_width = measure_labels (self);
      place_plot (self, self->label_width);
    }
  values_changed |= gradus_chart_measure_outside (self);
  if (memcmp (&old, &self->plot, sizeof old) != 0)
    choose_x_ticks (self);

  if (memcmp (&old, &self->plot, sizeof old) != 0 || !ticks_equal (&old_x, &self->x_ticks)
      || !ticks_equal (&old_y, &self->y_ticks))
    {
      gtk_widget_queue_draw (self->frame);
      gtk_widget_queue_draw (self->cursor);
      changed = TRUE;
    }
  if (changed)
    gtk_widget_queue_draw (self->data);
  if (values_changed)
    gtk_widget_queue_draw (self->values);
  if (!isnan (gradus_axis_get_cursor (self->axis)))
    gtk_widget_queue_draw (self->cursor);
  self->updating = FALSE;
  gradus_chart_speak (self);
}
