/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * GradusSubset:
 *
 * Some of the numbers [0, n), ascending, in about n / 7 bytes; any thread may read. For splits.
 */
typedef struct _GradusSubset GradusSubset;

/* @count of @n, drawn by @seed: @drawn (out), and @rest (out) what is left. FALSE without memory
 * for them; both are NULL then. */
gboolean gradus_subset_draw (guint64        seed,
                             gint64         n,
                             gint64         count,
                             GradusSubset **drawn,
                             GradusSubset **rest);
void     gradus_subset_free (GradusSubset *self);
/* The @i-th smallest. */
gint64 gradus_subset_at (const GradusSubset *self, gint64 i);

G_END_DECLS
