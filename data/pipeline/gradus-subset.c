/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-subset.h"

#include "gradus-philox.h"

/* Words of a block, whose members are counted beforehand. */
#define BLOCK 8

struct _GradusSubset
{
  gint64   size;
  gint64   n_blocks;
  guint64 *words;  /* a bit for each number */
  gint64  *before; /* members before each block */
};

static GradusSubset *
subset_new (gint64 n)
{
  GradusSubset *self = g_new0 (GradusSubset, 1);

  self->n_blocks = (n + 64 * BLOCK - 1) / (64 * BLOCK);
  self->words = g_try_new0 (guint64, self->n_blocks * BLOCK);
  self->before = g_try_new0 (gint64, self->n_blocks);
  if (self->words != NULL && self->before != NULL)
    return self;
  gradus_subset_free (self);
  return NULL;
}

static void
subset_count (GradusSubset *self)
{
  for (gint64 b = 0; b < self->n_blocks; b++)
    {
      self->before[b] = self->size;
      for (guint w = 0; w < BLOCK; w++)
        self->size += __builtin_popcountll (self->words[b * BLOCK + w]);
    }
}

gboolean
gradus_subset_draw (guint64 seed, gint64 n, gint64 count, GradusSubset **drawn, GradusSubset **rest)
{
  GradusPermutation permutation;

  g_return_val_if_fail (n > 0 && count >= 0 && count <= n, FALSE);

  *rest = NULL;
  if ((*drawn = subset_new (n)) == NULL || (*rest = subset_new (n)) == NULL)
    {
      g_clear_pointer (drawn, gradus_subset_free);
      return FALSE;
    }
  gradus_permutation_init (&permutation, seed, gradus_philox_stream ("split"), n);
  for (gint64 i = 0; i < count; i++)
    {
      guint64 member = gradus_permutation_at (&permutation, i);

      (*drawn)->words[member / 64] |= G_GUINT64_CONSTANT (1) << member % 64;
    }
  for (gint64 i = 0; i < n; i++)
    if (((*drawn)->words[i / 64] >> i % 64 & 1) == 0)
      (*rest)->words[i / 64] |= G_GUINT64_CONSTANT (1) << i % 64;
  subset_count (*drawn);
  subset_count (*rest);
  return TRUE;
}

void
gradus_subset_free (GradusSubset *self)
{
  if (self == NULL)
    return;
  g_free (self->words);
  g_free (self->before);
  g_free (self);
}

gint64
gradus_subset_at (const GradusSubset *self, gint64 i)
{
  gint64  low = 0, high = self->n_blocks - 1;
  gint64  w;
  guint64 word;

  g_return_val_if_fail (i >= 0 && i < self->size, -1);

  while (low < high)
    {
      gint64 middle = low + (high - low + 1) / 2;

      if (self->before[middle] <= i)
        low = middle;
      else
        high = middle - 1;
    }
  i -= self->before[low];
  for (w = low * BLOCK; i >= __builtin_popcountll (self->words[w]); w++)
    i -= __builtin_popcountll (self->words[w]);
  for (word = self->words[w]; i > 0; i--)
    word &= word - 1;
  return w * 64 + __builtin_ctzll (word);
}
