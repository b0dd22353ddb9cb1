/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib-unix.h>
#include <glib/gi18n-lib.h>

#include "gradus-application.h"
#include "gradus-preferences.h"
#include "gradus-settings.h"
#include "gradus-window.h"

struct _GradusApplication
{
  AdwApplication parent_instance;

  GradusWorkbench *workbench;
  char            *workspace; /* from the command line; NULL for the preference's */

  guint    inhibit_cookie;
  gboolean in_background;
};

G_DEFINE_FINAL_TYPE (GradusApplication, gradus_application, ADW_TYPE_APPLICATION)

static const char *const accels[][4] = {
  { "win.new-run", "<ctrl>n" },
  { "win.open", "<ctrl>o" },
  { "win.train", "<ctrl>Return", "<ctrl>KP_Enter" },
  { "win.pause-or-resume", "<ctrl>p" },
  { "win.step", "<ctrl>period" },
  { "win.stop", "<ctrl><shift>s" },
  { "win.checkpoint", "<ctrl>s" },
  { "win.run-list", "F9" },
  { "win.find", "<ctrl>f" },
  { "win.toggle-shown", "<ctrl>space" },
  { "win.rename", "F2" },
  { "win.page::model", "<alt>1" },
  { "win.page::data", "<alt>2" },
  { "win.page::train", "<alt>3" },
  { "win.page::runs", "<alt>4" },
  { "window.close", "<ctrl>w" },
  { "app.preferences", "<ctrl>comma" },
  { "app.shortcuts", "<ctrl>question" },
  { "app.quit", "<ctrl>q" },
};

static GtkWindow *
ensure_window (GradusApplication *self)
{
  GList *windows = gtk_application_get_windows (GTK_APPLICATION (self));

  for (GList *l = windows; l != NULL; l = l->next)
    if (GRADUS_IS_WINDOW (l->data))
      return l->data;

  if (self->in_background)
    {
      self->in_background = FALSE;
      g_application_release (G_APPLICATION (self));
    }

  return GTK_WINDOW (gradus_window_new (GTK_APPLICATION (self), self->workbench));
}

static void
leave_background (GradusApplication *self)
{
  if (!self->in_background)
    return;

  self->in_background = FALSE;
  g_application_release (G_APPLICATION (self));
}

static void
run_ended_cb (GradusWorkbench   *workbench,
              const char        *name,
              const char        *outcome,
              gboolean           good,
              GradusApplication *self)
{
  g_autoptr (GNotification) notification = NULL;
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (self));
  g_autofree char *title = NULL;

  if (window != NULL && gtk_window_is_active (window))
    return;

  title = good ? g_strdup_printf (_("%s has been trained"), name)
               : g_strdup_printf (_("%s did not finish"), name);
  notification = g_notification_new (title);
  g_notification_set_body (notification, outcome);
  g_notification_set_default_action (notification, "app.activate");
  g_notification_set_priority (notification, good ? G_NOTIFICATION_PRIORITY_NORMAL
                                                  : G_NOTIFICATION_PRIORITY_HIGH);
  g_application_send_notification (G_APPLICATION (self), "run-ended", notification);
}

/* A machine that sleeps does not train; one that is logged out of must get the time to keep what
 * was learnt. */
static void
busy_changed_cb (GradusWorkbench *workbench, GParamSpec *pspec, GradusApplication *self)
{
  gboolean busy = gradus_workbench_is_busy (workbench);

  if (busy && self->inhibit_cookie == 0)
    {
      GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (self));

      self->inhibit_cookie =
        gtk_application_inhibit (GTK_APPLICATION (self), window, GTK_APPLICATION_INHIBIT_SUSPEND,
                                 _("A neural network is being trained"));
    }
  else if (!busy)
    {
      if (self->inhibit_cookie != 0)
        gtk_application_uninhibit (GTK_APPLICATION (self), self->inhibit_cookie);
      self->inhibit_cookie = 0;
      leave_background (self);
    }
}

static gboolean
terminate_cb (gpointer data)
{
  g_application_quit (data);

  return G_SOURCE_CONTINUE;
}

static void
query_end_cb (GradusApplication *self)
{
  gradus_workbench_stop_now (self->workbench);
}

static void
apply_theme_cb (GSettings *settings, const char *key, gpointer data)
{
  g_autofree char *theme = g_settings_get_string (settings, "theme");
  AdwColorScheme scheme = ADW_COLOR_SCHEME_DEFAULT;

  if (g_str_equal (theme, "light"))
    scheme = ADW_COLOR_SCHEME_FORCE_LIGHT;
  else if (g_str_equal (theme, "dark"))
    scheme = ADW_COLOR_SCHEME_FORCE_DARK;

  adw_style_manager_set_color_scheme (adw_style_manager_get_default (), scheme);
}

static void
activate_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  g_application_activate (data);
}

static void
new_run_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  GtkWindow *window = ensure_window (data);

  gtk_window_present (window);
  gtk_widget_activate_action (GTK_WIDGET (window), "win.new-run", NULL);
}

static void
open_example_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  GtkWindow *window = ensure_window (data);

  gtk_window_present (window);
  gradus_window_open_example (GRADUS_WINDOW (window), g_variant_get_string (parameter, NULL));
}

static void
preferences_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  GtkWindow *parent = gtk_application_get_active_window (data);
  GtkWindow *preferences = g_object_new (GRADUS_TYPE_PREFERENCES, "transient-for", parent,
                                         "modal", TRUE, NULL);

  gtk_window_present (preferences);
}

static void
shortcuts_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  g_autoptr (GtkBuilder) builder =
    gtk_builder_new_from_resource ("/io/github/gradus/Gradus/ui/shortcuts.ui");
  GtkWindow *shortcuts = GTK_WINDOW (gtk_builder_get_object (builder, "shortcuts"));

  gtk_window_set_transient_for (shortcuts, gtk_application_get_active_window (data));
  gtk_window_present (shortcuts);
}

static void
about_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  const char *developers[] = { "The Gradus developers", NULL };

  adw_show_about_window (gtk_application_get_active_window (data),
                         "application-name", "Gradus",
                         "application-icon", GRADUS_APP_ID,
                         "version", GRADUS_VERSION,
                         "developer-name", _("The Gradus developers"),
                         "developers", developers,
                         "comments", _("Compose, train and compare neural networks"),
                         "copyright", "© 2026 The Gradus developers",
                         "license-type", GTK_LICENSE_APACHE_2_0,
                         "translator-credits", _("translator-credits"),
                         NULL);
}

static void
quit_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  GtkWindow *window = gtk_application_get_active_window (data);

  if (window != NULL && gradus_workbench_is_busy (GRADUS_APPLICATION (data)->workbench))
    gtk_window_close (window);
  else
    g_application_quit (data);
}

static const GActionEntry actions[] = {
  { "activate", activate_action },
  { "new-run", new_run_action },
  { "open-example", open_example_action, "s" },
  { "preferences", preferences_action },
  { "shortcuts", shortcuts_action },
  { "about", about_action },
  { "quit", quit_action },
};

static int
gradus_application_handle_local_options (GApplication *application, GVariantDict *options)
{
  GradusApplication *self = GRADUS_APPLICATION (application);
  const char *example = NULL;
  g_autoptr (GError) error = NULL;

  if (g_variant_dict_contains (options, "version"))
    {
      g_print ("gradus %s\n", GRADUS_VERSION);
      return 0;
    }

  g_variant_dict_lookup (options, "workspace", "^ay", &self->workspace);
  if (g_variant_dict_lookup (options, "example", "&s", &example))
    {
      if (!g_application_register (application, NULL, &error))
        {
          g_printerr (_("Gradus cannot be reached: %s\n"), error->message);
          return 1;
        }
      g_action_group_activate_action (G_ACTION_GROUP (application), "open-example",
                                      g_variant_new_string (example));
    }

  return -1;
}

static void
gradus_application_startup (GApplication *application)
{
  GradusApplication *self = GRADUS_APPLICATION (application);
  GSettings *settings;

  G_APPLICATION_CLASS (gradus_application_parent_class)->startup (application);

  g_action_map_add_action_entries (G_ACTION_MAP (self), actions, G_N_ELEMENTS (actions), self);
  for (guint i = 0; i < G_N_ELEMENTS (accels); i++)
    gtk_application_set_accels_for_action (GTK_APPLICATION (self), accels[i][0], &accels[i][1]);

  settings = gradus_settings_get ();
  g_signal_connect (settings, "changed::theme", G_CALLBACK (apply_theme_cb), NULL);
  apply_theme_cb (settings, "theme", NULL);

  if (self->workspace == NULL)
    {
      self->workspace = g_settings_get_string (settings, "workspace");
      if (*self->workspace == '\0')
        g_clear_pointer (&self->workspace, g_free);
    }

  self->workbench = gradus_workbench_new (self->workspace);
  g_signal_connect (self->workbench, "run-ended", G_CALLBACK (run_ended_cb), self);
  g_signal_connect (self->workbench, "notify::busy", G_CALLBACK (busy_changed_cb), self);

  g_signal_connect (self, "query-end", G_CALLBACK (query_end_cb), NULL);
  g_unix_signal_add (SIGTERM, terminate_cb, self);
  g_unix_signal_add (SIGHUP, terminate_cb, self);
  g_unix_signal_add (SIGINT, terminate_cb, self);
}

static void
gradus_application_activate (GApplication *application)
{
  gtk_window_present (ensure_window (GRADUS_APPLICATION (application)));
}

static void
gradus_application_open (GApplication *application,
                         GFile       **files,
                         int           n_files,
                         const char   *hint)
{
  GtkWindow *window = ensure_window (GRADUS_APPLICATION (application));

  gtk_window_present (window);
  for (int i = 0; i < n_files; i++)
    gradus_window_open_file (GRADUS_WINDOW (window), files[i]);
}

static void
gradus_application_shutdown (GApplication *application)
{
  GradusApplication *self = GRADUS_APPLICATION (application);

  /* Stops and keeps: after this every record is in the log. */
  if (self->workbench != NULL)
    gradus_workbench_close (self->workbench);

  G_APPLICATION_CLASS (gradus_application_parent_class)->shutdown (application);
}

static void
gradus_application_finalize (GObject *object)
{
  GradusApplication *self = GRADUS_APPLICATION (object);

  g_clear_object (&self->workbench);
  g_clear_pointer (&self->workspace, g_free);

  G_OBJECT_CLASS (gradus_application_parent_class)->finalize (object);
}

static void
gradus_application_class_init (GradusApplicationClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GApplicationClass *application_class = G_APPLICATION_CLASS (klass);

  object_class->finalize = gradus_application_finalize;
  application_class->handle_local_options = gradus_application_handle_local_options;
  application_class->startup = gradus_application_startup;
  application_class->activate = gradus_application_activate;
  application_class->open = gradus_application_open;
  application_class->shutdown = gradus_application_shutdown;
}

static void
gradus_application_init (GradusApplication *self)
{
  const GOptionEntry options[] = {
    { "workspace", 'w', 0, G_OPTION_ARG_FILENAME, NULL, N_ ("Keep runs in this folder"),
      N_ ("DIR") },
    { "example", 'e', 0, G_OPTION_ARG_STRING, NULL,
      N_ ("Open an example: line, fashion-dense or fashion-cnn"), N_ ("NAME") },
    { "version", 0, 0, G_OPTION_ARG_NONE, NULL, N_ ("Show the version"), NULL },
    { NULL },
  };

  g_application_add_main_option_entries (G_APPLICATION (self), options);
  g_application_set_option_context_parameter_string (G_APPLICATION (self), _("[RECIPE.json]"));
}

GradusApplication *
gradus_application_new (void)
{
  return g_object_new (GRADUS_TYPE_APPLICATION,
                       "application-id", GRADUS_APP_ID,
                       "flags", G_APPLICATION_HANDLES_OPEN,
                       "register-session", TRUE,
                       NULL);
}

GradusWorkbench *
gradus_application_get_workbench (GradusApplication *self)
{
  g_return_val_if_fail (GRADUS_IS_APPLICATION (self), NULL);

  return self->workbench;
}

void
gradus_application_keep_in_background (GradusApplication *self)
{
  g_return_if_fail (GRADUS_IS_APPLICATION (self));

  if (self->in_background || !gradus_workbench_is_busy (self->workbench))
    return;

  self->in_background = TRUE;
  g_application_hold (G_APPLICATION (self));
}
