/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "formula/gradus-formula.h"

G_BEGIN_DECLS

/* What a function does with its arguments. */
typedef enum
{
  GRADUS_FORMULA_UNARY,     /* one op of one value */
  GRADUS_FORMULA_ALPHA,     /* the same with an optional number, the attribute alpha */
  GRADUS_FORMULA_BINARY,    /* NumPy broadcasting */
  GRADUS_FORMULA_WHERE,
  GRADUS_FORMULA_CLIP,
  GRADUS_FORMULA_REDUCE,    /* axis, keepdims */
  GRADUS_FORMULA_MIN,       /* -max(-x) */
  GRADUS_FORMULA_LAST,      /* along the last axis, or axis=-1 */
  GRADUS_FORMULA_ALONG,     /* along axis, the last if not said */
  GRADUS_FORMULA_MATMUL,
  GRADUS_FORMULA_TRANSPOSE, /* x and the order of the axes */
  GRADUS_FORMULA_RESHAPE,   /* x and the sizes after the samples' axis */
  GRADUS_FORMULA_CONCAT,
} GradusFormulaKind;

typedef struct
{
  const char       *name;
  GradusFormulaKind kind;
  const char       *op;
  guint             min_args, max_args;
} GradusFormulaFunction;

const GradusFormulaFunction *gradus_formula_function_find    (const char *name);
const char                  *gradus_formula_function_nearest (const char *name);

typedef enum
{
  GRADUS_FORMULA_NUMBER,
  GRADUS_FORMULA_NAME,
  GRADUS_FORMULA_NEGATE,
  GRADUS_FORMULA_OPERATOR, /* function is that of the operator */
  GRADUS_FORMULA_CALL,
  GRADUS_FORMULA_SLICE,
} GradusFormulaNodeType;

/* One place of an index: begin:end:step, or one number, or “...” */
typedef struct
{
  gboolean is_ellipsis, is_single, has_begin, has_end;
  gint64   begin, end, step;
} GradusFormulaIndex;

#define GRADUS_FORMULA_MAX_ARGS 9

typedef struct
{
  GradusFormulaNodeType        type;
  guint                        column;
  double                       number;
  guint                        name; /* of the formula's names */
  const GradusFormulaFunction *function;
  guint                        n_args;
  guint                        args[GRADUS_FORMULA_MAX_ARGS]; /* nodes */
  gboolean                     has_axis;
  guint                        n_axes;
  gint64                       axes[GRADUS_MAX_RANK];
  gboolean                     drops; /* keepdims=0 */
  guint                        n_index;
  GradusFormulaIndex           index[GRADUS_MAX_RANK];
} GradusFormulaNode;

struct _GradusFormula
{
  char      *text;
  GPtrArray *names; /* char * */
  GArray    *name_columns; /* guint */
  GArray    *nodes; /* GradusFormulaNode; children before their parents */
};

/* Column @column of the formula and what is wrong there. Returns FALSE. */
gboolean gradus_formula_refuse (GradusFormula *self, guint column, GError **error, const char *format, ...) G_GNUC_PRINTF (4, 5);

G_END_DECLS
