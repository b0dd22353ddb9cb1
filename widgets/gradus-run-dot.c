/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"
#include "gradus-palette.h"
#include "gradus-run-dot.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define RADIUS 5.0
#define RING 1.5

struct _GradusRunDot
{
  GtkToggleButton parent_instance;

  int color;
};

G_DEFINE_FINAL_TYPE (GradusRunDot, gradus_run_dot, GTK_TYPE_TOGGLE_BUTTON)

static void
gradus_run_dot_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusRunDot   *self = GRADUS_RUN_DOT (widget);
  double          x = gtk_widget_get_width (widget) / 2.0, y = gtk_widget_get_height (widget) / 2.0;
  GradusPalette   palette;
  graphene_rect_t bounds;
  GskRoundedRect  ring;

  GTK_WIDGET_CLASS (gradus_run_dot_parent_class)->snapshot (widget, snapshot);
  gradus_palette_read (&palette, widget);
  if (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self)))
    {
      gradus_draw_dot (snapshot, x, y, RADIUS + 0.5, gradus_palette_get_run (&palette, self->color), 0.0, NULL);
      return;
    }
  bounds = GRAPHENE_RECT_INIT ((float) (x - RADIUS), (float) (y - RADIUS), (float) (2 * RADIUS), (float) (2 * RADIUS));
  gsk_rounded_rect_init_from_rect (&ring, &bounds, (float) RADIUS);
  gtk_snapshot_append_border (snapshot, &ring, (float[4]){ RING, RING, RING, RING },
                              (GdkRGBA[4]){ palette.bar, palette.bar, palette.bar, palette.bar });
}

static void
gradus_run_dot_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_run_dot_parent_class)->css_changed (widget, change);
  gtk_widget_queue_draw (widget);
}

static void
gradus_run_dot_class_init (GradusRunDotClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_run_dot_snapshot;
  widget_class->css_changed = gradus_run_dot_css_changed;
}

static void
gradus_run_dot_init (GradusRunDot *self)
{
  gtk_widget_add_css_class (GTK_WIDGET (self), "flat");
  gtk_widget_add_css_class (GTK_WIDGET (self), "gradus-run-dot");
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_CENTER);
  gradus_run_dot_set_run_name (self, "");
  /* GTK says it only once it changes, and until then nobody knows that this can be pressed in. */
  gtk_accessible_update_state (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_STATE_PRESSED, GTK_ACCESSIBLE_TRISTATE_FALSE, -1);
  g_signal_connect (self, "toggled", G_CALLBACK (gtk_widget_queue_draw), NULL);
  gradus_palette_watch (GTK_WIDGET (self), gtk_widget_queue_draw);
}

GtkWidget *
gradus_run_dot_new (void)
{
  return g_object_new (GRADUS_TYPE_RUN_DOT, NULL);
}

void
gradus_run_dot_set_color (GradusRunDot *self, int color)
{
  g_return_if_fail (GRADUS_IS_RUN_DOT (self));

  if (self->color == color)
    return;
  self->color = color;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
gradus_run_dot_set_run_name (GradusRunDot *self, const char *run_name)
{
  g_autofree char *label = NULL;

  g_return_if_fail (GRADUS_IS_RUN_DOT (self));
  g_return_if_fail (run_name != NULL);

  /* Translators: the toggle beside a run in the list; %s is the run's name. */
  label = g_strdup_printf (_("Show %s in the charts"), run_name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), *run_name != '\0' ? label : NULL);
}
