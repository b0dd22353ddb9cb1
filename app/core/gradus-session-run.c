/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-session-private.h"

#include "gradus-json.h"
#include "gradus-machine.h"
#include "gradus-model-reference.h"
#include "gradus-log-locale.h"
#include "gradus-translate.h"
#include "log/gradus-log-reader.h"
#include "log/gradus-run.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

/* Where a resumed run goes on. */
typedef struct
{
  char  *path; /* absolute; NULL: at the beginning */
  gint64 step;
} Start;

/* Whether an older checkpoint may do in place of one that cannot be opened. */
static gboolean
is_lost (const GError *error)
{
  return g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT)
         || g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
}

/* The newest checkpoint of the run whose file is whole. Without one, a run that had checkpoints is
 * not begun anew: that would delete what is in the log. */
static gboolean
find_start (GradusSession *self, GradusJob *job, GradusObserver *observer, Start *start, GError **error)
{
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (self->workspace, error);
  g_autoptr (GPtrArray) checkpoints = NULL;
  g_autoptr (GError) newest = NULL;

  if (reader == NULL)
    return FALSE;
  checkpoints = gradus_log_reader_checkpoints (reader, job->run, error);
  if (checkpoints == NULL)
    return FALSE;
  for (guint i = checkpoints->len; i > 0; i--)
    {
      GradusLogCheckpoint *row = g_ptr_array_index (checkpoints, i - 1);
      g_autoptr (GError) lost = NULL;
      g_autoptr (GradusCheckpoint) checkpoint =
          gradus_model_reference_open_row (self->workspace, row, &start->path, &lost);

      if (checkpoint != NULL)
        {
          start->step = row->step;
          return TRUE;
        }
      if (!is_lost (lost))
        {
          g_propagate_error (error, g_steal_pointer (&lost));
          return FALSE;
        }
      observer->funcs->event (observer, row->step, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_WARNING,
                              "resume",
                              N_ ("This checkpoint is lost or damaged; the run goes on from an "
                                  "older one."),
                              NULL);
      if (newest == NULL)
        newest = g_steal_pointer (&lost);
    }
  if (newest == NULL)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("No checkpoint of the run is whole, so it cannot go on. Of the newest: %s To train "
                  "it anew, start its recipe."),
               newest->message);
  return FALSE;
}

/* What the run's bits depend on beside the recipe. */
static const char *const promised[] = { "instruction_set", "onednn", "openblas", "gradus", NULL };

/* Tells if a run goes on elsewhere than it began, where the same bits are not promised. */
static void
compare_machines (GradusSession *self, GradusJob *job, JsonObject *now, GradusObserver *observer)
{
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (self->workspace, NULL);
  g_autofree char *text = reader != NULL ? gradus_log_reader_device (reader, job->run, NULL) : NULL;
  g_autoptr (JsonNode) root =
      text != NULL && *text != '\0' ? gradus_json_parse (text, -1, NULL, NULL) : NULL;

  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return;
  for (guint i = 0; promised[i] != NULL; i++)
    {
      const char *before =
          json_object_get_string_member_with_default (json_node_get_object (root), promised[i], "");
      const char *after = json_object_get_string_member_with_default (now, promised[i], "");

      if (*before == '\0' || g_str_equal (before, after))
        continue;
      observer->funcs->event (observer, 0, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_WARNING, "resume",
                              N_ ("The run goes on with another processor or other libraries than "
                                  "it began with; the same bits are not promised."),
                              NULL);
      return;
    }
}

static JsonObject *
describe_device (GradusPreparation *preparation)
{
  JsonObject      *object = gradus_machine_describe ();
  g_autofree char *text = preparation->device->funcs->describe (preparation->device);
  g_autoptr (JsonNode) node = text != NULL ? gradus_json_parse (text, -1, NULL, NULL) : NULL;

  if (node != NULL)
    json_object_set_member (object, "device", g_steal_pointer (&node));
  return object;
}

/* The model as its file says it, and how many parameters it has, for those who list runs. */
static char *
describe_model (GradusModel *model)
{
  g_autoptr (JsonNode) node = gradus_model_to_json (model);
  JsonObject *object = json_node_get_object (node);
  JsonNode   *canvas = json_object_get_member (object, "gradus");

  if (canvas == NULL || !JSON_NODE_HOLDS_OBJECT (canvas))
    {
      json_object_set_object_member (object, "gradus", json_object_new ());
      canvas = json_object_get_member (object, "gradus");
    }
  json_object_set_int_member (json_node_get_object (canvas), "parameters",
                              gradus_model_n_parameters (model, NULL));
  return gradus_json_to_string (node, FALSE);
}

/* Writes what is known now into the run's row. */
static gboolean
store_documents (GradusSession     *self,
                 GradusJob         *job,
                 GradusPreparation *preparation,
                 GradusObserver    *observer,
                 GError           **error)
{
  g_autoptr (JsonObject) device = describe_device (preparation);
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  g_autoptr (GPtrArray) changed = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *recipe_text = NULL;
  g_autofree char *model_text = describe_model (preparation->model);
  g_autofree char *device_text = NULL;

  if (!gradus_preparation_fingerprint (preparation, job->recipe, changed, error))
    return FALSE;
  for (guint i = 0; i < changed->len; i++)
    observer->funcs->event (observer, 0, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_WARNING,
                            g_ptr_array_index (changed, i),
                            N_ ("The data is not what it was when the recipe was stored; results "
                                "cannot be compared."),
                            "{\"rule\": \"data-changed\", \"cause\": \"fingerprint\"}");
  if (job->resume)
    compare_machines (self, job, device, observer);
  json_node_set_object (node, device);
  device_text = gradus_json_to_string (node, FALSE);
  recipe_text = gradus_recipe_to_json (job->recipe, FALSE);
  return gradus_run_set_documents (self->workspace, job->run, recipe_text, model_text, device_text,
                                   error);
}

static GradusPreparation *
prepare (GradusSession  *self,
         GradusJob      *job,
         GradusObserver *observer,
         Start          *start,
         GError        **error)
{
  g_autoptr (GradusPreparation) preparation = NULL;
  g_autofree char        *folder = g_build_filename ("checkpoints", job->uuid, NULL);
  GradusPreparationTarget target = {
    .observer = observer,
    .workspace = gradus_workspace_path (self->workspace),
    .checkpoint_folder = folder,
    .resume = start->path,
  };

  preparation = gradus_preparation_new (job->recipe, &target, error);
  if (preparation == NULL || !gradus_preparation_check_memory (preparation, error)
      || !store_documents (self, job, preparation, observer, error))
    return NULL;
  for (const char *const *warning = gradus_dataset_warnings (preparation->dataset);
       *warning != NULL; warning++)
    observer->funcs->event (observer, 0, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_WARNING, "pipeline",
                            *warning, NULL);
  return g_steal_pointer (&preparation);
}

static void
set_trainer (GradusSession *self, GradusTrainer *trainer)
{
  g_autoptr (GPtrArray) early = NULL;

  g_mutex_lock (&self->mutex);
  self->trainer = trainer;
  if (trainer != NULL)
    {
      early = g_steal_pointer (&self->early);
      for (guint i = 0; early != NULL && i < early->len; i++)
        gradus_session_post (self, g_ptr_array_index (early, i));
    }
  g_mutex_unlock (&self->mutex);
}

/* @begun: whether the trainer was there, which tells the log itself how the run ended. */
static GradusRunStatus
run_prepared (GradusSession  *self,
              GradusJob      *job,
              GradusObserver *observer,
              gboolean       *begun,
              GError        **error)
{
  g_autoptr (GradusPreparation) preparation = NULL;
  Start            start = { NULL, 0 };
  g_autofree char *path = NULL;
  GradusRunStatus  status = GRADUS_RUN_FAILED;

  if (job->resume && !find_start (self, job, observer, &start, error))
    return GRADUS_RUN_FAILED;
  path = start.path;
  preparation = prepare (self, job, observer, &start, error);
  /* Not before all is there to go on with: what it deletes cannot be had again. */
  if (preparation == NULL
      || (job->resume
          && !gradus_recorder_rewind (self->recorder, ((GradusTap *)observer)->inner, start.step,
                                      error)))
    return GRADUS_RUN_FAILED;
  *begun = TRUE;
  set_trainer (self, preparation->trainer);
  status = gradus_trainer_run (preparation->trainer, error);
  set_trainer (self, NULL);
  return status;
}

static void
on_command (gint64 run, gint64 id, const char *text, gpointer data)
{
  GradusTap     *tap = data;
  GradusSession *self = tap->session;
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusCommand) command = gradus_command_parse (text, id, &error);

  if (command == NULL)
    {
      tap->inner->funcs->command_taken (tap->inner, id, 0, error->message);
      return;
    }
  g_mutex_lock (&self->mutex);
  gradus_session_post (self, command);
  g_mutex_unlock (&self->mutex);
}

/* A queued run that was told to stop never starts. */
static gboolean
was_stopped (GradusSession *self, GradusJob *job)
{
  g_autoptr (GradusLogReader) reader = gradus_log_reader_new (self->workspace, NULL);
  g_autoptr (GPtrArray) commands =
      reader != NULL ? gradus_log_reader_commands (reader, job->run, NULL) : NULL;

  for (guint i = 0; commands != NULL && i < commands->len; i++)
    {
      GradusLogCommand *row = g_ptr_array_index (commands, i);
      g_autoptr (GradusCommand) command = gradus_command_parse (row->command, row->id, NULL);

      if (command != NULL && command->type == GRADUS_COMMAND_STOP)
        return TRUE;
    }
  return FALSE;
}

static void
tell_ended (GradusSession *self, GradusJob *job, GradusRunStatus status, const GError *error)
{
  gpointer          before;
  g_autoptr (GError) told = NULL;

  if (self->listener.ended == NULL)
    return;
  before = gradus_log_locale_pause ();
  if (error != NULL)
    told = g_error_new_literal (error->domain, error->code, gradus_translate (error->message));
  self->listener.ended (job->uuid, status, told, self->listener_data);
  gradus_log_locale_resume (before);
}

void
gradus_session_run_job (GradusSession *self, GradusJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) lost = NULL;
  g_autoptr (GradusTap) tap = NULL;
  GradusObserver *inner = NULL;
  GradusRunStatus status = GRADUS_RUN_STOPPED;
  gboolean        begun = FALSE;
  gboolean        patient = FALSE;

  if (was_stopped (self, job))
    {
      gradus_run_set_status (self->workspace, job->run, status, NULL);
      tell_ended (self, job, status, NULL);
      return;
    }
  if (self->listener.started != NULL)
    {
      gpointer before = gradus_log_locale_pause ();

      self->listener.started (job->uuid, self->listener_data);
      gradus_log_locale_resume (before);
    }
  tap = gradus_tap_new (self, job->uuid, NULL);
  inner = gradus_recorder_attach (self->recorder, job->run, g_steal_pointer (&job->lock),
                                  on_command, tap, &error);
  if (inner == NULL)
    {
      gradus_run_set_status (self->workspace, job->run, GRADUS_RUN_FAILED, NULL);
      tell_ended (self, job, GRADUS_RUN_FAILED, error);
      return;
    }
  tap->inner = inner;
  status = run_prepared (self, job, &tap->observer, &begun, &error);
  if (!begun)
    inner->funcs->status (inner, 0, status, error->message);
  /* Whoever asks a run to stop does not wait for room on the disk. */
  g_mutex_lock (&self->mutex);
  patient = !self->stopping;
  g_mutex_unlock (&self->mutex);
  if (!gradus_recorder_settle (self->recorder, inner, patient, &lost))
    {
      g_clear_error (&error);
      status = GRADUS_RUN_FAILED;
      g_set_error (&error, GRADUS_ERROR, lost->code,
                   _ ("Records of the run were lost, so it counts as failed. %s"), lost->message);
      /* Should the log take it again. */
      inner->funcs->status (inner, 0, status, error->message);
    }
  gradus_recorder_detach (self->recorder, inner);
  tell_ended (self, job, status, error);
}
