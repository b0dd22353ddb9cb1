/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What convolution and pooling share: a window that slides over height and width. */

#include "graph/gradus-op.h"

G_BEGIN_DECLS

typedef struct
{
  gint64 in[2], size[2], out[2];
  gint64 strides[2], dilations[2];
  gint64 before[2], after[2]; /* padding: top and left, bottom and right */
} GradusWindow;

/* Reads “strides”, “pads” (top, bottom, left, right) and the attribute called @dilations, if any. */
gboolean gradus_window_read (const GradusNode      *node,
                             const GradusValueType *inputs,
                             const char            *dilations,
                             GradusWindow          *window,
                             GError               **error);
/* Sets in, size and out for an NHWC input @x and a window of @size. */
gboolean gradus_window_fit  (const GradusNode      *node,
                             const GradusValueType *inputs,
                             GradusWindow          *window,
                             const gint64          *x,
                             const gint64          *size,
                             GError               **error);
/* Where position @k of the window for output @o stands in the input; outside is padding. */
static inline gint64
gradus_window_at (const GradusWindow *window, guint axis, gint64 o, gint64 k)
{
  return o * window->strides[axis] - window->before[axis] + k * window->dilations[axis];
}

G_END_DECLS
