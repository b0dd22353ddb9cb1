/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-point-series.h"
#include "gradus-points.h"

G_BEGIN_DECLS

/* The points as they are now; valid until the series changes. */
void gradus_point_series_get_view (GradusPointSeries *self, GradusPoints *points);

/* Signal "cut" (guint64 n), at once and not coalesced: only the first n points are left. */

G_END_DECLS
