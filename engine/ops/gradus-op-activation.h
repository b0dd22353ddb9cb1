/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What matmul and conv2d share: the activation that is folded into them, and their bias. */

#include "graph/gradus-op.h"

G_BEGIN_DECLS

gboolean gradus_op_check_activation    (const GradusNode *node, const GradusValueType *inputs, GError **error);
gboolean gradus_op_activation_is_relu  (const GradusNode *node);
/* The gradient before the activation of @node, given that after it. */
gboolean gradus_op_activation_gradient (GradusProgram *program, const GradusNode *node, GradusValueId dy, GradusValueId *dz, GError **error);
/* The sum of @dy over all axes but the last. */
gboolean gradus_op_bias_gradient       (GradusProgram *program, GradusValueId dy, GradusValueId *dbias, GError **error);

G_END_DECLS
