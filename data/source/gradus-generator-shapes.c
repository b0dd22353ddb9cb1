/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-generator-shapes.h"

#include <math.h>

/* Random numbers of one picture. */
#define DRAWS 8

enum
{
  MASK,
  SHAPE,
  HALF,
  POSITION,
};
static const char *const target_names[] = { "mask", "shape", "half", "position" };
G_STATIC_ASSERT (G_N_ELEMENTS (target_names) == GRADUS_N_SHAPE_TARGETS);

void
gradus_shape_picture_draw (GradusShapePicture *self, const GradusPhilox *draws, gint64 sample)
{
  double at[DRAWS];

  for (guint i = 0; i < DRAWS; i++)
    at[i] = gradus_philox_double (draws, sample * DRAWS + i);
  self->kind = MIN ((guint) (3 * at[0]), 2);
  self->radius = 0.14 + 0.12 * at[1];
  /* The whole shape is in the picture. */
  self->row = self->radius + (1 - 2 * self->radius) * at[2];
  self->column = self->radius + (1 - 2 * self->radius) * at[3];
  self->light = 0.6 + 0.4 * at[4];
  self->ground = 0.3 * at[5];
}

static gboolean
covers (const GradusShapePicture *self, double row, double column)
{
  double down = (row - self->row) / self->radius;
  double right = (column - self->column) / self->radius;

  switch (self->kind)
    {
    case 0:
      return down * down + right * right <= 1;
    case 1:
      return fabs (down) <= 0.85 && fabs (right) <= 0.85;
    default:
      return down >= -1 && down <= 0.8 && fabs (right) <= (down + 1) / 1.8;
    }
}

static gboolean
covers_pixel (const GradusShapePicture *self, guint size, guint pixel)
{
  return covers (self, (pixel / size + 0.5) / size, (pixel % size + 0.5) / size);
}

void
gradus_shape_picture_image (const GradusShapePicture *self,
                            guint                     size,
                            const GradusPhilox       *noises,
                            gint64                    sample,
                            double                    noise,
                            float                    *out)
{
  for (guint i = 0; i < size * size; i++)
    out[i] = (float) ((covers_pixel (self, size, i) ? self->light : self->ground)
                      + noise * gradus_philox_normal (noises, sample * size * size + i));
}

void
gradus_shape_picture_target (const GradusShapePicture *self, guint size, guint which, void *out)
{
  switch (which)
    {
    case MASK:
      for (guint i = 0; i < size * size; i++)
        ((float *) out)[i] = covers_pixel (self, size, i);
      break;
    case SHAPE:
      *(gint32 *) out = self->kind;
      break;
    case HALF:
      *(gint32 *) out = self->column >= 0.5;
      break;
    default:
      ((float *) out)[0] = (float) self->row;
      ((float *) out)[1] = (float) self->column;
    }
}

int
gradus_shape_target_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (target_names); i++)
    if (g_str_equal (name, target_names[i]))
      return i;
  return -1;
}

void
gradus_shape_target_spec (guint which, guint size, GradusArraySpec *spec)
{
  gboolean is_class = which == SHAPE || which == HALF;

  *spec = (GradusArraySpec){ .name = target_names[which],
                             .dtype = is_class ? GRADUS_DTYPE_INT32 : GRADUS_DTYPE_FLOAT32,
                             .rank = is_class ? 0 : which == MASK ? 3 : 1 };
  if (which == MASK)
    {
      spec->dims[0] = spec->dims[1] = size;
      spec->dims[2] = 1;
    }
  else if (which == POSITION)
    spec->dims[0] = 2;
}
