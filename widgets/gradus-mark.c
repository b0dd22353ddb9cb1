/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-mark.h"

struct _GradusMark
{
  GObject parent_instance;

  gint64   run;
  gint64   step;
  gint64   last_step;
  gboolean span;
  char    *label;
  char    *tooltip;
};

G_DEFINE_FINAL_TYPE (GradusMark, gradus_mark, G_TYPE_OBJECT)

static void
gradus_mark_finalize (GObject *object)
{
  GradusMark *self = GRADUS_MARK (object);

  g_free (self->label);
  g_free (self->tooltip);
  G_OBJECT_CLASS (gradus_mark_parent_class)->finalize (object);
}

static void
gradus_mark_class_init (GradusMarkClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_mark_finalize;
}

static void
gradus_mark_init (GradusMark *self)
{
}

GradusMark *
gradus_mark_new (gint64 run, gint64 step, const char *label, const char *tooltip)
{
  GradusMark *self = g_object_new (GRADUS_TYPE_MARK, NULL);

  self->run = run;
  self->step = self->last_step = step;
  self->label = g_strdup (label);
  self->tooltip = g_strdup (tooltip);
  return self;
}

GradusMark *
gradus_mark_new_span (gint64 run, gint64 step, gint64 last_step, const char *label, const char *tooltip)
{
  GradusMark *self = gradus_mark_new (run, step, label, tooltip);

  self->last_step = MAX (step, last_step);
  self->span = TRUE;
  return self;
}

gint64
gradus_mark_get_run (GradusMark *self)
{
  g_return_val_if_fail (GRADUS_IS_MARK (self), 0);

  return self->run;
}

gint64
gradus_mark_get_step (GradusMark *self)
{
  g_return_val_if_fail (GRADUS_IS_MARK (self), 0);

  return self->step;
}

gint64
gradus_mark_get_last_step (GradusMark *self)
{
  g_return_val_if_fail (GRADUS_IS_MARK (self), 0);

  return self->last_step;
}

gboolean
gradus_mark_is_span (GradusMark *self)
{
  g_return_val_if_fail (GRADUS_IS_MARK (self), FALSE);

  return self->span;
}

const char *
gradus_mark_get_label (GradusMark *self)
{
  g_return_val_if_fail (GRADUS_IS_MARK (self), NULL);

  return self->label;
}

const char *
gradus_mark_get_tooltip (GradusMark *self)
{
  g_return_val_if_fail (GRADUS_IS_MARK (self), NULL);

  return self->tooltip;
}
