/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-series.h"

G_BEGIN_DECLS

#define GRADUS_TYPE_POINT_SERIES (gradus_point_series_get_type ())
G_DECLARE_FINAL_TYPE (GradusPointSeries, gradus_point_series, GRADUS, POINT_SERIES, GradusSeries)

/* A series held in memory: 24 bytes a point and one more for the pyramid of extremes that
   makes any zoom level quick. */
GradusPointSeries *gradus_point_series_new (void) G_GNUC_WARN_UNUSED_RESULT;

/* Appends @n points. Steps must rise; a point whose step is not above the last one is left out
   (the return value is the number taken). @times in milliseconds since the run began, NULL for 0;
   a time before that of the point before is drawn at that point's. */
gsize gradus_point_series_append (GradusPointSeries *self,
                                  const gint64      *steps,
                                  const gint64      *times,
                                  const double      *values,
                                  gsize              n);

/* One point, otherwise as above. */
gboolean gradus_point_series_add (GradusPointSeries *self, gint64 step, gint64 time, double value);

/* Forgets all points with a step of @step or above: a resumed run writes them anew. */
void gradus_point_series_cut (GradusPointSeries *self, gint64 step);

/* Forgets all points. */
void gradus_point_series_clear (GradusPointSeries *self);

/* Makes room for @n points altogether, so that appending them copies nothing. */
void gradus_point_series_reserve (GradusPointSeries *self, gsize n);

/* The points themselves, valid until the series changes. */
const gint64 *gradus_point_series_get_steps (GradusPointSeries *self);
const double *gradus_point_series_get_values (GradusPointSeries *self);

/* The last step, or -1. What comes next from the log has a step above it. */
gint64 gradus_point_series_get_last_step (GradusPointSeries *self);

G_END_DECLS
