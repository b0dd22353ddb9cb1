/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-math.h"

#include <math.h>
#include <string.h>

/* One value in, one value out; the gradients have two in. */
typedef struct
{
  GradusKernel base;
  gint64       n;
  float        alpha;
  float        scale, offset;
} Unary;

typedef struct
{
  GradusTileFunc tile;
  GradusTileFunc approximate; /* of gelu */
  gboolean       alpha;
  double         nanoseconds; /* of one element */
} UnaryParam;

#define SELU_SCALE 1.05070098735548049342f
#define SELU_ALPHA 1.67326324235437728482f
#define SQRT_HALF 0.70710678118654752440f
#define SQRT_2_PI 0.79788456080286535588f
#define TWO_SQRT_PI 1.12837916709551257390f
#define INV_SQRT_2PI 0.39894228040143267794f

#define TILE_RANGE(k)                                     \
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;         \
  gint64 end = MIN (begin + GRADUS_CPU_TILE, (k)->n);     \
  const float alpha G_GNUC_UNUSED = (k)->alpha

/* An output may lie exactly over an input, which the compiler cannot know: ivdep says that no
 * iteration reads what another one wrote. */
#define DEFINE_UNARY(name, expression)                       \
  static void name##_tile (gpointer data, guint tile)        \
  {                                                          \
    const GradusCpuCall *call = data;                        \
    const Unary *k = (const Unary *) call->kernel;           \
    const float *in = call->args->inputs[0];                 \
    float *out = call->args->outputs[0];                     \
    TILE_RANGE (k);                                          \
    _Pragma ("GCC ivdep") for (gint64 i = begin; i < end; i++) \
    {                                                        \
      float x = in[i];                                       \
      out[i] = (expression);                                 \
    }                                                        \
  }

/* g: gradient of the output; v: the output or the input of the forward op. */
#define DEFINE_GRAD(name, expression)                        \
  static void name##_grad_tile (gpointer data, guint tile)   \
  {                                                          \
    const GradusCpuCall *call = data;                        \
    const Unary *k = (const Unary *) call->kernel;           \
    const float *dy = call->args->inputs[0];                 \
    const float *in = call->args->inputs[1];                 \
    float *out = call->args->outputs[0];                     \
    TILE_RANGE (k);                                          \
    _Pragma ("GCC ivdep") for (gint64 i = begin; i < end; i++) \
    {                                                        \
      float g = dy[i], v = in[i];                            \
      out[i] = (expression);                                 \
    }                                                        \
  }

static inline __attribute__ ((always_inline)) float
clamp (float x, float low, float high)
{
  x = x < low ? low : x;
  return x > high ? high : x;
}

static inline __attribute__ ((always_inline)) float
expm1_small (float x)
{
  /* Below 0.35 the series; above, no digits are lost. */
  float a = x < 0.0f ? -x : x;
  float p = 1.0f / 5040.0f;
  p = p * x + 1.0f / 720.0f;
  p = p * x + 1.0f / 120.0f;
  p = p * x + 1.0f / 24.0f;
  p = p * x + 1.0f / 6.0f;
  p = p * x + 0.5f;
  p = p * x * x + x;
  return a < 0.35f ? p : gradus_exp (x) - 1.0f;
}

static inline __attribute__ ((always_inline)) float
gelu (float x)
{
  return 0.5f * x * (1.0f + gradus_erf (x * SQRT_HALF));
}

static inline __attribute__ ((always_inline)) float
gelu_grad (float x)
{
  return 0.5f * (1.0f + gradus_erf (x * SQRT_HALF))
         + x * INV_SQRT_2PI * gradus_exp (-0.5f * x * x);
}

static inline __attribute__ ((always_inline)) float
gelu_tanh (float x)
{
  return 0.5f * x * (1.0f + gradus_tanh (SQRT_2_PI * (x + 0.044715f * x * x * x)));
}

static inline __attribute__ ((always_inline)) float
gelu_tanh_grad (float x)
{
  float t = gradus_tanh (SQRT_2_PI * (x + 0.044715f * x * x * x));
  return 0.5f * (1.0f + t)
         + 0.5f * x * (1.0f - t * t) * SQRT_2_PI * (1.0f + 3.0f * 0.044715f * x * x);
}

static inline __attribute__ ((always_inline)) float
silu_grad (float x)
{
  float s = gradus_sigmoid (x);
  return s * (1.0f + x * (1.0f - s));
}

static inline __attribute__ ((always_inline)) float
softsign_grad (float x)
{
  float d = 1.0f + (x < 0.0f ? -x : x);
  return 1.0f / (d * d);
}

DEFINE_UNARY (relu, x < 0.0f ? 0.0f : x)
DEFINE_UNARY (relu6, clamp (x, 0.0f, 6.0f))
DEFINE_UNARY (leaky_relu, x < 0.0f ? alpha * x : x)
DEFINE_UNARY (sigmoid, gradus_sigmoid (x))
DEFINE_UNARY (hard_sigmoid, clamp (x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f))
DEFINE_UNARY (tanh, gradus_tanh (x))
DEFINE_UNARY (elu, x > 0.0f ? x : alpha * expm1_small (x))
DEFINE_UNARY (selu, SELU_SCALE * (x > 0.0f ? x : SELU_ALPHA * expm1_small (x)))
DEFINE_UNARY (softplus, gradus_softplus (x))
DEFINE_UNARY (softsign, x / (1.0f + (x < 0.0f ? -x : x)))
DEFINE_UNARY (silu, x * gradus_sigmoid (x))
DEFINE_UNARY (gelu, gelu (x))
DEFINE_UNARY (gelu_tanh, gelu_tanh (x))
DEFINE_UNARY (exp, gradus_exp (x))
DEFINE_UNARY (log, gradus_log (x))
DEFINE_UNARY (sqrt, sqrtf (x))
DEFINE_UNARY (square, x *x)
DEFINE_UNARY (negative, -x)
DEFINE_UNARY (abs, x < 0.0f ? -x : x)

DEFINE_UNARY (sin, sinf (x))
DEFINE_UNARY (cos, cosf (x))
DEFINE_UNARY (tan, tanf (x))
DEFINE_UNARY (asin, asinf (x))
DEFINE_UNARY (acos, acosf (x))
DEFINE_UNARY (atan, atanf (x))
DEFINE_UNARY (sinh, sinhf (x))
DEFINE_UNARY (cosh, coshf (x))
DEFINE_UNARY (asinh, asinhf (x))
DEFINE_UNARY (acosh, acoshf (x))
DEFINE_UNARY (atanh, atanhf (x))
DEFINE_UNARY (erf, gradus_erf (x))
DEFINE_UNARY (reciprocal, 1.0f / x)
DEFINE_UNARY (log1p, log1pf (x))
DEFINE_UNARY (expm1, expm1_small (x))
DEFINE_UNARY (floor, floorf (x))
DEFINE_UNARY (ceil, ceilf (x))
DEFINE_UNARY (round, nearbyintf (x))
DEFINE_UNARY (sign, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x))
DEFINE_UNARY (is_nan, x != x ? 1.0f : 0.0f)
DEFINE_UNARY (is_inf, x == INFINITY || x == -INFINITY ? 1.0f : 0.0f)

DEFINE_GRAD (sin, g *cosf (v))
DEFINE_GRAD (cos, -g * sinf (v))
DEFINE_GRAD (tan, g *(1.0f + tanf (v) * tanf (v)))
DEFINE_GRAD (asin, g / sqrtf ((1.0f - v) * (1.0f + v)))
DEFINE_GRAD (acos, -g / sqrtf ((1.0f - v) * (1.0f + v)))
DEFINE_GRAD (atan, g / (1.0f + v * v))
DEFINE_GRAD (sinh, g *coshf (v))
DEFINE_GRAD (cosh, g *sinhf (v))
DEFINE_GRAD (asinh, g / sqrtf (1.0f + v * v))
DEFINE_GRAD (acosh, g / sqrtf ((v - 1.0f) * (v + 1.0f)))
DEFINE_GRAD (atanh, g / ((1.0f - v) * (1.0f + v)))
DEFINE_GRAD (erf, g *TWO_SQRT_PI *gradus_exp (-v * v))
DEFINE_GRAD (reciprocal, -g * v * v)
DEFINE_GRAD (log1p, g / (1.0f + v))
DEFINE_GRAD (expm1, g *(v + 1.0f))
DEFINE_GRAD (relu, v > 0.0f ? g : 0.0f)
DEFINE_GRAD (relu6, v > 0.0f && v < 6.0f ? g : 0.0f)
DEFINE_GRAD (leaky_relu, v < 0.0f ? alpha * g : g)
DEFINE_GRAD (sigmoid, g *v *(1.0f - v))
DEFINE_GRAD (hard_sigmoid, v > -3.0f && v < 3.0f ? g * (1.0f / 6.0f) : 0.0f)
DEFINE_GRAD (tanh, g *(1.0f - v * v))
DEFINE_GRAD (elu, v > 0.0f ? g : g * (v + alpha))
DEFINE_GRAD (selu, g *SELU_SCALE *(v > 0.0f ? 1.0f : SELU_ALPHA * gradus_exp (v)))
DEFINE_GRAD (softplus, g *gradus_sigmoid (v))
DEFINE_GRAD (softsign, g *softsign_grad (v))
DEFINE_GRAD (silu, g *silu_grad (v))
DEFINE_GRAD (gelu, g *gelu_grad (v))
DEFINE_GRAD (gelu_tanh, g *gelu_tanh_grad (v))
DEFINE_GRAD (exp, g *gradus_exp (v))
DEFINE_GRAD (log, g / v)
DEFINE_GRAD (sqrt, 0.5f * g / sqrtf (v))
DEFINE_GRAD (square, 2.0f * g * v)
DEFINE_GRAD (negative, ((void) v, -g))
DEFINE_GRAD (abs, v > 0.0f ? g : (v < 0.0f ? -g : 0.0f))

static Unary *
new_elementwise (const GradusKernelRequest *request, GradusTileFunc tile, double nanoseconds)
{
  Unary *k = gradus_cpu_kernel_create (Unary, "c");

  k->n = gradus_cpu_count (&request->outputs[0]);
  k->base.tile = tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  k->base.nanoseconds = (double) k->n * nanoseconds;
  return k;
}

static GradusKernel *
prepare_unary (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const UnaryParam *param = data;
  GradusTileFunc tile = param->tile;
  Unary *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  if (param->approximate != NULL && gradus_node_int (request->node, "approximate") != 0)
    tile = param->approximate;
  k = new_elementwise (request, tile, param->nanoseconds);
  if (param->alpha)
    k->alpha = (float) gradus_node_float (request->node, "alpha");
  return &k->base;
}

static void
add_n_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Unary *k = (const Unary *) call->kernel;
  guint n_inputs = (guint) k->scale;
  float *out = call->args->outputs[0];
  TILE_RANGE (k);

  if (out != call->args->inputs[0])
    memcpy (out + begin, (const float *) call->args->inputs[0] + begin,
            (gsize) (end - begin) * sizeof *out);
  for (guint input = 1; input < n_inputs; input++)
    {
      const float *in = call->args->inputs[input];
      _Pragma ("GCC ivdep") for (gint64 i = begin; i < end; i++)
        out[i] += in[i];
    }
}

static GradusKernel *
prepare_add_n (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Unary *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = new_elementwise (request, add_n_tile, 0.4 * request->node->n_inputs);
  k->scale = (float) request->node->n_inputs;
  return &k->base;
}

/* y = x * scale + offset from any element type. */
#define DEFINE_AFFINE(name, Type)                            \
  static void affine_##name##_tile (gpointer data, guint tile) \
  {                                                          \
    const GradusCpuCall *call = data;                        \
    const Unary *k = (const Unary *) call->kernel;           \
    const Type *in = call->args->inputs[0];                  \
    float *out = call->args->outputs[0];                     \
    const float scale = k->scale, offset = k->offset;        \
    TILE_RANGE (k);                                          \
    _Pragma ("GCC ivdep") for (gint64 i = begin; i < end; i++) \
      out[i] = (float) in[i] * scale + offset;               \
  }

DEFINE_AFFINE (float32, float)
DEFINE_AFFINE (float64, double)
DEFINE_AFFINE (int32, gint32)
DEFINE_AFFINE (int64, gint64)
DEFINE_AFFINE (uint8, guint8)

static GradusKernel *
prepare_affine (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  static const GradusTileFunc tiles[GRADUS_N_DTYPES] = {
    [GRADUS_DTYPE_FLOAT32] = affine_float32_tile, [GRADUS_DTYPE_FLOAT64] = affine_float64_tile,
    [GRADUS_DTYPE_INT32] = affine_int32_tile,     [GRADUS_DTYPE_INT64] = affine_int64_tile,
    [GRADUS_DTYPE_UINT8] = affine_uint8_tile,     [GRADUS_DTYPE_BOOL] = affine_uint8_tile,
  };
  Unary *k;

  if (request->outputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = new_elementwise (request, tiles[request->inputs[0].dtype], 0.5);
  k->scale = (float) gradus_node_float (request->node, "scale");
  k->offset = (float) gradus_node_float (request->node, "offset");
  return &k->base;
}

typedef struct
{
  GradusKernel base;
  gint64       n;
  GradusDType  from, to;
} Cast;

#define CAST_BLOCK 256

static void
load_doubles (GradusDType dtype, const void *from, gint64 first, gint64 n, double *to)
{
  for (gint64 i = 0; i < n; i++)
    switch (dtype)
      {
      case GRADUS_DTYPE_FLOAT32:
        to[i] = ((const float *) from)[first + i];
        break;
      case GRADUS_DTYPE_FLOAT64:
        to[i] = ((const double *) from)[first + i];
        break;
      case GRADUS_DTYPE_INT32:
        to[i] = ((const gint32 *) from)[first + i];
        break;
      case GRADUS_DTYPE_INT64:
        to[i] = (double) ((const gint64 *) from)[first + i];
        break;
      case GRADUS_DTYPE_UINT8:
      case GRADUS_DTYPE_BOOL:
      case GRADUS_N_DTYPES:
        to[i] = ((const guint8 *) from)[first + i];
        break;
      }
}

/* Out of range and NaN: the nearest value that the type has, 0 for NaN. */
static double
bounded (double value, double low, double high)
{
  if (!(value >= low))
    return value != value ? 0.0 : low;
  return value > high ? high : value;
}

static void
store_doubles (GradusDType dtype, void *to, gint64 first, gint64 n, const double *from)
{
  for (gint64 i = 0; i < n; i++)
    switch (dtype)
      {
      case GRADUS_DTYPE_FLOAT32:
        ((float *) to)[first + i] = (float) from[i];
        break;
      case GRADUS_DTYPE_FLOAT64:
        ((double *) to)[first + i] = from[i];
        break;
      case GRADUS_DTYPE_INT32:
        ((gint32 *) to)[first + i] = (gint32) bounded (from[i], G_MININT32, G_MAXINT32);
        break;
      case GRADUS_DTYPE_INT64:
        ((gint64 *) to)[first + i]
            = (gint64) bounded (from[i], -9223372036854775808.0, 9223372036854774784.0);
        break;
      case GRADUS_DTYPE_UINT8:
        ((guint8 *) to)[first + i] = (guint8) bounded (from[i], 0, 255);
        break;
      case GRADUS_DTYPE_BOOL:
      case GRADUS_N_DTYPES:
        ((guint8 *) to)[first + i] = from[i] != 0;
        break;
      }
}

static void
cast_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Cast *k = (const Cast *) call->kernel;
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;
  gint64 end = MIN (begin + GRADUS_CPU_TILE, k->n);
  double block[CAST_BLOCK];

  for (gint64 i = begin; i < end; i += CAST_BLOCK)
    {
      gint64 n = MIN (CAST_BLOCK, end - i);
      load_doubles (k->from, call->args->inputs[0], i, n, block);
      store_doubles (k->to, call->args->outputs[0], i, n, block);
    }
}

static GradusKernel *
prepare_cast (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  GradusDType from = request->inputs[0].dtype, to = request->outputs[0].dtype;
  Cast *k;

  if (to == GRADUS_DTYPE_FLOAT32 && from != GRADUS_DTYPE_FLOAT64)
    {
      Unary *u = new_elementwise (request, NULL, 0.5);
      u->scale = 1.0f;
      u->base.tile = from == GRADUS_DTYPE_FLOAT32 ? affine_float32_tile
                     : from == GRADUS_DTYPE_INT32 ? affine_int32_tile
                     : from == GRADUS_DTYPE_INT64 ? affine_int64_tile
                                                  : affine_uint8_tile;
      return &u->base;
    }
  k = gradus_cpu_kernel_create (Cast, "c");
  k->n = gradus_cpu_count (&request->outputs[0]);
  k->from = from;
  k->to = to;
  k->base.tile = cast_tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  k->base.nanoseconds = 2.0 * (double) k->n;
  return &k->base;
}

#define UNARY_ROW(name, alpha, ns)                                                     \
  { #name, prepare_unary, &(const UnaryParam){ name##_tile, NULL, alpha, ns } },       \
  {                                                                                    \
    #name "_grad", prepare_unary, &(const UnaryParam) { name##_grad_tile, NULL, alpha, ns } \
  }

#define STEP_ROW(name)                                                          \
  {                                                                             \
    #name, prepare_unary, &(const UnaryParam) { name##_tile, NULL, FALSE, 0.7 } \
  }

const GradusCpuRow GRADUS_CPU_ROWS (unary)[] = {
  UNARY_ROW (relu, FALSE, 0.5),
  UNARY_ROW (relu6, FALSE, 0.5),
  UNARY_ROW (leaky_relu, TRUE, 0.5),
  UNARY_ROW (sigmoid, FALSE, 1.5),
  UNARY_ROW (hard_sigmoid, FALSE, 0.5),
  UNARY_ROW (tanh, FALSE, 2),
  UNARY_ROW (elu, TRUE, 2),
  UNARY_ROW (selu, FALSE, 2),
  UNARY_ROW (softplus, FALSE, 3),
  UNARY_ROW (softsign, FALSE, 0.7),
  UNARY_ROW (silu, FALSE, 1.5),
  { "gelu", prepare_unary, &(const UnaryParam){ gelu_tile, gelu_tanh_tile, FALSE, 2 } },
  { "gelu_grad", prepare_unary, &(const UnaryParam){ gelu_grad_tile, gelu_tanh_grad_tile, FALSE, 3 } },
  UNARY_ROW (exp, FALSE, 1),
  UNARY_ROW (log, FALSE, 1.5),
  UNARY_ROW (sqrt, FALSE, 0.7),
  UNARY_ROW (square, FALSE, 0.5),
  UNARY_ROW (negative, FALSE, 0.5),
  UNARY_ROW (abs, FALSE, 0.5),
  UNARY_ROW (sin, FALSE, 10),
  UNARY_ROW (cos, FALSE, 10),
  UNARY_ROW (tan, FALSE, 15),
  UNARY_ROW (asin, FALSE, 10),
  UNARY_ROW (acos, FALSE, 10),
  UNARY_ROW (atan, FALSE, 10),
  UNARY_ROW (sinh, FALSE, 15),
  UNARY_ROW (cosh, FALSE, 15),
  UNARY_ROW (asinh, FALSE, 15),
  UNARY_ROW (acosh, FALSE, 15),
  UNARY_ROW (atanh, FALSE, 15),
  UNARY_ROW (erf, FALSE, 2),
  UNARY_ROW (reciprocal, FALSE, 0.7),
  UNARY_ROW (log1p, FALSE, 10),
  UNARY_ROW (expm1, FALSE, 2),
  STEP_ROW (floor),
  STEP_ROW (ceil),
  STEP_ROW (round),
  STEP_ROW (sign),
  STEP_ROW (is_nan),
  STEP_ROW (is_inf),
  { "add_n", prepare_add_n, NULL },
  { "affine", prepare_affine, NULL },
  { "cast", prepare_cast, NULL },
  { NULL, NULL, NULL },
};
