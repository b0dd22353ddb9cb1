/* SPDX-License-Identifier: Apache-2.0 */
#include "demo-curves.h"
#include "gradus-histogram-plot.h"
#include "gradus-histogram-view.h"
#include "test-display.h"

#include <math.h>

static void
test_item (void)
{
  const double         edges[] = { 0, 1, 2, 4 };
  const double         counts[] = { 1, 0, 3 };
  const double         falling[] = { 0, 2, 1, 4 };
  const double         negative[] = { 1, -1, 3 };
  const double         broken[] = { 1, NAN, 3 };
  GradusHistogramStats stats = { .min = 0, .max = 4, .count = 4 };
  double               density[4000], sum = 0.0;
  GradusHistogramItem *item = gradus_histogram_item_new (5, 1.0, 100, edges, counts, 3, &stats);

  g_assert_nonnull (item);
  g_assert_cmpfloat (gradus_histogram_item_quantile (item, 0.0), ==, 0.0);
  g_assert_cmpfloat (gradus_histogram_item_quantile (item, 0.25), ==, 1.0);
  g_assert_cmpfloat_with_epsilon (gradus_histogram_item_quantile (item, 0.625), 3.0, 1e-12);
  g_assert_cmpfloat (gradus_histogram_item_quantile (item, 1.0), ==, 4.0);
  /* Cells as wide as a bin or wider hold exactly its share. */
  gradus_histogram_item_resample (item, 0, 4, 4, density);
  g_assert_cmpfloat_with_epsilon (density[0], 0.25, 1e-12);
  g_assert_cmpfloat_with_epsilon (density[1], 0.0, 1e-12);
  gradus_histogram_item_resample (item, 0, 4, 2, density);
  g_assert_cmpfloat_with_epsilon (density[0], 0.125, 1e-12);
  g_assert_cmpfloat_with_epsilon (density[1], 0.375, 1e-12);
  gradus_histogram_item_resample (item, -4, 8, 4000, density);
  for (guint i = 0; i < 4000; i++)
    {
      g_assert_cmpfloat (density[i], >=, 0.0);
      sum += density[i] * 12.0 / 4000;
    }
  g_assert_cmpfloat (fabs (sum - 1.0), <, 0.2);
  g_assert_cmpfloat (density[0], ==, 0.0);
  g_assert_finalize_object (item);

  g_assert_null (gradus_histogram_item_new (5, 1.0, 100, falling, counts, 3, &stats));
  g_assert_null (gradus_histogram_item_new (5, 1.0, 100, edges, negative, 3, &stats));
  g_assert_null (gradus_histogram_item_new (5, 1.0, 100, edges, broken, 3, &stats));
}

static GListStore *
make_model (guint n)
{
  GListStore *model = g_list_store_new (GRADUS_TYPE_HISTOGRAM_ITEM);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusHistogramItem) item = demo_histogram ((gint64) i * DEMO_STEPS_PER_EPOCH);

      g_list_store_append (model, item);
    }
  return model;
}

static GtkWidget *
find_plot (GtkWidget *widget)
{
  if (GRADUS_IS_HISTOGRAM_PLOT (widget))
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_plot (child);

      if (found != NULL)
        return found;
    }
  return NULL;
}

static void
test_follow (void)
{
  GtkWidget           *widget = gradus_histogram_view_new ("Weights");
  GradusHistogramView *view = GRADUS_HISTOGRAM_VIEW (widget);
  g_autoptr (GListStore) model = make_model (5);
  g_autoptr (GListStore) more = make_model (7);
  g_autoptr (GradusHistogramItem) sixth = g_list_model_get_item (G_LIST_MODEL (more), 5);
  g_autoptr (GradusHistogramItem) seventh = g_list_model_get_item (G_LIST_MODEL (more), 6);
  GtkWidget *window;
  guint      notifications;

  gradus_histogram_view_set_model (view, G_LIST_MODEL (model));
  window = test_open (widget, 800, 300);
  g_assert_cmpuint (gradus_histogram_view_get_position (view), ==, 4);
  test_count_notify (view, "position", &notifications);
  g_list_store_append (model, sixth);
  g_assert_cmpuint (gradus_histogram_view_get_position (view), ==, 5);
  g_assert_cmpuint (notifications, ==, 1);
  gradus_histogram_view_set_position (view, 2);
  gradus_histogram_view_set_position (view, 2);
  g_list_store_append (model, seventh);
  g_assert_cmpuint (gradus_histogram_view_get_position (view), ==, 2);
  g_assert_cmpuint (notifications, ==, 2);
  g_list_store_remove_all (model);
  g_assert_cmpuint (gradus_histogram_view_get_position (view), ==, 0);
  test_wait (60);
  gtk_test_accessible_assert_property (find_plot (widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       "Weights: no histograms yet");
  test_close (window);
}

static void
test_spoken (void)
{
  GtkWidget *widget = gradus_histogram_view_new ("Weights");
  g_autoptr (GListStore) model = make_model (20);
  GtkWidget *window, *plot;

  gradus_histogram_view_set_model (GRADUS_HISTOGRAM_VIEW (widget), G_LIST_MODEL (model));
  window = test_open (widget, 800, 300);
  plot = find_plot (widget);
  gtk_test_accessible_assert_role (widget, GTK_ACCESSIBLE_ROLE_GROUP);
  gtk_test_accessible_assert_role (plot, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_test_accessible_assert_property (plot, GTK_ACCESSIBLE_PROPERTY_LABEL, "Weights");
  gtk_test_accessible_assert_property (plot, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       "Weights: 20 histograms; at step 16\u00a0340 mean \u22120.0031, deviation "
                                       "0.0379, from \u22120.4120 to 0.2864");
  test_close (window);
}

static void
test_linked (void)
{
  GtkWidget *widget = gradus_histogram_view_new ("Weights");
  g_autoptr (GListStore) model = make_model (20);
  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  GtkWidget           *window;
  GradusHistogramPlot *plot;

  gradus_axis_set_kind (axis, GRADUS_X_EPOCH);
  gradus_histogram_view_set_axis (GRADUS_HISTOGRAM_VIEW (widget), axis);
  gradus_histogram_view_set_model (GRADUS_HISTOGRAM_VIEW (widget), G_LIST_MODEL (model));
  window = test_open (widget, 800, 300);
  plot = GRADUS_HISTOGRAM_PLOT (find_plot (widget));
  g_assert_cmpuint (plot->position, ==, 19);
  gradus_axis_set_cursor (axis, 7.4);
  g_assert_cmpuint (plot->position, ==, 7);
  gradus_axis_set_cursor (axis, NAN);
  g_assert_cmpuint (plot->position, ==, 19);
  test_close (window);
}

static void
test_modes (void)
{
  GtkWidget           *widget = gradus_histogram_view_new ("Weights");
  GradusHistogramView *view = GRADUS_HISTOGRAM_VIEW (widget);
  GListStore          *model = make_model (40);
  GtkWidget           *window;
  GradusHistogramPlot *plot;
  GradusPalette        palette;
  guint                notifications, position = 0;

  g_object_add_weak_pointer (G_OBJECT (widget), (gpointer *) &widget);
  gradus_histogram_view_set_model (view, G_LIST_MODEL (model));
  window = test_open (widget, 800, 300);
  plot = GRADUS_HISTOGRAM_PLOT (find_plot (widget));
  gradus_palette_read (&palette, widget);
  test_count_notify (view, "mode", &notifications);
  for (int mode = 0; mode <= GRADUS_HISTOGRAM_HEAT_MAP; mode++)
    {
      gradus_histogram_view_set_mode (view, (GradusHistogramMode) mode);
      test_wait (60);
      g_assert_cmpuint (test_count_pixels (GTK_WIDGET (plot), &palette.run[0], 0.06), >, 100);
      /* The newest is found where it stands: in front, or at the right. */
      g_assert_true (gradus_histogram_plot_pick (
          plot, mode < GRADUS_HISTOGRAM_DISTRIBUTION ? plot->geometry.left + 2 : plot->geometry.left + plot->geometry.width,
          plot->geometry.top + plot->geometry.height, &position));
      if (mode != GRADUS_HISTOGRAM_OVERLAY)
        g_assert_cmpuint (position, ==, 39);
    }
  g_assert_cmpuint (notifications, ==, 3);
  test_close (window);
  g_assert_null (widget);
  g_assert_finalize_object (model);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  g_test_add_func ("/histogram/item", test_item);
  g_test_add_func ("/histogram/follow", test_follow);
  g_test_add_func ("/histogram/spoken", test_spoken);
  g_test_add_func ("/histogram/linked", test_linked);
  g_test_add_func ("/histogram/modes", test_modes);
  return g_test_run ();
}
