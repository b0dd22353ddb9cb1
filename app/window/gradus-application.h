/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <adwaita.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/**
 * GradusApplication:
 *
 * One process a desktop session: a second start raises the window that is there, and hands its
 * files over. It owns the workbench, so a run outlives its window.
 */
#define GRADUS_TYPE_APPLICATION (gradus_application_get_type ())
G_DECLARE_FINAL_TYPE (GradusApplication, gradus_application, GRADUS, APPLICATION, AdwApplication)

GradusApplication *gradus_application_new (void);

/* The runs and the recipe at hand; (transfer none). */
GradusWorkbench *gradus_application_get_workbench (GradusApplication *self);

/* Goes on without a window until no run is on or waits, tells of the end, and then leaves. */
void gradus_application_keep_in_background (GradusApplication *self);

G_END_DECLS
