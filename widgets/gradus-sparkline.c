/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"
#include "gradus-palette.h"
#include "gradus-sparkline.h"

#include <math.h>

#define MAX_VALUES 128
#define WIDTH 64
#define HEIGHT 18
#define MARGIN 3.0
#define DOT_RADIUS 2.0

struct _GradusSparkline
{
  GtkWidget parent_instance;

  float *values; /* finite; owned */
  guint  n;
  int    color;
};

G_DEFINE_FINAL_TYPE (GradusSparkline, gradus_sparkline, GTK_TYPE_WIDGET)

static void
place (GradusSparkline *self, guint i, float low, float high, double *x, double *y)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)) - 2.0 * MARGIN;
  double height = gtk_widget_get_height (GTK_WIDGET (self)) - 2.0 * MARGIN;

  *x = MARGIN + (self->n > 1 ? width * i / (self->n - 1) : width);
  *y = MARGIN + (high > low ? height * (double) (high - self->values[i]) / (double) (high - low) : height / 2.0);
}

static void
gradus_sparkline_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusSparkline *self = GRADUS_SPARKLINE (widget);
  GradusPalette    palette;
  const GdkRGBA   *color;
  float            low, high;
  double           x = 0.0, y = 0.0;
  cairo_t         *cr;

  if (self->n == 0)
    return;

  gradus_palette_read (&palette, widget);
  color = gradus_palette_get_run (&palette, self->color);
  low = high = self->values[0];
  for (guint i = 1; i < self->n; i++)
    {
      low = MIN (low, self->values[i]);
      high = MAX (high, self->values[i]);
    }

  cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) gtk_widget_get_width (widget), (float) gtk_widget_get_height (widget)));
  for (guint i = 0; i < self->n; i++)
    {
      place (self, i, low, high, &x, &y);
      cairo_line_to (cr, x, y);
    }
  cairo_set_line_width (cr, 1.25);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  gdk_cairo_set_source_rgba (cr, color);
  cairo_stroke (cr);
  cairo_destroy (cr);
  gradus_draw_dot (snapshot, x, y, DOT_RADIUS, color, 0.0, NULL);
}

static void
gradus_sparkline_measure (GtkWidget     *widget,
                          GtkOrientation orientation,
                          int            for_size,
                          int           *minimum,
                          int           *natural,
                          int           *minimum_baseline,
                          int           *natural_baseline)
{
  *minimum = *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? WIDTH : HEIGHT;
}

static void
gradus_sparkline_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_sparkline_parent_class)->css_changed (widget, change);
  gtk_widget_queue_draw (widget);
}

static void
gradus_sparkline_finalize (GObject *object)
{
  g_free (GRADUS_SPARKLINE (object)->values);
  G_OBJECT_CLASS (gradus_sparkline_parent_class)->finalize (object);
}

static void
gradus_sparkline_class_init (GradusSparklineClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gradus_sparkline_finalize;
  widget_class->snapshot = gradus_sparkline_snapshot;
  widget_class->measure = gradus_sparkline_measure;
  widget_class->css_changed = gradus_sparkline_css_changed;
  gtk_widget_class_set_css_name (widget_class, "gradus-sparkline");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_sparkline_init (GradusSparkline *self)
{
  self->color = GRADUS_COLOR_DIM;
  gradus_palette_watch (GTK_WIDGET (self), gtk_widget_queue_draw);
}

GtkWidget *
gradus_sparkline_new (void)
{
  return g_object_new (GRADUS_TYPE_SPARKLINE, NULL);
}

/* The lowest and the highest of each of MAX_VALUES / 2 parts, in the order in which they stand. */
static void
reduce (GradusSparkline *self, const float *finite, gsize n)
{
  guint n_parts = MAX_VALUES / 2;

  self->n = 0;
  for (guint part = 0; part < n_parts; part++)
    {
      gsize begin = part * n / n_parts, end = (part + 1) * n / n_parts;
      gsize low = begin, high = begin;

      for (gsize i = begin; i < end; i++)
        {
          if (finite[i] < finite[low])
            low = i;
          if (finite[i] > finite[high])
            high = i;
        }
      self->values[self->n++] = finite[MIN (low, high)];
      self->values[self->n++] = finite[MAX (low, high)];
    }
}

void
gradus_sparkline_set_values (GradusSparkline *self, const double *values, gsize n)
{
  g_autofree float *finite = NULL;
  gsize             n_finite = 0;

  g_return_if_fail (GRADUS_IS_SPARKLINE (self));
  g_return_if_fail (n == 0 || values != NULL);

  finite = g_new (float, n);
  for (gsize i = 0; i < n; i++)
    if (isfinite ((float) values[i]))
      finite[n_finite++] = (float) values[i];

  if (n_finite <= MAX_VALUES && n_finite == self->n
      && (n_finite == 0 || memcmp (finite, self->values, n_finite * sizeof (float)) == 0))
    return;
  self->values = g_renew (float, self->values, MIN (n_finite, MAX_VALUES));
  if (n_finite > MAX_VALUES)
    reduce (self, finite, n_finite);
  else
    {
      for (gsize i = 0; i < n_finite; i++)
        self->values[i] = finite[i];
      self->n = (guint) n_finite;
    }
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
gradus_sparkline_set_color (GradusSparkline *self, int color)
{
  g_return_if_fail (GRADUS_IS_SPARKLINE (self));

  if (self->color == color)
    return;
  self->color = color;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}
