/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-format.h"
#include "gradus-ticks.h"

#include <math.h>

static void
check (char *text, const char *expected)
{
  g_assert_cmpstr (text, ==, expected);
  g_free (text);
}

static void
test_values (void)
{
  check (gradus_format_value (0.0312, GRADUS_UNIT_NONE), "0.031");
  check (gradus_format_value (0.00312, GRADUS_UNIT_NONE), "0.00312");
  check (gradus_format_value (0.000312, GRADUS_UNIT_NONE), "3.1e-4");
  check (gradus_format_value (0.75, GRADUS_UNIT_NONE), "0.750");
  check (gradus_format_value (-2.5, GRADUS_UNIT_NONE), "\u22122.500");
  check (gradus_format_value (16598.0, GRADUS_UNIT_NONE), "16\u00a0598");
  check (gradus_format_value (12345678.0, GRADUS_UNIT_NONE), "1.2e7");
  check (gradus_format_value (0.0, GRADUS_UNIT_NONE), "0");
  check (gradus_format_value (NAN, GRADUS_UNIT_BYTES), "NaN");
  check (gradus_format_value (INFINITY, GRADUS_UNIT_NONE), "∞");
  check (gradus_format_value (-INFINITY, GRADUS_UNIT_SECONDS), "\u2212∞");
  check (gradus_format_value (5e-4, GRADUS_UNIT_SCIENTIFIC), "5.0e-4");
  check (gradus_format_value (9.99e-4, GRADUS_UNIT_SCIENTIFIC), "1.0e-3");
  check (gradus_format_value (0.1, GRADUS_UNIT_SCIENTIFIC), "1.0e-1");
  check (gradus_format_value (212e6, GRADUS_UNIT_BYTES), "212\u00a0MB");
  check (gradus_format_value (5.1e6, GRADUS_UNIT_BYTES), "5.1\u00a0MB");
  check (gradus_format_value (999.6e6, GRADUS_UNIT_BYTES), "1.0\u00a0GB");
  check (gradus_format_value (12, GRADUS_UNIT_BYTES), "12\u00a0B");
  check (gradus_format_value (4.48e-3, GRADUS_UNIT_SECONDS), "4.48\u00a0ms");
  check (gradus_format_value (0.16e-3, GRADUS_UNIT_SECONDS), "0.16\u00a0ms");
  check (gradus_format_value (3e-6, GRADUS_UNIT_SECONDS), "3.00\u00a0µs");
  check (gradus_format_value (1.2, GRADUS_UNIT_SECONDS), "1.20\u00a0s");
  check (gradus_format_value (41287.0, GRADUS_UNIT_SAMPLES_RATE), "41\u00a0300\u00a0samples/s");
  check (gradus_format_value (7.25, GRADUS_UNIT_SAMPLES_RATE), "7.2\u00a0samples/s");
  check (gradus_format_value (0.34, GRADUS_UNIT_FRACTION), "34\u00a0%");
  check (gradus_format_value (139, GRADUS_UNIT_DURATION), "02:19");
  check (gradus_format_value (3847, GRADUS_UNIT_DURATION), "1:04:07");
}

static void
test_numbers (void)
{
  check (gradus_format_number (0.9996, 3), "1.00");
  check (gradus_format_number (999.96, 4), "1\u00a0000");
  check (gradus_format_number (0.037912, 3), "0.0379");
  check (gradus_format_number (1.0, 1), "1");
  check (gradus_format_number (-0.0004, 3), "\u22124.0e-4");
  check (gradus_format_count (G_GINT64_CONSTANT (9223372036854775807)),
         "9\u00a0223\u00a0372\u00a0036\u00a0854\u00a0775\u00a0807");
  check (gradus_format_count (G_MININT64), "\u22129\u00a0223\u00a0372\u00a0036\u00a0854\u00a0775\u00a0808");
  check (gradus_format_count (-999), "\u2212999");
  check (gradus_format_duration (59.6), "01:00");
  check (gradus_format_duration (0), "00:00");
  check (gradus_format_duration (0.32), "0.3\u00a0s");
  check (gradus_format_duration (0.001), "0.1\u00a0s");
  check (gradus_format_duration (NAN), "NaN");
}

static void
test_axis_scale (void)
{
  const char *name;

  g_assert_cmpfloat_with_epsilon (gradus_format_axis_scale (GRADUS_UNIT_BYTES, 2.4e8, &name), 1e-6, 1e-18);
  g_assert_cmpstr (name, ==, "MB");
  g_assert_cmpfloat (gradus_format_axis_scale (GRADUS_UNIT_SECONDS, 0.02, &name), ==, 1e3);
  g_assert_cmpstr (name, ==, "ms");
  g_assert_cmpfloat (gradus_format_axis_scale (GRADUS_UNIT_NONE, 2.0, &name), ==, 1.0);
  g_assert_cmpstr (name, ==, "");
}

/* Whatever the range: few ticks, in it, rising, at 1-2-5 steps. */
static void
test_ticks_linear (void)
{
  g_autoptr (GRand) dice = g_rand_new_with_seed (7);

  for (guint i = 0; i < 3000; i++)
    {
      double      size = pow (10.0, g_rand_double_range (dice, -12, 12));
      double      lower = g_rand_double_range (dice, -3, 3) * size;
      double      upper = lower + g_rand_double_range (dice, 0.01, 5) * size;
      guint       most = (guint) g_rand_int_range (dice, 2, 12);
      GradusTicks ticks;
      double      part;

      gradus_ticks_linear (lower, upper, most, FALSE, &ticks);
      g_assert_cmpuint (ticks.n, <=, most);
      if (most >= 4)
        g_assert_cmpuint (ticks.n, >=, 1);
      part = ticks.step / pow (10.0, floor (log10 (ticks.step) + 1e-9));
      g_assert_true (fabs (part - 1) < 1e-6 || fabs (part - 2) < 1e-6 || fabs (part - 5) < 1e-6
                     || fabs (part - 10) < 1e-6);
      for (guint t = 0; t < ticks.n; t++)
        {
          g_assert_cmpfloat (ticks.at[t], >=, lower - ticks.step * 1e-5);
          g_assert_cmpfloat (ticks.at[t], <=, upper + ticks.step * 1e-5);
          if (t > 0)
            g_assert_cmpfloat (ticks.at[t], >, ticks.at[t - 1]);
        }
    }
}

static void
check_labels (const GradusTicks *ticks, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < ticks->n; i++)
    {
      g_autofree char *label = gradus_ticks_format (ticks, ticks->at[i]);

      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", label);
    }
  g_assert_cmpstr (text->str, ==, expected);
}

static void
test_labels (void)
{
  GradusTicks ticks;

  gradus_ticks_linear (0.0, 0.4, 5, FALSE, &ticks);
  check_labels (&ticks, "0.0 0.1 0.2 0.3 0.4");
  gradus_ticks_linear (0.8, 1.0, 5, FALSE, &ticks);
  check_labels (&ticks, "0.80 0.85 0.90 0.95 1.00");
  gradus_ticks_linear (0.0, 1.5e-3, 4, FALSE, &ticks);
  check_labels (&ticks, "0 5e-4 1e-3 1.5e-3");
  gradus_ticks_linear (0, 20000, 5, TRUE, &ticks);
  check_labels (&ticks, "0 5\u00a0000 10\u00a0000 15\u00a0000 20\u00a0000");
  gradus_ticks_linear (-0.15, 0.15, 7, FALSE, &ticks);
  check_labels (&ticks, "\u22120.15 \u22120.10 \u22120.05 0.00 0.05 0.10 0.15");
  gradus_ticks_linear (0, 3, 9, TRUE, &ticks);
  check_labels (&ticks, "0 1 2 3");
}

static void
test_ticks_time (void)
{
  GradusTicks ticks;

  gradus_ticks_time (0, 150, 6, &ticks);
  g_assert_cmpfloat (ticks.step, ==, 30);
  check (gradus_ticks_format_time (&ticks, 90), "01:30");
  gradus_ticks_time (0, 7200, 5, &ticks);
  g_assert_cmpfloat (ticks.step, ==, 1800);
  check (gradus_ticks_format_time (&ticks, 5400), "1:30:00");
  gradus_ticks_time (0, 1.0, 5, &ticks);
  check (gradus_ticks_format_time (&ticks, 0.5), "0.5");
  /* Years of training are not refused. */
  gradus_ticks_time (0, 1e9, 6, &ticks);
  g_assert_cmpuint (ticks.n, >=, 2);
}

static void
test_ticks_log (void)
{
  GradusTicks ticks;

  gradus_ticks_log (1e-4, 1e2, 8, &ticks);
  g_assert_cmpuint (ticks.n, ==, 7);
  gradus_ticks_log (1e-30, 1e30, 6, &ticks);
  g_assert_cmpuint (ticks.n, <=, 8);
  g_assert_cmpuint (ticks.n, >=, 3);
  gradus_ticks_log (0.15, 0.9, 6, &ticks);
  g_assert_cmpuint (ticks.n, >=, 2);
  check (gradus_ticks_format_log (0.01), "0.01");
  check (gradus_ticks_format_log (1e-6), "1e-6");
  check (gradus_ticks_format_log (20), "20");
  gradus_ticks_log (-1, 1, 6, &ticks);
  g_assert_cmpuint (ticks.n, ==, 0);
}

static void
test_degenerate (void)
{
  GradusTicks ticks;
  double      low = NAN, high = 1.0;

  gradus_ticks_linear (1.0, 1.0, 5, FALSE, &ticks);
  g_assert_cmpuint (ticks.n, ==, 0);
  gradus_ticks_linear (-INFINITY, INFINITY, 5, FALSE, &ticks);
  g_assert_cmpuint (ticks.n, ==, 0);
  gradus_ticks_linear (-G_MAXDOUBLE, G_MAXDOUBLE, 5, FALSE, &ticks);
  g_assert_cmpuint (ticks.n, ==, 0);
  gradus_ticks_round_range (&low, &high, 5);
  g_assert_true (isnan (low));
  low = 0.013;
  high = 0.372;
  gradus_ticks_round_range (&low, &high, 5);
  g_assert_cmpfloat_with_epsilon (low, 0.0, 1e-12);
  g_assert_cmpfloat_with_epsilon (high, 0.4, 1e-12);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/format/values", test_values);
  g_test_add_func ("/format/numbers", test_numbers);
  g_test_add_func ("/format/axis-scale", test_axis_scale);
  g_test_add_func ("/ticks/linear", test_ticks_linear);
  g_test_add_func ("/ticks/labels", test_labels);
  g_test_add_func ("/ticks/time", test_ticks_time);
  g_test_add_func ("/ticks/log", test_ticks_log);
  g_test_add_func ("/ticks/degenerate", test_degenerate);
  return g_test_run ();
}
