/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* NumPy's rule over equal ranks, or one of the two a scalar. @inputs: all of the node's, for the
 * message. */
static gboolean
broadcast (const GradusNode      *node,
           const GradusValueType *inputs,
           const GradusShape     *a,
           const GradusShape     *b,
           GradusShape           *y,
           GError               **error)
{
  gboolean fits = TRUE;

  *y = a->rank == 0 ? *b : *a;
  if (a->rank == 0 || b->rank == 0)
    return TRUE;
  if (a->rank != b->rank)
    return gradus_op_refuse (node, inputs, error,
                             _ ("Both must have as many axes, or one be a single number."));
  for (guint i = 0; i < a->rank; i++)
    {
      y->dims[i] = a->dims[i] == 1 ? b->dims[i] : a->dims[i];
      fits &= a->dims[i] == b->dims[i] || a->dims[i] == 1 || b->dims[i] == 1;
    }
  return fits
         || gradus_op_refuse (node, inputs, error,
                              _ ("In each axis the sizes must be equal or one of them 1."));
}

GRADUS_INFER (infer_binary)
{
  outputs[0].dtype = inputs[0].dtype;
  return gradus_op_check_floats (node, inputs, error)
         && broadcast (node, inputs, &inputs[0].shape, &inputs[1].shape, &outputs[0].shape, error);
}

/* @gradient has the shape of the output; sums it to that of input @i. */
static gboolean
sum_to_input (GradusProgram    *program,
              const GradusNode *node,
              guint             i,
              GradusValueId     gradient,
              GradusValueId    *summed,
              GError          **error)
{
  const GradusShape *from = &gradus_op_type (program, gradient)->shape;
  const GradusShape *to = &gradus_op_type (program, node->inputs[i])->shape;

  *summed = gradient;
  return gradus_shape_equal (from, to)
         || gradus_op_emit (program, "sum_to_like", summed, error, 2, gradient, node->inputs[i]);
}

GRADUS_GRADIENT (gradient_add)
{
  GradusValueId dy = output_gradients[0];

  return (!gradus_op_wants (0) || sum_to_input (program, node, 0, dy, &input_gradients[0], error))
         && (!gradus_op_wants (1)
             || sum_to_input (program, node, 1, dy, &input_gradients[1], error));
}

GRADUS_GRADIENT (gradient_subtract)
{
  GradusValueId dy = output_gradients[0], minus;

  if (gradus_op_wants (0) && !sum_to_input (program, node, 0, dy, &input_gradients[0], error))
    return FALSE;
  return !gradus_op_wants (1)
         || (gradus_op_emit (program, "negative", &minus, error, 1, dy)
             && sum_to_input (program, node, 1, minus, &input_gradients[1], error));
}

GRADUS_GRADIENT (gradient_multiply)
{
  for (guint i = 0; i < 2; i++)
    {
      GradusValueId product;

      if (gradus_op_wants (i)
          && (!gradus_op_emit (program, "multiply", &product, error, 2, output_gradients[0],
                               node->inputs[1 - i])
              || !sum_to_input (program, node, i, product, &input_gradients[i], error)))
        return FALSE;
    }
  return TRUE;
}

/* d(a/b) = da/b - db y/b */
GRADUS_GRADIENT (gradient_divide)
{
  GradusValueId by_b, product, minus;

  if (!gradus_op_emit (program, "divide", &by_b, error, 2, output_gradients[0], node->inputs[1]))
    return FALSE;
  if (gradus_op_wants (0) && !sum_to_input (program, node, 0, by_b, &input_gradients[0], error))
    return FALSE;
  return !gradus_op_wants (1)
         || (gradus_op_emit (program, "multiply", &product, error, 2, by_b, node->outputs[0])
             && gradus_op_emit (program, "negative", &minus, error, 1, product)
             && sum_to_input (program, node, 1, minus, &input_gradients[1], error));
}

/* The gradient goes to the one chosen; to the first where both are equal, as TensorFlow does it.
 * relu_grad lets through what stands where its second argument is positive. */
static gboolean
choose_gradient (GradusProgram       *program,
                 const GradusNode    *node,
                 GradusValueId        larger,
                 GradusValueId        smaller,
                 const GradusValueId *output_gradients,
                 GradusValueId       *input_gradients,
                 GError             **error)
{
  GradusValueId difference, second, first;

  if (!gradus_op_emit (program, "subtract", &difference, error, 2, larger, smaller)
      || !gradus_op_emit (program, "relu_grad", &second, error, 2, output_gradients[0], difference))
    return FALSE;
  if (gradus_op_wants (0)
      && (!gradus_op_emit (program, "subtract", &first, error, 2, output_gradients[0], second)
          || !sum_to_input (program, node, 0, first, &input_gradients[0], error)))
    return FALSE;
  return !gradus_op_wants (1)
         || sum_to_input (program, node, 1, second, &input_gradients[1], error);
}

GRADUS_GRADIENT (gradient_maximum)
{
  return choose_gradient (program, node, node->inputs[1], node->inputs[0], output_gradients,
                          input_gradients, error);
}

GRADUS_GRADIENT (gradient_minimum)
{
  return choose_gradient (program, node, node->inputs[0], node->inputs[1], output_gradients,
                          input_gradients, error);
}

/* The place in an operand that is repeated along its axes of size 1. */
static gint64
broadcast_index (const GradusShape *shape, const gint64 *at)
{
  gint64 index = 0;

  for (guint i = 0; i < shape->rank; i++)
    index = index * shape->dims[i] + (shape->dims[i] == 1 ? 0 : at[i]);
  return index;
}

static void
apply (const GradusReferenceCall *call, double (*f) (double a, double b))
{
  gint64 at[GRADUS_MAX_RANK];

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      gradus_op_unravel (&call->output_types[0].shape, i, at);
      call->outputs[0][i] = f (call->inputs[0][broadcast_index (&call->input_types[0].shape, at)],
                               call->inputs[1][broadcast_index (&call->input_types[1].shape, at)]);
    }
}

#define BINARY(name, expression)                                                                   \
  static double f_##name (double a, double b)                                                      \
  {                                                                                                \
    return expression;                                                                             \
  }                                                                                                \
  GRADUS_REFERENCE (reference_##name)                                                              \
  {                                                                                                \
    apply (call, f_##name);                                                                        \
  }

BINARY (add, a + b)
BINARY (subtract, a - b)
BINARY (multiply, a *b)
BINARY (divide, a / b)
/* A NaN in either is passed on. */
BINARY (maximum, isnan (a) || a >= b ? a : b)
BINARY (minimum, isnan (a) || a <= b ? a : b)

BINARY (power, pow (a, b))
/* The remainder has the sign of the divisor, as in Python. */
BINARY (modulo, b == 0 ? NAN : a - b * floor (a / b))
BINARY (equal, a == b ? 1 : 0)
BINARY (not_equal, a != b ? 1 : 0)
BINARY (less, a < b ? 1 : 0)
BINARY (less_equal, a <= b ? 1 : 0)
BINARY (greater, a > b ? 1 : 0)
BINARY (greater_equal, a >= b ? 1 : 0)

/* d(a^b) = b a^(b-1) da + y log(a) db */
GRADUS_GRADIENT (gradient_power)
{
  GradusValueId a = node->inputs[0], b = node->inputs[1], less, slope, part;

  if (gradus_op_wants (0)
      && (!gradus_program_add_node (program, "affine", 0, &b, 1, &less, error, "offset", -1.0, NULL)
          || !gradus_op_emit (program, "power", &slope, error, 2, a, less)
          || !gradus_op_emit (program, "multiply", &part, error, 2, slope, b)
          || !gradus_op_emit (program, "multiply", &part, error, 2, part, output_gradients[0])
          || !sum_to_input (program, node, 0, part, &input_gradients[0], error)))
    return FALSE;
  return !gradus_op_wants (1)
         || (gradus_op_emit (program, "log", &slope, error, 1, a)
             && gradus_op_emit (program, "multiply", &part, error, 2, slope, node->outputs[0])
             && gradus_op_emit (program, "multiply", &part, error, 2, part, output_gradients[0])
             && sum_to_input (program, node, 1, part, &input_gradients[1], error));
}

/* Steps: no gradient flows through what they decide. */
GRADUS_GRADIENT (gradient_of_step)
{
  return TRUE;
}

GRADUS_GRADIENT (gradient_modulo)
{
  return !gradus_op_wants (0)
         || sum_to_input (program, node, 0, output_gradients[0], &input_gradients[0], error);
}

/* The type of where(condition, a, b): the three by the rule for two, one after the other. */
GRADUS_INFER (infer_where)
{
  GradusShape chosen;

  outputs[0].dtype = inputs[0].dtype;
  return gradus_op_check_floats (node, inputs, error)
         && broadcast (node, inputs, &inputs[1].shape, &inputs[2].shape, &chosen, error)
         && broadcast (node, inputs, &inputs[0].shape, &chosen, &outputs[0].shape, error);
}

GRADUS_GRADIENT (gradient_where)
{
  const float   none = 0;
  GradusValueId zero, part;

  zero = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &none);
  if (gradus_op_wants (1)
      && (!gradus_op_emit (program, "where", &part, error, 3, node->inputs[0], output_gradients[0], zero)
          || !sum_to_input (program, node, 1, part, &input_gradients[1], error)))
    return FALSE;
  return !gradus_op_wants (2)
         || (gradus_op_emit (program, "where", &part, error, 3, node->inputs[0], zero,
                             output_gradients[0])
             && sum_to_input (program, node, 2, part, &input_gradients[2], error));
}

GRADUS_REFERENCE (reference_where)
{
  gint64 at[GRADUS_MAX_RANK], places[3];

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      gradus_op_unravel (&call->output_types[0].shape, i, at);
      for (guint k = 0; k < 3; k++)
        places[k] = broadcast_index (&call->input_types[k].shape, at);
      call->outputs[0][i] = call->inputs[0][places[0]] != 0 ? call->inputs[1][places[1]]
                                                            : call->inputs[2][places[2]];
    }
}

GRADUS_GRADIENT (gradient_add_n)
{
  for (guint i = 0; i < node->n_inputs; i++)
    if (gradus_op_wants (i))
      input_gradients[i] = output_gradients[0];
  return TRUE;
}

GRADUS_COST (cost_add_n)
{
  gradus_op_cost (node, inputs, outputs,
                  (double) gradus_op_count (&outputs[0]) * (node->n_inputs - 1), cost);
}

GRADUS_REFERENCE (reference_add_n)
{
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      double sum = call->inputs[0][i];

      for (guint j = 1; j < call->node->n_inputs; j++)
        sum += call->inputs[j][i];
      call->outputs[0][i] = sum;
    }
}

GRADUS_INFER (infer_bias_add)
{
  GradusShape bias;

  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (inputs[0].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("The first must have at least one axis."));
  bias = gradus_shape (1, inputs[0].shape.dims[inputs[0].shape.rank - 1]);
  if (!gradus_op_check_shape (node, inputs, 1, &bias, error))
    return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

GRADUS_GRADIENT (gradient_bias_add)
{
  gint64 axes[GRADUS_MAX_RANK];
  guint  n = gradus_op_type (program, node->inputs[0])->shape.rank - 1;

  for (guint i = 0; i < n; i++)
    axes[i] = i;
  if (gradus_op_wants (0))
    input_gradients[0] = output_gradients[0];
  if (gradus_op_wants (1) && n == 0)
    input_gradients[1] = output_gradients[0];
  return !gradus_op_wants (1) || n == 0
         || gradus_program_add_node (program, "reduce_sum", 0, output_gradients, 1,
                                     &input_gradients[1], error, "axes", n, axes, NULL);
}

GRADUS_REFERENCE (reference_bias_add)
{
  gint64 n = call->input_types[1].shape.dims[0];

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = call->inputs[0][i] + call->inputs[1][i % n];
}

static const GradusOpCase binary_cases[] = {
  { "f32[B,3] f32[B,3]", NULL },
  { "f32[B,3,4] f32[1,3,1]", NULL },
  { "f32[1,3,1] f32[B,3,4]", NULL },
  { "f32[B,1] f32[1,5]", NULL },
  { "f32[B,3] f32[]", NULL },
  { "f32[] f32[B,3]", NULL },
  { "f32[] f32[]", NULL },
  { "f32[B,7,33] f32[B,1,33]", NULL },
  { NULL },
};

static const GradusOpCase divide_cases[] = {
  { "f32[B,3] f32+[B,3]", NULL },
  { "f32[B,3,4] f32+[1,3,1]", NULL },
  { "f32[1,3,1] f32+[B,3,4]", NULL },
  { "f32[B,3] f32+[]", NULL },
  { "f32[] f32+[B,3]", NULL },
  { "f32[B,1,33] f32+[B,7,33]", NULL },
  { NULL },
};

/* A positive base, so that every exponent is allowed. */
static const GradusOpCase power_cases[] = {
  { "f32+[B,3] f32[B,3]", NULL },
  { "f32+[B,3,4] f32[1,3,1]", NULL },
  { "f32+[1,3,1] f32[B,3,4]", NULL },
  { "f32+[B,3] f32[]", NULL },
  { "f32+[] f32[B,3]", NULL },
  { "f32+[B,7,33] f32[B,1,33]", NULL },
  { NULL },
};

/* Kept within one period, where it has a derivative. */
static const GradusOpCase modulo_cases[] = {
  { "f32+[B,3] f32+3[B,3]", NULL },
  { "f32+[B,3] f32=5[]", NULL },
  { "f32+[B,1,33] f32+3[1,7,33]", NULL },
  { NULL },
};

/* Integers meet, so that equality is met too. */
static const GradusOpCase compare_cases[] = {
  { "f32[B,3] f32[B,3]", NULL },
  { "f32<3[B,4,5] f32<3[B,4,5]", NULL },
  { "f32<3[B,4,5] f32<3[1,4,1]", NULL },
  { "f32[B,3] f32[]", NULL },
  { "f32[] f32[B,3]", NULL },
  { NULL },
};

static const GradusOpCase where_cases[] = {
  { "f32<2[B,3] f32[B,3] f32[B,3]", NULL },
  { "f32<2[B,1] f32[B,3] f32[1,3]", NULL },
  { "f32<2[B,3] f32[] f32[B,3]", NULL },
  { "f32<2[B,3] f32[B,3] f32[]", NULL },
  { "f32<2[] f32[B,3] f32[B,3]", NULL },
  { "f32<2[B,7,33] f32[1,7,1] f32[B,1,33]", NULL },
  { NULL },
};

static const GradusOpCase add_n_cases[] = {
  { "f32[B,3] f32[B,3] f32[B,3]", NULL },
  { "f32[B,3] f32[B,3]", NULL },
  { "f32[B]", NULL },
  { "f32[] f32[] f32[] f32[]", NULL },
  { "f32[B,257] f32[B,257] f32[B,257] f32[B,257] f32[B,257]", NULL },
  { NULL },
};

static const GradusOpCase bias_add_cases[] = {
  { "f32[B,3] f32[3]", NULL },
  { "f32[B,2,3,4] f32[4]", NULL },
  { "f32[B,1] f32[1]", NULL },
  { "f32[5] f32[5]", NULL },
  { "f32[B,9,9,17] f32[17]", NULL },
  { NULL },
};

#define LARGE_HINT N_ ("its inputs are so large that the result overflows, or infinities of both signs met")

#define BINARY_ROW(op, needs, hint, the_cases)                                                     \
  {                                                                                                \
    .name = #op, .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,                   \
    .infer = infer_binary, .gradient = gradient_##op, .gradient_needs = (needs), .inplace = 0,     \
    .precision = GRADUS_PRECISION_WIDEST, .cost = gradus_op_cost_elementwise, .nan_hint = (hint),  \
    .reference = reference_##op, .cases = (the_cases),                                             \
  }

#define STEP_ROW(op)                                                                               \
  {                                                                                                \
    .name = #op, .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,                   \
    .infer = infer_binary, .gradient = gradient_of_step, .no_gradient = 3u, .inplace = 0,          \
    .precision = GRADUS_PRECISION_WIDEST, .cost = gradus_op_cost_elementwise,                      \
    .reference = reference_##op, .cases = compare_cases,                                           \
  }

const GradusOp gradus_ops_binary[] = {
  BINARY_ROW (add, 0, LARGE_HINT, binary_cases),
  BINARY_ROW (subtract, 0, LARGE_HINT, binary_cases),
  BINARY_ROW (multiply,
              GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1),
              N_ ("its inputs are so large that their product overflows, or zero met an infinity"),
              binary_cases),
  BINARY_ROW (divide,
              GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (0),
              N_ ("the divisor is zero or very small; add a small number to it"),
              divide_cases),
  BINARY_ROW (maximum, GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1), NULL, binary_cases),
  BINARY_ROW (minimum, GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1), NULL, binary_cases),
  BINARY_ROW (power,
              GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_OUTPUT (0),
              N_ ("a negative base with a broken exponent, zero to a negative power, or a power that "
                  "overflows; keep the base positive"),
              power_cases),
  {
    .name = "modulo",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_binary,
    .gradient = gradient_modulo,
    .no_gradient = 2u,
    .inplace = 0,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = N_ ("the divisor is zero"),
    .reference = reference_modulo,
    .cases = modulo_cases,
  },
  STEP_ROW (equal),
  STEP_ROW (not_equal),
  STEP_ROW (less),
  STEP_ROW (less_equal),
  STEP_ROW (greater),
  STEP_ROW (greater_equal),
  {
    .name = "where",
    .version = 1,
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .infer = infer_where,
    .gradient = gradient_where,
    .gradient_needs = GRADUS_NEEDS_INPUT (0),
    .no_gradient = 1u,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_elementwise,
    .reference = reference_where,
    .cases = where_cases,
  },
  {
    .name = "add_n",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = G_MAXUINT,
    .n_outputs = 1,
    .infer = gradus_op_infer_elementwise,
    .gradient = gradient_add_n,
    .inplace = 0,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = cost_add_n,
    .nan_hint = LARGE_HINT,
    .reference = reference_add_n,
    .cases = add_n_cases,
  },
  {
    .name = "bias_add",
    .version = 1,
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer_bias_add,
    .gradient = gradient_bias_add,
    .inplace = 0,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = LARGE_HINT,
    .reference = reference_bias_add,
    .cases = bias_add_cases,
  },
  { NULL },
};
