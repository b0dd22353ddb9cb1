/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Physical cores that this process may run on, at least 1. */
guint gradus_pool_physical_cores (void);
/* Whole cores that the control group's quota grants (rounded up), 0 for no quota. */
guint gradus_pool_quota_cores (void);
/* Cores of a "cpu.max" file's text ("200000 100000"), rounded up; 0 for "max" and for nonsense. */
guint gradus_pool_parse_cpu_max (const char *text);
/* The smaller of both, less one for the window when there are more than two. */
guint gradus_pool_default_threads (void);

G_END_DECLS
