/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* What stands along the x axis of a chart. */
typedef enum
{
  GRADUS_X_STEP,  /* optimizer updates done */
  GRADUS_X_EPOCH, /* passes over the data, fractional between two ends of epochs */
  GRADUS_X_TIME,  /* seconds since the run began */
} GradusXKind;

/* All points of a series whose x falls into one pixel column. min, max, first, last and sum speak
   of the finite values only; the first four are NaN and the sum 0 where there is none. */
typedef struct
{
  guint64 count; /* points, the non-finite ones included */
  guint64 n_nan;
  guint64 n_positive_infinite;
  guint64 n_negative_infinite;
  double  min;
  double  max;
  double  first;
  double  last;
  double  sum;
} GradusColumn;

/* The mean of a column's finite values; NaN if there is none. */
static inline double
gradus_column_get_mean (const GradusColumn *column)
{
  return column->sum
         / (double) (column->count - column->n_nan - column->n_positive_infinite
                     - column->n_negative_infinite);
}

/* One point of a series. @x is the position on the axis that was asked for. */
typedef struct
{
  gint64 step;
  gint64 time; /* milliseconds since the run began */
  double x;
  double value;
} GradusPoint;

#define GRADUS_TYPE_SERIES (gradus_series_get_type ())
G_DECLARE_DERIVABLE_TYPE (GradusSeries, gradus_series, GRADUS, SERIES, GObject)

/* What a line of a chart is drawn from: points in the order of their steps. The main thread's.
   Every vfunc is also a public function below, with the contract. */
struct _GradusSeriesClass
{
  GObjectClass parent_class;

  guint64 (*get_n_points) (GradusSeries *self);
  gboolean (*get_x_range) (GradusSeries *self, GradusXKind kind, double *x0, double *x1);
  gboolean (*get_y_range) (GradusSeries *self, double *y0, double *y1);
  void (*reduce) (GradusSeries *self,
                  GradusXKind   kind,
                  double        x0,
                  double        x1,
                  guint         n_columns,
                  GradusColumn *columns);
  guint64 (*get_points) (GradusSeries *self,
                         GradusXKind   kind,
                         double        x0,
                         double        x1,
                         guint64       max_points,
                         GradusPoint  *points);
  gboolean (*get_nearest) (GradusSeries *self, GradusXKind kind, double x, GradusPoint *point);
  gboolean (*get_extreme) (GradusSeries *self, gboolean highest, GradusPoint *point);
  double (*x_of_step) (GradusSeries *self, GradusXKind kind, gint64 step);
  GradusSeries *(*smooth) (GradusSeries *self, double weight);

  gpointer padding[6];
};

/* Signal "changed" (no arguments): points came, went or moved. Coalesced: many changes between two
   turns of the main loop make one signal, which comes before the next frame is drawn. */

/* For subclasses: something changed; emits "changed" soon. */
void gradus_series_changed (GradusSeries *self);

guint64 gradus_series_get_n_points (GradusSeries *self);

/* The x of the first and the last point; FALSE if there is none. */
gboolean gradus_series_get_x_range (GradusSeries *self, GradusXKind kind, double *x0, double *x1);

/* The lowest and the highest finite value; FALSE if there is none. */
gboolean gradus_series_get_y_range (GradusSeries *self, double *y0, double *y1);

/* Cuts [@x0, @x1) into @n_columns equal columns, the last one closed at its right end, and fills
   @columns (room for @n_columns) with what falls into each. Every point counts: an extreme in the
   range is an extreme of its column. O(n_columns log n_points). */
void gradus_series_reduce (GradusSeries *self,
                           GradusXKind   kind,
                           double        x0,
                           double        x1,
                           guint         n_columns,
                           GradusColumn *columns);

/* The points in [@x0, @x1], with the last before and the first after, so that a line can be drawn
   to the edges. Returns how many there are; they are written only if that is at most @max_points.
   @points may be NULL if @max_points is 0. */
guint64 gradus_series_get_points (GradusSeries *self,
                                  GradusXKind   kind,
                                  double        x0,
                                  double        x1,
                                  guint64       max_points,
                                  GradusPoint  *points);

/* The point whose x is nearest to @x (non-finite values too); FALSE if there is none. */
gboolean gradus_series_get_nearest (GradusSeries *self,
                                    GradusXKind   kind,
                                    double        x,
                                    GradusPoint  *point);

/* The last point; FALSE if there is none. */
gboolean gradus_series_get_last (GradusSeries *self, GradusPoint *point);

/* The first point with the lowest, or with @highest the highest, finite value; its x is its step.
   FALSE if there is none. */
gboolean gradus_series_get_extreme (GradusSeries *self, gboolean highest, GradusPoint *point);

/* Where @step stands on the axis; NaN if that cannot be said (time of a step that has no point
   near). */
double gradus_series_x_of_step (GradusSeries *self, GradusXKind kind, gint64 step);

/* The series of the debiased exponential moving average, s_i = w s_(i-1) + (1 - w) v_i divided by
   1 - w^i, over all finite values; where a value is not finite the last average stands, and before
   the first finite one NaN. @weight in (0, 1). It follows this series as it grows. Returns a new
   reference (transfer full), or NULL if the series cannot be smoothed. */
GradusSeries *gradus_series_smooth (GradusSeries *self, double weight);

/* How steps turn into epochs: at steps[i] the run had epochs[i] behind it; straight between two,
   and beyond the ends as in the first or last piece. Both strictly rising. Without a map (@n 0, or
   after creation) the epoch of a step is the step itself. */
void gradus_series_set_epochs (GradusSeries *self,
                               const gint64 *steps,
                               const double *epochs,
                               guint         n);

/* The same for epochs of equal length. */
void gradus_series_set_steps_per_epoch (GradusSeries *self, double steps_per_epoch);

double gradus_series_epoch_of_step (GradusSeries *self, double step);
double gradus_series_step_of_epoch (GradusSeries *self, double epoch);

G_END_DECLS
