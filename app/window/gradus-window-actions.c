/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-new-run.h"
#include "gradus-window-private.h"

static GradusRunItem *
focus_of (GradusWindow *self)
{
  return gradus_workbench_get_focus (self->workbench);
}

static GradusRunStatus
status_of (GradusRunItem *item)
{
  const GradusRunInfo *info = item != NULL ? gradus_run_item_get_info (item) : NULL;

  return info != NULL ? info->status : GRADUS_RUN_FINISHED;
}

/* What Pause and Stop speak of: the focused run if it is on, else the one in the header. */
static GradusRunItem *
live_of (GradusWindow *self)
{
  GradusRunItem *focus = focus_of (self);

  if (focus != NULL && gradus_run_item_is_live (focus))
    return focus;

  return gradus_workbench_get_active (self->workbench);
}

void
_gradus_window_update_actions (GradusWindow *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  GradusRunItem *focus = focus_of (self);
  GradusRunItem *live = live_of (self);
  gboolean writable = gradus_workbench_get_read_only_reason (self->workbench) == NULL &&
                      gradus_workbench_get_state (self->workbench) == GRADUS_WORKBENCH_READY;
  gboolean draft = focus != NULL && gradus_run_item_is_draft (focus);
  gboolean run = focus != NULL && !draft;
  gboolean focus_live = run && gradus_run_item_is_live (focus);
  gboolean queued = run && status_of (focus) == GRADUS_RUN_QUEUED;
  gboolean paused = live != NULL && status_of (live) == GRADUS_RUN_PAUSED;
  const struct
  {
    const char *name;
    gboolean    enabled;
  } states[] = {
    { "win.train", writable && (draft || gradus_workbench_get_draft (self->workbench) != NULL) },
    { "win.edit-draft", draft },
    { "win.pause", writable && live != NULL && !paused },
    { "win.resume", writable && (paused || (run && gradus_run_item_is_resumable (focus))) },
    { "win.pause-or-resume", writable && live != NULL },
    { "win.step", writable && paused },
    { "win.stop", writable && (live != NULL || queued) },
    { "win.checkpoint", writable && live != NULL },
    { "win.train-again", run },
    { "win.toggle-shown", run },
    { "win.rename", writable && focus != NULL },
    { "win.delete", focus != NULL && (draft || (writable && !focus_live && !queued)) },
    { "win.queue-up", writable && queued },
    { "win.queue-down", writable && queued },
    { "win.show-active", gradus_workbench_get_active (self->workbench) != NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (states); i++)
    gtk_widget_action_set_enabled (widget, states[i].name, states[i].enabled);
}

/* ---- Training ---- */

static void
train (GradusWindow *self, GradusRecipe *recipe)
{
  gradus_workbench_train (self->workbench, recipe);
  gradus_window_show_page (self, "train");
}

static void
busy_response_cb (AdwMessageDialog *dialog, const char *response, GradusWindow *self)
{
  GradusRecipe *recipe = g_object_get_data (G_OBJECT (dialog), "gradus-recipe");
  GradusRunItem *active = gradus_workbench_get_active (self->workbench);

  if (g_str_equal (response, "cancel"))
    return;
  if (g_str_equal (response, "stop") && active != NULL)
    gradus_workbench_command (self->workbench, active, "{\"command\": \"stop\"}");
  train (self, recipe);
  if (g_str_equal (response, "queue"))
    {
      g_autofree char *text = g_strdup_printf (
        _("%s is queued"), gradus_recipe_get_string (recipe, "name", ""));

      _gradus_window_toast (self, text);
    }
}

static void
ask_busy (GradusWindow *self, GradusRecipe *recipe)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), NULL, NULL);
  GradusRunItem *active = gradus_workbench_get_active (self->workbench);

  adw_message_dialog_format_heading (ADW_MESSAGE_DIALOG (dialog), _("%s Is Being Trained"),
                                     gradus_run_item_get_name (active));
  adw_message_dialog_set_body (ADW_MESSAGE_DIALOG (dialog),
                               _("The new run can wait until it is through, or take its place. "
                                 "What was learnt is kept."));
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _("_Cancel"), "stop",
                                    _("_Stop the Other"), "queue", _("_Queue"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "queue",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "queue");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_object_set_data_full (G_OBJECT (dialog), "gradus-recipe", g_object_ref (recipe),
                          g_object_unref);
  g_signal_connect_object (dialog, "response", G_CALLBACK (busy_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
train_or_ask (GradusWindow *self, GradusRecipe *recipe)
{
  if (gradus_workbench_is_busy (self->workbench) &&
      gradus_workbench_get_active (self->workbench) != NULL)
    ask_busy (self, recipe);
  else
    train (self, recipe);
}

static void
train_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);
  GradusRunItem *draft = gradus_workbench_get_draft (self->workbench);

  if (draft != NULL)
    train_or_ask (self, gradus_run_item_get_recipe (draft));
}

static void
form_train_cb (GradusNewRun *form, GradusRecipe *recipe, GradusWindow *self)
{
  /* As the recipe at hand it is there again if the question of train_or_ask() is cancelled. */
  gradus_workbench_set_draft (self->workbench, recipe);
  train_or_ask (self, recipe);
}

static void
form_keep_cb (GradusNewRun *form, GradusRecipe *recipe, GradusWindow *self)
{
  gradus_workbench_set_draft (self->workbench, recipe);
  gradus_window_show_page (self, "train");
}

static void
show_form (GradusWindow *self, GradusRunItem *start)
{
  GradusNewRun *form = gradus_new_run_new (self->workbench, start);

  gtk_window_set_transient_for (GTK_WINDOW (form), GTK_WINDOW (self));
  g_signal_connect_object (form, "train", G_CALLBACK (form_train_cb), self, 0);
  g_signal_connect_object (form, "keep", G_CALLBACK (form_keep_cb), self, 0);
  gtk_window_present (GTK_WINDOW (form));
}

static void
new_run_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);

  show_form (self, gradus_workbench_get_draft (self->workbench));
}

static void
train_again_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  show_form (GRADUS_WINDOW (widget), focus_of (GRADUS_WINDOW (widget)));
}

/* ---- Commands ---- */

static void
command (GradusWindow *self, const char *text)
{
  GradusRunItem *live = live_of (self);

  if (live != NULL)
    gradus_workbench_command (self->workbench, live, text);
}

static void
pause_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  command (GRADUS_WINDOW (widget), "{\"command\": \"pause\"}");
}

static void
resume_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);
  GradusRunItem *focus = focus_of (self);

  if (focus != NULL && gradus_run_item_is_resumable (focus))
    gradus_workbench_resume (self->workbench, focus);
  else
    command (self, "{\"command\": \"resume\"}");
}

static void
pause_or_resume_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  if (status_of (live_of (GRADUS_WINDOW (widget))) == GRADUS_RUN_PAUSED)
    command (GRADUS_WINDOW (widget), "{\"command\": \"resume\"}");
  else
    pause_action (widget, name, parameter);
}

static void
step_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  command (GRADUS_WINDOW (widget), "{\"command\": \"step\"}");
}

static void
stop_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);
  GradusRunItem *focus = focus_of (self);

  if (focus != NULL && status_of (focus) == GRADUS_RUN_QUEUED)
    gradus_workbench_command (self->workbench, focus, "{\"command\": \"stop\"}");
  else
    command (self, "{\"command\": \"stop\"}");
}

static void
checkpoint_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  command (GRADUS_WINDOW (widget), "{\"command\": \"checkpoint\"}");
}

static void
queue_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);

  gradus_workbench_move (self->workbench, focus_of (self),
                         g_str_equal (name, "win.queue-up") ? -1 : 1);
}

/* ---- Rows ---- */

static void
toggle_shown_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);
  GradusRunItem *focus = focus_of (self);

  gradus_workbench_set_shown (self->workbench, focus, gradus_run_item_get_color (focus) < 0);
}

static void
rename_response_cb (AdwMessageDialog *dialog, const char *response, GradusWindow *self)
{
  GtkEditable *entry = g_object_get_data (G_OBJECT (dialog), "gradus-entry");
  GradusRunItem *item = g_object_get_data (G_OBJECT (dialog), "gradus-item");
  g_autofree char *name = g_strstrip (g_strdup (gtk_editable_get_text (entry)));

  if (g_str_equal (response, "rename") && *name != '\0')
    gradus_workbench_rename (self->workbench, item, name);
}

static void
rename_changed_cb (GtkEditable *entry, AdwMessageDialog *dialog)
{
  g_autofree char *name = g_strstrip (g_strdup (gtk_editable_get_text (entry)));

  adw_message_dialog_set_response_enabled (dialog, "rename", *name != '\0' && *name != '#');
}

static void
rename_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);
  GradusRunItem *item = focus_of (self);
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), _("Rename Run"), NULL);
  GtkWidget *entry = gtk_entry_new ();

  gtk_editable_set_text (GTK_EDITABLE (entry), gradus_run_item_get_name (item));
  gtk_entry_set_activates_default (GTK_ENTRY (entry), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Name of the run"), -1);
  adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), entry);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _("_Cancel"), "rename",
                                    _("_Rename"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "rename",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "rename");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_object_set_data (G_OBJECT (dialog), "gradus-entry", entry);
  g_object_set_data_full (G_OBJECT (dialog), "gradus-item", g_object_ref (item), g_object_unref);
  g_signal_connect (entry, "changed", G_CALLBACK (rename_changed_cb), dialog);
  g_signal_connect_object (dialog, "response", G_CALLBACK (rename_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
undo_delete_cb (AdwToast *toast, GradusWindow *self)
{
  g_object_set_data (G_OBJECT (toast), "gradus-undone", GINT_TO_POINTER (TRUE));
  gradus_workbench_unhide (self->workbench, g_object_get_data (G_OBJECT (toast), "gradus-item"));
}

/* Nothing goes for good while it can still be undone. */
static void
delete_dismissed_cb (AdwToast *toast, GradusWorkbench *workbench)
{
  if (g_object_get_data (G_OBJECT (toast), "gradus-undone") == NULL)
    gradus_workbench_delete (workbench, g_object_get_data (G_OBJECT (toast), "gradus-item"));
}

static void
delete_action (GtkWidget *widget, const char *action, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);
  GradusRunItem *item = focus_of (self);
  g_autofree char *escaped = g_markup_escape_text (gradus_run_item_get_name (item), -1);
  g_autofree char *text = NULL;
  AdwToast *toast;

  if (gradus_run_item_is_draft (item))
    {
      gradus_workbench_discard_draft (self->workbench);
      return;
    }

  text = g_strdup_printf (_("%s deleted"), escaped);
  toast = adw_toast_new (text);
  adw_toast_set_button_label (toast, _("_Undo"));
  g_object_set_data_full (G_OBJECT (toast), "gradus-item", g_object_ref (item), g_object_unref);
  g_signal_connect_object (toast, "button-clicked", G_CALLBACK (undo_delete_cb), self, 0);
  g_signal_connect_object (toast, "dismissed", G_CALLBACK (delete_dismissed_cb), self->workbench,
                           0);
  gradus_workbench_hide (self->workbench, item);
  adw_toast_overlay_add_toast (self->toasts, toast);
}

/* ---- The window ---- */

static void
page_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gradus_window_show_page (GRADUS_WINDOW (widget), g_variant_get_string (parameter, NULL));
}

static void
show_active_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);

  gradus_workbench_set_focus (self->workbench, gradus_workbench_get_active (self->workbench));
  gradus_window_show_page (self, "train");
}

static void
open_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  _gradus_window_open_dialog (GRADUS_WINDOW (widget));
}

static void
find_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GradusWindow *self = GRADUS_WINDOW (widget);

  if (g_strcmp0 (adw_view_stack_get_visible_child_name (self->pages), "runs") == 0)
    {
      gradus_runs_page_find (GRADUS_RUNS_PAGE (_gradus_window_get_page (self, "runs")));
      return;
    }
  adw_flap_set_reveal_flap (self->flap, TRUE);
  gradus_run_list_find (self->run_list);
}

static void
reopen_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gradus_workbench_open (GRADUS_WINDOW (widget)->workbench);
}

void
_gradus_window_class_install_actions (GtkWidgetClass *widget_class)
{
  static const struct
  {
    const char                 *name;
    const char                 *type;
    GtkWidgetActionActivateFunc func;
  } actions[] = {
    { "win.train", NULL, train_action },
    { "win.edit-draft", NULL, train_again_action },
    { "win.new-run", NULL, new_run_action },
    { "win.train-again", NULL, train_again_action },
    { "win.pause", NULL, pause_action },
    { "win.resume", NULL, resume_action },
    { "win.pause-or-resume", NULL, pause_or_resume_action },
    { "win.step", NULL, step_action },
    { "win.stop", NULL, stop_action },
    { "win.checkpoint", NULL, checkpoint_action },
    { "win.queue-up", NULL, queue_action },
    { "win.queue-down", NULL, queue_action },
    { "win.toggle-shown", NULL, toggle_shown_action },
    { "win.rename", NULL, rename_action },
    { "win.delete", NULL, delete_action },
    { "win.page", "s", page_action },
    { "win.show-active", NULL, show_active_action },
    { "win.open", NULL, open_action },
    { "win.find", NULL, find_action },
    { "win.reopen", NULL, reopen_action },
  };

  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    gtk_widget_class_install_action (widget_class, actions[i].name, actions[i].type,
                                     actions[i].func);
}
