/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <adwaita.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/* The window: header, run list, the four pages, toasts and dialogs. Everything that can be done is
 * an action "win.…" of it. */
#define GRADUS_TYPE_WINDOW (gradus_window_get_type ())
G_DECLARE_FINAL_TYPE (GradusWindow, gradus_window, GRADUS, WINDOW, AdwApplicationWindow)

GradusWindow *gradus_window_new (GtkApplication *application, GradusWorkbench *workbench);

/* Makes the recipe in a file, or an example, the one at hand. */
void gradus_window_open_file (GradusWindow *self, GFile *file);
void gradus_window_open_example (GradusWindow *self, const char *name);

void gradus_window_show_page (GradusWindow *self, const char *page);

G_END_DECLS
