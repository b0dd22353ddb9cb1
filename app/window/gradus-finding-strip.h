/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-run-data.h"

G_BEGIN_DECLS

/**
 * GradusFindingStrip:
 *
 * What is wrong with a run, in a sentence above its charts; further findings fold under "n more".
 * Show, or the pointer over it, highlights the span it speaks of. Hidden where nothing is wrong.
 */
#define GRADUS_TYPE_FINDING_STRIP (gradus_finding_strip_get_type ())
G_DECLARE_FINAL_TYPE (GradusFindingStrip, gradus_finding_strip, GRADUS, FINDING_STRIP, GtkWidget)

GtkWidget *gradus_finding_strip_new (void);
/* @data: (nullable) */
void gradus_finding_strip_set_data (GradusFindingStrip *self, GradusRunData *data);

G_END_DECLS
