/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"
#include "train/gradus-checkpoint.h"
#include "train/gradus-trainer.h"

G_BEGIN_DECLS

/**
 * GradusEvaluation:
 * @accuracy: the first metric that is an accuracy; NaN if there is none
 * @names, @values, @n: of each metric, with several heads of their losses too, as in a series' name
 */
typedef struct
{
  gint64  samples;
  double  loss;
  double  accuracy;
  char  **names;
  double *values;
  guint   n;
} GradusEvaluation;

void gradus_evaluation_clear (GradusEvaluation *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GradusEvaluation, gradus_evaluation_clear)

/* @result is set on success; clear it. One pass of @source through the checkpoint's model under the loss and metrics of @options. */
gboolean gradus_evaluate (GradusCheckpoint     *checkpoint,
                          GradusTrainerOptions *options,
                          GradusDevice         *device,
                          GradusBatchSource    *source,
                          GradusEvaluation     *result,
                          GError              **error);

/**
 * gradus_infer:
 * @inputs: per input of the model @n_samples rows of @dtypes[i] and of the input's shape
 * @time: steps of each sequence, where the model leaves them free; else 1
 * @outputs: (out): per output a new array of n_samples rows of float32; free each with g_free
 */
gboolean gradus_infer (GradusCheckpoint  *checkpoint,
                       GradusDevice      *device,
                       const void *const *inputs,
                       const GradusDType *dtypes,
                       gint64             n_samples,
                       gint64             time,
                       float            **outputs,
                       GError           **error);

G_END_DECLS
