/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>

/* Permute: dims counts the axes after the batch from 1. */
static const GradusArgSpec permute_args[] = {
  { "dims", GRADUS_ARG_DIMS, NULL, 1, GRADUS_MAX_RANK - 1 },
  { NULL },
};

static gboolean
permute_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  const GradusArg *dims = gradus_layer_arg (layer, "dims");
  guint32          seen = 0;

  *output = inputs[0];
  for (guint i = 0; i < dims->n && dims->ints[i] < inputs[0].rank; i++)
    {
      seen |= 1u << dims->ints[i];
      output->dims[i + 1] = inputs[0].dims[dims->ints[i]];
    }
  if (dims->n + 1 != inputs[0].rank || (guint) __builtin_popcount (seen) != dims->n)
    {
      g_autofree char *met = gradus_shape_to_string (&inputs[0]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("its input has the shape %s. Name each axis after the batch once, from 1."), met);
      return FALSE;
    }
  return TRUE;
}

static gboolean
permute_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusArg *dims = gradus_layer_arg (layer, "dims");
  gint64           perm[GRADUS_MAX_RANK] = { 0 };

  for (guint i = 0; i < dims->n; i++)
    perm[i + 1] = dims->ints[i];
  return gradus_program_add_node (build->program, "transpose", 0, build->inputs, 1, &build->output, error, "perm",
                                  dims->n + 1, perm, NULL);
}

const GradusLayerClass gradus_layer_permute = {
  .name = "Permute", .snake = "permute", .args = permute_args, .min_inputs = 1, .max_inputs = 1,
  .infer = permute_infer, .build = permute_build,
};

static const GradusArgSpec repeat_args[] = {
  { "n", GRADUS_ARG_INT, NULL, 1, 1 << 20 },
  { NULL },
};

static gboolean
repeat_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  g_autofree char *met = gradus_shape_to_string (&inputs[0]);

  *output = gradus_shape (3, inputs[0].dims[0], gradus_layer_arg (layer, "n")->i, inputs[0].dims[1]);
  if (inputs[0].rank == 2)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("it repeats one row of numbers a sample, and its input has the shape %s. Flatten it first."), met);
  return FALSE;
}

/* One row, stretched by what is as long as the output. */
static gboolean
repeat_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  gint64            n = gradus_layer_arg (layer, "n")->i;
  const GradusShape row = gradus_shape (3, build->shapes[0].dims[0], (gint64) 1, build->shapes[0].dims[1]);
  g_autofree float *ones = g_new (float, n);
  GradusValueId     pair[2];

  for (gint64 i = 0; i < n; i++)
    ones[i] = 1;
  pair[1] = gradus_program_add_constant (build->program, GRADUS_DTYPE_FLOAT32, gradus_shape (3, (gint64) 1, n, (gint64) 1), ones);
  return gradus_program_add_node (build->program, "reshape", 0, build->inputs, 1, &pair[0], error, "shape", row.rank, row.dims, NULL)
         && gradus_program_add_node (build->program, "multiply", 0, pair, 2, &build->output, error, NULL);
}

const GradusLayerClass gradus_layer_repeat_vector = {
  .name = "RepeatVector", .snake = "repeat_vector", .args = repeat_args, .min_inputs = 1, .max_inputs = 1,
  .infer = repeat_infer, .build = repeat_build,
};
