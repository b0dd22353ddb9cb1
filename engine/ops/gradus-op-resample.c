/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-resample.h"

#include "ops/gradus-op-family.h"

#include <string.h>

gboolean
gradus_pool_window (const GradusNode      *node,
                    const GradusValueType *inputs,
                    const GradusShape     *x,
                    GradusWindow          *window,
                    GError               **error)
{
  static const gint64 twos[GRADUS_WINDOW_AXES] = { 2, 2, 2 };
  guint               n, shift;
  const gint64       *pool = gradus_node_ints (node, "pool", &n);

  if (n == 0)
    pool = twos;
  else if (n + 2 != x->rank)
    return gradus_op_refuse (node, inputs, error,
                             _ ("A pooling window has a size for each axis between the batch and "
                                "the channels."));
  for (guint i = 0; i < n; i++)
    if (pool[i] < 1)
      return gradus_op_refuse (node, inputs, error, _ ("A pooling window is of size 1 at least."));
  if (!gradus_window_read (node, inputs, x, NULL, pool, window, error))
    return FALSE;
  /* A window that lies in the padding alone would have no maximum and no mean. */
  shift = GRADUS_WINDOW_AXES - window->n_axes;
  for (guint i = 0; i < window->n_axes; i++)
    if (window->before[shift + i] >= pool[i] || window->after[shift + i] >= pool[i])
      return gradus_op_refuse (node, inputs, error,
                               _ ("The padding must be smaller than the window."));
  return gradus_window_fit (node, inputs, window, x, pool, error);
}

static void
taps_new (GradusTaps *taps, gint64 n, gint64 n_weights, gint64 step)
{
  *taps = (GradusTaps) {
    .n = n,
    .first = g_new0 (gint64, n + 1),
    .count = g_new0 (gint64, n + 1),
    .base = g_new0 (gint64, n + 1),
    .step = step,
    .weights = g_new0 (double, n_weights + 1),
  };
}

static void
taps_clear (GradusTaps *taps)
{
  g_free (taps->first);
  g_free (taps->count);
  g_free (taps->base);
  g_free (taps->weights);
}

/* All of one window weigh the same. */
static void
average_taps (GradusTaps *taps, const GradusWindow *w, guint axis, gboolean count_pads)
{
  taps_new (taps, w->out[axis], w->out[axis], 0);
  for (gint64 o = 0; o < w->out[axis]; o++)
    {
      gint64 begin = gradus_window_at (w, axis, o, 0), end = begin + w->size[axis];

      taps->first[o] = MAX (begin, 0);
      taps->count[o] = MAX (MIN (end, w->in[axis]) - taps->first[o], 0);
      taps->base[o] = o;
      taps->weights[o] = 1.0 / (double) (count_pads ? w->size[axis] : MAX (taps->count[o], 1));
    }
}

static void
nearest_taps (GradusTaps *taps, gint64 in, gint64 out)
{
  taps_new (taps, out, 1, 0);
  taps->weights[0] = 1;
  for (gint64 o = 0; o < out; o++)
    {
      taps->first[o] = (2 * o + 1) * in / (2 * out);
      taps->count[o] = 1;
    }
}

static void
linear_taps (GradusTaps *taps, gint64 in, gint64 out)
{
  taps_new (taps, out, 2 * out, 1);
  for (gint64 o = 0; o < out; o++)
    {
      double at = ((double) o + 0.5) * (double) in / (double) out - 0.5;
      gint64 low = (gint64) floor (at);

      taps->base[o] = 2 * o;
      taps->count[o] = low < 0 || low + 1 >= in ? 1 : 2;
      taps->first[o] = CLAMP (low, 0, in - 1);
      taps->weights[2 * o] = taps->count[o] == 1 ? 1 : 1 - (at - (double) low);
      taps->weights[2 * o + 1] = at - (double) low;
    }
}

/* Which outputs read each of @in inputs: they follow each other, because both ends of what an output
 * reads only move forward. */
static void
find_readers (const GradusTaps *taps, gint64 in, gint64 *first, gint64 *count)
{
  for (gint64 o = taps->n; o-- > 0;)
    for (gint64 k = 0; k < taps->count[o]; k++)
      {
        gint64 i = taps->first[o] + k;

        g_assert (i >= 0 && i < in);
        count[i] = count[i] == 0 ? 1 : first[i] - o + count[i];
        first[i] = o;
      }
}

static void
transpose (GradusTaps *taps, gint64 in)
{
  GradusTaps turned;
  gint64     total = 0;

  taps_new (&turned, in, 0, 1);
  find_readers (taps, in, turned.first, turned.count);
  for (gint64 i = 0; i < in; i++)
    {
      turned.base[i] = total;
      total += turned.count[i];
    }
  turned.weights = g_renew (double, turned.weights, total + 1);
  for (gint64 i = 0; i < in; i++)
    for (gint64 k = 0; k < turned.count[i]; k++)
      {
        gint64   o = turned.first[i] + k, at = i - taps->first[o];
        gboolean reads = at >= 0 && at < taps->count[o];

        turned.weights[turned.base[i] + k] = reads ? gradus_taps_weight (taps, o, at) : 0;
      }
  taps_clear (taps);
  *taps = turned;
}

static void
spatial_sizes (const GradusShape *shape, gint64 sizes[GRADUS_WINDOW_AXES])
{
  guint n = shape->rank - 2;

  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    sizes[axis] = axis + n < GRADUS_WINDOW_AXES ? 1 : shape->dims[1 + axis + n - GRADUS_WINDOW_AXES];
}

void
gradus_resample_init (GradusResample        *self,
                      GradusResampleKind     kind,
                      gboolean               gradient,
                      const GradusNode      *node,
                      const GradusValueType *inputs,
                      const GradusShape     *from,
                      const GradusShape     *to)
{
  const GradusShape *x = gradient ? to : from, *y = gradient ? from : to;
  gint64             in[GRADUS_WINDOW_AXES], out[GRADUS_WINDOW_AXES];
  GradusWindow       window;

  spatial_sizes (x, in);
  spatial_sizes (y, out);
  if (kind == GRADUS_RESAMPLE_AVERAGE && !gradus_pool_window (node, inputs, x, &window, NULL))
    g_assert_not_reached ();
  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    {
      GradusTaps *taps = &self->taps[axis];

      if (kind == GRADUS_RESAMPLE_AVERAGE)
        average_taps (taps, &window, axis, gradus_node_int (node, "count_pads") != 0);
      else if (kind == GRADUS_RESAMPLE_NEAREST)
        nearest_taps (taps, in[axis], out[axis]);
      else
        linear_taps (taps, in[axis], out[axis]);
      if (gradient)
        transpose (taps, in[axis]);
      self->in[axis] = gradient ? out[axis] : in[axis];
      self->out[axis] = gradient ? in[axis] : out[axis];
    }
}

void
gradus_resample_clear (GradusResample *self)
{
  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    taps_clear (&self->taps[axis]);
}
