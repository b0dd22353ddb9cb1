/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-preferences.h"
#include "gradus-settings.h"

struct _GradusPreferences
{
  AdwPreferencesWindow parent_instance;

  /* Template widgets */
  AdwComboRow   *theme_row;
  AdwComboRow   *background_row;
  GtkSpinButton *threads_spin;
  AdwActionRow  *workspace_row;
  GtkWidget     *workspace_reset;
};

G_DEFINE_FINAL_TYPE (GradusPreferences, gradus_preferences, ADW_TYPE_PREFERENCES_WINDOW)

static const char *const themes[] = { "system", "light", "dark", NULL };
static const char *const backgrounds[] = { "ask", "keep", "stop", NULL };

static gboolean
choice_to_row (GValue *value, GVariant *variant, gpointer choices)
{
  const char *const *all = choices;
  const char *chosen = g_variant_get_string (variant, NULL);

  for (guint i = 0; all[i] != NULL; i++)
    if (g_str_equal (all[i], chosen))
      g_value_set_uint (value, i);

  return TRUE;
}

static GVariant *
row_to_choice (const GValue *value, const GVariantType *type, gpointer choices)
{
  const char *const *all = choices;
  guint chosen = g_value_get_uint (value);

  return chosen < g_strv_length ((char **) all) ? g_variant_new_string (all[chosen]) : NULL;
}

static void
show_workspace (GradusPreferences *self)
{
  g_autofree char *chosen = g_settings_get_string (gradus_settings_get (), "workspace");
  g_autofree char *usual = g_build_filename (g_get_user_data_dir (), "gradus", NULL);
  g_autofree char *shown = g_filename_display_name (*chosen != '\0' ? chosen : usual);
  g_autofree char *escaped = g_markup_escape_text (shown, -1);

  adw_action_row_set_subtitle (self->workspace_row, escaped);
  gtk_widget_set_visible (self->workspace_reset, *chosen != '\0');
}

static void
reset_workspace_cb (GradusPreferences *self)
{
  g_settings_reset (gradus_settings_get (), "workspace");
  show_workspace (self);
}

static void
workspace_response_cb (GtkNativeDialog *dialog, int response, GradusPreferences *self)
{
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) folder = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = folder != NULL ? g_file_get_path (folder) : NULL;

      if (path != NULL)
        g_settings_set_string (gradus_settings_get (), "workspace", path);
      show_workspace (self);
    }
  g_object_unref (dialog);
}

static void
choose_workspace_cb (GradusPreferences *self)
{
  GtkFileChooserNative *dialog;

  dialog = gtk_file_chooser_native_new (_("Choose a Workspace Folder"), GTK_WINDOW (self),
                                        GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _("_Choose"), NULL);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (workspace_response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
gradus_preferences_class_init (GradusPreferencesClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/io/github/gradus/Gradus/ui/preferences.ui");
  gtk_widget_class_bind_template_child (widget_class, GradusPreferences, theme_row);
  gtk_widget_class_bind_template_child (widget_class, GradusPreferences, background_row);
  gtk_widget_class_bind_template_child (widget_class, GradusPreferences, threads_spin);
  gtk_widget_class_bind_template_child (widget_class, GradusPreferences, workspace_row);
  gtk_widget_class_bind_template_child (widget_class, GradusPreferences, workspace_reset);
  gtk_widget_class_bind_template_callback (widget_class, reset_workspace_cb);
  gtk_widget_class_bind_template_callback (widget_class, choose_workspace_cb);
}

static void
gradus_preferences_init (GradusPreferences *self)
{
  GSettings *settings = gradus_settings_get ();

  gtk_widget_init_template (GTK_WIDGET (self));

  g_settings_bind_with_mapping (settings, "theme", self->theme_row, "selected",
                                G_SETTINGS_BIND_DEFAULT, choice_to_row, row_to_choice,
                                (gpointer) themes, NULL);
  g_settings_bind_with_mapping (settings, "background", self->background_row, "selected",
                                G_SETTINGS_BIND_DEFAULT, choice_to_row, row_to_choice,
                                (gpointer) backgrounds, NULL);
  g_settings_bind (settings, "threads", self->threads_spin, "value", G_SETTINGS_BIND_DEFAULT);
  show_workspace (self);
}
