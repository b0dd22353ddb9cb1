/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "graph/gradus-program-private.h"
#include "passes/gradus-passes-private.h"

/* A matmul or conv that waits for what follows it. */
typedef struct
{
  const GradusNode *node;
  GradusValueId     bias;
} Waiting;

typedef struct
{
  GradusRebuild     rebuild;
  guint            *readers;
  const GradusNode **only_reader; /* of a value that one node reads */
  Waiting          *waiting;      /* a value that is still to be made */
} Fusion;

static gboolean
is_op (const GradusNode *node, const char *name)
{
  return node != NULL && strcmp (node->op->name, name) == 0;
}

static gboolean
can_start (const GradusNode *node)
{
  return (is_op (node, "matmul") || is_op (node, "conv"))
         && strcmp (gradus_node_string (node, "activation"), "linear") == 0;
}

static GradusValueId
bias_of (const GradusNode *node)
{
  return node->n_inputs > 2 ? node->inputs[2] : GRADUS_NO_VALUE;
}

/* Will the only reader of @value take it in? */
static gboolean
will_be_fused (Fusion *self, GradusValueId value, GradusValueId bias)
{
  const GradusNode *reader = self->only_reader[value];

  if (self->readers[value] != 1 || reader == NULL || reader->inputs[0] != value)
    return FALSE;
  return is_op (reader, "relu") || (is_op (reader, "bias_add") && bias == GRADUS_NO_VALUE);
}

/* Makes what waits, with the activation, as the value @made of the old program. */
static gboolean
emit (Fusion        *self,
      const Waiting *waiting,
      const char    *activation,
      GradusValueId  made,
      GError       **error)
{
  const GradusNode      *node = waiting->node;
  GradusNode             as = *node;
  const GradusValueId    inputs[] = { node->inputs[0], node->inputs[1], waiting->bias };
  g_autofree GradusAttr *attrs
    = g_memdup2 (node->attrs, gradus_op_n_attrs (node->op) * sizeof *node->attrs);

  for (guint i = 0; i < gradus_op_n_attrs (node->op); i++)
    if (strcmp (node->op->attrs[i].name, "activation") == 0)
      attrs[i].s = g_intern_string (activation);
  as.outputs = &made;
  return gradus_rebuild_node (&self->rebuild, &as, inputs, waiting->bias != GRADUS_NO_VALUE ? 3 : 2,
                              attrs, error);
}

static gboolean
fuse_node (Fusion *self, const GradusNode *node, GError **error)
{
  const Waiting *waiting = NULL;

  if (can_start (node) && will_be_fused (self, node->outputs[0], bias_of (node)))
    {
      self->waiting[node->outputs[0]] = (Waiting){ node, bias_of (node) };
      return TRUE;
    }
  if (node->n_inputs > 0 && node->inputs[0] != GRADUS_NO_VALUE)
    waiting = &self->waiting[node->inputs[0]];
  if (waiting == NULL || waiting->node == NULL)
    return gradus_rebuild_node (&self->rebuild, node, NULL, 0, NULL, error);
  if (is_op (node, "relu"))
    return emit (self, waiting, "relu", node->outputs[0], error);

  /* A bias_add; a relu may still follow. */
  if (will_be_fused (self, node->outputs[0], node->inputs[1]))
    {
      self->waiting[node->outputs[0]] = (Waiting){ waiting->node, node->inputs[1] };
      return TRUE;
    }
  return emit (self, &(Waiting){ waiting->node, node->inputs[1] }, "linear", node->outputs[0],
               error);
}

GradusProgram *
gradus_pass_fuse (GradusProgram *program, GError **error)
{
  guint          n_values = gradus_program_n_values (program);
  Fusion         self = { .readers = gradus_pass_count_readers (program) };
  GradusProgram *fused = NULL;
  gboolean       ok = TRUE;

  gradus_rebuild_begin (&self.rebuild, program);
  self.only_reader = g_new0 (const GradusNode *, n_values + 1);
  self.waiting = g_new0 (Waiting, n_values + 1);
  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    {
      const GradusNode *node = gradus_program_node (program, i);

      for (guint j = 0; j < node->n_inputs; j++)
        if (node->inputs[j] != GRADUS_NO_VALUE)
          self.only_reader[node->inputs[j]] = node;
    }
  for (guint i = 0; ok && i < gradus_program_n_nodes (program); i++)
    ok = fuse_node (&self, gradus_program_node (program, i), error);
  if (ok)
    fused = gradus_rebuild_end (&self.rebuild);
  gradus_rebuild_clear (&self.rebuild);
  g_free (self.waiting);
  g_free (self.only_reader);
  g_free (self.readers);
  return fused;
}
