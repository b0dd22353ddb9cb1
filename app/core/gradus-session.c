/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-session-private.h"

#include "gradus-json.h"
#include "gradus-log-locale.h"
#include "gradus-translate.h"
#include "log/gradus-log-reader.h"
#include "log/gradus-run.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

G_DEFINE_FINAL_TYPE (GradusSession, gradus_session, G_TYPE_OBJECT)

void
gradus_job_free (GradusJob *job)
{
  if (job == NULL)
    return;
  g_free (job->uuid);
  g_clear_object (&job->recipe);
  g_clear_pointer (&job->lock, gradus_run_lock_release);
  g_free (job);
}

/* How long a run that is told to stop has for its last checkpoint when the session closes. */
#define PATIENCE_US (5 * G_USEC_PER_SEC)

/* The thread --------------------------------------------------------------------------------- */

static gpointer
session_thread (gpointer data)
{
  GradusSession *self = data;

  gradus_log_locale_enter ();
  g_mutex_lock (&self->mutex);
  while (TRUE)
    {
      GradusJob *job = NULL;

      while (!self->closing && g_queue_is_empty (&self->queue))
        g_cond_wait (&self->changed, &self->mutex);
      if (self->closing)
        break;
      job = g_queue_pop_head (&self->queue);
      self->current = job;
      self->stopping = FALSE;
      g_mutex_unlock (&self->mutex);

      gradus_session_run_job (self, job);

      g_mutex_lock (&self->mutex);
      self->current = NULL;
      g_clear_pointer (&self->early, g_ptr_array_unref);
      gradus_job_free (job);
      g_cond_broadcast (&self->changed);
    }
  g_mutex_unlock (&self->mutex);
  return NULL;
}

void
gradus_session_post (GradusSession *self, const GradusCommand *command)
{
  GradusCommand *copy = NULL;

  if (self->trainer != NULL)
    {
      gradus_trainer_post (self->trainer, command->type, command->id, command->option,
                           command->value);
      return;
    }
  if (self->early == NULL)
    self->early = g_ptr_array_new_with_free_func ((GDestroyNotify)gradus_command_free);
  copy = g_memdup2 (command, sizeof *command);
  copy->option = g_strdup (command->option);
  g_ptr_array_add (self->early, copy);
}

/* The log cannot be written, or can be again: the run waits meanwhile. */
static void
on_stalled (gboolean stalled, const char *reason, gpointer data)
{
  GradusSession *self = data;
  GradusProgress progress;
  GradusCommand  command = { .type = stalled ? GRADUS_COMMAND_PAUSE : GRADUS_COMMAND_RESUME };

  g_mutex_lock (&self->mutex);
  if (gradus_session_progress_locked (self, &progress))
    {
      /* A run that somebody paused before stays so. */
      if (stalled && progress.status == GRADUS_RUN_RUNNING)
        {
          self->stalled = TRUE;
          gradus_session_post (self, &command);
        }
      else if (!stalled && self->stalled)
        gradus_session_post (self, &command);
    }
  if (!stalled)
    self->stalled = FALSE;
  g_mutex_unlock (&self->mutex);
  if (self->listener.stalled != NULL)
    self->listener.stalled (stalled, reason != NULL ? gradus_translate (reason) : NULL, self->listener_data);
  if (self->listener.event != NULL && stalled)
    self->listener.event ("", 0, GRADUS_SEVERITY_WARNING, reason, NULL, self->listener_data);
}

/* The log cannot be written for good: the run ends, as failed. */
static void
on_failed (const char *reason, gpointer data)
{
  const GradusCommand stop = { .type = GRADUS_COMMAND_STOP };
  GradusSession      *self = data;

  g_mutex_lock (&self->mutex);
  if (self->current != NULL)
    {
      self->stopping = TRUE;
      gradus_session_post (self, &stop);
    }
  g_mutex_unlock (&self->mutex);
}

/* The object --------------------------------------------------------------------------------- */

static void
gradus_session_init (GradusSession *self)
{
  g_mutex_init (&self->mutex);
  g_cond_init (&self->changed);
  g_queue_init (&self->queue);
}

static void
gradus_session_finalize (GObject *object)
{
  GradusSession *self = GRADUS_SESSION (object);

  gradus_session_close (self);
  g_clear_pointer (&self->workspace, gradus_workspace_unref);
  g_mutex_clear (&self->mutex);
  g_cond_clear (&self->changed);
  G_OBJECT_CLASS (gradus_session_parent_class)->finalize (object);
}

static void
gradus_session_class_init (GradusSessionClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_session_finalize;
}

GradusSession *
gradus_session_new (const char *workspace, GError **error)
{
  g_autoptr (GradusWorkspace) opened = NULL;

  opened = gradus_workspace_open (workspace, GRADUS_WORKSPACE_CREATE, error);
  return opened != NULL ? gradus_session_new_in (opened, error) : NULL;
}

GradusSession *
gradus_session_new_in (GradusWorkspace *workspace, GError **error)
{
  static const GradusRecorderFuncs funcs = { .stalled = on_stalled, .failed = on_failed };
  g_autoptr (GradusSession) self = g_object_new (GRADUS_TYPE_SESSION, NULL);
  g_autoptr (GError) reason = NULL;

  self->workspace = gradus_workspace_ref (workspace);
  self->recorder = gradus_recorder_new (self->workspace, 0, &funcs, self, error);
  if (self->recorder == NULL)
    return NULL;
  self->thread = g_thread_try_new ("trainer", session_thread, self, &reason);
  if (self->thread == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("No thread could be started for training: %s. Close other programs, or raise "
                      "the limits of memory and processes."),
                   reason->message);
      return NULL;
    }
  return g_steal_pointer (&self);
}

void
gradus_session_set_listener (GradusSession               *self,
                             const GradusSessionListener *listener,
                             gpointer                     data)
{
  g_return_if_fail (GRADUS_IS_SESSION (self));
  self->listener = *listener;
  self->listener_data = data;
}

GradusWorkspace *
gradus_session_get_workspace (GradusSession *self)
{
  g_return_val_if_fail (GRADUS_IS_SESSION (self), NULL);
  return self->workspace;
}

/* Queueing ----------------------------------------------------------------------------------- */

static char *
enqueue (GradusSession *self, GradusJob *job)
{
  char *uuid = g_strdup (job->uuid);

  g_mutex_lock (&self->mutex);
  g_queue_push_tail (&self->queue, job);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->mutex);
  return uuid;
}

char *
gradus_session_submit (GradusSession *self, GradusRecipe *recipe, GError **error)
{
  g_autoptr (GradusJob) job = NULL;
  g_autofree char *recipe_text = NULL;
  g_autofree char *model_text = NULL;
  g_autofree char *name = NULL;
  GradusRunSpec    spec = { .unique_name = TRUE, .status = GRADUS_RUN_QUEUED };

  g_return_val_if_fail (GRADUS_IS_SESSION (self) && GRADUS_IS_RECIPE (recipe), NULL);

  job = g_new0 (GradusJob, 1);
  job->recipe = gradus_recipe_copy (recipe);
  recipe_text = gradus_recipe_to_json (recipe, FALSE);
  model_text = gradus_recipe_get_model_json (recipe);
  spec.name = gradus_recipe_get_string (recipe, "name", "run");
  spec.recipe = recipe_text;
  spec.model = model_text;
  spec.seed = gradus_recipe_get_int (recipe, "seed", 0);
  spec.note = gradus_recipe_get_string (recipe, "note", NULL);
  job->run = gradus_run_create (self->workspace, &spec, &job->uuid, &name, error);
  if (job->run == 0)
    return NULL;
  job->lock = gradus_run_lock_take (self->workspace, job->uuid, error);
  if (job->lock == NULL)
    return NULL;
  return enqueue (self, g_steal_pointer (&job));
}

/* The stored recipe of a run, changed by @assignments. */
static GradusRecipe *
stored_recipe (GradusSession     *self,
               GradusLogReader   *reader,
               GradusRunInfo     *info,
               const char *const *assignments,
               GError           **error)
{
  g_autofree char *text = gradus_log_reader_recipe (reader, info->id, error);
  g_autofree char *source = NULL;
  g_autofree char *model = NULL;
  g_autofree char *changed = NULL;
  g_autoptr (GradusRecipe) recipe = NULL;

  if (text == NULL)
    return NULL;
  source = g_strdup_printf (_ ("the recipe of run “%s”"), info->name);
  recipe = gradus_recipe_parse (text, gradus_workspace_path (self->workspace), source, error);
  if (recipe == NULL)
    return NULL;
  model = gradus_recipe_get_model_json (recipe);
  for (guint i = 0; assignments != NULL && assignments[i] != NULL; i++)
    if (!gradus_recipe_assign (recipe, assignments[i], error))
      return NULL;
  changed = gradus_recipe_get_model_json (recipe);
  if (g_strcmp0 (model, changed) != 0)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("Run “%s” goes on with the model it began with; leave the model as it is, or "
                      "train the recipe anew."),
                   info->name);
      return NULL;
    }
  if (info->status == GRADUS_RUN_FINISHED
      && gradus_recipe_get_int (recipe, "fit.epochs", 0) <= (gint64)info->planned_epochs)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("Run “%s” is finished. To train it further, raise fit.epochs above %d."),
                   info->name, (int)info->planned_epochs);
      return NULL;
    }
  return g_steal_pointer (&recipe);
}

gboolean
gradus_session_check_resume (GradusSession     *self,
                             const char        *run,
                             const char *const *assignments,
                             GError           **error)
{
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GradusRunInfo) info = NULL;
  g_autoptr (GradusRecipe) recipe = NULL;
  g_autoptr (GradusPreparation) trial = NULL;
  g_autoptr (GPtrArray) changed = g_ptr_array_new_with_free_func (g_free);
  gint64 id = 0;

  g_return_val_if_fail (GRADUS_IS_SESSION (self) && run != NULL, FALSE);

  id = gradus_run_find (self->workspace, run, NULL, error);
  reader = id != 0 ? gradus_log_reader_new (self->workspace, error) : NULL;
  info = reader != NULL ? gradus_log_reader_run (reader, id, error) : NULL;
  recipe = info != NULL ? stored_recipe (self, reader, info, assignments, error) : NULL;
  trial = recipe != NULL ? gradus_preparation_new (recipe, NULL, error) : NULL;
  if (trial == NULL || !gradus_preparation_check_memory (trial, error)
      || !gradus_preparation_fingerprint (trial, recipe, changed, error))
    return FALSE;
  for (guint i = 0; i < changed->len; i++)
    if (g_str_equal (g_ptr_array_index (changed, i), gradus_part_name (GRADUS_PART_TRAIN)))
      {
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                     _ ("The training data is not what run “%s” began with, so it cannot go on. "
                        "Bring that data back, or train the recipe anew."),
                     info->name);
        return FALSE;
      }
  return TRUE;
}

char *
gradus_session_resume (GradusSession     *self,
                       const char        *run,
                       const char *const *assignments,
                       GError           **error)
{
  g_autoptr (GradusLogReader) reader = NULL;
  g_autoptr (GradusRunInfo) info = NULL;
  g_autoptr (GradusJob) job = NULL;

  g_return_val_if_fail (GRADUS_IS_SESSION (self) && run != NULL, NULL);

  job = g_new0 (GradusJob, 1);
  job->resume = TRUE;
  job->run = gradus_run_find (self->workspace, run, &job->uuid, error);
  if (job->run == 0)
    return NULL;
  /* The lock first: nobody else may write the run from here on. */
  job->lock = gradus_run_lock_take (self->workspace, job->uuid, error);
  if (job->lock == NULL)
    return NULL;
  reader = gradus_log_reader_new (self->workspace, error);
  if (reader == NULL)
    return NULL;
  info = gradus_log_reader_run (reader, job->run, error);
  if (info == NULL)
    return NULL;
  job->recipe = stored_recipe (self, reader, info, assignments, error);
  if (job->recipe == NULL
      || !gradus_run_set_status (self->workspace, job->run, GRADUS_RUN_QUEUED, error))
    return NULL;
  return enqueue (self, g_steal_pointer (&job));
}

/* The mutex is held. */
static GList *
find_queued (GradusSession *self, const char *uuid)
{
  for (GList *l = self->queue.head; l != NULL; l = l->next)
    if (g_strcmp0 (((GradusJob *)l->data)->uuid, uuid) == 0)
      return l;
  return NULL;
}

static GradusJob *
take_queued (GradusSession *self, const char *uuid)
{
  GList     *link = NULL;
  GradusJob *job = NULL;

  g_mutex_lock (&self->mutex);
  link = find_queued (self, uuid);
  if (link != NULL)
    {
      job = link->data;
      g_queue_delete_link (&self->queue, link);
      g_cond_broadcast (&self->changed);
    }
  g_mutex_unlock (&self->mutex);
  return job;
}

gboolean
gradus_session_command (GradusSession *self, const char *run, const char *command, GError **error)
{
  g_autoptr (GradusCommand) parsed = NULL;
  g_autofree char *uuid = NULL;
  gint64           id = 0;

  g_return_val_if_fail (GRADUS_IS_SESSION (self) && run != NULL && command != NULL, FALSE);

  parsed = gradus_command_parse (command, 0, error);
  id = parsed != NULL ? gradus_run_find (self->workspace, run, &uuid, error) : 0;
  if (id == 0)
    return FALSE;
  if (parsed->type == GRADUS_COMMAND_STOP)
    {
      g_autoptr (GradusJob) job = take_queued (self, uuid);

      if (job != NULL)
        return gradus_run_set_status (self->workspace, id, GRADUS_RUN_STOPPED, error);
    }
  return gradus_log_post_command (self->workspace, id, command, error) != 0;
}

char **
gradus_session_get_queue (GradusSession *self)
{
  g_autoptr (GStrvBuilder) builder = NULL;

  g_return_val_if_fail (GRADUS_IS_SESSION (self), NULL);

  builder = g_strv_builder_new ();
  g_mutex_lock (&self->mutex);
  for (GList *l = self->queue.head; l != NULL; l = l->next)
    g_strv_builder_add (builder, ((GradusJob *)l->data)->uuid);
  g_mutex_unlock (&self->mutex);
  return g_strv_builder_end (builder);
}

gboolean
gradus_session_move (GradusSession *self, const char *uuid, guint position)
{
  GList *link = NULL;

  g_return_val_if_fail (GRADUS_IS_SESSION (self), FALSE);

  g_mutex_lock (&self->mutex);
  link = find_queued (self, uuid);
  if (link != NULL)
    {
      g_queue_unlink (&self->queue, link);
      g_queue_push_nth_link (&self->queue, position, link);
    }
  g_mutex_unlock (&self->mutex);
  return link != NULL;
}

/* The run in progress ------------------------------------------------------------------------ */

gboolean
gradus_session_progress_locked (GradusSession *self, GradusProgress *progress)
{
  GradusTrainerProgress now = { 0 };

  memset (progress, 0, sizeof *progress);
  if (self->current == NULL)
    return FALSE;
  now.status = GRADUS_RUN_RUNNING;
  now.loss = now.accuracy = now.validation_loss = now.validation_accuracy = NAN;
  now.test_loss = now.test_accuracy = NAN;
  now.seconds_left = -1;
  if (self->trainer != NULL)
    gradus_trainer_progress (self->trainer, &now);
  g_strlcpy (progress->uuid, self->current->uuid, sizeof progress->uuid);
  progress->status = now.status;
  progress->step = now.step;
  progress->n_steps = now.n_steps;
  progress->epoch = now.epoch;
  progress->n_epochs = now.n_epochs;
  progress->epoch_step = now.step_in_epoch;
  progress->epoch_steps = now.steps_per_epoch;
  progress->loss = now.loss;
  progress->accuracy = now.accuracy;
  progress->validation_loss = now.validation_loss;
  progress->validation_accuracy = now.validation_accuracy;
  progress->test_loss = now.test_loss;
  progress->test_accuracy = now.test_accuracy;
  progress->throughput = now.samples_per_second;
  progress->seconds_left = now.seconds_left;
  return TRUE;
}

gboolean
gradus_session_get_progress (GradusSession *self, GradusProgress *progress)
{
  gboolean on = FALSE;

  g_return_val_if_fail (GRADUS_IS_SESSION (self) && progress != NULL, FALSE);

  g_mutex_lock (&self->mutex);
  on = gradus_session_progress_locked (self, progress);
  g_mutex_unlock (&self->mutex);
  return on;
}

static void
stop_locked (GradusSession *self)
{
  GradusCommand command = { .type = GRADUS_COMMAND_STOP };

  if (self->current == NULL || self->stopping)
    return;
  self->stopping = TRUE;
  gradus_session_post (self, &command);
}

void
gradus_session_stop (GradusSession *self)
{
  g_return_if_fail (GRADUS_IS_SESSION (self));

  g_mutex_lock (&self->mutex);
  stop_locked (self);
  g_mutex_unlock (&self->mutex);
}

void
gradus_session_wait (GradusSession *self)
{
  g_return_if_fail (GRADUS_IS_SESSION (self));

  g_mutex_lock (&self->mutex);
  while (self->current != NULL || !g_queue_is_empty (&self->queue))
    g_cond_wait (&self->changed, &self->mutex);
  g_mutex_unlock (&self->mutex);
}

void
gradus_session_close (GradusSession *self)
{
  const GradusCommand stop = { .type = GRADUS_COMMAND_STOP };
  gint64              end = g_get_monotonic_time () + PATIENCE_US;
  gboolean            told_again = FALSE;

  g_return_if_fail (GRADUS_IS_SESSION (self));

  g_mutex_lock (&self->mutex);
  self->closing = TRUE;
  stop_locked (self);
  g_cond_broadcast (&self->changed);
  /* The run keeps a last checkpoint, and all its records. On a disk that stays full that would
   * never end: told to stop again the trainer gives the checkpoint up, and so does the recorder
   * with what it cannot write. */
  while (self->current != NULL)
    {
      if (g_cond_wait_until (&self->changed, &self->mutex, end))
        continue;
      if (!told_again)
        gradus_session_post (self, &stop);
      told_again = TRUE;
      end = g_get_monotonic_time () + G_USEC_PER_SEC;
      g_mutex_unlock (&self->mutex);
      gradus_recorder_give_up (self->recorder);
      g_mutex_lock (&self->mutex);
    }
  g_mutex_unlock (&self->mutex);
  g_clear_pointer (&self->thread, g_thread_join);
  g_queue_clear_full (&self->queue, (GDestroyNotify)gradus_job_free);
  g_clear_pointer (&self->recorder, gradus_recorder_free);
}
