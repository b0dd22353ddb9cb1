/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>

/* What the host makes of the targets of a batch before the program reads them. */

static double
number_at (const void *data, GradusDType dtype, gint64 i)
{
  switch (dtype)
    {
    case GRADUS_DTYPE_FLOAT32:
      return ((const float *) data)[i];
    case GRADUS_DTYPE_FLOAT64:
      return ((const double *) data)[i];
    case GRADUS_DTYPE_INT32:
      return ((const gint32 *) data)[i];
    case GRADUS_DTYPE_INT64:
      return (double) ((const gint64 *) data)[i];
    case GRADUS_DTYPE_UINT8:
    case GRADUS_DTYPE_BOOL:
      return ((const guint8 *) data)[i];
    case GRADUS_N_DTYPES:
      break;
    }
  g_assert_not_reached ();
}

/* -1 for what is no whole number in range, unless it is the class to ignore. */
static gint64
label_at (const void *data, GradusDType dtype, gint64 i)
{
  double x = number_at (data, dtype, i);

  return fabs (x) < G_MAXINT32 && x == floor (x) ? (gint64) x : G_MININT64;
}

static gboolean
check_head (const GradusCompiledHead *head, GradusDType dtype, const void *targets, const GradusBatch *batch, GError **error)
{
  for (gint64 i = 0; head->n_classes > 0 && i < batch->n_samples * head->n_labels; i++)
    {
      gint64 label = label_at (targets, dtype, i), sample = i / head->n_labels;

      if ((label >= 0 && label < head->n_classes) ||
          (head->ignores && label == head->ignore_class))
        continue;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("Sample %" PRId64 " has the label %" PRId64 ", but the model has %" PRId64
                      " outputs, for labels 0 to %" PRId64
                      ". Correct the label, or give the last layer more units."),
                   batch->samples ? batch->samples[sample] : sample, MAX (label, -G_MAXINT32),
                   head->n_classes, head->n_classes - 1);
      return FALSE;
    }
  return TRUE;
}

gboolean
gradus_check_labels (const GradusCompiled *compiled,
                     const GradusBinding  *binding,
                     const GradusBatch    *batch,
                     GError              **error)
{
  for (guint i = 0; i < compiled->n_heads; i++)
    if (!check_head (&compiled->heads[i], binding->targets[i].dtype,
                     batch->targets[binding->target_order[i]], batch, error))
      return FALSE;
  return TRUE;
}

/* The class that row @row of the batch is of; of one output, 1 above one half. */
static gint64
class_of (const GradusCompiledHead *head, const void *targets, GradusDType dtype, gint64 row)
{
  gint64 n = head->columns, best = 0;

  if (head->n_classes > 0)
    return label_at (targets, dtype, row);
  if (n == 1)
    return number_at (targets, dtype, row) > 0.5;
  for (gint64 c = 1; c < n; c++)
    if (number_at (targets, dtype, row * n + c) > number_at (targets, dtype, row * n + best))
      best = c;
  return best;
}

static void
grow (GradusCompiledHead *head, gint64 samples)
{
  if (samples <= head->room)
    return;
  head->room = samples;
  if (head->weight != GRADUS_NO_VALUE)
    head->weights = g_renew (float, head->weights, samples * head->rows);
  if (head->ignores)
    {
      head->valids = g_renew (float, head->valids, samples * head->rows);
      head->labels = g_renew (gint32, head->labels, samples * head->rows);
    }
}

static void
weigh (const GradusCompiled *compiled, GradusCompiledHead *head, const void *targets, GradusDType dtype, const GradusBatch *batch)
{
  for (gint64 row = 0; row < batch->n_samples * head->rows; row++)
    {
      double weight = batch->weights != NULL ? batch->weights[row / head->rows] : 1;

      if (compiled->class_weights != NULL)
        {
          gint64 c = class_of (head, targets, dtype, row);

          weight *= c >= 0 && c < compiled->n_class_weights ? compiled->class_weights[c] : 1;
        }
      head->weights[row] = (float) weight;
    }
}

static void
leave_out (GradusCompiledHead *head, const void *targets, GradusDType dtype, const GradusBatch *batch)
{
  for (gint64 row = 0; row < batch->n_samples * head->rows; row++)
    {
      gint64 label = label_at (targets, dtype, row);

      head->valids[row] = label != head->ignore_class;
      head->labels[row] = label != head->ignore_class ? (gint32) label : 0;
    }
}

static gboolean
set_head (GradusExecution *execution, GradusCompiled *compiled, guint i, const GradusBinding *binding, const GradusBatch *batch, GError **error)
{
  GradusCompiledHead *head = &compiled->heads[i];
  const void         *targets = batch->targets[binding->target_order[i]];
  GradusDType         dtype = binding->targets[i].dtype;
  GradusSizes         sizes = gradus_binding_sizes (binding, batch);

  grow (head, batch->n_samples);
  if (head->weight != GRADUS_NO_VALUE)
    weigh (compiled, head, targets, dtype, batch);
  if (head->ignores)
    leave_out (head, targets, dtype, batch);
  return gradus_execution_set_input (execution, head->target, head->ignores ? head->labels : targets,
                                     sizes, error) &&
         (head->weight == GRADUS_NO_VALUE ||
          gradus_execution_set_input (execution, head->weight, head->weights, sizes, error)) &&
         (head->valid == GRADUS_NO_VALUE ||
          gradus_execution_set_input (execution, head->valid, head->valids, sizes, error));
}

gboolean
gradus_set_batch (GradusExecution     *execution,
                  GradusCompiled      *compiled,
                  const GradusBinding *binding,
                  const GradusBatch   *batch,
                  GError             **error)
{
  GradusSizes sizes = gradus_binding_sizes (binding, batch), given = sizes;

  if (batch->time > 0 && binding->time > 1)
    given.time = batch->time;
  for (guint i = 0; i < compiled->n_inputs; i++)
    if (compiled->inputs[i] != GRADUS_NO_VALUE &&
        !gradus_execution_set_sequence (execution, compiled->inputs[i], batch->inputs[binding->order[i]], given,
                                        sizes.time, binding->padding[i], error))
      return FALSE;
  for (guint i = 0; i < compiled->n_heads; i++)
    if (!set_head (execution, compiled, i, binding, batch, error))
      return FALSE;
  return TRUE;
}

gboolean
gradus_balance_classes (GradusCompiled *compiled, const GradusBinding *binding, GradusBatchSource *source, GError **error)
{
  GradusCompiledHead *head = &compiled->heads[0];
  g_autofree gint64  *counts = g_new0 (gint64, compiled->n_class_weights);
  const GradusBatch  *batch;
  GError             *inner = NULL;
  gint64              total = 0, met = 0;

  if (!source->funcs->seek (source, 0, 0, error))
    return FALSE;
  while ((batch = source->funcs->next (source, &inner)) != NULL)
    for (gint64 row = 0; row < batch->n_samples * head->rows; row++)
      {
        gint64 c = class_of (head, batch->targets[binding->target_order[0]],
                             binding->targets[0].dtype, row);

        if (c < 0 || c >= compiled->n_class_weights)
          continue;
        met += counts[c]++ == 0;
        total++;
      }
  for (guint c = 0; c < compiled->n_class_weights; c++)
    compiled->class_weights[c] = counts[c] > 0 ? (double) total / ((double) met * (double) counts[c])
                                               : 1;
  if (inner == NULL)
    return TRUE;
  g_propagate_error (error, inner);
  return FALSE;
}
