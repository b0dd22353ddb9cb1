/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-observer.h"
#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/* The log's word for a status, kind or severity, static; and back, FALSE for a word that is
 * none. */
const char *gradus_run_status_name (GradusRunStatus status);
gboolean    gradus_run_status_from_name (const char *name, GradusRunStatus *status);
const char *gradus_event_kind_name (GradusEventKind kind);
gboolean    gradus_event_kind_from_name (const char *name, GradusEventKind *kind);
const char *gradus_severity_name (GradusSeverity severity);
gboolean    gradus_severity_from_name (const char *name, GradusSeverity *severity);
const char *gradus_series_kind_name (GradusSeriesKind kind);
gboolean    gradus_series_kind_from_name (const char *name, GradusSeriesKind *kind);

/**
 * GradusRunSpec:
 * @name: what the user calls it; not empty
 * @unique_name: whether to append " 2", " 3"... while another run has the name
 * @status: the first status, normally GRADUS_RUN_QUEUED
 * @recipe, @model, @device: JSON or NULL
 * @host: NULL for this machine's name
 * @engine_version: NULL for this build's
 * @parent: id of the run it was forked from, or 0, and the step
 * @note: or NULL
 */
typedef struct
{
  const char     *name;
  gboolean        unique_name;
  GradusRunStatus status;
  const char     *recipe;
  const char     *model;
  const char     *device;
  gint64          seed;
  const char     *host;
  const char     *engine_version;
  gint64          parent;
  gint64          parent_step;
  const char     *note;
} GradusRunSpec;

/*
 * Everything below writes through the workspace's writing connection and may be called from any
 * thread that may wait for a disk (so not from the main loop). Errors: READ_ONLY, NO_SPACE, BUSY,
 * NOT_FOUND (no such run), CORRUPT, IO.
 */

/* Makes the row and returns its id, 0 with an error. @uuid and @name (what it is called now) may be
 * NULL. */
gint64 gradus_run_create (GradusWorkspace     *workspace,
                          const GradusRunSpec *spec,
                          char               **uuid,
                          char               **name,
                          GError             **error);

/* For who has no recorder for the run: a queue, or a command line that gives up. Sets `finished`
 * with a final status and takes it away with the others. */
gboolean gradus_run_set_status (GradusWorkspace *workspace,
                                gint64           run,
                                GradusRunStatus  status,
                                GError         **error);

/* What is only known once the run is prepared; NULL leaves a column as it is. */
gboolean gradus_run_set_documents (GradusWorkspace *workspace,
                                   gint64           run,
                                   const char      *recipe,
                                   const char      *model,
                                   const char      *device,
                                   GError         **error);

/* Names need not be unique, but may not be empty or start with '#' (REFUSED). */
gboolean gradus_run_rename (GradusWorkspace *workspace,
                            gint64           run,
                            const char      *name,
                            GError         **error);
gboolean gradus_run_set_note (GradusWorkspace *workspace,
                              gint64           run,
                              const char      *note,
                              GError         **error);
gboolean gradus_run_set_archived (GradusWorkspace *workspace,
                                  gint64           run,
                                  gboolean         archived,
                                  GError         **error);

/**
 * gradus_run_delete:
 * @cancelled: (nullable): set to non-zero from any thread to stop early; the run is then still
 *   listed, with fewer rows
 * @progress: (nullable): called on this thread with the share done, 0 to 1
 *
 * Deletes the run with all its rows and its checkpoint folder, in transactions of at most 25 ms
 * with pauses of 5 ms, so that no recorder starves, and gives the disk back. BUSY while somebody
 * writes the run.
 */
gboolean gradus_run_delete (GradusWorkspace *workspace,
                            gint64           run,
                            const gint      *cancelled,
                            void           (*progress) (double share, gpointer user_data),
                            gpointer         user_data,
                            GError         **error);

/* Posts a command (a JSON object) to whoever writes the run and returns its row's id, 0 with an
 * error: REFUSED (no JSON object), NOT_FOUND, or FAILED (nobody writes the run, so that nobody
 * would take it). It is answered by an event and by command.taken_step. */
gint64 gradus_log_post_command (GradusWorkspace *workspace,
                                gint64           run,
                                const char      *command,
                                GError         **error);

/* The id of the run that @reference names: a uuid, a name that only one run has, #id, or the id
 * alone where no run has it for a name. Reads only. NOT_FOUND, or REFUSED where several runs have the name (they are listed). @uuid may be
 * NULL. 0 with an error. */
gint64 gradus_run_find (GradusWorkspace *workspace,
                        const char      *reference,
                        char           **uuid,
                        GError         **error);

G_END_DECLS
