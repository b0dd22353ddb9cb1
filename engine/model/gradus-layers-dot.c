/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>

/* Dot: the products of two inputs along an axis of each, sample by sample. */
static const GradusArgSpec dot_args[] = {
  { "axes", GRADUS_ARG_AXES, NULL, -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1 },
  { "normalize", GRADUS_ARG_BOOL, "false", 0, 0 },
  { NULL },
};

/* The axis of input @i; 0, which is the batch, if it is out of range. */
static guint
axis_of (const GradusLayer *layer, const GradusShape *inputs, guint i)
{
  const GradusArg *axes = gradus_layer_arg (layer, "axes");
  gint64 axis = axes->ints[axes->n > 1 ? i : 0];

  axis = axis < 0 ? axis + inputs[i].rank : axis;
  return axis > 0 && axis < inputs[i].rank ? (guint) axis : 0;
}

static gboolean
dot_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  guint a = axis_of (layer, inputs, 0), b = axis_of (layer, inputs, 1);

  if (gradus_layer_arg (layer, "axes")->n > 2 || a == 0 || b == 0 || inputs[0].dims[a] != inputs[1].dims[b]
      || inputs[0].rank + inputs[1].rank - 3 > GRADUS_MAX_RANK
      || gradus_shape_has_time (&inputs[0]) || gradus_shape_has_time (&inputs[1]))
    {
      g_autofree char *first = gradus_shape_to_string (&inputs[0]), *second = gradus_shape_to_string (&inputs[1]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("its inputs have the shapes %s and %s. Along its axes, of which there is one of each and none is the "
                     "batch, both must be equally long."),
                   first, second);
      return FALSE;
    }
  *output = gradus_shape (1, inputs[0].dims[0]);
  for (guint i = 0; i < 2; i++)
    for (guint k = 1; k < inputs[i].rank; k++)
      if (k != (i == 0 ? a : b))
        output->dims[output->rank++] = inputs[i].dims[k];
  if (output->rank == 1)
    output->dims[output->rank++] = 1;
  return TRUE;
}

static gboolean
pair_op (GradusLayerBuild *b, const char *op, GradusValueId x, GradusValueId y, GradusValueId *out, GError **error)
{
  const GradusValueId inputs[2] = { x, y };

  return gradus_program_add_node (b->program, op, 0, inputs, 2, out, error, NULL);
}

/* x / sqrt(max(sum(x^2), 1e-12)), as Keras has it here */
static gboolean
make_unit (GradusLayerBuild *b, guint axis, GradusValueId *value, GError **error)
{
  GradusShape   scalar = { .rank = 0 };
  GradusValueId length = *value, least;
  const float   smallest = 1e-12f;
  gint64        axes[] = { axis };

  least = gradus_program_add_constant (b->program, GRADUS_DTYPE_FLOAT32, scalar, &smallest);
  return gradus_program_add_node (b->program, "square", 0, &length, 1, &length, error, NULL)
         && gradus_program_add_node (b->program, "reduce_sum", 0, &length, 1, &length, error, "axes", 1u, axes, "keepdims",
                                     (gint64) 1, NULL)
         && pair_op (b, "maximum", length, least, &length, error)
         && gradus_program_add_node (b->program, "sqrt", 0, &length, 1, &length, error, NULL)
         && pair_op (b, "divide", *value, length, value, error);
}

/* Input @i as (None, others, along). */
static gboolean
make_matrix (const GradusLayer *layer, GradusLayerBuild *b, guint i, GradusValueId *value, GError **error)
{
  const GradusShape *shape = &b->shapes[i];
  guint  axis = axis_of (layer, b->shapes, i), n = 0;
  gint64 perm[GRADUS_MAX_RANK], others = 1;
  GradusShape matrix;

  *value = b->inputs[i];
  if (gradus_layer_arg (layer, "normalize")->i && !make_unit (b, axis, value, error))
    return FALSE;
  for (guint k = 0; k < shape->rank; k++)
    if (k != axis)
      {
        perm[n++] = k;
        others *= k > 0 ? shape->dims[k] : 1;
      }
  perm[n++] = axis;
  if (axis + 1 != shape->rank
      && !gradus_program_add_node (b->program, "transpose", 0, value, 1, value, error, "perm", n, perm, NULL))
    return FALSE;
  matrix = gradus_shape (3, shape->dims[0], others, shape->dims[axis]);
  return gradus_program_add_node (b->program, "reshape", 0, value, 1, value, error, "shape", 3u, matrix.dims, NULL);
}

static gboolean
dot_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusValueId inputs[2];

  return make_matrix (layer, b, 0, &inputs[0], error) && make_matrix (layer, b, 1, &inputs[1], error)
         && gradus_program_add_node (b->program, "matmul", 0, inputs, 2, &b->output, error, "transpose_b", (gint64) 1, NULL)
         && gradus_program_add_node (b->program, "reshape", 0, &b->output, 1, &b->output, error, "shape",
                                     b->output_shape.rank, b->output_shape.dims, NULL);
}

const GradusLayerClass gradus_layer_dot = {
  .name = "Dot", .snake = "dot", .args = dot_args, .min_inputs = 2, .max_inputs = 2, .infer = dot_infer, .build = dot_build,
};
