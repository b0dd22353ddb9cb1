/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-pyramid.h"

#include <math.h>

static const GradusBucket empty_bucket = { .min = NAN, .max = NAN };

static inline void
bucket_add_value (GradusBucket *bucket, double value)
{
  if (G_LIKELY (isfinite (value)))
    {
      if (!(bucket->min <= value))
        bucket->min = value;
      if (!(bucket->max >= value))
        bucket->max = value;
      bucket->sum += value;
    }
  else if (isnan (value))
    bucket->n_nan++;
  else if (value > 0.0)
    bucket->n_positive_infinite++;
  else
    bucket->n_negative_infinite++;
}

static inline void
bucket_add_bucket (GradusBucket *bucket, const GradusBucket *other)
{
  if (!isnan (other->min))
    {
      if (!(bucket->min <= other->min))
        bucket->min = other->min;
      if (!(bucket->max >= other->max))
        bucket->max = other->max;
      bucket->sum += other->sum;
    }
  bucket->n_nan += other->n_nan;
  bucket->n_positive_infinite += other->n_positive_infinite;
  bucket->n_negative_infinite += other->n_negative_infinite;
}

/* Indices that one bucket of @level covers, as a shift. */
static inline guint
level_shift (guint level)
{
  return GRADUS_PYRAMID_SHIFT * (level + 1);
}

void
gradus_pyramid_init (GradusPyramid *self)
{
  self->values = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < GRADUS_PYRAMID_LEVELS; i++)
    self->levels[i] = g_array_new (FALSE, FALSE, sizeof (GradusBucket));
}

void
gradus_pyramid_clear (GradusPyramid *self)
{
  g_clear_pointer (&self->values, g_array_unref);
  for (guint i = 0; i < GRADUS_PYRAMID_LEVELS; i++)
    g_clear_pointer (&self->levels[i], g_array_unref);
}

void
gradus_pyramid_reserve (GradusPyramid *self, gsize n)
{
  guint length = self->values->len;

  g_assert (n <= G_MAXUINT / sizeof (double));
  if (n <= length)
    return;
  g_array_set_size (self->values, (guint) n);
  g_array_set_size (self->values, length);
}

gsize
gradus_pyramid_get_length (const GradusPyramid *self)
{
  return self->values->len;
}

/* Adds to the levels above the bucket that the last value, or bucket, has filled. */
static void
close_buckets (GradusPyramid *self)
{
  GradusBucket  bucket = empty_bucket;
  const double *values = &g_array_index (self->values, double, self->values->len - GRADUS_PYRAMID_FAN);

  for (guint i = 0; i < GRADUS_PYRAMID_FAN; i++)
    bucket_add_value (&bucket, values[i]);
  g_array_append_val (self->levels[0], bucket);

  for (guint level = 1; level < GRADUS_PYRAMID_LEVELS; level++)
    {
      GArray *below = self->levels[level - 1];

      if (below->len % GRADUS_PYRAMID_FAN != 0)
        break;
      bucket = empty_bucket;
      for (guint i = below->len - GRADUS_PYRAMID_FAN; i < below->len; i++)
        bucket_add_bucket (&bucket, &g_array_index (below, GradusBucket, i));
      g_array_append_val (self->levels[level], bucket);
    }
}

void
gradus_pyramid_push (GradusPyramid *self, const double *values, gsize n)
{
  while (n > 0)
    {
      gsize room = GRADUS_PYRAMID_FAN - self->values->len % GRADUS_PYRAMID_FAN;
      gsize part = MIN (n, room);

      g_array_append_vals (self->values, values, (guint) part);
      if (part == room)
        close_buckets (self);
      values += part;
      n -= part;
    }
}

void
gradus_pyramid_truncate (GradusPyramid *self, gsize n)
{
  g_assert (n <= self->values->len);

  g_array_set_size (self->values, (guint) n);
  for (guint level = 0; level < GRADUS_PYRAMID_LEVELS; level++)
    g_array_set_size (self->levels[level], (guint) (n >> level_shift (level)));
}

/* The highest level whose bucket begins at @begin and ends at or before @end, or -1. */
static inline int
find_level (gsize begin, gsize end)
{
  int level = -1;

  for (guint next = 0; next < GRADUS_PYRAMID_LEVELS; next++)
    {
      gsize size = (gsize) 1 << level_shift (next);

      if ((begin & (size - 1)) != 0 || end - begin < size)
        break;
      level = (int) next;
    }
  return level;
}

static double
find_first_finite (const GradusPyramid *self, gsize begin, gsize end)
{
  while (begin < end)
    {
      int level = find_level (begin, end);

      while (level >= 0
             && !isnan (g_array_index (self->levels[level], GradusBucket, begin >> level_shift (level)).min))
        level--;
      if (level >= 0)
        begin += (gsize) 1 << level_shift (level);
      else if (isfinite (gradus_pyramid_get (self, begin)))
        return gradus_pyramid_get (self, begin);
      else
        begin++;
    }
  return NAN;
}

static double
find_last_finite (const GradusPyramid *self, gsize begin, gsize end)
{
  while (begin < end)
    {
      /* A full level-0 bucket without finite values is skipped in one step. */
      if (end % GRADUS_PYRAMID_FAN == 0 && end - begin >= GRADUS_PYRAMID_FAN
          && isnan (g_array_index (self->levels[0], GradusBucket, end / GRADUS_PYRAMID_FAN - 1).min))
        end -= GRADUS_PYRAMID_FAN;
      else if (isfinite (gradus_pyramid_get (self, end - 1)))
        return gradus_pyramid_get (self, end - 1);
      else
        end--;
    }
  return NAN;
}

void
gradus_pyramid_reduce (const GradusPyramid *self, gsize begin, gsize end, GradusColumn *column)
{
  GradusBucket bucket = empty_bucket;
  gsize        i = begin;

  g_assert (begin <= end && end <= self->values->len);

  while (i < end)
    {
      int level = find_level (i, end);

      if (level >= 0)
        {
          bucket_add_bucket (&bucket,
                             &g_array_index (self->levels[level], GradusBucket, i >> level_shift (level)));
          i += (gsize) 1 << level_shift (level);
        }
      else
        {
          /* Value by value up to the next bucket. */
          gsize stop = MIN (end, (i | (GRADUS_PYRAMID_FAN - 1)) + 1);

          for (; i < stop; i++)
            bucket_add_value (&bucket, gradus_pyramid_get (self, i));
        }
    }

  *column = (GradusColumn){
    .count = end - begin,
    .n_nan = bucket.n_nan,
    .n_positive_infinite = bucket.n_positive_infinite,
    .n_negative_infinite = bucket.n_negative_infinite,
    .min = bucket.min,
    .max = bucket.max,
    .sum = bucket.sum,
    .first = isnan (bucket.min) ? NAN : find_first_finite (self, begin, end),
    .last = isnan (bucket.min) ? NAN : find_last_finite (self, begin, end),
  };
}

gboolean
gradus_pyramid_find (const GradusPyramid *self, gsize end, double value, gsize *index)
{
  gsize i = 0;

  g_assert (end <= self->values->len);

  while (i < end)
    {
      int level = find_level (i, end);

      while (level >= 0)
        {
          const GradusBucket *bucket
              = &g_array_index (self->levels[level], GradusBucket, i >> level_shift (level));

          if (!(bucket->min <= value && bucket->max >= value))
            break;
          level--;
        }
      if (level >= 0)
        i += (gsize) 1 << level_shift (level);
      else if (gradus_pyramid_get (self, i) == value)
        {
          *index = i;
          return TRUE;
        }
      else
        i++;
    }
  return FALSE;
}
