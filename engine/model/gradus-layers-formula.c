/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define MAX_INPUTS 8

/* Inputs are x, or x1, x2, ... unless they have names of their own; variables are called by theirs. */
static const GradusArgSpec formula_args[] = {
  { "formula", GRADUS_ARG_FORMULA, NULL, 0, GRADUS_FORMULA_MAX_LENGTH },
  { "inputs", GRADUS_ARG_NAMES, "null", 0, MAX_INPUTS },
  { "variables", GRADUS_ARG_VARIABLES, "{}", 0, GRADUS_LAYER_MAX_WEIGHTS },
  { NULL },
};

typedef struct
{
  char       *owned[MAX_INPUTS];
  const char *names[MAX_INPUTS + GRADUS_LAYER_MAX_WEIGHTS + 1];
} Names;

static void
names_clear (Names *self)
{
  for (guint i = 0; i < MAX_INPUTS; i++)
    g_free (self->owned[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Names, names_clear)

static const GArray *
variables_of (const GradusLayer *layer)
{
  return gradus_layer_arg (layer, "variables")->variables;
}

/* The names of @n_inputs inputs, then of the variables. */
static gboolean
find_names (const GradusLayer *layer, guint n_inputs, Names *names, GError **error)
{
  const GradusArg *given = gradus_layer_arg (layer, "inputs");
  const GArray    *variables = variables_of (layer);
  guint            n = 0;

  if (!given->is_null && given->names->len != n_inputs)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("it names %u inputs and has %u. Name each input once, in their order."), given->names->len, n_inputs);
      return FALSE;
    }
  for (guint i = 0; i < n_inputs; i++)
    {
      names->owned[i] = !given->is_null ? g_strdup (given->names->pdata[i])
                        : n_inputs == 1 ? g_strdup ("x")
                                        : g_strdup_printf ("x%u", i + 1);
      names->names[n++] = names->owned[i];
    }
  for (guint i = 0; i < variables->len; i++)
    {
      const char *name = g_array_index (variables, GradusArgVariable, i).name;

      names->names[n] = NULL;
      if (g_strv_contains (names->names, name))
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("“%s” is the name of an input and of a variable. Give one another name."), name);
          return FALSE;
        }
      names->names[n++] = name;
    }
  names->names[n] = NULL;
  return TRUE;
}

static gboolean
formula_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  GradusShape   shapes[MAX_INPUTS + GRADUS_LAYER_MAX_WEIGHTS];
  const GArray *variables = variables_of (layer);
  g_auto (Names) names = { { NULL }, { NULL } };

  if (!find_names (layer, n_inputs, &names, error))
    return FALSE;
  memcpy (shapes, inputs, n_inputs * sizeof *inputs);
  for (guint i = 0; i < variables->len; i++)
    shapes[n_inputs + i] = g_array_index (variables, GradusArgVariable, i).shape;
  if (!gradus_formula_infer (gradus_layer_arg (layer, "formula")->formula, names.names, shapes, output, error))
    return FALSE;
  if (output->rank > 0 && output->dims[0] == GRADUS_DIM_BATCH)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("its formula “%s” gives nothing for each sample. Let it use an input."),
               gradus_formula_text (gradus_layer_arg (layer, "formula")->formula));
  return FALSE;
}

static guint
formula_weights (const GradusLayer *layer, const GradusShape *inputs, GradusWeightSpec *weights)
{
  const GArray *variables = variables_of (layer);

  for (guint i = 0; i < variables->len; i++)
    {
      const GradusArgVariable *variable = &g_array_index (variables, GradusArgVariable, i);

      weights[i] = (GradusWeightSpec) { variable->name, variable->shape, !variable->trainable, &variable->initializer };
    }
  return variables->len;
}

static gboolean
formula_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusFormula *formula = gradus_layer_arg (layer, "formula")->formula;
  GradusValueId  values[MAX_INPUTS + GRADUS_LAYER_MAX_WEIGHTS];
  const GArray  *variables = variables_of (layer);
  g_auto (Names) names = { { NULL }, { NULL } };

  if (!find_names (layer, build->n_inputs, &names, error))
    return FALSE;
  memcpy (values, build->inputs, build->n_inputs * sizeof *values);
  for (guint i = 0; i < variables->len; i++)
    values[build->n_inputs + i] = gradus_layer_weight (layer, build, g_array_index (variables, GradusArgVariable, i).name);
  return gradus_formula_build (formula, build->program, names.names, values, &build->output, error);
}

const GradusLayerClass gradus_layer_formula = {
  .name = "Formula",
  .snake = "formula",
  .module = "gradus",
  .args = formula_args,
  .min_inputs = 1,
  .max_inputs = MAX_INPUTS,
  .infer = formula_infer,
  .weights = formula_weights,
  .build = formula_build,
  .mask = GRADUS_MASK_PASSES,
};
