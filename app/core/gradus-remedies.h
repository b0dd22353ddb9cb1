/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-preparation.h"

G_BEGIN_DECLS

/* What would bring a run of @self under @available bytes, or nearer, the cheapest way first: a sentence each, with
 * what it saves. Empty where nothing is to be gained. (transfer full) (element-type utf8) */
GPtrArray *gradus_remedies_new (GradusPreparation *self, gint64 available);

G_END_DECLS
