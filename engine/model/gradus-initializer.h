/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-json.h"
#include "tensor/gradus-shape.h"

G_BEGIN_DECLS

/**
 * GradusInitializer:
 *
 * One of Keras's initialisers with its arguments; a plain value. The fans are Keras's: of a matrix
 * rows and columns, of a kernel (..., in, out) times the size of the window.
 */
typedef struct
{
  guint    kind; /* index into the table of gradus-initializer.c */
  double   a, b; /* value; mean and stddev; minval and maxval; gain; scale */
  guint    mode, distribution; /* of VarianceScaling */
  gboolean has_seed;
  gint64   seed;
} GradusInitializer;

/* The one that Keras calls @name, with its defaults; @name must be one. */
const GradusInitializer *gradus_initializer_named (const char *name);

/* Reads what stands at @key: a name, or an object with class_name and config. Refuses through the
 * cursor and returns FALSE. */
gboolean gradus_initializer_read (GradusInitializer *self,
                                  GradusJsonObject  *cursor,
                                  const char        *key,
                                  JsonNode          *node);
JsonNode *gradus_initializer_write (const GradusInitializer *self);

/* Fills @n = count of @shape numbers, keyed by (@seed, @stream) alone. */
void gradus_initializer_fill (const GradusInitializer *self,
                              const GradusShape       *shape,
                              guint64                  seed,
                              const char              *stream,
                              float                   *data,
                              gsize                    n);

G_END_DECLS
