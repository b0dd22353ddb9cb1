/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/cpu/gradus-cpu.h"
#include "gradus-pool.h"

G_BEGIN_DECLS

/* Elements that one tile of an elementwise kernel handles: 64 KiB of float32. */
#define GRADUS_CPU_TILE 16384
/* Partial results that reductions keep side by side: a constant, so that bits are the same at every
 * instruction-set level. */
#define GRADUS_CPU_LANES 16

typedef struct
{
  GradusPool             *pool;
  double                  grain;
  const GradusKernel     *kernel;
  const GradusKernelArgs *args;
} GradusCpuCall;

/**
 * GradusKernel:
 * @tile, @n_tiles: the work, cut by shapes alone; @tile gets the GradusCpuCall
 * @run: instead of @tile, for work in several stages; neither allocates, locks nor waits
 * @nanoseconds: estimate of the whole work on one thread, for the grain rule
 * @scratch: bytes wanted in GradusKernelArgs.scratch
 * @finalize: frees what the kernel owns but itself; may be NULL
 *
 * Families embed it as their first member.
 */
struct _GradusKernel
{
  const char    *provider;
  GradusTileFunc tile;
  guint          n_tiles;
  void (*run) (const GradusCpuCall *call);
  double nanoseconds;
  gsize  scratch;
  void (*finalize) (GradusKernel *self);
};

/* How an op is done here. @param is the family's own. */
typedef struct
{
  const char *op;
  GradusKernel *(*prepare) (const GradusKernelRequest *request, gconstpointer param, GError **error);
  gconstpointer param;
} GradusCpuRow;

/* A zeroed kernel of @size bytes, one tile; freed by the device with g_free. */
GradusKernel *gradus_cpu_kernel_new (gsize size, const char *provider);
#define gradus_cpu_kernel_create(Type, provider) \
  ((Type *) gradus_cpu_kernel_new (sizeof (Type), provider))

/* All tiles of func (data, tile): on the pool, or on this thread when @nanoseconds of work are not
 * worth waking anybody. */
static inline void
gradus_cpu_for (const GradusCpuCall *call, GradusTileFunc func, gpointer data, guint n_tiles, double nanoseconds)
{
  if (n_tiles > 1 && nanoseconds >= call->grain)
    gradus_pool_run (call->pool, func, data, n_tiles);
  else
    for (guint i = 0; i < n_tiles; i++)
      func (data, i);
}

static inline guint
gradus_cpu_tiles (gint64 n, gint64 per_tile)
{
  return (guint) ((n + per_tile - 1) / per_tile);
}

static inline gint64
gradus_cpu_count (const GradusValueType *type)
{
  return gradus_shape_count (&type->shape);
}

/* Refuses a type that the family has no loop for. */
GradusKernel *gradus_cpu_unsupported (const GradusKernelRequest *request, GError **error);

/* Tables of the families, ended by a NULL op. Those of the kernels in C exist once per level. */
#define GRADUS_CPU_PASTE_(a, b) a##b
#define GRADUS_CPU_PASTE(a, b) GRADUS_CPU_PASTE_ (a, b)
#define GRADUS_CPU_ROWS(family) GRADUS_CPU_PASTE (gradus_cpu_##family##_rows_, GRADUS_CPU_LEVEL)
#define GRADUS_CPU_DECLARE(level)                             \
  extern const GradusCpuRow gradus_cpu_unary_rows_##level[];  \
  extern const GradusCpuRow gradus_cpu_binary_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_axis_rows_##level[];   \
  extern const GradusCpuRow gradus_cpu_reduce_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_shape_rows_##level[];  \
  extern const GradusCpuRow gradus_cpu_place_rows_##level[];  \
  extern const GradusCpuRow gradus_cpu_pool_rows_##level[];   \
  extern const GradusCpuRow gradus_cpu_resample_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_loss_rows_##level[];   \
  extern const GradusCpuRow gradus_cpu_pointwise_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_statistic_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_norm_rows_##level[];   \
  extern const GradusCpuRow gradus_cpu_norm_sample_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_softmax_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_random_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_recurrent_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_recurrent_grad_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_sequence_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_optimizer_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_adafactor_rows_##level[]; \
  extern const GradusCpuRow gradus_cpu_step_rows_##level[];   \
  extern const GradusCpuRow gradus_cpu_penalty_rows_##level[];
GRADUS_CPU_DECLARE (baseline)
GRADUS_CPU_DECLARE (avx2)
GRADUS_CPU_DECLARE (avx512)
extern const GradusCpuRow gradus_cpu_matmul_rows[];
extern const GradusCpuRow gradus_cpu_onednn_conv_rows[];

G_END_DECLS
