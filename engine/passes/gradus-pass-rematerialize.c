/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/gradus-passes-private.h"

#include <math.h>

#include "graph/gradus-program-private.h"

/* Work of an op for each number that it puts out, from which on it is dear. */
#define DEAR 24.0

typedef struct
{
  GradusProgram       *program;
  GradusRematerialize  how;
  GradusSizes          sizes;
  guint                n_values, n_nodes;
  gboolean            *needed; /* by value: made forward and read backward */
  gboolean            *kept;   /* by value: stays from the one to the other */
  GradusRebuild        rebuild;
  GradusValueId       *clones; /* by value, of the new program; GRADUS_NO_VALUE before it was made again */
  double               flops;
} Remat;

static gint64
bytes_of (Remat *self, GradusValueId id)
{
  const GradusValueType *type = &gradus_program_value (self->program, id)->type;
  GradusShape            shape = gradus_shape_bind (&type->shape, self->sizes);

  return gradus_shape_count (&shape) * (gint64) gradus_dtype_size (type->dtype);
}

static gboolean
reads_data (const GradusNode *node, guint input)
{
  return node->inputs[input] != GRADUS_NO_VALUE
         && (input >= 32 || (node->op->shape_only & (1u << input)) == 0);
}

static const GradusNode *
forward_producer (Remat *self, GradusValueId id)
{
  const GradusValue *value = gradus_program_value (self->program, id);
  const GradusNode  *node;

  if (value->kind != GRADUS_VALUE_TEMPORARY)
    return NULL;
  node = gradus_program_node (self->program, value->producer);
  return node->phase == GRADUS_PHASE_FORWARD ? node : NULL;
}

static double
work_of (Remat *self, const GradusNode *node)
{
  g_autofree GradusValueType *in = g_new0 (GradusValueType, node->n_inputs + 1);
  g_autofree GradusValueType *out = g_new0 (GradusValueType, node->n_outputs + 1);
  GradusCost                  cost = { 0 };

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != GRADUS_NO_VALUE)
      {
        in[i] = gradus_program_value (self->program, node->inputs[i])->type;
        in[i].shape = gradus_shape_bind (&in[i].shape, self->sizes);
      }
  for (guint i = 0; i < node->n_outputs; i++)
    {
      out[i] = gradus_program_value (self->program, node->outputs[i])->type;
      out[i].shape = gradus_shape_bind (&out[i].shape, self->sizes);
    }
  node->op->cost (node, in, out, &cost);
  return cost.flops;
}

/* What may be made again: an op that changes nothing, and whose result nobody but the backward pass
 * waits for (an output of the program is there anyhow). */
static void
find_needed (Remat *self)
{
  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);

      for (guint k = 0; k < node->n_inputs; k++)
        {
          GradusValueId id = node->inputs[k];

          if (!reads_data (node, k) || forward_producer (self, id) == NULL)
            continue;
          if (node->phase == GRADUS_PHASE_BACKWARD)
            self->needed[id] = TRUE;
          else if (node->phase != GRADUS_PHASE_FORWARD)
            self->kept[id] = TRUE;
        }
    }
  for (guint i = 0; i < gradus_program_n_outputs (self->program); i++)
    self->kept[gradus_program_output (self->program, i, NULL)] = TRUE;
}

/* Cheap ops are made again, dear ones kept; an alias costs nothing and is nothing to keep. */
static void
keep_dear (Remat *self)
{
  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      gint64            made = 0;

      if (node->phase != GRADUS_PHASE_FORWARD || node->op->alias)
        continue;
      for (guint k = 0; k < node->n_outputs; k++)
        made += bytes_of (self, node->outputs[k]) / 4;
      if (node->op->updates == 0 && work_of (self, node) < DEAR * (double) MAX (made, 1))
        continue;
      for (guint k = 0; k < node->n_outputs; k++)
        self->kept[node->outputs[k]] = TRUE;
    }
}

/* The values that cross the line before node @line: made before it, read forward from it on. */
static void
keep_crossing (Remat *self, guint line)
{
  for (guint i = line; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);

      for (guint k = 0; node->phase == GRADUS_PHASE_FORWARD && k < node->n_inputs; k++)
        {
          const GradusNode *producer = reads_data (node, k) ? forward_producer (self, node->inputs[k]) : NULL;

          /* What an alias looks at is what must stay. */
          while (producer != NULL && producer->id < line && producer->op->alias)
            producer = forward_producer (self, producer->inputs[0]);
          for (guint o = 0; producer != NULL && producer->id < line && o < producer->n_outputs; o++)
            self->kept[producer->outputs[o]] = TRUE;
        }
    }
}

/* The forward pass in about as many segments as the root of the number of values that wait for the
 * backward pass, of equal bytes; what crosses from one to the next is kept (Chen, Xu, Zhang, Guestrin,
 * Training Deep Nets with Sublinear Memory Cost, 2016). */
static void
keep_boundaries (Remat *self)
{
  gint64 all = 0, since = 0, share;
  guint  n = 0;

  for (guint id = 0; id < self->n_values; id++)
    if (self->needed[id])
      {
        all += bytes_of (self, id);
        n++;
      }
  share = (gint64) ((double) all / MAX (1, ceil (sqrt (n))));
  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);

      for (guint k = 0; k < node->n_outputs; k++)
        since += self->needed[node->outputs[k]] ? bytes_of (self, node->outputs[k]) : 0;
      if (node->phase != GRADUS_PHASE_FORWARD || since < share)
        continue;
      keep_crossing (self, i + 1);
      since = 0;
    }
  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);

      for (guint k = 0; node->op->updates != 0 && k < node->n_outputs; k++)
        self->kept[node->outputs[k]] = TRUE;
    }
}

/* Whether @node is made again: all its outputs are, since they come together. */
static gboolean
is_kept (Remat *self, const GradusNode *node)
{
  for (guint k = 0; k < node->n_outputs; k++)
    if (self->kept[node->outputs[k]])
      return TRUE;
  return FALSE;
}

/* The value of the new program that a backward node reads for @id: made again if it was not kept. */
static gboolean
again (Remat *self, GradusValueId id, GradusValueId *value, GError **error)
{
  const GradusNode         *node = id == GRADUS_NO_VALUE ? NULL : forward_producer (self, id);
  g_autofree GradusValueId *in = NULL, *out = NULL;

  if (node == NULL || is_kept (self, node))
    {
      *value = gradus_rebuild_value (&self->rebuild, id);
      return TRUE;
    }
  if (self->clones[id] != GRADUS_NO_VALUE)
    {
      *value = self->clones[id];
      return TRUE;
    }
  in = g_new (GradusValueId, node->n_inputs + 1);
  out = g_new (GradusValueId, node->n_outputs + 1);
  for (guint k = 0; k < node->n_inputs; k++)
    if (!reads_data (node, k))
      in[k] = gradus_rebuild_value (&self->rebuild, node->inputs[k]);
    else if (!again (self, node->inputs[k], &in[k], error))
      return FALSE;
  gradus_program_set_scope (self->rebuild.to, GRADUS_PHASE_BACKWARD, node->layer);
  /* The same stream: random numbers are drawn again as they were. */
  if (!gradus_program_append (self->rebuild.to, node->op, node->stream, in, node->n_inputs, node->attrs, out, error))
    return FALSE;
  for (guint k = 0; k < node->n_outputs; k++)
    self->clones[node->outputs[k]] = out[k];
  self->flops += work_of (self, node);
  *value = self->clones[id];
  return TRUE;
}

static gboolean
add_backward (Remat *self, const GradusNode *node, GError **error)
{
  g_autofree GradusValueId *in = g_new (GradusValueId, node->n_inputs + 1);
  g_autofree GradusValueId *out = g_new (GradusValueId, node->n_outputs + 1);

  for (guint k = 0; k < node->n_inputs; k++)
    if (!reads_data (node, k))
      in[k] = gradus_rebuild_value (&self->rebuild, node->inputs[k]);
    else if (!again (self, node->inputs[k], &in[k], error))
      return FALSE;
  gradus_program_set_scope (self->rebuild.to, node->phase, node->layer);
  if (!gradus_program_append (self->rebuild.to, node->op, node->stream, in, node->n_inputs, node->attrs, out, error))
    return FALSE;
  for (guint k = 0; k < node->n_outputs; k++)
    self->rebuild.map[node->outputs[k]] = out[k];
  return TRUE;
}

static GradusProgram *
rebuild (Remat *self, GError **error)
{
  GradusProgram *made = NULL;
  gboolean       done = TRUE;

  gradus_rebuild_begin (&self->rebuild, self->program);
  for (guint i = 0; done && i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);

      done = node->phase == GRADUS_PHASE_BACKWARD
               ? add_backward (self, node, error)
               : gradus_rebuild_node (&self->rebuild, node, NULL, 0, NULL, error);
    }
  if (done)
    made = gradus_rebuild_end (&self->rebuild);
  gradus_rebuild_clear (&self->rebuild);
  return made;
}

GradusProgram *
gradus_rematerialize (GradusProgram *program, GradusRematerialize how, GradusSizes sizes, double *share, GError **error)
{
  Remat          self = { .program = program, .how = how, .sizes = sizes };
  GradusProgram *made;
  double         whole = 0;

  g_return_val_if_fail (program != NULL, NULL);

  self.n_values = gradus_program_n_values (program);
  self.n_nodes = gradus_program_n_nodes (program);
  self.needed = g_new0 (gboolean, self.n_values + 1);
  self.kept = g_new0 (gboolean, self.n_values + 1);
  self.clones = g_new (GradusValueId, self.n_values + 1);
  for (guint i = 0; i < self.n_values; i++)
    self.clones[i] = GRADUS_NO_VALUE;
  find_needed (&self);
  if (how == GRADUS_REMATERIALIZE_CHEAP)
    keep_dear (&self);
  else
    keep_boundaries (&self);
  made = how == GRADUS_REMATERIALIZE_NONE ? gradus_program_ref (program) : rebuild (&self, error);
  for (guint i = 0; i < self.n_nodes; i++)
    whole += work_of (&self, gradus_program_node (program, i));
  if (share != NULL)
    *share = self.flops / MAX (whole, 1);
  g_free (self.needed);
  g_free (self.kept);
  g_free (self.clones);
  return made;
}
