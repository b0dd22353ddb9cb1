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

DEFINE_BINARY (power, powf (p, q))
DEFINE_BINARY (modulo, q == 0.0f ? NAN : p - q * floorf (p / q))
DEFINE_BINARY (equal, p == q ? 1.0f : 0.0f)
DEFINE_BINARY (not_equal, p != q ? 1.0f : 0.0f)
DEFINE_BINARY (less, p < q ? 1.0f : 0.0f)
DEFINE_BINARY (less_equal, p <= q ? 1.0f : 0.0f)
DEFINE_BINARY (greater, p > q ? 1.0f : 0.0f)
DEFINE_BINARY (greater_equal, p >= q ? 1.0f : 0.0f)

/* The rows of a tile, and the columns of them: the whole ones, or a part of the only row. */
typedef struct
{
  gint64 begin, end;
  gint64 first, n;
} Part;

static Part
cut_part (const Binary *k, guint tile)
{
  gint64 begin = tile * (k->rows_per_tile == 0 ? GRADUS_CPU_TILE : k->rows_per_tile);

  if (k->rows_per_tile == 0)
    return (Part){ 0, 1, begin, MIN (GRADUS_CPU_TILE, k->nd.inner - begin) };
  return (Part){ begin, MIN (begin + k->rows_per_tile, k->nd.outer), 0, k->nd.inner };
}

static void
binary_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Binary *k = (const Binary *) call->kernel;
  const GradusCpuNd *nd = &k->nd;
  const float *a = call->args->inputs[0], *b = call->args->inputs[1];
  float *y = call->args->outputs[0];
  gint64 sa = nd->strides[0][nd->rank - 1], sb = nd->strides[1][nd->rank - 1];
  Part part = cut_part (k, tile);
  GradusCpuNdAt at;

  gradus_cpu_nd_seek (nd, part.begin, &at);
  for (gint64 row = part.begin; row < part.end; row++)
    {
      k->row (a + at.offset[0] + part.first * sa, sa, b + at.offset[1] + part.first * sb, sb,
              y + row * nd->inner + part.first, part.n);
      gradus_cpu_nd_next (nd, &at);
    }
}

static void
where_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Binary *k = (const Binary *) call->kernel;
  const GradusCpuNd *nd = &k->nd;
  Part part = cut_part (k, tile);
  gint64 stride[3];
  GradusCpuNdAt at;

  for (guint i = 0; i < 3; i++)
    stride[i] = nd->strides[i][nd->rank - 1];
  gradus_cpu_nd_seek (nd, part.begin, &at);
  for (gint64 row = part.begin; row < part.end; row++)
    {
      float *y = (float *) call->args->outputs[0] + row * nd->inner + part.first;
      const float *in[3];

      for (guint i = 0; i < 3; i++)
        in[i] = (const float *) call->args->inputs[i] + at.offset[i] + part.first * stride[i];
      for (gint64 i = 0; i < part.n; i++)
        y[i] = in[0][i * stride[0]] != 0.0f ? in[1][i * stride[1]] : in[2][i * stride[2]];
      gradus_cpu_nd_next (nd, &at);
    }
}

typedef struct
{
  RowFunc row;
} BinaryParam;

/* The loop nest of a call whose @n_inputs operands are repeated to the output, cut into tiles. */
static GradusKernel *
new_broadcast (const GradusKernelRequest *request, guint n_inputs, GradusTileFunc tile, RowFunc row, GError **error)
{
  const GradusShape *shape = &request->outputs[0].shape;
  Binary *k;
  gint64 n = gradus_cpu_count (&request->outputs[0]);

  for (guint i = 0; i < n_inputs; i++)
    if (request->inputs[i].dtype != GRADUS_DTYPE_FLOAT32)
      return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Binary, "c");
  k->row = row;
  k->nd.rank = shape->rank;
  for (guint i = 0; i < shape->rank; i++)
    k->nd.dims[i] = shape->dims[i];
  for (guint i = 0; i < n_inputs; i++)
    gradus_cpu_nd_broadcast (&request->inputs[i].shape, shape, k->nd.strides[i]);
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
  k->base.tile = tile;
  k->base.nanoseconds = 0.7 * (double) n;
  return &k->base;
}

static GradusKernel *
prepare_binary (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const BinaryParam *param = data;

  return new_broadcast (request, 2, binary_tile, param->row, error);
}

static GradusKernel *
prepare_where (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  return new_broadcast (request, 3, where_tile, NULL, error);
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
  BINARY_ROW (power),
  BINARY_ROW (modulo),
  BINARY_ROW (equal),
  BINARY_ROW (not_equal),
  BINARY_ROW (less),
  BINARY_ROW (less_equal),
  BINARY_ROW (greater),
  BINARY_ROW (greater_equal),
  { "where", prepare_where, NULL },
  { "bias_add", prepare_binary, &(const BinaryParam){ add_row } },
  { NULL, NULL, NULL },
};
