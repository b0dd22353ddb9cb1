/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-point-series-private.h"
#include "gradus-smooth-series.h"

#include <math.h>

struct _GradusPointSeries
{
  GradusSeries parent_instance;

  GArray       *steps; /* gint64 */
  GArray       *times; /* gint64, never falling */
  GradusPyramid pyramid;
};

G_DEFINE_FINAL_TYPE (GradusPointSeries, gradus_point_series, GRADUS_TYPE_SERIES)

enum
{
  SIGNAL_CUT,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

#define STEP(self, i) g_array_index ((self)->steps, gint64, i)
#define TIME(self, i) g_array_index ((self)->times, gint64, i)

void
gradus_point_series_get_view (GradusPointSeries *self, GradusPoints *points)
{
  *points = (GradusPoints){
    .epochs = GRADUS_SERIES (self),
    .steps = (const gint64 *) (gpointer) self->steps->data,
    .times = (const gint64 *) (gpointer) self->times->data,
    .pyramid = &self->pyramid,
    .n = self->steps->len,
  };
}

static guint64
gradus_point_series_get_n_points (GradusSeries *series)
{
  return GRADUS_POINT_SERIES (series)->steps->len;
}

static gboolean
gradus_point_series_get_x_range (GradusSeries *series, GradusXKind kind, double *x0, double *x1)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  return gradus_points_get_x_range (&points, kind, x0, x1);
}

static gboolean
gradus_point_series_get_y_range (GradusSeries *series, double *y0, double *y1)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  return gradus_points_get_y_range (&points, y0, y1);
}

static void
gradus_point_series_reduce (GradusSeries *series,
                            GradusXKind   kind,
                            double        x0,
                            double        x1,
                            guint         n_columns,
                            GradusColumn *columns)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  gradus_points_reduce (&points, kind, x0, x1, n_columns, columns);
}

static guint64
gradus_point_series_get_points (GradusSeries *series,
                                GradusXKind   kind,
                                double        x0,
                                double        x1,
                                guint64       max_points,
                                GradusPoint  *out)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  return gradus_points_get (&points, kind, x0, x1, max_points, out);
}

static gboolean
gradus_point_series_get_nearest (GradusSeries *series, GradusXKind kind, double x, GradusPoint *point)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  return gradus_points_get_nearest (&points, kind, x, point);
}

static gboolean
gradus_point_series_get_extreme (GradusSeries *series, gboolean highest, GradusPoint *point)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  return gradus_points_get_extreme (&points, highest, point);
}

static double
gradus_point_series_x_of_step (GradusSeries *series, GradusXKind kind, gint64 step)
{
  GradusPoints points;

  gradus_point_series_get_view (GRADUS_POINT_SERIES (series), &points);
  return gradus_points_x_of_step (&points, kind, step);
}

static GradusSeries *
gradus_point_series_smooth (GradusSeries *series, double weight)
{
  return gradus_smooth_series_new (GRADUS_POINT_SERIES (series), weight);
}

static void
gradus_point_series_finalize (GObject *object)
{
  GradusPointSeries *self = GRADUS_POINT_SERIES (object);

  g_array_unref (self->steps);
  g_array_unref (self->times);
  gradus_pyramid_clear (&self->pyramid);
  G_OBJECT_CLASS (gradus_point_series_parent_class)->finalize (object);
}

static void
gradus_point_series_class_init (GradusPointSeriesClass *klass)
{
  GradusSeriesClass *series_class = GRADUS_SERIES_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gradus_point_series_finalize;
  series_class->get_n_points = gradus_point_series_get_n_points;
  series_class->get_x_range = gradus_point_series_get_x_range;
  series_class->get_y_range = gradus_point_series_get_y_range;
  series_class->reduce = gradus_point_series_reduce;
  series_class->get_points = gradus_point_series_get_points;
  series_class->get_nearest = gradus_point_series_get_nearest;
  series_class->get_extreme = gradus_point_series_get_extreme;
  series_class->x_of_step = gradus_point_series_x_of_step;
  series_class->smooth = gradus_point_series_smooth;

  signals[SIGNAL_CUT] = g_signal_new ("cut", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                      NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT64);
}

static void
gradus_point_series_init (GradusPointSeries *self)
{
  self->steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  self->times = g_array_new (FALSE, FALSE, sizeof (gint64));
  gradus_pyramid_init (&self->pyramid);
}

GradusPointSeries *
gradus_point_series_new (void)
{
  return g_object_new (GRADUS_TYPE_POINT_SERIES, NULL);
}

static gboolean
take_point (GradusPointSeries *self, gint64 step, gint64 time, double value)
{
  guint n = self->steps->len;

  if (n > 0)
    {
      if (step <= STEP (self, n - 1))
        return FALSE;
      time = MAX (time, TIME (self, n - 1));
    }
  g_array_append_val (self->steps, step);
  g_array_append_val (self->times, time);
  gradus_pyramid_push (&self->pyramid, &value, 1);
  return TRUE;
}

gsize
gradus_point_series_append (GradusPointSeries *self,
                            const gint64      *steps,
                            const gint64      *times,
                            const double      *values,
                            gsize              n)
{
  gsize taken = 0;

  g_return_val_if_fail (GRADUS_IS_POINT_SERIES (self), 0);
  g_return_val_if_fail (n == 0 || (steps != NULL && values != NULL), 0);

  for (gsize i = 0; i < n; i++)
    taken += take_point (self, steps[i], times != NULL ? times[i] : 0, values[i]);
  if (taken > 0)
    gradus_series_changed (GRADUS_SERIES (self));
  return taken;
}

gboolean
gradus_point_series_add (GradusPointSeries *self, gint64 step, gint64 time, double value)
{
  return gradus_point_series_append (self, &step, &time, &value, 1) == 1;
}

static void
truncate_to (GradusPointSeries *self, guint n)
{
  if (n == self->steps->len)
    return;
  g_array_set_size (self->steps, n);
  g_array_set_size (self->times, n);
  gradus_pyramid_truncate (&self->pyramid, n);
  g_signal_emit (self, signals[SIGNAL_CUT], 0, (guint64) n);
  gradus_series_changed (GRADUS_SERIES (self));
}

void
gradus_point_series_cut (GradusPointSeries *self, gint64 step)
{
  guint low = 0, high;

  g_return_if_fail (GRADUS_IS_POINT_SERIES (self));

  high = self->steps->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (STEP (self, middle) < step)
        low = middle + 1;
      else
        high = middle;
    }
  truncate_to (self, low);
}

void
gradus_point_series_clear (GradusPointSeries *self)
{
  g_return_if_fail (GRADUS_IS_POINT_SERIES (self));

  truncate_to (self, 0);
}

void
gradus_point_series_reserve (GradusPointSeries *self, gsize n)
{
  guint length;

  g_return_if_fail (GRADUS_IS_POINT_SERIES (self));
  g_return_if_fail (n <= G_MAXUINT / sizeof (double));

  length = self->steps->len;
  if (n <= length)
    return;
  g_array_set_size (self->steps, (guint) n);
  g_array_set_size (self->steps, length);
  g_array_set_size (self->times, (guint) n);
  g_array_set_size (self->times, length);
  gradus_pyramid_reserve (&self->pyramid, n);
}

const gint64 *
gradus_point_series_get_steps (GradusPointSeries *self)
{
  g_return_val_if_fail (GRADUS_IS_POINT_SERIES (self), NULL);

  return (const gint64 *) (gpointer) self->steps->data;
}

const double *
gradus_point_series_get_values (GradusPointSeries *self)
{
  g_return_val_if_fail (GRADUS_IS_POINT_SERIES (self), NULL);

  return (const double *) (gpointer) self->pyramid.values->data;
}

gint64
gradus_point_series_get_last_step (GradusPointSeries *self)
{
  g_return_val_if_fail (GRADUS_IS_POINT_SERIES (self), -1);

  return self->steps->len > 0 ? STEP (self, self->steps->len - 1) : -1;
}
