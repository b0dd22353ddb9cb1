/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-model-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

gboolean
gradus_model_build_activity (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusArg *arg = gradus_layer_find_arg (layer, "activity_regularizer");
  GradusValueId    penalty;

  if (arg == NULL || gradus_regularizer_build (&arg->regularizer, build->program, build->output,
                                               TRUE, &penalty, error))
    return TRUE;
  g_prefix_error (error, _("Layer “%s” (%s) does not fit: "), layer->name, layer->klass->name);
  return FALSE;
}

/* The penalties of a layer's weights, each behind the nodes that are there. */
static gboolean
build_weights (const GradusLayer *layer, GradusProgram *program, GError **error)
{
  GradusWeightSpec weights[GRADUS_LAYER_MAX_WEIGHTS];
  guint            n;

  if (layer->klass->weights == NULL || !layer->is_built || !layer->trainable)
    return TRUE;
  n = layer->klass->weights (layer, layer->built_shapes, weights);
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, layer->name);
  for (guint i = 0; i < n; i++)
    {
      const GradusArg *arg = gradus_layer_weight_arg (layer, weights[i].name, "regularizer");
      g_autofree char *name = g_strdup_printf ("%s/%s", layer->name, weights[i].name);
      GradusValueId    variable = gradus_program_find (program, name), penalty;

      if (arg == NULL || weights[i].statistic || variable == GRADUS_NO_VALUE)
        continue;
      if (!gradus_regularizer_build (&arg->regularizer, program, variable, FALSE, &penalty, error))
        {
          g_prefix_error (error, _("Layer “%s” (%s) does not fit: "), layer->name,
                          layer->klass->name);
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
gradus_model_build_penalties (GradusModel   *model,
                              GradusProgram *program,
                              GradusValueId *penalty,
                              GError       **error)
{
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (GradusValueId));

  *penalty = GRADUS_NO_VALUE;
  for (guint i = 0; i < model->layers->len; i++)
    if (!build_weights (gradus_model_layer_at (model, i), program, error))
      return FALSE;
  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    {
      const GradusNode *node = gradus_program_node (program, i);

      if (node->phase == GRADUS_PHASE_FORWARD && g_str_equal (node->op->name, "penalty"))
        g_array_append_val (parts, node->outputs[0]);
    }
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, NULL);
  if (parts->len == 0)
    return TRUE;
  if (parts->len == 1)
    *penalty = g_array_index (parts, GradusValueId, 0);
  else
    return gradus_program_add_node (program, "add_n", 0, (GradusValueId *) parts->data, parts->len,
                                    penalty, error, NULL);
  return TRUE;
}

/* The layer that the variable called @name belongs to, and the variable's own name. */
static GradusLayer *
owner (GradusModel *model, const char *name, const char **weight)
{
  for (guint i = 0; i < model->layers->len; i++)
    {
      GradusLayer *layer = gradus_model_layer_at (model, i);
      gsize        length = strlen (layer->name);

      if (strncmp (name, layer->name, length) == 0 && name[length] == '/')
        {
          GradusWeightSpec weights[GRADUS_LAYER_MAX_WEIGHTS];
          guint            n = 0;

          *weight = name + length + 1;
          if (layer->klass->weights != NULL && layer->is_built)
            n = layer->klass->weights (layer, layer->built_shapes, weights);
          for (guint w = 0; w < n; w++)
            if (g_str_equal (weights[w].name, *weight))
              return layer;
        }
    }
  return NULL;
}

gboolean
gradus_model_build_constraint (GradusModel   *model,
                               GradusProgram *program,
                               const char    *name,
                               GError       **error)
{
  const char      *weight;
  GradusLayer     *layer = owner (model, name, &weight);
  const GradusArg *arg = layer ? gradus_layer_weight_arg (layer, weight, "constraint") : NULL;

  return arg == NULL ||
         gradus_constraint_build (&arg->constraint, program, gradus_program_find (program, name),
                                  error);
}

const char *
gradus_model_batch_dependent (GradusModel *model)
{
  for (guint i = 0; i < model->layers->len; i++)
    {
      GradusLayer *layer = gradus_model_layer_at (model, i);

      if (layer->trainable && g_strcmp0 (layer->klass->update_op, "batch_norm") == 0)
        return layer->name;
    }
  return NULL;
}
