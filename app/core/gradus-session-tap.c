/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-session-private.h"
#include "gradus-log-locale.h"

#include <math.h>

#define TAP(observer) ((GradusTap *)(observer))

/* What a series is to the listener. The trainer writes those of an epoch at its last step, `epoch`
 * first. */
typedef enum
{
  ROLE_NONE,
  ROLE_EPOCH,
  ROLE_ACCURACY,
  ROLE_VALIDATION_LOSS,
  ROLE_VALIDATION_ACCURACY,
  ROLE_TEST,
} Role;

static const char *const role_names[] = {
  "", "epoch", "train/accuracy", "validation/loss", "validation/accuracy", "test/loss"
};

static guint
tap_series (GradusObserver *observer, const char *name, GradusSeriesKind kind)
{
  GradusTap *self = TAP (observer);
  guint      handle = self->inner->funcs->series (self->inner, name, kind);

  g_mutex_lock (&self->mutex);
  if (handle >= self->roles->len)
    g_array_set_size (self->roles, handle + 1);
  for (guint i = 1; i < G_N_ELEMENTS (role_names); i++)
    if (g_str_equal (role_names[i], name))
      g_array_index (self->roles, guint8, handle) = i;
  g_mutex_unlock (&self->mutex);
  return handle;
}

/* Tells the epoch that was gathered. The mutex is held, and let go meanwhile. */
static void
tell_epoch (GradusTap *self)
{
  GradusProgress progress = self->epoch;
  gpointer       before;

  if (!self->gathering)
    return;
  self->gathering = FALSE;
  if (self->session->listener.epoch == NULL)
    return;
  g_mutex_unlock (&self->mutex);
  before = gradus_log_locale_pause ();
  self->session->listener.epoch (&progress, self->session->listener_data);
  gradus_log_locale_resume (before);
  g_mutex_lock (&self->mutex);
}

static void
begin_epoch (GradusTap *self, gint64 step, double epoch)
{
  tell_epoch (self);
  g_mutex_lock (&self->session->mutex);
  gradus_session_progress_locked (self->session, &self->epoch);
  g_mutex_unlock (&self->session->mutex);
  self->gathering = TRUE;
  self->epoch.step = step;
  self->epoch.epoch = (gint64)epoch;
  self->epoch.validation_loss = self->epoch.validation_accuracy = NAN;
}

static void
gather (GradusTap *self, Role role, gint64 step, double value)
{
  switch (role)
    {
    case ROLE_EPOCH:
      begin_epoch (self, step, value);
      break;
    case ROLE_ACCURACY:
      self->epoch.accuracy = value;
      break;
    case ROLE_VALIDATION_LOSS:
      self->epoch.validation_loss = value;
      break;
    case ROLE_VALIDATION_ACCURACY:
      self->epoch.validation_accuracy = value;
      break;
    case ROLE_NONE:
    case ROLE_TEST:
      break;
    }
}

static void
tap_scalar (GradusObserver *observer, guint series, gint64 step, double value)
{
  GradusTap *self = TAP (observer);
  Role       role = ROLE_NONE;

  self->inner->funcs->scalar (self->inner, series, step, value);
  g_mutex_lock (&self->mutex);
  if (series < self->roles->len)
    role = g_array_index (self->roles, guint8, series);
  if (self->gathering && (step != self->epoch.step || role == ROLE_TEST))
    tell_epoch (self);
  gather (self, role, step, value);
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
tap_blob (GradusObserver *observer,
          guint           series,
          gint64          step,
          const char     *format,
          const void     *data,
          gsize           bytes)
{
  GradusTap *self = TAP (observer);

  self->inner->funcs->blob (self->inner, series, step, format, data, bytes);
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
    {
      gpointer before = gradus_log_locale_pause ();

      listener->event (self->uuid, step, severity, message, data, self->session->listener_data);
      gradus_log_locale_resume (before);
    }
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
  .blob = tap_blob,
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
  self->roles = g_array_new (FALSE, TRUE, sizeof (guint8));
  g_mutex_init (&self->mutex);
  return self;
}

void
gradus_tap_free (GradusTap *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->roles);
  g_mutex_clear (&self->mutex);
  g_free (self);
}
