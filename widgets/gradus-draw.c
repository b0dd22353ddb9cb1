/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"

#include <math.h>

PangoLayout *
gradus_draw_layout (GtkWidget *widget, const char *text, gboolean bold)
{
  PangoLayout   *layout = gtk_widget_create_pango_layout (widget, text);
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
  if (bold)
    pango_attr_list_insert (attributes, pango_attr_weight_new (PANGO_WEIGHT_BOLD));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  return layout;
}

void
gradus_draw_text (GtkSnapshot   *snapshot,
                  PangoLayout   *layout,
                  double         x,
                  double         y,
                  double         align,
                  const GdkRGBA *color)
{
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (
      snapshot, &GRAPHENE_POINT_INIT ((float) round (x - align * width), (float) round (y - height / 2.0)));
  gtk_snapshot_append_layout (snapshot, layout, color);
  gtk_snapshot_restore (snapshot);
}

void
gradus_draw_rect (GtkSnapshot *snapshot, double x, double y, double width, double height, const GdkRGBA *color)
{
  gtk_snapshot_append_color (
      snapshot, color, &GRAPHENE_RECT_INIT ((float) x, (float) y, (float) width, (float) height));
}

void
gradus_draw_pill (GtkSnapshot *snapshot, double x, double y, double width, double height, const GdkRGBA *color)
{
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) x, (float) y, (float) width, (float) height);
  GskRoundedRect  rounded;

  gsk_rounded_rect_init_from_rect (&rounded, &bounds, (float) (MIN (width, height) / 2.0));
  gtk_snapshot_push_rounded_clip (snapshot, &rounded);
  gtk_snapshot_append_color (snapshot, color, &bounds);
  gtk_snapshot_pop (snapshot);
}

void
gradus_draw_dot (GtkSnapshot   *snapshot,
                 double         x,
                 double         y,
                 double         radius,
                 const GdkRGBA *color,
                 double         rim,
                 const GdkRGBA *rim_color)
{
  if (rim > 0.0)
    gradus_draw_pill (snapshot, x - radius - rim, y - radius - rim, 2.0 * (radius + rim),
                      2.0 * (radius + rim), rim_color);
  gradus_draw_pill (snapshot, x - radius, y - radius, 2.0 * radius, 2.0 * radius, color);
}

void
gradus_draw_star (GtkSnapshot   *snapshot,
                  double         x,
                  double         y,
                  double         radius,
                  const GdkRGBA *color,
                  double         rim,
                  const GdkRGBA *rim_color)
{
  double          extent = ceil (radius + rim) + 1.0;
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) (x - extent), (float) (y - extent),
                                               (float) (2.0 * extent), (float) (2.0 * extent));
  cairo_t        *cr = gtk_snapshot_append_cairo (snapshot, &bounds);

  for (guint i = 0; i < 10; i++)
    {
      double angle = (double) i * G_PI / 5.0 - G_PI / 2.0;
      double length = i % 2 == 0 ? radius : radius * 0.42;

      cairo_line_to (cr, x + length * cos (angle), y + length * sin (angle));
    }
  cairo_close_path (cr);
  if (rim > 0.0)
    {
      cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
      cairo_set_line_width (cr, 2.0 * rim);
      gdk_cairo_set_source_rgba (cr, rim_color);
      cairo_stroke_preserve (cr);
    }
  gdk_cairo_set_source_rgba (cr, color);
  cairo_fill (cr);
  cairo_destroy (cr);
}

void
gradus_draw_dashes (GtkSnapshot   *snapshot,
                    double         x,
                    double         y,
                    double         length,
                    gboolean       vertical,
                    const GdkRGBA *color)
{
  static const double dashes[] = { 3.0, 3.0 };
  graphene_rect_t     bounds;
  cairo_t            *cr;

  if (length <= 0.0)
    return;
  if (vertical)
    graphene_rect_init (&bounds, (float) floor (x), (float) y, 1.0f, (float) length);
  else
    graphene_rect_init (&bounds, (float) x, (float) floor (y), (float) length, 1.0f);
  cr = gtk_snapshot_append_cairo (snapshot, &bounds);
  cairo_set_line_width (cr, 1.0);
  cairo_set_dash (cr, dashes, G_N_ELEMENTS (dashes), 0.0);
  cairo_move_to (cr, vertical ? floor (x) + 0.5 : x, vertical ? y : floor (y) + 0.5);
  cairo_rel_line_to (cr, vertical ? 0.0 : length, vertical ? length : 0.0);
  gdk_cairo_set_source_rgba (cr, color);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

GdkRGBA
gradus_draw_fade (const GdkRGBA *color, double alpha)
{
  GdkRGBA faded = *color;

  faded.alpha *= (float) alpha;
  return faded;
}
