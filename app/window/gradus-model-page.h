/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-subject-page.h"

G_BEGIN_DECLS

/* The model: its layers with shapes, parameters and memory, the totals, and the predicted peak. */
#define GRADUS_TYPE_MODEL_PAGE (gradus_model_page_get_type ())
G_DECLARE_FINAL_TYPE (GradusModelPage, gradus_model_page, GRADUS, MODEL_PAGE, GradusSubjectPage)

G_END_DECLS
