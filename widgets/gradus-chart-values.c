/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"
#include "gradus-draw.h"

#include <math.h>

/* The values at the right of a chart's title. Drawn, not labels: a label that changes lays out the
   whole window anew. */
#define GRADUS_TYPE_CHART_VALUES (gradus_chart_values_get_type ())
G_DECLARE_FINAL_TYPE (GradusChartValues, gradus_chart_values, GRADUS, CHART_VALUES, GtkWidget)

#define CAPTION_GAP 7
#define VALUE_GAP 16
#define STAR_RADIUS 6.0
#define CAPTION_SCALE 0.86
#define TRAIN_TEXT 0.72

struct _GradusChartValues
{
  GtkWidget parent_instance;

  GradusChart *chart; /* borrowed: the chart owns this */
};

G_DEFINE_FINAL_TYPE (GradusChartValues, gradus_chart_values, GTK_TYPE_WIDGET)

static PangoLayout *
make_caption (GradusChartValues *self, const char *text)
{
  PangoLayout   *layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);
  PangoAttrList *attributes = pango_attr_list_copy (pango_layout_get_attributes (layout));

  pango_attr_list_insert (attributes, pango_attr_scale_new (CAPTION_SCALE));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  return layout;
}

/* Draws @layout so that it ends at *right, if it begins at or after 0; then moves *right there. */
static gboolean
draw_leftwards (GtkSnapshot *snapshot, PangoLayout *layout, double height, const GdkRGBA *color, double *right)
{
  int width;

  pango_layout_get_pixel_size (layout, &width, NULL);
  if (*right - width < 0)
    return FALSE;
  gradus_draw_text (snapshot, layout, *right, height / 2.0, 1.0, color);
  *right -= width;
  return TRUE;
}

static int
get_width (PangoLayout *layout)
{
  int width;

  pango_layout_get_pixel_size (layout, &width, NULL);
  return width;
}

/* The number, with its unit if there is room for both. */
static PangoLayout *
make_value (GradusChartValues *self, double value, gboolean bold, double room)
{
  g_autofree char *text = gradus_format_value (value, self->chart->unit);
  PangoLayout     *layout = gradus_draw_layout (GTK_WIDGET (self), text, bold);

  if (self->chart->unit == GRADUS_UNIT_SAMPLES_RATE && isfinite (value) && get_width (layout) > room)
    {
      g_autofree char *bare = gradus_format_value (value, GRADUS_UNIT_NONE);

      g_object_unref (layout);
      layout = gradus_draw_layout (GTK_WIDGET (self), bare, bold);
    }
  return layout;
}

static void
draw_value (GradusChartValues *self, GtkSnapshot *snapshot, const GradusChartLine *line, double height, double *right)
{
  GradusChart     *chart = self->chart;
  GradusLineRole   role = gradus_line_get_role (line->line);
  GdkRGBA          color = *gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  gboolean         first = *right >= gtk_widget_get_width (GTK_WIDGET (self));
  gboolean         named = *gradus_line_get_name (line->line) != '\0';
  g_autoptr (PangoLayout) value = make_value (self, line->last.value, role != GRADUS_LINE_TRAIN, *right);
  g_autoptr (PangoLayout) caption = make_caption (self, gradus_line_get_name (line->line));

  if (!isfinite (line->last.value))
    color = chart->palette.error;
  else if (role == GRADUS_LINE_TRAIN)
    color = gradus_draw_fade (&color, TRAIN_TEXT);
  /* A second number without its name would not be understood. */
  if (named && !first && get_width (value) + CAPTION_GAP + get_width (caption) > *right)
    return;
  if (!draw_leftwards (snapshot, value, height, &color, right))
    return;
  if (named)
    {
      *right -= CAPTION_GAP;
      draw_leftwards (snapshot, caption, height, &chart->palette.dim, right);
    }
  *right -= VALUE_GAP;
}

static void
draw_best (GradusChartValues *self, GtkSnapshot *snapshot, const GradusChartLine *line, double height, double *right)
{
  GradusChart     *chart = self->chart;
  const GdkRGBA   *color = gradus_palette_get_run (&chart->palette, gradus_line_get_color (line->line));
  g_autofree char *text = gradus_format_value (line->best.value, chart->unit);
  g_autoptr (PangoLayout) value = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);

  /* Without its star the number would say nothing. */
  if (*right < get_width (value) + CAPTION_GAP + 2.0 * STAR_RADIUS || !draw_leftwards (snapshot, value, height, color, right))
    return;
  *right -= CAPTION_GAP + STAR_RADIUS;
  gradus_draw_star (snapshot, *right, height / 2.0, STAR_RADIUS, color, 0.0, NULL);
  *right -= STAR_RADIUS + VALUE_GAP;
}

static void
draw_note (GradusChartValues *self, GtkSnapshot *snapshot, const char *text, double height, double *right)
{
  g_autoptr (PangoLayout) note = NULL;

  if (text == NULL)
    return;
  note = make_caption (self, text);
  if (draw_leftwards (snapshot, note, height, &self->chart->palette.dim, right))
    *right -= VALUE_GAP;
}

static void
gradus_chart_values_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusChartValues *self = GRADUS_CHART_VALUES (widget);
  GPtrArray         *lines = self->chart->lines;
  double             right = gtk_widget_get_width (widget);
  double             height = gtk_widget_get_height (widget);
  g_autofree char   *outside = gradus_chart_describe_outside (self->chart);

  for (guint i = lines->len; i > 0; i--)
    {
      GradusChartLine *line = g_ptr_array_index (lines, i - 1);

      if (line->has_last && gradus_chart_is_focus (self->chart, line))
        draw_value (self, snapshot, line, height, &right);
    }
  for (guint i = lines->len; i > 0; i--)
    {
      GradusChartLine *line = g_ptr_array_index (lines, i - 1);

      if (line->has_best && gradus_chart_is_focus (self->chart, line))
        draw_best (self, snapshot, line, height, &right);
    }
  draw_note (self, snapshot, outside, height, &right);
  draw_note (self, snapshot, self->chart->note, height, &right);
}

static void
gradus_chart_values_measure (GtkWidget     *widget,
                             GtkOrientation orientation,
                             int            for_size,
                             int           *minimum,
                             int           *natural,
                             int           *minimum_baseline,
                             int           *natural_baseline)
{
  *minimum = *natural = 0;
  if (orientation == GTK_ORIENTATION_VERTICAL)
    {
      g_autoptr (PangoLayout) layout = gradus_draw_layout (widget, "0", TRUE);

      pango_layout_get_pixel_size (layout, NULL, natural);
      *minimum = *natural;
    }
}

static void
gradus_chart_values_class_init (GradusChartValuesClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  widget_class->snapshot = gradus_chart_values_snapshot;
  widget_class->measure = gradus_chart_values_measure;
  gtk_widget_class_set_css_name (widget_class, "values");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
gradus_chart_values_init (GradusChartValues *self)
{
}

GtkWidget *
gradus_chart_values_new (GradusChart *chart)
{
  GradusChartValues *self = g_object_new (GRADUS_TYPE_CHART_VALUES, NULL);

  self->chart = chart;
  return GTK_WIDGET (self);
}
