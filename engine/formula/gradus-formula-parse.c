/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "formula/gradus-formula-private.h"

#include <errno.h>
#include <glib/gi18n-lib.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "gradus-json.h"

/* Recursive descent, loosest first:
 *   comparison: sum (< <= > >= == != sum)?     sum: product (+ - product)*
 *   product: sign (* / % @ sign)*              sign: - sign | power
 *   power: place (^ ** sign)?                  place: atom ([...])*
 *   atom: number | name | name(arguments) | (comparison)
 */
typedef struct
{
  GradusFormula *formula;
  const char    *at;
  guint          depth;
  GError       **error;
} Parser;

static gboolean parse_comparison (Parser *self, guint *node);
static gboolean parse_sign (Parser *self, guint *node);

gboolean
gradus_formula_refuse (GradusFormula *self, guint column, GError **error, const char *format, ...)
{
  g_autofree char *reason = NULL;
  va_list          args;

  va_start (args, format);
  reason = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("Column %u of the formula “%s”: %s"), column,
               self->text, reason);
  return FALSE;
}

static guint
column_of (Parser *self)
{
  return (guint) g_utf8_pointer_to_offset (self->formula->text, self->at) + 1;
}

static void
skip_space (Parser *self)
{
  while (*self->at == ' ' || *self->at == '\t' || *self->at == '\n' || *self->at == '\r')
    self->at++;
}

/* Takes @token if it comes next. */
static gboolean
take (Parser *self, const char *token)
{
  skip_space (self);
  if (!g_str_has_prefix (self->at, token))
    return FALSE;
  self->at += strlen (token);
  return TRUE;
}

static gboolean
expect (Parser *self, const char *token)
{
  if (take (self, token))
    return TRUE;
  if (*self->at == '\0')
    return gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("“%s” is missing at the end."), token);
  return gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("“%s” is wanted here."), token);
}

static gboolean
add_node (Parser *self, const GradusFormulaNode *node, guint *index)
{
  if (self->formula->nodes->len == GRADUS_FORMULA_MAX_NODES)
    return gradus_formula_refuse (self->formula, node->column, self->error, _ ("A formula has at most %d parts."),
                                  GRADUS_FORMULA_MAX_NODES);
  *index = self->formula->nodes->len;
  g_array_append_vals (self->formula->nodes, node, 1);
  return TRUE;
}

static gboolean
enter (Parser *self)
{
  if (++self->depth <= GRADUS_FORMULA_MAX_DEPTH)
    return TRUE;
  return gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("A formula is nested at most %d deep."),
                                GRADUS_FORMULA_MAX_DEPTH);
}

static gboolean
add_operator (Parser *self, const char *operator, guint column, guint left, guint right, guint *node)
{
  GradusFormulaNode binary = { .type = GRADUS_FORMULA_OPERATOR, .column = column, .n_args = 2,
                               .args = { left, right } };

  binary.function = gradus_formula_function_find (operator);
  return add_node (self, &binary, node);
}

/* The first of @operators (ended by NULL) that comes next. */
static const char *
take_operator (Parser *self, const char *const *operators)
{
  for (; *operators != NULL; operators++)
    if (take (self, *operators))
      return *operators;
  return NULL;
}

/* A chain of one level, from the left. */
static gboolean
parse_chain (Parser *self, const char *const *operators, gboolean (*next) (Parser *self, guint *node), guint *node)
{
  const char *operator;

  if (!next (self, node))
    return FALSE;
  for (;;)
    {
      guint right, column;

      skip_space (self);
      column = column_of (self);
      operator = take_operator (self, operators);
      if (operator == NULL)
        return TRUE;
      if (!next (self, &right) || !add_operator (self, operator, column, *node, right, node))
        return FALSE;
    }
}

static gboolean
parse_number (Parser *self, guint *node)
{
  GradusFormulaNode number = { .type = GRADUS_FORMULA_NUMBER, .column = column_of (self) };
  char             *end;

  errno = 0;
  number.number = g_ascii_strtod (self->at, &end);
  if (end == self->at || !isfinite (number.number))
    return gradus_formula_refuse (self->formula, number.column, self->error, _ ("This is no number."));
  self->at = end;
  return add_node (self, &number, node);
}

/* A whole number with a sign, of an axis or an index. */
static gboolean
parse_whole (Parser *self, gint64 *whole)
{
  char *end;

  skip_space (self);
  *whole = g_ascii_strtoll (self->at, &end, 10);
  if (end == self->at || *whole < -G_MAXINT32 || *whole > G_MAXINT32)
    return gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("A whole number is wanted here."));
  self->at = end;
  return TRUE;
}

static char *
parse_word (Parser *self)
{
  const char *start = self->at;

  while (g_ascii_isalnum (*self->at) || *self->at == '_')
    self->at++;
  return g_strndup (start, (gsize) (self->at - start));
}

static gboolean
parse_name (Parser *self, const char *word, guint column, guint *node)
{
  GradusFormulaNode name = { .type = GRADUS_FORMULA_NAME, .column = column };
  GPtrArray        *names = self->formula->names;

  if (g_str_equal (word, "pi") || g_str_equal (word, "e"))
    {
      name.type = GRADUS_FORMULA_NUMBER;
      name.number = word[0] == 'p' ? G_PI : G_E;
      return add_node (self, &name, node);
    }
  while (name.name < names->len && !g_str_equal (names->pdata[name.name], word))
    name.name++;
  if (name.name == GRADUS_FORMULA_MAX_NAMES)
    return gradus_formula_refuse (self->formula, column, self->error, _ ("A formula is about at most %d values."),
                                  GRADUS_FORMULA_MAX_NAMES);
  if (name.name == names->len)
    {
      g_ptr_array_add (names, g_strdup (word));
      g_array_append_val (self->formula->name_columns, column);
    }
  return add_node (self, &name, node);
}

/* axis=1, axis=(1, 2), keepdims=0 */
static gboolean
parse_keyword (Parser *self, const char *word, guint column, GradusFormulaNode *call)
{
  GradusFormulaKind kind = call->function->kind;
  gboolean          reduces = kind == GRADUS_FORMULA_REDUCE || kind == GRADUS_FORMULA_MIN;
  gboolean          along = kind == GRADUS_FORMULA_LAST || kind == GRADUS_FORMULA_ALONG || kind == GRADUS_FORMULA_CONCAT;
  gint64            keep;

  if (reduces && g_str_equal (word, "keepdims"))
    {
      if (!parse_whole (self, &keep))
        return FALSE;
      call->drops = keep == 0;
      return TRUE;
    }
  if (!g_str_equal (word, "axis") || !(reduces || along))
    return gradus_formula_refuse (self->formula, column, self->error, _ ("“%s” has no argument called “%s”."),
                                  call->function->name, word);
  call->has_axis = TRUE;
  call->n_axes = 0;
  if (!take (self, "("))
    return parse_whole (self, &call->axes[call->n_axes++]);
  do
    if (call->n_axes == GRADUS_MAX_RANK)
      return gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("There are at most %d axes."), GRADUS_MAX_RANK);
    else if (!parse_whole (self, &call->axes[call->n_axes++]))
      return FALSE;
  while (take (self, ","));
  return expect (self, ")");
}

/* Whether "word =" comes next, and no comparison. */
static gboolean
is_keyword (Parser *self)
{
  const char *at = self->at;

  while (g_ascii_isalpha (*at) || *at == '_')
    at++;
  if (at == self->at)
    return FALSE;
  while (*at == ' ')
    at++;
  return at[0] == '=' && at[1] != '=';
}

static gboolean
parse_argument (Parser *self, GradusFormulaNode *call)
{
  guint            column;
  g_autofree char *word = NULL;

  skip_space (self);
  column = column_of (self);
  if (is_keyword (self))
    {
      word = parse_word (self);
      take (self, "=");
      return parse_keyword (self, word, column, call);
    }
  if (call->n_args == MIN (call->function->max_args, GRADUS_FORMULA_MAX_ARGS))
    return gradus_formula_refuse (self->formula, column, self->error,
                                  g_dngettext (GETTEXT_PACKAGE, "“%s” takes %u argument.", "“%s” takes %u arguments.",
                                               call->function->max_args),
                                  call->function->name, call->function->max_args);
  return parse_comparison (self, &call->args[call->n_args++]);
}

static gboolean
parse_call (Parser *self, const char *word, guint column, guint *node)
{
  GradusFormulaNode call = { .type = GRADUS_FORMULA_CALL, .column = column };
  const char       *near;

  call.function = gradus_formula_function_find (word);
  if (call.function == NULL)
    {
      near = gradus_formula_function_nearest (word);
      if (near != NULL)
        return gradus_formula_refuse (self->formula, column, self->error, _ ("There is no function “%s”; did you mean “%s”?"), word, near);
      return gradus_formula_refuse (self->formula, column, self->error, _ ("There is no function “%s”."), word);
    }
  if (!take (self, ")"))
    {
      do
        if (!parse_argument (self, &call))
          return FALSE;
      while (take (self, ","));
      if (!expect (self, ")"))
        return FALSE;
    }
  if (call.n_args < call.function->min_args)
    return gradus_formula_refuse (self->formula, column, self->error,
                                  g_dngettext (GETTEXT_PACKAGE, "“%s” needs %u argument.", "“%s” needs %u arguments.",
                                               call.function->min_args),
                                  word, call.function->min_args);
  return add_node (self, &call, node);
}

static gboolean
parse_atom (Parser *self, guint *node)
{
  g_autofree char *word = NULL;
  guint            column;

  skip_space (self);
  column = column_of (self);
  if (take (self, "("))
    return parse_comparison (self, node) && expect (self, ")");
  if (g_ascii_isdigit (*self->at) || *self->at == '.')
    return parse_number (self, node);
  if (!g_ascii_isalpha (*self->at) && *self->at != '_')
    {
      if (*self->at == '\0')
        return gradus_formula_refuse (self->formula, column, self->error, _ ("The formula ends where a value is wanted."));
      return gradus_formula_refuse (self->formula, column, self->error, _ ("A value is wanted here: a number, a name or a function."));
    }
  word = parse_word (self);
  return take (self, "(") ? parse_call (self, word, column, node) : parse_name (self, word, column, node);
}

/* 3, 1:, :-1, ::2, ... */
static gboolean
parse_place (Parser *self, GradusFormulaIndex *place)
{
  *place = (GradusFormulaIndex) { .step = 1 };
  if (take (self, "..."))
    {
      place->is_ellipsis = TRUE;
      return TRUE;
    }
  skip_space (self);
  if (*self->at != ':')
    {
      if (!parse_whole (self, &place->begin))
        return FALSE;
      place->has_begin = TRUE;
    }
  if (!take (self, ":"))
    {
      place->is_single = TRUE;
      return TRUE;
    }
  skip_space (self);
  if (*self->at != ':' && *self->at != ',' && *self->at != ']')
    {
      if (!parse_whole (self, &place->end))
        return FALSE;
      place->has_end = TRUE;
    }
  if (!take (self, ":"))
    return TRUE;
  if (!parse_whole (self, &place->step))
    return FALSE;
  return place->step > 0
         || gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("A step must be at least 1; reverse(x) turns an axis round."));
}

static gboolean
parse_slices (Parser *self, guint *node)
{
  if (!parse_atom (self, node))
    return FALSE;
  while (take (self, "["))
    {
      GradusFormulaNode slice = { .type = GRADUS_FORMULA_SLICE, .column = column_of (self), .n_args = 1, .args = { *node } };

      do
        if (slice.n_index == GRADUS_MAX_RANK)
          return gradus_formula_refuse (self->formula, column_of (self), self->error, _ ("There are at most %d axes."), GRADUS_MAX_RANK);
        else if (!parse_place (self, &slice.index[slice.n_index++]))
          return FALSE;
      while (take (self, ","));
      if (!expect (self, "]") || !add_node (self, &slice, node))
        return FALSE;
    }
  return TRUE;
}

/* A power binds from the right, and closer than a sign before it. */
static gboolean
parse_power (Parser *self, guint *node)
{
  static const char *const powers[] = { "^", "**", NULL };
  guint                    right, column;

  if (!parse_slices (self, node))
    return FALSE;
  skip_space (self);
  column = column_of (self);
  if (take_operator (self, powers) == NULL)
    return TRUE;
  return parse_sign (self, &right) && add_operator (self, "^", column, *node, right, node);
}

static gboolean
parse_sign (Parser *self, guint *node)
{
  GradusFormulaNode negate = { .type = GRADUS_FORMULA_NEGATE, .n_args = 1 };
  gboolean          done;

  skip_space (self);
  negate.column = column_of (self);
  if (!enter (self))
    return FALSE;
  if (take (self, "-"))
    done = parse_sign (self, &negate.args[0]) && add_node (self, &negate, node);
  else
    done = parse_power (self, node);
  self->depth--;
  return done;
}

static gboolean
parse_product (Parser *self, guint *node)
{
  static const char *const operators[] = { "*", "/", "%", "@", NULL };

  return parse_chain (self, operators, parse_sign, node);
}

static gboolean
parse_sum (Parser *self, guint *node)
{
  static const char *const operators[] = { "+", "-", NULL };

  return parse_chain (self, operators, parse_product, node);
}

static gboolean
parse_comparison (Parser *self, guint *node)
{
  static const char *const operators[] = { "<=", ">=", "==", "!=", "<", ">", NULL };
  const char              *operator;
  guint                    right, column;

  if (!enter (self) || !parse_sum (self, node))
    return FALSE;
  skip_space (self);
  column = column_of (self);
  operator = take_operator (self, operators);
  if (operator != NULL && (!parse_sum (self, &right) || !add_operator (self, operator, column, *node, right, node)))
    return FALSE;
  self->depth--;
  return TRUE;
}

GradusFormula *
gradus_formula_parse (const char *text, GError **error)
{
  g_autoptr (GradusFormula) self = g_new0 (GradusFormula, 1);
  Parser                    parser = { self, NULL, 0, error };
  guint                     root;

  g_return_val_if_fail (text != NULL, NULL);

  self->names = g_ptr_array_new_with_free_func (g_free);
  self->name_columns = g_array_new (FALSE, FALSE, sizeof (guint));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (GradusFormulaNode));
  if (strlen (text) > GRADUS_FORMULA_MAX_LENGTH || !g_utf8_validate (text, -1, NULL))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("A formula is a text of at most %d bytes in UTF-8."), GRADUS_FORMULA_MAX_LENGTH);
      return NULL;
    }
  self->text = g_strdup (text);
  parser.at = self->text;
  if (!parse_comparison (&parser, &root))
    return NULL;
  skip_space (&parser);
  if (*parser.at != '\0')
    {
      gradus_formula_refuse (self, column_of (&parser), error, _ ("An operator or the end is wanted here."));
      return NULL;
    }
  return g_steal_pointer (&self);
}

void
gradus_formula_free (GradusFormula *self)
{
  if (self == NULL)
    return;
  g_free (self->text);
  g_ptr_array_unref (self->names);
  g_array_unref (self->name_columns);
  g_array_unref (self->nodes);
  g_free (self);
}

const char *
gradus_formula_text (GradusFormula *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return self->text;
}

guint
gradus_formula_n_names (GradusFormula *self)
{
  g_return_val_if_fail (self != NULL, 0);
  return self->names->len;
}

const char *
gradus_formula_name (GradusFormula *self, guint i)
{
  g_return_val_if_fail (self != NULL && i < self->names->len, NULL);
  return self->names->pdata[i];
}

gboolean
gradus_formula_uses (GradusFormula *self, const char *name)
{
  g_return_val_if_fail (self != NULL, FALSE);

  for (guint i = 0; i < self->names->len; i++)
    if (g_str_equal (self->names->pdata[i], name))
      return TRUE;
  return FALSE;
}

gboolean
gradus_formula_check_names (GradusFormula *self, const char *const *known, GError **error)
{
  g_autofree char *list = g_strjoinv (", ", (char **) known);

  for (guint i = 0; i < self->names->len; i++)
    if (!g_strv_contains (known, self->names->pdata[i]))
      {
        const char *near = gradus_json_nearest (self->names->pdata[i], known);
        guint       column = g_array_index (self->name_columns, guint, i);

        if (near != NULL)
          return gradus_formula_refuse (self, column, error, _ ("There is no value “%s” here; did you mean “%s”?"),
                                        (const char *) self->names->pdata[i], near);
        return gradus_formula_refuse (self, column, error, _ ("There is no value “%s” here; there are: %s."),
                                      (const char *) self->names->pdata[i], list);
      }
  return TRUE;
}
