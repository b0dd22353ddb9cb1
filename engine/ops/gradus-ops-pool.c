/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-resample.h"

/* The op keeps the winner's place in one byte. */
static gboolean
pool_of (const GradusNode      *node,
         const GradusValueType *inputs,
         const GradusShape     *x,
         GradusWindow          *window,
         GError               **error)
{
  if (!gradus_pool_window (node, inputs, x, window, error))
    return FALSE;
  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    if (window->size[axis] > 256)
      break;
    else if (axis + 1 == GRADUS_WINDOW_AXES && gradus_window_count (window->size) <= 256)
      return TRUE;
  return gradus_op_refuse (node, inputs, error,
                           _ ("The window of a maximum has at most 256 elements."));
}

GRADUS_INFER (infer_max_pool)
{
  GradusWindow window;

  if (!gradus_op_check_floats (node, inputs, error)
      || !pool_of (node, inputs, &inputs[0].shape, &window, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_window_shape (&window, inputs[0].shape.dims[0],
                                          inputs[0].shape.dims[inputs[0].shape.rank - 1]);
  outputs[1].dtype = GRADUS_DTYPE_UINT8;
  outputs[1].shape = outputs[0].shape;
  return TRUE;
}

/* dy, index, x -> dx */
GRADUS_INFER (infer_max_pool_grad)
{
  const GradusShape *x = &inputs[2].shape;
  GradusWindow       window;
  GradusShape        wanted;

  if (!pool_of (node, inputs, x, &window, error))
    return FALSE;
  wanted = gradus_window_shape (&window, x->dims[0], x->dims[x->rank - 1]);
  if (!gradus_op_check_shape (node, inputs, 0, &wanted, error)
      || !gradus_op_check_shape (node, inputs, 1, &wanted, error))
    return FALSE;
  if (inputs[1].dtype != GRADUS_DTYPE_UINT8 || inputs[0].dtype != inputs[2].dtype)
    return gradus_op_refuse (node, inputs, error, _ ("The index must be of type uint8."));
  outputs[0] = inputs[2];
  return TRUE;
}

GRADUS_GRADIENT (gradient_max_pool)
{
  const GradusValueId in[] = { output_gradients[0], node->outputs[1], node->inputs[0] };
  guint               n_pool, n_strides, n_pads;
  const gint64       *pool = gradus_node_ints (node, "pool", &n_pool);
  const gint64       *strides = gradus_node_ints (node, "strides", &n_strides);
  const gint64       *pads = gradus_node_ints (node, "pads", &n_pads);

  return gradus_program_add_node (program, "max_pool_grad", 0, in, 3, &input_gradients[0], error,
                                  "pool", n_pool, pool, "strides", n_strides, strides, "pads",
                                  n_pads, pads, NULL);
}

GRADUS_COST (cost_max_pool)
{
  GradusWindow window;

  pool_of (node, inputs, &inputs[0].shape, &window, NULL);
  gradus_op_cost (node, inputs, outputs,
                  (double) gradus_op_count (&outputs[0])
                    * (double) gradus_window_count (window.size),
                  cost);
}

/* Where position @k of the window of output @i (channels last) stands in x; -1 in the padding. */
static gint64
place_of (const GradusWindow *w, gint64 channels, gint64 i, gint64 k)
{
  gint64 in = gradus_window_count (w->in), out = gradus_window_count (w->out);
  gint64 o[GRADUS_WINDOW_AXES], at[GRADUS_WINDOW_AXES], place;

  gradus_window_split (w->out, i / channels % out, o);
  gradus_window_split (w->size, k, at);
  place = gradus_window_input (w, o, at);
  return place < 0 ? -1 : (i / channels / out * in + place) * channels + i % channels;
}

GRADUS_REFERENCE (reference_max_pool)
{
  const GradusShape *y = &call->output_types[0].shape;
  gint64             n = gradus_op_count (&call->output_types[0]);
  GradusWindow       w;

  pool_of (call->node, call->input_types, &call->input_types[0].shape, &w, NULL);
  for (gint64 i = 0; i < n; i++)
    {
      double best = 0;
      gint64 index = -1;

      for (gint64 k = 0; k < gradus_window_count (w.size); k++)
        {
          gint64 place = place_of (&w, y->dims[y->rank - 1], i, k);

          if (place >= 0 && (index < 0 || call->inputs[0][place] > best))
            {
              best = call->inputs[0][place];
              index = k;
            }
        }
      call->outputs[0][i] = best;
      call->outputs[1][i] = index;
    }
}

GRADUS_REFERENCE (reference_max_pool_grad)
{
  const GradusShape *y = &call->input_types[0].shape;
  gint64             n = gradus_op_count (&call->input_types[0]);
  GradusWindow       w;

  pool_of (call->node, call->input_types, &call->output_types[0].shape, &w, NULL);
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = 0;
  for (gint64 i = 0; i < n; i++)
    {
      gint64 place = place_of (&w, y->dims[y->rank - 1], i, (gint64) call->inputs[1][i]);

      if (place >= 0)
        call->outputs[0][place] += call->inputs[0][i];
    }
}

static const GradusAttrSpec pool_attrs[] = {
  { "pool", GRADUS_ATTR_INTS, "" },
  { "strides", GRADUS_ATTR_INTS, "" },
  { "pads", GRADUS_ATTR_INTS, "" },
  { NULL },
};

static const GradusOpCase max_pool_cases[] = {
  { "f32[B,4,4,3]", NULL },
  { "f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1" },
  { "f32[B,5,4,1]", "pool=2,3 strides=1,1" },
  { "f32[B,1,1,5]", "pool=1,1 strides=1,1" },
  { "f32[B,14,14,33]", NULL },
  { "f32[B,9,3]", "pool=3 strides=2 pads=1,1" },
  { "f32[B,4,5,3,2]", "pool=2,3,2 strides=2,1,1 pads=0,0,1,1,0,1" },
  { NULL },
};

static const GradusOpCase max_pool_grad_cases[] = {
  { "f32[B,2,2,3] u8<4[B,2,2,3] f32[B,4,4,3]", NULL },
  { "f32[B,2,4,2] u8<9[B,2,4,2] f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1" },
  { "f32[B,4,2,1] u8<6[B,4,2,1] f32[B,5,4,1]", "pool=2,3 strides=1,1" },
  { "f32[B,7,7,33] u8<4[B,7,7,33] f32[B,14,14,33]", NULL },
  { "f32[B,5,3] u8<3[B,5,3] f32[B,9,3]", "pool=3 strides=2 pads=1,1" },
  { "f32[B,2,2,2,3] u8<8[B,2,2,2,3] f32[B,4,4,4,3]", NULL },
  { "f32[B,2,5,3,2] u8<12[B,2,5,3,2] f32[B,4,5,3,2]", "pool=2,3,2 strides=2,1,1 pads=0,0,1,1,0,1" },
  { NULL },
};

const GradusOp gradus_ops_pool[] = {
  {
      .name = "max_pool",
      .version = 1,
      .min_inputs = 1,
      .max_inputs = 1,
      .n_outputs = 2,
      .attrs = pool_attrs,
      .infer = infer_max_pool,
      .gradient = gradient_max_pool,
      .gradient_needs = GRADUS_NEEDS_OUTPUT (1),
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = cost_max_pool,
      .reference = reference_max_pool,
      .cases = max_pool_cases,
  },
  {
      .name = "max_pool_grad",
      .version = 1,
      .min_inputs = 3,
      .max_inputs = 3,
      .n_outputs = 1,
      .attrs = pool_attrs,
      .infer = infer_max_pool_grad,
      .shape_only = 1u << 2,
      .inplace = -1,
      .precision = GRADUS_PRECISION_WIDEST,
      .cost = gradus_op_cost_elementwise,
      .nan_hint =
          N_ ("overlapping windows add their gradients, which overflowed; clip the gradients"),
      .reference = reference_max_pool_grad,
      .cases = max_pool_grad_cases,
  },
  { NULL },
};
