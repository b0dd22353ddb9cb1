/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* Colours of what is drawn by hand. They come from the style sheet (names gradus_run_1 ...
   gradus_run_12, gradus_grid, ...; see gradus-colors-*.css), so that dark and high contrast work
   and an application can override them. */
#define GRADUS_N_RUN_COLORS 12

/* Instead of a number of a run's colour: none of them, dimmed. */
#define GRADUS_COLOR_DIM (-1)

typedef struct
{
  GdkRGBA run[GRADUS_N_RUN_COLORS];
  GdkRGBA text;
  GdkRGBA dim;
  GdkRGBA hairline;
  GdkRGBA grid;
  GdkRGBA axis;
  GdkRGBA card; /* what charts stand on */
  GdkRGBA trough;
  GdkRGBA bar;
  GdkRGBA warning;
  GdkRGBA error;
  GdkRGBA span; /* a highlighted part of a chart, translucent */
  GdkRGBA selection;
  double  band; /* opacity of a range band */
  double  train; /* opacity of a train line */
} GradusPalette;

/* Loads the style sheets of this library for the default display and keeps them in step with the
   dark and high-contrast settings. Call once after gtk_init(); again does nothing. */
void gradus_widgets_init (void);

/* The palette as the style of @widget has it now. */
void gradus_palette_read (GradusPalette *palette, GtkWidget *widget);

/* Run colour @index modulo the number of colours, or dim for GRADUS_COLOR_DIM. */
const GdkRGBA *gradus_palette_get_run (const GradusPalette *palette, int index);

/* Connects @callback (widget) to changes of the palette for as long as @widget lives. */
void gradus_palette_watch (GtkWidget *widget, void (*callback) (GtkWidget *widget));

G_END_DECLS
