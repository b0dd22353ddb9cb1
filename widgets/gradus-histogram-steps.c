/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"
#include "gradus-histogram-plot.h"

#include <math.h>

/* The two modes in which steps run to the right and values upwards. */

/* Bands from one percentile to another: one, two and three standard deviations of a normal, and
   everything. */
static const struct
{
  double low, high;
} bands[] = { { 0.0, 1.0 }, { 0.00135, 0.99865 }, { 0.02275, 0.97725 }, { 0.15866, 0.84134 } };

#define BAND_OPACITY 0.16

static double
get_px (const GradusHistogramGeometry *geometry, double x)
{
  return geometry->left + (x - geometry->x0) / (geometry->x1 - geometry->x0) * geometry->width;
}

static double
get_py (const GradusHistogramGeometry *geometry, double value)
{
  double part = (value - geometry->low) / (geometry->high - geometry->low);

  return geometry->top + (1.0 - CLAMP (part, -0.5, 1.5)) * geometry->height;
}

static void
trace_quantile (GradusHistogramPlot *self, cairo_t *cr, double p, gboolean backwards)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      guint                     at = backwards ? self->rows->len - 1 - i : i;
      const GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, at);
      double                    value = gradus_histogram_item_quantile (row->item, p);

      if (isfinite (value))
        cairo_line_to (cr, get_px (&self->geometry, row->x), get_py (&self->geometry, value));
    }
}

/* A thin line at the picked step. */
static void
draw_picked (GradusHistogramPlot *self, GtkSnapshot *snapshot)
{
  const GradusHistogramGeometry *geometry = &self->geometry;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i);

      if (row->position < self->position)
        continue;
      gradus_draw_rect (snapshot, MIN (floor (get_px (geometry, row->x)), geometry->left + geometry->width - 1),
                        geometry->top, 1, geometry->height, &self->palette.text);
      return;
    }
}

void
gradus_histogram_draw_distribution (GradusHistogramPlot *self, GtkSnapshot *snapshot)
{
  const GradusHistogramGeometry *geometry = &self->geometry;
  const GdkRGBA                 *color = gradus_palette_get_run (&self->palette, self->color);
  GdkRGBA                        band = gradus_draw_fade (color, BAND_OPACITY);
  cairo_t                       *cr;

  gradus_histogram_draw_value_axis (self, snapshot, TRUE);
  cr = gtk_snapshot_append_cairo (snapshot,
                                  &GRAPHENE_RECT_INIT ((float) geometry->left, (float) geometry->top,
                                                       (float) geometry->width, (float) geometry->height));
  gdk_cairo_set_source_rgba (cr, &band);
  for (guint i = 0; i < G_N_ELEMENTS (bands); i++)
    {
      trace_quantile (self, cr, bands[i].high, FALSE);
      trace_quantile (self, cr, bands[i].low, TRUE);
      cairo_close_path (cr);
      cairo_fill (cr);
    }
  trace_quantile (self, cr, 0.5, FALSE);
  gdk_cairo_set_source_rgba (cr, color);
  cairo_set_line_width (cr, 2.0);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke (cr);
  cairo_destroy (cr);
  gradus_histogram_draw_step_axis (self, snapshot);
  draw_picked (self, snapshot);
}

/* The row whose step is nearest to column @column of @n. */
static guint
find_row (GradusHistogramPlot *self, guint column, guint n, guint from)
{
  double x = self->geometry.x0 + (column + 0.5) / n * (self->geometry.x1 - self->geometry.x0);

  while (from + 1 < self->rows->len
         && fabs (g_array_index (self->rows, GradusHistogramRow, from + 1).x - x)
                <= fabs (g_array_index (self->rows, GradusHistogramRow, from).x - x))
    from++;
  return from;
}

/* One pixel for each of the screen: a scaled texture would blur. */
static GdkTexture *
make_heat (GradusHistogramPlot *self, guint width, guint height)
{
  const GdkRGBA *color = gradus_palette_get_run (&self->palette, self->color);
  guint8        *pixels = g_malloc ((gsize) width * height * 4);
  g_autoptr (GBytes) bytes = NULL;
  guint row = 0;

  for (guint x = 0; x < width; x++)
    {
      const GradusHistogramRow *histogram;

      row = find_row (self, x, width, row);
      histogram = &g_array_index (self->rows, GradusHistogramRow, row);
      for (guint y = 0; y < height; y++)
        {
          guint   cell = (height - 1 - y) * GRADUS_HISTOGRAM_CELLS / height;
          /* The root brings out the tails, which are the news. */
          double  alpha = self->geometry.max_density > 0.0
                              ? sqrt (histogram->density[cell] / self->geometry.max_density)
                              : 0.0;
          guint8 *pixel = pixels + ((gsize) y * width + x) * 4;

          pixel[0] = (guint8) (255.0 * alpha * color->red + 0.5);
          pixel[1] = (guint8) (255.0 * alpha * color->green + 0.5);
          pixel[2] = (guint8) (255.0 * alpha * color->blue + 0.5);
          pixel[3] = (guint8) (255.0 * alpha + 0.5);
        }
    }
  bytes = g_bytes_new_take (pixels, (gsize) width * height * 4);
  return gdk_memory_texture_new ((int) width, (int) height, GDK_MEMORY_R8G8B8A8_PREMULTIPLIED, bytes,
                                 (gsize) width * 4);
}

void
gradus_histogram_draw_heat_map (GradusHistogramPlot *self, GtkSnapshot *snapshot)
{
  const GradusHistogramGeometry *geometry = &self->geometry;
  int                            scale = gtk_widget_get_scale_factor (GTK_WIDGET (self));

  gradus_histogram_draw_value_axis (self, snapshot, TRUE);
  if (self->heat == NULL)
    self->heat = make_heat (self, (guint) geometry->width * (guint) scale, (guint) geometry->height * (guint) scale);
  gtk_snapshot_append_texture (snapshot, self->heat,
                               &GRAPHENE_RECT_INIT ((float) geometry->left, (float) geometry->top,
                                                    (float) floor (geometry->width),
                                                    (float) floor (geometry->height)));
  gradus_histogram_draw_step_axis (self, snapshot);
  draw_picked (self, snapshot);
}
