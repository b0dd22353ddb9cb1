/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-nd.h"
#include "ops/gradus-op-family.h"

#include <math.h>
#include <string.h>

/*
 * Reductions in a fixed order. The axes are joined into [outer, reduced, inner]; what does not fit
 * that goes through a plain loop. The reduced axis is cut into segments of a fixed length, each
 * summed in float32 lanes over at most BLOCK elements and then in float64; the segments are added in
 * order. So neither threads nor the width of the vectors change a bit.
 */
#define BLOCK 2048
#define COLUMNS 512

typedef enum
{
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_MAX,
  REDUCE_SQUARES,
} Reduction;

typedef struct
{
  GradusKernel base;
  Reduction    reduction;
  gint64       outer, reduced, inner;
  gint64       segment; /* length of a segment of the reduced axis */
  guint        n_segments, n_blocks; /* blocks of columns */
  gint64       rows_per_tile;        /* of row reductions: several short rows a tile */
  double       divisor;
} Reduce;

static inline __attribute__ ((always_inline)) double
lanes_sum (const float *x, gint64 n, gboolean square)
{
  float acc[GRADUS_CPU_LANES] = { 0 };
  double sum = 0;
  gint64 i = 0;

  for (; i + GRADUS_CPU_LANES <= n; i += GRADUS_CPU_LANES)
    for (guint k = 0; k < GRADUS_CPU_LANES; k++)
      acc[k] += square ? x[i + k] * x[i + k] : x[i + k];
  for (guint k = 0; k < GRADUS_CPU_LANES; k++)
    sum += acc[k];
  for (; i < n; i++)
    sum += square ? x[i] * x[i] : x[i];
  return sum;
}

static double
row_sum (const float *x, gint64 n)
{
  double sum = 0;

  for (gint64 i = 0; i < n; i += BLOCK)
    sum += lanes_sum (x + i, MIN (BLOCK, n - i), FALSE);
  return sum;
}

/* Squares in float64, because they overflow float32 long before their root does. */
static double
row_squares (const float *x, gint64 n)
{
  double acc[GRADUS_CPU_LANES] = { 0 };
  double sum = 0;
  gint64 i = 0;

  for (; i + GRADUS_CPU_LANES <= n; i += GRADUS_CPU_LANES)
    for (guint k = 0; k < GRADUS_CPU_LANES; k++)
      {
        double v = x[i + k];
        acc[k] += v * v;
      }
  for (guint k = 0; k < GRADUS_CPU_LANES; k++)
    sum += acc[k];
  for (; i < n; i++)
    sum += (double) x[i] * x[i];
  return sum;
}

static inline __attribute__ ((always_inline)) float
larger (float a, float b)
{
  return b > a || b != b ? b : a;
}

static double
row_max (const float *x, gint64 n)
{
  float best = -INFINITY;

  for (gint64 i = 0; i < n; i++)
    best = larger (best, x[i]);
  return best;
}

static double
reduce_row (const Reduce *k, const float *x, gint64 n)
{
  switch (k->reduction)
    {
    case REDUCE_MAX:
      return row_max (x, n);
    case REDUCE_SQUARES:
      return row_squares (x, n);
    case REDUCE_SUM:
    case REDUCE_MEAN:
      break;
    }
  return row_sum (x, n);
}

static double
combine (const Reduce *k, double a, double b)
{
  if (k->reduction != REDUCE_MAX)
    return a + b;
  return b > a || b != b ? b : a;
}

static float
finish (const Reduce *k, double value)
{
  return (float) (value / k->divisor);
}

/* inner == 1. Tiles are groups of rows, or segments of the only row. */
static void
rows_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Reduce *k = (const Reduce *) call->kernel;
  const float *x = call->args->inputs[0];
  float *y = call->args->outputs[0];

  if (k->n_segments > 1)
    {
      gint64 row = tile / k->n_segments, begin = tile % k->n_segments * k->segment;
      ((double *) call->args->scratch)[tile]
          = reduce_row (k, x + row * k->reduced + begin, MIN (k->segment, k->reduced - begin));
      return;
    }
  gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, k->outer);
  for (gint64 row = begin; row < end; row++)
    y[row] = finish (k, reduce_row (k, x + row * k->reduced, k->reduced));
}

/* Adds up to 64 rows in float32, then in float64. */
static void
sum_columns (const float *x, gint64 stride, gint64 rows, gint64 columns, double *sum)
{
  float acc[COLUMNS];

  for (gint64 c = 0; c < columns; c++)
    sum[c] = 0;
  for (gint64 first = 0; first < rows; first += 64)
    {
      gint64 last = MIN (first + 64, rows);
      memset (acc, 0, (gsize) columns * sizeof *acc);
      for (gint64 row = first; row < last; row++)
        {
          const float *from = x + row * stride;
          for (gint64 c = 0; c < columns; c++)
            acc[c] += from[c];
        }
      for (gint64 c = 0; c < columns; c++)
        sum[c] += acc[c];
    }
}

static void
max_columns (const float *x, gint64 stride, gint64 rows, gint64 columns, double *best)
{
  float acc[COLUMNS];

  for (gint64 c = 0; c < columns; c++)
    acc[c] = -INFINITY;
  for (gint64 row = 0; row < rows; row++)
    {
      const float *from = x + row * stride;
      for (gint64 c = 0; c < columns; c++)
        acc[c] = larger (acc[c], from[c]);
    }
  for (gint64 c = 0; c < columns; c++)
    best[c] = acc[c];
}

/* inner > 1. A tile is one block of columns of one segment of one outer index. */
static void
columns_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Reduce *k = (const Reduce *) call->kernel;
  gint64 block = tile % k->n_blocks;
  gint64 segment = tile / k->n_blocks % k->n_segments;
  gint64 outer = tile / k->n_blocks / k->n_segments;
  gint64 column = block * COLUMNS, columns = MIN (COLUMNS, k->inner - column);
  gint64 begin = segment * k->segment, rows = MIN (k->segment, k->reduced - begin);
  const float *x = (const float *) call->args->inputs[0]
                   + (outer * k->reduced + begin) * k->inner + column;
  double result[COLUMNS];

  if (k->reduction == REDUCE_MAX)
    max_columns (x, k->inner, rows, columns, result);
  else
    sum_columns (x, k->inner, rows, columns, result);
  if (k->n_segments == 1)
    {
      float *y = (float *) call->args->outputs[0] + outer * k->inner + column;
      for (gint64 c = 0; c < columns; c++)
        y[c] = finish (k, result[c]);
    }
  else
    memcpy ((double *) call->args->scratch + (outer * k->n_segments + segment) * k->inner + column,
            result, (gsize) columns * sizeof *result);
}

static void
reduce_run (const GradusCpuCall *call)
{
  const Reduce *k = (const Reduce *) call->kernel;
  const double *part = call->args->scratch;
  float *y = call->args->outputs[0];

  gradus_cpu_for (call, k->base.tile, (gpointer) call, k->base.n_tiles, k->base.nanoseconds);
  if (k->n_segments == 1)
    return;
  for (gint64 outer = 0; outer < k->outer; outer++)
    for (gint64 c = 0; c < k->inner; c++)
      {
        const double *from = part + outer * k->n_segments * k->inner + c;
        double value = from[0];
        for (guint s = 1; s < k->n_segments; s++)
          value = combine (k, value, from[s * k->inner]);
        y[outer * k->inner + c] = finish (k, value);
      }
}

/* Kept and reduced axes in more than three groups: one output after the other. */
typedef struct
{
  GradusKernel base;
  Reduce       how;
  GradusCpuNd  kept, reduced;
  gint64       n_kept, n_reduced;
} ReduceAny;

static gint64
any_offset (const GradusCpuNd *nd, gint64 index)
{
  gint64 offset = 0;

  for (gint i = (gint) nd->rank - 1; i >= 0; i--)
    {
      offset += index % nd->dims[i] * nd->strides[0][i];
      index /= nd->dims[i];
    }
  return offset;
}

static void
any_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const ReduceAny *k = (const ReduceAny *) call->kernel;
  const float *x = call->args->inputs[0];
  gint64 begin = (gint64) tile * 64, end = MIN (begin + 64, k->n_kept);

  for (gint64 i = begin; i < end; i++)
    {
      gint64 at = any_offset (&k->kept, i);
      double value = k->how.reduction == REDUCE_MAX ? -INFINITY : 0;
      for (gint64 r = 0; r < k->n_reduced; r++)
        value = combine (&k->how, value, x[at + any_offset (&k->reduced, r)]);
      ((float *) call->args->outputs[0])[i] = finish (&k->how, value);
    }
}

static GradusKernel *
new_any (const GradusShape *shape, guint32 mask, Reduction reduction, double divisor)
{
  ReduceAny *k = gradus_cpu_kernel_create (ReduceAny, "c");
  gint64 strides[GRADUS_MAX_RANK];

  gradus_cpu_nd_contiguous (shape, strides);
  k->n_kept = k->n_reduced = 1;
  for (guint i = 0; i < shape->rank; i++)
    {
      GradusCpuNd *nd = (mask & (1u << i)) != 0 ? &k->reduced : &k->kept;
      nd->dims[nd->rank] = shape->dims[i];
      nd->strides[0][nd->rank++] = strides[i];
      *((mask & (1u << i)) != 0 ? &k->n_reduced : &k->n_kept) *= shape->dims[i];
    }
  k->how.reduction = reduction;
  k->how.divisor = divisor;
  k->base.tile = any_tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n_kept, 64);
  k->base.nanoseconds = 5.0 * (double) (k->n_kept * k->n_reduced);
  return &k->base;
}

static void
cut_rows (Reduce *k)
{
  k->base.tile = rows_tile;
  k->n_blocks = 1;
  k->segment = MAX (k->reduced, 1);
  k->n_segments = 1;
  if (k->outer < 4 && k->reduced > 2 * 65536)
    {
      k->segment = 65536;
      k->n_segments = gradus_cpu_tiles (k->reduced, k->segment);
    }
  k->rows_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (k->reduced, 1));
  k->base.n_tiles = k->n_segments > 1 ? (guint) k->outer * k->n_segments
                                      : gradus_cpu_tiles (k->outer, k->rows_per_tile);
}

static void
cut_columns (Reduce *k)
{
  gint64 width = MIN (k->inner, COLUMNS);

  k->base.tile = columns_tile;
  k->n_blocks = gradus_cpu_tiles (k->inner, COLUMNS);
  k->segment = MAX (64, 65536 / width / 64 * 64);
  k->n_segments = MAX (1, gradus_cpu_tiles (k->reduced, k->segment));
  k->base.n_tiles = (guint) k->outer * k->n_segments * k->n_blocks;
}

/* Reduces the axes of @mask. */
static GradusKernel *
new_reduce (const GradusShape *shape, guint32 mask, Reduction reduction)
{
  gint64 sizes[GRADUS_MAX_RANK + 1] = { 0 };
  gboolean reduced[GRADUS_MAX_RANK + 1] = { FALSE };
  gint64 n = gradus_shape_count (shape), n_reduced = 1;
  guint groups = 0, first;
  double divisor;
  Reduce *k;

  for (guint i = 0; i < shape->rank; i++)
    {
      gboolean here = (mask & (1u << i)) != 0;
      n_reduced *= here ? shape->dims[i] : 1;
      if (shape->dims[i] == 1)
        continue;
      if (groups > 0 && reduced[groups - 1] == here)
        sizes[groups - 1] *= shape->dims[i];
      else
        {
          reduced[groups] = here;
          sizes[groups++] = shape->dims[i];
        }
    }
  divisor = reduction == REDUCE_MEAN ? (double) n_reduced : 1.0;
  first = groups > 0 && !reduced[0] ? 1 : 0;
  if (groups - first > 2)
    return new_any (shape, mask, reduction, divisor);
  k = gradus_cpu_kernel_create (Reduce, "c");
  k->reduction = reduction;
  k->divisor = divisor;
  k->outer = first == 1 ? sizes[0] : 1;
  k->reduced = groups > first ? sizes[first] : 1;
  k->inner = groups > first + 1 ? sizes[first + 1] : 1;
  if (k->inner == 1)
    cut_rows (k);
  else
    cut_columns (k);
  k->base.run = reduce_run;
  k->base.nanoseconds = 0.5 * (double) n;
  if (k->n_segments > 1)
    k->base.scratch = (gsize) (k->outer * k->inner) * k->n_segments * sizeof (double);
  return &k->base;
}

typedef struct
{
  Reduction reduction;
} ReduceParam;

static GradusKernel *
prepare_reduce (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const ReduceParam *param = data;
  const GradusShape *shape = &request->inputs[0].shape;
  guint32 mask;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  if (param->reduction == REDUCE_SQUARES)
    mask = (1u << shape->rank) - 1;
  else if (!gradus_op_axes (request->node, request->inputs, shape->rank, &mask, error))
    return NULL;
  return new_reduce (shape, mask, param->reduction);
}

static GradusKernel *
prepare_sum_to_like (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  const GradusShape *from = &request->inputs[0].shape, *to = &request->outputs[0].shape;
  guint32 mask = 0;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  for (guint i = 0; i < from->rank; i++)
    if (to->rank == 0 || to->dims[i] != from->dims[i])
      mask |= 1u << i;
  return new_reduce (from, mask, REDUCE_SUM);
}

static void
global_norm_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Reduce *k = (const Reduce *) call->kernel;
  double sum = 0;

  for (gint64 i = 0; i < k->reduced; i++)
    sum += *(const float *) call->args->inputs[i];
  *(float *) call->args->outputs[0] = (float) sqrt (sum);
}

static GradusKernel *
prepare_global_norm (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Reduce *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Reduce, "c");
  k->reduced = request->node->n_inputs;
  k->base.tile = global_norm_tile;
  return &k->base;
}

static void
clip_scale_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  float norm = *(const float *) call->args->inputs[0];
  float limit = *(const float *) call->args->inputs[1];

  *(float *) call->args->outputs[0] = limit <= 0.0f || norm <= limit ? 1.0f : limit / norm;
}

static GradusKernel *
prepare_clip_scale (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  GradusKernel *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (GradusKernel, "c");
  k->tile = clip_scale_tile;
  return k;
}

const GradusCpuRow GRADUS_CPU_ROWS (reduce)[] = {
  { "reduce_sum", prepare_reduce, &(const ReduceParam){ REDUCE_SUM } },
  { "reduce_mean", prepare_reduce, &(const ReduceParam){ REDUCE_MEAN } },
  { "reduce_max", prepare_reduce, &(const ReduceParam){ REDUCE_MAX } },
  { "sum_squares", prepare_reduce, &(const ReduceParam){ REDUCE_SQUARES } },
  { "sum_to_like", prepare_sum_to_like, NULL },
  { "global_norm", prepare_global_norm, NULL },
  { "clip_scale", prepare_clip_scale, NULL },
  { NULL, NULL, NULL },
};
