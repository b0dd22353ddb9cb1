/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-preparation.h"
#include "gradus-session.h"
#include "log/gradus-recorder.h"
#include "train/gradus-checkpoint.h"

G_BEGIN_DECLS

/* A run that waits or is on. */
typedef struct
{
  gint64         run;
  char          *uuid;
  GradusRecipe  *recipe;
  GradusRunLock *lock;   /* given away when the run begins */
  gboolean       resume; /* from its last checkpoint */
} GradusJob;

void gradus_job_free (GradusJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusJob, gradus_job_free)

/* A command as the trainer takes it. */
typedef struct
{
  GradusCommandType type;
  gint64            id;
  char             *option;
  double            value;
} GradusCommand;

/* Reads the JSON object of a command; NULL with GRADUS_ERROR_REFUSED. */
GradusCommand *gradus_command_parse (const char *text, gint64 id, GError **error);
void           gradus_command_free (GradusCommand *command);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusCommand, gradus_command_free)

/**
 * GradusTap:
 *
 * An observer that hands everything on to @inner and tells the listener what it wants to know.
 */
typedef struct
{
  GradusObserver         observer;
  GradusObserver        *inner;
  GradusSession         *session;
  const char            *uuid;
  GArray         *roles; /* of guint8, by the series' handle */
  GMutex          mutex;
  gboolean        gathering; /* an epoch ended, and its values are coming */
  GradusProgress  epoch;     /* what is known of it */
} GradusTap;

GradusTap *gradus_tap_new (GradusSession *session, const char *uuid, GradusObserver *inner);
void       gradus_tap_free (GradusTap *tap);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusTap, gradus_tap_free)

struct _GradusSession
{
  GObject parent_instance;

  GradusWorkspace      *workspace;
  GradusRecorder       *recorder;
  GradusSessionListener listener;
  gpointer              listener_data;
  GThread              *thread;

  GMutex         mutex;
  GCond          changed;
  GQueue         queue;   /* of GradusJob */
  GradusJob     *current;
  GradusTrainer *trainer; /* of @current, once it is prepared */
  GPtrArray     *early;   /* of GradusCommand: came before the trainer */
  gboolean       stopping; /* @current was asked to stop */
  gboolean       stalled;  /* paused because the log cannot be written */
  gboolean       closing;
};

/* Runs @job to its end on the calling thread. */
void gradus_session_run_job (GradusSession *self, GradusJob *job);
/* Gives the trainer a command, now or when it is there. The mutex is held. */
void gradus_session_post (GradusSession *self, const GradusCommand *command);
/* Fills @progress from the trainer; FALSE if no run is on. */
gboolean gradus_session_progress_locked (GradusSession *self, GradusProgress *progress);

G_END_DECLS
