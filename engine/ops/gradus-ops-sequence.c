/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

#include <string.h>

/* What embeddings and sequences need: rows of a table, and axes (batch, time, ...). */

GRADUS_INFER (infer_gather)
{
  GradusShape y = inputs[1].shape;

  if (!gradus_op_check_rank (node, inputs, 0, 2, error))
    return FALSE;
  if (y.rank >= GRADUS_MAX_RANK)
    return gradus_op_refuse (node, inputs, error, _ ("Its indices have too many axes."));
  y.dims[y.rank++] = inputs[0].shape.dims[1];
  outputs[0] = (GradusValueType){ inputs[0].dtype, y };
  return TRUE;
}

/* dy, indices, table -> dtable */
GRADUS_INFER (infer_gather_grad)
{
  GradusShape wanted = inputs[1].shape;

  if (!gradus_op_check_rank (node, inputs, 2, 2, error))
    return FALSE;
  wanted.dims[wanted.rank++] = inputs[2].shape.dims[1];
  if (!gradus_op_check_shape (node, inputs, 0, &wanted, error))
    return FALSE;
  outputs[0] = inputs[2];
  return TRUE;
}

GRADUS_GRADIENT (gradient_gather)
{
  return gradus_op_emit (program, "gather_grad", &input_gradients[0], error, 3, output_gradients[0],
                         node->inputs[1], node->inputs[0]);
}

/* The row of the table that an index names; -1 outside. */
static gint64
row_of (double index, gint64 n)
{
  return index >= 0 && index < (double) n ? (gint64) index : -1;
}

GRADUS_REFERENCE (reference_gather)
{
  gint64 width = call->input_types[0].shape.dims[1], rows = call->input_types[0].shape.dims[0];

  for (gint64 i = 0; i < gradus_op_count (&call->input_types[1]); i++)
    {
      gint64 row = row_of (call->inputs[1][i], rows);

      for (gint64 j = 0; j < width; j++)
        call->outputs[0][i * width + j] = row < 0 ? NAN : call->inputs[0][row * width + j];
    }
}

GRADUS_REFERENCE (reference_gather_grad)
{
  gint64 width = call->output_types[0].shape.dims[1], rows = call->output_types[0].shape.dims[0];

  memset (call->outputs[0], 0, (gsize) (rows * width) * sizeof (double));
  for (gint64 i = 0; i < gradus_op_count (&call->input_types[1]); i++)
    {
      gint64 row = row_of (call->inputs[1][i], rows);

      for (gint64 j = 0; j < width && row >= 0; j++)
        call->outputs[0][row * width + j] += call->inputs[0][i * width + j];
    }
}

static gboolean
check_sequence (const GradusNode *node, const GradusValueType *inputs, guint i, GError **error)
{
  if (inputs[i].shape.rank >= 2)
    return TRUE;
  return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least two axes, batch and time."),
                           i + 1);
}

/* Elements of one step. */
static gint64
step_size (const GradusShape *shape)
{
  gint64 n = 1;

  for (guint i = 2; i < shape->rank; i++)
    n *= shape->dims[i];
  return n;
}

GRADUS_INFER (infer_step_mask)
{
  if (!check_sequence (node, inputs, 0, error))
    return FALSE;
  outputs[0] = (GradusValueType){ inputs[0].dtype,
                                  gradus_shape (2, inputs[0].shape.dims[0], inputs[0].shape.dims[1]) };
  return TRUE;
}

GRADUS_REFERENCE (reference_step_mask)
{
  gint64 n = step_size (&call->input_types[0].shape);
  double value = (float) gradus_node_float (call->node, "value");

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      call->outputs[0][i] = 0;
      for (gint64 j = 0; j < n; j++)
        if (call->inputs[0][i * n + j] != value)
          call->outputs[0][i] = 1;
    }
}

GRADUS_INFER (infer_step_last)
{
  GradusShape y = { .rank = inputs[0].shape.rank - 1 };

  if (!check_sequence (node, inputs, 0, error))
    return FALSE;
  y.dims[0] = inputs[0].shape.dims[0];
  for (guint i = 1; i < y.rank; i++)
    y.dims[i] = inputs[0].shape.dims[i + 1];
  outputs[0] = (GradusValueType){ inputs[0].dtype, y };
  return TRUE;
}

/* dy, x -> dx */
GRADUS_INFER (infer_step_last_grad)
{
  GradusValueType y;

  if (!check_sequence (node, inputs, 1, error) || !infer_step_last (node, &inputs[1], &y, error)
      || !gradus_op_check_shape (node, inputs, 0, &y.shape, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

GRADUS_GRADIENT (gradient_step_last)
{
  return gradus_op_emit (program, "step_last_grad", &input_gradients[0], error, 2, output_gradients[0],
                         node->inputs[0]);
}

GRADUS_REFERENCE (reference_step_last)
{
  const GradusShape *x = &call->input_types[0].shape;
  gint64             n = step_size (x);

  for (gint64 b = 0; b < x->dims[0]; b++)
    memcpy (call->outputs[0] + b * n, call->inputs[0] + ((b + 1) * x->dims[1] - 1) * n, n * sizeof (double));
}

GRADUS_REFERENCE (reference_step_last_grad)
{
  const GradusShape *x = &call->output_types[0].shape;
  gint64             n = step_size (x);

  memset (call->outputs[0], 0, gradus_op_count (&call->output_types[0]) * sizeof (double));
  for (gint64 b = 0; b < x->dims[0]; b++)
    memcpy (call->outputs[0] + ((b + 1) * x->dims[1] - 1) * n, call->inputs[0] + b * n, n * sizeof (double));
}

GRADUS_INFER (infer_step_ones)
{
  gint64 width = gradus_node_int (node, "width");

  if (!check_sequence (node, inputs, 0, error))
    return FALSE;
  if (width < 1)
    return gradus_op_refuse (node, inputs, error, _ ("Its width must be at least 1."));
  outputs[0] = (GradusValueType){ inputs[0].dtype, gradus_shape (2, inputs[0].shape.dims[0], width) };
  return TRUE;
}

GRADUS_REFERENCE (reference_step_ones)
{
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = 1;
}

static const GradusAttrSpec mask_attrs[] = { { "value", GRADUS_ATTR_FLOAT, "0" }, { NULL } };
static const GradusAttrSpec ones_attrs[] = { { "width", GRADUS_ATTR_INT, "1" }, { NULL } };

static const GradusOpCase gather_cases[] = {
  { "f32[5,3] f32<5[B,4]", NULL },
  { "f32[7,1] f32<7[B]", NULL },
  { "f32[130,17] f32<130[B,9]", NULL },
  { NULL },
};
static const GradusOpCase gather_grad_cases[] = {
  { "f32[B,4,3] f32<5[B,4] f32[5,3]", NULL },
  { "f32[B,1] f32<9[B] f32[7,1]", NULL },
  { "f32[B,9,17] f32<130[B,9] f32[130,17]", NULL },
  { NULL },
};
static const GradusOpCase step_mask_cases[] = {
  { "f32<2[B,6]", NULL },
  { "f32<2[B,4,2]", "value=1" },
  { "f32<3[B,5,1,3]", NULL },
  { NULL },
};
static const GradusOpCase step_last_cases[] = {
  { "f32[B,4]", NULL },
  { "f32[B,3,5]", NULL },
  { "f32[B,2,3,4]", NULL },
  { NULL },
};
static const GradusOpCase step_last_grad_cases[] = {
  { "f32[B] f32[B,4]", NULL },
  { "f32[B,5] f32[B,3,5]", NULL },
  { "f32[B,3,4] f32[B,2,3,4]", NULL },
  { NULL },
};
static const GradusOpCase step_ones_cases[] = {
  { "f32[B,4]", "width=3" },
  { "f32[B,3,5]", "width=67" },
  { NULL },
};

#define GATHER_HINT                                                                                \
  N_ ("an index is negative or beyond the last row of the table; raise input_dim of the Embedding, " \
      "or correct the data")

const GradusOp gradus_ops_sequence[] = {
  {
      .name = "gather",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 1,
      .infer = infer_gather,
      .gradient = gradient_gather,
      .gradient_needs = GRADUS_NEEDS_INPUT (1),
      .no_gradient = 1u << 1,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .nan_hint = GATHER_HINT,
      .reference = reference_gather,
      .cases = gather_cases,
  },
  {
      .name = "gather_grad",
      .version = 1,
      .min_inputs = 3,
      .max_inputs = 3,
      .n_outputs = 1,
      .infer = infer_gather_grad,
      .shape_only = 1u << 2,
      .inplace = -1,
      .precision = GRADUS_PRECISION_FLOAT32,
      .cost = gradus_op_cost_elementwise,
      .nan_hint = N_ ("the gradients that meet in one row add up to more than a float holds; clip the "
                      "gradients or lower the learning rate"),
      .reference = reference_gather_grad,
      .cases = gather_grad_cases,
  },
  {
      .name = "step_mask",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 1,
      .attrs = mask_attrs,
      .infer = infer_step_mask,
      .no_gradient = 1u << 0,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_elementwise,
      .reference = reference_step_mask,
      .cases = step_mask_cases,
  },
  {
      .name = "step_last",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 1,
      .infer = infer_step_last,
      .gradient = gradient_step_last,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .reference = reference_step_last,
      .cases = step_last_cases,
  },
  {
      .name = "step_last_grad",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 1,
      .infer = infer_step_last_grad,
      .shape_only = 1u << 1,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .reference = reference_step_last_grad,
      .cases = step_last_grad_cases,
  },
  {
      .name = "step_ones",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 1,
      .attrs = ones_attrs,
      .infer = infer_step_ones,
      .shape_only = 1u << 0,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .reference = reference_step_ones,
      .cases = step_ones_cases,
  },
  { NULL },
};
