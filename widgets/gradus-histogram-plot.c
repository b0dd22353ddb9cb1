/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"
#include "gradus-format.h"
#include "gradus-histogram-plot.h"

#include <glib/gi18n-lib.h>
#include <math.h>

/* As many ridges as can be told apart, and as many steps as a plot has pixels. */
#define MAX_RIDGES 22
#define MAX_STEPS 600

#define RIDGE_LABELS 78
#define BOTTOM 22
#define TOP 4

/* The share of the values at each end that does not widen the plot. */
#define TAIL 0.0005

G_DEFINE_FINAL_TYPE (GradusHistogramPlot, gradus_histogram_plot, GTK_TYPE_WIDGET)

double
gradus_histogram_item_get_x (GradusHistogramItem *item, GradusXKind kind)
{
  double epoch = gradus_histogram_item_get_epoch (item);

  switch (kind)
    {
    case GRADUS_X_EPOCH:
      return isfinite (epoch) ? epoch : (double) gradus_histogram_item_get_step (item);
    case GRADUS_X_TIME:
      return (double) gradus_histogram_item_get_time (item) / 1000.0;
    case GRADUS_X_STEP:
    default:
      return (double) gradus_histogram_item_get_step (item);
    }
}

char *
gradus_histogram_item_format_x (GradusHistogramItem *item, GradusXKind kind)
{
  double           epoch = gradus_histogram_item_get_epoch (item);
  g_autofree char *text = NULL;

  if (kind == GRADUS_X_TIME)
    return gradus_format_duration ((double) gradus_histogram_item_get_time (item) / 1000.0);
  if (kind == GRADUS_X_EPOCH && isfinite (epoch))
    {
      text = epoch == floor (epoch) ? gradus_format_count ((gint64) epoch) : g_strdup_printf ("%.1f", epoch);
      return g_strdup_printf (_("epoch %s"), text);
    }
  text = gradus_format_count (gradus_histogram_item_get_step (item));
  return g_strdup_printf (_("step %s"), text);
}

static GradusXKind
get_kind (GradusHistogramPlot *self)
{
  return self->axis != NULL ? gradus_axis_get_kind (self->axis) : GRADUS_X_STEP;
}

static gboolean
is_along_x (GradusHistogramPlot *self)
{
  return self->mode == GRADUS_HISTOGRAM_STACKED || self->mode == GRADUS_HISTOGRAM_OVERLAY;
}

static void
clear_row (gpointer data)
{
  g_clear_object (&((GradusHistogramRow *) data)->item);
}

static void
choose_rows (GradusHistogramPlot *self)
{
  guint n = self->model != NULL ? g_list_model_get_n_items (self->model) : 0;
  guint n_rows = MIN (n, is_along_x (self) ? MAX_RIDGES : MAX_STEPS);

  g_array_set_size (self->rows, 0);
  for (guint i = 0; i < n_rows; i++)
    {
      GradusHistogramRow row = { 0 };

      /* Evenly, the first and the last always. */
      row.position = n_rows > 1 ? (guint) (((guint64) i * (n - 1) + (n_rows - 1) / 2) / (n_rows - 1)) : 0;
      row.item = g_list_model_get_item (self->model, row.position);
      row.x = gradus_histogram_item_get_x (row.item, get_kind (self));
      g_array_append_val (self->rows, row);
    }
}

static void
choose_range (GradusHistogramPlot *self)
{
  GradusHistogramGeometry *geometry = &self->geometry;
  double                   low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < self->rows->len; i++)
    {
      GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i);
      double              from = gradus_histogram_item_quantile (row->item, TAIL);
      double              to = gradus_histogram_item_quantile (row->item, 1.0 - TAIL);

      if (isfinite (from) && isfinite (to))
        {
          low = MIN (low, from);
          high = MAX (high, to);
        }
    }
  if (!(low < high))
    {
      double middle = isfinite (low) ? low : 0.0;
      double margin = middle != 0.0 ? fabs (middle) * 0.5 : 1.0;

      low = middle - margin;
      high = middle + margin;
    }
  gradus_ticks_round_range (&low, &high, 8);
  geometry->low = low;
  geometry->high = high;
  geometry->x0 = self->rows->len > 0 ? g_array_index (self->rows, GradusHistogramRow, 0).x : 0.0;
  geometry->x1
      = self->rows->len > 0 ? g_array_index (self->rows, GradusHistogramRow, self->rows->len - 1).x : 1.0;
  if (!(geometry->x1 > geometry->x0))
    geometry->x1 = geometry->x0 + 1.0;
}

static void
resample (GradusHistogramPlot *self)
{
  self->geometry.max_density = 0.0;
  for (guint i = 0; i < self->rows->len; i++)
    {
      GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i);

      gradus_histogram_item_resample (row->item, self->geometry.low, self->geometry.high,
                                      GRADUS_HISTOGRAM_CELLS, row->density);
      for (guint cell = 0; cell < GRADUS_HISTOGRAM_CELLS; cell++)
        self->geometry.max_density = MAX (self->geometry.max_density, row->density[cell]);
    }
}

static double
measure_value_labels (GradusHistogramPlot *self)
{
  double widest = 0.0;

  for (guint i = 0; i < self->geometry.value_ticks.n; i++)
    {
      g_autofree char *text
          = gradus_ticks_format (&self->geometry.value_ticks, self->geometry.value_ticks.at[i]);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);
      int width;

      pango_layout_get_pixel_size (layout, &width, NULL);
      widest = MAX (widest, width);
    }
  return widest;
}

static void
place (GradusHistogramPlot *self)
{
  GradusHistogramGeometry *geometry = &self->geometry;
  double                   width = gtk_widget_get_width (GTK_WIDGET (self));
  double                   height = gtk_widget_get_height (GTK_WIDGET (self));
  guint                    n_values;

  geometry->top = TOP;
  geometry->height = MAX (0.0, height - TOP - BOTTOM);
  n_values = is_along_x (self) ? (guint) CLAMP (width / 90.0, 2, 9) : (guint) CLAMP (height / 26.0, 2, 8);
  gradus_ticks_linear (geometry->low, geometry->high, n_values, FALSE, &geometry->value_ticks);
  geometry->left = is_along_x (self) ? 0.0 : ceil (measure_value_labels (self)) + 8.0;
  geometry->width = MAX (0.0, floor (width - geometry->left - (is_along_x (self) ? RIDGE_LABELS : 6.0)));
  if (get_kind (self) == GRADUS_X_TIME)
    gradus_ticks_time (geometry->x0, geometry->x1, (guint) CLAMP (width / 90.0, 2, 9), &geometry->x_ticks);
  else
    gradus_ticks_linear (geometry->x0, geometry->x1, (guint) CLAMP (width / 90.0, 2, 9), TRUE,
                         &geometry->x_ticks);
}

static void
validate (GradusHistogramPlot *self)
{
  if (self->valid)
    return;
  gradus_palette_read (&self->palette, GTK_WIDGET (self));
  choose_rows (self);
  choose_range (self);
  resample (self);
  place (self);
  g_clear_object (&self->heat);
  self->valid = TRUE;
}

void
gradus_histogram_draw_value_axis (GradusHistogramPlot *self, GtkSnapshot *snapshot, gboolean vertical)
{
  const GradusHistogramGeometry *geometry = &self->geometry;
  double                         bottom = geometry->top + geometry->height;

  for (guint i = 0; i < geometry->value_ticks.n; i++)
    {
      double part = (geometry->value_ticks.at[i] - geometry->low) / (geometry->high - geometry->low);
      g_autofree char *text = gradus_ticks_format (&geometry->value_ticks, geometry->value_ticks.at[i]);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);
      double x = floor (geometry->left + part * geometry->width);
      double y = round (bottom - part * geometry->height);
      /* Labels at the ends stay within the plot. */
      double align = part < 0.01 ? 0.0 : part > 0.99 ? 1.0 : 0.5;

      if (vertical)
        {
          gradus_draw_rect (snapshot, geometry->left, y, geometry->width, 1, &self->palette.grid);
          gradus_draw_text (snapshot, layout, geometry->left - 8, y, 1.0, &self->palette.dim);
        }
      else
        {
          gradus_draw_rect (snapshot, MIN (x, geometry->left + geometry->width - 1), bottom, 1, 4,
                            &self->palette.axis);
          gradus_draw_text (snapshot, layout, x, bottom + 13, align, &self->palette.dim);
        }
    }
}

void
gradus_histogram_draw_step_axis (GradusHistogramPlot *self, GtkSnapshot *snapshot)
{
  const GradusHistogramGeometry *geometry = &self->geometry;
  double                         bottom = geometry->top + geometry->height;

  gradus_draw_rect (snapshot, geometry->left, bottom, geometry->width, 1, &self->palette.axis);
  for (guint i = 0; i < geometry->x_ticks.n; i++)
    {
      double part = (geometry->x_ticks.at[i] - geometry->x0) / (geometry->x1 - geometry->x0);
      double x = floor (geometry->left + part * geometry->width);
      g_autofree char *text = get_kind (self) == GRADUS_X_TIME
                                  ? gradus_ticks_format_time (&geometry->x_ticks, geometry->x_ticks.at[i])
                                  : gradus_ticks_format (&geometry->x_ticks, geometry->x_ticks.at[i]);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);

      gradus_draw_rect (snapshot, MIN (x, geometry->left + geometry->width - 1), bottom, 1, 4,
                        &self->palette.axis);
      gradus_draw_text (snapshot, layout, x, bottom + 13, part > 0.97 ? 1.0 : 0.5, &self->palette.dim);
    }
}

static void
draw_empty (GradusHistogramPlot *self, GtkSnapshot *snapshot)
{
  g_autoptr (PangoLayout) layout
      = gradus_draw_layout (GTK_WIDGET (self), _("No histograms recorded yet"), FALSE);

  gradus_draw_text (snapshot, layout, gtk_widget_get_width (GTK_WIDGET (self)) / 2.0,
                    gtk_widget_get_height (GTK_WIDGET (self)) / 2.0, 0.5, &self->palette.dim);
}

static void
gradus_histogram_plot_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusHistogramPlot *self = GRADUS_HISTOGRAM_PLOT (widget);

  validate (self);
  if (self->geometry.width <= 0 || self->geometry.height <= 0)
    return;
  if (self->rows->len == 0)
    {
      draw_empty (self, snapshot);
      return;
    }
  switch (self->mode)
    {
    case GRADUS_HISTOGRAM_DISTRIBUTION:
      gradus_histogram_draw_distribution (self, snapshot);
      break;
    case GRADUS_HISTOGRAM_HEAT_MAP:
      gradus_histogram_draw_heat_map (self, snapshot);
      break;
    case GRADUS_HISTOGRAM_STACKED:
    case GRADUS_HISTOGRAM_OVERLAY:
    default:
      gradus_histogram_draw_ridges (self, snapshot);
      break;
    }
}

static void
gradus_histogram_plot_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  GRADUS_HISTOGRAM_PLOT (widget)->valid = FALSE;
}

static void
style_changed (GtkWidget *widget)
{
  gradus_histogram_plot_invalidate (GRADUS_HISTOGRAM_PLOT (widget));
}

static void
gradus_histogram_plot_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_histogram_plot_parent_class)->css_changed (widget, change);
  style_changed (widget);
}

static void
gradus_histogram_plot_dispose (GObject *object)
{
  GradusHistogramPlot *self = GRADUS_HISTOGRAM_PLOT (object);

  gradus_histogram_plot_set_model (self, NULL);
  g_clear_object (&self->axis);
  g_clear_object (&self->heat);
  G_OBJECT_CLASS (gradus_histogram_plot_parent_class)->dispose (object);
}

static void
gradus_histogram_plot_finalize (GObject *object)
{
  g_array_unref (GRADUS_HISTOGRAM_PLOT (object)->rows);
  G_OBJECT_CLASS (gradus_histogram_plot_parent_class)->finalize (object);
}

static void
gradus_histogram_plot_class_init (GradusHistogramPlotClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_histogram_plot_dispose;
  G_OBJECT_CLASS (klass)->finalize = gradus_histogram_plot_finalize;
  widget_class->snapshot = gradus_histogram_plot_snapshot;
  widget_class->size_allocate = gradus_histogram_plot_size_allocate;
  widget_class->css_changed = gradus_histogram_plot_css_changed;
  gtk_widget_class_set_css_name (widget_class, "plot");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
gradus_histogram_plot_init (GradusHistogramPlot *self)
{
  self->rows = g_array_new (FALSE, FALSE, sizeof (GradusHistogramRow));
  g_array_set_clear_func (self->rows, clear_row);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gradus_palette_watch (GTK_WIDGET (self), style_changed);
}

GtkWidget *
gradus_histogram_plot_new (void)
{
  return g_object_new (GRADUS_TYPE_HISTOGRAM_PLOT, NULL);
}

void
gradus_histogram_plot_invalidate (GradusHistogramPlot *self)
{
  self->valid = FALSE;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
gradus_histogram_plot_set_model (GradusHistogramPlot *self, GListModel *model)
{
  if (g_set_object (&self->model, model))
    {
      g_array_set_size (self->rows, 0);
      gradus_histogram_plot_invalidate (self);
    }
}

void
gradus_histogram_plot_set_axis (GradusHistogramPlot *self, GradusAxis *axis)
{
  if (g_set_object (&self->axis, axis))
    gradus_histogram_plot_invalidate (self);
}

void
gradus_histogram_plot_set_mode (GradusHistogramPlot *self, GradusHistogramMode mode)
{
  self->mode = mode;
  gradus_histogram_plot_invalidate (self);
}

void
gradus_histogram_plot_set_color (GradusHistogramPlot *self, int color)
{
  self->color = color;
  gradus_histogram_plot_invalidate (self);
}

void
gradus_histogram_plot_set_position (GradusHistogramPlot *self, guint position)
{
  if (self->position == position)
    return;
  self->position = position;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static gboolean
pick_step (GradusHistogramPlot *self, double px, guint *position)
{
  const GradusHistogramGeometry *geometry = &self->geometry;
  double x = geometry->x0 + (px - geometry->left) / geometry->width * (geometry->x1 - geometry->x0);
  double nearest = INFINITY;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i);

      if (fabs (row->x - x) < nearest)
        {
          nearest = fabs (row->x - x);
          *position = row->position;
        }
    }
  return px >= geometry->left && px <= geometry->left + geometry->width;
}

gboolean
gradus_histogram_plot_pick (GradusHistogramPlot *self, double px, double py, guint *position)
{
  if (!self->valid || self->rows->len == 0 || self->geometry.width <= 0 || self->geometry.height <= 0)
    return FALSE;
  if (is_along_x (self))
    return gradus_histogram_pick_ridge (self, px, py, position);
  return pick_step (self, px, position);
}
