/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/* A copy of the layer inside @layer, under a name of its own, that shares its arguments. */
static GradusLayer
inner_layer (const GradusLayer *layer, const GradusLayer *inner, char *name)
{
  GradusLayer copy = *inner;

  copy.name = name;
  copy.trainable = layer->trainable && inner->trainable;
  return copy;
}

/* Bidirectional */
static const GradusArgSpec bidirectional_args[] = {
  { "layer", GRADUS_ARG_LAYER, NULL, 0, 0 },
  { "merge_mode", GRADUS_ARG_MERGE_MODE, "\"concat\"", 0, 0 },
  { "backward_layer", GRADUS_ARG_LAYER, "null", 0, 0 },
  { "weights", GRADUS_ARG_ONLY, "null", 0, 0 },
  { NULL },
};

static const char *const directions[] = { "forward", "backward" };

static gboolean
is_recurrent (const GradusLayer *layer)
{
  return layer->klass == &gradus_layer_simple_rnn || layer->klass == &gradus_layer_lstm ||
         layer->klass == &gradus_layer_gru;
}

/* The layer of a direction: of the backward one, if it has none of its own, the forward one's. */
static const GradusLayer *
direction (const GradusLayer *layer, guint which)
{
  const GradusLayer *backward = gradus_layer_arg (layer, "backward_layer")->layer;

  return which == 1 && backward != NULL ? backward : gradus_layer_arg (layer, "layer")->layer;
}

/* Keras keeps the layers' names with "forward_" and "backward_" before them. */
static char *
direction_name (const GradusLayer *layer, guint which)
{
  const char *name = gradus_layer_arg (layer, "layer")->layer->name;

  if (g_str_has_prefix (name, "forward_"))
    name += strlen ("forward_");
  return g_strdup_printf ("%s_%s", directions[which], name);
}

static gint64
merge_mode (const GradusLayer *layer)
{
  const GradusArg *mode = gradus_layer_arg (layer, "merge_mode");

  return mode->is_null ? GRADUS_MERGE_NONE : mode->i;
}

static gboolean
bidirectional_infer (const GradusLayer *layer,
                     const GradusShape *inputs,
                     guint              n_inputs,
                     GradusShape       *output,
                     GError           **error)
{
  const GradusLayer *forward = direction (layer, 0), *backward = direction (layer, 1);
  GradusShape        other[GRADUS_LAYER_MAX_OUTPUTS];
  guint              n;

  if (!is_recurrent (forward) || !is_recurrent (backward))
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("the layer inside it is not recurrent. Give it a SimpleRNN, an LSTM or a GRU."));
      return FALSE;
    }
  if (!forward->klass->infer (forward, inputs, n_inputs, output, error) ||
      !backward->klass->infer (backward, inputs, n_inputs, other, error))
    return FALSE;
  n = forward->klass->n_outputs (forward);
  if (backward->klass->n_outputs (backward) != n || !gradus_shape_equal (&output[0], &other[0]) ||
      (n > 1 && merge_mode (layer) == GRADUS_MERGE_NONE))
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("its two directions do not fit together. Give both the same units, "
                             "return_sequences and return_state, and a merge_mode if they return states."));
      return FALSE;
    }
  for (guint i = 1; i < n; i++)
    output[n - 1 + i] = other[i];
  if (merge_mode (layer) == GRADUS_MERGE_CONCAT)
    output[0].dims[output[0].rank - 1] *= 2;
  if (merge_mode (layer) == GRADUS_MERGE_NONE)
    output[1] = output[0];
  return TRUE;
}

static guint
bidirectional_n_outputs (const GradusLayer *layer)
{
  const GradusLayer *forward = direction (layer, 0);

  if (merge_mode (layer) == GRADUS_MERGE_NONE)
    return 2;
  return forward->klass->n_outputs == NULL ? 1 : 2 * forward->klass->n_outputs (forward) - 1;
}

static guint
bidirectional_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *specs)
{
  guint n = 0;

  for (guint which = 0; which < 2; which++)
    {
      const GradusLayer *inner = direction (layer, which);
      g_autofree char   *prefix = direction_name (layer, which);
      guint              more = inner->klass->weights (inner, input, specs + n);

      for (guint i = 0; i < more; i++)
        {
          g_autofree char *name = g_strdup_printf ("%s/%s", prefix, specs[n + i].name);

          specs[n + i].name = g_intern_string (name);
        }
      n += more;
    }
  return n;
}

static gboolean
build_direction (const GradusLayer *layer, guint which, GradusLayerBuild *build, GError **error)
{
  const GradusLayer   *source = direction (layer, which);
  g_autofree char     *own = direction_name (layer, which);
  g_autofree char     *name = g_strdup_printf ("%s/%s", layer->name, own);
  GradusLayer          inner = inner_layer (layer, source, name);
  g_autofree GradusArg *args = NULL;
  guint                n = 0, turn = 0;

  while (source->klass->args[n].name != NULL)
    {
      if (g_str_equal (source->klass->args[n].name, "go_backwards"))
        turn = n;
      n++;
    }
  args = g_memdup2 (source->args, n * sizeof *args);
  /* Without a layer of its own the backward direction is the other one turned round. */
  if (which == 1 && gradus_layer_arg (layer, "backward_layer")->layer == NULL)
    args[turn].i = !args[turn].i;
  inner.args = args;
  if (!inner.klass->build (&inner, build, error))
    return FALSE;
  if (which == 0 || !gradus_layer_arg (source, "return_sequences")->i)
    return TRUE;
  return gradus_program_add_node (build->program, "reverse", 0, &build->output, 1, &build->output, error, "axis",
                                  (gint64) 1, NULL);
}

static gboolean
merge (const GradusLayer *layer, GradusLayerBuild *build, const GradusValueId *pair, GError **error)
{
  GradusProgram *program = build->program;
  gint64         axis = build->output_shape.rank - 1;

  switch (merge_mode (layer))
    {
    case GRADUS_MERGE_CONCAT:
      return gradus_program_add_node (program, "concat", 0, pair, 2, &build->output, error, "axis", axis, NULL);
    case GRADUS_MERGE_SUM:
      return gradus_program_add_node (program, "add", 0, pair, 2, &build->output, error, NULL);
    case GRADUS_MERGE_MULTIPLY:
      return gradus_program_add_node (program, "multiply", 0, pair, 2, &build->output, error, NULL);
    case GRADUS_MERGE_AVERAGE:
      return gradus_program_add_node (program, "add", 0, pair, 2, &build->output, error, NULL) &&
             gradus_program_add_node (program, "affine", 0, &build->output, 1, &build->output, error, "scale", 0.5,
                                      NULL);
    default:
      build->output = pair[0];
      build->states[0] = pair[1];
      return TRUE;
    }
}

static gboolean
bidirectional_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusLayer *forward = direction (layer, 0);
  guint              n = forward->klass->n_outputs (forward) - 1;
  GradusValueId      pair[2], states[GRADUS_LAYER_MAX_OUTPUTS];

  for (guint which = 0; which < 2; which++)
    {
      if (!build_direction (layer, which, build, error))
        return FALSE;
      pair[which] = build->output;
      for (guint i = 0; i < n; i++)
        states[which * n + i] = build->states[i];
    }
  memcpy (build->states, states, 2 * n * sizeof *states);
  return merge (layer, build, pair, error);
}

const GradusLayerClass gradus_layer_bidirectional = {
  "Bidirectional", "bidirectional", bidirectional_args, 1, 1,
  bidirectional_infer, bidirectional_weights, bidirectional_build, NULL, NULL, GRADUS_MASK_OWN,
  bidirectional_n_outputs,
};

/* TimeDistributed: layers that work on the last axis alone do so on every step anyhow. */
static const GradusArgSpec time_distributed_args[] = {
  { "layer", GRADUS_ARG_LAYER, NULL, 0, 0 },
  { NULL },
};

static gboolean
works_on_last_axis (const GradusLayer *layer)
{
  return layer->klass == &gradus_layer_dense || layer->klass == &gradus_layer_activation ||
         layer->klass == &gradus_layer_rescaling || layer->klass == &gradus_layer_dropout;
}

static gboolean
time_distributed_infer (const GradusLayer *layer,
                        const GradusShape *inputs,
                        guint              n_inputs,
                        GradusShape       *output,
                        GError           **error)
{
  const GradusLayer *inner = gradus_layer_arg (layer, "layer")->layer;

  if (inputs[0].rank < 3)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("its input is no sequence, (None, steps, features)."));
      return FALSE;
    }
  if (works_on_last_axis (inner))
    return inner->klass->infer (inner, inputs, n_inputs, output, error);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("the layer inside it is a %s. This version of Gradus distributes Dense, Activation, Rescaling "
                 "and Dropout over the steps."),
               inner->klass->name);
  return FALSE;
}

static guint
time_distributed_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *specs)
{
  const GradusLayer *inner = gradus_layer_arg (layer, "layer")->layer;

  return inner->klass->weights ? inner->klass->weights (inner, input, specs) : 0;
}

static gboolean
time_distributed_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusLayer *source = gradus_layer_arg (layer, "layer")->layer;
  GradusLayer        inner = inner_layer (layer, source, layer->name);

  return inner.klass->build (&inner, build, error);
}

const GradusLayerClass gradus_layer_time_distributed = {
  "TimeDistributed", "time_distributed", time_distributed_args, 1, 1,
  time_distributed_infer, time_distributed_weights, time_distributed_build, NULL, NULL, GRADUS_MASK_PASSES,
};
