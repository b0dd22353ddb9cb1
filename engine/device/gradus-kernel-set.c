/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-execution-private.h"

static void
bind_types (GradusKernelSet *set, GradusProgram *program)
{
  guint n_values = gradus_program_n_values (program);

  set->types = g_new (GradusValueType, MAX (n_values, 1));
  for (guint id = 0; id < n_values; id++)
    {
      const GradusValue *value = gradus_program_value (program, id);
      set->types[id].dtype = value->type.dtype;
      set->types[id].shape = gradus_shape_bind (&value->type.shape, set->sizes);
    }
}

static gboolean
prepare_node (GradusKernelSet *set, GradusDevice *device, const GradusNode *node, GError **error)
{
  g_autofree GradusValueType *inputs = g_new0 (GradusValueType, MAX (node->n_inputs, 1));
  g_autofree GradusValueType *outputs = g_new0 (GradusValueType, MAX (node->n_outputs, 1));
  GradusKernelRequest request = { node, inputs, outputs };
  gsize scratch = 0;

  for (guint k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] != GRADUS_NO_VALUE)
      inputs[k] = set->types[node->inputs[k]];
  for (guint k = 0; k < node->n_outputs; k++)
    outputs[k] = set->types[node->outputs[k]];
  if (!device->funcs->prepare (device, &request, &set->kernels[node->id], &scratch, error))
    {
      if (node->layer != NULL)
        g_prefix_error (error, "%s: ", node->layer);
      return FALSE;
    }
  set->scratch = MAX (set->scratch, scratch);
  return TRUE;
}

GradusKernelSet *
gradus_kernel_set_new (GradusPlan *plan, GradusDevice *device, GradusSizes sizes, GError **error)
{
  GradusProgram *program = gradus_plan_program (plan);
  GradusKernelSet *set = g_new0 (GradusKernelSet, 1);

  set->sizes = sizes;
  set->n_nodes = gradus_program_n_nodes (program);
  set->kernels = g_new0 (GradusKernel *, MAX (set->n_nodes, 1));
  bind_types (set, program);
  for (guint i = 0; i < set->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (program, i);
      if (!node->op->alias && !prepare_node (set, device, node, error))
        {
          gradus_kernel_set_free (set, device);
          return NULL;
        }
    }
  return set;
}

void
gradus_kernel_set_free (GradusKernelSet *set, GradusDevice *device)
{
  if (set == NULL)
    return;
  for (guint i = 0; i < set->n_nodes; i++)
    if (set->kernels[i] != NULL)
      device->funcs->kernel_free (device, set->kernels[i]);
  g_free (set->kernels);
  g_free (set->types);
  g_free (set);
}
