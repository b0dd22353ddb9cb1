/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/**
 * GradusMatmulSizes:
 *
 * A matmul of bound shapes as @items products of m x k with k x n, strides in elements. Rows of all
 * items against one matrix are one product. The items' axes are the output's before the last two.
 */
typedef struct
{
  gint64 items, m, k, n;
  gint64 a_row, a_column, b_row, b_column;
  guint  n_axes;
  gint64 dims[GRADUS_MAX_RANK];
  gint64 a_strides[GRADUS_MAX_RANK], b_strides[GRADUS_MAX_RANK]; /* 0 where it is repeated */
} GradusMatmulSizes;

void gradus_op_matmul_sizes (const GradusNode *node, const GradusShape *a, const GradusShape *b, GradusMatmulSizes *sizes);

/* Where item @item of a and b begins. */
void gradus_op_matmul_item  (const GradusMatmulSizes *sizes, gint64 item, gint64 *a, gint64 *b);

G_END_DECLS
