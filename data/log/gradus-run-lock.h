/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/**
 * GradusRunLock:
 *
 * Says that this process writes a run (or has it in its queue): an open-file-description lock on
 * `locks/<run uuid>`, freed by the kernel however the process ends. Any thread.
 */
typedef struct _GradusRunLock GradusRunLock;

/* Takes the lock at once or fails: BUSY (another process, or this one, writes the run), CORRUPT (the
 * name leads out of the folder), READ_ONLY, NO_SPACE, IO. */
GradusRunLock *gradus_run_lock_take (GradusWorkspace *workspace,
                                     const char      *uuid,
                                     GError         **error) G_GNUC_WARN_UNUSED_RESULT;

/* Frees the lock and removes its file. */
void gradus_run_lock_release (GradusRunLock *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusRunLock, gradus_run_lock_release)

/* Whether anybody holds the lock. Takes nothing; works in a read-only workspace. */
gboolean gradus_run_lock_is_held (GradusWorkspace *workspace, const char *uuid);

G_END_DECLS
