/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What convolution and pooling share: a window that slides over one, two or three axes. */

#include "graph/gradus-op.h"

G_BEGIN_DECLS

#define GRADUS_WINDOW_AXES 3

/* Always three axes (depth, height, width); of those that an array does not have, the first ones are
 * of size 1, so that one loop nest serves all. */
typedef struct
{
  guint  n_axes; /* that the array has */
  gint64 in[GRADUS_WINDOW_AXES], size[GRADUS_WINDOW_AXES], out[GRADUS_WINDOW_AXES];
  gint64 strides[GRADUS_WINDOW_AXES], dilations[GRADUS_WINDOW_AXES];
  gint64 before[GRADUS_WINDOW_AXES], after[GRADUS_WINDOW_AXES]; /* padding */
} GradusWindow;

/* Reads “strides”, “pads” (before and after, axis by axis) and the attribute called @dilations, if any,
 * for an @x of channels last. An attribute without numbers means strides and dilations of 1 and no
 * padding; strides without numbers are those of @stride_like, if that is not NULL. */
gboolean gradus_window_read (const GradusNode      *node,
                             const GradusValueType *inputs,
                             const GradusShape     *x,
                             const char            *dilations,
                             const gint64          *stride_like,
                             GradusWindow          *window,
                             GError               **error);
/* Sets in, size and out for an input @x and a window of @size, one number an axis. */
gboolean gradus_window_fit (const GradusNode      *node,
                            const GradusValueType *inputs,
                            GradusWindow          *window,
                            const GradusShape     *x,
                            const gint64          *size,
                            GError               **error);
/* (batch, the sizes that the window leaves, channels). */
GradusShape gradus_window_shape (const GradusWindow *window, gint64 batch, gint64 channels);

static inline gint64
gradus_window_count (const gint64 sizes[GRADUS_WINDOW_AXES])
{
  return sizes[0] * sizes[1] * sizes[2];
}

/* Where position @k of the window for output @o stands in the input; outside is padding. */
static inline gint64
gradus_window_at (const GradusWindow *window, guint axis, gint64 o, gint64 k)
{
  return o * window->strides[axis] - window->before[axis] + k * window->dilations[axis];
}

/* Splits @index, which counts along @sizes, into a place. */
static inline void
gradus_window_split (const gint64 sizes[GRADUS_WINDOW_AXES],
                     gint64       index,
                     gint64       place[GRADUS_WINDOW_AXES])
{
  place[2] = index % sizes[2];
  place[1] = index / sizes[2] % sizes[1];
  place[0] = index / sizes[2] / sizes[1];
}

/* The place in the input, counted along in, of position @k of the window at output @o; -1 in the
 * padding. */
static inline gint64
gradus_window_input (const GradusWindow *window,
                     const gint64        o[GRADUS_WINDOW_AXES],
                     const gint64        k[GRADUS_WINDOW_AXES])
{
  gint64 index = 0;

  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    {
      gint64 at = gradus_window_at (window, axis, o[axis], k[axis]);

      if (at < 0 || at >= window->in[axis])
        return -1;
      index = index * window->in[axis] + at;
    }
  return index;
}

G_END_DECLS
