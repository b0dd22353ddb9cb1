/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include "gradus-pool.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

gboolean
gradus_watch_offer (GradusWatch *self, double value, gint64 step)
{
  double margin = self->is_min ? -self->min_delta : self->min_delta;

  self->waited++;
  if (isnan (value) ||
      (self->seen && !(self->is_min ? value < self->best + margin : value > self->best + margin)))
    return FALSE;
  self->seen = TRUE;
  self->best = value;
  self->step = step;
  self->waited = 0;
  return TRUE;
}

static gboolean
allocate_host (GradusTrainer *self, GError **error)
{
  gsize largest = 1;

  if (self->options->stop_early && self->options->restore_best)
    self->best_weights = g_new0 (float *, gradus_variables_n (self->variables));
  for (guint i = 0; i < gradus_variables_n (self->variables); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;
      gsize              bytes;

      gradus_variables_name (self->variables, i, &role, &type);
      bytes = gradus_shape_count (&type.shape) * gradus_dtype_size (type.dtype);
      largest = MAX (largest, bytes);
      if (self->best_weights != NULL && role < GRADUS_VARIABLE_OPTIMIZER &&
          (self->best_weights[i] = g_try_malloc0 (MAX (1, bytes))) == NULL)
        goto no_memory;
    }
  if ((self->host = g_try_malloc0 (largest)) != NULL &&
      (!self->options->optimizer.use_ema || (self->other = g_try_malloc0 (largest)) != NULL))
    return TRUE;
no_memory:
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                       _("There is no memory left for copies of the weights. Use a smaller model "
                         "or batch."));
  return FALSE;
}

static gsize
variable_bytes (GradusTrainer *self)
{
  gsize bytes = 0;

  for (guint i = 0; i < gradus_variables_n (self->variables); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;

      gradus_variables_name (self->variables, i, &role, &type);
      if (role != GRADUS_VARIABLE_GRADIENT)
        bytes += gradus_shape_count (&type.shape) * gradus_dtype_size (type.dtype);
    }
  return bytes;
}

static gboolean
open_writer (GradusTrainer *self, GError **error)
{
  if (self->config.checkpoint_folder == NULL || self->config.workspace == NULL)
    return TRUE;
  self->writer = gradus_checkpoint_writer_new (self->config.workspace,
                                               self->config.checkpoint_folder,
                                               self->config.observer, self->options->keep,
                                               variable_bytes (self), self->step, error);
  if (self->writer == NULL)
    return FALSE;
  gradus_checkpoint_writer_set_marks (self->writer, self->best.step,
                                      self->best_weights != NULL ? self->stopping.step : -1);
  return TRUE;
}

static gboolean
start (GradusTrainer *self, GError **error)
{
  GradusDevice *device = self->config.device;

  self->variables = gradus_variables_new (self->train.program, device, error);
  if (self->variables == NULL || !allocate_host (self, error) ||
      !(self->train_execution = gradus_execution_new (self->train_plan, self->variables, device,
                                                      error)))
    return FALSE;
  if (self->evaluate_plan != NULL &&
      !(self->evaluate_execution = gradus_execution_new (self->evaluate_plan, self->variables,
                                                         device, error)))
    return FALSE;
  if (!gradus_model_initialize (self->config.model, self->variables, self->config.seed, error) ||
      !gradus_optimizer_initialize (&self->options->optimizer, self->variables, error))
    return FALSE;
  if (self->options->heads.balanced &&
      !gradus_balance_classes (&self->train, &self->binding, self->config.train, error))
    return FALSE;
  if (self->config.resume != NULL && !gradus_trainer_resume (self, error))
    return FALSE;
  return open_writer (self, error);
}

static gint64
count_batches (GradusTrainer *self)
{
  gint64 n = self->config.train->funcs->n_batches (self->config.train);
  gint64 wanted = self->options->steps_per_epoch;

  /* Of steps, not of batches. */
  return wanted > 0 && wanted < n ? MIN (n, wanted * self->options->accumulate) : n;
}

static gboolean
seek (GradusTrainer *self, GError **error)
{
  GradusBatchSource *source = self->config.train;

  if (source->funcs->batch_size (source) != self->batch_size)
    source->funcs->set_batch_size (source, self->batch_size);
  if (!source->funcs->seek (source, self->epoch, self->position, error))
    return FALSE;
  self->n_batches = count_batches (self);
  if (self->n_batches > 0)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("The training data has no batch. Give it more samples, or choose a "
                         "smaller batch."));
  return FALSE;
}

static gboolean
read_float (GradusTrainer *self, GradusValueId id, double *value, GError **error)
{
  float x;

  if (!gradus_execution_read (self->train_execution, id, &x, sizeof x, error))
    return FALSE;
  *value = x;
  return TRUE;
}

/* The key of the random numbers of a batch: each that is put together with others draws its own. */
static guint64
draw_key (GradusTrainer *self, guint batch)
{
  return (guint64) self->step * self->options->accumulate + batch + 1;
}

/* What the loss of the batch is the mean over: its rows that count. With several heads, each with a
 * count of its own, the samples stand for all. */
static double
batch_weight (GradusTrainer *self, const GradusBatch *batch)
{
  return self->train.n_heads == 1 ? self->train.batch_sums[self->train.scores[0].offset + 1]
                                  : batch->n_samples;
}

/* The gradients are weighted by their true counts: what comes out is the mean over all batches. */
static void
set_weights (GradusTrainer *self, double weight, const GradusStepResult *result)
{
  GradusExecution *execution = self->train_execution;
  double           sum = result->weight + weight;

  gradus_execution_set_hyper (execution, self->train.keep, result->batches > 0);
  gradus_execution_set_hyper (execution, self->train.weight, weight);
  gradus_execution_set_hyper (execution, self->train.factor, sum > 0 ? 1 / sum : 0);
}

/* The sums of the batches before this one are in @self. */
static void
add_sums (GradusTrainer *self, const GradusStepResult *result)
{
  for (guint i = 0; i < self->train.n_sums; i++)
    {
      self->step_sums[i] = self->train.batch_sums[i] + (result->batches > 0 ? self->step_sums[i] : 0);
      self->train.batch_sums[i] = self->step_sums[i];
    }
}

static gboolean
read_means (GradusTrainer *self, double weight, GradusStepResult *result, GError **error)
{
  double sum = result->weight + weight, share = sum > 0 ? weight / sum : 0, loss, penalty = 0;

  if (!read_float (self, self->train.norm, &result->norm, error) ||
      !read_float (self, self->train.loss, &loss, error) ||
      (self->train.penalty != GRADUS_NO_VALUE &&
       !read_float (self, self->train.penalty, &penalty, error)))
    return FALSE;
  if (result->batches > 0)
    {
      loss = result->loss + (loss - result->loss) * share;
      penalty = result->penalty + (penalty - result->penalty) * share;
    }
  result->loss = loss;
  result->penalty = penalty;
  result->weight = sum;
  return TRUE;
}

static gboolean
run_phases (GradusTrainer *self, GradusStepResult *result, GradusPhase first, GradusPhase last, GError **error)
{
  gint64 nanoseconds[3];

  if (!gradus_execution_run_phases (self->train_execution, result->sizes, self->config.seed,
                                    result->key, first, last, error))
    return FALSE;
  gradus_execution_times (self->train_execution, nanoseconds);
  for (guint i = 0; i < 3; i++)
    result->phases[i] += nanoseconds[i] / 1e9;
  return TRUE;
}

/* Forward and backward of one of the step's batches, and what they say. */
static gboolean
run_gradients (GradusTrainer *self, const GradusBatch *batch, GradusStepResult *result, GError **error)
{
  GradusExecution *execution = self->train_execution;
  gboolean         several = self->options->accumulate > 1;
  double           weight = batch->n_samples;

  result->n += batch->n_samples;
  result->key = draw_key (self, result->batches);
  result->sizes = gradus_binding_sizes (&self->binding, batch);
  if (self->step_hyper != GRADUS_NO_VALUE)
    gradus_execution_set_hyper (execution, self->step_hyper, self->step + 1);
  if (!gradus_check_labels (&self->train, &self->binding, batch, error) ||
      !gradus_set_batch (execution, &self->train, &self->binding, batch, error) ||
      !run_phases (self, result, GRADUS_PHASE_FORWARD,
                   several ? GRADUS_PHASE_FORWARD : GRADUS_PHASE_BACKWARD, error) ||
      !gradus_sums_read (&self->train, execution, error))
    return FALSE;
  /* How many rows count is known after the forward part alone. */
  if (several)
    {
      weight = batch_weight (self, batch);
      set_weights (self, weight, result);
      add_sums (self, result);
      if (!run_phases (self, result, GRADUS_PHASE_BACKWARD, GRADUS_PHASE_BACKWARD, error))
        return FALSE;
    }
  return read_means (self, weight, result, error);
}

static void
report_nonfinite (GradusTrainer *self, GradusSeverity severity, const char *what, const char *message, const GradusBlame *blame)
{
  g_autofree char *data = g_strdup_printf ("{\"rule\": \"nonfinite\", \"cause\": \"%s\", \"epoch\": %" G_GINT64_FORMAT
                                           ", \"batch\": %" G_GINT64_FORMAT "%s%s}",
                                           what, self->epoch + 1, self->position + 1, blame->data != NULL ? ", " : "",
                                           blame->data != NULL ? blame->data : "");
  g_autofree char *text = blame->log != NULL ? g_strconcat (message, " ", blame->log, NULL) : g_strdup (message);

  gradus_trainer_event (self, GRADUS_EVENT_FINDING, severity, blame->layer != NULL ? blame->layer : what, text, data);
}

static void
set_nonfinite (GradusTrainer *self, gboolean loss_is_bad, const GradusBlame *blame, GError **error)
{
  GError *made;

  if (loss_is_bad)
    made = g_error_new (GRADUS_ERROR, GRADUS_ERROR_NONFINITE,
                        _ ("The loss became infinite or no number in step %" PRId64
                           ". The weights are those before it. Lower the learning rate, clip the "
                           "gradients, or check the data."),
                        self->step + 1);
  else
    made = g_error_new (GRADUS_ERROR, GRADUS_ERROR_NONFINITE,
                        _ ("A gradient became infinite or no number in step %" PRId64
                           ". The weights are those before it. Lower the learning rate, clip the "
                           "gradients, or check the data."),
                        self->step + 1);
  if (blame->told != NULL)
    {
      g_autofree char *before = g_steal_pointer (&made->message);

      made->message = g_strconcat (before, " ", blame->told, NULL);
    }
  g_propagate_error (error, made);
}

/* Whether to take the step all the same; the weights are as they were. */
static gboolean
judge_nonfinite (GradusTrainer *self, const GradusBatch *batch, const GradusStepResult *result, gboolean *take, GError **error)
{
  gboolean    loss_is_bad = !isfinite (result->loss);
  const char *what = loss_is_bad ? "loss" : "gradient";
  gboolean    skips = self->options->on_nonfinite == GRADUS_NONFINITE_SKIP;
  GradusBlame blame;

  *take = TRUE;
  if ((!loss_is_bad && isfinite (result->norm)) ||
      self->options->on_nonfinite == GRADUS_NONFINITE_IGNORE)
    return TRUE;
  if (skips)
    {
      *take = FALSE;
      self->skipped++;
      /* The first, then ever more rarely: a run that skips every step still says so. */
      if ((self->skipped & (self->skipped - 1)) != 0)
        return TRUE;
    }
  gradus_trainer_blame (self, batch, result, draw_key (self, result->batches), &blame);
  if (skips)
    report_nonfinite (self, GRADUS_SEVERITY_WARNING, what,
                      N_("A step was skipped because a value was not finite."), &blame);
  else
    {
      report_nonfinite (self, GRADUS_SEVERITY_ERROR, what,
                        N_("Training stopped because a value was not finite."), &blame);
      set_nonfinite (self, loss_is_bad, &blame, error);
    }
  gradus_blame_clear (&blame);
  return skips;
}

static gboolean
run_update (GradusTrainer *self, GradusStepResult *result, GError **error)
{
  /* What layers keep of a batch was kept with each of several. */
  GradusPhase last = self->options->accumulate == 1 ? GRADUS_PHASE_STATISTICS : GRADUS_PHASE_UPDATE;

  gradus_trainer_apply_rate (self);
  if (!run_phases (self, result, GRADUS_PHASE_UPDATE, last, error))
    return FALSE;
  self->step++;
  self->sums.samples += result->n;
  self->sums.loss += result->loss * result->n;
  gradus_sums_add (&self->sums, &self->train);
  return TRUE;
}

/* The next batch of a step; NULL without an error: the epoch has no further one. */
static const GradusBatch *
next_batch (GradusTrainer *self, GradusStepResult *result, GError **error)
{
  GradusBatchSource *source = self->config.train;
  gint64             begun = g_get_monotonic_time ();
  const GradusBatch *batch = source->funcs->next (source, error);

  result->input_wait += (g_get_monotonic_time () - begun) / 1e6;
  return batch;
}

/* One of the batches of a step: its gradients, and what layers keep of it. */
static gboolean
take_batch (GradusTrainer *self, const GradusBatch *batch, GradusStepResult *result, gboolean *take, GError **error)
{
  if (!run_gradients (self, batch, result, error) || !judge_nonfinite (self, batch, result, take, error))
    return FALSE;
  if (*take && self->options->accumulate > 1 &&
      !run_phases (self, result, GRADUS_PHASE_STATISTICS, GRADUS_PHASE_STATISTICS, error))
    return FALSE;
  result->batches++;
  return TRUE;
}

/* The batches of one step, @accumulate of them or what the epoch still has. @take: FALSE when they
 * are to be left out. */
static gboolean
gather (GradusTrainer *self, GradusStepResult *result, gboolean *more, gboolean *take, GError **error)
{
  *take = TRUE;
  while (*take && result->batches < self->options->accumulate && self->position < self->n_batches)
    {
      g_autoptr (GError) inner = NULL;
      const GradusBatch *batch = next_batch (self, result, &inner);

      if (inner != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&inner));
          return FALSE;
        }
      if ((*more = batch != NULL) == FALSE)
        return TRUE;
      self->position++;
      if (batch->n_samples > 0 && !take_batch (self, batch, result, take, error))
        return FALSE;
    }
  return TRUE;
}

/* One step. @more: FALSE when the epoch has no further batch. */
static gboolean
take_step (GradusTrainer *self, gboolean *more, GError **error)
{
  GradusStepResult result = { .begun = g_get_monotonic_time () };
  gint64           position = self->position;
  gboolean         take;

  if (!gather (self, &result, more, &take, error))
    {
      /* Nothing of the step was taken. */
      self->position = position;
      return FALSE;
    }
  if (!take || result.batches == 0)
    return TRUE;
  if (!run_update (self, &result, error) || !gradus_trainer_record_step (self, &result, error))
    return FALSE;
  gradus_trainer_set_progress (self, &result);
  if (self->options->every > 0 && self->step % self->options->every == 0)
    self->checkpoint_due = TRUE;
  return TRUE;
}

/* The total of an evaluation goes by the weights that training has now. */
static void
take_loss_weights (GradusTrainer *self)
{
  for (guint i = 0; i < self->train.n_heads; i++)
    {
      g_autofree char *name = g_strconcat ("loss_weights/",
                                           gradus_model_output (self->config.model, i, NULL), NULL);
      double           weight = gradus_trainer_live_value (self, name);

      if (!isnan (weight))
        self->evaluate.loss_weights[i] = weight;
    }
}

static gboolean
evaluate (GradusTrainer *self, GradusBatchSource *source, GradusScores *scores, GError **error)
{
  gboolean ok;

  take_loss_weights (self);
  /* Where averages of the weights are kept, they are what is evaluated. */
  if (!gradus_trainer_swap_average (self, error))
    return FALSE;
  ok = gradus_run_evaluation (self, self->evaluate_execution, &self->evaluate, &self->binding, source,
                              &self->evaluated, error);
  if (!gradus_trainer_swap_average (self, ok ? error : NULL) || !ok)
    return FALSE;
  if (!self->stop)
    gradus_scores_take (scores, &self->evaluate, &self->evaluated);
  return TRUE;
}

static double
monitored (GradusTrainer *self, const char *monitor, int score)
{
  const GradusScores *scores = g_str_has_prefix (monitor, "train/") ? &self->last_train
                                                                    : &self->last_validation;

  return score >= 0 ? scores->values[score] : scores->loss;
}

static gboolean
is_validation (const char *monitor)
{
  return g_str_has_prefix (monitor, "validation/");
}

/* The best checkpoint and early stopping, after the values of an epoch are known. */
static gboolean
watch (GradusTrainer *self, gboolean validated, GError **error)
{
  GradusTrainerOptions *options = self->options;

  if (self->watch_best && (validated || !is_validation (options->monitor)) &&
      gradus_watch_offer (&self->best, monitored (self, options->monitor, self->best_score), self->step))
    self->checkpoint_due = self->checkpoint_best = TRUE;
  if (options->reduce && (validated || !is_validation (options->reduce_monitor)))
    gradus_trainer_reduce_rate (self, monitored (self, options->reduce_monitor, self->reduce_score));
  if (!options->stop_early || !(validated || !is_validation (options->stop_monitor)))
    return TRUE;
  if (gradus_watch_offer (&self->stopping, monitored (self, options->stop_monitor, self->stop_score), self->step))
    {
      if (self->best_weights == NULL)
        return TRUE;
      self->checkpoint_due = self->checkpoint_restore = TRUE;
      return gradus_trainer_keep_best (self, error);
    }
  if (self->stopping.waited >= options->patience && self->epoch > 0)
    self->stopped_early = TRUE;
  return TRUE;
}

static gboolean
end_epoch (GradusTrainer *self, GError **error)
{
  gboolean last = self->epoch + 1 == self->options->epochs;
  gboolean validated = self->config.validation != NULL &&
                       (last || (self->epoch + 1) % self->options->validation_every == 0);

  gradus_scores_take (&self->last_train, &self->train, &self->sums);
  if (validated && !evaluate (self, self->config.validation, &self->last_validation, error))
    return FALSE;
  /* Stopped between its last step and its values: resumed, the epoch ends anew. */
  if (self->stop)
    return TRUE;
  if (self->step > 0)
    gradus_trainer_record_epoch (self, validated);
  if (!watch (self, validated, error))
    return FALSE;
  gradus_trainer_set_progress (self, NULL);
  self->epoch++;
  self->position = 0;
  gradus_sums_reset (&self->sums, &self->train);
  if (self->pending_batch_size > 0)
    self->batch_size = self->pending_batch_size;
  self->pending_batch_size = 0;
  if (self->options->every == 0 || self->checkpoint_due || self->stopped_early ||
      self->epoch == self->options->epochs)
    return gradus_trainer_checkpoint (self, FALSE, error);
  return TRUE;
}

/* TRUE: to the end of the epoch, or stop is set. */
static gboolean
run_epoch (GradusTrainer *self, GError **error)
{
  gboolean more = TRUE;

  if (!seek (self, error))
    return FALSE;
  /* The checkpoint of a stop before the values of the epoch gives way to the one that has them. */
  if (self->position >= self->n_batches)
    self->checkpoint_stale = TRUE;
  while (more && self->position < self->n_batches)
    {
      gradus_trainer_take_commands (self);
      if (self->stop)
        return TRUE;
      if (!take_step (self, &more, error))
        return FALSE;
      /* At the end of an epoch its values come first, then the checkpoint. */
      if (self->checkpoint_due && self->position < self->n_batches &&
          !gradus_trainer_checkpoint (self, FALSE, error))
        return self->stop;
    }
  return end_epoch (self, error);
}

static gboolean
restore (GradusTrainer *self, GError **error)
{
  g_autofree char *data = NULL;

  if (self->best_weights == NULL || !self->stopping.seen || self->stopping.step == self->step)
    return TRUE;
  data = g_strdup_printf ("{\"best_step\": %" G_GINT64_FORMAT "}", self->stopping.step);
  if (!gradus_trainer_restore_best (self, error))
    return FALSE;
  self->checkpoint_stale = FALSE;
  gradus_trainer_event (self, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_NOTE, "early_stopping",
                        N_("The best weights were put back."), data);
  return gradus_trainer_checkpoint (self, TRUE, error);
}

static gboolean
finish (GradusTrainer *self, GError **error)
{
  if (self->stopped_early)
    gradus_trainer_event (self, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_NOTE, "early_stopping",
                          N_("Training ended early: the watched value did not improve."), NULL);
  if (!restore (self, error))
    return FALSE;
  if (self->config.test != NULL)
    {
      if (!evaluate (self, self->config.test, &self->last_test, error))
        return FALSE;
      if (self->stop)
        return TRUE;
      if (self->step > 0)
        gradus_trainer_record_test (self);
    }
  gradus_trainer_set_progress (self, NULL);
  return TRUE;
}

static gboolean
train (GradusTrainer *self, GError **error)
{
  while (self->epoch < self->options->epochs && !self->stopped_early)
    {
      g_autoptr (GError) inner = NULL;

      if (run_epoch (self, &inner))
        {
          if (self->stop)
            return gradus_trainer_checkpoint (self, FALSE, error);
          continue;
        }
      /* Whoever cancels the source wants the run to stop and be kept. */
      if (!g_error_matches (inner, GRADUS_ERROR, GRADUS_ERROR_CANCELLED))
        {
          g_propagate_error (error, g_steal_pointer (&inner));
          return FALSE;
        }
      self->stop = TRUE;
      return gradus_trainer_checkpoint (self, FALSE, error);
    }
  return finish (self, error);
}

/* Once a run, not at each time that it goes on. */
static void
warn (GradusTrainer *self)
{
  const char *subject, *message = gradus_trainer_warning (self, &subject);

  if (message != NULL && self->step == 0)
    gradus_trainer_event (self, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_WARNING, subject, message,
                          "{\"rule\": \"accumulate\", \"cause\": \"batch\"}");
}

GradusRunStatus
gradus_trainer_run (GradusTrainer *self, GError **error)
{
  g_autoptr (GError) inner = NULL;
  GradusRunStatus    status;
  gboolean           ok;

  gradus_pool_adopt_thread ();
  ok = start (self, &inner);
  if (ok)
    {
      gradus_trainer_open_series (self);
      gradus_trainer_status (self, GRADUS_RUN_RUNNING, NULL);
      warn (self);
      ok = train (self, &inner);
    }
  if (self->writer != NULL)
    gradus_trainer_wait_writer (self);
  status = !ok && !self->stop ? GRADUS_RUN_FAILED
           : self->stop       ? GRADUS_RUN_STOPPED
                              : GRADUS_RUN_FINISHED;
  gradus_trainer_status (self, status, inner ? inner->message : NULL);
  if (status == GRADUS_RUN_FAILED)
    g_propagate_error (error, g_steal_pointer (&inner));
  return status;
}
