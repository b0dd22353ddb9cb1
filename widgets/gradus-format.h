/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Numbers for people, in the current locale. Groups of three digits and units are set off by
   no-break spaces, the minus sign is a real one. Never for files. Results are owned by the caller. */

/* What a value measures. */
typedef enum
{
  GRADUS_UNIT_NONE,        /* 0.0312, 1.0e-3 */
  GRADUS_UNIT_SCIENTIFIC,  /* always as 5.0e-4: learning rates */
  GRADUS_UNIT_COUNT,       /* whole: 16 598 */
  GRADUS_UNIT_BYTES,       /* 212 MB, powers of 1000 */
  GRADUS_UNIT_SECONDS,     /* of a step: 4.48 ms, 1.20 s */
  GRADUS_UNIT_DURATION,    /* of a run: 02:19, 1:04:07 */
  GRADUS_UNIT_SAMPLES_RATE, /* 41 300 samples/s */
  GRADUS_UNIT_FRACTION,    /* 0.34 -> 34 % */
} GradusUnit;

/* @value in @unit with about three significant figures. NaN and the infinities are named. */
char *gradus_format_value (double value, GradusUnit unit);

/* @value with @digits significant figures (1 to 15), fixed between 1e-3 and 1e6, else as 1.0e-4. */
char *gradus_format_number (double value, int digits);

char *gradus_format_count (gint64 count);
char *gradus_format_bytes (double bytes);
char *gradus_format_duration (double seconds);
char *gradus_format_percent (double fraction);

/* The factor and the name ("MB", "ms", "") in which values up to @max are best written on an axis
   with @unit. The name is static and translated. */
double gradus_format_axis_scale (GradusUnit unit, double max, const char **name);

G_END_DECLS
