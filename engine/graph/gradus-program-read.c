/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/gradus-program-private.h"

guint
gradus_program_n_values (GradusProgram *program)
{
  return program->values->len;
}

guint
gradus_program_n_nodes (GradusProgram *program)
{
  return program->nodes->len;
}

const GradusValue *
gradus_program_value (GradusProgram *program, GradusValueId id)
{
  g_return_val_if_fail (id < program->values->len, NULL);
  return g_ptr_array_index (program->values, id);
}

const GradusNode *
gradus_program_node (GradusProgram *program, GradusNodeId id)
{
  g_return_val_if_fail (id < program->nodes->len, NULL);
  return g_ptr_array_index (program->nodes, id);
}

GradusValueId
gradus_program_find (GradusProgram *program, const char *name)
{
  const char   *interned = g_intern_string (name);
  GradusValueId id = gradus_program_find_named (program, name);

  for (guint i = 0; id == GRADUS_NO_VALUE && i < program->outputs->len; i++)
    if (g_array_index (program->outputs, GradusProgramOutput, i).name == interned)
      id = g_array_index (program->outputs, GradusProgramOutput, i).value;
  return id;
}

guint
gradus_program_n_outputs (GradusProgram *program)
{
  return program->outputs->len;
}

GradusValueId
gradus_program_output (GradusProgram *program, guint i, const char **name)
{
  const GradusProgramOutput *output;

  g_return_val_if_fail (i < program->outputs->len, GRADUS_NO_VALUE);

  output = &g_array_index (program->outputs, GradusProgramOutput, i);
  if (name != NULL)
    *name = output->name;
  return output->value;
}
