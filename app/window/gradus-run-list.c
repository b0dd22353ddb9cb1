/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "gradus-run-list.h"
#include "gradus-run-row.h"

struct _GradusRunList
{
  GtkWidget parent_instance;

  GradusWorkbench    *workbench;
  GtkFilter          *filter;
  GtkSingleSelection *selection;
  GtkWidget          *context_popover;
  char               *needle;
  gboolean            syncing;

  /* Template widgets */
  GtkWidget       *box;
  GtkLabel        *count;
  GtkToggleButton *find_button;
  GtkEditable     *find_entry;
  GtkStack        *stack;
  GtkListView     *list;
  GtkLabel        *empty_label;
  GtkLabel        *footer;
  GMenuModel      *context_menu;
};

G_DEFINE_FINAL_TYPE (GradusRunList, gradus_run_list, GTK_TYPE_WIDGET)

static gboolean
matches (gpointer object, gpointer data)
{
  GradusRunList *self = data;
  g_autofree char *name = NULL;
  g_autofree char *state = NULL;
  g_autofree char *words = NULL;

  if (self->needle == NULL || *self->needle == '\0')
    return TRUE;

  name = g_utf8_casefold (gradus_run_item_get_name (object), -1);
  words = gradus_run_item_describe_state (object);
  state = g_utf8_casefold (words, -1);

  return strstr (name, self->needle) != NULL || strstr (state, self->needle) != NULL;
}

static void
find_changed_cb (GradusRunList *self)
{
  g_free (self->needle);
  self->needle = g_utf8_casefold (gtk_editable_get_text (self->find_entry), -1);
  gtk_filter_changed (self->filter, GTK_FILTER_CHANGE_DIFFERENT);
}

static void
find_stopped_cb (GradusRunList *self)
{
  gtk_toggle_button_set_active (self->find_button, FALSE);
}

static void
find_toggled_cb (GradusRunList *self)
{
  if (gtk_toggle_button_get_active (self->find_button))
    gtk_widget_grab_focus (GTK_WIDGET (self->find_entry));
  else
    gtk_editable_set_text (self->find_entry, "");
}

static void
update_counts (GradusRunList *self)
{
  guint all = g_list_model_get_n_items (gradus_workbench_get_runs (self->workbench));
  guint here = g_list_model_get_n_items (G_LIST_MODEL (self->selection));
  g_autoptr (GPtrArray) shown = gradus_workbench_get_shown (self->workbench);
  g_autofree char *count = g_strdup_printf ("%u", all);
  g_autofree char *footer = NULL;

  gtk_label_set_label (self->count, all > 0 ? count : "");
  gtk_stack_set_visible_child_name (self->stack, here > 0 ? "list" : "empty");
  gtk_label_set_label (self->empty_label, all > 0 ? _("No run has that name or state")
                                                  : _("No runs yet"));

  /* Translators: runs that the charts show. */
  footer = g_strdup_printf (ngettext ("%u shown in the charts", "%u shown in the charts",
                                      shown->len),
                            shown->len);
  gtk_label_set_label (self->footer, footer);
  gtk_widget_set_visible (GTK_WIDGET (self->footer), all > 0);
}

static void
focus_changed_cb (GradusRunList *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  GListModel *model = G_LIST_MODEL (self->selection);
  guint n = g_list_model_get_n_items (model);
  guint position = GTK_INVALID_LIST_POSITION;

  for (guint i = 0; i < n && focus != NULL; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (model, i);

      if (item == focus)
        {
          position = i;
          break;
        }
    }

  self->syncing = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->syncing = FALSE;
}

static void
selected_cb (GradusRunList *self)
{
  GradusRunItem *item = gtk_single_selection_get_selected_item (self->selection);

  if (!self->syncing && item != NULL)
    gradus_workbench_set_focus (self->workbench, item);
}

static void
items_changed_cb (GradusRunList *self)
{
  update_counts (self);
  focus_changed_cb (self);
}

/* ---- Rows ---- */

static void
setup_cb (GtkListItemFactory *factory, GtkListItem *list_item, GradusRunList *self)
{
  gtk_list_item_set_child (list_item, gradus_run_row_new (self->workbench));
}

static void
bind_cb (GtkListItemFactory *factory, GtkListItem *list_item, GradusRunList *self)
{
  gradus_run_row_set_item (GRADUS_RUN_ROW (gtk_list_item_get_child (list_item)),
                           gtk_list_item_get_item (list_item));
}

static void
unbind_cb (GtkListItemFactory *factory, GtkListItem *list_item, GradusRunList *self)
{
  gradus_run_row_set_item (GRADUS_RUN_ROW (gtk_list_item_get_child (list_item)), NULL);
}

/* ---- Context menu ---- */

static void
popup (GradusRunList *self, double x, double y)
{
  const GdkRectangle where = { (int) x, (int) y, 1, 1 };

  if (gradus_workbench_get_focus (self->workbench) == NULL)
    return;
  if (self->context_popover == NULL)
    {
      self->context_popover = gtk_popover_menu_new_from_model (self->context_menu);
      gtk_widget_set_parent (self->context_popover, GTK_WIDGET (self));
      gtk_popover_set_has_arrow (GTK_POPOVER (self->context_popover), FALSE);
      gtk_widget_set_halign (self->context_popover, GTK_ALIGN_START);
    }
  gtk_popover_set_pointing_to (GTK_POPOVER (self->context_popover), &where);
  gtk_popover_popup (GTK_POPOVER (self->context_popover));
}

static void
pressed_cb (GtkGestureClick *gesture, int n_press, double x, double y, GradusRunList *self)
{
  GtkWidget *widget = gtk_widget_pick (GTK_WIDGET (self), x, y, GTK_PICK_DEFAULT);

  if (widget != NULL && !GRADUS_IS_RUN_ROW (widget))
    widget = gtk_widget_get_ancestor (widget, GRADUS_TYPE_RUN_ROW);
  if (widget == NULL)
    return;

  gradus_workbench_set_focus (self->workbench,
                              gradus_run_row_get_item (GRADUS_RUN_ROW (widget)));
  popup (self, x, y);
  gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
}

static gboolean
menu_key_cb (GtkWidget *widget, GVariant *args, gpointer data)
{
  popup (GRADUS_RUN_LIST (widget), 24, 60);

  return TRUE;
}

static gboolean
delete_key_cb (GtkWidget *widget, GVariant *args, gpointer data)
{
  return gtk_widget_activate_action (widget, "win.delete", NULL);
}

static void
gradus_run_list_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  GradusRunList *self = GRADUS_RUN_LIST (widget);

  gtk_widget_allocate (self->box, width, height, baseline, NULL);
  if (self->context_popover != NULL)
    gtk_popover_present (GTK_POPOVER (self->context_popover));
}

static void
gradus_run_list_measure (GtkWidget      *widget,
                         GtkOrientation  orientation,
                         int             for_size,
                         int            *minimum,
                         int            *natural,
                         int            *minimum_baseline,
                         int            *natural_baseline)
{
  gtk_widget_measure (GRADUS_RUN_LIST (widget)->box, orientation, for_size, minimum, natural,
                      minimum_baseline, natural_baseline);
}

static void
gradus_run_list_dispose (GObject *object)
{
  GradusRunList *self = GRADUS_RUN_LIST (object);

  g_clear_pointer (&self->context_popover, gtk_widget_unparent);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_object (&self->selection);
  g_clear_object (&self->workbench);
  g_clear_pointer (&self->needle, g_free);

  G_OBJECT_CLASS (gradus_run_list_parent_class)->dispose (object);
}

static void
gradus_run_list_class_init (GradusRunListClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_run_list_dispose;
  widget_class->size_allocate = gradus_run_list_size_allocate;
  widget_class->measure = gradus_run_list_measure;
  gtk_widget_class_set_css_name (widget_class, "run-list");

  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/io/github/gradus/Gradus/ui/run-list.ui");
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, box);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, count);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, find_button);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, find_entry);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, stack);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, list);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, empty_label);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, footer);
  gtk_widget_class_bind_template_child (widget_class, GradusRunList, context_menu);
  gtk_widget_class_bind_template_callback (widget_class, find_changed_cb);
  gtk_widget_class_bind_template_callback (widget_class, find_stopped_cb);

  gtk_widget_class_add_binding (widget_class, GDK_KEY_Menu, 0, menu_key_cb, NULL);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_F10, GDK_SHIFT_MASK, menu_key_cb, NULL);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Delete, 0, delete_key_cb, NULL);
}

static void
gradus_run_list_init (GradusRunList *self)
{
  GtkGesture *gesture = gtk_gesture_click_new ();

  gtk_widget_init_template (GTK_WIDGET (self));

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (gesture), GDK_BUTTON_SECONDARY);
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (gesture), GTK_PHASE_CAPTURE);
  g_signal_connect (gesture, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (gesture));
  g_signal_connect_swapped (self->find_button, "toggled", G_CALLBACK (find_toggled_cb), self);
}

void
gradus_run_list_set_workbench (GradusRunList *self, GradusWorkbench *workbench)
{
  GListModel *runs = gradus_workbench_get_runs (workbench);
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkFilterListModel *filtered;

  g_return_if_fail (GRADUS_IS_RUN_LIST (self));
  g_return_if_fail (self->workbench == NULL);

  self->workbench = g_object_ref (workbench);
  self->filter = GTK_FILTER (gtk_custom_filter_new (matches, self, NULL));
  filtered = gtk_filter_list_model_new (g_object_ref (runs), self->filter);
  self->selection = gtk_single_selection_new (NULL);
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_single_selection_set_model (self->selection, G_LIST_MODEL (filtered));
  g_object_unref (filtered);

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), self);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
  g_signal_connect (factory, "unbind", G_CALLBACK (unbind_cb), self);
  gtk_list_view_set_factory (self->list, factory);
  g_object_unref (factory);
  gtk_list_view_set_model (self->list, GTK_SELECTION_MODEL (self->selection));

  g_signal_connect_object (self->selection, "notify::selected-item", G_CALLBACK (selected_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->selection, "items-changed", G_CALLBACK (items_changed_cb), self,
                           G_CONNECT_SWAPPED | G_CONNECT_AFTER);
  g_signal_connect_object (workbench, "notify::focus", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "shown-changed", G_CALLBACK (update_counts), self,
                           G_CONNECT_SWAPPED);
  items_changed_cb (self);
}

void
gradus_run_list_grab_rows (GradusRunList *self)
{
  gtk_widget_grab_focus (GTK_WIDGET (self->list));
}

void
gradus_run_list_find (GradusRunList *self)
{
  gtk_toggle_button_set_active (self->find_button, TRUE);
  gtk_widget_grab_focus (GTK_WIDGET (self->find_entry));
}
