/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-window.h"

#include "ops/gradus-op-family.h"

/* No image is that large, and sums of these stay far from the end of 64 bits. */
#define LIMIT (G_GINT64_CONSTANT (1) << 31)

static gboolean
read_sizes (const GradusNode *node,
            const char       *name,
            guint             n_axes,
            const gint64     *fallback,
            gint64           *sizes)
{
  guint         n, shift = GRADUS_WINDOW_AXES - n_axes;
  const gint64 *values = gradus_node_ints (node, name, &n);

  if (n != 0 && n != n_axes)
    return FALSE;
  for (guint i = 0; i < n_axes; i++)
    {
      gint64 value = n > 0 ? values[i] : fallback != NULL ? fallback[i] : 1;

      if (value < 1 || value > LIMIT)
        return FALSE;
      sizes[shift + i] = value;
    }
  return TRUE;
}

static gboolean
read_pads (const GradusNode *node, GradusWindow *window)
{
  guint         n, shift = GRADUS_WINDOW_AXES - window->n_axes;
  const gint64 *pads = gradus_node_ints (node, "pads", &n);

  if (n != 0 && n != 2 * window->n_axes)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (pads[i] < 0 || pads[i] > LIMIT)
      return FALSE;
  for (guint i = 0; n > 0 && i < window->n_axes; i++)
    {
      window->before[shift + i] = pads[2 * i];
      window->after[shift + i] = pads[2 * i + 1];
    }
  return TRUE;
}

gboolean
gradus_window_read (const GradusNode      *node,
                    const GradusValueType *inputs,
                    const GradusShape     *x,
                    const char            *dilations,
                    const gint64          *stride_like,
                    GradusWindow          *window,
                    GError               **error)
{
  if (x->rank < 3 || x->rank > 2 + GRADUS_WINDOW_AXES)
    return gradus_op_refuse (
        node, inputs, error,
        _ ("It slides over one, two or three axes between the batch and the channels."));
  *window = (GradusWindow){ .n_axes = x->rank - 2 };
  for (guint i = 0; i < GRADUS_WINDOW_AXES; i++)
    window->in[i] = window->size[i] = window->out[i] = window->strides[i] = window->dilations[i] =
        1;
  if (!read_sizes (node, "strides", window->n_axes, stride_like, window->strides)
      || (dilations != NULL
          && !read_sizes (node, dilations, window->n_axes, NULL, window->dilations)))
    return gradus_op_refuse (
        node, inputs, error,
        _ ("Strides and dilations must be %u numbers from 1 up, one for each axis."),
        window->n_axes);
  if (!read_pads (node, window))
    return gradus_op_refuse (node, inputs, error,
                             _ ("The padding must be %u numbers from 0 up, two for each axis."),
                             2 * window->n_axes);
  return TRUE;
}

gboolean
gradus_window_fit (const GradusNode      *node,
                   const GradusValueType *inputs,
                   GradusWindow          *window,
                   const GradusShape     *x,
                   const gint64          *size,
                   GError               **error)
{
  guint shift = GRADUS_WINDOW_AXES - window->n_axes;

  for (guint i = 0; i < window->n_axes; i++)
    {
      guint  axis = shift + i;
      gint64 in = x->dims[1 + i];
      gint64 room;

      if (in < 1 || size[i] < 1 || in > LIMIT || size[i] > LIMIT)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("Axis %u of the input or of the window has no fixed size."),
                                 1 + i);
      room = in + window->before[axis] + window->after[axis] - 1;
      if ((size[i] - 1) > room / window->dilations[axis])
        return gradus_op_refuse (
            node, inputs, error,
            _ ("A window that covers %d does not fit into axis %u, which has %d; use a "
               "smaller one, or padding “same”."),
            (int)((size[i] - 1) * window->dilations[axis] + 1), 1 + i, (int)in);
      room -= (size[i] - 1) * window->dilations[axis];
      window->in[axis] = in;
      window->size[axis] = size[i];
      window->out[axis] = room / window->strides[axis] + 1;
    }
  return TRUE;
}

GradusShape
gradus_window_shape (const GradusWindow *window, gint64 batch, gint64 channels)
{
  GradusShape shape = { .rank = window->n_axes + 2 };

  shape.dims[0] = batch;
  for (guint i = 0; i < window->n_axes; i++)
    shape.dims[1 + i] = window->out[GRADUS_WINDOW_AXES - window->n_axes + i];
  shape.dims[shape.rank - 1] = channels;
  return shape;
}
