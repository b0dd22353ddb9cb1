/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "device/ref/gradus-ref.h"

#define WIDEN(type)                                                                                \
  for (gint64 i = 0; i < n; i++)                                                                   \
    to[i] = ((const type *) from)[i];                                                              \
  break

void
gradus_ref_widen (GradusDType dtype, const void *from, gint64 n, double *to)
{
  switch (dtype)
    {
    case GRADUS_DTYPE_FLOAT32:
      WIDEN (float);
    case GRADUS_DTYPE_FLOAT64:
      WIDEN (double);
    case GRADUS_DTYPE_INT32:
      WIDEN (gint32);
    case GRADUS_DTYPE_INT64:
      WIDEN (gint64);
    case GRADUS_DTYPE_UINT8:
    case GRADUS_DTYPE_BOOL:
      WIDEN (guint8);
    default:
      g_assert_not_reached ();
    }
}

static double
within (double value, double lowest, double highest)
{
  return isnan (value) ? 0 : CLAMP (value, lowest, highest);
}

#define ROUND(type, value)                                                                         \
  for (gint64 i = 0; i < n; i++)                                                                   \
    ((type *) to)[i] = (type) (value);                                                             \
  break

void
gradus_ref_round (GradusDType dtype, const double *from, gint64 n, void *to)
{
  switch (dtype)
    {
    case GRADUS_DTYPE_FLOAT32:
      ROUND (float, from[i]);
    case GRADUS_DTYPE_FLOAT64:
      ROUND (double, from[i]);
    case GRADUS_DTYPE_INT32:
      ROUND (gint32, within (from[i], G_MININT32, G_MAXINT32));
    case GRADUS_DTYPE_INT64:
      ROUND (gint64, within (from[i], -9223372036854775808.0, 9223372036854774784.0));
    case GRADUS_DTYPE_UINT8:
      ROUND (guint8, within (from[i], 0, 255));
    case GRADUS_DTYPE_BOOL:
      ROUND (guint8, from[i] != 0);
    default:
      g_assert_not_reached ();
    }
}
