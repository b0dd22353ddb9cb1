/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>

/* The rule: warm-up, then the schedule, which begins with its first step; a rate that was set while
 * the run was on stands in the place of both until it is given back; on top of that the factor of
 * reduce_on_plateau. */
double
gradus_trainer_rate (GradusTrainer *self)
{
  const GradusTrainerOptions *options = self->options;
  const GradusOptimizer      *optimizer = &options->optimizer;
  gint64                      after = self->step - options->warmup_steps;
  double                      rate = optimizer->args[0];

  if (!isnan (self->rate.fixed))
    rate = self->rate.fixed;
  else if (after < 0)
    rate *= (double) (self->step + 1) / options->warmup_steps;
  else if (optimizer->schedule.klass != NULL)
    rate = gradus_schedule_value (&optimizer->schedule, after);
  if (self->rate.factor < 1)
    rate = MAX (rate * self->rate.factor, MIN (rate, options->min_lr));
  return rate;
}

void
gradus_trainer_apply_rate (GradusTrainer *self)
{
  float rate = gradus_trainer_rate (self);

  if (self->rate_hyper != GRADUS_NO_VALUE &&
      gradus_execution_get_hyper (self->train_execution, self->rate_hyper) != rate)
    gradus_execution_set_hyper (self->train_execution, self->rate_hyper, rate);
}

char *
gradus_trainer_set_rate (GradusTrainer *self, double value)
{
  double before = gradus_trainer_rate (self);

  if (isnan (value) && isnan (self->rate.fixed))
    return g_strdup (N_("The learning rate is what the recipe says already."));
  self->rate.fixed = value;
  self->rate.factor = 1;
  gradus_trainer_apply_rate (self);
  /* Null: nobody says by hand what it is. */
  gradus_trainer_option_changed (self, "learning_rate", before, self->rate.fixed);
  return NULL;
}

/* As Keras's ReduceLROnPlateau. */
void
gradus_trainer_reduce_rate (GradusTrainer *self, double value)
{
  GradusRate      *rate = &self->rate;
  char             from[G_ASCII_DTOSTR_BUF_SIZE], to[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *data = NULL;
  double           before = gradus_trainer_rate (self);

  if (rate->cooldown > 0)
    {
      rate->cooldown--;
      rate->watch.waited = 0;
    }
  if (gradus_watch_offer (&rate->watch, value, self->step))
    return;
  if (rate->cooldown > 0)
    rate->watch.waited = 0;
  if (rate->cooldown > 0 || rate->watch.waited < self->options->reduce_patience)
    return;
  rate->watch.waited = 0;
  if (before <= self->options->min_lr)
    return;
  rate->factor *= self->options->reduce_factor;
  rate->cooldown = self->options->cooldown;
  data = g_strdup_printf ("{\"from\": %s, \"to\": %s}",
                          g_ascii_formatd (from, sizeof from, "%.7g", before),
                          g_ascii_formatd (to, sizeof to, "%.7g", gradus_trainer_rate (self)));
  gradus_trainer_event (self, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_NOTE, "learning_rate",
                        N_("The learning rate was reduced: the watched value did not improve."), data);
}
