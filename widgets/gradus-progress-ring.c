/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-palette.h"
#include "gradus-progress-ring.h"

#include <math.h>

#define SIZE 16
#define WIDTH 2.5

struct _GradusProgressRing
{
  GtkWidget parent_instance;

  double fraction;
  int    color;
};

G_DEFINE_FINAL_TYPE (GradusProgressRing, gradus_progress_ring, GTK_TYPE_WIDGET)

static void
gradus_progress_ring_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusProgressRing *self = GRADUS_PROGRESS_RING (widget);
  double              width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  double              radius = (MIN (width, height) - WIDTH) / 2.0;
  GradusPalette       palette;
  cairo_t            *cr;

  gradus_palette_read (&palette, widget);
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  cairo_translate (cr, width / 2.0, height / 2.0);
  cairo_set_line_width (cr, WIDTH);
  cairo_arc (cr, 0, 0, radius, 0, 2 * G_PI);
  gdk_cairo_set_source_rgba (cr, &palette.trough);
  cairo_stroke (cr);
  if (self->fraction > 0.0)
    {
      cairo_arc (cr, 0, 0, radius, -G_PI / 2, -G_PI / 2 + 2 * G_PI * self->fraction);
      gdk_cairo_set_source_rgba (cr, gradus_palette_get_run (&palette, self->color));
      cairo_stroke (cr);
    }
  cairo_destroy (cr);
}

static void
gradus_progress_ring_measure (GtkWidget     *widget,
                              GtkOrientation orientation,
                              int            for_size,
                              int           *minimum,
                              int           *natural,
                              int           *minimum_baseline,
                              int           *natural_baseline)
{
  *minimum = *natural = SIZE;
}

static void
gradus_progress_ring_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_progress_ring_parent_class)->css_changed (widget, change);
  gtk_widget_queue_draw (widget);
}

static void
gradus_progress_ring_class_init (GradusProgressRingClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_progress_ring_snapshot;
  widget_class->measure = gradus_progress_ring_measure;
  widget_class->css_changed = gradus_progress_ring_css_changed;
  gtk_widget_class_set_css_name (widget_class, "gradus-ring");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_progress_ring_init (GradusProgressRing *self)
{
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_CENTER);
  gradus_palette_watch (GTK_WIDGET (self), gtk_widget_queue_draw);
}

GtkWidget *
gradus_progress_ring_new (void)
{
  return g_object_new (GRADUS_TYPE_PROGRESS_RING, NULL);
}

void
gradus_progress_ring_set_fraction (GradusProgressRing *self, double fraction)
{
  g_return_if_fail (GRADUS_IS_PROGRESS_RING (self));

  fraction = isnan (fraction) ? 0.0 : CLAMP (fraction, 0.0, 1.0);
  /* Less than half a degree is not seen. */
  if (fabs (self->fraction - fraction) < 1.0 / 720.0 && fraction != 0.0 && fraction != 1.0)
    return;
  self->fraction = fraction;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

double
gradus_progress_ring_get_fraction (GradusProgressRing *self)
{
  g_return_val_if_fail (GRADUS_IS_PROGRESS_RING (self), 0.0);

  return self->fraction;
}

void
gradus_progress_ring_set_color (GradusProgressRing *self, int color)
{
  g_return_if_fail (GRADUS_IS_PROGRESS_RING (self));

  if (self->color == color)
    return;
  self->color = color;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}
