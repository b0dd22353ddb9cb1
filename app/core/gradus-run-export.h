/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-workspace.h"

G_BEGIN_DECLS

/* Writes all scalars of a run as CSV (quoted as RFC 4180 says, lines end in LF): series, kind, step, time in ms since the run's
 * start, value (NaN, inf and -inf by these words). @path "-": standard output. Waits. */
gboolean gradus_run_export_csv (GradusWorkspace *workspace,
                                gint64           run,
                                const char      *path,
                                GError         **error);

G_END_DECLS
