/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>

/* Indices come as float32, in which whole numbers up to this one are exact. */
#define MAX_ROWS (1 << 24)

/* Embedding */
static const GradusArgSpec embedding_args[] = {
  { "input_dim", GRADUS_ARG_INT, NULL, 1, MAX_ROWS },
  { "output_dim", GRADUS_ARG_INT, NULL, 1, 1 << 20 },
  { "embeddings_initializer", GRADUS_ARG_INITIALIZER, "\"uniform\"", 0, 0 },
  { "mask_zero", GRADUS_ARG_BOOL, "false", 0, 0 },
  { "embeddings_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "activity_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "embeddings_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "input_length", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "sparse", GRADUS_ARG_ONLY, "false", 0, 0 },
  { "lora_rank", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "lora_alpha", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "quantization_config", GRADUS_ARG_ONLY, "null", 0, 0 },
  { NULL },
};

static gboolean
embedding_infer (const GradusLayer *layer,
                 const GradusShape *inputs,
                 guint              n_inputs,
                 GradusShape       *output,
                 GError           **error)
{
  if (inputs[0].rank >= GRADUS_MAX_RANK || (inputs[0].rank < 2 && gradus_layer_arg (layer, "mask_zero")->i))
    {
      g_autofree char *met = gradus_shape_to_string (&inputs[0]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("its input has shape %s, but sequences of whole numbers, (None, steps), are "
                     "wanted."),
                   met);
      return FALSE;
    }
  *output = inputs[0];
  output->dims[output->rank++] = gradus_layer_arg (layer, "output_dim")->i;
  return TRUE;
}

static guint
embedding_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  weights[0] = (GradusWeightSpec){ "embeddings",
                                   gradus_shape (2, gradus_layer_arg (layer, "input_dim")->i,
                                                 gradus_layer_arg (layer, "output_dim")->i),
                                   FALSE,
                                   &gradus_layer_arg (layer, "embeddings_initializer")->initializer };
  return 1;
}

static gboolean
embedding_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId inputs[2] = { gradus_layer_weight (layer, build, "embeddings"), build->inputs[0] };

  if (!gradus_program_add_node (build->program, "gather", 0, inputs, 2, &build->output, error, NULL))
    return FALSE;
  if (!gradus_layer_arg (layer, "mask_zero")->i)
    return TRUE;
  return gradus_program_add_node (build->program, "step_mask", 0, build->inputs, 1, &build->output_mask, error,
                                  NULL);
}

const GradusLayerClass gradus_layer_embedding = {
  "Embedding", "embedding", embedding_args, 1, 1,
  embedding_infer, embedding_weights, embedding_build, NULL, NULL, GRADUS_MASK_OWN,
};

/* Masking: what it hides becomes zero, as in Keras. */
static const GradusArgSpec masking_args[] = {
  { "mask_value", GRADUS_ARG_FLOAT, "0.0", -G_MAXFLOAT, G_MAXFLOAT },
  { NULL },
};

static gboolean
masking_infer (const GradusLayer *layer,
               const GradusShape *inputs,
               guint              n_inputs,
               GradusShape       *output,
               GError           **error)
{
  *output = inputs[0];
  if (inputs[0].rank >= 3)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("its input is no sequence, (None, steps, features)."));
  return FALSE;
}

static gboolean
masking_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusShape   wide = build->shapes[0];
  GradusValueId pair[2] = { build->inputs[0] };

  for (guint i = 2; i < wide.rank; i++)
    wide.dims[i] = 1;
  return gradus_program_add_node (build->program, "step_mask", 0, build->inputs, 1, &build->output_mask, error,
                                  "value", gradus_layer_arg (layer, "mask_value")->f, NULL) &&
         gradus_program_add_node (build->program, "reshape", 0, &build->output_mask, 1, &pair[1], error, "shape",
                                  wide.rank, wide.dims, NULL) &&
         gradus_program_add_node (build->program, "multiply", 0, pair, 2, &build->output, error, NULL);
}

const GradusLayerClass gradus_layer_masking = {
  "Masking", "masking", masking_args, 1, 1, masking_infer, NULL, masking_build, NULL, NULL, GRADUS_MASK_OWN,
};
