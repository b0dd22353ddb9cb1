/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-histogram-item.h"
#include "gradus-point-series.h"

G_BEGIN_DECLS

/* Made-up curves for the demonstration, the same on every run. */
typedef enum
{
  DEMO_TRAIN_LOSS,
  DEMO_VALIDATION_LOSS,
  DEMO_TRAIN_ACCURACY,
  DEMO_VALIDATION_ACCURACY,
  DEMO_GRADIENT_NORM,
  DEMO_LEARNING_RATE,
  DEMO_MEMORY,
} DemoCurve;

#define DEMO_STEPS_PER_EPOCH 860

/* The value of @curve of run @run after @step steps; noise depends on run and step alone. */
double demo_curve (DemoCurve curve, guint run, gint64 step);

/* A series of @curve from step @first to @last: every step, or for validation every epoch's end. */
GradusPointSeries *demo_series (DemoCurve curve, guint run, gint64 last);

/* Appends what lies between the series' last step and @last. */
void demo_extend (GradusPointSeries *series, DemoCurve curve, guint run, gint64 last);

/* Weights that begin evenly spread and become bell-shaped. */
GradusHistogramItem *demo_histogram (gint64 step);

G_END_DECLS
