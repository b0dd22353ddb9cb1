/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define MAX_ELEMENTS (1ll << 40)

static void
call_free (gpointer data)
{
  GradusCall *call = data;

  g_free (call->inputs);
  g_free (call);
}

GradusModel *
gradus_model_alloc (const char *name, gboolean sequential)
{
  GradusModel *self = g_new0 (GradusModel, 1);

  g_atomic_ref_count_init (&self->refs);
  self->name = g_strdup (name);
  self->sequential = sequential;
  self->layers = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_layer_free);
  self->calls = g_ptr_array_new_with_free_func (call_free);
  self->inputs = g_array_new (FALSE, FALSE, sizeof (GradusTensor));
  self->outputs = g_array_new (FALSE, FALSE, sizeof (GradusTensor));
  return self;
}

GradusModel *
gradus_model_ref (GradusModel *model)
{
  g_atomic_ref_count_inc (&model->refs);
  return model;
}

void
gradus_model_unref (GradusModel *model)
{
  if (!g_atomic_ref_count_dec (&model->refs))
    return;
  g_free (model->name);
  g_ptr_array_unref (model->layers);
  g_ptr_array_unref (model->calls);
  g_array_unref (model->inputs);
  g_array_unref (model->outputs);
  g_clear_pointer (&model->canvas, json_node_unref);
  g_free (model);
}

GradusLayer *
gradus_model_layer_at (GradusModel *self, guint i)
{
  return g_ptr_array_index (self->layers, i);
}

GradusCall *
gradus_model_call_at (GradusModel *self, guint i)
{
  return g_ptr_array_index (self->calls, i);
}

const GradusShape *
gradus_model_tensor_shape (GradusModel *self, GradusTensor tensor)
{
  return &gradus_model_call_at (self, tensor.call)->shapes[tensor.output];
}

gboolean
gradus_model_find_layer (GradusModel *self, const char *name, guint *layer)
{
  for (guint i = 0; i < self->layers->len; i++)
    if (g_str_equal (gradus_model_layer_at (self, i)->name, name))
      {
        *layer = i;
        return TRUE;
      }
  return FALSE;
}

static gboolean
check_size (const GradusShape *shape, GError **error)
{
  GradusShape one = gradus_shape_bind (shape, gradus_sizes (1, 1));
  gint64      count = gradus_shape_count (&one);

  if (count >= 0 && count <= MAX_ELEMENTS)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("it makes tensors of more numbers than any memory holds. Use fewer units, "
                         "filters or smaller inputs."));
  return FALSE;
}

static guint
n_outputs (const GradusLayer *layer)
{
  return layer->klass->n_outputs != NULL ? layer->klass->n_outputs (layer) : 1;
}

static gboolean
any_time (const GradusShape *shapes, guint n)
{
  for (guint i = 0; i < n; i++)
    if (gradus_shape_has_time (&shapes[i]))
      return TRUE;
  return FALSE;
}

static gboolean
infer (GradusLayer *layer, const GradusShape *shapes, guint n, GradusShape *outputs, GError **error)
{
  const GradusLayerClass *klass = layer->klass;
  GradusWeightSpec        weights[GRADUS_LAYER_MAX_WEIGHTS];
  guint                   n_weights;

  if (n < klass->min_inputs || n > klass->max_inputs)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   klass->max_inputs == 1
                       ? _("it has %u inputs, but takes one. Join them first, with Concatenate or "
                           "Add.")
                       : _("it has %u inputs, but takes two or more."),
                   n);
      return FALSE;
    }
  if (klass->mask == GRADUS_MASK_DROPS && !klass->free_time && any_time (shapes, n))
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("it must know how long its input is, but the number of steps is free "
                             "(null). Write a number into the shape of the input layer, or put a "
                             "layer before it that joins the steps, such as an LSTM."));
      return FALSE;
    }
  if (!klass->infer (layer, shapes, n, outputs, error))
    return FALSE;
  for (guint i = 0; i < n_outputs (layer); i++)
    if (!check_size (&outputs[i], error))
      return FALSE;
  if (klass->weights == NULL)
    return TRUE;
  n_weights = klass->weights (layer, shapes, weights);
  for (guint i = 0; i < n_weights; i++)
    {
      if (gradus_shape_is_free (&weights[i].shape))
        {
          g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                               _("the number of features of its input is free (null), so its "
                                 "weights have no size. Write a number into the shape of the "
                                 "input layer."));
          return FALSE;
        }
      if (!check_size (&weights[i].shape, error))
        return FALSE;
    }
  return TRUE;
}

/* A shared layer's weights have one shape, so its inputs must agree. */
static gboolean
check_shared (GradusLayer *layer, const GradusShape *shapes, GError **error)
{
  GradusWeightSpec a[GRADUS_LAYER_MAX_WEIGHTS], b[GRADUS_LAYER_MAX_WEIGHTS];
  guint            n;

  if (!layer->is_built || layer->klass->weights == NULL)
    {
      memcpy (layer->built_shapes, shapes, sizeof layer->built_shapes);
      layer->is_built = TRUE;
      return TRUE;
    }
  n = layer->klass->weights (layer, layer->built_shapes, a);
  layer->klass->weights (layer, shapes, b);
  for (guint i = 0; i < n; i++)
    if (!gradus_shape_equal (&a[i].shape, &b[i].shape))
      {
        g_autofree char *first = gradus_shape_to_string (&layer->built_shapes[0]);
        g_autofree char *other = gradus_shape_to_string (&shapes[0]);

        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                     _("it is used on inputs of shapes %s and %s, which need different weights. "
                       "Use a layer of its own for each."),
                     first, other);
        return FALSE;
      }
  return TRUE;
}

gboolean
gradus_model_call (GradusModel *self,
                   guint        index,
                   const GradusTensor *inputs,
                   guint        n_inputs,
                   const GradusCallOptions *options,
                   GError     **error)
{
  GradusLayer *layer = gradus_model_layer_at (self, index);
  g_autofree GradusShape *shapes = g_new0 (GradusShape, n_inputs + GRADUS_LAYER_MAX_BUILT);
  GradusCall *call;
  GradusShape outputs[GRADUS_LAYER_MAX_OUTPUTS] = { 0 };

  for (guint i = 0; i < n_inputs - options->n_masks; i++)
    shapes[i] = *gradus_model_tensor_shape (self, inputs[i]);
  if (layer->klass == &gradus_layer_input)
    outputs[0] = layer->input_shape;
  else if (!infer (layer, shapes, n_inputs - options->n_masks, outputs, error) ||
           !check_shared (layer, shapes, error))
    {
      g_prefix_error (error, _("Layer “%s” (%s) does not fit: "), layer->name, layer->klass->name);
      return FALSE;
    }
  call = g_new0 (GradusCall, 1);
  call->layer = index;
  call->n_inputs = n_inputs;
  call->options = *options;
  call->inputs = g_memdup2 (inputs, n_inputs * sizeof *inputs);
  call->n_outputs = n_outputs (layer);
  memcpy (call->shapes, outputs, sizeof outputs);
  for (guint i = 0; i < self->calls->len; i++)
    call->index += gradus_model_call_at (self, i)->layer == index;
  g_ptr_array_add (self->calls, call);
  return TRUE;
}

const char *
gradus_model_name (GradusModel *model)
{
  return model->name;
}

guint
gradus_model_n_inputs (GradusModel *model)
{
  return model->inputs->len;
}

const char *
gradus_model_input (GradusModel *model, guint i, GradusShape *shape, GradusDType *dtype)
{
  GradusCall  *call = gradus_model_call_at (model, g_array_index (model->inputs, GradusTensor, i).call);
  GradusLayer *layer = gradus_model_layer_at (model, call->layer);

  if (shape != NULL)
    *shape = call->shapes[0];
  if (dtype != NULL)
    *dtype = layer->input_dtype;
  return layer->name;
}

/* Does a layer that reads a sequence heed its mask? */
static gboolean
heeds_masks (GradusModel *model, GradusCall *call)
{
  GradusLayer *layer = gradus_model_layer_at (model, call->layer);

  for (guint i = 0; i < call->n_inputs; i++)
    if (gradus_shape_has_time (gradus_model_tensor_shape (model, call->inputs[i])))
      return layer->klass->mask != GRADUS_MASK_DROPS && layer->klass->update_op == NULL;
  return TRUE;
}

/* What @layer takes for padding, if it makes a mask. */
static gboolean
makes_mask (GradusLayer *layer, double *padding)
{
  *padding = 0;
  if (layer->klass == &gradus_layer_masking)
    *padding = gradus_layer_arg (layer, "mask_value")->f;
  else if (layer->klass != &gradus_layer_embedding || !gradus_layer_arg (layer, "mask_zero")->i)
    return FALSE;
  return TRUE;
}

gboolean
gradus_model_time_padding (GradusModel *model, guint i, double *padding)
{
  guint    input = g_array_index (model->inputs, GradusTensor, i).call, readers = 0;
  GradusShape shape;

  for (guint o = 0; o < model->outputs->len; o++)
    {
      gradus_model_output (model, o, &shape);
      if (gradus_shape_has_time (&shape))
        return FALSE;
    }
  for (guint c = 0; c < model->calls->len; c++)
    {
      GradusCall *call = gradus_model_call_at (model, c);
      double      own;

      if (!heeds_masks (model, call))
        return FALSE;
      for (guint k = 0; k < call->n_inputs; k++)
        if (call->inputs[k].call == input)
          {
            if (!makes_mask (gradus_model_layer_at (model, call->layer), &own) || (readers > 0 && own != *padding))
              return FALSE;
            *padding = own;
            readers++;
          }
    }
  return readers > 0;
}

guint
gradus_model_n_outputs (GradusModel *model)
{
  return model->outputs->len;
}

const char *
gradus_model_output (GradusModel *model, guint i, GradusShape *shape)
{
  GradusTensor tensor = g_array_index (model->outputs, GradusTensor, i);
  GradusCall  *call = gradus_model_call_at (model, tensor.call);

  if (shape != NULL)
    *shape = call->shapes[tensor.output];
  return gradus_model_layer_at (model, call->layer)->name;
}

guint
gradus_model_n_layers (GradusModel *model)
{
  return model->layers->len;
}

static guint
layer_weights (GradusLayer *layer, GradusWeightSpec *weights)
{
  if (layer->klass->weights == NULL || !layer->is_built)
    return 0;
  return layer->klass->weights (layer, layer->built_shapes, weights);
}

GradusLayerSummary
gradus_model_layer (GradusModel *model, guint i)
{
  GradusLayer       *layer = gradus_model_layer_at (model, i);
  GradusLayerSummary row = { .name = layer->name, .class_name = layer->klass->name };
  GradusWeightSpec   weights[GRADUS_LAYER_MAX_WEIGHTS];
  guint              n = layer_weights (layer, weights);

  for (guint c = model->calls->len; c-- > 0;)
    if (gradus_model_call_at (model, c)->layer == i)
      row.output = gradus_model_call_at (model, c)->shapes[0];
  for (guint w = 0; w < n; w++)
    {
      gint64 count = gradus_shape_count (&weights[w].shape);

      row.parameters += count;
      if (layer->trainable && !weights[w].statistic)
        row.trainable += count;
    }
  return row;
}

gint64
gradus_model_n_parameters (GradusModel *model, gint64 *trainable)
{
  gint64 all = 0, trained = 0;

  for (guint i = 0; i < model->layers->len; i++)
    {
      GradusLayerSummary row = gradus_model_layer (model, i);

      all += row.parameters;
      trained += row.trainable;
    }
  if (trainable != NULL)
    *trainable = trained;
  return all;
}

/* The value of an input, as the float32 that layers work on. */
static gboolean
build_input (GradusLayer *layer, GradusLayerBuild *build, GradusDType dtype, gboolean rescaled, GError **error)
{
  build->output = gradus_program_add_input (build->program, layer->name, dtype,
                                            build->output_shape);
  /* The affine op of Rescaling takes bytes as they are. */
  if (dtype == GRADUS_DTYPE_FLOAT32 || (dtype == GRADUS_DTYPE_UINT8 && rescaled))
    return TRUE;
  return gradus_program_add_node (build->program, "cast", 0, &build->output, 1, &build->output,
                                  error, "dtype", "float32", NULL);
}

static gboolean
only_rescaled (GradusModel *model, guint call)
{
  guint readers = 0;

  for (guint c = 0; c < model->calls->len; c++)
    {
      GradusCall *reader = gradus_model_call_at (model, c);

      for (guint i = 0; i < reader->n_inputs; i++)
        if (reader->inputs[i].call == call)
          {
            readers++;
            if (gradus_model_layer_at (model, reader->layer)->klass != &gradus_layer_rescaling)
              return FALSE;
          }
    }
  return readers > 0;
}

static gboolean
input_index (GradusModel *model, guint call, guint *index)
{
  for (*index = 0; *index < model->inputs->len; (*index)++)
    if (g_array_index (model->inputs, GradusTensor, *index).call == call)
      return TRUE;
  return FALSE;
}

static gboolean
build_call (GradusModel       *model,
            guint              index,
            GradusLayerBuild  *build,
            const GradusDType *input_dtypes,
            GError           **error)
{
  GradusCall  *call = gradus_model_call_at (model, index);
  GradusLayer *layer = gradus_model_layer_at (model, call->layer);
  guint        input = 0;

  build->output_shape = call->shapes[0];
  build->use = call->index;
  gradus_program_set_scope (build->program, GRADUS_PHASE_FORWARD, layer->name);
  if (layer->klass != &gradus_layer_input)
    return layer->klass->build (layer, build, error);
  if (!input_index (model, index, &input))
    input_dtypes = NULL;
  return build_input (layer, build, input_dtypes ? input_dtypes[input] : layer->input_dtype,
                      only_rescaled (model, index), error);
}

/* The values of a call. */
typedef struct
{
  GradusValueId outputs[GRADUS_LAYER_MAX_OUTPUTS];
  GradusValueId logits, mask;
} Made;

/* Where any of the inputs has a real step; none if one of them has no mask. */
static gboolean
pass_mask (GradusLayerBuild *build, GError **error)
{
  GradusValueId pair[2];

  for (guint i = 0; i < build->n_inputs; i++)
    if (build->masks[i] == GRADUS_NO_VALUE)
      return TRUE;
  build->output_mask = build->n_inputs > 0 ? build->masks[0] : GRADUS_NO_VALUE;
  for (guint i = 1; i < build->n_inputs; i++)
    {
      pair[0] = build->output_mask;
      pair[1] = build->masks[i];
      if (pair[0] != pair[1] &&
          !gradus_program_add_node (build->program, "maximum", 0, pair, 2, &build->output_mask,
                                    error, NULL))
        return FALSE;
    }
  return TRUE;
}

/* Builds call @index into @made, whose entries before it are filled. */
static gboolean
make_call (GradusModel *model, guint index, GradusLayerBuild *build, const GradusDType *input_dtypes, Made *made, GError **error)
{
  GradusCall               *call = gradus_model_call_at (model, index);
  GradusLayer              *layer = gradus_model_layer_at (model, call->layer);
  g_autofree GradusValueId *inputs = g_new (GradusValueId, MAX (1, call->n_inputs));
  g_autofree GradusValueId *masks = g_new (GradusValueId, MAX (1, call->n_inputs));
  g_autofree GradusShape   *shapes = g_new0 (GradusShape, call->n_inputs + GRADUS_LAYER_MAX_BUILT);
  guint                     n_masks = call->options.n_masks;
  g_autofree GradusShape   *mask_shapes = g_new (GradusShape, n_masks + 1);

  for (guint i = 0; i < call->n_inputs; i++)
    {
      GradusTensor from = call->inputs[i];

      inputs[i] = made[from.call].outputs[from.output];
      if (i < call->n_inputs - n_masks)
        shapes[i] = *gradus_model_tensor_shape (model, from);
      else
        mask_shapes[i - (call->n_inputs - n_masks)] = *gradus_model_tensor_shape (model, from);
      /* A state is no sequence. */
      masks[i] = from.output == 0 ? made[from.call].mask : GRADUS_NO_VALUE;
    }
  build->inputs = inputs;
  build->masks = masks;
  build->shapes = shapes;
  build->n_inputs = call->n_inputs - n_masks;
  build->options = call->options;
  build->mask_inputs = inputs + build->n_inputs;
  build->mask_shapes = mask_shapes;
  if (call->options.training >= 0)
    build->training = call->options.training;
  build->logits = build->output_mask = GRADUS_NO_VALUE;
  if (!build_call (model, index, build, input_dtypes, error) ||
      (layer->klass->mask == GRADUS_MASK_PASSES && !pass_mask (build, error)))
    return FALSE;
  if (!gradus_model_build_activity (layer, build, error))
    return FALSE;
  made[index].outputs[0] = build->output;
  memcpy (&made[index].outputs[1], build->states, sizeof build->states);
  made[index].logits = build->logits;
  made[index].mask = build->output_mask;
  return TRUE;
}

gboolean
gradus_model_build (GradusModel       *model,
                    GradusProgram     *program,
                    gboolean           training,
                    const GradusDType *input_dtypes,
                    GradusValueId     *outputs,
                    GradusValueId     *logits,
                    GradusValueId     *masks,
                    GError           **error)
{
  guint n = model->calls->len;
  g_autofree Made *made = g_new (Made, n);

  for (guint c = 0; c < n; c++)
    {
      GradusLayerBuild build = { .program = program, .training = training };

      if (!make_call (model, c, &build, input_dtypes, made, error))
        return FALSE;
    }
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, NULL);
  for (guint i = 0; i < model->outputs->len; i++)
    {
      GradusTensor tensor = g_array_index (model->outputs, GradusTensor, i);

      outputs[i] = made[tensor.call].outputs[tensor.output];
      if (logits != NULL)
        logits[i] = tensor.output == 0 ? made[tensor.call].logits : GRADUS_NO_VALUE;
      if (masks != NULL)
        masks[i] = tensor.output == 0 ? made[tensor.call].mask : GRADUS_NO_VALUE;
    }
  return TRUE;
}

gboolean
gradus_model_build_updates (GradusModel *model, GradusProgram *program, GError **error)
{
  guint n = gradus_program_n_nodes (program);

  for (guint i = 0; i < n; i++)
    {
      const GradusNode *node = gradus_program_node (program, i);
      const char       *name = node->layer;
      guint             index;
      GradusLayer      *layer;

      if (name == NULL || node->phase != GRADUS_PHASE_FORWARD ||
          !gradus_model_find_layer (model, name, &index))
        continue;
      layer = gradus_model_layer_at (model, index);
      if (g_strcmp0 (layer->klass->update_op, node->op->name) != 0)
        continue;
      gradus_program_set_scope (program, GRADUS_PHASE_STATISTICS, layer->name);
      if (!layer->klass->update (layer, program, node, error))
        return FALSE;
    }
  gradus_program_set_scope (program, GRADUS_PHASE_STATISTICS, NULL);
  return TRUE;
}

static gboolean
initialize_weight (GradusLayer            *layer,
                   const GradusWeightSpec *weight,
                   GradusVariables        *variables,
                   guint64                 seed,
                   GError                **error)
{
  g_autofree char  *name = g_strdup_printf ("%s/%s", layer->name, weight->name);
  gint64            count = gradus_shape_count (&weight->shape);
  g_autofree float *data = NULL;
  guint             index;

  if (!gradus_variables_find (variables, name, &index))
    return TRUE;
  if ((data = g_try_new (float, MAX (1, count))) == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _("There is no memory left to fill “%s”. Use a smaller model."), name);
      return FALSE;
    }
  gradus_initializer_fill (weight->initializer, &weight->shape, seed, name, data, count);
  for (gint64 i = weight->ones_begin; i < weight->ones_end; i++)
    data[i] = 1;
  return gradus_variables_write (variables, index, data, count * sizeof (float), error);
}

gboolean
gradus_model_initialize (GradusModel     *model,
                         GradusVariables *variables,
                         guint64          seed,
                         GError         **error)
{
  for (guint i = 0; i < model->layers->len; i++)
    {
      GradusLayer     *layer = gradus_model_layer_at (model, i);
      GradusWeightSpec weights[GRADUS_LAYER_MAX_WEIGHTS];
      guint            n = layer_weights (layer, weights);

      for (guint w = 0; w < n; w++)
        if (!initialize_weight (layer, &weights[w], variables, seed, error))
          return FALSE;
    }
  return TRUE;
}
