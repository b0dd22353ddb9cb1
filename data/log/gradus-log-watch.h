/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-log-reader.h"

G_BEGIN_DECLS

/**
 * GradusLogWatch:
 *
 * A thread with a reader of its own that runs a callback after the log changed, whoever wrote it,
 * at most 20 times a second; and within 60 ms of the commit. While there is a watch, recorders
 * commit every 50 ms. An idle log costs it no wake-ups but two a second.
 */
typedef struct _GradusLogWatch GradusLogWatch;

/* Runs on the watch's thread and may read as it likes; once at the start, then after each change
 * (a lock that became free, so that a run is interrupted now, is one too). Must not free the
 * watch. */
typedef void (*GradusLogWatchFunc) (GradusLogReader *reader, gpointer user_data);

GradusLogWatch *gradus_log_watch_new (GradusWorkspace   *workspace,
                                      GradusLogWatchFunc changed,
                                      gpointer           user_data,
                                      GError           **error) G_GNUC_WARN_UNUSED_RESULT;

/* Runs the callback soon though nothing changed: for who wants to read something else. Any
 * thread. */
void gradus_log_watch_poke (GradusLogWatch *self);

/* Waits for a callback that runs. */
void gradus_log_watch_free (GradusLogWatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusLogWatch, gradus_log_watch_free)

G_END_DECLS
