/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-observer.h"
#include "log/gradus-run-lock.h"
#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/**
 * GradusRecorder:
 *
 * Writes the runs of this process into the log, on a thread of its own. A run's trainer talks to
 * the #GradusObserver that gradus_recorder_attach() returns; its calls copy a record into an array
 * (tens of nanoseconds, no allocation for a scalar) and return. The thread swaps the array and
 * commits all it holds in one transaction.
 *
 * When it commits: 50 ms after the first record that waits while somebody watches the log, 100 ms
 * after it otherwise, and at once when the queue is half full. Somebody watches while any process
 * has a #GradusLogWatch on the workspace. (A period of a second, though cheaper still, could not
 * keep the promise that after kill -9 every record handed over 200 ms earlier is in the log.) The
 * write-ahead log is synced to the disk every 5 s, before a checkpoint's row and before a change of
 * status.
 *
 * When the queue is full the producer waits, and the waits are counted; nothing is dropped. When
 * the disk is full everything is kept and tried again four times a second; see @stalled. Only where
 * the log fails of something else for five seconds (its file is gone, the disk is broken) are
 * records lost; see @failed and gradus_recorder_settle().
 */
typedef struct _GradusRecorder GradusRecorder;

/**
 * GradusRecorderFuncs:
 * @stalled: the log cannot be written (@stalled is TRUE, @reason a translated sentence) or can be
 *   again; a finding about it is in the log of each attached run then. On the recorder's thread,
 *   which must not be made to wait. May be NULL.
 * @failed: after five seconds of trying, the log still fails of something that does not mend itself
 *   (neither a full disk nor another program's lock, which are waited for). Records are lost from
 *   now on, until the log can be written again; the runs that are on should end. On the recorder's
 *   thread. May be NULL.
 */
typedef struct
{
  void (*stalled) (gboolean stalled, const char *reason, gpointer user_data);
  void (*failed) (const char *reason, gpointer user_data);
} GradusRecorderFuncs;

/**
 * GradusRecorderCommandFunc:
 * @command: the JSON object that was posted
 *
 * A command for a run, once each, in order, on the recorder's thread, which must not be made to
 * wait. Answer it with the observer's command_taken. Commands that were posted before the run was
 * attached and never taken are not handed out: they are answered "not taken" when it is attached.
 */
typedef void (*GradusRecorderCommandFunc) (gint64      run,
                                           gint64      id,
                                           const char *command,
                                           gpointer    user_data);

/**
 * GradusRecorderStats:
 * @records: scalars and other records taken over
 * @committed: those that are in the log
 * @waits: times a producer found the queue full
 * @wait_us: and waited, in total
 * @commits: transactions
 * @longest_commit_us, @total_commit_us: their time
 */
typedef struct
{
  guint64 records, committed, waits, wait_us, commits, longest_commit_us, total_commit_us;
} GradusRecorderStats;

/**
 * gradus_recorder_new:
 * @capacity: scalars that the queue holds, or 0 for the default (65,536: so many are committed in a
 *   tenth of a second, so that a full queue keeps the promise of 200 ms, too)
 * @funcs: (nullable): copied
 *
 * Errors: as gradus_workspace_open(); READ_ONLY if the workspace cannot be written.
 */
GradusRecorder *gradus_recorder_new (GradusWorkspace           *workspace,
                                     guint                      capacity,
                                     const GradusRecorderFuncs *funcs,
                                     gpointer                   user_data,
                                     GError                   **error) G_GNUC_WARN_UNUSED_RESULT;

/* Any thread. If the log has been stalled for five seconds, what cannot be written is given up from
 * now on: whoever waits for room goes on, and the records are lost, with a warning on stderr. For a
 * program that must end; else a stalled log is waited for. */
void gradus_recorder_give_up (GradusRecorder *self);

/* Writes what is left, syncs, stops the thread. Every observer must have been detached. If the disk
 * is full it gives up after five seconds, with a warning on stderr of how many records are lost. */
void gradus_recorder_free (GradusRecorder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusRecorder, gradus_recorder_free)

/**
 * gradus_recorder_attach:
 * @lock: (transfer full) (nullable): the run's lock if the caller has it; otherwise it is taken
 * @command: (nullable): where the run's commands go
 *
 * Begins to record a run: a new one, or one that is resumed (call gradus_recorder_rewind() next).
 * Sets run.started if it has none; every row's time is in ms since then. The status is the
 * observer's to tell. The observer's functions may be called from several threads.
 *
 * Errors: NOT_FOUND, BUSY (somebody else writes the run), and those of writing.
 */
GradusObserver *gradus_recorder_attach (GradusRecorder           *self,
                                        gint64                    run,
                                        GradusRunLock            *lock,
                                        GradusRecorderCommandFunc command,
                                        gpointer                  user_data,
                                        GError                  **error) G_GNUC_WARN_UNUSED_RESULT;

/* Waits until all of the run that was handed over is in the log, in the file that bears its name
 * and on the disk. Fails if anything of the run was lost. Waits as long as the log is stalled and not
 * given up; without @patient for five seconds of stall only, and what waits counts as lost. */
gboolean gradus_recorder_settle (GradusRecorder *self,
                                 GradusObserver *observer,
                                 gboolean        patient,
                                 GError        **error);

/* Writes what is left of the run, syncs, frees the lock and the observer. Commands that were not
 * taken are answered so. Set the run's last status before. */
void gradus_recorder_detach (GradusRecorder *self, GradusObserver *observer);

/* Returns once everything handed over before is in the log. Fails with NO_SPACE (and keeps
 * everything) where the disk is full; other failures of the log likewise. Any thread but the
 * recorder's. */
gboolean gradus_recorder_flush (GradusRecorder *self, GError **error);

/**
 * gradus_recorder_rewind:
 *
 * For a resume: in one transaction all rows of the run after @step go (scalars, histograms, blobs,
 * findings, checkpoint rows), pyramids and summaries are mended, and an event says so. Waits. The
 * files of the checkpoints whose rows went are removed. @step 0 empties the run.
 */
gboolean gradus_recorder_rewind (GradusRecorder *self,
                                 GradusObserver *observer,
                                 gint64          step,
                                 GError        **error);

void gradus_recorder_get_stats (GradusRecorder *self, GradusRecorderStats *stats);

G_END_DECLS
