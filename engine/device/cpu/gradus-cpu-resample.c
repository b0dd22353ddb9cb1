/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-resample.h"

#include <string.h>

/* Tiles are rows along the last axis of the output, of all images one after the other. Each output is a
 * sum of its own, so gradients need neither clearing nor an order of writing. */
typedef struct
{
  GradusKernel   base;
  GradusResample resample;
  gint64         rows, channels;
  gint64         rows_per_tile;
} Resample;

static inline __attribute__ ((always_inline)) void
take (const float *restrict x, float weight, float *restrict y, gint64 channels)
{
  for (gint64 c = 0; c < channels; c++)
    y[c] = weight * x[c];
}

static inline __attribute__ ((always_inline)) void
add (const float *restrict x, float weight, float *restrict y, gint64 channels)
{
  for (gint64 c = 0; c < channels; c++)
    y[c] += weight * x[c];
}

/* The inputs that one output takes along the last axis, from a row of the input. */
static gboolean
add_row (const Resample *k, const float *row, double weight, gint64 o, float *y, gboolean first)
{
  const GradusTaps *t = &k->resample.taps[2];

  for (gint64 i = 0; i < t->count[o]; i++)
    {
      double whole = weight * gradus_taps_weight (t, o, i);
      const float *x = row + (t->first[o] + i) * k->channels;

      /* What is not read may be infinite. */
      if (whole == 0)
        continue;
      if (!first)
        add (x, (float) whole, y, k->channels);
      else if (whole == 1)
        memcpy (y, x, (gsize) k->channels * sizeof *y);
      else
        take (x, (float) whole, y, k->channels);
      first = FALSE;
    }
  return first;
}

static void
resample_place (const Resample *k, const float *image, const gint64 o[GRADUS_WINDOW_AXES], float *y)
{
  const GradusResample *r = &k->resample;
  const GradusTaps *deep = &r->taps[0], *high = &r->taps[1];
  gboolean first = TRUE;

  for (gint64 d = 0; d < deep->count[o[0]]; d++)
    for (gint64 h = 0; h < high->count[o[1]]; h++)
      {
        double weight = gradus_taps_weight (deep, o[0], d) * gradus_taps_weight (high, o[1], h);
        gint64 row = (deep->first[o[0]] + d) * r->in[1] + high->first[o[1]] + h;

        first = add_row (k, image + row * r->in[2] * k->channels, weight, o[2], y, first);
      }
  if (first)
    memset (y, 0, (gsize) k->channels * sizeof *y);
}

static void
resample_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Resample *k = (const Resample *) call->kernel;
  const GradusResample *r = &k->resample;
  gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, k->rows);
  gint64 image_rows = r->out[0] * r->out[1];
  gint64 in_size = gradus_window_count (r->in) * k->channels;

  for (gint64 row = begin; row < end; row++)
    {
      const float *image = (const float *) call->args->inputs[0] + row / image_rows * in_size;
      float *y = (float *) call->args->outputs[0] + row * r->out[2] * k->channels;
      gint64 o[GRADUS_WINDOW_AXES] = { row % image_rows / r->out[1], row % r->out[1], 0 };

      for (o[2] = 0; o[2] < r->out[2]; o[2]++)
        resample_place (k, image, o, y + o[2] * k->channels);
    }
}

/* Multiplications of one image and channel. */
static double
work (const GradusResample *r)
{
  double products = 1;

  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    {
      gint64 taps = 0;

      for (gint64 o = 0; o < r->taps[axis].n; o++)
        taps += r->taps[axis].count[o];
      products *= (double) taps;
    }
  return products;
}

static void
resample_free (GradusKernel *kernel)
{
  gradus_resample_clear (&((Resample *) kernel)->resample);
}

typedef struct
{
  GradusResampleKind kind;
  gboolean           gradient;
} ResampleParam;

static GradusKernel *
prepare_resample (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const ResampleParam *param = data;
  const GradusShape *y = &request->outputs[0].shape;
  double each;
  Resample *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Resample, "c");
  gradus_resample_init (&k->resample, param->kind, param->gradient, request->node, request->inputs,
                        &request->inputs[0].shape, y);
  k->channels = y->dims[y->rank - 1];
  k->rows = y->dims[0] * k->resample.out[0] * k->resample.out[1];
  each = work (&k->resample) * (double) k->channels;
  k->rows_per_tile
      = (gint64) CLAMP (GRADUS_CPU_TILE * (double) (k->resample.out[0] * k->resample.out[1]) / MAX (each, 1), 1,
                        (double) MAX (k->rows, 1));
  k->base.tile = resample_tile;
  k->base.n_tiles = gradus_cpu_tiles (k->rows, k->rows_per_tile);
  k->base.nanoseconds = 0.4 * (double) y->dims[0] * each + 2.0 * (double) (k->rows * k->resample.out[2]);
  k->base.finalize = resample_free;
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (resample)[] = {
  { "average_pool", prepare_resample, &(const ResampleParam){ GRADUS_RESAMPLE_AVERAGE, FALSE } },
  { "average_pool_grad", prepare_resample, &(const ResampleParam){ GRADUS_RESAMPLE_AVERAGE, TRUE } },
  { "resize_nearest", prepare_resample, &(const ResampleParam){ GRADUS_RESAMPLE_NEAREST, FALSE } },
  { "resize_nearest_grad", prepare_resample, &(const ResampleParam){ GRADUS_RESAMPLE_NEAREST, TRUE } },
  { "resize_bilinear", prepare_resample, &(const ResampleParam){ GRADUS_RESAMPLE_BILINEAR, FALSE } },
  { "resize_bilinear_grad", prepare_resample, &(const ResampleParam){ GRADUS_RESAMPLE_BILINEAR, TRUE } },
  { NULL, NULL, NULL },
};
