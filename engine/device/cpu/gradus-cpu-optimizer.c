/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "ops/gradus-op-family.h"

#include <math.h>
#include <string.h>

/* What goes on around an optimizer's step: moving averages, sums of gradients, constraints. */
typedef struct
{
  GradusKernel base;
  gint64       n;
  double       momentum;
  gint64       overwrite;
} Pass;

#define PASS_RANGE                                         \
  const GradusCpuCall *call = data;                        \
  const Pass *k = (const Pass *) call->kernel;             \
  void *const *in = call->args->inputs;                    \
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;          \
  gint64 end = MIN (begin + GRADUS_CPU_TILE, k->n)

static float
scalar (const void *value)
{
  return *(const float *) value;
}

static void
moving_average_tile (gpointer data, guint tile)
{
  PASS_RANGE;
  float *restrict w = in[0];
  const float *restrict value = in[1];
  float keep = (float) k->momentum, take = (float) (1 - k->momentum);

  for (gint64 i = begin; i < end; i++)
    w[i] = w[i] * keep + value[i] * take;
}

static void
accumulate_tile (gpointer data, guint tile)
{
  PASS_RANGE;
  float *restrict sum = in[0], *restrict mean = call->args->outputs[0];
  const float *restrict gradient = in[1];
  float keep = scalar (in[2]), weight = scalar (in[3]), factor = scalar (in[4]);

  /* What was left there by a step that was given up need not be a number. */
  if (keep == 0.0f)
    for (gint64 i = begin; i < end; i++)
      {
        sum[i] = gradient[i] * weight;
        mean[i] = sum[i] * factor;
      }
  else
    for (gint64 i = begin; i < end; i++)
      {
        sum[i] = sum[i] * keep + gradient[i] * weight;
        mean[i] = sum[i] * factor;
      }
}

static void
weight_average_tile (gpointer data, guint tile)
{
  PASS_RANGE;
  float *restrict average = in[0], *restrict w = in[1];
  double step = scalar (in[2]);
  float keep = step > 1 ? (float) k->momentum : 0.0f;
  float take = step > 1 ? (float) (1 - k->momentum) : 1.0f;

  if (keep == 0.0f)
    memcpy (average + begin, w + begin, (end - begin) * sizeof (float));
  else
    for (gint64 i = begin; i < end; i++)
      average[i] = average[i] * keep + w[i] * take;
  if (k->overwrite > 0 && fmod (step, k->overwrite) == 0)
    memcpy (w + begin, average + begin, (end - begin) * sizeof (float));
}

static void
nadam_product_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Pass *k = (const Pass *) call->kernel;
  float *product = call->args->inputs[0];
  double step = scalar (call->args->inputs[1]);

  *product = (float) (*product * k->momentum * (1 - 0.5 * pow (0.96, step)));
}

static void
constrain_positive_tile (gpointer data, guint tile)
{
  PASS_RANGE;
  float *w = in[0];

  for (gint64 i = begin; i < end; i++)
    w[i] = w[i] > 0.0f || isnan (w[i]) ? w[i] : 0.0f;
}

static Pass *
new_pass (const GradusKernelRequest *request, GradusTileFunc tile, double nanoseconds)
{
  Pass *k = gradus_cpu_kernel_create (Pass, "c");

  k->n = gradus_cpu_count (&request->inputs[0]);
  k->base.tile = tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  k->base.nanoseconds = nanoseconds * (double) k->n;
  return k;
}

/* @momentum, @overwrite: names of the attributes, or NULL. */
typedef struct
{
  GradusTileFunc tile;
  const char    *momentum, *overwrite;
  double         nanoseconds;
} PassParam;

static GradusKernel *
prepare_pass (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const PassParam *param = data;
  Pass            *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = new_pass (request, param->tile, param->nanoseconds);
  if (param->momentum != NULL)
    k->momentum = gradus_node_float (request->node, param->momentum);
  if (param->overwrite != NULL)
    k->overwrite = gradus_node_int (request->node, param->overwrite);
  return &k->base;
}

/* Norms in float64, one for each place of the axes that are kept. */
typedef struct
{
  GradusKernel base;
  GradusShape  shape;
  guint32      mask;
  gint64       n, groups;
  double       min, max, rate;
} Norm;

/* The place of each element, counted like an odometer. */
typedef struct
{
  gint64 coordinates[GRADUS_MAX_RANK], strides[GRADUS_MAX_RANK];
  gint64 group;
} Place;

static void
place_init (Place *self, const Norm *k)
{
  gint64 stride = 1;

  *self = (Place){ 0 };
  for (guint a = k->shape.rank; a-- > 0;)
    if ((k->mask & (1u << a)) == 0)
      {
        self->strides[a] = stride;
        stride *= k->shape.dims[a];
      }
}

static void
place_next (Place *self, const Norm *k)
{
  for (guint a = k->shape.rank; a-- > 0;)
    {
      self->group += self->strides[a];
      if (++self->coordinates[a] < k->shape.dims[a])
        return;
      self->group -= self->strides[a] * k->shape.dims[a];
      self->coordinates[a] = 0;
    }
}

static void
constrain_norm_run (const GradusCpuCall *call)
{
  const Norm *k = (const Norm *) call->kernel;
  float  *w = call->args->inputs[0];
  double *norms = call->args->scratch;
  Place   place;

  memset (norms, 0, k->groups * sizeof (double));
  place_init (&place, k);
  for (gint64 i = 0; i < k->n; i++, place_next (&place, k))
    norms[place.group] += (double) w[i] * w[i];
  for (gint64 g = 0; g < k->groups; g++)
    {
      double norm = sqrt (norms[g]);
      double within = norm < k->min ? k->min : norm > k->max ? k->max : norm;

      norms[g] = (k->rate * within + (1 - k->rate) * norm) / (1e-7 + norm);
    }
  place_init (&place, k);
  for (gint64 i = 0; i < k->n; i++, place_next (&place, k))
    w[i] = (float) (w[i] * norms[place.group]);
}

static GradusKernel *
prepare_constrain_norm (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const GradusNode *node = request->node;
  Norm             *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Norm, "c");
  k->shape = request->inputs[0].shape;
  gradus_op_axes (node, request->inputs, k->shape.rank, &k->mask, NULL);
  k->n = gradus_shape_count (&k->shape);
  k->groups = 1;
  for (guint a = 0; a < k->shape.rank; a++)
    if ((k->mask & (1u << a)) == 0)
      k->groups *= k->shape.dims[a];
  k->min = gradus_node_float (node, "min");
  k->max = gradus_node_float (node, "max");
  k->rate = gradus_node_float (node, "rate");
  k->base.run = constrain_norm_run;
  k->base.scratch = k->groups * sizeof (double);
  k->base.nanoseconds = 4.0 * (double) k->n;
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (optimizer)[] = {
  { "moving_average", prepare_pass, &(const PassParam){ moving_average_tile, "momentum", NULL, 0.6 } },
  { "accumulate", prepare_pass, &(const PassParam){ accumulate_tile, NULL, NULL, 1.0 } },
  { "weight_average", prepare_pass,
    &(const PassParam){ weight_average_tile, "momentum", "overwrite", 0.8 } },
  { "nadam_product", prepare_pass, &(const PassParam){ nadam_product_tile, "beta_1", NULL, 1.0 } },
  { "constrain_norm", prepare_constrain_norm, NULL },
  { "constrain_positive", prepare_pass, &(const PassParam){ constrain_positive_tile, NULL, NULL, 0.5 } },
  { NULL, NULL, NULL },
};
