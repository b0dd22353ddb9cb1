/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"
#include "gradus-file.h"

G_BEGIN_DECLS

/**
 * GradusIdx:
 * @n: samples, the first axis of the file
 * @dtype: uint8, int32 (for the file's int8, int16 and int32), float32 or float64
 * @rank, @dims: of one sample
 * @data: a .gz file's samples, unpacked; NULL otherwise
 *
 * An IDX file as of the MNIST data set: big-endian 0, 0, type, number of axes, one uint32 per axis,
 * then the elements row by row. A gzip file is recognised by its content and unpacked into memory.
 * Reading is thread-safe.
 */
typedef struct
{
  GradusFile  file;
  guint8      type;
  gint64      n;
  GradusDType dtype;
  guint       rank;
  gint64      dims[GRADUS_BATCH_MAX_RANK];
  gint64      header;
  gint64      row;  /* bytes of a sample in the file */
  guint8     *data; /* of types wider than a byte already in the machine's byte order */
} GradusIdx;

/**
 * gradus_idx_open:
 *
 * Checks everything before allocating: the magic number, the type, the axes, and that the file is
 * exactly as long as they say. Fails with GRADUS_ERROR_REFUSED naming the file, the byte and what
 * would be right, with _NOT_FOUND, _IO, or with _NO_MEMORY if unpacked it would fill more than half
 * of the machine's memory.
 */
GradusIdx *gradus_idx_open (const char *path, GError **error);
void       gradus_idx_free (GradusIdx *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusIdx, gradus_idx_free)

/* Samples @first to @first + @n - 1 in @dtype to @out. */
gboolean gradus_idx_read (GradusIdx *self, gint64 first, gint64 n, void *out, GError **error);
/* The sample where it lies in memory in @dtype, or NULL. */
const void *gradus_idx_peek (GradusIdx *self, gint64 sample);
/* Where a sample starts in the (unpacked) file. */
gint64 gradus_idx_byte (GradusIdx *self, gint64 sample);

G_END_DECLS
