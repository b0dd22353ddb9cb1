/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-axis.h"

#include <math.h>

static const int owners[2];

static void
count_cb (guint *count)
{
  (*count)++;
}

static void
assert_range (GradusAxis *axis, double x0, double x1)
{
  double from, to;

  gradus_axis_get_range (axis, &from, &to);
  g_assert_cmpfloat_with_epsilon (from, x0, 1e-9);
  g_assert_cmpfloat_with_epsilon (to, x1, 1e-9);
}

static void
test_follow (void)
{
  GradusAxis *axis = gradus_axis_new ();
  guint       changes = 0;

  g_signal_connect_swapped (axis, "range-changed", G_CALLBACK (count_cb), &changes);
  assert_range (axis, 0, 1);
  gradus_axis_set_extent (axis, &owners[0], 1, 100);
  assert_range (axis, 0, 100);
  gradus_axis_set_extent (axis, &owners[1], 1, 50);
  g_assert_cmpuint (changes, ==, 1);
  gradus_axis_set_extent (axis, &owners[1], 1, 150);
  assert_range (axis, 0, 150);
  gradus_axis_unset_extent (axis, &owners[1]);
  assert_range (axis, 0, 100);
  gradus_axis_set_expected_end (axis, GRADUS_X_STEP, 400);
  assert_range (axis, 0, 400);
  /* Growth within what is expected changes nothing that is shown. */
  changes = 0;
  gradus_axis_set_extent (axis, &owners[0], 1, 300);
  g_assert_cmpuint (changes, ==, 0);
  gradus_axis_set_extent (axis, &owners[0], 1, 500);
  assert_range (axis, 0, 500);
  g_assert_finalize_object (axis);
}

static void
test_zoom (void)
{
  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  guint notifications = 0;

  g_signal_connect_swapped (axis, "notify::zoomed", G_CALLBACK (count_cb), &notifications);
  gradus_axis_set_extent (axis, &owners[0], 0, 1000);
  g_assert_false (gradus_axis_zoom_back (axis));
  gradus_axis_zoom (axis, 200, 400);
  assert_range (axis, 200, 400);
  gradus_axis_zoom (axis, 250, 300);
  g_assert_true (gradus_axis_get_zoomed (axis));
  g_assert_cmpuint (notifications, ==, 1);
  /* What comes does not move what is looked at. */
  gradus_axis_set_extent (axis, &owners[0], 0, 1200);
  assert_range (axis, 250, 300);
  g_assert_true (gradus_axis_zoom_back (axis));
  assert_range (axis, 200, 400);
  gradus_axis_pan (axis, -1e6);
  assert_range (axis, 0, 200);
  gradus_axis_pan (axis, 100);
  assert_range (axis, 100, 300);
  gradus_axis_reset (axis);
  assert_range (axis, 0, 1200);
  g_assert_false (gradus_axis_get_zoomed (axis));
  g_assert_cmpuint (notifications, ==, 2);
  /* Nonsense is ignored, and what lies outside is cut. */
  gradus_axis_zoom (axis, 5, 5);
  gradus_axis_zoom (axis, NAN, 10);
  gradus_axis_zoom (axis, 2000, 3000);
  gradus_axis_pan (axis, 50);
  assert_range (axis, 0, 1200);
  gradus_axis_zoom (axis, -500, 600);
  assert_range (axis, 0, 600);
}

static void
test_slide (void)
{
  g_autoptr (GradusAxis) axis = gradus_axis_new ();

  gradus_axis_set_extent (axis, &owners[0], 0, 1000);
  gradus_axis_zoom (axis, 900, 1000);
  gradus_axis_set_extent (axis, &owners[0], 0, 1050);
  assert_range (axis, 950, 1050);
  gradus_axis_pan (axis, -10);
  gradus_axis_set_extent (axis, &owners[0], 0, 1100);
  assert_range (axis, 940, 1040);
}

static void
test_wheel (void)
{
  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  double x0, x1;

  gradus_axis_set_extent (axis, &owners[0], 0, 1000);
  gradus_axis_zoom_around (axis, 500, 1.25);
  g_assert_false (gradus_axis_get_zoomed (axis));
  for (guint i = 0; i < 5; i++)
    gradus_axis_zoom_around (axis, 250, 0.8);
  gradus_axis_get_range (axis, &x0, &x1);
  /* The point under the pointer stays where it was. */
  g_assert_cmpfloat_with_epsilon ((250 - x0) / (x1 - x0), 0.25, 1e-9);
  g_assert_cmpfloat_with_epsilon (x1 - x0, 1000 * pow (0.8, 5), 1e-6);
  g_assert_true (gradus_axis_zoom_back (axis));
  assert_range (axis, 0, 1000);
  /* There is a closest. */
  for (guint i = 0; i < 2000; i++)
    gradus_axis_zoom_around (axis, 250, 0.5);
  gradus_axis_get_range (axis, &x0, &x1);
  g_assert_cmpfloat (x1, >, x0);
  for (guint i = 0; i < 300; i++)
    gradus_axis_zoom_around (axis, 250, 2.0);
  assert_range (axis, 0, 1000);
  g_assert_false (gradus_axis_get_zoomed (axis));
}

static void
test_cursor_and_selection (void)
{
  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  guint  cursors = 0, selections = 0;
  double x0, x1;

  g_signal_connect_swapped (axis, "cursor-changed", G_CALLBACK (count_cb), &cursors);
  g_signal_connect_swapped (axis, "selection-changed", G_CALLBACK (count_cb), &selections);
  g_assert_true (isnan (gradus_axis_get_cursor (axis)));
  gradus_axis_set_cursor (axis, NAN);
  gradus_axis_set_cursor (axis, 5);
  gradus_axis_set_cursor (axis, 5);
  g_assert_cmpuint (cursors, ==, 1);
  g_assert_false (gradus_axis_get_selection (axis, &x0, &x1));
  gradus_axis_set_selection (axis, 9, 3);
  gradus_axis_set_selection (axis, 3, 9);
  g_assert_cmpuint (selections, ==, 1);
  g_assert_true (gradus_axis_get_selection (axis, &x0, &x1));
  g_assert_cmpfloat (x0, ==, 3);
  gradus_axis_set_kind (axis, GRADUS_X_TIME);
  g_assert_true (isnan (gradus_axis_get_cursor (axis)));
  g_assert_false (gradus_axis_get_selection (axis, &x0, &x1));
  g_assert_cmpuint (cursors, ==, 2);
}

static void
test_kind (void)
{
  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  guint kinds = 0;

  g_signal_connect_swapped (axis, "notify::kind", G_CALLBACK (count_cb), &kinds);
  gradus_axis_set_extent (axis, &owners[0], 0, 1000);
  gradus_axis_zoom (axis, 10, 20);
  gradus_axis_set_expected_end (axis, GRADUS_X_EPOCH, 25);
  g_object_set (axis, "kind", GRADUS_X_EPOCH, NULL);
  g_object_set (axis, "kind", GRADUS_X_EPOCH, NULL);
  g_assert_cmpuint (kinds, ==, 1);
  g_assert_false (gradus_axis_get_zoomed (axis));
  assert_range (axis, 0, 25);
  g_assert_false (gradus_axis_zoom_back (axis));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/axis/follow", test_follow);
  g_test_add_func ("/axis/zoom", test_zoom);
  g_test_add_func ("/axis/slide", test_slide);
  g_test_add_func ("/axis/wheel", test_wheel);
  g_test_add_func ("/axis/cursor-and-selection", test_cursor_and_selection);
  g_test_add_func ("/axis/kind", test_kind);
  return g_test_run ();
}
