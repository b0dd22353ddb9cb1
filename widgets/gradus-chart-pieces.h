/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-chart-private.h"

G_BEGIN_DECLS

/* A corner of a line, in pixels. */
typedef struct
{
  float    x, y;
  gboolean gap; /* nothing joins this to the one before */
} GradusVertex;

/* A filled rectangle, in pixels. */
typedef struct
{
  float x, width, top, bottom;
} GradusBox;

/* Begins a frame; what was recorded for another place of the plot is dropped. */
void gradus_chart_pieces_begin (GradusChartPieces *self, const GradusPlot *plot);

/* Drops what is left of a longer line. */
void gradus_chart_pieces_end (GradusChartPieces *self);

/* @vertices: of GradusVertex, from left to right; @color must be opaque, since pieces overlap. */
void gradus_chart_pieces_stroke (GradusChartPieces *self,
                                 GtkSnapshot       *snapshot,
                                 GArray            *vertices,
                                 double             width,
                                 const GdkRGBA     *color);

/* @boxes: of GradusBox, from left to right, none over another. */
void gradus_chart_pieces_fill (GradusChartPieces *self, GtkSnapshot *snapshot, GArray *boxes, const GdkRGBA *color);

G_END_DECLS
