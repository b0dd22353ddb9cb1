/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>

#include "gradus-session.h"
#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/**
 * GradusService:
 *
 * The threads that wait for disk and data so that the main loop need not: one for the workspace and
 * the session (jobs in order), one for looking at recipes.
 */
#define GRADUS_TYPE_SERVICE (gradus_service_get_type ())
G_DECLARE_FINAL_TYPE (GradusService, gradus_service, GRADUS, SERVICE, GObject)

/* On one of the service's threads. Returns the job's result, or NULL with @error. */
typedef gpointer (*GradusServiceFunc) (GradusService *self, gpointer data, GError **error);

GradusService *gradus_service_new (const char *path);
const char    *gradus_service_get_path (GradusService *self);

/* Runs @func (@data) and then @callback on the main loop. gradus_service_finish() gives its result.
 * @data is freed on the main loop; after gradus_service_close() it is freed and nothing else is done. @look: it only looks at recipes and may run beside the others. */
void     gradus_service_run (GradusService      *self,
                             gboolean            look,
                             GradusServiceFunc   func,
                             gpointer            data,
                             GDestroyNotify      free_data,
                             GAsyncReadyCallback callback,
                             gpointer            user_data);
gpointer gradus_service_finish (GAsyncResult *result, GError **error);

/* On the service's threads: opened when first asked for. Borrowed. */
GradusWorkspace *gradus_service_get_workspace (GradusService *self, GError **error);
GradusSession   *gradus_service_get_session (GradusService *self, GError **error);

/* The session if there is one; any thread; (transfer full) (nullable). */
GradusSession *gradus_service_peek_session (GradusService *self);

/* Ends all jobs, stops and keeps the run, closes. Waits. */
void gradus_service_close (GradusService *self);

G_END_DECLS
