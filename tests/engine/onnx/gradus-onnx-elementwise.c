/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-onnx-private.h"

#include <math.h>

/* @argument: the op. */
static void
map_unary (OnnxMapper *m, const char *op)
{
  onnx_output (m, 0, onnx_emit1 (m, op, onnx_input (m, 0)));
}

static void
map_binary (OnnxMapper *m, const char *op)
{
  onnx_output (m, 0, onnx_emit_broadcast (m, op, onnx_input (m, 0), onnx_input (m, 1)));
}

static void
map_identity (OnnxMapper *m, const char *unused)
{
  onnx_output (m, 0, onnx_affine (m, onnx_input (m, 0), 1, 0));
}

static void
map_not (OnnxMapper *m, const char *unused)
{
  onnx_output (m, 0, onnx_affine (m, onnx_input (m, 0), -1, 1));
}

/* Max, Min, Sum and Mean of any number. */
static void
map_variadic (OnnxMapper *m, const char *op)
{
  gboolean      mean = g_str_equal (op, "mean");
  GradusValueId y = onnx_input (m, 0);

  for (guint i = 1; i < m->node->inputs->len; i++)
    y = onnx_emit_broadcast (m, mean ? "add" : op, y, onnx_input (m, i));
  onnx_output (m, 0, onnx_affine (m, y, mean ? 1.0 / m->node->inputs->len : 1, 0));
}

static GradusValueId
where (OnnxMapper *m, GradusValueId condition, GradusValueId a, GradusValueId b)
{
  const GradusValueId in[] = { condition, a, b };

  return onnx_emit_output (m, 0, "where", 3, in, NULL);
}

static GradusValueId
compare (OnnxMapper *m, const char *op, GradusValueId x, double number)
{
  return onnx_emit2 (m, op, x, onnx_number (m, number));
}

static void
map_where (OnnxMapper *m, const char *unused)
{
  GradusValueId in[3], zero;
  guint         rank = 0;

  for (guint i = 0; i < 3; i++)
    {
      in[i] = onnx_input (m, i);
      rank = MAX (rank, onnx_shape (m, in[i]).rank);
    }
  if (onnx_failed (m))
    return;
  /* Adding nothing of the full rank gives all three the same number of axes. */
  for (guint i = 0; i < 3; i++)
    {
      gint64      one = 1;
      GradusShape shape = { .rank = rank };
      float       nothing = 0;

      for (guint k = 0; k < rank; k++)
        shape.dims[k] = one;
      zero = gradus_program_add_constant (m->program, GRADUS_DTYPE_FLOAT32, shape, &nothing);
      in[i] = onnx_emit_broadcast (m, "add", in[i], zero);
    }
  onnx_output (m, 0, where (m, in[0], in[1], in[2]));
}

static void
map_is_inf (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0), y = onnx_emit1 (m, "is_inf", x);

  if (onnx_int (m, "detect_negative", 1) == 0)
    y = onnx_emit2 (m, "multiply", y, compare (m, "greater", x, 0));
  if (onnx_int (m, "detect_positive", 1) == 0)
    y = onnx_emit2 (m, "multiply", y, compare (m, "less", x, 0));
  onnx_output (m, 0, y);
}

static GradusValueId
elu (OnnxMapper *m, GradusValueId x, double alpha)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_dtostr (text, sizeof text, alpha);
  return onnx_emit_output (m, 0, "elu", 1, &x, "alpha=%s", text);
}

static void
map_elu (OnnxMapper *m, const char *unused)
{
  onnx_output (m, 0, elu (m, onnx_input (m, 0), onnx_float (m, "alpha", 1)));
}

static void
map_selu (OnnxMapper *m, const char *unused)
{
  double gamma = onnx_float (m, "gamma", 1.05070102214813232421875);

  onnx_output (m, 0, onnx_affine (m, elu (m, onnx_input (m, 0), onnx_float (m, "alpha", 1.67326319217681884765625)), gamma, 0));
}

static void
map_celu (OnnxMapper *m, const char *unused)
{
  double alpha = onnx_float (m, "alpha", 1);

  onnx_output (m, 0, onnx_affine (m, elu (m, onnx_affine (m, onnx_input (m, 0), 1 / alpha, 0), 1), alpha, 0));
}

static void
map_leaky_relu (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  char          text[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_dtostr (text, sizeof text, onnx_float (m, "alpha", 0.01));
  onnx_output (m, 0, onnx_emit_output (m, 0, "leaky_relu", 1, &x, "alpha=%s", text));
}

static void
map_prelu (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0), scaled = onnx_emit_broadcast (m, "multiply", x, onnx_input (m, 1));

  onnx_output (m, 0, where (m, compare (m, "less", x, 0), scaled, x));
}

static void
map_thresholded_relu (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);

  onnx_output (m, 0, where (m, compare (m, "greater", x, onnx_float (m, "alpha", 1)), x, onnx_number (m, 0)));
}

static void
map_shrink (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0), low, high;
  double        bias = onnx_float (m, "bias", 0), lambda = onnx_float (m, "lambd", 0.5);

  low = where (m, compare (m, "less", x, -lambda), onnx_affine (m, x, 1, bias), onnx_number (m, 0));
  high = where (m, compare (m, "greater", x, lambda), onnx_affine (m, x, 1, -bias), low);
  onnx_output (m, 0, high);
}

static GradusValueId
clip (OnnxMapper *m, GradusValueId x, GradusValueId low, GradusValueId high)
{
  if (low != GRADUS_NO_VALUE)
    x = onnx_emit2 (m, "maximum", x, low);
  if (high != GRADUS_NO_VALUE)
    x = onnx_emit2 (m, "minimum", x, high);
  return x;
}

static void
map_clip (OnnxMapper *m, const char *unused)
{
  GradusValueId low = onnx_has_input (m, 1) ? onnx_input (m, 1) : GRADUS_NO_VALUE;
  GradusValueId high = onnx_has_input (m, 2) ? onnx_input (m, 2) : GRADUS_NO_VALUE;

  onnx_output (m, 0, clip (m, onnx_affine (m, onnx_input (m, 0), 1, 0), low, high));
}

static void
map_hard_sigmoid (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_affine (m, onnx_input (m, 0), onnx_float (m, "alpha", 0.2), onnx_float (m, "beta", 0.5));

  onnx_output (m, 0, clip (m, x, onnx_number (m, 0), onnx_number (m, 1)));
}

static void
map_hard_swish (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);

  onnx_output (m, 0, onnx_emit2 (m, "multiply", x, onnx_emit1 (m, "hard_sigmoid", x)));
}

/* fmod has the sign of the dividend: |x| mod |y| with it. */
static void
map_mod (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0), y = onnx_input (m, 1);

  if (onnx_int (m, "fmod", 0) == 0)
    {
      onnx_output (m, 0, onnx_emit_broadcast (m, "modulo", x, y));
      return;
    }
  onnx_output (m, 0, onnx_emit2 (m, "multiply", onnx_emit1 (m, "sign", x),
                                 onnx_emit_broadcast (m, "modulo", onnx_emit1 (m, "abs", x), onnx_emit1 (m, "abs", y))));
}

static void
map_cast (OnnxMapper *m, const char *unused)
{
  gint64 to = onnx_int (m, "to", ONNX_FLOAT);

  if (to == ONNX_FLOAT)
    onnx_output (m, 0, onnx_affine (m, onnx_input (m, 0), 1, 0));
  else if (to == ONNX_INT32 || to == ONNX_INT64)
    onnx_output (m, 0, onnx_integers (m, 0));
  else if (to == ONNX_BOOL)
    onnx_output (m, 0, compare (m, "not_equal", onnx_input (m, 0), 0));
  else
    onnx_refuse (m, "a type that is not among the engine's");
}

static void
map_cast_like (OnnxMapper *m, const char *unused)
{
  const OnnxTensor *like = onnx_known (m, 1);

  if (like != NULL && like->type != ONNX_FLOAT)
    onnx_refuse (m, "a type that is not among the engine's");
  map_identity (m, NULL);
}

/* In use it is nothing; in training only a rate of 0 has a known result. */
static void
map_dropout (OnnxMapper *m, const char *unused)
{
  const OnnxTensor *ratio = onnx_has_input (m, 1) ? onnx_known (m, 1) : NULL;
  const OnnxTensor *training = onnx_has_input (m, 2) ? onnx_known (m, 2) : NULL;
  GradusValueId     x = onnx_input (m, 0);

  if (training != NULL && training->data[0] != 0 && (ratio == NULL || ratio->data[0] != 0))
    onnx_refuse (m, "random numbers of another generator");
  onnx_output (m, 0, onnx_affine (m, x, 1, 0));
  onnx_output (m, 1, compare (m, "equal", onnx_affine (m, x, 0, 0), 0));
}

const OnnxMapRow onnx_rows_elementwise[] = {
  { "Abs", map_unary, "abs" },
  { "Acos", map_unary, "acos" },
  { "Acosh", map_unary, "acosh" },
  { "Asin", map_unary, "asin" },
  { "Asinh", map_unary, "asinh" },
  { "Atan", map_unary, "atan" },
  { "Atanh", map_unary, "atanh" },
  { "Ceil", map_unary, "ceil" },
  { "Cos", map_unary, "cos" },
  { "Cosh", map_unary, "cosh" },
  { "Erf", map_unary, "erf" },
  { "Exp", map_unary, "exp" },
  { "Floor", map_unary, "floor" },
  { "IsNaN", map_unary, "is_nan" },
  { "Log", map_unary, "log" },
  { "Neg", map_unary, "negative" },
  { "Reciprocal", map_unary, "reciprocal" },
  { "Relu", map_unary, "relu" },
  { "Round", map_unary, "round" },
  { "Sigmoid", map_unary, "sigmoid" },
  { "Sign", map_unary, "sign" },
  { "Sin", map_unary, "sin" },
  { "Sinh", map_unary, "sinh" },
  { "Softplus", map_unary, "softplus" },
  { "Softsign", map_unary, "softsign" },
  { "Sqrt", map_unary, "sqrt" },
  { "Tan", map_unary, "tan" },
  { "Tanh", map_unary, "tanh" },
  { "Add", map_binary, "add" },
  { "And", map_binary, "multiply" },
  { "Div", map_binary, "divide" },
  { "Equal", map_binary, "equal" },
  { "Greater", map_binary, "greater" },
  { "GreaterOrEqual", map_binary, "greater_equal" },
  { "Less", map_binary, "less" },
  { "LessOrEqual", map_binary, "less_equal" },
  { "Mul", map_binary, "multiply" },
  { "Or", map_binary, "maximum" },
  { "Pow", map_binary, "power" },
  { "Sub", map_binary, "subtract" },
  { "Xor", map_binary, "not_equal" },
  { "Max", map_variadic, "maximum" },
  { "Mean", map_variadic, "mean" },
  { "Min", map_variadic, "minimum" },
  { "Sum", map_variadic, "add" },
  { "Identity", map_identity, NULL },
  { "Not", map_not, NULL },
  { "Where", map_where, NULL },
  { "IsInf", map_is_inf, NULL },
  { "Elu", map_elu, NULL },
  { "Selu", map_selu, NULL },
  { "Celu", map_celu, NULL },
  { "LeakyRelu", map_leaky_relu, NULL },
  { "PRelu", map_prelu, NULL },
  { "ThresholdedRelu", map_thresholded_relu, NULL },
  { "Shrink", map_shrink, NULL },
  { "Clip", map_clip, NULL },
  { "HardSigmoid", map_hard_sigmoid, NULL },
  { "HardSwish", map_hard_swish, NULL },
  { "Mod", map_mod, NULL },
  { "Cast", map_cast, NULL },
  { "CastLike", map_cast_like, NULL },
  { "Dropout", map_dropout, NULL },
  { NULL },
};
