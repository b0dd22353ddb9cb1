/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-observer.h"

G_BEGIN_DECLS

/**
 * GradusCheckpointWriter:
 *
 * Writes checkpoints on a thread of its own, one at a time: file, then the observer's row, then
 * the old ones go, the row first. On a full disk it says so once and tries again every second.
 * Called from the training thread.
 */
typedef struct _GradusCheckpointWriter GradusCheckpointWriter;

/* @bytes: of the tensors; the buffer for the copy is allocated and touched here. Files in @folder of
 * steps up to @step count as this run's, later ones are removed: they were never reached by what goes
 * on from here. */
GradusCheckpointWriter *gradus_checkpoint_writer_new  (const char     *workspace,
                                                       const char     *folder,
                                                       GradusObserver *observer,
                                                       guint           keep,
                                                       gsize           bytes,
                                                       gint64          step,
                                                       GError        **error);
/* Waits for the write in progress, unless the disk is full. */
void gradus_checkpoint_writer_free (GradusCheckpointWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusCheckpointWriter, gradus_checkpoint_writer_free)

/* Which earlier checkpoint is the best, and which one early stopping goes back to; -1: none. */
void gradus_checkpoint_writer_set_marks (GradusCheckpointWriter *self, gint64 best, gint64 restore);

/* TRUE once nothing is being written, waiting at most @microseconds. */
gboolean gradus_checkpoint_writer_wait (GradusCheckpointWriter *self, gint64 microseconds);
/* Whether it waits for room on the disk. */
gboolean gradus_checkpoint_writer_is_full (GradusCheckpointWriter *self);
/* Gives up the write that waits for room. */
void     gradus_checkpoint_writer_cancel (GradusCheckpointWriter *self);

/* Where to copy the tensors; only while nothing is being written. */
guint8  *gradus_checkpoint_writer_buffer (GradusCheckpointWriter *self);
/* Step of the last file handed over; -1 before. */
gint64   gradus_checkpoint_writer_last   (GradusCheckpointWriter *self);

/* @header, @metrics: taken. */
void gradus_checkpoint_writer_submit (GradusCheckpointWriter *self,
                                      gint64                  step,
                                      GByteArray             *header,
                                      char                   *metrics,
                                      gboolean                best,
                                      gboolean                restore);

G_END_DECLS
