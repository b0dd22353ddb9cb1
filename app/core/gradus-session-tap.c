/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-session-private.h"

#include <math.h>
#include <string.h>

#define TAP(observer) ((GradusTap *)(observer))

/* Series that stand at an epoch's last step, and where the listener's record keeps them. */
static const struct
{
  const char *name;
  gsize       offset;
} epoch_values[] = {
  { "train/accuracy", G_STRUCT_OFFSET (GradusProgress, accuracy) },
  { "validation/loss", G_STRUCT_OFFSET (GradusProgress, validation_loss) },
  { "validation/accuracy", G_STRUCT_OFFSET (GradusProgress, validation_accuracy) },
};

static guint
tap_series (GradusObserver *observer, const char *name, GradusSeriesKind kind)
{
  GradusTap *self = TAP (observer);
  guint      handle = self->inner->funcs->series (self->inner, name, kind);

  g_mutex_lock (&self->mutex);
  if (handle >= self->names->len)
    g_ptr_array_set_size (self->names, handle + 1);
  if (g_ptr_array_index (self->names, handle) == NULL)
    g_ptr_array_index (self->names, handle) = g_strdup (name);
  g_mutex_unlock (&self->mutex);
  return handle;
}

/* Tells the epoch that was being gathered. The mutex is held, and let go meanwhile. */
static void
tell_epoch (GradusTap *self)
{
  GradusProgress progress = self->epoch;

  if (self->epoch_step == 0)
    return;
  self->epoch_step = 0;
  if (self->session->listener.epoch == NULL)
    return;
  g_mutex_unlock (&self->mutex);
  self->session->listener.epoch (&progress, self->session->listener_data);
  g_mutex_lock (&self->mutex);
}

static void
gather (GradusTap *self, const char *name, gint64 step, double value)
{
  for (guint i = 0; i < G_N_ELEMENTS (epoch_values); i++)
    {
      if (!g_str_equal (epoch_values[i].name, name))
        continue;
      if (self->epoch_step != step)
        {
          tell_epoch (self);
          g_mutex_lock (&self->session->mutex);
          gradus_session_progress_locked (self->session, &self->epoch);
          g_mutex_unlock (&self->session->mutex);
          self->epoch_step = step;
          self->epoch.step = step;
        }
      G_STRUCT_MEMBER (double, &self->epoch, epoch_values[i].offset) = value;
    }
}

static void
tap_scalar (GradusObserver *observer, guint series, gint64 step, double value)
{
  GradusTap  *self = TAP (observer);
  const char *name = NULL;

  self->inner->funcs->scalar (self->inner, series, step, value);
  g_mutex_lock (&self->mutex);
  name = series < self->names->len ? g_ptr_array_index (self->names, series) : NULL;
  if (self->epoch_step != 0 && step != self->epoch_step)
    tell_epoch (self);
  /* Only values of an epoch are compared by name; those of a step start with other letters. */
  if (name != NULL && (name[0] == 'v' || g_str_equal (name, "train/accuracy")))
    gather (self, name, step, value);
  g_mutex_unlock (&self->mutex);
}

static void
tap_histogram (GradusObserver        *observer,
               guint                  series,
               gint64                 step,
               const GradusHistogram *histogram)
{
  GradusTap *self = TAP (observer);

  self->inner->funcs->histogram (self->inner, series, step, histogram);
}

static void
tap_event (GradusObserver *observer,
           gint64          step,
           GradusEventKind kind,
           GradusSeverity  severity,
           const char     *subject,
           const char     *message,
           const char     *data)
{
  GradusTap             *self = TAP (observer);
  GradusSessionListener *listener = &self->session->listener;

  self->inner->funcs->event (self->inner, step, kind, severity, subject, message, data);
  if (listener->event != NULL && (kind == GRADUS_EVENT_FINDING || severity != GRADUS_SEVERITY_NOTE))
    listener->event (self->uuid, step, severity, message, self->session->listener_data);
}

static void
tap_status (GradusObserver *observer, gint64 step, GradusRunStatus status, const char *message)
{
  GradusTap *self = TAP (observer);

  g_mutex_lock (&self->mutex);
  tell_epoch (self);
  g_mutex_unlock (&self->mutex);
  self->inner->funcs->status (self->inner, step, status, message);
}

static void
tap_command_taken (GradusObserver *observer, gint64 id, gint64 step, const char *error)
{
  GradusTap *self = TAP (observer);

  self->inner->funcs->command_taken (self->inner, id, step, error);
}

static void
tap_checkpoint (GradusObserver *observer, const GradusCheckpointInfo *info)
{
  GradusTap *self = TAP (observer);

  self->inner->funcs->checkpoint (self->inner, info);
}

static void
tap_checkpoint_removed (GradusObserver *observer, gint64 step)
{
  GradusTap *self = TAP (observer);

  self->inner->funcs->checkpoint_removed (self->inner, step);
}

static const GradusObserverFuncs funcs = {
  .series = tap_series,
  .scalar = tap_scalar,
  .histogram = tap_histogram,
  .event = tap_event,
  .status = tap_status,
  .command_taken = tap_command_taken,
  .checkpoint = tap_checkpoint,
  .checkpoint_removed = tap_checkpoint_removed,
};

GradusTap *
gradus_tap_new (GradusSession *session, const char *uuid, GradusObserver *inner)
{
  GradusTap *self = g_new0 (GradusTap, 1);

  self->observer.funcs = &funcs;
  self->inner = inner;
  self->session = session;
  self->uuid = uuid;
  self->names = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&self->mutex);
  return self;
}

void
gradus_tap_free (GradusTap *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->names);
  g_mutex_clear (&self->mutex);
  g_free (self);
}
