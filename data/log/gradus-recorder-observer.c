/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "log/gradus-recorder-private.h"

#define MOST_ITEMS 65536
#define MOST_ITEM_BYTES (64 << 20)

gint64
recorder_run_time (RecorderRun *run)
{
  return (g_get_monotonic_time () - run->origin) / 1000;
}

void
recorder_item_free (RecorderItem *item)
{
  g_free (item->subject);
  g_free (item->message);
  g_free (item->data);
  g_free ((double *) item->histogram.edges);
  g_free ((double *) item->histogram.counts);
  g_free (item);
}

void
recorder_run_free (RecorderRun *run)
{
  g_hash_table_unref (run->series);
  g_clear_pointer (&run->lock, gradus_run_lock_release);
  g_clear_error (&run->lost);
  g_free (run);
}

/* Called with the lock held. */
static void
wait_for_room (GradusRecorder *self)
{
  gint64 begun = g_get_monotonic_time ();

  self->stats.waits++;
  pthread_cond_signal (&self->wake);
  pthread_cond_wait (&self->room, &self->lock);
  self->stats.wait_us += g_get_monotonic_time () - begun;
}

static void
observer_scalar (GradusObserver *observer, guint series, gint64 step, double value)
{
  RecorderRun    *run = (RecorderRun *) observer;
  GradusRecorder *self = run->recorder;
  gint64          now = g_get_monotonic_time ();

  pthread_mutex_lock (&self->lock);
  g_assert (series < self->series->len);
  while (G_UNLIKELY (self->n_front == self->capacity))
    wait_for_room (self);
  self->front[self->n_front++]
      = (RecorderScalar){ series, step, (now - run->origin) / 1000, value };
  if (G_UNLIKELY (self->first_at == 0))
    self->first_at = now;
  if (G_UNLIKELY (self->n_front == self->capacity / 2))
    pthread_cond_signal (&self->wake);
  pthread_mutex_unlock (&self->lock);
}

void
recorder_push (GradusRecorder *self, RecorderItem *item)
{
  /* The recorder's own thread, answering a command, is the one that makes room. */
  gboolean may_wait = !pthread_equal (pthread_self (), self->thread);

  pthread_mutex_lock (&self->lock);
  while (may_wait
         && (self->front_items->len >= MOST_ITEMS || self->front_bytes >= MOST_ITEM_BYTES))
    wait_for_room (self);
  g_ptr_array_add (self->front_items, item);
  self->front_bytes += item->bytes;
  if (self->first_at == 0)
    self->first_at = g_get_monotonic_time ();
  pthread_mutex_unlock (&self->lock);
}

gboolean
recorder_wait (GradusRecorder *self, gint64 give_up_stalled)
{
  guint64  ticket;
  gboolean done;

  pthread_mutex_lock (&self->lock);
  ticket = ++self->tickets_wanted;
  pthread_cond_signal (&self->wake);
  while (self->tickets_done < ticket)
    {
      struct timespec until;

      if (give_up_stalled >= 0 && self->stalled
          && g_get_monotonic_time () - self->stalled_since >= give_up_stalled)
        break;
      clock_gettime (CLOCK_MONOTONIC, &until);
      until.tv_sec += 1;
      pthread_cond_timedwait (&self->done, &self->lock, &until);
    }
  done = self->tickets_done >= ticket;
  pthread_mutex_unlock (&self->lock);
  return done;
}

static guint
observer_series (GradusObserver *observer, const char *name, GradusSeriesKind kind)
{
  RecorderRun    *run = (RecorderRun *) observer;
  GradusRecorder *self = run->recorder;
  guint           handle;

  pthread_mutex_lock (&self->lock);
  handle = GPOINTER_TO_UINT (g_hash_table_lookup (run->series, name));
  if (handle == 0)
    {
      RecorderSeries *series = g_new0 (RecorderSeries, 1);

      series->run = run;
      series->name = g_strdup (name);
      series->kind = kind;
      g_ptr_array_add (self->series, series);
      handle = self->series->len;
      g_hash_table_insert (run->series, series->name, GUINT_TO_POINTER (handle));
    }
  pthread_mutex_unlock (&self->lock);
  return handle - 1;
}

static RecorderItem *
item_new (GradusObserver *observer, RecorderItemType type, gint64 step)
{
  RecorderItem *item = g_new0 (RecorderItem, 1);

  item->type = type;
  item->run = (RecorderRun *) observer;
  item->step = step;
  item->time = recorder_run_time (item->run);
  return item;
}

static void
push (RecorderItem *item)
{
  recorder_push (item->run->recorder, item);
}

static void
observer_histogram (GradusObserver        *observer,
                    guint                  series,
                    gint64                 step,
                    const GradusHistogram *histogram)
{
  RecorderItem *item = item_new (observer, ITEM_HISTOGRAM, step);

  item->series = series;
  item->histogram = *histogram;
  item->histogram.edges
      = histogram->n > 0
            ? g_memdup2 (histogram->edges, (histogram->n + 1) * sizeof *histogram->edges)
            : NULL;
  item->histogram.counts = g_memdup2 (histogram->counts, histogram->n * sizeof *histogram->counts);
  item->bytes = (2 * histogram->n + 1) * sizeof (double);
  push (item);
}

static void
observer_blob (GradusObserver *observer,
               guint           series,
               gint64          step,
               const char     *format,
               const void     *data,
               gsize           bytes)
{
  RecorderItem *item = item_new (observer, ITEM_BLOB, step);

  item->series = series;
  item->subject = g_strdup (format);
  item->data = g_memdup2 (data, bytes);
  item->bytes = bytes;
  push (item);
}

static void
observer_event (GradusObserver *observer,
                gint64          step,
                GradusEventKind kind,
                GradusSeverity  severity,
                const char     *subject,
                const char     *message,
                const char     *data)
{
  RecorderItem *item = item_new (observer, ITEM_EVENT, step);

  item->kind = kind;
  item->severity = severity;
  item->subject = g_strdup (subject);
  item->message = g_strdup (message);
  item->data = g_strdup (data);
  item->bytes = data != NULL ? strlen (data) : 0;
  push (item);
}

static void
observer_status (GradusObserver *observer, gint64 step, GradusRunStatus status, const char *message)
{
  RecorderItem *item = item_new (observer, ITEM_STATUS, step);

  item->status = status;
  item->severity = status == GRADUS_RUN_FAILED        ? GRADUS_SEVERITY_ERROR
                   : status == GRADUS_RUN_INTERRUPTED ? GRADUS_SEVERITY_WARNING
                                                      : GRADUS_SEVERITY_NOTE;
  item->message = g_strdup (message);
  push (item);
}

static void
observer_command_taken (GradusObserver *observer, gint64 id, gint64 step, const char *error)
{
  RecorderItem *item = item_new (observer, ITEM_TAKEN, step);

  item->id = id;
  item->message = g_strdup (error);
  push (item);
}

static void
observer_checkpoint (GradusObserver *observer, const GradusCheckpointInfo *info)
{
  RecorderItem *item = item_new (observer, ITEM_CHECKPOINT, info->step);

  item->id = info->bytes;
  item->best = info->best;
  item->subject = g_strdup (info->path);
  item->message = g_strdup (info->sha256);
  item->data = g_strdup (info->metrics);
  push (item);
}

static void
observer_checkpoint_removed (GradusObserver *observer, gint64 step)
{
  RecorderItem *item = item_new (observer, ITEM_REMOVED, step);

  push (item);
  recorder_wait (((RecorderRun *) observer)->recorder, -1);
}

static const GradusObserverFuncs observer_funcs = {
  .series = observer_series,
  .scalar = observer_scalar,
  .histogram = observer_histogram,
  .event = observer_event,
  .status = observer_status,
  .command_taken = observer_command_taken,
  .checkpoint = observer_checkpoint,
  .checkpoint_removed = observer_checkpoint_removed,
  .blob = observer_blob,
};

void
recorder_run_init_funcs (RecorderRun *run)
{
  run->parent.funcs = &observer_funcs;
  run->series = g_hash_table_new (g_str_hash, g_str_equal);
}
