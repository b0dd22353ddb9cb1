/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What padding, cropping and strided slices share: a box of elements that stand in the input with
 * some steps between them and in the output with others; the rest of the output is one number. */

#include "graph/gradus-op.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_PLACE_PAD,        /* attributes before, after: below 0 takes away */
  GRADUS_PLACE_SLICE,      /* attributes begin, step */
  GRADUS_PLACE_SLICE_GRAD, /* the same, from dy to dx */
} GradusPlaceKind;

/* Element @i of the box along an axis is x_begin + i x_step of the input and y_begin + i y_step of the
 * output. Steps of the output are 1 at least, those of the input may be negative. */
typedef struct
{
  guint       rank;
  GradusShape x, y;
  gint64      n[GRADUS_MAX_RANK];
  gint64      x_begin[GRADUS_MAX_RANK], x_step[GRADUS_MAX_RANK];
  gint64      y_begin[GRADUS_MAX_RANK], y_step[GRADUS_MAX_RANK];
} GradusPlace;

/* @x, @y: bound shapes of input 0 and output 0 of a valid node. */
void gradus_place_init (GradusPlace       *self,
                        GradusPlaceKind    kind,
                        const GradusNode  *node,
                        const GradusShape *x,
                        const GradusShape *y);

G_END_DECLS
