/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-evaluate.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INFER_BATCH 64

gboolean
gradus_run_evaluation (GradusTrainer       *trainer,
                       GradusExecution     *execution,
                       GradusCompiled      *compiled,
                       const GradusBinding *binding,
                       GradusBatchSource   *source,
                       GradusSums          *sums,
                       GError             **error)
{
  const GradusBatch *batch;
  GError            *inner = NULL;
  double             penalty = 0;
  float              value = 0;

  gradus_sums_reset (sums, compiled);
  if (!source->funcs->seek (source, 0, 0, error))
    return FALSE;
  while ((batch = source->funcs->next (source, &inner)) != NULL)
    {
      if (trainer != NULL)
        gradus_trainer_take_urgent (trainer);
      if (trainer != NULL && trainer->stop)
        return TRUE;
      if (batch->n_samples == 0)
        continue;
      if (!gradus_check_labels (compiled, binding, batch, error) ||
          !gradus_set_batch (execution, compiled, binding, batch, error) ||
          !gradus_execution_run (execution, gradus_binding_sizes (binding, batch), 0, 0, error) ||
          !gradus_sums_read (compiled, execution, error))
        return FALSE;
      gradus_sums_add (sums, compiled);
      if (compiled->penalty != GRADUS_NO_VALUE &&
          !gradus_execution_read (execution, compiled->penalty, &value, sizeof value, error))
        return FALSE;
      penalty += value * batch->n_samples;
      sums->samples += batch->n_samples;
    }
  sums->loss = sums->samples > 0
                   ? gradus_total_loss (compiled, sums->values) * (double) sums->samples + penalty
                   : 0;
  if (inner == NULL)
    return TRUE;
  g_propagate_error (error, inner);
  return FALSE;
}

/* A store and an execution of an evaluation or inference program with a checkpoint's weights. */
typedef struct
{
  GradusModel     *model;
  GradusCompiled   compiled;
  GradusPlan      *plan;
  GradusVariables *variables;
  GradusExecution *execution;
} Session;

static void
session_clear (Session *self)
{
  g_clear_pointer (&self->execution, gradus_execution_free);
  g_clear_pointer (&self->variables, gradus_variables_free);
  g_clear_pointer (&self->plan, gradus_plan_unref);
  gradus_compiled_clear (&self->compiled);
  g_clear_pointer (&self->model, gradus_model_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Session, session_clear)

static gboolean
session_start (Session *self, GradusCheckpoint *checkpoint, GradusDevice *device, GradusSizes max, GError **error)
{
  return (self->plan = gradus_plan_new (self->compiled.program, max, error)) != NULL &&
         (self->variables = gradus_variables_new (self->compiled.program, device, error)) != NULL &&
         gradus_checkpoint_restore (checkpoint, self->variables, FALSE, error) &&
         (self->execution = gradus_execution_new (self->plan, self->variables, device, error)) !=
             NULL;
}

static void
take_evaluation (GradusEvaluation *result, const GradusCompiled *compiled, const GradusSums *sums)
{
  int          accuracy = gradus_scores_accuracy (compiled);
  GradusScores scores;

  gradus_scores_init (&scores, compiled);
  gradus_scores_take (&scores, compiled, sums);
  *result = (GradusEvaluation){ .samples = sums->samples,
                                .loss = scores.loss,
                                .accuracy = accuracy >= 0 ? scores.values[accuracy] : NAN,
                                .names = g_new0 (char *, compiled->n_scores + 1),
                                .values = g_new (double, compiled->n_scores) };
  for (guint i = 0; i < compiled->n_scores; i++)
    if (!compiled->scores[i].hidden)
      {
        result->names[result->n] = g_strdup (compiled->scores[i].name);
        result->values[result->n++] = scores.values[i];
      }
  g_free (scores.values);
}

void
gradus_evaluation_clear (GradusEvaluation *self)
{
  g_clear_pointer (&self->names, g_strfreev);
  g_clear_pointer (&self->values, g_free);
}

gboolean
gradus_evaluate (GradusCheckpoint     *checkpoint,
                 GradusTrainerOptions *options,
                 GradusDevice         *device,
                 GradusBatchSource    *source,
                 GradusEvaluation     *result,
                 GError              **error)
{
  g_auto (Session) session = { 0 };
  GradusBinding binding;
  GradusSums    sums = { 0 };
  gboolean      ok;

  if ((session.model = gradus_checkpoint_model (checkpoint, error)) == NULL ||
      !gradus_binding_new (&binding, session.model, source, error) ||
      !gradus_compile_evaluate (&session.compiled, session.model, options, &binding, error) ||
      !session_start (&session, checkpoint, device,
                      gradus_sizes (source->funcs->batch_size (source), binding.time), error))
    return FALSE;
  gradus_sums_init (&sums, &session.compiled);
  ok = gradus_run_evaluation (NULL, session.execution, &session.compiled, &binding, source, &sums,
                              error);
  if (ok)
    take_evaluation (result, &session.compiled, &sums);
  gradus_sums_clear (&sums);
  return ok;
}

static gint64
row_count (GradusShape shape, gint64 time)
{
  shape = gradus_shape_bind (&shape, gradus_sizes (1, time));
  return gradus_shape_count (&shape);
}

static gboolean
infer_batch (Session           *session,
             const void *const *inputs,
             const GradusDType *dtypes,
             gint64             first,
             gint64             n,
             gint64             time,
             float            **outputs,
             GError           **error)
{
  for (guint i = 0; i < session->compiled.n_inputs; i++)
    {
      GradusShape   shape;
      gsize         row;

      gradus_model_input (session->model, i, &shape, NULL);
      row = row_count (shape, time) * gradus_dtype_size (dtypes[i]);
      if (session->compiled.inputs[i] != GRADUS_NO_VALUE &&
          !gradus_execution_set_input (session->execution, session->compiled.inputs[i],
                                       (const char *) inputs[i] + first * row, gradus_sizes (n, time), error))
        return FALSE;
    }
  if (!gradus_execution_run (session->execution, gradus_sizes (n, time), 0, 0, error))
    return FALSE;
  for (guint i = 0; i < gradus_model_n_outputs (session->model); i++)
    {
      GradusShape shape;
      gint64      row;

      gradus_model_output (session->model, i, &shape);
      row = row_count (shape, time);
      if (!gradus_execution_read (session->execution, session->compiled.predictions[i],
                                  outputs[i] + first * row, n * row * sizeof (float), error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
allocate_outputs (GradusModel *model, gint64 n_samples, gint64 time, float **outputs, GError **error)
{
  for (guint i = 0; i < gradus_model_n_outputs (model); i++)
    {
      GradusShape shape;
      gsize       bytes;

      gradus_model_output (model, i, &shape);
      if (__builtin_mul_overflow (row_count (shape, time) * sizeof (float), (gsize) n_samples, &bytes) ||
          (outputs[i] = g_try_malloc (MAX (1, bytes))) == NULL)
        {
          g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                               _("There is no memory for all predictions. Use fewer samples at a "
                                 "time."));
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
gradus_infer (GradusCheckpoint  *checkpoint,
              GradusDevice      *device,
              const void *const *inputs,
              const GradusDType *dtypes,
              gint64             n_samples,
              gint64             time,
              float            **outputs,
              GError           **error)
{
  g_auto (Session) session = { 0 };
  gboolean ok;

  g_return_val_if_fail (n_samples >= 0 && time >= 1, FALSE);
  if ((session.model = gradus_checkpoint_model (checkpoint, error)) == NULL ||
      !gradus_compile_infer (&session.compiled, session.model, dtypes, error) ||
      !session_start (&session, checkpoint, device, gradus_sizes (INFER_BATCH, time), error))
    return FALSE;
  memset (outputs, 0, gradus_model_n_outputs (session.model) * sizeof (float *));
  ok = allocate_outputs (session.model, n_samples, time, outputs, error);
  for (gint64 first = 0; ok && first < n_samples; first += INFER_BATCH)
    ok = infer_batch (&session, inputs, dtypes, first, MIN (INFER_BATCH, n_samples - first),
                      time, outputs, error);
  for (guint i = 0; !ok && i < gradus_model_n_outputs (session.model); i++)
    g_clear_pointer (&outputs[i], g_free);
  return ok;
}
