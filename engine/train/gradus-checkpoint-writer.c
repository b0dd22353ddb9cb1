/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-checkpoint-writer.h"

#include "train/gradus-file-writer.h"
#include "gradus-log-locale.h"

#include <errno.h>
#include <glib/gi18n-lib.h>
#include <glib/gstdio.h>
#include <string.h>

#define RETRY (G_USEC_PER_SEC)

typedef struct
{
  gint64      step;
  GByteArray *header;
  char       *metrics;
  gboolean    best, restore;
} Job;

struct _GradusCheckpointWriter
{
  char           *workspace, *folder;
  GradusObserver *observer;
  guint           keep;
  guint8         *buffer;
  gsize           bytes;
  GThread        *thread;

  GMutex   lock; /* guards what follows */
  GCond    changed;
  Job     *job;
  gboolean full, cancelled, quit;
  gint64   last, best, restore;
  GArray  *steps; /* gint64, of the files there, ascending */
};

static char *
file_name (gint64 step)
{
  return g_strdup_printf ("step-%" G_GINT64_FORMAT ".safetensors", step);
}

static char *
file_path (GradusCheckpointWriter *self, gint64 step)
{
  g_autofree char *name = file_name (step);

  return g_build_filename (self->workspace, self->folder, name, NULL);
}

static int
by_step (gconstpointer a, gconstpointer b)
{
  const gint64 *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static void
add_step (GradusCheckpointWriter *self, gint64 step)
{
  for (guint i = 0; i < self->steps->len; i++)
    if (g_array_index (self->steps, gint64, i) == step)
      return;
  g_array_append_val (self->steps, step);
  g_array_sort (self->steps, by_step);
}

static void
find_files (GradusCheckpointWriter *self, gint64 step)
{
  g_autofree char *path = g_build_filename (self->workspace, self->folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *full = g_build_filename (path, name, NULL);
      g_autofree char *exact = NULL;
      gint64           found;

      if (!g_str_has_prefix (name, "step-"))
        continue;
      found = g_ascii_strtoll (name + strlen ("step-"), NULL, 10);
      exact = file_name (found);
      if (g_str_has_suffix (name, ".safetensors.part") ||
          (g_str_equal (exact, name) && found > step))
        g_unlink (full);
      else if (g_str_equal (exact, name))
        add_step (self, found);
    }
}

static void
tell (GradusCheckpointWriter *self, gint64 step, GradusEventKind kind, GradusSeverity severity, const char *message, const char *reason)
{
  g_autoptr (GString) data = g_string_new ("{\"rule\": \"checkpoint\", \"cause\": \"");

  if (self->observer == NULL)
    return;
  for (const char *c = reason; *c != 0; c++)
    {
      if (*c == '"' || *c == '\\')
        g_string_append_c (data, '\\');
      g_string_append_c (data, (guchar) *c < 32 ? ' ' : *c);
    }
  g_string_append (data, "\"}");
  self->observer->funcs->event (self->observer, step, kind, severity, "checkpoint", message,
                                data->str);
}

/* Waits a while for room; FALSE once the write is given up. */
static gboolean
wait_for_room (GradusCheckpointWriter *self, Job *job, const char *reason)
{
  gboolean go_on, first;

  g_mutex_lock (&self->lock);
  first = !self->full;
  self->full = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  if (first)
    tell (self, job->step, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_WARNING,
          N_("The disk is full: the checkpoint waits for room."), reason);
  g_mutex_lock (&self->lock);
  if (!self->cancelled && !self->quit)
    g_cond_wait_until (&self->changed, &self->lock, g_get_monotonic_time () + RETRY);
  go_on = !self->cancelled && !self->quit;
  g_mutex_unlock (&self->lock);
  return go_on;
}

/* A file that is written anew loses its row first, as one that goes does. */
static void
forget_same (gpointer data)
{
  GradusCheckpointWriter *self = data;
  gboolean known = FALSE;
  gint64   step;

  g_mutex_lock (&self->lock);
  step = self->job->step;
  for (guint i = 0; i < self->steps->len; i++)
    known = known || g_array_index (self->steps, gint64, i) == step;
  g_mutex_unlock (&self->lock);
  if (known && self->observer != NULL)
    self->observer->funcs->checkpoint_removed (self->observer, step);
}

static gboolean
write_file (GradusCheckpointWriter *self, Job *job, const char *path, char **sha256)
{
  g_autoptr (GBytes) header = g_bytes_new_static (job->header->data, job->header->len);
  g_autoptr (GBytes) data = g_bytes_new_static (self->buffer, self->bytes);
  GBytes *const parts[] = { header, data };

  for (;;)
    {
      g_autoptr (GError) error = NULL;

      if (gradus_file_write (path, parts, 2, sha256, forget_same, self, &error))
        return TRUE;
      if (g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_NO_SPACE))
        {
          if (wait_for_room (self, job, error->message))
            continue;
          return FALSE;
        }
      tell (self, job->step, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_ERROR,
            N_("A checkpoint could not be written."), error->message);
      return FALSE;
    }
}

/* The latest @keep stay, and the marked ones. */
static void
drop_old (GradusCheckpointWriter *self)
{
  g_autoptr (GArray) drop = g_array_new (FALSE, FALSE, sizeof (gint64));

  g_mutex_lock (&self->lock);
  for (guint i = 0; i + self->keep < self->steps->len; i++)
    {
      gint64 step = g_array_index (self->steps, gint64, i);

      if (step != self->best && step != self->restore)
        g_array_append_val (drop, step);
    }
  for (guint d = 0; d < drop->len; d++)
    for (guint i = 0; i < self->steps->len; i++)
      if (g_array_index (self->steps, gint64, i) == g_array_index (drop, gint64, d))
        g_array_remove_index (self->steps, i);
  g_mutex_unlock (&self->lock);
  for (guint d = 0; d < drop->len; d++)
    {
      gint64           step = g_array_index (drop, gint64, d);
      g_autofree char *path = file_path (self, step);

      if (self->observer != NULL)
        self->observer->funcs->checkpoint_removed (self->observer, step);
      g_unlink (path);
    }
}

static void
do_job (GradusCheckpointWriter *self, Job *job)
{
  g_autofree char *name = file_name (job->step);
  g_autofree char *relative = g_build_filename (self->folder, name, NULL);
  g_autofree char *path = file_path (self, job->step);
  g_autofree char *sha256 = NULL;

  if (!write_file (self, job, path, &sha256))
    return;
  g_mutex_lock (&self->lock);
  add_step (self, job->step);
  if (job->best)
    self->best = job->step;
  if (job->restore)
    self->restore = job->step;
  g_mutex_unlock (&self->lock);
  if (self->observer != NULL)
    self->observer->funcs->checkpoint (self->observer,
                                       &(GradusCheckpointInfo){
                                           .step = job->step,
                                           .path = relative,
                                           .bytes = job->header->len + self->bytes,
                                           .sha256 = sha256,
                                           .metrics = job->metrics,
                                           .best = job->best });
  drop_old (self);
}

static void
job_free (Job *job)
{
  g_byte_array_unref (job->header);
  g_free (job->metrics);
  g_free (job);
}

static gpointer
thread_main (gpointer data)
{
  GradusCheckpointWriter *self = data;

  gradus_log_locale_enter ();
  g_mutex_lock (&self->lock);
  for (;;)
    {
      Job *job = self->job;

      if (job == NULL && self->quit)
        break;
      if (job == NULL)
        {
          g_cond_wait (&self->changed, &self->lock);
          continue;
        }
      g_mutex_unlock (&self->lock);
      do_job (self, job);
      job_free (job);
      g_mutex_lock (&self->lock);
      self->job = NULL;
      self->full = self->cancelled = FALSE;
      g_cond_broadcast (&self->changed);
    }
  g_mutex_unlock (&self->lock);
  return NULL;
}

GradusCheckpointWriter *
gradus_checkpoint_writer_new (const char     *workspace,
                              const char     *folder,
                              GradusObserver *observer,
                              guint           keep,
                              gsize           bytes,
                              gint64          step,
                              GError        **error)
{
  GradusCheckpointWriter *self;
  g_autofree char        *path = g_build_filename (workspace, folder, NULL);
  guint8                 *buffer;
  g_autoptr (GError) reason = NULL;

  if (g_mkdir_with_parents (path, 0755) != 0)
    {
      int code = errno;

      g_set_error (error, GRADUS_ERROR,
                   code == ENOSPC ? GRADUS_ERROR_NO_SPACE
                   : code == EROFS || code == EACCES ? GRADUS_ERROR_READ_ONLY
                                                     : GRADUS_ERROR_IO,
                   _("The folder “%s” for checkpoints could not be made: %s. Check the workspace."),
                   path, g_strerror (code));
      return NULL;
    }
  if ((buffer = g_try_malloc (MAX (1, bytes))) == NULL)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                           _("There is no memory left for the copy that a checkpoint is written "
                             "from. Use a smaller model or batch."));
      return NULL;
    }
  /* Touched now, so that the first checkpoint finds its pages. */
  memset (buffer, 0, bytes);
  self = g_new0 (GradusCheckpointWriter, 1);
  self->workspace = g_strdup (workspace);
  self->folder = g_strdup (folder);
  self->observer = observer;
  self->keep = MAX (1, keep);
  self->buffer = buffer;
  self->bytes = bytes;
  self->last = self->best = self->restore = -1;
  self->steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  find_files (self, step);
  self->thread = g_thread_try_new ("checkpoints", thread_main, self, &reason);
  if (self->thread != NULL)
    return self;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _("No thread could be started for writing checkpoints: %s. Close other programs, or "
                 "raise the limits of memory and processes."),
               reason->message);
  gradus_checkpoint_writer_free (self);
  return NULL;
}

void
gradus_checkpoint_writer_free (GradusCheckpointWriter *self)
{
  g_mutex_lock (&self->lock);
  self->quit = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  if (self->thread != NULL)
    g_thread_join (self->thread);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  g_array_unref (self->steps);
  g_free (self->buffer);
  g_free (self->workspace);
  g_free (self->folder);
  g_free (self);
}

void
gradus_checkpoint_writer_set_marks (GradusCheckpointWriter *self, gint64 best, gint64 restore)
{
  g_mutex_lock (&self->lock);
  self->best = best;
  self->restore = restore;
  g_mutex_unlock (&self->lock);
}

gboolean
gradus_checkpoint_writer_wait (GradusCheckpointWriter *self, gint64 microseconds)
{
  gint64   end = g_get_monotonic_time () + microseconds;
  gboolean idle;

  g_mutex_lock (&self->lock);
  while (self->job != NULL && g_cond_wait_until (&self->changed, &self->lock, end))
    ;
  idle = self->job == NULL;
  g_mutex_unlock (&self->lock);
  return idle;
}

gboolean
gradus_checkpoint_writer_is_full (GradusCheckpointWriter *self)
{
  gboolean full;

  g_mutex_lock (&self->lock);
  full = self->full;
  g_mutex_unlock (&self->lock);
  return full;
}

void
gradus_checkpoint_writer_cancel (GradusCheckpointWriter *self)
{
  g_mutex_lock (&self->lock);
  self->cancelled = self->job != NULL;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

guint8 *
gradus_checkpoint_writer_buffer (GradusCheckpointWriter *self)
{
  return self->buffer;
}

gint64
gradus_checkpoint_writer_last (GradusCheckpointWriter *self)
{
  return self->last;
}

void
gradus_checkpoint_writer_submit (GradusCheckpointWriter *self,
                                 gint64                  step,
                                 GByteArray             *header,
                                 char                   *metrics,
                                 gboolean                best,
                                 gboolean                restore)
{
  Job *job = g_new (Job, 1);

  *job = (Job){ step, header, metrics, best, restore };
  g_mutex_lock (&self->lock);
  g_assert (self->job == NULL);
  self->job = job;
  self->last = step;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}
