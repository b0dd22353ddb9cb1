/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "formula/gradus-formula-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>

#include "graph/gradus-op.h"

/* A part of the formula in the program: a number, or a value. */
typedef struct
{
  gboolean      is_number;
  double        number;
  GradusValueId value;
} Operand;

typedef struct
{
  GradusFormula           *formula;
  GradusProgram           *program;
  const GradusFormulaNode *node; /* at work */
  Operand                 *operands; /* by node */
  GError                 **error;
} Builder;

static gboolean refuse (Builder *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (Builder *self, const char *format, ...)
{
  g_autofree char *reason = NULL;
  va_list          args;

  va_start (args, format);
  reason = g_strdup_vprintf (format, args);
  va_end (args);
  return gradus_formula_refuse (self->formula, self->node->column, self->error, "%s", reason);
}

static const GradusShape *
shape_of (Builder *self, GradusValueId value)
{
  return &gradus_program_value (self->program, value)->type.shape;
}

/* What an op refused, at its column. */
static gboolean
pass_on (Builder *self, GError *inner)
{
  refuse (self, "%s", inner->message);
  g_error_free (inner);
  return FALSE;
}

static gboolean
emit (Builder *self, const char *op, const GradusValueId *inputs, guint n, const char *attrs, GradusValueId *output)
{
  GradusValueId outputs[4];
  GError       *inner = NULL;

  if (!gradus_program_add_node_text (self->program, op, 0, inputs, n, attrs, outputs, &inner))
    return pass_on (self, inner);
  *output = outputs[0];
  return TRUE;
}

static GradusValueId
value_of (Builder *self, const Operand *operand)
{
  float number = (float) operand->number;

  if (!operand->is_number)
    return operand->value;
  return gradus_program_add_constant (self->program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &number);
}

/* x scale + offset */
static gboolean
affine (Builder *self, GradusValueId x, double scale, double offset, Operand *result)
{
  GError *inner = NULL;

  return gradus_program_add_node (self->program, "affine", 0, &x, 1, &result->value, &inner, "scale", scale,
                                  "offset", offset, NULL)
         || pass_on (self, inner);
}

static gboolean
reshape (Builder *self, GradusShape shape, GradusValueId *value)
{
  GError *inner = NULL;

  return gradus_program_add_node (self->program, "reshape", 0, value, 1, value, &inner, "shape", shape.rank,
                                  shape.dims, NULL)
         || pass_on (self, inner);
}

/* Axes of size 1 in front, as NumPy does it; what has samples has them first, so it cannot. */
static gboolean
raise_rank (Builder *self, guint rank, GradusValueId *value)
{
  GradusShape from = *shape_of (self, *value), to = { .rank = rank };

  if (from.rank == 0 || from.rank >= rank)
    return TRUE;
  if (gradus_shape_is_free (&from))
    {
      g_autofree char *text = gradus_shape_to_string (&from);

      return refuse (self, _ ("%s has fewer axes than what it meets; reshape it, or keep axes when reducing."), text);
    }
  for (guint i = 0; i < rank; i++)
    to.dims[i] = i < rank - from.rank ? 1 : from.dims[i - (rank - from.rank)];
  return reshape (self, to, value);
}

static gboolean
broadcast (Builder *self, const char *op, GradusValueId *values, guint n, Operand *result)
{
  guint rank = 0;

  for (guint i = 0; i < n; i++)
    rank = MAX (rank, shape_of (self, values[i])->rank);
  for (guint i = 0; i < n; i++)
    if (!raise_rank (self, rank, &values[i]))
      return FALSE;
  return emit (self, op, values, n, NULL, &result->value);
}

/* Number with number: by the op's own definition, in float64. */
static double
fold (const char *op, double alpha, guint n, const double *numbers)
{
  const GradusOp          *row = gradus_op_find (op);
  g_autoptr (GradusProgram) program = gradus_program_new ("fold");
  GradusValueId            inputs[3], output;
  const double            *in[3];
  double                   y = 0, *out[1] = { &y };
  GradusValueType          types[3];
  GradusReferenceCall      call = { .input_types = types, .output_types = types, .inputs = in, .outputs = out };
  char                     text[64];

  g_snprintf (text, sizeof text, "alpha=");
  g_ascii_dtostr (text + 6, sizeof text - 6, alpha);
  for (guint i = 0; i < n; i++)
    {
      float placeholder = 0;

      types[i] = (GradusValueType) { GRADUS_DTYPE_FLOAT32, gradus_shape (0) };
      in[i] = &numbers[i];
      inputs[i] = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &placeholder);
    }
  if (!gradus_program_add_node_text (program, op, 0, inputs, n, isnan (alpha) ? NULL : text, &output, NULL))
    return NAN;
  call.node = gradus_program_node (program, 0);
  row->reference (&call);
  return y;
}

/* x + c and the like are one pass over x. */
static gboolean
with_number (Builder *self, const char *op, const Operand *a, const Operand *b, gboolean *done, Operand *result)
{
  gboolean first = a->is_number;
  double   c = first ? a->number : b->number;
  GradusValueId x = first ? b->value : a->value;

  *done = TRUE;
  if (g_str_equal (op, "add"))
    return affine (self, x, 1, c, result);
  if (g_str_equal (op, "subtract"))
    return affine (self, x, first ? -1 : 1, first ? c : -c, result);
  if (g_str_equal (op, "multiply"))
    return affine (self, x, c, 0, result);
  if (g_str_equal (op, "divide") && !first && c != 0)
    return affine (self, x, 1 / c, 0, result);
  if (g_str_equal (op, "power") && !first && c == 2)
    return emit (self, "square", &x, 1, NULL, &result->value);
  if (g_str_equal (op, "power") && !first && c == 0.5)
    return emit (self, "sqrt", &x, 1, NULL, &result->value);
  if (g_str_equal (op, "power") && !first && c == 1)
    {
      result->value = x;
      return TRUE;
    }
  *done = FALSE;
  return TRUE;
}

static gboolean
build_binary (Builder *self, const Operand *a, const Operand *b, Operand *result)
{
  const char   *op = self->node->function->op;
  GradusValueId values[2];
  gboolean      done;

  if (a->is_number && b->is_number)
    {
      const double numbers[] = { a->number, b->number };

      *result = (Operand) { .is_number = TRUE, .number = fold (op, NAN, 2, numbers) };
      return TRUE;
    }
  if (a->is_number || b->is_number)
    if (!with_number (self, op, a, b, &done, result) || done)
      return done;
  values[0] = value_of (self, a);
  values[1] = value_of (self, b);
  return broadcast (self, op, values, 2, result);
}

static gboolean
build_unary (Builder *self, const Operand *x, const Operand *alpha, Operand *result)
{
  const char *op = self->node->function->op;
  char        text[64] = "alpha=";

  if (alpha != NULL && !alpha->is_number)
    return refuse (self, _ ("The second argument of “%s” must be a number."), self->node->function->name);
  if (x->is_number)
    {
      *result = (Operand) { .is_number = TRUE, .number = fold (op, alpha != NULL ? alpha->number : NAN, 1, &x->number) };
      return TRUE;
    }
  if (alpha != NULL)
    g_ascii_dtostr (text + 6, sizeof text - 6, alpha->number);
  return emit (self, op, &x->value, 1, alpha != NULL ? text : NULL, &result->value);
}

static gboolean
build_where (Builder *self, Operand **args, Operand *result)
{
  GradusValueId values[3];

  if (args[0]->is_number)
    {
      *result = *args[args[0]->number != 0 ? 1 : 2];
      return TRUE;
    }
  for (guint i = 0; i < 3; i++)
    values[i] = value_of (self, args[i]);
  return broadcast (self, "where", values, 3, result);
}

static gboolean
build_clip (Builder *self, Operand **args, Operand *result)
{
  static const char *const ops[] = { "maximum", "minimum" };
  Operand                  x = *args[0];

  for (guint i = 0; i < 2; i++)
    {
      GradusValueId values[2];

      if (x.is_number && args[i + 1]->is_number)
        {
          const double numbers[] = { x.number, args[i + 1]->number };

          x.number = fold (ops[i], NAN, 2, numbers);
          continue;
        }
      values[0] = value_of (self, &x);
      values[1] = value_of (self, args[i + 1]);
      x.is_number = FALSE;
      if (!broadcast (self, ops[i], values, 2, &x))
        return FALSE;
    }
  *result = x;
  return TRUE;
}

/* The named axes, or all but the samples', as a list; FALSE for one that there is not, and for that of
 * the samples, which never meet each other. */
static gboolean
find_axes (Builder *self, const GradusShape *shape, gint64 *axes, guint *n)
{
  const GradusFormulaNode *node = self->node;
  guint                    first = gradus_shape_is_free (shape) ? 1 : 0;

  *n = 0;
  for (guint i = first; i < shape->rank && !node->has_axis; i++)
    axes[(*n)++] = i;
  for (guint i = 0; i < node->n_axes; i++)
    {
      gint64 axis = node->axes[i] < 0 ? node->axes[i] + (gint64) shape->rank : node->axes[i];

      if (axis < 0 || axis >= (gint64) shape->rank)
        return refuse (self, _ ("There is no axis %" PRId64 "; “%s” is given a value of %u axes."), node->axes[i],
                       node->function->name, shape->rank);
      if (axis < (gint64) first)
        return refuse (self, _ ("The first axis is that of the samples; they are not mixed in a formula."));
      axes[(*n)++] = axis;
    }
  return TRUE;
}

static char *
join (const gint64 *ints, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%" PRId64, i > 0 ? "," : "", ints[i]);
  return g_string_free (text, FALSE);
}

static gboolean
build_reduce (Builder *self, const Operand *x, Operand *result)
{
  gboolean         minimum = self->node->function->kind == GRADUS_FORMULA_MIN;
  gint64           axes[GRADUS_MAX_RANK];
  guint            n;
  GradusValueId    value;
  g_autofree char *list = NULL, *attrs = NULL;

  if (x->is_number)
    {
      *result = *x;
      return TRUE;
    }
  if (!find_axes (self, shape_of (self, x->value), axes, &n))
    return FALSE;
  value = x->value;
  result->value = value;
  if (n == 0)
    return TRUE;
  list = join (axes, n);
  attrs = g_strdup_printf ("axes=%s keepdims=%d", list, !self->node->drops);
  if (minimum && !emit (self, "negative", &value, 1, NULL, &value))
    return FALSE;
  if (!emit (self, self->node->function->op, &value, 1, attrs, &result->value))
    return FALSE;
  return !minimum || emit (self, "negative", &result->value, 1, NULL, &result->value);
}

static gboolean
build_along (Builder *self, const Operand *x, Operand *result)
{
  gboolean         last = self->node->function->kind == GRADUS_FORMULA_LAST;
  gint64           axes[GRADUS_MAX_RANK];
  guint            n, rank;
  g_autofree char *attrs = NULL;

  if (x->is_number || shape_of (self, x->value)->rank == 0)
    return refuse (self, _ ("“%s” needs a value with an axis."), self->node->function->name);
  rank = shape_of (self, x->value)->rank;
  if (!find_axes (self, shape_of (self, x->value), axes, &n))
    return FALSE;
  if (self->node->has_axis && n != 1)
    return refuse (self, _ ("“%s” works along one axis."), self->node->function->name);
  if (!self->node->has_axis)
    axes[0] = rank - 1;
  if (last && axes[0] != rank - 1)
    return refuse (self, _ ("“%s” works along the last axis; transpose the value before and after."), self->node->function->name);
  if (!last)
    attrs = g_strdup_printf (g_str_equal (self->node->function->op, "reduce_prod") ? "axis=%" PRId64 " keepdims=1" : "axis=%" PRId64, axes[0]);
  return emit (self, self->node->function->op, &x->value, 1, attrs, &result->value);
}

/* The numbers that follow a function's value. */
static gboolean
whole_args (Builder *self, Operand **args, gint64 *numbers)
{
  for (guint i = 1; i < self->node->n_args; i++)
    {
      double number = args[i]->number;

      if (!args[i]->is_number || number != floor (number) || fabs (number) > G_MAXINT32)
        return refuse (self, _ ("“%s” takes whole numbers after its value."), self->node->function->name);
      numbers[i - 1] = (gint64) number;
    }
  return TRUE;
}

/* Axes are numbered with the samples' as 0, which stays in front. */
static gboolean
build_transpose (Builder *self, Operand **args, Operand *result)
{
  gint64           perm[GRADUS_FORMULA_MAX_ARGS];
  g_autofree char *list = NULL, *attrs = NULL;
  const GradusShape *shape;

  if (args[0]->is_number || !whole_args (self, args, perm))
    return args[0]->is_number && refuse (self, _ ("“%s” needs a value with an axis."), self->node->function->name);
  shape = shape_of (self, args[0]->value);
  if (self->node->n_args - 1 != shape->rank)
    return refuse (self, _ ("The value has %u axes; name each once, the samples' as 0."), shape->rank);
  if (gradus_shape_is_free (shape) && perm[0] != 0)
    return refuse (self, _ ("The first axis is that of the samples; it stays the first."));
  list = join (perm, self->node->n_args - 1);
  attrs = g_strdup_printf ("perm=%s", list);
  return emit (self, "transpose", &args[0]->value, 1, attrs, &result->value);
}

static gboolean
build_reshape (Builder *self, Operand **args, Operand *result)
{
  gint64      sizes[GRADUS_FORMULA_MAX_ARGS];
  GradusShape from, to = { 0 };
  gint64      whole = 1, known = 1;
  gint        open = -1;

  if (!whole_args (self, args, sizes))
    return FALSE;
  if (args[0]->is_number)
    return refuse (self, _ ("“%s” needs a value with an axis."), self->node->function->name);
  from = *shape_of (self, args[0]->value);
  for (guint i = 0; i < from.rank; i++)
    if (from.dims[i] < 0)
      to.dims[to.rank++] = from.dims[i];
    else
      whole *= from.dims[i];
  if (to.rank + self->node->n_args - 1 > GRADUS_MAX_RANK)
    return refuse (self, _ ("There are at most %d axes."), GRADUS_MAX_RANK);
  for (guint i = 0; i + 1 < self->node->n_args; i++)
    {
      if (sizes[i] == -1 && open < 0)
        open = (gint) to.rank;
      else if (sizes[i] < 1)
        return refuse (self, _ ("A size must be at least 1; one may be -1, for what is left."));
      else
        known *= sizes[i];
      to.dims[to.rank++] = sizes[i];
    }
  if (open >= 0)
    to.dims[open] = whole / known;
  if ((open >= 0 ? known * to.dims[open] : known) != whole)
    return refuse (self, _ ("The sizes make %" PRId64 " numbers a sample, the value has %" PRId64 "."), known, whole);
  result->value = args[0]->value;
  return reshape (self, to, &result->value);
}

static gboolean
build_concat (Builder *self, Operand **args, Operand *result)
{
  GradusValueId    values[GRADUS_FORMULA_MAX_ARGS];
  gint64           axes[GRADUS_MAX_RANK];
  guint            n;
  g_autofree char *attrs = NULL;

  for (guint i = 0; i < self->node->n_args; i++)
    {
      if (args[i]->is_number || shape_of (self, args[i]->value)->rank == 0)
        return refuse (self, _ ("“%s” needs values with an axis."), self->node->function->name);
      values[i] = args[i]->value;
    }
  if (!find_axes (self, shape_of (self, values[0]), axes, &n))
    return FALSE;
  if (!self->node->has_axis)
    axes[0] = shape_of (self, values[0])->rank - 1;
  else if (n != 1)
    return refuse (self, _ ("“%s” works along one axis."), self->node->function->name);
  attrs = g_strdup_printf ("axis=%" PRId64, axes[0]);
  return emit (self, "concat", values, self->node->n_args, attrs, &result->value);
}

static gboolean
build_matmul (Builder *self, const Operand *a, const Operand *b, Operand *result)
{
  const GradusValueId values[] = { a->value, b->value };

  if (a->is_number || b->is_number)
    return refuse (self, _ ("A product of matrices needs two values with axes."));
  return emit (self, "matmul", values, 2, NULL, &result->value);
}

/* The places of the index for each axis: an ellipsis, or the end, stands for whole axes. */
static gboolean
spread_index (Builder *self, guint rank, GradusFormulaIndex places[GRADUS_MAX_RANK])
{
  const GradusFormulaNode *node = self->node;
  guint                    n = 0, ellipses = 0;

  for (guint i = 0; i < node->n_index; i++)
    ellipses += node->index[i].is_ellipsis;
  if (ellipses > 1)
    return refuse (self, _ ("There is at most one “...”."));
  if (node->n_index - ellipses > rank)
    return refuse (self, _ ("There are more places than the value's %u axes."), rank);
  for (guint i = 0; i < node->n_index; i++)
    if (node->index[i].is_ellipsis)
      for (guint k = node->n_index - 1; k < rank; k++)
        places[n++] = (GradusFormulaIndex) { .step = 1 };
    else
      places[n++] = node->index[i];
  while (n < rank)
    places[n++] = (GradusFormulaIndex) { .step = 1 };
  return TRUE;
}

static gboolean
resolve_place (Builder *self, GradusFormulaIndex *place, gint64 size, guint axis)
{
  if (place->begin < 0)
    place->begin += size;
  if (place->is_single)
    {
      if (place->begin < 0 || place->begin >= size)
        return refuse (self, _ ("Axis %u has %" PRId64 " places, from 0; this is none of them."), axis, size);
      place->end = place->begin + 1;
      return TRUE;
    }
  place->end = !place->has_end ? size : place->end < 0 ? place->end + size : MIN (place->end, size);
  if (place->begin < 0 || place->begin >= place->end)
    return refuse (self, _ ("Nothing is left of axis %u, which has %" PRId64 " places."), axis, size);
  return TRUE;
}

static gboolean
build_slice (Builder *self, const Operand *x, Operand *result)
{
  GradusFormulaIndex places[GRADUS_MAX_RANK];
  gint64             begins[GRADUS_MAX_RANK], sizes[GRADUS_MAX_RANK], steps[GRADUS_MAX_RANK];
  GradusShape        from, to = { 0 };
  g_autofree char   *b = NULL, *s = NULL, *t = NULL, *attrs = NULL;

  if (x->is_number)
    return refuse (self, _ ("A number has no places."));
  from = *shape_of (self, x->value);
  if (!spread_index (self, from.rank, places))
    return FALSE;
  for (guint i = 0; i < from.rank; i++)
    {
      gboolean whole = !places[i].is_single && !places[i].has_begin && !places[i].has_end && places[i].step == 1;

      begins[i] = 0;
      sizes[i] = -1;
      steps[i] = 1;
      if (from.dims[i] < 0 && !whole)
        return refuse (self, _ ("Axis %u is not of a known size, so only “:” can stand for it."), i);
      if (from.dims[i] >= 0)
        {
          if (!resolve_place (self, &places[i], from.dims[i], i))
            return FALSE;
          begins[i] = places[i].begin;
          steps[i] = places[i].step;
          sizes[i] = (places[i].end - places[i].begin + places[i].step - 1) / places[i].step;
        }
      if (!places[i].is_single)
        to.dims[to.rank++] = from.dims[i] < 0 ? from.dims[i] : sizes[i];
    }
  b = join (begins, from.rank);
  s = join (sizes, from.rank);
  t = join (steps, from.rank);
  attrs = g_strdup_printf ("begin=%s size=%s step=%s", b, s, t);
  return emit (self, "strided_slice", &x->value, 1, attrs, &result->value)
         && (to.rank == from.rank || reshape (self, to, &result->value));
}

static gboolean
build_call (Builder *self, Operand **args, Operand *result)
{
  switch (self->node->function->kind)
    {
    case GRADUS_FORMULA_UNARY:
      return build_unary (self, args[0], NULL, result);
    case GRADUS_FORMULA_ALPHA:
      return build_unary (self, args[0], self->node->n_args > 1 ? args[1] : NULL, result);
    case GRADUS_FORMULA_BINARY:
      return build_binary (self, args[0], args[1], result);
    case GRADUS_FORMULA_WHERE:
      return build_where (self, args, result);
    case GRADUS_FORMULA_CLIP:
      return build_clip (self, args, result);
    case GRADUS_FORMULA_REDUCE:
    case GRADUS_FORMULA_MIN:
      return build_reduce (self, args[0], result);
    case GRADUS_FORMULA_LAST:
    case GRADUS_FORMULA_ALONG:
      return build_along (self, args[0], result);
    case GRADUS_FORMULA_MATMUL:
      return build_matmul (self, args[0], args[1], result);
    case GRADUS_FORMULA_TRANSPOSE:
      return build_transpose (self, args, result);
    case GRADUS_FORMULA_RESHAPE:
      return build_reshape (self, args, result);
    case GRADUS_FORMULA_CONCAT:
      return build_concat (self, args, result);
    }
  g_assert_not_reached ();
}

static gboolean
build_node (Builder *self, const char *const *names, const GradusValueId *values, Operand *result)
{
  Operand *args[GRADUS_FORMULA_MAX_ARGS] = { NULL };

  for (guint i = 0; i < self->node->n_args; i++)
    args[i] = &self->operands[self->node->args[i]];
  result->is_number = FALSE;
  switch (self->node->type)
    {
    case GRADUS_FORMULA_NUMBER:
      *result = (Operand) { .is_number = TRUE, .number = self->node->number };
      return TRUE;
    case GRADUS_FORMULA_NAME:
      for (guint i = 0; names[i] != NULL; i++)
        if (g_str_equal (names[i], self->formula->names->pdata[self->node->name]))
          result->value = values[i];
      return TRUE;
    case GRADUS_FORMULA_NEGATE:
      if (args[0]->is_number)
        {
          *result = (Operand) { .is_number = TRUE, .number = -args[0]->number };
          return TRUE;
        }
      return emit (self, "negative", &args[0]->value, 1, NULL, &result->value);
    case GRADUS_FORMULA_OPERATOR:
    case GRADUS_FORMULA_CALL:
      return build_call (self, args, result);
    case GRADUS_FORMULA_SLICE:
      return build_slice (self, args[0], result);
    }
  g_assert_not_reached ();
}

gboolean
gradus_formula_build (GradusFormula       *self,
                      GradusProgram       *program,
                      const char *const   *names,
                      const GradusValueId *values,
                      GradusValueId       *output,
                      GError             **error)
{
  g_autofree Operand *operands = NULL;
  Builder             builder = { self, program, NULL, NULL, error };

  g_return_val_if_fail (self != NULL && program != NULL && output != NULL, FALSE);

  if (!gradus_formula_check_names (self, names, error))
    return FALSE;
  builder.operands = operands = g_new0 (Operand, self->nodes->len);
  for (guint i = 0; i < self->nodes->len; i++)
    {
      builder.node = &g_array_index (self->nodes, GradusFormulaNode, i);
      if (!build_node (&builder, names, values, &operands[i]))
        return FALSE;
    }
  *output = value_of (&builder, &operands[self->nodes->len - 1]);
  return TRUE;
}

gboolean
gradus_formula_infer (GradusFormula     *self,
                      const char *const *names,
                      const GradusShape *shapes,
                      GradusShape       *output,
                      GError           **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("formula");
  guint                     n = g_strv_length ((char **) names);
  g_autofree GradusValueId *values = g_new (GradusValueId, n + 1);
  GradusValueId             value;

  for (guint i = 0; i < n; i++)
    values[i] = gradus_program_add_input (program, names[i], GRADUS_DTYPE_FLOAT32, shapes[i]);
  if (!gradus_formula_build (self, program, names, values, &value, error))
    return FALSE;
  *output = gradus_program_value (program, value)->type.shape;
  return TRUE;
}
