/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-window.h"

static gboolean
pool_of (const GradusNode      *node,
         const GradusValueType *inputs,
         const GradusShape     *x,
         GradusWindow          *window,
         GError               **error)
{
  guint         n;
  const gint64 *pool = gradus_node_ints (node, "pool", &n);

  if (n != 2 || pool[0] < 1 || pool[1] < 1 || pool[0] > 256 || pool[1] > 256
      || pool[0] * pool[1] > 256)
    return gradus_op_refuse (node, inputs, error,
                             _ ("A pooling window has two sides and at most 256 elements."));
  if (!gradus_window_read (node, inputs, NULL, window, error))
    return FALSE;
  /* A window that lies in the padding alone would have no maximum. */
  for (guint axis = 0; axis < 2; axis++)
    if (window->before[axis] >= pool[axis] || window->after[axis] >= pool[axis])
      return gradus_op_refuse (node, inputs, error,
                               _ ("The padding must be smaller than the window."));
  return gradus_window_fit (node, inputs, window, x->dims, pool, error);
}

GRADUS_INFER (infer_max_pool2d)
{
  GradusWindow window;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_rank (node, inputs, 0, 4, error)
      || !pool_of (node, inputs, &inputs[0].shape, &window, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_shape (4, inputs[0].shape.dims[0], window.out[0], window.out[1],
                                   inputs[0].shape.dims[3]);
  outputs[1].dtype = GRADUS_DTYPE_UINT8;
  outputs[1].shape = outputs[0].shape;
  return TRUE;
}

/* dy, index, x -> dx */
GRADUS_INFER (infer_max_pool2d_grad)
{
  GradusWindow window;
  GradusShape  wanted;

  if (!gradus_op_check_rank (node, inputs, 2, 4, error)
      || !pool_of (node, inputs, &inputs[2].shape, &window, error))
    return FALSE;
  wanted = gradus_shape (4, inputs[2].shape.dims[0], window.out[0], window.out[1],
                         inputs[2].shape.dims[3]);
  if (!gradus_op_check_shape (node, inputs, 0, &wanted, error)
      || !gradus_op_check_shape (node, inputs, 1, &wanted, error))
    return FALSE;
  if (inputs[1].dtype != GRADUS_DTYPE_UINT8 || inputs[0].dtype != inputs[2].dtype)
    return gradus_op_refuse (node, inputs, error, _ ("The index must be of type uint8."));
  outputs[0] = inputs[2];
  return TRUE;
}

GRADUS_GRADIENT (gradient_max_pool2d)
{
  const GradusValueId in[] = { output_gradients[0], node->outputs[1], node->inputs[0] };

  return gradus_program_add_node (program, "max_pool2d_grad", 0, in, 3, &input_gradients[0], error,
                                  "pool", 2u, gradus_node_ints (node, "pool", NULL), "strides", 2u,
                                  gradus_node_ints (node, "strides", NULL), "pads", 4u,
                                  gradus_node_ints (node, "pads", NULL), NULL);
}

GRADUS_COST (cost_max_pool2d)
{
  const gint64 *pool = gradus_node_ints (node, "pool", NULL);

  gradus_op_cost (node, inputs, outputs,
                  (double) gradus_op_count (&outputs[0]) * pool[0] * pool[1], cost);
}

GRADUS_REFERENCE (reference_max_pool2d)
{
  const GradusShape *y = &call->output_types[0].shape;
  const double      *x = call->inputs[0];
  gint64             n = gradus_op_count (&call->output_types[0]), at[4];
  GradusWindow       w;

  pool_of (call->node, call->input_types, &call->input_types[0].shape, &w, NULL);
  for (gint64 i = 0; i < n; i++)
    {
      double best = 0;
      gint64 index = -1;

      gradus_op_unravel (y, i, at);
      for (gint64 k = 0; k < w.size[0] * w.size[1]; k++)
        {
          gint64 iy = gradus_window_at (&w, 0, at[1], k / w.size[1]);
          gint64 ix = gradus_window_at (&w, 1, at[2], k % w.size[1]);
          double value;

          if (iy < 0 || iy >= w.in[0] || ix < 0 || ix >= w.in[1])
            continue;
          value = x[((at[0] * w.in[0] + iy) * w.in[1] + ix) * y->dims[3] + at[3]];
          if (index < 0 || value > best)
            {
              best = value;
              index = k;
            }
        }
      call->outputs[0][i] = best;
      call->outputs[1][i] = index;
    }
}

GRADUS_REFERENCE (reference_max_pool2d_grad)
{
  const GradusShape *y = &call->input_types[0].shape;
  gint64             n = gradus_op_count (&call->input_types[0]), at[4];
  GradusWindow       w;

  pool_of (call->node, call->input_types, &call->input_types[2].shape, &w, NULL);
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = 0;
  for (gint64 i = 0; i < n; i++)
    {
      gint64 k = call->inputs[1][i], iy, ix;

      gradus_op_unravel (y, i, at);
      iy = gradus_window_at (&w, 0, at[1], k / w.size[1]);
      ix = gradus_window_at (&w, 1, at[2], k % w.size[1]);
      if (iy < 0 || iy >= w.in[0] || ix < 0 || ix >= w.in[1])
        continue;
      call->outputs[0][((at[0] * w.in[0] + iy) * w.in[1] + ix) * y->dims[3] + at[3]]
        += call->inputs[0][i];
    }
}

static const GradusAttrSpec pool_attrs[] = {
  { "pool", GRADUS_ATTR_INTS, "2,2" },
  { "strides", GRADUS_ATTR_INTS, "2,2" },
  { "pads", GRADUS_ATTR_INTS, "0,0,0,0" },
  { NULL },
};

static const GradusOpCase max_pool2d_cases[] = {
  { "f32[B,4,4,3]", NULL },
  { "f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1" },
  { "f32[B,5,4,1]", "pool=2,3 strides=1,1" },
  { "f32[B,1,1,5]", "pool=1,1 strides=1,1" },
  { "f32[B,14,14,33]", NULL },
  { NULL },
};

static const GradusOpCase max_pool2d_grad_cases[] = {
  { "f32[B,2,2,3] u8<4[B,2,2,3] f32[B,4,4,3]", NULL },
  { "f32[B,2,4,2] u8<9[B,2,4,2] f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1" },
  { "f32[B,4,2,1] u8<6[B,4,2,1] f32[B,5,4,1]", "pool=2,3 strides=1,1" },
  { "f32[B,7,7,33] u8<4[B,7,7,33] f32[B,14,14,33]", NULL },
  { NULL },
};

const GradusOp gradus_ops_pool[] = {
  {
      .name = "max_pool2d",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 2,
      .attrs = pool_attrs,
      .infer = infer_max_pool2d,
      .gradient = gradient_max_pool2d,
      .gradient_needs = GRADUS_NEEDS_OUTPUT (1),
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = cost_max_pool2d,
      .reference = reference_max_pool2d,
      .cases = max_pool2d_cases,
  },
  {
      .name = "max_pool2d_grad",
      .version = 1,
      .min_inputs = 3,
      .max_inputs = 3,
      .n_outputs = 1,
      .attrs = pool_attrs,
      .infer = infer_max_pool2d_grad,
      .shape_only = 1u << 2,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_elementwise,
      .nan_hint =
          N_ ("overlapping windows add their gradients, which overflowed; clip the gradients"),
      .reference = reference_max_pool2d_grad,
      .cases = max_pool2d_grad_cases,
  },
  { NULL },
};
