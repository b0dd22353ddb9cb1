/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-nd.h"
#include "ops/gradus-op-family.h"

#include <string.h>

/* y = x read along strides: transpose, and broadcasting with a factor. */
typedef struct
{
  GradusKernel base;
  GradusCpuNd  nd;
  gint64       rows_per_tile;
  gsize        size; /* of an element */
  float        factor;
} Strided;

#define DEFINE_GATHER(name, Type)                                        \
  static void gather_##name (const Type *x, gint64 stride, Type *y, gint64 n) \
  {                                                                      \
    if (stride == 1)                                                     \
      memcpy (y, x, (gsize) n * sizeof *y);                              \
    else                                                                 \
      for (gint64 i = 0; i < n; i++)                                     \
        y[i] = x[i * stride];                                            \
  }

DEFINE_GATHER (8, guint8)
DEFINE_GATHER (32, guint32)
DEFINE_GATHER (64, guint64)

static void
transpose_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Strided *k = (const Strided *) call->kernel;
  const GradusCpuNd *nd = &k->nd;
  gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, nd->outer);
  gint64 stride = nd->strides[0][nd->rank - 1];
  GradusCpuNdAt at;

  gradus_cpu_nd_seek (nd, begin, &at);
  for (gint64 row = begin; row < end; row++)
    {
      const char *x = (const char *) call->args->inputs[0] + at.offset[0] * (gint64) k->size;
      char *y = (char *) call->args->outputs[0] + row * nd->inner * (gint64) k->size;
      if (k->size == 4)
        gather_32 ((const guint32 *) x, stride, (guint32 *) y, nd->inner);
      else if (k->size == 8)
        gather_64 ((const guint64 *) x, stride, (guint64 *) y, nd->inner);
      else
        gather_8 ((const guint8 *) x, stride, (guint8 *) y, nd->inner);
      gradus_cpu_nd_next (nd, &at);
    }
}

static void
broadcast_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Strided *k = (const Strided *) call->kernel;
  const GradusCpuNd *nd = &k->nd;
  gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, nd->outer);
  gint64 stride = nd->strides[0][nd->rank - 1];
  GradusCpuNdAt at;

  gradus_cpu_nd_seek (nd, begin, &at);
  for (gint64 row = begin; row < end; row++)
    {
      const float *x = (const float *) call->args->inputs[0] + at.offset[0];
      float *y = (float *) call->args->outputs[0] + row * nd->inner;
      float only = x[0] * k->factor;
      if (stride == 0)
        for (gint64 i = 0; i < nd->inner; i++)
          y[i] = only;
      else
        for (gint64 i = 0; i < nd->inner; i++)
          y[i] = x[i] * k->factor;
      gradus_cpu_nd_next (nd, &at);
    }
}

static GradusKernel *
finish_strided (Strided *k, const GradusShape *shape, GradusTileFunc tile)
{
  gint64 n = gradus_shape_count (shape);

  k->nd.rank = shape->rank;
  for (guint i = 0; i < shape->rank; i++)
    k->nd.dims[i] = shape->dims[i];
  gradus_cpu_nd_collapse (&k->nd);
  k->rows_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (k->nd.inner, 1));
  k->base.tile = tile;
  k->base.n_tiles = n == 0 ? 0 : gradus_cpu_tiles (k->nd.outer, k->rows_per_tile);
  k->base.nanoseconds = 1.0 * (double) n;
  return &k->base;
}

static GradusKernel *
prepare_transpose (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Strided *k = gradus_cpu_kernel_create (Strided, "c");
  gint64 strides[GRADUS_MAX_RANK];
  guint n;
  const gint64 *perm = gradus_node_ints (request->node, "perm", &n);

  gradus_cpu_nd_contiguous (&request->inputs[0].shape, strides);
  for (guint i = 0; i < n; i++)
    k->nd.strides[0][i] = strides[perm[i]];
  /* The second operand is not there: its strides follow the first's, so that it joins nothing. */
  memcpy (k->nd.strides[1], k->nd.strides[0], sizeof k->nd.strides[0]);
  k->size = gradus_dtype_size (request->inputs[0].dtype);
  return finish_strided (k, &request->outputs[0].shape, transpose_tile);
}

static GradusKernel *
prepare_broadcast_like (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  const GradusShape *shape = &request->outputs[0].shape;
  GradusShape kept = *shape;
  gint64 n_repeated = 1;
  guint32 mask;
  Strided *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  if (!gradus_op_axes (request->node, request->inputs, shape->rank, &mask, error))
    return NULL;
  for (guint i = 0; i < shape->rank; i++)
    if ((mask & (1u << i)) != 0)
      {
        n_repeated *= shape->dims[i];
        kept.dims[i] = 1;
      }
  k = gradus_cpu_kernel_create (Strided, "c");
  gradus_cpu_nd_broadcast (&kept, shape, k->nd.strides[0]);
  memcpy (k->nd.strides[1], k->nd.strides[0], sizeof k->nd.strides[0]);
  k->factor = gradus_node_int (request->node, "scale_mean") != 0 ? (float) (1.0 / (double) n_repeated) : 1.0f;
  return finish_strided (k, shape, broadcast_tile);
}

/* Parts of an array along an axis: rows of @bytes, each between a place of the whole and one of the
 * part. */
typedef struct
{
  gint64 rows;
  gint64 whole, part; /* bytes of a row */
  gint64 begin;       /* byte where the part begins in a row of the whole */
} Part;

typedef struct
{
  GradusKernel base;
  gboolean     into_whole, clear;
  guint        n_parts;
  gint64       rows_per_tile;
  Part         parts[];
} Parts;

static void
parts_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Parts *k = (const Parts *) call->kernel;

  for (guint p = 0; p < k->n_parts; p++)
    {
      const Part *part = &k->parts[p];
      gint64 begin = tile * k->rows_per_tile, end = MIN (begin + k->rows_per_tile, part->rows);
      const char *from = call->args->inputs[k->into_whole ? p : 0];
      char *to = call->args->outputs[0];

      if (k->clear && end > begin)
        memset (to + begin * part->whole, 0, (gsize) ((end - begin) * part->whole));
      for (gint64 row = begin; row < end; row++)
        {
          if (k->into_whole)
            memcpy (to + row * part->whole + part->begin, from + row * part->part, (gsize) part->part);
          else
            memcpy (to + row * part->part, from + row * part->whole + part->begin, (gsize) part->part);
        }
    }
}

static void
set_part (Part *part, const GradusValueType *whole, const GradusValueType *piece, guint axis, gint64 begin)
{
  gint64 below = (gint64) gradus_dtype_size (whole->dtype);

  part->rows = 1;
  for (guint i = 0; i < axis; i++)
    part->rows *= whole->shape.dims[i];
  for (guint i = axis + 1; i < whole->shape.rank; i++)
    below *= whole->shape.dims[i];
  part->whole = below * whole->shape.dims[axis];
  part->part = below * piece->shape.dims[axis];
  part->begin = below * begin;
}

static Parts *
new_parts (guint n_parts, const GradusValueType *whole, guint axis, gboolean into_whole)
{
  Parts *k = (Parts *) gradus_cpu_kernel_new (sizeof (Parts) + n_parts * sizeof (Part), "c");
  gint64 rows = 1, n = gradus_cpu_count (whole);

  for (guint i = 0; i < axis; i++)
    rows *= whole->shape.dims[i];
  k->into_whole = into_whole;
  k->n_parts = n_parts;
  k->rows_per_tile = n > 0 ? MAX (1, GRADUS_CPU_TILE * rows / n) : MAX (rows, 1);
  k->base.tile = parts_tile;
  k->base.n_tiles = gradus_cpu_tiles (rows, k->rows_per_tile);
  k->base.nanoseconds = 0.6 * (double) n;
  return k;
}

static GradusKernel *
prepare_concat (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  guint axis = (guint) gradus_node_int (request->node, "axis");
  Parts *k = new_parts (request->node->n_inputs, &request->outputs[0], axis, TRUE);
  gint64 begin = 0;

  for (guint i = 0; i < request->node->n_inputs; i++)
    {
      set_part (&k->parts[i], &request->outputs[0], &request->inputs[i], axis, begin);
      begin += request->inputs[i].shape.dims[axis];
    }
  return &k->base;
}

static GradusKernel *
prepare_slice (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  guint axis = (guint) gradus_node_int (request->node, "axis");
  Parts *k = new_parts (1, &request->inputs[0], axis, FALSE);

  set_part (&k->parts[0], &request->inputs[0], &request->outputs[0], axis,
            gradus_node_int (request->node, "begin"));
  return &k->base;
}

static GradusKernel *
prepare_slice_grad (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  guint axis = (guint) gradus_node_int (request->node, "axis");
  Parts *k = new_parts (1, &request->outputs[0], axis, TRUE);

  k->clear = TRUE;
  set_part (&k->parts[0], &request->outputs[0], &request->inputs[0], axis,
            gradus_node_int (request->node, "begin"));
  return &k->base;
}

/* A plan makes an alias of it; asked for all the same, it copies. */
static GradusKernel *
prepare_reshape (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  GradusValueType flat = { request->inputs[0].dtype, gradus_shape (1, gradus_cpu_count (&request->inputs[0])) };
  Parts *k = new_parts (1, &flat, 0, TRUE);

  set_part (&k->parts[0], &flat, &flat, 0, 0);
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (shape)[] = {
  { "reshape", prepare_reshape, NULL },
  { "transpose", prepare_transpose, NULL },
  { "broadcast_like", prepare_broadcast_like, NULL },
  { "concat", prepare_concat, NULL },
  { "slice", prepare_slice, NULL },
  { "slice_grad", prepare_slice_grad, NULL },
  { NULL, NULL, NULL },
};
