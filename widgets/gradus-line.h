/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-series.h"

G_BEGIN_DECLS

/* What a line shows of its run; decides its weight and its name. */
typedef enum
{
  GRADUS_LINE_VALUE,      /* the only line of its kind: gradient norm, memory */
  GRADUS_LINE_TRAIN,      /* thin, half strength */
  GRADUS_LINE_VALIDATION, /* strong */
} GradusLineRole;

typedef enum
{
  GRADUS_LINE_PLAIN = 0,
  GRADUS_LINE_BAND = 1 << 0,         /* lowest to highest of each pixel column behind the line, which then is
                                        the smoothed or middle value */
  GRADUS_LINE_AREA = 1 << 1,         /* filled down to the axis */
  GRADUS_LINE_STEPPED = 1 << 2,      /* a value holds until the next */
  GRADUS_LINE_END_DOT = 1 << 3,      /* a dot at the last point */
  GRADUS_LINE_BEST_LOWEST = 1 << 4,  /* a star at the lowest value, */
  GRADUS_LINE_BEST_HIGHEST = 1 << 5, /* or at the highest */
  GRADUS_LINE_NO_SMOOTHING = 1 << 6, /* drawn as it is whatever the chart's smoothing */
} GradusLineFlags;

#define GRADUS_TYPE_LINE (gradus_line_get_type ())
G_DECLARE_FINAL_TYPE (GradusLine, gradus_line, GRADUS, LINE, GObject)

/* A line of a chart: a series and how it looks. @run tells runs apart (any number), @run_name is
   what people call it, @color is a run colour's number or GRADUS_COLOR_DIM. Signal "changed": the
   look changed. */
GradusLine *gradus_line_new (GradusSeries   *series,
                             gint64          run,
                             const char     *run_name,
                             GradusLineRole  role,
                             int             color,
                             GradusLineFlags flags) G_GNUC_WARN_UNUSED_RESULT;

GradusSeries   *gradus_line_get_series (GradusLine *self);
gint64          gradus_line_get_run (GradusLine *self);
const char     *gradus_line_get_run_name (GradusLine *self);
GradusLineRole  gradus_line_get_role (GradusLine *self);
int             gradus_line_get_color (GradusLine *self);
GradusLineFlags gradus_line_get_flags (GradusLine *self);

/* "train" and "validation", translated; for GRADUS_LINE_VALUE, or to say more ("peak"), what
   gradus_line_set_name() gave, else "". */
const char *gradus_line_get_name (GradusLine *self);

void gradus_line_set_name (GradusLine *self, const char *name);
void gradus_line_set_run_name (GradusLine *self, const char *run_name);
void gradus_line_set_color (GradusLine *self, int color);
void gradus_line_set_flags (GradusLine *self, GradusLineFlags flags);

G_END_DECLS
