/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-series.h"

G_BEGIN_DECLS

#define GRADUS_TYPE_AXIS (gradus_axis_get_type ())
G_DECLARE_FINAL_TYPE (GradusAxis, gradus_axis, GRADUS, AXIS, GObject)

/* The x axis that linked charts share: kind, range, zoom history, cursor, selection. The main
   thread's.

   Signals (no arguments): "range-changed" when another part is to be shown or the kind changed,
   "cursor-changed", "selection-changed".
   Properties: "kind" (GradusXKind as int), "zoomed" (read-only; for a Reset button). */
GradusAxis *gradus_axis_new (void) G_GNUC_WARN_UNUSED_RESULT;

/* Changing the kind forgets zoom, cursor and selection. */
void        gradus_axis_set_kind (GradusAxis *self, GradusXKind kind);
GradusXKind gradus_axis_get_kind (GradusAxis *self);

/* The part shown. Never empty. */
void gradus_axis_get_range (GradusAxis *self, double *x0, double *x1);

/* All there is to show: the union of what the charts said, from 0, up to the expected end. */
void gradus_axis_get_extent (GradusAxis *self, double *x0, double *x1);

/* What @owner (a chart; only an address to tell them apart) has to show. Unless zoomed, the range
   follows; a zoomed range whose right end is the end of the data slides along with it. */
void gradus_axis_set_extent (GradusAxis *self, gconstpointer owner, double x0, double x1);
void gradus_axis_unset_extent (GradusAxis *self, gconstpointer owner);

/* Where a live run will end on each kind of axis, so that a chart shows how far it is; NaN where
   nothing is expected (the initial state). */
void gradus_axis_set_expected_end (GradusAxis *self, GradusXKind kind, double x);

/* Shows [@x0, @x1], limited to the extent; the range left is remembered. Ignored unless
   @x0 < @x1 and the range is finite. */
void gradus_axis_zoom (GradusAxis *self, double x0, double x1);

/* Zooms by @factor (below 1: closer) with @x kept in its place. Continuous zooming (a wheel) is one
   entry of the history. */
void gradus_axis_zoom_around (GradusAxis *self, double x, double factor);

/* Moves the range by @dx, limited to the extent. Not remembered. */
void gradus_axis_pan (GradusAxis *self, double dx);

/* Returns to the range before the last zoom; FALSE if there was none. */
gboolean gradus_axis_zoom_back (GradusAxis *self);

/* Shows all, and follows again. */
void     gradus_axis_reset (GradusAxis *self);
gboolean gradus_axis_get_zoomed (GradusAxis *self);

/* The cursor that stands in all linked charts; NaN for none. */
void   gradus_axis_set_cursor (GradusAxis *self, double x);
double gradus_axis_get_cursor (GradusAxis *self);

/* The selected span; both NaN for none. */
void     gradus_axis_set_selection (GradusAxis *self, double x0, double x1);
gboolean gradus_axis_get_selection (GradusAxis *self, double *x0, double *x1);

G_END_DECLS
