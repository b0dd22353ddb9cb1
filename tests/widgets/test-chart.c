/* SPDX-License-Identifier: Apache-2.0 */
#include "demo-curves.h"
#include "gradus-chart-private.h"
#include "gradus-point-series.h"
#include "test-display.h"

#include <math.h>

static GtkWidget *
make_chart (GradusPointSeries **train, GradusPointSeries **validation)
{
  GtkWidget *chart = gradus_chart_new ("Loss");
  g_autoptr (GradusLine) first = NULL;
  g_autoptr (GradusLine) second = NULL;

  *train = demo_series (DEMO_TRAIN_LOSS, 0, 5000);
  *validation = demo_series (DEMO_VALIDATION_LOSS, 0, 5000);
  first = gradus_line_new (GRADUS_SERIES (*train), 7, "cnn-7", GRADUS_LINE_TRAIN, 0, GRADUS_LINE_BAND);
  second = gradus_line_new (GRADUS_SERIES (*validation), 7, "cnn-7", GRADUS_LINE_VALIDATION, 0,
                            GRADUS_LINE_BEST_LOWEST | GRADUS_LINE_END_DOT);
  gradus_chart_add_line (GRADUS_CHART (chart), first);
  gradus_chart_add_line (GRADUS_CHART (chart), second);
  gradus_chart_add_line (GRADUS_CHART (chart), second);
  g_assert_cmpuint (gradus_chart_get_lines (GRADUS_CHART (chart))->len, ==, 2);
  return chart;
}

static void
test_spoken (void)
{
  g_autoptr (GradusPointSeries) train = NULL;
  g_autoptr (GradusPointSeries) validation = NULL;
  GtkWidget *chart = make_chart (&train, &validation);
  GtkWidget *window = test_open (chart, 500, 300);

  gtk_test_accessible_assert_role (chart, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_test_accessible_assert_property (chart, GTK_ACCESSIBLE_PROPERTY_LABEL, "Loss");
  test_wait (1100);
  {
    g_autofree char *summary = gradus_chart_summarize (GRADUS_CHART (chart));

    g_assert_true (g_str_has_prefix (summary, "Loss: run cnn-7 train 0."));
    g_assert_nonnull (strstr (summary, ", validation 0."));
    g_assert_nonnull (strstr (summary, ", best 0."));
    g_assert_true (g_str_has_suffix (summary, " at step 4\u00a0300"));
    gtk_test_accessible_assert_property (chart, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, summary);
  }
  /* What comes is said within a second. */
  gradus_point_series_add (train, 6000, 60000, 0.0625);
  gradus_point_series_add (train, 6001, 60001, NAN);
  gradus_point_series_add (train, 6002, 60002, 0.125);
  test_wait (1300);
  {
    g_autofree char *summary = gradus_chart_summarize (GRADUS_CHART (chart));

    g_assert_true (g_str_has_prefix (summary, "Loss: run cnn-7 train 0.125, "));
    g_assert_nonnull (strstr (summary, "1 value is not finite"));
    gtk_test_accessible_assert_property (chart, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, summary);
  }
  gradus_chart_clear_lines (GRADUS_CHART (chart));
  test_wait (1300);
  gtk_test_accessible_assert_property (chart, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "Loss: no values yet");
  test_close (window);
}

static void
test_drawn (void)
{
  g_autoptr (GradusPointSeries) train = NULL;
  g_autoptr (GradusPointSeries) validation = NULL;
  GtkWidget    *chart = make_chart (&train, &validation);
  GtkWidget    *window = test_open (chart, 500, 300);
  GradusPalette palette;
  guint         with, without;

  gradus_palette_read (&palette, chart);
  with = test_count_pixels (GRADUS_CHART (chart)->data, &palette.run[0], 0.03);
  g_assert_cmpuint (with, >, 300);
  gradus_chart_clear_lines (GRADUS_CHART (chart));
  test_wait (60);
  without = test_count_pixels (GRADUS_CHART (chart)->frame, &palette.run[0], 0.03);
  g_assert_cmpuint (without, ==, 0);
  test_close (window);
}

/* A spike of one point among a million is on the screen, and so is what is not finite. */
static void
test_spike_is_seen (void)
{
  GtkWidget *chart = gradus_chart_new ("Norm");
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  g_autoptr (GradusLine) line = gradus_line_new (GRADUS_SERIES (series), 1, "a", GRADUS_LINE_VALUE, 1, GRADUS_LINE_PLAIN);
  GtkWidget     *window;
  GradusPalette  palette;
  int            width, height;
  guint          top = 0, errors;
  GradusPlot     plot;

  for (gint64 i = 1; i <= 1000000; i++)
    gradus_point_series_add (series, i, i, i == 300007 ? 10.0 : i == 500000 ? NAN : fmod ((double) i * 0.37, 1.0));
  gradus_chart_add_line (GRADUS_CHART (chart), line);
  window = test_open (chart, 500, 300);
  gradus_palette_read (&palette, chart);
  plot = GRADUS_CHART (chart)->plot;
  {
    g_autofree guint32 *pixels = test_grab (GRADUS_CHART (chart)->data, &width, &height);
    int y = (int) gradus_plot_get_py (&plot, 8.0), x0 = (int) plot.left, x1 = (int) (plot.left + plot.width);

    for (int x = x0; x < x1; x++)
      if ((pixels[y * width + x] >> 24) > 200)
        top++;
  }
  g_assert_cmpuint (top, >=, 1);
  g_assert_cmpuint (top, <=, 3);
  errors = test_count_pixels (GRADUS_CHART (chart)->data, &palette.error, 0.03);
  g_assert_cmpuint (errors, >=, 6);
  test_close (window);
}

static void
test_keys (void)
{
  g_autoptr (GradusPointSeries) train = NULL;
  g_autoptr (GradusPointSeries) validation = NULL;
  GtkWidget  *widget = make_chart (&train, &validation);
  GtkWidget  *other = gradus_chart_new ("Other");
  GtkWidget  *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  GtkWidget  *window;
  GradusChart *chart = GRADUS_CHART (widget);
  GradusAxis *axis = gradus_chart_get_axis (chart);
  double      first, x0, x1;

  gradus_chart_set_axis (GRADUS_CHART (other), axis);
  gtk_box_append (GTK_BOX (box), widget);
  gtk_box_append (GTK_BOX (box), other);
  window = test_open (box, 900, 300);
  g_assert_true (gtk_widget_get_focusable (widget));

  g_assert_true (gradus_chart_key (chart, GDK_KEY_Right, 0));
  first = gradus_axis_get_cursor (axis);
  g_assert_cmpfloat (first, ==, 1.0);
  g_assert_true (gradus_chart_key (chart, GDK_KEY_Right, 0));
  g_assert_cmpfloat (gradus_axis_get_cursor (axis), >, first);
  g_assert_true (gradus_chart_key (chart, GDK_KEY_Right, GDK_CONTROL_MASK));
  g_assert_cmpfloat (gradus_axis_get_cursor (axis), >, 400);
  {
    /* The value at the cursor is said. */
    g_autofree char *spoken = g_strdup (chart->spoken);

    g_assert_true (g_str_has_prefix (spoken, "step 5"));
    g_assert_nonnull (strstr (spoken, ", train "));
    gtk_test_accessible_assert_property (widget, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, spoken);
  }
  for (guint i = 0; i < 3; i++)
    g_assert_true (gradus_chart_key (chart, GDK_KEY_plus, 0));
  gradus_axis_get_range (axis, &x0, &x1);
  g_assert_cmpfloat (x1 - x0, <, 5000 * 0.55);
  test_wait (60);
  /* The other chart shows the same. */
  g_assert_cmpfloat (GRADUS_CHART (other)->plot.x1, ==, x1);
  g_assert_true (gradus_chart_key (chart, GDK_KEY_BackSpace, 0));
  g_assert_true (gradus_chart_key (chart, GDK_KEY_plus, 0));
  g_assert_true (gradus_chart_key (chart, GDK_KEY_Home, 0));
  gradus_axis_get_range (axis, &x0, &x1);
  g_assert_cmpfloat (x1, ==, 5000);
  g_assert_true (gradus_chart_key (chart, GDK_KEY_Escape, 0));
  g_assert_true (isnan (gradus_axis_get_cursor (axis)));
  g_assert_false (gradus_chart_key (chart, GDK_KEY_Escape, 0));
  g_assert_false (gradus_chart_key (chart, GDK_KEY_Page_Up, 0));
  g_assert_false (gradus_chart_key (chart, GDK_KEY_Tab, 0));
  test_close (window);
}

/* A sparse line is walked point by point, there and back. */
static void
test_walk (void)
{
  GtkWidget *widget = gradus_chart_new ("Validation");
  g_autoptr (GradusPointSeries) series = demo_series (DEMO_VALIDATION_LOSS, 0, 8600);
  g_autoptr (GradusLine) line = gradus_line_new (GRADUS_SERIES (series), 1, "", GRADUS_LINE_VALIDATION, 0, 0);
  GtkWidget  *window;
  GradusAxis *axis = gradus_chart_get_axis (GRADUS_CHART (widget));

  gradus_chart_add_line (GRADUS_CHART (widget), line);
  window = test_open (widget, 500, 300);
  for (guint i = 1; i <= 10; i++)
    {
      g_assert_true (gradus_chart_key (GRADUS_CHART (widget), GDK_KEY_Right, 0));
      g_assert_cmpfloat (gradus_axis_get_cursor (axis), ==, i * 860.0);
    }
  g_assert_true (gradus_chart_key (GRADUS_CHART (widget), GDK_KEY_Right, 0));
  g_assert_cmpfloat (gradus_axis_get_cursor (axis), ==, 8600.0);
  g_assert_true (gradus_chart_key (GRADUS_CHART (widget), GDK_KEY_Left, 0));
  g_assert_cmpfloat (gradus_axis_get_cursor (axis), ==, 7740.0);
  test_close (window);
}

static void
test_properties (void)
{
  GtkWidget   *widget = g_object_ref_sink (gradus_chart_new ("A"));
  GradusChart *chart = GRADUS_CHART (widget);
  guint        titles, smoothings, robusts, scales;

  test_count_notify (chart, "title", &titles);
  test_count_notify (chart, "smoothing", &smoothings);
  test_count_notify (chart, "robust", &robusts);
  test_count_notify (chart, "scale", &scales);
  for (guint i = 0; i < 2; i++)
    {
      gradus_chart_set_title (chart, "B");
      gradus_chart_set_smoothing (chart, 0.9);
      gradus_chart_set_robust (chart, TRUE);
      gradus_chart_set_scale (chart, GRADUS_SCALE_LOG);
    }
  g_assert_cmpuint (titles, ==, 1);
  g_assert_cmpuint (smoothings, ==, 1);
  g_assert_cmpuint (robusts, ==, 1);
  g_assert_cmpuint (scales, ==, 1);
  g_assert_cmpstr (gradus_chart_get_title (chart), ==, "B");
  g_assert_cmpfloat (gradus_chart_get_smoothing (chart), ==, 0.9);
  g_assert_finalize_object (widget);
}

static void
test_ranges (void)
{
  GtkWidget *widget = gradus_chart_new ("Loss");
  g_autoptr (GradusPointSeries) series = gradus_point_series_new ();
  g_autoptr (GradusLine) line = gradus_line_new (GRADUS_SERIES (series), 1, "", GRADUS_LINE_VALUE, 0, 0);
  GradusChart *chart = GRADUS_CHART (widget);
  GtkWidget   *window;

  for (gint64 i = 1; i <= 2000; i++)
    gradus_point_series_add (series, i, i, i < 40 ? 100.0 : 0.2 + 1e-5 * (double) i);
  gradus_chart_add_line (chart, line);
  window = test_open (widget, 500, 300);
  g_assert_cmpfloat (chart->plot.y0, ==, 0.0);
  g_assert_cmpfloat (chart->plot.y1, >=, 100.0);
  gradus_chart_set_robust (chart, TRUE);
  test_wait (60);
  g_assert_cmpfloat (chart->plot.y1, <, 0.5);
  gradus_chart_set_y_range (chart, -1.0, 3.0);
  test_wait (60);
  g_assert_cmpfloat (chart->plot.y0, ==, -1.0);
  g_assert_cmpfloat (chart->plot.y1, ==, 3.0);
  gradus_chart_set_y_range (chart, NAN, NAN);
  gradus_chart_set_robust (chart, FALSE);
  gradus_chart_set_scale (chart, GRADUS_SCALE_LOG);
  gradus_chart_set_reference (chart, 1e-3, "floor");
  test_wait (60);
  g_assert_cmpfloat (chart->plot.y0, >, 0.0);
  g_assert_cmpfloat (chart->plot.y0, <=, 1e-3);
  g_assert_cmpuint (chart->y_ticks.n, >=, 3);
  test_close (window);
}

/* The first steps and a spike do not squeeze the curve, and are not passed over in silence; of a
   validation line everything is shown. */
static void
test_outside (void)
{
  GtkWidget *widget = gradus_chart_new ("Loss");
  g_autoptr (GradusPointSeries) train = gradus_point_series_new ();
  g_autoptr (GradusPointSeries) validation = gradus_point_series_new ();
  g_autoptr (GradusLine) train_line = gradus_line_new (GRADUS_SERIES (train), 1, "", GRADUS_LINE_TRAIN, 0, 0);
  g_autoptr (GradusLine) validation_line
      = gradus_line_new (GRADUS_SERIES (validation), 1, "", GRADUS_LINE_VALIDATION, 0, 0);
  GradusChart *chart = GRADUS_CHART (widget);
  GtkWidget   *window;
  g_autofree char *said = NULL;
  g_autofree char *said_of_all = NULL;
  g_autofree char *farthest = NULL;
  g_autofree char *expected = NULL;

  for (gint64 i = 1; i <= 2000; i++)
    gradus_point_series_add (train, i, i, i == 1500 ? 1500.0 : i < 20 ? 2.5 : 0.3);
  for (gint64 i = 1; i <= 10; i++)
    gradus_point_series_add (validation, 200 * i, 200 * i, i == 1 ? 0.9 : 0.4);
  gradus_chart_add_line (chart, train_line);
  gradus_chart_add_line (chart, validation_line);
  gradus_chart_set_robust (chart, TRUE);
  window = test_open (widget, 500, 300);
  g_assert_cmpfloat (chart->plot.y1, >=, 0.9);
  g_assert_cmpfloat (chart->plot.y1, <, 2.0);
  g_assert_cmpfloat (chart->outside_high, ==, 1500.0);
  g_assert_true (isnan (chart->outside_low));
  farthest = gradus_format_value (1500.0, GRADUS_UNIT_NONE);
  expected = g_strconcat ("highest ", farthest, NULL);
  said = gradus_chart_summarize (chart);
  g_assert_nonnull (strstr (said, expected));
  /* Who chose the range is not told of it. */
  gradus_chart_set_y_range (chart, 0.0, 1.0);
  test_wait (60);
  g_assert_true (isnan (chart->outside_high));
  gradus_chart_set_y_range (chart, NAN, NAN);
  gradus_chart_set_robust (chart, FALSE);
  test_wait (60);
  g_assert_cmpfloat (chart->plot.y1, >=, 1500.0);
  g_assert_true (isnan (chart->outside_high));
  said_of_all = gradus_chart_summarize (chart);
  g_assert_null (strstr (said_of_all, "highest"));
  test_close (window);
}

/* Neither an idle chart nor one that is not on the screen holds a tick; a change that is not in
   view draws nothing. */
static void
test_quiet (void)
{
  g_autoptr (GradusPointSeries) train = NULL;
  g_autoptr (GradusPointSeries) validation = NULL;
  GtkWidget   *widget = make_chart (&train, &validation);
  GradusChart *chart = GRADUS_CHART (widget);
  GtkWidget   *window = test_open (widget, 500, 300);

  test_wait (100);
  g_assert_cmpuint (chart->tick, ==, 0);
  gradus_point_series_add (train, 5001, 50010, 0.5);
  g_assert_cmpuint (chart->tick, ==, 0);
  while (chart->tick == 0)
    g_main_context_iteration (NULL, TRUE);
  test_wait (100);
  g_assert_cmpuint (chart->tick, ==, 0);
  g_assert_cmpfloat (chart->plot.x1, ==, 5001);
  gtk_widget_set_visible (widget, FALSE);
  test_wait (30);
  gradus_point_series_add (train, 5002, 50020, 0.5);
  test_wait (60);
  g_assert_cmpuint (chart->tick, ==, 0);
  g_assert_cmpfloat (chart->plot.x1, ==, 5001);
  gtk_widget_set_visible (widget, TRUE);
  test_wait (100);
  g_assert_cmpfloat (chart->plot.x1, ==, 5002);
  test_close (window);
}

static void
collect_pieces (GradusChart *chart, GHashTable *nodes)
{
  for (guint i = 0; i < chart->lines->len; i++)
    {
      GradusChartLine   *line = g_ptr_array_index (chart->lines, i);
      GradusChartPieces *both[] = { &line->behind, &line->front };

      for (guint k = 0; k < G_N_ELEMENTS (both); k++)
        for (guint n = 0; n < both[k]->n; n++)
          {
            GskRenderNode  *node = g_array_index (both[k]->pieces, GradusChartPiece, n).node;
            graphene_rect_t bounds;

            if (node == NULL || g_hash_table_contains (nodes, node))
              continue;
            /* All have the height of the plot, so that those of a row of charts are one rectangle. */
            gsk_render_node_get_bounds (node, &bounds);
            g_assert_cmpfloat (bounds.origin.y, ==, (float) chart->plot.top - GRADUS_CLIP_SLACK);
            g_assert_cmpfloat (bounds.size.height, ==, (float) chart->plot.height + 2 * GRADUS_CLIP_SLACK);
            g_hash_table_add (nodes, gsk_render_node_ref (node));
          }
    }
}

/* A line that grows is recorded anew at its end only. */
static void
test_growth_is_cheap (void)
{
  g_autoptr (GradusPointSeries) train = NULL;
  g_autoptr (GradusPointSeries) validation = NULL;
  GtkWidget   *widget = make_chart (&train, &validation);
  GradusChart *chart = GRADUS_CHART (widget);
  GtkWidget   *window;
  g_autoptr (GHashTable) nodes
      = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) gsk_render_node_unref, NULL);
  guint before;

  gradus_axis_set_expected_end (gradus_chart_get_axis (chart), GRADUS_X_STEP, 10000.0);
  window = test_open (widget, 900, 300);
  collect_pieces (chart, nodes);
  before = g_hash_table_size (nodes);
  g_assert_cmpuint (before, >=, 10);
  gradus_point_series_add (train, 5001, 50010, 0.5);
  test_wait (100);
  collect_pieces (chart, nodes);
  g_assert_cmpuint (g_hash_table_size (nodes), >, before);
  g_assert_cmpuint (g_hash_table_size (nodes), <=, before + 3);
  test_close (window);
}

/* Everything at once: marks, spans, smoothing, kinds, scales, tiny sizes; and nothing is left. */
static void
test_all_looks (void)
{
  GradusPointSeries *train, *validation;
  GtkWidget         *widget = make_chart (&train, &validation);
  GradusChart       *chart = GRADUS_CHART (widget);
  GtkWidget         *window;
  GListStore        *marks = g_list_store_new (GRADUS_TYPE_MARK);
  GradusMark        *mark = gradus_mark_new (7, 1000, "by hand", "Learning rate set by hand");
  GradusMark        *span = gradus_mark_new_span (7, 2000, 3000, NULL, NULL);
  GradusAxis        *axis = gradus_axis_new ();

  g_object_add_weak_pointer (G_OBJECT (widget), (gpointer *) &widget);
  g_list_store_append (marks, mark);
  g_list_store_append (marks, span);
  gradus_chart_set_axis (chart, axis);
  gradus_chart_set_marks (chart, G_LIST_MODEL (marks));
  gradus_chart_set_mark_labels (chart, TRUE);
  gradus_chart_set_note (chart, "peak 1");
  gradus_chart_set_reference (chart, 0.4, "target");
  gradus_chart_set_smoothing (chart, 0.98);
  window = test_open (widget, 560, 320);
  {
    double x0, x1;

    g_assert_true (gradus_chart_locate_mark (chart, mark, &x0, &x1));
    g_assert_cmpfloat (x0, ==, 1000);
    g_assert_true (gradus_chart_find_mark (chart, gradus_plot_get_px (&chart->plot, 1000), chart->plot.top) == mark);
    g_assert_null (gradus_chart_find_mark (chart, gradus_plot_get_px (&chart->plot, 2500), chart->plot.top));
  }
  for (int kind = GRADUS_X_STEP; kind <= GRADUS_X_TIME; kind++)
    for (int scale = GRADUS_SCALE_LINEAR; scale <= GRADUS_SCALE_LOG; scale++)
      for (int unit = GRADUS_UNIT_NONE; unit <= GRADUS_UNIT_FRACTION; unit++)
        {
          gradus_axis_set_kind (axis, (GradusXKind) kind);
          gradus_chart_set_scale (chart, (GradusScale) scale);
          gradus_chart_set_unit (chart, (GradusUnit) unit);
          gradus_axis_set_cursor (axis, 2.0);
          gtk_widget_grab_focus (GTK_WIDGET (chart));
          test_wait (20);
        }
  gtk_window_set_default_size (GTK_WINDOW (window), 20, 20);
  test_wait (60);
  gradus_chart_clear_lines (chart);
  test_close (window);
  g_assert_null (widget);
  g_assert_finalize_object (axis);
  g_assert_finalize_object (marks);
  g_assert_finalize_object (mark);
  g_assert_finalize_object (span);
  g_assert_finalize_object (train);
  g_assert_finalize_object (validation);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  g_test_add_func ("/chart/spoken", test_spoken);
  g_test_add_func ("/chart/drawn", test_drawn);
  g_test_add_func ("/chart/spike-is-seen", test_spike_is_seen);
  g_test_add_func ("/chart/keys", test_keys);
  g_test_add_func ("/chart/walk", test_walk);
  g_test_add_func ("/chart/properties", test_properties);
  g_test_add_func ("/chart/ranges", test_ranges);
  g_test_add_func ("/chart/outside", test_outside);
  g_test_add_func ("/chart/quiet", test_quiet);
  g_test_add_func ("/chart/growth-is-cheap", test_growth_is_cheap);
  g_test_add_func ("/chart/all-looks", test_all_looks);
  return g_test_run ();
}
