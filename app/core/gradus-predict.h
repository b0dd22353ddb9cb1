/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-npy.h"
#include "train/gradus-evaluate.h"

G_BEGIN_DECLS

/**
 * gradus_predict_files:
 * @model: a checkpoint or exported model
 * @names, @paths: @n inputs of the model and the .npy file of each; the first axis counts samples. A
 *   name may be NULL where the model has one input
 * @folder: where NAME.npy of every output goes; made if it is not there
 * @prepared: whether the arrays are as the model gets them; otherwise the preparation that travels
 *   with the model (rescaling and so on) is done first
 * @n_samples: (out) (optional)
 *
 * Refuses names the model does not have, shapes that do not fit, and arrays of different lengths.
 */
gboolean gradus_predict_files (GradusCheckpoint  *model,
                               const char *const *names,
                               const char *const *paths,
                               guint              n,
                               const char        *folder,
                               gboolean           prepared,
                               gint64            *n_samples,
                               GError           **error);

G_END_DECLS
