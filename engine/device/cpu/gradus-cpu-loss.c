/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-math.h"

/* Everything that works on rows of classes: log-softmax, crossentropies, right or wrong. A row is done
 * by one thread, in order. */
typedef struct
{
  GradusKernel base;
  gint64       rows, classes;
  gint64       rows_per_tile;
  float        threshold;
} Rows;

#define LOWEST 1e-7

#define DEFINE_ROWS(name)                                                        \
  static void name##_row (const Rows *k, const GradusKernelArgs *args, gint64 row); \
  static void name##_tile (gpointer data, guint tile)                            \
  {                                                                              \
    const GradusCpuCall *call = data;                                            \
    const Rows *k = (const Rows *) call->kernel;                                 \
    gint64 begin = tile * k->rows_per_tile;                                      \
    gint64 end = MIN (begin + k->rows_per_tile, k->rows);                        \
    for (gint64 row = begin; row < end; row++)                                   \
      name##_row (k, call->args, row);                                           \
  }                                                                              \
  static void name##_row (const Rows *k, const GradusKernelArgs *args, gint64 row)

#define IN(i) ((const float *) args->inputs[i] + row * k->classes)
#define OUT(i) ((float *) args->outputs[i] + row * k->classes)
#define IN1(i) (((const float *) args->inputs[i])[row])
#define OUT1(i) (((float *) args->outputs[i])[row])
#define LABEL(i) (((const gint32 *) args->inputs[i])[row])

static float
row_max (const float *x, gint64 n)
{
  float best = -INFINITY;

  for (gint64 i = 0; i < n; i++)
    best = x[i] > best ? x[i] : best;
  return best;
}

/* y = exp (x - shift); returns its sum. */
static double
row_exp (const float *x, float shift, float *y, gint64 n)
{
  double sum = 0;

  _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++)
    y[i] = gradus_exp (x[i] - shift);
  for (gint64 i = 0; i < n; i++)
    sum += y[i];
  return sum;
}

static double
row_sum (const float *x, gint64 n)
{
  double sum = 0;

  for (gint64 i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

static void
row_scale (float *y, float factor, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] *= factor;
}

DEFINE_ROWS (log_softmax)
{
  const float *x = IN (0);
  float *y = OUT (0);
  float shift = row_max (x, k->classes);
  double sum = 0;

  for (gint64 i = 0; i < k->classes; i++)
    sum += gradus_exp (x[i] - shift);
  float log_sum = (float) log (sum);
  for (gint64 i = 0; i < k->classes; i++)
    y[i] = (x[i] - shift) - log_sum;
}

DEFINE_ROWS (log_softmax_grad)
{
  const float *dy = IN (0), *y = IN (1);
  float *dx = OUT (0);
  float sum = (float) row_sum (dy, k->classes);

  for (gint64 i = 0; i < k->classes; i++)
    dx[i] = dy[i] - gradus_exp (y[i]) * sum;
}

static gboolean
label_fits (const Rows *k, gint32 label)
{
  return label >= 0 && label < k->classes;
}

DEFINE_ROWS (sparse_softmax_cross_entropy)
{
  const float *x = IN (0);
  float *y = OUT (1);
  float shift = row_max (x, k->classes);
  double sum = row_exp (x, shift, y, k->classes);

  row_scale (y, (float) (1.0 / sum), k->classes);
  OUT1 (0) = label_fits (k, LABEL (1)) ? (float) (log (sum) - (double) (x[LABEL (1)] - shift)) : NAN;
}

DEFINE_ROWS (sparse_softmax_cross_entropy_grad)
{
  float dloss = label_fits (k, LABEL (2)) ? IN1 (0) : NAN;
  const float *softmax = IN (1);
  float *dx = OUT (0);

  for (gint64 i = 0; i < k->classes; i++)
    dx[i] = dloss * (softmax[i] - (i == LABEL (2) ? 1.0f : 0.0f));
}

DEFINE_ROWS (softmax_cross_entropy)
{
  const float *x = IN (0), *target = IN (1);
  float *y = OUT (1);
  float shift = row_max (x, k->classes);
  double sum = row_exp (x, shift, y, k->classes), log_sum = log (sum), loss = 0;

  row_scale (y, (float) (1.0 / sum), k->classes);
  for (gint64 i = 0; i < k->classes; i++)
    loss -= target[i] != 0 ? target[i] * ((double) (x[i] - shift) - log_sum) : 0;
  OUT1 (0) = (float) loss;
}

DEFINE_ROWS (softmax_cross_entropy_grad)
{
  const float *softmax = IN (1), *target = IN (2);
  float *dx = OUT (0);
  float dloss = IN1 (0), total = (float) row_sum (target, k->classes);

  for (gint64 i = 0; i < k->classes; i++)
    dx[i] = dloss * (softmax[i] * total - target[i]);
}

DEFINE_ROWS (sparse_cross_entropy)
{
  const float *p = IN (0);

  OUT1 (0) = NAN;
  if (label_fits (k, LABEL (1)))
    OUT1 (0) = (float) -log (CLAMP (p[LABEL (1)] / row_sum (p, k->classes), LOWEST, 1 - LOWEST));
}

DEFINE_ROWS (cross_entropy)
{
  const float *p = IN (0), *target = IN (1);
  double sum = row_sum (p, k->classes), loss = 0;

  for (gint64 i = 0; i < k->classes; i++)
    loss -= target[i] != 0 ? target[i] * log (CLAMP (p[i] / sum, LOWEST, 1 - LOWEST)) : 0;
  OUT1 (0) = (float) loss;
}

/* Of probabilities that were normalised and clipped; see the reference. */
static inline void
probability_gradient (const Rows *k, const float *p, const float *targets, gint32 label, float dloss, float *dp)
{
  double sum = row_sum (p, k->classes), along = 0;

  for (gint64 i = 0; i < k->classes; i++)
    {
      double q = p[i] / sum, t = targets != NULL ? targets[i] : i == label;
      along += q < LOWEST || q > 1 - LOWEST ? 0 : -t;
    }
  for (gint64 i = 0; i < k->classes; i++)
    {
      double q = p[i] / sum, t = targets != NULL ? targets[i] : i == label;
      double dq = q < LOWEST || q > 1 - LOWEST ? 0 : -t / q;
      dp[i] = (float) (dloss * (dq - along) / sum);
    }
}

DEFINE_ROWS (sparse_cross_entropy_grad)
{
  float dloss = label_fits (k, LABEL (2)) ? IN1 (0) : NAN;
  probability_gradient (k, IN (1), NULL, LABEL (2), dloss, OUT (0));
}

DEFINE_ROWS (cross_entropy_grad)
{
  probability_gradient (k, IN (1), IN (2), 0, IN1 (0), OUT (0));
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

DEFINE_ROWS (correct_sparse)
{
  OUT1 (0) = first_greatest (IN (0), k->classes) == LABEL (1);
}

DEFINE_ROWS (correct_categorical)
{
  OUT1 (0) = first_greatest (IN (0), k->classes) == first_greatest (IN (1), k->classes);
}

DEFINE_ROWS (correct_binary)
{
  const float *p = IN (0), *target = IN (1);
  gint64 right = 0;

  for (gint64 i = 0; i < k->classes; i++)
    right += (p[i] > k->threshold) == (target[i] != 0);
  OUT1 (0) = (float) ((double) right / (double) k->classes);
}

typedef struct
{
  GradusTileFunc tile;
  guint          rows; /* the input that has the rows of classes */
  gboolean       threshold;
} RowsParam;

static GradusKernel *
prepare_rows (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const RowsParam *param = data;
  const GradusShape *shape = &request->inputs[param->rows].shape;
  Rows *k;

  if (request->inputs[param->rows].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Rows, "c");
  k->classes = shape->dims[shape->rank - 1];
  k->rows = k->classes > 0 ? gradus_shape_count (shape) / k->classes : 0;
  k->rows_per_tile = MAX (1, 4096 / MAX (k->classes, 1));
  if (param->threshold)
    k->threshold = (float) gradus_node_float (request->node, "threshold");
  k->base.tile = param->tile;
  k->base.n_tiles = gradus_cpu_tiles (k->rows, k->rows_per_tile);
  k->base.nanoseconds = (double) k->rows * (30.0 + 3.0 * (double) k->classes);
  return &k->base;
}

#define ROWS_ROW(name, input)                                                      \
  {                                                                                \
    #name, prepare_rows, &(const RowsParam) { name##_tile, input, FALSE }          \
  }

const GradusCpuRow GRADUS_CPU_ROWS (loss)[] = {
  ROWS_ROW (log_softmax, 0),
  ROWS_ROW (log_softmax_grad, 0),
  ROWS_ROW (sparse_softmax_cross_entropy, 0),
  ROWS_ROW (sparse_softmax_cross_entropy_grad, 1),
  ROWS_ROW (softmax_cross_entropy, 0),
  ROWS_ROW (softmax_cross_entropy_grad, 1),
  ROWS_ROW (sparse_cross_entropy, 0),
  ROWS_ROW (sparse_cross_entropy_grad, 1),
  ROWS_ROW (cross_entropy, 0),
  ROWS_ROW (cross_entropy_grad, 1),
  ROWS_ROW (correct_sparse, 0),
  ROWS_ROW (correct_categorical, 0),
  { "correct_binary", prepare_rows, &(const RowsParam){ correct_binary_tile, 0, TRUE } },
  { NULL, NULL, NULL },
};
