/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-data-page.h"
#include "gradus-model-page.h"
#include "gradus-run-list.h"
#include "gradus-run-status-button.h"
#include "gradus-runs-page.h"
#include "gradus-train-page.h"
#include "gradus-window.h"

G_BEGIN_DECLS

struct _GradusWindow
{
  AdwApplicationWindow parent_instance;

  GradusWorkbench *workbench;
  GSignalGroup    *focus_signals;
  AdwToast        *stall; /* stays as long as the log cannot be written */
  guint            keyboard_idle;
  guint            pages_idle;
  gboolean         painted; /* a first frame is on the screen */
  gboolean         closing; /* what closing means has been settled */

  /* Template widgets */
  AdwToastOverlay       *toasts;
  AdwFlap               *flap;
  AdwViewStack          *pages;
  AdwViewSwitcherBar    *switcher_bar;
  GtkWidget             *run_list_button;
  GtkWidget             *new_run_label;
  GradusRunStatusButton *run_status;
  GradusRunList         *run_list;
  GtkDropTarget         *drop_target;
};

/* gradus-window-actions.c */
void _gradus_window_class_install_actions (GtkWidgetClass *widget_class);
void _gradus_window_update_actions (GradusWindow *self);

/* gradus-window.c */
void _gradus_window_toast (GradusWindow *self, const char *text);
void _gradus_window_open_dialog (GradusWindow *self);
/* The page of that name, made now if nobody has looked at it yet. */
GtkWidget *_gradus_window_get_page (GradusWindow *self, const char *name);

G_END_DECLS
