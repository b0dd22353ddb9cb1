/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-point-series.h"

#include <math.h>

#define N_ROUNDS 60
#define MAX_POINTS 9000

static GRand *dice;

/* Values in which every kind of trouble occurs, in runs as long as a bucket now and then. */
static double
random_value (void)
{
  static int    left;
  static double repeated;

  if (left > 0)
    {
      left--;
      return repeated;
    }
  switch (g_rand_int_range (dice, 0, 40))
    {
    case 0:
      return NAN;
    case 1:
      return INFINITY;
    case 2:
      return -INFINITY;
    case 3:
      left = g_rand_int_range (dice, 0, 200);
      repeated = g_rand_boolean (dice) ? NAN : INFINITY;
      return repeated;
    default:
      return g_rand_double_range (dice, -10.0, 10.0);
    }
}

static GradusPointSeries *
random_series (guint n)
{
  GradusPointSeries *series = gradus_point_series_new ();
  gint64             step = 0, time = 0;

  for (guint i = 0; i < n; i++)
    {
      step += g_rand_int_range (dice, 1, 4);
      time += g_rand_int_range (dice, 0, 30);
      g_assert_true (gradus_point_series_add (series, step, time, random_value ()));
    }
  return series;
}

static gboolean
same (double a, double b)
{
  return a == b || (isnan (a) && isnan (b));
}

static GArray *
read_all (GradusSeries *series, GradusXKind kind)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (GradusPoint));
  double  x0, x1;
  guint64 n = gradus_series_get_n_points (series);

  g_array_set_size (points, (guint) n);
  if (n > 0)
    {
      g_assert_true (gradus_series_get_x_range (series, kind, &x0, &x1));
      g_assert_cmpuint (gradus_series_get_points (series, kind, x0, x1, n, (GradusPoint *) (gpointer) points->data), ==, n);
    }
  return points;
}

static void
count_value (GradusColumn *column, double value)
{
  column->count++;
  column->n_nan += isnan (value) ? 1 : 0;
  column->n_positive_infinite += isinf (value) && value > 0 ? 1 : 0;
  column->n_negative_infinite += isinf (value) && value < 0 ? 1 : 0;
  if (!isfinite (value))
    return;
  column->sum += value;
  column->min = isnan (column->min) ? value : MIN (column->min, value);
  column->max = isnan (column->max) ? value : MAX (column->max, value);
  column->first = isnan (column->first) ? value : column->first;
  column->last = value;
}

static void
check_reduce (GradusSeries *series, GradusXKind kind, double x0, double x1, guint n)
{
  g_autofree GradusColumn *columns = g_new (GradusColumn, n);
  g_autofree GradusColumn *expected = g_new0 (GradusColumn, n);
  g_autoptr (GArray) points = read_all (series, kind);

  for (guint i = 0; i < n; i++)
    expected[i].min = expected[i].max = expected[i].first = expected[i].last = NAN;
  for (guint i = 0; i < points->len; i++)
    {
      const GradusPoint *point = &g_array_index (points, GradusPoint, i);

      for (guint c = 0; c < n; c++)
        {
          double from = c == 0 ? x0 : x0 + (x1 - x0) * c / n, to = x0 + (x1 - x0) * (c + 1) / n;

          if (point->x >= from && (c + 1 == n ? point->x <= x1 : point->x < to))
            count_value (&expected[c], point->value);
        }
    }
  gradus_series_reduce (series, kind, x0, x1, n, columns);
  for (guint c = 0; c < n; c++)
    {
      g_assert_cmpuint (columns[c].count, ==, expected[c].count);
      g_assert_cmpuint (columns[c].n_nan, ==, expected[c].n_nan);
      g_assert_cmpuint (columns[c].n_positive_infinite, ==, expected[c].n_positive_infinite);
      g_assert_cmpuint (columns[c].n_negative_infinite, ==, expected[c].n_negative_infinite);
      g_assert_true (same (columns[c].min, expected[c].min));
      g_assert_true (same (columns[c].max, expected[c].max));
      g_assert_true (same (columns[c].first, expected[c].first));
      g_assert_true (same (columns[c].last, expected[c].last));
      g_assert_cmpfloat_with_epsilon (columns[c].sum, expected[c].sum, 1e-6);
    }
}

static void
test_reduce (void)
{
  for (guint round = 0; round < N_ROUNDS; round++)
    {
      guint n = (guint) g_rand_int_range (dice, 0, round % 3 == 0 ? MAX_POINTS : 300);
      g_autoptr (GradusPointSeries) series = random_series (n);
      double last = 3.0 * n + 2.0;
      double x0 = g_rand_double_range (dice, -5.0, last), x1 = x0 + g_rand_double_range (dice, 0.1, last);

      check_reduce (GRADUS_SERIES (series), GRADUS_X_STEP, x0, x1, (guint) g_rand_int_range (dice, 1, 60));
      check_reduce (GRADUS_SERIES (series), GRADUS_X_STEP, 0.0, last, (guint) g_rand_int_range (dice, 1, 60));
      check_reduce (GRADUS_SERIES (series), GRADUS_X_TIME, 0.0, 15.0 * n / 1000.0 + 1.0, 17);
    }
}

/* Every extreme is in a column at every zoom, at a size where brute force still ends. */
static void
test_extremes_survive (void)
{
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  guint n = 200000;

  for (guint i = 0; i < n; i++)
    gradus_point_series_add (series, i + 1, i, i == 123456 ? 1e6 : i == 7 ? -1e6 : sin (i));
  for (guint columns = 1; columns <= 2048; columns *= 2)
    {
      g_autofree GradusColumn *out = g_new (GradusColumn, columns);
      double high = -INFINITY, low = INFINITY;

      gradus_series_reduce (GRADUS_SERIES (series), GRADUS_X_STEP, 1, n, columns, out);
      for (guint i = 0; i < columns; i++)
        {
          high = fmax (high, out[i].max);
          low = fmin (low, out[i].min);
        }
      g_assert_cmpfloat (high, ==, 1e6);
      g_assert_cmpfloat (low, ==, -1e6);
    }
}

static void
test_cut (void)
{
  for (guint round = 0; round < N_ROUNDS; round++)
    {
      guint n = (guint) g_rand_int_range (dice, 1, MAX_POINTS);
      g_autoptr (GradusPointSeries) series = random_series (n);
      g_autoptr (GArray) before = read_all (GRADUS_SERIES (series), GRADUS_X_STEP);
      gint64 cut = g_rand_int_range (dice, 0, (gint32) gradus_point_series_get_last_step (series) + 2);
      guint  kept = 0;

      while (kept < n && g_array_index (before, GradusPoint, kept).step < cut)
        kept++;
      gradus_point_series_cut (series, cut);
      g_assert_cmpuint (gradus_series_get_n_points (GRADUS_SERIES (series)), ==, kept);
      g_assert_cmpint (gradus_point_series_get_last_step (series), ==,
                       kept > 0 ? g_array_index (before, GradusPoint, kept - 1).step : -1);
      for (guint i = 0; i < 200; i++)
        gradus_point_series_add (series, cut + i, 1000000 + i, random_value ());
      check_reduce (GRADUS_SERIES (series), GRADUS_X_STEP, 0, 3.0 * n + 300.0, 31);
    }
}

static void
test_append_refuses (void)
{
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  const gint64 steps[] = { 1, 2, 2, 1, 5 };
  const gint64 times[] = { 10, 30, 40, 50, 20 };
  const double values[] = { 1, 2, 3, 4, 5 };
  GradusPoint  last;

  g_assert_cmpuint (gradus_point_series_append (series, steps, times, values, 5), ==, 3);
  g_assert_false (gradus_point_series_add (series, 5, 0, 1.0));
  g_assert_true (gradus_series_get_last (GRADUS_SERIES (series), &last));
  g_assert_cmpint (last.step, ==, 5);
  /* A clock that goes back is drawn standing still. */
  g_assert_cmpint (last.time, ==, 30);
  gradus_point_series_clear (series);
  g_assert_false (gradus_series_get_last (GRADUS_SERIES (series), &last));
}

static void
test_points_and_nearest (void)
{
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  GradusSeries *base = GRADUS_SERIES (series);
  GradusPoint   points[8], point;

  for (gint64 step = 10; step <= 60; step += 10)
    gradus_point_series_add (series, step, step * 100, (double) step);
  /* One more at each side, so that a line reaches the edges. */
  g_assert_cmpuint (gradus_series_get_points (base, GRADUS_X_STEP, 25, 45, 8, points), ==, 4);
  g_assert_cmpint (points[0].step, ==, 20);
  g_assert_cmpint (points[3].step, ==, 50);
  g_assert_cmpuint (gradus_series_get_points (base, GRADUS_X_STEP, 25, 45, 0, NULL), ==, 4);
  g_assert_true (gradus_series_get_nearest (base, GRADUS_X_STEP, 34.9, &point));
  g_assert_cmpint (point.step, ==, 30);
  g_assert_true (gradus_series_get_nearest (base, GRADUS_X_TIME, 5.6, &point));
  g_assert_cmpint (point.step, ==, 60);
  g_assert_true (gradus_series_get_nearest (base, GRADUS_X_STEP, -1e9, &point));
  g_assert_cmpint (point.step, ==, 10);
  g_assert_false (gradus_series_get_nearest (base, GRADUS_X_STEP, NAN, &point));
  g_assert_true (gradus_series_get_extreme (base, TRUE, &point));
  g_assert_cmpint (point.step, ==, 60);
  g_assert_true (gradus_series_get_extreme (base, FALSE, &point));
  g_assert_cmpint (point.step, ==, 10);
}

static void
test_epochs (void)
{
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  GradusSeries *base = GRADUS_SERIES (series);
  const gint64  steps[] = { 0, 100, 150, 400 };
  const double  epochs[] = { 0, 1, 2, 3 };
  double        x0, x1;

  gradus_point_series_add (series, 50, 500, 1.0);
  gradus_point_series_add (series, 275, 3000, 2.0);
  g_assert_cmpfloat (gradus_series_epoch_of_step (base, 7), ==, 7);
  gradus_series_set_epochs (base, steps, epochs, 4);
  g_assert_cmpfloat (gradus_series_epoch_of_step (base, 50), ==, 0.5);
  g_assert_cmpfloat (gradus_series_epoch_of_step (base, 125), ==, 1.5);
  g_assert_cmpfloat (gradus_series_epoch_of_step (base, 650), ==, 4.0);
  for (gint64 step = 0; step < 700; step += 13)
    g_assert_cmpfloat_with_epsilon (gradus_series_step_of_epoch (base, gradus_series_epoch_of_step (base, (double) step)),
                                    (double) step, 1e-9);
  g_assert_true (gradus_series_get_x_range (base, GRADUS_X_EPOCH, &x0, &x1));
  g_assert_cmpfloat (x0, ==, 0.5);
  g_assert_cmpfloat (x1, ==, 2.5);
  g_assert_cmpfloat (gradus_series_x_of_step (base, GRADUS_X_TIME, 50), ==, 0.5);
  g_assert_cmpfloat_with_epsilon (gradus_series_x_of_step (base, GRADUS_X_TIME, 25), 0.25, 1e-9);
  g_assert_cmpfloat (gradus_series_x_of_step (base, GRADUS_X_TIME, 900), ==, 3.0);
  gradus_series_set_steps_per_epoch (base, 50);
  g_assert_cmpfloat (gradus_series_epoch_of_step (base, 125), ==, 2.5);
  check_reduce (base, GRADUS_X_EPOCH, 0.0, 6.0, 3);
}

static void
check_smooth (GradusPointSeries *series, GradusSeries *smooth, double weight)
{
  guint64       n = gradus_series_get_n_points (GRADUS_SERIES (series));
  const double *values = gradus_point_series_get_values (series);
  g_autoptr (GArray) points = read_all (smooth, GRADUS_X_STEP);
  double sum = 0.0;
  guint  k = 0;

  g_assert_cmpuint (points->len, ==, n);
  for (guint i = 0; i < n; i++)
    {
      double got = g_array_index (points, GradusPoint, i).value;

      if (isfinite (values[i]))
        {
          sum = weight * sum + (1.0 - weight) * values[i];
          k++;
        }
      if (k == 0)
        g_assert_true (isnan (got));
      else
        g_assert_cmpfloat_with_epsilon (got, sum / (1.0 - pow (weight, k)), 1e-9);
    }
}

static void
test_smooth (void)
{
  for (guint round = 0; round < 12; round++)
    {
      double weight = round % 2 == 0 ? 0.9 : 0.999;
      g_autoptr (GradusPointSeries) series = random_series ((guint) g_rand_int_range (dice, 1, MAX_POINTS));
      g_autoptr (GradusSeries) smooth = gradus_series_smooth (GRADUS_SERIES (series), weight);
      gint64 cut;

      check_smooth (series, smooth, weight);
      /* As the series grows, and after its tail was written anew. */
      for (guint i = 0; i < 100; i++)
        gradus_point_series_add (series, gradus_point_series_get_last_step (series) + 1, 0, random_value ());
      check_smooth (series, smooth, weight);
      cut = gradus_point_series_get_last_step (series) / 2;
      gradus_point_series_cut (series, cut);
      check_smooth (series, smooth, weight);
      for (guint i = 0; i < 5000; i++)
        gradus_point_series_add (series, cut + i, 0, random_value ());
      check_smooth (series, smooth, weight);
    }
}

/* A long series is averaged in slices, and is whole in the end. */
static void
test_smooth_long (void)
{
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  g_autoptr (GradusSeries) smooth = NULL;
  guint n = 1200000;

  gradus_point_series_reserve (series, n);
  for (guint i = 0; i < n; i++)
    gradus_point_series_add (series, i + 1, 0, 2.5);
  smooth = gradus_series_smooth (GRADUS_SERIES (series), 0.99);
  g_assert_cmpuint (gradus_series_get_n_points (smooth), <, n);
  while (gradus_series_get_n_points (smooth) < n)
    g_main_context_iteration (NULL, TRUE);
  {
    GradusPoint last;

    g_assert_true (gradus_series_get_last (smooth, &last));
    g_assert_cmpint (last.step, ==, n);
    g_assert_cmpfloat_with_epsilon (last.value, 2.5, 1e-9);
  }
}

static void
count_cb (GradusSeries *series, guint *count)
{
  (*count)++;
}

static void
test_changed_once (void)
{
  GradusPointSeries *series = gradus_point_series_new ();
  guint              count = 0;

  g_signal_connect (series, "changed", G_CALLBACK (count_cb), &count);
  for (gint64 i = 1; i <= 1000; i++)
    gradus_point_series_add (series, i, i, 0.5);
  gradus_series_set_steps_per_epoch (GRADUS_SERIES (series), 10);
  g_assert_cmpuint (count, ==, 0);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (count, ==, 1);
  /* The same map again is no change, and a pending signal does not outlive the series. */
  gradus_series_set_steps_per_epoch (GRADUS_SERIES (series), 10);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (count, ==, 1);
  gradus_point_series_add (series, 2000, 0, 1.0);
  g_assert_finalize_object (series);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (count, ==, 1);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  dice = g_rand_new_with_seed (20240611);
  g_test_add_func ("/series/reduce", test_reduce);
  g_test_add_func ("/series/extremes-survive", test_extremes_survive);
  g_test_add_func ("/series/cut", test_cut);
  g_test_add_func ("/series/append-refuses", test_append_refuses);
  g_test_add_func ("/series/points-and-nearest", test_points_and_nearest);
  g_test_add_func ("/series/epochs", test_epochs);
  g_test_add_func ("/series/smooth", test_smooth);
  g_test_add_func ("/series/smooth-long", test_smooth_long);
  g_test_add_func ("/series/changed-once", test_changed_once);
  status = g_test_run ();
  g_rand_free (dice);
  return status;
}
