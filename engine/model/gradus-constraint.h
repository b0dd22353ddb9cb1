/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-program.h"
#include "gradus-json.h"

G_BEGIN_DECLS

/**
 * GradusConstraint:
 *
 * One of Keras's constraints with its arguments: MaxNorm, MinMaxNorm, UnitNorm, NonNeg; a plain
 * value. It changes a weight after each update.
 */
typedef struct
{
  guint  kind; /* index into the table of gradus-constraint.c */
  double min, max, rate;
  guint  n_axes;
  gint64 axes[GRADUS_MAX_RANK]; /* negative ones count from the end */
} GradusConstraint;

/* Reads what stands at @key: a name ("max_norm"), or an object with class_name and config. Refuses
 * through the cursor and returns FALSE. */
gboolean  gradus_constraint_read  (GradusConstraint *self,
                                   GradusJsonObject *cursor,
                                   const char       *key,
                                   JsonNode         *node);
JsonNode *gradus_constraint_write (const GradusConstraint *self);
/* Adds the op that changes @variable where it lies. */
gboolean  gradus_constraint_build (const GradusConstraint *self,
                                   GradusProgram          *program,
                                   GradusValueId           variable,
                                   GError                **error);

G_END_DECLS
