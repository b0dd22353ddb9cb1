/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include "gradus-observer.h"

G_BEGIN_DECLS

/* What the log holds, in the user's words. */

/* "running", "finished"; static. */
const char *gradus_words_status (GradusRunStatus status);
/* "2 h ago", "yesterday", "Tuesday", "3 Mar" for a time in ms since 1970; free with g_free. */
char *gradus_words_age (gint64 ms);
/* "14:32", "yesterday", "Tuesday"; free with g_free. */
char *gradus_words_started (gint64 ms);
/* A message of the log, which is English there. */
const char *gradus_words_message (const char *message);
/* "Loss" for "loss", "Accuracy" for "accuracy", else the name itself. */
const char *gradus_words_metric (const char *metric);

G_END_DECLS
