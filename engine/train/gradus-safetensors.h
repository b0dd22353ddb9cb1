/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-checkpoint.h"

G_BEGIN_DECLS

#define GRADUS_SAFETENSORS_MAX_HEADER 100000000
#define GRADUS_SAFETENSORS_MAX_TENSORS 1000000

/**
 * GradusSafetensors:
 *
 * The tensors of a safetensors file and the strings of its __metadata__. Names are owned; the data
 * is borrowed from the bytes that were read. Format:
 * https://github.com/huggingface/safetensors, version of 2023.
 */
typedef struct
{
  GArray     *tensors; /* GradusTensorView, in the order of the data */
  GHashTable *by_name; /* index + 1 */
  GHashTable *metadata;
} GradusSafetensors;

/* Everything is checked before anything is allocated from it: GRADUS_ERROR_CORRUPT. */
gboolean gradus_safetensors_read  (GradusSafetensors *self,
                                   const guint8      *data,
                                   gsize              size,
                                   const char        *path,
                                   GError           **error);
void     gradus_safetensors_clear (GradusSafetensors *self);
const GradusTensorView *gradus_safetensors_find (GradusSafetensors *self, const char *name);

/* The header of a file of these tensors, in this order without holes (@data is not looked at), padded
 * to a multiple of 8 bytes. @metadata: keys and values in turn, ended by NULL. */
GByteArray *gradus_safetensors_header (const GradusTensorView *tensors,
                                       guint                   n,
                                       const char *const      *metadata);

G_END_DECLS
