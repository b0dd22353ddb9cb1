/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>

static void
command_free (gpointer data)
{
  GradusCommand *command = data;

  g_free (command->option);
  g_free (command);
}

void
gradus_trainer_clear_commands (GradusTrainer *self)
{
  g_queue_clear_full (&self->commands, command_free);
}

void
gradus_trainer_post (GradusTrainer    *self,
                     GradusCommandType type,
                     gint64            id,
                     const char       *option,
                     double            value)
{
  GradusCommand *command = g_new (GradusCommand, 1);

  *command = (GradusCommand){ type, id, g_strdup (option), value };
  g_mutex_lock (&self->lock);
  g_queue_push_tail (&self->commands, command);
  g_cond_broadcast (&self->posted);
  g_mutex_unlock (&self->lock);
}

void
gradus_trainer_event (GradusTrainer  *self,
                      GradusEventKind kind,
                      GradusSeverity  severity,
                      const char     *subject,
                      const char     *message,
                      const char     *data)
{
  if (self->config.observer != NULL)
    self->config.observer->funcs->event (self->config.observer, self->step, kind, severity,
                                         subject, message, data);
}

void
gradus_trainer_status (GradusTrainer *self, GradusRunStatus status, const char *message)
{
  g_mutex_lock (&self->lock);
  self->progress.status = status;
  g_mutex_unlock (&self->lock);
  if (self->config.observer != NULL)
    self->config.observer->funcs->status (self->config.observer, self->step, status, message);
}

static void
intervention (GradusTrainer *self, const char *subject, const char *message, const char *data)
{
  gradus_trainer_event (self, GRADUS_EVENT_INTERVENTION, GRADUS_SEVERITY_NOTE, subject, message,
                        data);
}

/* A checkpoint keeps the options, so the one of this step, if it was written, has to be written anew. */
static void
option_changed (GradusTrainer *self, const char *subject, const char *data)
{
  self->checkpoint_stale = TRUE;
  intervention (self, subject, N_("An option was changed while the run was on."), data);
}

void
gradus_trainer_option_changed (GradusTrainer *self, const char *subject, double before, double value)
{
  char from[G_ASCII_DTOSTR_BUF_SIZE], to[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *data = NULL;

  /* In the digits that a float32 has: 0.001, not 0.0010000000474974513. */
  data = g_strdup_printf ("{\"from\": %s, \"to\": %s}",
                          g_ascii_formatd (from, sizeof from, "%.7g", before),
                          isnan (value) ? "null" : g_ascii_formatd (to, sizeof to, "%.7g", value));
  option_changed (self, subject, data);
}

static void
set_hyper (GradusTrainer *self, GradusHyper *hyper, double value)
{
  float before = gradus_execution_get_hyper (self->train_execution, hyper->id);

  gradus_execution_set_hyper (self->train_execution, hyper->id, value);
  gradus_trainer_option_changed (self, hyper->name, before, value);
}

/* Every hyper called @name, or ending in "/@suffix". */
static gboolean
set_hypers (GradusTrainer *self, const char *name, const char *suffix, double value)
{
  gboolean found = FALSE;

  for (guint i = 0; i < self->hypers->len; i++)
    {
      GradusHyper *hyper = &g_array_index (self->hypers, GradusHyper, i);

      if (name != NULL ? g_str_equal (hyper->name, name) : g_str_has_suffix (hyper->name, suffix))
        {
          set_hyper (self, hyper, value);
          found = TRUE;
        }
    }
  return found;
}

static char *
out_of_range (const char *option, double min, double max)
{
  return g_strdup_printf (_("%s must be from %g to %g."), option, min, max);
}

static char *
set_batch_size (GradusTrainer *self, double value)
{
  g_autofree char *data = NULL;

  if (!(value >= 1) || value > self->max_batch || value != floor (value))
    return g_strdup_printf (_("batch_size must be a whole number from 1 to %u, for which the "
                              "memory was planned."),
                            self->max_batch);
  self->pending_batch_size = value;
  data = g_strdup_printf ("{\"from\": %u, \"to\": %u, \"from_epoch\": %" G_GINT64_FORMAT "}",
                          self->batch_size, self->pending_batch_size, self->epoch + 2);
  option_changed (self, "batch_size", data);
  return NULL;
}

static char *
set_threads (GradusTrainer *self, double value)
{
  GradusDevice    *device = self->config.device;
  g_autofree char *data = NULL;

  if (!(value >= 0) || value > 1024 || value != floor (value))
    return out_of_range ("threads", 0, 1024);
  if (device->funcs->set_threads != NULL)
    device->funcs->set_threads (device, value);
  data = g_strdup_printf ("{\"to\": %u}", (guint) value);
  intervention (self, "threads", N_("An option was changed while the run was on."), data);
  return NULL;
}

/* NULL, or why it cannot be done; free with g_free. */
static char *
set_option (GradusTrainer *self, const char *option, double value)
{
  static const struct
  {
    const char *option, *name, *suffix;
    double      min, max;
  } live[] = {
    { "learning_rate", NULL, NULL, 0, 1e6 },
    { "clip", "clip", NULL, 0, 1e30 },
    { "momentum", "momentum", NULL, 0, 1 },
    { "dropout", NULL, "/rate", 0, 0.999 },
    { "weight_decay", "weight_decay", NULL, 0, 1e6 },
  };

  if (option == NULL)
    return g_strdup (N_("No option was named."));
  if (g_str_equal (option, "batch_size"))
    return set_batch_size (self, value);
  if (g_str_has_prefix (option, "loss_weights/"))
    {
      if (!(value >= 0 && value <= 1e6))
        return out_of_range (option, 0, 1e6);
      return set_hypers (self, option, NULL, value)
                 ? NULL
                 : g_strdup_printf (_("This run has no %s to change."), option);
    }
  if (g_str_equal (option, "threads"))
    return set_threads (self, value);
  for (gsize i = 0; i < G_N_ELEMENTS (live); i++)
    {
      if (!g_str_equal (option, live[i].option))
        continue;
      if (i == 0 && isnan (value))
        return gradus_trainer_set_rate (self, value);
      if (!(value >= live[i].min && value <= live[i].max))
        return out_of_range (option, live[i].min, live[i].max);
      if (g_str_equal (option, "clip") && value == 0 && self->options->clip == GRADUS_CLIP_VALUE)
        return g_strdup (N_("Clipping by value cannot be switched off in a run: 0 would make every "
                           "gradient 0."));
      if (i == 0)
        return gradus_trainer_set_rate (self, value);
      if (set_hypers (self, live[i].name, live[i].suffix, value))
        return NULL;
      return g_strdup_printf (_("This run has no %s to change."), option);
    }
  return g_strdup_printf (_("There is no live option “%s”; there are learning_rate, clip, momentum, "
                            "weight_decay, dropout, batch_size and threads."),
                          option);
}

static void
pause_run (GradusTrainer *self)
{
  if (self->paused)
    return;
  self->paused = TRUE;
  intervention (self, "pause", N_("The run was paused."), NULL);
  gradus_trainer_status (self, GRADUS_RUN_PAUSED, NULL);
}

static void
resume_run (GradusTrainer *self)
{
  if (!self->paused)
    return;
  self->paused = FALSE;
  intervention (self, "resume", N_("The run goes on."), NULL);
  gradus_trainer_status (self, GRADUS_RUN_RUNNING, NULL);
}

static char *
checkpoint_now (GradusTrainer *self)
{
  g_autoptr (GError) error = NULL;

  if (self->writer == NULL)
    return g_strdup (N_("This run writes no checkpoints."));
  if (!gradus_trainer_checkpoint (self, FALSE, &error))
    return g_strdup (error->message);
  intervention (self, "checkpoint", N_("A checkpoint was asked for."), NULL);
  return NULL;
}

static char *
take (GradusTrainer *self, GradusCommand *command)
{
  switch (command->type)
    {
    case GRADUS_COMMAND_PAUSE:
      pause_run (self);
      return NULL;
    case GRADUS_COMMAND_RESUME:
      resume_run (self);
      return NULL;
    case GRADUS_COMMAND_STEP:
      intervention (self, "step", N_("One step was asked for."), NULL);
      self->step_once = TRUE;
      return NULL;
    case GRADUS_COMMAND_STOP:
      intervention (self, "stop", N_("The run was stopped and kept."), NULL);
      self->stop = TRUE;
      return NULL;
    case GRADUS_COMMAND_CHECKPOINT:
      return checkpoint_now (self);
    case GRADUS_COMMAND_SET:
      return set_option (self, command->option, command->value);
    }
  g_assert_not_reached ();
}

static void
answer (GradusTrainer *self, GradusCommand *command, const char *problem)
{
  GradusObserver *observer = self->config.observer;

  /* The answer to a command of the log says it there. */
  if (problem != NULL && command->id == 0)
    gradus_trainer_event (self, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_WARNING, command->option,
                          problem, NULL);
  if (observer != NULL)
    observer->funcs->command_taken (observer, command->id, self->step, problem);
}

void
gradus_trainer_take_commands (GradusTrainer *self)
{
  /* A single step that was asked for before is done now. */
  if (self->step_once)
    {
      self->step_once = FALSE;
      if (!self->paused)
        {
          self->paused = TRUE;
          gradus_trainer_status (self, GRADUS_RUN_PAUSED, NULL);
        }
    }
  for (;;)
    {
      GradusCommand   *command;
      g_autofree char *problem = NULL;

      g_mutex_lock (&self->lock);
      while ((command = g_queue_pop_head (&self->commands)) == NULL && self->paused)
        g_cond_wait (&self->posted, &self->lock);
      g_mutex_unlock (&self->lock);
      if (command == NULL)
        return;
      problem = take (self, command);
      answer (self, command, problem);
      command_free (command);
      /* What was posted behind these waits for its turn: after the step, or for the next run. */
      if (self->stop || self->step_once)
        return;
    }
}

void
gradus_trainer_take_stop (GradusTrainer *self)
{
  GradusCommand *command = NULL;

  g_mutex_lock (&self->lock);
  for (GList *l = self->commands.head; l != NULL; l = l->next)
    if (((GradusCommand *) l->data)->type == GRADUS_COMMAND_STOP)
      {
        command = l->data;
        g_queue_delete_link (&self->commands, l);
        break;
      }
  g_mutex_unlock (&self->lock);
  if (command == NULL)
    return;
  take (self, command);
  answer (self, command, NULL);
  command_free (command);
}

/* The first command that may be taken now; @wait: whether nothing ends the pause. */
static GradusCommand *
pop_urgent (GradusTrainer *self, gboolean *wait)
{
  /* A single step that ends an epoch is followed by the values of the epoch. */
  *wait = self->paused && !self->step_once;
  for (GList *l = self->commands.head; l != NULL; l = l->next)
    {
      GradusCommand *command = l->data;

      if (command->type == GRADUS_COMMAND_STEP)
        {
          *wait = FALSE;
          return NULL;
        }
      if (command->type == GRADUS_COMMAND_CHECKPOINT)
        continue;
      g_queue_delete_link (&self->commands, l);
      return command;
    }
  return NULL;
}

void
gradus_trainer_take_urgent (GradusTrainer *self)
{
  while (!self->stop)
    {
      GradusCommand   *command;
      g_autofree char *problem = NULL;
      gboolean         wait;

      g_mutex_lock (&self->lock);
      while ((command = pop_urgent (self, &wait)) == NULL && wait)
        g_cond_wait (&self->posted, &self->lock);
      g_mutex_unlock (&self->lock);
      if (command == NULL)
        return;
      problem = take (self, command);
      answer (self, command, problem);
      command_free (command);
    }
}
