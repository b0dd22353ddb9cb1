/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Ticks of an axis: few, and round. */
#define GRADUS_MAX_TICKS 32

typedef struct
{
  guint  n;
  double at[GRADUS_MAX_TICKS];
  double step; /* between two ticks; for a log axis the factor */
} GradusTicks;

/* At most @max_ticks multiples of 1, 2 or 5 times a power of ten within [@lower, @upper];
   @whole: of whole numbers only. */
void gradus_ticks_linear (double lower, double upper, guint max_ticks, gboolean whole, GradusTicks *ticks);

/* Of seconds: 1, 2, 5, 10, 15, 30 s, the same of minutes, hours 1 2 3 6 12, days. */
void gradus_ticks_time (double lower, double upper, guint max_ticks, GradusTicks *ticks);

/* Powers of ten, thinned if many; with under two of them also 2 and 5 times those. */
void gradus_ticks_log (double lower, double upper, guint max_ticks, GradusTicks *ticks);

/* Widens [*lower, *upper] to the next ticks, so that the outermost labels stand at the edges. */
void gradus_ticks_round_range (double *lower, double *upper, guint max_ticks);

/* Text of the tick at @value among @ticks: as many decimals as their distance needs. Owned by the
   caller. */
char *gradus_ticks_format (const GradusTicks *ticks, double value);

/* The same on a log axis and on one of seconds. */
char *gradus_ticks_format_log (double value);
char *gradus_ticks_format_time (const GradusTicks *ticks, double value);

G_END_DECLS
