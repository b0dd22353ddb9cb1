/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "gradus-histogram-card.h"
#include "gradus-histogram-view.h"
#include "gradus-settings.h"

static const char *const modes[] = { "stacked", "overlay", "distribution", "heatmap" };

struct _GradusHistogramCard
{
  GtkWidget parent_instance;

  GradusWorkbench *workbench;
  GradusRunData   *data;
  GSignalGroup    *data_signals;
  GtkStringList   *names; /* of the series */
  GtkWidget       *choice;
  GtkWidget       *view;
  gboolean         updating;
};

G_DEFINE_FINAL_TYPE (GradusHistogramCard, gradus_histogram_card, GTK_TYPE_WIDGET)

static const char *
chosen_name (GradusHistogramCard *self)
{
  guint chosen = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->choice));

  return chosen != GTK_INVALID_LIST_POSITION ? gtk_string_list_get_string (self->names, chosen)
                                             : NULL;
}

static void
update_title (GradusHistogramCard *self)
{
  const char *name = chosen_name (self);

  gradus_histogram_view_set_title (GRADUS_HISTOGRAM_VIEW (self->view),
                                   name != NULL && g_str_has_prefix (name, "gradient/")
                                     ? _("Gradients")
                                     : _("Weights"));
}

static void
chosen_cb (GradusHistogramCard *self)
{
  update_title (self);
  if (!self->updating)
    gradus_workbench_set_variable (self->workbench, chosen_name (self));
}

/* "weight/dense/kernel" is called "dense / kernel", with its kind where it is a gradient. */
static char *
display_name (gpointer object, const char *name, gpointer data)
{
  g_auto (GStrv) parts = name != NULL ? g_strsplit (name, "/", 2) : NULL;
  g_auto (GStrv) inner = NULL;
  g_autofree char *shown = NULL;

  if (parts == NULL || parts[0] == NULL || parts[1] == NULL)
    return g_strdup (name);

  inner = g_strsplit (parts[1], "/", -1);
  shown = g_strjoinv (" / ", inner);
  if (g_str_equal (parts[0], "gradient"))
    return g_strdup_printf (_("%s, gradient"), shown);

  return g_steal_pointer (&shown);
}

static void
update_variables (GradusHistogramCard *self)
{
  GPtrArray *variables = self->data != NULL ? gradus_run_data_get_variables (self->data) : NULL;
  g_autofree char *before = g_strdup (chosen_name (self));
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  guint chosen = GTK_INVALID_LIST_POSITION;

  /* Weights first: one looks at them more often. */
  for (int pass = 0; pass < 2; pass++)
    for (guint i = 0; variables != NULL && i < variables->len; i++)
      if (g_str_has_prefix (g_ptr_array_index (variables, i), "gradient/") == (pass == 1))
        g_ptr_array_add (names, g_ptr_array_index (variables, i));
  for (guint i = 0; i < names->len; i++)
    if (g_strcmp0 (before, g_ptr_array_index (names, i)) == 0)
      chosen = i;
  /* Kernels say more than biases. */
  for (guint i = 0; chosen == GTK_INVALID_LIST_POSITION && i < names->len; i++)
    if (g_str_has_suffix (g_ptr_array_index (names, i), "/kernel"))
      chosen = i;
  if (chosen == GTK_INVALID_LIST_POSITION && names->len > 0)
    chosen = 0;
  g_ptr_array_add (names, NULL);

  self->updating = TRUE;
  gtk_string_list_splice (self->names, 0,
                          g_list_model_get_n_items (G_LIST_MODEL (self->names)),
                          (const char *const *) names->pdata);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->choice), chosen);
  self->updating = FALSE;
  update_title (self);
  gtk_widget_set_visible (GTK_WIDGET (self), names->len > 1);
  if (chosen != GTK_INVALID_LIST_POSITION)
    gradus_workbench_set_variable (self->workbench, chosen_name (self));
}

static void
focus_changed_cb (GradusHistogramCard *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  GradusRunData *data = gradus_workbench_get_data (self->workbench, focus);
  GradusHistogramView *view = GRADUS_HISTOGRAM_VIEW (self->view);

  g_set_object (&self->data, data);
  g_signal_group_set_target (self->data_signals, data);
  gradus_histogram_view_set_model (view, data != NULL ? gradus_run_data_get_histograms (data)
                                                      : NULL);
  if (focus != NULL)
    gradus_histogram_view_set_color (view, gradus_run_item_get_color (focus));
  update_variables (self);
}

static void
mode_changed_cb (GradusHistogramCard *self)
{
  int mode = gradus_histogram_view_get_mode (GRADUS_HISTOGRAM_VIEW (self->view));

  g_settings_set_string (gradus_settings_get (), "histogram-mode", modes[mode]);
}

static void
gradus_histogram_card_dispose (GObject *object)
{
  GradusHistogramCard *self = GRADUS_HISTOGRAM_CARD (object);

  g_clear_object (&self->data_signals);
  g_clear_object (&self->data);
  g_clear_object (&self->workbench);
  g_clear_pointer (&self->view, gtk_widget_unparent);

  G_OBJECT_CLASS (gradus_histogram_card_parent_class)->dispose (object);
}

static void
gradus_histogram_card_class_init (GradusHistogramCardClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradus_histogram_card_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "histogram-card");
}

static void
gradus_histogram_card_init (GradusHistogramCard *self)
{
  GtkExpression *expression;

  gtk_widget_add_css_class (GTK_WIDGET (self), "card");
  self->names = gtk_string_list_new (NULL);
  expression = gtk_cclosure_expression_new (
    G_TYPE_STRING, NULL, 1,
    (GtkExpression *[]) {
      gtk_property_expression_new (GTK_TYPE_STRING_OBJECT, NULL, "string") },
    G_CALLBACK (display_name), NULL, NULL);
  self->choice = gtk_drop_down_new (G_LIST_MODEL (self->names), expression);
  gtk_widget_set_valign (self->choice, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text (self->choice, _("Which variable"));
  /* The part of a drop-down that takes the focus, and is read out, is the button inside. */
  gtk_accessible_update_property (GTK_ACCESSIBLE (gtk_widget_get_first_child (self->choice)),
                                  GTK_ACCESSIBLE_PROPERTY_LABEL, _("Variable"), -1);

  self->view = gradus_histogram_view_new (_("Weights"));
  gtk_widget_set_size_request (self->view, -1, 252);
  gradus_histogram_view_set_start_widget (GRADUS_HISTOGRAM_VIEW (self->view), self->choice);
  gtk_widget_set_parent (self->view, GTK_WIDGET (self));

  g_signal_connect_swapped (self->choice, "notify::selected", G_CALLBACK (chosen_cb), self);
  self->data_signals = g_signal_group_new (GRADUS_TYPE_RUN_DATA);
  g_signal_group_connect_swapped (self->data_signals, "variables-changed",
                                  G_CALLBACK (update_variables), self);
}

GtkWidget *
gradus_histogram_card_new (GradusAxis *axis)
{
  GradusHistogramCard *self = g_object_new (GRADUS_TYPE_HISTOGRAM_CARD, NULL);
  g_autofree char *mode = g_settings_get_string (gradus_settings_get (), "histogram-mode");

  gradus_histogram_view_set_axis (GRADUS_HISTOGRAM_VIEW (self->view), axis);
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    if (g_str_equal (mode, modes[i]))
      gradus_histogram_view_set_mode (GRADUS_HISTOGRAM_VIEW (self->view), i);
  g_signal_connect_swapped (self->view, "notify::mode", G_CALLBACK (mode_changed_cb), self);

  return GTK_WIDGET (self);
}

void
gradus_histogram_card_set_workbench (GradusHistogramCard *self, GradusWorkbench *workbench)
{
  g_return_if_fail (GRADUS_IS_HISTOGRAM_CARD (self));

  self->workbench = g_object_ref (workbench);
  g_signal_connect_object (workbench, "focus-data", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  focus_changed_cb (self);
}
