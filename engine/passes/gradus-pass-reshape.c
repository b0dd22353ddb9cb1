/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "graph/gradus-program-private.h"
#include "passes/gradus-passes-private.h"

static gboolean
is_reshape (const GradusNode *node)
{
  return strcmp (node->op->name, "reshape") == 0;
}

/* What stands before all reshapes that lead to @value. */
static GradusValueId
source_of (GradusProgram *program, GradusValueId value)
{
  for (;;)
    {
      GradusNodeId producer = gradus_program_value (program, value)->producer;

      if (producer == GRADUS_NO_NODE || !is_reshape (gradus_program_node (program, producer)))
        return value;
      value = gradus_program_node (program, producer)->inputs[0];
    }
}

static gboolean
is_output (GradusProgram *program, GradusValueId value)
{
  for (guint i = 0; i < gradus_program_n_outputs (program); i++)
    if (gradus_program_output (program, i, NULL) == value)
      return TRUE;
  return FALSE;
}

static gboolean
join (GradusRebuild *rebuild, GradusProgram *program, const GradusNode *node, GError **error)
{
  GradusValueId source = source_of (program, node->inputs[0]);
  GradusValueId made = node->outputs[0];

  /* An output has memory of its own. */
  if (!is_output (program, made)
      && gradus_shape_equal (&gradus_program_value (program, source)->type.shape,
                             &gradus_program_value (program, made)->type.shape))
    {
      rebuild->map[made] = gradus_rebuild_value (rebuild, source);
      return TRUE;
    }
  return gradus_rebuild_node (rebuild, node, &source, 1, NULL, error);
}

GradusProgram *
gradus_pass_reshape (GradusProgram *program, GError **error)
{
  GradusRebuild  rebuild;
  GradusProgram *joined = NULL;
  gboolean       ok = TRUE;

  gradus_rebuild_begin (&rebuild, program);
  for (guint i = 0; ok && i < gradus_program_n_nodes (program); i++)
    {
      const GradusNode *node = gradus_program_node (program, i);

      ok = is_reshape (node) ? join (&rebuild, program, node, error)
                             : gradus_rebuild_node (&rebuild, node, NULL, 0, NULL, error);
    }
  if (ok)
    joined = gradus_rebuild_end (&rebuild);
  gradus_rebuild_clear (&rebuild);
  return joined;
}
