/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>

/* Each in one pass over the variable, its state and its gradient; the variables are changed where
 * they lie. */
typedef struct
{
  GradusKernel base;
  gint64       n;
  gboolean     nesterov;
  double       beta_1, beta_2, epsilon;
  double       momentum;
} Step;

#define STEP_RANGE                                         \
  const GradusCpuCall *call = data;                        \
  const Step *k = (const Step *) call->kernel;             \
  void *const *in = call->args->inputs;                    \
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;          \
  gint64 end = MIN (begin + GRADUS_CPU_TILE, k->n)

static float
scalar (const void *value)
{
  return *(const float *) value;
}

static void
sgd_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0];
  const float *restrict g = in[1];
  float rate = scalar (in[3]), scale = scalar (in[2]);
  float keep = 1.0f - scalar (in[4]) * rate;

  for (gint64 i = begin; i < end; i++)
    w[i] = w[i] * keep - rate * (g[i] * scale);
}

/* Without the optional weight decay the fifth address is not even there. */
static void
sgd_plain_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0];
  const float *restrict g = in[1];
  float rate = scalar (in[3]), scale = scalar (in[2]);

  for (gint64 i = begin; i < end; i++)
    w[i] -= rate * (g[i] * scale);
}

static void
momentum_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict velocity = in[1];
  const float *restrict g = in[2];
  float scale = scalar (in[3]), rate = scalar (in[4]), momentum = scalar (in[5]);

  if (k->nesterov)
    for (gint64 i = begin; i < end; i++)
      {
        float step = rate * (g[i] * scale);
        float v = momentum * velocity[i] - step;
        velocity[i] = v;
        w[i] += momentum * v - step;
      }
  else
    for (gint64 i = begin; i < end; i++)
      {
        float v = momentum * velocity[i] - rate * (g[i] * scale);
        velocity[i] = v;
        w[i] += v;
      }
}

static void
adam_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict m = in[1], *restrict v = in[2];
  const float *restrict gradient = in[3];
  float scale = scalar (in[4]);
  double step = scalar (in[6]);
  float alpha = (float) (scalar (in[5]) * sqrt (1 - pow (k->beta_2, step)) / (1 - pow (k->beta_1, step)));
  float rest_1 = (float) (1 - k->beta_1), rest_2 = (float) (1 - k->beta_2);
  float epsilon = (float) k->epsilon;

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float mi = m[i] + (g - m[i]) * rest_1;
      float vi = v[i] + (g * g - v[i]) * rest_2;
      m[i] = mi;
      v[i] = vi;
      w[i] -= mi * alpha / (sqrtf (vi) + epsilon);
    }
}

static void
moving_average_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0];
  const float *restrict value = in[1];
  float keep = (float) k->momentum, take = (float) (1 - k->momentum);

  for (gint64 i = begin; i < end; i++)
    w[i] = w[i] * keep + value[i] * take;
}

static Step *
new_step (const GradusKernelRequest *request, GradusTileFunc tile, double nanoseconds)
{
  Step *k = gradus_cpu_kernel_create (Step, "c");

  k->n = gradus_cpu_count (&request->inputs[0]);
  k->base.tile = tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  k->base.nanoseconds = nanoseconds * (double) k->n;
  return k;
}

static gboolean
is_float32 (const GradusKernelRequest *request)
{
  return request->inputs[0].dtype == GRADUS_DTYPE_FLOAT32;
}

static GradusKernel *
prepare_sgd (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  const GradusNode *node = request->node;
  gboolean decay = node->n_inputs > 4 && node->inputs[4] != GRADUS_NO_VALUE;

  if (!is_float32 (request))
    return gradus_cpu_unsupported (request, error);
  return &new_step (request, decay ? sgd_tile : sgd_plain_tile, 0.6)->base;
}

static GradusKernel *
prepare_momentum (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Step *k;

  if (!is_float32 (request))
    return gradus_cpu_unsupported (request, error);
  k = new_step (request, momentum_tile, 1.0);
  k->nesterov = gradus_node_int (request->node, "nesterov") != 0;
  return &k->base;
}

static GradusKernel *
prepare_adam (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Step *k;

  if (!is_float32 (request))
    return gradus_cpu_unsupported (request, error);
  k = new_step (request, adam_tile, 1.5);
  k->beta_1 = gradus_node_float (request->node, "beta_1");
  k->beta_2 = gradus_node_float (request->node, "beta_2");
  k->epsilon = gradus_node_float (request->node, "epsilon");
  return &k->base;
}

static GradusKernel *
prepare_moving_average (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Step *k;

  if (!is_float32 (request))
    return gradus_cpu_unsupported (request, error);
  k = new_step (request, moving_average_tile, 0.6);
  k->momentum = gradus_node_float (request->node, "momentum");
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (optimizer)[] = {
  { "sgd_step", prepare_sgd, NULL },
  { "momentum_step", prepare_momentum, NULL },
  { "adam_step", prepare_adam, NULL },
  { "moving_average", prepare_moving_average, NULL },
  { NULL, NULL, NULL },
};
