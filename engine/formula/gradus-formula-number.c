/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "formula/gradus-formula-private.h"

#include <glib/gi18n-lib.h>

#include "graph/gradus-op.h"

/* A program of single numbers and one number for each of its values. */
struct _GradusFormulaNumber
{
  GradusProgram   *program;
  GradusValueId    output;
  guint            n_inputs;
  GradusValueId   *inputs;
  double          *values;
  GradusValueType *types;
};

GradusFormulaNumber *
gradus_formula_number_new (GradusFormula *formula, const char *const *names, GError **error)
{
  g_autoptr (GradusFormulaNumber) self = g_new0 (GradusFormulaNumber, 1);
  guint                           n;

  g_return_val_if_fail (formula != NULL && names != NULL, NULL);

  self->n_inputs = g_strv_length ((char **) names);
  self->program = gradus_program_new ("number");
  self->inputs = g_new (GradusValueId, self->n_inputs + 1);
  for (guint i = 0; i < self->n_inputs; i++)
    self->inputs[i] = gradus_program_add_input (self->program, names[i], GRADUS_DTYPE_FLOAT32, gradus_shape (0));
  if (!gradus_formula_build (formula, self->program, names, self->inputs, &self->output, error))
    return NULL;
  n = gradus_program_n_values (self->program);
  self->values = g_new0 (double, n + 1);
  self->types = g_new0 (GradusValueType, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const GradusValue *value = gradus_program_value (self->program, i);

      self->types[i] = value->type;
      if (value->type.shape.rank > 0)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("The formula “%s” must stay with single numbers; it makes a value with axes."),
                       gradus_formula_text (formula));
          return NULL;
        }
      if (value->kind == GRADUS_VALUE_CONSTANT)
        self->values[i] = *(const float *) g_bytes_get_data (value->constant, NULL);
    }
  return g_steal_pointer (&self);
}

void
gradus_formula_number_free (GradusFormulaNumber *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->program, gradus_program_unref);
  g_free (self->inputs);
  g_free (self->values);
  g_free (self->types);
  g_free (self);
}

double
gradus_formula_number_evaluate (GradusFormulaNumber *self, const double *values)
{
  g_return_val_if_fail (self != NULL, 0);

  for (guint i = 0; i < self->n_inputs; i++)
    self->values[self->inputs[i]] = values[i];
  for (guint i = 0; i < gradus_program_n_nodes (self->program); i++)
    {
      const GradusNode   *node = gradus_program_node (self->program, i);
      const double       *in[4];
      double             *out[4];
      GradusValueType     types[4];
      GradusReferenceCall call = { .node = node, .input_types = types, .output_types = types, .inputs = in, .outputs = out };

      g_assert (node->n_inputs <= G_N_ELEMENTS (in) && node->n_outputs <= G_N_ELEMENTS (out));
      for (guint k = 0; k < G_N_ELEMENTS (types); k++)
        types[k] = (GradusValueType) { GRADUS_DTYPE_FLOAT32, gradus_shape (0) };
      for (guint k = 0; k < node->n_inputs; k++)
        in[k] = &self->values[node->inputs[k]];
      for (guint k = 0; k < node->n_outputs; k++)
        out[k] = &self->values[node->outputs[k]];
      node->op->reference (&call);
    }
  return self->values[self->output];
}
