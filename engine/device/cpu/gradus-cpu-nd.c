/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-nd.h"

void
gradus_cpu_nd_contiguous (const GradusShape *shape, gint64 *strides)
{
  gint64 stride = 1;

  for (gint i = (gint) shape->rank - 1; i >= 0; i--)
    {
      strides[i] = stride;
      stride *= shape->dims[i];
    }
}

void
gradus_cpu_nd_broadcast (const GradusShape *from, const GradusShape *to, gint64 *strides)
{
  gint64 own[GRADUS_MAX_RANK];
  guint shift = to->rank - from->rank;

  gradus_cpu_nd_contiguous (from, own);
  for (guint i = 0; i < to->rank; i++)
    if (i < shift || (from->dims[i - shift] == 1 && to->dims[i] != 1))
      strides[i] = 0;
    else
      strides[i] = own[i - shift];
}

static void
move_loop (GradusCpuNd *nd, guint to, guint from)
{
  nd->dims[to] = nd->dims[from];
  for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
    nd->strides[k][to] = nd->strides[k][from];
}

static gboolean
can_join (const GradusCpuNd *nd, guint outer, guint inner)
{
  for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
    if (nd->strides[k][outer] != nd->strides[k][inner] * nd->dims[inner])
      return FALSE;
  return TRUE;
}

void
gradus_cpu_nd_collapse (GradusCpuNd *nd)
{
  guint rank = 0;

  for (guint i = 0; i < nd->rank; i++)
    {
      if (nd->dims[i] == 1)
        continue;
      if (rank > 0 && can_join (nd, rank - 1, i))
        {
          gint64 joined = nd->dims[rank - 1] * nd->dims[i];
          move_loop (nd, rank - 1, i);
          nd->dims[rank - 1] = joined;
        }
      else
        move_loop (nd, rank++, i);
    }
  if (rank == 0)
    {
      nd->dims[0] = 1;
      for (guint k = 0; k < GRADUS_CPU_ND_OPERANDS; k++)
        nd->strides[k][0] = 1;
      rank = 1;
    }
  nd->rank = rank;
  nd->inner = nd->dims[rank - 1];
  nd->outer = 1;
  for (guint i = 0; i + 1 < rank; i++)
    nd->outer *= nd->dims[i];
}
