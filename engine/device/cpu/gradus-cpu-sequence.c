/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>
#include <string.h>

#define GRAD_TILES 16

typedef struct
{
  GradusKernel base;
  gint64       rows, width; /* of the table; or samples, elements of a step */
  gint64       n;           /* indices; or steps of all samples */
  gint64       time;
  gint64       per_tile;
  float        value;
} Sequence;

#define CALL                                           \
  const GradusCpuCall *call = data;                    \
  const Sequence *k = (const Sequence *) call->kernel; \
  const GradusKernelArgs *args = call->args

static gint64
row_of (const Sequence *k, float index)
{
  return index >= 0.0f && index < (float) k->rows ? (gint64) index : -1;
}

static void
gather_tile (gpointer data, guint tile)
{
  CALL;
  const float *table = args->inputs[0], *index = args->inputs[1];
  float       *y = args->outputs[0];
  gint64       end = MIN ((tile + 1) * k->per_tile, k->n);

  for (gint64 i = tile * k->per_tile; i < end; i++)
    {
      gint64 row = row_of (k, index[i]);

      if (row >= 0)
        memcpy (y + i * k->width, table + row * k->width, (gsize) k->width * sizeof *y);
      else
        for (gint64 j = 0; j < k->width; j++)
          y[i * k->width + j] = NAN;
    }
}

/* Each tile owns some rows of the table and adds what belongs to them in the order of the indices, so
 * the sums have the same bits for any number of workers. */
static void
gather_grad_tile (gpointer data, guint tile)
{
  CALL;
  const float *dy = args->inputs[0], *index = args->inputs[1];
  float       *table = args->outputs[0];
  gint64       first = tile * k->per_tile, end = MIN (first + k->per_tile, k->rows);

  if (end <= first)
    return;
  memset (table + first * k->width, 0, (gsize) ((end - first) * k->width) * sizeof *table);
  for (gint64 i = 0; i < k->n; i++)
    {
      gint64       row = row_of (k, index[i]);
      const float *from = dy + i * k->width;
      float       *to = table + row * k->width;

      if (row < first || row >= end)
        continue;
      _Pragma ("GCC ivdep") for (gint64 j = 0; j < k->width; j++) to[j] += from[j];
    }
}

static void
mask_tile (gpointer data, guint tile)
{
  CALL;
  const float *x = args->inputs[0];
  float       *y = args->outputs[0];
  gint64       end = MIN ((tile + 1) * k->per_tile, k->n);

  for (gint64 i = tile * k->per_tile; i < end; i++)
    {
      guint other = 0;

      for (gint64 j = 0; j < k->width; j++)
        other |= x[i * k->width + j] != k->value;
      y[i] = other ? 1.0f : 0.0f;
    }
}

static void
last_tile (gpointer data, guint tile)
{
  CALL;
  const float *x = args->inputs[0];
  float       *y = args->outputs[0];

  for (gint64 b = 0; b < k->rows; b++)
    memcpy (y + b * k->width, x + ((b + 1) * k->time - 1) * k->width, (gsize) k->width * sizeof *y);
}

static void
last_grad_tile (gpointer data, guint tile)
{
  CALL;
  const float *dy = args->inputs[0];
  float       *dx = args->outputs[0];
  gint64       end = MIN ((tile + 1) * k->per_tile, k->rows), size = k->time * k->width;

  for (gint64 b = tile * k->per_tile; b < end; b++)
    {
      memset (dx + b * size, 0, (gsize) (size - k->width) * sizeof *dx);
      memcpy (dx + (b + 1) * size - k->width, dy + b * k->width, (gsize) k->width * sizeof *dx);
    }
}

static void
ones_tile (gpointer data, guint tile)
{
  CALL;
  float *y = args->outputs[0];

  for (gint64 i = 0; i < k->n; i++)
    y[i] = 1.0f;
}

static void
cut (Sequence *k, gint64 items, gint64 per_tile)
{
  k->per_tile = MAX (per_tile, 1);
  k->base.n_tiles = gradus_cpu_tiles (items, k->per_tile);
}

/* Elements of a step of @shape, (batch, time, ...). */
static gint64
step_size (const GradusShape *shape)
{
  gint64 n = 1;

  for (guint i = 2; i < shape->rank; i++)
    n *= shape->dims[i];
  return n;
}

static Sequence *
create (const GradusKernelRequest *request, GradusTileFunc tile, GError **error)
{
  Sequence *k;

  for (guint i = 0; i < request->node->n_inputs; i++)
    if (request->inputs[i].dtype != GRADUS_DTYPE_FLOAT32)
      {
        gradus_cpu_unsupported (request, error);
        return NULL;
      }
  k = gradus_cpu_kernel_create (Sequence, "c");
  k->base.tile = tile;
  k->base.nanoseconds = (double) gradus_cpu_count (&request->inputs[0]) / 4;
  return k;
}

static GradusKernel *
prepare_gather (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  gboolean           backward = param != NULL;
  const GradusShape *table = &request->inputs[backward ? 2 : 0].shape;
  Sequence          *k = create (request, backward ? gather_grad_tile : gather_tile, error);

  if (k == NULL)
    return NULL;
  k->rows = table->dims[0];
  k->width = table->dims[1];
  k->n = gradus_cpu_count (&request->inputs[1]);
  k->base.nanoseconds = (double) k->n * (double) k->width / 4
                        + (backward ? (double) k->rows * (double) k->width / 8 + (double) k->n * 4 : 0);
  if (backward)
    cut (k, k->rows, (k->rows + GRAD_TILES - 1) / GRAD_TILES);
  else
    cut (k, k->n, GRADUS_CPU_TILE / MAX (k->width, 1));
  return &k->base;
}

static GradusKernel *
prepare_mask (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Sequence *k = create (request, mask_tile, error);

  if (k == NULL)
    return NULL;
  k->n = gradus_cpu_count (&request->outputs[0]);
  k->width = step_size (&request->inputs[0].shape);
  k->value = (float) gradus_node_float (request->node, "value");
  cut (k, k->n, GRADUS_CPU_TILE / MAX (k->width, 1));
  return &k->base;
}

static GradusKernel *
prepare_last (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  gboolean           backward = param != NULL;
  const GradusShape *x = &request->inputs[backward ? 1 : 0].shape;
  Sequence          *k = create (request, backward ? last_grad_tile : last_tile, error);

  if (k == NULL)
    return NULL;
  k->rows = x->dims[0];
  k->time = x->dims[1];
  k->width = step_size (x);
  k->base.nanoseconds = (double) gradus_cpu_count (&request->outputs[0]) / 8;
  if (backward)
    cut (k, k->rows, GRADUS_CPU_TILE / MAX (k->time * k->width, 1));
  return &k->base;
}

static GradusKernel *
prepare_ones (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Sequence *k = create (request, ones_tile, error);

  if (k != NULL)
    k->n = gradus_cpu_count (&request->outputs[0]);
  return k ? &k->base : NULL;
}

const GradusCpuRow GRADUS_CPU_ROWS (sequence)[] = {
  { "gather", prepare_gather, NULL },
  { "gather_grad", prepare_gather, "grad" },
  { "step_mask", prepare_mask, NULL },
  { "step_last", prepare_last, NULL },
  { "step_last_grad", prepare_last, "grad" },
  { "step_ones", prepare_ones, NULL },
  { NULL, NULL, NULL },
};
