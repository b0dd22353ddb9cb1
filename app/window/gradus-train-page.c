/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <adwaita.h>
#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#include "gradus-card-row.h"
#include "gradus-chart.h"
#include "gradus-finding-strip.h"
#include "gradus-format.h"
#include "gradus-histogram-card.h"
#include "gradus-legend.h"
#include "gradus-settings.h"
#include "gradus-train-page.h"
#include "gradus-train-panel.h"
#include "gradus-welcome.h"
#include "gradus-words.h"

#define MAX_METRICS 4

typedef struct
{
  const char     *title;
  const char     *series;
  const char     *second; /* drawn as a line of its own; or NULL */
  GradusUnit      unit;
  GradusLineFlags flags;
} SmallChart;

static const SmallChart small_charts[] = {
  { N_ ("Gradient norm"), "gradient_norm", NULL, GRADUS_UNIT_NONE, GRADUS_LINE_BAND },
  { N_ ("Learning rate"), "learning_rate", NULL, GRADUS_UNIT_SCIENTIFIC,
    GRADUS_LINE_STEPPED | GRADUS_LINE_NO_SMOOTHING | GRADUS_LINE_END_DOT },
  { N_ ("Throughput"), "throughput", NULL, GRADUS_UNIT_SAMPLES_RATE, GRADUS_LINE_BAND },
  { N_ ("Memory"), "memory/device/current", "memory/device/peak", GRADUS_UNIT_BYTES,
    GRADUS_LINE_AREA | GRADUS_LINE_STEPPED | GRADUS_LINE_NO_SMOOTHING },
};

struct _GradusTrainPage
{
  GtkWidget parent_instance;

  GradusWorkbench *workbench;
  GradusAxis      *axis;
  GPtrArray       *watched; /* of GradusRunData: whose signals are connected */
  GListStore      *mark_lists;
  GListModel      *marks;
  GSignalGroup    *focus_signals;
  guint            spinner_delay;
  guint            rebuild_idle;

  GtkWidget *metric_row;
  GPtrArray *metrics;       /* of char *: one for each chart */
  GPtrArray *metric_charts; /* of GtkWidget */
  GtkWidget *small_row;
  GtkWidget *small[G_N_ELEMENTS (small_charts)];
  GtkWidget *histograms;

  /* Template widgets */
  GtkStack           *stack;
  GtkWidget          *spinner;
  AdwBin             *welcome;
  AdwStatusPage      *error_page;
  GtkStack           *content;
  AdwStatusPage      *ready_page;
  GtkLabel           *ready_facts;
  GtkWidget          *ready_button;
  GtkBox             *charts;
  GradusFindingStrip *finding;
  GradusLegend       *legend;
  GtkWidget          *reset_button;
  GtkToggleButton    *by_step;
  GtkToggleButton    *by_epoch;
  GtkToggleButton    *by_time;
  GtkAdjustment      *smoothing;
  GtkCheckButton     *log_scale;
  GtkCheckButton     *robust;
  GradusTrainPanel   *panel;
};

G_DEFINE_FINAL_TYPE (GradusTrainPage, gradus_train_page, GTK_TYPE_WIDGET)

/* ---- Charts ---- */

static GtkWidget *
chart_new (GradusTrainPage *self, const char *title)
{
  GtkWidget *chart = gradus_chart_new (title);

  gradus_chart_set_axis (GRADUS_CHART (chart), self->axis);
  gradus_chart_set_marks (GRADUS_CHART (chart), self->marks);

  return chart;
}

static void
apply_look_to (GradusTrainPage *self, GtkWidget *chart, gboolean is_loss, gboolean is_noisy)
{
  gradus_chart_set_smoothing (GRADUS_CHART (chart), gtk_adjustment_get_value (self->smoothing));
  gradus_chart_set_robust (GRADUS_CHART (chart),
                           is_noisy && gtk_check_button_get_active (self->robust));
  if (is_loss)
    gradus_chart_set_scale (GRADUS_CHART (chart), gtk_check_button_get_active (self->log_scale)
                                                    ? GRADUS_SCALE_LOG
                                                    : GRADUS_SCALE_LINEAR);
}

static void
apply_look (GradusTrainPage *self)
{
  for (guint i = 0; i < self->metric_charts->len; i++)
    apply_look_to (self, g_ptr_array_index (self->metric_charts, i),
                   g_str_equal (g_ptr_array_index (self->metrics, i), "loss"), TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (small_charts); i++)
    apply_look_to (self, self->small[i], FALSE, (small_charts[i].flags & GRADUS_LINE_BAND) != 0);
}

static gboolean
is_higher_better (const char *metric)
{
  return strstr (metric, "accuracy") != NULL;
}

/* Charts stay as long as their metric does, so that zoom and cursor survive another run. */
static void
set_metrics (GradusTrainPage *self, char **metrics)
{
  guint n = MIN (g_strv_length (metrics), MAX_METRICS);
  gboolean same = n == self->metrics->len;

  for (guint i = 0; same && i < n; i++)
    same = g_str_equal (metrics[i], g_ptr_array_index (self->metrics, i));
  if (same)
    return;

  for (guint i = 0; i < self->metric_charts->len; i++)
    gradus_card_row_remove (GRADUS_CARD_ROW (self->metric_row),
                            g_ptr_array_index (self->metric_charts, i));
  g_ptr_array_set_size (self->metric_charts, 0);
  g_ptr_array_set_size (self->metrics, 0);
  for (guint i = 0; i < n; i++)
    {
      GtkWidget *chart = chart_new (self, gradus_words_metric (metrics[i]));

      g_ptr_array_add (self->metrics, g_strdup (metrics[i]));
      g_ptr_array_add (self->metric_charts, chart);
      gradus_card_row_append (GRADUS_CARD_ROW (self->metric_row), chart, i == 0 ? 1.45 : 1);
    }
  apply_look (self);
}

static void
collect_metrics (GradusTrainPage *self, GPtrArray *shown)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (all, g_strdup ("loss"));
  for (guint i = shown->len; i > 0; i--)
    {
      GradusRunData *data =
        gradus_workbench_get_data (self->workbench, g_ptr_array_index (shown, i - 1));
      g_auto (GStrv) metrics = data != NULL ? gradus_run_data_get_metrics (data) : NULL;

      for (guint k = 0; metrics != NULL && metrics[k] != NULL; k++)
        if (!g_ptr_array_find_with_equal_func (all, metrics[k], g_str_equal, NULL))
          g_ptr_array_add (all, g_strdup (metrics[k]));
    }
  g_ptr_array_add (all, NULL);
  set_metrics (self, (char **) all->pdata);
}

static void
add_line (GradusChart    *chart,
          GradusRunItem  *item,
          GradusSeries   *series,
          GradusLineRole  role,
          GradusLineFlags flags)
{
  g_autoptr (GradusLine) line = NULL;

  if (series == NULL)
    return;
  line = gradus_line_new (series, gradus_run_item_get_id (item), gradus_run_item_get_name (item),
                          role, gradus_run_item_get_color (item), flags);
  gradus_chart_add_line (chart, line);
}

static void
add_metric_lines (GradusTrainPage *self, GradusRunItem *item, GradusRunData *data, guint i)
{
  GradusChart *chart = GRADUS_CHART (g_ptr_array_index (self->metric_charts, i));
  const char *metric = g_ptr_array_index (self->metrics, i);
  g_autofree char *train = g_strconcat ("train/", metric, NULL);
  g_autofree char *validation = g_strconcat ("validation/", metric, NULL);
  gboolean focused = item == gradus_workbench_get_focus (self->workbench);
  GradusLineFlags best = GRADUS_LINE_END_DOT;

  if (g_str_equal (metric, "loss"))
    best |= GRADUS_LINE_BEST_LOWEST;
  else if (is_higher_better (metric))
    best |= GRADUS_LINE_BEST_HIGHEST;

  /* Bands of many runs would be mud. */
  add_line (chart, item, gradus_run_data_get_series (data, train), GRADUS_LINE_TRAIN,
            focused ? GRADUS_LINE_BAND : GRADUS_LINE_PLAIN);
  add_line (chart, item, gradus_run_data_get_series (data, validation), GRADUS_LINE_VALIDATION,
            best | GRADUS_LINE_NO_SMOOTHING);
}

static void
add_small_lines (GradusTrainPage *self, GradusRunItem *item, GradusRunData *data, guint i)
{
  gboolean focused = item == gradus_workbench_get_focus (self->workbench);
  GradusLineFlags flags = small_charts[i].flags;

  if (!focused)
    flags &= ~(GRADUS_LINE_BAND | GRADUS_LINE_AREA | GRADUS_LINE_END_DOT);
  add_line (GRADUS_CHART (self->small[i]), item,
            gradus_run_data_get_series (data, small_charts[i].series), GRADUS_LINE_VALUE, flags);
}

static void
update_references (GradusTrainPage *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  const GradusRunDetails *details = focus != NULL ? gradus_run_item_get_details (focus) : NULL;
  GradusRunData *data = gradus_workbench_get_data (self->workbench, focus);
  double clip = details != NULL ? details->clip : NAN;
  double peak = data != NULL ? gradus_run_data_get_last (data, "memory/device/peak") : NAN;
  g_autofree char *clip_text = NULL;
  g_autofree char *peak_text = NULL;

  if (!isnan (clip))
    {
      g_autofree char *number = gradus_format_number (clip, 2);

      /* Translators: the norm that gradients are clipped at. */
      clip_text = g_strdup_printf (_("clip %s"), number);
    }
  gradus_chart_set_reference (GRADUS_CHART (self->small[0]), clip, clip_text);

  if (!isnan (peak))
    {
      g_autofree char *bytes = gradus_format_bytes (peak);

      /* Translators: the most memory that was used. */
      peak_text = g_strdup_printf (_("peak %s"), bytes);
    }
  gradus_chart_set_note (GRADUS_CHART (self->small[3]), peak_text);
}

static void
update_expected_end (GradusTrainPage *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  gboolean live = focus != NULL && gradus_run_item_is_live (focus);
  gint64 n_steps = live ? gradus_run_item_get_n_steps (focus) : 0;
  double left = live ? gradus_run_item_get_seconds_left (focus) : -1;
  const GradusRunInfo *info = focus != NULL ? gradus_run_item_get_info (focus) : NULL;

  gradus_axis_set_expected_end (self->axis, GRADUS_X_STEP, n_steps > 0 ? n_steps : NAN);
  gradus_axis_set_expected_end (self->axis, GRADUS_X_EPOCH,
                                live && info->planned_epochs > 0 ? info->planned_epochs : NAN);
  gradus_axis_set_expected_end (self->axis, GRADUS_X_TIME,
                                left >= 0 ? info->last_time / 1000.0 + left : NAN);
}

static void
update_legend (GradusTrainPage *self, GPtrArray *shown)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  g_autofree const char **names = g_new0 (const char *, shown->len + 1);
  g_autofree int *colors = g_new0 (int, shown->len + 1);
  int focused = -1;

  for (guint i = 0; i < shown->len; i++)
    {
      /* The focused one is the last to be drawn, and the first to be read. */
      GradusRunItem *item = g_ptr_array_index (shown, shown->len - 1 - i);

      names[i] = gradus_run_item_get_name (item);
      colors[i] = gradus_run_item_get_color (item);
      if (item == focus)
        focused = (int) i;
    }
  gradus_legend_set_runs (self->legend, names, colors, shown->len, focused);
}

static void
rebuild (GradusTrainPage *self)
{
  g_autoptr (GPtrArray) shown = gradus_workbench_get_shown (self->workbench);
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  gint64 focus_id = focus != NULL ? gradus_run_item_get_id (focus) : 0;

  g_clear_handle_id (&self->rebuild_idle, g_source_remove);
  collect_metrics (self, shown);
  g_list_store_remove_all (self->mark_lists);

  for (guint i = 0; i < self->metric_charts->len; i++)
    gradus_chart_clear_lines (g_ptr_array_index (self->metric_charts, i));
  for (guint i = 0; i < G_N_ELEMENTS (small_charts); i++)
    gradus_chart_clear_lines (GRADUS_CHART (self->small[i]));

  for (guint k = 0; k < shown->len; k++)
    {
      GradusRunItem *item = g_ptr_array_index (shown, k);
      GradusRunData *data = gradus_workbench_get_data (self->workbench, item);

      if (data == NULL)
        continue;
      for (guint i = 0; i < self->metric_charts->len; i++)
        add_metric_lines (self, item, data, i);
      for (guint i = 0; i < G_N_ELEMENTS (small_charts); i++)
        add_small_lines (self, item, data, i);
      g_list_store_append (self->mark_lists, gradus_run_data_get_marks (data));
    }

  for (guint i = 0; i < self->metric_charts->len; i++)
    gradus_chart_set_focus_run (g_ptr_array_index (self->metric_charts, i), focus_id);
  for (guint i = 0; i < G_N_ELEMENTS (small_charts); i++)
    gradus_chart_set_focus_run (GRADUS_CHART (self->small[i]), focus_id);

  update_legend (self, shown);
  update_references (self);
  update_expected_end (self);
}

static void
rebuild_cb (gpointer data)
{
  GradusTrainPage *self = data;

  self->rebuild_idle = 0;
  rebuild (self);
}

/* Several series often come at once. */
static void
queue_rebuild (GradusTrainPage *self)
{
  if (self->rebuild_idle == 0)
    self->rebuild_idle = g_idle_add_once (rebuild_cb, self);
}

/* ---- What the page shows ---- */

/* What a recipe says of itself; the examples say it in the user's language. */
static const char *
recipe_note (GradusRecipe *recipe)
{
  static const char *const examples[] = {
    N_ ("One neuron learns y = 3x + 2 from noisy points."),
    N_ ("A dense network of 256 units learns to tell ten kinds of clothing apart."),
    N_ ("A convolutional network learns to tell ten kinds of clothing apart."),
  };
  const char *note = gradus_recipe_get_string (recipe, "note", "");

  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    if (g_str_equal (note, examples[i]))
      return _(examples[i]);

  return note;
}

static void
update_ready (GradusTrainPage *self, GradusRunItem *draft)
{
  const GradusSummary *summary = gradus_run_item_get_summary (draft);
  const char *problem = gradus_run_item_get_summary_error (draft);
  GradusRecipe *recipe = gradus_run_item_get_recipe (draft);
  g_autofree char *note = g_markup_escape_text (recipe_note (recipe), -1);
  g_autofree char *facts = NULL;

  adw_status_page_set_title (self->ready_page, gradus_run_item_get_name (draft));
  adw_status_page_set_description (self->ready_page, note);
  if (problem != NULL)
    facts = g_strdup (problem);
  else if (summary != NULL)
    {
      g_autofree char *parameters = gradus_format_count (summary->parameters);
      g_autofree char *steps = gradus_format_count (summary->epochs * summary->steps_per_epoch);
      g_autofree char *memory = gradus_format_bytes ((double) summary->peak_bytes);

      facts = g_strdup_printf (_("%s parameters · %s steps · %s of memory"), parameters, steps,
                               memory);
    }
  else
    facts = g_strdup (_("Looking at model and data…"));

  gtk_label_set_label (self->ready_facts, facts);
  if (problem != NULL)
    gtk_widget_add_css_class (GTK_WIDGET (self->ready_facts), "error");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self->ready_facts), "error");
}

static void
show_spinner_cb (gpointer data)
{
  GradusTrainPage *self = data;

  self->spinner_delay = 0;
  gtk_widget_set_visible (self->spinner, TRUE);
}

static void
update_page (GradusTrainPage *self)
{
  GradusWorkbenchState state = gradus_workbench_get_state (self->workbench);
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  g_autoptr (GPtrArray) shown = gradus_workbench_get_shown (self->workbench);

  g_clear_handle_id (&self->spinner_delay, g_source_remove);
  if (state == GRADUS_WORKBENCH_FAILED)
    {
      g_autofree char *why = g_markup_escape_text (gradus_workbench_get_error (self->workbench), -1);

      adw_status_page_set_description (self->error_page, why);
      gtk_stack_set_visible_child_name (self->stack, "error");
    }
  else if (focus == NULL && state == GRADUS_WORKBENCH_OPENING)
    {
      gtk_widget_set_visible (self->spinner, FALSE);
      self->spinner_delay = g_timeout_add_once (200, show_spinner_cb, self);
      gtk_stack_set_visible_child_name (self->stack, "loading");
    }
  else if (focus == NULL)
    {
      if (adw_bin_get_child (self->welcome) == NULL)
        adw_bin_set_child (self->welcome, g_object_new (GRADUS_TYPE_WELCOME, NULL));
      gtk_stack_set_visible_child_name (self->stack, "welcome");
    }
  else
    {
      gboolean ready = gradus_run_item_is_draft (focus) && shown->len == 0;

      if (ready)
        update_ready (self, focus);
      gtk_stack_set_visible_child_name (self->content, ready ? "ready" : "charts");
      gtk_stack_set_visible_child_name (self->stack, "run");
    }
}

static void
watch_data (GradusTrainPage *self)
{
  g_autoptr (GPtrArray) shown = gradus_workbench_get_shown (self->workbench);

  for (guint i = 0; i < self->watched->len; i++)
    g_signal_handlers_disconnect_by_func (g_ptr_array_index (self->watched, i), queue_rebuild,
                                          self);
  g_ptr_array_set_size (self->watched, 0);
  for (guint i = 0; i < shown->len; i++)
    {
      GradusRunData *data =
        gradus_workbench_get_data (self->workbench, g_ptr_array_index (shown, i));

      if (data == NULL)
        continue;
      g_ptr_array_add (self->watched, g_object_ref (data));
      g_signal_connect_swapped (data, "series-added", G_CALLBACK (queue_rebuild), self);
    }
}

static void
shown_changed_cb (GradusTrainPage *self)
{
  watch_data (self);
  rebuild (self);
  update_page (self);
}

static void
focus_item_changed_cb (GradusTrainPage *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);

  if (focus != NULL && gradus_run_item_is_draft (focus))
    update_page (self);
  else
    {
      update_references (self);
      update_expected_end (self);
    }
}

static void
focus_changed_cb (GradusTrainPage *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);

  g_signal_group_set_target (self->focus_signals, focus);
  gradus_finding_strip_set_data (self->finding,
                                 gradus_workbench_get_data (self->workbench, focus));
  update_page (self);
}

/* ---- Controls ---- */

static void
reset_zoom_cb (GradusTrainPage *self)
{
  gradus_axis_reset (self->axis);
}

static void
kind_toggled_cb (GradusTrainPage *self)
{
  GradusXKind kind = GRADUS_X_STEP;
  const char *name = "step";

  if (gtk_toggle_button_get_active (self->by_epoch))
    {
      kind = GRADUS_X_EPOCH;
      name = "epoch";
    }
  else if (gtk_toggle_button_get_active (self->by_time))
    {
      kind = GRADUS_X_TIME;
      name = "time";
    }

  gradus_axis_set_kind (self->axis, kind);
  g_settings_set_string (gradus_settings_get (), "x-axis", name);
}

static void
load_settings (GradusTrainPage *self)
{
  GSettings *settings = gradus_settings_get ();
  g_autofree char *kind = g_settings_get_string (settings, "x-axis");

  if (g_str_equal (kind, "epoch"))
    gtk_toggle_button_set_active (self->by_epoch, TRUE);
  else if (g_str_equal (kind, "time"))
    gtk_toggle_button_set_active (self->by_time, TRUE);
  else
    gtk_toggle_button_set_active (self->by_step, TRUE);
  kind_toggled_cb (self);

  g_settings_bind (settings, "smoothing", self->smoothing, "value", G_SETTINGS_BIND_DEFAULT);
}

/* ---- Object ---- */

static void
gradus_train_page_dispose (GObject *object)
{
  GradusTrainPage *self = GRADUS_TRAIN_PAGE (object);

  g_clear_handle_id (&self->spinner_delay, g_source_remove);
  g_clear_handle_id (&self->rebuild_idle, g_source_remove);
  for (guint i = 0; self->watched != NULL && i < self->watched->len; i++)
    g_signal_handlers_disconnect_by_func (g_ptr_array_index (self->watched, i), queue_rebuild,
                                          self);
  g_clear_pointer (&self->watched, g_ptr_array_unref);
  g_clear_object (&self->focus_signals);
  if (self->stack != NULL)
    gtk_widget_unparent (GTK_WIDGET (self->stack));
  self->stack = NULL;
  g_clear_object (&self->workbench);
  g_clear_object (&self->axis);
  g_clear_object (&self->marks);
  g_clear_pointer (&self->metrics, g_ptr_array_unref);
  g_clear_pointer (&self->metric_charts, g_ptr_array_unref);

  G_OBJECT_CLASS (gradus_train_page_parent_class)->dispose (object);
}

static void
gradus_train_page_class_init (GradusTrainPageClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  g_type_ensure (GRADUS_TYPE_FINDING_STRIP);
  g_type_ensure (GRADUS_TYPE_LEGEND);
  g_type_ensure (GRADUS_TYPE_TRAIN_PANEL);

  G_OBJECT_CLASS (klass)->dispose = gradus_train_page_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "train-page");
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/io/github/gradus/Gradus/ui/train-page.ui");
#define BIND(name) gtk_widget_class_bind_template_child (widget_class, GradusTrainPage, name)
  BIND (stack);
  BIND (spinner);
  BIND (welcome);
  BIND (error_page);
  BIND (content);
  BIND (ready_page);
  BIND (ready_facts);
  BIND (ready_button);
  BIND (charts);
  BIND (finding);
  BIND (legend);
  BIND (reset_button);
  BIND (by_step);
  BIND (by_epoch);
  BIND (by_time);
  BIND (smoothing);
  BIND (log_scale);
  BIND (robust);
  BIND (panel);
#undef BIND
  gtk_widget_class_bind_template_callback (widget_class, reset_zoom_cb);
}

static void
make_charts (GradusTrainPage *self)
{
  self->metric_row = gradus_card_row_new (240, 262);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->metric_row), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Loss and metrics"), -1);
  gtk_box_append (self->charts, self->metric_row);

  self->small_row = gradus_card_row_new (178, 134);
  for (guint i = 0; i < G_N_ELEMENTS (small_charts); i++)
    {
      self->small[i] = chart_new (self, _(small_charts[i].title));
      gradus_chart_set_unit (GRADUS_CHART (self->small[i]), small_charts[i].unit);
      gradus_card_row_append (GRADUS_CARD_ROW (self->small_row), self->small[i], 1);
    }
  gradus_chart_set_mark_labels (GRADUS_CHART (self->small[1]), TRUE);
  gtk_box_append (self->charts, self->small_row);

  self->histograms = gradus_histogram_card_new (self->axis);
  gtk_box_append (self->charts, self->histograms);
}

static void
gradus_train_page_init (GradusTrainPage *self)
{
  self->axis = gradus_axis_new ();
  self->watched = g_ptr_array_new_with_free_func (g_object_unref);
  self->metrics = g_ptr_array_new_with_free_func (g_free);
  self->metric_charts = g_ptr_array_new ();
  self->mark_lists = g_list_store_new (G_TYPE_LIST_MODEL);
  self->marks = G_LIST_MODEL (gtk_flatten_list_model_new (G_LIST_MODEL (self->mark_lists)));

  gtk_widget_init_template (GTK_WIDGET (self));
  make_charts (self);
  load_settings (self);

  g_signal_connect_swapped (self->by_step, "toggled", G_CALLBACK (kind_toggled_cb), self);
  g_signal_connect_swapped (self->by_epoch, "toggled", G_CALLBACK (kind_toggled_cb), self);
  g_signal_connect_swapped (self->by_time, "toggled", G_CALLBACK (kind_toggled_cb), self);
  g_signal_connect_swapped (self->smoothing, "value-changed", G_CALLBACK (apply_look), self);
  g_signal_connect_swapped (self->log_scale, "toggled", G_CALLBACK (apply_look), self);
  g_signal_connect_swapped (self->robust, "toggled", G_CALLBACK (apply_look), self);
  g_object_bind_property (self->axis, "zoomed", self->reset_button, "visible",
                          G_BINDING_SYNC_CREATE);
  self->focus_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->focus_signals, "changed",
                                  G_CALLBACK (focus_item_changed_cb), self);
  g_signal_group_connect_swapped (self->focus_signals, "recipe-changed",
                                  G_CALLBACK (focus_item_changed_cb), self);
}

gboolean
gradus_train_page_grab_train (GradusTrainPage *self)
{
  return gtk_widget_get_mapped (self->ready_button) && gtk_widget_grab_focus (self->ready_button);
}

void
gradus_train_page_set_workbench (GradusTrainPage *self, GradusWorkbench *workbench)
{
  g_return_if_fail (GRADUS_IS_TRAIN_PAGE (self));

  self->workbench = g_object_ref (workbench);
  gradus_train_panel_set_workbench (self->panel, workbench);
  gradus_histogram_card_set_workbench (GRADUS_HISTOGRAM_CARD (self->histograms), workbench);
  g_signal_connect_object (workbench, "shown-changed", G_CALLBACK (shown_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "focus-data", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "notify::state", G_CALLBACK (update_page), self,
                           G_CONNECT_SWAPPED);
  shown_changed_cb (self);
  focus_changed_cb (self);
}
