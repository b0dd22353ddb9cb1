/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>

static const GradusArgSpec batch_normalization_args[] = {
  { "axis", GRADUS_ARG_AXES, "-1", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1 },
  { "momentum", GRADUS_ARG_FLOAT, "0.99", 0, 1 },
  { "epsilon", GRADUS_ARG_FLOAT, "0.001", 0, 1 },
  { "center", GRADUS_ARG_BOOL, "true", 0, 0 },
  { "scale", GRADUS_ARG_BOOL, "true", 0, 0 },
  { "beta_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "gamma_initializer", GRADUS_ARG_INITIALIZER, "\"ones\"", 0, 0 },
  { "moving_mean_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "moving_variance_initializer", GRADUS_ARG_INITIALIZER, "\"ones\"", 0, 0 },
  { "beta_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "gamma_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "beta_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "gamma_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "synchronized", GRADUS_ARG_ONLY, "false", 0, 0 },
  { "renorm", GRADUS_ARG_ONLY, "false", 0, 0 },
  { "renorm_clipping", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "renorm_momentum", GRADUS_ARG_ONLY, "0.99", 0, 0 },
  { NULL },
};

static gboolean
infer (const GradusLayer *layer,
       const GradusShape *inputs,
       guint              n_inputs,
       GradusShape       *output,
       GError           **error)
{
  *output = inputs[0];
  if (gradus_layer_arg (layer, "axis")->n == 1)
    return gradus_layer_named_axes (layer, &inputs[0], NULL, error);
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("it takes one axis, that of the channels. Use -1 for the last."));
  return FALSE;
}

static guint
channel_axis (const GradusLayer *layer, const GradusShape *input)
{
  guint32 mask = 0;

  gradus_layer_named_axes (layer, input, &mask, NULL);
  return g_bit_nth_lsf (mask, -1);
}

static guint
weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *specs)
{
  static const struct
  {
    const char *name, *use, *initializer;
  } all[] = {
    { "gamma", "scale", "gamma_initializer" },
    { "beta", "center", "beta_initializer" },
    { "moving_mean", NULL, "moving_mean_initializer" },
    { "moving_variance", NULL, "moving_variance_initializer" },
  };
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (all[i].use == NULL || gradus_layer_arg (layer, all[i].use)->i)
      specs[n++] = (GradusWeightSpec){
        all[i].name, gradus_shape (1, input->dims[channel_axis (layer, input)]), all[i].use == NULL,
        &gradus_layer_arg (layer, all[i].initializer)->initializer,
      };
  return n;
}

/* gamma or beta; where the layer has none, the constant that changes nothing. */
static GradusValueId
scale_or_center (const GradusLayer *layer, GradusLayerBuild *build, gboolean scale)
{
  gint64            channels = build->shapes[0].dims[channel_axis (layer, &build->shapes[0])];
  g_autofree float *data = NULL;

  if (gradus_layer_arg (layer, scale ? "scale" : "center")->i)
    return gradus_layer_weight (layer, build, scale ? "gamma" : "beta");
  data = g_new (float, MAX (1, channels));
  for (gint64 i = 0; i < channels; i++)
    data[i] = scale ? 1 : 0;
  return gradus_program_add_constant (build->program, GRADUS_DTYPE_FLOAT32,
                                      gradus_shape (1, channels), data);
}

/* A layer that is not trainable uses its statistics, as Keras's does. */
static gboolean
build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  double        epsilon = gradus_layer_arg (layer, "epsilon")->f;
  GradusValueId inputs[5] = { b->inputs[0], scale_or_center (layer, b, TRUE),
                              scale_or_center (layer, b, FALSE),
                              gradus_layer_weight (layer, b, "moving_mean"),
                              gradus_layer_weight (layer, b, "moving_variance") };
  GradusValueId outputs[3];
  guint32       mask = 1u << channel_axis (layer, &b->shapes[0]);

  if (!gradus_layer_axes_last (b, mask, FALSE, &inputs[0], error))
    return FALSE;
  if (!b->training || !layer->trainable)
    {
      if (!gradus_program_add_node (b->program, "batch_norm_inference", 0, inputs, 5, outputs,
                                    error, "epsilon", epsilon, NULL))
        return FALSE;
    }
  else if (!gradus_program_add_node (b->program, "batch_norm", 0, inputs, 3, outputs, error, "epsilon",
                                     epsilon, NULL))
    return FALSE;
  b->output = outputs[0];
  return gradus_layer_axes_last (b, mask, TRUE, &b->output, error);
}

static gboolean
update (const GradusLayer *layer, GradusProgram *program, const GradusNode *node, GError **error)
{
  static const char *const names[] = { "moving_mean", "moving_variance" };
  double                   momentum = gradus_layer_arg (layer, "momentum")->f;
  GradusValueId            values[2] = { node->outputs[1], node->outputs[2] };

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s/%s", layer->name, names[i]);
      GradusValueId    inputs[2] = { gradus_program_find (program, name), values[i] };

      if (!gradus_program_add_node (program, "moving_average", 0, inputs, 2, NULL, error,
                                    "momentum", momentum, NULL))
        return FALSE;
    }
  return TRUE;
}

const GradusLayerClass gradus_layer_batch_normalization = {
  "BatchNormalization", "batch_normalization", batch_normalization_args, 1, 1,
  infer, weights, build, "batch_norm", update, GRADUS_MASK_PASSES,
};
