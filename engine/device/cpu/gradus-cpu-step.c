/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>

/* Each in one pass over the variable, its state and its gradient; the variables are changed where
 * they lie. What is in the loops of every element alone is float32; what is made once a tile is
 * float64. */
typedef struct
{
  GradusKernel base;
  gint64       n;
  gboolean     nesterov, decays, has_momentum, has_more;
  double       beta_1, beta_2, epsilon;
  double       rho, momentum;
  double       power, l1, l2, shrinkage, beta;
} Step;

#define STEP_RANGE                                         \
  const GradusCpuCall *call = data;                        \
  const Step *k = (const Step *) call->kernel;             \
  void *const *in = call->args->inputs;                    \
  gint64 begin = (gint64) tile * GRADUS_CPU_TILE;          \
  gint64 end = MIN (begin + GRADUS_CPU_TILE, k->n)

static float
scalar (const void *value)
{
  return *(const float *) value;
}

/* What decoupled weight decay leaves of a variable. Without it the address is not even there. */
static float
kept (const Step *k, void *const *in, guint decay, float rate)
{
  return k->decays ? 1.0f - scalar (in[decay]) * rate : 1.0f;
}

static void
sgd_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0];
  const float *restrict g = in[1];
  float rate = scalar (in[3]), scale = scalar (in[2]);
  float keep = kept (k, in, 4, rate);

  for (gint64 i = begin; i < end; i++)
    w[i] = w[i] * keep - rate * (g[i] * scale);
}

static void
momentum_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict velocity = in[1];
  const float *restrict g = in[2];
  float scale = scalar (in[3]), rate = scalar (in[4]), momentum = scalar (in[5]);
  float keep = kept (k, in, 6, rate);

  if (k->nesterov)
    for (gint64 i = begin; i < end; i++)
      {
        float step = rate * (g[i] * scale);
        float v = momentum * velocity[i] - step;
        velocity[i] = v;
        w[i] = w[i] * keep + (momentum * v - step);
      }
  else
    for (gint64 i = begin; i < end; i++)
      {
        float v = momentum * velocity[i] - rate * (g[i] * scale);
        velocity[i] = v;
        w[i] = w[i] * keep + v;
      }
}

static inline __attribute__ ((always_inline)) void
rmsprop (const Step *k, void *const *in, gint64 begin, gint64 end, gboolean has_momentum, gboolean centered)
{
  float *restrict w = in[0], *restrict velocity = in[1];
  const float *restrict gradient = in[2];
  float *restrict moment = has_momentum ? in[6] : NULL;
  float *restrict average = centered ? in[7] : NULL;
  float scale = scalar (in[3]), rate = scalar (in[4]);
  float keep = kept (k, in, 5, rate);
  float rho = (float) k->rho, rest = (float) (1 - k->rho);
  float epsilon = (float) k->epsilon, momentum = (float) k->momentum;

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float v = rho * velocity[i] + rest * (g * g);
      float denominator = v + epsilon, step;

      velocity[i] = v;
      if (centered)
        {
          float mean = rho * average[i] + rest * g;
          average[i] = mean;
          denominator = v - mean * mean + epsilon;
        }
      step = rate * g / sqrtf (denominator);
      if (has_momentum)
        moment[i] = step = momentum * moment[i] + step;
      w[i] = w[i] * keep - step;
    }
}

static void
rmsprop_tile (gpointer data, guint tile)
{
  STEP_RANGE;

  if (k->has_momentum && k->has_more)
    rmsprop (k, in, begin, end, TRUE, TRUE);
  else if (k->has_momentum)
    rmsprop (k, in, begin, end, TRUE, FALSE);
  else if (k->has_more)
    rmsprop (k, in, begin, end, FALSE, TRUE);
  else
    rmsprop (k, in, begin, end, FALSE, FALSE);
}

static void
adagrad_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict accumulator = in[1];
  const float *restrict gradient = in[2];
  float scale = scalar (in[3]), rate = scalar (in[4]), epsilon = (float) k->epsilon;
  float keep = kept (k, in, 5, rate);

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float sum = accumulator[i] + g * g;
      accumulator[i] = sum;
      w[i] = w[i] * keep - rate * g / sqrtf (sum + epsilon);
    }
}

static void
adadelta_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict squares = in[1], *restrict deltas = in[2];
  const float *restrict gradient = in[3];
  float scale = scalar (in[4]), rate = scalar (in[5]), epsilon = (float) k->epsilon;
  float keep = kept (k, in, 6, rate);
  float rho = (float) k->rho, rest = (float) (1 - k->rho);

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float s = rho * squares[i] + rest * (g * g);
      float delta = sqrtf (deltas[i] + epsilon) * g / sqrtf (s + epsilon);
      squares[i] = s;
      deltas[i] = rho * deltas[i] + rest * (delta * delta);
      w[i] = w[i] * keep - rate * delta;
    }
}

static inline __attribute__ ((always_inline)) void
adam (const Step *k, void *const *in, gint64 begin, gint64 end, gboolean amsgrad)
{
  float *restrict w = in[0], *restrict m = in[1], *restrict v = in[2];
  float *restrict hat = amsgrad ? in[8] : NULL;
  const float *restrict gradient = in[3];
  float scale = scalar (in[4]);
  double step = scalar (in[6]);
  float alpha = (float) (scalar (in[5]) * sqrt (1 - pow (k->beta_2, step)) / (1 - pow (k->beta_1, step)));
  float rest_1 = (float) (1 - k->beta_1), rest_2 = (float) (1 - k->beta_2);
  float epsilon = (float) k->epsilon, keep = kept (k, in, 7, scalar (in[5]));

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float mi = m[i] + (g - m[i]) * rest_1;
      float vi = v[i] + (g * g - v[i]) * rest_2;
      m[i] = mi;
      v[i] = vi;
      if (amsgrad)
        hat[i] = vi = hat[i] > vi ? hat[i] : vi;
      w[i] = w[i] * keep - mi * alpha / (sqrtf (vi) + epsilon);
    }
}

static void
adam_tile (gpointer data, guint tile)
{
  STEP_RANGE;

  if (k->has_more)
    adam (k, in, begin, end, TRUE);
  else
    adam (k, in, begin, end, FALSE);
}

static void
adamax_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict m = in[1], *restrict u = in[2];
  const float *restrict gradient = in[3];
  float scale = scalar (in[4]), rate = scalar (in[5]);
  float alpha = (float) (rate / (1 - pow (k->beta_1, scalar (in[6]))));
  float rest_1 = (float) (1 - k->beta_1), beta_2 = (float) k->beta_2;
  float epsilon = (float) k->epsilon, keep = kept (k, in, 7, rate);

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float mi = m[i] + (g - m[i]) * rest_1;
      float old = beta_2 * u[i], size = fabsf (g);
      float ui = old > size ? old : size;
      m[i] = mi;
      u[i] = ui;
      w[i] = w[i] * keep - alpha * mi / (ui + epsilon);
    }
}

static void
nadam_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict m = in[1], *restrict v = in[2];
  const float *restrict gradient = in[3];
  float scale = scalar (in[4]), rate = scalar (in[5]);
  double step = scalar (in[6]), product = scalar (in[7]);
  double now = k->beta_1 * (1 - 0.5 * pow (0.96, step));
  double next = k->beta_1 * (1 - 0.5 * pow (0.96, step + 1));
  float of_m = (float) (next / (1 - product * next)), of_g = (float) ((1 - now) / (1 - product));
  float of_v = (float) (1 / (1 - pow (k->beta_2, step)));
  float rest_1 = (float) (1 - k->beta_1), rest_2 = (float) (1 - k->beta_2);
  float epsilon = (float) k->epsilon, keep = kept (k, in, 8, rate);

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float mi = m[i] + (g - m[i]) * rest_1;
      float vi = v[i] + (g * g - v[i]) * rest_2;
      m[i] = mi;
      v[i] = vi;
      w[i] = w[i] * keep - (of_m * mi + of_g * g) * rate / (sqrtf (vi * of_v) + epsilon);
    }
}

static inline __attribute__ ((always_inline)) void
ftrl (const Step *k, void *const *in, gint64 begin, gint64 end, gboolean root)
{
  float *restrict w = in[0], *restrict accumulator = in[1], *restrict linear = in[2];
  const float *restrict gradient = in[3];
  float scale = scalar (in[4]), rate = scalar (in[5]), keep = kept (k, in, 6, rate);
  float power = (float) -k->power, l1 = (float) k->l1, shrinkage = (float) (2 * k->shrinkage);
  float l2 = (float) (2 * k->l2 + k->beta / rate);

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale, wi = w[i] * keep, a = accumulator[i] + g * g;
      float to = root ? sqrtf (a) : powf (a, power);
      float from = root ? sqrtf (accumulator[i]) : powf (accumulator[i], power);
      float l = linear[i] + (g + shrinkage * wi - (to - from) / rate * wi);
      float within = l < -l1 ? -l1 : l > l1 ? l1 : l;
      accumulator[i] = a;
      linear[i] = l;
      w[i] = (within - l) / (to / rate + l2);
    }
}

static void
ftrl_tile (gpointer data, guint tile)
{
  STEP_RANGE;

  if (k->power == -0.5)
    ftrl (k, in, begin, end, TRUE);
  else
    ftrl (k, in, begin, end, FALSE);
}

static void
lion_tile (gpointer data, guint tile)
{
  STEP_RANGE;
  float *restrict w = in[0], *restrict m = in[1];
  const float *restrict gradient = in[2];
  float scale = scalar (in[3]), rate = scalar (in[4]), keep = kept (k, in, 5, rate);
  float beta_1 = (float) k->beta_1, rest_1 = (float) (1 - k->beta_1);
  float beta_2 = (float) k->beta_2, rest_2 = (float) (1 - k->beta_2);

  for (gint64 i = begin; i < end; i++)
    {
      float g = gradient[i] * scale;
      float direction = m[i] * beta_1 + g * rest_1;
      float sign = (float) ((direction > 0.0f) - (direction < 0.0f));
      w[i] = w[i] * keep - rate * sign;
      m[i] = m[i] * beta_2 + g * rest_2;
    }
}

typedef enum
{
  HAS_BETAS = 1 << 0,
  HAS_EPSILON = 1 << 1,
  HAS_RHO = 1 << 2,
  HAS_MOMENTUM = 1 << 3,
  HAS_NESTEROV = 1 << 4,
  HAS_FTRL = 1 << 5,
} Attrs;

/* @decay: which input the weight decay is; what comes after it are more variables. */
typedef struct
{
  GradusTileFunc tile;
  Attrs          attrs;
  guint          decay;
  double         nanoseconds;
} StepParam;

static void
read_attrs (Step *k, const GradusNode *node, Attrs attrs)
{
  if (attrs & HAS_BETAS)
    {
      k->beta_1 = gradus_node_float (node, "beta_1");
      k->beta_2 = gradus_node_float (node, "beta_2");
    }
  if (attrs & HAS_EPSILON)
    k->epsilon = gradus_node_float (node, "epsilon");
  if (attrs & HAS_RHO)
    k->rho = gradus_node_float (node, "rho");
  if (attrs & HAS_MOMENTUM)
    k->momentum = gradus_node_float (node, "momentum");
  if (attrs & HAS_NESTEROV)
    k->nesterov = gradus_node_int (node, "nesterov") != 0;
  if (attrs & HAS_FTRL)
    {
      k->power = gradus_node_float (node, "learning_rate_power");
      k->l1 = gradus_node_float (node, "l1");
      k->l2 = gradus_node_float (node, "l2");
      k->shrinkage = gradus_node_float (node, "l2_shrinkage");
      k->beta = gradus_node_float (node, "beta");
    }
}

static gboolean
has_input (const GradusNode *node, guint i)
{
  return i < node->n_inputs && node->inputs[i] != GRADUS_NO_VALUE;
}

static GradusKernel *
prepare_step (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const StepParam  *param = data;
  const GradusNode *node = request->node;
  Step             *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Step, "c");
  k->n = gradus_cpu_count (&request->inputs[0]);
  k->base.tile = param->tile;
  k->base.n_tiles = gradus_cpu_tiles (k->n, GRADUS_CPU_TILE);
  k->base.nanoseconds = param->nanoseconds * (double) k->n;
  read_attrs (k, node, param->attrs);
  k->decays = has_input (node, param->decay);
  k->has_momentum = (param->attrs & HAS_MOMENTUM) && has_input (node, param->decay + 1);
  k->has_more = has_input (node, param->decay + (param->attrs & HAS_MOMENTUM ? 2 : 1));
  return &k->base;
}

#define ROW(op, attrs, decay, nanoseconds)                                                         \
  { #op "_step", prepare_step, &(const StepParam){ op##_tile, attrs, decay, nanoseconds } }

const GradusCpuRow GRADUS_CPU_ROWS (step)[] = {
  ROW (sgd, 0, 4, 0.6),
  ROW (momentum, HAS_NESTEROV, 6, 1.0),
  ROW (rmsprop, HAS_RHO | HAS_MOMENTUM | HAS_EPSILON, 5, 1.5),
  ROW (adagrad, HAS_EPSILON, 5, 1.2),
  ROW (adadelta, HAS_RHO | HAS_EPSILON, 6, 1.8),
  ROW (adam, HAS_BETAS | HAS_EPSILON, 7, 1.5),
  ROW (adamax, HAS_BETAS | HAS_EPSILON, 7, 1.5),
  ROW (nadam, HAS_BETAS | HAS_EPSILON, 8, 1.6),
  ROW (ftrl, HAS_FTRL, 6, 2.0),
  ROW (lion, HAS_BETAS, 5, 1.0),
  { NULL, NULL, NULL },
};
