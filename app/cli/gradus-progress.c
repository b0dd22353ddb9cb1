/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-progress.h"

#include "gradus-cli.h"
#include "gradus-json.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <stdio.h>

struct _GradusProgressLine
{
  GMutex              mutex;
  GradusProgressStyle style;
  gboolean            terminal;
  gboolean            drawn;
  gint64              epoch_start; /* monotonic, microseconds */
};

GradusProgressLine *
gradus_progress_line_new (GradusProgressStyle style)
{
  GradusProgressLine *self = g_new0 (GradusProgressLine, 1);

  g_mutex_init (&self->mutex);
  self->style = style;
  self->terminal = style == GRADUS_PROGRESS_PLAIN && gradus_cli_terminal_width () > 0;
  self->epoch_start = g_get_monotonic_time ();
  return self;
}

void
gradus_progress_line_free (GradusProgressLine *self)
{
  if (self == NULL)
    return;
  g_mutex_clear (&self->mutex);
  g_free (self);
}

char *
gradus_progress_bar (double share, guint width)
{
  GString *bar = g_string_new (NULL);
  guint    halves = (guint)(CLAMP (share, 0, 1) * width * 2 + 0.5);

  for (guint i = 0; i < width; i++)
    g_string_append (bar, 2 * i + 1 < halves ? "━" : 2 * i < halves ? "╸" : "─");
  return g_string_free (bar, FALSE);
}

/* The mutex is held. */
static void
clear (GradusProgressLine *self)
{
  if (self->drawn)
    fputs ("\r\x1b[K", stdout);
  self->drawn = FALSE;
}

static void
append_value (GString *line, const char *label, double value)
{
  g_autofree char *number = NULL;

  if (isnan (value))
    return;
  number = gradus_cli_number (value);
  g_string_append_printf (line, "  %s %s", label, number);
}

static void
append_throughput (GString *line, double throughput)
{
  if (throughput > 0)
    {
      g_string_append (line, "  ");
      /* Translators: %.0f is a number of samples. */
      g_string_append_printf (line, _ ("%.0f samples/s"), throughput);
    }
}

void
gradus_progress_line_update (GradusProgressLine *self, const GradusProgress *progress)
{
  g_autoptr (GString) line = NULL;
  g_autofree char *bar = NULL;
  double           share =
      progress->epoch_steps > 0 ? (double)progress->epoch_step / (double)progress->epoch_steps : 0;
  guint width = 0;

  if (!self->terminal || progress->n_epochs == 0)
    return;
  width = gradus_cli_terminal_width ();
  bar = gradus_progress_bar (share, width >= 100 ? 24 : 12);
  line = g_string_new (NULL);
  g_string_append_printf (line, _ ("Epoch %d/%d"), (int)progress->epoch, (int)progress->n_epochs);
  g_string_append_printf (line, " %s %3.0f %%", bar, share * 100);
  if (progress->status == GRADUS_RUN_PAUSED)
    g_string_append_printf (line, "  %s", _ ("paused"));
  append_value (line, _ ("loss"), progress->loss);
  append_value (line, _ ("accuracy"), progress->accuracy);
  append_throughput (line, progress->throughput);
  if (progress->seconds_left >= 0)
    {
      g_autofree char *left = gradus_cli_seconds (progress->seconds_left);

      g_string_append (line, "  ");
      g_string_append_printf (line, _ ("%s left"), left);
    }
  while (gradus_cli_width (line->str) >= width && line->len > 0)
    g_string_truncate (line, g_utf8_find_prev_char (line->str, line->str + line->len) - line->str);

  g_mutex_lock (&self->mutex);
  fprintf (stdout, "\r%s\x1b[K", line->str);
  fflush (stdout);
  self->drawn = TRUE;
  g_mutex_unlock (&self->mutex);
}

static void
add_number (JsonObject *object, const char *key, double value)
{
  if (isfinite (value))
    json_object_set_double_member (object, key, value);
  else
    json_object_set_null_member (object, key);
}

static JsonObject *
epoch_object (const GradusProgress *progress, double seconds)
{
  JsonObject *object = json_object_new ();

  json_object_set_string_member (object, "event", "epoch");
  json_object_set_string_member (object, "run", progress->uuid);
  json_object_set_int_member (object, "epoch", progress->epoch);
  json_object_set_int_member (object, "epochs", progress->n_epochs);
  json_object_set_int_member (object, "step", progress->step);
  add_number (object, "loss", progress->loss);
  add_number (object, "accuracy", progress->accuracy);
  add_number (object, "validation_loss", progress->validation_loss);
  add_number (object, "validation_accuracy", progress->validation_accuracy);
  add_number (object, "samples_per_second", progress->throughput);
  add_number (object, "seconds", seconds);
  return object;
}

static void
print_json (JsonObject *object)
{
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = gradus_json_to_string (node, FALSE);

  fprintf (stdout, "%s\n", text);
}

void
gradus_progress_line_epoch (GradusProgressLine *self, const GradusProgress *progress)
{
  gint64 now = g_get_monotonic_time ();
  double seconds = 0;
  g_autoptr (GString) line = g_string_new (NULL);

  g_mutex_lock (&self->mutex);
  seconds = (double)(now - self->epoch_start) / 1e6;
  self->epoch_start = now;
  if (self->style == GRADUS_PROGRESS_JSON)
    {
      g_autoptr (JsonObject) object = epoch_object (progress, seconds);

      print_json (object);
    }
  else if (self->style == GRADUS_PROGRESS_PLAIN)
    {
      g_string_append_printf (line, _ ("Epoch %d/%d"), (int)progress->epoch,
                              (int)progress->n_epochs);
      append_value (line, _ ("loss"), progress->loss);
      append_value (line, _ ("accuracy"), progress->accuracy);
      append_value (line, _ ("validation loss"), progress->validation_loss);
      append_value (line, _ ("validation accuracy"), progress->validation_accuracy);
      append_throughput (line, progress->throughput);
      g_string_append_printf (line, "  %.1f s", seconds);
      clear (self);
      fprintf (stdout, "%s\n", line->str);
    }
  fflush (stdout);
  g_mutex_unlock (&self->mutex);
}

void
gradus_progress_line_say (GradusProgressLine *self, const char *text, JsonObject *json)
{
  g_mutex_lock (&self->mutex);
  clear (self);
  if (self->style == GRADUS_PROGRESS_JSON && json != NULL)
    print_json (json);
  else if (self->style != GRADUS_PROGRESS_JSON && text != NULL)
    fprintf (stdout, "%s\n", text);
  fflush (stdout);
  g_mutex_unlock (&self->mutex);
}

void
gradus_progress_line_clear (GradusProgressLine *self)
{
  g_mutex_lock (&self->mutex);
  clear (self);
  fflush (stdout);
  g_mutex_unlock (&self->mutex);
}
