/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-pieces.h"

#include <math.h>
#include <string.h>

/* The renderer strokes a recording again whenever a part of it is damaged: it is made of short
   runs, so that what is not damaged is passed over. */
#define RUN_WIDTH 16.0

/* Replaying a recording costs much more than the strokes in it that are not damaged. So what no
   longer grows is recorded in pieces of this width, and only the end of a line in short ones. */
#define PIECE_WIDTH 256.0

/* Width of a piece of boxes. */
#define CHUNK_WIDTH 64.0

/* Vertices that are closer than this on average are columns of pixels: a coarser grid of the edges
   saves a fifth of a frame, and is not seen where every pixel has a vertex. */
#define DENSE_PIXELS 1.5

/* How far the dot at the end of a line reaches beyond it. */
#define DOT_REACH 6.0f

void
gradus_chart_pieces_begin (GradusChartPieces *self, const GradusPlot *plot)
{
  if (memcmp (&self->plot, plot, sizeof *plot) != 0)
    g_array_set_size (self->pieces, 0);
  self->plot = *plot;
  self->n = 0;
}

void
gradus_chart_pieces_end (GradusChartPieces *self)
{
  g_array_set_size (self->pieces, self->n);
}

static void
stroke_vertices (cairo_t *cr, const GradusVertex *vertices, guint n, double width)
{
  guint begin = 0;

  cairo_set_line_width (cr, width);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap (cr, CAIRO_LINE_CAP_ROUND);
  if (n > 2 && vertices[n - 1].x - vertices[0].x < DENSE_PIXELS * (n - 1))
    cairo_set_antialias (cr, CAIRO_ANTIALIAS_FAST);
  for (guint i = 0; i < n; i++)
    {
      cairo_line_to (cr, vertices[i].x, vertices[i].y);
      if (n == 1)
        cairo_line_to (cr, vertices[i].x, vertices[i].y);
      if (i + 1 < n && vertices[i].x - vertices[begin].x < RUN_WIDTH)
        continue;
      cairo_stroke (cr);
      cairo_move_to (cr, vertices[i].x, vertices[i].y);
      begin = i;
    }
}

static void
fill_boxes (cairo_t *cr, const GradusBox *boxes, guint n)
{
  for (guint i = 0; i < n; i++)
    cairo_rectangle (cr, boxes[i].x, boxes[i].top, boxes[i].width, boxes[i].bottom - boxes[i].top);
  cairo_fill (cr);
}

/* Records what lies between @left and @right; NULL if that is outside of the plot. Every piece has
   the height of the plot: a renderer that is given more than a few damaged rectangles paints the
   whole window anew, and pieces of one height become one rectangle, for all charts of a row. */
static GskRenderNode *
record_piece (const GradusPlot *plot, const GradusChartPiece *piece, float left, float right)
{
  graphene_rect_t bounds = GRAPHENE_RECT_INIT (floorf (left), (float) plot->top - GRADUS_CLIP_SLACK,
                                               ceilf (right) - floorf (left),
                                               (float) plot->height + 2 * GRADUS_CLIP_SLACK);
  graphene_rect_t clip = GRAPHENE_RECT_INIT ((float) plot->left - GRADUS_CLIP_SLACK, bounds.origin.y,
                                             (float) plot->width + 2 * GRADUS_CLIP_SLACK, bounds.size.height);
  GskRenderNode  *node;
  cairo_t        *cr;

  if (!graphene_rect_intersection (&bounds, &clip, &bounds))
    return NULL;
  node = gsk_cairo_node_new (&bounds);
  cr = gsk_cairo_node_get_draw_context (node);
  gdk_cairo_set_source_rgba (cr, &piece->color);
  if (piece->width > 0.0)
    stroke_vertices (cr, piece->data, piece->size / sizeof (GradusVertex), piece->width);
  else
    fill_boxes (cr, piece->data, piece->size / sizeof (GradusBox));
  cairo_destroy (cr);
  return node;
}

static gboolean
is_piece (const GradusChartPiece *piece, gconstpointer data, guint size, double width, const GdkRGBA *color)
{
  return piece->data != NULL && piece->size == size && piece->width == width
         && gdk_rgba_equal (&piece->color, color) && memcmp (piece->data, data, size) == 0;
}

/* @width: 0 for boxes */
static void
put_piece (GradusChartPieces *self,
           GtkSnapshot       *snapshot,
           gconstpointer      data,
           guint              size,
           double             width,
           const GdkRGBA     *color,
           float              left,
           float              right)
{
  GradusChartPiece *piece;

  if (self->n == self->pieces->len)
    g_array_set_size (self->pieces, self->n + 1);
  piece = &g_array_index (self->pieces, GradusChartPiece, self->n++);
  if (!is_piece (piece, data, size, width, color))
    {
      g_clear_pointer (&piece->node, gsk_render_node_unref);
      g_free (piece->data);
      piece->data = g_memdup2 (data, size);
      piece->size = size;
      piece->width = width;
      piece->color = *color;
      piece->node = record_piece (&self->plot, piece, left, right);
    }
  if (piece->node != NULL)
    gtk_snapshot_append_node (snapshot, piece->node);
}

void
gradus_chart_pieces_stroke (GradusChartPieces *self,
                            GtkSnapshot       *snapshot,
                            GArray            *array,
                            double             width,
                            const GdkRGBA     *color)
{
  const GradusVertex *vertices = (const GradusVertex *) (gpointer) array->data;
  guint               begin = 0;
  double              end_x = array->len > 0 ? vertices[array->len - 1].x : 0.0;

  for (guint i = 1; i <= array->len; i++)
    {
      gboolean ends = i == array->len || vertices[i].gap;
      double   limit = end_x - vertices[begin].x > PIECE_WIDTH ? PIECE_WIDTH : RUN_WIDTH;
      guint    n;

      if (!ends && vertices[i].x - vertices[begin].x < limit)
        continue;
      /* Pieces share the vertex where they meet. */
      n = i - begin + (ends ? 0 : 1);
      put_piece (self, snapshot, vertices + begin, n * sizeof *vertices, width, color,
                 vertices[begin].x - DOT_REACH, vertices[begin + n - 1].x + DOT_REACH);
      begin = i;
    }
}

void
gradus_chart_pieces_fill (GradusChartPieces *self, GtkSnapshot *snapshot, GArray *array, const GdkRGBA *color)
{
  const GradusBox *boxes = (const GradusBox *) (gpointer) array->data;
  guint            begin = 0;

  for (guint i = 1; i <= array->len; i++)
    {
      if (i < array->len
          && floor ((boxes[i].x - self->plot.left) / CHUNK_WIDTH)
                 == floor ((boxes[begin].x - self->plot.left) / CHUNK_WIDTH))
        continue;
      put_piece (self, snapshot, boxes + begin, (i - begin) * sizeof *boxes, 0.0, color, boxes[begin].x,
                 boxes[i - 1].x + boxes[i - 1].width);
      begin = i;
    }
}
