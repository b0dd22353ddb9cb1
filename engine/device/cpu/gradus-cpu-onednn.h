/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/cpu/gradus-cpu.h"

G_BEGIN_DECLS

/* What the rest of the device knows of oneDNN: calls of the library stand in gradus-cpu-onednn-*.c
 * alone. Primitives are single-threaded and take their scratch from the caller; executing one with
 * different memories on several threads at a time is allowed. */

/* Once a process; keeps oneDNN at @isa or below. */
gboolean    gradus_cpu_onednn_init    (GradusCpuIsa isa, GError **error);
char       *gradus_cpu_onednn_version (void);
const char *gradus_cpu_onednn_isa     (void);

/* C[m,n] = relu? (A[m,k] B[k,n] + bias[n]?), float32, all strides in elements; @items of them, one
 * after the other at the strides given. */
typedef struct
{
  gint64   items, a_item, b_item, c_item;
  gint64   m, n, k;
  gint64   a_row, a_column, b_row, b_column, c_row;
  gboolean bias, relu;
} GradusMatmulShape;

typedef struct _GradusOnednnMatmul GradusOnednnMatmul;

/* For @n_slots calls at a time. */
GradusOnednnMatmul *gradus_onednn_matmul_new     (const GradusMatmulShape *shape, guint n_slots, GError **error);
void                gradus_onednn_matmul_free    (GradusOnednnMatmul *self);
gsize               gradus_onednn_matmul_scratch (GradusOnednnMatmul *self);
void                gradus_onednn_matmul_run     (GradusOnednnMatmul *self, guint slot, const float *a, const float *b, const float *bias, float *c, void *scratch);

G_END_DECLS
