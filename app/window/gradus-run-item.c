/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#include "gradus-format.h"
#include "gradus-run-item.h"
#include "gradus-words.h"

struct _GradusRunItem
{
  GObject parent_instance;

  GradusRunInfo    *info;
  GradusRunDetails *details;
  GradusRecipe     *recipe;
  GradusSummary    *summary;
  char             *summary_error;
  double           *spark;
  guint             n_spark;
  int               color;
  gint64            steps_per_epoch;
  gint64            parameters;
  gboolean          draft;
  gboolean          best;
};

G_DEFINE_FINAL_TYPE (GradusRunItem, gradus_run_item, G_TYPE_OBJECT)

enum
{
  SIGNAL_CHANGED,
  SIGNAL_RECIPE_CHANGED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

static const char *
class_name_of (JsonNode *node)
{
  if (node == NULL)
    return "";
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      JsonObject *object = json_node_get_object (node);

      return json_object_get_string_member_with_default (object, "class_name", "");
    }
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    return json_node_get_string (node);

  return "";
}

static double
learning_rate_of (GradusRecipe *recipe)
{
  JsonNode *node = gradus_recipe_get (recipe, "compile.optimizer.config.learning_rate");

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    return gradus_recipe_get_double (
      recipe, "compile.optimizer.config.learning_rate.config.initial_learning_rate", NAN);

  return gradus_recipe_get_double (recipe, "compile.optimizer.config.learning_rate", NAN);
}

static gboolean
is_scheduled (GradusRecipe *recipe)
{
  JsonNode *rate = gradus_recipe_get (recipe, "compile.optimizer.config.learning_rate");

  return (rate != NULL && JSON_NODE_HOLDS_OBJECT (rate)) ||
         gradus_recipe_get_int (recipe, "fit.warmup_steps", 0) > 0 ||
         gradus_recipe_get (recipe, "fit.reduce_on_plateau") != NULL;
}

static JsonArray *
layers_of (GradusRecipe *recipe)
{
  JsonNode *node = gradus_recipe_get (recipe, "model.config.layers");

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

static void
read_layers (GradusRunDetails *details, JsonArray *layers)
{
  for (guint i = 0; layers != NULL && i < json_array_get_length (layers); i++)
    {
      JsonNode *node = json_array_get_element (layers, i);
      const char *class_name = class_name_of (node);
      JsonObject *config = NULL;

      if (!g_str_equal (class_name, "InputLayer"))
        details->n_layers++;
      if (JSON_NODE_HOLDS_OBJECT (node) &&
          json_object_has_member (json_node_get_object (node), "config"))
        config = json_object_get_object_member (json_node_get_object (node), "config");
      if (config != NULL && g_str_equal (class_name, "Dropout"))
        details->dropout = MAX (details->dropout,
                                json_object_get_double_member_with_default (config, "rate", 0));
    }
}

GradusRunDetails *
gradus_run_details_new (GradusRecipe *recipe)
{
  GradusRunDetails *details = g_new0 (GradusRunDetails, 1);
  JsonNode *batch = gradus_recipe_get (recipe, "data.pipeline.batch");

  details->optimizer = g_strdup (class_name_of (gradus_recipe_get (recipe, "compile.optimizer")));
  details->loss = g_strdup (class_name_of (gradus_recipe_get (recipe, "compile.loss")));
  details->learning_rate = learning_rate_of (recipe);
  details->scheduled = is_scheduled (recipe);
  details->clip = gradus_recipe_get_double (recipe, "fit.clip.global_norm", NAN);
  details->batch_size = batch != NULL && JSON_NODE_HOLDS_OBJECT (batch)
                          ? gradus_recipe_get_int (recipe, "data.pipeline.batch.size", 0)
                          : gradus_recipe_get_int (recipe, "data.pipeline.batch", 0);
  details->epochs = gradus_recipe_get_int (recipe, "fit.epochs", 0);
  read_layers (details, layers_of (recipe));

  return details;
}

void
gradus_run_details_free (GradusRunDetails *details)
{
  g_free (details->optimizer);
  g_free (details->loss);
  g_free (details);
}

static void
gradus_run_item_finalize (GObject *object)
{
  GradusRunItem *self = GRADUS_RUN_ITEM (object);

  g_clear_pointer (&self->info, gradus_run_info_free);
  g_clear_pointer (&self->details, gradus_run_details_free);
  g_clear_object (&self->recipe);
  g_clear_pointer (&self->summary, gradus_summary_free);
  g_clear_pointer (&self->summary_error, g_free);
  g_clear_pointer (&self->spark, g_free);

  G_OBJECT_CLASS (gradus_run_item_parent_class)->finalize (object);
}

static void
gradus_run_item_class_init (GradusRunItemClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_run_item_finalize;

  signals[SIGNAL_CHANGED] = g_signal_new ("changed", GRADUS_TYPE_RUN_ITEM, G_SIGNAL_RUN_LAST, 0,
                                          NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_RECIPE_CHANGED] = g_signal_new ("recipe-changed", GRADUS_TYPE_RUN_ITEM,
                                                 G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                                 G_TYPE_NONE, 0);
}

static void
gradus_run_item_init (GradusRunItem *self)
{
  self->color = -1;
}

GradusRunItem *
gradus_run_item_new (void)
{
  return g_object_new (GRADUS_TYPE_RUN_ITEM, NULL);
}

GradusRunItem *
gradus_run_item_new_draft (GradusRecipe *recipe)
{
  GradusRunItem *self = gradus_run_item_new ();

  self->draft = TRUE;
  self->recipe = g_object_ref (recipe);
  self->details = gradus_run_details_new (recipe);

  return self;
}

gboolean
gradus_run_item_is_draft (GradusRunItem *self)
{
  return self->draft;
}

gint64
gradus_run_item_get_id (GradusRunItem *self)
{
  return self->info != NULL ? self->info->id : 0;
}

const char *
gradus_run_item_get_uuid (GradusRunItem *self)
{
  return self->info != NULL ? self->info->uuid : "";
}

const char *
gradus_run_item_get_name (GradusRunItem *self)
{
  if (self->info != NULL)
    return self->info->name;

  return self->recipe != NULL ? gradus_recipe_get_string (self->recipe, "name", "") : "";
}

const GradusRunInfo *
gradus_run_item_get_info (GradusRunItem *self)
{
  return self->info;
}

void
gradus_run_item_take_info (GradusRunItem *self, GradusRunInfo *info)
{
  g_clear_pointer (&self->info, gradus_run_info_free);
  self->info = info;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

gboolean
gradus_run_item_is_live (GradusRunItem *self)
{
  return self->info != NULL && (self->info->status == GRADUS_RUN_RUNNING ||
                                self->info->status == GRADUS_RUN_PAUSED);
}

gboolean
gradus_run_item_is_resumable (GradusRunItem *self)
{
  return self->info != NULL && (self->info->status == GRADUS_RUN_STOPPED ||
                                self->info->status == GRADUS_RUN_INTERRUPTED ||
                                self->info->status == GRADUS_RUN_FAILED);
}

gboolean
gradus_run_item_is_diverged (GradusRunItem *self)
{
  return self->info != NULL && self->info->status == GRADUS_RUN_FAILED &&
         isnan (self->info->train_loss) && self->info->last_step > 0;
}

gint64
gradus_run_item_get_parameters (GradusRunItem *self)
{
  return self->parameters == 0 && self->summary != NULL ? self->summary->parameters
                                                        : self->parameters;
}

void
gradus_run_item_set_parameters (GradusRunItem *self, gint64 parameters)
{
  if (self->parameters == parameters)
    return;

  self->parameters = parameters;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

const GradusRunDetails *
gradus_run_item_get_details (GradusRunItem *self)
{
  return self->details;
}

void
gradus_run_item_take_details (GradusRunItem *self, GradusRunDetails *details)
{
  g_clear_pointer (&self->details, gradus_run_details_free);
  self->details = details;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

const double *
gradus_run_item_get_spark (GradusRunItem *self, guint *n)
{
  *n = self->n_spark;

  return self->spark;
}

void
gradus_run_item_set_spark (GradusRunItem *self, const double *values, guint n)
{
  g_free (self->spark);
  self->spark = g_memdup2 (values, n * sizeof *values);
  self->n_spark = n;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

int
gradus_run_item_get_color (GradusRunItem *self)
{
  return self->color;
}

void
gradus_run_item_set_color (GradusRunItem *self, int color)
{
  if (self->color == color)
    return;

  self->color = color;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

gboolean
gradus_run_item_is_best (GradusRunItem *self)
{
  return self->best;
}

void
gradus_run_item_set_best (GradusRunItem *self, gboolean best)
{
  if (self->best == best)
    return;

  self->best = best;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

GradusRecipe *
gradus_run_item_get_recipe (GradusRunItem *self)
{
  return self->recipe;
}

void
gradus_run_item_set_recipe (GradusRunItem *self, GradusRecipe *recipe)
{
  g_set_object (&self->recipe, recipe);
  g_clear_pointer (&self->summary, gradus_summary_free);
  g_clear_pointer (&self->summary_error, g_free);
  gradus_run_item_take_details (self, gradus_run_details_new (recipe));
  g_signal_emit (self, signals[SIGNAL_RECIPE_CHANGED], 0);
}

const GradusSummary *
gradus_run_item_get_summary (GradusRunItem *self)
{
  return self->summary;
}

const char *
gradus_run_item_get_summary_error (GradusRunItem *self)
{
  return self->summary_error;
}

GradusSummary *
gradus_run_item_steal_summary (GradusRunItem *self)
{
  return g_steal_pointer (&self->summary);
}

void
gradus_run_item_take_summary (GradusRunItem *self, GradusSummary *summary, const char *error)
{
  g_clear_pointer (&self->summary, gradus_summary_free);
  g_clear_pointer (&self->summary_error, g_free);
  self->summary = summary;
  self->summary_error = g_strdup (error);
  if (summary != NULL)
    gradus_run_item_set_steps_per_epoch (self, summary->steps_per_epoch);
  g_signal_emit (self, signals[SIGNAL_RECIPE_CHANGED], 0);
}

gint64
gradus_run_item_get_steps_per_epoch (GradusRunItem *self)
{
  return self->steps_per_epoch;
}

void
gradus_run_item_set_steps_per_epoch (GradusRunItem *self, gint64 steps)
{
  if (self->steps_per_epoch == steps)
    return;

  self->steps_per_epoch = steps;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

gint64
gradus_run_item_get_n_steps (GradusRunItem *self)
{
  double epochs = 0;

  if (self->info != NULL)
    epochs = self->info->planned_epochs;
  if (epochs <= 0 && self->details != NULL)
    epochs = self->details->epochs;

  return (gint64) (epochs * self->steps_per_epoch);
}

char *
gradus_run_item_describe_state (GradusRunItem *self)
{
  if (self->draft)
    return g_strdup (_("ready to train"));
  if (self->info == NULL)
    return g_strdup ("");

  switch (self->info->status)
    {
    case GRADUS_RUN_FINISHED:
      return gradus_words_age (self->info->finished > 0 ? self->info->finished
                                                        : self->info->created);
    case GRADUS_RUN_FAILED:
      if (gradus_run_item_is_diverged (self))
        {
          g_autofree char *step = gradus_format_count (self->info->last_step);

          /* Translators: follows "NaN" in the list of runs. */
          return g_strdup_printf (_("at step %s"), step);
        }
      return g_strdup (gradus_words_status (self->info->status));
    default:
      return g_strdup (gradus_words_status (self->info->status));
    }
}

char *
gradus_run_item_describe_best (GradusRunItem *self)
{
  double best = NAN;

  if (self->info == NULL)
    return g_strdup ("");

  if (gradus_run_item_is_diverged (self))
    return g_strdup ("NaN");
  best = self->info->best_validation_loss;
  if (isnan (best))
    best = self->info->train_loss;
  if (isnan (best))
    return g_strdup ("");

  return gradus_format_value (best, GRADUS_UNIT_NONE);
}

double
gradus_run_item_get_seconds_left (GradusRunItem *self)
{
  gint64 n_steps = gradus_run_item_get_n_steps (self);

  if (self->info == NULL || self->info->last_step < 1 || self->info->last_time < 1 ||
      n_steps < self->info->last_step)
    return -1;

  return (double) self->info->last_time / 1000 / (double) self->info->last_step *
         (double) (n_steps - self->info->last_step);
}
