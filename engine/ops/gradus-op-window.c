/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-window.h"

#include "ops/gradus-op-family.h"

static gboolean
read_pair (const GradusNode *node, const char *name, gint64 *pair)
{
  guint         n;
  const gint64 *values = gradus_node_ints (node, name, &n);

  if (n != 2 || values[0] < 1 || values[1] < 1)
    return FALSE;
  pair[0] = values[0];
  pair[1] = values[1];
  return TRUE;
}

gboolean
gradus_window_read (const GradusNode      *node,
                    const GradusValueType *inputs,
                    const char            *dilations,
                    GradusWindow          *window,
                    GError               **error)
{
  guint         n;
  const gint64 *pads = gradus_node_ints (node, "pads", &n);

  window->dilations[0] = window->dilations[1] = 1;
  if (!read_pair (node, "strides", window->strides)
      || (dilations != NULL && !read_pair (node, dilations, window->dilations)))
    return gradus_op_refuse (node, inputs, error,
                             _ ("Strides and dilations must be two numbers from 1 up."));
  if (n != 4 || pads[0] < 0 || pads[1] < 0 || pads[2] < 0 || pads[3] < 0)
    return gradus_op_refuse (node, inputs, error,
                             _ ("The padding must be four numbers from 0 up."));
  window->before[0] = pads[0];
  window->after[0] = pads[1];
  window->before[1] = pads[2];
  window->after[1] = pads[3];
  return TRUE;
}

gboolean
gradus_window_fit (const GradusNode      *node,
                   const GradusValueType *inputs,
                   GradusWindow          *window,
                   const gint64          *x,
                   const gint64          *size,
                   GError               **error)
{
  for (guint axis = 0; axis < 2; axis++)
    {
      gint64 in = x[1 + axis];
      gint64 span = (size[axis] - 1) * window->dilations[axis] + 1;
      gint64 room = in + window->before[axis] + window->after[axis] - span;

      if (in < 1 || size[axis] < 1 || room < 0)
        return gradus_op_refuse (
            node, inputs, error,
            _ ("A window of %d by %d does not fit into images of %d by %d; use a "
               "smaller one, or padding “same”."),
            (int) size[0], (int) size[1], (int) x[1], (int) x[2]);
      window->in[axis] = in;
      window->size[axis] = size[axis];
      window->out[axis] = room / window->strides[axis] + 1;
    }
  return TRUE;
}
