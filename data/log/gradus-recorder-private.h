/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

#include "log/gradus-pyramid.h"
#include "log/gradus-recorder.h"
#include "log/gradus-workspace-private.h"

G_BEGIN_DECLS

/* Private to the recorder's files: gradus-recorder.c (its doors), -observer.c (producers), -thread.c
 * (when), -commit.c (transactions, and what they fail of), -write.c (SQL) and gradus-log-keeper.c
 * (disk). */

/* How long a log may not be writable until that counts. */
#define RECORDER_GIVE_UP_US (5 * G_USEC_PER_SEC)

typedef struct _RecorderRun RecorderRun;

typedef struct
{
  RecorderRun     *run;
  char            *name;
  GradusSeriesKind kind;
  /* What follows is guarded by the workspace's writing connection. */
  gboolean      loaded;
  gint64        id;
  gint64        last_step;
  gint64        generation;
  GradusPyramid pyramid;
} RecorderSeries;

/* The observer of one run. */
struct _RecorderRun
{
  GradusObserver            parent;
  GradusRecorder           *recorder;
  gint64                    run;
  GradusRunLock            *lock;
  GradusRecorderCommandFunc command; /* guarded by the recorder's lock; NULL once detached */
  gpointer                  user_data;
  /* When the run began by the monotonic clock, in µs. */
  gint64 origin;
  /* Guarded by the recorder's lock: why records of it were lost; NULL if none were. */
  GError *lost;
  /* Guarded by the recorder's lock: name to handle + 1. */
  GHashTable *series;
  /* The recorder's thread's. */
  gint64 last_command;
};

typedef struct
{
  guint  series;
  gint64 step;
  gint64 time;
  double value;
} RecorderScalar;

typedef enum
{
  ITEM_HISTOGRAM,
  ITEM_BLOB,
  ITEM_EVENT,
  ITEM_STATUS,
  ITEM_TAKEN,
  ITEM_CHECKPOINT,
  ITEM_REMOVED,
  ITEM_DETACH,
} RecorderItemType;

/* Everything that is not a scalar; a record of its own. */
typedef struct
{
  RecorderItemType type;
  RecorderRun     *run;
  guint            series;
  gint64           step;
  gint64           time;
  gint64           id;
  gsize            bytes;
  GradusEventKind  kind;
  GradusSeverity   severity;
  GradusRunStatus  status;
  gboolean         best;
  char            *subject;
  char            *message;
  char            *data;
  GradusHistogram  histogram;
} RecorderItem;

void recorder_item_free (RecorderItem *item);

/* Statements and working memory of the writing side. */
typedef struct
{
  GradusWorkspace    *workspace;
  sqlite3            *db;
  GradusPyramidWriter pyramid;
  sqlite3_stmt       *insert_scalar;
  sqlite3_stmt       *upsert_scalar;
  sqlite3_stmt       *update_series;
  sqlite3_stmt       *insert_histogram;
  sqlite3_stmt       *insert_event;
  RecorderScalar     *sorted;
  guint              *offsets;
  guint               n_offsets;
} RecorderWriter;

gboolean recorder_writer_init (RecorderWriter  *writer,
                               GradusWorkspace *workspace,
                               guint            capacity,
                               GError         **error);
void     recorder_writer_clear (RecorderWriter *writer);

/* All of these inside a transaction of the workspace. */
gboolean recorder_write_scalars (RecorderWriter       *writer,
                                 GPtrArray            *series,
                                 const RecorderScalar *scalars,
                                 guint                 n,
                                 GError              **error);
gboolean recorder_write_item (RecorderWriter *writer,
                              GPtrArray      *series,
                              RecorderItem   *item,
                              GError        **error);
gboolean recorder_write_event (RecorderWriter *writer,
                               gint64          run,
                               gint64          step,
                               gint64          time,
                               GradusEventKind kind,
                               GradusSeverity  severity,
                               const char     *subject,
                               const char     *message,
                               const char     *data,
                               GError        **error);
/* Answers commands that will not be taken any more. */
gboolean recorder_write_untaken (RecorderWriter *writer,
                                 gint64          run,
                                 gint64          time,
                                 const char     *why,
                                 GError        **error);
/* Deletes the rows after @step and collects the paths of the checkpoints that went. */
gboolean recorder_write_rewind (RecorderWriter *writer,
                                gint64          run,
                                gint64          step,
                                gint64          time,
                                GPtrArray      *paths,
                                GError        **error);

/* Copies the write-ahead log into the file and syncs, on a thread of its own. */
typedef struct _GradusLogKeeper GradusLogKeeper;
GradusLogKeeper *gradus_log_keeper_new (GradusWorkspace *workspace, GError **error);
void             gradus_log_keeper_free (GradusLogKeeper *self);
/* Whether nearly all is copied, so that copying the rest now would let the log begin anew; once. */
gboolean gradus_log_keeper_take_ready (GradusLogKeeper *self);

struct _GradusRecorder
{
  GradusWorkspace   *workspace;
  GradusRecorderFuncs funcs;
  gpointer           user_data;
  GradusLogKeeper   *keeper;
  pthread_t          thread;
  guint              capacity;

  pthread_mutex_t lock;
  pthread_cond_t  wake; /* the thread */
  pthread_cond_t  room; /* producers */
  pthread_cond_t  done; /* who waits for a ticket */

  /* Guarded by the lock. */
  RecorderScalar *front;
  guint           n_front;
  GPtrArray      *front_items;
  gsize           front_bytes;
  gint64          first_at; /* when the oldest record came, 0 if none waits */
  GPtrArray      *series;   /* by handle; NULL once detached */
  GPtrArray      *runs;
  guint64         tickets_wanted;
  guint64         tickets_done;
  gboolean        stop;
  gboolean        abandon;
  gboolean        stalled;
  gint64          stalled_since;
  char           *stall_reason;
  GradusError     stall_code;
  GradusRecorderStats stats;

  /* The thread's. */
  RecorderScalar *back;
  guint           n_back;
  GPtrArray      *back_items;
  guint           n_items_done;
  gboolean        scalars_done;
  GPtrArray      *known;
  RecorderWriter  writer;
  gint64          looked_at;
  gint64          watch_looked_at;
  gboolean        watched;
  gint64          data_version;
  guint           commands_posted;
};

/* ms since the run's start. */
gint64 recorder_run_time (RecorderRun *run);
void   recorder_run_init_funcs (RecorderRun *run);
void   recorder_run_free (RecorderRun *run);

gpointer recorder_thread (gpointer data);
/* pthread_create(), failing with a sentence. */
gboolean recorder_start_thread (pthread_t *thread,
                                gpointer (*func) (gpointer data),
                                gpointer   data,
                                GError   **error);
/* Until @at by the monotonic clock, or woken; with the lock. */
void recorder_wait_until (GradusRecorder *self, gint64 at);
/* Writes all that waits. Called and returns with the lock held, which is let go meanwhile. */
void recorder_commit (GradusRecorder *self);
/* What a rolled-back transaction had taught the series of @run, or all, is forgotten. */
void recorder_unload (GPtrArray *series, RecorderRun *run);

/* Queues an item, waiting for room; (transfer full). */
void recorder_push (GradusRecorder *self, RecorderItem *item);
/* Waits until all that was handed over is in the log. With @give_up_stalled, FALSE as soon as the
 * log has been stalled for that many µs. */
gboolean recorder_wait (GradusRecorder *self, gint64 give_up_stalled);

G_END_DECLS
