/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What reference and device kernels that work along one axis share. */

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/* Elements are [outer, n, inner], n along the axis. */
typedef struct
{
  gint64 outer, n, inner;
} GradusAxis;

/* The attribute “axis” of @node, resolved; refuses one that there is not. */
gboolean   gradus_op_axis       (const GradusNode *node, const GradusValueType *inputs, guint rank, guint *axis, GError **error);
/* @shape is bound. */
GradusAxis gradus_op_axis_split (const GradusNode *node, const GradusShape *shape);

G_END_DECLS
