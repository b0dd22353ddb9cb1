/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_MARK (gradus_mark_get_type ())
G_DECLARE_FINAL_TYPE (GradusMark, gradus_mark, GRADUS, MARK, GObject)

/* Something that happened in run @run at @step: a dashed vertical line with a small triangle.
   @label is the short text that charts with mark labels write beside it ("by hand"), @tooltip the
   whole sentence; each may be NULL. Immutable. */
GradusMark *gradus_mark_new (gint64      run,
                             gint64      step,
                             const char *label,
                             const char *tooltip) G_GNUC_WARN_UNUSED_RESULT;

/* Something that lasts from @step to @last_step, highlighted: what a finding speaks of. */
GradusMark *gradus_mark_new_span (gint64      run,
                                  gint64      step,
                                  gint64      last_step,
                                  const char *label,
                                  const char *tooltip) G_GNUC_WARN_UNUSED_RESULT;

gint64      gradus_mark_get_run (GradusMark *self);
gint64      gradus_mark_get_step (GradusMark *self);
gint64      gradus_mark_get_last_step (GradusMark *self);
gboolean    gradus_mark_is_span (GradusMark *self);
const char *gradus_mark_get_label (GradusMark *self);
const char *gradus_mark_get_tooltip (GradusMark *self);

G_END_DECLS
