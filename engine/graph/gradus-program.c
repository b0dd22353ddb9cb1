/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/gradus-program-private.h"

#include <glib/gi18n-lib.h>
#include <stdarg.h>
#include <string.h>

static void
value_free (gpointer data)
{
  GradusValue *value = data;

  g_clear_pointer (&value->constant, g_bytes_unref);
  g_free (value);
}

static void
node_free (gpointer data)
{
  GradusNode *node = data;

  g_free (node->inputs);
  g_free (node->outputs);
  g_free (node->attrs);
  g_free (node);
}

GradusProgram *
gradus_program_new (const char *name)
{
  GradusProgram *program = g_new0 (GradusProgram, 1);

  g_atomic_ref_count_init (&program->refs);
  program->name = g_intern_string (name != NULL ? name : "program");
  program->values = g_ptr_array_new_with_free_func (value_free);
  program->nodes = g_ptr_array_new_with_free_func (node_free);
  program->names = g_hash_table_new (g_direct_hash, g_direct_equal);
  program->outputs = g_array_new (FALSE, TRUE, sizeof (GradusProgramOutput));
  return program;
}

GradusProgram *
gradus_program_ref (GradusProgram *program)
{
  g_return_val_if_fail (program != NULL, NULL);

  g_atomic_ref_count_inc (&program->refs);
  return program;
}

void
gradus_program_unref (GradusProgram *program)
{
  if (program == NULL || !g_atomic_ref_count_dec (&program->refs))
    return;
  g_array_unref (program->outputs);
  g_hash_table_unref (program->names);
  g_ptr_array_unref (program->nodes);
  g_ptr_array_unref (program->values);
  g_free (program);
}

void
gradus_program_set_scope (GradusProgram *program, GradusPhase phase, const char *layer)
{
  g_return_if_fail (program != NULL);

  program->phase = phase;
  program->layer = layer != NULL ? g_intern_string (layer) : NULL;
}

GradusValueId
gradus_program_add_value (GradusProgram *program, const GradusValue *value)
{
  GradusValue *copy = g_memdup2 (value, sizeof *value);

  copy->id = program->values->len;
  if (copy->name != NULL)
    g_hash_table_insert (program->names, (gpointer) copy->name, GUINT_TO_POINTER (copy->id + 1));
  g_ptr_array_add (program->values, copy);
  return copy->id;
}

GradusValueId
gradus_program_find_named (GradusProgram *program, const char *name)
{
  guint id = GPOINTER_TO_UINT (g_hash_table_lookup (program->names, g_intern_string (name)));

  return id > 0 ? id - 1 : GRADUS_NO_VALUE;
}

/* The named value if it is there already, which must then be of the same kind and type. */
static GradusValueId
add_named (GradusProgram *program, const GradusValue *wanted)
{
  GradusValueId      id = gradus_program_find_named (program, wanted->name);
  const GradusValue *met;

  if (id == GRADUS_NO_VALUE)
    return gradus_program_add_value (program, wanted);
  met = gradus_program_value (program, id);
  g_return_val_if_fail (met->kind == wanted->kind && met->role == wanted->role
                          && met->type.dtype == wanted->type.dtype
                          && gradus_shape_equal (&met->type.shape, &wanted->type.shape),
                        GRADUS_NO_VALUE);
  return id;
}

GradusValueId
gradus_program_add_input (GradusProgram *program,
                          const char    *name,
                          GradusDType    dtype,
                          GradusShape    shape)
{
  GradusValue value = {
    .kind = GRADUS_VALUE_INPUT,
    .type = { dtype, shape },
    .producer = GRADUS_NO_NODE,
  };

  g_return_val_if_fail (program != NULL && name != NULL, GRADUS_NO_VALUE);

  value.name = g_intern_string (name);
  return add_named (program, &value);
}

GradusValueId
gradus_program_add_variable (GradusProgram     *program,
                             const char        *name,
                             GradusVariableRole role,
                             GradusDType        dtype,
                             GradusShape        shape)
{
  GradusValue value = {
    .kind = GRADUS_VALUE_VARIABLE,
    .type = { dtype, shape },
    .role = role,
    .producer = GRADUS_NO_NODE,
  };

  g_return_val_if_fail (program != NULL && name != NULL, GRADUS_NO_VALUE);
  g_return_val_if_fail (!gradus_shape_is_free (&shape), GRADUS_NO_VALUE);

  value.name = g_intern_string (name);
  return add_named (program, &value);
}

GradusValueId
gradus_program_add_hyper (GradusProgram *program, const char *name, float initial)
{
  GradusValue value = {
    .kind = GRADUS_VALUE_HYPER,
    .type = { GRADUS_DTYPE_FLOAT32, { .rank = 0 } },
    .initial = initial,
    .producer = GRADUS_NO_NODE,
  };

  g_return_val_if_fail (program != NULL && name != NULL, GRADUS_NO_VALUE);

  value.name = g_intern_string (name);
  return add_named (program, &value);
}

GradusValueId
gradus_program_add_constant (GradusProgram *program,
                             GradusDType    dtype,
                             GradusShape    shape,
                             const void    *data)
{
  gint64      count = gradus_shape_count (&shape);
  GradusValue value = {
    .kind = GRADUS_VALUE_CONSTANT,
    .type = { dtype, shape },
    .producer = GRADUS_NO_NODE,
  };

  g_return_val_if_fail (program != NULL && data != NULL, GRADUS_NO_VALUE);
  g_return_val_if_fail (count >= 0, GRADUS_NO_VALUE);

  value.constant = g_bytes_new (data, (gsize) count * gradus_dtype_size (dtype));
  return gradus_program_add_value (program, &value);
}

void
gradus_program_add_output (GradusProgram *program, const char *name, GradusValueId value)
{
  GradusProgramOutput output = { .value = value };

  g_return_if_fail (program != NULL && name != NULL);
  g_return_if_fail (value < program->values->len);

  output.name = g_intern_string (name);
  for (guint i = 0; i < program->outputs->len; i++)
    g_return_if_fail (g_array_index (program->outputs, GradusProgramOutput, i).name != output.name);
  g_array_append_val (program->outputs, output);
}

/* The types of the inputs; a missing one counts as a float32 scalar. */
static GradusValueType *
input_types (GradusProgram *program, const GradusNode *node)
{
  GradusValueType *types = g_new0 (GradusValueType, MAX (node->n_inputs, 1));

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != GRADUS_NO_VALUE)
      types[i] = gradus_program_value (program, node->inputs[i])->type;
  return types;
}

static gboolean
check_inputs (GradusProgram *program, const GradusNode *node, GError **error)
{
  if (node->n_inputs < node->op->min_inputs || node->n_inputs > node->op->max_inputs)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("The operation “%s” of layer “%s” takes another number of inputs than %u."),
                   node->op->name, node->layer != NULL ? node->layer : "", node->n_inputs);
      return FALSE;
    }
  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (node->inputs[i] == GRADUS_NO_VALUE && i >= node->op->min_inputs)
        continue;
      if (node->inputs[i] < program->values->len)
        continue;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED,
                   _ ("Input %u of the operation “%s” of layer “%s” is missing."), i,
                   node->op->name, node->layer != NULL ? node->layer : "");
      return FALSE;
    }
  return TRUE;
}

gboolean
gradus_program_append (GradusProgram       *program,
                       const GradusOp      *op,
                       guint64              stream,
                       const GradusValueId *inputs,
                       guint                n_inputs,
                       const GradusAttr    *attrs,
                       GradusValueId       *outputs,
                       GError             **error)
{
  GradusNode      *node = g_new0 (GradusNode, 1);
  GradusValueType *in = NULL, *out = NULL;
  guint            n_attrs = gradus_op_n_attrs (op);
  gboolean         ok;

  node->id = program->nodes->len;
  node->op = op;
  node->phase = program->phase;
  node->layer = program->layer;
  node->stream = stream;
  node->n_inputs = n_inputs;
  node->n_outputs = op->n_outputs;
  node->inputs = g_memdup2 (inputs, n_inputs * sizeof *inputs);
  node->outputs = g_new (GradusValueId, MAX (op->n_outputs, 1));
  node->attrs = g_memdup2 (attrs, n_attrs * sizeof *attrs);

  ok = check_inputs (program, node, error);
  if (ok)
    {
      in = input_types (program, node);
      out = g_new0 (GradusValueType, MAX (op->n_outputs, 1));
      ok = op->infer (node, in, out, error);
    }
  if (!ok)
    node_free (node);
  else
    {
      g_ptr_array_add (program->nodes, node);
      for (guint i = 0; i < op->n_outputs; i++)
        {
          GradusValue value = {
            .kind = GRADUS_VALUE_TEMPORARY,
            .type = out[i],
            .producer = node->id,
            .output = i,
          };

          node->outputs[i] = gradus_program_add_value (program, &value);
          if (outputs != NULL)
            outputs[i] = node->outputs[i];
        }
    }
  g_free (in);
  g_free (out);
  return ok;
}

static const GradusOp *
find_op (const char *name, GError **error)
{
  const GradusOp *op = gradus_op_find (name);

  if (op == NULL)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                 _ ("This version has no operation called “%s”."), name);
  return op;
}

static GradusAttr *
find_attr (const GradusOp *op, GradusAttr *attrs, const char *name, GError **error)
{
  for (guint i = 0; op->attrs != NULL && op->attrs[i].name != NULL; i++)
    if (strcmp (op->attrs[i].name, name) == 0)
      return &attrs[i];
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
               _ ("The operation “%s” has no attribute called “%s”."), op->name, name);
  return NULL;
}

gboolean
gradus_program_add_node (GradusProgram       *program,
                         const char          *op_name,
                         guint64              stream,
                         const GradusValueId *inputs,
                         guint                n_inputs,
                         GradusValueId       *outputs,
                         GError             **error,
                         ...)
{
  const GradusOp        *op;
  g_autofree GradusAttr *attrs = NULL;
  const char            *name;
  va_list                args;
  gboolean               ok = TRUE;

  g_return_val_if_fail (program != NULL && op_name != NULL, FALSE);
  g_return_val_if_fail (inputs != NULL || n_inputs == 0, FALSE);

  op = find_op (op_name, error);
  if (op == NULL)
    return FALSE;
  attrs = gradus_op_default_attrs (op);

  va_start (args, error);
  while (ok && (name = va_arg (args, const char *)) != NULL)
    {
      GradusAttr *attr = find_attr (op, attrs, name, error);

      if (attr == NULL)
        ok = FALSE;
      else if (attr->type == GRADUS_ATTR_INT)
        attr->i = va_arg (args, gint64);
      else if (attr->type == GRADUS_ATTR_FLOAT)
        attr->f = va_arg (args, double);
      else if (attr->type == GRADUS_ATTR_STRING)
        attr->s = g_intern_string (va_arg (args, const char *));
      else
        {
          guint         n = va_arg (args, guint);
          const gint64 *v = va_arg (args, const gint64 *);

          attr->ints.n = MIN (n, G_N_ELEMENTS (attr->ints.v));
          memcpy (attr->ints.v, v, attr->ints.n * sizeof *v);
        }
    }
  va_end (args);

  return ok && gradus_program_append (program, op, stream, inputs, n_inputs, attrs, outputs, error);
}

gboolean
gradus_program_add_node_text (GradusProgram       *program,
                              const char          *op_name,
                              guint64              stream,
                              const GradusValueId *inputs,
                              guint                n_inputs,
                              const char          *text,
                              GradusValueId       *outputs,
                              GError             **error)
{
  const GradusOp        *op;
  g_autofree GradusAttr *attrs = NULL;
  g_auto (GStrv)         pairs = NULL;

  g_return_val_if_fail (program != NULL && op_name != NULL, FALSE);
  g_return_val_if_fail (inputs != NULL || n_inputs == 0, FALSE);

  op = find_op (op_name, error);
  if (op == NULL)
    return FALSE;
  attrs = gradus_op_default_attrs (op);
  pairs = g_strsplit (text != NULL ? text : "", " ", -1);
  for (guint i = 0; pairs[i] != NULL; i++)
    {
      char       *equals = strchr (pairs[i], '=');
      GradusAttr *attr;

      if (*pairs[i] == '\0')
        continue;
      if (equals != NULL)
        *equals = '\0';
      attr = find_attr (op, attrs, pairs[i], error);
      if (attr == NULL)
        return FALSE;
      if (equals == NULL || !gradus_attr_parse (&op->attrs[attr - attrs], equals + 1, attr))
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("“%s” is no value for the attribute “%s” of the operation “%s”."),
                       equals != NULL ? equals + 1 : "", pairs[i], op->name);
          return FALSE;
        }
    }
  return gradus_program_append (program, op, stream, inputs, n_inputs, attrs, outputs, error);
}
