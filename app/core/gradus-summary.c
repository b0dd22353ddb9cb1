/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-summary.h"

#include "gradus-machine.h"
#include "gradus-remedies.h"
#include "gradus-preparation.h"

static void
layer_free (gpointer data)
{
  GradusSummaryLayer *layer = data;

  g_free (layer->name);
  g_free (layer->class_name);
  g_free (layer->output_shape);
  g_free (layer);
}

static void
part_free (gpointer data)
{
  GradusSummaryPart *part = data;

  g_free (part->name);
  g_free (part->inputs);
  g_free (part->targets);
  g_free (part);
}

static void
add_layers (GradusSummary *self, GradusPreparation *preparation)
{
  for (guint i = 0; i < gradus_model_n_layers (preparation->model); i++)
    {
      GradusLayerSummary  row = gradus_trainer_layer (preparation->trainer, i);
      GradusSummaryLayer *layer = g_new0 (GradusSummaryLayer, 1);

      layer->name = g_strdup (row.name);
      layer->class_name = g_strdup (row.class_name);
      layer->output_shape = gradus_shape_to_string (&row.output);
      layer->parameters = row.parameters;
      layer->trainable = row.trainable;
      layer->bytes = row.memory;
      g_ptr_array_add (self->layers, layer);
    }
}

static char *
describe_arrays (const GradusArraySpec *specs, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *one = gradus_array_spec_to_string (&specs[i]);

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", one);
    }
  return g_string_free (text, FALSE);
}

static void
add_parts (GradusSummary *self, GradusPreparation *preparation)
{
  for (guint i = 0; i < GRADUS_N_PARTS; i++)
    {
      GradusBatchSource     *source = preparation->parts[i];
      GradusSummaryPart     *part = NULL;
      guint                  n = 0;
      const GradusArraySpec *specs = NULL;

      if (source == NULL)
        continue;
      part = g_new0 (GradusSummaryPart, 1);
      part->name = g_strdup (gradus_part_name (i));
      specs = source->funcs->inputs (source, &n);
      part->inputs = describe_arrays (specs, n);
      specs = source->funcs->targets (source, &n);
      part->targets = describe_arrays (specs, n);
      part->n_samples = source->funcs->n_samples (source);
      part->n_batches = source->funcs->n_batches (source);
      g_ptr_array_add (self->parts, part);
    }
}

GradusSummary *
gradus_summary_new (GradusRecipe *recipe, GError **error)
{
  g_autoptr (GError) over = NULL;
  g_autoptr (GradusPreparation) preparation = NULL;
  GradusSummary      *self = NULL;
  GradusDatasetMemory data;

  g_return_val_if_fail (GRADUS_IS_RECIPE (recipe), NULL);

  preparation = gradus_preparation_new (recipe, NULL, error);
  if (preparation == NULL)
    return NULL;
  self = g_new0 (GradusSummary, 1);
  self->layers = g_ptr_array_new_with_free_func (layer_free);
  self->parts = g_ptr_array_new_with_free_func (part_free);
  self->model_name = g_strdup (gradus_model_name (preparation->model));
  self->parameters = gradus_model_n_parameters (preparation->model, &self->trainable);
  self->batch_size = gradus_dataset_batch_size (preparation->dataset);
  self->steps_per_epoch = gradus_trainer_steps_per_epoch (preparation->trainer);
  self->epochs = gradus_trainer_options_epochs (preparation->options);
  data = gradus_dataset_memory (preparation->dataset, 0);
  self->device_bytes = gradus_trainer_memory (preparation->trainer).total;
  self->data_bytes = data.sources + data.cache + data.batches;
  self->peak_bytes = gradus_preparation_need (preparation, 0) + data.sources;
  self->free_bytes = gradus_machine_free_memory (NULL) + data.sources;
  self->lower_bound = gradus_trainer_memory (preparation->trainer).lower_bound;
  if (gradus_trainer_memory (preparation->trainer).budget > 0 && !gradus_preparation_check_memory (preparation, &over))
    self->over_budget = g_strdup (over->message);
  self->price = gradus_trainer_memory (preparation->trainer).price;
  self->remedies = self->peak_bytes > gradus_machine_free_memory (NULL)
                     ? gradus_remedies_new (preparation, gradus_machine_free_memory (NULL))
                     : g_ptr_array_new ();
  self->largest_batch =
      gradus_preparation_largest_batch (preparation, gradus_machine_free_memory (NULL));
  self->n_classes = gradus_dataset_n_classes (preparation->dataset);
  self->warning = g_strdup (gradus_trainer_warning (preparation->trainer, NULL));
  add_layers (self, preparation);
  add_parts (self, preparation);
  return self;
}

void
gradus_summary_free (GradusSummary *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->layers);
  g_ptr_array_unref (self->parts);
  g_free (self->model_name);
  g_clear_pointer (&self->remedies, g_ptr_array_unref);
  g_free (self->over_budget);
  g_free (self->warning);
  g_free (self);
}
