/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <time.h>

#include "gradus-application.h"
#include "gradus-settings.h"
#include "gradus-welcome.h"
#include "gradus-window-private.h"

/* Below this width the header has no room for words. */
#define NARROW_WIDTH 1000

/* Below this width the list of runs folds, so that charts and panel have room side by side. */
#define LIST_WIDTH 1090

G_DEFINE_FINAL_TYPE (GradusWindow, gradus_window, ADW_TYPE_APPLICATION_WINDOW)

void
_gradus_window_toast (GradusWindow *self, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  adw_toast_overlay_add_toast (self->toasts, adw_toast_new (escaped));
}

/* For what goes on: it stays until it is put away. */
static AdwToast *
show_lasting (GradusWindow *self, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);
  AdwToast *toast = adw_toast_new (escaped);

  adw_toast_set_timeout (toast, 0);
  adw_toast_set_priority (toast, ADW_TOAST_PRIORITY_HIGH);
  adw_toast_overlay_add_toast (self->toasts, toast);

  return toast;
}

static void
show_problem (GradusWindow *self, const char *heading, const char *body)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), heading, body);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", _("_Close"));
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- Pages ---- */

static GtkWidget *
page_new (GradusWindow *self, const char *name)
{
  GtkWidget *page;

  if (g_str_equal (name, "train"))
    {
      page = g_object_new (GRADUS_TYPE_TRAIN_PAGE, NULL);
      gradus_train_page_set_workbench (GRADUS_TRAIN_PAGE (page), self->workbench);
    }
  else if (g_str_equal (name, "runs"))
    {
      page = g_object_new (GRADUS_TYPE_RUNS_PAGE, NULL);
      gradus_runs_page_set_workbench (GRADUS_RUNS_PAGE (page), self->workbench);
    }
  else
    {
      page = g_object_new (g_str_equal (name, "model") ? GRADUS_TYPE_MODEL_PAGE
                                                       : GRADUS_TYPE_DATA_PAGE, NULL);
      gradus_subject_page_set_workbench (GRADUS_SUBJECT_PAGE (page), self->workbench);
    }

  return page;
}

GtkWidget *
_gradus_window_get_page (GradusWindow *self, const char *name)
{
  AdwBin *place = ADW_BIN (adw_view_stack_get_child_by_name (self->pages, name));

  if (adw_bin_get_child (place) == NULL)
    adw_bin_set_child (place, page_new (self, name));

  return adw_bin_get_child (place);
}

/* On Model and Runs the list is folded by default: the one needs the room, the other is the list. */
static void
page_changed_cb (GradusWindow *self)
{
  const char *name = adw_view_stack_get_visible_child_name (self->pages);
  gboolean wanted = g_strcmp0 (name, "train") == 0 || g_strcmp0 (name, "data") == 0;

  if (self->painted && name != NULL)
    _gradus_window_get_page (self, name);
  if (self->workbench == NULL || adw_flap_get_folded (self->flap))
    return;
  adw_flap_set_reveal_flap (self->flap, wanted);
}

/* Most windows are too wide for the bar ever to be seen. */
static void
bar_revealed_cb (GradusWindow *self)
{
  if (adw_view_switcher_bar_get_stack (self->switcher_bar) == NULL)
    adw_view_switcher_bar_set_stack (self->switcher_bar, self->pages);
}

void
gradus_window_show_page (GradusWindow *self, const char *page)
{
  g_return_if_fail (GRADUS_IS_WINDOW (self));

  if (adw_view_stack_get_child_by_name (self->pages, page) != NULL)
    adw_view_stack_set_visible_child_name (self->pages, page);
}

/* ---- Recipes ---- */

static void
open_path (GradusWindow *self, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = gradus_recipe_load (path, &error);

  if (recipe == NULL)
    {
      show_problem (self, _("The Recipe Cannot Be Opened"), error->message);
      return;
    }
  gradus_workbench_set_draft (self->workbench, recipe);
  gradus_window_show_page (self, "train");
}

void
gradus_window_open_file (GradusWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  g_return_if_fail (GRADUS_IS_WINDOW (self));

  if (path == NULL)
    show_problem (self, _("The Recipe Cannot Be Opened"),
                  _("Only files on a disk of this machine can be opened. Copy it there first."));
  else
    open_path (self, path);
}

void
gradus_window_open_example (GradusWindow *self, const char *name)
{
  g_autofree char *path = gradus_welcome_find_example (name);

  g_return_if_fail (GRADUS_IS_WINDOW (self));

  if (path == NULL)
    show_problem (self, _("There Is No Such Example"),
                  _("The examples are line, fashion-dense and fashion-cnn."));
  else
    open_path (self, path);
}

static void
open_response_cb (GtkNativeDialog *dialog, int response, GradusWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));

      if (file != NULL)
        gradus_window_open_file (self, file);
    }
  g_object_unref (dialog);
}

void
_gradus_window_open_dialog (GradusWindow *self)
{
  GtkFileChooserNative *dialog;
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();

  dialog = gtk_file_chooser_native_new (_("Open a Recipe"), GTK_WINDOW (self),
                                        GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"), NULL);
  gtk_file_filter_set_name (filter, _("Recipes"));
  gtk_file_filter_add_suffix (filter, "json");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), filter);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (open_response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, GradusWindow *self)
{
  if (!G_VALUE_HOLDS (value, G_TYPE_FILE))
    return FALSE;
  gradus_window_open_file (self, g_value_get_object (value));

  return TRUE;
}

/* ---- Closing ---- */

static void
save_size (GradusWindow *self)
{
  GSettings *settings = gradus_settings_get ();
  int width, height;

  gtk_window_get_default_size (GTK_WINDOW (self), &width, &height);
  g_settings_set_int (settings, "window-width", width);
  g_settings_set_int (settings, "window-height", height);
  g_settings_set_boolean (settings, "window-maximized", gtk_window_is_maximized (GTK_WINDOW (self)));
}

static void
close_later_cb (gpointer data)
{
  g_autoptr (GradusWindow) self = data;

  gtk_window_close (GTK_WINDOW (self));
}

static void
close_as (GradusWindow *self, const char *how)
{
  GtkApplication *application = gtk_window_get_application (GTK_WINDOW (self));

  if (g_str_equal (how, "keep"))
    gradus_application_keep_in_background (GRADUS_APPLICATION (application));
  else if (g_str_equal (how, "stop"))
    gradus_workbench_stop_now (self->workbench);
  else
    return;

  /* The dialog that asked is still on its way out, and must not outlive the window. */
  self->closing = TRUE;
  g_idle_add_once (close_later_cb, g_object_ref (self));
}

static void
close_response_cb (AdwMessageDialog *dialog, const char *response, GradusWindow *self)
{
  /* The window may go at once, and the dialog, which goes later, would look for it. */
  gtk_window_set_transient_for (GTK_WINDOW (dialog), NULL);
  close_as (self, response);
}

static void
ask_closing (GradusWindow *self)
{
  GtkWidget *dialog =
    adw_message_dialog_new (GTK_WINDOW (self), _("Keep Training in the Background?"),
                            _("A run is on. It can go on without the window and tell you when it "
                              "is through, or stop now; what was learnt is kept either way."));

  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _("_Cancel"), "stop",
                                    _("_Stop and Keep"), "keep", _("_Keep Training"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "keep",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "keep");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_signal_connect_object (dialog, "response", G_CALLBACK (close_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static gboolean
gradus_window_close_request (GtkWindow *window)
{
  GradusWindow *self = GRADUS_WINDOW (window);
  g_autofree char *how = g_settings_get_string (gradus_settings_get (), "background");

  if (!self->closing && gradus_workbench_is_busy (self->workbench))
    {
      if (g_str_equal (how, "ask"))
        ask_closing (self);
      else
        close_as (self, how);
      return GDK_EVENT_STOP;
    }
  save_size (self);

  return GTK_WINDOW_CLASS (gradus_window_parent_class)->close_request (window);
}

/* ---- Following the workbench ---- */

/* The keyboard begins where the work goes on: at Train, else at the runs. A widget that somebody
   chose keeps it. */
static void
place_keyboard_cb (gpointer data)
{
  GradusWindow *self = data;
  GtkWidget *now = gtk_window_get_focus (GTK_WINDOW (self));

  self->keyboard_idle = 0;
  if (!self->painted)
    return;
  if (now != NULL && now != self->run_list_button && gtk_widget_get_mapped (now))
    return;
  if (gradus_workbench_get_focus (self->workbench) == NULL)
    return;
  if (!gradus_train_page_grab_train (GRADUS_TRAIN_PAGE (_gradus_window_get_page (self, "train"))) &&
      adw_flap_get_reveal_flap (self->flap))
    gradus_run_list_grab_rows (self->run_list);
}

static void
queue_keyboard (GradusWindow *self)
{
  if (self->keyboard_idle == 0)
    self->keyboard_idle = g_idle_add_once (place_keyboard_cb, self);
}

static void
focus_changed_cb (GradusWindow *self)
{
  queue_keyboard (self);
  g_signal_group_set_target (self->focus_signals, gradus_workbench_get_focus (self->workbench));
  _gradus_window_update_actions (self);
}

static void
state_changed_cb (GradusWindow *self)
{
  const char *reason = gradus_workbench_get_read_only_reason (self->workbench);

  if (reason != NULL && g_object_get_data (G_OBJECT (self), "gradus-told") == NULL)
    {
      g_object_set_data (G_OBJECT (self), "gradus-told", GINT_TO_POINTER (TRUE));
      show_lasting (self, reason);
    }
  _gradus_window_update_actions (self);
}

static void
run_ended_cb (GradusWindow *self, const char *name, const char *outcome, gboolean good)
{
  g_autofree char *text = g_strdup_printf ("%s: %s", name, outcome);

  _gradus_window_toast (self, text);
}

static void
stalled_cb (GradusWindow *self, const char *reason)
{
  if (self->stall != NULL)
    adw_toast_dismiss (self->stall);
  g_clear_object (&self->stall);
  if (reason != NULL)
    self->stall = g_object_ref (show_lasting (self, reason));
}

static void
trouble_cb (GradusWindow *self, const char *message)
{
  show_problem (self, _("That Did Not Work"), message);
}

/* A page is made when it is first looked at, and none before the first frame has gone out. */
static void
start_pages_cb (gpointer data)
{
  GradusWindow *self = data;

  self->pages_idle = 0;
  self->painted = TRUE;
  _gradus_window_get_page (self, adw_view_stack_get_visible_child_name (self->pages));
  queue_keyboard (self);
}

/* For the benchmark: when, and how long the processor had worked by then. */
static void
tell_first_frame (void)
{
  struct timespec spent;

  if (g_getenv ("GRADUS_STARTUP_TIME") == NULL)
    return;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &spent);
  g_printerr ("first-frame %" G_GINT64_FORMAT " cpu %" G_GINT64_FORMAT "\n",
              g_get_monotonic_time (),
              (gint64) spent.tv_sec * G_USEC_PER_SEC + spent.tv_nsec / 1000);
}

/* The log is opened after the first frame: the window is there at once, however long the log. */
static void
painted_cb (GdkFrameClock *clock, GradusWindow *self)
{
  g_signal_handlers_disconnect_by_func (clock, painted_cb, self);
  tell_first_frame ();
  gradus_workbench_open (self->workbench);
  self->pages_idle = g_idle_add_once (start_pages_cb, self);
}

static void
width_changed_cb (GradusWindow *self)
{
  GdkSurface *surface = gtk_native_get_surface (GTK_NATIVE (self));
  int width = gdk_surface_get_width (surface);

  gtk_widget_set_visible (self->new_run_label, width >= NARROW_WIDTH);
  adw_flap_set_fold_policy (self->flap, width >= LIST_WIDTH ? ADW_FLAP_FOLD_POLICY_AUTO
                                                            : ADW_FLAP_FOLD_POLICY_ALWAYS);
}

static void
gradus_window_realize (GtkWidget *widget)
{
  GdkSurface *surface;

  GTK_WIDGET_CLASS (gradus_window_parent_class)->realize (widget);

  surface = gtk_native_get_surface (GTK_NATIVE (widget));
  g_signal_connect_object (surface, "notify::width", G_CALLBACK (width_changed_cb), widget,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (gtk_widget_get_frame_clock (widget), "after-paint",
                           G_CALLBACK (painted_cb), widget, 0);
}

/* ---- Object ---- */

static void
gradus_window_dispose (GObject *object)
{
  GradusWindow *self = GRADUS_WINDOW (object);

  g_clear_handle_id (&self->keyboard_idle, g_source_remove);
  g_clear_handle_id (&self->pages_idle, g_source_remove);
  g_clear_object (&self->focus_signals);
  g_clear_object (&self->stall);
  g_clear_object (&self->workbench);

  G_OBJECT_CLASS (gradus_window_parent_class)->dispose (object);
}

static void
gradus_window_class_init (GradusWindowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  g_type_ensure (GRADUS_TYPE_RUN_STATUS_BUTTON);
  g_type_ensure (GRADUS_TYPE_RUN_LIST);

  G_OBJECT_CLASS (klass)->dispose = gradus_window_dispose;
  GTK_WINDOW_CLASS (klass)->close_request = gradus_window_close_request;
  widget_class->realize = gradus_window_realize;
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/io/github/gradus/Gradus/ui/window.ui");
#define BIND(name) gtk_widget_class_bind_template_child (widget_class, GradusWindow, name)
  BIND (toasts);
  BIND (flap);
  BIND (pages);
  BIND (switcher_bar);
  BIND (run_list_button);
  BIND (new_run_label);
  BIND (run_status);
  BIND (run_list);
  BIND (drop_target);
#undef BIND
  gtk_widget_class_bind_template_callback (widget_class, page_changed_cb);
  gtk_widget_class_bind_template_callback (widget_class, bar_revealed_cb);
  gtk_widget_class_bind_template_callback (widget_class, drop_cb);
  _gradus_window_class_install_actions (widget_class);
}

static void
gradus_window_init (GradusWindow *self)
{
  GSettings *settings = gradus_settings_get ();
  GType types[] = { G_TYPE_FILE };
  g_autoptr (GPropertyAction) run_list = NULL;

  gtk_widget_init_template (GTK_WIDGET (self));
  run_list = g_property_action_new ("run-list", self->flap, "reveal-flap");
  g_action_map_add_action (G_ACTION_MAP (self), G_ACTION (run_list));
  gtk_drop_target_set_gtypes (self->drop_target, types, G_N_ELEMENTS (types));
  gtk_window_set_default_size (GTK_WINDOW (self), g_settings_get_int (settings, "window-width"),
                               g_settings_get_int (settings, "window-height"));
  if (g_settings_get_boolean (settings, "window-maximized"))
    gtk_window_maximize (GTK_WINDOW (self));

  self->focus_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->focus_signals, "changed",
                                  G_CALLBACK (_gradus_window_update_actions), self);
}

GradusWindow *
gradus_window_new (GtkApplication *application, GradusWorkbench *workbench)
{
  GradusWindow *self = g_object_new (GRADUS_TYPE_WINDOW, "application", application, NULL);

  self->workbench = g_object_ref (workbench);
  adw_view_stack_set_visible_child_name (self->pages, "train");
  gradus_run_status_button_set_workbench (self->run_status, workbench);
  gradus_run_list_set_workbench (self->run_list, workbench);

  g_signal_connect_object (workbench, "notify::focus", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "notify::active", G_CALLBACK (_gradus_window_update_actions),
                           self, G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "notify::state", G_CALLBACK (state_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "run-ended", G_CALLBACK (run_ended_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "refused", G_CALLBACK (_gradus_window_toast), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "trouble", G_CALLBACK (trouble_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "stalled", G_CALLBACK (stalled_cb), self, G_CONNECT_SWAPPED);
  stalled_cb (self, gradus_workbench_get_stall (workbench));
  focus_changed_cb (self);

  return self;
}
