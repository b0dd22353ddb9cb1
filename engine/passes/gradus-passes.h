/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/**
 * gradus_autodiff:
 * @loss: a scalar value
 * @variables: what to differentiate by
 * @gradients: (out): the gradient of each; GRADUS_NO_VALUE where the loss does not depend on it
 *
 * Appends gradient nodes in the phase GRADUS_PHASE_BACKWARD, each with the layer of its forward
 * node. Where a value is read several times, its gradients are added in the order of the readers
 * (add_n), so that the sum has one order. Gradients that nobody needs are not made (the first
 * layer's input). Reverse mode: Griewank and Walther, Evaluating Derivatives, 2008.
 */
gboolean gradus_autodiff (GradusProgram       *program,
                          GradusValueId        loss,
                          const GradusValueId *variables,
                          guint                n_variables,
                          GradusValueId       *gradients,
                          GError             **error);

/* A new program: dead nodes dropped; bias_add and relu folded into the matmul or conv before
 * them where nobody else reads the value between (and the gradient of relu reads its output);
 * reshape of reshape joined. Never changes a result by more than the order of one addition. */
GradusProgram *gradus_passes_run (GradusProgram *program, GError **error);

typedef enum
{
  GRADUS_REMATERIALIZE_NONE,
  GRADUS_REMATERIALIZE_CHEAP, /* what costs little work for its bytes is made again */
  GRADUS_REMATERIALIZE_SQRT,  /* all but what crosses from one segment of the forward pass to the next */
} GradusRematerialize;

/**
 * gradus_rematerialize:
 * @program: of a training step, after the passes
 * @sizes: for which bytes and work are counted
 * @share: (out) (optional): the work that a step then does a second time, as a share of all its work
 *
 * A new program whose backward pass makes values of the forward pass again instead of keeping them.
 * The same ops on the same numbers, random ones included, and what a step leaves behind is left once:
 * the results have the same bits.
 */
GradusProgram *gradus_rematerialize (GradusProgram      *program,
                                     GradusRematerialize how,
                                     GradusSizes         sizes,
                                     double             *share,
                                     GError            **error);

G_END_DECLS
