/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "formula/gradus-formula-private.h"

#include "gradus-json.h"

#include <string.h>

#define UNARY(name, op) { name, GRADUS_FORMULA_UNARY, op, 1, 1 }
#define SAME(name) UNARY (#name, #name)
#define BINARY(name, op) { name, GRADUS_FORMULA_BINARY, op, 2, 2 }

/* Operators stand among the functions, under names that nobody can write. */
static const GradusFormulaFunction functions[] = {
  SAME (abs),
  SAME (acos),
  SAME (acosh),
  SAME (asin),
  SAME (asinh),
  SAME (atan),
  SAME (atanh),
  SAME (ceil),
  SAME (cos),
  SAME (cosh),
  SAME (erf),
  SAME (exp),
  SAME (expm1),
  SAME (floor),
  SAME (gelu),
  SAME (hard_sigmoid),
  SAME (log),
  SAME (log1p),
  SAME (reciprocal),
  SAME (relu),
  SAME (relu6),
  SAME (round),
  SAME (selu),
  SAME (sigmoid),
  SAME (sign),
  SAME (silu),
  UNARY ("swish", "silu"),
  SAME (sin),
  SAME (sinh),
  SAME (softplus),
  SAME (softsign),
  SAME (sqrt),
  SAME (square),
  SAME (tan),
  SAME (tanh),
  UNARY ("is_nan", "is_nan"),
  UNARY ("is_inf", "is_inf"),
  { "elu", GRADUS_FORMULA_ALPHA, "elu", 1, 2 },
  { "leaky_relu", GRADUS_FORMULA_ALPHA, "leaky_relu", 1, 2 },
  BINARY ("minimum", "minimum"),
  BINARY ("maximum", "maximum"),
  BINARY ("pow", "power"),
  BINARY ("mod", "modulo"),
  { "where", GRADUS_FORMULA_WHERE, "where", 3, 3 },
  { "clip", GRADUS_FORMULA_CLIP, NULL, 3, 3 },
  { "sum", GRADUS_FORMULA_REDUCE, "reduce_sum", 1, 1 },
  { "mean", GRADUS_FORMULA_REDUCE, "reduce_mean", 1, 1 },
  { "max", GRADUS_FORMULA_REDUCE, "reduce_max", 1, 1 },
  { "min", GRADUS_FORMULA_MIN, "reduce_max", 1, 1 },
  { "softmax", GRADUS_FORMULA_LAST, "softmax", 1, 1 },
  { "log_softmax", GRADUS_FORMULA_LAST, "log_softmax", 1, 1 },
  { "cumsum", GRADUS_FORMULA_ALONG, "cumsum", 1, 1 },
  { "reverse", GRADUS_FORMULA_ALONG, "reverse", 1, 1 },
  { "prod", GRADUS_FORMULA_ALONG, "reduce_prod", 1, 1 },
  { "matmul", GRADUS_FORMULA_MATMUL, "matmul", 2, 2 },
  { "transpose", GRADUS_FORMULA_TRANSPOSE, "transpose", 2, GRADUS_FORMULA_MAX_ARGS },
  { "reshape", GRADUS_FORMULA_RESHAPE, "reshape", 2, GRADUS_FORMULA_MAX_ARGS },
  { "concat", GRADUS_FORMULA_CONCAT, "concat", 2, GRADUS_FORMULA_MAX_ARGS },
  BINARY ("+", "add"),
  BINARY ("-", "subtract"),
  BINARY ("*", "multiply"),
  BINARY ("/", "divide"),
  BINARY ("%", "modulo"),
  BINARY ("^", "power"),
  BINARY ("<", "less"),
  BINARY ("<=", "less_equal"),
  BINARY (">", "greater"),
  BINARY (">=", "greater_equal"),
  BINARY ("==", "equal"),
  BINARY ("!=", "not_equal"),
  { "@", GRADUS_FORMULA_MATMUL, "matmul", 2, 2 },
};

const GradusFormulaFunction *
gradus_formula_function_find (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (functions); i++)
    if (g_str_equal (functions[i].name, name))
      return &functions[i];
  return NULL;
}

const char *
gradus_formula_function_nearest (const char *name)
{
  const char *names[G_N_ELEMENTS (functions) + 1] = { NULL };
  guint       n = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (functions); i++)
    if (g_ascii_isalpha (functions[i].name[0]))
      names[n++] = functions[i].name;
  return gradus_json_nearest (name, names);
}
