/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-point-series-private.h"
#include "gradus-smooth-series.h"

#include <math.h>

/* Points in one go, about 5 ms; a state is kept every so many points to go back to after a cut. */
#define SLICE (1 << 18)
#define STATE_SHIFT 12
#define STATE_SPAN ((gsize) 1 << STATE_SHIFT)

typedef struct
{
  double sum;       /* the biased average */
  double remainder; /* weight to the power of the finite values seen, 1 at first */
} AverageState;

struct _GradusSmoothSeries
{
  GradusSeries parent_instance;

  GradusPointSeries *source;
  double             weight;
  GradusPyramid      pyramid;
  AverageState       state;
  GArray            *states; /* AverageState before point i << STATE_SHIFT */
  guint              slice_source;
};

G_DEFINE_FINAL_TYPE (GradusSmoothSeries, gradus_smooth_series, GRADUS_TYPE_SERIES)

static const AverageState first_state = { 0.0, 1.0 };

static inline double
advance (AverageState *state, double weight, double value)
{
  if (isfinite (value))
    {
      state->sum = weight * state->sum + (1.0 - weight) * value;
      state->remainder *= weight;
    }
  return state->remainder < 1.0 ? state->sum / (1.0 - state->remainder) : NAN;
}

static void
average_points (GradusSmoothSeries *self, const GradusPoints *source, gsize end)
{
  double part[GRADUS_PYRAMID_FAN];
  gsize  i = gradus_pyramid_get_length (&self->pyramid);

  while (i < end)
    {
      gsize stop = MIN (end, (i | (GRADUS_PYRAMID_FAN - 1)) + 1);
      gsize begin = i;

      if (i % STATE_SPAN == 0)
        g_array_append_val (self->states, self->state);
      for (; i < stop; i++)
        part[i - begin] = advance (&self->state, self->weight, gradus_pyramid_get (source->pyramid, i));
      gradus_pyramid_push (&self->pyramid, part, stop - begin);
    }
}

static gboolean next_slice_cb (gpointer data);

/* Averages what came since, at most a slice of it; the rest follows when the main loop is idle. */
static void
catch_up (GradusSmoothSeries *self)
{
  GradusPoints source;
  gsize        done = gradus_pyramid_get_length (&self->pyramid);

  gradus_point_series_get_view (self->source, &source);
  if (done == source.n)
    return;
  if (self->slice_source != 0)
    return;

  average_points (self, &source, MIN (source.n, done + SLICE));
  if (gradus_pyramid_get_length (&self->pyramid) < source.n)
    self->slice_source = g_idle_add (next_slice_cb, self);
}

static gboolean
next_slice_cb (gpointer data)
{
  GradusSmoothSeries *self = data;

  self->slice_source = 0;
  catch_up (self);
  gradus_series_changed (GRADUS_SERIES (self));
  return G_SOURCE_REMOVE;
}

static void
source_cut_cb (GradusPointSeries *source, guint64 n, GradusSmoothSeries *self)
{
  GradusPoints points;
  gsize        restart;

  if (n >= gradus_pyramid_get_length (&self->pyramid))
    return;

  restart = (gsize) n & ~(STATE_SPAN - 1);
  self->state = first_state;
  if ((restart >> STATE_SHIFT) < self->states->len)
    self->state = g_array_index (self->states, AverageState, restart >> STATE_SHIFT);
  g_array_set_size (self->states, (guint) (restart >> STATE_SHIFT));
  gradus_pyramid_truncate (&self->pyramid, restart);
  gradus_point_series_get_view (self->source, &points);
  average_points (self, &points, (gsize) n);
}

static void
source_changed_cb (GradusSmoothSeries *self)
{
  catch_up (self);
  gradus_series_changed (GRADUS_SERIES (self));
}

static void
get_view (GradusSeries *series, GradusPoints *points)
{
  GradusSmoothSeries *self = GRADUS_SMOOTH_SERIES (series);

  catch_up (self);
  gradus_point_series_get_view (self->source, points);
  points->pyramid = &self->pyramid;
  points->n = gradus_pyramid_get_length (&self->pyramid);
}

static guint64
gradus_smooth_series_get_n_points (GradusSeries *series)
{
  GradusPoints points;

  get_view (series, &points);
  return points.n;
}

static gboolean
gradus_smooth_series_get_x_range (GradusSeries *series, GradusXKind kind, double *x0, double *x1)
{
  GradusPoints points;

  get_view (series, &points);
  return gradus_points_get_x_range (&points, kind, x0, x1);
}

static gboolean
gradus_smooth_series_get_y_range (GradusSeries *series, double *y0, double *y1)
{
  GradusPoints points;

  get_view (series, &points);
  return gradus_points_get_y_range (&points, y0, y1);
}

static void
gradus_smooth_series_reduce (GradusSeries *series,
                             GradusXKind   kind,
                             double        x0,
                             double        x1,
                             guint         n_columns,
                             GradusColumn *columns)
{
  GradusPoints points;

  get_view (series, &points);
  gradus_points_reduce (&points, kind, x0, x1, n_columns, columns);
}

static guint64
gradus_smooth_series_get_points (GradusSeries *series,
                                 GradusXKind   kind,
                                 double        x0,
                                 double        x1,
                                 guint64       max_points,
                                 GradusPoint  *out)
{
  GradusPoints points;

  get_view (series, &points);
  return gradus_points_get (&points, kind, x0, x1, max_points, out);
}

static gboolean
gradus_smooth_series_get_nearest (GradusSeries *series, GradusXKind kind, double x, GradusPoint *point)
{
  GradusPoints points;

  get_view (series, &points);
  return gradus_points_get_nearest (&points, kind, x, point);
}

static gboolean
gradus_smooth_series_get_extreme (GradusSeries *series, gboolean highest, GradusPoint *point)
{
  GradusPoints points;

  get_view (series, &points);
  return gradus_points_get_extreme (&points, highest, point);
}

static double
gradus_smooth_series_x_of_step (GradusSeries *series, GradusXKind kind, gint64 step)
{
  return gradus_series_x_of_step (GRADUS_SERIES (GRADUS_SMOOTH_SERIES (series)->source), kind, step);
}

static void
gradus_smooth_series_dispose (GObject *object)
{
  GradusSmoothSeries *self = GRADUS_SMOOTH_SERIES (object);

  g_clear_handle_id (&self->slice_source, g_source_remove);
  G_OBJECT_CLASS (gradus_smooth_series_parent_class)->dispose (object);
}

static void
gradus_smooth_series_finalize (GObject *object)
{
  GradusSmoothSeries *self = GRADUS_SMOOTH_SERIES (object);

  g_object_unref (self->source);
  g_array_unref (self->states);
  gradus_pyramid_clear (&self->pyramid);
  G_OBJECT_CLASS (gradus_smooth_series_parent_class)->finalize (object);
}

static void
gradus_smooth_series_class_init (GradusSmoothSeriesClass *klass)
{
  GradusSeriesClass *series_class = GRADUS_SERIES_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_smooth_series_dispose;
  G_OBJECT_CLASS (klass)->finalize = gradus_smooth_series_finalize;
  series_class->get_n_points = gradus_smooth_series_get_n_points;
  series_class->get_x_range = gradus_smooth_series_get_x_range;
  series_class->get_y_range = gradus_smooth_series_get_y_range;
  series_class->reduce = gradus_smooth_series_reduce;
  series_class->get_points = gradus_smooth_series_get_points;
  series_class->get_nearest = gradus_smooth_series_get_nearest;
  series_class->get_extreme = gradus_smooth_series_get_extreme;
  series_class->x_of_step = gradus_smooth_series_x_of_step;
}

static void
gradus_smooth_series_init (GradusSmoothSeries *self)
{
  gradus_pyramid_init (&self->pyramid);
  self->states = g_array_new (FALSE, FALSE, sizeof (AverageState));
  self->state = first_state;
}

GradusSeries *
gradus_smooth_series_new (GradusPointSeries *source, double weight)
{
  GradusSmoothSeries *self = g_object_new (GRADUS_TYPE_SMOOTH_SERIES, NULL);

  self->source = g_object_ref (source);
  self->weight = weight;
  g_signal_connect_object (source, "cut", G_CALLBACK (source_cut_cb), self, 0);
  g_signal_connect_object (source, "changed", G_CALLBACK (source_changed_cb), self, G_CONNECT_SWAPPED);
  return GRADUS_SERIES (self);
}
