/* SPDX-License-Identifier: Apache-2.0 */
/* An empty libadwaita window: what any program of the desktop pays before its first frame. It says
 * when that was painted, as gradus does under GRADUS_STARTUP_TIME. */
#include "config.h"

#include <adwaita.h>
#include <time.h>

static void
painted_cb (GdkFrameClock *clock, gpointer data)
{
  struct timespec spent;

  g_signal_handlers_disconnect_by_func (clock, painted_cb, data);
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &spent);
  g_printerr ("first-frame %" G_GINT64_FORMAT " cpu %" G_GINT64_FORMAT "\n",
              g_get_monotonic_time (),
              (gint64) spent.tv_sec * G_USEC_PER_SEC + spent.tv_nsec / 1000);
}

static void
activate_cb (GtkApplication *application)
{
  GtkWidget *window = adw_application_window_new (application);
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_box_append (GTK_BOX (content), adw_header_bar_new ());
  adw_application_window_set_content (ADW_APPLICATION_WINDOW (window), content);
  gtk_window_set_default_size (GTK_WINDOW (window), 1400, 900);
  gtk_widget_realize (window);
  g_signal_connect (gtk_widget_get_frame_clock (window), "after-paint", G_CALLBACK (painted_cb),
                    NULL);
  gtk_window_present (GTK_WINDOW (window));
}

int
main (int argc, char **argv)
{
  g_autoptr (AdwApplication) application =
    adw_application_new ("io.github.gradus.EmptyWindow", G_APPLICATION_DEFAULT_FLAGS);

  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), NULL);

  return g_application_run (G_APPLICATION (application), argc, argv);
}
