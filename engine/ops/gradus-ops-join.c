/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* Putting arrays together along an axis and taking parts out. */

static gboolean
get_axis (const GradusNode *node, const GradusValueType *inputs, guint *axis, GError **error)
{
  gint64 value = gradus_node_int (node, "axis");

  if (value < 0 || value >= inputs[0].shape.rank)
    return gradus_op_refuse (node, inputs, error,
                             _ ("There is no axis %d in the first."), (int) value);
  *axis = value;
  return TRUE;
}

GRADUS_INFER (infer_concat)
{
  guint axis = 0;

  if (!get_axis (node, inputs, &axis, error))
    return FALSE;
  outputs[0] = inputs[0];
  for (guint i = 0; i < node->n_inputs; i++)
    {
      GradusShape like = inputs[0].shape;

      if (inputs[i].shape.rank > axis)
        like.dims[axis] = inputs[i].shape.dims[axis];
      if (!gradus_shape_equal (&like, &inputs[i].shape) || inputs[i].dtype != inputs[0].dtype)
        return gradus_op_refuse (
            node, inputs, error,
            _ ("All must have one type and the same sizes except along axis %u."), axis);
      if (like.dims[axis] < 0 && node->n_inputs > 1)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("The batch axis cannot be joined; choose another axis."));
      if (i > 0)
        outputs[0].shape.dims[axis] += like.dims[axis];
    }
  return TRUE;
}

GRADUS_GRADIENT (gradient_concat)
{
  gint64 axis = gradus_node_int (node, "axis"), begin = 0;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      gint64 size = gradus_op_type (program, node->inputs[i])->shape.dims[axis];

      if (gradus_op_wants (i) && node->n_inputs == 1)
        input_gradients[i] = output_gradients[0];
      else if (gradus_op_wants (i)
               && !gradus_program_add_node (program, "slice", 0, output_gradients, 1,
                                            &input_gradients[i], error, "axis", axis, "begin",
                                            begin, "size", size, NULL))
        return FALSE;
      begin += size;
    }
  return TRUE;
}

/* Copies between an array of @whole shape and one that is a part of it along @axis from @begin. */
static void
copy_part (const GradusShape *whole,
           const GradusShape *part,
           guint              axis,
           gint64             begin,
           double            *whole_data,
           double            *part_data,
           gboolean           into_whole)
{
  gint64 strides[GRADUS_MAX_RANK], at[GRADUS_MAX_RANK];
  gint64 n = gradus_shape_count (part);

  gradus_op_strides (whole, strides);
  for (gint64 i = 0; i < n; i++)
    {
      gint64 place = begin * strides[axis];

      gradus_op_unravel (part, i, at);
      for (guint a = 0; a < whole->rank; a++)
        place += at[a] * strides[a];
      if (into_whole)
        whole_data[place] = part_data[i];
      else
        part_data[i] = whole_data[place];
    }
}

GRADUS_REFERENCE (reference_concat)
{
  guint  axis = gradus_node_int (call->node, "axis");
  gint64 begin = 0;

  for (guint i = 0; i < call->node->n_inputs; i++)
    {
      copy_part (&call->output_types[0].shape, &call->input_types[i].shape, axis, begin,
                 call->outputs[0], (double *) call->inputs[i], TRUE);
      begin += call->input_types[i].shape.dims[axis];
    }
}

GRADUS_INFER (infer_slice)
{
  guint  axis = 0;
  gint64 begin = gradus_node_int (node, "begin"), size = gradus_node_int (node, "size");

  if (!get_axis (node, inputs, &axis, error))
    return FALSE;
  if (begin < 0 || size < 0 || inputs[0].shape.dims[axis] < 0
      || begin > inputs[0].shape.dims[axis] - size)
    return gradus_op_refuse (node, inputs, error, _ ("A slice of %d from %d is outside axis %u."),
                             (int)size, (int)begin, axis);
  outputs[0] = inputs[0];
  outputs[0].shape.dims[axis] = size;
  return TRUE;
}

GRADUS_GRADIENT (gradient_slice)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0] };

  return gradus_program_add_node (program, "slice_grad", 0, in, 2, &input_gradients[0], error,
                                  "axis", gradus_node_int (node, "axis"), "begin",
                                  gradus_node_int (node, "begin"), NULL);
}

GRADUS_REFERENCE (reference_slice)
{
  copy_part (&call->input_types[0].shape, &call->output_types[0].shape,
             gradus_node_int (call->node, "axis"), gradus_node_int (call->node, "begin"),
             (double *) call->inputs[0], call->outputs[0], FALSE);
}

/* dy, like -> dx */
GRADUS_INFER (infer_slice_grad)
{
  guint       axis = 0;
  gint64      begin = gradus_node_int (node, "begin");
  GradusShape like = inputs[1].shape;

  if (!gradus_op_check_floats (node, inputs, error) || !get_axis (node, inputs, &axis, error))
    return FALSE;
  if (like.rank > axis)
    like.dims[axis] = inputs[0].shape.dims[axis];
  if (!gradus_op_check_shape (node, inputs, 0, &like, error))
    return FALSE;
  if (begin < 0 || begin > inputs[1].shape.dims[axis] - inputs[0].shape.dims[axis])
    return gradus_op_refuse (node, inputs, error, _ ("The slice lies outside axis %u."), axis);
  outputs[0] = inputs[1];
  return TRUE;
}

GRADUS_REFERENCE (reference_slice_grad)
{
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = 0;
  copy_part (&call->output_types[0].shape, &call->input_types[0].shape,
             gradus_node_int (call->node, "axis"), gradus_node_int (call->node, "begin"),
             call->outputs[0], (double *) call->inputs[0], TRUE);
}

static const GradusAttrSpec concat_attrs[] = { { "axis", GRADUS_ATTR_INT, "1" }, { NULL } };
static const GradusAttrSpec slice_attrs[] = {
  { "axis", GRADUS_ATTR_INT, "1" },
  { "begin", GRADUS_ATTR_INT, "0" },
  { "size", GRADUS_ATTR_INT, "1" },
  { NULL },
};
static const GradusAttrSpec slice_grad_attrs[] = {
  { "axis", GRADUS_ATTR_INT, "1" },
  { "begin", GRADUS_ATTR_INT, "0" },
  { NULL },
};

static const GradusOpCase concat_cases[] = {
  { "f32[B,3] f32[B,2]", NULL },
  { "f32[B,3,2] f32[B,3,1] f32[B,3,4]", "axis=2" },
  { "f32[B,1,2] f32[B,3,2]", "axis=1" },
  { "f32[2,B] f32[3,B]", "axis=0" },
  { "f32[B,4]", NULL },
  { "f32[B,0] f32[B,3]", NULL },
  { NULL },
};

static const GradusOpCase slice_cases[] = {
  { "f32[B,5]", "begin=1 size=3" },
  { "f32[B,5,3]", "axis=2 begin=2 size=1" },
  { "f32[4,B]", "axis=0 begin=0 size=2" },
  { "f32[B,5]", "begin=0 size=5" },
  { "f32[B,5]", "begin=5 size=0" },
  { NULL },
};

static const GradusOpCase slice_grad_cases[] = {
  { "f32[B,3] f32[B,5]", "begin=1" },
  { "f32[B,5,1] f32[B,5,3]", "axis=2 begin=2" },
  { "f32[2,B] f32[4,B]", "axis=0" },
  { NULL },
};

const GradusOp gradus_ops_join[] = {
  {
    .name = "concat",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = G_MAXUINT,
    .n_outputs = 1,
    .attrs = concat_attrs,
    .infer = infer_concat,
    .gradient = gradient_concat,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_move,
    .reference = reference_concat,
    .cases = concat_cases,
  },
  {
    .name = "slice",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attrs = slice_attrs,
    .infer = infer_slice,
    .gradient = gradient_slice,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_move,
    .reference = reference_slice,
    .cases = slice_cases,
  },
  {
    .name = "slice_grad",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attrs = slice_grad_attrs,
    .infer = infer_slice_grad,
    .shape_only = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_move,
    .reference = reference_slice_grad,
    .cases = slice_grad_cases,
  },
  { NULL },
};
