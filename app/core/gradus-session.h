/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>

#include "gradus-observer.h"
#include "gradus-recipe.h"
#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/**
 * GradusSession:
 *
 * Turns recipes into runs, one after the other, on a thread of its own. One session a process and
 * workspace: it owns the workspace's writing connection (the recorder). Runs are named by their
 * uuid. What happens is told by the log alone; the listener below is for a front end that shows
 * progress without reading it.
 *
 * Commands come through the log, as a JSON object in `command.command`, from any process:
 *
 *     {"command": "pause"}       after the step in progress; the run's status becomes paused
 *     {"command": "resume"}
 *     {"command": "step"}        one step; the run is paused afterwards
 *     {"command": "stop"}        stop and keep: a checkpoint is written, status stopped
 *     {"command": "checkpoint"}  one now, beside those of the recipe
 *     {"command": "set", "name": NAME, "value": NUMBER}
 *                                NAME: learning_rate, clip, weight_decay, momentum, dropout,
 *                                batch_size (from the next epoch, up to the planned maximum)
 *
 * Each is answered by `taken_step` and an event (kind intervention, or a message of severity
 * error that says why it could not be done). A queued run takes "stop" when its turn comes: it
 * never starts.
 *
 * Every function may be called from any thread and may wait for the disk, so not from a main loop,
 * except where it says otherwise.
 */
#define GRADUS_TYPE_SESSION (gradus_session_get_type ())
G_DECLARE_FINAL_TYPE (GradusSession, gradus_session, GRADUS, SESSION, GObject)

/**
 * GradusProgress:
 * @step, @n_steps: optimizer updates done and to do in all
 * @epoch: 1-based; @epoch_step of @epoch_steps in it
 * @loss, @accuracy: running means of this epoch; NaN when not known
 * @validation_loss, @validation_accuracy, @test_loss, @test_accuracy: last known; NaN before
 * @throughput: samples a second
 * @seconds_left: estimate; negative when not known
 */
typedef struct
{
  char            uuid[37];
  GradusRunStatus status;
  gint64          step, n_steps;
  gint64          epoch, n_epochs;
  gint64          epoch_step, epoch_steps;
  double          loss, accuracy;
  double          validation_loss, validation_accuracy;
  double          test_loss, test_accuracy;
  double          throughput;
  double          seconds_left;
} GradusProgress;

/**
 * GradusSessionListener:
 *
 * Called on the session's threads; must return at once. Any may be NULL.
 */
typedef struct
{
  void (*started) (const char *uuid, gpointer data);
  /* After every epoch's validation. */
  void (*epoch) (const GradusProgress *progress, gpointer data);
  /* What went into the log as a finding, warning or error; @details: its JSON, may be NULL. */
  void (*event) (const char    *uuid,
                 gint64         step,
                 GradusSeverity severity,
                 const char    *message,
                 const char    *details,
                 gpointer       data);
  /* @error: why it failed, or NULL. */
  void (*ended) (const char *uuid, GradusRunStatus status, const GError *error, gpointer data);
  /* The log cannot be written and the run waits, @reason says why; or it can be again. */
  void (*stalled) (gboolean stalled, const char *reason, gpointer data);
} GradusSessionListener;

/* Opens (and makes) the workspace and starts the recorder. @workspace: folder, NULL for the
 * default. */
GradusSession *gradus_session_new (const char *workspace, GError **error);
/* The same in a workspace that is open already, which it refers to. */
GradusSession *gradus_session_new_in (GradusWorkspace *workspace, GError **error);
/* Copied; @data must outlive the session. Before the first run. */
void gradus_session_set_listener (GradusSession               *self,
                                  const GradusSessionListener *listener,
                                  gpointer                     data);
/* Borrowed. */
GradusWorkspace *gradus_session_get_workspace (GradusSession *self);

/**
 * gradus_session_submit:
 *
 * Makes a run of a copy of @recipe, queued behind those that are waiting, and starts it when its
 * turn comes. What is wrong with data, model or memory is found on the session's thread then,
 * and the run ends as failed; call gradus_summary_new() before to refuse it at the door.
 *
 * Returns: the run's uuid; free with g_free
 */
char *gradus_session_submit (GradusSession *self, GradusRecipe *recipe, GError **error);

/**
 * gradus_session_check_resume:
 *
 * Whether gradus_session_resume() would begin, without touching the run: the run is there and not
 * finished, model and memory suffice, and the training data is what the run began with. Opens the
 * data, so not for the main thread of a window.
 */
gboolean gradus_session_check_resume (GradusSession     *self,
                                      const char        *run,
                                      const char *const *assignments,
                                      GError           **error);

/**
 * gradus_session_resume:
 * @run: uuid, unique name or #id of a stopped, interrupted or failed run, or of a finished one
 *   whose epochs are raised
 * @assignments: (nullable): as gradus_recipe_assign() takes them, NULL-terminated; with none the
 *   run ends with the bits of a run never interrupted
 *
 * Queues the run to go on from its last checkpoint: rows after the checkpoint's step go. A run
 * without a checkpoint starts at its beginning.
 *
 * Returns: the run's uuid; free with g_free
 */
char *gradus_session_resume (GradusSession     *self,
                             const char        *run,
                             const char *const *assignments,
                             GError           **error);

/* Posts a command for @run into the log, as any other process would; @command: see above. A "stop"
 * for a run that waits in this session's queue takes it out at once. */
gboolean
gradus_session_command (GradusSession *self, const char *run, const char *command, GError **error);
/* The run now on; FALSE when there is none. Does not wait: fit for a main loop. */
gboolean gradus_session_get_progress (GradusSession *self, GradusProgress *progress);
/* Uuids of the runs that wait, first to come first. Does not wait. Free with g_strfreev. */
char   **gradus_session_get_queue (GradusSession *self);
/* Moves a waiting run to @position of the queue (0 is next). Does not wait. */
gboolean gradus_session_move (GradusSession *self, const char *uuid, guint position);
/* Asks the run in progress to stop and keep, at once and without the log. Does not wait. */
void     gradus_session_stop (GradusSession *self);
/* Waits until no run is on or queued. */
void     gradus_session_wait (GradusSession *self);
/* Stops and keeps the run in progress, leaves the queue in the log as queued, writes all that is
 * held, closes. Called by the last unref too. */
void     gradus_session_close (GradusSession *self);

G_END_DECLS
