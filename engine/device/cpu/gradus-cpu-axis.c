/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-axis.h"

#include <math.h>
#include <string.h>

/* A tile is a range of lines; a line is one place beside the axis, @n numbers @inner apart. */
typedef struct
{
  GradusKernel base;
  GradusAxis   split;
  gint64       lines_per_tile, lines;
  gint64       k;         /* of top_k, classes of one_hot, diagonal of triangle */
  gint64       rows;      /* of triangle */
  float        sign;
  gboolean     last, exclusive, reverse, upper;
} Axis;

#define LINES(k, tile)                                            \
  gint64 begin_line = (gint64) (tile) * (k)->lines_per_tile;      \
  gint64 end_line = MIN (begin_line + (k)->lines_per_tile, (k)->lines)

static inline gint64
line_start (const Axis *k, gint64 line)
{
  return line / k->split.inner * k->split.n * k->split.inner + line % k->split.inner;
}

static void
arg_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  gint32 *y = call->args->outputs[0];
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      const float *x = (const float *) call->args->inputs[0] + line_start (k, line);
      float best = k->sign * x[0];
      gint32 at = 0;

      for (gint64 i = 1; i < k->split.n && best == best; i++)
        {
          float value = k->sign * x[i * k->split.inner];
          if (value != value || value > best || (k->last && value == best))
            {
              best = value;
              at = (gint32) i;
            }
        }
      y[line] = at;
    }
}

static void
cumsum_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  gint64 step = k->reverse ? -k->split.inner : k->split.inner;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      gint64 at = line_start (k, line) + (k->reverse ? (k->split.n - 1) * k->split.inner : 0);
      const float *x = (const float *) call->args->inputs[0] + at;
      float *y = (float *) call->args->outputs[0] + at;
      double sum = 0;

      for (gint64 i = 0; i < k->split.n; i++)
        {
          double next = sum + x[i * step];
          y[i * step] = (float) (k->exclusive ? sum : next);
          sum = next;
        }
    }
}

static void
reverse_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  gint64 inner = k->split.inner;
  LINES (k, tile);

  /* Here a line is a whole row of the axis: @inner numbers that stay together. */
  for (gint64 line = begin_line; line < end_line; line++)
    memcpy ((float *) call->args->outputs[0] + (line - line % k->split.n + k->split.n - 1 - line % k->split.n) * inner,
            (const float *) call->args->inputs[0] + line * inner, (gsize) inner * sizeof (float));
}

static void
prod_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      const float *x = (const float *) call->args->inputs[0] + line_start (k, line);
      double product = 1;

      for (gint64 i = 0; i < k->split.n; i++)
        product *= x[i * k->split.inner];
      ((float *) call->args->outputs[0])[line] = (float) product;
    }
}

/* From the left the product of those before, from the right times the product of those after. */
static void
prod_grad_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  gint64 inner = k->split.inner;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      const float *x = (const float *) call->args->inputs[1] + line_start (k, line);
      float *dx = (float *) call->args->outputs[0] + line_start (k, line);
      double product = ((const float *) call->args->inputs[0])[line];

      for (gint64 i = 0; i < k->split.n; i++)
        {
          dx[i * inner] = (float) product;
          product *= x[i * inner];
        }
      product = 1;
      for (gint64 i = k->split.n - 1; i >= 0; i--)
        {
          dx[i * inner] = (float) (dx[i * inner] * product);
          product *= x[i * inner];
        }
    }
}

static void
top_k_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      const float *x = (const float *) call->args->inputs[0] + line * k->split.n;
      float *y = (float *) call->args->outputs[0] + line * k->k;
      gint32 *index = (gint32 *) call->args->outputs[1] + line * k->k;
      gint64 kept = 0;

      for (gint64 i = 0; i < k->split.n; i++)
        {
          gint64 at = kept;

          while (at > 0 && y[at - 1] == y[at - 1] && (x[i] != x[i] || k->sign * x[i] > k->sign * y[at - 1]))
            at--;
          if (at == k->k)
            continue;
          kept = MIN (kept + 1, k->k);
          memmove (y + at + 1, y + at, (gsize) (kept - 1 - at) * sizeof *y);
          memmove (index + at + 1, index + at, (gsize) (kept - 1 - at) * sizeof *index);
          y[at] = x[i];
          index[at] = (gint32) i;
        }
    }
}

static void
top_k_grad_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      const float *dy = (const float *) call->args->inputs[0] + line * k->k;
      const gint32 *index = (const gint32 *) call->args->inputs[1] + line * k->k;
      float *dx = (float *) call->args->outputs[0] + line * k->split.n;

      memset (dx, 0, (gsize) k->split.n * sizeof *dx);
      for (gint64 i = 0; i < k->k; i++)
        if (index[i] >= 0 && index[i] < k->split.n)
          dx[index[i]] += dy[i];
    }
}

static void
one_hot_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      float *y = (float *) call->args->outputs[0] + line * k->k;
      gint32 label = ((const gint32 *) call->args->inputs[0])[line];

      memset (y, 0, (gsize) k->k * sizeof *y);
      if (label >= 0 && label < k->k)
        y[label] = 1.0f;
    }
}

static void
triangle_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Axis *k = (const Axis *) call->kernel;
  LINES (k, tile);

  for (gint64 line = begin_line; line < end_line; line++)
    {
      const float *x = (const float *) call->args->inputs[0] + line * k->split.n;
      float *y = (float *) call->args->outputs[0] + line * k->split.n;
      /* The first column of the upper part; one past the last of the lower. */
      gint64 edge = CLAMP (line % k->rows + k->k + (k->upper ? 0 : 1), 0, k->split.n);
      gint64 from = k->upper ? edge : 0, to = k->upper ? k->split.n : edge;

      memset (y, 0, (gsize) k->split.n * sizeof *y);
      memcpy (y + from, x + from, (gsize) (to - from) * sizeof *y);
    }
}

/* Tiles over @lines, each of @length numbers. */
static GradusKernel *
finish (Axis *k, gint64 lines, gint64 length, GradusTileFunc tile)
{
  k->lines = lines;
  k->lines_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (length, 1));
  k->base.tile = tile;
  k->base.n_tiles = gradus_cpu_tiles (lines, k->lines_per_tile);
  k->base.nanoseconds = (double) lines * (double) length;
  return &k->base;
}

static Axis *
new_axis (const GradusKernelRequest *request, guint like)
{
  Axis *k = gradus_cpu_kernel_create (Axis, "c");

  k->split = gradus_op_axis_split (request->node, &request->inputs[like].shape);
  return k;
}

static GradusKernel *
prepare_arg (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Axis *k = new_axis (request, 0);

  k->sign = param != NULL ? -1.0f : 1.0f;
  k->last = gradus_node_int (request->node, "last") != 0;
  return finish (k, k->split.n == 0 ? 0 : k->split.outer * k->split.inner, k->split.n, arg_tile);
}

static GradusKernel *
prepare_cumsum (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Axis *k = new_axis (request, 0);

  k->exclusive = gradus_node_int (request->node, "exclusive") != 0;
  k->reverse = gradus_node_int (request->node, "reverse") != 0;
  return finish (k, k->split.outer * k->split.inner, k->split.n, cumsum_tile);
}

static GradusKernel *
prepare_reverse (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Axis *k = new_axis (request, 0);

  return finish (k, k->split.outer * k->split.n, k->split.inner, reverse_tile);
}

static GradusKernel *
prepare_prod (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  gboolean is_gradient = request->node->n_inputs == 2;
  Axis *k = new_axis (request, is_gradient ? 1 : 0);

  return finish (k, k->split.outer * k->split.inner, k->split.n, is_gradient ? prod_grad_tile : prod_tile);
}

static gint64
last_size (const GradusShape *shape)
{
  return shape->dims[shape->rank - 1];
}

static GradusKernel *
prepare_top_k (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  gboolean is_gradient = request->node->n_inputs == 3;
  const GradusShape *wide = is_gradient ? &request->outputs[0].shape : &request->inputs[0].shape;
  const GradusShape *narrow = is_gradient ? &request->inputs[0].shape : &request->outputs[0].shape;
  Axis *k = gradus_cpu_kernel_create (Axis, "c");

  k->split.n = last_size (wide);
  k->k = last_size (narrow);
  if (!is_gradient)
    k->sign = gradus_node_int (request->node, "largest") != 0 ? 1.0f : -1.0f;
  return finish (k, gradus_shape_count (narrow) / k->k, k->split.n, is_gradient ? top_k_grad_tile : top_k_tile);
}

static GradusKernel *
prepare_one_hot (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Axis *k = gradus_cpu_kernel_create (Axis, "c");

  k->k = gradus_node_int (request->node, "classes");
  return finish (k, gradus_cpu_count (&request->inputs[0]), k->k, one_hot_tile);
}

static GradusKernel *
prepare_triangle (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  const GradusShape *shape = &request->inputs[0].shape;
  Axis *k = gradus_cpu_kernel_create (Axis, "c");

  k->split.n = last_size (shape);
  k->rows = shape->dims[shape->rank - 2];
  k->k = gradus_node_int (request->node, "k");
  k->upper = gradus_node_int (request->node, "upper") != 0;
  return finish (k, gradus_shape_count (shape) / MAX (k->split.n, 1), k->split.n, triangle_tile);
}

const GradusCpuRow GRADUS_CPU_ROWS (axis)[] = {
  { "argmax", prepare_arg, NULL },
  { "argmin", prepare_arg, "least" },
  { "cumsum", prepare_cumsum, NULL },
  { "reverse", prepare_reverse, NULL },
  { "reduce_prod", prepare_prod, NULL },
  { "reduce_prod_grad", prepare_prod, NULL },
  { "top_k", prepare_top_k, NULL },
  { "top_k_grad", prepare_top_k, NULL },
  { "one_hot", prepare_one_hot, NULL },
  { "triangle", prepare_triangle, NULL },
  { NULL, NULL, NULL },
};
