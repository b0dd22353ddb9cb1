/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* One block of the arena: @bytes (rounded already) in use from node @first to node @last. */
typedef struct
{
  gint64  bytes;
  guint32 first, last;
  gint64  offset; /* out */
} GradusPlanBlock;

/* Gives every block an offset so that no two blocks in use at the same node overlap, and returns
 * the arena's size. Three orders are tried (size, lifetime, size times lifetime), the best kept. */
gint64 gradus_plan_place       (GradusPlanBlock *blocks, guint n_blocks);
/* The largest sum of blocks in use at one node; no placement is smaller. */
gint64 gradus_plan_lower_bound (const GradusPlanBlock *blocks, guint n_blocks);

G_END_DECLS
