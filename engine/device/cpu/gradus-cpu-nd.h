/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tensor/gradus-shape.h"

G_BEGIN_DECLS

#define GRADUS_CPU_ND_OPERANDS 2

/**
 * GradusCpuNd:
 *
 * A loop nest over an array and what is read beside it: @dims of the loops, and per operand a stride
 * in elements for each (0 where it is repeated). Collapsed: loops that are one loop for all operands
 * are joined, loops of size 1 are gone. The last loop is @inner, the others together @outer rows.
 */
typedef struct
{
  guint  rank;
  gint64 dims[GRADUS_MAX_RANK];
  gint64 strides[GRADUS_CPU_ND_OPERANDS][GRADUS_MAX_RANK];
  gint64 outer, inner;
} GradusCpuNd;

/* Where a walk over the rows stands: the offset of each operand. */
typedef struct
{
  gint64 index[GRADUS_MAX_RANK];
  gint64 offset[GRADUS_CPU_ND_OPERANDS];
} GradusCpuNdAt;

/* Row-major strides of @shape. */
void gradus_cpu_nd_contiguous (const GradusShape *shape, gint64 *strides);
/* Strides of @from when read along @to, axes aligned at the right, size 1 repeated. */
void gradus_cpu_nd_broadcast  (const GradusShape *from, const GradusShape *to, gint64 *strides);
/* Joins loops and sets outer and inner; always leaves a rank of at least 1. */
void gradus_cpu_nd_collapse   (GradusCpuNd *nd);

static inline void
gradus_cpu_nd_seek (const GradusCpuNd *nd, gint64 row, GradusCpuNdAt *at)
{
  at->offset[0] = at->offset[1] = 0;
  for (gint i = (gint) nd->rank - 2; i >= 0; i--)
    {
      at->index[i] = row % nd->dims[i];
      row /= nd->dims[i];
      at->offset[0] += at->index[i] * nd->strides[0][i];
      at->offset[1] += at->index[i] * nd->strides[1][i];
    }
}

static inline void
gradus_cpu_nd_next (const GradusCpuNd *nd, GradusCpuNdAt *at)
{
  for (gint i = (gint) nd->rank - 2; i >= 0; i--)
    {
      at->offset[0] += nd->strides[0][i];
      at->offset[1] += nd->strides[1][i];
      if (++at->index[i] < nd->dims[i])
        return;
      at->offset[0] -= nd->strides[0][i] * nd->dims[i];
      at->offset[1] -= nd->strides[1][i] * nd->dims[i];
      at->index[i] = 0;
    }
}

G_END_DECLS
