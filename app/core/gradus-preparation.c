/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-preparation.h"

#include "gradus-json.h"
#include "gradus-machine.h"
#include "gradus-remedies.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

/* What no plan counts: stacks, libraries, the log's cache. */
#define OVERHEAD_BYTES (64 * G_GINT64_CONSTANT (1048576))

/* The recipe's `data` without what is ours and not the pipeline's. */
static JsonNode *
data_object (GradusRecipe *recipe)
{
  g_autofree char *text = gradus_json_to_string (gradus_recipe_get (recipe, "data"), FALSE);
  JsonNode        *copy = gradus_json_parse (text, -1, NULL, NULL);
  JsonObject      *data = json_node_get_object (copy);

  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    if (json_object_has_member (data, gradus_part_name (i))
        && JSON_NODE_HOLDS_OBJECT (json_object_get_member (data, gradus_part_name (i))))
      json_object_remove_member (json_object_get_object_member (data, gradus_part_name (i)),
                                 "fingerprint");
  return copy;
}

static gboolean
open_dataset (GradusPreparation *self, GradusRecipe *recipe, GError **error)
{
  g_autoptr (JsonNode) data = data_object (recipe);
  g_autoptr (GradusJsonObject) object =
      gradus_json_open_at (data, gradus_recipe_get_source (recipe), "/data", error);

  if (object == NULL)
    return FALSE;
  self->dataset = gradus_dataset_new (object, gradus_recipe_get_base (recipe),
                                      gradus_recipe_get_int (recipe, "seed", 0), error);
  return self->dataset != NULL;
}

static gboolean
open_model (GradusPreparation *self, GradusRecipe *recipe, GError **error)
{
  JsonNode *node = gradus_recipe_get (recipe, "model");

  self->model = gradus_model_new_from_json (json_node_get_object (node),
                                            gradus_recipe_get_source (recipe), "/model", error);
  return self->model != NULL;
}

static gboolean
fit_inputs (GradusPreparation *self, GradusModel *model, GradusRecipe *recipe, GError **error)
{
  guint                  n = 0;
  const GradusArraySpec *inputs = gradus_dataset_inputs (self->dataset, &n);

  if (n != gradus_model_n_inputs (model))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("/model in %s: The model has %u inputs, but the data has %u. Both must have "
                      "as many."),
                   gradus_recipe_get_source (recipe), gradus_model_n_inputs (model), n);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      GradusShape shape;
      GradusDType dtype;

      const char *name = gradus_model_input (model, i, &shape, &dtype);
      guint       at = 0;

      /* A free axis of time is any size to the data. */
      for (guint k = 1; k < shape.rank; k++)
        shape.dims[k] = MAX (shape.dims[k], -1);
      /* By name, as when batches are bound; a single one fits whatever it is called. */
      while (at < n && n > 1 && !g_str_equal (inputs[at].name, name))
        at++;
      if (at < n
          && !gradus_dataset_set_input_shape (self->dataset, at, shape.rank - 1, shape.dims + 1, error))
        return FALSE;
    }
  return TRUE;
}

/* Whether the loss takes the target for a class, be it written as a whole number or not. */
static gboolean
wants_classes (GradusRecipe *recipe)
{
  const char *name = gradus_recipe_get_string (recipe, "compile.loss", NULL);

  if (name == NULL)
    name = gradus_recipe_get_string (recipe, "compile.loss.class_name", "");
  return g_str_equal (name, "sparse_categorical_crossentropy")
         || g_str_equal (name, "SparseCategoricalCrossentropy");
}

/* Labels must be below the number of units that the model ends with. */
static gboolean
fit_labels (GradusPreparation *self, GradusModel *model, GradusRecipe *recipe, GError **error)
{
  GradusShape shape;

  if ((gradus_dataset_n_classes (self->dataset) == 0 && !wants_classes (recipe))
      || gradus_model_n_outputs (model) != 1)
    return TRUE;
  gradus_model_output (model, 0, &shape);
  if (shape.rank < 2 || shape.dims[shape.rank - 1] < 2)
    return TRUE;
  return gradus_dataset_check_labels (self->dataset, shape.dims[shape.rank - 1], error);
}

static gboolean
open_parts (GradusPreparation *self, GError **error)
{
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    {
      g_autoptr (GError) local = NULL;

      self->parts[i] = gradus_dataset_open (self->dataset, i, &local);
      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
    }
  return TRUE;
}

static JsonObject *
section (GradusRecipe *recipe, const char *name)
{
  return json_node_get_object (gradus_recipe_get (recipe, name));
}

static gboolean
open_options (GradusPreparation *self, GradusRecipe *recipe, GError **error)
{
  self->options = gradus_trainer_options_new (
      section (recipe, "compile"), section (recipe, "fit"), section (recipe, "log"),
      section (recipe, "checkpoints"), gradus_recipe_get_source (recipe), NULL, error);
  return self->options != NULL;
}

/* What goes into every checkpoint beside the weights. */
static JsonObject *
make_extras (GradusPreparation *self, GradusRecipe *recipe)
{
  JsonObject      *extras = gradus_dataset_describe (self->dataset);
  g_autofree char *text = gradus_recipe_to_json (recipe, FALSE);
  g_autoptr (JsonNode) copy = gradus_json_parse (text, -1, NULL, NULL);

  json_object_remove_member (json_node_get_object (copy), "model");
  json_object_set_member (extras, "recipe", g_steal_pointer (&copy));
  return extras;
}

static gboolean
open_trainer (GradusPreparation             *self,
              GradusRecipe                  *recipe,
              const GradusPreparationTarget *target,
              GError                       **error)
{
  GradusTrainerConfig config = {
    .model = self->model,
    .options = self->options,
    .device = self->device,
    .train = self->parts[GRADUS_PART_TRAIN],
    .validation = self->parts[GRADUS_PART_VALIDATION],
    .test = self->parts[GRADUS_PART_TEST],
    .seed = gradus_recipe_get_int (recipe, "seed", 0),
    .extras = self->extras,
    .available = gradus_machine_free_memory (NULL),
  };

  if (target != NULL)
    {
      config.observer = target->observer;
      config.workspace = self->workspace = g_strdup (target->workspace);
      config.checkpoint_folder = self->checkpoint_folder = g_strdup (target->checkpoint_folder);
      config.resume = self->resume = g_strdup (target->resume);
    }
  self->trainer = gradus_trainer_new (&config, error);
  return self->trainer != NULL;
}

GradusPreparation *
gradus_preparation_new (GradusRecipe *recipe, const GradusPreparationTarget *target, GError **error)
{
  g_autoptr (GradusPreparation) self = g_new0 (GradusPreparation, 1);

  g_return_val_if_fail (GRADUS_IS_RECIPE (recipe), NULL);

  /* The model first: it is quick to read and the likeliest to be wrong. */
  if (!open_model (self, recipe, error) || !open_options (self, recipe, error)
      || !open_dataset (self, recipe, error) || !fit_inputs (self, self->model, recipe, error)
      || !fit_labels (self, self->model, recipe, error))
    return NULL;
  self->device = gradus_device_open (gradus_trainer_options_device (self->options),
                                     gradus_trainer_options_threads (self->options), error);
  if (self->device == NULL || !open_parts (self, error))
    return NULL;
  self->extras = make_extras (self, recipe);
  if (!open_trainer (self, recipe, target, error))
    return NULL;
  return g_steal_pointer (&self);
}

GradusPreparation *
gradus_preparation_new_data (GradusRecipe *recipe, GradusModel *model, GError **error)
{
  g_autoptr (GradusPreparation) self = g_new0 (GradusPreparation, 1);

  g_return_val_if_fail (GRADUS_IS_RECIPE (recipe), NULL);

  if (!open_options (self, recipe, error) || !open_dataset (self, recipe, error)
      || !fit_inputs (self, model, recipe, error) || !fit_labels (self, model, recipe, error)
      || !open_parts (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
gradus_preparation_free (GradusPreparation *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->trainer, gradus_trainer_free);
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    if (self->parts[i] != NULL)
      self->parts[i]->funcs->free (self->parts[i]);
  g_clear_pointer (&self->extras, json_object_unref);
  g_clear_pointer (&self->device, gradus_device_unref);
  g_clear_pointer (&self->options, gradus_trainer_options_free);
  g_clear_pointer (&self->model, gradus_model_unref);
  g_clear_pointer (&self->dataset, gradus_dataset_unref);
  g_free (self->workspace);
  g_free (self->checkpoint_folder);
  g_free (self->resume);
  g_free (self);
}

/* Memory ------------------------------------------------------------------------------------- */

gint64
gradus_preparation_need (GradusPreparation *self, guint batch_size)
{
  GradusDatasetMemory data = gradus_dataset_memory (self->dataset, batch_size);
  gint64              device = batch_size == 0 ? gradus_trainer_memory (self->trainer).total
                                               : gradus_trainer_memory_at (self->trainer, batch_size);

  return device < 0 ? G_MAXINT64 : device + data.cache + data.batches + OVERHEAD_BYTES;
}

gint64
gradus_preparation_largest_batch (GradusPreparation *self, gint64 free_bytes)
{
  gint64 low = 0;
  gint64 high = MIN (1 << 20, MAX (1, gradus_dataset_n_samples (self->dataset, GRADUS_PART_TRAIN)));

  if (gradus_preparation_need (self, high) <= free_bytes)
    return high;
  /* @low fits, @high does not. Planning takes milliseconds, so a few percent are near enough. */
  while (high - low > MAX (1, low / 32))
    {
      gint64 middle = low + (high - low) / 2;

      if (gradus_preparation_need (self, middle) <= free_bytes)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* Whether the network keeps the recipe's own budget, after what can be done about it. */
static gboolean
check_budget (GradusPreparation *self, GError **error)
{
  GradusTrainerMemory  memory = gradus_trainer_memory (self->trainer);
  g_autoptr (GPtrArray) remedies = NULL;
  g_autofree char     *need = NULL, *limit = NULL, *list = NULL;

  if (memory.budget <= 0 || memory.total <= memory.budget)
    return TRUE;
  /* The batch is sought for the network alone. */
  remedies = gradus_remedies_new (self, memory.budget + gradus_preparation_need (self, 0) - memory.total);
  need = g_format_size_full (memory.total, G_FORMAT_SIZE_IEC_UNITS);
  limit = g_format_size_full (memory.budget, G_FORMAT_SIZE_IEC_UNITS);
  g_ptr_array_add (remedies, NULL);
  list = g_strjoinv (" ", (char **) remedies->pdata);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("/fit/memory_budget: the network would need %s, and the budget is %s. %s"), need, limit, list);
  return FALSE;
}

gboolean
gradus_preparation_check_memory (GradusPreparation *self, GError **error)
{
  gboolean         by_group = FALSE;
  gint64           available = gradus_machine_free_memory (&by_group);
  gint64           need = gradus_preparation_need (self, 0);
  gint64           batch = 0;
  g_autofree char *need_text = NULL;
  g_autofree char *free_text = NULL;

  if (!check_budget (self, error))
    return FALSE;
  if (need <= available)
    return TRUE;
  batch = gradus_preparation_largest_batch (self, available);
  need_text = g_format_size_full (need, G_FORMAT_SIZE_IEC_UNITS);
  free_text = g_format_size_full (available, G_FORMAT_SIZE_IEC_UNITS);
  if (batch > 0)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                 by_group ? _ ("The run would need %s of memory, but the control group leaves %s. "
                               "A batch size of %" PRId64 " would fit.")
                          : _ ("The run would need %s of memory, but %s are free. A batch size of "
                               "%" PRId64 " would fit."),
                 need_text, free_text, batch);
  else
    g_set_error (
        error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
        _ ("The run would need %s of memory, but %s are free, and no batch size would fit. "
           "Use a smaller model or less data, or close other programs."),
        need_text, free_text);
  return FALSE;
}

/* Fingerprints ------------------------------------------------------------------------------- */

gboolean
gradus_preparation_fingerprint (GradusPreparation *self,
                                GradusRecipe      *recipe,
                                GPtrArray         *changed,
                                GError           **error)
{
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    {
      g_autofree char *path = g_strdup_printf ("data.%s.fingerprint", gradus_part_name (i));
      const char      *before = gradus_recipe_get_string (recipe, path, NULL);
      g_autoptr (GError) local = NULL;
      g_autofree char *now = gradus_dataset_fingerprint (self->dataset, i, &local);

      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (now == NULL)
        continue;
      if (before != NULL && !g_str_equal (before, now) && changed != NULL)
        g_ptr_array_add (changed, g_strdup (gradus_part_name (i)));
      gradus_recipe_set_fingerprint (recipe, gradus_part_name (i), now);
    }
  return TRUE;
}
