/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* Every function of one number and its gradient op “<name>_grad” (dy, v) -> dx, where v is the
 * function's output for those whose gradient reads it and its input for the others. @p is the row's
 * attribute (alpha or approximate), 0 for rows that have none. */

#define SELU_ALPHA 1.6732632423543772
#define SELU_SCALE 1.0507009873554805

static double
parameter (const GradusNode *node)
{
  if (node->op->attrs == NULL)
    return 0;
  return node->op->attrs[0].type == GRADUS_ATTR_INT ? (double) node->attrs[0].i : node->attrs[0].f;
}

static void
apply (const GradusReferenceCall *call, double (*f) (double x, double p))
{
  double p = parameter (call->node);

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = f (call->inputs[0][i], p);
}

static void
apply_gradient (const GradusReferenceCall *call, double (*f) (double v, double p))
{
  double p = parameter (call->node);

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = call->inputs[0][i] * f (call->inputs[1][i], p);
}

/* Emits “<name>_grad” with the attribute of @node. */
static gboolean
emit_gradient (GradusProgram    *program,
               const GradusNode *node,
               const char       *gradient_op,
               GradusValueId     dy,
               GradusValueId     v,
               GradusValueId    *dx,
               GError          **error)
{
  const GradusValueId in[] = { dy, v };

  if (node->op->attrs == NULL)
    return gradus_program_add_node (program, gradient_op, 0, in, 2, dx, error, NULL);
  if (node->op->attrs[0].type == GRADUS_ATTR_INT)
    return gradus_program_add_node (program, gradient_op, 0, in, 2, dx, error,
                                    node->op->attrs[0].name, node->attrs[0].i, NULL);
  return gradus_program_add_node (program, gradient_op, 0, in, 2, dx, error,
                                  node->op->attrs[0].name, node->attrs[0].f, NULL);
}

/* @reads: inputs or outputs, where v comes from */
#define UNARY(name, reads, function, derivative)                                                   \
  static double f_##name (double x, double p)                                                      \
  {                                                                                                \
    return function;                                                                               \
  }                                                                                                \
  static double d_##name (double v, double p)                                                      \
  {                                                                                                \
    return derivative;                                                                             \
  }                                                                                                \
  GRADUS_REFERENCE (reference_##name)                                                              \
  {                                                                                                \
    apply (call, f_##name);                                                                        \
  }                                                                                                \
  GRADUS_REFERENCE (reference_##name##_grad)                                                       \
  {                                                                                                \
    apply_gradient (call, d_##name);                                                               \
  }                                                                                                \
  GRADUS_GRADIENT (gradient_##name)                                                                \
  {                                                                                                \
    return emit_gradient (program, node, #name "_grad", output_gradients[0], node->reads[0],       \
                          &input_gradients[0], error);                                             \
  }

static double
sigmoid (double x)
{
  return x >= 0 ? 1 / (1 + exp (-x)) : exp (x) / (1 + exp (x));
}

static double
gelu (double x, double approximate)
{
  if (approximate != 0)
    return 0.5 * x * (1 + tanh (sqrt (2 / G_PI) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * erfc (-x / G_SQRT2);
}

static double
gelu_derivative (double x, double approximate)
{
  if (approximate != 0)
    {
      double t = tanh (sqrt (2 / G_PI) * (x + 0.044715 * x * x * x));

      return 0.5 * (1 + t)
             + 0.5 * x * (1 - t * t) * sqrt (2 / G_PI) * (1 + 3 * 0.044715 * x * x);
    }
  return 0.5 * erfc (-x / G_SQRT2) + x * exp (-0.5 * x * x) / sqrt (2 * G_PI);
}

/* A NaN in x is passed on by every function: the comparisons are written so that it falls through. */
UNARY (relu, outputs, x < 0 ? 0 : x, v > 0 ? 1 : 0)
UNARY (sigmoid, outputs, sigmoid (x), v * (1 - v))
UNARY (tanh, outputs, tanh (x), 1 - v * v)
UNARY (elu, outputs, x > 0 ? x : p * expm1 (x), v > 0 ? 1 : v + p)
UNARY (selu,
       inputs,
       x > 0 ? SELU_SCALE * x : SELU_SCALE * SELU_ALPHA * expm1 (x),
       v > 0 ? SELU_SCALE : SELU_SCALE * SELU_ALPHA * exp (v))
UNARY (softplus, inputs, x > 0 ? x + log1p (exp (-x)) : log1p (exp (x)), sigmoid (v))
UNARY (softsign, inputs, x / (1 + fabs (x)), 1 / ((1 + fabs (v)) * (1 + fabs (v))))
UNARY (silu, inputs, x *sigmoid (x), sigmoid (v) * (1 + v * (1 - sigmoid (v))))
UNARY (gelu, inputs, gelu (x, p), gelu_derivative (v, p))
UNARY (exp, inputs, exp (x), exp (v))
UNARY (log, inputs, log (x), 1 / v)
UNARY (sqrt, inputs, sqrt (x), 0.5 / sqrt (v))
UNARY (square, inputs, x *x, 2 * v)
UNARY (negative, inputs, -x, -1)
UNARY (abs, inputs, fabs (x), v > 0 ? 1 : v < 0 ? -1 : 0)
UNARY (leaky_relu, inputs, x < 0 ? p * x : x, v < 0 ? p : 1)
UNARY (hard_sigmoid,
       inputs,
       x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5,
       v > -3 && v < 3 ? 1.0 / 6 : 0)
UNARY (relu6, inputs, x < 0 ? 0 : x > 6 ? 6 : x, v > 0 && v < 6 ? 1 : 0)
UNARY (sin, inputs, sin (x), cos (v))
UNARY (cos, inputs, cos (x), -sin (v))
UNARY (tan, inputs, tan (x), 1 + tan (v) * tan (v))
UNARY (asin, inputs, asin (x), 1 / sqrt (1 - v * v))
UNARY (acos, inputs, acos (x), -1 / sqrt (1 - v * v))
UNARY (atan, inputs, atan (x), 1 / (1 + v * v))
UNARY (sinh, inputs, sinh (x), cosh (v))
UNARY (cosh, inputs, cosh (x), sinh (v))
UNARY (asinh, inputs, asinh (x), 1 / sqrt (1 + v * v))
UNARY (acosh, inputs, acosh (x), 1 / sqrt (v * v - 1))
UNARY (atanh, inputs, atanh (x), 1 / (1 - v * v))
UNARY (erf, inputs, erf (x), M_2_SQRTPI *exp (-v * v))
UNARY (reciprocal, outputs, 1 / x, -v * v)
UNARY (log1p, inputs, log1p (x), 1 / (1 + v))
UNARY (expm1, outputs, expm1 (x), v + 1)

/* Steps: flat wherever they have a derivative, so that none flows. */
#define STEP(name, expression)                                                                     \
  static double f_##name (double x, double p)                                                      \
  {                                                                                                \
    return expression;                                                                             \
  }                                                                                                \
  GRADUS_REFERENCE (reference_##name)                                                              \
  {                                                                                                \
    apply (call, f_##name);                                                                        \
  }

STEP (floor, floor (x))
STEP (ceil, ceil (x))
/* Halves go to the even neighbour, as in NumPy. */
STEP (round, nearbyint (x))
STEP (sign, x > 0 ? 1 : x < 0 ? -1 : x)
STEP (is_nan, isnan (x) ? 1 : 0)
STEP (is_inf, isinf (x) ? 1 : 0)

GRADUS_GRADIENT (gradient_of_step)
{
  return TRUE;
}

static const GradusAttrSpec elu_attrs[] = { { "alpha", GRADUS_ATTR_FLOAT, "1" }, { NULL } };
static const GradusAttrSpec leaky_attrs[] = { { "alpha", GRADUS_ATTR_FLOAT, "0.2" }, { NULL } };
static const GradusAttrSpec gelu_attrs[] = { { "approximate", GRADUS_ATTR_INT, "0" }, { NULL } };

static const GradusOpCase plain_cases[] = {
  { "f32[B,3]", NULL },
  { "f32[]", NULL },
  { "f32[B,2,3,5]", NULL },
  { "f32[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase plain_grad_cases[] = {
  { "f32[B,3] f32[B,3]", NULL },
  { "f32[] f32[]", NULL },
  { "f32[B,1031] f32[B,1031]", NULL },
  { NULL },
};
/* For log and sqrt, and their gradients. */
static const GradusOpCase positive_cases[] = {
  { "f32+[B,3]", NULL },
  { "f32+[]", NULL },
  { "f32+[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase positive_grad_cases[] = {
  { "f32[B,3] f32+[B,3]", NULL },
  { "f32[] f32+[]", NULL },
  { "f32[B,1031] f32+[B,1031]", NULL },
  { NULL },
};
/* Both sides of ±3 and 6. */
static const GradusOpCase wide_cases[] = {
  { "f32*5[B,3]", NULL },
  { "f32[]", NULL },
  { "f32*5[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase wide_grad_cases[] = {
  { "f32[B,3] f32*5[B,3]", NULL },
  { "f32[] f32[]", NULL },
  { "f32[B,1031] f32*5[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase alpha_cases[] = {
  { "f32[B,3]", NULL },
  { "f32[B,7]", "alpha=0.3" },
  { "f32[B,1031]", "alpha=0.01" },
  { NULL },
};
static const GradusOpCase alpha_grad_cases[] = {
  { "f32[B,3] f32[B,3]", NULL },
  { "f32[B,7] f32[B,7]", "alpha=0.3" },
  { "f32[B,1031] f32[B,1031]", "alpha=0.01" },
  { NULL },
};
/* From -1 to 1, and from 1 on. */
static const GradusOpCase small_cases[] = {
  { "f32*0.45[B,3]", NULL },
  { "f32*0.45[]", NULL },
  { "f32*0.45[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase small_grad_cases[] = {
  { "f32[B,3] f32*0.45[B,3]", NULL },
  { "f32[] f32*0.45[]", NULL },
  { "f32[B,1031] f32*0.45[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase large_cases[] = {
  { "f32+1[B,3]", NULL },
  { "f32+1[]", NULL },
  { "f32+1[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase large_grad_cases[] = {
  { "f32[B,3] f32+1[B,3]", NULL },
  { "f32[] f32+1[]", NULL },
  { "f32[B,1031] f32+1[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase gelu_cases[] = {
  { "f32[B,3]", NULL },
  { "f32*5[B,7]", "approximate=1" },
  { "f32*5[B,1031]", NULL },
  { NULL },
};
static const GradusOpCase gelu_grad_cases[] = {
  { "f32[B,3] f32[B,3]", NULL },
  { "f32[B,7] f32*5[B,7]", "approximate=1" },
  { "f32[B,1031] f32*5[B,1031]", NULL },
  { NULL },
};

#define GRADIENT_HINT                                                                              \
  N_ ("the gradient that arrived is so large, or the input so extreme, that their product "        \
      "overflows; clip the gradients or lower the learning rate")

/* A function and its gradient op. */
#define UNARY_ROWS(op, spec, needs, cost_, hint, the_cases, grad_cases)                            \
  {                                                                                                \
    .name = #op, .version = 1, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = (spec),  \
    .infer = gradus_op_infer_elementwise, .gradient = gradient_##op, .gradient_needs = (needs),    \
    .inplace = 0, .precision = GRADUS_PRECISION_WIDEST, .cost = (cost_), .nan_hint = (hint),       \
    .reference = reference_##op, .cases = (the_cases),                                             \
  },                                                                                               \
  {                                                                                                \
    .name = #op "_grad", .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,           \
    .attrs = (spec), .infer = gradus_op_infer_gradient, .inplace = 0,                              \
    .precision = GRADUS_PRECISION_WIDEST, .cost = (cost_), .nan_hint = GRADIENT_HINT,              \
    .reference = reference_##op##_grad, .cases = (grad_cases),                                     \
  }

#define STEP_ROW(op)                                                                               \
  {                                                                                                \
    .name = #op, .version = 1, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1,                   \
    .infer = gradus_op_infer_elementwise, .gradient = gradient_of_step, .no_gradient = 1u,         \
    .inplace = 0, .precision = GRADUS_PRECISION_WIDEST, .cost = gradus_op_cost_elementwise,        \
    .reference = reference_##op, .cases = plain_cases,                                             \
  }

#define LARGE_HINT N_ ("its input is so large that the function overflows; scale it down")
#define DOMAIN_HINT N_ ("its input lies outside of where the function is defined; keep it inside")

#define X GRADUS_NEEDS_INPUT (0)
#define Y GRADUS_NEEDS_OUTPUT (0)
#define CHEAP gradus_op_cost_elementwise
#define DEAR gradus_op_cost_transcendental

const GradusOp gradus_ops_unary[] = {
  UNARY_ROWS (relu, NULL, Y, CHEAP, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (sigmoid, NULL, Y, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (tanh, NULL, Y, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (elu, elu_attrs, Y, DEAR, NULL, alpha_cases, alpha_grad_cases),
  UNARY_ROWS (selu,
              NULL,
              X,
              DEAR,
              N_ ("its input is so large that scaling it overflows"),
              plain_cases,
              plain_grad_cases),
  UNARY_ROWS (softplus, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (softsign, NULL, X, CHEAP, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (silu, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (gelu,
              gelu_attrs,
              X,
              DEAR,
              N_ ("its input is so large that its cube overflows"),
              gelu_cases,
              gelu_grad_cases),
  UNARY_ROWS (exp,
              NULL,
              X,
              DEAR,
              N_ ("exp of more than 88 overflows; scale its input down"),
              plain_cases,
              plain_grad_cases),
  UNARY_ROWS (log,
              NULL,
              X,
              DEAR,
              N_ ("the logarithm of zero or of a negative number; keep its input above a small "
                  "positive number"),
              positive_cases,
              positive_grad_cases),
  UNARY_ROWS (sqrt,
              NULL,
              X,
              CHEAP,
              N_ ("the square root of a negative number, or the gradient at zero; keep its input above "
                  "a small positive number"),
              positive_cases,
              positive_grad_cases),
  UNARY_ROWS (square,
              NULL,
              X,
              CHEAP,
              N_ ("its input is so large that its square overflows"),
              plain_cases,
              plain_grad_cases),
  UNARY_ROWS (negative, NULL, X, CHEAP, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (abs, NULL, X, CHEAP, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (leaky_relu, leaky_attrs, X, CHEAP, NULL, alpha_cases, alpha_grad_cases),
  UNARY_ROWS (hard_sigmoid, NULL, X, CHEAP, NULL, wide_cases, wide_grad_cases),
  UNARY_ROWS (relu6, NULL, X, CHEAP, NULL, wide_cases, wide_grad_cases),
  UNARY_ROWS (sin, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (cos, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (tan, NULL, X, DEAR, DOMAIN_HINT, small_cases, small_grad_cases),
  UNARY_ROWS (asin, NULL, X, DEAR, DOMAIN_HINT, small_cases, small_grad_cases),
  UNARY_ROWS (acos, NULL, X, DEAR, DOMAIN_HINT, small_cases, small_grad_cases),
  UNARY_ROWS (atan, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (sinh, NULL, X, DEAR, LARGE_HINT, plain_cases, plain_grad_cases),
  UNARY_ROWS (cosh, NULL, X, DEAR, LARGE_HINT, plain_cases, plain_grad_cases),
  UNARY_ROWS (asinh, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (acosh, NULL, X, DEAR, DOMAIN_HINT, large_cases, large_grad_cases),
  UNARY_ROWS (atanh, NULL, X, DEAR, DOMAIN_HINT, small_cases, small_grad_cases),
  UNARY_ROWS (erf, NULL, X, DEAR, NULL, plain_cases, plain_grad_cases),
  UNARY_ROWS (reciprocal,
              NULL,
              Y,
              CHEAP,
              N_ ("one over zero or a very small number; keep its input away from zero"),
              positive_cases,
              positive_grad_cases),
  UNARY_ROWS (log1p, NULL, X, DEAR, DOMAIN_HINT, positive_cases, positive_grad_cases),
  UNARY_ROWS (expm1, NULL, Y, DEAR, LARGE_HINT, plain_cases, plain_grad_cases),
  STEP_ROW (floor),
  STEP_ROW (ceil),
  STEP_ROW (round),
  STEP_ROW (sign),
  STEP_ROW (is_nan),
  STEP_ROW (is_inf),
  { NULL },
};
