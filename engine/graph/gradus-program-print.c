/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/gradus-program-private.h"

static const char *const phase_names[] = { "forward", "backward", "update", "statistics" };
static const char *const role_names[] = { "weight", "statistic", "optimizer" };

static void
print_type (const GradusValueType *type, GString *string)
{
  g_autofree char *shape = gradus_shape_to_string (&type->shape);

  g_string_append_printf (string, "%s%s", gradus_dtype_name (type->dtype), shape);
}

static void
print_float (double value, GString *string)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (string, g_ascii_formatd (buffer, sizeof buffer, "%.9g", value));
}

/* Everything that no node makes, one a line, before the nodes. */
static void
print_source (const GradusValue *value, GString *string)
{
  static const char *const kinds[] = { "input", "variable", "hyper", "constant" };

  g_string_append_printf (string, "  %s %%%u", kinds[value->kind], value->id);
  if (value->name != NULL)
    g_string_append_printf (string, " %s", value->name);
  g_string_append_c (string, ' ');
  print_type (&value->type, string);
  if (value->kind == GRADUS_VALUE_VARIABLE)
    g_string_append_printf (string, " %s", role_names[value->role]);
  if (value->kind == GRADUS_VALUE_HYPER)
    {
      g_string_append (string, " = ");
      print_float (value->initial, string);
    }
  if (value->kind == GRADUS_VALUE_CONSTANT && value->type.dtype == GRADUS_DTYPE_FLOAT32
      && gradus_shape_count (&value->type.shape) == 1)
    {
      g_string_append (string, " = ");
      print_float (*(const float *) g_bytes_get_data (value->constant, NULL), string);
    }
  g_string_append_c (string, '\n');
}

static void
print_attrs (const GradusNode *node, GString *string)
{
  g_autofree GradusAttr *defaults = gradus_op_default_attrs (node->op);

  for (guint i = 0; i < gradus_op_n_attrs (node->op); i++)
    if (!gradus_attr_equal (&defaults[i], &node->attrs[i]))
      {
        g_string_append_printf (string, " %s=", node->op->attrs[i].name);
        gradus_attr_print (&node->attrs[i], string);
      }
}

static void
print_node (GradusProgram *program, const GradusNode *node, GString *string)
{
  g_string_append (string, "  ");
  for (guint i = 0; i < node->n_outputs; i++)
    {
      g_string_append_printf (string, "%s%%%u ", i > 0 ? ", " : "", node->outputs[i]);
      print_type (&gradus_program_value (program, node->outputs[i])->type, string);
    }
  g_string_append_printf (string, "%s%s(", node->n_outputs > 0 ? " = " : "", node->op->name);
  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (i > 0)
        g_string_append (string, ", ");
      if (node->inputs[i] == GRADUS_NO_VALUE)
        g_string_append_c (string, '-');
      else
        g_string_append_printf (string, "%%%u", node->inputs[i]);
    }
  g_string_append_c (string, ')');
  print_attrs (node, string);
  if (node->layer != NULL)
    g_string_append_printf (string, "  # %s", node->layer);
  g_string_append_c (string, '\n');
}

char *
gradus_program_to_string (GradusProgram *program)
{
  GString *string = g_string_new (NULL);
  int      phase = -1;

  g_return_val_if_fail (program != NULL, NULL);

  g_string_append_printf (string, "program %s\n", program->name);
  for (guint i = 0; i < program->values->len; i++)
    {
      const GradusValue *value = gradus_program_value (program, i);

      if (value->kind != GRADUS_VALUE_TEMPORARY)
        print_source (value, string);
    }
  for (guint i = 0; i < program->nodes->len; i++)
    {
      const GradusNode *node = gradus_program_node (program, i);

      if (phase != (int) node->phase)
        g_string_append_printf (string, "%s:\n", phase_names[node->phase]);
      phase = node->phase;
      print_node (program, node, string);
    }
  for (guint i = 0; i < program->outputs->len; i++)
    {
      const char   *name;
      GradusValueId id = gradus_program_output (program, i, &name);

      g_string_append_printf (string, "  output %s = %%%u\n", name, id);
    }
  return g_string_free (string, FALSE);
}
