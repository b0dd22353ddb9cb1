/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

static void
refuse_pair (const GradusShape *first, const GradusShape *other, guint index, const char *repair, GError **error)
{
  g_autofree char *a = gradus_shape_to_string (first);
  g_autofree char *b = gradus_shape_to_string (other);

  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("its input 1 has shape %s and its input %u has shape %s, which do not fit. %s"), a,
               index + 1, b, repair);
}

/* Axes of size 1 stretch, as in NumPy. */
static gboolean
merge_infer (const GradusLayer *layer,
           const GradusShape *inputs,
           guint              n_inputs,
           GradusShape       *output,
           GError           **error)
{
  *output = inputs[0];
  for (guint i = 1; i < n_inputs; i++)
    {
      gboolean fits = inputs[i].rank == output->rank;

      for (guint d = 0; fits && d < output->rank; d++)
        {
          if (output->dims[d] == 1)
            output->dims[d] = inputs[i].dims[d];
          fits = inputs[i].dims[d] == output->dims[d] || inputs[i].dims[d] == 1;
        }
      if (!fits)
        {
          refuse_pair (&inputs[0], &inputs[i], i,
                       _("Give both branches the same number of filters or units, and the same "
                         "strides."),
                       error);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
add_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  gboolean equal = TRUE;

  for (guint i = 1; i < build->n_inputs; i++)
    equal = equal && gradus_shape_equal (&build->shapes[0], &build->shapes[i]);
  if (equal && build->n_inputs > 2)
    return gradus_program_add_node (build->program, "add_n", 0, build->inputs, build->n_inputs,
                                    &build->output, error, NULL);
  build->output = build->inputs[0];
  for (guint i = 1; i < build->n_inputs; i++)
    {
      GradusValueId pair[2] = { build->output, build->inputs[i] };

      if (!gradus_program_add_node (build->program, "add", 0, pair, 2, &build->output, error,
                                    NULL))
        return FALSE;
    }
  return TRUE;
}

static const GradusArgSpec merge_args[] = { { NULL } };

const GradusLayerClass gradus_layer_add = {
  "Add", "add", merge_args, 2, G_MAXUINT, merge_infer, NULL, add_build, NULL, NULL,
  GRADUS_MASK_PASSES,
};

/* One input after the other. */
static gboolean
fold (GradusLayerBuild *build, const char *op, GError **error)
{
  build->output = build->inputs[0];
  for (guint i = 1; i < build->n_inputs; i++)
    {
      GradusValueId pair[2] = { build->output, build->inputs[i] };

      if (!gradus_program_add_node (build->program, op, 0, pair, 2, &build->output, error, NULL))
        return FALSE;
    }
  return TRUE;
}

static gboolean
subtract_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return fold (build, "subtract", error);
}

static gboolean
multiply_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return fold (build, "multiply", error);
}

static gboolean
maximum_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return fold (build, "maximum", error);
}

static gboolean
minimum_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return fold (build, "minimum", error);
}

static gboolean
average_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId sum;

  if (!add_build (layer, build, error))
    return FALSE;
  sum = build->output;
  return gradus_program_add_node (build->program, "affine", 0, &sum, 1, &build->output, error, "scale",
                                  1.0 / build->n_inputs, NULL);
}

#define MERGE(Name, snake, most)                                                                   \
  const GradusLayerClass gradus_layer_##snake = {                                                  \
    Name, #snake, merge_args, 2, most, merge_infer, NULL, snake##_build, NULL, NULL, GRADUS_MASK_PASSES, \
  }

MERGE ("Subtract", subtract, 2);
MERGE ("Multiply", multiply, G_MAXUINT);
MERGE ("Average", average, G_MAXUINT);
MERGE ("Maximum", maximum, G_MAXUINT);
MERGE ("Minimum", minimum, G_MAXUINT);

/* Concatenate */
static const GradusArgSpec concatenate_args[] = {
  { "axis", GRADUS_ARG_INT, "-1", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1 },
  { NULL },
};

static gint64
concatenate_axis (const GradusLayer *layer, const GradusShape *input)
{
  gint64 axis = gradus_layer_arg (layer, "axis")->i;

  return axis < 0 ? axis + input->rank : axis;
}

static gboolean
concatenate_infer (const GradusLayer *layer,
                   const GradusShape *inputs,
                   guint              n_inputs,
                   GradusShape       *output,
                   GError           **error)
{
  gint64 axis = concatenate_axis (layer, &inputs[0]);

  if (axis < 1 || axis >= inputs[0].rank)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("its axis is %" PRId64
                      ", but its inputs have %u axes, of which the first is the batch. Use -1 for "
                      "the last."),
                   gradus_layer_arg (layer, "axis")->i, inputs[0].rank);
      return FALSE;
    }
  *output = inputs[0];
  for (guint i = 1; i < n_inputs; i++)
    {
      GradusShape rest = inputs[i];

      if (rest.rank == inputs[0].rank)
        rest.dims[axis] = inputs[0].dims[axis];
      if (!gradus_shape_equal (&rest, &inputs[0]))
        {
          refuse_pair (&inputs[0], &inputs[i], i,
                       _("All axes but the one along which they are joined must agree."), error);
          return FALSE;
        }
      if (__builtin_add_overflow (output->dims[axis], inputs[i].dims[axis], &output->dims[axis]))
        {
          g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                               _("it joins more than can be counted. Use smaller inputs."));
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
concatenate_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return gradus_program_add_node (build->program, "concat", 0, build->inputs, build->n_inputs,
                                  &build->output, error, "axis",
                                  concatenate_axis (layer, &build->shapes[0]), NULL);
}

const GradusLayerClass gradus_layer_concatenate = {
  "Concatenate", "concatenate", concatenate_args, 2, G_MAXUINT,
  concatenate_infer, NULL, concatenate_build, NULL, NULL, GRADUS_MASK_PASSES,
};
