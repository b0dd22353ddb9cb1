/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-series.h"

#include <math.h>

typedef struct
{
  double *steps; /* of the map from steps to epochs, n_epochs each */
  double *epochs;
  guint   n_epochs;
  guint   changed_source;
} GradusSeriesPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GradusSeries, gradus_series, G_TYPE_OBJECT)

#define PRIVATE(self) ((GradusSeriesPrivate *) gradus_series_get_instance_private (self))

enum
{
  SIGNAL_CHANGED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

/* Before GTK's resize (110) and redraw (120), after input. */
#define CHANGED_PRIORITY (G_PRIORITY_HIGH_IDLE + 5)

static gboolean
emit_changed_cb (gpointer data)
{
  g_autoptr (GradusSeries) self = g_object_ref (data);

  PRIVATE (self)->changed_source = 0;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
  return G_SOURCE_REMOVE;
}

/* The straight line through the two entries of the map that @from lies between or beyond. */
static double
map_linear (const double *xs, const double *ys, guint n, double from)
{
  guint low = 0, high = n - 1;

  while (high - low > 1)
    {
      guint middle = (low + high) / 2;

      if (xs[middle] <= from)
        low = middle;
      else
        high = middle;
    }
  return ys[low] + (from - xs[low]) * (ys[high] - ys[low]) / (xs[high] - xs[low]);
}

static double
gradus_series_real_x_of_step (GradusSeries *self, GradusXKind kind, gint64 step)
{
  switch (kind)
    {
    case GRADUS_X_STEP:
      return (double) step;
    case GRADUS_X_EPOCH:
      return gradus_series_epoch_of_step (self, (double) step);
    case GRADUS_X_TIME:
    default:
      return NAN;
    }
}

static void
gradus_series_finalize (GObject *object)
{
  GradusSeriesPrivate *private = PRIVATE (GRADUS_SERIES (object));

  g_clear_handle_id (&private->changed_source, g_source_remove);
  g_free (private->steps);
  g_free (private->epochs);
  G_OBJECT_CLASS (gradus_series_parent_class)->finalize (object);
}

static void
gradus_series_class_init (GradusSeriesClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_series_finalize;
  klass->x_of_step = gradus_series_real_x_of_step;

  signals[SIGNAL_CHANGED] = g_signal_new ("changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST,
                                          0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
gradus_series_init (GradusSeries *self)
{
}

void
gradus_series_changed (GradusSeries *self)
{
  GradusSeriesPrivate *private = PRIVATE (self);

  g_return_if_fail (GRADUS_IS_SERIES (self));

  if (private->changed_source == 0)
    private->changed_source = g_idle_add_full (CHANGED_PRIORITY, emit_changed_cb, self, NULL);
}

guint64
gradus_series_get_n_points (GradusSeries *self)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), 0);

  return GRADUS_SERIES_GET_CLASS (self)->get_n_points (self);
}

gboolean
gradus_series_get_x_range (GradusSeries *self, GradusXKind kind, double *x0, double *x1)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), FALSE);
  g_return_val_if_fail (x0 != NULL && x1 != NULL, FALSE);

  return GRADUS_SERIES_GET_CLASS (self)->get_x_range (self, kind, x0, x1);
}

gboolean
gradus_series_get_y_range (GradusSeries *self, double *y0, double *y1)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), FALSE);
  g_return_val_if_fail (y0 != NULL && y1 != NULL, FALSE);

  return GRADUS_SERIES_GET_CLASS (self)->get_y_range (self, y0, y1);
}

void
gradus_series_reduce (GradusSeries *self,
                      GradusXKind   kind,
                      double        x0,
                      double        x1,
                      guint         n_columns,
                      GradusColumn *columns)
{
  g_return_if_fail (GRADUS_IS_SERIES (self));
  g_return_if_fail (x0 < x1);
  g_return_if_fail (n_columns == 0 || columns != NULL);

  GRADUS_SERIES_GET_CLASS (self)->reduce (self, kind, x0, x1, n_columns, columns);
}

guint64
gradus_series_get_points (GradusSeries *self,
                          GradusXKind   kind,
                          double        x0,
                          double        x1,
                          guint64       max_points,
                          GradusPoint  *points)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), 0);
  g_return_val_if_fail (x0 <= x1, 0);
  g_return_val_if_fail (max_points == 0 || points != NULL, 0);

  return GRADUS_SERIES_GET_CLASS (self)->get_points (self, kind, x0, x1, max_points, points);
}

gboolean
gradus_series_get_nearest (GradusSeries *self, GradusXKind kind, double x, GradusPoint *point)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), FALSE);
  g_return_val_if_fail (point != NULL, FALSE);

  return GRADUS_SERIES_GET_CLASS (self)->get_nearest (self, kind, x, point);
}

gboolean
gradus_series_get_last (GradusSeries *self, GradusPoint *point)
{
  return gradus_series_get_nearest (self, GRADUS_X_STEP, INFINITY, point);
}

gboolean
gradus_series_get_extreme (GradusSeries *self, gboolean highest, GradusPoint *point)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), FALSE);
  g_return_val_if_fail (point != NULL, FALSE);

  return GRADUS_SERIES_GET_CLASS (self)->get_extreme (self, highest, point);
}

double
gradus_series_x_of_step (GradusSeries *self, GradusXKind kind, gint64 step)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), NAN);

  return GRADUS_SERIES_GET_CLASS (self)->x_of_step (self, kind, step);
}

GradusSeries *
gradus_series_smooth (GradusSeries *self, double weight)
{
  g_return_val_if_fail (GRADUS_IS_SERIES (self), NULL);
  g_return_val_if_fail (weight > 0.0 && weight < 1.0, NULL);

  if (GRADUS_SERIES_GET_CLASS (self)->smooth == NULL)
    return NULL;
  return GRADUS_SERIES_GET_CLASS (self)->smooth (self, weight);
}

void
gradus_series_set_epochs (GradusSeries *self, const gint64 *steps, const double *epochs, guint n)
{
  GradusSeriesPrivate *private = PRIVATE (self);
  double              *map_steps;

  g_return_if_fail (GRADUS_IS_SERIES (self));
  g_return_if_fail (n != 1);
  g_return_if_fail (n == 0 || (steps != NULL && epochs != NULL));
  for (guint i = 1; i < n; i++)
    g_return_if_fail (steps[i] > steps[i - 1] && epochs[i] > epochs[i - 1]);

  map_steps = g_new (double, n);
  for (guint i = 0; i < n; i++)
    map_steps[i] = (double) steps[i];

  if (n == private->n_epochs && (n == 0 || memcmp (map_steps, private->steps, n * sizeof (double)) == 0)
      && (n == 0 || memcmp (epochs, private->epochs, n * sizeof (double)) == 0))
    {
      g_free (map_steps);
      return;
    }

  g_free (private->steps);
  g_free (private->epochs);
  private->steps = map_steps;
  private->epochs = g_memdup2 (epochs, n * sizeof (double));
  private->n_epochs = n;
  gradus_series_changed (self);
}

void
gradus_series_set_steps_per_epoch (GradusSeries *self, double steps_per_epoch)
{
  GradusSeriesPrivate *private = PRIVATE (self);

  g_return_if_fail (GRADUS_IS_SERIES (self));
  g_return_if_fail (isfinite (steps_per_epoch) && steps_per_epoch > 0.0);

  if (private->n_epochs == 2 && private->steps[0] == 0.0 && private->epochs[0] == 0.0
      && private->steps[1] == steps_per_epoch && private->epochs[1] == 1.0)
    return;

  private->steps = g_renew (double, private->steps, 2);
  private->epochs = g_renew (double, private->epochs, 2);
  private->steps[0] = private->epochs[0] = 0.0;
  private->steps[1] = steps_per_epoch;
  private->epochs[1] = 1.0;
  private->n_epochs = 2;
  gradus_series_changed (self);
}

double
gradus_series_epoch_of_step (GradusSeries *self, double step)
{
  GradusSeriesPrivate *private = PRIVATE (self);

  g_return_val_if_fail (GRADUS_IS_SERIES (self), NAN);

  if (private->n_epochs == 0)
    return step;
  return map_linear (private->steps, private->epochs, private->n_epochs, step);
}

double
gradus_series_step_of_epoch (GradusSeries *self, double epoch)
{
  GradusSeriesPrivate *private = PRIVATE (self);

  g_return_val_if_fail (GRADUS_IS_SERIES (self), NAN);

  if (private->n_epochs == 0)
    return epoch;
  return map_linear (private->epochs, private->steps, private->n_epochs, epoch);
}
