/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-line.h"

#include <glib/gi18n-lib.h>

struct _GradusLine
{
  GObject parent_instance;

  GradusSeries   *series;
  gint64          run;
  char           *run_name;
  char           *name;
  GradusLineRole  role;
  int             color;
  GradusLineFlags flags;
};

G_DEFINE_FINAL_TYPE (GradusLine, gradus_line, G_TYPE_OBJECT)

enum
{
  SIGNAL_CHANGED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

static void
gradus_line_finalize (GObject *object)
{
  GradusLine *self = GRADUS_LINE (object);

  g_object_unref (self->series);
  g_free (self->run_name);
  g_free (self->name);
  G_OBJECT_CLASS (gradus_line_parent_class)->finalize (object);
}

static void
gradus_line_class_init (GradusLineClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_line_finalize;

  signals[SIGNAL_CHANGED] = g_signal_new ("changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST,
                                          0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
gradus_line_init (GradusLine *self)
{
}

GradusLine *
gradus_line_new (GradusSeries   *series,
                 gint64          run,
                 const char     *run_name,
                 GradusLineRole  role,
                 int             color,
                 GradusLineFlags flags)
{
  GradusLine *self;

  g_return_val_if_fail (GRADUS_IS_SERIES (series), NULL);

  self = g_object_new (GRADUS_TYPE_LINE, NULL);
  self->series = g_object_ref (series);
  self->run = run;
  self->run_name = g_strdup (run_name != NULL ? run_name : "");
  self->role = role;
  self->color = color;
  self->flags = flags;
  return self;
}

GradusSeries *
gradus_line_get_series (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), NULL);

  return self->series;
}

gint64
gradus_line_get_run (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), 0);

  return self->run;
}

const char *
gradus_line_get_run_name (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), NULL);

  return self->run_name;
}

GradusLineRole
gradus_line_get_role (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), GRADUS_LINE_VALUE);

  return self->role;
}

int
gradus_line_get_color (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), 0);

  return self->color;
}

GradusLineFlags
gradus_line_get_flags (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), GRADUS_LINE_PLAIN);

  return self->flags;
}

const char *
gradus_line_get_name (GradusLine *self)
{
  g_return_val_if_fail (GRADUS_IS_LINE (self), NULL);

  if (self->name != NULL)
    return self->name;
  switch (self->role)
    {
    case GRADUS_LINE_TRAIN:
      return _("train");
    case GRADUS_LINE_VALIDATION:
      return _("validation");
    case GRADUS_LINE_VALUE:
    default:
      return "";
    }
}

static void
set_string (GradusLine *self, char **field, const char *value)
{
  if (g_strcmp0 (*field, value) == 0)
    return;
  g_free (*field);
  *field = g_strdup (value);
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

void
gradus_line_set_name (GradusLine *self, const char *name)
{
  g_return_if_fail (GRADUS_IS_LINE (self));

  set_string (self, &self->name, name);
}

void
gradus_line_set_run_name (GradusLine *self, const char *run_name)
{
  g_return_if_fail (GRADUS_IS_LINE (self));
  g_return_if_fail (run_name != NULL);

  set_string (self, &self->run_name, run_name);
}

void
gradus_line_set_color (GradusLine *self, int color)
{
  g_return_if_fail (GRADUS_IS_LINE (self));

  if (self->color == color)
    return;
  self->color = color;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

void
gradus_line_set_flags (GradusLine *self, GradusLineFlags flags)
{
  g_return_if_fail (GRADUS_IS_LINE (self));

  if (self->flags == flags)
    return;
  self->flags = flags;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}
