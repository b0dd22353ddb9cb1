/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"
#include "gradus-histogram-plot.h"

#include <math.h>

/* The oldest ridge is narrower by this much at each side, and the highest peak takes this share of
   the plot's height. */
#define PERSPECTIVE 0.05
#define PEAK_SHARE 0.42
#define OVERLAY_PEAK_SHARE 0.92

#define OLDEST_STRENGTH 0.4
#define LABEL_HEIGHT 16.0

typedef struct
{
  double left, width; /* of the base line */
  double base;
  double scale; /* pixels per density */
} Ridge;

static void
place_ridge (GradusHistogramPlot *self, guint i, Ridge *ridge)
{
  const GradusHistogramGeometry *geometry = &self->geometry;
  gboolean stacked = self->mode == GRADUS_HISTOGRAM_STACKED;
  double   age = self->rows->len > 1 ? 1.0 - (double) i / (self->rows->len - 1) : 0.0;
  double   peak = geometry->height * (stacked ? PEAK_SHARE : OVERLAY_PEAK_SHARE);
  double   inset = stacked ? PERSPECTIVE * geometry->width * age : 0.0;
  double   depth = stacked ? geometry->height * (1.0 - PEAK_SHARE) * 0.96 : 0.0;

  ridge->left = geometry->left + inset;
  ridge->width = geometry->width - 2.0 * inset;
  ridge->base = geometry->top + geometry->height - depth * age;
  ridge->scale = geometry->max_density > 0.0 ? peak / geometry->max_density : 0.0;
}

static void
trace_ridge (cairo_t *cr, const Ridge *ridge, const GradusHistogramRow *row)
{
  for (guint cell = 0; cell < GRADUS_HISTOGRAM_CELLS; cell++)
    cairo_line_to (cr, ridge->left + (cell + 0.5) * ridge->width / GRADUS_HISTOGRAM_CELLS,
                   ridge->base - row->density[cell] * ridge->scale);
}

static void
draw_ridge (GradusHistogramPlot *self, GtkSnapshot *snapshot, guint i, gboolean picked, gboolean fill)
{
  const GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i);
  const GdkRGBA            *color = gradus_palette_get_run (&self->palette, self->color);
  double   strength = self->rows->len > 1
                          ? OLDEST_STRENGTH + (0.85 - OLDEST_STRENGTH) * (double) i / (self->rows->len - 1)
                          : 0.85;
  Ridge    ridge;
  GdkRGBA  line, tint;
  cairo_t *cr;

  place_ridge (self, i, &ridge);
  cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT ((float) self->geometry.left - 2, (float) self->geometry.top - 2,
                                     (float) self->geometry.width + 4, (float) (ridge.base - self->geometry.top + 4)));
  if (fill)
    {
      /* What is behind a ridge is hidden by it; then its own tint. */
      cairo_move_to (cr, ridge.left, ridge.base);
      trace_ridge (cr, &ridge, row);
      cairo_line_to (cr, ridge.left + ridge.width, ridge.base);
      cairo_close_path (cr);
      gdk_cairo_set_source_rgba (cr, &self->palette.card);
      cairo_fill_preserve (cr);
      tint = gradus_draw_fade (color, picked ? 0.15 : 0.05);
      gdk_cairo_set_source_rgba (cr, &tint);
      cairo_fill (cr);
    }
  cairo_move_to (cr, ridge.left, ridge.base);
  trace_ridge (cr, &ridge, row);
  cairo_line_to (cr, ridge.left + ridge.width, ridge.base);
  line = gradus_draw_fade (color, picked ? 1.0 : strength);
  cairo_set_line_width (cr, picked ? 2.0 : 1.0);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  gdk_cairo_set_source_rgba (cr, &line);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

/* The row that is drawn for the picked position: itself, or the next one that is drawn. */
static guint
find_picked (GradusHistogramPlot *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (g_array_index (self->rows, GradusHistogramRow, i).position >= self->position)
      return i;
  return self->rows->len - 1;
}

static void
draw_label (GradusHistogramPlot *self, GtkSnapshot *snapshot, guint i, gboolean strong)
{
  const GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i);
  GradusXKind kind = self->axis != NULL ? gradus_axis_get_kind (self->axis) : GRADUS_X_STEP;
  g_autofree char *text = gradus_histogram_item_format_x (row->item, kind);
  g_autoptr (PangoLayout) layout = gradus_draw_layout (GTK_WIDGET (self), text, FALSE);
  Ridge ridge;

  place_ridge (self, i, &ridge);
  gradus_draw_text (snapshot, layout, self->geometry.left + self->geometry.width + 10, ridge.base, 0.0,
                    strong ? &self->palette.text : &self->palette.dim);
}

static void
draw_labels (GradusHistogramPlot *self, GtkSnapshot *snapshot, guint picked)
{
  guint last = self->rows->len - 1;
  Ridge first_ridge, last_ridge, picked_ridge;

  if (self->mode != GRADUS_HISTOGRAM_STACKED)
    {
      draw_label (self, snapshot, picked, TRUE);
      return;
    }
  place_ridge (self, 0, &first_ridge);
  place_ridge (self, last, &last_ridge);
  place_ridge (self, picked, &picked_ridge);
  draw_label (self, snapshot, picked, picked != last);
  if (picked != 0 && fabs (picked_ridge.base - first_ridge.base) > LABEL_HEIGHT)
    draw_label (self, snapshot, 0, FALSE);
  if (picked != last && fabs (last_ridge.base - picked_ridge.base) > LABEL_HEIGHT)
    draw_label (self, snapshot, last, FALSE);
}

void
gradus_histogram_draw_ridges (GradusHistogramPlot *self, GtkSnapshot *snapshot)
{
  guint    picked = find_picked (self);
  gboolean stacked = self->mode == GRADUS_HISTOGRAM_STACKED;

  gradus_histogram_draw_value_axis (self, snapshot, FALSE);
  gradus_draw_rect (snapshot, self->geometry.left, self->geometry.top + self->geometry.height,
                    self->geometry.width, 1, &self->palette.axis);
  for (guint i = 0; i < self->rows->len; i++)
    draw_ridge (self, snapshot, i, i == picked, stacked);
  /* Its outline shows through what stands before it. */
  if (picked + 1 < self->rows->len || !stacked)
    draw_ridge (self, snapshot, picked, TRUE, FALSE);
  draw_labels (self, snapshot, picked);
}

static double
get_height (const GradusHistogramRow *row, const Ridge *ridge, double px)
{
  double cell = (px - ridge->left) / ridge->width * GRADUS_HISTOGRAM_CELLS;

  return row->density[(guint) CLAMP (cell, 0.0, GRADUS_HISTOGRAM_CELLS - 1.0)] * ridge->scale;
}

gboolean
gradus_histogram_pick_ridge (GradusHistogramPlot *self, double px, double py, guint *position)
{
  double nearest = INFINITY;

  /* The frontmost whose face holds the point; else, and where faces are clear, the nearest line. */
  for (guint i = self->rows->len; i > 0; i--)
    {
      const GradusHistogramRow *row = &g_array_index (self->rows, GradusHistogramRow, i - 1);
      Ridge                     ridge;
      double                    height, distance;

      place_ridge (self, i - 1, &ridge);
      height = get_height (row, &ridge, px);
      if (self->mode == GRADUS_HISTOGRAM_STACKED && py <= ridge.base && py >= ridge.base - height - 1.0)
        {
          *position = row->position;
          return TRUE;
        }
      distance = fabs (ridge.base - height - py);
      if (distance < nearest)
        {
          nearest = distance;
          *position = row->position;
        }
    }
  return nearest < 24.0;
}
