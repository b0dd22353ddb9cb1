/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>
#include <string.h>

/*
 * Batch normalisation over rows of channels. Sums over the rows are cut into segments of a fixed
 * number of rows, in float32 over at most 64 of them and then in float64, and added in order: so the
 * statistics are good to the last digits and the same for any number of threads.
 */
#define MAX_STACK_CHANNELS 256

typedef struct
{
  GradusKernel base;
  gint64       rows, channels;
  gint64       segment; /* rows of a segment, and of a tile of the second pass */
  guint        n_segments;
  double       epsilon;
} Norm;

/* Scratch: partial sums of each segment (two vectors of float64), then three vectors of float32 with
 * the factors of the second pass. */
static double *
partial (const Norm *k, const GradusKernelArgs *args, guint segment)
{
  return (double *) args->scratch + (gsize) segment * 2 * (gsize) k->channels;
}

static float *
factor (const Norm *k, const GradusKernelArgs *args, guint i)
{
  return (float *) partial (k, args, k->n_segments) + (gsize) i * (gsize) k->channels;
}

static void
segment_rows (const Norm *k, guint tile, gint64 *begin, gint64 *end)
{
  *begin = tile * k->segment;
  *end = MIN (*begin + k->segment, k->rows);
}

/* Adds the partial sums of all segments in order. */
static void
total (const Norm *k, const GradusKernelArgs *args)
{
  double *sum = partial (k, args, 0);

  for (guint s = 1; s < k->n_segments; s++)
    {
      const double *part = partial (k, args, s);
      for (gint64 c = 0; c < 2 * k->channels; c++)
        sum[c] += part[c];
    }
}

/* Loops over a segment in blocks of at most 64 rows and MAX_STACK_CHANNELS channels. @a and @b are
 * what is added to the two sums for each element; @setup runs before the element. */
#define SUM_SEGMENT(setup, a, b)                                                         \
  gint64 begin, end;                                                                     \
  double *sums = partial (k, args, tile);                                                \
  segment_rows (k, tile, &begin, &end);                                                  \
  memset (sums, 0, (gsize) k->channels * 2 * sizeof *sums);                              \
  for (gint64 c0 = 0; c0 < k->channels; c0 += MAX_STACK_CHANNELS)                        \
    {                                                                                    \
      gint64 n = MIN (MAX_STACK_CHANNELS, k->channels - c0);                             \
      for (gint64 first = begin; first < end; first += 64)                               \
        {                                                                                \
          float acc_a[MAX_STACK_CHANNELS] = { 0 }, acc_b[MAX_STACK_CHANNELS] = { 0 };    \
          for (gint64 row = first; row < MIN (first + 64, end); row++)                   \
            for (gint64 c = 0; c < n; c++)                                               \
              {                                                                          \
                gint64 at = row * k->channels + c0 + c;                                  \
                setup;                                                                   \
                acc_a[c] += (a);                                                         \
                acc_b[c] += (b);                                                         \
              }                                                                          \
          for (gint64 c = 0; c < n; c++)                                                 \
            {                                                                            \
              sums[c0 + c] += acc_a[c];                                                  \
              sums[k->channels + c0 + c] += acc_b[c];                                    \
            }                                                                            \
        }                                                                                \
    }

#define CALL                                   \
  const GradusCpuCall *call = data;            \
  const Norm *k = (const Norm *) call->kernel; \
  const GradusKernelArgs *args = call->args

static void
sum_tile (gpointer data, guint tile)
{
  CALL;
  const float *x = args->inputs[0];
  SUM_SEGMENT (float v = x[at], v, 0.0f)
}

/* Around the mean, so that no digits are lost to it. */
static void
variance_tile (gpointer data, guint tile)
{
  CALL;
  const float *x = args->inputs[0], *mean = args->outputs[1];
  SUM_SEGMENT (float v = x[at] - mean[c0 + c], v * v, 0.0f)
}

/* y = (x - f2) f0 + f1 */
static void
apply_tile (gpointer data, guint tile)
{
  CALL;
  const float *x = args->inputs[0], *f0 = factor (k, args, 0), *f1 = factor (k, args, 1);
  const float *f2 = factor (k, args, 2);
  float *y = args->outputs[0];
  gint64 begin, end;

  segment_rows (k, tile, &begin, &end);
  for (gint64 row = begin; row < end; row++)
    {
      const float *from = x + row * k->channels;
      float *to = y + row * k->channels;
      _Pragma ("GCC ivdep") for (gint64 c = 0; c < k->channels; c++)
        to[c] = (from[c] - f2[c]) * f0[c] + f1[c];
    }
}

static void
set_factors (const Norm *k, const GradusKernelArgs *args, const float *gamma, const float *beta, const float *mean, const float *variance)
{
  float *f0 = factor (k, args, 0), *f1 = factor (k, args, 1), *f2 = factor (k, args, 2);

  for (gint64 c = 0; c < k->channels; c++)
    {
      f0[c] = (float) (gamma[c] / sqrt (variance[c] + k->epsilon));
      f1[c] = beta[c];
      f2[c] = mean[c];
    }
}

static void
run_stage (const GradusCpuCall *call, GradusTileFunc tile)
{
  const Norm *k = (const Norm *) call->kernel;
  gradus_cpu_for (call, tile, (gpointer) call, k->n_segments, k->base.nanoseconds);
}

static void
batch_norm_run (const GradusCpuCall *call)
{
  const Norm *k = (const Norm *) call->kernel;
  const GradusKernelArgs *args = call->args;
  float *mean = args->outputs[1], *variance = args->outputs[2];
  const double *sum = partial (k, args, 0);

  run_stage (call, sum_tile);
  total (k, args);
  for (gint64 c = 0; c < k->channels; c++)
    mean[c] = (float) (sum[c] / (double) k->rows);
  run_stage (call, variance_tile);
  total (k, args);
  for (gint64 c = 0; c < k->channels; c++)
    variance[c] = (float) (sum[c] / (double) k->rows);
  set_factors (k, args, args->inputs[1], args->inputs[2], mean, variance);
  run_stage (call, apply_tile);
}

static void
inference_run (const GradusCpuCall *call)
{
  const Norm *k = (const Norm *) call->kernel;
  void *const *in = call->args->inputs;

  set_factors (k, call->args, in[1], in[2], in[3], in[4]);
  run_stage (call, apply_tile);
}

static void
grad_sum_tile (gpointer data, guint tile)
{
  CALL;
  const float *dy = args->inputs[0], *x = args->inputs[1], *mean = args->inputs[3];
  SUM_SEGMENT (float g = dy[at], g, g *(x[at] - mean[c0 + c]))
}

/* dx = f0 dy + f1 (x - mean) + f2 */
static void
grad_apply_tile (gpointer data, guint tile)
{
  CALL;
  const float *dy = args->inputs[0], *x = args->inputs[1], *mean = args->inputs[3];
  const float *f0 = factor (k, args, 0), *f1 = factor (k, args, 1), *f2 = factor (k, args, 2);
  float *dx = args->outputs[0];
  gint64 begin, end;

  segment_rows (k, tile, &begin, &end);
  for (gint64 row = begin; row < end; row++)
    {
      gint64 at = row * k->channels;
      _Pragma ("GCC ivdep") for (gint64 c = 0; c < k->channels; c++)
        dx[at + c] = f0[c] * dy[at + c] + f1[c] * (x[at + c] - mean[c]) + f2[c];
    }
}

static void
batch_norm_grad_run (const GradusCpuCall *call)
{
  const Norm *k = (const Norm *) call->kernel;
  const GradusKernelArgs *args = call->args;
  const float *gamma = args->inputs[2], *variance = args->inputs[4];
  float *dgamma = args->outputs[1], *dbeta = args->outputs[2];
  float *f0 = factor (k, args, 0), *f1 = factor (k, args, 1), *f2 = factor (k, args, 2);
  const double *sum = partial (k, args, 0);
  double n = (double) k->rows;

  run_stage (call, grad_sum_tile);
  total (k, args);
  for (gint64 c = 0; c < k->channels; c++)
    {
      double s = sqrt (variance[c] + k->epsilon), along = sum[k->channels + c] / s;
      f0[c] = (float) (gamma[c] / s);
      f1[c] = (float) (-gamma[c] / s * along / n / s);
      f2[c] = (float) (-gamma[c] / s * sum[c] / n);
      dgamma[c] = (float) along;
      dbeta[c] = (float) sum[c];
    }
  run_stage (call, grad_apply_tile);
}

typedef struct
{
  void (*run) (const GradusCpuCall *call);
  guint  x; /* the input with the rows */
  double nanoseconds;
} NormParam;

static GradusKernel *
prepare_norm (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const NormParam *param = data;
  const GradusShape *shape = &request->inputs[param->x].shape;
  Norm *k;

  if (request->inputs[param->x].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Norm, "c");
  k->channels = shape->dims[shape->rank - 1];
  k->rows = k->channels > 0 ? gradus_shape_count (shape) / k->channels : 0;
  k->segment = MAX (64, 32768 / MAX (k->channels, 1) / 64 * 64);
  k->n_segments = MAX (1, gradus_cpu_tiles (k->rows, k->segment));
  k->epsilon = gradus_node_float (request->node, "epsilon");
  k->base.run = param->run;
  k->base.nanoseconds = param->nanoseconds * (double) gradus_shape_count (shape);
  k->base.scratch = (gsize) k->channels * (k->n_segments * 2 * sizeof (double) + 3 * sizeof (float));
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (norm)[] = {
  { "batch_norm", prepare_norm, &(const NormParam){ batch_norm_run, 0, 0.4 } },
  { "batch_norm_inference", prepare_norm, &(const NormParam){ inference_run, 0, 0.4 } },
  { "batch_norm_grad", prepare_norm, &(const NormParam){ batch_norm_grad_run, 1, 0.4 } },
  { NULL, NULL, NULL },
};
