/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "model/gradus-model.h"

G_BEGIN_DECLS

/**
 * GradusCheckpoint:
 *
 * A checkpoint file opened for reading: one safetensors file whose __metadata__ member "gradus"
 * holds the rest as JSON (format version, step, epoch, position, seed, counters, live overrides,
 * best value, metrics, model, extras). Tensors: "layer/variable" for weights and statistics,
 * "optimizer/layer/variable/slot" for optimizer state. The header is fully validated (length
 * and limit of 100 MB, offsets without holes or overlaps, shapes against the file's size) before
 * the rest is read; what becomes of the file afterwards does not matter.
 */
typedef struct _GradusCheckpoint GradusCheckpoint;

typedef struct
{
  const char   *name;
  GradusDType   dtype;
  GradusShape   shape;
  const guint8 *data; /* borrowed */
  gsize         bytes;
} GradusTensorView;

/* Fails with GRADUS_ERROR_CORRUPT, NOT_FOUND or NEWER. */
GradusCheckpoint       *gradus_checkpoint_open   (const char *path, GError **error);
void                    gradus_checkpoint_close  (GradusCheckpoint *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusCheckpoint, gradus_checkpoint_close)
/* SHA-256 of the file as it was read, in hexadecimal digits; free with g_free. */
char                   *gradus_checkpoint_digest (GradusCheckpoint *self);
gint64                  gradus_checkpoint_step   (GradusCheckpoint *self);
gint64                  gradus_checkpoint_epoch  (GradusCheckpoint *self);
JsonObject             *gradus_checkpoint_state  (GradusCheckpoint *self); /* borrowed; the JSON above */
JsonObject             *gradus_checkpoint_extras (GradusCheckpoint *self); /* borrowed; may be NULL */
GradusModel            *gradus_checkpoint_model  (GradusCheckpoint *self, GError **error); /* transfer full */
guint                   gradus_checkpoint_n_tensors (GradusCheckpoint *self);
const GradusTensorView *gradus_checkpoint_tensor (GradusCheckpoint *self, guint i);
/* Copies weights and statistics, without @optimizer the moving averages of the weights where the run
 * kept them (as what it evaluated), and with @optimizer the optimizer state, into the store. Names, types
 * and shapes must agree. */
gboolean                gradus_checkpoint_restore (GradusCheckpoint *self, GradusVariables *variables, gboolean optimizer, GError **error);

/* Weights, model, and extras (preprocessing, class names) without optimizer state, as a safetensors
 * file written beside @path and renamed onto it, synced. */
gboolean gradus_checkpoint_export_safetensors (GradusCheckpoint *self, const char *path, GError **error);

G_END_DECLS
