/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-activation.h"
#include "ops/gradus-op-family.h"
#include "ops/gradus-op-window.h"

/* One convolution, whichever of its ops asks. @channels: those of a group. */
typedef struct
{
  GradusWindow window;
  gint64       batch, channels, filters, groups;
} Conv;

/* The window, as it lies on an image of the shape @x and a kernel of @size. */
static gboolean
place_window (const GradusNode      *node,
              const GradusValueType *inputs,
              const GradusShape     *x,
              const gint64          *size,
              GradusWindow          *window,
              GError               **error)
{
  return gradus_window_read (node, inputs, x, "dilations", NULL, window, error)
         && gradus_window_fit (node, inputs, window, x, size, error);
}

static gboolean
check_groups (const GradusNode      *node,
              const GradusValueType *inputs,
              gint64                 channels,
              gint64                 filters,
              GError               **error)
{
  gint64 groups = gradus_node_int (node, "groups");

  if (groups >= 1 && channels % groups == 0 && filters % groups == 0)
    return TRUE;
  return gradus_op_refuse (node, inputs, error,
                           _ ("The channels (%d) and the filters (%d) must be multiples of the "
                              "groups (%d)."),
                           (int) channels, (int) filters, (int) groups);
}

/* Images and a kernel of as many axes. */
static gboolean
check_ranks (const GradusNode *node, const GradusValueType *inputs, guint n, GError **error)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  for (guint i = 1; i < n; i++)
    if (!gradus_op_check_rank (node, inputs, i, inputs[0].shape.rank, error))
      return FALSE;
  if (inputs[0].shape.rank >= 3)
    return TRUE;
  return gradus_op_refuse (node, inputs, error,
                           _ ("It slides over one, two or three axes between the batch and the "
                              "channels."));
}

/* Sizes, channels of a group and filters, from behind. */
#define CHANNELS(shape) ((shape).dims[(shape).rank - 1])
#define KERNEL_CHANNELS(shape) ((shape).dims[(shape).rank - 2])

GRADUS_INFER (infer_conv)
{
  const GradusShape *x = &inputs[0].shape, *k = &inputs[1].shape;
  GradusWindow       window;
  GradusShape        bias;

  if (!check_ranks (node, inputs, 2, error) || !gradus_op_check_activation (node, inputs, error)
      || !check_groups (node, inputs, CHANNELS (*x), CHANNELS (*k), error))
    return FALSE;
  if (CHANNELS (*x) != KERNEL_CHANNELS (*k) * gradus_node_int (node, "groups"))
    return gradus_op_refuse (node, inputs, error,
                             _ ("The kernel is for %d channels, the input has %d."),
                             (int) (KERNEL_CHANNELS (*k) * gradus_node_int (node, "groups")),
                             (int) CHANNELS (*x));
  bias = gradus_shape (1, CHANNELS (*k));
  if (gradus_op_has_input (node, 2) && !gradus_op_check_shape (node, inputs, 2, &bias, error))
    return FALSE;
  if (!place_window (node, inputs, x, k->dims, &window, error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = gradus_window_shape (&window, x->dims[0], CHANNELS (*k));
  return TRUE;
}

/* Is input @dy what a convolution of @x makes? */
static gboolean
check_output (const GradusNode      *node,
              const GradusValueType *inputs,
              guint                  dy,
              const GradusShape     *x,
              const gint64          *size,
              gint64                 filters,
              GError               **error)
{
  GradusWindow window;
  GradusShape  wanted;

  if (!place_window (node, inputs, x, size, &window, error))
    return FALSE;
  wanted = gradus_window_shape (&window, x->dims[0], filters);
  return gradus_op_check_shape (node, inputs, dy, &wanted, error)
         && check_groups (node, inputs, CHANNELS (*x), filters, error);
}

/* dy, kernel, x -> dx */
GRADUS_INFER (infer_grad_input)
{
  const GradusShape *kernel = &inputs[1].shape;

  if (!check_ranks (node, inputs, 3, error)
      || !check_output (node, inputs, 0, &inputs[2].shape, kernel->dims, CHANNELS (*kernel), error))
    return FALSE;
  outputs[0] = inputs[2];
  return TRUE;
}

/* x, dy -> dkernel */
GRADUS_INFER (infer_grad_kernel)
{
  const GradusShape *x = &inputs[0].shape;
  guint              n;
  const gint64      *size = gradus_node_ints (node, "kernel_size", &n);

  if (!check_ranks (node, inputs, 2, error))
    return FALSE;
  if (n != x->rank - 2)
    return gradus_op_refuse (node, inputs, error, _ ("The kernel size must be %u numbers."),
                             x->rank - 2);
  if (!check_output (node, inputs, 1, x, size, CHANNELS (inputs[1].shape), error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = (GradusShape) { .rank = n + 2 };
  for (guint i = 0; i < n; i++)
    outputs[0].shape.dims[i] = size[i];
  outputs[0].shape.dims[n] = CHANNELS (*x) / gradus_node_int (node, "groups");
  outputs[0].shape.dims[n + 1] = CHANNELS (inputs[1].shape);
  return TRUE;
}

/* x, kernel -> y, of which x is the convolution with that kernel */
GRADUS_INFER (infer_transpose)
{
  const GradusShape *x = &inputs[0].shape, *k = &inputs[1].shape;
  GradusShape        y = *x;
  GradusWindow       w;
  guint              n;
  const gint64      *size = gradus_node_ints (node, "output_size", &n);

  if (!check_ranks (node, inputs, 2, error)
      || !gradus_window_read (node, inputs, x, "dilations", NULL, &w, error))
    return FALSE;
  if (n != 0 && n != w.n_axes)
    return gradus_op_refuse (node, inputs, error, _ ("The output size must be %u numbers."),
                             w.n_axes);
  for (guint i = 0; i < w.n_axes; i++)
    {
      guint axis = GRADUS_WINDOW_AXES - w.n_axes + i;

      if (n > 0)
        y.dims[1 + i] = size[i];
      else if (x->dims[1 + i] > 0)
        y.dims[1 + i] = (x->dims[1 + i] - 1) * w.strides[axis]
                        + (k->dims[i] - 1) * w.dilations[axis] + 1 - w.before[axis]
                        - w.after[axis];
    }
  CHANNELS (y) = KERNEL_CHANNELS (*k) * MAX (1, gradus_node_int (node, "groups"));
  if (!check_output (node, inputs, 0, &y, k->dims, CHANNELS (*k), error))
    return FALSE;
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = y;
  return TRUE;
}

/* What the ops of one convolution share, and NULL or the kernel's size. */
static gboolean
emit_conv (GradusProgram       *program,
           const GradusNode    *node,
           const char          *op,
           const GradusValueId *inputs,
           guint                n_inputs,
           const GradusShape   *kernel,
           GradusValueId       *output,
           GError             **error)
{
  guint         n_strides, n_pads, n_dilations;
  const gint64 *strides = gradus_node_ints (node, "strides", &n_strides);
  const gint64 *pads = gradus_node_ints (node, "pads", &n_pads);
  const gint64 *dilations = gradus_node_ints (node, "dilations", &n_dilations);
  gint64        groups = gradus_node_int (node, "groups");

  if (kernel == NULL)
    return gradus_program_add_node (program, op, 0, inputs, n_inputs, output, error, "strides",
                                    n_strides, strides, "pads", n_pads, pads, "dilations",
                                    n_dilations, dilations, "groups", groups, NULL);
  return gradus_program_add_node (program, op, 0, inputs, n_inputs, output, error, "strides",
                                  n_strides, strides, "pads", n_pads, pads, "dilations",
                                  n_dilations, dilations, "groups", groups, "kernel_size",
                                  kernel->rank - 2, kernel->dims, NULL);
}

GRADUS_GRADIENT (gradient_conv)
{
  GradusShape   kernel = gradus_op_type (program, node->inputs[1])->shape;
  GradusValueId dy;

  if (!gradus_op_activation_gradient (program, node, output_gradients[0], &dy, error))
    return FALSE;
  if (gradus_op_wants (0))
    {
      const GradusValueId in[] = { dy, node->inputs[1], node->inputs[0] };

      if (!emit_conv (program, node, "conv_grad_input", in, 3, NULL, &input_gradients[0], error))
        return FALSE;
    }
  if (gradus_op_wants (1))
    {
      const GradusValueId in[] = { node->inputs[0], dy };

      if (!emit_conv (program, node, "conv_grad_kernel", in, 2, &kernel, &input_gradients[1], error))
        return FALSE;
    }
  return node->n_inputs < 3 || !gradus_op_wants (2)
         || gradus_op_bias_gradient (program, dy, &input_gradients[2], error);
}

GRADUS_GRADIENT (gradient_transpose)
{
  GradusShape         kernel = gradus_op_type (program, node->inputs[1])->shape;
  const GradusValueId back[] = { output_gradients[0], node->inputs[1] };
  const GradusValueId both[] = { output_gradients[0], node->inputs[0] };

  if (gradus_op_wants (0)
      && !emit_conv (program, node, "conv", back, 2, NULL, &input_gradients[0], error))
    return FALSE;
  return !gradus_op_wants (1)
         || emit_conv (program, node, "conv_grad_kernel", both, 2, &kernel, &input_gradients[1],
                       error);
}

/* @x, @kernel: shapes of the images that the window slides over and of the kernel. */
static void
conv_of (const GradusNode      *node,
         const GradusValueType *inputs,
         const GradusShape     *x,
         const GradusShape     *kernel,
         Conv                  *conv)
{
  place_window (node, inputs, x, kernel->dims, &conv->window, NULL);
  conv->batch = x->dims[0];
  conv->groups = gradus_node_int (node, "groups");
  conv->channels = KERNEL_CHANNELS (*kernel);
  conv->filters = CHANNELS (*kernel);
}

static double
conv_flops (const Conv *conv)
{
  const GradusWindow *w = &conv->window;

  return 2.0 * (double) conv->batch * (double) gradus_window_count (w->out)
         * (double) gradus_window_count (w->size) * (double) conv->channels
         * (double) conv->filters;
}

GRADUS_COST (cost_conv)
{
  Conv conv;

  conv_of (node, inputs, &inputs[0].shape, &inputs[1].shape, &conv);
  gradus_op_cost (node, inputs, outputs, conv_flops (&conv), cost);
}

/* Of conv_grad_input and conv_transpose. */
GRADUS_COST (cost_grad_input)
{
  Conv conv;

  conv_of (node, inputs, &outputs[0].shape, &inputs[1].shape, &conv);
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
each_channel (const Conv *conv, gint64 x, gint64 kernel, gint64 y, Product product, gpointer data)
{
  gint64 in_group = conv->filters / conv->groups;

  for (gint64 f = 0; f < conv->filters; f++)
    for (gint64 c = 0; c < conv->channels; c++)
      product (data, (x * conv->groups + f / in_group) * conv->channels + c,
               (kernel * conv->channels + c) * conv->filters + f, y * conv->filters + f);
}

static void
each_product (const Conv *conv, Product product, gpointer data)
{
  const GradusWindow *w = &conv->window;
  gint64 in = gradus_window_count (w->in), out = gradus_window_count (w->out);
  gint64 o[GRADUS_WINDOW_AXES], k[GRADUS_WINDOW_AXES];

  for (gint64 y = 0; y < conv->batch * out; y++)
    for (gint64 kernel = 0; kernel < gradus_window_count (w->size); kernel++)
      {
        gint64 x;

        gradus_window_split (w->out, y % out, o);
        gradus_window_split (w->size, kernel, k);
        x = gradus_window_input (w, o, k);
        if (x >= 0)
          each_channel (conv, y / out * in + x, kernel, y, product, data);
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

GRADUS_REFERENCE (reference_conv)
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

  conv_of (call->node, call->input_types, &call->output_types[0].shape, &call->input_types[1].shape,
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

#define WINDOW_ATTRS                                                                               \
  { "strides", GRADUS_ATTR_INTS, "" }, { "pads", GRADUS_ATTR_INTS, "" },                           \
    { "dilations", GRADUS_ATTR_INTS, "" }, { "groups", GRADUS_ATTR_INT, "1" }

static const GradusAttrSpec conv_attrs[] = {
  WINDOW_ATTRS,
  { "activation", GRADUS_ATTR_STRING, "linear" },
  { NULL },
};

static const GradusAttrSpec grad_input_attrs[] = { WINDOW_ATTRS, { NULL } };

static const GradusAttrSpec grad_kernel_attrs[] = {
  WINDOW_ATTRS,
  { "kernel_size", GRADUS_ATTR_INTS, "" },
  { NULL },
};

static const GradusAttrSpec transpose_attrs[] = {
  WINDOW_ATTRS,
  { "output_size", GRADUS_ATTR_INTS, "" },
  { NULL },
};

static const GradusOpCase conv_cases[] = {
  { "f32[B,5,5,2] f32[3,3,2,3] f32[3]", NULL },
  { "f32[B,5,6,2] f32[3,3,2,3]", "pads=1,1,1,1 activation=relu" },
  { "f32[B,6,5,1] f32[3,2,1,4] f32[4]", "strides=2,2 pads=0,1,0,1 activation=relu" },
  { "f32[B,7,7,2] f32[3,3,2,1] f32[1]", "dilations=2,2 pads=1,2,1,2" },
  { "f32[B,4,1,3] f32[1,1,3,5] -", NULL },
  { "f32[B,9,9,16] f32[3,3,16,17] f32[17]", "pads=1,1,1,1 activation=relu" },
  { "f32[B,7,3] f32[3,3,4] f32[4]", "pads=2,0" },
  { "f32[B,9,2] f32[2,2,5]", "strides=2 pads=0,1" },
  { "f32[B,8,4] f32[3,2,6] f32[6]", "dilations=2 groups=2 activation=relu" },
  { "f32[B,3,4,4,2] f32[2,3,3,2,3] f32[3]", "pads=0,1,1,1,1,1 strides=1,2,1" },
  { "f32[B,3,3,3,4] f32[2,2,2,1,4]", "groups=4" },
  { "f32[B,5,5,6] f32[3,3,2,9] f32[9]", "pads=1,1,1,1 groups=3" },
  { "f32[B,5,4,3] f32[3,3,1,3] f32[3]", "pads=1,1,1,1 groups=3" },
  { "f32[B,5,4,3] f32[3,3,1,6]", "strides=2,2 pads=1,1,0,1 groups=3" },
  { "f32[B,7,7,16] f32[3,3,1,16] f32[16]", "pads=1,1,1,1 groups=16 activation=relu" },
  { NULL },
};

static const GradusOpCase grad_input_cases[] = {
  { "f32[B,3,3,3] f32[3,3,2,3] f32[B,5,5,2]", NULL },
  { "f32[B,3,3,4] f32[3,2,1,4] f32[B,6,5,1]", "strides=2,2 pads=0,1,0,1" },
  { "f32[B,6,6,1] f32[3,3,2,1] f32[B,7,7,2]", "dilations=2,2 pads=1,2,1,2" },
  { "f32[B,9,9,17] f32[3,3,16,17] f32[B,9,9,16]", "pads=1,1,1,1" },
  { "f32[B,7,4] f32[3,3,4] f32[B,7,3]", "pads=2,0" },
  { "f32[B,4,6] f32[3,2,6] f32[B,8,4]", "dilations=2 groups=2" },
  { "f32[B,3,2,4,3] f32[2,3,3,2,3] f32[B,3,4,4,2]", "pads=0,1,1,1,1,1 strides=1,2,1" },
  { "f32[B,3,2,6] f32[3,3,1,6] f32[B,5,4,3]", "strides=2,2 pads=1,1,0,1 groups=3" },
  { "f32[B,7,7,16] f32[3,3,1,16] f32[B,7,7,16]", "pads=1,1,1,1 groups=16" },
  { NULL },
};

static const GradusOpCase grad_kernel_cases[] = {
  { "f32[B,5,5,2] f32[B,3,3,3]", "kernel_size=3,3" },
  { "f32[B,6,5,1] f32[B,3,3,4]", "strides=2,2 pads=0,1,0,1 kernel_size=3,2" },
  { "f32[B,7,7,2] f32[B,6,6,1]", "dilations=2,2 pads=1,2,1,2 kernel_size=3,3" },
  { "f32[B,9,9,16] f32[B,9,9,17]", "pads=1,1,1,1 kernel_size=3,3" },
  { "f32[B,7,3] f32[B,7,4]", "pads=2,0 kernel_size=3" },
  { "f32[B,8,4] f32[B,4,6]", "dilations=2 groups=2 kernel_size=3" },
  { "f32[B,3,4,4,2] f32[B,3,2,4,3]", "pads=0,1,1,1,1,1 strides=1,2,1 kernel_size=2,3,3" },
  { "f32[B,5,4,3] f32[B,3,2,6]", "strides=2,2 pads=1,1,0,1 groups=3 kernel_size=3,3" },
  { "f32[B,7,7,16] f32[B,7,7,16]", "pads=1,1,1,1 groups=16 kernel_size=3,3" },
  { NULL },
};

static const GradusOpCase transpose_cases[] = {
  { "f32[B,3,3,4] f32[3,3,2,4]", NULL },
  { "f32[B,4,3,3] f32[3,3,2,3]", "strides=2,2 pads=0,1,0,1 output_size=8,6" },
  { "f32[B,3,2,2] f32[2,2,3,2]", "strides=3,3 output_size=9,6" },
  { "f32[B,4,3] f32[4,2,3]", "strides=2 pads=1,1" },
  { "f32[B,4,2] f32[3,2,2]", "dilations=2 pads=2,2" },
  { "f32[B,3,2,2,4] f32[2,2,2,1,4]", "groups=2 strides=1,2,1" },
  { "f32[B,7,7,16] f32[3,3,16,16]", "strides=2,2 pads=0,1,0,1 output_size=14,14" },
  { NULL },
};

#define OVERFLOW_HINT                                                                              \
  N_ ("weights, inputs or gradients have grown so large that their products overflow; lower the "  \
      "learning rate or clip the gradients")

const GradusOp gradus_ops_conv[] = {
  {
    .name = "conv",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 1,
    .attrs = conv_attrs,
    .infer = infer_conv,
    .gradient = gradient_conv,
    .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (0),
    .inplace = -1,
    .precision = GRADUS_PRECISION_LOWER,
    .cost = cost_conv,
    .nan_hint = OVERFLOW_HINT,
    .reference = reference_conv,
    .cases = conv_cases,
  },
  {
    .name = "conv_grad_input",
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
    .name = "conv_grad_kernel",
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
  {
    .name = "conv_transpose",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attrs = transpose_attrs,
    .infer = infer_transpose,
    .gradient = gradient_transpose,
    .gradient_needs = GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1),
    .inplace = -1,
    .precision = GRADUS_PRECISION_LOWER,
    .cost = cost_grad_input,
    .nan_hint = OVERFLOW_HINT,
    .reference = reference_grad_input,
    .cases = transpose_cases,
  },
  { NULL },
};
