/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-subject-page.h"

typedef struct
{
  GradusWorkbench *workbench;
  GSignalGroup    *item_signals;
  GtkWidget       *stack;
  GtkWidget       *empty_page;
  GtkWidget       *error_page;
  GtkWidget       *loading_page;
  GtkWidget       *spinner;
  guint            spinner_delay;
} GradusSubjectPagePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GradusSubjectPage, gradus_subject_page, GTK_TYPE_WIDGET)

#define PRIVATE(self) \
  ((GradusSubjectPagePrivate *) gradus_subject_page_get_instance_private (self))

static void
show_spinner_cb (gpointer data)
{
  GradusSubjectPagePrivate *priv = PRIVATE (data);

  priv->spinner_delay = 0;
  gtk_widget_set_visible (priv->spinner, TRUE);
  gtk_spinner_start (GTK_SPINNER (priv->spinner));
}

static void
update (GradusSubjectPage *self)
{
  GradusSubjectPagePrivate *priv = PRIVATE (self);
  GradusRunItem *item = gradus_workbench_get_focus (priv->workbench);
  const GradusSummary *summary = item != NULL ? gradus_run_item_get_summary (item) : NULL;
  const char *problem = item != NULL ? gradus_run_item_get_summary_error (item) : NULL;

  g_clear_handle_id (&priv->spinner_delay, g_source_remove);
  gtk_widget_set_visible (priv->spinner, FALSE);
  gtk_spinner_stop (GTK_SPINNER (priv->spinner));

  if (item == NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (priv->stack), "empty");
  else if (problem != NULL)
    {
      g_autofree char *why = g_markup_escape_text (problem, -1);

      adw_status_page_set_description (ADW_STATUS_PAGE (priv->error_page), why);
      gtk_stack_set_visible_child_name (GTK_STACK (priv->stack), "error");
    }
  else if (summary != NULL && gradus_run_item_get_recipe (item) != NULL)
    {
      GRADUS_SUBJECT_PAGE_GET_CLASS (self)->fill (self, item, summary);
      gtk_stack_set_visible_child_name (GTK_STACK (priv->stack), "content");
    }
  else
    {
      /* What was shown stays while the next is on its way, unless that takes long. */
      if (g_strcmp0 (gtk_stack_get_visible_child_name (GTK_STACK (priv->stack)), "content") != 0)
        gtk_stack_set_visible_child_name (GTK_STACK (priv->stack), "loading");
      priv->spinner_delay = g_timeout_add_once (200, show_spinner_cb, self);
      /* The summary of a run that began here is known from its draft, before its recipe is. */
      if (summary != NULL)
        gradus_workbench_request_recipe (priv->workbench, item);
      else
        gradus_workbench_request_summary (priv->workbench, item);
    }
}

static void
update_if_mapped (GradusSubjectPage *self)
{
  if (gtk_widget_get_mapped (GTK_WIDGET (self)))
    update (self);
}

static void
focus_changed_cb (GradusSubjectPage *self)
{
  GradusSubjectPagePrivate *priv = PRIVATE (self);

  g_signal_group_set_target (priv->item_signals, gradus_workbench_get_focus (priv->workbench));
  update_if_mapped (self);
}

static void
gradus_subject_page_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (gradus_subject_page_parent_class)->map (widget);

  if (PRIVATE (GRADUS_SUBJECT_PAGE (widget))->workbench != NULL)
    update (GRADUS_SUBJECT_PAGE (widget));
}

static void
gradus_subject_page_dispose (GObject *object)
{
  GradusSubjectPagePrivate *priv = PRIVATE (GRADUS_SUBJECT_PAGE (object));

  g_clear_handle_id (&priv->spinner_delay, g_source_remove);
  g_clear_object (&priv->item_signals);
  g_clear_object (&priv->workbench);
  g_clear_pointer (&priv->stack, gtk_widget_unparent);

  G_OBJECT_CLASS (gradus_subject_page_parent_class)->dispose (object);
}

static void
gradus_subject_page_class_init (GradusSubjectPageClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradus_subject_page_dispose;
  GTK_WIDGET_CLASS (klass)->map = gradus_subject_page_map;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
}

static void
gradus_subject_page_init (GradusSubjectPage *self)
{
  GradusSubjectPagePrivate *priv = PRIVATE (self);

  priv->stack = gtk_stack_new ();
  gtk_widget_set_parent (priv->stack, GTK_WIDGET (self));
  priv->loading_page = adw_bin_new ();
  priv->spinner = gtk_spinner_new ();
  adw_bin_set_child (ADW_BIN (priv->loading_page), priv->spinner);
  gtk_widget_set_size_request (priv->spinner, 32, 32);
  gtk_widget_set_halign (priv->spinner, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (priv->spinner, GTK_ALIGN_CENTER);
  priv->empty_page = adw_status_page_new ();
  priv->error_page = adw_status_page_new ();
  gtk_stack_add_named (GTK_STACK (priv->stack), priv->empty_page, "empty");
  gtk_stack_add_named (GTK_STACK (priv->stack), priv->error_page, "error");
  gtk_stack_add_named (GTK_STACK (priv->stack), priv->loading_page, "loading");

  priv->item_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (priv->item_signals, "recipe-changed",
                                  G_CALLBACK (update_if_mapped), self);
}

void
gradus_subject_page_set_child (GradusSubjectPage *self,
                               GtkWidget         *child,
                               const char        *icon_name,
                               const char        *empty,
                               const char        *refused)
{
  GradusSubjectPagePrivate *priv = PRIVATE (self);
  GtkWidget *button = gtk_button_new_with_label (_("Open the Fashion-MNIST Example"));

  gtk_stack_add_named (GTK_STACK (priv->stack), child, "content");

  adw_status_page_set_icon_name (ADW_STATUS_PAGE (priv->empty_page), icon_name);
  adw_status_page_set_title (ADW_STATUS_PAGE (priv->empty_page), empty);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "app.open-example");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", "fashion-cnn");
  gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "pill");
  gtk_widget_add_css_class (button, "suggested-action");
  adw_status_page_set_child (ADW_STATUS_PAGE (priv->empty_page), button);

  adw_status_page_set_icon_name (ADW_STATUS_PAGE (priv->error_page), "gradus-warning-symbolic");
  adw_status_page_set_title (ADW_STATUS_PAGE (priv->error_page), refused);
}

void
gradus_subject_page_set_workbench (GradusSubjectPage *self, GradusWorkbench *workbench)
{
  GradusSubjectPagePrivate *priv = PRIVATE (self);

  g_return_if_fail (GRADUS_IS_SUBJECT_PAGE (self));

  priv->workbench = g_object_ref (workbench);
  g_signal_connect_object (workbench, "notify::focus", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  focus_changed_cb (self);
}
