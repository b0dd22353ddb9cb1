/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <adwaita.h>

#include "gradus-workbench.h"

G_BEGIN_DECLS

/**
 * GradusSubjectPage:
 *
 * What Model and Data have in common: they show what the focused run's recipe amounts to, which is
 * found out when the page is looked at. It has the states for nothing there, on its way, refused.
 *
 * @fill is called on the page with recipe and summary of the focused run, whenever they changed.
 */
#define GRADUS_TYPE_SUBJECT_PAGE (gradus_subject_page_get_type ())
G_DECLARE_DERIVABLE_TYPE (GradusSubjectPage, gradus_subject_page, GRADUS, SUBJECT_PAGE, GtkWidget)

struct _GradusSubjectPageClass
{
  GtkWidgetClass parent_class;

  void (*fill) (GradusSubjectPage   *self,
                GradusRunItem       *item,
                const GradusSummary *summary);
};

/* @child: what is shown once there is something; @icon_name and @empty for when there is not. */
void gradus_subject_page_set_child (GradusSubjectPage *self,
                                    GtkWidget         *child,
                                    const char        *icon_name,
                                    const char        *empty,
                                    const char        *refused);
void gradus_subject_page_set_workbench (GradusSubjectPage *self, GradusWorkbench *workbench);

G_END_DECLS
