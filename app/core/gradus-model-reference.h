/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-log-reader.h"
#include "log/gradus-workspace.h"
#include "train/gradus-checkpoint.h"

G_BEGIN_DECLS

/**
 * gradus_model_reference_open:
 * @workspace: (nullable): folder; NULL for the default
 * @reference: a file (checkpoint or exported), or RUN for its newest checkpoint, RUN@STEP for that
 *   of a step, RUN@best for the best by the monitored value
 * @path: (out) (optional): the file's path; free with g_free
 *
 * Opens a trained model. A name that is both a file and a run means the file.
 */
GradusCheckpoint *gradus_model_reference_open (const char *workspace,
                                               const char *reference,
                                               char      **path,
                                               GError    **error);

/* The checkpoint of a row of the log. A file with other bytes than were written is damaged:
 * GRADUS_ERROR_CORRUPT. */
GradusCheckpoint *gradus_model_reference_open_row (GradusWorkspace           *workspace,
                                                   const GradusLogCheckpoint *row,
                                                   char                     **path,
                                                   GError                   **error);

G_END_DECLS
