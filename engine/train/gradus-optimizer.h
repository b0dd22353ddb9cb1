/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-json.h"
#include "graph/gradus-program.h"

G_BEGIN_DECLS

#define GRADUS_OPTIMIZER_MAX_ARGS 6

typedef struct
{
  const char *name;
  double      fallback, min, max;
  gboolean    is_bool;
} GradusOptimizerArg;

/* What a step of a variable is given. */
typedef struct
{
  GradusProgram *program;
  const char    *name; /* of the variable */
  GradusValueId  variable, gradient, scale;
  const double  *args;
} GradusOptimizerStep;

/**
 * GradusOptimizerClass:
 * @step: appends the ops that update one variable; state variables are called
 *   "optimizer/<variable>/<slot>"
 *
 * One row an optimizer; names, defaults and formulas are Keras's.
 */
typedef struct
{
  const char              *class_name;
  const GradusOptimizerArg args[GRADUS_OPTIMIZER_MAX_ARGS]; /* ended by a NULL name */
  gboolean (*step) (const GradusOptimizerStep *step, GError **error);
} GradusOptimizerClass;

typedef struct
{
  const GradusOptimizerClass *klass;
  double                      args[GRADUS_OPTIMIZER_MAX_ARGS];
  /* Keras's own clipping arguments; 0: absent. */
  double                      clipvalue, clipnorm, global_clipnorm;
} GradusOptimizer;

/* Reads "optimizer" of @compile; refuses through the cursor. */
gboolean    gradus_optimizer_read  (GradusOptimizer *self, GradusJsonObject *compile);
JsonObject *gradus_optimizer_write (const GradusOptimizer *self);

G_END_DECLS
