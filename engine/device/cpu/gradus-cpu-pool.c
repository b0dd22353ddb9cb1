/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-resample.h"

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

/* One row of the window, at depth and height (@d, @h) of the input; @k: its first position. */
static gboolean
pool_row (const Pool *p, const float *image, gint64 d, gint64 h, gint64 ox, gint64 k, gboolean first, float *y, guint8 *index)
{
  const GradusWindow *w = &p->window;
  const float *row = image + (d * w->in[1] + h) * w->in[2] * p->channels;

  for (gint64 kx = 0; kx < w->size[2]; kx++)
    {
      gint64 ix = gradus_window_at (w, 2, ox, kx);

      if (ix < 0 || ix >= w->in[2])
        continue;
      if (first)
        take_first (row + ix * p->channels, y, index, p->channels, (guint8) (k + kx));
      else
        take_larger (row + ix * p->channels, y, index, p->channels, (guint8) (k + kx));
      first = FALSE;
    }
  return first;
}

static void
pool_place (const Pool *p, const float *image, const gint64 o[GRADUS_WINDOW_AXES], float *y, guint8 *index)
{
  const GradusWindow *w = &p->window;
  gboolean first = TRUE;

  for (gint64 kz = 0; kz < w->size[0]; kz++)
    for (gint64 ky = 0; ky < w->size[1]; ky++)
      {
        gint64 iz = gradus_window_at (w, 0, o[0], kz), iy = gradus_window_at (w, 1, o[1], ky);

        if (iz >= 0 && iz < w->in[0] && iy >= 0 && iy < w->in[1])
          first = pool_row (p, image, iz, iy, o[2], (kz * w->size[1] + ky) * w->size[2], first, y, index);
      }
}

static void
pool_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Pool *p = (const Pool *) call->kernel;
  const GradusWindow *w = &p->window;
  gint64 image_rows = w->out[0] * w->out[1], in_size = gradus_window_count (w->in) * p->channels;
  gint64 begin = tile * p->rows_per_tile;
  gint64 end = MIN (begin + p->rows_per_tile, p->batch * image_rows);

  for (gint64 row = begin; row < end; row++)
    {
      const float *image = (const float *) call->args->inputs[0] + row / image_rows * in_size;
      gint64 o[GRADUS_WINDOW_AXES] = { row % image_rows / w->out[1], row % w->out[1], 0 };

      for (o[2] = 0; o[2] < w->out[2]; o[2]++)
        {
          gint64 at = (row * w->out[2] + o[2]) * p->channels;
          pool_place (p, image, o, (float *) call->args->outputs[0] + at, (guint8 *) call->args->outputs[1] + at);
        }
    }
}

/* Windows that do not overlap and cover everything: each input belongs to one output, which is
 * written without being cleared first. */
static void
spread_place (const Pool *p, const float *restrict dy, const guint8 *restrict index, const gint64 o[GRADUS_WINDOW_AXES], float *image)
{
  const GradusWindow *w = &p->window;
  guint8 k = 0;

  for (gint64 kz = 0; kz < w->size[0]; kz++)
    for (gint64 ky = 0; ky < w->size[1]; ky++)
      for (gint64 kx = 0; kx < w->size[2]; kx++, k++)
        {
          gint64 row = (o[0] * w->size[0] + kz) * w->in[1] + o[1] * w->size[1] + ky;
          float *restrict dx = image + (row * w->in[2] + o[2] * w->size[2] + kx) * p->channels;

          for (gint64 c = 0; c < p->channels; c++)
            dx[c] = index[c] == k ? dy[c] : 0.0f;
        }
}

static inline __attribute__ ((always_inline)) void
add_where (const float *restrict dy, const guint8 *restrict index, guint8 k, float *restrict dx, gint64 channels)
{
  for (gint64 c = 0; c < channels; c++)
    dx[c] += index[c] == k ? dy[c] : 0.0f;
}

/* Windows that overlap: what each place of a window won is added, nothing elsewhere. All places are
 * visited, which for a few channels at a time is quicker than finding the winners' ones. */
static void
scatter_place (const Pool *p, const float *dy, const guint8 *index, const gint64 o[GRADUS_WINDOW_AXES], float *image)
{
  const GradusWindow *w = &p->window;
  gint64 k[GRADUS_WINDOW_AXES];
  guint8 number = 0;

  for (k[0] = 0; k[0] < w->size[0]; k[0]++)
    for (k[1] = 0; k[1] < w->size[1]; k[1]++)
      for (k[2] = 0; k[2] < w->size[2]; k[2]++, number++)
        {
          gint64 at = gradus_window_input (w, o, k);

          if (at >= 0)
            add_where (dy, index, number, image + at * p->channels, p->channels);
        }
}

static gboolean
covers_exactly (const GradusWindow *w)
{
  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
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
  gint64 in_size = gradus_window_count (w->in) * p->channels;
  gint64 out_size = gradus_window_count (w->out) * p->channels;
  const float *dy = (const float *) call->args->inputs[0] + tile * out_size;
  const guint8 *index = (const guint8 *) call->args->inputs[1] + tile * out_size;
  float *image = (float *) call->args->outputs[0] + tile * in_size;
  gboolean exact = covers_exactly (w);
  gint64 o[GRADUS_WINDOW_AXES], at = 0;

  if (!exact)
    memset (image, 0, (gsize) in_size * sizeof *image);
  for (o[0] = 0; o[0] < w->out[0]; o[0]++)
    for (o[1] = 0; o[1] < w->out[1]; o[1]++)
      for (o[2] = 0; o[2] < w->out[2]; o[2]++, at += p->channels)
        {
          if (exact)
            spread_place (p, dy + at, index + at, o, image);
          else
            scatter_place (p, dy + at, index + at, o, image);
        }
}

static Pool *
new_pool (const GradusKernelRequest *request, const GradusShape *x, GError **error)
{
  Pool *p = gradus_cpu_kernel_create (Pool, "c");

  if (!gradus_pool_window (request->node, request->inputs, x, &p->window, error))
    {
      g_free (p);
      return NULL;
    }
  p->batch = x->dims[0];
  p->channels = x->dims[x->rank - 1];
  return p;
}

static GradusKernel *
prepare_pool (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Pool *p;
  gint64 row, rows;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  p = new_pool (request, &request->inputs[0].shape, error);
  if (p == NULL)
    return NULL;
  row = p->window.out[2] * p->channels * gradus_window_count (p->window.size);
  rows = p->batch * p->window.out[0] * p->window.out[1];
  p->rows_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (row, 1));
  p->base.tile = pool_tile;
  p->base.n_tiles = gradus_cpu_tiles (rows, p->rows_per_tile);
  p->base.nanoseconds = 0.4 * (double) (rows * row);
  return &p->base;
}

static GradusKernel *
prepare_pool_grad (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Pool *p;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  p = new_pool (request, &request->outputs[0].shape, error);
  if (p == NULL)
    return NULL;
  p->base.tile = pool_grad_tile;
  p->base.n_tiles = (guint) p->batch;
  p->base.nanoseconds = 0.7 * (double) gradus_cpu_count (&request->outputs[0]);
  return &p->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (pool)[] = {
  { "max_pool", prepare_pool, NULL },
  { "max_pool_grad", prepare_pool_grad, NULL },
  { NULL, NULL, NULL },
};
