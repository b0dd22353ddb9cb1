/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"
#include "gradus-observer.h"
#include "model/gradus-model.h"
#include "passes/gradus-passes.h"

G_BEGIN_DECLS

/**
 * GradusTrainerOptions:
 *
 * The recipe's `compile`, `fit`, `log` and `checkpoints` objects, read and checked. The names and
 * defaults are Keras's. Owned by the caller; plain strings are owned by the options.
 */
typedef struct _GradusTrainerOptions GradusTrainerOptions;

/**
 * gradus_trainer_options_new:
 * @compile, @fit, @log, @checkpoints: the recipe's objects; NULL for all defaults (compile must
 *   have an optimizer and a loss)
 * @origin: file name for messages
 *
 * Fails with GRADUS_ERROR_REFUSED naming @origin, the JSON pointer ("/compile/optimizer/class_name")
 * and what would be right. A key of the recipe's reference that this version cannot do is refused
 * as such, never ignored. @normalized (out, optional, transfer full): an object with the four
 * members, all defaults written in.
 */
GradusTrainerOptions *gradus_trainer_options_new  (JsonObject *compile,
                                                   JsonObject *fit,
                                                   JsonObject *log,
                                                   JsonObject *checkpoints,
                                                   const char *origin,
                                                   JsonObject **normalized,
                                                   GError    **error);
void                  gradus_trainer_options_free (GradusTrainerOptions *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusTrainerOptions, gradus_trainer_options_free)
gint64                gradus_trainer_options_epochs  (GradusTrainerOptions *options);
guint                 gradus_trainer_options_threads (GradusTrainerOptions *options); /* 0: default */
const char           *gradus_trainer_options_device  (GradusTrainerOptions *options); /* NULL: best */

typedef struct _GradusTrainer GradusTrainer;

/**
 * GradusTrainerConfig:
 * @model, @options, @device: borrowed until gradus_trainer_free
 * @train, @validation, @test: borrowed; validation and test may be NULL. The test set is evaluated
 *   once, after the last step, and chooses nothing.
 * @observer: borrowed; NULL to record nothing (the results are the same)
 * @workspace, @checkpoint_folder: absolute path of the workspace, and of the run's folder relative to
 *   it ("checkpoints/<uuid>"), made when needed; NULL writes no checkpoints
 * @extras: JSON object that is put into each checkpoint: deterministic pipeline stages, class
 *   names, recipe; may be NULL
 * @available: bytes that a run may take, for a memory budget in percent; 0: unknown
 * @resume: absolute path of a checkpoint to go on from, or NULL
 */
typedef struct
{
  GradusModel          *model;
  GradusTrainerOptions *options;
  GradusDevice         *device;
  GradusBatchSource    *train;
  GradusBatchSource    *validation;
  GradusBatchSource    *test;
  GradusObserver       *observer;
  guint64               seed;
  const char           *workspace;
  const char           *checkpoint_folder;
  JsonObject           *extras;
  const char           *resume;
  gint64                available;
} GradusTrainerConfig;

typedef struct
{
  gint64 variables, optimizer, step, io, scratch, checkpoint; /* bytes of our arenas */
  gint64 total;
  gint64 lower_bound;
  gint64 budget; /* that the recipe gives the total; 0: none */
  GradusRematerialize rematerialized;
  double              price; /* the work that a step does twice for it, as a share of all its work */
} GradusTrainerMemory;

/* Builds programs and plans and prepares kernels, allocates nothing large. Fails with
 * GRADUS_ERROR_REFUSED where model, data and loss do not fit each other. */
GradusTrainer *gradus_trainer_new  (const GradusTrainerConfig *config, GError **error);
void           gradus_trainer_free (GradusTrainer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusTrainer, gradus_trainer_free)

/* The predicted peak at the source's batch size, known before the first step. */
GradusTrainerMemory gradus_trainer_memory (GradusTrainer *self);
/* The predicted peak if the program of a step were rematerialised so. */
gboolean            gradus_trainer_memory_with (GradusTrainer *self, GradusRematerialize how, GradusTrainerMemory *memory);
/* The predicted total at another batch size; -1 on error. */
gint64              gradus_trainer_memory_at (GradusTrainer *self, guint batch_size);
/* Rows of the model summary with their memory filled in. */
GradusLayerSummary  gradus_trainer_layer (GradusTrainer *self, guint i);
/* Steps of an epoch: its batches, those that are accumulated counted once. */
gint64              gradus_trainer_steps_per_epoch (GradusTrainer *self);
/**
 * gradus_trainer_warning:
 * @subject: (out) (optional): the layer or option that it is about
 *
 * What a person should know before the run: that accumulated batches are not equal to a large one,
 * because of a layer that looks at its batch, or of masks of several heads. English, as in the log,
 * where the run says it too; NULL: nothing.
 */
const char         *gradus_trainer_warning (GradusTrainer *self, const char **subject);
/* The training program after the passes and its plan as text; free with g_free. */
char               *gradus_trainer_program_text (GradusTrainer *self);
char               *gradus_trainer_plan_text (GradusTrainer *self);

/**
 * gradus_trainer_run:
 *
 * Trains on the calling thread until done, stopped or failed. Returns the last status:
 * GRADUS_RUN_FINISHED, _STOPPED or _FAILED (with @error set). Every status change goes to the observer
 * as well.
 */
GradusRunStatus gradus_trainer_run (GradusTrainer *self, GError **error);

/* Whether steps are recorded from here on; they are until this says otherwise. Off leaves out all
 * that recording a step costs, to measure it. On the thread that trains, between two steps (the
 * batch source's next() is). */
void gradus_trainer_set_recording (GradusTrainer *self, gboolean recording);

typedef enum
{
  GRADUS_COMMAND_PAUSE,
  GRADUS_COMMAND_RESUME,
  GRADUS_COMMAND_STEP,       /* one step, then paused again; running: pauses after it */
  GRADUS_COMMAND_STOP,       /* stop and keep: a checkpoint, then status stopped */
  GRADUS_COMMAND_CHECKPOINT, /* now, between two steps */
  GRADUS_COMMAND_SET,        /* a live option */
} GradusCommandType;

/**
 * gradus_trainer_post:
 * @value: of SET. A learning_rate stands in the place of schedule and warm-up, and of what
 *   reduce_on_plateau made of it, until NaN gives it back to them.
 * @id: the log's id of the command, given back by the observer's command_taken; 0 for none
 * @option: of SET: "learning_rate", "clip", "momentum", "dropout", "weight_decay", "batch_size",
 *   "threads", "loss_weights/<head>"
 *
 * Any thread. Taken between two steps, in order. An option that does not exist or a value out of range is
 * answered by command_taken with an error.
 */
void gradus_trainer_post (GradusTrainer    *self,
                          GradusCommandType type,
                          gint64            id,
                          const char       *option,
                          double            value);

/* Progress for a front end without a log reader (the command line); any thread, cheap. */
typedef struct
{
  GradusRunStatus status;
  gint64          step, n_steps; /* n_steps: planned */
  gint64          epoch, n_epochs; /* epoch in progress, from 1 */
  gint64          step_in_epoch, steps_per_epoch;
  double          loss, accuracy; /* running means of this epoch; NaN if unknown */
  double          validation_loss, validation_accuracy; /* last; NaN if none */
  double          test_loss, test_accuracy;
  double          samples_per_second;
  double          seconds_left;
} GradusTrainerProgress;
void gradus_trainer_progress (GradusTrainer *self, GradusTrainerProgress *progress);

G_END_DECLS
