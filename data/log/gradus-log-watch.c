/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "log/gradus-log-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "log/gradus-log-reader-private.h"
#include "log/gradus-run-lock.h"

#define PERIOD_US 50000
/* A commit's first byte is seen before its last, so after a sign of life the log is looked at some
 * more. */
#define ALERT_US 250000
#define FIRST_LOOK_US 5000
#define IDLE_MS 500

struct _GradusLogWatch
{
  GradusWorkspace   *workspace;
  GradusLogReader   *reader;
  GradusLogWatchFunc changed;
  gpointer           user_data;
  GThread           *thread;
  int                lock_fd;
  int                inotify_fd;
  int                wake_fd;
  gint               stop;
  gint               poked;
  /* The thread's. */
  gint64   version;
  gint64   called_at;
  gint64   alert_until;
  gint64   looked_at_runs;
  guint    n_live;
  guint    n_dead;
  gboolean runs_due;
};

/* A shared lock that recorders see; a workspace that cannot be written has none and needs none. */
static int
announce (GradusWorkspace *workspace)
{
  g_autofree char *path = gradus_workspace_lock_path (workspace, GRADUS_WORKSPACE_WATCH_LOCK);
  struct flock     lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
  int              fd;

  if (gradus_workspace_read_only_reason (workspace) != NULL)
    return -1;
  fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0 && fcntl (fd, F_OFD_SETLK, &lock) != 0)
    {
      close (fd);
      return -1;
    }
  return fd;
}

/* Runs that say they go on, by whether their writer lives: a death is a change that no transaction
 * tells of. */
static void
count_runs (GradusLogWatch *self, guint *n_live, guint *n_dead)
{
  sqlite3_stmt *stmt = gradus_log_reader_statement (
      self->reader, READER_LIVE_RUNS,
      "SELECT uuid FROM run WHERE status IN ('queued', 'running', 'paused')", NULL);

  *n_live = *n_dead = 0;
  while (stmt != NULL && gradus_sqlite_step (stmt, NULL))
    if (gradus_run_lock_is_held (self->workspace, (const char *) sqlite3_column_text (stmt, 0)))
      (*n_live)++;
    else
      (*n_dead)++;
}

static gboolean
has_changed (GradusLogWatch *self, gint64 now)
{
  gint64   version = gradus_log_reader_data_version (self->reader, NULL);
  gboolean changed = g_atomic_int_compare_and_exchange (&self->poked, TRUE, FALSE);

  if (version != self->version)
    {
      self->version = version;
      changed = TRUE;
    }
  /* A run may begin and die between two looks, so that what a change brought is looked at later. */
  self->runs_due = self->runs_due || changed;
  if ((self->runs_due || self->n_live > 0) && now - self->looked_at_runs >= IDLE_MS * 1000)
    {
      guint n_dead;

      count_runs (self, &self->n_live, &n_dead);
      changed = changed || n_dead != self->n_dead;
      self->n_dead = n_dead;
      self->runs_due = FALSE;
      self->looked_at_runs = now;
    }
  return changed;
}

static void
drain (int fd)
{
  char buffer[4096];

  while (fd >= 0 && read (fd, buffer, sizeof buffer) > 0)
    ;
}

/* Sleeps until something may have changed. */
static void
sleep_until_sign (GradusLogWatch *self)
{
  struct pollfd fds[] = { { self->wake_fd, POLLIN, 0 }, { self->inotify_fd, POLLIN, 0 } };
  gint64        now = g_get_monotonic_time ();
  gboolean      alert = now < self->alert_until;
  int           n;

  if (alert || self->inotify_fd < 0)
    {
      gint64 until = MAX (self->called_at + PERIOD_US, now + FIRST_LOOK_US);

      n = poll (fds, 1, (int) ((until - now + 999) / 1000));
    }
  else
    n = poll (fds, 2, IDLE_MS);
  drain (self->wake_fd);
  if (!alert && n > 0)
    {
      /* Nothing was said for long: the first look is soon. */
      self->alert_until = g_get_monotonic_time () + ALERT_US;
      if (!g_atomic_int_get (&self->stop))
        g_usleep (FIRST_LOOK_US);
    }
  drain (self->inotify_fd);
}

static gpointer
watch_thread (gpointer data)
{
  GradusLogWatch *self = data;

  while (!g_atomic_int_get (&self->stop))
    {
      gint64 now = g_get_monotonic_time ();

      if (now - self->called_at >= PERIOD_US && has_changed (self, now))
        {
          self->called_at = now;
          self->alert_until = now + ALERT_US;
          self->changed (self->reader, self->user_data);
        }
      sleep_until_sign (self);
    }
  return NULL;
}

GradusLogWatch *
gradus_log_watch_new (GradusWorkspace   *workspace,
                      GradusLogWatchFunc changed,
                      gpointer           user_data,
                      GError           **error)
{
  GradusLogWatch  *self;
  GradusLogReader *reader;

  g_return_val_if_fail (workspace != NULL && changed != NULL, NULL);

  reader = gradus_log_reader_new (workspace, error);
  if (reader == NULL)
    return NULL;
  self = g_new0 (GradusLogWatch, 1);
  self->workspace = gradus_workspace_ref (workspace);
  self->reader = reader;
  self->changed = changed;
  self->user_data = user_data;
  self->poked = TRUE;
  self->version = -1;
  self->lock_fd = announce (workspace);
  self->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  self->inotify_fd = inotify_init1 (IN_CLOEXEC | IN_NONBLOCK);
  /* Without a watch the log is looked at 20 times a second. */
  if (self->inotify_fd >= 0
      && inotify_add_watch (self->inotify_fd, gradus_workspace_path (workspace),
                            IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO)
             < 0)
    {
      close (self->inotify_fd);
      self->inotify_fd = -1;
    }
  self->thread = g_thread_new ("gradus-watch", watch_thread, self);
  return self;
}

static void
wake (GradusLogWatch *self)
{
  guint64 one = 1;

  if (write (self->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
    g_warning ("The watch of the log could not be woken: %s", g_strerror (errno));
}

void
gradus_log_watch_poke (GradusLogWatch *self)
{
  g_return_if_fail (self != NULL);

  g_atomic_int_set (&self->poked, TRUE);
  wake (self);
}

void
gradus_log_watch_free (GradusLogWatch *self)
{
  g_return_if_fail (self != NULL);

  g_atomic_int_set (&self->stop, TRUE);
  wake (self);
  g_thread_join (self->thread);
  if (self->lock_fd >= 0)
    close (self->lock_fd);
  if (self->inotify_fd >= 0)
    close (self->inotify_fd);
  close (self->wake_fd);
  gradus_log_reader_free (self->reader);
  gradus_workspace_unref (self->workspace);
  g_free (self);
}
