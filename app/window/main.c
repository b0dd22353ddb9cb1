/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <locale.h>

#include "gradus-application.h"

/* Where no GPU stands behind the screen, GL is drawn by the CPU, and then cairo is three times
 * faster to the first frame; without the libraries of GL, which the display would load to look at
 * its visuals, a third faster again. A render node is there exactly when a driver drives a GPU. */
static gboolean
has_render_node (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/dev/dri", 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (name, "renderD"))
      return TRUE;

  return FALSE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GradusApplication) application = NULL;

  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, g_getenv ("GRADUS_LOCALEDIR") != NULL
                                     ? g_getenv ("GRADUS_LOCALEDIR")
                                     : GRADUS_LOCALEDIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);

  if (!has_render_node ())
    {
      g_setenv ("GSK_RENDERER", "cairo", FALSE);
      if (g_str_equal (g_getenv ("GSK_RENDERER"), "cairo"))
        g_setenv ("GDK_DEBUG", "gl-disable", FALSE);
    }

  application = gradus_application_new ();

  return g_application_run (G_APPLICATION (application), argc, argv);
}
