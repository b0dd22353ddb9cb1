/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-window.h"

#include <string.h>

/* Tiles are rows of the output, images one after the other; the gradient's are whole images,
 * because windows may overlap. */
typedef struct
{
  GradusKernel base;
  GradusWindow window;
  gint64       batch, channels;
  gint64       rows_per_tile;
} Pool;

/* One output place: the first maximum of the window and where it is. The first position inside the
 * image starts it, so that the padding never wins. */
static inline __attribute__ ((always_inline)) void
take_first (const float *x, float *restrict y, guint8 *restrict index, gint64 channels, guint8 k)
{
  memcpy (y, x, (gsize) channels * sizeof *y);
  memset (index, k, (gsize) channels);
}

static inline __attribute__ ((always_inline)) void
take_larger (const float *restrict x, float *restrict y, guint8 *restrict index, gint64 channels, guint8 k)
{
  for (gint64 c = 0; c < channels; c++)
    {
      gboolean larger = x[c] > y[c];
      y[c] = larger ? x[c] : y[c];
      index[c] = larger ? k : index[c];
    }
}

static void
pool_place (const Pool *p, const float *image, gint64 oy, gint64 ox, float *y, guint8 *index)
{
  const GradusWindow *w = &p->window;
  gboolean first = TRUE;

  for (gint64 ky = 0; ky < w->size[0]; ky++)
    {
      gint64 iy = gradus_window_at (w, 0, oy, ky);
      if (iy < 0 || iy >= w->in[0])
        continue;
      for (gint64 kx = 0; kx < w->size[1]; kx++)
        {
          gint64 ix = gradus_window_at (w, 1, ox, kx);
          guint8 k = (guint8) (ky * w->size[1] + kx);
          const float *x = image + (iy * w->in[1] + ix) * p->channels;
          if (ix < 0 || ix >= w->in[1])
            continue;
          if (first)
            take_first (x, y, index, p->channels, k);
          else
            take_larger (x, y, index, p->channels, k);
          first = FALSE;
        }
    }
}

static void
pool_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Pool *p = (const Pool *) call->kernel;
  const GradusWindow *w = &p->window;
  gint64 begin = tile * p->rows_per_tile;
  gint64 end = MIN (begin + p->rows_per_tile, p->batch * w->out[0]);

  for (gint64 row = begin; row < end; row++)
    {
      const float *image = (const float *) call->args->inputs[0]
                           + row / w->out[0] * w->in[0] * w->in[1] * p->channels;
      for (gint64 ox = 0; ox < w->out[1]; ox++)
        {
          gint64 at = (row * w->out[1] + ox) * p->channels;
          pool_place (p, image, row % w->out[0], ox, (float *) call->args->outputs[0] + at,
                      (guint8 *) call->args->outputs[1] + at);
        }
    }
}

/* Windows that do not overlap and cover everything: each input belongs to one output, which is
 * written without being cleared first. */
static void
spread_place (const Pool *p, const float *restrict dy, const guint8 *restrict index, gint64 oy, gint64 ox, float *image)
{
  const GradusWindow *w = &p->window;

  for (gint64 ky = 0; ky < w->size[0]; ky++)
    for (gint64 kx = 0; kx < w->size[1]; kx++)
      {
        float *restrict dx = image + ((oy * w->size[0] + ky) * w->in[1] + ox * w->size[1] + kx) * p->channels;
        guint8 k = (guint8) (ky * w->size[1] + kx);
        for (gint64 c = 0; c < p->channels; c++)
          dx[c] = index[c] == k ? dy[c] : 0.0f;
      }
}

static void
scatter_place (const Pool *p, const float *dy, const guint8 *index, gint64 oy, gint64 ox, float *image)
{
  const GradusWindow *w = &p->window;

  for (gint64 c = 0; c < p->channels; c++)
    {
      gint64 iy = gradus_window_at (w, 0, oy, index[c] / w->size[1]);
      gint64 ix = gradus_window_at (w, 1, ox, index[c] % w->size[1]);
      if (iy >= 0 && iy < w->in[0] && ix >= 0 && ix < w->in[1])
        image[(iy * w->in[1] + ix) * p->channels + c] += dy[c];
    }
}

static gboolean
covers_exactly (const GradusWindow *w)
{
  for (guint axis = 0; axis < 2; axis++)
    if (w->strides[axis] != w->size[axis] || w->before[axis] != 0 || w->after[axis] != 0
        || w->out[axis] * w->size[axis] != w->in[axis])
      return FALSE;
  return TRUE;
}

static void
pool_grad_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Pool *p = (const Pool *) call->kernel;
  const GradusWindow *w = &p->window;
  gint64 in_size = w->in[0] * w->in[1] * p->channels;
  gint64 out_size = w->out[0] * w->out[1] * p->channels;
  const float *dy = (const float *) call->args->inputs[0] + tile * out_size;
  const guint8 *index = (const guint8 *) call->args->inputs[1] + tile * out_size;
  float *image = (float *) call->args->outputs[0] + tile * in_size;
  gboolean exact = covers_exactly (w);

  if (!exact)
    memset (image, 0, (gsize) in_size * sizeof *image);
  for (gint64 oy = 0; oy < w->out[0]; oy++)
    for (gint64 ox = 0; ox < w->out[1]; ox++)
      {
        gint64 at = (oy * w->out[1] + ox) * p->channels;
        if (exact)
          spread_place (p, dy + at, index + at, oy, ox, image);
        else
          scatter_place (p, dy + at, index + at, oy, ox, image);
      }
}

static Pool *
new_pool (const GradusKernelRequest *request, const GradusShape *x, GError **error)
{
  guint n;
  const gint64 *size = gradus_node_ints (request->node, "pool", &n);
  Pool *p = gradus_cpu_kernel_create (Pool, "c");

  if (!gradus_window_read (request->node, request->inputs, NULL, &p->window, error)
      || !gradus_window_fit (request->node, request->inputs, &p->window, x->dims, size, error))
    {
      g_free (p);
      return NULL;
    }
  p->batch = x->dims[0];
  p->channels = x->dims[3];
  return p;
}

static GradusKernel *
prepare_pool (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Pool *p;
  gint64 row;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  p = new_pool (request, &request->inputs[0].shape, error);
  if (p == NULL)
    return NULL;
  row = p->window.out[1] * p->channels * p->window.size[0] * p->window.size[1];
  p->rows_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (row, 1));
  p->base.tile = pool_tile;
  p->base.n_tiles = gradus_cpu_tiles (p->batch * p->window.out[0], p->rows_per_tile);
  p->base.nanoseconds = 0.4 * (double) (p->batch * p->window.out[0] * row);
  return &p->base;
}

static GradusKernel *
prepare_pool_grad (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Pool *p;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  p = new_pool (request, &request->inputs[2].shape, error);
  if (p == NULL)
    return NULL;
  p->base.tile = pool_grad_tile;
  p->base.n_tiles = (guint) p->batch;
  p->base.nanoseconds = 0.7 * (double) gradus_cpu_count (&request->inputs[2]);
  return &p->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (pool)[] = {
  { "max_pool2d", prepare_pool, NULL },
  { "max_pool2d_grad", prepare_pool_grad, NULL },
  { NULL, NULL, NULL },
};
