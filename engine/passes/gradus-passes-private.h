/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "passes/gradus-passes.h"

G_BEGIN_DECLS

/* Each gives a new program and leaves the old one as it is. */

/* Without the nodes that neither an output nor a variable's update needs. */
GradusProgram *gradus_pass_dead_code (GradusProgram *program, GError **error);
/* With bias_add and relu inside the matmul or conv before them, where nobody else reads what
 * stands between. */
GradusProgram *gradus_pass_fuse      (GradusProgram *program, GError **error);
/* With one reshape in place of several in a row, and none where the shape stays. */
GradusProgram *gradus_pass_reshape   (GradusProgram *program, GError **error);

/* How often each value is read, being an output counted once; free with g_free. */
guint *gradus_pass_count_readers (GradusProgram *program);

G_END_DECLS
