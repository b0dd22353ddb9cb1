/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-source.h"

G_BEGIN_DECLS

/**
 * gradus_generator_source_open:
 *
 * The source "generator": {"generator": "line", "samples": 1024, "noise": 0.1}. "line": input x
 * uniform in [-1, 1), target 3 x + 2 plus Gaussian noise of that standard deviation, both float32
 * of shape (1).
 */
GradusSource *gradus_generator_source_open (GradusJsonObject *spec,
                                            guint64           seed,
                                            const char       *part,
                                            GError          **error);

G_END_DECLS
