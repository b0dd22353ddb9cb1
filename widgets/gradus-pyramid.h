/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-series.h"

G_BEGIN_DECLS

/* Values in order, with the extremes of every 64, of every 64 of those, and so on, so that the
   extremes of any range are found without looking at all of it. Private to this library.

   Only full buckets are kept: the open one at the end is read value by value, which makes appending
   and cutting cheap. */
#define GRADUS_PYRAMID_SHIFT 6
#define GRADUS_PYRAMID_FAN (1 << GRADUS_PYRAMID_SHIFT)
#define GRADUS_PYRAMID_LEVELS 6

typedef struct
{
  double  min; /* NaN if nothing in the bucket is finite */
  double  max;
  double  sum; /* of the finite ones */
  guint64 n_nan;
  guint64 n_positive_infinite;
  guint64 n_negative_infinite;
} GradusBucket;

typedef struct
{
  GArray *values;                        /* double */
  GArray *levels[GRADUS_PYRAMID_LEVELS]; /* GradusBucket */
} GradusPyramid;

void  gradus_pyramid_init (GradusPyramid *self);
void  gradus_pyramid_clear (GradusPyramid *self);
void  gradus_pyramid_reserve (GradusPyramid *self, gsize n);
void  gradus_pyramid_push (GradusPyramid *self, const double *values, gsize n);
void  gradus_pyramid_truncate (GradusPyramid *self, gsize n);
gsize gradus_pyramid_get_length (const GradusPyramid *self);

static inline double
gradus_pyramid_get (const GradusPyramid *self, gsize i)
{
  return g_array_index (self->values, double, i);
}

/* What lies at the indices [@begin, @end). */
void gradus_pyramid_reduce (const GradusPyramid *self, gsize begin, gsize end, GradusColumn *column);

/* The first index below @end with exactly @value; FALSE if none has it. */
gboolean gradus_pyramid_find (const GradusPyramid *self, gsize end, double value, gsize *index);

G_END_DECLS
