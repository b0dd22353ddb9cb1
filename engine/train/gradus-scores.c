/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <math.h>
#include <string.h>

void
gradus_sums_init (GradusSums *self, const GradusCompiled *compiled)
{
  self->values = g_new (double, MAX (1, compiled->n_sums));
  gradus_sums_reset (self, compiled);
}

void
gradus_sums_reset (GradusSums *self, const GradusCompiled *compiled)
{
  self->samples = 0;
  self->loss = 0;
  for (guint i = 0; i < compiled->n_sums; i++)
    self->values[i] = 0;
}

void
gradus_sums_clear (GradusSums *self)
{
  g_clear_pointer (&self->values, g_free);
}

gboolean
gradus_sums_read (GradusCompiled *compiled, GradusExecution *execution, GError **error)
{
  for (guint i = 0; i < compiled->n_scores; i++)
    {
      const GradusScore *score = &compiled->scores[i];

      if (!gradus_execution_read (execution, score->sums, compiled->batch_sums + score->offset,
                                  score->n * sizeof (double), error))
        return FALSE;
    }
  return TRUE;
}

void
gradus_sums_add (GradusSums *self, const GradusCompiled *compiled)
{
  for (guint i = 0; i < compiled->n_sums; i++)
    self->values[i] += compiled->batch_sums[i];
}

double
gradus_score_result (const GradusScore *score, const double *sums)
{
  sums += score->offset;
  if (score->metric != NULL)
    return gradus_metric_result (score->metric, sums, score->n);
  return sums[1] > 0 ? sums[0] / sums[1] : NAN;
}

double
gradus_total_loss (const GradusCompiled *compiled, const double *sums)
{
  double total = 0;

  for (guint i = 0; i < compiled->n_scores; i++)
    if (compiled->scores[i].metric == NULL)
      total += compiled->loss_weights[compiled->scores[i].head] *
               gradus_score_result (&compiled->scores[i], sums);
  return total;
}

void
gradus_scores_init (GradusScores *self, const GradusCompiled *compiled)
{
  self->loss = NAN;
  self->values = g_new (double, MAX (1, compiled->n_scores));
  for (guint i = 0; i < compiled->n_scores; i++)
    self->values[i] = NAN;
}

void
gradus_scores_take (GradusScores *self, const GradusCompiled *compiled, const GradusSums *sums)
{
  self->loss = sums->samples > 0 ? sums->loss / (double) sums->samples : NAN;
  for (guint i = 0; i < compiled->n_scores; i++)
    self->values[i] = sums->samples > 0 ? gradus_score_result (&compiled->scores[i], sums->values)
                                        : NAN;
}

int
gradus_scores_accuracy (const GradusCompiled *compiled)
{
  for (guint i = 0; i < compiled->n_scores; i++)
    if (compiled->scores[i].metric != NULL &&
        compiled->scores[i].metric->klass->kind <= GRADUS_METRIC_BINARY)
      return (int) i;
  return -1;
}

gboolean
gradus_scores_find (const GradusCompiled *compiled, const char *name, int *index)
{
  *index = -1;
  for (guint i = 0; i < compiled->n_scores; i++)
    if (!compiled->scores[i].hidden && g_str_equal (compiled->scores[i].name, name))
      *index = (int) i;
  return *index >= 0 || g_str_equal (name, "loss");
}
