/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-palette.h"
#include "gradus-widgets-resources.h"

#include <adwaita.h>

#define RESOURCES "/io/github/gradus/Gradus/widgets/"

/* Below the application's own style sheet, which may override. */
#define PRIORITY (GTK_STYLE_PROVIDER_PRIORITY_APPLICATION - 10)

static GtkCssProvider *colors_provider;

static void
load_colors_cb (AdwStyleManager *manager)
{
  gboolean    dark = adw_style_manager_get_dark (manager);
  gboolean    contrast = adw_style_manager_get_high_contrast (manager);
  const char *path;

  if (contrast)
    path = dark ? RESOURCES "gradus-colors-hc-dark.css" : RESOURCES "gradus-colors-hc-light.css";
  else
    path = dark ? RESOURCES "gradus-colors-dark.css" : RESOURCES "gradus-colors-light.css";
  gtk_css_provider_load_from_resource (colors_provider, path);
}

static void
add_provider (GtkCssProvider *provider)
{
  gtk_style_context_add_provider_for_display (gdk_display_get_default (),
                                              GTK_STYLE_PROVIDER (provider), PRIORITY);
}

void
gradus_widgets_init (void)
{
  g_autoptr (GtkCssProvider) rules = NULL;
  AdwStyleManager *manager;

  g_return_if_fail (gdk_display_get_default () != NULL);

  if (colors_provider != NULL)
    return;

  adw_init ();
  g_resources_register (gradus_widgets_get_resource ());
  manager = adw_style_manager_get_default ();
  colors_provider = gtk_css_provider_new ();
  load_colors_cb (manager);
  g_signal_connect (manager, "notify::dark", G_CALLBACK (load_colors_cb), NULL);
  g_signal_connect (manager, "notify::high-contrast", G_CALLBACK (load_colors_cb), NULL);
  add_provider (colors_provider);

  rules = gtk_css_provider_new ();
  gtk_css_provider_load_from_resource (rules, RESOURCES "gradus-widgets.css");
  add_provider (rules);
}

/* A name that no style sheet defines falls back to the colour of text. */
static void
look_up (GtkStyleContext *context, const char *name, GdkRGBA *color)
{
  if (!gtk_style_context_lookup_color (context, name, color))
    gtk_style_context_get_color (context, color);
}

void
gradus_palette_read (GradusPalette *palette, GtkWidget *widget)
{
  GtkStyleContext *context;
  GdkRGBA          opacity;
  char             name[32];

  g_return_if_fail (palette != NULL);
  g_return_if_fail (GTK_IS_WIDGET (widget));

  gradus_widgets_init ();
  context = gtk_widget_get_style_context (widget);
  for (guint i = 0; i < GRADUS_N_RUN_COLORS; i++)
    {
      g_snprintf (name, sizeof name, "gradus_run_%u", i + 1);
      look_up (context, name, &palette->run[i]);
    }
  look_up (context, "gradus_text", &palette->text);
  look_up (context, "gradus_dim", &palette->dim);
  look_up (context, "gradus_hairline", &palette->hairline);
  look_up (context, "gradus_grid", &palette->grid);
  look_up (context, "gradus_axis", &palette->axis);
  look_up (context, "gradus_card", &palette->card);
  look_up (context, "gradus_trough", &palette->trough);
  look_up (context, "gradus_bar", &palette->bar);
  look_up (context, "gradus_warning", &palette->warning);
  look_up (context, "gradus_error", &palette->error);
  look_up (context, "gradus_span", &palette->span);
  look_up (context, "gradus_selection", &palette->selection);
  /* Style sheets have no numbers with names, so opacities are the alpha of a colour. */
  look_up (context, "gradus_band", &opacity);
  palette->band = opacity.alpha;
  look_up (context, "gradus_train", &opacity);
  palette->train = opacity.alpha;
}

const GdkRGBA *
gradus_palette_get_run (const GradusPalette *palette, int index)
{
  g_return_val_if_fail (palette != NULL, NULL);

  if (index < 0)
    return &palette->bar;
  return &palette->run[index % GRADUS_N_RUN_COLORS];
}

void
gradus_palette_watch (GtkWidget *widget, void (*callback) (GtkWidget *widget))
{
  AdwStyleManager *manager;

  g_return_if_fail (GTK_IS_WIDGET (widget));
  g_return_if_fail (callback != NULL);

  gradus_widgets_init ();
  manager = adw_style_manager_get_default ();
  g_signal_connect_object (manager, "notify::dark", G_CALLBACK (callback), widget,
                           G_CONNECT_SWAPPED | G_CONNECT_AFTER);
  g_signal_connect_object (manager, "notify::high-contrast", G_CALLBACK (callback), widget,
                           G_CONNECT_SWAPPED | G_CONNECT_AFTER);
}
