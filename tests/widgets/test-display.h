/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* A window of @width x @height with @child, on the screen and drawn once. Destroy with
   test_close(). */
GtkWidget *test_open (GtkWidget *child, int width, int height);
void       test_close (GtkWidget *window);

/* Lets the main loop turn for @ms milliseconds. */
void test_wait (guint ms);

/* The pixels of @widget as it is drawn: premultiplied BGRA, width x height of the widget. */
guint32 *test_grab (GtkWidget *widget, int *width, int *height);

/* How many of the pixels of @widget are within @tolerance of @color in each channel. */
guint test_count_pixels (GtkWidget *widget, const GdkRGBA *color, double tolerance);

/* Counts notifications of @property of @object in *@count. */
void test_count_notify (gpointer object, const char *property, guint *count);

G_END_DECLS
