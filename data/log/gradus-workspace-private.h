/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-sqlite.h"
#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/* Private to data/log: the process's writing connection, a transaction at a time. */

/* Takes the writing connection for this thread; READ_ONLY where there is none. */
sqlite3 *gradus_workspace_acquire (GradusWorkspace *self, GError **error);
void     gradus_workspace_release (GradusWorkspace *self);

/* As above with BEGIN IMMEDIATE; end it with one of the two below. */
sqlite3 *gradus_workspace_begin (GradusWorkspace *self, GError **error);
/* Commits and releases; a transaction that cannot be committed is rolled back. */
gboolean gradus_workspace_commit (GradusWorkspace *self, GError **error);
void     gradus_workspace_rollback (GradusWorkspace *self);

/* A connection that only reads, in whatever way the folder allows. */
sqlite3 *gradus_workspace_open_reader (GradusWorkspace *self, GError **error);

/* Pages in the write-ahead log after this process's last commit, and a page's size. */
guint gradus_workspace_wal_pages (GradusWorkspace *self);
/* Once all of the write-ahead log stands in the file it begins anew: copies what is missing. Call
 * it between gradus_workspace_acquire() and release(). */
void gradus_workspace_checkpoint_wal (GradusWorkspace *self);
/* Likewise by a connection of its own, for long and beside the commits; gives what was vacuumed back
 * to the file system. */
void gradus_workspace_copy_wal (GradusWorkspace *self);
/* Makes all that is committed safe from a loss of power. Any thread. */
gboolean gradus_workspace_sync (GradusWorkspace *self, GError **error);

/* Whether a run that says running, paused or (@queued) queued has lost its writer. A queued run that
 * nobody ever claimed has no lock file and simply waits. */
gboolean gradus_workspace_is_abandoned (GradusWorkspace *self, const char *uuid, gboolean queued);

/* Commands that this process has posted; a recorder's own connection would not see them as a change
 * of data_version. */
void gradus_workspace_command_posted (GradusWorkspace *self);
guint gradus_workspace_commands_posted (GradusWorkspace *self);

/* A lock file whose shared lock says that somebody watches the log. */
#define GRADUS_WORKSPACE_WATCH_LOCK ".watch"

/* ms since 1970 UTC. */
gint64 gradus_workspace_now (void);

G_END_DECLS
