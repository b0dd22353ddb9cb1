/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-format-private.h"
#include "gradus-histogram-plot.h"
#include "gradus-histogram-view.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define N_MODES (GRADUS_HISTOGRAM_HEAT_MAP + 1)
#define N_NUMBERS 7
#define NUMBERS_WIDTH 196
#define NONE G_MAXUINT

struct _GradusHistogramView
{
  GtkWidget parent_instance;

  /* Children */
  GtkWidget     *header;
  GtkWidget     *title_label;
  GtkWidget     *start_box;
  GtkWidget     *mode_buttons[N_MODES];
  GtkWidget     *body;
  GtkWidget     *plot;
  GtkWidget     *slider;
  GtkAdjustment *adjustment; /* the slider's */
  GtkWidget     *numbers[N_NUMBERS];

  /* Owned */
  GListModel *model;
  GradusAxis *axis;
  char       *title;
  char       *spoken;

  GradusHistogramMode mode;
  guint               position;
  guint               hovered; /* under the pointer or the cursor of the axis; NONE */
  guint               tick;
  gboolean            setting_cursor;
};

G_DEFINE_FINAL_TYPE (GradusHistogramView, gradus_histogram_view, GTK_TYPE_WIDGET)

enum
{
  PROP_MODE = 1,
  PROP_POSITION,
  PROP_TITLE,
  N_PROPERTIES,
};

static GParamSpec *properties[N_PROPERTIES];

static guint
count_items (GradusHistogramView *self)
{
  return self->model != NULL ? g_list_model_get_n_items (self->model) : 0;
}

static GradusXKind
get_kind (GradusHistogramView *self)
{
  return self->axis != NULL ? gradus_axis_get_kind (self->axis) : GRADUS_X_STEP;
}

static guint
get_shown (GradusHistogramView *self)
{
  return self->hovered != NONE && self->hovered < count_items (self) ? self->hovered : self->position;
}

static GradusHistogramItem *
dup_shown (GradusHistogramView *self)
{
  return self->model != NULL ? g_list_model_get_item (self->model, get_shown (self)) : NULL;
}

static void
take_number (GradusHistogramView *self, guint i, char *text)
{
  gtk_label_set_label (GTK_LABEL (self->numbers[i]), text);
  g_free (text);
}

/* Four decimals wherever they say something, so that the eye can compare them. */
static char *
format_statistic (double value)
{
  if (fabs (value) >= 0.001 && fabs (value) < 100.0)
    return gradus_format_fixed (value, 4);
  return gradus_format_number (value, 3);
}

static void
update_numbers (GradusHistogramView *self)
{
  g_autoptr (GradusHistogramItem) item = dup_shown (self);
  const GradusHistogramStats *stats;

  if (item == NULL)
    {
      for (guint i = 0; i < N_NUMBERS; i++)
        gtk_label_set_label (GTK_LABEL (self->numbers[i]), "–");
      return;
    }
  stats = gradus_histogram_item_get_stats (item);
  take_number (self, 0, gradus_format_count (gradus_histogram_item_get_step (item)));
  take_number (self, 1, gradus_format_count ((gint64) stats->count));
  take_number (self, 2, format_statistic (stats->mean));
  take_number (self, 3, format_statistic (stats->stddev));
  take_number (self, 4, format_statistic (stats->min));
  take_number (self, 5, format_statistic (stats->max));
  take_number (self, 6, gradus_format_count ((gint64) (stats->nans + stats->infs)));
  if (stats->nans + stats->infs > 0)
    gtk_widget_add_css_class (self->numbers[6], "error");
  else
    gtk_widget_remove_css_class (self->numbers[6], "error");
}

static char *
summarize (GradusHistogramView *self)
{
  g_autoptr (GradusHistogramItem) item = dup_shown (self);
  const GradusHistogramStats *stats;
  g_autofree char *place = NULL, *mean = NULL, *deviation = NULL, *low = NULL, *high = NULL;
  guint            n = count_items (self);

  if (item == NULL)
    return g_strdup_printf (_("%s: no histograms yet"), self->title);
  stats = gradus_histogram_item_get_stats (item);
  place = gradus_histogram_item_format_x (item, get_kind (self));
  mean = format_statistic (stats->mean);
  deviation = format_statistic (stats->stddev);
  low = format_statistic (stats->min);
  high = format_statistic (stats->max);
  /* Translators: title, number of histograms, which one ("epoch 12"), then its numbers. */
  return g_strdup_printf (ngettext ("%s: %u histogram; at %s mean %s, deviation %s, from %s to %s",
                                    "%s: %u histograms; at %s mean %s, deviation %s, from %s to %s", n),
                          self->title, n, place, mean, deviation, low, high);
}

static void
speak (GradusHistogramView *self)
{
  g_autofree char *text = summarize (self);

  if (g_strcmp0 (text, self->spoken) == 0)
    return;
  g_free (self->spoken);
  self->spoken = g_steal_pointer (&text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->plot), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  self->spoken, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, self->spoken, -1);
}

static void
show_current (GradusHistogramView *self)
{
  gradus_histogram_plot_set_position (GRADUS_HISTOGRAM_PLOT (self->plot), get_shown (self));
  update_numbers (self);
  speak (self);
}

static void
hover (GradusHistogramView *self, guint position)
{
  if (self->hovered == position)
    return;
  self->hovered = position;
  show_current (self);
}

static void
update_adjustment (GradusHistogramView *self)
{
  guint n = count_items (self);

  gtk_adjustment_configure (self->adjustment, self->position, 0.0, n > 1 ? n - 1.0 : 1.0, 1.0,
                            MAX (1.0, n / 10.0), 0.0);
  gtk_widget_set_sensitive (self->slider, n > 1);
}

static gboolean
update_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  GradusHistogramView *self = GRADUS_HISTOGRAM_VIEW (widget);

  self->tick = 0;
  update_adjustment (self);
  show_current (self);
  return G_SOURCE_REMOVE;
}

/* Much may come in one turn of the main loop; it is shown once a frame. */
static void
queue_update (GradusHistogramView *self)
{
  gradus_histogram_plot_invalidate (GRADUS_HISTOGRAM_PLOT (self->plot));
  if (self->tick == 0)
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), update_cb, NULL, NULL);
}

static void
items_changed_cb (GListModel *model, guint at, guint removed, guint added, GradusHistogramView *self)
{
  guint    n = g_list_model_get_n_items (model);
  guint    before = n - added + removed;
  gboolean at_end = before == 0 || self->position + 1 >= before;
  guint    position = at_end && n > 0 ? n - 1 : MIN (self->position, n > 0 ? n - 1 : 0);

  if (position != self->position)
    {
      self->position = position;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_POSITION]);
    }
  queue_update (self);
}

static void
value_changed_cb (GtkAdjustment *adjustment, GradusHistogramView *self)
{
  gradus_histogram_view_set_position (self, (guint) (gtk_adjustment_get_value (adjustment) + 0.5));
}

static guint
find_nearest (GradusHistogramView *self, double x)
{
  guint  n = count_items (self), best = NONE;
  double nearest = INFINITY;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusHistogramItem) item = g_list_model_get_item (self->model, i);
      double distance = fabs (gradus_histogram_item_get_x (item, get_kind (self)) - x);

      if (distance < nearest)
        {
          nearest = distance;
          best = i;
        }
    }
  return best;
}

static void
cursor_changed_cb (GradusHistogramView *self)
{
  double x = gradus_axis_get_cursor (self->axis);

  if (!self->setting_cursor)
    hover (self, isnan (x) ? NONE : find_nearest (self, x));
}

static void
set_cursor (GradusHistogramView *self, guint position)
{
  if (self->axis == NULL)
    return;
  self->setting_cursor = TRUE;
  if (position == NONE)
    gradus_axis_set_cursor (self->axis, NAN);
  else
    {
      g_autoptr (GradusHistogramItem) item = g_list_model_get_item (self->model, position);

      gradus_axis_set_cursor (self->axis, gradus_histogram_item_get_x (item, get_kind (self)));
    }
  self->setting_cursor = FALSE;
}

static void
motion_cb (GtkEventControllerMotion *controller, double px, double py, GradusHistogramView *self)
{
  guint position;

  if (!gradus_histogram_plot_pick (GRADUS_HISTOGRAM_PLOT (self->plot), px, py, &position))
    position = NONE;
  hover (self, position);
  set_cursor (self, position);
}

static void
leave_cb (GtkEventControllerMotion *controller, GradusHistogramView *self)
{
  hover (self, NONE);
  set_cursor (self, NONE);
}

static void
pressed_cb (GtkGestureClick *gesture, int n_press, double px, double py, GradusHistogramView *self)
{
  guint position;

  gtk_widget_grab_focus (self->plot);
  if (gradus_histogram_plot_pick (GRADUS_HISTOGRAM_PLOT (self->plot), px, py, &position))
    gradus_histogram_view_set_position (self, position);
}

static gboolean
key_pressed_cb (GtkEventControllerKey *controller, guint keyval, guint keycode, GdkModifierType state, GradusHistogramView *self)
{
  guint n = count_items (self), position = self->position;

  if (n == 0 || (state & (GDK_ALT_MASK | GDK_CONTROL_MASK | GDK_SUPER_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  switch (keyval)
    {
    case GDK_KEY_Left:
    case GDK_KEY_Up:
      position = position > 0 ? position - 1 : 0;
      break;
    case GDK_KEY_Right:
    case GDK_KEY_Down:
      position = MIN (position + 1, n - 1);
      break;
    case GDK_KEY_Home:
      position = 0;
      break;
    case GDK_KEY_End:
      position = n - 1;
      break;
    default:
      return GDK_EVENT_PROPAGATE;
    }
  self->hovered = NONE;
  gradus_histogram_view_set_position (self, position);
  show_current (self);
  return GDK_EVENT_STOP;
}

static void
mode_toggled_cb (GtkToggleButton *button, GradusHistogramView *self)
{
  if (!gtk_toggle_button_get_active (button))
    return;
  for (guint i = 0; i < N_MODES; i++)
    if (self->mode_buttons[i] == GTK_WIDGET (button))
      gradus_histogram_view_set_mode (self, (GradusHistogramMode) i);
}

static GtkWidget *
make_modes (GradusHistogramView *self)
{
  static const char *const names[N_MODES] = { N_ ("Stacked"), N_ ("Overlay"), N_ ("Distribution"), N_ ("Heat Map") };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  for (guint i = 0; i < N_MODES; i++)
    {
      GtkWidget *button = gtk_toggle_button_new_with_label (_ (names[i]));

      if (i > 0)
        gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (button), GTK_TOGGLE_BUTTON (self->mode_buttons[0]));
      self->mode_buttons[i] = button;
      gtk_box_append (GTK_BOX (box), button);
      g_signal_connect (button, "toggled", G_CALLBACK (mode_toggled_cb), self);
    }
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->mode_buttons[0]), TRUE);
  return box;
}

static void
build_header (GradusHistogramView *self)
{
  GtkWidget *modes = make_modes (self);

  self->title_label = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->title_label, "heading");
  self->start_box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (modes, TRUE);
  gtk_widget_set_halign (modes, GTK_ALIGN_END);
  self->header = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_box_append (GTK_BOX (self->header), self->title_label);
  gtk_box_append (GTK_BOX (self->header), self->start_box);
  gtk_box_append (GTK_BOX (self->header), modes);
  gtk_widget_set_parent (self->header, GTK_WIDGET (self));
}

static GtkWidget *
build_numbers (GradusHistogramView *self)
{
  static const char *const names[N_NUMBERS]
      = { N_ ("step"),    N_ ("values"),  N_ ("mean"),         N_ ("deviation"),
          N_ ("minimum"), N_ ("maximum"), N_ ("NaN, infinite") };
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_row_spacing (GTK_GRID (grid), 5);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_widget_set_size_request (grid, NUMBERS_WIDTH, -1);
  gtk_widget_set_hexpand (grid, FALSE);
  gtk_widget_set_margin_top (grid, 4);
  gtk_widget_add_css_class (grid, "gradus-statistics");
  for (guint i = 0; i < N_NUMBERS; i++)
    {
      GtkWidget *name = gtk_label_new (_ (names[i]));

      gtk_label_set_xalign (GTK_LABEL (name), 0.0f);
      gtk_widget_add_css_class (name, "dim-label");
      self->numbers[i] = gtk_label_new ("–");
      gtk_label_set_xalign (GTK_LABEL (self->numbers[i]), 1.0f);
      gtk_widget_set_hexpand (self->numbers[i], TRUE);
      gtk_grid_attach (GTK_GRID (grid), name, 0, (int) i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->numbers[i], 1, (int) i, 1, 1);
    }
  return grid;
}

static void
add_controllers (GradusHistogramView *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *key = gtk_event_controller_key_new ();
  GtkGesture         *click = gtk_gesture_click_new ();

  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_pressed_cb), self);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (self->plot, motion);
  gtk_widget_add_controller (self->plot, key);
  gtk_widget_add_controller (self->plot, GTK_EVENT_CONTROLLER (click));
}

static void
build_body (GradusHistogramView *self)
{
  GtkWidget *left = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *line = gtk_separator_new (GTK_ORIENTATION_VERTICAL);

  self->plot = gradus_histogram_plot_new ();
  gtk_widget_set_hexpand (self->plot, TRUE);
  gtk_widget_set_vexpand (self->plot, TRUE);
  gtk_widget_set_size_request (self->plot, 260, 132);
  self->adjustment = gtk_adjustment_new (0, 0, 1, 1, 1, 0);
  self->slider = gtk_scale_new (GTK_ORIENTATION_HORIZONTAL, self->adjustment);
  gtk_scale_set_draw_value (GTK_SCALE (self->slider), FALSE);
  gtk_range_set_round_digits (GTK_RANGE (self->slider), 0);
  gtk_widget_add_css_class (self->slider, "gradus-steps");
  gtk_widget_set_sensitive (self->slider, FALSE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->slider), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Step of the histogram"), -1);
  g_signal_connect (self->adjustment, "value-changed", G_CALLBACK (value_changed_cb), self);
  gtk_box_append (GTK_BOX (left), self->plot);
  gtk_box_append (GTK_BOX (left), self->slider);

  self->body = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 16);
  gtk_box_append (GTK_BOX (self->body), left);
  gtk_box_append (GTK_BOX (self->body), line);
  gtk_box_append (GTK_BOX (self->body), build_numbers (self));
  gtk_widget_set_vexpand (self->body, TRUE);
  gtk_widget_set_parent (self->body, GTK_WIDGET (self));
}

static void
gradus_histogram_view_dispose (GObject *object)
{
  GradusHistogramView *self = GRADUS_HISTOGRAM_VIEW (object);

  if (self->tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->tick);
  self->tick = 0;
  if (self->body != NULL)
    {
      gradus_histogram_view_set_axis (self, NULL);
      gradus_histogram_view_set_model (self, NULL);
      if (self->tick != 0)
        gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->tick);
      self->tick = 0;
      g_signal_handlers_disconnect_by_data (self->adjustment, self);
    }
  g_clear_pointer (&self->header, gtk_widget_unparent);
  g_clear_pointer (&self->body, gtk_widget_unparent);
  G_OBJECT_CLASS (gradus_histogram_view_parent_class)->dispose (object);
}

static void
gradus_histogram_view_finalize (GObject *object)
{
  GradusHistogramView *self = GRADUS_HISTOGRAM_VIEW (object);

  g_free (self->title);
  g_free (self->spoken);
  G_OBJECT_CLASS (gradus_histogram_view_parent_class)->finalize (object);
}

static void
gradus_histogram_view_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GradusHistogramView *self = GRADUS_HISTOGRAM_VIEW (object);

  switch (id)
    {
    case PROP_MODE:
      g_value_set_int (value, self->mode);
      break;
    case PROP_POSITION:
      g_value_set_uint (value, self->position);
      break;
    case PROP_TITLE:
      g_value_set_string (value, self->title);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
gradus_histogram_view_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GradusHistogramView *self = GRADUS_HISTOGRAM_VIEW (object);

  switch (id)
    {
    case PROP_MODE:
      gradus_histogram_view_set_mode (self, (GradusHistogramMode) g_value_get_int (value));
      break;
    case PROP_POSITION:
      gradus_histogram_view_set_position (self, g_value_get_uint (value));
      break;
    case PROP_TITLE:
      gradus_histogram_view_set_title (self, g_value_get_string (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
gradus_histogram_view_class_init (GradusHistogramViewClass *klass)
{
  GObjectClass   *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  GParamFlags     flags = G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  object_class->dispose = gradus_histogram_view_dispose;
  object_class->finalize = gradus_histogram_view_finalize;
  object_class->get_property = gradus_histogram_view_get_property;
  object_class->set_property = gradus_histogram_view_set_property;

  properties[PROP_MODE] = g_param_spec_int ("mode", NULL, NULL, 0, N_MODES - 1, 0, flags);
  properties[PROP_POSITION] = g_param_spec_uint ("position", NULL, NULL, 0, G_MAXUINT, 0, flags);
  properties[PROP_TITLE] = g_param_spec_string ("title", NULL, NULL, "", flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "gradus-histogram");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
}

static void
gradus_histogram_view_init (GradusHistogramView *self)
{
  GtkLayoutManager *layout = gtk_widget_get_layout_manager (GTK_WIDGET (self));

  gradus_widgets_init ();
  gtk_orientable_set_orientation (GTK_ORIENTABLE (layout), GTK_ORIENTATION_VERTICAL);
  gtk_box_layout_set_spacing (GTK_BOX_LAYOUT (layout), 12);
  self->title = g_strdup ("");
  self->hovered = NONE;
  build_header (self);
  build_body (self);
  add_controllers (self);
}

GtkWidget *
gradus_histogram_view_new (const char *title)
{
  return g_object_new (GRADUS_TYPE_HISTOGRAM_VIEW, "title", title, NULL);
}

void
gradus_histogram_view_set_title (GradusHistogramView *self, const char *title)
{
  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));

  if (title == NULL)
    title = "";
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->plot), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  if (g_strcmp0 (self->title, title) == 0)
    return;
  g_free (self->title);
  self->title = g_strdup (title);
  gtk_label_set_label (GTK_LABEL (self->title_label), title);
  speak (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TITLE]);
}

void
gradus_histogram_view_set_start_widget (GradusHistogramView *self, GtkWidget *widget)
{
  GtkWidget *old;

  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));
  g_return_if_fail (widget == NULL || GTK_IS_WIDGET (widget));

  while ((old = gtk_widget_get_first_child (self->start_box)) != NULL)
    gtk_box_remove (GTK_BOX (self->start_box), old);
  if (widget != NULL)
    gtk_box_append (GTK_BOX (self->start_box), widget);
}

void
gradus_histogram_view_set_model (GradusHistogramView *self, GListModel *model)
{
  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));
  g_return_if_fail (model == NULL || G_IS_LIST_MODEL (model));

  if (self->model == model)
    return;
  if (self->model != NULL)
    g_signal_handlers_disconnect_by_data (self->model, self);
  g_set_object (&self->model, model);
  gradus_histogram_plot_set_model (GRADUS_HISTOGRAM_PLOT (self->plot), model);
  self->hovered = NONE;
  self->position = count_items (self) > 0 ? count_items (self) - 1 : 0;
  if (model != NULL)
    g_signal_connect (model, "items-changed", G_CALLBACK (items_changed_cb), self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_POSITION]);
  queue_update (self);
}

GListModel *
gradus_histogram_view_get_model (GradusHistogramView *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self), NULL);

  return self->model;
}

void
gradus_histogram_view_set_mode (GradusHistogramView *self, GradusHistogramMode mode)
{
  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));
  g_return_if_fail (mode < N_MODES);

  if (self->mode == mode)
    return;
  self->mode = mode;
  gradus_histogram_plot_set_mode (GRADUS_HISTOGRAM_PLOT (self->plot), mode);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->mode_buttons[mode]), TRUE);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MODE]);
}

GradusHistogramMode
gradus_histogram_view_get_mode (GradusHistogramView *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self), GRADUS_HISTOGRAM_STACKED);

  return self->mode;
}

void
gradus_histogram_view_set_position (GradusHistogramView *self, guint position)
{
  guint n;

  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));

  n = count_items (self);
  position = MIN (position, n > 0 ? n - 1 : 0);
  if (self->position == position)
    return;
  self->position = position;
  update_adjustment (self);
  show_current (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_POSITION]);
}

guint
gradus_histogram_view_get_position (GradusHistogramView *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self), 0);

  return self->position;
}

void
gradus_histogram_view_set_color (GradusHistogramView *self, int color)
{
  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));

  gradus_histogram_plot_set_color (GRADUS_HISTOGRAM_PLOT (self->plot), color);
}

void
gradus_histogram_view_set_axis (GradusHistogramView *self, GradusAxis *axis)
{
  g_return_if_fail (GRADUS_IS_HISTOGRAM_VIEW (self));
  g_return_if_fail (axis == NULL || GRADUS_IS_AXIS (axis));

  if (self->axis == axis)
    return;
  if (self->axis != NULL)
    g_signal_handlers_disconnect_by_data (self->axis, self);
  g_set_object (&self->axis, axis);
  gradus_histogram_plot_set_axis (GRADUS_HISTOGRAM_PLOT (self->plot), axis);
  if (axis != NULL)
    {
      g_signal_connect_swapped (axis, "cursor-changed", G_CALLBACK (cursor_changed_cb), self);
      g_signal_connect_swapped (axis, "notify::kind", G_CALLBACK (queue_update), self);
    }
  queue_update (self);
}
