/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-activation.h"

#include <string.h>

#include "ops/gradus-op-family.h"

gboolean
gradus_op_activation_is_relu (const GradusNode *node)
{
  return strcmp (gradus_node_string (node, "activation"), "relu") == 0;
}

gboolean
gradus_op_check_activation (const GradusNode *node, const GradusValueType *inputs, GError **error)
{
  const char *activation = gradus_node_string (node, "activation");

  if (strcmp (activation, "linear") == 0 || strcmp (activation, "relu") == 0)
    return TRUE;
  return gradus_op_refuse (node, inputs, error,
                           _ ("It takes the activation “linear” or “relu”, not “%s”."), activation);
}

gboolean
gradus_op_activation_gradient (GradusProgram    *program,
                               const GradusNode *node,
                               GradusValueId     dy,
                               GradusValueId    *dz,
                               GError          **error)
{
  *dz = dy;
  return !gradus_op_activation_is_relu (node)
         || gradus_op_emit (program, "relu_grad", dz, error, 2, dy, node->outputs[0]);
}

gboolean
gradus_op_bias_gradient (GradusProgram *program,
                         GradusValueId  dy,
                         GradusValueId *dbias,
                         GError       **error)
{
  gint64 axes[GRADUS_MAX_RANK];
  guint  n = gradus_op_type (program, dy)->shape.rank - 1;

  for (guint i = 0; i < n; i++)
    axes[i] = i;
  return gradus_program_add_node (program, "reduce_sum", 0, &dy, 1, dbias, error, "axes", n, axes,
                                  NULL);
}
