/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>
#include <string.h>

/*
 * Normalisation of each sample by itself. A row or a sample is done by one thread; what is summed
 * over all of them (the gradients of scale and centre) is cut into a fixed number of segments and
 * added in their order.
 */
#define MAX_SEGMENTS 64

typedef struct
{
  GradusKernel base;
  gint64       rows, n; /* layer: rows of n numbers; group: samples of n channels */
  gint64       inside;  /* group: pixels of a sample */
  gint64       groups;
  gint64       per_segment; /* rows or samples */
  gboolean     rms;
  double       epsilon;
} Norm;

#define CALL                                   \
  const GradusCpuCall *call = data;            \
  const Norm *k = (const Norm *) call->kernel; \
  const GradusKernelArgs *args = call->args;   \
  gint64 begin = tile * k->per_segment;        \
  gint64 end = MIN (begin + k->per_segment, k->rows)

/* The sum of @what over i, in a fixed number of lanes. */
#define SUM_LANES(sum, count, what)                       \
  double sum = 0;                                         \
  {                                                       \
    float lanes_[GRADUS_CPU_LANES] = { 0 };               \
    gint64 whole_ = (count) / GRADUS_CPU_LANES * GRADUS_CPU_LANES; \
    for (gint64 i0_ = 0; i0_ < whole_; i0_ += GRADUS_CPU_LANES) \
      for (gint64 l_ = 0; l_ < GRADUS_CPU_LANES; l_++)    \
        {                                                 \
          gint64 i = i0_ + l_;                            \
          lanes_[l_] += (what);                           \
        }                                                 \
    for (gint64 i = whole_; i < (count); i++)             \
      lanes_[i - whole_] += (what);                       \
    for (guint l_ = 0; l_ < GRADUS_CPU_LANES; l_++)       \
      sum += lanes_[l_];                                  \
  }

static void
layer_tile (gpointer data, guint tile)
{
  CALL;
  const float *gamma = args->inputs[1], *beta = args->inputs[2];

  for (gint64 row = begin; row < end; row++)
    {
      const float *x = (const float *) args->inputs[0] + row * k->n;
      float *y = (float *) args->outputs[0] + row * k->n;
      float mean = 0;
      if (!k->rms)
        {
          SUM_LANES (sum, k->n, x[i])
          mean = (float) (sum / (double) k->n);
        }
      SUM_LANES (squares, k->n, (x[i] - mean) * (x[i] - mean))
      float inverse = (float) (1.0 / sqrt (squares / (double) k->n + k->epsilon));
      _Pragma ("GCC ivdep") for (gint64 i = 0; i < k->n; i++)
        y[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
      ((float *) args->outputs[1])[row] = mean;
      ((float *) args->outputs[2])[row] = inverse;
    }
}

/* Scratch of a segment: sums of dgamma and dbeta in float64, and of at most 64 rows in float32. */
static double *
segment_sums (const Norm *k, const GradusKernelArgs *args, guint segment)
{
  return (double *) args->scratch + (gsize) segment * 3 * (gsize) k->n;
}

static void
add_block (const Norm *k, double *sums, float *block)
{
  for (gint64 i = 0; i < 2 * k->n; i++)
    {
      sums[i] += block[i];
      block[i] = 0;
    }
}

static void
layer_grad_tile (gpointer data, guint tile)
{
  CALL;
  const float *gamma = args->inputs[2];
  double *sums = segment_sums (k, args, tile);
  float *block = (float *) (sums + 2 * k->n), *dgamma = block, *dbeta = block + k->n;

  memset (sums, 0, (gsize) k->n * 3 * sizeof *sums);
  for (gint64 row = begin; row < end; row++)
    {
      const float *dy = (const float *) args->inputs[0] + row * k->n;
      const float *x = (const float *) args->inputs[1] + row * k->n;
      float mean = ((const float *) args->inputs[3])[row];
      float inverse = ((const float *) args->inputs[4])[row];
      float *dx = (float *) args->outputs[0] + row * k->n;
      SUM_LANES (sum, k->n, dy[i] * gamma[i])
      SUM_LANES (along, k->n, dy[i] * gamma[i] * ((x[i] - mean) * inverse))
      float shift = k->rms ? 0 : (float) (sum / (double) k->n);
      float turn = (float) (along / (double) k->n);
      _Pragma ("GCC ivdep") for (gint64 i = 0; i < k->n; i++)
        {
          float normal = (x[i] - mean) * inverse;
          dgamma[i] += dy[i] * normal;
          dbeta[i] += dy[i];
          dx[i] = inverse * (dy[i] * gamma[i] - shift - normal * turn);
        }
      if ((row - begin) % 64 == 63)
        add_block (k, sums, block);
    }
  add_block (k, sums, block);
}

/* The sums of all segments, in order, into dgamma and dbeta. */
static void
write_sums (const Norm *k, const GradusKernelArgs *args)
{
  double *sums = segment_sums (k, args, 0);
  float *dgamma = args->outputs[1], *dbeta = args->outputs[2];

  for (guint s = 1; s < k->base.n_tiles; s++)
    {
      const double *part = segment_sums (k, args, s);
      for (gint64 i = 0; i < 2 * k->n; i++)
        sums[i] += part[i];
    }
  for (gint64 i = 0; i < k->n; i++)
    {
      dgamma[i] = k->base.n_tiles > 0 ? (float) sums[i] : 0.0f;
      dbeta[i] = k->base.n_tiles > 0 ? (float) sums[k->n + i] : 0.0f;
    }
}

/* What is added to a and b for each pixel of a channel. */
#define SUM_CHANNELS(a, b, what_a, what_b)             \
  for (gint64 p = 0; p < k->inside; p++)               \
    {                                                  \
      gint64 at = p * k->n;                            \
      _Pragma ("GCC ivdep") for (gint64 c = 0; c < k->n; c++) \
        {                                              \
          a[c] += (what_a);                            \
          b[c] += (what_b);                            \
        }                                              \
    }

static double
group_total (const Norm *k, const double *channels, gint64 group)
{
  gint64 inner = k->n / k->groups;
  double sum = 0;

  for (gint64 c = group * inner; c < (group + 1) * inner; c++)
    sum += channels[c];
  return sum;
}

/* The mean of each channel's group, as the second pass reads it. */
static void
spread_means (const Norm *k, const double *sums, gint64 sample, const GradusKernelArgs *args, float *means)
{
  gint64 inner = k->n / k->groups;
  float *mean = (float *) args->outputs[1] + sample * k->groups;

  for (gint64 g = 0; g < k->groups; g++)
    mean[g] = (float) (group_total (k, sums, g) / (double) (k->inside * inner));
  for (gint64 c = 0; c < k->n; c++)
    means[c] = mean[c / inner];
}

static void
group_tile (gpointer data, guint tile)
{
  CALL;
  const float *gamma = args->inputs[1], *beta = args->inputs[2];
  double *sums = segment_sums (k, args, tile), *squares = sums + k->n;
  float *means = (float *) (sums + 2 * k->n), *factors = means + k->n;
  gint64 inner = k->n / k->groups;

  for (gint64 sample = begin; sample < end; sample++)
    {
      const float *x = (const float *) args->inputs[0] + sample * k->inside * k->n;
      float *y = (float *) args->outputs[0] + sample * k->inside * k->n;
      float *inverse = (float *) args->outputs[2] + sample * k->groups;
      memset (sums, 0, (gsize) k->n * 2 * sizeof *sums);
      SUM_CHANNELS (sums, squares, x[at + c], 0.0)
      spread_means (k, sums, sample, args, means);
      SUM_CHANNELS (sums, squares, 0.0, (x[at + c] - means[c]) * (x[at + c] - means[c]))
      for (gint64 g = 0; g < k->groups; g++)
        inverse[g] = (float) (1.0 / sqrt (group_total (k, squares, g) / (double) (k->inside * inner) + k->epsilon));
      for (gint64 c = 0; c < k->n; c++)
        factors[c] = inverse[c / inner] * gamma[c];
      for (gint64 p = 0; p < k->inside; p++)
        _Pragma ("GCC ivdep") for (gint64 c = 0; c < k->n; c++)
          y[p * k->n + c] = (x[p * k->n + c] - means[c]) * factors[c] + beta[c];
    }
}

/* Of one sample: dy and dy x' summed over its pixels. Then dx, and both added to the segment's. */
static void
group_grad_sample (const Norm *k, const GradusKernelArgs *args, gint64 sample, double *sums, float *of_sample)
{
  const float *dy = (const float *) args->inputs[0] + sample * k->inside * k->n;
  const float *x = (const float *) args->inputs[1] + sample * k->inside * k->n, *gamma = args->inputs[2];
  const float *mean = (const float *) args->inputs[3] + sample * k->groups;
  const float *inverse = (const float *) args->inputs[4] + sample * k->groups;
  float *dx = (float *) args->outputs[0] + sample * k->inside * k->n;
  gint64 inner = k->n / k->groups;

  for (gint64 g = 0; g < k->groups; g++)
    {
      double n = (double) (k->inside * inner), sum = 0, along = 0;
      float mu = mean[g], inv = inverse[g], shift, turn;
      gint64 first = g * inner;
      memset (of_sample, 0, (gsize) inner * 2 * sizeof *of_sample);
      for (gint64 p = 0; p < k->inside; p++)
        _Pragma ("GCC ivdep") for (gint64 c = 0; c < inner; c++)
          {
            float d = dy[p * k->n + first + c];
            of_sample[c] += d * ((x[p * k->n + first + c] - mu) * inv);
            of_sample[inner + c] += d;
          }
      for (gint64 c = 0; c < inner; c++)
        {
          sums[first + c] += of_sample[c];
          sums[k->n + first + c] += of_sample[inner + c];
          along += (double) gamma[first + c] * of_sample[c] / n;
          sum += (double) gamma[first + c] * of_sample[inner + c] / n;
        }
      shift = (float) sum;
      turn = (float) along;
      for (gint64 p = 0; p < k->inside; p++)
        _Pragma ("GCC ivdep") for (gint64 c = 0; c < inner; c++)
          {
            gint64 at = p * k->n + first + c;
            dx[at] = inv * (dy[at] * gamma[first + c] - shift - (x[at] - mu) * inv * turn);
          }
    }
}

static void
group_grad_tile (gpointer data, guint tile)
{
  CALL;
  double *sums = segment_sums (k, args, tile);

  memset (sums, 0, (gsize) k->n * 2 * sizeof *sums);
  for (gint64 sample = begin; sample < end; sample++)
    group_grad_sample (k, args, sample, sums, (float *) (sums + 2 * k->n));
}

static void
grad_run (const GradusCpuCall *call, GradusTileFunc tile)
{
  const Norm *k = (const Norm *) call->kernel;

  gradus_cpu_for (call, tile, (gpointer) call, k->base.n_tiles, k->base.nanoseconds);
  write_sums (k, call->args);
}

static void
layer_grad_run (const GradusCpuCall *call)
{
  grad_run (call, layer_grad_tile);
}

static void
group_grad_run (const GradusCpuCall *call)
{
  grad_run (call, group_grad_tile);
}

typedef struct
{
  GradusTileFunc tile;
  void (*run) (const GradusCpuCall *call);
  gboolean group;
  guint    x;
} NormParam;

static GradusKernel *
prepare_norm (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const NormParam *param = data;
  const GradusShape *x = &request->inputs[param->x].shape;
  gint64 count = gradus_shape_count (x);
  Norm *k;

  if (request->inputs[param->x].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Norm, "c");
  k->n = gradus_cpu_count (&request->inputs[param->x + 1]);
  k->rows = param->group ? x->dims[0] : k->n > 0 ? count / k->n : 0;
  k->inside = k->rows * k->n > 0 ? count / k->rows / k->n : 0;
  if (param->group)
    k->groups = gradus_node_int (request->node, "groups");
  else
    k->rms = gradus_node_int (request->node, "rms") != 0;
  if (param->run == NULL)
    k->epsilon = gradus_node_float (request->node, "epsilon");
  k->per_segment = MAX (MAX (1, GRADUS_CPU_TILE * k->rows / MAX (count, 1)), (k->rows + MAX_SEGMENTS - 1) / MAX_SEGMENTS);
  k->base.n_tiles = gradus_cpu_tiles (k->rows, k->per_segment);
  k->base.tile = param->tile;
  k->base.run = param->run;
  k->base.nanoseconds = 0.8 * (double) count;
  k->base.scratch = (gsize) MAX (k->base.n_tiles, 1) * 3 * (gsize) k->n * sizeof (double);
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (norm_sample)[] = {
  { "layer_norm", prepare_norm, &(const NormParam){ layer_tile, NULL, FALSE, 0 } },
  { "layer_norm_grad", prepare_norm, &(const NormParam){ NULL, layer_grad_run, FALSE, 1 } },
  { "group_norm", prepare_norm, &(const NormParam){ group_tile, NULL, TRUE, 0 } },
  { "group_norm_grad", prepare_norm, &(const NormParam){ NULL, group_grad_run, TRUE, 1 } },
  { NULL, NULL, NULL },
};
