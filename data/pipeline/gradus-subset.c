/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-subset.h"

void
gradus_subset_draw (guint64       seed,
                    gint64        n,
                    gint64        count,
                    GradusSubset *drawn,
                    GradusSubset *rest)
{
  g_return_if_fail (count > 0 && count < n);

  /* One of each interval must be the lesser part. */
  *drawn = (GradusSubset){ .draws = gradus_philox (seed, gradus_philox_stream ("split"), 0),
                           .n = n,
                           .n_intervals = MIN (count, n - count),
                           .one_of_each = count <= n - count };
  *rest = *drawn;
  rest->one_of_each = !drawn->one_of_each;
}

gint64
gradus_subset_size (const GradusSubset *self)
{
  return self->one_of_each ? self->n_intervals : self->n - self->n_intervals;
}

static gint64
interval_start (const GradusSubset *self, gint64 interval)
{
  return (gint64) ((__int128) interval * self->n / self->n_intervals);
}

/* The number that is drawn from an interval. */
static gint64
pick (const GradusSubset *self, gint64 interval)
{
  gint64 start = interval_start (self, interval);
  gint64 size = interval_start (self, interval + 1) - start;

  return start + (gint64) (gradus_philox_double (&self->draws, interval) * (double) size);
}

gint64
gradus_subset_at (const GradusSubset *self, gint64 i)
{
  gint64 low = 0, high = self->n_intervals - 1;
  gint64 number;

  g_return_val_if_fail (i >= 0 && i < gradus_subset_size (self), -1);

  if (self->one_of_each)
    return pick (self, i);
  /* The last interval with no more than @i of the others before it. */
  while (low < high)
    {
      gint64 middle = low + (high - low + 1) / 2;

      if (interval_start (self, middle) - middle <= i)
        low = middle;
      else
        high = middle - 1;
    }
  number = i + low;
  return number >= pick (self, low) ? number + 1 : number;
}
