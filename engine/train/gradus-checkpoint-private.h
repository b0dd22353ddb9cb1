/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-checkpoint.h"

G_BEGIN_DECLS

/* Of the JSON in the file's metadata. */
#define GRADUS_CHECKPOINT_FORMAT 1

G_END_DECLS
