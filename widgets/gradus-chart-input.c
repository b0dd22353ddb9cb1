/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define ZOOM_STEP 0.8
#define PAN_SHARE 0.1
#define PAGE_SHARE 0.8
#define WHEEL_PIXELS 40.0

/* A shorter drag is a click. */
#define MIN_DRAG 5.0

/* Speed, in pixels a second, under which a thrown chart stands, and how much of it is left after a
   second. */
#define MIN_VELOCITY 20.0
#define FRICTION 0.02

static double
get_span (GradusChart *self)
{
  return self->plot.x1 - self->plot.x0;
}

static void
pan_pixels (GradusChart *self, double pixels)
{
  if (self->plot.width > 0)
    gradus_axis_pan (self->axis, pixels / self->plot.width * get_span (self));
}

static double
clamp_to_plot (GradusChart *self, double px)
{
  return CLAMP (px, self->plot.left, self->plot.left + self->plot.width);
}

static void
stop_throw (GradusChart *self)
{
  if (self->kinetic_tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->kinetic_tick);
  self->kinetic_tick = 0;
}

static gboolean
throw_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  GradusChart *self = GRADUS_CHART (widget);
  gint64       now = gdk_frame_clock_get_frame_time (clock);
  double       seconds = (double) (now - self->velocity_time) / G_USEC_PER_SEC;

  pan_pixels (self, self->velocity * seconds);
  self->velocity *= pow (FRICTION, seconds);
  self->velocity_time = now;
  if (fabs (self->velocity) >= MIN_VELOCITY)
    return G_SOURCE_CONTINUE;
  self->kinetic_tick = 0;
  return G_SOURCE_REMOVE;
}

static void
decelerate_cb (GtkEventControllerScroll *controller, double vx, double vy, GradusChart *self)
{
  if (fabs (vx) <= fabs (vy) || !gradus_axis_get_zoomed (self->axis))
    return;
  stop_throw (self);
  self->velocity = vx;
  self->velocity_time = gdk_frame_clock_get_frame_time (gtk_widget_get_frame_clock (GTK_WIDGET (self)));
  self->kinetic_tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), throw_cb, NULL, NULL);
}

static gboolean
scroll_cb (GtkEventControllerScroll *controller, double dx, double dy, GradusChart *self)
{
  GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (controller));
  gboolean zoomed = gradus_axis_get_zoomed (self->axis);

  stop_throw (self);
  if ((state & GDK_SHIFT_MASK) != 0 || fabs (dx) > fabs (dy))
    {
      if (!zoomed)
        return GDK_EVENT_PROPAGATE;
      pan_pixels (self, (fabs (dx) > fabs (dy) ? dx : dy) * WHEEL_PIXELS);
      return GDK_EVENT_STOP;
    }
  /* With nothing to leave, the wheel is the page's. */
  if (isnan (self->pointer_x) || dy == 0.0 || (dy > 0.0 && !zoomed))
    return GDK_EVENT_PROPAGATE;
  gradus_axis_zoom_around (self->axis, gradus_plot_get_x (&self->plot, clamp_to_plot (self, self->pointer_x)),
                           pow (ZOOM_STEP, -dy));
  return GDK_EVENT_STOP;
}

static void
motion_cb (GtkEventControllerMotion *controller, double px, double py, GradusChart *self)
{
  const GradusPlot *plot = &self->plot;
  gboolean inside = px >= plot->left && px <= plot->left + plot->width && py <= plot->top + plot->height;

  self->pointer_x = px;
  self->pointer_y = py;
  gradus_axis_set_cursor (self->axis, inside ? gradus_plot_get_x (plot, px) : NAN);
  gtk_widget_queue_draw (self->cursor);
}

static void
leave_cb (GtkEventControllerMotion *controller, GradusChart *self)
{
  self->pointer_x = self->pointer_y = NAN;
  gradus_axis_set_cursor (self->axis, NAN);
  gtk_widget_queue_draw (self->cursor);
}

static void
drag_begin_cb (GtkGestureDrag *gesture, double px, double py, GradusChart *self)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  guint           button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));

  stop_throw (self);
  if (button == GDK_BUTTON_SECONDARY)
    {
      gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_DENIED);
      return;
    }
  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->drag_pans = button == GDK_BUTTON_MIDDLE || (state & GDK_SHIFT_MASK) != 0;
  self->drag_selects = (state & GDK_ALT_MASK) != 0;
  self->drag_last = 0.0;
}

static void
drag_update_cb (GtkGestureDrag *gesture, double dx, double dy, GradusChart *self)
{
  double px, py;

  if (self->drag_pans)
    {
      pan_pixels (self, self->drag_last - dx);
      self->drag_last = dx;
      return;
    }
  gtk_gesture_drag_get_start_point (gesture, &px, &py);
  if (isnan (self->drag_x0) && fabs (dx) < MIN_DRAG)
    return;
  self->drag_x0 = clamp_to_plot (self, px);
  self->drag_x1 = clamp_to_plot (self, px + dx);
  gtk_widget_queue_draw (self->cursor);
}

static void
drag_end_cb (GtkGestureDrag *gesture, double dx, double dy, GradusChart *self)
{
  double left = MIN (self->drag_x0, self->drag_x1), right = MAX (self->drag_x0, self->drag_x1);

  self->drag_x0 = self->drag_x1 = NAN;
  gtk_widget_queue_draw (self->cursor);
  if (!(right - left >= MIN_DRAG))
    return;
  left = gradus_plot_get_x (&self->plot, left);
  right = gradus_plot_get_x (&self->plot, right);
  if (self->drag_selects)
    gradus_axis_set_selection (self->axis, left, right);
  else
    gradus_axis_zoom (self->axis, left, right);
}

static void
drag_cancel_cb (GtkGesture *gesture, GdkEventSequence *sequence, GradusChart *self)
{
  self->drag_x0 = self->drag_x1 = NAN;
  gtk_widget_queue_draw (self->cursor);
}

static void
pressed_cb (GtkGestureClick *gesture, int n_press, double px, double py, GradusChart *self)
{
  GradusMark *mark;

  if (n_press == 2)
    gradus_axis_reset (self->axis);
  else if (n_press == 1 && (mark = gradus_chart_find_mark (self, px, py)) != NULL)
    g_signal_emit_by_name (self, "mark-activated", mark);
}

static gboolean
query_tooltip_cb (GtkWidget *widget, int px, int py, gboolean keyboard, GtkTooltip *tooltip, GradusChart *self)
{
  GradusMark *mark = keyboard ? NULL : gradus_chart_find_mark (self, px, py);
  const char *text;

  if (mark == NULL)
    return FALSE;
  text = gradus_mark_get_tooltip (mark) != NULL ? gradus_mark_get_tooltip (mark) : gradus_mark_get_label (mark);
  gtk_tooltip_set_text (tooltip, text);
  return text != NULL;
}

/* The x of the point after @x, or before it; one pixel on where points are closer than that. */
static double
find_neighbour (GradusChart *self, double x, int direction)
{
  GradusChartLine *line = gradus_chart_get_focus_line (self);
  double           pixel = get_span (self) / MAX (self->plot.width, 1.0);
  GradusSeries    *series;
  GradusPoint      points[4], nearest;
  guint64          n;

  if (line == NULL)
    return x;
  series = gradus_line_get_series (line->line);
  n = gradus_series_get_points (series, self->plot.kind, x, x, G_N_ELEMENTS (points), points);
  if (n == 0 || n > G_N_ELEMENTS (points))
    return x + direction * pixel;
  nearest = direction > 0 ? points[n - 1] : points[0];
  if (fabs (nearest.x - x) >= pixel || nearest.x == x)
    return nearest.x;
  if (gradus_series_get_nearest (series, self->plot.kind, x + direction * pixel, &nearest)
      && (nearest.x - x) * direction > 0)
    return nearest.x;
  return x + direction * pixel;
}

static void
move_cursor (GradusChart *self, int direction, gboolean far)
{
  double           x = gradus_axis_get_cursor (self->axis), x0, x1, from, to;
  GradusChartLine *line = gradus_chart_get_focus_line (self);

  gradus_axis_get_range (self->axis, &x0, &x1);
  if (line != NULL
      && gradus_series_get_x_range (gradus_line_get_series (line->line), self->plot.kind, &from, &to))
    {
      x0 = MAX (x0, from);
      x1 = MIN (x1, to);
    }
  if (isnan (x))
    x = direction > 0 ? x0 : x1;
  else if (far)
    x += direction * PAN_SHARE * get_span (self);
  else
    x = find_neighbour (self, x, direction);
  gradus_axis_set_cursor (self->axis, CLAMP (x, MIN (x0, x1), MAX (x0, x1)));
  gradus_chart_speak_cursor (self);
}

static void
zoom_by_key (GradusChart *self, double factor)
{
  double x = gradus_axis_get_cursor (self->axis);

  gradus_axis_zoom_around (self->axis, isnan (x) ? (self->plot.x0 + self->plot.x1) / 2.0 : x, factor);
}

gboolean
gradus_chart_key (GradusChart *self, guint keyval, GdkModifierType state)
{
  switch (keyval)
    {
    case GDK_KEY_Left:
    case GDK_KEY_KP_Left:
      move_cursor (self, -1, (state & GDK_CONTROL_MASK) != 0);
      return GDK_EVENT_STOP;
    case GDK_KEY_Right:
    case GDK_KEY_KP_Right:
      move_cursor (self, 1, (state & GDK_CONTROL_MASK) != 0);
      return GDK_EVENT_STOP;
    case GDK_KEY_plus:
    case GDK_KEY_equal:
    case GDK_KEY_KP_Add:
      zoom_by_key (self, ZOOM_STEP);
      return GDK_EVENT_STOP;
    case GDK_KEY_minus:
    case GDK_KEY_KP_Subtract:
      zoom_by_key (self, 1.0 / ZOOM_STEP);
      return GDK_EVENT_STOP;
    case GDK_KEY_Page_Up:
    case GDK_KEY_Page_Down:
      if (!gradus_axis_get_zoomed (self->axis))
        return GDK_EVENT_PROPAGATE;
      gradus_axis_pan (self->axis, (keyval == GDK_KEY_Page_Up ? -PAGE_SHARE : PAGE_SHARE) * get_span (self));
      return GDK_EVENT_STOP;
    case GDK_KEY_0:
    case GDK_KEY_KP_0:
    case GDK_KEY_Home:
      gradus_axis_reset (self->axis);
      return GDK_EVENT_STOP;
    case GDK_KEY_BackSpace:
      return gradus_axis_zoom_back (self->axis) ? GDK_EVENT_STOP : GDK_EVENT_PROPAGATE;
    case GDK_KEY_Escape:
      {
        double x0, x1;

        if (isnan (gradus_axis_get_cursor (self->axis)) && !gradus_axis_get_selection (self->axis, &x0, &x1))
          return GDK_EVENT_PROPAGATE;
        gradus_axis_set_cursor (self->axis, NAN);
        gradus_axis_set_selection (self->axis, NAN, NAN);
        gradus_chart_speak_cursor (self);
        return GDK_EVENT_STOP;
      }
    default:
      return GDK_EVENT_PROPAGATE;
    }
}

static gboolean
key_pressed_cb (GtkEventControllerKey *controller, guint keyval, guint keycode, GdkModifierType state, GradusChart *self)
{
  if ((state & (GDK_ALT_MASK | GDK_SUPER_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  return gradus_chart_key (self, keyval, state);
}

static void
focus_changed_cb (GradusChart *self)
{
  gtk_widget_queue_draw (self->cursor);
}

static void
add_pointer_controllers (GradusChart *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES
                                                                | GTK_EVENT_CONTROLLER_SCROLL_KINETIC);
  GtkGesture         *drag = gtk_gesture_drag_new ();
  GtkGesture         *click = gtk_gesture_click_new ();

  g_signal_connect (motion, "enter", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (scroll_cb), self);
  g_signal_connect (scroll, "decelerate", G_CALLBACK (decelerate_cb), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (drag_end_cb), self);
  g_signal_connect (drag, "cancel", G_CALLBACK (drag_cancel_cb), self);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);

  gtk_widget_add_controller (self->frame, motion);
  gtk_widget_add_controller (self->frame, scroll);
  gtk_widget_add_controller (self->frame, GTK_EVENT_CONTROLLER (drag));
  gtk_widget_add_controller (self->frame, GTK_EVENT_CONTROLLER (click));
}

void
gradus_chart_add_controllers (GradusChart *self)
{
  GtkEventController *key = gtk_event_controller_key_new ();
  GtkEventController *focus = gtk_event_controller_focus_new ();

  add_pointer_controllers (self);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_pressed_cb), self);
  g_signal_connect_swapped (focus, "enter", G_CALLBACK (focus_changed_cb), self);
  g_signal_connect_swapped (focus, "leave", G_CALLBACK (focus_changed_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), key);
  gtk_widget_add_controller (GTK_WIDGET (self), focus);

  gtk_widget_set_has_tooltip (self->frame, TRUE);
  g_signal_connect (self->frame, "query-tooltip", G_CALLBACK (query_tooltip_cb), self);
}
