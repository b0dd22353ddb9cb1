/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tensor/gradus-shape.h"

G_BEGIN_DECLS

#define GRADUS_CPU_ND_OPERANDS 3

/**
 * GradusCpuNd:
 *
 * A loop nest over an array and what is read beside it: @dims of the loops, and per operand a stride
 * in elements for each (0 where it is repeated, and for operands that there are not). Collapsed: loops that are one loop for all operands
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
  for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
    at->offset[k] = 0;
  for (gint i = (gint) nd->rank - 2; i >= 0; i--)
    {
      at->index[i] = row % nd->dims[i];
      row /= nd->dims[i];
      for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
        at->offset[k] += at->index[i] * nd->strides[k][i];
    }
}

static inline void
gradus_cpu_nd_next (const GradusCpuNd *nd, GradusCpuNdAt *at)
{
  for (gint i = (gint) nd->rank - 2; i >= 0; i--)
    {
      for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
        at->offset[k] += nd->strides[k][i];
      if (++at->index[i] < nd->dims[i])
        return;
      for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
        at->offset[k] -= nd->strides[k][i] * nd->dims[i];
      at->index[i] = 0;
    }
}

G_END_DECLS
