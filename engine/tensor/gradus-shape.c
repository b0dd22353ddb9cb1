/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/gradus-shape.h"

#include <stdarg.h>

GradusShape
gradus_shape (guint rank, ...)
{
  GradusShape shape = { .rank = rank };
  va_list     args;

  g_return_val_if_fail (rank <= GRADUS_MAX_RANK, shape);

  va_start (args, rank);
  for (guint i = 0; i < rank; i++)
    shape.dims[i] = va_arg (args, gint64);
  va_end (args);
  return shape;
}

gboolean
gradus_shape_equal (const GradusShape *a, const GradusShape *b)
{
  if (a->rank != b->rank)
    return FALSE;
  for (guint i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i])
      return FALSE;
  return TRUE;
}

gboolean
gradus_shape_is_free (const GradusShape *shape)
{
  for (guint i = 0; i < shape->rank; i++)
    if (shape->dims[i] < 0)
      return TRUE;
  return FALSE;
}

gboolean
gradus_shape_has_time (const GradusShape *shape)
{
  for (guint i = 0; i < shape->rank; i++)
    if (shape->dims[i] == GRADUS_DIM_TIME)
      return TRUE;
  return FALSE;
}

GradusShape
gradus_shape_bind (const GradusShape *shape, GradusSizes sizes)
{
  GradusShape bound = *shape;

  for (guint i = 0; i < bound.rank; i++)
    if (bound.dims[i] == GRADUS_DIM_BATCH)
      bound.dims[i] = sizes.batch;
    else if (bound.dims[i] == GRADUS_DIM_TIME)
      bound.dims[i] = sizes.time;
  return bound;
}

gint64
gradus_time_bucket (gint64 time)
{
  gint64 step = time <= 64 ? 8 : time <= 256 ? 16 : 64;

  return (time + step - 1) / step * step;
}

gint64
gradus_shape_count (const GradusShape *shape)
{
  gint64 count = 1;

  for (guint i = 0; i < shape->rank; i++)
    {
      if (shape->dims[i] < 0)
        return -1;
      if (shape->dims[i] != 0 && count > (G_GINT64_CONSTANT (1) << 62) / shape->dims[i])
        return -1;
      count *= shape->dims[i];
    }
  return count;
}

char *
gradus_shape_to_string (const GradusShape *shape)
{
  GString *string = g_string_new ("(");

  for (guint i = 0; i < shape->rank; i++)
    {
      if (i > 0)
        g_string_append (string, ", ");
      if (shape->dims[i] < 0)
        g_string_append (string, "None");
      else
        g_string_append_printf (string, "%" G_GINT64_FORMAT, shape->dims[i]);
    }
  g_string_append (string, shape->rank == 1 ? ",)" : ")");
  return g_string_free (string, FALSE);
}
