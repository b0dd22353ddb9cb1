/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-json.h"
#include "train/gradus-checkpoint-private.h"
#include "train/gradus-safetensors.h"
#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

/* No counter of a run gets there, and none that a file says overflows. */
#define MAX_COUNT (G_GINT64_CONSTANT (1) << 53)

/* JSON has no infinities: a number that is not finite is written as text. */
static void
set_number (JsonObject *object, const char *key, double value)
{
  if (isfinite (value))
    json_object_set_double_member (object, key, value);
  else
    json_object_set_string_member (object, key, isnan (value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static double
get_number (GradusJsonObject *object, const char *key, double fallback)
{
  JsonNode *node = gradus_json_node (object, key);

  if (node != NULL && JSON_NODE_HOLDS_VALUE (node) &&
      json_node_get_value_type (node) == G_TYPE_STRING)
    return g_ascii_strtod (json_node_get_string (node), NULL);
  return gradus_json_double (object, key, -G_MAXDOUBLE, G_MAXDOUBLE, fallback);
}

static void
add_number (JsonArray *array, double value)
{
  if (isfinite (value))
    json_array_add_double_element (array, value);
  else
    json_array_add_string_element (array, isnan (value) ? "nan" : value > 0 ? "inf" : "-inf");
}

/* What is no number is 0. */
static double
number_of (JsonNode *node)
{
  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node))
    return 0;
  if (json_node_get_value_type (node) == G_TYPE_STRING)
    return g_ascii_strtod (json_node_get_string (node), NULL);
  return json_node_get_double (node);
}

static JsonObject *
watch_to_json (const GradusWatch *watch)
{
  JsonObject *object = json_object_new ();

  json_object_set_boolean_member (object, "seen", watch->seen);
  set_number (object, "best", watch->best);
  json_object_set_int_member (object, "step", watch->step);
  json_object_set_int_member (object, "waited", watch->waited);
  return object;
}

static void
watch_from_json (GradusWatch *watch, GradusJsonObject *state, const char *key)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (state, key);

  if (object == NULL)
    return;
  watch->seen = gradus_json_bool (object, "seen", FALSE);
  watch->best = get_number (object, "best", 0);
  watch->step = gradus_json_int (object, "step", -1, G_MAXINT64, -1);
  watch->waited = gradus_json_int (object, "waited", 0, G_MAXINT64, 0);
}

static JsonObject *
scores_to_json (GradusTrainer *self)
{
  static const char *const parts[] = { "train/", "validation/" };
  const GradusScores      *scores[] = { &self->last_train, &self->last_validation };
  JsonObject              *object = json_object_new ();

  for (guint p = 0; p < 2; p++)
    {
      g_autofree char *loss = g_strconcat (parts[p], "loss", NULL);

      if (!isnan (scores[p]->loss))
        set_number (object, loss, scores[p]->loss);
      for (guint i = 0; i < self->train.n_scores; i++)
        {
          g_autofree char *name = g_strconcat (parts[p], self->train.scores[i].name, NULL);

          if (!isnan (scores[p]->values[i]) && !self->train.scores[i].hidden)
            set_number (object, name, scores[p]->values[i]);
        }
    }
  return object;
}

static void
scores_from_json (GradusTrainer *self, GradusJsonObject *state)
{
  static const char *const parts[] = { "train/", "validation/" };
  GradusScores            *scores[] = { &self->last_train, &self->last_validation };
  g_autoptr (GradusJsonObject) object = gradus_json_object (state, "metrics");

  for (guint p = 0; object != NULL && p < 2; p++)
    {
      g_autofree char *loss = g_strconcat (parts[p], "loss", NULL);

      scores[p]->loss = get_number (object, loss, NAN);
      for (guint i = 0; i < self->train.n_scores; i++)
        {
          g_autofree char *name = g_strconcat (parts[p], self->train.scores[i].name, NULL);

          scores[p]->values[i] = get_number (object, name, NAN);
        }
    }
}

static JsonObject *
sums_to_json (GradusTrainer *self)
{
  JsonObject *object = json_object_new (), *scores = json_object_new ();

  json_object_set_int_member (object, "samples", self->sums.samples);
  set_number (object, "loss", self->sums.loss);
  for (guint i = 0; i < self->train.n_scores; i++)
    {
      const GradusScore *score = &self->train.scores[i];
      JsonArray         *values = json_array_new ();

      for (guint k = 0; k < score->n; k++)
        add_number (values, self->sums.values[score->offset + k]);
      json_object_set_array_member (scores, score->name, values);
    }
  json_object_set_object_member (object, "scores", scores);
  return object;
}

static void
sums_from_json (GradusTrainer *self, GradusJsonObject *state)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (state, "sums");
  g_autoptr (GradusJsonObject) scores = NULL;

  if (object == NULL)
    return;
  self->sums.samples = gradus_json_int (object, "samples", 0, G_MAXINT64, 0);
  self->sums.loss = get_number (object, "loss", 0);
  scores = gradus_json_object (object, "scores");
  for (guint i = 0; scores != NULL && i < self->train.n_scores; i++)
    {
      const GradusScore *score = &self->train.scores[i];
      g_autoptr (GradusJsonArray) values = gradus_json_array (scores, score->name, score->n);

      for (guint k = 0; values != NULL && k < gradus_json_array_length (values); k++)
        self->sums.values[score->offset + k] = number_of (gradus_json_array_node (values, k));
    }
}

static JsonObject *
live_to_json (GradusTrainer *self)
{
  JsonObject *object = json_object_new ();

  for (guint i = 0; i < self->hypers->len; i++)
    {
      GradusHyper *hyper = &g_array_index (self->hypers, GradusHyper, i);

      json_object_set_double_member (object, hyper->name,
                                     gradus_execution_get_hyper (self->train_execution, hyper->id));
    }
  return object;
}

static void
live_from_json (GradusTrainer *self, GradusJsonObject *state)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (state, "live");

  for (guint i = 0; object != NULL && i < self->hypers->len; i++)
    {
      GradusHyper *hyper = &g_array_index (self->hypers, GradusHyper, i);

      if (gradus_json_has (object, hyper->name))
        gradus_execution_set_hyper (self->train_execution, hyper->id,
                                    gradus_json_double (object, hyper->name, -G_MAXFLOAT,
                                                        G_MAXFLOAT, 0));
    }
}

static JsonObject *
rate_to_json (GradusTrainer *self)
{
  JsonObject *object = json_object_new ();

  if (!isnan (self->rate.fixed))
    json_object_set_double_member (object, "fixed", self->rate.fixed);
  json_object_set_double_member (object, "factor", self->rate.factor);
  json_object_set_int_member (object, "cooldown", self->rate.cooldown);
  json_object_set_object_member (object, "reduce_on_plateau", watch_to_json (&self->rate.watch));
  return object;
}

static void
rate_from_json (GradusTrainer *self, GradusJsonObject *state)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (state, "learning_rate");

  if (object == NULL)
    return;
  if (gradus_json_has (object, "fixed"))
    self->rate.fixed = gradus_json_double (object, "fixed", 0, 1e6, 0);
  self->rate.factor = gradus_json_double (object, "factor", 0, 1, 1);
  self->rate.cooldown = gradus_json_int (object, "cooldown", 0, MAX_COUNT, 0);
  watch_from_json (&self->rate.watch, object, "reduce_on_plateau");
}

static JsonObject *
state_to_json (GradusTrainer *self)
{
  g_autofree char *seed = g_strdup_printf ("%" G_GUINT64_FORMAT, self->config.seed);
  JsonObject *object = json_object_new ();

  json_object_set_int_member (object, "format", GRADUS_CHECKPOINT_FORMAT);
  json_object_set_string_member (object, "engine_version", GRADUS_VERSION);
  json_object_set_int_member (object, "step", self->step);
  json_object_set_int_member (object, "epoch", self->epoch);
  json_object_set_int_member (object, "position", self->position);
  json_object_set_string_member (object, "seed", seed);
  json_object_set_int_member (object, "skipped", self->skipped);
  json_object_set_int_member (object, "batch_size", self->batch_size);
  json_object_set_int_member (object, "next_batch_size", self->pending_batch_size);
  json_object_set_boolean_member (object, "stopped_early", self->stopped_early);
  json_object_set_string_member (object, "optimizer", self->options->optimizer.klass->class_name);
  json_object_set_object_member (object, "sums", sums_to_json (self));
  json_object_set_object_member (object, "live", live_to_json (self));
  json_object_set_object_member (object, "learning_rate", rate_to_json (self));
  json_object_set_object_member (object, "metrics", scores_to_json (self));
  json_object_set_object_member (object, "best", watch_to_json (&self->best));
  json_object_set_object_member (object, "early_stopping", watch_to_json (&self->stopping));
  json_object_set_member (object, "model", gradus_model_to_json (self->config.model));
  if (self->config.extras != NULL)
    json_object_set_object_member (object, "extras", json_object_ref (self->config.extras));
  return object;
}

static char *
object_text (JsonObject *object)
{
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);

  json_node_take_object (node, object);
  return gradus_json_to_string (node, FALSE);
}

void
gradus_trainer_wait_writer (GradusTrainer *self)
{
  gboolean told = FALSE;

  while (!gradus_checkpoint_writer_wait (self->writer, 50 * 1000))
    {
      if (!gradus_checkpoint_writer_is_full (self->writer))
        continue;
      gradus_trainer_take_stop (self);
      if (self->stop)
        gradus_checkpoint_writer_cancel (self->writer);
      else if (!told)
        gradus_trainer_status (self, GRADUS_RUN_PAUSED,
                               N_("The disk is full: the run waits for room."));
      told = TRUE;
    }
  if (told && !self->stop)
    gradus_trainer_status (self, GRADUS_RUN_RUNNING, NULL);
}

static gboolean
copy_tensors (GradusTrainer *self, GArray *views, GError **error)
{
  guint8 *to = gradus_checkpoint_writer_buffer (self->writer);

  for (guint i = 0; i < gradus_variables_n (self->variables); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;
      GradusTensorView   view = { 0 };

      view.name = gradus_variables_name (self->variables, i, &role, &type);
      if (role == GRADUS_VARIABLE_GRADIENT)
        continue;
      view.dtype = type.dtype;
      view.shape = type.shape;
      view.bytes = gradus_shape_count (&type.shape) * gradus_dtype_size (type.dtype);
      if (!gradus_variables_read (self->variables, i, to, view.bytes, error))
        return FALSE;
      to += view.bytes;
      g_array_append_val (views, view);
    }
  return TRUE;
}

gboolean
gradus_trainer_checkpoint (GradusTrainer *self, gboolean force, GError **error)
{
  g_autoptr (GArray) views = g_array_new (FALSE, FALSE, sizeof (GradusTensorView));
  g_autofree char *state = NULL;
  const char      *metadata[] = { "format", "keras", "gradus", NULL, NULL };

  self->checkpoint_due = FALSE;
  force = force || self->checkpoint_best || self->checkpoint_restore || self->checkpoint_stale;
  if (self->writer == NULL ||
      (!force && gradus_checkpoint_writer_last (self->writer) == self->step))
    return TRUE;
  gradus_trainer_wait_writer (self);
  if (!copy_tensors (self, views, error))
    return FALSE;
  /* Written anew for its options alone, the best one stays the best. */
  self->checkpoint_best = self->checkpoint_best ||
                          (self->checkpoint_stale && self->best.step == self->step);
  metadata[3] = state = object_text (state_to_json (self));
  gradus_checkpoint_writer_submit (self->writer, self->step,
                                   gradus_safetensors_header ((GradusTensorView *) views->data,
                                                              views->len, metadata),
                                   object_text (scores_to_json (self)), self->checkpoint_best,
                                   self->checkpoint_restore);
  self->checkpoint_best = self->checkpoint_restore = self->checkpoint_stale = FALSE;
  return TRUE;
}

static gboolean
read_state (GradusTrainer *self, GradusJsonObject *state, GError **error)
{
  g_autofree char *seed = g_strdup_printf ("%" G_GUINT64_FORMAT, self->config.seed);

  gradus_json_require (state, "seed", "batch_size", NULL);
  if (g_strcmp0 (gradus_json_string (state, "seed", seed), seed) != 0)
    gradus_json_refuse (state, "seed", _("The checkpoint was made with another seed than %s."), seed);
  self->step = gradus_json_int (state, "step", 0, MAX_COUNT, 0);
  self->epoch = gradus_json_int (state, "epoch", 0, MAX_COUNT, 0);
  self->position = gradus_json_int (state, "position", 0, MAX_COUNT, 0);
  self->skipped = gradus_json_int (state, "skipped", 0, MAX_COUNT, 0);
  self->batch_size = gradus_json_int (state, "batch_size", 1, self->max_batch, self->max_batch);
  self->pending_batch_size = gradus_json_int (state, "next_batch_size", 0, self->max_batch, 0);
  self->stopped_early = gradus_json_bool (state, "stopped_early", FALSE);
  sums_from_json (self, state);
  live_from_json (self, state);
  rate_from_json (self, state);
  scores_from_json (self, state);
  watch_from_json (&self->best, state, "best");
  watch_from_json (&self->stopping, state, "early_stopping");
  return gradus_json_check (state, error);
}

/* The copies are made when the run begins; here they are filled. */
static gboolean
read_best (GradusTrainer *self, GError **error)
{
  for (guint i = 0; i < gradus_variables_n (self->variables); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;

      gradus_variables_name (self->variables, i, &role, &type);
      if (role < GRADUS_VARIABLE_OPTIMIZER &&
          !gradus_variables_read (self->variables, i, self->best_weights[i],
                                  gradus_shape_count (&type.shape) *
                                      gradus_dtype_size (type.dtype),
                                  error))
        return FALSE;
    }
  return TRUE;
}

/* The best weights of early stopping are in the checkpoint of their step. */
static gboolean
load_best (GradusTrainer *self, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (self->config.resume);
  g_autofree char *name = g_strdup_printf ("step-%" G_GINT64_FORMAT ".safetensors",
                                           self->stopping.step);
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GradusCheckpoint) best = NULL;

  if (self->best_weights == NULL || !self->stopping.seen)
    return TRUE;
  if ((best = gradus_checkpoint_open (path, error)) == NULL)
    {
      g_prefix_error (error, _("The run cannot go on: its best weights are missing. "));
      return FALSE;
    }
  return gradus_checkpoint_restore (best, self->variables, FALSE, error) && read_best (self, error);
}

gboolean
gradus_trainer_resume (GradusTrainer *self, GError **error)
{
  g_autoptr (GradusCheckpoint) checkpoint = gradus_checkpoint_open (self->config.resume, error);
  g_autoptr (GradusJsonObject) state = NULL;
  g_autoptr (JsonNode) node = NULL;

  if (checkpoint == NULL)
    return FALSE;
  node = json_node_init_object (json_node_alloc (), gradus_checkpoint_state (checkpoint));
  state = gradus_json_open (node, self->config.resume, error);
  return state != NULL && read_state (self, state, error) && load_best (self, error) &&
         gradus_checkpoint_restore (checkpoint, self->variables, TRUE, error);
}

/* What was evaluated: where averages are kept, these. */
gboolean
gradus_trainer_keep_best (GradusTrainer *self, GError **error)
{
  return gradus_trainer_swap_average (self, error) && read_best (self, error) &&
         gradus_trainer_swap_average (self, error);
}

gboolean
gradus_trainer_restore_best (GradusTrainer *self, GError **error)
{
  for (guint i = 0; i < gradus_variables_n (self->variables); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;

      gradus_variables_name (self->variables, i, &role, &type);
      if (role < GRADUS_VARIABLE_OPTIMIZER &&
          !gradus_variables_write (self->variables, i, self->best_weights[i],
                                   gradus_shape_count (&type.shape) *
                                       gradus_dtype_size (type.dtype),
                                   error))
        return FALSE;
    }
  return gradus_trainer_reset_average (self, error);
}
