/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

#include <stdarg.h>

static void
append_types (const GradusNode *node, const GradusValueType *inputs, GString *string)
{
  for (guint i = 0; i < node->n_inputs; i++)
    {
      g_autofree char *shape = NULL;

      if (!gradus_op_has_input (node, i))
        continue;
      shape = gradus_shape_to_string (&inputs[i].shape);
      if (string->len > 0)
        g_string_append (string, ", ");
      g_string_append_printf (string, "%s %s", gradus_dtype_name (inputs[i].dtype), shape);
    }
}

gboolean
gradus_op_refuse (const GradusNode      *node,
                  const GradusValueType *inputs,
                  GError               **error,
                  const char            *reason,
                  ...)
{
  g_autoptr (GString) met = g_string_new (NULL);
  g_autofree char    *wanted = NULL;
  va_list             args;

  va_start (args, reason);
  wanted = g_strdup_vprintf (reason, args);
  va_end (args);

  append_types (node, inputs, met);
  if (node->layer != NULL)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                 _ ("Layer “%s” cannot be built: its operation “%s” met %s. %s"), node->layer,
                 node->op->name, met->str, wanted);
  else
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("The operation “%s” met %s. %s"),
                 node->op->name, met->str, wanted);
  return FALSE;
}

gboolean
gradus_op_has_input (const GradusNode *node, guint i)
{
  return i < node->n_inputs && node->inputs[i] != GRADUS_NO_VALUE;
}

static gboolean
is_float (GradusDType dtype)
{
  return dtype == GRADUS_DTYPE_FLOAT32 || dtype == GRADUS_DTYPE_FLOAT64;
}

gboolean
gradus_op_check_floats (const GradusNode *node, const GradusValueType *inputs, GError **error)
{
  for (guint i = 0; i < node->n_inputs; i++)
    {
      /* Hypers are float32 whatever the type of the rest. */
      if (!gradus_op_has_input (node, i) || (i > 0 && inputs[i].shape.rank == 0))
        continue;
      if (!is_float (inputs[i].dtype) || inputs[i].dtype != inputs[0].dtype)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("All its inputs must be of one floating-point type."));
    }
  return TRUE;
}

gboolean
gradus_op_check_rank (
  const GradusNode *node, const GradusValueType *inputs, guint i, guint rank, GError **error)
{
  if (inputs[i].shape.rank == rank)
    return TRUE;
  return gradus_op_refuse (node, inputs, error, _ ("Input %u must have %u axes and has %u."), i + 1,
                           rank, inputs[i].shape.rank);
}

gboolean
gradus_op_check_scalar (const GradusNode      *node,
                        const GradusValueType *inputs,
                        guint                  i,
                        GError               **error)
{
  if (inputs[i].shape.rank == 0 && is_float (inputs[i].dtype))
    return TRUE;
  return gradus_op_refuse (node, inputs, error, _ ("Input %u must be one floating-point number."),
                           i + 1);
}

gboolean
gradus_op_check_shape (const GradusNode      *node,
                       const GradusValueType *inputs,
                       guint                  i,
                       const GradusShape     *wanted,
                       GError               **error)
{
  g_autofree char *text = NULL;

  if (gradus_shape_equal (&inputs[i].shape, wanted))
    return TRUE;
  text = gradus_shape_to_string (wanted);
  return gradus_op_refuse (node, inputs, error, _ ("Input %u must have the shape %s."), i + 1,
                           text);
}

gboolean
gradus_op_check_same (
  const GradusNode *node, const GradusValueType *inputs, guint i, guint j, GError **error)
{
  return gradus_op_check_shape (node, inputs, i, &inputs[j].shape, error);
}

gboolean
gradus_op_infer_elementwise (const GradusNode      *node,
                             const GradusValueType *inputs,
                             GradusValueType       *outputs,
                             GError               **error)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  for (guint i = 1; i < node->n_inputs; i++)
    if (!gradus_op_check_same (node, inputs, i, 0, error))
      return FALSE;
  outputs[0] = inputs[0];
  return TRUE;
}

gboolean
gradus_op_axes (const GradusNode      *node,
                const GradusValueType *inputs,
                guint                  rank,
                guint32               *mask,
                GError               **error)
{
  guint         n;
  const gint64 *axes = gradus_node_ints (node, "axes", &n);

  *mask = 0;
  for (guint i = 0; i < n; i++)
    {
      if (axes[i] < 0 || axes[i] >= rank || (*mask & (1u << axes[i])) != 0)
        return gradus_op_refuse (node, inputs, error,
                                 _ ("Axis %d is out of range or named twice."), (int) axes[i]);
      *mask |= 1u << axes[i];
    }
  if (n == 0)
    *mask = (1u << rank) - 1;
  return TRUE;
}

GradusShape
gradus_op_reduced_shape (const GradusShape *shape, guint32 mask, gboolean keepdims)
{
  GradusShape reduced = { .rank = 0 };

  for (guint i = 0; i < shape->rank; i++)
    if ((mask & (1u << i)) == 0)
      reduced.dims[reduced.rank++] = shape->dims[i];
    else if (keepdims)
      reduced.dims[reduced.rank++] = 1;
  return reduced;
}

gint64
gradus_op_count (const GradusValueType *type)
{
  return gradus_shape_count (&type->shape);
}

double
gradus_op_bytes (const GradusNode *node, const GradusValueType *types, guint n, gboolean inputs)
{
  double bytes = 0;

  for (guint i = 0; i < n; i++)
    if (!inputs || (gradus_op_has_input (node, i) && (i >= 32 || (node->op->shape_only & (1u << i)) == 0)))
      bytes += (double) gradus_op_count (&types[i]) * gradus_dtype_size (types[i].dtype);
  return bytes;
}

void
gradus_op_cost (const GradusNode      *node,
                const GradusValueType *inputs,
                const GradusValueType *outputs,
                double                 flops,
                GradusCost            *cost)
{
  cost->flops = flops;
  cost->bytes_read = gradus_op_bytes (node, inputs, node->n_inputs, TRUE);
  cost->bytes_written = gradus_op_bytes (node, outputs, node->n_outputs, FALSE);
  for (guint i = 0; i < node->n_inputs; i++)
    if ((node->op->updates & (1u << MIN (i, 31))) != 0)
      cost->bytes_written +=
          (double) gradus_op_count (&inputs[i]) * gradus_dtype_size (inputs[i].dtype);
}

static double
largest (const GradusNode *node, const GradusValueType *inputs, const GradusValueType *outputs)
{
  gint64 count = 0;

  for (guint i = 0; i < node->n_inputs; i++)
    if (gradus_op_has_input (node, i))
      count = MAX (count, gradus_op_count (&inputs[i]));
  for (guint i = 0; i < node->n_outputs; i++)
    count = MAX (count, gradus_op_count (&outputs[i]));
  return count;
}

void
gradus_op_cost_elementwise (const GradusNode      *node,
                            const GradusValueType *inputs,
                            const GradusValueType *outputs,
                            GradusCost            *cost)
{
  gradus_op_cost (node, inputs, outputs, largest (node, inputs, outputs), cost);
}

void
gradus_op_cost_transcendental (const GradusNode      *node,
                               const GradusValueType *inputs,
                               const GradusValueType *outputs,
                               GradusCost            *cost)
{
  gradus_op_cost (node, inputs, outputs, 10 * largest (node, inputs, outputs), cost);
}

void
gradus_op_cost_move (const GradusNode      *node,
                     const GradusValueType *inputs,
                     const GradusValueType *outputs,
                     GradusCost            *cost)
{
  gradus_op_cost (node, inputs, outputs, 0, cost);
}

void
gradus_op_cost_none (const GradusNode      *node,
                     const GradusValueType *inputs,
                     const GradusValueType *outputs,
                     GradusCost            *cost)
{
  cost->flops = cost->bytes_read = cost->bytes_written = 0;
}

void
gradus_op_strides (const GradusShape *shape, gint64 *strides)
{
  gint64 stride = 1;

  for (guint i = shape->rank; i-- > 0;)
    {
      strides[i] = stride;
      stride *= shape->dims[i];
    }
}

void
gradus_op_unravel (const GradusShape *shape, gint64 index, gint64 *coordinates)
{
  for (guint i = shape->rank; i-- > 0;)
    {
      coordinates[i] = index % shape->dims[i];
      index /= shape->dims[i];
    }
}

gboolean
gradus_op_emit (GradusProgram *program,
                const char    *op,
                GradusValueId *output,
                GError       **error,
                guint          n_inputs,
                ...)
{
  GradusValueId inputs[8];
  va_list       args;

  g_assert (n_inputs <= G_N_ELEMENTS (inputs));
  va_start (args, n_inputs);
  for (guint i = 0; i < n_inputs; i++)
    inputs[i] = va_arg (args, GradusValueId);
  va_end (args);
  return gradus_program_add_node (program, op, 0, inputs, n_inputs, output, error, NULL);
}

const GradusValueType *
gradus_op_type (GradusProgram *program, GradusValueId id)
{
  return &gradus_program_value (program, id)->type;
}
