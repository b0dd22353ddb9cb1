/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-execution.h"
#include "gradus-json.h"
#include "graph/gradus-program.h"
#include "train/gradus-schedule.h"

G_BEGIN_DECLS

#define GRADUS_OPTIMIZER_MAX_ARGS 8
#define GRADUS_OPTIMIZER_MAX_SLOTS 4

/* @attr: the attribute of the op that it becomes; NULL: none */
typedef struct
{
  const char *name;
  double      fallback, min, max;
  gboolean    is_bool;
  const char *attr;
} GradusOptimizerArg;

/* State of one variable, called "optimizer/<variable>/<name>".
 * @initial: name of the argument that it begins with; NULL: with 0
 * @optional: name of the argument that it is there for; NULL: always. Optional ones come last. */
typedef struct
{
  const char *name, *initial, *optional;
} GradusOptimizerSlot;

/**
 * GradusOptimizerClass:
 * @weight_decay: the default; NaN: none
 * @op: of the step of a variable
 * @wants_step: the formula has the number of the step in it
 *
 * One row an optimizer; names, defaults and formulas are Keras's.
 */
typedef struct
{
  const char               *class_name;
  const GradusOptimizerArg  args[GRADUS_OPTIMIZER_MAX_ARGS]; /* ended by a NULL name */
  double                    weight_decay;
  const char               *op;
  const GradusOptimizerSlot slots[GRADUS_OPTIMIZER_MAX_SLOTS]; /* likewise */
  gboolean                  wants_step;
} GradusOptimizerClass;

/* @args: the first is the learning rate, of a schedule its value for the first step
 * @weight_decay: NaN: none
 * @exclude: words; a variable with one of them in its name, "layer/variable", does not decay */
typedef struct
{
  const GradusOptimizerClass *klass;
  double                      args[GRADUS_OPTIMIZER_MAX_ARGS];
  GradusSchedule              schedule;
  double                      weight_decay;
  GStrv                       exclude;
  /* Keras's own clipping arguments; 0: absent. */
  double                      clipvalue, clipnorm, global_clipnorm;
  gint64                      accumulate; /* gradient_accumulation_steps; 0: absent */
  gboolean                    use_ema;
  double                      ema_momentum;
  gint64                      ema_overwrite; /* 0: never */
} GradusOptimizer;

const GradusOptimizerClass *gradus_optimizer_classes (guint *n);

/* Reads "optimizer" of @compile; refuses through the cursor. */
gboolean    gradus_optimizer_read  (GradusOptimizer *self, GradusJsonObject *compile);
JsonObject *gradus_optimizer_write (const GradusOptimizer *self);
void        gradus_optimizer_clear (GradusOptimizer *self);

/* Appends what updates the variable called @name by @gradient times @scale, and its moving average
 * "optimizer/<variable>/average" where one is kept. The hypers are "learning_rate", "momentum",
 * "weight_decay" and "step" (of this update, from 1). */
gboolean gradus_optimizer_build (const GradusOptimizer *self,
                                 GradusProgram         *program,
                                 const char            *name,
                                 GradusValueId          variable,
                                 GradusValueId          gradient,
                                 GradusValueId          scale,
                                 GError               **error);
/* Fills the state that does not begin with zeros. */
gboolean gradus_optimizer_initialize (const GradusOptimizer *self,
                                      GradusVariables       *variables,
                                      GError               **error);

G_END_DECLS
