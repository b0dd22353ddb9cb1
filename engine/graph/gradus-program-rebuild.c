/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/gradus-program-private.h"

static GradusValueId
carry_over (GradusRebuild *self, const GradusValue *value)
{
  GradusValue copy = *value;

  if (copy.constant != NULL)
    g_bytes_ref (copy.constant);
  return gradus_program_add_value (self->to, &copy);
}

void
gradus_rebuild_begin (GradusRebuild *self, GradusProgram *from)
{
  guint n = gradus_program_n_values (from);

  self->from = from;
  self->to = gradus_program_new (from->name);
  self->map = g_new (GradusValueId, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    {
      const GradusValue *value = gradus_program_value (from, i);
      gboolean keep = value->kind != GRADUS_VALUE_TEMPORARY && value->kind != GRADUS_VALUE_CONSTANT;

      self->map[i] = keep ? carry_over (self, value) : GRADUS_NO_VALUE;
    }
}

GradusValueId
gradus_rebuild_value (GradusRebuild *self, GradusValueId id)
{
  const GradusValue *value;

  if (id == GRADUS_NO_VALUE)
    return GRADUS_NO_VALUE;
  value = gradus_program_value (self->from, id);
  if (self->map[id] == GRADUS_NO_VALUE && value->kind == GRADUS_VALUE_CONSTANT)
    self->map[id] = carry_over (self, value);
  return self->map[id];
}

gboolean
gradus_rebuild_node (GradusRebuild       *self,
                     const GradusNode    *node,
                     const GradusValueId *inputs,
                     guint                n_inputs,
                     const GradusAttr    *attrs,
                     GError             **error)
{
  g_autofree GradusValueId *in = NULL;
  g_autofree GradusValueId *out = g_new (GradusValueId, MAX (node->n_outputs, 1));

  if (inputs == NULL)
    {
      inputs = node->inputs;
      n_inputs = node->n_inputs;
    }
  in = g_new (GradusValueId, MAX (n_inputs, 1));
  for (guint i = 0; i < n_inputs; i++)
    in[i] = gradus_rebuild_value (self, inputs[i]);
  gradus_program_set_scope (self->to, node->phase, node->layer);
  if (!gradus_program_append (self->to, node->op, node->stream, in, n_inputs,
                              attrs != NULL ? attrs : node->attrs, out, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    self->map[node->outputs[i]] = out[i];
  return TRUE;
}

GradusProgram *
gradus_rebuild_end (GradusRebuild *self)
{
  for (guint i = 0; i < gradus_program_n_outputs (self->from); i++)
    {
      const char   *name;
      GradusValueId id = gradus_program_output (self->from, i, &name);

      gradus_program_add_output (self->to, name, gradus_rebuild_value (self, id));
    }
  gradus_program_set_scope (self->to, self->from->phase, self->from->layer);
  return g_steal_pointer (&self->to);
}

void
gradus_rebuild_clear (GradusRebuild *self)
{
  g_clear_pointer (&self->to, gradus_program_unref);
  g_clear_pointer (&self->map, g_free);
}

GradusProgram *
gradus_program_filter (GradusProgram *program, const gboolean *keep)
{
  GradusRebuild         rebuild;
  GradusProgram        *filtered = NULL;
  g_autoptr (GError)    error = NULL;

  g_return_val_if_fail (program != NULL && keep != NULL, NULL);

  gradus_rebuild_begin (&rebuild, program);
  for (guint i = 0; error == NULL && i < gradus_program_n_nodes (program); i++)
    if (keep[i])
      gradus_rebuild_node (&rebuild, gradus_program_node (program, i), NULL, 0, NULL, &error);
  /* What was inferred once is inferred again; only a caller that drops a producer fails here. */
  if (error == NULL)
    filtered = gradus_rebuild_end (&rebuild);
  else
    g_critical ("%s", error->message);
  gradus_rebuild_clear (&rebuild);
  return filtered;
}
