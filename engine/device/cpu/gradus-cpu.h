/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-device.h"

G_BEGIN_DECLS

/* Instruction-set levels for which the kernels in C are compiled; part of the determinism key. */
typedef enum
{
  GRADUS_CPU_ISA_BASELINE,
  GRADUS_CPU_ISA_AVX2,
  GRADUS_CPU_ISA_AVX512,
} GradusCpuIsa;

/* The best level of this processor. The environment variable GRADUS_CPU_ISA (baseline, avx2,
 * avx512) may lower it, for oneDNN as well, so that a run of a lesser machine can be repeated. */
GradusCpuIsa gradus_cpu_isa      (void);
const char  *gradus_cpu_isa_name (GradusCpuIsa isa);

/**
 * gradus_cpu_device_new:
 * @threads: as for gradus_pool_new()
 *
 * The device called "cpu". Work is cut into tiles that depend on shapes alone, each done by one
 * thread with single-threaded library calls, so bits do not depend on @threads. One thread at a
 * time may prepare and run; set_threads is for between two runs.
 */
GradusDevice *gradus_cpu_device_new (guint threads, GError **error);

/* Work estimated below this many nanoseconds stays on the calling thread (default 50,000). 0 makes
 * all tiles spread, for tests of thread independence. */
void gradus_cpu_device_set_grain (GradusDevice *device, double nanoseconds);

/* Versions of the two providers, for a description of the machine. @onednn: free with g_free;
 * @openblas: static. */
void gradus_cpu_libraries (char **onednn, const char **openblas);

G_END_DECLS
