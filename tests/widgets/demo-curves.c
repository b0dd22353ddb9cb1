/* SPDX-License-Identifier: Apache-2.0 */
#include "demo-curves.h"

#include <math.h>

#define MS_PER_STEP 8

/* About normal, from a hash of run and step. */
static double
noise (guint run, gint64 step)
{
  guint64 state = (guint64) step * 0x9e3779b97f4a7c15u + run * 0xbf58476d1ce4e5b9u;
  double  sum = 0.0;

  for (guint i = 0; i < 4; i++)
    {
      state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
      state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
      state ^= state >> 31;
      sum += (double) (state >> 11) / 9007199254740992.0 - 0.5;
    }
  return sum * 1.7;
}

static double
train_loss (guint run, double epoch)
{
  double base = run == 0 ? 0.07 + 0.5 * exp (-epoch / 2.4) + 1.7 * exp (-epoch / 0.25) + 0.09 * exp (-epoch / 9)
                         : 0.145 + 0.4 * exp (-epoch / 3.0) + 1.8 * exp (-epoch / 0.3);

  return run == 0 && epoch > 9.0 ? base * 0.86 : base;
}

static double
validation_loss (guint run, double epoch)
{
  if (run == 0)
    return 0.218 + 0.34 * exp (-epoch / 2.6) + (epoch < 9 ? 0.012 : 0.0) + (epoch > 12 ? (epoch - 12) * 0.0042 : 0);
  return 0.209 + 0.33 * exp (-epoch / 3.4) + fabs (epoch - 23) * 0.0006;
}

double
demo_curve (DemoCurve curve, guint run, gint64 step)
{
  double epoch = (double) step / DEMO_STEPS_PER_EPOCH;
  double random = noise (run + 16 * (guint) curve, step);
  double slow = noise (run + 99, step / 60);

  switch (curve)
    {
    case DEMO_TRAIN_LOSS:
      return train_loss (run, epoch) * exp (0.11 * random + 0.03 * slow);
    case DEMO_VALIDATION_LOSS:
      return validation_loss (run, epoch);
    case DEMO_TRAIN_ACCURACY:
      return 1.0 - 0.37 * train_loss (run, epoch) * exp (0.04 * random + 0.02 * slow);
    case DEMO_VALIDATION_ACCURACY:
      return 1.0 - 0.3 * pow (validation_loss (run, epoch), 0.95) - (run == 0 ? 0.0 : 0.003);
    case DEMO_GRADIENT_NORM:
      return (0.5 + 1.6 * exp (-epoch / 1.2) + 0.004 * epoch) * exp (0.22 * random + 0.05 * slow);
    case DEMO_LEARNING_RATE:
      return step < 600 ? 1e-3 * (double) step / 600.0 : epoch < 9.0 ? 1e-3 : 5e-4;
    case DEMO_MEMORY:
    default:
      return step < 20 ? 170e6 : fmod (epoch, 1.0) > 0.86 ? 212e6 : 190e6;
    }
}

void
demo_extend (GradusPointSeries *series, DemoCurve curve, guint run, gint64 last)
{
  gboolean per_epoch = curve == DEMO_VALIDATION_LOSS || curve == DEMO_VALIDATION_ACCURACY;
  gint64   stride = per_epoch ? DEMO_STEPS_PER_EPOCH : 1;

  for (gint64 step = MAX (gradus_point_series_get_last_step (series), 0) + stride; step <= last; step += stride)
    gradus_point_series_add (series, step, step * MS_PER_STEP, demo_curve (curve, run, step));
}

GradusPointSeries *
demo_series (DemoCurve curve, guint run, gint64 last)
{
  GradusPointSeries *series = gradus_point_series_new ();

  gradus_series_set_steps_per_epoch (GRADUS_SERIES (series), DEMO_STEPS_PER_EPOCH);
  demo_extend (series, curve, run, last);
  return series;
}

#define N_BINS 96
#define LOWEST (-0.42)
#define HIGHEST 0.30
#define N_WEIGHTS 401408.0

/* The density of initial weights, of trained ones, and how far from one to the other. */
static double
weight_density (double x, double epoch)
{
  double part = 1.0 - exp (-epoch / 2.5);
  double flat = 1.0 / (1.0 + exp ((fabs (x) - 0.037) / 0.0018)) / 0.074;
  double width = 0.026 + 0.0006 * epoch;
  double bell = exp (-0.5 * pow ((x + 0.003) / width, 2.0)) / (width * 2.5066);
  double wide = exp (-0.5 * pow ((x + 0.003) / 0.06, 2.0)) / (0.06 * 2.5066);

  return (1.0 - part) * flat + part * (0.82 * bell + 0.18 * wide);
}

GradusHistogramItem *
demo_histogram (gint64 step)
{
  double               edges[N_BINS + 1], counts[N_BINS];
  double               epoch = (double) step / DEMO_STEPS_PER_EPOCH;
  GradusHistogramStats stats = { .min = -0.4120, .max = 0.2864, .mean = -0.0031, .stddev = 0.0379,
                                 .count = (guint64) N_WEIGHTS };

  for (guint i = 0; i <= N_BINS; i++)
    edges[i] = LOWEST + (HIGHEST - LOWEST) * i / N_BINS;
  for (guint i = 0; i < N_BINS; i++)
    {
      double middle = 0.5 * (edges[i] + edges[i + 1]);

      counts[i] = weight_density (middle, epoch) * (edges[1] - edges[0]) * N_WEIGHTS
                  * (1.0 + 0.02 * noise ((guint) i, step));
      counts[i] = MAX (0.0, floor (counts[i]));
    }
  return gradus_histogram_item_new (step, epoch, step * MS_PER_STEP, edges, counts, N_BINS, &stats);
}
