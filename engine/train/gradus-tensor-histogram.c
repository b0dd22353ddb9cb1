/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-tensor-histogram.h"

#include <math.h>
#include <string.h>

/* No product is fused with a sum here, so every clone makes the same bits. ThreadSanitizer cannot
 * run the resolver of clones: it is called before the sanitizer is ready. */
#ifdef __SANITIZE_THREAD__
#define CLONES
#else
#define CLONES __attribute__ ((target_clones ("avx512f", "avx2", "default"), optimize ("O3")))
#endif

#define LANES 8

typedef float   Floats __attribute__ ((vector_size (LANES * sizeof (float))));
typedef double  Doubles __attribute__ ((vector_size (LANES * sizeof (double))));
typedef gint32  Masks __attribute__ ((vector_size (LANES * sizeof (gint32))));

typedef struct
{
  double min, max, sum, squares;
  gint64 zeros, nans, infs;
} Totals;

static void
add_one (Totals *totals, float x)
{
  if (isnan (x))
    totals->nans++;
  else if (isinf (x))
    totals->infs++;
  else
    {
      totals->min = fmin (totals->min, x);
      totals->max = fmax (totals->max, x);
      totals->sum += x;
      totals->squares += (double) x * x;
      totals->zeros += x == 0;
    }
}

/* TRUE if all values of the vectors were finite; a tensor of a healthy run is. */
CLONES static gboolean
sweep_vectors (Totals *totals, const float *data, gsize n_vectors)
{
  Floats  low, high;
  Doubles sum = { 0 }, squares = { 0 };
  Masks   zeros = { 0 }, strange = { 0 };

  memcpy (&low, data, sizeof low);
  high = low;
  for (gsize v = 0; v < n_vectors; v++)
    {
      Floats  x, rest;
      Doubles wide;
      Masks   less, more;

      memcpy (&x, data + v * LANES, sizeof x);
      rest = x - x;
      strange |= rest != rest;
      less = x < low;
      more = x > high;
      low = (Floats) (((Masks) x & less) | ((Masks) low & ~less));
      high = (Floats) (((Masks) x & more) | ((Masks) high & ~more));
      zeros -= x == 0;
      wide = __builtin_convertvector (x, Doubles);
      sum += wide;
      squares += wide * wide;
    }
  for (guint i = 0; i < LANES; i++)
    if (strange[i])
      return FALSE;
  for (guint i = 0; i < LANES; i++)
    {
      totals->min = fmin (totals->min, low[i]);
      totals->max = fmax (totals->max, high[i]);
      totals->sum += sum[i];
      totals->squares += squares[i];
      totals->zeros += zeros[i];
    }
  return TRUE;
}

static Totals
sweep (const float *data, gsize n)
{
  Totals totals = { .min = INFINITY, .max = -INFINITY };
  Totals vectors = totals;
  gsize  done = 0;

  if (n >= LANES && sweep_vectors (&vectors, data, n / LANES))
    {
      totals = vectors;
      done = n / LANES * LANES;
    }
  for (gsize i = done; i < n; i++)
    add_one (&totals, data[i]);
  return totals;
}

/* A table per lane, so that neighbours in one bin do not wait for each other. */
CLONES static void
count_vectors (guint32 tables[LANES][GRADUS_TENSOR_BINS],
               const float *data,
               gsize        n_vectors,
               float        min,
               float        scale)
{
  for (gsize v = 0; v < n_vectors; v++)
    {
      Floats x;
      Masks  bins, over;

      memcpy (&x, data + v * LANES, sizeof x);
      bins = __builtin_convertvector ((x - min) * scale, Masks);
      over = bins > GRADUS_TENSOR_BINS - 1;
      bins = (bins & ~over) | (over & (GRADUS_TENSOR_BINS - 1));
      for (guint i = 0; i < LANES; i++)
        tables[i][bins[i]]++;
    }
}

static void
count_bins (GradusTensorHistogram *self, const float *data, gsize n, gboolean all_finite)
{
  guint32 tables[LANES][GRADUS_TENSOR_BINS] = { { 0 } };
  double  min = self->histogram.min;
  double  scale = GRADUS_TENSOR_BINS / (self->histogram.max - min);
  gsize   done = 0;

  /* A range that float cannot hold is counted one by one. */
  if (all_finite && scale < 1e30 && self->histogram.max - min < 1e30)
    {
      count_vectors (tables, data, n / LANES, min, scale);
      done = n / LANES * LANES;
    }
  for (gsize i = done; i < n; i++)
    if (isfinite (data[i]))
      tables[0][MIN ((guint) ((data[i] - min) * scale), GRADUS_TENSOR_BINS - 1)]++;
  for (guint b = 0; b < GRADUS_TENSOR_BINS; b++)
    {
      self->counts[b] = 0;
      for (guint i = 0; i < LANES; i++)
        self->counts[b] += tables[i][b];
    }
}

void
gradus_tensor_histogram (GradusTensorHistogram *self, const float *data, gsize n)
{
  Totals           totals = sweep (data, n);
  GradusHistogram *result = &self->histogram;
  gint64           finite = (gint64) n - totals.nans - totals.infs;

  *result = (GradusHistogram){ .min = NAN, .max = NAN, .mean = NAN, .stddev = NAN,
                               .count = n, .zeros = totals.zeros, .nans = totals.nans,
                               .infs = totals.infs, .edges = self->edges, .counts = self->counts };
  if (finite == 0)
    return;
  result->min = totals.min;
  result->max = totals.max;
  result->mean = totals.sum / finite;
  result->stddev = sqrt (fmax (0, totals.squares / finite - result->mean * result->mean));
  if (result->min == result->max)
    {
      double half = fmax (fabs (result->min) * 1e-3, 1e-6);

      result->n = 1;
      self->edges[0] = result->min - half;
      self->edges[1] = result->min + half;
      self->counts[0] = finite;
      return;
    }
  result->n = GRADUS_TENSOR_BINS;
  for (guint i = 0; i <= GRADUS_TENSOR_BINS; i++)
    self->edges[i] = result->min + (result->max - result->min) * i / GRADUS_TENSOR_BINS;
  self->edges[GRADUS_TENSOR_BINS] = result->max;
  count_bins (self, data, n, finite == (gint64) n);
}
