/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-source.h"

G_BEGIN_DECLS

/* The source "idx": {"inputs": file | {name: file}, "targets": likewise or "inputs", "class_names": [..]}. */
GradusSource *gradus_idx_source_open (GradusJsonObject *spec, const char *base, GError **error);

G_END_DECLS
