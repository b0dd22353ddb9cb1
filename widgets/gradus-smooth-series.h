/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-point-series.h"

G_BEGIN_DECLS

#define GRADUS_TYPE_SMOOTH_SERIES (gradus_smooth_series_get_type ())
G_DECLARE_FINAL_TYPE (GradusSmoothSeries, gradus_smooth_series, GRADUS, SMOOTH_SERIES, GradusSeries)

/* The moving average of gradus_series_smooth() over @source, which it keeps. Private to this library. A long
   source is worked through in slices of the main loop; until it is done the series has fewer points. */
GradusSeries *gradus_smooth_series_new (GradusPointSeries *source, double weight);

G_END_DECLS
