/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-activation.h"
#include "ops/gradus-op-family.h"
#include "ops/gradus-op-window.h"

/* One convolution, whichever of its three ops asks. */
typedef struct
{
  GradusWindow window;
  gint64       batch, channels, filters;
} Conv;

static gboolean
read_window (const GradusNode      *node,
             const GradusValueType *inputs,
             GradusWindow          *window,
             GError               **error)
{
  return gradus_window_read (node, inputs, "dilations", window, error);
}

GRADUS_INFER (infer_conv2d)
{
  GradusWindow  window;
  const gint64 *x = inputs[0].shape.dims, *k = inputs[1].shape.dims;
  GradusShape   bias;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_rank (node, inputs, 0, 4, error)
      || !gradus_op_check_rank (node, inputs, 1, 4, error)
      || !gradus_op_check_activation (node, inputs, error)
      || !read_window (node, inputs, &window, error))
    return FALSE;
  if (x[3] != k[2])
    return gradus_op_refuse (node, inputs, error,
                             _ ("The kernel is for %d channels, the input has %d."), (int) k[2],
                             (int) x[3]);
  bias = gradus_shape (1, k[3]);
  if (gradus_op_has_input (node, 2) && !gradus_op_check_shape (node, inputs, 2, &bias, error))
    return FALSE;
  if (!gradus_window_fit (node, inputs, &window, x, k, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_shape (4, x[0], window.out[0], window.out[1], k[3]);
  return TRUE;
}

static gboolean
check_output (const GradusNode      *node,
              const GradusValueType *inputs,
              guint                  dy,
              const gint64          *x,
              const gint64          *kernel,
              gint64                 filters,
              GError               **error)
{
  GradusWindow window;
  GradusShape  wanted;

  if (!read_window (node, inputs, &window, error)
      || !gradus_window_fit (node, inputs, &window, x, kernel, error))
    return FALSE;
  wanted = gradus_shape (4, x[0], window.out[0], window.out[1], filters);
  return gradus_op_check_shape (node, inputs, dy, &wanted, error);
}

/* dy, kernel, x -> dx */
GRADUS_INFER (infer_grad_input)
{
  for (guint i = 0; i < 3; i++)
    if (!gradus_op_check_rank (node, inputs, i, 4, error))
      return FALSE;
  if (!gradus_op_check_floats (node, inputs, error)
      || !check_output (node, inputs, 0, inputs[2].shape.dims, inputs[1].shape.dims,
                        inputs[1].shape.dims[3], error))
    return FALSE;
  outputs[0] = inputs[2];
  return TRUE;
}

/* x, dy -> dkernel */
GRADUS_INFER (infer_grad_kernel)
{
  guint         n;
  const gint64 *size = gradus_node_ints (node, "kernel_size", &n);

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_rank (node, inputs, 0, 4, error)
      || !gradus_op_check_rank (node, inputs, 1, 4, error))
    return FALSE;
  if (n != 2)
    return gradus_op_refuse (node, inputs, error, _ ("The kernel size must be two numbers."));
  if (!check_output (node, inputs, 1, inputs[0].shape.dims, size, inputs[1].shape.dims[3], error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape
    = gradus_shape (4, size[0], size[1], inputs[0].shape.dims[3], inputs[1].shape.dims[3]);
  return TRUE;
}

GRADUS_GRADIENT (gradient_conv2d)
{
  const gint64 *strides = gradus_node_ints (node, "strides", NULL);
  const gint64 *pads = gradus_node_ints (node, "pads", NULL);
  const gint64 *dilations = gradus_node_ints (node, "dilations", NULL);
  GradusShape   kernel = gradus_op_type (program, node->inputs[1])->shape;
  GradusValueId dy;

  if (!gradus_op_activation_gradient (program, node, output_gradients[0], &dy, error))
    return FALSE;
  if (gradus_op_wants (0))
    {
      const GradusValueId in[] = { dy, node->inputs[1], node->inputs[0] };

      if (!gradus_program_add_node (program, "conv2d_grad_input", 0, in, 3, &input_gradients[0],
                                    error, "strides", 2u, strides, "pads", 4u, pads, "dilations",
                                    2u, dilations, NULL))
        return FALSE;
    }
  if (gradus_op_wants (1))
    {
      const GradusValueId in[] = { node->inputs[0], dy };

      if (!gradus_program_add_node (program, "conv2d_grad_kernel", 0, in, 2, &input_gradients[1],
                                    error, "strides", 2u, strides, "pads", 4u, pads, "dilations",
                                    2u, dilations, "kernel_size", 2u, kernel.dims, NULL))
        return FALSE;
    }
  return node->n_inputs < 3 || !gradus_op_wants (2)
         || gradus_op_bias_gradient (program, dy, &input_gradients[2], error);
}

static void
conv_of (const GradusNode      *node,
         const GradusValueType *inputs,
         const GradusShape     *x,
         const GradusShape     *kernel,
         Conv                  *conv)
{
  read_window (node, inputs, &conv->window, NULL);
  gradus_window_fit (node, inputs, &conv->window, x->dims, kernel->dims, NULL);
  conv->batch = x->dims[0];
  conv->channels = x->dims[3];
  conv->filters = kernel->dims[3];
}

static double
conv_flops (const Conv *conv)
{
  const GradusWindow *w = &conv->window;

  return 2.0 * conv->batch * w->out[0] * w->out[1] * w->size[0] * w->size[1] * conv->channels
         * conv->filters;
}

GRADUS_COST (cost_conv2d)
{
  Conv conv;

  conv_of (node, inputs, &inputs[0].shape, &inputs[1].shape, &conv);
  gradus_op_cost (node, inputs, outputs, conv_flops (&conv), cost);
}

GRADUS_COST (cost_grad_input)
{
  Conv conv;

  conv_of (node, inputs, &inputs[2].shape, &inputs[1].shape, &conv);
  gradus_op_cost (node, inputs, outputs, conv_flops (&conv), cost);
}

GRADUS_COST (cost_grad_kernel)
{
  Conv conv;

  conv_of (node, inputs, &inputs[0].shape, &outputs[0].shape, &conv);
  gradus_op_cost (node, inputs, outputs, conv_flops (&conv), cost);
}

/* Where one product of a convolution reads and writes. */
typedef void (*Product) (gpointer data, gint64 x, gint64 kernel, gint64 y);

static void
each_product (const Conv *conv, Product product, gpointer data)
{
  const GradusWindow *w = &conv->window;

  for (gint64 b = 0; b < conv->batch; b++)
    for (gint64 oy = 0; oy < w->out[0]; oy++)
      for (gint64 ox = 0; ox < w->out[1]; ox++)
        for (gint64 ky = 0; ky < w->size[0]; ky++)
          for (gint64 kx = 0; kx < w->size[1]; kx++)
            {
              gint64 iy = gradus_window_at (w, 0, oy, ky), ix = gradus_window_at (w, 1, ox, kx);

              if (iy < 0 || iy >= w->in[0] || ix < 0 || ix >= w->in[1])
                continue;
              for (gint64 c = 0; c < conv->channels; c++)
                for (gint64 f = 0; f < conv->filters; f++)
                  product (data, ((b * w->in[0] + iy) * w->in[1] + ix) * conv->channels + c,
                           ((ky * w->size[1] + kx) * conv->channels + c) * conv->filters + f,
                           ((b * w->out[0] + oy) * w->out[1] + ox) * conv->filters + f);
            }
}

static void
product_forward (gpointer data, gint64 x, gint64 kernel, gint64 y)
{
  const GradusReferenceCall *call = data;

  call->outputs[0][y] += call->inputs[0][x] * call->inputs[1][kernel];
}

static void
product_grad_input (gpointer data, gint64 x, gint64 kernel, gint64 y)
{
  const GradusReferenceCall *call = data;

  call->outputs[0][x] += call->inputs[0][y] * call->inputs[1][kernel];
}

static void
product_grad_kernel (gpointer data, gint64 x, gint64 kernel, gint64 y)
{
  const GradusReferenceCall *call = data;

  call->outputs[0][kernel] += call->inputs[0][x] * call->inputs[1][y];
}

static void
clear_output (const GradusReferenceCall *call)
{
  gint64 n = gradus_op_count (&call->output_types[0]);

  for (gint64 i = 0; i < n; i++)
    call->outputs[0][i] = 0;
}

GRADUS_REFERENCE (reference_conv2d)
{
  const double *bias = gradus_op_has_input (call->node, 2) ? call->inputs[2] : NULL;
  gint64        n = gradus_op_count (&call->output_types[0]);
  gboolean      relu = gradus_op_activation_is_relu (call->node);
  double       *y = call->outputs[0];
  Conv          conv;

  conv_of (call->node, call->input_types, &call->input_types[0].shape, &call->input_types[1].shape,
           &conv);
  clear_output (call);
  each_product (&conv, product_forward, (gpointer) call);
  for (gint64 i = 0; i < n; i++)
    {
      y[i] += bias != NULL ? bias[i % conv.filters] : 0;
      y[i] = relu && y[i] < 0 ? 0 : y[i];
    }
}

GRADUS_REFERENCE (reference_grad_input)
{
  Conv conv;

  conv_of (call->node, call->input_types, &call->input_types[2].shape, &call->input_types[1].shape,
           &conv);
  clear_output (call);
  each_product (&conv, product_grad_input, (gpointer) call);
}

GRADUS_REFERENCE (reference_grad_kernel)
{
  Conv conv;

  conv_of (call->node, call->input_types, &call->input_types[0].shape, &call->output_types[0].shape,
           &conv);
  clear_output (call);
  each_product (&conv, product_grad_kernel, (gpointer) call);
}

static const GradusAttrSpec conv2d_attrs[] = {
  { "strides", GRADUS_ATTR_INTS, "1,1" },
  { "pads", GRADUS_ATTR_INTS, "0,0,0,0" },
  { "dilations", GRADUS_ATTR_INTS, "1,1" },
  { "activation", GRADUS_ATTR_STRING, "linear" },
  { NULL },
};

static const GradusAttrSpec grad_input_attrs[] = {
  { "strides", GRADUS_ATTR_INTS, "1,1" },
  { "pads", GRADUS_ATTR_INTS, "0,0,0,0" },
  { "dilations", GRADUS_ATTR_INTS, "1,1" },
  { NULL },
};

static const GradusAttrSpec grad_kernel_attrs[] = {
  { "strides", GRADUS_ATTR_INTS, "1,1" },
  { "pads", GRADUS_ATTR_INTS, "0,0,0,0" },
  { "dilations", GRADUS_ATTR_INTS, "1,1" },
  { "kernel_size", GRADUS_ATTR_INTS, "1,1" },
  { NULL },
};

static const GradusOpCase conv2d_cases[] = {
  { "f32[B,5,5,2] f32[3,3,2,3] f32[3]", NULL },
  { "f32[B,5,6,2] f32[3,3,2,3]", "pads=1,1,1,1 activation=relu" },
  { "f32[B,6,5,1] f32[3,2,1,4] f32[4]", "strides=2,2 pads=0,1,0,1 activation=relu" },
  { "f32[B,7,7,2] f32[3,3,2,1] f32[1]", "dilations=2,2 pads=1,2,1,2" },
  { "f32[B,4,1,3] f32[1,1,3,5] -", NULL },
  { "f32[B,9,9,16] f32[3,3,16,17] f32[17]", "pads=1,1,1,1 activation=relu" },
  { NULL },
};

static const GradusOpCase grad_input_cases[] = {
  { "f32[B,3,3,3] f32[3,3,2,3] f32[B,5,5,2]", NULL },
  { "f32[B,3,3,4] f32[3,2,1,4] f32[B,6,5,1]", "strides=2,2 pads=0,1,0,1" },
  { "f32[B,6,6,1] f32[3,3,2,1] f32[B,7,7,2]", "dilations=2,2 pads=1,2,1,2" },
  { "f32[B,9,9,17] f32[3,3,16,17] f32[B,9,9,16]", "pads=1,1,1,1" },
  { NULL },
};

static const GradusOpCase grad_kernel_cases[] = {
  { "f32[B,5,5,2] f32[B,3,3,3]", "kernel_size=3,3" },
  { "f32[B,6,5,1] f32[B,3,3,4]", "strides=2,2 pads=0,1,0,1 kernel_size=3,2" },
  { "f32[B,7,7,2] f32[B,6,6,1]", "dilations=2,2 pads=1,2,1,2 kernel_size=3,3" },
  { "f32[B,9,9,16] f32[B,9,9,17]", "pads=1,1,1,1 kernel_size=3,3" },
  { NULL },
};

#define OVERFLOW_HINT                                                                              \
  N_ ("weights, inputs or gradients have grown so large that their products overflow; lower the "  \
      "learning rate or clip the gradients")

const GradusOp gradus_ops_conv[] = {
  {
    .name = "conv2d",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 1,
    .attrs = conv2d_attrs,
    .infer = infer_conv2d,
    .gradient = gradient_conv2d,
    .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (0),
    .inplace = -1,
    .precision = GRADUS_PRECISION_LOWER,
    .cost = cost_conv2d,
    .nan_hint = OVERFLOW_HINT,
    .reference = reference_conv2d,
    .cases = conv2d_cases,
  },
  {
    .name = "conv2d_grad_input",
    .version = 1,
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .attrs = grad_input_attrs,
    .infer = infer_grad_input,
    .shape_only = 1u << 2,
    .inplace = -1,
    .precision = GRADUS_PRECISION_LOWER,
    .cost = cost_grad_input,
    .nan_hint = OVERFLOW_HINT,
    .reference = reference_grad_input,
    .cases = grad_input_cases,
  },
  {
    .name = "conv2d_grad_kernel",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attrs = grad_kernel_attrs,
    .infer = infer_grad_kernel,
    .inplace = -1,
    .precision = GRADUS_PRECISION_LOWER,
    .cost = cost_grad_kernel,
    .nan_hint = OVERFLOW_HINT,
    .reference = reference_grad_kernel,
    .cases = grad_kernel_cases,
  },
  { NULL },
};
