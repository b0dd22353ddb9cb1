/* SPDX-License-Identifier: Apache-2.0 */
#include "test-display.h"

#include <math.h>

GtkWidget *
test_open (GtkWidget *child, int width, int height)
{
  GtkWidget *window = gtk_window_new ();

  gtk_window_set_child (GTK_WINDOW (window), child);
  gtk_window_set_default_size (GTK_WINDOW (window), width, height);
  gtk_window_present (GTK_WINDOW (window));
  gtk_test_widget_wait_for_draw (window);
  test_wait (60);
  return window;
}

void
test_close (GtkWidget *window)
{
  gtk_window_destroy (GTK_WINDOW (window));
  test_wait (20);
}

static gboolean
stop_cb (gpointer data)
{
  *(gboolean *) data = TRUE;
  return G_SOURCE_REMOVE;
}

void
test_wait (guint ms)
{
  gboolean stop = FALSE;

  g_timeout_add (ms, stop_cb, &stop);
  while (!stop)
    g_main_context_iteration (NULL, TRUE);
}

guint32 *
test_grab (GtkWidget *widget, int *width, int *height)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  GtkSnapshot             *snapshot = gtk_snapshot_new ();
  GskRenderNode           *node;
  GdkTexture              *texture;
  graphene_rect_t          bounds;
  guint32                 *pixels;

  *width = gtk_widget_get_width (widget);
  *height = gtk_widget_get_height (widget);
  gdk_paintable_snapshot (paintable, snapshot, *width, *height);
  node = gtk_snapshot_free_to_node (snapshot);
  g_assert_nonnull (node);
  bounds = GRAPHENE_RECT_INIT (0, 0, (float) *width, (float) *height);
  texture = gsk_renderer_render_texture (gtk_native_get_renderer (gtk_widget_get_native (widget)), node, &bounds);
  pixels = g_new (guint32, (gsize) *width * (gsize) *height);
  gdk_texture_download (texture, (guchar *) pixels, (gsize) *width * 4);
  g_object_unref (texture);
  gsk_render_node_unref (node);
  return pixels;
}

guint
test_count_pixels (GtkWidget *widget, const GdkRGBA *color, double tolerance)
{
  int                 width, height;
  g_autofree guint32 *pixels = test_grab (widget, &width, &height);
  guint               count = 0;

  for (int i = 0; i < width * height; i++)
    {
      double red = (pixels[i] >> 16 & 0xff) / 255.0, green = (pixels[i] >> 8 & 0xff) / 255.0;
      double blue = (pixels[i] & 0xff) / 255.0;

      if ((pixels[i] >> 24) > 250 && fabs (red - color->red) <= tolerance && fabs (green - color->green) <= tolerance
          && fabs (blue - color->blue) <= tolerance)
        count++;
    }
  return count;
}

static void
count_cb (guint *count)
{
  (*count)++;
}

void
test_count_notify (gpointer object, const char *property, guint *count)
{
  g_autofree char *signal = g_strconcat ("notify::", property, NULL);

  *count = 0;
  g_signal_connect_swapped (object, signal, G_CALLBACK (count_cb), count);
}
