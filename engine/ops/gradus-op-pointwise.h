/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Losses of Keras that are a mean (or sum) over the last axis of a function of prediction and target,
 * each defined once: the reference and the kernels of a device expand the same list. All in float64.
 *
 * X (name, sums, value, derivative): @p prediction, @t target, @e = p - t, @a and @b the op's attributes
 * in their order; @sums: 1 where the last axis is summed, 0 for its mean. */

#include <glib.h>
#include <math.h>

G_BEGIN_DECLS

#define GRADUS_LOSS_EPSILON 1e-7

static inline double
gradus_loss_clip (double p)
{
  return CLAMP (p, GRADUS_LOSS_EPSILON, 1 - GRADUS_LOSS_EPSILON);
}

static inline gboolean
gradus_loss_is_clipped (double p)
{
  return p < GRADUS_LOSS_EPSILON || p > 1 - GRADUS_LOSS_EPSILON;
}

static inline double
gradus_loss_bernoulli (double p, double t)
{
  p = gradus_loss_clip (p);
  return -(t * log (p) + (1 - t) * log (1 - p));
}

static inline double
gradus_loss_bernoulli_slope (double p, double t)
{
  return gradus_loss_is_clipped (p) ? 0 : (p - t) / (p * (1 - p));
}

/* A label 0 stands for -1, as Keras has it for targets of 0 and 1. */
static inline double
gradus_loss_sign (double t)
{
  return t == 0 ? -1 : t;
}

/* @balance < 0: the classes weigh the same. */
static inline double
gradus_loss_focal_weight (double t, double balance)
{
  return balance < 0 ? 1 : t * balance + (1 - t) * (1 - balance);
}

static inline double
gradus_loss_focal (double p, double t, double gamma, double balance)
{
  double right = t * p + (1 - t) * (1 - p);

  return gradus_loss_focal_weight (t, balance) * pow (1 - right, gamma) *
         gradus_loss_bernoulli (p, t);
}

static inline double
gradus_loss_focal_slope (double p, double t, double gamma, double balance)
{
  double right = t * p + (1 - t) * (1 - p);
  double fall = gamma == 0 ? 0 : -gamma * pow (1 - right, gamma - 1) * (2 * t - 1);

  return gradus_loss_focal_weight (t, balance) *
         (fall * gradus_loss_bernoulli (p, t) +
          pow (1 - right, gamma) * gradus_loss_bernoulli_slope (p, t));
}

static inline double
gradus_loss_log1p (double x)
{
  return log (MAX (x, GRADUS_LOSS_EPSILON) + 1);
}

static inline double
gradus_loss_part (double x)
{
  return CLAMP (x, GRADUS_LOSS_EPSILON, 1);
}

#define GRADUS_POINTWISE_LOSSES(X)                                                                 \
  X (mean_squared_error, 0, e * e, 2 * e)                                                          \
  X (mean_absolute_error, 0, fabs (e), e > 0 ? 1 : e < 0 ? -1 : e)                                 \
  X (mean_absolute_percentage_error, 0, 100 * fabs (e) / MAX (fabs (t), GRADUS_LOSS_EPSILON),      \
     100 * (e > 0 ? 1 : e < 0 ? -1 : e) / MAX (fabs (t), GRADUS_LOSS_EPSILON))                     \
  X (mean_squared_logarithmic_error, 0,                                                            \
     (gradus_loss_log1p (p) - gradus_loss_log1p (t)) *                                             \
         (gradus_loss_log1p (p) - gradus_loss_log1p (t)),                                          \
     p < GRADUS_LOSS_EPSILON ? 0                                                                   \
                             : 2 * (gradus_loss_log1p (p) - gradus_loss_log1p (t)) / (p + 1))      \
  X (huber, 0, fabs (e) <= a ? 0.5 * e * e : a * fabs (e) - 0.5 * a * a,                           \
     fabs (e) <= a ? e : e > 0 ? a : e < 0 ? -a : e)                                               \
  X (log_cosh, 0, fabs (e) + log1p (exp (-2 * fabs (e))) - G_LN2, tanh (e))                        \
  X (poisson, 0, p - t * log (p + GRADUS_LOSS_EPSILON), 1 - t / (p + GRADUS_LOSS_EPSILON))         \
  X (kl_divergence, 1, gradus_loss_part (t) * log (gradus_loss_part (t) / gradus_loss_part (p)),   \
     p < GRADUS_LOSS_EPSILON || p > 1 ? 0 : -gradus_loss_part (t) / p)                             \
  X (hinge, 0, MAX (1 - gradus_loss_sign (t) * p, 0),                                              \
     1 - gradus_loss_sign (t) * p > 0 ? -gradus_loss_sign (t) : 0 * p)                             \
  X (squared_hinge, 0,                                                                             \
     1 - gradus_loss_sign (t) * p > 0                                                              \
         ? (1 - gradus_loss_sign (t) * p) * (1 - gradus_loss_sign (t) * p)                         \
         : 0 * p,                                                                                  \
     1 - gradus_loss_sign (t) * p > 0                                                              \
         ? -2 * gradus_loss_sign (t) * (1 - gradus_loss_sign (t) * p)                              \
         : 0 * p)                                                                                  \
  X (binary_crossentropy, 0, gradus_loss_bernoulli (p, t), gradus_loss_bernoulli_slope (p, t))     \
  X (sigmoid_binary_crossentropy, 0, (p > 0 ? p : 0 * p) - p * t + log1p (exp (-fabs (p))),        \
     1 / (1 + exp (-p)) - t)                                                                       \
  X (binary_focal_crossentropy, 0, gradus_loss_focal (p, t, a, b),                                 \
     gradus_loss_focal_slope (p, t, a, b))

#define GRADUS_POINTWISE_DEFINE(name, sums, value, derivative)                                     \
  static inline double gradus_value_##name (double p, double t, double a, double b)                \
  {                                                                                                \
    G_GNUC_UNUSED double e = p - t;                                                                \
    return value;                                                                                  \
  }                                                                                                \
  static inline double gradus_slope_##name (double p, double t, double a, double b)                \
  {                                                                                                \
    G_GNUC_UNUSED double e = p - t;                                                                \
    return derivative;                                                                             \
  }
GRADUS_POINTWISE_LOSSES (GRADUS_POINTWISE_DEFINE)

G_END_DECLS
