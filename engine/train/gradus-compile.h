/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "passes/gradus-passes.h"
#include "train/gradus-options.h"

G_BEGIN_DECLS

/* What a source yields, next to what the model takes. */
typedef struct
{
  guint           n_inputs;
  guint           order[64];  /* of the model's input i: which input of the source */
  GradusDType     dtypes[64]; /* of the model's input i: element type in the data */
  guint           n_targets;
  guint           target_order[GRADUS_MAX_HEADS]; /* of the model's output i: which target */
  GradusArraySpec targets[GRADUS_MAX_HEADS];      /* of the model's output i */
  gboolean        weighted;                       /* samples have weights */
  gint64          time;        /* the most steps of a sequence; 1 where time is not free */
  gboolean        lengthens;   /* padding changes nothing, so lengths are rounded up to a few */
  double          padding[64]; /* then: what the model's input i is lengthened with */
} GradusBinding;

/* The sizes at which a program runs for @batch. */
GradusSizes gradus_binding_sizes (const GradusBinding *binding, const GradusBatch *batch);

/* Fails with GRADUS_ERROR_REFUSED, saying what differs: inputs and targets are matched by the names
 * of the model's inputs and outputs where there are several, and inputs by the count of numbers a
 * sample. */
gboolean gradus_binding_new (GradusBinding     *binding,
                             GradusModel       *model,
                             GradusBatchSource *source,
                             GError           **error);

/**
 * GradusCompiledHead:
 * @target, @weight, @valid: inputs of the program; the latter two may be GRADUS_NO_VALUE
 * @n_classes: 0 if the targets are no labels; @n_labels: labels a sample
 * @rows, @columns: of a sample's output
 * @weights, @valids, @labels: room for what the host prepares of a batch, grown when needed
 */
typedef struct
{
  GradusValueId target, weight, valid;
  gint64        n_classes, n_labels, rows, columns;
  gboolean      ignores;
  gint64        ignore_class;
  float        *weights, *valids;
  gint32       *labels;
  gint64        room; /* samples */
} GradusCompiledHead;

/**
 * GradusScore:
 * @name: "accuracy", with several heads "digit/accuracy", "digit/loss"; as in a series' name
 * @metric: NULL for the head's loss
 * @hidden: no scalar: a single head's loss, which is that of the model; a confusion matrix, which is
 *   recorded as such
 * @sums: float64 [@n], at @offset of the sums of all
 */
typedef struct
{
  char               *name;
  guint               head;
  const GradusMetric *metric;
  gboolean            hidden;
  GradusValueId       sums;
  guint               n, offset;
} GradusScore;

/**
 * GradusCompiled:
 * @program: after the passes
 * @loss: mean of the batch, of all heads, and what regularisers add (training)
 * @penalty: what regularisers add; GRADUS_NO_VALUE: nothing
 * @keep, @weight, @factor: hypers of a program that accumulates: whether the sum of gradients goes on
 *   (0: begins anew), what the next gradient is multiplied by, and what makes a mean of the sum
 * @scores: losses of heads and metrics; @n_sums: numbers that they keep together
 * @loss_weights: of each head, for the total of an evaluation; the caller may change them
 * @class_weights: by class, for training; NULL for none; of "balanced" the caller fills them
 * @batch_sums: room for the sums of a batch
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
  GradusCompiledHead heads[GRADUS_MAX_HEADS];
  guint          n_heads;
  GradusValueId  loss, penalty;
  GradusValueId  keep, weight, factor;
  GradusScore   *scores;
  guint          n_scores, n_sums;
  double         loss_weights[GRADUS_MAX_HEADS];
  double        *class_weights;
  guint          n_class_weights;
  double        *batch_sums;
  GradusValueId  norm;
  guint          n_gradients;
  char         **names;
  GradusValueId *gradients, *squares;
  GradusValueId *predictions;
} GradusCompiled;

/* forward, loss, gradients, their sum over the batches that are accumulated, norm (phases forward
 * and backward), then the optimizer's steps and constraints (phase update) and what layers keep
 * (phase statistics) */
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
/* gradus_rematerialize() of the program of a training step. */
gboolean gradus_compiled_rematerialize (GradusCompiled     *self,
                                        GradusModel        *model,
                                        GradusRematerialize how,
                                        GradusSizes         sizes,
                                        double             *share,
                                        GError            **error);
void     gradus_compiled_clear   (GradusCompiled *self);

G_END_DECLS
