/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-place.h"

#include <string.h>

/* Tiles are rows of the output along its last axis that is not simply kept; what stands behind that
 * axis moves as one element. */
typedef struct
{
  GradusKernel base;
  GradusPlace  place;
  guint        last;    /* the axis of a row */
  gsize        element; /* bytes */
  gint64       rows, rows_per_tile;
  gint64       x_strides[GRADUS_MAX_RANK]; /* elements */
  gboolean     zero;
  float        value;
} Place;

static void
fill (const Place *k, char *y, gint64 n)
{
  gsize bytes = (gsize) n * k->element;

  if (k->zero)
    memset (y, 0, bytes);
  else
    for (gsize i = 0; i < bytes / sizeof (float); i++)
      ((float *) y)[i] = k->value;
}

/* Where the row of the output has its input; FALSE if it is all filling. */
static gboolean
find_row (const Place *k, gint64 row, gint64 *from)
{
  const GradusPlace *p = &k->place;

  *from = p->x_begin[k->last] * k->x_strides[k->last];
  for (gint axis = (gint) k->last - 1; axis >= 0; axis--)
    {
      gint64 at = row % p->y.dims[axis] - p->y_begin[axis];

      row /= p->y.dims[axis];
      if (at < 0 || at % p->y_step[axis] != 0 || at / p->y_step[axis] >= p->n[axis])
        return FALSE;
      *from += (p->x_begin[axis] + at / p->y_step[axis] * p->x_step[axis]) * k->x_strides[axis];
    }
  return p->n[k->last] > 0;
}

static void
copy_row (const Place *k, const char *x, char *y)
{
  const GradusPlace *p = &k->place;
  gint64 n = p->n[k->last], dim = p->y.dims[k->last];
  gint64 begin = p->y_begin[k->last], step = p->y_step[k->last], x_step = p->x_step[k->last];
  gint64 end = begin + (n - 1) * step + 1;
  gsize size = k->element;

  fill (k, y, step > 1 ? dim : begin);
  if (step == 1)
    fill (k, y + (gsize) end * size, dim - end);
  y += (gsize) begin * size;
  if (step == 1 && x_step == 1)
    memcpy (y, x, (gsize) n * size);
  else if (size == sizeof (float))
    for (gint64 i = 0; i < n; i++)
      ((guint32 *) y)[i * step] = ((const guint32 *) x)[i * x_step];
  else
    for (gint64 i = 0; i < n; i++)
      memcpy (y + i * step * (gint64) size, x + i * x_step * (gint64) size, size);
}

static void
place_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Place *k = (const Place *) call->kernel;
  gint64 dim = k->place.y.dims[k->last];
  gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, k->rows);
  gint64 from;

  for (gint64 row = begin; row < end; row++)
    {
      char *y = (char *) call->args->outputs[0] + row * dim * (gint64) k->element;

      if (find_row (k, row, &from))
        copy_row (k, (const char *) call->args->inputs[0] + from * (gint64) k->element, y);
      else
        fill (k, y, dim);
    }
}

static gboolean
is_kept (const GradusPlace *p, guint axis)
{
  return p->x.dims[axis] == p->y.dims[axis] && p->n[axis] == p->x.dims[axis] && p->x_begin[axis] == 0
         && p->x_step[axis] == 1 && p->y_step[axis] == 1;
}

static void
find_rows (Place *k)
{
  const GradusPlace *p = &k->place;
  gint64 stride = 1;

  k->last = p->rank - 1;
  while (k->last > 0 && is_kept (p, k->last))
    k->element *= (gsize) p->y.dims[k->last--];
  for (gint axis = (gint) k->last; axis >= 0; axis--)
    {
      k->x_strides[axis] = stride;
      stride *= p->x.dims[axis];
    }
  k->rows = 1;
  for (guint axis = 0; axis < k->last; axis++)
    k->rows *= p->y.dims[axis];
}

typedef struct
{
  GradusPlaceKind kind;
} PlaceParam;

static GradusKernel *
prepare_place (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const PlaceParam *param = data;
  gint64 n = gradus_cpu_count (&request->outputs[0]);
  Place *k;

  if (request->outputs[0].shape.rank == 0)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Place, "c");
  gradus_place_init (&k->place, param->kind, request->node, &request->inputs[0].shape, &request->outputs[0].shape);
  k->value = param->kind == GRADUS_PLACE_PAD ? (float) gradus_node_float (request->node, "value") : 0.0f;
  k->zero = k->value == 0;
  if (!k->zero && request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    {
      g_free (k);
      return gradus_cpu_unsupported (request, error);
    }
  k->element = gradus_dtype_size (request->inputs[0].dtype);
  find_rows (k);
  k->rows_per_tile = MAX (1, GRADUS_CPU_TILE * k->rows / MAX (n, 1));
  k->base.tile = place_tile;
  k->base.n_tiles = n == 0 ? 0 : gradus_cpu_tiles (k->rows, k->rows_per_tile);
  k->base.nanoseconds = 0.6 * (double) n;
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (place)[] = {
  { "pad", prepare_place, &(const PlaceParam){ GRADUS_PLACE_PAD } },
  { "strided_slice", prepare_place, &(const PlaceParam){ GRADUS_PLACE_SLICE } },
  { "strided_slice_grad", prepare_place, &(const PlaceParam){ GRADUS_PLACE_SLICE_GRAD } },
  { NULL, NULL, NULL },
};
