/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu.h"

static GradusCpuIsa
detect (void)
{
#if defined(__x86_64__)
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512bw")
      && __builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl"))
    return GRADUS_CPU_ISA_AVX512;
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma"))
    return GRADUS_CPU_ISA_AVX2;
#endif
  return GRADUS_CPU_ISA_BASELINE;
}

const char *
gradus_cpu_isa_name (GradusCpuIsa isa)
{
  static const char *const names[] = { "baseline", "avx2", "avx512" };

  g_return_val_if_fail (isa <= GRADUS_CPU_ISA_AVX512, NULL);
  return names[isa];
}

GradusCpuIsa
gradus_cpu_isa (void)
{
  GradusCpuIsa best = detect ();
  const char *wanted = g_getenv ("GRADUS_CPU_ISA");

  for (GradusCpuIsa isa = GRADUS_CPU_ISA_BASELINE; isa < best; isa++)
    if (g_strcmp0 (wanted, gradus_cpu_isa_name (isa)) == 0)
      return isa;
  return best;
}
