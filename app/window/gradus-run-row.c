/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#include "gradus-palette.h"
#include "gradus-run-dot.h"
#include "gradus-run-row.h"
#include "gradus-sparkline.h"

struct _GradusRunRow
{
  GtkWidget parent_instance;

  GradusWorkbench *workbench;
  GradusRunItem   *item;
  GSignalGroup    *item_signals;

  GtkWidget *dot;
  GtkWidget *name;
  GtkWidget *badge;
  GtkWidget *best;
  GtkWidget *state;
  GtkWidget *spark;
  gboolean   updating;
};

G_DEFINE_FINAL_TYPE (GradusRunRow, gradus_run_row, GTK_TYPE_WIDGET)

static void
update_badge (GradusRunRow *self, const GradusRunInfo *info)
{
  gboolean bad = info != NULL && (info->status == GRADUS_RUN_FAILED ||
                                  (info->n_findings > 0 && info->worst == GRADUS_SEVERITY_ERROR));
  gboolean odd = info != NULL && info->n_findings > 0 && info->worst == GRADUS_SEVERITY_WARNING;
  g_autofree char *text = NULL;

  gtk_widget_set_visible (self->badge, bad || odd);
  if (!bad && !odd)
    return;

  gtk_widget_remove_css_class (self->badge, bad ? "warning" : "error");
  gtk_widget_add_css_class (self->badge, bad ? "error" : "warning");
  text = info->n_findings > 0
           ? g_strdup_printf (ngettext ("%u finding", "%u findings", info->n_findings),
                              info->n_findings)
           : g_strdup (_("The run failed"));
  gtk_widget_set_tooltip_text (self->badge, text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->badge), GTK_ACCESSIBLE_PROPERTY_LABEL, text,
                                  -1);
}

static void
update (GradusRunRow *self)
{
  const GradusRunInfo *info = gradus_run_item_get_info (self->item);
  const char *name = gradus_run_item_get_name (self->item);
  int color = gradus_run_item_get_color (self->item);
  g_autofree char *best = gradus_run_item_describe_best (self->item);
  g_autofree char *state = gradus_run_item_describe_state (self->item);
  const double *spark;
  guint n;

  self->updating = TRUE;
  gtk_widget_set_sensitive (self->dot, !gradus_run_item_is_draft (self->item));
  gradus_run_dot_set_run_name (GRADUS_RUN_DOT (self->dot), name);
  if (color >= 0)
    gradus_run_dot_set_color (GRADUS_RUN_DOT (self->dot), color);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->dot), color >= 0);
  self->updating = FALSE;

  gtk_label_set_label (GTK_LABEL (self->name), name);
  if (color >= 0)
    gtk_widget_add_css_class (self->name, "shown");
  else
    gtk_widget_remove_css_class (self->name, "shown");
  gtk_label_set_label (GTK_LABEL (self->best), best);
  gtk_widget_set_visible (self->best, *best != '\0');
  if (info != NULL && info->status == GRADUS_RUN_FAILED)
    gtk_widget_add_css_class (self->best, "error");
  else
    gtk_widget_remove_css_class (self->best, "error");
  gtk_label_set_label (GTK_LABEL (self->state), state);
  update_badge (self, info);

  spark = gradus_run_item_get_spark (self->item, &n);
  gtk_widget_set_visible (self->spark, n > 1 && !gradus_run_item_is_diverged (self->item));
  gradus_sparkline_set_values (GRADUS_SPARKLINE (self->spark), spark, n);
  gradus_sparkline_set_color (GRADUS_SPARKLINE (self->spark),
                              color >= 0 ? color : GRADUS_COLOR_DIM);
}

static void
dot_toggled_cb (GradusRunRow *self)
{
  if (self->updating || self->item == NULL)
    return;

  gradus_workbench_set_shown (self->workbench, self->item,
                              gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->dot)));
}

static void
gradus_run_row_dispose (GObject *object)
{
  GradusRunRow *self = GRADUS_RUN_ROW (object);
  GtkWidget *child;

  g_clear_object (&self->item_signals);
  g_clear_object (&self->item);
  g_clear_object (&self->workbench);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (gradus_run_row_parent_class)->dispose (object);
}

static void
gradus_run_row_class_init (GradusRunRowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_run_row_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "run-row");
}

static GtkWidget *
add_label (GtkWidget *box, const char *css_class)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (label, css_class);
  gtk_box_append (GTK_BOX (box), label);

  return label;
}

static void
gradus_run_row_init (GradusRunRow *self)
{
  GtkWidget *text = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *top = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *below = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->dot = gradus_run_dot_new ();
  gtk_widget_set_valign (self->dot, GTK_ALIGN_CENTER);
  gtk_widget_set_parent (self->dot, GTK_WIDGET (self));
  g_signal_connect_swapped (self->dot, "toggled", G_CALLBACK (dot_toggled_cb), self);

  gtk_widget_set_parent (text, GTK_WIDGET (self));
  gtk_widget_set_hexpand (text, TRUE);
  gtk_widget_set_valign (text, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (text), top);
  gtk_box_append (GTK_BOX (text), below);
  self->name = add_label (top, "name");
  self->badge = gtk_image_new_from_icon_name ("gradus-warning-symbolic");
  gtk_box_append (GTK_BOX (top), self->badge);
  self->best = add_label (below, "best");
  gtk_widget_add_css_class (self->best, "numeric");
  gtk_label_set_ellipsize (GTK_LABEL (self->best), PANGO_ELLIPSIZE_NONE);
  self->state = add_label (below, "state");
  gtk_widget_add_css_class (self->state, "dim-label");
  /* Half an age or half a number says something else. */
  gtk_label_set_ellipsize (GTK_LABEL (self->state), PANGO_ELLIPSIZE_NONE);

  self->spark = gradus_sparkline_new ();
  gtk_widget_set_valign (self->spark, GTK_ALIGN_CENTER);
  gtk_widget_set_parent (self->spark, GTK_WIDGET (self));

  self->item_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->item_signals, "changed", G_CALLBACK (update), self);
  g_signal_group_connect_swapped (self->item_signals, "recipe-changed", G_CALLBACK (update), self);
}

GtkWidget *
gradus_run_row_new (GradusWorkbench *workbench)
{
  GradusRunRow *self = g_object_new (GRADUS_TYPE_RUN_ROW, NULL);

  self->workbench = g_object_ref (workbench);

  return GTK_WIDGET (self);
}

void
gradus_run_row_set_item (GradusRunRow *self, GradusRunItem *item)
{
  g_return_if_fail (GRADUS_IS_RUN_ROW (self));

  g_set_object (&self->item, item);
  g_signal_group_set_target (self->item_signals, item);
  if (item != NULL)
    update (self);
}

GradusRunItem *
gradus_run_row_get_item (GradusRunRow *self)
{
  return self->item;
}
