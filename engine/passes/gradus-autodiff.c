/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "passes/gradus-passes.h"

typedef struct
{
  GradusProgram *program;
  guint          n_values;      /* before any gradient was added */
  gboolean      *needed;        /* does the value depend on a variable? */
  GArray       **contributions; /* gradients that readers gave, last reader first */
} Autodiff;

/* Does a gradient flow to input @i of @node? */
static gboolean
is_wanted (Autodiff *self, const GradusNode *node, guint i)
{
  guint32 closed = node->op->shape_only | node->op->no_gradient;

  return node->inputs[i] != GRADUS_NO_VALUE && self->needed[node->inputs[i]]
         && (i >= 32 || (closed & (1u << i)) == 0);
}

static guint
n_differentiable (const GradusNode *node)
{
  return MIN (node->n_outputs, MAX (1, node->op->n_differentiable));
}

/* A value depends on a variable if it is one or if a node between them passes the dependence on. */
static void
mark_needed (Autodiff *self, const GradusValueId *variables, guint n_variables)
{
  for (guint i = 0; i < n_variables; i++)
    self->needed[variables[i]] = TRUE;
  for (guint i = 0; i < gradus_program_n_nodes (self->program); i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      gboolean          needed = FALSE;

      for (guint j = 0; j < node->n_inputs; j++)
        needed |= is_wanted (self, node, j);
      /* No gradient flows out of the others. */
      for (guint j = 0; j < n_differentiable (node); j++)
        self->needed[node->outputs[j]] |= needed;
    }
}

static void
contribute (Autodiff *self, GradusValueId value, GradusValueId gradient)
{
  if (self->contributions[value] == NULL)
    self->contributions[value] = g_array_new (FALSE, FALSE, sizeof (GradusValueId));
  g_array_append_val (self->contributions[value], gradient);
}

/* The whole gradient of @value: what its readers gave, added in the order of the readers. */
static gboolean
collect (Autodiff *self, GradusValueId value, GradusValueId *gradient, GError **error)
{
  GArray                   *parts = self->contributions[value];
  g_autofree GradusValueId *inputs = NULL;

  *gradient = GRADUS_NO_VALUE;
  if (parts == NULL || parts->len == 0)
    return TRUE;
  *gradient = g_array_index (parts, GradusValueId, 0);
  if (parts->len == 1)
    return TRUE;
  inputs = g_new (GradusValueId, parts->len);
  for (guint i = 0; i < parts->len; i++)
    inputs[i] = g_array_index (parts, GradusValueId, parts->len - 1 - i);
  if (!gradus_program_add_node (self->program, "add_n", 0, inputs, parts->len, gradient, error,
                                NULL))
    return FALSE;
  g_array_set_size (parts, 1);
  g_array_index (parts, GradusValueId, 0) = *gradient;
  return TRUE;
}

static gboolean
refuse_node (const GradusNode *node, GError **error)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
               _ ("The loss depends on the weights through the operation “%s” of layer “%s”, which "
                  "has no gradient; take it out of the way to the loss."),
               node->op->name, node->layer != NULL ? node->layer : "");
  return FALSE;
}

static gboolean
differentiate_node (Autodiff *self, const GradusNode *node, GError **error)
{
  g_autofree GradusValueId *gradients = NULL, *outputs = NULL;
  gboolean                  any = FALSE, reached = FALSE;

  for (guint i = 0; i < n_differentiable (node); i++)
    reached |= self->contributions[node->outputs[i]] != NULL;
  if (!reached)
    return TRUE;

  gradients = g_new (GradusValueId, MAX (node->n_inputs, 1));
  for (guint i = 0; i < node->n_inputs; i++)
    {
      gradients[i] = is_wanted (self, node, i) ? GRADUS_WANTED_GRADIENT : GRADUS_NO_VALUE;
      any |= gradients[i] != GRADUS_NO_VALUE;
    }
  if (!any)
    return TRUE;
  if (node->op->gradient == NULL)
    return refuse_node (node, error);

  gradus_program_set_scope (self->program, GRADUS_PHASE_BACKWARD, node->layer);
  outputs = g_new (GradusValueId, node->n_outputs);
  for (guint i = 0; i < node->n_outputs; i++)
    outputs[i] = GRADUS_NO_VALUE;
  for (guint i = 0; i < n_differentiable (node); i++)
    if (!collect (self, node->outputs[i], &outputs[i], error))
      return FALSE;
  if (!node->op->gradient (self->program, node, outputs, gradients, error))
    return FALSE;
  /* Last input first: collect() turns the order round. */
  for (guint i = node->n_inputs; i-- > 0;)
    {
      g_assert (gradients[i] != GRADUS_WANTED_GRADIENT);
      if (gradients[i] != GRADUS_NO_VALUE && is_wanted (self, node, i))
        contribute (self, node->inputs[i], gradients[i]);
    }
  return TRUE;
}

static gboolean
start (Autodiff *self, GradusValueId loss, GError **error)
{
  const GradusValueType *type = &gradus_program_value (self->program, loss)->type;
  g_autofree char       *shape = gradus_shape_to_string (&type->shape);
  const float            one = 1;
  const double           wide_one = 1;

  if (type->shape.rank != 0
      || (type->dtype != GRADUS_DTYPE_FLOAT32 && type->dtype != GRADUS_DTYPE_FLOAT64))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("A loss must be one floating-point number; this one is %s of shape %s."),
                   gradus_dtype_name (type->dtype), shape);
      return FALSE;
    }
  gradus_program_set_scope (self->program, GRADUS_PHASE_BACKWARD, NULL);
  contribute (self, loss,
              gradus_program_add_constant (self->program, type->dtype, gradus_shape (0),
                                           type->dtype == GRADUS_DTYPE_FLOAT32
                                             ? (const void *) &one
                                             : (const void *) &wide_one));
  return TRUE;
}

/* A shared variable's sum belongs to the first layer that reads it. */
static void
set_scope_of (Autodiff *self, GradusValueId variable)
{
  GArray            *parts = self->contributions[variable];
  const GradusValue *last;

  if (parts == NULL || parts->len < 2)
    return;
  last = gradus_program_value (self->program, g_array_index (parts, GradusValueId, parts->len - 1));
  gradus_program_set_scope (self->program, GRADUS_PHASE_BACKWARD,
                            last->producer == GRADUS_NO_NODE
                              ? NULL
                              : gradus_program_node (self->program, last->producer)->layer);
}

gboolean
gradus_autodiff (GradusProgram       *program,
                 GradusValueId        loss,
                 const GradusValueId *variables,
                 guint                n_variables,
                 GradusValueId       *gradients,
                 GError             **error)
{
  Autodiff self = { .program = program };
  guint    n_nodes;
  gboolean ok;

  g_return_val_if_fail (program != NULL && loss < gradus_program_n_values (program), FALSE);
  g_return_val_if_fail (n_variables == 0 || (variables != NULL && gradients != NULL), FALSE);

  n_nodes = gradus_program_n_nodes (program);
  self.n_values = gradus_program_n_values (program);
  self.needed = g_new0 (gboolean, self.n_values);
  self.contributions = g_new0 (GArray *, self.n_values);

  mark_needed (&self, variables, n_variables);
  ok = start (&self, loss, error);
  for (guint i = n_nodes; ok && i-- > 0;)
    ok = differentiate_node (&self, gradus_program_node (program, i), error);
  for (guint i = 0; ok && i < n_variables; i++)
    {
      set_scope_of (&self, variables[i]);
      ok = collect (&self, variables[i], &gradients[i], error);
    }

  for (guint i = 0; i < self.n_values; i++)
    g_clear_pointer (&self.contributions[i], g_array_unref);
  g_free (self.contributions);
  g_free (self.needed);
  return ok;
}
