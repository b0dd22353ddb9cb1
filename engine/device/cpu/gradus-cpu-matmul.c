/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-onednn.h"
#include "ops/gradus-op-activation.h"

#include <cblas.h>
#include <limits.h>

/* Floating-point operations of a tile (about 15 us on a core with AVX-512) and the most tiles. */
#define TILE_FLOPS 4e6
#define MAX_TILES 32
#define TILE_SIDE 64
#define TILE_OTHER_SIDE 32

static const char onednn[] = "onednn";
static const char openblas[] = "openblas";

/* Which library does a product, by instruction set and size; the first row that fits decides.
 * Never by timing: the choice is part of the bits. */
static const struct
{
  GradusCpuIsa isa_up_to;
  double       flops_up_to;
  const char  *provider;
} provider_table[] = {
  { GRADUS_CPU_ISA_BASELINE, G_MAXDOUBLE, openblas },
  { GRADUS_CPU_ISA_AVX512, G_MAXDOUBLE, onednn },
};

/* The output is cut into tiles; those at the right and at the bottom may be smaller, so there are
 * up to four shapes of tile. */
typedef struct
{
  GradusKernel        base;
  GradusMatmulShape   shape;
  gboolean            transpose_a, transpose_b;
  gint64              tile_m, tile_n;
  guint               tiles_m, tiles_n;
  gsize               tile_scratch;
  GradusOnednnMatmul *onednn[2][2]; /* [bottom][right] */
} Matmul;

static gint64
round_up (gint64 value, gint64 to)
{
  return (value + to - 1) / to * to;
}

static double
flops (const GradusMatmulShape *s)
{
  return 2.0 * (double) s->m * (double) s->n * (double) s->k;
}

/* Cuts the longer side first, into multiples of TILE_SIDE, then the other. */
static void
cut (Matmul *k)
{
  const GradusMatmulShape *s = &k->shape;
  gint64 wanted = (gint64) CLAMP (flops (s) / TILE_FLOPS, 1, MAX_TILES);
  gboolean n_first = s->n >= s->m;
  gint64 first = n_first ? s->n : s->m, second = n_first ? s->m : s->n;
  gint64 tile_first = round_up (MAX ((first + wanted - 1) / wanted, 1), TILE_SIDE);
  gint64 tiles_first = (first + tile_first - 1) / MAX (tile_first, 1);
  gint64 rest = MAX (wanted / MAX (tiles_first, 1), 1);
  gint64 tile_second = round_up (MAX ((second + rest - 1) / rest, 1), TILE_OTHER_SIDE);

  k->tile_n = MIN (n_first ? tile_first : tile_second, s->n);
  k->tile_m = MIN (n_first ? tile_second : tile_first, s->m);
  k->tiles_n = gradus_cpu_tiles (s->n, MAX (k->tile_n, 1));
  k->tiles_m = gradus_cpu_tiles (s->m, MAX (k->tile_m, 1));
}

static void
matmul_free (GradusKernel *kernel)
{
  Matmul *k = (Matmul *) kernel;

  for (guint i = 0; i < 4; i++)
    gradus_onednn_matmul_free (k->onednn[i / 2][i % 2]);
}

static void
onednn_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Matmul *k = (const Matmul *) call->kernel;
  const GradusMatmulShape *s = &k->shape;
  guint tm = tile / k->tiles_n, tn = tile % k->tiles_n;
  gint64 m = tm * k->tile_m, n = tn * k->tile_n;
  gboolean bottom = m + k->tile_m > s->m, right = n + k->tile_n > s->n;
  const float *bias = s->bias ? (const float *) call->args->inputs[2] + n : NULL;

  gradus_onednn_matmul_run (k->onednn[bottom][right], tile,
                            (const float *) call->args->inputs[0] + m * s->a_row,
                            (const float *) call->args->inputs[1] + n * s->b_column, bias,
                            (float *) call->args->outputs[0] + m * s->c_row + n,
                            (char *) call->args->scratch + tile * k->tile_scratch);
}

static gboolean
prepare_onednn (Matmul *k, GError **error)
{
  const GradusMatmulShape *s = &k->shape;

  for (guint bottom = 0; bottom < 2; bottom++)
    for (guint right = 0; right < 2; right++)
      {
        GradusMatmulShape part = *s;
        gint64 rest_m = s->m % k->tile_m, rest_n = s->n % k->tile_n;

        if ((bottom && rest_m == 0) || (right && rest_n == 0))
          continue;
        part.m = bottom ? rest_m : k->tile_m;
        part.n = right ? rest_n : k->tile_n;
        k->onednn[bottom][right] = gradus_onednn_matmul_new (&part, k->base.n_tiles, error);
        if (k->onednn[bottom][right] == NULL)
          return FALSE;
        k->tile_scratch = MAX (k->tile_scratch, gradus_onednn_matmul_scratch (k->onednn[bottom][right]));
      }
  k->tile_scratch = (gsize) round_up ((gint64) k->tile_scratch, 64);
  k->base.scratch = k->tile_scratch * k->base.n_tiles;
  k->base.tile = onednn_tile;
  return TRUE;
}

static void
openblas_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Matmul *k = (const Matmul *) call->kernel;
  const GradusMatmulShape *s = &k->shape;
  gint64 m = tile / k->tiles_n * k->tile_m, n = tile % k->tiles_n * k->tile_n;
  gint64 rows = MIN (k->tile_m, s->m - m), columns = MIN (k->tile_n, s->n - n);
  const float *bias = s->bias ? (const float *) call->args->inputs[2] + n : NULL;
  float *c = (float *) call->args->outputs[0] + m * s->c_row + n;

  if (bias != NULL)
    for (gint64 row = 0; row < rows; row++)
      for (gint64 i = 0; i < columns; i++)
        c[row * s->c_row + i] = bias[i];
  cblas_sgemm (CblasRowMajor, k->transpose_a ? CblasTrans : CblasNoTrans,
               k->transpose_b ? CblasTrans : CblasNoTrans, (int) rows, (int) columns, (int) s->k, 1.0f,
               (const float *) call->args->inputs[0] + m * s->a_row,
               (int) MAX (MAX (s->a_row, s->a_column), 1),
               (const float *) call->args->inputs[1] + n * s->b_column,
               (int) MAX (MAX (s->b_row, s->b_column), 1), bias != NULL ? 1.0f : 0.0f, c, (int) s->c_row);
  if (s->relu)
    for (gint64 row = 0; row < rows; row++)
      for (gint64 i = 0; i < columns; i++)
        c[row * s->c_row + i] = c[row * s->c_row + i] < 0.0f ? 0.0f : c[row * s->c_row + i];
}

/* No products to add up: only the bias is left. */
static void
empty_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const GradusMatmulShape *s = &((const Matmul *) call->kernel)->shape;
  const float *bias = s->bias ? call->args->inputs[2] : NULL;

  for (gint64 i = 0; i < s->m * s->n; i++)
    {
      float value = bias != NULL ? bias[i % s->n] : 0.0f;
      ((float *) call->args->outputs[0])[i] = s->relu && value < 0.0f ? 0.0f : value;
    }
}

static const char *
choose_provider (const GradusMatmulShape *shape)
{
  GradusCpuIsa isa = gradus_cpu_isa ();

  for (guint i = 0; i < G_N_ELEMENTS (provider_table); i++)
    if (isa <= provider_table[i].isa_up_to && flops (shape) <= provider_table[i].flops_up_to)
      return provider_table[i].provider;
  return onednn;
}

static void
read_shape (Matmul *k, const GradusKernelRequest *request)
{
  const GradusNode *node = request->node;
  const gint64 *a = request->inputs[0].shape.dims, *b = request->inputs[1].shape.dims;
  GradusMatmulShape *s = &k->shape;
  gboolean ta = gradus_node_int (node, "transpose_a") != 0;
  gboolean tb = gradus_node_int (node, "transpose_b") != 0;

  k->transpose_a = ta;
  k->transpose_b = tb;
  s->m = ta ? a[1] : a[0];
  s->k = ta ? a[0] : a[1];
  s->n = tb ? b[0] : b[1];
  s->a_row = ta ? 1 : a[1];
  s->a_column = ta ? a[1] : 1;
  s->b_row = tb ? 1 : b[1];
  s->b_column = tb ? b[1] : 1;
  s->c_row = s->n;
  s->bias = node->n_inputs > 2 && node->inputs[2] != GRADUS_NO_VALUE;
  s->relu = gradus_op_activation_is_relu (node);
}

static GradusKernel *
prepare_matmul (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Matmul *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Matmul, onednn);
  k->base.finalize = matmul_free;
  read_shape (k, request);
  if (k->shape.m * k->shape.n == 0 || k->shape.k == 0)
    {
      k->base.provider = "c";
      k->base.tile = empty_tile;
      return &k->base;
    }
  cut (k);
  k->base.n_tiles = k->tiles_m * k->tiles_n;
  k->base.nanoseconds = 1000 + flops (&k->shape) / 200;
  k->base.provider = choose_provider (&k->shape);
  if (k->base.provider == openblas && MAX (k->shape.m, MAX (k->shape.n, k->shape.k)) <= INT_MAX)
    k->base.tile = openblas_tile;
  else if (!prepare_onednn (k, error))
    {
      matmul_free (&k->base);
      g_free (k);
      return NULL;
    }
  return &k->base;
}

const GradusCpuRow gradus_cpu_matmul_rows[] = {
  { "matmul", prepare_matmul, NULL },
  { NULL, NULL, NULL },
};
