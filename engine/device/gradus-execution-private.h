/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-execution.h"

G_BEGIN_DECLS

/* For the execution only. */

/* Device address of the variable called @name; NULL if there is none of this @type. */
void         *gradus_variables_address (GradusVariables *self, const char *name, const GradusValueType *type);
GradusDevice *gradus_variables_device  (GradusVariables *self);

/**
 * GradusKernelSet:
 *
 * The kernels of a plan for one pair of sizes: one per node, NULL for an alias.
 */
typedef struct
{
  GradusSizes      sizes;
  guint64          used; /* when it was last asked for */
  guint            n_nodes;
  GradusKernel   **kernels;
  GradusValueType *types; /* of all values, bound */
  gsize            scratch; /* the largest need of a kernel */
} GradusKernelSet;

GradusKernelSet *gradus_kernel_set_new  (GradusPlan *plan, GradusDevice *device, GradusSizes sizes, GError **error);
void             gradus_kernel_set_free (GradusKernelSet *set, GradusDevice *device);

G_END_DECLS
