/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-points.h"

#include <math.h>

#define MS_PER_SECOND 1000.0

double
gradus_points_get_x (const GradusPoints *self, GradusXKind kind, gsize i)
{
  switch (kind)
    {
    case GRADUS_X_EPOCH:
      return gradus_series_epoch_of_step (self->epochs, (double) self->steps[i]);
    case GRADUS_X_TIME:
      return (double) self->times[i] / MS_PER_SECOND;
    case GRADUS_X_STEP:
    default:
      return (double) self->steps[i];
    }
}

/* The array that rises with x, and where @x stands in its unit. */
static const gint64 *
get_keys (const GradusPoints *self, GradusXKind kind, double x, double *key)
{
  switch (kind)
    {
    case GRADUS_X_EPOCH:
      *key = gradus_series_step_of_epoch (self->epochs, x);
      return self->steps;
    case GRADUS_X_TIME:
      *key = x * MS_PER_SECOND;
      return self->times;
    case GRADUS_X_STEP:
    default:
      *key = x;
      return self->steps;
    }
}

/* The first index from @from on whose x is at least @x, or above it with @above. Gallops, because
   the next column's edge is near the last one's. */
static gsize
find_bound (const GradusPoints *self, GradusXKind kind, double x, gboolean above, gsize from)
{
  double        key;
  const gint64 *keys = get_keys (self, kind, x, &key);
  gsize         low = from, high = from, stride = 1;

#define IS_BEFORE(i) (above ? (double) keys[i] <= key : (double) keys[i] < key)
  while (high < self->n && IS_BEFORE (high))
    {
      low = high + 1;
      high += stride;
      stride *= 2;
    }
  high = MIN (high, self->n);
  while (low < high)
    {
      gsize middle = low + (high - low) / 2;

      if (IS_BEFORE (middle))
        low = middle + 1;
      else
        high = middle;
    }
#undef IS_BEFORE
  return low;
}

static void
fill_point (const GradusPoints *self, GradusXKind kind, gsize i, GradusPoint *point)
{
  *point = (GradusPoint){
    .step = self->steps[i],
    .time = self->times[i],
    .x = gradus_points_get_x (self, kind, i),
    .value = gradus_pyramid_get (self->pyramid, i),
  };
}

gboolean
gradus_points_get_x_range (const GradusPoints *self, GradusXKind kind, double *x0, double *x1)
{
  if (self->n == 0)
    return FALSE;
  *x0 = gradus_points_get_x (self, kind, 0);
  *x1 = gradus_points_get_x (self, kind, self->n - 1);
  return TRUE;
}

gboolean
gradus_points_get_y_range (const GradusPoints *self, double *y0, double *y1)
{
  GradusColumn column;

  gradus_pyramid_reduce (self->pyramid, 0, self->n, &column);
  *y0 = column.min;
  *y1 = column.max;
  return !isnan (column.min);
}

void
gradus_points_reduce (const GradusPoints *self,
                      GradusXKind         kind,
                      double              x0,
                      double              x1,
                      guint               n_columns,
                      GradusColumn       *columns)
{
  gsize begin = find_bound (self, kind, x0, FALSE, 0);

  for (guint i = 0; i < n_columns; i++)
    {
      gboolean is_last = i + 1 == n_columns;
      double   edge = is_last ? x1 : x0 + (x1 - x0) * (i + 1) / n_columns;
      gsize    end = find_bound (self, kind, edge, is_last, begin);

      gradus_pyramid_reduce (self->pyramid, begin, end, &columns[i]);
      begin = end;
    }
}

guint64
gradus_points_get (const GradusPoints *self,
                   GradusXKind         kind,
                   double              x0,
                   double              x1,
                   guint64             max_points,
                   GradusPoint        *points)
{
  gsize begin = find_bound (self, kind, x0, FALSE, 0);
  gsize end = find_bound (self, kind, x1, TRUE, begin);

  if (begin > 0)
    begin--;
  if (end < self->n)
    end++;
  if (end - begin <= max_points)
    for (gsize i = begin; i < end; i++)
      fill_point (self, kind, i, &points[i - begin]);
  return end - begin;
}

gboolean
gradus_points_get_nearest (const GradusPoints *self, GradusXKind kind, double x, GradusPoint *point)
{
  gsize i;

  if (self->n == 0 || isnan (x))
    return FALSE;

  i = find_bound (self, kind, x, FALSE, 0);
  if (i == self->n)
    i = self->n - 1;
  else if (i > 0
           && x - gradus_points_get_x (self, kind, i - 1) <= gradus_points_get_x (self, kind, i) - x)
    i--;
  fill_point (self, kind, i, point);
  return TRUE;
}

gboolean
gradus_points_get_extreme (const GradusPoints *self, gboolean highest, GradusPoint *point)
{
  double low, high;
  gsize  i;

  if (!gradus_points_get_y_range (self, &low, &high)
      || !gradus_pyramid_find (self->pyramid, self->n, highest ? high : low, &i))
    return FALSE;
  fill_point (self, GRADUS_X_STEP, i, point);
  return TRUE;
}

/* A step between two points stands between their times, one before the first between the run's
   beginning and it, one after the last at the last. */
static double
time_of_step (const GradusPoints *self, gint64 step)
{
  gsize  i = find_bound (self, GRADUS_X_STEP, (double) step, FALSE, 0);
  double step0 = 0.0, time0 = 0.0;

  if (self->n == 0)
    return NAN;
  if (i == self->n)
    return (double) self->times[i - 1] / MS_PER_SECOND;
  if (i > 0)
    {
      step0 = (double) self->steps[i - 1];
      time0 = (double) self->times[i - 1];
    }
  if ((double) self->steps[i] <= step0)
    return (double) self->times[i] / MS_PER_SECOND;
  return (time0
          + ((double) self->times[i] - time0) * ((double) step - step0)
                / ((double) self->steps[i] - step0))
         / MS_PER_SECOND;
}

double
gradus_points_x_of_step (const GradusPoints *self, GradusXKind kind, gint64 step)
{
  switch (kind)
    {
    case GRADUS_X_EPOCH:
      return gradus_series_epoch_of_step (self->epochs, (double) step);
    case GRADUS_X_TIME:
      return time_of_step (self, step);
    case GRADUS_X_STEP:
    default:
      return (double) step;
    }
}
