/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

static gboolean
compile (GradusTrainer *self, GError **error)
{
  GradusModel *model = self->config.model;

  return gradus_binding_new (&self->binding, model, self->config.train, error) &&
         gradus_compile_train (&self->train, model, self->options, &self->binding, error) &&
         gradus_compile_evaluate (&self->evaluate, model, self->options, &self->binding, error);
}

/* The data of all three parts comes from one pipeline and has one form. */
static gboolean
check_source (GradusTrainer *self, GradusBatchSource *source, GError **error)
{
  GradusBinding binding;

  if (source == NULL)
    return TRUE;
  if (!gradus_binding_new (&binding, self->config.model, source, error))
    return FALSE;
  self->binding.time = MAX (self->binding.time, binding.time);
  for (guint i = 0; i < binding.n_inputs; i++)
    if (binding.dtypes[i] != self->binding.dtypes[i] || binding.order[i] != self->binding.order[i])
      {
        g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                             _("The validation or test data has another type than the training "
                               "data. Let both go through the same pipeline."));
        return FALSE;
      }
  for (guint i = 0; i < binding.n_targets; i++)
    if (binding.targets[i].dtype != self->binding.targets[i].dtype ||
        binding.target_order[i] != self->binding.target_order[i])
      {
        g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                             _("The validation or test targets have another type than those of the "
                               "training data. Let both go through the same pipeline."));
        return FALSE;
      }
  return TRUE;
}

static gint64
largest_batch (GradusBatchSource *source)
{
  return source == NULL ? 0 : source->funcs->batch_size (source);
}

/* Bytes of the weights and statistics: what early stopping keeps a copy of. */
static gint64
kept_bytes (GradusTrainer *self)
{
  return self->options->stop_early && self->options->restore_best
             ? gradus_plan_memory (self->train_plan).variables
             : 0;
}

static gint64
gradient_bytes (GradusTrainer *self)
{
  gint64 bytes = 0;

  for (guint i = 0; i < gradus_program_n_values (self->train.program); i++)
    {
      const GradusValue *value = gradus_program_value (self->train.program, i);

      if (value->kind == GRADUS_VALUE_VARIABLE && value->role == GRADUS_VARIABLE_GRADIENT)
        bytes += gradus_shape_count (&value->type.shape) * gradus_dtype_size (value->type.dtype);
    }
  return bytes;
}

static gboolean
add_memory (GradusTrainerMemory *memory, GradusPlan *plan, GradusDevice *device, GError **error)
{
  GradusExecutionMemory needs;

  if (!gradus_execution_predict (plan, device, &needs, error))
    return FALSE;
  memory->step += needs.step;
  memory->io += needs.io;
  memory->scratch += needs.constants + needs.scratch;
  return TRUE;
}

static gboolean
predict (GradusTrainer       *self,
         GradusPlan          *train,
         GradusPlan          *evaluate,
         GradusTrainerMemory *memory,
         GError             **error)
{
  GradusPlanMemory planned = gradus_plan_memory (train);

  *memory = (GradusTrainerMemory){ .variables = planned.variables,
                                   .optimizer = planned.optimizer,
                                   .lower_bound = planned.lower_bound,
                                   .budget = self->options->memory_budget };
  if (memory->budget == 0)
    memory->budget = (gint64) (self->options->memory_share * (double) self->config.available);
  if (self->config.checkpoint_folder != NULL)
    memory->checkpoint = planned.variables + planned.optimizer;
  /* Sums of gradients are in no checkpoint. */
  if (self->config.checkpoint_folder != NULL)
    memory->checkpoint -= gradient_bytes (self);
  memory->checkpoint += kept_bytes (self);
  if (!add_memory (memory, train, self->config.device, error) ||
      (evaluate != NULL && !add_memory (memory, evaluate, self->config.device, error)))
    return FALSE;
  memory->total = memory->variables + memory->optimizer + memory->step + memory->io +
                  memory->scratch + memory->checkpoint;
  return TRUE;
}

/* The plan of @program for the largest batch, and what it needs. */
static GradusPlan *
plan_program (GradusTrainer *self, GradusProgram *program, GradusTrainerMemory *memory, GError **error)
{
  g_autoptr (GradusPlan) made = gradus_plan_new (program, gradus_sizes (self->max_batch, self->binding.time), error);

  if (made == NULL || !predict (self, made, self->evaluate_plan, memory, error))
    return NULL;
  return g_steal_pointer (&made);
}

gboolean
gradus_trainer_memory_with (GradusTrainer *self, GradusRematerialize how, GradusTrainerMemory *memory)
{
  double                    share;
  g_autoptr (GradusProgram) program = NULL;
  g_autoptr (GradusPlan)    made = NULL;

  program = gradus_rematerialize (self->train.program, how, gradus_sizes (self->max_batch, self->binding.time),
                                  &share, NULL);
  made = program != NULL ? plan_program (self, program, memory, NULL) : NULL;
  if (made == NULL)
    return FALSE;
  memory->rematerialized = how;
  memory->price = share;
  return TRUE;
}

static gboolean
rematerialize (GradusTrainer *self, GradusRematerialize how, GError **error)
{
  GradusTrainerMemory memory;
  double              share;

  if (!gradus_compiled_rematerialize (&self->train, self->config.model, how,
                                      gradus_sizes (self->max_batch, self->binding.time), &share, error))
    return FALSE;
  g_clear_pointer (&self->train_plan, gradus_plan_unref);
  self->train_plan = plan_program (self, self->train.program, &memory, error);
  if (self->train_plan == NULL)
    return FALSE;
  self->memory = memory;
  self->memory.rematerialized = how;
  self->memory.price = share;
  return TRUE;
}

/* Under the budget with as little work done twice as will do; the cheap ops first, then segments. */
static gboolean
meet_budget (GradusTrainer *self, GError **error)
{
  const GradusTrainerOptions *options = self->options;
  double                      budget = (double) self->memory.budget;
  GradusTrainerMemory         memory = self->memory;

  if (options->rematerialize == GRADUS_REMAT_SQRT)
    return rematerialize (self, GRADUS_REMATERIALIZE_SQRT, error);
  if (options->rematerialize == GRADUS_REMAT_NONE || budget <= 0 || (double) self->memory.total <= budget)
    return TRUE;
  for (guint how = GRADUS_REMATERIALIZE_CHEAP; how <= GRADUS_REMATERIALIZE_SQRT; how++)
    if (gradus_trainer_memory_with (self, how, &memory) && (double) memory.total <= budget)
      return rematerialize (self, how, error);
  /* It does not: the caller holds the prediction against the budget and says what would. */
  return memory.total < self->memory.total ? rematerialize (self, GRADUS_REMATERIALIZE_SQRT, error) : TRUE;
}

static gboolean
plan (GradusTrainer *self, GError **error)
{
  gint64 evaluated = MAX (largest_batch (self->config.validation), largest_batch (self->config.test));

  self->max_batch = self->batch_size = largest_batch (self->config.train);
  self->train_plan = gradus_plan_new (self->train.program, gradus_sizes (self->max_batch, self->binding.time), error);
  if (self->train_plan == NULL)
    return FALSE;
  if (evaluated > 0 &&
      (self->evaluate_plan = gradus_plan_new (self->evaluate.program, gradus_sizes (evaluated, self->binding.time), error)) == NULL)
    return FALSE;
  return predict (self, self->train_plan, self->evaluate_plan, &self->memory, error) &&
         meet_budget (self, error);
}

static void
find_hypers (GradusTrainer *self)
{
  self->step_hyper = gradus_program_find (self->train.program, "step");
  self->rate_hyper = gradus_program_find (self->train.program, "learning_rate");
  for (guint i = 0; i < gradus_program_n_values (self->train.program); i++)
    {
      const GradusValue *value = gradus_program_value (self->train.program, i);
      GradusHyper        hyper;

      if (value->kind != GRADUS_VALUE_HYPER || value->id == self->step_hyper ||
          value->id == self->train.keep || value->id == self->train.weight ||
          value->id == self->train.factor)
        continue;
      hyper = (GradusHyper){ g_strdup (value->name), value->id };
      g_array_append_val (self->hypers, hyper);
    }
}

static void
find_layers (GradusTrainer *self)
{
  self->layer_of = g_new (guint, self->train.n_gradients);
  for (guint i = 0; i < self->train.n_gradients; i++)
    {
      char *layer = g_path_get_dirname (self->train.names[i]);

      if (!g_ptr_array_find_with_equal_func (self->layer_names, layer, g_str_equal,
                                             &self->layer_of[i]))
        {
          self->layer_of[i] = self->layer_names->len;
          g_ptr_array_add (self->layer_names, layer);
        }
      else
        g_free (layer);
    }
  self->layer_squares = g_new (double, self->layer_names->len);
}

static gboolean
find_watched (GradusTrainer *self, const char *monitor, int *score, GError **error)
{
  const char *name = strchr (monitor, '/') + 1;

  if (gradus_scores_find (&self->evaluate, name, score))
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("There is no series “%s” to watch in this run; write “%s”."), monitor,
               "validation/loss");
  return FALSE;
}

/* "validation/..." can be watched only where there is validation data. */
static gboolean
set_watches (GradusTrainer *self, GError **error)
{
  GradusTrainerOptions *options = self->options;
  gboolean              validated = self->config.validation != NULL;

  if (options->stop_early && !validated && g_str_has_prefix (options->stop_monitor, "validation/"))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("/fit/early_stopping/monitor: “%s” cannot be watched without validation data. "
                     "Add “validation” to the data, or watch “train/loss”."),
                   options->stop_monitor);
      return FALSE;
    }
  if (!find_watched (self, options->monitor, &self->best_score, error) ||
      (options->stop_early &&
       !find_watched (self, options->stop_monitor, &self->stop_score, error)) ||
      (options->reduce &&
       !find_watched (self, options->reduce_monitor, &self->reduce_score, error)))
    return FALSE;
  if (options->reduce && !validated && g_str_has_prefix (options->reduce_monitor, "validation/"))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("/fit/reduce_on_plateau/monitor: “%s” cannot be watched without validation "
                     "data. Add “validation” to the data, or watch “train/loss”."),
                   options->reduce_monitor);
      return FALSE;
    }
  self->rate = (GradusRate){ .fixed = NAN, .factor = 1 };
  self->rate.watch = (GradusWatch){ .step = -1, .min_delta = options->reduce_min_delta };
  if (options->reduce)
    self->rate.watch.is_min = gradus_mode_is_min (options->reduce_mode, options->reduce_monitor);
  self->watch_best = options->best && self->config.checkpoint_folder != NULL &&
                     (validated || !g_str_has_prefix (options->monitor, "validation/"));
  self->best = (GradusWatch){ .is_min = gradus_mode_is_min (options->mode, options->monitor),
                              .step = -1 };
  self->stopping = (GradusWatch){ .step = -1, .min_delta = options->min_delta };
  if (options->stop_early)
    self->stopping.is_min = gradus_mode_is_min (options->stop_mode, options->stop_monitor);
  return TRUE;
}

static void
clear_hyper (gpointer data)
{
  g_free (((GradusHyper *) data)->name);
}

GradusTrainer *
gradus_trainer_new (const GradusTrainerConfig *config, GError **error)
{
  g_autoptr (GradusTrainer) self = g_new0 (GradusTrainer, 1);

  g_return_val_if_fail (config->model != NULL && config->options != NULL, NULL);
  g_return_val_if_fail (config->device != NULL && config->train != NULL, NULL);

  self->config = *config;
  self->options = config->options;
  self->hypers = g_array_new (FALSE, FALSE, sizeof (GradusHyper));
  g_array_set_clear_func (self->hypers, clear_hyper);
  self->layer_names = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&self->lock);
  g_cond_init (&self->posted);
  g_queue_init (&self->commands);
  gradus_process_memory_init (&self->process);
  if (!compile (self, error))
    return NULL;
  gradus_sums_init (&self->sums, &self->train);
  gradus_sums_init (&self->evaluated, &self->evaluate);
  self->step_sums = g_new0 (double, MAX (1, self->train.n_sums));
  gradus_scores_init (&self->last_train, &self->train);
  gradus_scores_init (&self->last_validation, &self->train);
  gradus_scores_init (&self->last_test, &self->train);
  self->accuracy_score = gradus_scores_accuracy (&self->train);
  if (!set_watches (self, error) ||
      !check_source (self, config->validation, error) ||
      !check_source (self, config->test, error) || !plan (self, error))
    return NULL;
  find_hypers (self);
  find_layers (self);
  self->progress = (GradusTrainerProgress){ .status = GRADUS_RUN_QUEUED,
                                            .loss = NAN,
                                            .accuracy = NAN,
                                            .samples_per_second = NAN };
  self->n_batches = config->train->funcs->n_batches (config->train);
  gradus_trainer_set_progress (self, NULL);
  return g_steal_pointer (&self);
}

static void
free_best_weights (GradusTrainer *self)
{
  for (guint i = 0; self->best_weights != NULL && i < gradus_variables_n (self->variables); i++)
    g_free (self->best_weights[i]);
  g_clear_pointer (&self->best_weights, g_free);
}

void
gradus_trainer_free (GradusTrainer *self)
{
  g_clear_pointer (&self->writer, gradus_checkpoint_writer_free);
  free_best_weights (self);
  g_clear_pointer (&self->train_execution, gradus_execution_free);
  g_clear_pointer (&self->evaluate_execution, gradus_execution_free);
  g_clear_pointer (&self->variables, gradus_variables_free);
  g_clear_pointer (&self->train_plan, gradus_plan_unref);
  g_clear_pointer (&self->evaluate_plan, gradus_plan_unref);
  gradus_sums_clear (&self->sums);
  gradus_sums_clear (&self->evaluated);
  g_free (self->step_sums);
  g_free (self->last_train.values);
  g_free (self->last_validation.values);
  g_free (self->last_test.values);
  g_free (self->series.train);
  g_free (self->series.validation);
  gradus_compiled_clear (&self->train);
  gradus_compiled_clear (&self->evaluate);
  g_array_unref (self->hypers);
  g_ptr_array_unref (self->layer_names);
  g_free (self->layer_of);
  g_free (self->layer_squares);
  g_free (self->host);
  g_free (self->other);
  g_free (self->series.weights);
  g_free (self->series.gradients);
  g_free (self->series.layer_norms);
  gradus_process_memory_clear (&self->process);
  gradus_trainer_clear_commands (self);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->posted);
  g_free (self);
}

GradusTrainerMemory
gradus_trainer_memory (GradusTrainer *self)
{
  return self->memory;
}

gint64
gradus_trainer_memory_at (GradusTrainer *self, guint batch_size)
{
  g_autoptr (GradusPlan) train = gradus_plan_new (self->train.program, gradus_sizes (MAX (1, batch_size), self->binding.time), NULL);
  g_autoptr (GradusPlan) evaluate = NULL;
  GradusTrainerMemory memory;

  if (train == NULL)
    return -1;
  if (self->evaluate_plan != NULL &&
      (evaluate = gradus_plan_new (self->evaluate.program, gradus_sizes (MAX (1, batch_size), self->binding.time), NULL)) == NULL)
    return -1;
  return predict (self, train, evaluate, &memory, NULL) ? memory.total : -1;
}

GradusLayerSummary
gradus_trainer_layer (GradusTrainer *self, guint i)
{
  GradusLayerSummary row = gradus_model_layer (self->config.model, i);

  row.memory = gradus_plan_layer_bytes (self->train_plan, row.name);
  return row;
}

gint64
gradus_trainer_steps_per_epoch (GradusTrainer *self)
{
  return self->progress.steps_per_epoch;
}

const char *
gradus_trainer_warning (GradusTrainer *self, const char **subject)
{
  const char *layer = gradus_model_batch_dependent (self->config.model);

  if (subject != NULL)
    *subject = layer != NULL ? layer : "accumulate";
  if (self->options->accumulate == 1)
    return NULL;
  if (layer != NULL)
    return N_("Batches are accumulated, but BatchNormalization looks at each of them alone: this is "
              "not equal to one large batch.");
  for (guint i = 0; self->train.n_heads > 1 && i < self->train.n_heads; i++)
    if (self->train.heads[i].valid != GRADUS_NO_VALUE)
      return N_("Batches are accumulated, but the heads leave out samples each in its own way: this "
                "is not equal to one large batch.");
  return NULL;
}

char *
gradus_trainer_program_text (GradusTrainer *self)
{
  return gradus_program_to_string (self->train.program);
}

char *
gradus_trainer_plan_text (GradusTrainer *self)
{
  return gradus_plan_to_string (self->train_plan);
}

void
gradus_trainer_progress (GradusTrainer *self, GradusTrainerProgress *progress)
{
  g_mutex_lock (&self->lock);
  *progress = self->progress;
  g_mutex_unlock (&self->lock);
}
