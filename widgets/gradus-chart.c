/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define MIN_PLOT_WIDTH 120
#define MIN_PLOT_HEIGHT 84

G_DEFINE_FINAL_TYPE (GradusChart, gradus_chart, GTK_TYPE_WIDGET)

enum
{
  PROP_TITLE = 1,
  PROP_SMOOTHING,
  PROP_ROBUST,
  PROP_SCALE,
  N_PROPERTIES,
};

enum
{
  SIGNAL_MARK_ACTIVATED,
  N_SIGNALS,
};

static GParamSpec *properties[N_PROPERTIES];
static guint       signals[N_SIGNALS];

static gboolean
update_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  GradusChart *self = GRADUS_CHART (widget);

  gradus_chart_update (self);
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

void
gradus_chart_queue_update (GradusChart *self)
{
  /* Unmapped charts cost nothing; mapping brings them up to date. */
  if (self->tick == 0 && !self->updating && gtk_widget_get_mapped (GTK_WIDGET (self)))
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), update_cb, NULL, NULL);
}

void
gradus_chart_resized (GradusChart *self, int width, int height)
{
  if (self->width == width && self->height == height)
    return;
  self->width = width;
  self->height = height;
  gradus_chart_update (self);
}

static void
queue_redraw (GradusChart *self)
{
  gtk_widget_queue_draw (self->frame);
  gtk_widget_queue_draw (self->data);
  gtk_widget_queue_draw (self->values);
  gtk_widget_queue_draw (self->cursor);
  gradus_chart_queue_update (self);
}

static void
style_changed (GtkWidget *widget)
{
  GradusChart *self = GRADUS_CHART (widget);

  self->palette_valid = FALSE;
  queue_redraw (self);
}

static void
cursor_changed_cb (GradusChart *self)
{
  gtk_widget_queue_draw (self->cursor);
}

static void
kind_changed_cb (GradusChart *self)
{
  gradus_chart_queue_update (self);
}

static void
update_smoothing (GradusChart *self, GradusChartLine *line)
{
  gboolean wanted
      = self->smoothing > 0.0 && (gradus_line_get_flags (line->line) & GRADUS_LINE_NO_SMOOTHING) == 0;

  if (wanted && line->smooth != NULL && line->smooth_weight == self->smoothing)
    return;
  if (line->smooth != NULL)
    g_signal_handlers_disconnect_by_data (line->smooth, self);
  g_clear_object (&line->smooth);
  if (!wanted)
    return;
  line->smooth = gradus_series_smooth (gradus_line_get_series (line->line), self->smoothing);
  line->smooth_weight = self->smoothing;
  if (line->smooth != NULL)
    g_signal_connect_swapped (line->smooth, "changed", G_CALLBACK (gradus_chart_queue_update), self);
}

static void
line_changed_cb (GradusChart *self, GradusLine *object)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);

      if (line->line == object)
        update_smoothing (self, line);
    }
  queue_redraw (self);
}

static void
clear_piece (gpointer data)
{
  GradusChartPiece *piece = data;

  g_clear_pointer (&piece->node, gsk_render_node_unref);
  g_clear_pointer (&piece->data, g_free);
}

static void
init_pieces (GradusChartPieces *pieces)
{
  pieces->pieces = g_array_new (FALSE, TRUE, sizeof (GradusChartPiece));
  g_array_set_clear_func (pieces->pieces, clear_piece);
}

static void
free_chart_line (gpointer data)
{
  GradusChartLine *line = data;

  gradus_trace_clear (&line->raw);
  gradus_trace_clear (&line->smoothed);
  g_clear_object (&line->smooth);
  g_array_unref (line->behind.pieces);
  g_array_unref (line->front.pieces);
  g_object_unref (line->line);
  g_free (line);
}

static void
disconnect_line (GradusChart *self, GradusChartLine *line)
{
  g_signal_handlers_disconnect_by_data (gradus_line_get_series (line->line), self);
  g_signal_handlers_disconnect_by_data (line->line, self);
  if (line->smooth != NULL)
    g_signal_handlers_disconnect_by_data (line->smooth, self);
}

static void
gradus_chart_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (gradus_chart_parent_class)->map (widget);
  gradus_chart_queue_update (GRADUS_CHART (widget));
}

static void
stop_ticks (GradusChart *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->tick);
  if (self->kinetic_tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->kinetic_tick);
  self->tick = self->kinetic_tick = 0;
}

static void
gradus_chart_unmap (GtkWidget *widget)
{
  stop_ticks (GRADUS_CHART (widget));
  GTK_WIDGET_CLASS (gradus_chart_parent_class)->unmap (widget);
}

static void
gradus_chart_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_chart_parent_class)->css_changed (widget, change);
  style_changed (widget);
}

static void
drop_axis (GradusChart *self)
{
  if (self->axis == NULL)
    return;
  g_signal_handlers_disconnect_by_data (self->axis, self);
  gradus_axis_unset_extent (self->axis, self);
  g_clear_object (&self->axis);
}

static void
gradus_chart_dispose (GObject *object)
{
  GradusChart *self = GRADUS_CHART (object);

  stop_ticks (self);
  g_clear_handle_id (&self->speech_timeout, g_source_remove);
  for (guint i = 0; i < self->lines->len; i++)
    disconnect_line (self, g_ptr_array_index (self->lines, i));
  g_ptr_array_set_size (self->lines, 0);
  g_ptr_array_set_size (self->line_objects, 0);
  drop_axis (self);
  if (self->marks != NULL)
    g_signal_handlers_disconnect_by_data (self->marks, self->frame);
  g_clear_object (&self->marks);
  g_clear_pointer (&self->header, gtk_widget_unparent);
  g_clear_pointer (&self->overlay, gtk_widget_unparent);
  G_OBJECT_CLASS (gradus_chart_parent_class)->dispose (object);
}

static void
gradus_chart_finalize (GObject *object)
{
  GradusChart *self = GRADUS_CHART (object);

  g_ptr_array_unref (self->lines);
  g_ptr_array_unref (self->line_objects);
  g_free (self->title);
  g_free (self->reference_label);
  g_free (self->note);
  g_free (self->spoken);
  G_OBJECT_CLASS (gradus_chart_parent_class)->finalize (object);
}

static void
gradus_chart_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GradusChart *self = GRADUS_CHART (object);

  switch (id)
    {
    case PROP_TITLE:
      g_value_set_string (value, self->title);
      break;
    case PROP_SMOOTHING:
      g_value_set_double (value, self->smoothing);
      break;
    case PROP_ROBUST:
      g_value_set_boolean (value, self->robust);
      break;
    case PROP_SCALE:
      g_value_set_int (value, self->scale);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
gradus_chart_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GradusChart *self = GRADUS_CHART (object);

  switch (id)
    {
    case PROP_TITLE:
      gradus_chart_set_title (self, g_value_get_string (value));
      break;
    case PROP_SMOOTHING:
      gradus_chart_set_smoothing (self, g_value_get_double (value));
      break;
    case PROP_ROBUST:
      gradus_chart_set_robust (self, g_value_get_boolean (value));
      break;
    case PROP_SCALE:
      gradus_chart_set_scale (self, (GradusScale) g_value_get_int (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
install_properties (GObjectClass *object_class)
{
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  properties[PROP_TITLE] = g_param_spec_string ("title", NULL, NULL, "", flags);
  properties[PROP_SMOOTHING] = g_param_spec_double ("smoothing", NULL, NULL, 0.0, 1.0, 0.0, flags);
  properties[PROP_ROBUST] = g_param_spec_boolean ("robust", NULL, NULL, FALSE, flags);
  properties[PROP_SCALE]
      = g_param_spec_int ("scale", NULL, NULL, GRADUS_SCALE_LINEAR, GRADUS_SCALE_LOG, GRADUS_SCALE_LINEAR, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
gradus_chart_class_init (GradusChartClass *klass)
{
  GObjectClass   *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  object_class->dispose = gradus_chart_dispose;
  object_class->finalize = gradus_chart_finalize;
  object_class->get_property = gradus_chart_get_property;
  object_class->set_property = gradus_chart_set_property;
  widget_class->map = gradus_chart_map;
  widget_class->unmap = gradus_chart_unmap;
  widget_class->css_changed = gradus_chart_css_changed;
  install_properties (object_class);

  signals[SIGNAL_MARK_ACTIVATED]
      = g_signal_new ("mark-activated", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                      G_TYPE_NONE, 1, GRADUS_TYPE_MARK);

  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "gradus-chart");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
build_children (GradusChart *self)
{
  GtkWidget *widget = GTK_WIDGET (self);

  self->title_label = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->title_label), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (self->title_label), 0.0f);
  gtk_widget_add_css_class (self->title_label, "heading");
  self->values = gradus_chart_values_new (self);
  gtk_widget_set_hexpand (self->values, TRUE);
  self->header = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_box_append (GTK_BOX (self->header), self->title_label);
  gtk_box_append (GTK_BOX (self->header), self->values);

  self->frame = gradus_chart_frame_new (self);
  self->data = gradus_chart_data_new (self);
  self->cursor = gradus_chart_cursor_new (self);
  gtk_widget_set_size_request (self->frame, MIN_PLOT_WIDTH, MIN_PLOT_HEIGHT);
  self->overlay = gtk_overlay_new ();
  gtk_overlay_set_child (GTK_OVERLAY (self->overlay), self->frame);
  gtk_overlay_add_overlay (GTK_OVERLAY (self->overlay), self->data);
  gtk_overlay_add_overlay (GTK_OVERLAY (self->overlay), self->cursor);
  gtk_widget_set_hexpand (self->overlay, TRUE);
  gtk_widget_set_vexpand (self->overlay, TRUE);

  gtk_widget_set_parent (self->header, widget);
  gtk_widget_set_parent (self->overlay, widget);
}

static void
gradus_chart_init (GradusChart *self)
{
  GtkLayoutManager *layout = gtk_widget_get_layout_manager (GTK_WIDGET (self));

  gradus_widgets_init ();
  gtk_orientable_set_orientation (GTK_ORIENTABLE (layout), GTK_ORIENTATION_VERTICAL);
  gtk_box_layout_set_spacing (GTK_BOX_LAYOUT (layout), 6);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);

  self->lines = g_ptr_array_new_with_free_func (free_chart_line);
  self->line_objects = g_ptr_array_new ();
  self->title = g_strdup ("");
  self->y_unit = "";
  self->y_factor = 1.0;
  self->reference = self->y_lower = self->y_upper = NAN;
  self->outside_high = self->outside_low = NAN;
  self->pointer_x = self->pointer_y = self->drag_x0 = self->drag_x1 = NAN;
  self->spoken_at = -G_USEC_PER_SEC * 60;
  build_children (self);
  gradus_chart_add_controllers (self);
  gradus_palette_watch (GTK_WIDGET (self), style_changed);

  g_autoptr (GradusAxis) axis = gradus_axis_new ();
  gradus_chart_set_axis (self, axis);
}

GtkWidget *
gradus_chart_new (const char *title)
{
  return g_object_new (GRADUS_TYPE_CHART, "title", title, NULL);
}

void
gradus_chart_set_title (GradusChart *self, const char *title)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (title == NULL)
    title = "";
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  if (g_strcmp0 (title, self->title) == 0)
    return;
  g_free (self->title);
  self->title = g_strdup (title);
  gtk_label_set_label (GTK_LABEL (self->title_label), title);
  gradus_chart_speak (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TITLE]);
}

const char *
gradus_chart_get_title (GradusChart *self)
{
  g_return_val_if_fail (GRADUS_IS_CHART (self), NULL);

  return self->title;
}

void
gradus_chart_set_axis (GradusChart *self, GradusAxis *axis)
{
  g_return_if_fail (GRADUS_IS_CHART (self));
  g_return_if_fail (GRADUS_IS_AXIS (axis));

  if (axis == self->axis)
    return;
  g_object_ref (axis);
  drop_axis (self);
  self->axis = axis;
  g_signal_connect_swapped (axis, "range-changed", G_CALLBACK (kind_changed_cb), self);
  g_signal_connect_swapped (axis, "cursor-changed", G_CALLBACK (cursor_changed_cb), self);
  g_signal_connect_swapped (axis, "selection-changed", G_CALLBACK (cursor_changed_cb), self);
  queue_redraw (self);
}

GradusAxis *
gradus_chart_get_axis (GradusChart *self)
{
  g_return_val_if_fail (GRADUS_IS_CHART (self), NULL);

  return self->axis;
}

void
gradus_chart_add_line (GradusChart *self, GradusLine *object)
{
  GradusChartLine *line;

  g_return_if_fail (GRADUS_IS_CHART (self));
  g_return_if_fail (GRADUS_IS_LINE (object));

  if (g_ptr_array_find (self->line_objects, object, NULL))
    return;
  line = g_new0 (GradusChartLine, 1);
  init_pieces (&line->behind);
  init_pieces (&line->front);
  line->line = g_object_ref (object);
  g_ptr_array_add (self->lines, line);
  g_ptr_array_add (self->line_objects, object);
  g_signal_connect_swapped (gradus_line_get_series (object), "changed",
                            G_CALLBACK (gradus_chart_queue_update), self);
  g_signal_connect_swapped (object, "changed", G_CALLBACK (line_changed_cb), self);
  update_smoothing (self, line);
  queue_redraw (self);
}

static void
remove_at (GradusChart *self, guint i)
{
  disconnect_line (self, g_ptr_array_index (self->lines, i));
  g_ptr_array_remove_index (self->line_objects, i);
  g_ptr_array_remove_index (self->lines, i);
  /* Another line may have the same series. */
  for (guint k = 0; k < self->lines->len; k++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, k);
      GradusSeries    *series = gradus_line_get_series (line->line);

      g_signal_handlers_disconnect_by_data (series, self);
      g_signal_connect_swapped (series, "changed", G_CALLBACK (gradus_chart_queue_update), self);
    }
}

void
gradus_chart_remove_line (GradusChart *self, GradusLine *line)
{
  guint i;

  g_return_if_fail (GRADUS_IS_CHART (self));

  if (!g_ptr_array_find (self->line_objects, line, &i))
    return;
  remove_at (self, i);
  queue_redraw (self);
}

void
gradus_chart_clear_lines (GradusChart *self)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (self->lines->len == 0)
    return;
  for (guint i = 0; i < self->lines->len; i++)
    disconnect_line (self, g_ptr_array_index (self->lines, i));
  g_ptr_array_set_size (self->line_objects, 0);
  g_ptr_array_set_size (self->lines, 0);
  queue_redraw (self);
}

GPtrArray *
gradus_chart_get_lines (GradusChart *self)
{
  g_return_val_if_fail (GRADUS_IS_CHART (self), NULL);

  return self->line_objects;
}

void
gradus_chart_set_focus_run (GradusChart *self, gint64 run)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (self->focus_run_set && self->focus_run == run)
    return;
  self->focus_run_set = TRUE;
  self->focus_run = run;
  queue_redraw (self);
}

gint64
gradus_chart_get_focus (GradusChart *self)
{
  GradusChartLine *first;

  if (self->lines->len == 0)
    return self->focus_run;
  first = g_ptr_array_index (self->lines, 0);
  if (self->focus_run_set)
    for (guint i = 0; i < self->lines->len; i++)
      {
        GradusChartLine *line = g_ptr_array_index (self->lines, i);

        if (gradus_line_get_run (line->line) == self->focus_run)
          return self->focus_run;
      }
  return gradus_line_get_run (first->line);
}

gboolean
gradus_chart_is_focus (GradusChart *self, const GradusChartLine *line)
{
  return gradus_line_get_run (line->line) == gradus_chart_get_focus (self);
}

GradusChartLine *
gradus_chart_get_focus_line (GradusChart *self)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);

      if (gradus_chart_is_focus (self, line))
        return line;
    }
  return NULL;
}

void
gradus_chart_set_marks (GradusChart *self, GListModel *marks)
{
  g_return_if_fail (GRADUS_IS_CHART (self));
  g_return_if_fail (marks == NULL || G_IS_LIST_MODEL (marks));

  if (marks == self->marks)
    return;
  if (self->marks != NULL)
    g_signal_handlers_disconnect_by_data (self->marks, self->frame);
  g_set_object (&self->marks, marks);
  if (marks != NULL)
    g_signal_connect_object (marks, "items-changed", G_CALLBACK (gtk_widget_queue_draw), self->frame,
                             G_CONNECT_SWAPPED);
  gtk_widget_queue_draw (self->frame);
}

void
gradus_chart_set_mark_labels (GradusChart *self, gboolean mark_labels)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (self->mark_labels == !!mark_labels)
    return;
  self->mark_labels = !!mark_labels;
  gtk_widget_queue_draw (self->frame);
}

void
gradus_chart_set_reference (GradusChart *self, double value, const char *label)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if ((self->reference == value || (isnan (self->reference) && isnan (value)))
      && g_strcmp0 (self->reference_label, label) == 0)
    return;
  self->reference = value;
  g_free (self->reference_label);
  self->reference_label = g_strdup (label);
  queue_redraw (self);
}

void
gradus_chart_set_unit (GradusChart *self, GradusUnit unit)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (self->unit == unit)
    return;
  self->unit = unit;
  queue_redraw (self);
}

void
gradus_chart_set_scale (GradusChart *self, GradusScale scale)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (self->scale == scale)
    return;
  self->scale = scale;
  queue_redraw (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SCALE]);
}

GradusScale
gradus_chart_get_scale (GradusChart *self)
{
  g_return_val_if_fail (GRADUS_IS_CHART (self), GRADUS_SCALE_LINEAR);

  return self->scale;
}

void
gradus_chart_set_y_range (GradusChart *self, double lower, double upper)
{
  g_return_if_fail (GRADUS_IS_CHART (self));
  g_return_if_fail (isnan (lower) || isnan (upper) || lower < upper);

  self->y_lower = lower;
  self->y_upper = upper;
  queue_redraw (self);
}

void
gradus_chart_set_robust (GradusChart *self, gboolean robust)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (self->robust == !!robust)
    return;
  self->robust = !!robust;
  queue_redraw (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ROBUST]);
}

gboolean
gradus_chart_get_robust (GradusChart *self)
{
  g_return_val_if_fail (GRADUS_IS_CHART (self), FALSE);

  return self->robust;
}

void
gradus_chart_set_smoothing (GradusChart *self, double weight)
{
  g_return_if_fail (GRADUS_IS_CHART (self));
  g_return_if_fail (weight >= 0.0 && weight <= 1.0);

  /* An average that forgets nothing would never move. */
  weight = MIN (weight, 0.99999);
  if (self->smoothing == weight)
    return;
  self->smoothing = weight;
  for (guint i = 0; i < self->lines->len; i++)
    update_smoothing (self, g_ptr_array_index (self->lines, i));
  queue_redraw (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SMOOTHING]);
}

double
gradus_chart_get_smoothing (GradusChart *self)
{
  g_return_val_if_fail (GRADUS_IS_CHART (self), 0.0);

  return self->smoothing;
}

void
gradus_chart_set_note (GradusChart *self, const char *note)
{
  g_return_if_fail (GRADUS_IS_CHART (self));

  if (g_strcmp0 (self->note, note) == 0)
    return;
  g_free (self->note);
  self->note = g_strdup (note);
  gtk_widget_queue_draw (self->values);
}

char *
gradus_chart_format_x (GradusChart *self, double x)
{
  g_autofree char *text = NULL;

  switch (self->plot.kind)
    {
    case GRADUS_X_EPOCH:
      text = g_strdup_printf ("%.2f", x);
      /* Translators: a place on an axis of epochs, such as "epoch 12.25". */
      return g_strdup_printf (_("epoch %s"), text);
    case GRADUS_X_TIME:
      return gradus_format_duration (x);
    case GRADUS_X_STEP:
    default:
      text = gradus_format_count ((gint64) llround (x));
      return g_strdup_printf (_("step %s"), text);
    }
}
