/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-service.h"

struct _GradusService
{
  GObject parent_instance;

  char        *path;
  GThreadPool *ordered;
  GThreadPool *looking;

  GMutex           lock;
  GradusWorkspace *workspace;
  GradusSession   *session;
};

enum
{
  SIGNAL_STALLED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (GradusService, gradus_service, G_TYPE_OBJECT)

typedef struct
{
  GradusServiceFunc func;
  gpointer          data;
  GDestroyNotify    free_data;
} Job;

static void
job_free (gpointer data)
{
  Job *job = data;

  if (job->free_data != NULL)
    job->free_data (job->data);
  g_free (job);
}

static void
work (gpointer data, gpointer user_data)
{
  g_autoptr (GTask) task = data;
  Job *job = g_task_get_task_data (task);
  GError *error = NULL;
  gpointer result = job->func (user_data, job->data, &error);

  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, result, NULL);
}

static void
gradus_service_finalize (GObject *object)
{
  GradusService *self = GRADUS_SERVICE (object);

  gradus_service_close (self);
  g_mutex_clear (&self->lock);
  g_free (self->path);

  G_OBJECT_CLASS (gradus_service_parent_class)->finalize (object);
}

static void
gradus_service_class_init (GradusServiceClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_service_finalize;

  signals[SIGNAL_STALLED] = g_signal_new ("stalled", GRADUS_TYPE_SERVICE, G_SIGNAL_RUN_LAST, 0,
                                          NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
gradus_service_init (GradusService *self)
{
  g_mutex_init (&self->lock);
  self->ordered = g_thread_pool_new (work, self, 1, FALSE, NULL);
  self->looking = g_thread_pool_new (work, self, 1, FALSE, NULL);
}

GradusService *
gradus_service_new (const char *path)
{
  GradusService *self = g_object_new (GRADUS_TYPE_SERVICE, NULL);

  self->path = path != NULL ? g_canonicalize_filename (path, NULL)
                            : gradus_workspace_default_path ();

  return self;
}

const char *
gradus_service_get_path (GradusService *self)
{
  return self->path;
}

void
gradus_service_run (GradusService      *self,
                    gboolean            look,
                    GradusServiceFunc   func,
                    gpointer            data,
                    GDestroyNotify      free_data,
                    GAsyncReadyCallback callback,
                    gpointer            user_data)
{
  GTask *task;
  Job *job;

  g_return_if_fail (GRADUS_IS_SERVICE (self));

  /* While the process ends, widgets that go may still ask for something. */
  if (self->ordered == NULL)
    {
      if (free_data != NULL)
        free_data (data);
      return;
    }

  task = g_task_new (NULL, NULL, callback, user_data);
  job = g_new0 (Job, 1);
  job->func = func;
  job->data = data;
  job->free_data = free_data;
  g_task_set_task_data (task, job, job_free);
  g_thread_pool_push (look ? self->looking : self->ordered, task, NULL);
}

gpointer
gradus_service_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

GradusWorkspace *
gradus_service_get_workspace (GradusService *self, GError **error)
{
  GradusWorkspace *workspace;

  g_mutex_lock (&self->lock);
  if (self->workspace == NULL)
    self->workspace = gradus_workspace_open (self->path, GRADUS_WORKSPACE_CREATE, error);
  workspace = self->workspace;
  g_mutex_unlock (&self->lock);

  return workspace;
}

typedef struct
{
  GradusService *service;
  char          *reason;
} Stall;

static void
stall_free (gpointer data)
{
  Stall *stall = data;

  g_object_unref (stall->service);
  g_free (stall->reason);
  g_free (stall);
}

static gboolean
tell_stall_cb (gpointer data)
{
  Stall *stall = data;

  g_signal_emit (stall->service, signals[SIGNAL_STALLED], 0, stall->reason);

  return G_SOURCE_REMOVE;
}

/* On the recorder's thread. */
static void
stalled_cb (gboolean stalled, const char *reason, gpointer data)
{
  Stall *stall = g_new0 (Stall, 1);

  stall->service = g_object_ref (data);
  stall->reason = stalled ? g_strdup (reason) : NULL;
  g_main_context_invoke_full (NULL, G_PRIORITY_DEFAULT, tell_stall_cb, stall, stall_free);
}

GradusSession *
gradus_service_get_session (GradusService *self, GError **error)
{
  static const GradusSessionListener listener = { .stalled = stalled_cb };
  GradusSession *session;
  GradusWorkspace *workspace = gradus_service_get_workspace (self, error);

  if (workspace == NULL)
    return NULL;

  g_mutex_lock (&self->lock);
  if (self->session == NULL)
    {
      self->session = gradus_session_new_in (workspace, error);
      if (self->session != NULL)
        gradus_session_set_listener (self->session, &listener, self);
    }
  session = self->session;
  g_mutex_unlock (&self->lock);

  return session;
}

GradusSession *
gradus_service_peek_session (GradusService *self)
{
  GradusSession *session = NULL;

  /* Opening a session holds the lock while it waits for the disk; then there is none yet. */
  if (!g_mutex_trylock (&self->lock))
    return NULL;
  if (self->session != NULL)
    session = g_object_ref (self->session);
  g_mutex_unlock (&self->lock);

  return session;
}

void
gradus_service_close (GradusService *self)
{
  if (self->ordered == NULL)
    return;

  g_thread_pool_free (g_steal_pointer (&self->looking), TRUE, TRUE);
  g_thread_pool_free (g_steal_pointer (&self->ordered), FALSE, TRUE);
  if (self->session != NULL)
    gradus_session_close (self->session);
  g_clear_object (&self->session);
  g_clear_pointer (&self->workspace, gradus_workspace_unref);
}
