/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-place.h"

#define LIMIT (G_GINT64_CONSTANT (1) << 40)

/* The attribute's number for @axis. */
static gint64
number (const GradusNode *node, const char *name, guint axis, gint64 fallback)
{
  guint         n;
  const gint64 *values = gradus_node_ints (node, name, &n);

  return n == 0 ? fallback : values[axis];
}

static gboolean
check_numbers (const GradusNode      *node,
               const GradusValueType *inputs,
               const char            *name,
               guint                  rank,
               GError               **error)
{
  guint         n;
  const gint64 *values = gradus_node_ints (node, name, &n);

  if (n != 0 && n != rank)
    return gradus_op_refuse (node, inputs, error, _ ("“%s” must be %u numbers, one for each axis."),
                             name, rank);
  for (guint i = 0; i < n; i++)
    if (values[i] < -LIMIT || values[i] > LIMIT)
      return gradus_op_refuse (node, inputs, error, _ ("A number of “%s” is too large."), name);
  return TRUE;
}

static gboolean
refuse_free (const GradusNode *node, const GradusValueType *inputs, guint axis, GError **error)
{
  return gradus_op_refuse (node, inputs, error,
                           _ ("Axis %u has no fixed size and can only be kept as it is."), axis);
}

GRADUS_INFER (infer_pad)
{
  const GradusShape *x = &inputs[0].shape;

  if (!check_numbers (node, inputs, "before", x->rank, error)
      || !check_numbers (node, inputs, "after", x->rank, error))
    return FALSE;
  if (inputs[0].dtype != GRADUS_DTYPE_FLOAT32 && inputs[0].dtype != GRADUS_DTYPE_FLOAT64
      && gradus_node_float (node, "value") != 0)
    return gradus_op_refuse (node, inputs, error, _ ("Integers can be padded with 0 only."));
  outputs[0] = inputs[0];
  for (guint axis = 0; axis < x->rank; axis++)
    {
      gint64 before = number (node, "before", axis, 0), after = number (node, "after", axis, 0);

      if (before == 0 && after == 0)
        continue;
      if (x->dims[axis] < 0)
        return refuse_free (node, inputs, axis, error);
      outputs[0].shape.dims[axis] += before + after;
      if (outputs[0].shape.dims[axis] < 0 || x->dims[axis] + MIN (before, 0) < 0
          || x->dims[axis] + MIN (after, 0) < 0)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("Of axis %u more would be taken away than there is."), axis);
    }
  return TRUE;
}

/* How many elements from @begin on, by @step, there are. */
static gint64
remaining (gint64 dim, gint64 begin, gint64 step)
{
  if (begin < 0 || begin >= dim)
    return 0;
  return step > 0 ? (dim - 1 - begin) / step + 1 : begin / -step + 1;
}

static gboolean
check_slice (const GradusNode      *node,
             const GradusValueType *inputs,
             const GradusShape     *x,
             GError               **error)
{
  if (!check_numbers (node, inputs, "begin", x->rank, error)
      || !check_numbers (node, inputs, "step", x->rank, error))
    return FALSE;
  for (guint axis = 0; axis < x->rank; axis++)
    {
      gint64 begin = number (node, "begin", axis, 0), step = number (node, "step", axis, 1);

      if (x->dims[axis] < 0 && (begin != 0 || step != 1))
        return refuse_free (node, inputs, axis, error);
      if (step == 0 || begin < 0 || (x->dims[axis] >= 0 && begin > x->dims[axis]))
        return gradus_op_refuse (node, inputs, error,
                                 _ ("A slice begins inside axis %u, and its step is not 0."), axis);
    }
  return TRUE;
}

GRADUS_INFER (infer_strided_slice)
{
  const GradusShape *x = &inputs[0].shape;

  if (!check_slice (node, inputs, x, error)
      || !check_numbers (node, inputs, "size", x->rank, error))
    return FALSE;
  outputs[0] = inputs[0];
  for (guint axis = 0; axis < x->rank; axis++)
    {
      gint64 size = number (node, "size", axis, -1), all;

      if (x->dims[axis] < 0 && size != -1)
        return refuse_free (node, inputs, axis, error);
      if (x->dims[axis] < 0)
        continue;
      all = remaining (x->dims[axis], number (node, "begin", axis, 0),
                       number (node, "step", axis, 1));
      if (size < -1 || size > all)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("The slice reaches beyond axis %u, where %d are left."), axis,
                                 (int)all);
      outputs[0].shape.dims[axis] = size == -1 ? all : size;
    }
  return TRUE;
}

/* dy, like -> dx */
GRADUS_INFER (infer_strided_slice_grad)
{
  const GradusShape *x = &inputs[1].shape;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_rank (node, inputs, 0, x->rank, error)
      || !check_slice (node, inputs, x, error))
    return FALSE;
  for (guint axis = 0; axis < x->rank; axis++)
    {
      gint64 size = inputs[0].shape.dims[axis];

      if (x->dims[axis] < 0 ? size != x->dims[axis]
                            : size > remaining (x->dims[axis], number (node, "begin", axis, 0),
                                                number (node, "step", axis, 1)))
        return gradus_op_refuse (node, inputs, error, _ ("The slice reaches beyond axis %u."),
                                 axis);
    }
  outputs[0] = inputs[1];
  return TRUE;
}

/* What one op added, the same op takes away. */
GRADUS_GRADIENT (gradient_pad)
{
  gint64 before[GRADUS_MAX_RANK], after[GRADUS_MAX_RANK];
  guint  rank = gradus_op_type (program, node->inputs[0])->shape.rank;

  for (guint axis = 0; axis < rank; axis++)
    {
      before[axis] = -number (node, "before", axis, 0);
      after[axis] = -number (node, "after", axis, 0);
    }
  return gradus_program_add_node (program, "pad", 0, output_gradients, 1, &input_gradients[0],
                                  error, "before", rank, before, "after", rank, after, NULL);
}

GRADUS_GRADIENT (gradient_strided_slice)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0] };
  guint               n_begin, n_step;
  const gint64       *begin = gradus_node_ints (node, "begin", &n_begin);
  const gint64       *step = gradus_node_ints (node, "step", &n_step);

  return gradus_program_add_node (program, "strided_slice_grad", 0, in, 2, &input_gradients[0],
                                  error, "begin", n_begin, begin, "step", n_step, step, NULL);
}

void
gradus_place_init (GradusPlace       *self,
                   GradusPlaceKind    kind,
                   const GradusNode  *node,
                   const GradusShape *x,
                   const GradusShape *y)
{
  *self = (GradusPlace){ .rank = x->rank, .x = *x, .y = *y };
  for (guint axis = 0; axis < x->rank; axis++)
    {
      gboolean pad = kind == GRADUS_PLACE_PAD, slice = kind == GRADUS_PLACE_SLICE;
      gint64   before = pad ? number (node, "before", axis, 0) : 0;
      gint64   after = pad ? number (node, "after", axis, 0) : 0;
      gint64   begin = pad ? 0 : number (node, "begin", axis, 0);
      gint64   step = pad ? 1 : number (node, "step", axis, 1);

      self->n[axis] = slice ? y->dims[axis] : x->dims[axis];
      if (pad)
        self->n[axis] = MAX (0, x->dims[axis] + MIN (before, 0) + MIN (after, 0));
      self->x_begin[axis] = pad ? MAX (-before, 0) : slice ? begin : 0;
      self->y_begin[axis] = pad ? MAX (before, 0) : slice ? 0 : begin;
      self->x_step[axis] = slice ? step : 1;
      self->y_step[axis] = slice ? 1 : step;
      /* The output is walked forwards. */
      if (self->y_step[axis] < 0)
        {
          self->y_begin[axis] += (self->n[axis] - 1) * step;
          self->x_begin[axis] += self->n[axis] - 1;
          self->y_step[axis] = -step;
          self->x_step[axis] = -1;
        }
    }
}

static void
place (const GradusReferenceCall *call, GradusPlaceKind kind, double value)
{
  gint64      strides_x[GRADUS_MAX_RANK], strides_y[GRADUS_MAX_RANK], at[GRADUS_MAX_RANK];
  GradusShape box;
  GradusPlace p;

  gradus_place_init (&p, kind, call->node, &call->input_types[0].shape,
                     &call->output_types[0].shape);
  box = p.x;
  for (guint axis = 0; axis < p.rank; axis++)
    box.dims[axis] = p.n[axis];
  gradus_op_strides (&p.x, strides_x);
  gradus_op_strides (&p.y, strides_y);
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = value;
  for (gint64 i = 0; i < gradus_shape_count (&box); i++)
    {
      gint64 from = 0, to = 0;

      gradus_op_unravel (&box, i, at);
      for (guint axis = 0; axis < p.rank; axis++)
        {
          from += (p.x_begin[axis] + at[axis] * p.x_step[axis]) * strides_x[axis];
          to += (p.y_begin[axis] + at[axis] * p.y_step[axis]) * strides_y[axis];
        }
      call->outputs[0][to] = call->inputs[0][from];
    }
}

GRADUS_REFERENCE (reference_pad)
{
  place (call, GRADUS_PLACE_PAD, gradus_node_float (call->node, "value"));
}

GRADUS_REFERENCE (reference_strided_slice) { place (call, GRADUS_PLACE_SLICE, 0); }

GRADUS_REFERENCE (reference_strided_slice_grad) { place (call, GRADUS_PLACE_SLICE_GRAD, 0); }

static const GradusAttrSpec pad_attrs[] = {
  { "before", GRADUS_ATTR_INTS, "" },
  { "after", GRADUS_ATTR_INTS, "" },
  { "value", GRADUS_ATTR_FLOAT, "0" },
  { NULL },
};

static const GradusAttrSpec slice_attrs[] = {
  { "begin", GRADUS_ATTR_INTS, "" },
  { "size", GRADUS_ATTR_INTS, "" },
  { "step", GRADUS_ATTR_INTS, "" },
  { NULL },
};

static const GradusAttrSpec slice_grad_attrs[] = {
  { "begin", GRADUS_ATTR_INTS, "" },
  { "step", GRADUS_ATTR_INTS, "" },
  { NULL },
};

static const GradusOpCase pad_cases[] = {
  { "f32[B,3,4,2]", "before=0,1,2,0 after=0,2,0,0" },
  { "f32[B,5,6,2]", "before=0,-1,-2,0 after=0,-2,0,0" },
  { "f32[B,4,3]", "before=0,2,-1 after=0,-3,2 value=1.5" },
  { "f32[B,5]", NULL },
  { "f32[B,2,2,3,2]", "before=0,1,0,1,0 after=0,0,1,1,0" },
  { "f32[B,4]", "before=0,-2 after=0,-2" },
  { "u8<9[B,4,3]", "before=0,1,1" },
  { NULL },
};

static const GradusOpCase strided_slice_cases[] = {
  { "f32[B,7,5]", "begin=0,1,0 size=-1,3,-1 step=1,2,3" },
  { "f32[B,6,2,3]", "begin=0,5,0,0 step=1,-2,1,1" },
  { "f32[B,4]", "begin=0,3 step=1,-1" },
  { "f32[B,4]", "begin=0,4" },
  { "u8<9[B,7,3]", "step=1,3,1" },
  { NULL },
};

static const GradusOpCase strided_slice_grad_cases[] = {
  { "f32[B,3,2] f32[B,7,5]", "begin=0,1,0 step=1,2,3" },
  { "f32[B,3,2,3] f32[B,6,2,3]", "begin=0,5,0,0 step=1,-2,1,1" },
  { "f32[B,4] f32[B,4]", "begin=0,3 step=1,-1" },
  { NULL },
};

const GradusOp gradus_ops_place[] = {
  {
      .name = "pad",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 1,
      .attrs = pad_attrs,
      .infer = infer_pad,
      .gradient = gradient_pad,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .reference = reference_pad,
      .cases = pad_cases,
  },
  {
      .name = "strided_slice",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 1,
      .attrs = slice_attrs,
      .infer = infer_strided_slice,
      .gradient = gradient_strided_slice,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .reference = reference_strided_slice,
      .cases = strided_slice_cases,
  },
  {
      .name = "strided_slice_grad",
      .version = 1,
      .min_inputs = 2,
      .max_inputs = 2,
      .n_outputs = 1,
      .attrs = slice_grad_attrs,
      .infer = infer_strided_slice_grad,
      .shape_only = 1u << 1,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_move,
      .reference = reference_strided_slice_grad,
      .cases = strided_slice_grad_cases,
  },
  { NULL },
};
