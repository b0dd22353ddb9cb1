/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>
#include <string.h>

/* What metrics keep of a batch: one thread, in order, so that the sums in float64 are the same for any
 * number of workers. */
typedef struct
{
  GradusKernel base;
  gint64       rows, n, thresholds, k, only;
  gboolean     sparse; /* targets are class indices */
  float        threshold;
} Statistic;

#define PREDICTIONS(row) ((const float *) args->inputs[0] + (row) * k->n)

static double
target (const Statistic *k, const GradusKernelArgs *args, gint64 row, gint64 c)
{
  if (k->sparse)
    return ((const gint32 *) args->inputs[1])[row] == c;
  return ((const float *) args->inputs[1])[row * k->n + c];
}

static double
weight (const GradusKernelArgs *args, guint input, gint64 row)
{
  const float *weights = args->inputs[input];

  return weights != NULL ? weights[row] : 1;
}

static gint64
first_greatest (const float *x, gint64 n)
{
  gint64 best = 0;

  for (gint64 i = 1; i < n; i++)
    if (x[i] > x[best])
      best = i;
  return best;
}

#define DEFINE(name)                                                                               \
  static void name##_run (const Statistic *k, const GradusKernelArgs *args, double *out);          \
  static void name##_tile (gpointer data, guint tile)                                              \
  {                                                                                                \
    const GradusCpuCall *call = data;                                                              \
    name##_run ((const Statistic *) call->kernel, call->args, call->args->outputs[0]);             \
  }                                                                                                \
  static void name##_run (const Statistic *k, const GradusKernelArgs *args, double *out)

DEFINE (weighted_sum)
{
  const float *values = args->inputs[0];

  out[0] = out[1] = 0;
  for (gint64 i = 0; i < k->rows; i++)
    {
      double w = weight (args, 1, i);

      out[0] += w == 0 ? 0 : w * values[i];
      out[1] += w;
    }
}

DEFINE (in_top_k)
{
  float *right = args->outputs[0];

  for (gint64 row = 0; row < k->rows; row++)
    {
      const float *p = PREDICTIONS (row);
      gint32       label = ((const gint32 *) args->inputs[1])[row];
      gint64       greater = 0;

      right[row] = 0;
      if (label < 0 || label >= k->n)
        continue;
      for (gint64 c = 0; c < k->n; c++)
        greater += !(p[c] <= p[label]);
      right[row] = greater < k->k;
    }
}

DEFINE (arg_max)
{
  gint32 *best = args->outputs[0];

  for (gint64 row = 0; row < k->rows; row++)
    best[row] = (gint32) first_greatest (PREDICTIONS (row), k->n);
}

static gboolean
is_in_top (const Statistic *k, const float *p, gint64 c)
{
  gint64 before = 0;

  for (gint64 i = 0; k->k > 0 && i < k->n; i++)
    before += p[i] > p[c] || (p[i] == p[c] && i < c);
  return k->k == 0 || before < k->k;
}

/* How many of the ascending thresholds lie below @p. */
static gint64
count_below (const float *thresholds, gint64 n, float p)
{
  gint64 low = 0, high = n;

  while (low < high)
    {
      gint64 middle = (low + high) / 2;

      if (p > thresholds[middle])
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* First the weight that falls between two thresholds, then sums from the highest down. */
DEFINE (threshold_counts)
{
  const float *thresholds = args->inputs[2];
  gint64       first = k->only < 0 ? 0 : k->only, end = k->only < 0 ? k->n : k->only + 1;
  double       totals[2] = { 0, 0 };

  memset (out, 0, (gsize) k->thresholds * 4 * sizeof *out);
  for (gint64 row = 0; row < k->rows; row++)
    for (gint64 c = first; c < end; c++)
      {
        const float *p = PREDICTIONS (row);
        float        seen = is_in_top (k, p, c) ? p[c] : -1e10f;
        gint64       below = count_below (thresholds, k->thresholds, seen);
        guint        column = target (k, args, row, c) != 0 ? 0 : 1;
        double       w = weight (args, 3, row);

        totals[column] += w;
        if (below > 0)
          out[(below - 1) * 4 + column] += w;
      }
  for (gint64 t = k->thresholds - 1; t >= 0; t--)
    {
      for (guint column = 0; t + 1 < k->thresholds && column < 2; column++)
        out[t * 4 + column] += out[(t + 1) * 4 + column];
      out[t * 4 + 2] = totals[1] - out[t * 4 + 1];
      out[t * 4 + 3] = totals[0] - out[t * 4];
    }
}

DEFINE (confusion_counts)
{
  gint64 classes = MAX (2, k->n);

  memset (out, 0, (gsize) (classes * classes) * sizeof *out);
  for (gint64 row = 0; row < k->rows; row++)
    {
      const float *p = PREDICTIONS (row);
      const float *t = (const float *) args->inputs[1] + row * k->n;
      gint64       of, as = k->n == 1 ? p[0] > k->threshold : first_greatest (p, k->n);

      if (k->sparse)
        of = ((const gint32 *) args->inputs[1])[row];
      else
        of = k->n == 1 ? t[0] != 0 : first_greatest (t, k->n);
      if (of >= 0 && of < classes)
        out[of * classes + as] += weight (args, 2, row);
    }
}

DEFINE (class_counts)
{
  memset (out, 0, (gsize) k->n * 4 * sizeof *out);
  for (gint64 row = 0; row < k->rows; row++)
    {
      const float *p = PREDICTIONS (row);
      float        greatest = p[first_greatest (p, k->n)];
      double       w = weight (args, 2, row);

      for (gint64 c = 0; c < k->n; c++)
        {
          double  t = target (k, args, row, c);
          double  positive = k->threshold >= 0 ? p[c] > k->threshold
                                               : p[c] >= greatest && fabs ((double) p[c]) > 1e-9;
          double *counts = out + c * 4;

          counts[0] += w * positive * t;
          counts[1] += w * positive * (1 - t);
          counts[2] += w * (1 - positive) * t;
          counts[3] += w * t;
        }
    }
}

DEFINE (residual_moments)
{
  memset (out, 0, (gsize) k->n * 4 * sizeof *out);
  for (gint64 row = 0; row < k->rows; row++)
    for (gint64 c = 0; c < k->n; c++)
      {
        double  w = weight (args, 2, row), t = target (k, args, row, c);
        double  difference = t - PREDICTIONS (row)[c];
        double *sums = out + c * 4;

        sums[0] += w * t;
        sums[1] += w * t * t;
        sums[2] += w * difference * difference;
        sums[3] += w;
      }
}

static gboolean
has_attr (const GradusNode *node, const char *name)
{
  for (guint i = 0; node->op->attrs != NULL && node->op->attrs[i].name != NULL; i++)
    if (g_str_equal (node->op->attrs[i].name, name))
      return TRUE;
  return FALSE;
}

static GradusKernel *
prepare (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const GradusShape *shape = &request->inputs[0].shape;
  const GradusNode  *node = request->node;
  Statistic         *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Statistic, "c");
  k->only = -1;
  /* A sum knows nothing of rows. */
  if (g_str_equal (node->op->name, "weighted_sum"))
    k->rows = gradus_shape_count (shape);
  else
    {
      k->n = shape->dims[shape->rank - 1];
      k->rows = k->n > 0 ? gradus_shape_count (shape) / k->n : 0;
      k->sparse = node->n_inputs > 1 && request->inputs[1].dtype == GRADUS_DTYPE_INT32;
    }
  if (has_attr (node, "k"))
    k->k = gradus_node_int (node, "k");
  if (has_attr (node, "top_k"))
    {
      k->k = gradus_node_int (node, "top_k");
      k->only = gradus_node_int (node, "class_id");
      k->thresholds = request->inputs[2].shape.dims[0];
    }
  if (has_attr (node, "threshold"))
    k->threshold = (float) gradus_node_float (node, "threshold");
  k->base.tile = (GradusTileFunc) data;
  k->base.n_tiles = 1;
  k->base.nanoseconds = 4.0 * (double) gradus_shape_count (shape);
  return &k->base;
}

#define ROW(name) { #name, prepare, name##_tile }

const GradusCpuRow GRADUS_CPU_ROWS (statistic)[] = {
  ROW (weighted_sum),
  ROW (in_top_k),
  ROW (arg_max),
  ROW (threshold_counts),
  ROW (confusion_counts),
  ROW (class_counts),
  ROW (residual_moments),
  { NULL, NULL, NULL },
};
