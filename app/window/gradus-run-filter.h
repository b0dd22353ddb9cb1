/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

#include "gradus-run-item.h"

G_BEGIN_DECLS

/**
 * GradusRunFilter:
 *
 * What is typed into the filter of the Runs page: words that a run's name, state or optimizer must
 * contain, and comparisons such as "loss < 0.25", "accuracy >= 0.9", "rate = 1e-3". All must hold.
 */
typedef struct _GradusRunFilter GradusRunFilter;

GradusRunFilter *gradus_run_filter_new (const char *text);
void             gradus_run_filter_free (GradusRunFilter *self);
gboolean         gradus_run_filter_matches (GradusRunFilter *self, GradusRunItem *item);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusRunFilter, gradus_run_filter_free)

/* What can be compared and sorted by. */
typedef enum
{
  GRADUS_RUN_KEY_LOSS,
  GRADUS_RUN_KEY_ACCURACY,
  GRADUS_RUN_KEY_TEST_ACCURACY,
  GRADUS_RUN_KEY_PARAMETERS,
  GRADUS_RUN_KEY_RATE,
  GRADUS_RUN_KEY_BATCH,
  GRADUS_RUN_KEY_DROPOUT,
  GRADUS_RUN_KEY_EPOCHS,
  GRADUS_RUN_KEY_DURATION,
  GRADUS_RUN_KEY_STARTED,
  GRADUS_RUN_N_KEYS,
} GradusRunKey;

/* NaN where the run has none. */
double gradus_run_key_value (GradusRunItem *item, GradusRunKey key);

G_END_DECLS
