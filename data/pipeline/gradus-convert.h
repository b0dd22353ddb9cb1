/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-dtype.h"

G_BEGIN_DECLS

typedef struct
{
  float scale, offset;
} GradusRescale;

/**
 * gradus_convert:
 * @from, @n: elements of type @type
 * @rescales: x * scale + offset, one after the other, each rounded to float32 after each operation
 *
 * Converts to float32, with the same bits on every machine. @to may not overlap @from.
 */
void gradus_convert (const void          *from,
                     GradusDType          type,
                     gsize                n,
                     const GradusRescale *rescales,
                     guint                n_rescales,
                     float               *to);

G_END_DECLS
