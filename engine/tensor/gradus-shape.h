/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-error.h"

G_BEGIN_DECLS

#define GRADUS_MAX_RANK 8

/* Free axes are negative numbers in a shape and get their size when an execution runs. */
#define GRADUS_DIM_BATCH (-1)
#define GRADUS_DIM_TIME (-2) /* steps of a sequence: the same for all sequences of a batch */

/* The sizes of the free axes; time is 1 where there is no such axis. */
typedef struct
{
  gint64 batch, time;
} GradusSizes;

static inline GradusSizes
gradus_sizes (gint64 batch, gint64 time)
{
  GradusSizes sizes = { batch, time };
  return sizes;
}

/* The length to which sequences of @time steps are padded, where padding changes nothing, so that few
 * lengths are met: the next multiple of 8 up to 64, of 16 up to 256, of 64 beyond. */
gint64 gradus_time_bucket (gint64 time);

/**
 * GradusShape:
 *
 * Sizes of the axes, slowest first (row-major). A plain value: copy it, compare it, never free it.
 * A rank of 0 is a scalar.
 */
typedef struct
{
  guint  rank;
  gint64 dims[GRADUS_MAX_RANK];
} GradusShape;

/* The shape with @rank dims given as gint64 varargs. */
GradusShape gradus_shape (guint rank, ...);
gboolean    gradus_shape_equal (const GradusShape *a, const GradusShape *b);
/* TRUE if an axis is free. */
gboolean    gradus_shape_is_free (const GradusShape *shape);
/* TRUE if an axis is time. */
gboolean    gradus_shape_has_time (const GradusShape *shape);
/* @shape with every free axis set to its size. */
GradusShape gradus_shape_bind (const GradusShape *shape, GradusSizes sizes);
/* Number of elements of a bound shape; -1 when free or when the product exceeds 2^62. */
gint64      gradus_shape_count (const GradusShape *shape);
/* "(None, 28, 28, 1)" as Keras prints it; free with g_free. */
char       *gradus_shape_to_string (const GradusShape *shape);

G_END_DECLS
