/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-math.h"
#include "device/cpu/gradus-cpu-nd.h"

/* Softmax over rows, and over what a mask leaves of them. A row is done by one thread, sums in a
 * fixed number of lanes. */
typedef struct
{
  GradusKernel base;
  gint64       rows, n;
  gint64       rows_per_tile;
  gboolean     causal, masked;
  gint64       queries;                        /* rows of a matrix that sees its past only */
  guint        rank;                           /* of the axes before the last */
  gint64       dims[GRADUS_MAX_RANK], mask_strides[GRADUS_MAX_RANK];
  gint64       mask_stride;                    /* along a row: 0 or 1 */
} Softmax;

#define LANES GRADUS_CPU_LANES

static float
row_max (const float *x, gint64 n)
{
  gint64 whole = n / LANES * LANES;
  float lanes[LANES], best = -INFINITY;

  for (gint64 l = 0; l < LANES; l++)
    lanes[l] = -INFINITY;
  for (gint64 i = 0; i < whole; i += LANES)
    for (gint64 l = 0; l < LANES; l++)
      lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (gint64 i = whole; i < n; i++)
    best = x[i] > best ? x[i] : best;
  for (gint64 l = 0; l < LANES; l++)
    best = lanes[l] > best ? lanes[l] : best;
  return best;
}

static double
row_sum (const float *x, gint64 n)
{
  gint64 whole = n / LANES * LANES;
  float lanes[LANES] = { 0 };
  double sum = 0;

  for (gint64 i = 0; i < whole; i += LANES)
    for (gint64 l = 0; l < LANES; l++)
      lanes[l] += x[i + l];
  for (gint64 i = whole; i < n; i++)
    lanes[i - whole] += x[i];
  for (gint64 l = 0; l < LANES; l++)
    sum += lanes[l];
  return sum;
}

static double
row_dot (const float *a, const float *b, gint64 n)
{
  gint64 whole = n / LANES * LANES;
  float lanes[LANES] = { 0 };
  double sum = 0;

  for (gint64 i = 0; i < whole; i += LANES)
    for (gint64 l = 0; l < LANES; l++)
      lanes[l] += a[i + l] * b[i + l];
  for (gint64 i = whole; i < n; i++)
    lanes[i - whole] += a[i] * b[i];
  for (gint64 l = 0; l < LANES; l++)
    sum += lanes[l];
  return sum;
}

/* Of one row, of which @n elements are looked at; a row that saw nothing becomes zeros. */
static void
softmax_row (const float *x, float *y, gint64 n)
{
  float shift = row_max (x, n), factor;

  if (shift == -INFINITY)
    shift = 0;
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++)
    y[i] = gradus_exp (x[i] - shift);
  factor = (float) (1.0 / row_sum (y, n));
  for (gint64 i = 0; i < n; i++)
    y[i] *= factor;
}

#define CALL                                         \
  const GradusCpuCall *call = data;                  \
  const Softmax *k = (const Softmax *) call->kernel; \
  const GradusKernelArgs *args = call->args;         \
  gint64 begin = tile * k->rows_per_tile;            \
  gint64 end = MIN (begin + k->rows_per_tile, k->rows)

static void
softmax_tile (gpointer data, guint tile)
{
  CALL;

  for (gint64 row = begin; row < end; row++)
    softmax_row ((const float *) args->inputs[0] + row * k->n, (float *) args->outputs[0] + row * k->n, k->n);
}

static const float *
mask_row (const Softmax *k, const GradusKernelArgs *args, gint64 row)
{
  const float *mask = args->inputs[1];

  for (guint i = k->rank; i-- > 0;)
    {
      mask += row % k->dims[i] * k->mask_strides[i];
      row /= k->dims[i];
    }
  return mask;
}

/* x where the mask lets it through; says whether it does anywhere. */
static gboolean
apply_mask (const float *x, const float *mask, gint64 stride, float *y, gint64 n)
{
  guint seen = 0;

  if (stride == 0)
    {
      for (gint64 i = 0; i < n; i++)
        y[i] = x[i];
      return mask[0] > 0.5f;
    }
  for (gint64 i = 0; i < n; i++)
    {
      y[i] = mask[i] > 0.5f ? x[i] : -INFINITY;
      seen |= mask[i] > 0.5f;
    }
  return seen != 0;
}

static void
masked_softmax_tile (gpointer data, guint tile)
{
  CALL;

  for (gint64 row = begin; row < end; row++)
    {
      const float *x = (const float *) args->inputs[0] + row * k->n;
      float *y = (float *) args->outputs[0] + row * k->n;
      gint64 n = k->causal ? MIN (row % k->queries + 1, k->n) : k->n;
      gboolean seen = TRUE;
      if (k->masked)
        {
          seen = apply_mask (x, mask_row (k, args, row), k->mask_stride, y, n);
          x = y;
        }
      if (seen)
        softmax_row (x, y, n);
      for (gint64 i = seen ? n : 0; i < k->n; i++)
        y[i] = 0;
    }
}

static void
softmax_grad_tile (gpointer data, guint tile)
{
  CALL;

  for (gint64 row = begin; row < end; row++)
    {
      const float *dy = (const float *) args->inputs[0] + row * k->n;
      const float *y = (const float *) args->inputs[1] + row * k->n;
      float *dx = (float *) args->outputs[0] + row * k->n;
      float sum = (float) row_dot (dy, y, k->n);
      for (gint64 i = 0; i < k->n; i++)
        dx[i] = y[i] * (dy[i] - sum);
    }
}

static void
set_mask (Softmax *k, const GradusKernelRequest *request)
{
  const GradusNode *node = request->node;
  const GradusShape *x = &request->inputs[0].shape;
  gint64 strides[GRADUS_MAX_RANK];

  k->causal = gradus_node_int (node, "causal") != 0;
  k->queries = MAX (1, x->dims[x->rank - 2]);
  k->masked = node->n_inputs > 1 && node->inputs[1] != GRADUS_NO_VALUE;
  if (!k->masked)
    return;
  gradus_cpu_nd_broadcast (&request->inputs[1].shape, x, strides);
  k->rank = x->rank - 1;
  for (guint i = 0; i < k->rank; i++)
    {
      k->dims[i] = MAX (1, x->dims[i]);
      k->mask_strides[i] = strides[i];
    }
  k->mask_stride = strides[k->rank];
}

static GradusKernel *
prepare_softmax (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  const GradusShape *shape = &request->inputs[0].shape;
  GradusTileFunc const *tile = param;
  Softmax *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Softmax, "c");
  k->n = shape->dims[shape->rank - 1];
  k->rows = k->n > 0 ? gradus_shape_count (shape) / k->n : 0;
  k->rows_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (k->n, 1));
  if (*tile == masked_softmax_tile)
    set_mask (k, request);
  k->base.tile = *tile;
  k->base.n_tiles = gradus_cpu_tiles (k->rows, k->rows_per_tile);
  k->base.nanoseconds = (double) k->rows * (30.0 + 1.5 * (double) k->n);
  return &k->base;
}

static const GradusTileFunc plain = softmax_tile, masked = masked_softmax_tile, grad = softmax_grad_tile;

const GradusCpuRow GRADUS_CPU_ROWS (softmax)[] = {
  { "softmax", prepare_softmax, &plain },
  { "masked_softmax", prepare_softmax, &masked },
  { "softmax_grad", prepare_softmax, &grad },
  { NULL, NULL, NULL },
};
