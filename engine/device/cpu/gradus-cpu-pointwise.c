/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-rowwise.h"

/* Losses over the last axis; a row is done by one thread, in order, in float64. */
typedef struct
{
  GradusKernel base;
  gint64       rows, n, rows_per_tile;
  double       a, b;
  gint64       time, labels; /* of ctc, whose rows are sequences of @n classes */
  gsize        room;         /* numbers of scratch a tile */
} Loss;


#define DEFINE_TILE(name)                                                                          \
  static void name##_tile (gpointer data, guint tile)                                              \
  {                                                                                                \
    const GradusCpuCall *call = data;                                                              \
    const Loss *k = (const Loss *) call->kernel;                                                   \
    gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, k->rows);         \
    double *room = k->room > 0 ? (double *) call->args->scratch + tile * k->room : NULL;           \
    for (gint64 row = begin; row < end; row++)                                                     \
      name##_row (k, call->args, row, room);                                                       \
  }
#define DEFINE_ROW(name)                                                                           \
  static void name##_row (const Loss *k, const GradusKernelArgs *args, gint64 row, double *room)

#define POINTWISE(name, sums, value, derivative)                                                   \
  DEFINE_ROW (name)                                                                                \
  {                                                                                                \
    const float *p = (const float *) args->inputs[0] + row * k->n;                                 \
    const float *t = (const float *) args->inputs[1] + row * k->n;                                 \
    double sum = 0;                                                                                \
    for (gint64 i = 0; i < k->n; i++)                                                              \
      sum += gradus_value_##name (p[i], t[i], k->a, k->b);                                         \
    ((float *) args->outputs[0])[row] = (float) (sums ? sum : sum / (double) k->n);                \
  }                                                                                                \
  DEFINE_ROW (name##_grad)                                                                         \
  {                                                                                                \
    double dloss = ((const float *) args->inputs[0])[row] / (sums ? 1.0 : (double) k->n);          \
    const float *p = (const float *) args->inputs[1] + row * k->n;                                 \
    const float *t = (const float *) args->inputs[2] + row * k->n;                                 \
    float *dp = (float *) args->outputs[0] + row * k->n;                                           \
    for (gint64 i = 0; i < k->n; i++)                                                              \
      dp[i] = (float) (dloss * gradus_slope_##name (p[i], t[i], k->a, k->b));                      \
  }                                                                                                \
  DEFINE_TILE (name)                                                                               \
  DEFINE_TILE (name##_grad)
GRADUS_POINTWISE_LOSSES (POINTWISE)

static const double *
widen (const float *from, gint64 n, double *to)
{
  for (gint64 i = 0; i < n; i++)
    to[i] = from[i];
  return to;
}

static void
narrow (const double *from, gint64 n, float *to)
{
  for (gint64 i = 0; i < n; i++)
    to[i] = (float) from[i];
}

#define ROWWISE(name)                                                                              \
  DEFINE_ROW (name)                                                                                \
  {                                                                                                \
    const double *p = widen ((const float *) args->inputs[0] + row * k->n, k->n, room);            \
    const double *t = widen ((const float *) args->inputs[1] + row * k->n, k->n, room + k->n);     \
    ((float *) args->outputs[0])[row] = (float) gradus_value_##name (p, t, k->n, k->a, k->b);      \
  }                                                                                                \
  DEFINE_ROW (name##_grad)                                                                         \
  {                                                                                                \
    const double *p = widen ((const float *) args->inputs[1] + row * k->n, k->n, room);            \
    const double *t = widen ((const float *) args->inputs[2] + row * k->n, k->n, room + k->n);     \
    double *dp = room + 2 * k->n;                                                                  \
    gradus_grad_##name (p, t, k->n, k->a, k->b, ((const float *) args->inputs[0])[row], dp);       \
    narrow (dp, k->n, (float *) args->outputs[0] + row * k->n);                                    \
  }                                                                                                \
  DEFINE_TILE (name)                                                                               \
  DEFINE_TILE (name##_grad)
GRADUS_ROWWISE_LOSSES (ROWWISE)

static double
ctc_sequence (const Loss *k, const GradusKernelArgs *args, gint64 row, guint p, double *room,
              double dloss, double *dlogits)
{
  gint64        size = k->time * k->n;
  const double *logits = widen ((const float *) args->inputs[p] + row * size, size, room);
  double       *labels = room + size;
  const gint32 *from = (const gint32 *) args->inputs[p + 1] + row * k->labels;

  for (gint64 i = 0; i < k->labels; i++)
    labels[i] = from[i];
  return gradus_ctc (logits, k->time, k->n, labels, k->labels, labels + k->labels, dloss, dlogits);
}

DEFINE_ROW (ctc)
{
  ((float *) args->outputs[0])[row] = (float) ctc_sequence (k, args, row, 0, room, 0, NULL);
}

DEFINE_ROW (ctc_grad)
{
  gint64  size = k->time * k->n;
  double *dlogits = room + size + k->labels + gradus_ctc_room (k->time, k->n, k->labels);

  ctc_sequence (k, args, row, 1, room, ((const float *) args->inputs[0])[row], dlogits);
  narrow (dlogits, size, (float *) args->outputs[0] + row * size);
}
DEFINE_TILE (ctc)
DEFINE_TILE (ctc_grad)

typedef struct
{
  GradusTileFunc tile;
  guint          p; /* which input has the predictions */
  gboolean       rowwise;
} LossParam;

static double
parameter (const GradusNode *node, guint i)
{
  for (guint k = 0; node->op->attrs != NULL && node->op->attrs[k].name != NULL; k++)
    if (k == i)
      return node->attrs[k].f;
  return 0;
}

static GradusKernel *
finish (Loss *k, const LossParam *param, double nanoseconds)
{
  k->base.tile = param->tile;
  k->base.n_tiles = gradus_cpu_tiles (k->rows, k->rows_per_tile);
  k->base.scratch = k->base.n_tiles * k->room * sizeof (double);
  k->base.nanoseconds = nanoseconds;
  return &k->base;
}

static GradusKernel *
prepare_loss (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const LossParam   *param = data;
  const GradusShape *shape = &request->inputs[param->p].shape;
  Loss              *k;

  if (request->inputs[param->p].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Loss, "c");
  k->n = shape->dims[shape->rank - 1];
  k->rows = k->n > 0 ? gradus_shape_count (shape) / k->n : 0;
  k->rows_per_tile = MAX (1, 1024 / MAX (k->n, 1));
  k->room = param->rowwise ? (gsize) (3 * k->n) : 0;
  k->a = parameter (request->node, 0);
  k->b = parameter (request->node, 1);
  return finish (k, param, (double) k->rows * (10.0 + 12.0 * (double) k->n));
}

static GradusKernel *
prepare_ctc (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const LossParam   *param = data;
  const GradusShape *shape = &request->inputs[param->p].shape;
  Loss              *k;

  if (request->inputs[param->p].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Loss, "c");
  k->rows = shape->dims[0];
  k->time = shape->dims[1];
  k->n = shape->dims[2];
  k->labels = request->inputs[param->p + 1].shape.dims[1];
  k->rows_per_tile = 1;
  k->room = (gsize) (2 * k->time * k->n + k->labels) +
            gradus_ctc_room (k->time, k->n, k->labels);
  return finish (k, param,
                 (double) k->rows * (double) k->time * (40.0 * (double) k->n + 200.0 * (double) k->labels));
}

#define ROW(name, prepare, rowwise)                                                                \
  { #name, prepare, &(const LossParam) { name##_tile, 0, rowwise } },                              \
  { #name "_grad", prepare, &(const LossParam) { name##_grad_tile, 1, rowwise } },
#define POINTWISE_ROW(name, sums, value, derivative) ROW (name, prepare_loss, FALSE)
#define ROWWISE_ROW(name) ROW (name, prepare_loss, TRUE)

const GradusCpuRow GRADUS_CPU_ROWS (pointwise)[] = {
  GRADUS_POINTWISE_LOSSES (POINTWISE_ROW)
  GRADUS_ROWWISE_LOSSES (ROWWISE_ROW)
  ROW (ctc, prepare_ctc, FALSE)
  { NULL, NULL, NULL },
};
