/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* Small things that several widgets draw. Private to this library. */

/* A layout of @text in the font of @widget with tabular figures. */
PangoLayout *gradus_draw_layout (GtkWidget *widget, const char *text, gboolean bold);

/* Draws @layout with its left (@align 0), middle (0.5) or right (1) at @x and its vertical middle
   at @y, on whole pixels. */
void gradus_draw_text (GtkSnapshot   *snapshot,
                       PangoLayout   *layout,
                       double         x,
                       double         y,
                       double         align,
                       const GdkRGBA *color);

void gradus_draw_rect (GtkSnapshot *snapshot, double x, double y, double width, double height, const GdkRGBA *color);

/* A rectangle with round ends. */
void gradus_draw_pill (GtkSnapshot *snapshot, double x, double y, double width, double height, const GdkRGBA *color);

/* A disc with a rim of @rim pixels in @rim_color around it (0: none). */
void gradus_draw_dot (GtkSnapshot   *snapshot,
                      double         x,
                      double         y,
                      double         radius,
                      const GdkRGBA *color,
                      double         rim,
                      const GdkRGBA *rim_color);

/* A five-pointed star, otherwise as above. */
void gradus_draw_star (GtkSnapshot   *snapshot,
                       double         x,
                       double         y,
                       double         radius,
                       const GdkRGBA *color,
                       double         rim,
                       const GdkRGBA *rim_color);

/* A dashed line, horizontal or vertical. */
void gradus_draw_dashes (GtkSnapshot   *snapshot,
                         double         x,
                         double         y,
                         double         length,
                         gboolean       vertical,
                         const GdkRGBA *color);

/* @color with its opacity times @alpha. */
GdkRGBA gradus_draw_fade (const GdkRGBA *color, double alpha);

G_END_DECLS
