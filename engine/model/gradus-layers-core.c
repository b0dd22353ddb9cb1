/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

/* Elements of one sample, the batch axis left out. */
static gint64
sample_count (const GradusShape *shape)
{
  GradusShape one = gradus_shape_bind (shape, gradus_sizes (1, 1));

  return gradus_shape_count (&one);
}

static gboolean
same_shape (const GradusLayer *layer,
            const GradusShape *inputs,
            guint              n_inputs,
            GradusShape       *output,
            GError           **error)
{
  *output = inputs[0];
  return TRUE;
}

/* InputLayer: its value is made by the model. */
const GradusLayerClass gradus_layer_input = {
  .name = "InputLayer", .snake = "input_layer", .min_inputs = 0, .max_inputs = 0,
};

/* Dense */
static const GradusArgSpec dense_args[] = {
  { "units", GRADUS_ARG_INT, NULL, 1, 1 << 28 },
  { "activation", GRADUS_ARG_ACTIVATION, "\"linear\"", 0, 0 },
  { "use_bias", GRADUS_ARG_BOOL, "true", 0, 0 },
  { "kernel_initializer", GRADUS_ARG_INITIALIZER, "\"glorot_uniform\"", 0, 0 },
  { "bias_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "kernel_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "bias_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "activity_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "kernel_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "bias_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "lora_rank", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "lora_alpha", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "quantization_config", GRADUS_ARG_ONLY, "null", 0, 0 },
  { NULL },
};

static gboolean
dense_infer (const GradusLayer *layer,
             const GradusShape *inputs,
             guint              n_inputs,
             GradusShape       *output,
             GError           **error)
{
  gint64 units = gradus_layer_arg (layer, "units")->i;

  if (inputs[0].rank < 2)
    {
      g_autofree char *met = gradus_shape_to_string (&inputs[0]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("its input has shape %s, but a dense layer works on the features of the last "
                     "axis, (None, ..., features). Put a Reshape before it."),
                   met);
      return FALSE;
    }
  if (inputs[0].dims[inputs[0].rank - 1] == 0)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("its input has no features. Give it at least one."));
      return FALSE;
    }
  *output = inputs[0];
  output->dims[output->rank - 1] = units;
  return TRUE;
}

static guint
dense_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  gint64 units = gradus_layer_arg (layer, "units")->i;

  weights[0] = (GradusWeightSpec){ "kernel", gradus_shape (2, input->dims[input->rank - 1], units), FALSE,
                                   &gradus_layer_arg (layer, "kernel_initializer")->initializer };
  weights[1] = (GradusWeightSpec){ "bias", gradus_shape (1, units), FALSE,
                                   &gradus_layer_arg (layer, "bias_initializer")->initializer };
  return gradus_layer_arg (layer, "use_bias")->i ? 2 : 1;
}

static gboolean
dense_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId inputs[2] = { build->inputs[0], gradus_layer_weight (layer, build, "kernel") };
  GradusValueId value;

  return gradus_program_add_node (build->program, "matmul", 0, inputs, 2, &value, error, NULL) &&
         gradus_layer_finish (layer, build, value, error);
}

const GradusLayerClass gradus_layer_dense = {
  "Dense", "dense", dense_args, 1, 1, dense_infer, dense_weights, dense_build, NULL, NULL,
  GRADUS_MASK_PASSES,
};

/* Activation */
static const GradusArgSpec activation_args[] = {
  { "activation", GRADUS_ARG_ACTIVATION, NULL, 0, 0 },
  { NULL },
};

static gboolean
activation_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusActivation *activation = gradus_layer_arg (layer, "activation")->activation;

  if (g_strcmp0 (activation->op, "softmax") == 0)
    build->logits = build->inputs[0];
  return gradus_activation_build (activation, build->program, build->inputs[0], &build->output,
                                  error);
}

const GradusLayerClass gradus_layer_activation = {
  "Activation", "activation", activation_args, 1, 1, same_shape, NULL, activation_build, NULL, NULL,
  GRADUS_MASK_PASSES,
};

/* Flatten and Reshape */
static gboolean
reshape_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusShape *to = &build->output_shape;

  return gradus_program_add_node (build->program, "reshape", 0, build->inputs, 1, &build->output,
                                  error, "shape", to->rank, to->dims, NULL);
}

static const GradusArgSpec flatten_args[] = {
  { "data_format", GRADUS_ARG_ONLY, "\"channels_last\"", 0, 0 },
  { NULL },
};

static gboolean
flatten_infer (const GradusLayer *layer,
               const GradusShape *inputs,
               guint              n_inputs,
               GradusShape       *output,
               GError           **error)
{
  *output = gradus_shape (2, (gint64) GRADUS_DIM_BATCH, sample_count (&inputs[0]));
  return TRUE;
}

const GradusLayerClass gradus_layer_flatten = {
  "Flatten", "flatten", flatten_args, 1, 1, flatten_infer, NULL, reshape_build, NULL, NULL,
};

static const GradusArgSpec reshape_args[] = {
  { "target_shape", GRADUS_ARG_DIMS, NULL, -1, 1ll << 40 },
  { NULL },
};

static gboolean
reshape_infer (const GradusLayer *layer,
               const GradusShape *inputs,
               guint              n_inputs,
               GradusShape       *output,
               GError           **error)
{
  const GradusArg *target = gradus_layer_arg (layer, "target_shape");
  gint64           count = sample_count (&inputs[0]);
  gint64           known = 1;
  gint             open = -1;
  gboolean         fits = TRUE;

  *output = (GradusShape){ .rank = target->n + 1, .dims = { GRADUS_DIM_BATCH } };
  for (guint i = 0; i < target->n; i++)
    {
      gint64 dim = target->ints[i];

      output->dims[i + 1] = dim;
      if (dim == -1)
        {
          fits = fits && open < 0;
          open = i + 1;
        }
      else
        fits = fits && !__builtin_mul_overflow (known, dim, &known);
    }
  if (fits && open >= 0)
    {
      fits = known > 0 && count % known == 0;
      if (fits)
        output->dims[open] = count / known;
    }
  else
    fits = fits && known == count;
  if (!fits)
    {
      g_autofree char *met = gradus_shape_to_string (&inputs[0]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("its input has shape %s, %" PRId64
                      " numbers a sample, and target_shape has room for another number of them. "
                      "Change target_shape so that its product is %" PRId64
                      "; one axis may be -1."),
                   met, count, count);
    }
  return fits;
}

const GradusLayerClass gradus_layer_reshape = {
  "Reshape", "reshape", reshape_args, 1, 1, reshape_infer, NULL, reshape_build, NULL, NULL,
};

/* Rescaling */
static const GradusArgSpec rescaling_args[] = {
  { "scale", GRADUS_ARG_FLOAT, NULL, -G_MAXFLOAT, G_MAXFLOAT },
  { "offset", GRADUS_ARG_FLOAT, "0.0", -G_MAXFLOAT, G_MAXFLOAT },
  { NULL },
};

static gboolean
rescaling_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return gradus_program_add_node (build->program, "affine", 0, build->inputs, 1, &build->output,
                                  error, "scale", gradus_layer_arg (layer, "scale")->f, "offset",
                                  gradus_layer_arg (layer, "offset")->f, NULL);
}

const GradusLayerClass gradus_layer_rescaling = {
  "Rescaling", "rescaling", rescaling_args, 1, 1, same_shape, NULL, rescaling_build, NULL, NULL,
  GRADUS_MASK_PASSES,
};

/* Dropout */
static const GradusArgSpec dropout_args[] = {
  { "rate", GRADUS_ARG_FLOAT, NULL, 0, 1 },
  { "seed", GRADUS_ARG_SEED, "null", 0, 0 },
  { "noise_shape", GRADUS_ARG_ONLY, "null", 0, 0 },
  { NULL },
};

static gboolean
dropout_infer (const GradusLayer *layer,
               const GradusShape *inputs,
               guint              n_inputs,
               GradusShape       *output,
               GError           **error)
{
  if (gradus_layer_arg (layer, "rate")->f >= 1)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("its rate is 1, which drops everything. Choose a rate below 1."));
      return FALSE;
    }
  *output = inputs[0];
  return TRUE;
}

static gboolean
dropout_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusArg *seed = gradus_layer_arg (layer, "seed");
  g_autofree char *name = g_strdup_printf ("%s/rate", layer->name);
  g_autoptr (GString) purpose = g_string_new ("dropout");
  GradusValueId    inputs[2];

  build->output = build->inputs[0];
  if (!build->training)
    return TRUE;
  if (!seed->is_null)
    g_string_append_printf (purpose, "/%" G_GINT64_FORMAT, seed->i);
  /* Each use of a shared layer drops other elements. */
  if (build->use > 0)
    g_string_append_printf (purpose, "/use/%u", build->use);
  inputs[0] = build->inputs[0];
  inputs[1] = gradus_program_add_hyper (build->program, name, gradus_layer_arg (layer, "rate")->f);
  return gradus_program_add_node (build->program, "dropout", gradus_layer_stream (layer, purpose->str),
                                  inputs, 2, &build->output, error, NULL);
}

const GradusLayerClass gradus_layer_dropout = {
  "Dropout", "dropout", dropout_args, 1, 1, dropout_infer, NULL, dropout_build, NULL, NULL,
  GRADUS_MASK_PASSES,
};
