/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-json.h"

G_BEGIN_DECLS

#define GRADUS_SCHEDULE_MAX_ARGS 8 /* with the end */
#define GRADUS_SCHEDULE_MAX_BOUNDARIES 64

/**
 * GradusScheduleArg:
 * @fallback: as JSON; NULL if the argument must be there
 *
 * What a schedule is told; names and defaults are Keras's.
 */
typedef struct
{
  const char        *name;
  const char        *fallback;
  double             min, max;
  const char *const *choices; /* a word of these; “false” and “true” for a switch; NULL: a number */
} GradusScheduleArg;

/**
 * GradusScheduleClass:
 * @value: the rate for the update after @step others; the table is gradus_schedule_classes()
 *
 * One row a schedule. All but OneCycle are Keras's; OneCycle is Smith and Topin, Super-convergence,
 * 2018, in the form and with the arguments of PyTorch's OneCycleLR.
 */
typedef struct
{
  const char             *class_name;
  const GradusScheduleArg args[GRADUS_SCHEDULE_MAX_ARGS]; /* ended by a NULL name */
  double (*value) (const double *args, double step);      /* NULL: PiecewiseConstantDecay, or a formula */
} GradusScheduleClass;

/* A plain value; no class: nothing is scheduled. */
typedef struct
{
  const GradusScheduleClass *klass;
  double                     args[GRADUS_SCHEDULE_MAX_ARGS];
  guint                      n_boundaries;
  double                     boundaries[GRADUS_SCHEDULE_MAX_BOUNDARIES];
  double                     values[GRADUS_SCHEDULE_MAX_BOUNDARIES + 1];
  const char                *formula; /* interned; of step; NULL: none */
} GradusSchedule;

const GradusScheduleClass *gradus_schedule_classes (guint *n);

/* A schedule for @steps that begins with @rate, with everything else at its default or at what is
 * customary: the object of a recipe, as JSON. Free with g_free. */
char *gradus_schedule_example (const GradusScheduleClass *klass, double rate, gint64 steps);

/* Reads the object at @key, {"class_name": .., "config": ..} or {"formula": "0.001 * 0.9 ^ (step / 100)"}; refuses
 * through the cursor. */
gboolean  gradus_schedule_read  (GradusSchedule *self, GradusJsonObject *cursor, const char *key);
JsonNode *gradus_schedule_write (const GradusSchedule *self);
/* The rate of the update that comes after @step (from 0) others. */
double    gradus_schedule_value (const GradusSchedule *self, gint64 step);

G_END_DECLS
