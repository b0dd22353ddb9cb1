/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-nd.h"

#include <math.h>

/* One row of the output; sa and sb are 1, or 0 for an operand that is one number in this row. */
typedef void (*RowFunc) (const float *a, gint64 sa, const float *b, gint64 sb, float *y, gint64 n);

typedef struct
{
  GradusKernel base;
  GradusCpuNd  nd;
  gint64       rows_per_tile; /* 0: there is one row, cut into tiles itself */
  RowFunc      row;
} Binary;

#define LOOP(A, B, expression)                          \
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++)  \
  {                                                     \
    float p = A, q = B;                                 \
    y[i] = (expression);                                \
  }

#define DEFINE_BINARY(name, expression)                                                    \
  static void name##_row (const float *a, gint64 sa, const float *b, gint64 sb, float *y, gint64 n) \
  {                                                                                        \
    if (sa != 0 && sb != 0)                                                                \
      LOOP (a[i], b[i], expression)                                                        \
    else if (sa != 0)                                                                      \
      {                                                                                    \
        float b0 = b[0];                                                                   \
        LOOP (a[i], b0, expression)                                                        \
      }                                                                                    \
    else if (sb != 0)                                                                      \
      {                                                                                    \
        float a0 = a[0];                                                                   \
        LOOP (a0, b[i], expression)                                                        \
      }                                                                                    \
    else                                                                                   \
      {                                                                                    \
        float a0 = a[0], b0 = b[0];                                                        \
        LOOP (a0, b0, expression)                                                          \
      }                                                                                    \
  }

DEFINE_BINARY (add, p + q)
DEFINE_BINARY (subtract, p - q)
DEFINE_BINARY (multiply, p *q)
DEFINE_BINARY (divide, p / q)
/* A NaN on either side wins. */
DEFINE_BINARY (maximum, p > q || p != p ? p : q)
DEFINE_BINARY (minimum, p < q || p != p ? p : q)

static void
binary_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Binary *k = (const Binary *) call->kernel;
  const GradusCpuNd *nd = &k->nd;
  const float *a = call->args->inputs[0], *b = call->args->inputs[1];
  float *y = call->args->outputs[0];
  gint64 sa = nd->strides[0][nd->rank - 1], sb = nd->strides[1][nd->rank - 1];

  if (k->rows_per_tile == 0)
    {
      gint64 begin = (gint64) tile * GRADUS_CPU_TILE;
      gint64 n = MIN (GRADUS_CPU_TILE, nd->inner - begin);
      k->row (a + begin * sa, sa, b + begin * sb, sb, y + begin, n);
      return;
    }
  gint64 begin = tile * k->rows_per_tile;
  gint64 end = MIN (begin + k->rows_per_tile, nd->outer);
  GradusCpuNdAt at;
  gradus_cpu_nd_seek (nd, begin, &at);
  for (gint64 row = begin; row < end; row++)
    {
      k->row (a + at.offset[0], sa, b + at.offset[1], sb, y + row * nd->inner, nd->inner);
      gradus_cpu_nd_next (nd, &at);
    }
}

typedef struct
{
  RowFunc row;
} BinaryParam;

static GradusKernel *
prepare_binary (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const BinaryParam *param = data;
  const GradusShape *shape = &request->outputs[0].shape;
  Binary *k;
  gint64 n = gradus_cpu_count (&request->outputs[0]);

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32
      || request->inputs[1].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Binary, "c");
  k->row = param->row;
  k->nd.rank = shape->rank;
  for (guint i = 0; i < shape->rank; i++)
    k->nd.dims[i] = shape->dims[i];
  gradus_cpu_nd_broadcast (&request->inputs[0].shape, shape, k->nd.strides[0]);
  gradus_cpu_nd_broadcast (&request->inputs[1].shape, shape, k->nd.strides[1]);
  gradus_cpu_nd_collapse (&k->nd);
  if (k->nd.outer == 1)
    k->base.n_tiles = gradus_cpu_tiles (k->nd.inner, GRADUS_CPU_TILE);
  else if (k->nd.outer > 1)
    {
      k->rows_per_tile = MAX (1, GRADUS_CPU_TILE / MAX (k->nd.inner, 1));
      k->base.n_tiles = gradus_cpu_tiles (k->nd.outer, k->rows_per_tile);
    }
  if (n == 0)
    k->base.n_tiles = 0;
  k->base.tile = binary_tile;
  k->base.nanoseconds = 0.7 * (double) n;
  return &k->base;
}

#define BINARY_ROW(name)                                               \
  {                                                                    \
    #name, prepare_binary, &(const BinaryParam) { name##_row }         \
  }

const GradusCpuRow GRADUS_CPU_ROWS (binary)[] = {
  BINARY_ROW (add),
  BINARY_ROW (subtract),
  BINARY_ROW (multiply),
  BINARY_ROW (divide),
  BINARY_ROW (maximum),
  BINARY_ROW (minimum),
  { "bias_add", prepare_binary, &(const BinaryParam){ add_row } },
  { NULL, NULL, NULL },
};
