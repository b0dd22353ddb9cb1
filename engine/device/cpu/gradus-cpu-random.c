/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "gradus-philox.h"

/* Numbers drawn at a time, on the stack. */
#define BLOCK 1024

typedef struct
{
  GradusKernel base;
  gint64       n;
  guint64      stream;
} Dropout;

static void
dropout_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Dropout *k = (const Dropout *) call->kernel;
  const float *in = call->args->inputs[0];
  float *out = call->args->outputs[0];
  float rate = *(const float *) call->args->inputs[1];
  float factor = (float) (1.0 / (1.0 - (double) rate));
  GradusPhilox philox = gradus_philox (call->args->seed, k->stream, call->args->step);
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE, end = MIN (begin + GRADUS_CPU_TILE, k->n);
  float u[BLOCK];

  for (gint64 first = begin; first < end; first += BLOCK)
    {
      gint64 n = MIN (BLOCK, end - first);
      gradus_philox_fill_floats (&philox, (guint64) first, (gsize) n, u);
      _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++)
        out[first + i] = u[i] >= rate ? in[first + i] * factor : 0.0f;
    }
}

static GradusKernel *
prepare_dropout (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Dropout *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Dropout, "c");
  k->n = gradus_cpu_count (&request->outputs[0]);
  k->stream = request->node->stream;
  k->base.tile = dropout_tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  k->base.nanoseconds = 2.0 * (double) k->n;
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (random)[] = {
  { "dropout", prepare_dropout, NULL },
  { "dropout_grad", prepare_dropout, NULL },
  { NULL, NULL, NULL },
};
