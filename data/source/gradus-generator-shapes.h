/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-philox.h"
#include "gradus-source.h"

G_BEGIN_DECLS

/* mask, shape, half, position */
#define GRADUS_N_SHAPE_TARGETS 4

/**
 * GradusShapePicture:
 * @kind: 0 disc, 1 square, 2 triangle
 * @row, @column, @radius: parts of the picture's side
 *
 * What one picture of the generator "shapes" shows. A plain value.
 */
typedef struct
{
  guint  kind;
  double row, column, radius;
  double light, ground;
} GradusShapePicture;

/* A pure function of (@draws, @sample). */
void gradus_shape_picture_draw (GradusShapePicture *self, const GradusPhilox *draws, gint64 sample);
/* @size * @size numbers, row by row. */
void gradus_shape_picture_image (const GradusShapePicture *self,
                                 guint                     size,
                                 const GradusPhilox       *noises,
                                 gint64                    sample,
                                 double                    noise,
                                 float                    *out);
/* Target number @which, as its spec says. */
void gradus_shape_picture_target (const GradusShapePicture *self, guint size, guint which, void *out);

/* -1 if there is none. */
int  gradus_shape_target_find (const char *name);
void gradus_shape_target_spec (guint which, guint size, GradusArraySpec *spec);

G_END_DECLS
