/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-legend.h"
#include "gradus-memory-bar.h"
#include "gradus-meter.h"
#include "gradus-palette.h"
#include "gradus-progress-ring.h"
#include "gradus-run-dot.h"
#include "gradus-sparkline.h"
#include "test-display.h"

#include <adwaita.h>
#include <math.h>

static void
close_and_check (GtkWidget *window, GtkWidget *widget)
{
  g_object_add_weak_pointer (G_OBJECT (widget), (gpointer *) &widget);
  test_close (window);
  g_assert_null (widget);
}

static void
test_sparkline (void)
{
  GtkWidget    *line = gradus_sparkline_new ();
  GtkWidget    *window = test_open (line, 100, 40);
  double        values[1000];
  GradusPalette palette;

  gradus_palette_read (&palette, line);
  gradus_sparkline_set_color (GRADUS_SPARKLINE (line), 2);
  gradus_sparkline_set_values (GRADUS_SPARKLINE (line), NULL, 0);
  values[0] = NAN;
  gradus_sparkline_set_values (GRADUS_SPARKLINE (line), values, 1);
  test_wait (40);
  values[0] = 3.0;
  gradus_sparkline_set_values (GRADUS_SPARKLINE (line), values, 1);
  test_wait (40);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = i % 50 == 0 ? INFINITY : exp (-0.01 * i);
  gradus_sparkline_set_values (GRADUS_SPARKLINE (line), values, G_N_ELEMENTS (values));
  test_wait (60);
  g_assert_cmpuint (test_count_pixels (line, &palette.run[2], 0.1), >, 15);
  close_and_check (window, line);
}

static void
test_meter (void)
{
  g_autoptr (GtkSizeGroup) labels = gtk_size_group_new (GTK_SIZE_GROUP_HORIZONTAL);
  g_autofree char *description = NULL;
  GtkWidget *meter = gradus_meter_new ("Input wait", labels);
  GtkWidget *window = test_open (meter, 300, 40);

  gradus_meter_set (GRADUS_METER (meter), 0.02, "0.16 ms");
  gtk_test_accessible_assert_property (meter, GTK_ACCESSIBLE_PROPERTY_LABEL, "Input wait");
  /* The assertion's macro takes its arguments for a format, so a percent sign cannot stand there. */
  description = gtk_test_accessible_check_property (GTK_ACCESSIBLE (meter), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                                    "2\u00a0%, 0.16 ms");
  g_assert_cmpstr (description, ==, NULL);
  gradus_meter_set (GRADUS_METER (meter), 7.0, NULL);
  g_assert_cmpfloat (gradus_meter_get_fraction (GRADUS_METER (meter)), ==, 1.0);
  gradus_meter_set (GRADUS_METER (meter), NAN, NULL);
  gtk_test_accessible_assert_property (meter, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "–");
  test_wait (40);
  close_and_check (window, meter);
}

static void
assert_pressed (GtkWidget *widget, GtkAccessibleTristate state)
{
  g_autofree char *other
      = gtk_test_accessible_check_state (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_STATE_PRESSED, state);

  g_assert_cmpstr (other, ==, NULL);
}

static void
test_run_dot (void)
{
  GtkWidget    *dot = gradus_run_dot_new ();
  GtkWidget    *window = test_open (dot, 80, 80);
  GradusPalette palette;

  gradus_palette_read (&palette, dot);
  gradus_run_dot_set_color (GRADUS_RUN_DOT (dot), 3);
  gradus_run_dot_set_run_name (GRADUS_RUN_DOT (dot), "cnn-7");
  gtk_test_accessible_assert_property (dot, GTK_ACCESSIBLE_PROPERTY_LABEL, "Show cnn-7 in the charts");
  assert_pressed (dot, GTK_ACCESSIBLE_TRISTATE_FALSE);
  test_wait (60);
  g_assert_cmpuint (test_count_pixels (dot, &palette.run[3], 0.05), ==, 0);
  gtk_widget_activate (dot);
  test_wait (400);
  g_assert_true (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (dot)));
  assert_pressed (dot, GTK_ACCESSIBLE_TRISTATE_TRUE);
  g_assert_cmpuint (test_count_pixels (dot, &palette.run[3], 0.05), >, 40);
  close_and_check (window, dot);
}

static void
test_memory_bar (void)
{
  GtkWidget *bar = gradus_memory_bar_new ("Memory");
  GtkWidget *window = test_open (bar, 300, 80);

  gradus_memory_bar_set (GRADUS_MEMORY_BAR (bar), 190e6, 212e6, 213e6, 2048e6);
  gtk_test_accessible_assert_property (bar, GTK_ACCESSIBLE_PROPERTY_LABEL, "Memory");
  gtk_test_accessible_assert_property (bar, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       "190 of 2\u00a0048\u00a0MB, peak 212\u00a0MB, planned 213\u00a0MB");
  gradus_memory_bar_set (GRADUS_MEMORY_BAR (bar), NAN, NAN, NAN, NAN);
  test_wait (40);
  close_and_check (window, bar);
}

static void
test_ring (void)
{
  GtkWidget    *ring = gradus_progress_ring_new ();
  GtkWidget    *window = test_open (ring, 60, 60);
  GradusPalette palette;
  guint         half, whole;

  gradus_palette_read (&palette, ring);
  gradus_progress_ring_set_fraction (GRADUS_PROGRESS_RING (ring), 0.5);
  test_wait (60);
  half = test_count_pixels (ring, &palette.run[0], 0.1);
  gradus_progress_ring_set_fraction (GRADUS_PROGRESS_RING (ring), 4.0);
  g_assert_cmpfloat (gradus_progress_ring_get_fraction (GRADUS_PROGRESS_RING (ring)), ==, 1.0);
  test_wait (60);
  whole = test_count_pixels (ring, &palette.run[0], 0.1);
  g_assert_cmpuint (half, >, 5);
  g_assert_cmpuint (whole, >, half);
  gradus_progress_ring_set_fraction (GRADUS_PROGRESS_RING (ring), NAN);
  g_assert_cmpfloat (gradus_progress_ring_get_fraction (GRADUS_PROGRESS_RING (ring)), ==, 0.0);
  close_and_check (window, ring);
}

static void
test_legend (void)
{
  static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
  static const int         colors[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  GtkWidget *legend = gradus_legend_new ();
  GtkWidget *window = test_open (legend, 700, 40);

  gradus_legend_set_runs (GRADUS_LEGEND (legend), names, colors, 8, 1);
  gtk_test_accessible_assert_property (legend, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "a, b, c, d, e, f, g, h");
  test_wait (60);
  gradus_legend_set_runs (GRADUS_LEGEND (legend), NULL, NULL, 0, -1);
  test_wait (40);
  close_and_check (window, legend);
}

/* Colours as a dichromat sees them: Machado, Oliveira and Fernandes, "A Physiologically-based Model for
   Simulation of Color Vision Deficiency" (2009), severity 1; the last row set is normal sight. */
static const double sights[3][9] = {
  { 0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998 },
  { 0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881 },
  { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
};

static double
linear (double part)
{
  return part <= 0.04045 ? part / 12.92 : pow ((part + 0.055) / 1.055, 2.4);
}

/* In Oklab, where equal distances look about equally different. */
static void
see (const GdkRGBA *color, const double *sight, double *lab)
{
  double in[3] = { linear (color->red), linear (color->green), linear (color->blue) }, rgb[3], l, m, s;

  for (guint i = 0; i < 3; i++)
    rgb[i] = CLAMP (sight[3 * i] * in[0] + sight[3 * i + 1] * in[1] + sight[3 * i + 2] * in[2], 0.0, 1.0);
  l = cbrt (0.4122214708 * rgb[0] + 0.5363325363 * rgb[1] + 0.0514459929 * rgb[2]);
  m = cbrt (0.2119034982 * rgb[0] + 0.6806995451 * rgb[1] + 0.1073969566 * rgb[2]);
  s = cbrt (0.0883024619 * rgb[0] + 0.2817188376 * rgb[1] + 0.6299787005 * rgb[2]);
  lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
  lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
  lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

static double
find_closest (const GradusPalette *palette)
{
  double closest = INFINITY;

  for (guint sight = 0; sight < G_N_ELEMENTS (sights); sight++)
    for (guint i = 0; i < GRADUS_N_RUN_COLORS; i++)
      for (guint k = 0; k < i; k++)
        {
          double a[3], b[3];

          see (&palette->run[i], sights[sight], a);
          see (&palette->run[k], sights[sight], b);
          closest = MIN (closest, sqrt (pow (a[0] - b[0], 2) + pow (a[1] - b[1], 2) + pow (a[2] - b[2], 2)));
        }
  return closest;
}

static void
test_palette (void)
{
  AdwStyleManager *manager = adw_style_manager_get_default ();
  GtkWidget       *label = gtk_label_new ("x");
  GtkWidget       *window = test_open (label, 60, 60);
  GradusPalette    light, dark;

  adw_style_manager_set_color_scheme (manager, ADW_COLOR_SCHEME_FORCE_LIGHT);
  gradus_palette_read (&light, label);
  adw_style_manager_set_color_scheme (manager, ADW_COLOR_SCHEME_FORCE_DARK);
  gradus_palette_read (&dark, label);
  g_assert_false (gdk_rgba_equal (&light.run[0], &dark.run[0]));
  g_assert_cmpfloat (light.card.red, >, 0.9);
  g_assert_cmpfloat (dark.card.red, <, 0.3);
  g_assert_cmpfloat (light.band, >=, 0.10);
  g_assert_cmpfloat (light.band, <=, 0.14);
  g_assert_true (gradus_palette_get_run (&light, 13) == &light.run[1]);
  g_assert_cmpfloat (find_closest (&light), >, 0.05);
  g_assert_cmpfloat (find_closest (&dark), >, 0.02);
  adw_style_manager_set_color_scheme (manager, ADW_COLOR_SCHEME_DEFAULT);
  test_close (window);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  gradus_widgets_init ();
  g_test_add_func ("/small/sparkline", test_sparkline);
  g_test_add_func ("/small/meter", test_meter);
  g_test_add_func ("/small/run-dot", test_run_dot);
  g_test_add_func ("/small/memory-bar", test_memory_bar);
  g_test_add_func ("/small/ring", test_ring);
  g_test_add_func ("/small/legend", test_legend);
  g_test_add_func ("/small/palette", test_palette);
  return g_test_run ();
}
