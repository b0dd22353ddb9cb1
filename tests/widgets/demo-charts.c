/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "demo-curves.h"
#include "gradus-chart.h"
#include "gradus-histogram-view.h"
#include "gradus-legend.h"
#include "gradus-memory-bar.h"
#include "gradus-meter.h"
#include "gradus-palette.h"
#include "gradus-progress-ring.h"
#include "gradus-run-dot.h"
#include "gradus-sparkline.h"

#include <adwaita.h>

/* A page of charts with made-up curves, to look at:

     demo-charts [--smoothing W] [--live] [--mode N]

   in light or, with ADW_DEBUG_COLOR_SCHEME=prefer-dark, in dark. */

static double   smoothing;
static gboolean live;
static int      mode;

static const GOptionEntry options[] = {
  { "smoothing", 0, 0, G_OPTION_ARG_DOUBLE, &smoothing, "Weight of the moving average", "W" },
  { "live", 0, 0, G_OPTION_ARG_NONE, &live, "Let the first run grow", NULL },
  { "mode", 0, 0, G_OPTION_ARG_INT, &mode, "Mode of the histograms, 0 to 3", "N" },
  { NULL },
};

static GListStore *marks;
static GradusAxis *axis;
static gint64      last_step = 19 * DEMO_STEPS_PER_EPOCH + 258;

typedef struct
{
  GradusPointSeries *series;
  DemoCurve          curve;
} LiveSeries;

static GArray *live_series;

static void
add_line (GtkWidget *chart, DemoCurve curve, guint run, GradusLineRole role, GradusLineFlags flags)
{
  static const char *const names[] = { "cnn-7", "cnn-6" };
  gint64 last = run == 0 ? last_step : 25 * DEMO_STEPS_PER_EPOCH;
  g_autoptr (GradusPointSeries) series = demo_series (curve, run, last);
  g_autoptr (GradusLine) line
      = gradus_line_new (GRADUS_SERIES (series), run, names[run], role, (int) run, flags);
  LiveSeries entry = { series, curve };

  gradus_chart_add_line (GRADUS_CHART (chart), line);
  if (run == 0)
    g_array_append_val (live_series, entry);
}

static GtkWidget *
make_chart (const char *title)
{
  GtkWidget *chart = gradus_chart_new (title);

  gradus_chart_set_axis (GRADUS_CHART (chart), axis);
  gradus_chart_set_marks (GRADUS_CHART (chart), G_LIST_MODEL (marks));
  gradus_chart_set_smoothing (GRADUS_CHART (chart), smoothing);
  gradus_chart_set_focus_run (GRADUS_CHART (chart), 0);
  gtk_widget_set_hexpand (chart, TRUE);
  return chart;
}

static GtkWidget *
make_card (GtkWidget **charts, guint n, int height)
{
  GtkWidget *card = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 18);

  gtk_widget_add_css_class (card, "card");
  gtk_widget_set_size_request (card, -1, height);
  for (guint i = 0; i < n; i++)
    {
      if (i > 0)
        {
          GtkWidget *line = gtk_separator_new (GTK_ORIENTATION_VERTICAL);

          gtk_widget_set_margin_top (line, 18);
          gtk_widget_set_margin_bottom (line, 18);
          gtk_box_append (GTK_BOX (card), line);
        }
      gtk_widget_set_margin_top (charts[i], 12);
      gtk_widget_set_margin_bottom (charts[i], 12);
      gtk_widget_set_margin_start (charts[i], i == 0 ? 18 : 0);
      gtk_widget_set_margin_end (charts[i], i + 1 == n ? 14 : 0);
      gtk_box_append (GTK_BOX (card), charts[i]);
    }
  return card;
}

static GtkWidget *
make_losses (void)
{
  GtkWidget *loss = make_chart ("Loss");
  GtkWidget *accuracy = make_chart ("Accuracy");

  add_line (loss, DEMO_TRAIN_LOSS, 0, GRADUS_LINE_TRAIN, GRADUS_LINE_BAND);
  add_line (loss, DEMO_VALIDATION_LOSS, 0, GRADUS_LINE_VALIDATION,
            GRADUS_LINE_END_DOT | GRADUS_LINE_BEST_LOWEST | GRADUS_LINE_NO_SMOOTHING);
  add_line (loss, DEMO_TRAIN_LOSS, 1, GRADUS_LINE_TRAIN, GRADUS_LINE_BAND);
  add_line (loss, DEMO_VALIDATION_LOSS, 1, GRADUS_LINE_VALIDATION,
            GRADUS_LINE_BEST_LOWEST | GRADUS_LINE_NO_SMOOTHING);
  gradus_chart_set_robust (GRADUS_CHART (loss), TRUE);

  add_line (accuracy, DEMO_TRAIN_ACCURACY, 0, GRADUS_LINE_TRAIN, GRADUS_LINE_BAND);
  add_line (accuracy, DEMO_VALIDATION_ACCURACY, 0, GRADUS_LINE_VALIDATION,
            GRADUS_LINE_END_DOT | GRADUS_LINE_NO_SMOOTHING);
  add_line (accuracy, DEMO_TRAIN_ACCURACY, 1, GRADUS_LINE_TRAIN, GRADUS_LINE_BAND);
  add_line (accuracy, DEMO_VALIDATION_ACCURACY, 1, GRADUS_LINE_VALIDATION, GRADUS_LINE_NO_SMOOTHING);
  gradus_chart_set_robust (GRADUS_CHART (accuracy), TRUE);

  return make_card ((GtkWidget *[]){ loss, accuracy }, 2, 270);
}

static GtkWidget *
make_details (void)
{
  GtkWidget *norm = make_chart ("Gradient norm");
  GtkWidget *rate = make_chart ("Learning rate");
  GtkWidget *memory = make_chart ("Memory");

  add_line (norm, DEMO_GRADIENT_NORM, 0, GRADUS_LINE_VALUE, GRADUS_LINE_BAND);
  gradus_chart_set_reference (GRADUS_CHART (norm), 1.0, "clip 1.0");
  add_line (rate, DEMO_LEARNING_RATE, 0, GRADUS_LINE_VALUE,
            GRADUS_LINE_STEPPED | GRADUS_LINE_END_DOT | GRADUS_LINE_NO_SMOOTHING);
  gradus_chart_set_unit (GRADUS_CHART (rate), GRADUS_UNIT_SCIENTIFIC);
  gradus_chart_set_mark_labels (GRADUS_CHART (rate), TRUE);
  add_line (memory, DEMO_MEMORY, 0, GRADUS_LINE_VALUE,
            GRADUS_LINE_AREA | GRADUS_LINE_STEPPED | GRADUS_LINE_NO_SMOOTHING);
  gradus_chart_set_unit (GRADUS_CHART (memory), GRADUS_UNIT_BYTES);
  gradus_chart_set_note (GRADUS_CHART (memory), "peak 212\u00a0MB");

  return make_card ((GtkWidget *[]){ norm, rate, memory }, 3, 146);
}

static GtkWidget *
make_histograms (void)
{
  GtkWidget *view = gradus_histogram_view_new ("Weights");
  GtkWidget *card = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  const char *const variables[] = { "dense / kernel", "dense / bias", NULL };
  g_autoptr (GListStore) model = g_list_store_new (GRADUS_TYPE_HISTOGRAM_ITEM);

  for (gint64 step = 0; step <= 19 * DEMO_STEPS_PER_EPOCH; step += DEMO_STEPS_PER_EPOCH)
    {
      g_autoptr (GradusHistogramItem) item = demo_histogram (step);

      g_list_store_append (model, item);
    }
  gradus_histogram_view_set_start_widget (GRADUS_HISTOGRAM_VIEW (view), gtk_drop_down_new_from_strings (variables));
  gradus_histogram_view_set_axis (GRADUS_HISTOGRAM_VIEW (view), axis);
  gradus_histogram_view_set_mode (GRADUS_HISTOGRAM_VIEW (view), (GradusHistogramMode) mode);
  gradus_histogram_view_set_model (GRADUS_HISTOGRAM_VIEW (view), G_LIST_MODEL (model));
  gtk_widget_set_margin_top (view, 12);
  gtk_widget_set_margin_bottom (view, 12);
  gtk_widget_set_margin_start (view, 18);
  gtk_widget_set_margin_end (view, 18);
  gtk_widget_set_hexpand (view, TRUE);
  gtk_widget_add_css_class (card, "card");
  gtk_widget_set_vexpand (card, TRUE);
  gtk_box_append (GTK_BOX (card), view);
  return card;
}

static GtkWidget *
make_run_row (int color, const char *name, gboolean active)
{
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *dot = gradus_run_dot_new ();
  GtkWidget *line = gradus_sparkline_new ();
  GtkWidget *label = gtk_label_new (name);
  double     values[25];

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = demo_curve (DEMO_VALIDATION_LOSS, (guint) color % 2, (gint64) (i + 1) * DEMO_STEPS_PER_EPOCH);
  gradus_run_dot_set_color (GRADUS_RUN_DOT (dot), color);
  gradus_run_dot_set_run_name (GRADUS_RUN_DOT (dot), name);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (dot), active);
  gradus_sparkline_set_values (GRADUS_SPARKLINE (line), values, G_N_ELEMENTS (values));
  gradus_sparkline_set_color (GRADUS_SPARKLINE (line), active ? color : GRADUS_COLOR_DIM);
  gtk_label_set_xalign (GTK_LABEL (label), 0.0f);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_set_valign (line, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (row), dot);
  gtk_box_append (GTK_BOX (row), label);
  gtk_box_append (GTK_BOX (row), line);
  return row;
}

static GtkWidget *
make_panel (void)
{
  static const struct
  {
    const char *label;
    double      fraction;
    double      seconds;
  } parts[] = { { "Input wait", 0.02, 0.16e-3 }, { "Forward", 0.34, 2.77e-3 }, { "Backward", 0.55, 4.48e-3 },
                { "Update", 0.08, 0.65e-3 },     { "Log", 0.01, 0.08e-3 } };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *ring = gradus_progress_ring_new ();
  GtkWidget *memory = gradus_memory_bar_new ("Memory");
  g_autoptr (GtkSizeGroup) labels = gtk_size_group_new (GTK_SIZE_GROUP_HORIZONTAL);

  gradus_progress_ring_set_fraction (GRADUS_PROGRESS_RING (ring), 0.77);
  gtk_widget_set_halign (ring, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), ring);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      GtkWidget       *meter = gradus_meter_new (parts[i].label, labels);
      g_autofree char *value = gradus_format_value (parts[i].seconds, GRADUS_UNIT_SECONDS);

      gradus_meter_set (GRADUS_METER (meter), parts[i].fraction, value);
      gtk_box_append (GTK_BOX (box), meter);
    }
  gradus_memory_bar_set (GRADUS_MEMORY_BAR (memory), 190e6, 212e6, 212e6, 2048e6);
  gtk_widget_set_margin_top (memory, 18);
  gtk_box_append (GTK_BOX (box), memory);
  for (int color = 0; color < GRADUS_N_RUN_COLORS; color++)
    {
      g_autofree char *name = g_strdup_printf ("run %d", color + 1);

      gtk_box_append (GTK_BOX (box), make_run_row (color, name, color != 4));
    }
  gtk_widget_set_size_request (box, 258, -1);
  gtk_widget_set_hexpand (box, FALSE);
  return box;
}

static GtkWidget *
make_page (void)
{
  static const char *const names[] = { "cnn-7", "cnn-6" };
  static const int         colors[] = { 0, 1 };
  GtkWidget *columns = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 18);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  GtkWidget *legend = gradus_legend_new ();

  gradus_legend_set_runs (GRADUS_LEGEND (legend), names, colors, 2, 0);
  gtk_widget_set_margin_start (legend, 18);
  gtk_box_append (GTK_BOX (box), legend);
  gtk_box_append (GTK_BOX (box), make_losses ());
  gtk_box_append (GTK_BOX (box), make_details ());
  gtk_box_append (GTK_BOX (box), make_histograms ());
  gtk_widget_set_hexpand (box, TRUE);
  gtk_box_append (GTK_BOX (columns), box);
  gtk_box_append (GTK_BOX (columns), make_panel ());
  gtk_widget_set_margin_top (columns, 18);
  gtk_widget_set_margin_bottom (columns, 18);
  gtk_widget_set_margin_start (columns, 18);
  gtk_widget_set_margin_end (columns, 18);
  return columns;
}

static gboolean
grow_cb (gpointer data)
{
  last_step += 40;
  for (guint i = 0; i < live_series->len; i++)
    {
      LiveSeries *entry = &g_array_index (live_series, LiveSeries, i);

      demo_extend (entry->series, entry->curve, 0, last_step);
    }
  return last_step < 25 * DEMO_STEPS_PER_EPOCH;
}

static void
activate_cb (GtkApplication *app)
{
  GtkWidget *window = adw_application_window_new (app);
  g_autoptr (GradusMark) mark = gradus_mark_new (0, 9 * DEMO_STEPS_PER_EPOCH, "by hand",
                                                 "Learning rate set to 5.0e-4 by hand");
  g_autoptr (GradusMark) span = gradus_mark_new_span (0, 12 * DEMO_STEPS_PER_EPOCH, 19 * DEMO_STEPS_PER_EPOCH,
                                                      "overfitting", "Validation loss has risen");

  gradus_widgets_init ();
  axis = gradus_axis_new ();
  gradus_axis_set_kind (axis, GRADUS_X_EPOCH);
  gradus_axis_set_expected_end (axis, GRADUS_X_EPOCH, 25.0);
  marks = g_list_store_new (GRADUS_TYPE_MARK);
  g_list_store_append (marks, mark);
  g_list_store_append (marks, span);
  live_series = g_array_new (FALSE, FALSE, sizeof (LiveSeries));

  adw_application_window_set_content (ADW_APPLICATION_WINDOW (window), make_page ());
  gtk_window_set_default_size (GTK_WINDOW (window), 1380, 860);
  gtk_window_present (GTK_WINDOW (window));
  if (live)
    g_timeout_add (50, grow_cb, NULL);
}

int
main (int argc, char **argv)
{
  g_autoptr (AdwApplication) app
      = adw_application_new ("io.github.gradus.Charts", G_APPLICATION_NON_UNIQUE);

  g_application_add_main_option_entries (G_APPLICATION (app), options);
  g_signal_connect (app, "activate", G_CALLBACK (activate_cb), NULL);
  return g_application_run (G_APPLICATION (app), argc, argv);
}
