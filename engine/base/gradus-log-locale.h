/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* From here on the calling thread's own messages are in English, for the log's sake; numbers and dates
 * stay those of the process. For the first line of a thread whose errors may reach the log. */
void gradus_log_locale_enter (void);

/* The language of the process for what such a thread tells a person; what it gives is for going back. */
gpointer gradus_log_locale_pause  (void);
void     gradus_log_locale_resume (gpointer before);

G_END_DECLS
