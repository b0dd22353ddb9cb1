/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-checkpoint-writer.h"
#include "train/gradus-compile.h"
#include "train/gradus-process-memory.h"
#include "train/gradus-tensor-histogram.h"
#include "train/gradus-trainer.h"

G_BEGIN_DECLS

/* The best of a series so far; both early stopping and the best checkpoint keep one. */
typedef struct
{
  gboolean is_min;
  double   min_delta;
  gboolean seen;
  double   best;
  gint64   step; /* where the best was met */
  gint64   waited; /* values since then */
} GradusWatch;

/* Whether @value is the best so far. */
gboolean gradus_watch_offer (GradusWatch *self, double value, gint64 step);

/* A live option by the name of its hyper. */
typedef struct
{
  char         *name;
  GradusValueId id;
} GradusHyper;

typedef struct
{
  GradusCommandType type;
  gint64            id;
  char             *option;
  double            value;
} GradusCommand;

/* Running sums of an epoch, over true counts. */
typedef struct
{
  gint64  samples;
  double  loss;   /* of each step times its samples (training) */
  double *values; /* GradusCompiled.n_sums */
} GradusSums;

/* What the learning rate follows beside the schedule; in a checkpoint.
 * @fixed: set while the run was on, in the place of schedule and warm-up; NaN: they are followed
 * @factor: what reduce_on_plateau made of it */
typedef struct
{
  double      fixed, factor;
  GradusWatch watch;
  gint64      cooldown; /* epochs still to wait */
} GradusRate;

/* What one step was like; n, losses and norm are those of all its batches. */
typedef struct
{
  guint  n;
  GradusSizes sizes;  /* of the last of its batches */
  guint  batches;     /* of them done */
  guint64 key;        /* of the random numbers of the last of them */
  double weight;      /* of their gradients together: what their losses are means over */
  double penalty;
  double loss, norm;
  double input_wait, phases[3]; /* seconds */
  gint64 begun;                 /* monotonic microseconds */
} GradusStepResult;

/* Handles of the observer's series. */
typedef struct
{
  guint  loss, learning_rate, norm, builds, penalty;
  guint  time_step, time_input, time_phases[3], time_log, throughput;
  guint  host_current, host_peak, device_current, device_peak;
  guint  epoch;
  guint  validation_loss;
  guint *train, *validation; /* per score */
  guint *weights, *gradients; /* per trained variable */
  guint *layer_norms;         /* per layer with trained variables */
} GradusSeries;

/* Values of an epoch; NaN before the first. */
typedef struct
{
  double  loss;
  double *values; /* per score */
} GradusScores;

struct _GradusTrainer
{
  GradusTrainerConfig config;
  GradusTrainerOptions *options;
  GradusBinding       binding;
  GradusCompiled      train, evaluate;
  GradusPlan         *train_plan, *evaluate_plan;
  GradusTrainerMemory memory;
  guint               max_batch;

  GradusVariables *variables;
  GradusExecution *train_execution, *evaluate_execution;
  GArray          *hypers; /* GradusHyper, of the training program */
  GradusValueId    step_hyper, rate_hyper;
  GradusRate       rate;
  GPtrArray       *layer_names; /* with trained variables, in order */
  guint           *layer_of;    /* per trained variable: index into layer_names */
  double          *layer_squares; /* per layer with trained variables, while a step is recorded */
  float           *host;        /* room for the largest trained variable */
  float           *other; /* likewise, where averages of weights are kept */
  float          **best_weights; /* by variable, for restore_best; NULL entries for optimizer state */

  gint64       step, epoch, position, n_batches;
  guint        batch_size, pending_batch_size;
  GradusSums   sums, evaluated;
  double      *step_sums; /* of a step of several batches */
  GradusScores last_train, last_validation, last_test;
  GradusWatch  best, stopping;
  int          best_score, stop_score, reduce_score, accuracy_score; /* -1: the loss; no accuracy */
  gboolean     watch_best;
  gboolean     stopped_early;
  gint64       skipped;
  GradusCheckpointWriter *writer;
  gboolean     checkpoint_due, checkpoint_best, checkpoint_restore;
  gboolean     checkpoint_stale; /* an option was changed since the last one */

  GradusSeries         series;
  GradusProcessMemory  process;
  double               log_seconds;
  gboolean             mute; /* steps are not recorded */
  guint                builds; /* of the training execution, as far as they were told */
  gboolean             paused, stop, step_once;

  GMutex   lock; /* guards what follows */
  GCond    posted;
  GQueue   commands;
  GradusTrainerProgress progress;
  double   step_seconds; /* mean, smoothed */
};

/* gradus-scores.c */
void gradus_sums_init  (GradusSums *self, const GradusCompiled *compiled);
void gradus_sums_reset (GradusSums *self, const GradusCompiled *compiled);
void gradus_sums_clear (GradusSums *self);
/* Those of the last batch into compiled->batch_sums. */
gboolean gradus_sums_read (GradusCompiled *compiled, GradusExecution *execution, GError **error);
/* Adds compiled->batch_sums. */
void   gradus_sums_add (GradusSums *self, const GradusCompiled *compiled);
double gradus_score_result (const GradusScore *score, const double *sums);
/* The losses of all heads times their weights. */
double gradus_total_loss (const GradusCompiled *compiled, const double *sums);
void   gradus_scores_init (GradusScores *self, const GradusCompiled *compiled);
void   gradus_scores_take (GradusScores *self, const GradusCompiled *compiled, const GradusSums *sums);
/* The first of an accuracy; -1 if there is none. */
int    gradus_scores_accuracy (const GradusCompiled *compiled);
/* What a monitor names after “train/” or “validation/”: a score, or -1 for the loss of the model.
 * FALSE if there is no such series. */
gboolean gradus_scores_find (const GradusCompiled *compiled, const char *name, int *index);

/* gradus-trainer-commands.c: between two steps. Waits while paused. Sets stop. */
void gradus_trainer_take_commands (GradusTrainer *self);
/* Only a stop that was posted, whatever stands before it. */
void gradus_trainer_take_stop (GradusTrainer *self);
/* Between two batches of an evaluation: pause, resume, stop and set; what else was posted waits for
 * the next step. Waits while paused, unless a step is asked for. Sets stop. */
void gradus_trainer_take_urgent (GradusTrainer *self);
void gradus_trainer_clear_commands (GradusTrainer *self);
/* An option was changed at a command: the checkpoint of this step is no longer right. */
void gradus_trainer_option_changed (GradusTrainer *self, const char *subject, double from, double to);
void gradus_trainer_status (GradusTrainer *self, GradusRunStatus status, const char *message);
void gradus_trainer_event  (GradusTrainer  *self,
                            GradusEventKind kind,
                            GradusSeverity  severity,
                            const char     *subject,
                            const char     *message,
                            const char     *data);

/* gradus-trainer-rate.c: the learning rate of the update after the present step. */
double   gradus_trainer_rate          (GradusTrainer *self);
void     gradus_trainer_apply_rate    (GradusTrainer *self);
/* At the end of an epoch, with the value of the monitor. */
void     gradus_trainer_reduce_rate   (GradusTrainer *self, double value);
/* A live option; NaN: the schedule is followed again. NULL, or why it cannot be done. */
char    *gradus_trainer_set_rate      (GradusTrainer *self, double value);

/* gradus-trainer-average.c: the weights change places with their averages, where these are kept. */
gboolean gradus_trainer_swap_average  (GradusTrainer *self, GError **error);
/* The averages become what the weights are. */
gboolean gradus_trainer_reset_average (GradusTrainer *self, GError **error);

/* gradus-trainer-blame.c: where a step that is not finite went wrong. */
typedef struct
{
  char       *log, *told; /* the same in English and in the language of this process; NULL: not found */
  char       *data;       /* members of a JSON object */
  const char *layer;      /* NULL: none */
} GradusBlame;

/* Runs the step of @batch once more, op by op, up to the end of the backward pass: the weights are still
 * those before it. @key: of its random numbers. Costs nothing until it is called. */
void     gradus_trainer_blame         (GradusTrainer *self, const GradusBatch *batch, const GradusStepResult *result, guint64 key, GradusBlame *blame);
void     gradus_blame_clear           (GradusBlame *blame);

/* gradus-trainer-record.c */
/* Of a live option; NaN if the run has none of the name. */
double   gradus_trainer_live_value    (GradusTrainer *self, const char *name);
void     gradus_trainer_open_series   (GradusTrainer *self);
gboolean gradus_trainer_record_step   (GradusTrainer *self, const GradusStepResult *result, GError **error);
void     gradus_trainer_record_epoch  (GradusTrainer *self, gboolean validated);
void     gradus_trainer_record_test   (GradusTrainer *self);
/* Batches as steps. */
gint64   gradus_trainer_steps         (GradusTrainer *self, gint64 batches);
void     gradus_trainer_set_progress  (GradusTrainer *self, const GradusStepResult *result);

/* gradus-trainer-state.c */
gboolean gradus_trainer_checkpoint    (GradusTrainer *self, gboolean force, GError **error);
gboolean gradus_trainer_resume        (GradusTrainer *self, GError **error);
gboolean gradus_trainer_keep_best     (GradusTrainer *self, GError **error);
gboolean gradus_trainer_restore_best  (GradusTrainer *self, GError **error);
/* Until nothing is being written. A full disk pauses the run meanwhile, and stop ends the waiting. */
void     gradus_trainer_wait_writer   (GradusTrainer *self);

/* gradus-evaluate.c: @trainer (nullable) takes urgent commands between two batches, and a stop ends
 * the pass early with TRUE. @sums are reset first; their loss is the total. */
gboolean gradus_run_evaluation (GradusTrainer       *trainer,
                                GradusExecution     *execution,
                                GradusCompiled      *compiled,
                                const GradusBinding *binding,
                                GradusBatchSource   *source,
                                GradusSums          *sums,
                                GError             **error);

/* gradus-head-batch.c: labels outside the classes are refused before they are used. */
gboolean gradus_check_labels    (const GradusCompiled *compiled,
                                 const GradusBinding  *binding,
                                 const GradusBatch    *batch,
                                 GError              **error);
gboolean gradus_set_batch       (GradusExecution     *execution,
                                 GradusCompiled      *compiled,
                                 const GradusBinding *binding,
                                 const GradusBatch   *batch,
                                 GError             **error);
/* Class weights that make all classes count alike, by one pass through the first epoch. */
gboolean gradus_balance_classes (GradusCompiled      *compiled,
                                 const GradusBinding *binding,
                                 GradusBatchSource   *source,
                                 GError             **error);

G_END_DECLS
