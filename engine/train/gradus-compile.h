/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-options.h"

G_BEGIN_DECLS

/* What a source yields, next to what the model takes. */
typedef struct
{
  guint           n_inputs;
  guint           order[64];  /* of the model's input i: which input of the source */
  GradusDType     dtypes[64]; /* of the model's input i: element type in the data */
  GradusArraySpec target;
} GradusBinding;

/* Fails with GRADUS_ERROR_REFUSED, saying what differs: inputs are matched by name where there are
 * several, and by the count of numbers a sample. */
gboolean gradus_binding_new (GradusBinding     *binding,
                             GradusModel       *model,
                             GradusBatchSource *source,
                             GError           **error);

/**
 * GradusCompiled:
 * @program: after the passes
 * @loss: mean of the batch; @loss_sum: its sum (evaluation)
 * @correct: per metric the sum over the batch
 * @norm: of all gradients before clipping (training)
 * @gradients: parallel to @names: the trained variables (training)
 * @squares: likewise: each gradient's sum of squares
 * @predictions: of a program for inference: the outputs
 */
typedef struct
{
  GradusProgram *program;
  GradusValueId  inputs[64];
  guint          n_inputs;
  GradusValueId  target;
  gint64         n_classes;
  GradusValueId  loss, loss_sum;
  GradusValueId  correct[GRADUS_MAX_METRICS];
  GradusValueId  norm;
  guint          n_gradients;
  char         **names;
  GradusValueId *gradients, *squares;
  GradusValueId *predictions;
} GradusCompiled;

/* forward, loss, gradients, norm (phases forward and backward), then the optimizer's steps and
 * what layers keep (phase update) */
gboolean gradus_compile_train    (GradusCompiled       *self,
                                  GradusModel          *model,
                                  GradusTrainerOptions *options,
                                  const GradusBinding  *binding,
                                  GError              **error);
gboolean gradus_compile_evaluate (GradusCompiled       *self,
                                  GradusModel          *model,
                                  GradusTrainerOptions *options,
                                  const GradusBinding  *binding,
                                  GError              **error);
gboolean gradus_compile_infer    (GradusCompiled    *self,
                                  GradusModel       *model,
                                  const GradusDType *dtypes,
                                  GError           **error);
void     gradus_compiled_clear   (GradusCompiled *self);

G_END_DECLS
