/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/gradus-passes-private.h"

GradusProgram *
gradus_pass_dead_code (GradusProgram *program, GError **error)
{
  guint                n_nodes = gradus_program_n_nodes (program);
  g_autofree gboolean *live = g_new0 (gboolean, gradus_program_n_values (program) + 1);
  g_autofree gboolean *keep = g_new0 (gboolean, n_nodes + 1);

  for (guint i = 0; i < gradus_program_n_outputs (program); i++)
    live[gradus_program_output (program, i, NULL)] = TRUE;
  for (guint i = n_nodes; i-- > 0;)
    {
      const GradusNode *node = gradus_program_node (program, i);

      keep[i] = node->op->updates != 0;
      for (guint j = 0; j < node->n_outputs; j++)
        keep[i] |= live[node->outputs[j]];
      for (guint j = 0; keep[i] && j < node->n_inputs; j++)
        if (node->inputs[j] != GRADUS_NO_VALUE)
          live[node->inputs[j]] = TRUE;
    }
  return gradus_program_filter (program, keep);
}
