/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Element types of values, batches and files. */
typedef enum
{
  GRADUS_DTYPE_FLOAT32,
  GRADUS_DTYPE_FLOAT64,
  GRADUS_DTYPE_INT32,
  GRADUS_DTYPE_INT64,
  GRADUS_DTYPE_UINT8,
  GRADUS_DTYPE_BOOL,
  GRADUS_N_DTYPES
} GradusDType;

/* Bytes of one element. */
gsize gradus_dtype_size (GradusDType dtype);

/* Keras's name of the type ("float32"), static. */
const char *gradus_dtype_name (GradusDType dtype);

/* The type with Keras's @name; FALSE if there is none. */
gboolean gradus_dtype_from_name (const char *name, GradusDType *dtype);

G_END_DECLS
