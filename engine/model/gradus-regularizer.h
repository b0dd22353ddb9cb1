/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-program.h"
#include "gradus-json.h"

G_BEGIN_DECLS

/**
 * GradusRegularizer:
 *
 * One of Keras's regularisers with its arguments: L1, L2, L1L2, OrthogonalRegularizer; a plain value.
 * What it says is added to the loss.
 */
typedef struct
{
  guint    kind; /* index into the table of gradus-regularizer.c */
  double   l1, l2;
  double   factor;  /* of OrthogonalRegularizer */
  gboolean columns; /* likewise: mode */
} GradusRegularizer;

/* Reads what stands at @key: a name ("l2"), or an object with class_name and config. Refuses through
 * the cursor and returns FALSE. */
gboolean  gradus_regularizer_read  (GradusRegularizer *self,
                                    GradusJsonObject  *cursor,
                                    const char        *key,
                                    JsonNode          *node);
JsonNode *gradus_regularizer_write (const GradusRegularizer *self);

/* Whether a weight of @shape can be regularised so; OrthogonalRegularizer takes matrices only. */
gboolean  gradus_regularizer_fits  (const GradusRegularizer *self, const GradusShape *shape, GError **error);

/**
 * gradus_regularizer_build:
 * @mean: the sum is divided by the size of the first axis, as Keras does for activities
 * @penalty: (out): a scalar; the output of a node “penalty”
 *
 * Differentiable ops for @value.
 */
gboolean  gradus_regularizer_build (const GradusRegularizer *self,
                                    GradusProgram           *program,
                                    GradusValueId            value,
                                    gboolean                 mean,
                                    GradusValueId           *penalty,
                                    GError                 **error);

G_END_DECLS
