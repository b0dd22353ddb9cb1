/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What average pooling, resizing and their gradients share: along each axis an output is a weighted sum
 * of neighbouring inputs, and its weight as a whole is the product of those along the axes. */

#include "ops/gradus-op-window.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_RESAMPLE_AVERAGE,  /* attributes pool, strides, pads, count_pads */
  GRADUS_RESAMPLE_NEAREST,  /* to the size of the output; centres of pixels at 0.5 */
  GRADUS_RESAMPLE_BILINEAR, /* the same, linear along each axis; the edge is repeated */
} GradusResampleKind;

/* Output @o of an axis reads inputs from first[o], count[o] of them (none gives 0); see
 * gradus_taps_weight(). */
typedef struct
{
  gint64  n;
  gint64 *first, *count, *base;
  gint64  step;
  double *weights;
} GradusTaps;

typedef struct
{
  gint64     in[GRADUS_WINDOW_AXES], out[GRADUS_WINDOW_AXES];
  GradusTaps taps[GRADUS_WINDOW_AXES];
} GradusResample;

static inline double
gradus_taps_weight (const GradusTaps *taps, gint64 o, gint64 k)
{
  return taps->weights[taps->base[o] + k * taps->step];
}

/* The window of average_pool and max_pool; @x is what it slides over. */
gboolean gradus_pool_window     (const GradusNode *node, const GradusValueType *inputs, const GradusShape *x, GradusWindow *window, GError **error);
/* @from, @to: shapes of input 0 and output 0 of a valid node. @gradient: it is the gradient of @kind, and
 * gives back to each input what its outputs took. Free with gradus_resample_clear(). */
void     gradus_resample_init   (GradusResample        *self,
                                 GradusResampleKind     kind,
                                 gboolean               gradient,
                                 const GradusNode      *node,
                                 const GradusValueType *inputs,
                                 const GradusShape     *from,
                                 const GradusShape     *to);
void     gradus_resample_clear  (GradusResample *self);

G_END_DECLS
