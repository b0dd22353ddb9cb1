/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-onednn.h"
#include "device/cpu/gradus-cpu-openblas.h"
#include "ops/gradus-op-activation.h"
#include "ops/gradus-op-matmul.h"

#include <limits.h>

/* Floating-point operations of a tile (about 15 us on a core with AVX-512) and the most tiles. */
#define TILE_FLOPS 4e6
#define MAX_TILES 32
#define TILE_SIDE 64
#define TILE_OTHER_SIDE 32
/* Groups of small items. */
#define MAX_GROUPS 64
/* Tiles wanted where k is cut, and the least of k in a part. */
#define MAX_PARTS 8
#define PART_LEAST 512

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
 * up to four shapes of tile. Many small items are cut into groups instead, of which the last may be
 * smaller; it counts as the bottom. A long sum over few outputs is cut into parts of k, which are
 * added in order. */
typedef struct
{
  GradusKernel        base;
  GradusMatmulShape   shape; /* of all items */
  GradusMatmulSizes   sizes;
  gboolean            transpose_a, transpose_b;
  gint64              group; /* items of a tile */
  gint64              tile_m, tile_n, tile_k;
  guint               tiles_m, tiles_n, parts;
  gboolean            late_bias, late_relu; /* after the parts were added */
  gsize               tile_scratch;
  GradusOnednnMatmul *onednn[2][2][2]; /* [bottom][right][last part] */
} Matmul;

static gint64
round_up (gint64 value, gint64 to)
{
  return (value + to - 1) / to * to;
}

static double
flops (const GradusMatmulShape *s)
{
  return 2.0 * (double) s->items * (double) s->m * (double) s->n * (double) s->k;
}

/* Cuts the longer side first, into multiples of TILE_SIDE, then the other. */
static void
cut_sides (Matmul *k)
{
  const GradusMatmulShape *s = &k->shape;
  gint64 wanted = (gint64) CLAMP (flops (s) / (double) s->items / TILE_FLOPS, 1, MAX_TILES);
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

/* Parts of k, where the sides give fewer tiles than the work asks for. */
static void
cut_sum (Matmul *k)
{
  const GradusMatmulShape *s = &k->shape;
  gint64 tiles = (gint64) k->tiles_m * k->tiles_n;
  gint64 wanted = (gint64) CLAMP (flops (s) / TILE_FLOPS, 1, MAX_PARTS) / tiles;

  k->parts = 1;
  k->tile_k = s->k;
  if (s->items > 1 || wanted < 2 || s->k < 2 * PART_LEAST)
    return;
  k->tile_k = MAX (PART_LEAST, round_up ((s->k + wanted - 1) / wanted, 64));
  k->parts = gradus_cpu_tiles (s->k, k->tile_k);
  k->late_bias = s->bias;
  k->late_relu = s->relu;
  k->shape.bias = k->shape.relu = FALSE;
}

static void
cut_items (Matmul *k)
{
  const GradusMatmulShape *s = &k->shape;
  double item = flops (s) / (double) s->items;
  const gint64 *dims = k->sizes.dims, *a = k->sizes.a_strides, *b = k->sizes.b_strides;
  gboolean even = TRUE; /* as if the items had one axis */

  for (guint i = 0; i + 1 < k->sizes.n_axes; i++)
    even = even && a[i] == dims[i + 1] * a[i + 1] && b[i] == dims[i + 1] * b[i + 1];
  for (guint i = 0; i < k->sizes.n_axes; i++)
    even = even && a[i] != 0 && b[i] != 0;
  k->group = 1;
  if (!even || s->items == 1 || item > TILE_FLOPS / 2)
    return;
  k->group = MAX ((gint64) (TILE_FLOPS / item), (s->items + MAX_GROUPS - 1) / MAX_GROUPS);
  k->group = MIN (k->group, s->items);
  k->shape.a_item = a[k->sizes.n_axes - 1];
  k->shape.b_item = b[k->sizes.n_axes - 1];
}

static void
cut (Matmul *k)
{
  k->shape.c_item = k->shape.m * k->shape.n;
  cut_items (k);
  if (k->group > 1)
    {
      k->tile_m = k->shape.m;
      k->tile_n = k->shape.n;
      k->tile_k = k->shape.k;
      k->tiles_m = k->tiles_n = k->parts = 1;
    }
  else
    {
      cut_sides (k);
      cut_sum (k);
    }
  k->base.n_tiles = gradus_cpu_tiles (k->shape.items, k->group) * k->tiles_m * k->tiles_n * k->parts;
}

static void
matmul_free (GradusKernel *kernel)
{
  Matmul *k = (Matmul *) kernel;

  for (guint i = 0; i < 8; i++)
    gradus_onednn_matmul_free (k->onednn[i / 4][i / 2 % 2][i % 2]);
}

/* Where a tile works. */
typedef struct
{
  const float *a, *b, *bias;
  float       *c;
  gint64       items, m, n, k;
  guint        part;
} Place;

static float *
part_of (const Matmul *k, const GradusKernelArgs *args, guint part)
{
  return part == 0 ? args->outputs[0]
                   : (float *) ((char *) args->scratch + k->tile_scratch * k->base.n_tiles)
                         + (part - 1) * k->shape.m * k->shape.n;
}

static void
find_place (const Matmul *k, const GradusKernelArgs *args, guint tile, Place *place)
{
  const GradusMatmulShape *s = &k->shape;
  guint within = tile % (k->tiles_m * k->tiles_n), rest = tile / (k->tiles_m * k->tiles_n);
  gint64 item = (gint64) (rest / k->parts) * k->group;
  gint64 m = within / k->tiles_n * k->tile_m, n = within % k->tiles_n * k->tile_n, sum, a_at, b_at;

  place->part = rest % k->parts;
  sum = place->part * k->tile_k;
  place->items = MIN (k->group, s->items - item);
  place->m = MIN (k->tile_m, s->m - m);
  place->n = MIN (k->tile_n, s->n - n);
  place->k = MIN (k->tile_k, s->k - sum);
  gradus_op_matmul_item (&k->sizes, item, &a_at, &b_at);
  place->a = (const float *) args->inputs[0] + a_at + m * s->a_row + sum * s->a_column;
  place->b = (const float *) args->inputs[1] + b_at + n * s->b_column + sum * s->b_row;
  place->bias = s->bias ? (const float *) args->inputs[2] + n : NULL;
  place->c = part_of (k, args, place->part) + item * s->c_item + m * s->c_row + n;
}

static void
onednn_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Matmul *k = (const Matmul *) call->kernel;
  gboolean bottom;
  Place p;

  find_place (k, call->args, tile, &p);
  bottom = p.m < k->tile_m || p.items < k->group;
  gradus_onednn_matmul_run (k->onednn[bottom][p.n < k->tile_n][p.k < k->tile_k], tile, p.a, p.b, p.bias, p.c,
                            (char *) call->args->scratch + tile * k->tile_scratch);
}

/* Tiles at the edge that differ from the others in the way of @bottom. */
static gboolean
shrink_bottom (const Matmul *k, GradusMatmulShape *part)
{
  gint64 rest_m = k->shape.m % k->tile_m, rest_items = k->shape.items % k->group;

  if (rest_m != 0)
    part->m = rest_m;
  else if (rest_items != 0)
    part->items = rest_items;
  return rest_m != 0 || rest_items != 0;
}

static gboolean
prepare_onednn (Matmul *k, GError **error)
{
  const GradusMatmulShape *s = &k->shape;
  gint64 rest_n = s->n % k->tile_n, rest_k = s->k % k->tile_k;

  for (guint i = 0; i < 8; i++)
    {
      gboolean bottom = i / 4, right = i / 2 % 2, last = i % 2;
      GradusOnednnMatmul **made = &k->onednn[bottom][right][last];
      GradusMatmulShape part = *s;

      part.items = k->group;
      part.m = k->tile_m;
      part.n = right ? rest_n : k->tile_n;
      part.k = last ? rest_k : k->tile_k;
      if ((bottom && !shrink_bottom (k, &part)) || part.n == 0 || part.k == 0)
        continue;
      *made = gradus_onednn_matmul_new (&part, k->base.n_tiles, error);
      if (*made == NULL)
        return FALSE;
      k->tile_scratch = MAX (k->tile_scratch, gradus_onednn_matmul_scratch (*made));
    }
  k->tile_scratch = (gsize) round_up ((gint64) k->tile_scratch, 64);
  k->base.scratch = k->tile_scratch * k->base.n_tiles;
  k->base.tile = onednn_tile;
  return TRUE;
}

static void
openblas_item (const Matmul *k, const Place *p, const float *a, const float *b, float *c)
{
  const GradusMatmulShape *s = &k->shape;
  const GradusOpenblas *blas = gradus_openblas_get ();

  if (p->bias != NULL)
    for (gint64 row = 0; row < p->m; row++)
      for (gint64 i = 0; i < p->n; i++)
        c[row * s->c_row + i] = p->bias[i];
  blas->sgemm (CblasRowMajor, k->transpose_a ? CblasTrans : CblasNoTrans,
               k->transpose_b ? CblasTrans : CblasNoTrans, (int) p->m, (int) p->n, (int) p->k, 1.0f,
               a, (int) MAX (MAX (s->a_row, s->a_column), 1), b,
               (int) MAX (MAX (s->b_row, s->b_column), 1), p->bias != NULL ? 1.0f : 0.0f, c, (int) s->c_row);
  if (s->relu)
    for (gint64 row = 0; row < p->m; row++)
      for (gint64 i = 0; i < p->n; i++)
        c[row * s->c_row + i] = c[row * s->c_row + i] < 0.0f ? 0.0f : c[row * s->c_row + i];
}

static void
openblas_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Matmul *k = (const Matmul *) call->kernel;
  Place p;

  find_place (k, call->args, tile, &p);
  for (gint64 i = 0; i < p.items; i++)
    openblas_item (k, &p, p.a + i * k->shape.a_item, p.b + i * k->shape.b_item, p.c + i * k->shape.c_item);
}

/* Adds the parts of k in order. */
static void
add_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Matmul *k = (const Matmul *) call->kernel;
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;
  gint64 end = MIN (begin + GRADUS_CPU_TILE, k->shape.m * k->shape.n);
  const float *bias = k->late_bias ? call->args->inputs[2] : NULL;
  float *y = call->args->outputs[0];

  for (guint p = 1; p < k->parts; p++)
    {
      const float *part = part_of (k, call->args, p);
      for (gint64 i = begin; i < end; i++)
        y[i] += part[i];
    }
  for (gint64 i = begin; bias != NULL && i < end; i++)
    y[i] += bias[i % k->shape.n];
  for (gint64 i = begin; k->late_relu && i < end; i++)
    y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

static void
run_parts (const GradusCpuCall *call)
{
  const Matmul *k = (const Matmul *) call->kernel;
  gint64 n = k->shape.m * k->shape.n;

  gradus_cpu_for (call, call->kernel->tile, (gpointer) call, call->kernel->n_tiles, call->kernel->nanoseconds);
  gradus_cpu_for (call, add_tile, (gpointer) call, gradus_cpu_tiles (n, GRADUS_CPU_TILE),
                  0.5 * (double) n * k->parts);
}

/* No products to add up: only the bias is left. */
static void
empty_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const GradusMatmulShape *s = &((const Matmul *) call->kernel)->shape;
  const float *bias = s->bias ? call->args->inputs[2] : NULL;

  for (gint64 i = 0; i < s->items * s->m * s->n; i++)
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
  GradusMatmulSizes *sizes = &k->sizes;

  gradus_op_matmul_sizes (node, &request->inputs[0].shape, &request->inputs[1].shape, sizes);
  k->transpose_a = gradus_node_int (node, "transpose_a") != 0;
  k->transpose_b = gradus_node_int (node, "transpose_b") != 0;
  k->shape = (GradusMatmulShape){
    .items = sizes->items,
    .m = sizes->m,
    .k = sizes->k,
    .n = sizes->n,
    .a_row = sizes->a_row,
    .a_column = sizes->a_column,
    .b_row = sizes->b_row,
    .b_column = sizes->b_column,
    .c_row = sizes->n,
    .bias = node->n_inputs > 2 && node->inputs[2] != GRADUS_NO_VALUE,
    .relu = gradus_op_activation_is_relu (node),
  };
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
  if (k->shape.items * k->shape.m * k->shape.n == 0 || k->shape.k == 0)
    {
      k->base.provider = "c";
      k->base.tile = empty_tile;
      return &k->base;
    }
  cut (k);
  k->base.nanoseconds = 1000 + flops (&k->shape) / 200;
  k->base.provider = choose_provider (&k->shape);
  if (k->base.provider == openblas && MAX (k->shape.m, MAX (k->shape.n, k->shape.k)) <= INT_MAX
      && gradus_openblas_get () != NULL)
    k->base.tile = openblas_tile;
  else if (!prepare_onednn (k, error))
    {
      matmul_free (&k->base);
      g_free (k);
      return NULL;
    }
  if (k->parts > 1)
    {
      k->base.run = run_parts;
      k->base.scratch += (gsize) ((k->parts - 1) * k->shape.m * k->shape.n) * sizeof (float);
    }
  return &k->base;
}

const GradusCpuRow gradus_cpu_matmul_rows[] = {
  { "matmul", prepare_matmul, NULL },
  { NULL, NULL, NULL },
};
