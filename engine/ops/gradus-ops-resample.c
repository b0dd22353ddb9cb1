/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-op-resample.h"

GRADUS_INFER (infer_average_pool)
{
  GradusWindow window;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_pool_window (node, inputs, &inputs[0].shape, &window, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_window_shape (&window, inputs[0].shape.dims[0],
                                          inputs[0].shape.dims[inputs[0].shape.rank - 1]);
  return TRUE;
}

/* dy, like -> dx */
GRADUS_INFER (infer_average_pool_grad)
{
  const GradusShape *x = &inputs[1].shape;
  GradusWindow       window;
  GradusShape        wanted;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_pool_window (node, inputs, x, &window, error))
    return FALSE;
  wanted = gradus_window_shape (&window, x->dims[0], x->dims[x->rank - 1]);
  if (!gradus_op_check_shape (node, inputs, 0, &wanted, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

GRADUS_GRADIENT (gradient_average_pool)
{
  const GradusValueId in[] = { output_gradients[0], node->inputs[0] };
  guint               n_pool, n_strides, n_pads;
  const gint64       *pool = gradus_node_ints (node, "pool", &n_pool);
  const gint64       *strides = gradus_node_ints (node, "strides", &n_strides);
  const gint64       *pads = gradus_node_ints (node, "pads", &n_pads);

  return gradus_program_add_node (program, "average_pool_grad", 0, in, 2, &input_gradients[0],
                                  error, "pool", n_pool, pool, "strides", n_strides, strides,
                                  "pads", n_pads, pads, "count_pads",
                                  gradus_node_int (node, "count_pads"), NULL);
}

static gboolean
check_resizable (const GradusNode *node, const GradusValueType *inputs, guint i, GError **error)
{
  const GradusShape *x = &inputs[i].shape;

  if (x->rank < 3 || x->rank > 2 + GRADUS_WINDOW_AXES)
    return gradus_op_refuse (node, inputs, error,
                             _ ("It resizes one, two or three axes between the batch and the "
                                "channels."));
  for (guint axis = 1; axis + 1 < x->rank; axis++)
    if (x->dims[axis] < 1)
      return gradus_op_refuse (node, inputs, error,
                               _ ("Axis %u of the input or of the window has no fixed size."),
                               axis);
  return TRUE;
}

GRADUS_INFER (infer_resize)
{
  guint         n;
  const gint64 *size = gradus_node_ints (node, "size", &n);

  if (!gradus_op_check_floats (node, inputs, error) || !check_resizable (node, inputs, 0, error))
    return FALSE;
  outputs[0] = inputs[0];
  if (n + 2 != inputs[0].shape.rank)
    return gradus_op_refuse (node, inputs, error, _ ("The size must be %u numbers."),
                             inputs[0].shape.rank - 2);
  for (guint i = 0; i < n; i++)
    {
      if (size[i] < 1 || size[i] > G_GINT64_CONSTANT (1) << 30)
        return gradus_op_refuse (node, inputs, error, _ ("Every size must be 1 at least."));
      outputs[0].shape.dims[1 + i] = size[i];
    }
  return TRUE;
}

/* dy, like -> dx */
GRADUS_INFER (infer_resize_grad)
{
  GradusShape wanted = inputs[1].shape;

  if (!gradus_op_check_floats (node, inputs, error) || !check_resizable (node, inputs, 0, error)
      || !check_resizable (node, inputs, 1, error))
    return FALSE;
  if (inputs[0].shape.rank == wanted.rank)
    for (guint axis = 1; axis + 1 < wanted.rank; axis++)
      wanted.dims[axis] = inputs[0].shape.dims[axis];
  if (!gradus_op_check_shape (node, inputs, 0, &wanted, error))
    return FALSE;
  outputs[0] = inputs[1];
  return TRUE;
}

GRADUS_GRADIENT (gradient_resize_nearest)
{
  return gradus_op_emit (program, "resize_nearest_grad", &input_gradients[0], error, 2,
                         output_gradients[0], node->inputs[0]);
}

GRADUS_GRADIENT (gradient_resize_bilinear)
{
  return gradus_op_emit (program, "resize_bilinear_grad", &input_gradients[0], error, 2,
                         output_gradients[0], node->inputs[0]);
}

GRADUS_COST (cost_average_pool)
{
  GradusWindow window;

  gradus_pool_window (node, inputs, &inputs[0].shape, &window, NULL);
  gradus_op_cost (node, inputs, outputs,
                  (double) gradus_op_count (&outputs[0])
                    * (double) gradus_window_count (window.size),
                  cost);
}

/* Up to two inputs along each axis, multiplied and added. */
GRADUS_COST (cost_bilinear)
{
  gradus_op_cost (node, inputs, outputs,
                  (double) MAX (gradus_op_count (&inputs[0]), gradus_op_count (&outputs[0]))
                    * (double) (2 << (inputs[0].shape.rank - 2)),
                  cost);
}

static double
sum_place (const GradusResample *r,
           const double         *image,
           const gint64          o[GRADUS_WINDOW_AXES],
           gint64                channel,
           gint64                channels)
{
  const GradusTaps *t = r->taps;
  gint64            count[GRADUS_WINDOW_AXES], k[GRADUS_WINDOW_AXES];
  double            sum = 0;

  for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
    count[axis] = t[axis].count[o[axis]];
  for (gint64 i = 0; i < gradus_window_count (count); i++)
    {
      double weight = 1;
      gint64 at = 0;

      gradus_window_split (count, i, k);
      for (guint axis = 0; axis < GRADUS_WINDOW_AXES; axis++)
        {
          weight *= gradus_taps_weight (&t[axis], o[axis], k[axis]);
          at = at * r->in[axis] + t[axis].first[o[axis]] + k[axis];
        }
      /* What is not read may be infinite. */
      if (weight != 0)
        sum += weight * image[at * channels + channel];
    }
  return sum;
}

static void
resample (const GradusReferenceCall *call, GradusResampleKind kind, gboolean gradient)
{
  const GradusShape *from = &call->input_types[0].shape, *to = &call->output_types[0].shape;
  gint64             channels = to->dims[to->rank - 1], o[GRADUS_WINDOW_AXES], in, out;
  GradusResample     r;

  gradus_resample_init (&r, kind, gradient, call->node, call->input_types, from, to);
  in = gradus_window_count (r.in) * channels;
  out = gradus_window_count (r.out);
  for (gint64 i = 0; i < to->dims[0] * out; i++)
    {
      gradus_window_split (r.out, i % out, o);
      for (gint64 c = 0; c < channels; c++)
        call->outputs[0][i * channels + c]
          = sum_place (&r, call->inputs[0] + i / out * in, o, c, channels);
    }
  gradus_resample_clear (&r);
}

GRADUS_REFERENCE (reference_average_pool)
{
  resample (call, GRADUS_RESAMPLE_AVERAGE, FALSE);
}

GRADUS_REFERENCE (reference_average_pool_grad)
{
  resample (call, GRADUS_RESAMPLE_AVERAGE, TRUE);
}

GRADUS_REFERENCE (reference_resize_nearest)
{
  resample (call, GRADUS_RESAMPLE_NEAREST, FALSE);
}

GRADUS_REFERENCE (reference_resize_nearest_grad)
{
  resample (call, GRADUS_RESAMPLE_NEAREST, TRUE);
}

GRADUS_REFERENCE (reference_resize_bilinear)
{
  resample (call, GRADUS_RESAMPLE_BILINEAR, FALSE);
}

GRADUS_REFERENCE (reference_resize_bilinear_grad)
{
  resample (call, GRADUS_RESAMPLE_BILINEAR, TRUE);
}

static const GradusAttrSpec average_attrs[] = {
  { "pool", GRADUS_ATTR_INTS, "" },
  { "strides", GRADUS_ATTR_INTS, "" },
  { "pads", GRADUS_ATTR_INTS, "" },
  { "count_pads", GRADUS_ATTR_INT, "0" },
  { NULL },
};

static const GradusAttrSpec resize_attrs[] = { { "size", GRADUS_ATTR_INTS, "" }, { NULL } };

static const GradusOpCase average_pool_cases[] = {
  { "f32[B,4,4,3]", NULL },
  { "f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1" },
  { "f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1 count_pads=1" },
  { "f32[B,7,4]", "pool=2 strides=3" },
  { "f32[B,4,5,3,2]", "pool=2,3,2 strides=2,1,1 pads=0,0,1,1,0,1" },
  { NULL },
};

static const GradusOpCase average_pool_grad_cases[] = {
  { "f32[B,2,2,3] f32[B,4,4,3]", NULL },
  { "f32[B,2,4,2] f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1" },
  { "f32[B,2,4,2] f32[B,5,7,2]", "pool=3,3 strides=2,2 pads=0,1,1,1 count_pads=1" },
  { "f32[B,2,4] f32[B,7,4]", "pool=2 strides=3" },
  { "f32[B,2,5,3,2] f32[B,4,5,3,2]", "pool=2,3,2 strides=2,1,1 pads=0,0,1,1,0,1" },
  { NULL },
};

static const GradusOpCase resize_cases[] = {
  { "f32[B,3,4,2]", "size=6,12" },
  { "f32[B,5,3,1]", "size=7,2" },
  { "f32[B,4,3]", "size=8" },
  { "f32[B,2,1,3,2]", "size=4,3,3" },
  { NULL },
};

static const GradusOpCase resize_grad_cases[] = {
  { "f32[B,6,12,2] f32[B,3,4,2]", NULL },
  { "f32[B,7,2,1] f32[B,5,3,1]", NULL },
  { "f32[B,8,3] f32[B,4,3]", NULL },
  { "f32[B,4,3,3,2] f32[B,2,1,3,2]", NULL },
  { NULL },
};

#define SUM_HINT                                                                                   \
  N_ ("the gradients of several places are added for one, and their sum overflowed; clip the "     \
      "gradients")

const GradusOp gradus_ops_resample[] = {
  {
    .name = "average_pool",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attrs = average_attrs,
    .infer = infer_average_pool,
    .gradient = gradient_average_pool,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = cost_average_pool,
    .reference = reference_average_pool,
    .cases = average_pool_cases,
  },
  {
    .name = "average_pool_grad",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attrs = average_attrs,
    .infer = infer_average_pool_grad,
    .shape_only = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = SUM_HINT,
    .reference = reference_average_pool_grad,
    .cases = average_pool_grad_cases,
  },
  {
    .name = "resize_nearest",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attrs = resize_attrs,
    .infer = infer_resize,
    .gradient = gradient_resize_nearest,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_move,
    .reference = reference_resize_nearest,
    .cases = resize_cases,
  },
  {
    .name = "resize_nearest_grad",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_resize_grad,
    .shape_only = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = SUM_HINT,
    .reference = reference_resize_nearest_grad,
    .cases = resize_grad_cases,
  },
  {
    .name = "resize_bilinear",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attrs = resize_attrs,
    .infer = infer_resize,
    .gradient = gradient_resize_bilinear,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = cost_bilinear,
    .reference = reference_resize_bilinear,
    .cases = resize_cases,
  },
  {
    .name = "resize_bilinear_grad",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_resize_grad,
    .shape_only = 1u << 1,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = cost_bilinear,
    .nan_hint = SUM_HINT,
    .reference = reference_resize_bilinear_grad,
    .cases = resize_grad_cases,
  },
  { NULL },
};
