/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-compile.h"

#include "passes/gradus-passes.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

static gint64
spec_count (const GradusArraySpec *spec)
{
  gint64 count = 1;

  for (guint i = 0; i < spec->rank; i++)
    count *= spec->dims[i];
  return count;
}

static char *
spec_to_string (const GradusArraySpec *spec)
{
  GradusShape shape = { .rank = MIN (spec->rank + 1, GRADUS_MAX_RANK), .dims = { GRADUS_DIM_BATCH } };

  for (guint i = 1; i < shape.rank; i++)
    shape.dims[i] = spec->dims[i - 1];
  return gradus_shape_to_string (&shape);
}

static gboolean
bind_input (GradusBinding *binding, GradusModel *model, guint i, const GradusArraySpec *specs, guint n, GError **error)
{
  GradusShape      shape, one;
  const char      *name = gradus_model_input (model, i, &shape, NULL);
  g_autofree char *wanted = NULL, *met = NULL;
  guint            s = 0;

  while (n > 1 && s < n && !g_str_equal (specs[s].name, name))
    s++;
  if (s == n)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("The model's input “%s” is not in the data. Name it in the recipe's inputs."),
                   name);
      return FALSE;
    }
  binding->order[i] = s;
  binding->dtypes[i] = specs[s].dtype;
  one = gradus_shape_bind (&shape, gradus_sizes (1, 1));
  if (spec_count (&specs[s]) == gradus_shape_count (&one))
    return TRUE;
  wanted = gradus_shape_to_string (&shape);
  met = spec_to_string (&specs[s]);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("The model's input “%s” has shape %s, but the data “%s” has %s: %" PRId64
                  " numbers a sample against %" PRId64
                  ". Change the shape of the input layer, or the data."),
               name, wanted, specs[s].name, met, gradus_shape_count (&one), spec_count (&specs[s]));
  return FALSE;
}

gboolean
gradus_binding_new (GradusBinding     *binding,
                    GradusModel       *model,
                    GradusBatchSource *source,
                    GError           **error)
{
  guint                  n, n_targets;
  const GradusArraySpec *inputs = source->funcs->inputs (source, &n);
  const GradusArraySpec *targets = source->funcs->targets (source, &n_targets);

  *binding = (GradusBinding){ .n_inputs = gradus_model_n_inputs (model) };
  if (n != binding->n_inputs || n > G_N_ELEMENTS (binding->order))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("The model has %u inputs, but the data has %u. Give each input of the model "
                     "its data."),
                   binding->n_inputs, n);
      return FALSE;
    }
  if (n_targets != 1 || gradus_model_n_outputs (model) != 1)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                   _("The model has %u outputs and the data %u targets. This version of Gradus "
                     "trains models with one output on one target."),
                   gradus_model_n_outputs (model), n_targets);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    if (!bind_input (binding, model, i, inputs, n, error))
      return FALSE;
  binding->target = targets[0];
  return TRUE;
}

/* Forward, loss and metrics; @mean and @sum are added as outputs where they are wanted. */
static gboolean
add_forward (GradusCompiled       *self,
             GradusProgram        *program,
             GradusModel          *model,
             GradusTrainerOptions *options,
             const GradusBinding  *binding,
             gboolean              training,
             GradusValueId        *mean,
             GError              **error)
{
  GradusHead    head = { .target = binding->target };
  GradusValueId losses, sum, correct;
  gint64        axis = 0;

  head.name = gradus_model_output (model, 0, &head.shape);
  if (!gradus_model_build (model, program, training, binding->dtypes, &head.output, &head.logits,
                           error) ||
      !gradus_loss_build (&options->loss, program, &head, &losses, error) ||
      !gradus_program_add_node (program, training ? "reduce_mean" : "reduce_sum", 0, &losses, 1,
                                training ? mean : &sum, error, "axes", 1u, &axis, "keepdims",
                                (gint64) 0, NULL))
    return FALSE;
  gradus_program_add_output (program, training ? "loss" : "loss_sum", training ? *mean : sum);
  for (guint i = 0; i < options->n_metrics; i++)
    {
      g_autofree char *name = g_strdup_printf ("correct/%u", i);

      if (!gradus_metric_build (&options->metrics[i], program, &head, &correct, error))
        return FALSE;
      gradus_program_add_output (program, name, correct);
    }
  self->n_classes = head.n_classes;
  return TRUE;
}

/* Ids change in the passes; names do not. */
static gboolean
finish (GradusCompiled *self, GradusProgram *program, GradusModel *model, guint n_metrics, GError **error)
{
  if ((self->program = gradus_passes_run (program, error)) == NULL)
    return FALSE;
  self->n_inputs = gradus_model_n_inputs (model);
  for (guint i = 0; i < self->n_inputs; i++)
    self->inputs[i] = gradus_program_find (self->program,
                                           gradus_model_input (model, i, NULL, NULL));
  self->target = gradus_program_find (self->program, "target/0");
  self->loss = gradus_program_find (self->program, "loss");
  self->loss_sum = gradus_program_find (self->program, "loss_sum");
  self->norm = gradus_program_find (self->program, "gradient_norm");
  for (guint i = 0; i < n_metrics; i++)
    {
      g_autofree char *name = g_strdup_printf ("correct/%u", i);

      self->correct[i] = gradus_program_find (self->program, name);
    }
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char *gradient = g_strdup_printf ("gradient/%s", self->names[i]);
      g_autofree char *square = g_strdup_printf ("square/%s", self->names[i]);

      self->gradients[i] = gradus_program_find (self->program, gradient);
      self->squares[i] = gradus_program_find (self->program, square);
    }
  return TRUE;
}

/* The variables that the loss depends on, and their gradients as they are before clipping. */
static gboolean
add_gradients (GradusCompiled *self, GradusProgram *program, GradusValueId loss, GArray *variables, GError **error)
{
  guint n_values = gradus_program_n_values (program);
  g_autofree GradusValueId *gradients = NULL;
  guint kept = 0;

  for (guint i = 0; i < n_values; i++)
    {
      const GradusValue *value = gradus_program_value (program, i);

      if (value->kind == GRADUS_VALUE_VARIABLE && value->role == GRADUS_VARIABLE_WEIGHT)
        g_array_append_val (variables, value->id);
    }
  if (variables->len == 0)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("The model has nothing to train. Add a layer with weights, such as "
                             "Dense, and leave it trainable."));
      return FALSE;
    }
  gradients = g_new (GradusValueId, variables->len);
  if (!gradus_autodiff (program, loss, (GradusValueId *) variables->data, variables->len,
                        gradients, error))
    return FALSE;
  self->names = g_new0 (char *, variables->len + 1);
  self->gradients = g_new (GradusValueId, variables->len);
  self->squares = g_new (GradusValueId, variables->len);
  for (guint i = 0; i < variables->len; i++)
    {
      GradusValueId id = g_array_index (variables, GradusValueId, i);

      if (gradients[i] == GRADUS_NO_VALUE)
        continue;
      g_array_index (variables, GradusValueId, kept) = id;
      self->names[kept] = g_strdup (gradus_program_value (program, id)->name);
      self->gradients[kept++] = gradients[i];
    }
  g_array_set_size (variables, kept);
  self->n_gradients = kept;
  if (kept > 0)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("The loss depends on no weight of the model. Check how the layers are "
                         "connected."));
  return FALSE;
}

static gboolean
add_norm (GradusCompiled *self, GradusProgram *program, GradusValueId *norm, GError **error)
{
  gradus_program_set_scope (program, GRADUS_PHASE_BACKWARD, NULL);
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char *gradient = g_strdup_printf ("gradient/%s", self->names[i]);
      g_autofree char *square = g_strdup_printf ("square/%s", self->names[i]);

      if (!gradus_program_add_node (program, "sum_squares", 0, &self->gradients[i], 1,
                                    &self->squares[i], error, NULL))
        return FALSE;
      gradus_program_add_output (program, gradient, self->gradients[i]);
      gradus_program_add_output (program, square, self->squares[i]);
    }
  if (!gradus_program_add_node (program, "global_norm", 0, self->squares, self->n_gradients, norm,
                                error, NULL))
    return FALSE;
  gradus_program_add_output (program, "gradient_norm", *norm);
  return TRUE;
}

static gboolean
clip_value (GradusProgram *program, GradusValueId *gradient, GradusValueId limit, GError **error)
{
  GradusValueId low, pair[2] = { *gradient, limit };

  if (!gradus_program_add_node (program, "minimum", 0, pair, 2, &pair[0], error, NULL) ||
      !gradus_program_add_node (program, "negative", 0, &limit, 1, &low, error, NULL))
    return FALSE;
  pair[1] = low;
  return gradus_program_add_node (program, "maximum", 0, pair, 2, gradient, error, NULL);
}

static gboolean
add_scale (GradusProgram *program, GradusValueId norm, GradusValueId limit, GradusValueId *scale, GError **error)
{
  GradusValueId inputs[2] = { norm, limit };

  return gradus_program_add_node (program, "clip_scale", 0, inputs, 2, scale, error, NULL);
}

static gboolean
add_updates (GradusCompiled       *self,
             GradusProgram        *program,
             GradusTrainerOptions *options,
             GArray               *variables,
             GradusValueId         norm,
             GError              **error)
{
  GradusValueId limit = gradus_program_add_hyper (program, "clip", options->clip_limit);
  GradusValueId none = limit, scale = GRADUS_NO_VALUE, own;

  gradus_program_set_scope (program, GRADUS_PHASE_UPDATE, NULL);
  /* Clipping by value leaves the scale alone: its limit is another number. */
  if (options->clip == GRADUS_CLIP_VALUE)
    none = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &(float){ 0 });
  if (options->clip != GRADUS_CLIP_NORM && !add_scale (program, norm, none, &scale, error))
    return FALSE;
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char    *layer = g_path_get_dirname (self->names[i]);
      GradusOptimizerStep step = { program, self->names[i],
                                   g_array_index (variables, GradusValueId, i), self->gradients[i],
                                   scale, options->optimizer.args };

      gradus_program_set_scope (program, GRADUS_PHASE_UPDATE, layer);
      if (options->clip == GRADUS_CLIP_VALUE && !clip_value (program, &step.gradient, limit, error))
        return FALSE;
      if (options->clip == GRADUS_CLIP_NORM &&
          (!gradus_program_add_node (program, "global_norm", 0, &self->squares[i], 1, &own, error,
                                     NULL) ||
           !add_scale (program, own, limit, &step.scale, error)))
        return FALSE;
      if (!options->optimizer.klass->step (&step, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gradus_compile_train (GradusCompiled       *self,
                      GradusModel          *model,
                      GradusTrainerOptions *options,
                      const GradusBinding  *binding,
                      GError              **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("train");
  g_autoptr (GArray) variables = g_array_new (FALSE, FALSE, sizeof (GradusValueId));
  GradusValueId loss, norm;

  *self = (GradusCompiled){ 0 };
  return add_forward (self, program, model, options, binding, TRUE, &loss, error) &&
         add_gradients (self, program, loss, variables, error) &&
         add_norm (self, program, &norm, error) &&
         add_updates (self, program, options, variables, norm, error) &&
         gradus_model_build_updates (model, program, error) &&
         finish (self, program, model, options->n_metrics, error);
}

gboolean
gradus_compile_evaluate (GradusCompiled       *self,
                         GradusModel          *model,
                         GradusTrainerOptions *options,
                         const GradusBinding  *binding,
                         GError              **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("evaluate");

  *self = (GradusCompiled){ 0 };
  return add_forward (self, program, model, options, binding, FALSE, NULL, error) &&
         finish (self, program, model, options->n_metrics, error);
}

gboolean
gradus_compile_infer (GradusCompiled    *self,
                      GradusModel       *model,
                      const GradusDType *dtypes,
                      GError           **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("infer");
  guint                     n = gradus_model_n_outputs (model);
  g_autofree GradusValueId *outputs = g_new (GradusValueId, n);

  *self = (GradusCompiled){ 0 };
  if (!gradus_model_build (model, program, FALSE, dtypes, outputs, NULL, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("output/%u", i);

      gradus_program_add_output (program, name, outputs[i]);
    }
  if (!finish (self, program, model, 0, error))
    return FALSE;
  self->predictions = g_new (GradusValueId, n);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("output/%u", i);

      self->predictions[i] = gradus_program_find (self->program, name);
    }
  return TRUE;
}

void
gradus_compiled_clear (GradusCompiled *self)
{
  g_clear_pointer (&self->program, gradus_program_unref);
  g_clear_pointer (&self->names, g_strfreev);
  g_clear_pointer (&self->gradients, g_free);
  g_clear_pointer (&self->squares, g_free);
  g_clear_pointer (&self->predictions, g_free);
}
