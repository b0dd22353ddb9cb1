/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-evaluate.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INFER_BATCH 64

static gint64
label_at (const void *data, GradusDType dtype, guint i)
{
  switch (dtype)
    {
    case GRADUS_DTYPE_FLOAT32:
      {
        float x = ((const float *) data)[i];

        return x >= 0 && x < G_MAXINT32 && x == floorf (x) ? (gint64) x : -1;
      }
    case GRADUS_DTYPE_FLOAT64:
      {
        double x = ((const double *) data)[i];

        return x >= 0 && x < G_MAXINT32 && x == floor (x) ? (gint64) x : -1;
      }
    case GRADUS_DTYPE_INT32:
      return ((const gint32 *) data)[i];
    case GRADUS_DTYPE_INT64:
      return ((const gint64 *) data)[i];
    case GRADUS_DTYPE_UINT8:
    case GRADUS_DTYPE_BOOL:
      return ((const guint8 *) data)[i];
    case GRADUS_N_DTYPES:
      break;
    }
  g_assert_not_reached ();
}

gboolean
gradus_check_labels (const GradusCompiled *compiled,
                     const GradusBinding  *binding,
                     const GradusBatch    *batch,
                     GError              **error)
{
  for (guint i = 0; compiled->n_classes > 0 && i < batch->n_samples; i++)
    {
      gint64 label = label_at (batch->targets[0], binding->target.dtype, i);

      if (label >= 0 && label < compiled->n_classes)
        continue;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("Sample %" PRId64 " has the label %" PRId64 ", but the model has %" PRId64
                      " outputs, for labels 0 to %" PRId64
                      ". Correct the label, or give the last layer more units."),
                   batch->samples ? batch->samples[i] : i, label, compiled->n_classes,
                   compiled->n_classes - 1);
      return FALSE;
    }
  return TRUE;
}

gboolean
gradus_set_batch (GradusExecution      *execution,
                  const GradusCompiled *compiled,
                  const GradusBinding  *binding,
                  const GradusBatch    *batch,
                  GError              **error)
{
  for (guint i = 0; i < compiled->n_inputs; i++)
    if (compiled->inputs[i] != GRADUS_NO_VALUE &&
        !gradus_execution_set_input (execution, compiled->inputs[i],
                                     batch->inputs[binding->order[i]], gradus_sizes (batch->n_samples, 1), error))
      return FALSE;
  return gradus_execution_set_input (execution, compiled->target, batch->targets[0],
                                     gradus_sizes (batch->n_samples, 1), error);
}

static gboolean
read_scalar (GradusExecution *execution, GradusValueId id, double *value, GError **error)
{
  float x;

  if (!gradus_execution_read (execution, id, &x, sizeof x, error))
    return FALSE;
  *value = x;
  return TRUE;
}

gboolean
gradus_run_evaluation (GradusTrainer        *trainer,
                       GradusExecution      *execution,
                       const GradusCompiled *compiled,
                       const GradusBinding  *binding,
                       guint                 n_metrics,
                       GradusBatchSource    *source,
                       GradusSums           *sums,
                       GError              **error)
{
  const GradusBatch *batch;
  GError            *inner = NULL;
  double             value;

  *sums = (GradusSums){ 0 };
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
          !gradus_execution_run (execution, gradus_sizes (batch->n_samples, 1), 0, 0, error) ||
          !read_scalar (execution, compiled->loss_sum, &value, error))
        return FALSE;
      sums->loss += value;
      for (guint i = 0; i < n_metrics; i++)
        {
          if (!read_scalar (execution, compiled->correct[i], &value, error))
            return FALSE;
          sums->correct[i] += value;
        }
      sums->samples += batch->n_samples;
    }
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
session_start (Session *self, GradusCheckpoint *checkpoint, GradusDevice *device, gint64 batch, GError **error)
{
  return (self->plan = gradus_plan_new (self->compiled.program, gradus_sizes (batch, 1), error)) != NULL &&
         (self->variables = gradus_variables_new (self->compiled.program, device, error)) != NULL &&
         gradus_checkpoint_restore (checkpoint, self->variables, FALSE, error) &&
         (self->execution = gradus_execution_new (self->plan, self->variables, device, error)) !=
             NULL;
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
  GradusSums    sums;

  if ((session.model = gradus_checkpoint_model (checkpoint, error)) == NULL ||
      !gradus_binding_new (&binding, session.model, source, error) ||
      !gradus_compile_evaluate (&session.compiled, session.model, options, &binding, error) ||
      !session_start (&session, checkpoint, device, source->funcs->batch_size (source), error) ||
      !gradus_run_evaluation (NULL, session.execution, &session.compiled, &binding, options->n_metrics,
                              source, &sums, error))
    return FALSE;
  result->samples = sums.samples;
  result->loss = sums.samples > 0 ? sums.loss / sums.samples : NAN;
  result->accuracy = options->n_metrics > 0 && sums.samples > 0 ? sums.correct[0] / sums.samples
                                                                 : NAN;
  return TRUE;
}

static gint64
row_count (GradusShape shape)
{
  shape = gradus_shape_bind (&shape, gradus_sizes (1, 1));
  return gradus_shape_count (&shape);
}

static gboolean
infer_batch (Session           *session,
             const void *const *inputs,
             const GradusDType *dtypes,
             gint64             first,
             gint64             n,
             float            **outputs,
             GError           **error)
{
  for (guint i = 0; i < session->compiled.n_inputs; i++)
    {
      GradusShape   shape;
      gsize         row;

      gradus_model_input (session->model, i, &shape, NULL);
      row = row_count (shape) * gradus_dtype_size (dtypes[i]);
      if (session->compiled.inputs[i] != GRADUS_NO_VALUE &&
          !gradus_execution_set_input (session->execution, session->compiled.inputs[i],
                                       (const char *) inputs[i] + first * row, gradus_sizes (n, 1), error))
        return FALSE;
    }
  if (!gradus_execution_run (session->execution, gradus_sizes (n, 1), 0, 0, error))
    return FALSE;
  for (guint i = 0; i < gradus_model_n_outputs (session->model); i++)
    {
      GradusShape shape;
      gint64      row;

      gradus_model_output (session->model, i, &shape);
      row = row_count (shape);
      if (!gradus_execution_read (session->execution, session->compiled.predictions[i],
                                  outputs[i] + first * row, n * row * sizeof (float), error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
allocate_outputs (GradusModel *model, gint64 n_samples, float **outputs, GError **error)
{
  for (guint i = 0; i < gradus_model_n_outputs (model); i++)
    {
      GradusShape shape;
      gsize       bytes;

      gradus_model_output (model, i, &shape);
      if (__builtin_mul_overflow (row_count (shape) * sizeof (float), (gsize) n_samples, &bytes) ||
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
              float            **outputs,
              GError           **error)
{
  g_auto (Session) session = { 0 };
  gboolean ok;

  g_return_val_if_fail (n_samples >= 0, FALSE);
  if ((session.model = gradus_checkpoint_model (checkpoint, error)) == NULL ||
      !gradus_compile_infer (&session.compiled, session.model, dtypes, error) ||
      !session_start (&session, checkpoint, device, INFER_BATCH, error))
    return FALSE;
  memset (outputs, 0, gradus_model_n_outputs (session.model) * sizeof (float *));
  ok = allocate_outputs (session.model, n_samples, outputs, error);
  for (gint64 first = 0; ok && first < n_samples; first += INFER_BATCH)
    ok = infer_batch (&session, inputs, dtypes, first, MIN (INFER_BATCH, n_samples - first),
                      outputs, error);
  for (guint i = 0; !ok && i < gradus_model_n_outputs (session.model); i++)
    g_clear_pointer (&outputs[i], g_free);
  return ok;
}
