/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#include "gradus-format.h"
#include "gradus-palette.h"
#include "gradus-progress-ring.h"
#include "gradus-run-status-button.h"
#include "gradus-words.h"

struct _GradusRunStatusButton
{
  GtkButton parent_instance;

  GradusWorkbench *workbench;
  GSignalGroup    *item_signals;
  GtkWidget       *ring;
  GtkWidget       *name;
  GtkWidget       *epoch;
  GtkWidget       *left;
};

G_DEFINE_FINAL_TYPE (GradusRunStatusButton, gradus_run_status_button, GTK_TYPE_BUTTON)

static double
done (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  gint64 n_steps = gradus_run_item_get_n_steps (item);

  if (n_steps > 0)
    return CLAMP ((double) info->last_step / (double) n_steps, 0, 1);

  return info->planned_epochs > 0 ? CLAMP (info->epochs / info->planned_epochs, 0, 1) : 0;
}

static char *
describe_epoch (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  int planned = (int) info->planned_epochs;
  int now = 1 + (int) floor (done (item) * planned);

  if (planned < 1)
    return g_strdup ("");

  /* Translators: the third of five epochs. */
  return g_strdup_printf (_("epoch %d/%d"), MIN (now, planned), planned);
}

static char *
describe_left (GradusRunItem *item)
{
  double seconds = gradus_run_item_get_seconds_left (item);
  g_autofree char *duration = NULL;

  if (gradus_run_item_get_info (item)->status == GRADUS_RUN_PAUSED)
    return g_strdup (_("paused"));
  if (seconds < 0)
    return g_strdup ("");

  duration = gradus_format_duration (seconds);

  /* Translators: time to go, such as "00:41 left". */
  return g_strdup_printf (_("%s left"), duration);
}

static void
update (GradusRunStatusButton *self)
{
  GradusRunItem *item = gradus_workbench_get_active (self->workbench);
  g_autofree char *epoch = NULL;
  g_autofree char *left = NULL;
  g_autofree char *all = NULL;
  int color;

  gtk_widget_set_visible (GTK_WIDGET (self), item != NULL);
  if (item == NULL)
    return;

  epoch = describe_epoch (item);
  left = gradus_workbench_get_stall (self->workbench) != NULL ? g_strdup (_("waiting"))
                                                              : describe_left (item);
  color = gradus_run_item_get_color (item);
  gtk_label_set_label (GTK_LABEL (self->name), gradus_run_item_get_name (item));
  gtk_label_set_label (GTK_LABEL (self->epoch), epoch);
  gtk_label_set_label (GTK_LABEL (self->left), left);
  gradus_progress_ring_set_fraction (GRADUS_PROGRESS_RING (self->ring), done (item));
  gradus_progress_ring_set_color (GRADUS_PROGRESS_RING (self->ring),
                                  color >= 0 ? color : GRADUS_COLOR_DIM);

  all = g_strdup_printf ("%s, %s, %s", gradus_run_item_get_name (item), epoch, left);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, all, -1);
}

static void
active_changed_cb (GradusRunStatusButton *self)
{
  g_signal_group_set_target (self->item_signals, gradus_workbench_get_active (self->workbench));
  update (self);
}

static void
gradus_run_status_button_dispose (GObject *object)
{
  GradusRunStatusButton *self = GRADUS_RUN_STATUS_BUTTON (object);

  g_clear_object (&self->item_signals);
  g_clear_object (&self->workbench);

  G_OBJECT_CLASS (gradus_run_status_button_parent_class)->dispose (object);
}

static void
gradus_run_status_button_class_init (GradusRunStatusButtonClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradus_run_status_button_dispose;
}

static GtkWidget *
add_label (GtkWidget *box, const char *css_class)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (label, css_class);
  gtk_widget_add_css_class (label, "numeric");
  gtk_box_append (GTK_BOX (box), label);

  return label;
}

static void
gradus_run_status_button_init (GradusRunStatusButton *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);

  self->ring = gradus_progress_ring_new ();
  gtk_widget_set_valign (self->ring, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), self->ring);
  self->name = add_label (box, "heading");
  self->epoch = add_label (box, "body");
  self->left = add_label (box, "dim-label");
  gtk_button_set_child (GTK_BUTTON (self), box);
  gtk_widget_add_css_class (GTK_WIDGET (self), "flat");
  gtk_widget_add_css_class (GTK_WIDGET (self), "run-status");
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), _("Show this run"));

  self->item_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->item_signals, "changed", G_CALLBACK (update), self);
}

void
gradus_run_status_button_set_workbench (GradusRunStatusButton *self, GradusWorkbench *workbench)
{
  g_return_if_fail (GRADUS_IS_RUN_STATUS_BUTTON (self));

  self->workbench = g_object_ref (workbench);
  g_signal_connect_object (workbench, "stalled", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "notify::active", G_CALLBACK (active_changed_cb), self,
                           G_CONNECT_SWAPPED);
  active_changed_cb (self);
}
