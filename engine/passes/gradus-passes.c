/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/gradus-passes-private.h"

guint *
gradus_pass_count_readers (GradusProgram *program)
{
  guint *readers = g_new0 (guint, gradus_program_n_values (program) + 1);

  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    {
      const GradusNode *node = gradus_program_node (program, i);

      for (guint j = 0; j < node->n_inputs; j++)
        if (node->inputs[j] != GRADUS_NO_VALUE)
          readers[node->inputs[j]]++;
    }
  for (guint i = 0; i < gradus_program_n_outputs (program); i++)
    readers[gradus_program_output (program, i, NULL)]++;
  return readers;
}

GradusProgram *
gradus_passes_run (GradusProgram *program, GError **error)
{
  /* Dead readers would keep values apart that can be joined; joining leaves new dead nodes. */
  static GradusProgram *(*const passes[]) (GradusProgram *, GError **) = {
    gradus_pass_dead_code,
    gradus_pass_fuse,
    gradus_pass_reshape,
    gradus_pass_dead_code,
  };
  g_autoptr (GradusProgram) current = NULL;

  g_return_val_if_fail (program != NULL, NULL);

  current = gradus_program_ref (program);
  for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
    {
      GradusProgram *next = passes[i](current, error);

      if (next == NULL)
        return NULL;
      gradus_program_unref (current);
      current = next;
    }
  return g_steal_pointer (&current);
}
