/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "plan/gradus-plan-place.h"

#include <stdlib.h>

typedef enum
{
  ORDER_SIZE,
  ORDER_LIFETIME,
  ORDER_AREA,
  N_ORDERS
} Order;

typedef struct
{
  double  key;
  gint64  bytes;
  guint32 index;
} Rank;

static double
order_key (const GradusPlanBlock *block, Order order)
{
  double life = (double) block->last - block->first + 1;

  switch (order)
    {
    case ORDER_SIZE:
      return (double) block->bytes;
    case ORDER_LIFETIME:
      return life;
    case ORDER_AREA:
    case N_ORDERS:
      break;
    }
  return (double) block->bytes * life;
}

/* Largest key first; ties by size and then by index, so that a plan never depends on qsort. */
static int
compare_ranks (const void *a, const void *b)
{
  const Rank *x = a, *y = b;

  if (x->key != y->key)
    return x->key > y->key ? -1 : 1;
  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* The smallest gap that holds @block between those placed that are in use at the same time.
 * @placed is sorted by offset. */
static gint64
best_gap (const GradusPlanBlock *blocks, const guint32 *placed, guint n_placed, const GradusPlanBlock *block)
{
  gint64 end = 0, best = -1, best_size = G_MAXINT64;

  for (guint i = 0; i < n_placed; i++)
    {
      const GradusPlanBlock *other = &blocks[placed[i]];
      if (other->last < block->first || other->first > block->last)
        continue;
      gint64 gap = other->offset - end;
      if (gap >= block->bytes && gap < best_size)
        {
          best = end;
          best_size = gap;
        }
      end = MAX (end, other->offset + other->bytes);
    }
  return best >= 0 ? best : end;
}

static gint64
place_in_order (GradusPlanBlock *blocks, guint n_blocks, Order order, Rank *ranks, guint32 *placed)
{
  gint64 size = 0;
  guint n_placed = 0;

  for (guint i = 0; i < n_blocks; i++)
    ranks[i] = (Rank){ order_key (&blocks[i], order), blocks[i].bytes, i };
  qsort (ranks, n_blocks, sizeof *ranks, compare_ranks);
  for (guint i = 0; i < n_blocks; i++)
    {
      GradusPlanBlock *block = &blocks[ranks[i].index];
      guint at;

      block->offset = best_gap (blocks, placed, n_placed, block);
      size = MAX (size, block->offset + block->bytes);
      for (at = n_placed; at > 0 && blocks[placed[at - 1]].offset > block->offset; at--)
        placed[at] = placed[at - 1];
      placed[at] = ranks[i].index;
      n_placed++;
    }
  return size;
}

gint64
gradus_plan_place (GradusPlanBlock *blocks, guint n_blocks)
{
  g_autofree Rank *ranks = g_new (Rank, n_blocks);
  g_autofree guint32 *placed = g_new (guint32, n_blocks);
  g_autofree gint64 *best = g_new (gint64, n_blocks);
  gint64 best_size = G_MAXINT64;

  for (Order order = ORDER_SIZE; order < N_ORDERS; order++)
    {
      gint64 size = place_in_order (blocks, n_blocks, order, ranks, placed);
      if (size >= best_size)
        continue;
      best_size = size;
      for (guint i = 0; i < n_blocks; i++)
        best[i] = blocks[i].offset;
    }
  for (guint i = 0; i < n_blocks; i++)
    blocks[i].offset = best[i];
  return best_size;
}

gint64
gradus_plan_lower_bound (const GradusPlanBlock *blocks, guint n_blocks)
{
  gint64 bound = 0;

  /* The sum can only reach its maximum where a block begins. */
  for (guint i = 0; i < n_blocks; i++)
    {
      gint64 sum = 0;
      for (guint k = 0; k < n_blocks; k++)
        if (blocks[k].first <= blocks[i].first && blocks[k].last >= blocks[i].first)
          sum += blocks[k].bytes;
      bound = MAX (bound, sum);
    }
  return bound;
}
