/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-pyramid.h"

G_BEGIN_DECLS

/* Arrays of steps and times, the values over them, and the series that knows epochs: what a
   series in memory answers its questions from. Borrowed for the length of a call. Private to this
   library. */
typedef struct
{
  GradusSeries        *epochs;
  const gint64        *steps;
  const gint64        *times; /* never falling */
  const GradusPyramid *pyramid;
  gsize                n; /* points that have a value in the pyramid */
} GradusPoints;

double   gradus_points_get_x (const GradusPoints *self, GradusXKind kind, gsize i);
gboolean gradus_points_get_x_range (const GradusPoints *self, GradusXKind kind, double *x0, double *x1);
gboolean gradus_points_get_y_range (const GradusPoints *self, double *y0, double *y1);
void     gradus_points_reduce (const GradusPoints *self,
                               GradusXKind         kind,
                               double              x0,
                               double              x1,
                               guint               n_columns,
                               GradusColumn       *columns);
guint64  gradus_points_get (const GradusPoints *self,
                            GradusXKind         kind,
                            double              x0,
                            double              x1,
                            guint64             max_points,
                            GradusPoint        *points);
gboolean gradus_points_get_nearest (const GradusPoints *self,
                                    GradusXKind         kind,
                                    double              x,
                                    GradusPoint        *point);
gboolean gradus_points_get_extreme (const GradusPoints *self, gboolean highest, GradusPoint *point);
double   gradus_points_x_of_step (const GradusPoints *self, GradusXKind kind, gint64 step);

G_END_DECLS
