/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-dtype.h"
#include "tensor/gradus-shape.h"

G_BEGIN_DECLS

/**
 * GradusNpy:
 *
 * An array in NumPy's file format (versions 1 to 3), row-major. Read are floats of 4 and 8 bytes,
 * signed integers of 4 and 8, bytes and booleans, of either byte order.
 */
typedef struct
{
  GradusDType dtype;
  GradusShape shape;
  gsize       bytes;
  void       *data;
} GradusNpy;

/* Reads the whole file, which is held against its own header before anything is allocated. Fails
 * with GRADUS_ERROR_NOT_FOUND, _IO, or _REFUSED naming the file, the place and what would be
 * right. Free with gradus_npy_free(). */
GradusNpy *gradus_npy_read (const char *path, GError **error);
void       gradus_npy_free (GradusNpy *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusNpy, gradus_npy_free)

/* Writes an array as version 1.0 beside @path and renames it onto it. */
gboolean gradus_npy_write (const char        *path,
                           GradusDType        dtype,
                           const GradusShape *shape,
                           const void        *data,
                           GError           **error);

G_END_DECLS
