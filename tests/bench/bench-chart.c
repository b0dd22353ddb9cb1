/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart.h"
#include "gradus-point-series.h"

#include <adwaita.h>
#include <math.h>
#include <sys/resource.h>

/* Measures the charts on the display it is given (tests/headless.sh makes one) and prints JSON:

     pan      one chart of 1200x600 with a series of a million points, panned at every frame
     zoom     the same, zoomed closer and away
     live     six charts of 400x200, each with two dense lines and a band, that all grow 20 times a second for
              some seconds: share of one core
     idle     the same six charts with nothing new
     reduce   a column of extremes for each of 1200 pixels out of ten million points

   With a name it measures only that.

   Paint is the time from the frame clock's before-paint to its after-paint: layout, snapshots and the
   renderer, for the whole window; the processor time a frame is that of the whole process, and less
   disturbed by others on the machine. */

#define N_PAN_POINTS 1000000
#define N_REDUCE_POINTS 10000000
#define N_FRAMES 240
#define N_LIVE 6
#define LIVE_SECONDS 6
#define STEPS_PER_UPDATE 50
#define N_LIVE_HISTORY 20000

static int n_pan_points = N_PAN_POINTS;

static const GOptionEntry options[] = {
  { "points", 0, 0, G_OPTION_ARG_INT, &n_pan_points, "Points of the panned series", "N" },
  { NULL },
};

typedef struct
{
  GArray *paint; /* double, ms */
  gint64  begun;
  double  cpu; /* seconds of the process before */
} FrameTimes;

static void
before_paint_cb (GdkFrameClock *clock, FrameTimes *times)
{
  times->begun = g_get_monotonic_time ();
}

static void
after_paint_cb (GdkFrameClock *clock, FrameTimes *times)
{
  double ms = (double) (g_get_monotonic_time () - times->begun) / 1000.0;

  g_array_append_val (times->paint, ms);
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double left = *(const double *) a, right = *(const double *) b;

  return (left > right) - (left < right);
}

static double
get_share (GArray *values, double share)
{
  if (values->len == 0)
    return NAN;
  g_array_sort (values, compare_doubles);
  return g_array_index (values, double, (guint) (share * (values->len - 1)));
}

static double
get_cpu_seconds (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
         + (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double
loss_at (gint64 step)
{
  double random = fmod (fabs (sin ((double) step * 12.9898) * 43758.5453), 1.0) - 0.5;

  return 0.1 + 2.0 * exp (-(double) step / 2e5) + 0.2 * random;
}

static GradusPointSeries *
make_series (gint64 n)
{
  GradusPointSeries *series = gradus_point_series_new ();

  gradus_point_series_reserve (series, (gsize) n);
  for (gint64 i = 1; i <= n; i++)
    gradus_point_series_add (series, i, i * 5, loss_at (i));
  return series;
}

static gboolean
stop_cb (gpointer data)
{
  *(gboolean *) data = TRUE;
  return G_SOURCE_REMOVE;
}

static void
wait_ms (guint ms)
{
  gboolean stop = FALSE;

  g_timeout_add (ms, stop_cb, &stop);
  while (!stop)
    g_main_context_iteration (NULL, TRUE);
}

static GtkWidget *
open_window (GtkWidget *child, int width, int height)
{
  GtkWidget *window = adw_window_new ();

  adw_window_set_content (ADW_WINDOW (window), child);
  gtk_window_set_default_size (GTK_WINDOW (window), width, height);
  gtk_window_present (GTK_WINDOW (window));
  wait_ms (500);
  return window;
}

static void
watch_frames (GtkWidget *window, FrameTimes *times)
{
  GdkFrameClock *clock = gtk_widget_get_frame_clock (window);

  times->cpu = get_cpu_seconds ();
  times->paint = g_array_new (FALSE, FALSE, sizeof (double));
  g_signal_connect (clock, "before-paint", G_CALLBACK (before_paint_cb), times);
  g_signal_connect (clock, "after-paint", G_CALLBACK (after_paint_cb), times);
}

static void
unwatch_frames (GtkWidget *window, FrameTimes *times)
{
  g_signal_handlers_disconnect_by_data (gtk_widget_get_frame_clock (window), times);
  g_array_unref (times->paint);
}

static void
print_times (const char *name, FrameTimes *times)
{
  char   median[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE], most[G_ASCII_DTOSTR_BUF_SIZE];
  char   cpu[G_ASCII_DTOSTR_BUF_SIZE];
  double seconds = get_cpu_seconds () - times->cpu;

  g_ascii_formatd (cpu, sizeof cpu, "%.3f", 1000.0 * seconds / MAX (times->paint->len, 1));
  g_ascii_formatd (median, sizeof median, "%.3f", get_share (times->paint, 0.5));
  g_ascii_formatd (high, sizeof high, "%.3f", get_share (times->paint, 0.95));
  g_ascii_formatd (most, sizeof most, "%.3f", get_share (times->paint, 1.0));
  g_print ("  \"%s\": { \"frames\": %u, \"paint_ms_median\": %s, \"paint_ms_p95\": %s, \"paint_ms_max\": %s, "
           "\"cpu_ms_per_frame\": %s },\n",
           name, times->paint->len, median, high, most, cpu);
}

typedef struct
{
  GradusAxis *axis;
  guint       frame;
  gboolean    zooms;
} Motion;

static gboolean
move_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  Motion *motion = data;

  motion->frame++;
  if (motion->zooms)
    gradus_axis_zoom_around (motion->axis, n_pan_points * 0.4, motion->frame % 60 < 30 ? 0.8 : 1.25);
  else
    gradus_axis_pan (motion->axis, n_pan_points * (motion->frame % 120 < 60 ? 0.004 : -0.004));
  return motion->frame < N_FRAMES;
}

static void
measure_motion (const char *name, gboolean band, gboolean zooms)
{
  GtkWidget *chart = gradus_chart_new ("Loss");
  g_autoptr (GradusPointSeries) series = make_series (n_pan_points);
  g_autoptr (GradusLine) line
      = gradus_line_new (GRADUS_SERIES (series), 1, "run", GRADUS_LINE_TRAIN, 0, band ? GRADUS_LINE_BAND : 0);
  GtkWidget *window;
  FrameTimes times = { 0 };
  Motion     motion = { gradus_chart_get_axis (GRADUS_CHART (chart)), 0, zooms };

  gradus_chart_add_line (GRADUS_CHART (chart), line);
  window = open_window (chart, 1200, 600);
  gradus_axis_zoom (motion.axis, n_pan_points * 0.2, n_pan_points * 0.6);
  wait_ms (200);
  watch_frames (window, &times);
  gtk_widget_add_tick_callback (chart, move_cb, &motion, NULL);
  while (motion.frame < N_FRAMES)
    g_main_context_iteration (NULL, TRUE);
  wait_ms (50);
  print_times (name, &times);
  unwatch_frames (window, &times);
  gtk_window_destroy (GTK_WINDOW (window));
  wait_ms (50);
}

typedef struct
{
  GPtrArray *series;
  gint64     step;
} Growth;

static gboolean
grow_cb (gpointer data)
{
  Growth *growth = data;

  for (guint i = 0; i < growth->series->len; i++)
    for (gint64 step = growth->step + 1; step <= growth->step + STEPS_PER_UPDATE; step++)
      gradus_point_series_add (g_ptr_array_index (growth->series, i), step, step * 5, loss_at (step));
  growth->step += STEPS_PER_UPDATE;
  return G_SOURCE_CONTINUE;
}

static GtkWidget *
make_live_page (Growth *growth, GradusAxis *axis)
{
  GtkWidget *grid = gtk_grid_new ();

  growth->series = g_ptr_array_new_with_free_func (g_object_unref);
  growth->step = N_LIVE_HISTORY;
  gtk_grid_set_row_spacing (GTK_GRID (grid), 12);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  for (int i = 0; i < N_LIVE; i++)
    {
      GtkWidget *chart = gradus_chart_new ("Loss");

      gradus_chart_set_axis (GRADUS_CHART (chart), axis);
      for (int run = 0; run < 2; run++)
        {
          GradusPointSeries *series = make_series (N_LIVE_HISTORY);
          g_autoptr (GradusLine) line
              = gradus_line_new (GRADUS_SERIES (series), run, "run", run == 0 ? GRADUS_LINE_VALUE : GRADUS_LINE_TRAIN,
                                 run, GRADUS_LINE_BAND);

          gradus_chart_add_line (GRADUS_CHART (chart), line);
          g_ptr_array_add (growth->series, series);
        }
      gtk_widget_set_hexpand (chart, TRUE);
      gtk_widget_set_vexpand (chart, TRUE);
      gtk_grid_attach (GTK_GRID (grid), chart, i % 3, i / 3, 1, 1);
    }
  return grid;
}

static void
print_share (const char *name, double cpu, double seconds)
{
  char share[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd (share, sizeof share, "%.2f", 100.0 * cpu / seconds);
  g_print ("  \"%s\": { \"cpu_percent_of_one_core\": %s },\n", name, share);
}

static void
measure_live (void)
{
  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  Growth     growth = { 0 };
  GtkWidget *window = open_window (make_live_page (&growth, axis), 1260, 460);
  FrameTimes times = { 0 };
  double     begun;
  guint      source;

  /* As the application has it: the end of the run is known. */
  gradus_axis_set_expected_end (axis, GRADUS_X_STEP, 2.0 * N_LIVE_HISTORY);
  wait_ms (1500);
  begun = get_cpu_seconds ();
  wait_ms (LIVE_SECONDS * 1000);
  print_share ("idle_6_charts", get_cpu_seconds () - begun, LIVE_SECONDS);

  watch_frames (window, &times);
  source = g_timeout_add (50, grow_cb, &growth);
  begun = get_cpu_seconds ();
  wait_ms (LIVE_SECONDS * 1000);
  print_share ("live_6_charts", get_cpu_seconds () - begun, LIVE_SECONDS);
  print_times ("live_6_charts_frames", &times);
  g_source_remove (source);
  unwatch_frames (window, &times);
  gtk_window_destroy (GTK_WINDOW (window));
  g_ptr_array_unref (growth.series);
  wait_ms (50);
}

static void
measure_reduce (void)
{
  g_autoptr (GradusPointSeries) series = make_series (N_REDUCE_POINTS);
  g_autofree GradusColumn *columns = g_new (GradusColumn, 1200);
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));
  char median[G_ASCII_DTOSTR_BUF_SIZE];

  for (guint i = 0; i < 50; i++)
    {
      gint64 begun = g_get_monotonic_time ();
      double ms;

      gradus_series_reduce (GRADUS_SERIES (series), GRADUS_X_STEP, 1000.0 * i, N_REDUCE_POINTS - 2000.0 * i, 1200,
                            columns);
      ms = (double) (g_get_monotonic_time () - begun) / 1000.0;
      g_array_append_val (times, ms);
    }
  g_ascii_formatd (median, sizeof median, "%.3f", get_share (times, 0.5));
  g_print ("  \"reduce_1e7_to_1200\": { \"ms_median\": %s },\n", median);
}

static const char *const names[] = { "pan", "zoom", "live", "reduce", NULL };

static gboolean
is_wanted (const char *wanted, const char *name)
{
  return wanted == NULL || g_str_equal (wanted, name);
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("[pan|zoom|live|reduce] - measure the charts");
  g_autoptr (GError) error = NULL;
  const char *wanted;

  g_option_context_add_main_entries (context, options, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || n_pan_points < 1000)
    {
      g_printerr ("bench-chart: %s\n", error != NULL ? error->message : "--points must be at least 1000.");
      return 2;
    }
  wanted = argc > 1 ? argv[1] : NULL;
  if (argc > 2 || (wanted != NULL && !g_strv_contains (names, wanted)))
    {
      g_printerr ("bench-chart: One of pan, zoom, live and reduce can be measured alone.\n");
      return 2;
    }
  adw_init ();
  g_print ("{\n");
  if (is_wanted (wanted, "pan"))
    {
      measure_motion ("pan_columns", FALSE, FALSE);
      measure_motion ("pan_band", TRUE, FALSE);
    }
  if (is_wanted (wanted, "zoom"))
    measure_motion ("zoom_columns", FALSE, TRUE);
  if (is_wanted (wanted, "live"))
    measure_live ();
  if (is_wanted (wanted, "reduce"))
    measure_reduce ();
  g_print ("  \"points\": %d\n}\n", n_pan_points);
  return 0;
}
