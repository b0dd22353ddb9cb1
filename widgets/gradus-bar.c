/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-bar.h"
#include "gradus-draw.h"
#include "gradus-palette.h"

#include <math.h>

#define THICKNESS 6.0
#define MARK_HEIGHT 12.0
#define MARK_WIDTH 2.0
#define MIN_WIDTH 40

struct _GradusBar
{
  GtkWidget parent_instance;

  double fraction;
  double mark;
};

G_DEFINE_FINAL_TYPE (GradusBar, gradus_bar, GTK_TYPE_WIDGET)

static void
gradus_bar_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusBar      *self = GRADUS_BAR (widget);
  double          width = gtk_widget_get_width (widget);
  double          middle = floor (gtk_widget_get_height (widget) / 2.0);
  double          top = middle - THICKNESS / 2.0;
  graphene_rect_t bounds = GRAPHENE_RECT_INIT (0, (float) top, (float) width, (float) THICKNESS);
  GskRoundedRect  trough;
  GradusPalette   palette;

  gradus_palette_read (&palette, widget);
  gsk_rounded_rect_init_from_rect (&trough, &bounds, (float) (THICKNESS / 2.0));
  gtk_snapshot_push_rounded_clip (snapshot, &trough);
  gtk_snapshot_append_color (snapshot, &palette.trough, &bounds);
  gtk_snapshot_pop (snapshot);
  /* Something is never drawn as nothing. */
  if (self->fraction > 0.0)
    gradus_draw_pill (snapshot, 0, top, MAX (width * MIN (self->fraction, 1.0), THICKNESS / 2.0), THICKNESS,
                      &palette.bar);
  if (self->mark >= 0.0)
    gradus_draw_rect (snapshot, round ((width - MARK_WIDTH) * MIN (self->mark, 1.0)), middle - MARK_HEIGHT / 2.0,
                      MARK_WIDTH, MARK_HEIGHT, &palette.text);
}

static void
gradus_bar_measure (GtkWidget     *widget,
                    GtkOrientation orientation,
                    int            for_size,
                    int           *minimum,
                    int           *natural,
                    int           *minimum_baseline,
                    int           *natural_baseline)
{
  *minimum = *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? MIN_WIDTH : (int) MARK_HEIGHT;
}

static void
gradus_bar_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_bar_parent_class)->css_changed (widget, change);
  gtk_widget_queue_draw (widget);
}

static void
gradus_bar_class_init (GradusBarClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_bar_snapshot;
  widget_class->measure = gradus_bar_measure;
  widget_class->css_changed = gradus_bar_css_changed;
  gtk_widget_class_set_css_name (widget_class, "gradus-bar");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_bar_init (GradusBar *self)
{
  self->fraction = self->mark = NAN;
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_CENTER);
  gradus_palette_watch (GTK_WIDGET (self), gtk_widget_queue_draw);
}

GtkWidget *
gradus_bar_new (void)
{
  return g_object_new (GRADUS_TYPE_BAR, NULL);
}

static gboolean
same (double a, double b)
{
  return a == b || (isnan (a) && isnan (b));
}

void
gradus_bar_set (GradusBar *self, double fraction, double mark)
{
  g_return_if_fail (GRADUS_IS_BAR (self));

  if (same (fraction, self->fraction) && same (mark, self->mark))
    return;
  self->fraction = fraction;
  self->mark = mark;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}
