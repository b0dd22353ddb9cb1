/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-philox.h"

G_BEGIN_DECLS

/**
 * GradusSubset:
 *
 * Some of the numbers [0, n), ascending, in constant memory whatever n is. A plain value; any thread
 * may read. For splits: [0, n) is cut into as many intervals as numbers are to be drawn, of sizes
 * that differ by at most one, and one number is drawn from each, so that what lies in the data in an
 * order of its own (classes, days) is in both parts alike.
 */
typedef struct
{
  GradusPhilox draws;
  gint64       n, n_intervals;
  gboolean     one_of_each; /* else all but one */
} GradusSubset;

/* Cuts [0, @n) in two by @seed: @drawn gets @count numbers (from 1 to @n - 1), @rest the others. */
void gradus_subset_draw (guint64       seed,
                         gint64        n,
                         gint64        count,
                         GradusSubset *drawn,
                         GradusSubset *rest);
gint64 gradus_subset_size (const GradusSubset *self);
/* The @i-th smallest. */
gint64 gradus_subset_at (const GradusSubset *self, gint64 i);

G_END_DECLS
