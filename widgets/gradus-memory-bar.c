/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-bar.h"
#include "gradus-format.h"
#include "gradus-memory-bar.h"
#include "gradus-palette.h"

#include <glib/gi18n-lib.h>
#include <math.h>

struct _GradusMemoryBar
{
  GtkWidget parent_instance;

  GtkWidget *box;
  GtkWidget *title;
  GtkWidget *numbers;
  GtkWidget *bar;
  GtkWidget *peak;
  GtkWidget *planned;
};

G_DEFINE_FINAL_TYPE (GradusMemoryBar, gradus_memory_bar, GTK_TYPE_WIDGET)

static void
gradus_memory_bar_dispose (GObject *object)
{
  g_clear_pointer (&GRADUS_MEMORY_BAR (object)->box, gtk_widget_unparent);
  G_OBJECT_CLASS (gradus_memory_bar_parent_class)->dispose (object);
}

static void
gradus_memory_bar_class_init (GradusMemoryBarClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_memory_bar_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "gradus-memory-bar");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
}

static GtkWidget *
make_row (GtkWidget **start, const char *start_class, GtkWidget **end, const char *end_class)
{
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);

  *start = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (*start), 0.0f);
  gtk_widget_set_hexpand (*start, TRUE);
  gtk_widget_add_css_class (*start, start_class);
  *end = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (*end), 1.0f);
  if (end_class != NULL)
    gtk_widget_add_css_class (*end, end_class);
  gtk_box_append (GTK_BOX (row), *start);
  gtk_box_append (GTK_BOX (row), *end);
  return row;
}

static void
gradus_memory_bar_init (GradusMemoryBar *self)
{
  gradus_widgets_init ();
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_box_append (GTK_BOX (self->box), make_row (&self->title, "heading", &self->numbers, NULL));
  self->bar = gradus_bar_new ();
  gtk_box_append (GTK_BOX (self->box), self->bar);
  gtk_box_append (GTK_BOX (self->box), make_row (&self->peak, "caption", &self->planned, "caption"));
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
}

GtkWidget *
gradus_memory_bar_new (const char *title)
{
  GradusMemoryBar *self = g_object_new (GRADUS_TYPE_MEMORY_BAR, NULL);

  gtk_label_set_label (GTK_LABEL (self->title), title != NULL ? title : "");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  title != NULL ? title : "", -1);
  return GTK_WIDGET (self);
}

static void
set_label (GtkWidget *label, const char *text)
{
  if (g_strcmp0 (gtk_label_get_text (GTK_LABEL (label)), text) != 0)
    gtk_label_set_text (GTK_LABEL (label), text);
}

static void
set_caption (GtkWidget *label, const char *format, double bytes)
{
  g_autofree char *number = gradus_format_bytes (bytes);
  g_auto (GStrv) parts = g_strsplit (format, "%s", 2);
  g_autofree char *joined = g_strjoinv (number, parts);

  set_label (label, isnan (bytes) ? "" : joined);
}

/* "190 of 2 048 MB": what is used in the text's colour, the rest dim. */
static void
set_numbers (GradusMemoryBar *self, double now, double total)
{
  const char      *unit;
  double           scale = gradus_format_axis_scale (GRADUS_UNIT_BYTES, isnan (total) ? now : total, &unit);
  g_autofree char *used = NULL, *rest = NULL, *whole = NULL, *markup = NULL;

  /* A machine's memory is written in MB up to ten thousand of them: fractions of a GB hide what a
     batch costs. */
  if (isfinite (total) && total < 1e10)
    {
      scale = 1e-6;
      unit = _("MB");
    }
  used = isnan (now) ? g_strdup ("–") : gradus_format_number (now * scale, 3);
  if (isfinite (now) && now * scale >= 100.0)
    {
      g_free (used);
      used = gradus_format_count ((gint64) llround (now * scale));
    }
  if (isnan (total))
    rest = g_strdup (unit);
  else
    {
      whole = total * scale >= 100.0 ? gradus_format_count ((gint64) llround (total * scale))
                                     : gradus_format_number (total * scale, 3);
      /* Translators: memory "190 of 2 048 MB"; this is what follows the first number. */
      rest = g_strdup_printf (_("of %s\u00a0%s"), whole, unit);
    }
  /* A small run on a large machine: each number has its own unit. */
  if (isfinite (now) && isfinite (total) && total >= 1e10 && now < 1e9)
    {
      g_autofree char *all = gradus_format_bytes (total);

      g_free (used);
      g_free (rest);
      used = gradus_format_bytes (now);
      /* Translators: memory "63 MB of 25 GB"; this is what follows the first number. */
      rest = g_strdup_printf (C_("memory", "of %s"), all);
    }
  markup = g_markup_printf_escaped ("%s <span alpha=\"60%%\">%s</span>", used, rest);
  if (g_strcmp0 (gtk_label_get_label (GTK_LABEL (self->numbers)), markup) != 0)
    gtk_label_set_markup (GTK_LABEL (self->numbers), markup);
}

void
gradus_memory_bar_set (GradusMemoryBar *self, double now, double peak, double planned, double total)
{
  g_autofree char *spoken = NULL;
  double           length;

  g_return_if_fail (GRADUS_IS_MEMORY_BAR (self));

  length = isfinite (total) && total > 0.0 ? total : MAX (MAX (now, peak), planned);
  gradus_bar_set (GRADUS_BAR (self->bar), length > 0.0 ? now / length : NAN, length > 0.0 ? peak / length : NAN);
  set_numbers (self, now, total);
  /* Translators: highest memory used so far; %s is an amount. */
  set_caption (self->peak, _("peak %s"), peak);
  /* Translators: memory predicted before the run; %s is an amount. */
  set_caption (self->planned, _("planned %s"), planned);
  spoken = g_strdup_printf ("%s, %s, %s", gtk_label_get_text (GTK_LABEL (self->numbers)),
                            gtk_label_get_text (GTK_LABEL (self->peak)),
                            gtk_label_get_text (GTK_LABEL (self->planned)));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, spoken, -1);
}
