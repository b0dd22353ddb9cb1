/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "plan/gradus-plan.h"

#include "plan/gradus-plan-place.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

#define MAX_BYTES (G_GINT64_CONSTANT (1) << 62)

typedef struct
{
  GradusValueId root;
  GradusNodeId  first, last; /* of a root: while its memory is in use */
  gboolean      used;
  gint64        bytes; /* at the largest sizes, unrounded */
  gint64        offset;
} Place;

struct _GradusPlan
{
  gatomicrefcount  refs;
  GradusProgram   *program;
  GradusSizes      max;
  guint            n_values;
  Place           *places;
  GradusPlanMemory memory;
};

static gint64
round_up (gint64 bytes)
{
  return (bytes + GRADUS_PLAN_ALIGNMENT - 1) / GRADUS_PLAN_ALIGNMENT * GRADUS_PLAN_ALIGNMENT;
}

/* -1 when the size passes the limit. */
static gint64
type_bytes (const GradusValueType *type, GradusSizes sizes)
{
  GradusShape shape = gradus_shape_bind (&type->shape, sizes);
  gint64 count = gradus_shape_count (&shape);
  gint64 size = (gint64) gradus_dtype_size (type->dtype);

  if (count < 0 || count > MAX_BYTES / size)
    return -1;
  return count * size;
}

static gboolean
add_bytes (gint64 *sum, gint64 bytes)
{
  if (bytes > MAX_BYTES - *sum)
    return FALSE;
  *sum += bytes;
  return TRUE;
}

static gboolean
measure_values (GradusPlan *self, GError **error)
{
  gint64 all = 0;

  for (guint id = 0; id < self->n_values; id++)
    {
      const GradusValue *value = gradus_program_value (self->program, id);
      Place *place = &self->places[id];

      place->root = id;
      place->bytes = type_bytes (&value->type, self->max);
      if (place->bytes < 0 || !add_bytes (&all, round_up (place->bytes)))
        {
          g_autofree char *shape = gradus_shape_to_string (&value->type.shape);
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                       _ ("The value “%s” of shape %s cannot be planned for a batch of %" PRId64
                          ": its size is beyond what any machine can hold. Choose a smaller batch "
                          "or smaller layers."),
                       value->name != NULL ? value->name : "temporary", shape, self->max.batch);
          return FALSE;
        }
    }
  return TRUE;
}

static void
use_value (GradusPlan *self, GradusValueId id, GradusNodeId node)
{
  Place *root = &self->places[self->places[id].root];

  if (!root->used)
    root->first = node;
  root->used = TRUE;
  root->last = MAX (root->last, node);
}

static gboolean
is_temporary (GradusPlan *self, GradusValueId id)
{
  return gradus_program_value (self->program, id)->kind == GRADUS_VALUE_TEMPORARY;
}

/* Aliases share their source's memory, so its life is known only when theirs are. */
static void
join_aliases (GradusPlan *self)
{
  guint n_nodes = gradus_program_n_nodes (self->program);

  for (guint i = 0; i < n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      if (node->op->alias)
        self->places[node->outputs[0]].root = self->places[node->inputs[0]].root;
    }
}

static void
find_lives (GradusPlan *self)
{
  guint n_nodes = gradus_program_n_nodes (self->program);
  guint n_outputs = gradus_program_n_outputs (self->program);

  for (guint i = 0; i < n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != GRADUS_NO_VALUE && !(k < 32 && (node->op->shape_only & (1u << k)) != 0))
          use_value (self, node->inputs[k], i);
      for (guint k = 0; k < node->n_outputs; k++)
        use_value (self, node->outputs[k], i);
    }
  /* One past the end, so that not even the last node writes over an output. */
  for (guint i = 0; i < n_outputs; i++)
    {
      const char *name;
      use_value (self, gradus_program_output (self->program, i, &name), n_nodes);
    }
}

/* A size that only agrees at the largest sizes is no agreement; a product of them agrees everywhere
 * if it does where one of them is 2. */
static gboolean
same_size (const GradusValueType *a, const GradusValueType *b)
{
  static const GradusSizes probes[] = { { 1, 1 }, { 2, 1 }, { 1, 2 } };

  for (guint i = 0; i < G_N_ELEMENTS (probes); i++)
    if (type_bytes (a, probes[i]) != type_bytes (b, probes[i]))
      return FALSE;
  return TRUE;
}

/* TRUE if output 0 of @node may take over the memory of its in-place input: a temporary of the same
 * size that nobody reads later and that no other input of the node shares. */
static gboolean
may_write_in_place (GradusPlan *self, const GradusNode *node)
{
  gint8 input = node->op->inplace;
  GradusValueId source, root;

  if (input < 0 || (guint) input >= node->n_inputs || node->n_outputs == 0 || node->op->alias)
    return FALSE;
  source = node->inputs[input];
  if (source == GRADUS_NO_VALUE)
    return FALSE;
  root = self->places[source].root;
  if (!is_temporary (self, root) || self->places[root].last != node->id
      || self->places[root].bytes != self->places[node->outputs[0]].bytes)
    return FALSE;
  if (!same_size (&gradus_program_value (self->program, root)->type,
                  &gradus_program_value (self->program, node->outputs[0])->type))
    return FALSE;
  for (guint k = 0; k < node->n_inputs; k++)
    if (k != (guint) input && node->inputs[k] != GRADUS_NO_VALUE
        && self->places[node->inputs[k]].root == root)
      return FALSE;
  return TRUE;
}

static void
join_in_place (GradusPlan *self)
{
  guint n_nodes = gradus_program_n_nodes (self->program);

  for (guint i = 0; i < n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      GradusValueId old, root;

      if (!may_write_in_place (self, node))
        continue;
      old = node->outputs[0];
      root = self->places[node->inputs[node->op->inplace]].root;
      /* Aliases of the output follow it. */
      for (guint id = 0; id < self->n_values; id++)
        if (self->places[id].root == old)
          self->places[id].root = root;
      self->places[root].last = MAX (self->places[root].last, self->places[old].last);
    }
}

/* Everything but temporaries lies one after the other, in the order of the program. */
static void
lay_out_persistent (GradusPlan *self)
{
  gint64 variables = 0, io = 0, constants = 0;

  for (guint id = 0; id < self->n_values; id++)
    {
      const GradusValue *value = gradus_program_value (self->program, id);
      Place *place = &self->places[id];
      gint64 bytes = round_up (place->bytes);

      switch (value->kind)
        {
        case GRADUS_VALUE_INPUT:
          place->offset = io;
          io += bytes;
          break;
        case GRADUS_VALUE_VARIABLE:
          place->offset = variables;
          variables += bytes;
          if (value->role >= GRADUS_VARIABLE_OPTIMIZER)
            self->memory.optimizer += bytes;
          break;
        case GRADUS_VALUE_HYPER:
        case GRADUS_VALUE_CONSTANT:
          place->offset = constants;
          constants += bytes;
          break;
        case GRADUS_VALUE_TEMPORARY:
          break;
        }
    }
  self->memory.variables = variables - self->memory.optimizer;
  self->memory.io = io;
  self->memory.constants = constants;
}

static void
lay_out_temporaries (GradusPlan *self)
{
  g_autofree GradusPlanBlock *blocks = g_new0 (GradusPlanBlock, self->n_values);
  g_autofree GradusValueId *ids = g_new (GradusValueId, self->n_values);
  guint n = 0;

  for (guint id = 0; id < self->n_values; id++)
    {
      const Place *place = &self->places[id];
      if (place->root != id || !place->used || !is_temporary (self, id))
        continue;
      ids[n] = id;
      blocks[n] = (GradusPlanBlock){ round_up (place->bytes), place->first, place->last, 0 };
      n++;
    }
  self->memory.step = n > 0 ? gradus_plan_place (blocks, n) : 0;
  self->memory.lower_bound = gradus_plan_lower_bound (blocks, n);
  for (guint i = 0; i < n; i++)
    self->places[ids[i]].offset = blocks[i].offset;
}

GradusPlan *
gradus_plan_new (GradusProgram *program, GradusSizes max, GError **error)
{
  g_autoptr (GradusPlan) self = NULL;

  g_return_val_if_fail (program != NULL && max.batch >= 1 && max.time >= 1, NULL);

  self = g_new0 (GradusPlan, 1);
  g_atomic_ref_count_init (&self->refs);
  self->program = gradus_program_ref (program);
  self->max = max;
  self->n_values = gradus_program_n_values (program);
  self->places = g_new0 (Place, self->n_values);
  if (!measure_values (self, error))
    return NULL;
  join_aliases (self);
  find_lives (self);
  join_in_place (self);
  lay_out_persistent (self);
  lay_out_temporaries (self);
  for (guint id = 0; id < self->n_values; id++)
    self->places[id].offset = self->places[self->places[id].root].offset;
  return g_steal_pointer (&self);
}

GradusPlan *
gradus_plan_ref (GradusPlan *plan)
{
  g_return_val_if_fail (plan != NULL, NULL);
  g_atomic_ref_count_inc (&plan->refs);
  return plan;
}

void
gradus_plan_unref (GradusPlan *plan)
{
  g_return_if_fail (plan != NULL);
  if (!g_atomic_ref_count_dec (&plan->refs))
    return;
  gradus_program_unref (plan->program);
  g_free (plan->places);
  g_free (plan);
}

GradusProgram *
gradus_plan_program (GradusPlan *plan)
{
  g_return_val_if_fail (plan != NULL, NULL);
  return plan->program;
}

GradusSizes
gradus_plan_max (GradusPlan *plan)
{
  g_return_val_if_fail (plan != NULL, gradus_sizes (0, 0));
  return plan->max;
}

GradusPlanMemory
gradus_plan_memory (GradusPlan *plan)
{
  g_return_val_if_fail (plan != NULL, (GradusPlanMemory){ 0 });
  return plan->memory;
}

gint64
gradus_plan_offset (GradusPlan *plan, GradusValueId id)
{
  g_return_val_if_fail (plan != NULL && id < plan->n_values, 0);
  return plan->places[id].offset;
}

GradusValueId
gradus_plan_root (GradusPlan *plan, GradusValueId id)
{
  g_return_val_if_fail (plan != NULL && id < plan->n_values, GRADUS_NO_VALUE);
  return plan->places[id].root;
}

gint64
gradus_plan_bytes (GradusPlan *plan, GradusValueId id, GradusSizes sizes)
{
  g_return_val_if_fail (plan != NULL && id < plan->n_values && sizes.batch >= 0, 0);
  return type_bytes (&gradus_program_value (plan->program, id)->type, sizes);
}

gboolean
gradus_plan_live (GradusPlan *plan, GradusValueId id, GradusNodeId *first, GradusNodeId *last)
{
  const Place *root;

  g_return_val_if_fail (plan != NULL && id < plan->n_values, FALSE);
  root = &plan->places[plan->places[id].root];
  if (!root->used || !is_temporary (plan, plan->places[id].root))
    return FALSE;
  *first = root->first;
  *last = MIN (root->last, gradus_program_n_nodes (plan->program) - 1);
  return TRUE;
}

gint64
gradus_plan_layer_bytes (GradusPlan *plan, const char *layer)
{
  guint n_nodes;
  gint64 sum = 0;

  g_return_val_if_fail (plan != NULL && layer != NULL, 0);
  n_nodes = gradus_program_n_nodes (plan->program);
  for (guint i = 0; i < n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (plan->program, i);
      if (g_strcmp0 (node->layer, layer) != 0)
        continue;
      for (guint k = 0; k < node->n_outputs; k++)
        if (plan->places[node->outputs[k]].root == node->outputs[k])
          sum += round_up (plan->places[node->outputs[k]].bytes);
    }
  return sum;
}

static const char *
kind_name (const GradusValue *value)
{
  switch (value->kind)
    {
    case GRADUS_VALUE_INPUT:
      return "io";
    case GRADUS_VALUE_VARIABLE:
      return "variables";
    case GRADUS_VALUE_HYPER:
    case GRADUS_VALUE_CONSTANT:
      return "constants";
    case GRADUS_VALUE_TEMPORARY:
      break;
    }
  return "step";
}

static void
print_value (GradusPlan *plan, GString *text, GradusValueId id)
{
  const Place *place = &plan->places[id];

  g_string_append_printf (text, " %%%u@%s+%" G_GINT64_FORMAT, id,
                          kind_name (gradus_program_value (plan->program, place->root)), place->offset);
  if (place->root != id)
    g_string_append_printf (text, "(in %%%u)", place->root);
}

char *
gradus_plan_to_string (GradusPlan *plan)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n_nodes;

  g_return_val_if_fail (plan != NULL, NULL);
  n_nodes = gradus_program_n_nodes (plan->program);
  g_string_append_printf (text,
                          "plan for batch %" G_GINT64_FORMAT ": variables %" G_GINT64_FORMAT
                          ", optimizer %" G_GINT64_FORMAT ", io %" G_GINT64_FORMAT
                          ", constants %" G_GINT64_FORMAT ", step %" G_GINT64_FORMAT
                          " (lower bound %" G_GINT64_FORMAT ")\n",
                          plan->max.batch, plan->memory.variables, plan->memory.optimizer,
                          plan->memory.io, plan->memory.constants, plan->memory.step,
                          plan->memory.lower_bound);
  for (guint i = 0; i < n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (plan->program, i);
      g_string_append_printf (text, "%4u %-28s", i, node->op->name);
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] == GRADUS_NO_VALUE)
          g_string_append (text, " -");
        else
          print_value (plan, text, node->inputs[k]);
      g_string_append (text, " ->");
      for (guint k = 0; k < node->n_outputs; k++)
        print_value (plan, text, node->outputs[k]);
      if (node->layer != NULL)
        g_string_append_printf (text, "  [%s]", node->layer);
      g_string_append_c (text, '\n');
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
