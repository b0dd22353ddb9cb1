/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-subject-page.h"

G_BEGIN_DECLS

/* The data: what the recipe reads, what comes of it, and the stages on the way to the model. */
#define GRADUS_TYPE_DATA_PAGE (gradus_data_page_get_type ())
G_DECLARE_FINAL_TYPE (GradusDataPage, gradus_data_page, GRADUS, DATA_PAGE, GradusSubjectPage)

G_END_DECLS
