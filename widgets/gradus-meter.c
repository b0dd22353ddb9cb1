/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-bar.h"
#include "gradus-format.h"
#include "gradus-meter.h"
#include "gradus-palette.h"

#include <math.h>

#define PERCENT_CHARS 5
#define VALUE_CHARS 8

struct _GradusMeter
{
  GtkWidget parent_instance;

  GtkWidget *label;
  GtkWidget *bar;
  GtkWidget *percent;
  GtkWidget *value;
  double     fraction;
};

G_DEFINE_FINAL_TYPE (GradusMeter, gradus_meter, GTK_TYPE_WIDGET)

static void
gradus_meter_dispose (GObject *object)
{
  GradusMeter *self = GRADUS_METER (object);

  g_clear_pointer (&self->label, gtk_widget_unparent);
  g_clear_pointer (&self->bar, gtk_widget_unparent);
  g_clear_pointer (&self->percent, gtk_widget_unparent);
  g_clear_pointer (&self->value, gtk_widget_unparent);
  G_OBJECT_CLASS (gradus_meter_parent_class)->dispose (object);
}

static void
gradus_meter_class_init (GradusMeterClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_meter_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "gradus-meter");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
}

static GtkWidget *
make_number (int chars)
{
  GtkWidget *label = gtk_label_new (NULL);

  /* A fixed width keeps the bars of all rows equal, and a new number from laying out the window. */
  gtk_label_set_width_chars (GTK_LABEL (label), chars);
  gtk_label_set_xalign (GTK_LABEL (label), 1.0f);
  return label;
}

static void
gradus_meter_init (GradusMeter *self)
{
  GtkWidget *widget = GTK_WIDGET (self);

  gradus_widgets_init ();
  gtk_box_layout_set_spacing (GTK_BOX_LAYOUT (gtk_widget_get_layout_manager (widget)), 6);
  self->fraction = NAN;
  self->label = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->label), 0.0f);
  gtk_widget_add_css_class (self->label, "dim-label");
  gtk_widget_set_margin_end (self->label, 6);
  self->bar = gradus_bar_new ();
  gtk_widget_set_hexpand (self->bar, TRUE);
  self->percent = make_number (PERCENT_CHARS);
  gtk_widget_add_css_class (self->percent, "percent");
  self->value = make_number (VALUE_CHARS);
  gtk_widget_add_css_class (self->value, "dim-label");
  gtk_widget_set_parent (self->label, widget);
  gtk_widget_set_parent (self->bar, widget);
  gtk_widget_set_parent (self->percent, widget);
  gtk_widget_set_parent (self->value, widget);
}

GtkWidget *
gradus_meter_new (const char *label, GtkSizeGroup *labels)
{
  GradusMeter *self = g_object_new (GRADUS_TYPE_METER, NULL);

  gtk_label_set_label (GTK_LABEL (self->label), label != NULL ? label : "");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  label != NULL ? label : "", -1);
  if (labels != NULL)
    gtk_size_group_add_widget (labels, self->label);
  return GTK_WIDGET (self);
}

void
gradus_meter_set (GradusMeter *self, double fraction, const char *value)
{
  g_autofree char *percent = NULL;
  g_autofree char *spoken = NULL;

  g_return_if_fail (GRADUS_IS_METER (self));

  self->fraction = isnan (fraction) ? NAN : CLAMP (fraction, 0.0, 1.0);
  percent = isnan (fraction) ? g_strdup ("–") : gradus_format_percent (self->fraction);
  if (value == NULL)
    value = "";
  if (g_strcmp0 (percent, gtk_label_get_label (GTK_LABEL (self->percent))) == 0
      && g_strcmp0 (value, gtk_label_get_label (GTK_LABEL (self->value))) == 0)
    {
      gradus_bar_set (GRADUS_BAR (self->bar), self->fraction, NAN);
      return;
    }
  gradus_bar_set (GRADUS_BAR (self->bar), self->fraction, NAN);
  gtk_label_set_label (GTK_LABEL (self->percent), percent);
  gtk_label_set_label (GTK_LABEL (self->value), value);
  spoken = *value != '\0' ? g_strdup_printf ("%s, %s", percent, value) : g_strdup (percent);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, spoken, -1);
}

double
gradus_meter_get_fraction (GradusMeter *self)
{
  g_return_val_if_fail (GRADUS_IS_METER (self), NAN);

  return self->fraction;
}
