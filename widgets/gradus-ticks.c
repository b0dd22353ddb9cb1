/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-format-private.h"
#include "gradus-ticks.h"

#include <math.h>

/* More powers of ten than a double has are not worth a tick. */
#define MAX_DECADES 700

static double
nice_step (double span, guint max_ticks)
{
  double raw = span / MAX (max_ticks, 1);
  double power = pow (10.0, floor (log10 (raw)));
  double part = raw / power;

  /* The hundredth of a percent keeps 0.1 / 0.02 from counting as more than 5. */
  if (part <= 1.0001)
    return power;
  if (part <= 2.0001)
    return 2.0 * power;
  if (part <= 5.0001)
    return 5.0 * power;
  return 10.0 * power;
}

static void
fill_multiples (double lower, double upper, double step, GradusTicks *ticks)
{
  double slack = step * 1e-6;
  double i = ceil ((lower - slack) / step);

  ticks->n = 0;
  ticks->step = step;
  for (; i * step <= upper + slack && ticks->n < GRADUS_MAX_TICKS; i += 1.0)
    ticks->at[ticks->n++] = i == 0.0 ? 0.0 : i * step;
}

void
gradus_ticks_linear (double lower, double upper, guint max_ticks, gboolean whole, GradusTicks *ticks)
{
  double step;
  guint  aim = CLAMP (max_ticks, 1, GRADUS_MAX_TICKS);

  ticks->n = 0;
  ticks->step = 1.0;
  if (!isfinite (lower) || !isfinite (upper) || !isfinite (upper - lower) || !(upper > lower))
    return;

  /* The first guess may hold one tick too many, where both ends are ticks. */
  for (guint aimed = aim; aimed >= 1; aimed--)
    {
      step = nice_step (upper - lower, aimed);
      if (whole)
        step = MAX (step, 1.0);
      if (!(step > 0.0))
        return;
      fill_multiples (lower, upper, step, ticks);
      if (ticks->n <= aim)
        return;
    }
}

void
gradus_ticks_time (double lower, double upper, guint max_ticks, GradusTicks *ticks)
{
  static const double steps[] = { 1,   2,    5,    10,   15,    30,    60,    120,    300,
                                  600, 900,  1800, 3600, 7200,  10800, 21600, 43200,  86400,
                                  172800, 604800 };

  ticks->n = 0;
  ticks->step = 1.0;
  if (!isfinite (lower) || !isfinite (upper) || !(upper > lower))
    return;
  if (upper - lower < 2.0)
    {
      gradus_ticks_linear (lower, upper, max_ticks, FALSE, ticks);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      if ((upper - lower) / steps[i] > MIN (max_ticks, GRADUS_MAX_TICKS) && i + 1 < G_N_ELEMENTS (steps))
        continue;
      if ((upper - lower) / steps[i] > GRADUS_MAX_TICKS)
        break;
      fill_multiples (lower, upper, steps[i], ticks);
      return;
    }
  gradus_ticks_linear (lower, upper, max_ticks, TRUE, ticks);
}

void
gradus_ticks_log (double lower, double upper, guint max_ticks, GradusTicks *ticks)
{
  static const double parts[] = { 1.0, 2.0, 5.0 };
  double              first, last, stride;
  gboolean            fine;

  ticks->n = 0;
  ticks->step = 10.0;
  if (!(lower > 0.0) || !isfinite (upper) || !(upper > lower))
    return;

  first = floor (log10 (lower) - 1e-9);
  last = ceil (log10 (upper) + 1e-9);
  if (last - first > MAX_DECADES)
    return;
  stride = MAX (1.0, ceil ((last - first) / MAX (MIN (max_ticks, GRADUS_MAX_TICKS), 1)));
  fine = floor (log10 (upper) + 1e-9) - ceil (log10 (lower) - 1e-9) < 1.0;
  ticks->step = pow (10.0, stride);
  for (double decade = first; decade <= last; decade += stride)
    for (guint i = 0; i < (fine ? G_N_ELEMENTS (parts) : 1); i++)
      {
        double at = parts[i] * pow (10.0, decade);

        if (at >= lower * (1 - 1e-9) && at <= upper * (1 + 1e-9) && ticks->n < GRADUS_MAX_TICKS)
          ticks->at[ticks->n++] = at;
      }
  /* A range between two such ticks still deserves some. */
  if (ticks->n < 2)
    gradus_ticks_linear (lower, upper, MIN (max_ticks, 4), FALSE, ticks);
}

void
gradus_ticks_round_range (double *lower, double *upper, guint max_ticks)
{
  double step;

  if (!isfinite (*lower) || !isfinite (*upper) || !isfinite (*upper - *lower) || !(*upper > *lower))
    return;
  step = nice_step (*upper - *lower, MAX (max_ticks, 2) - 1);
  if (!(step > 0.0))
    return;
  *lower = floor (*lower / step + 1e-6) * step;
  *upper = ceil (*upper / step - 1e-6) * step;
}

char *
gradus_ticks_format (const GradusTicks *ticks, double value)
{
  double largest = MAX (fabs (ticks->n > 0 ? ticks->at[0] : value),
                        fabs (ticks->n > 0 ? ticks->at[ticks->n - 1] : value));
  int    decimals;

  if (value == 0.0)
    {
      if (largest < 1e-2 || largest >= 1e7)
        return g_strdup ("0");
    }
  else if (largest < 1e-2 || largest >= 1e7)
    return gradus_format_exponent (value, ticks->step);

  decimals = (int) MAX (0.0, -floor (log10 (ticks->step) + 1e-9));
  return gradus_format_fixed (value, MIN (decimals, 15));
}

char *
gradus_ticks_format_log (double value)
{
  if (value >= 1e-3 && value < 1e5)
    return gradus_format_fixed (value, (int) MAX (0.0, -floor (log10 (value) + 1e-9)));
  return gradus_format_exponent (value, value);
}

char *
gradus_ticks_format_time (const GradusTicks *ticks, double value)
{
  gint64 seconds = (gint64) floor (fabs (value) + 0.5);

  if (ticks->step < 1.0)
    return gradus_ticks_format (ticks, value);
  if (ticks->step >= 86400.0)
    return g_strdup_printf ("%" G_GINT64_FORMAT "d", seconds / 86400);
  if (ticks->step >= 60.0 && seconds >= 3600)
    return g_strdup_printf ("%" G_GINT64_FORMAT ":%02d:%02d", seconds / 3600, (int) (seconds / 60 % 60),
                            (int) (seconds % 60));
  return gradus_format_duration ((double) seconds);
}
