/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>

/* One pass over the tensor; tiles are summed in float64 lanes, and in order. */
typedef struct
{
  GradusKernel base;
  gint64       n;
  double       l1, l2, factor;
} Penalty;

static double
row_penalty (const float *x, gint64 n, double l1, double l2)
{
  double acc[GRADUS_CPU_LANES] = { 0 };
  double sum = 0;
  gint64 i = 0;

  for (; i + GRADUS_CPU_LANES <= n; i += GRADUS_CPU_LANES)
    for (guint j = 0; j < GRADUS_CPU_LANES; j++)
      {
        double v = x[i + j];
        acc[j] += l1 * fabs (v) + l2 * (v * v);
      }
  for (guint j = 0; j < GRADUS_CPU_LANES; j++)
    sum += acc[j];
  for (; i < n; i++)
    {
      double v = x[i];
      sum += l1 * fabs (v) + l2 * (v * v);
    }
  return sum;
}

static void
penalty_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Penalty *k = (const Penalty *) call->kernel;
  const float   *x = call->args->inputs[0];
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;

  ((double *) call->args->scratch)[tile] =
      row_penalty (x + begin, MIN (GRADUS_CPU_TILE, k->n - begin), k->l1, k->l2);
}

static void
penalty_run (const GradusCpuCall *call)
{
  const Penalty *k = (const Penalty *) call->kernel;
  const double  *sums = call->args->scratch;
  guint          n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  double         sum = 0;

  gradus_cpu_for (call, penalty_tile, (gpointer) call, n_tiles, k->base.nanoseconds);
  for (guint i = 0; i < n_tiles; i++)
    sum += sums[i];
  *(float *) call->args->outputs[0] = (float) (sum * k->factor);
}

static void
penalty_grad_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Penalty *k = (const Penalty *) call->kernel;
  const float *x = call->args->inputs[1];
  float       *dx = call->args->outputs[0];
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE, end = MIN (begin + GRADUS_CPU_TILE, k->n);
  double dy = *(const float *) call->args->inputs[0] * k->factor;
  float  l1 = (float) (dy * k->l1), l2 = (float) (2 * dy * k->l2);

  for (gint64 i = begin; i < end; i++)
    dx[i] = l1 * (float) ((x[i] > 0.0f) - (x[i] < 0.0f)) + l2 * x[i];
}

static GradusKernel *
prepare (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const gboolean        *grad = data;
  const GradusValueType *type = &request->inputs[*grad ? 1 : 0];
  Penalty               *k;

  if (type->dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Penalty, "c");
  k->n = gradus_cpu_count (type);
  k->l1 = gradus_node_float (request->node, "l1");
  k->l2 = gradus_node_float (request->node, "l2");
  k->factor = 1;
  if (gradus_node_int (request->node, "mean") != 0 && type->shape.rank > 0)
    k->factor = 1.0 / (double) MAX (1, type->shape.dims[0]);
  k->base.nanoseconds = 0.6 * (double) k->n;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  if (*grad)
    k->base.tile = penalty_grad_tile;
  else
    {
      k->base.run = penalty_run;
      k->base.scratch = MAX (1, k->base.n_tiles) * sizeof (double);
    }
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (penalty)[] = {
  { "penalty", prepare, &(const gboolean){ FALSE } },
  { "penalty_grad", prepare, &(const gboolean){ TRUE } },
  { NULL, NULL, NULL },
};
