/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Losses of Keras that read a whole row of predictions and targets, each defined once, in float64: the
 * reference and the kernels of a device call the same functions. A gradient function writes
 * dloss * (derivative by each prediction). */

#include "ops/gradus-op-pointwise.h"

G_BEGIN_DECLS

/* max(max((1 - t) p) - sum(t p) + 1, 0); @best: where the first greatest (1 - t) p stands. */
static inline double
gradus_categorical_hinge (const double *p, const double *t, gint64 n, gint64 *best)
{
  double positive = 0;

  *best = 0;
  for (gint64 i = 0; i < n; i++)
    {
      positive += t[i] * p[i];
      if ((1 - t[i]) * p[i] > (1 - t[*best]) * p[*best])
        *best = i;
    }
  return n == 0 ? 0 : MAX ((1 - t[*best]) * p[*best] - positive + 1, 0);
}

static inline double
gradus_value_categorical_hinge (const double *p, const double *t, gint64 n, double a, double b)
{
  gint64 best;

  return gradus_categorical_hinge (p, t, n, &best);
}

static inline void
gradus_grad_categorical_hinge (
    const double *p, const double *t, gint64 n, double a, double b, double dloss, double *dp)
{
  gint64   best;
  gboolean on = gradus_categorical_hinge (p, t, n, &best) > 0;

  for (gint64 i = 0; i < n; i++)
    dp[i] = on ? dloss * ((i == best ? 1 - t[i] : 0) - t[i]) : 0;
}

/* Rows are divided by their length, but by no less than 1e-6. */
#define GRADUS_COSINE_SHORTEST 1e-6

static inline double
gradus_row_length (const double *x, gint64 n)
{
  double squares = 0;

  for (gint64 i = 0; i < n; i++)
    squares += x[i] * x[i];
  return MAX (sqrt (squares), GRADUS_COSINE_SHORTEST);
}

static inline double
gradus_value_cosine_similarity (const double *p, const double *t, gint64 n, double a, double b)
{
  double along = 0;

  for (gint64 i = 0; i < n; i++)
    along += p[i] * t[i];
  return -along / (gradus_row_length (p, n) * gradus_row_length (t, n));
}

static inline void
gradus_grad_cosine_similarity (
    const double *p, const double *t, gint64 n, double a, double b, double dloss, double *dp)
{
  double length = gradus_row_length (p, n), other = gradus_row_length (t, n);
  double cosine = -gradus_value_cosine_similarity (p, t, n, a, b);

  for (gint64 i = 0; i < n; i++)
    {
      double bend = length > GRADUS_COSINE_SHORTEST ? cosine * p[i] / length : 0;

      dp[i] = -dloss * (t[i] / other - bend) / length;
    }
}

static inline double
gradus_row_sum (const double *x, gint64 n)
{
  double sum = 0;

  for (gint64 i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

/* @a: gamma, @b: alpha; the probabilities are normalised, then clipped. */
static inline double
gradus_value_categorical_focal_crossentropy (
    const double *p, const double *t, gint64 n, double a, double b)
{
  double sum = gradus_row_sum (p, n), loss = 0;

  for (gint64 i = 0; i < n; i++)
    {
      double q = gradus_loss_clip (p[i] / sum);

      loss -= b * pow (1 - q, a) * t[i] * log (q);
    }
  return loss;
}

static inline double
gradus_focal_slope (double q, double t, double a, double b)
{
  double fall = a == 0 ? 0 : a * pow (1 - q, a - 1) * log (q);

  return gradus_loss_is_clipped (q) ? 0 : b * t * (fall - pow (1 - q, a) / q);
}

static inline void
gradus_grad_categorical_focal_crossentropy (
    const double *p, const double *t, gint64 n, double a, double b, double dloss, double *dp)
{
  double sum = gradus_row_sum (p, n), along = 0;

  for (gint64 i = 0; i < n; i++)
    along += gradus_focal_slope (p[i] / sum, t[i], a, b) * (p[i] / sum);
  for (gint64 i = 0; i < n; i++)
    dp[i] = dloss * (gradus_focal_slope (p[i] / sum, t[i], a, b) - along) / sum;
}

#define GRADUS_ROWWISE_LOSSES(X)                                                                   \
  X (categorical_hinge)                                                                            \
  X (cosine_similarity)                                                                            \
  X (categorical_focal_crossentropy)

/* Connectionist temporal classification (Graves et al. 2006, "Connectionist temporal classification:
 * labelling unsegmented sequence data with recurrent neural networks") in the log domain, with
 * Keras's conventions: class 0 is the blank and pads the labels. */

/* What Keras gives for labels that no path of that length can spell. */
#define GRADUS_CTC_IMPOSSIBLE 1e5

/* float64 numbers of room that a sequence takes: log-probabilities, alphas and betas. */
static inline gsize
gradus_ctc_room (gint64 time, gint64 classes, gint64 labels)
{
  return (gsize) (time * (classes + 2 * (2 * labels + 1)));
}

static inline double
gradus_log_add (double x, double y)
{
  double greater = MAX (x, y);

  return greater == -INFINITY ? greater : greater + log1p (exp (MIN (x, y) - greater));
}

static inline gint64
gradus_ctc_symbol (const double *labels, gint64 s)
{
  return s % 2 == 0 ? 0 : (gint64) labels[s / 2];
}

/* Whether a path may come to symbol @s from two before it. */
static inline gboolean
gradus_ctc_skips (const double *labels, gint64 s)
{
  return s >= 2 && s % 2 == 1 && labels[s / 2] != labels[s / 2 - 1];
}

static inline void
gradus_ctc_log_softmax (const double *logits, gint64 time, gint64 classes, double *y)
{
  for (gint64 t = 0; t < time; t++, logits += classes, y += classes)
    {
      double greatest = -INFINITY, sum = 0;

      for (gint64 k = 0; k < classes; k++)
        greatest = MAX (greatest, logits[k]);
      for (gint64 k = 0; k < classes; k++)
        sum += exp (logits[k] - greatest);
      for (gint64 k = 0; k < classes; k++)
        y[k] = logits[k] - greatest - log (sum);
    }
}

/* How many labels the row has: those before the padding. -1 if one is no class. */
static inline gint64
gradus_ctc_length (const double *labels, gint64 n, gint64 classes)
{
  gint64 length = 0;

  for (gint64 i = 0; i < n; i++)
    {
      if (!(labels[i] >= 0 && labels[i] < classes))
        return -1;
      length += labels[i] != 0;
    }
  return length;
}

/* The log-probability of all paths through time 0..t that end at symbol s. Returns that of them all. */
static inline double
gradus_ctc_alphas (
    const double *y, gint64 time, gint64 classes, const double *labels, gint64 n, double *alpha)
{
  gint64 states = 2 * n + 1;

  for (gint64 t = 0; t < time; t++)
    for (gint64 s = 0; s < states; s++)
      {
        double sum = t == 0 && s < 2 ? 0 : -INFINITY;

        for (gint64 back = 0; t > 0 && back <= 2 && back <= s; back++)
          if (back < 2 || gradus_ctc_skips (labels, s))
            sum = gradus_log_add (sum, alpha[(t - 1) * states + s - back]);
        alpha[t * states + s] = sum + y[t * classes + gradus_ctc_symbol (labels, s)];
      }
  if (time == 0)
    return n == 0 ? 0 : -INFINITY;
  alpha += (time - 1) * states;
  return n == 0 ? alpha[0] : gradus_log_add (alpha[states - 1], alpha[states - 2]);
}

/* The log-probability of what follows symbol s at time t. */
static inline void
gradus_ctc_betas (
    const double *y, gint64 time, gint64 classes, const double *labels, gint64 n, double *beta)
{
  gint64 states = 2 * n + 1;

  for (gint64 t = time - 1; t >= 0; t--)
    for (gint64 s = 0; s < states; s++)
      {
        double sum = t == time - 1 && s >= states - 2 ? 0 : -INFINITY;

        for (gint64 ahead = 0; t < time - 1 && ahead <= 2 && s + ahead < states; ahead++)
          if (ahead < 2 || gradus_ctc_skips (labels, s + ahead))
            sum = gradus_log_add (sum, beta[(t + 1) * states + s + ahead] +
                                           y[(t + 1) * classes +
                                             gradus_ctc_symbol (labels, s + ahead)]);
        beta[t * states + s] = sum;
      }
}

/* @logits [time, classes], @labels [n], @room: gradus_ctc_room() numbers. @dlogits (nullable): their
 * gradient, times @dloss. Returns the loss; NaN for a label that is no class. */
static inline double
gradus_ctc (const double *logits, gint64 time, gint64 classes, const double *labels, gint64 n,
            double *room, double dloss, double *dlogits)
{
  gint64  length = gradus_ctc_length (labels, n, classes), states = 2 * MAX (length, 0) + 1;
  double *y = room, *alpha = y + time * classes, *beta = alpha + time * states;
  double  total;

  gradus_ctc_log_softmax (logits, time, classes, y);
  total = length < 0 ? NAN : gradus_ctc_alphas (y, time, classes, labels, length, alpha);
  if (dlogits == NULL || !isfinite (total))
    {
      for (gint64 i = 0; dlogits != NULL && i < time * classes; i++)
        dlogits[i] = isnan (total) ? total : 0;
      return total == -INFINITY ? GRADUS_CTC_IMPOSSIBLE : -total;
    }
  gradus_ctc_betas (y, time, classes, labels, length, beta);
  for (gint64 t = 0; t < time; t++)
    {
      for (gint64 k = 0; k < classes; k++)
        dlogits[t * classes + k] = exp (y[t * classes + k]);
      for (gint64 s = 0; s < states; s++)
        dlogits[t * classes + gradus_ctc_symbol (labels, s)] -=
            exp (alpha[t * states + s] + beta[t * states + s] - total);
      for (gint64 k = 0; k < classes; k++)
        dlogits[t * classes + k] *= dloss;
    }
  return -total;
}

G_END_DECLS
