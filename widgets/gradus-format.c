/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-format-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

/* Puts no-break spaces between groups of three digits before the decimal point. */
static char *
group_digits (const char *digits)
{
  gsize    whole = strspn (digits, "0123456789");
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < whole; i++)
    {
      if (i > 0 && (whole - i) % 3 == 0)
        g_string_append (text, GRADUS_NO_BREAK_SPACE);
      g_string_append_c (text, digits[i]);
    }
  g_string_append (text, digits + whole);
  return g_string_free (text, FALSE);
}

static char *
format_special (double value)
{
  if (isnan (value))
    return g_strdup (_("NaN"));
  return g_strconcat (value < 0.0 ? GRADUS_MINUS : "", "∞", NULL);
}

char *
gradus_format_fixed (double value, int decimals)
{
  g_autofree char *digits = NULL;
  g_autofree char *grouped = NULL;

  if (!isfinite (value))
    return format_special (value);

  digits = g_strdup_printf ("%.*f", decimals, fabs (value));
  grouped = group_digits (digits);
  /* No minus before what rounds to nothing. */
  if (value < 0.0 && strpbrk (digits, "123456789") != NULL)
    return g_strconcat (GRADUS_MINUS, grouped, NULL);
  return g_steal_pointer (&grouped);
}

static char *
format_exponent_digits (double value, int decimals)
{
  int    power = (int) floor (log10 (fabs (value)));
  double mantissa = fabs (value) / pow (10.0, power);

  /* 9.99 with one decimal is 10.0, which is 1.0 of the next power. */
  if (mantissa + 0.5 * pow (10.0, -decimals) >= 10.0)
    {
      mantissa /= 10.0;
      power++;
    }
  return g_strdup_printf ("%s%.*fe%d", value < 0.0 ? GRADUS_MINUS : "", decimals, mantissa, power);
}

char *
gradus_format_exponent (double value, double step)
{
  int decimals;

  if (!isfinite (value))
    return format_special (value);
  if (value == 0.0)
    return g_strdup ("0");

  decimals = (int) (floor (log10 (fabs (value)) + 1e-9) - floor (log10 (fabs (step)) + 1e-9));
  decimals = CLAMP (decimals, 0, 6);
  /* 2.0e-3 says no more than 2e-3. */
  while (decimals > 0)
    {
      double unit = pow (10.0, floor (log10 (fabs (value)) + 1e-9) - decimals + 1);

      if (fabs (value / unit - round (value / unit)) > 1e-6)
        break;
      decimals--;
    }
  return format_exponent_digits (value, decimals);
}

char *
gradus_format_number (double value, int digits)
{
  int power, decimals;

  g_return_val_if_fail (digits >= 1 && digits <= 15, NULL);

  if (!isfinite (value))
    return format_special (value);
  if (value == 0.0)
    return g_strdup ("0");

  power = (int) floor (log10 (fabs (value)));
  if (power < -3 || power >= 6)
    return format_exponent_digits (value, MAX (digits - 2, 1));
  /* 0.9996 with three figures is 1.00, not 1.000. */
  if (fabs (value) + 0.5 * pow (10.0, power - digits + 1) >= pow (10.0, power + 1))
    power++;
  decimals = CLAMP (digits - 1 - power, 0, 15);
  return gradus_format_fixed (value, decimals);
}

char *
gradus_format_count (gint64 count)
{
  g_autofree char *digits = g_strdup_printf ("%" G_GUINT64_FORMAT,
                                             count < 0 ? -(guint64) count : (guint64) count);
  g_autofree char *grouped = group_digits (digits);

  return g_strconcat (count < 0 ? GRADUS_MINUS : "", grouped, NULL);
}

/* The powers of 1000 that bytes are written in. */
static const char *const byte_units[] = { N_ ("B"), N_ ("kB"), N_ ("MB"), N_ ("GB"), N_ ("TB") };

static guint
byte_power (double bytes)
{
  guint power = 0;

  while (power + 1 < G_N_ELEMENTS (byte_units) && fabs (bytes) >= 999.5)
    {
      bytes /= 1000.0;
      power++;
    }
  return power;
}

char *
gradus_format_bytes (double bytes)
{
  guint            power;
  double           scaled;
  g_autofree char *number = NULL;

  if (!isfinite (bytes))
    return format_special (bytes);

  power = byte_power (bytes);
  scaled = bytes / pow (1000.0, power);
  number = gradus_format_fixed (scaled, power > 0 && fabs (scaled) < 9.95 ? 1 : 0);
  return g_strconcat (number, GRADUS_NO_BREAK_SPACE, _ (byte_units[power]), NULL);
}

char *
gradus_format_duration (double seconds)
{
  gint64 whole;

  if (!isfinite (seconds) || fabs (seconds) > 1e15)
    return format_special (isfinite (seconds) ? INFINITY : seconds);

  if (seconds > 0 && seconds < 0.95)
    {
      g_autofree char *tenths = gradus_format_fixed (MAX (seconds, 0.05), 1);

      return g_strconcat (tenths, GRADUS_NO_BREAK_SPACE, _("s"), NULL);
    }
  whole = (gint64) floor (fabs (seconds) + 0.5);
  if (whole >= 3600)
    return g_strdup_printf ("%" G_GINT64_FORMAT ":%02d:%02d", whole / 3600, (int) (whole / 60 % 60),
                            (int) (whole % 60));
  return g_strdup_printf ("%02d:%02d", (int) (whole / 60), (int) (whole % 60));
}

char *
gradus_format_percent (double fraction)
{
  g_autofree char *number = NULL;

  if (!isfinite (fraction))
    return format_special (fraction);
  number = gradus_format_fixed (100.0 * fraction, 0);
  /* Translators: a percentage; %s is the number. */
  return g_strdup_printf (_("%s\u00a0%%"), number);
}

static char *
format_seconds (double seconds)
{
  const char      *unit = _("s");
  double           scale = 1.0;
  g_autofree char *number = NULL;

  if (fabs (seconds) < 0.995e-5)
    {
      unit = _("µs");
      scale = 1e6;
    }
  else if (fabs (seconds) < 0.9995)
    {
      unit = _("ms");
      scale = 1e3;
    }
  number = gradus_format_fixed (seconds * scale, fabs (seconds * scale) < 99.5
                                                     ? (fabs (seconds * scale) < 9.995 ? 2 : 1)
                                                     : 0);
  return g_strconcat (number, GRADUS_NO_BREAK_SPACE, unit, NULL);
}

static char *
format_rate (double rate)
{
  g_autofree char *number = NULL;

  /* Three figures: a rate is never surer than that. */
  if (fabs (rate) >= 1000.0)
    {
      double round_to = pow (10.0, floor (log10 (fabs (rate))) - 2.0);

      rate = round (rate / round_to) * round_to;
    }
  number = gradus_format_fixed (rate, fabs (rate) < 9.95 ? 1 : 0);
  /* Translators: speed of training; %s is a number. */
  return g_strdup_printf (_("%s\u00a0samples/s"), number);
}

char *
gradus_format_value (double value, GradusUnit unit)
{
  if (!isfinite (value))
    return format_special (value);

  switch (unit)
    {
    case GRADUS_UNIT_SCIENTIFIC:
      return value == 0.0 ? g_strdup ("0") : format_exponent_digits (value, 1);
    case GRADUS_UNIT_COUNT:
      return gradus_format_fixed (value, 0);
    case GRADUS_UNIT_BYTES:
      return gradus_format_bytes (value);
    case GRADUS_UNIT_SECONDS:
      return format_seconds (value);
    case GRADUS_UNIT_DURATION:
      return gradus_format_duration (value);
    case GRADUS_UNIT_SAMPLES_RATE:
      return format_rate (value);
    case GRADUS_UNIT_FRACTION:
      return gradus_format_percent (value);
    case GRADUS_UNIT_NONE:
    default:
      /* Between 0.01 and 10 three decimals keep columns of losses still. */
      if (fabs (value) >= 0.01 && fabs (value) < 9.9995)
        return gradus_format_fixed (value, 3);
      return gradus_format_number (value, 3);
    }
}

double
gradus_format_axis_scale (GradusUnit unit, double max, const char **name)
{
  guint power;

  g_return_val_if_fail (name != NULL, 1.0);

  *name = "";
  switch (unit)
    {
    case GRADUS_UNIT_BYTES:
      power = byte_power (max);
      *name = _ (byte_units[power]);
      return pow (1000.0, -(double) power);
    case GRADUS_UNIT_SECONDS:
      *name = max < 0.9995e-3 ? _("µs") : max < 0.9995 ? _("ms") : _("s");
      return max < 0.9995e-3 ? 1e6 : max < 0.9995 ? 1e3 : 1.0;
    case GRADUS_UNIT_FRACTION:
      *name = "%";
      return 100.0;
    case GRADUS_UNIT_NONE:
    case GRADUS_UNIT_SCIENTIFIC:
    case GRADUS_UNIT_COUNT:
    case GRADUS_UNIT_DURATION:
    case GRADUS_UNIT_SAMPLES_RATE:
    default:
      return 1.0;
    }
}
