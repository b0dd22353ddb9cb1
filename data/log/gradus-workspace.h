/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-error.h"

G_BEGIN_DECLS

/**
 * GradusWorkspace:
 *
 * A folder on a local file system with `runs.sqlite` (the run log), `models/`, `checkpoints/` and
 * `locks/`. Reference counted; every function may be called from any thread. It owns the process's
 * one writing connection to the log, opened at the first write and shared, a transaction at a time,
 * by the recorder and by the functions of gradus-run.h. Open a folder once a process.
 */
typedef struct _GradusWorkspace GradusWorkspace;

/**
 * GradusWorkspaceFlags:
 * @GRADUS_WORKSPACE_CREATE: make the folder and the log if they are not there
 * @GRADUS_WORKSPACE_READ_ONLY: never write, whatever the folder allows
 */
typedef enum
{
  GRADUS_WORKSPACE_CREATE = 1 << 0,
  GRADUS_WORKSPACE_READ_ONLY = 1 << 1,
} GradusWorkspaceFlags;

/* `$XDG_DATA_HOME/gradus`. */
char *gradus_workspace_default_path (void);

/**
 * gradus_workspace_open:
 * @path: (nullable): the folder; NULL for the default
 *
 * Opens the workspace, brings an older log to this version's schema step by step, and marks the
 * runs whose writer died as interrupted. A folder that cannot be written, and a log of a newer
 * version, are opened for reading: see gradus_workspace_read_only_reason().
 *
 * Errors: REFUSED (a file stands where the folder should be, or the log is some other program's
 * database), NOT_FOUND (not there and CREATE not given), CORRUPT (not a database, or damaged),
 * BUSY (another process keeps it locked for longer than five seconds), NO_SPACE, READ_ONLY (cannot
 * be created there), IO.
 */
GradusWorkspace *gradus_workspace_open (const char          *path,
                                        GradusWorkspaceFlags flags,
                                        GError             **error) G_GNUC_WARN_UNUSED_RESULT;

GradusWorkspace *gradus_workspace_ref (GradusWorkspace *self);
void             gradus_workspace_unref (GradusWorkspace *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusWorkspace, gradus_workspace_unref)

/* Absolute paths, owned by the workspace: the folder, and the log's file. */
const char *gradus_workspace_path (GradusWorkspace *self);
const char *gradus_workspace_log_path (GradusWorkspace *self);

/* NULL if the workspace can be written; else a translated sentence that says why it cannot. */
const char *gradus_workspace_read_only_reason (GradusWorkspace *self);

/* The absolute path of @relative, as stored in checkpoint.path. */
char *gradus_workspace_resolve (GradusWorkspace *self, const char *relative);

/* `checkpoints/<uuid>`, absolute. Nothing is made. */
char *gradus_workspace_checkpoint_folder (GradusWorkspace *self, const char *uuid);

/* `locks/<uuid>`, absolute. */
char *gradus_workspace_lock_path (GradusWorkspace *self, const char *uuid);

/* Marks runs that say running, paused or queued-and-claimed and whose lock is free as interrupted
 * (what open does too). Returns how many; -1 with an error. */
int gradus_workspace_recover (GradusWorkspace *self, GError **error);

/* Version of the SQLite library at work, static. */
const char *gradus_workspace_sqlite_version (void);

G_END_DECLS
