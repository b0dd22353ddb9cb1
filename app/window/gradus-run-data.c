/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "gradus-mark.h"
#include "gradus-run-data.h"
#include "gradus-words.h"

struct _GradusRunData
{
  GObject parent_instance;

  gint64      run;
  GHashTable *series; /* name -> GradusPointSeries */
  GHashTable *recent; /* name -> double */
  GListStore *marks;
  GListStore *histograms;
  GPtrArray  *findings;
  GPtrArray  *events;
  GPtrArray  *checkpoints;
  GPtrArray  *variables;
  GradusMark *span;
  gint64      steps_per_epoch;
  gint64      heard_event; /* the newest that was there, -1 before the first look */
  gboolean    complete;
};

G_DEFINE_FINAL_TYPE (GradusRunData, gradus_run_data, G_TYPE_OBJECT)

enum
{
  SIGNAL_SERIES_ADDED,
  SIGNAL_EVENTS_CHANGED,
  SIGNAL_CHECKPOINTS_CHANGED,
  SIGNAL_VARIABLES_CHANGED,
  SIGNAL_CHANGED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

/* ---- Epochs ---- */

static void
map_epochs (GradusRunData *self, GradusSeries *series)
{
  GradusPointSeries *epochs = g_hash_table_lookup (self->series, "epoch");
  guint64 n = epochs != NULL ? gradus_series_get_n_points (GRADUS_SERIES (epochs)) : 0;
  g_autoptr (GArray) steps = NULL;
  g_autoptr (GArray) values = NULL;
  gint64 step = 0;
  double value = 0;

  if (n == 0)
    {
      if (self->steps_per_epoch > 0)
        gradus_series_set_steps_per_epoch (series, self->steps_per_epoch);
      return;
    }

  steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  values = g_array_new (FALSE, FALSE, sizeof (double));
  g_array_append_val (steps, step);
  g_array_append_val (values, value);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 next_step = gradus_point_series_get_steps (epochs)[i];
      double next_value = gradus_point_series_get_values (epochs)[i];

      if (next_step > step && next_value > value)
        {
          g_array_append_val (steps, next_step);
          g_array_append_val (values, next_value);
          step = next_step;
          value = next_value;
        }
    }
  if (steps->len > 1)
    gradus_series_set_epochs (series, (const gint64 *) (void *) steps->data,
                              (const double *) (void *) values->data, steps->len);
}

static void
map_all_epochs (GradusRunData *self)
{
  GHashTableIter iter;
  gpointer series;

  g_hash_table_iter_init (&iter, self->series);
  while (g_hash_table_iter_next (&iter, NULL, &series))
    map_epochs (self, series);
}

/* ---- Applying updates ---- */

static gboolean
apply_points (GradusRunData *self, GradusFeedPoints *points)
{
  GradusPointSeries *series = g_hash_table_lookup (self->series, points->name);
  gboolean added = series == NULL;

  if (added)
    {
      series = gradus_point_series_new ();
      map_epochs (self, GRADUS_SERIES (series));
      g_hash_table_insert (self->series, g_strdup (points->name), series);
    }
  if (points->cut == G_MININT64)
    gradus_point_series_clear (series);
  else if (points->cut != G_MAXINT64)
    gradus_point_series_cut (series, points->cut);
  gradus_point_series_append (series, (const gint64 *) (void *) points->steps->data,
                              (const gint64 *) (void *) points->times->data,
                              (const double *) (void *) points->values->data, points->steps->len);
  if (g_str_equal (points->name, "epoch") && points->steps->len > 0)
    map_all_epochs (self);

  return added;
}

static void
rebuild_marks (GradusRunData *self)
{
  g_list_store_remove_all (self->marks);
  for (guint i = 0; self->events != NULL && i < self->events->len; i++)
    {
      const GradusLogEvent *event = g_ptr_array_index (self->events, i);
      g_autoptr (GradusMark) mark = NULL;

      if (event->kind != GRADUS_EVENT_INTERVENTION || event->severity == GRADUS_SEVERITY_ERROR)
        continue;
      /* A chart of the learning rate says why it bends; pauses and stops are marks alone. */
      mark = gradus_mark_new (self->run, event->step,
                              g_str_equal (event->subject, "learning_rate") ? _("by hand") : NULL,
                              gradus_words_message (event->message));
      g_list_store_append (self->marks, mark);
    }
  if (self->span != NULL)
    g_list_store_append (self->marks, self->span);
}

static void
apply_events (GradusRunData *self, GPtrArray *events)
{
  g_clear_pointer (&self->events, g_ptr_array_unref);
  self->events = g_ptr_array_ref (events);
  g_ptr_array_set_size (self->findings, 0);
  for (guint i = events->len; i > 0; i--)
    {
      GradusLogEvent *event = g_ptr_array_index (events, i - 1);

      /* Why a run failed is told like a finding: without it the page would say nothing. */
      if (event->kind == GRADUS_EVENT_FINDING ||
          (event->kind == GRADUS_EVENT_STATUS && event->severity == GRADUS_SEVERITY_ERROR &&
           *event->message != '\0'))
        g_ptr_array_add (self->findings, event);
    }
  rebuild_marks (self);
  g_signal_emit (self, signals[SIGNAL_EVENTS_CHANGED], 0);
}

static GradusHistogramItem *
histogram_item (GradusRunData *self, const GradusLogHistogram *row)
{
  const GradusHistogram *h = &row->histogram;
  GradusPointSeries *any = g_hash_table_lookup (self->series, "train/loss");
  double epoch = NAN;
  GradusHistogramStats stats = {
    .min = h->min, .max = h->max, .mean = h->mean, .stddev = h->stddev,
    .count = h->count, .zeros = h->zeros, .nans = h->nans, .infs = h->infs,
  };

  if (any != NULL && gradus_run_data_get_steps_per_epoch (self) > 0)
    epoch = gradus_series_epoch_of_step (GRADUS_SERIES (any), row->step);

  return gradus_histogram_item_new (row->step, epoch, row->time, h->edges, h->counts, h->n, &stats);
}

static void
apply_histograms (GradusRunData *self, GPtrArray *rows, gboolean anew)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; i < rows->len; i++)
    {
      GradusHistogramItem *item = histogram_item (self, g_ptr_array_index (rows, i));

      if (item != NULL)
        g_ptr_array_add (items, item);
    }
  g_list_store_splice (self->histograms,
                       anew ? 0 : g_list_model_get_n_items (G_LIST_MODEL (self->histograms)),
                       anew ? g_list_model_get_n_items (G_LIST_MODEL (self->histograms)) : 0,
                       items->pdata, items->len);
}

void
gradus_run_data_apply (GradusRunData *self, GradusFeedDetail *detail)
{
  gboolean added = FALSE;

  g_return_if_fail (GRADUS_IS_RUN_DATA (self));

  for (guint i = 0; i < detail->points->len; i++)
    added |= apply_points (self, g_ptr_array_index (detail->points, i));
  for (guint i = 0; i < detail->recent->len; i++)
    {
      GradusFeedPoints *points = g_ptr_array_index (detail->recent, i);

      g_hash_table_insert (self->recent, g_strdup (points->name),
                           g_memdup2 (points->values->data, sizeof (double)));
    }
  self->complete |= detail->complete;

  if (added)
    g_signal_emit (self, signals[SIGNAL_SERIES_ADDED], 0);
  if (detail->events != NULL)
    apply_events (self, detail->events);
  if (detail->checkpoints != NULL)
    {
      g_clear_pointer (&self->checkpoints, g_ptr_array_unref);
      self->checkpoints = g_steal_pointer (&detail->checkpoints);
      g_signal_emit (self, signals[SIGNAL_CHECKPOINTS_CHANGED], 0);
    }
  if (detail->variables != NULL)
    {
      g_clear_pointer (&self->variables, g_ptr_array_unref);
      self->variables = g_steal_pointer (&detail->variables);
      g_signal_emit (self, signals[SIGNAL_VARIABLES_CHANGED], 0);
    }
  if (detail->histograms != NULL)
    apply_histograms (self, detail->histograms, detail->histograms_anew);

  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

static void
gradus_run_data_finalize (GObject *object)
{
  GradusRunData *self = GRADUS_RUN_DATA (object);

  g_clear_pointer (&self->series, g_hash_table_unref);
  g_clear_pointer (&self->recent, g_hash_table_unref);
  g_clear_object (&self->marks);
  g_clear_object (&self->histograms);
  g_clear_pointer (&self->findings, g_ptr_array_unref);
  g_clear_pointer (&self->events, g_ptr_array_unref);
  g_clear_pointer (&self->checkpoints, g_ptr_array_unref);
  g_clear_pointer (&self->variables, g_ptr_array_unref);
  g_clear_object (&self->span);

  G_OBJECT_CLASS (gradus_run_data_parent_class)->finalize (object);
}

static void
gradus_run_data_class_init (GradusRunDataClass *klass)
{
  static const char *const names[N_SIGNALS] = {
    "series-added", "events-changed", "checkpoints-changed", "variables-changed", "changed",
  };

  G_OBJECT_CLASS (klass)->finalize = gradus_run_data_finalize;
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (names[i], GRADUS_TYPE_RUN_DATA, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                               NULL, G_TYPE_NONE, 0);
}

static void
gradus_run_data_init (GradusRunData *self)
{
  self->series = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->recent = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->marks = g_list_store_new (GRADUS_TYPE_MARK);
  self->histograms = g_list_store_new (GRADUS_TYPE_HISTOGRAM_ITEM);
  self->findings = g_ptr_array_new ();
  self->heard_event = -1;
}

GradusRunData *
gradus_run_data_new (gint64 run)
{
  GradusRunData *self = g_object_new (GRADUS_TYPE_RUN_DATA, NULL);

  self->run = run;

  return self;
}

gint64
gradus_run_data_get_run (GradusRunData *self)
{
  return self->run;
}

GradusSeries *
gradus_run_data_get_series (GradusRunData *self, const char *name)
{
  return g_hash_table_lookup (self->series, name);
}

double
gradus_run_data_get_last (GradusRunData *self, const char *name)
{
  GradusSeries *series = g_hash_table_lookup (self->series, name);
  GradusPoint point;

  return series != NULL && gradus_series_get_last (series, &point) ? point.value : NAN;
}

double
gradus_run_data_get_recent (GradusRunData *self, const char *name)
{
  const double *value = g_hash_table_lookup (self->recent, name);

  return value != NULL ? *value : NAN;
}

static int
compare_metrics (gconstpointer a, gconstpointer b)
{
  static const char *const first[] = { "loss", "accuracy" };
  const char *x = *(const char *const *) a;
  const char *y = *(const char *const *) b;

  for (guint i = 0; i < G_N_ELEMENTS (first); i++)
    if (g_str_equal (x, first[i]) || g_str_equal (y, first[i]))
      return g_str_equal (y, first[i]) - g_str_equal (x, first[i]);

  return strcmp (x, y);
}

char **
gradus_run_data_get_metrics (GradusRunData *self)
{
  g_autoptr (GPtrArray) metrics = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->series);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const char *slash = strchr (key, '/');

      if ((g_str_has_prefix (key, "train/") || g_str_has_prefix (key, "validation/")) &&
          g_hash_table_add (seen, (gpointer) (slash + 1)))
        g_ptr_array_add (metrics, g_strdup (slash + 1));
    }
  g_ptr_array_sort (metrics, compare_metrics);
  g_ptr_array_add (metrics, NULL);

  return (char **) g_ptr_array_steal (metrics, NULL);
}

GListModel *
gradus_run_data_get_marks (GradusRunData *self)
{
  return G_LIST_MODEL (self->marks);
}

GPtrArray *
gradus_run_data_get_findings (GradusRunData *self)
{
  return self->findings;
}

char *
gradus_run_data_take_refusal (GradusRunData *self)
{
  const char *refusal = NULL;
  gboolean first = self->heard_event < 0;
  gint64 heard = self->heard_event;

  for (guint i = 0; self->events != NULL && i < self->events->len; i++)
    {
      const GradusLogEvent *event = g_ptr_array_index (self->events, i);

      if (event->id <= heard)
        continue;
      self->heard_event = MAX (self->heard_event, event->id);
      if (event->severity >= GRADUS_SEVERITY_WARNING &&
          (event->kind == GRADUS_EVENT_INTERVENTION || event->kind == GRADUS_EVENT_MESSAGE))
        refusal = event->message;
    }
  if (self->events != NULL)
    self->heard_event = MAX (self->heard_event, 0);

  return first || refusal == NULL ? NULL : g_strdup (gradus_words_message (refusal));
}

double
gradus_run_data_get_option (GradusRunData *self, const char *option)
{
  double value = NAN;

  for (guint i = 0; self->events != NULL && i < self->events->len; i++)
    {
      const GradusLogEvent *event = g_ptr_array_index (self->events, i);
      g_autoptr (JsonNode) node = NULL;

      if (event->kind != GRADUS_EVENT_INTERVENTION || event->severity == GRADUS_SEVERITY_ERROR ||
          event->data == NULL || g_strcmp0 (event->subject, option) != 0)
        continue;
      node = json_from_string (event->data, NULL);
      if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
        continue;
      /* Null: given back to the recipe. */
      if (json_object_has_member (json_node_get_object (node), "to") &&
          json_object_get_null_member (json_node_get_object (node), "to"))
        value = NAN;
      else
        value = json_object_get_double_member_with_default (json_node_get_object (node), "to",
                                                            value);
    }

  return value;
}

GPtrArray *
gradus_run_data_get_checkpoints (GradusRunData *self)
{
  return self->checkpoints;
}

GPtrArray *
gradus_run_data_get_variables (GradusRunData *self)
{
  return self->variables;
}

GListModel *
gradus_run_data_get_histograms (GradusRunData *self)
{
  return G_LIST_MODEL (self->histograms);
}

void
gradus_run_data_set_span (GradusRunData *self, gint64 first, gint64 last, const char *label)
{
  g_clear_object (&self->span);
  if (first <= last)
    self->span = gradus_mark_new_span (self->run, first, last, NULL, label);
  rebuild_marks (self);
}

void
gradus_run_data_set_steps_per_epoch (GradusRunData *self, gint64 steps)
{
  if (self->steps_per_epoch == steps || steps <= 0)
    return;

  self->steps_per_epoch = steps;
  map_all_epochs (self);
}

gint64
gradus_run_data_get_steps_per_epoch (GradusRunData *self)
{
  GradusPointSeries *epochs = g_hash_table_lookup (self->series, "epoch");
  GradusPoint point;

  if (epochs != NULL && gradus_series_get_last (GRADUS_SERIES (epochs), &point) &&
      point.value > 0)
    return (gint64) (point.step / point.value + 0.5);

  return self->steps_per_epoch;
}

gboolean
gradus_run_data_is_complete (GradusRunData *self)
{
  return self->complete;
}
