/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-convert.h"

#define OPTIMIZED __attribute__ ((optimize ("O3")))

/* No version may use a fused multiply-add: bits would depend on the machine. */
#define RESCALE(name, type, target)                                                                \
  OPTIMIZED target static void name (const type *restrict from, gsize n, GradusRescale r,          \
                                     float *restrict to)                                           \
  {                                                                                                \
    for (gsize i = 0; i < n; i++)                                                                  \
      to[i] = (float) from[i] * r.scale + r.offset;                                                \
  }

RESCALE (rescale_uint8, guint8, )
RESCALE (rescale_int32, gint32, )
RESCALE (rescale_int64, gint64, )
RESCALE (rescale_float64, double, )
RESCALE (rescale_float32, float, )
#if defined(__x86_64__)
RESCALE (rescale_uint8_avx2, guint8, __attribute__ ((target ("avx2"))))
#endif

static void
rescale_in_place (float *values, gsize n, GradusRescale r)
{
  for (gsize i = 0; i < n; i++)
    values[i] = values[i] * r.scale + r.offset;
}

static void
first_rescale (const void *from, GradusDType type, gsize n, GradusRescale r, float *to)
{
  switch (type)
    {
    case GRADUS_DTYPE_FLOAT32:
      rescale_float32 (from, n, r, to);
      break;
    case GRADUS_DTYPE_FLOAT64:
      rescale_float64 (from, n, r, to);
      break;
    case GRADUS_DTYPE_INT32:
      rescale_int32 (from, n, r, to);
      break;
    case GRADUS_DTYPE_INT64:
      rescale_int64 (from, n, r, to);
      break;
    default:
#if defined(__x86_64__)
      if (__builtin_cpu_supports ("avx2"))
        {
          rescale_uint8_avx2 (from, n, r, to);
          break;
        }
#endif
      rescale_uint8 (from, n, r, to);
    }
}

void
gradus_convert (const void          *from,
                GradusDType          type,
                gsize                n,
                const GradusRescale *rescales,
                guint                n_rescales,
                float               *to)
{
  /* -0 as the offset keeps a -0 of the data. */
  static const GradusRescale identity = { 1, -0.0f };

  first_rescale (from, type, n, n_rescales > 0 ? rescales[0] : identity, to);
  for (guint i = 1; i < n_rescales; i++)
    rescale_in_place (to, n, rescales[i]);
}
