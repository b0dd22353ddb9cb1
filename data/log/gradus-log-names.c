/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "log/gradus-run.h"

static const char *const statuses[] = {
  [GRADUS_RUN_QUEUED] = "queued",     [GRADUS_RUN_RUNNING] = "running",
  [GRADUS_RUN_PAUSED] = "paused",     [GRADUS_RUN_FINISHED] = "finished",
  [GRADUS_RUN_STOPPED] = "stopped",   [GRADUS_RUN_FAILED] = "failed",
  [GRADUS_RUN_INTERRUPTED] = "interrupted",
};

static const char *const event_kinds[] = {
  [GRADUS_EVENT_FINDING] = "finding",       [GRADUS_EVENT_INTERVENTION] = "intervention",
  [GRADUS_EVENT_CHECKPOINT] = "checkpoint", [GRADUS_EVENT_STATUS] = "status",
  [GRADUS_EVENT_MESSAGE] = "message",
};

static const char *const severities[] = {
  [GRADUS_SEVERITY_NOTE] = "note",
  [GRADUS_SEVERITY_WARNING] = "warning",
  [GRADUS_SEVERITY_ERROR] = "error",
};

static const char *const series_kinds[] = {
  [GRADUS_SERIES_SCALAR] = "scalar", [GRADUS_SERIES_HISTOGRAM] = "histogram",
  [GRADUS_SERIES_CURVE] = "curve",   [GRADUS_SERIES_MATRIX] = "matrix",
  [GRADUS_SERIES_SAMPLE] = "sample", [GRADUS_SERIES_TEXT] = "text",
};

static gboolean
find (const char *const *names, gsize n, const char *name, guint *value)
{
  if (name == NULL)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (strcmp (names[i], name) == 0)
      {
        *value = (guint) i;
        return TRUE;
      }
  return FALSE;
}

#define DEFINE_NAMES(prefix, Type, table)                                                         \
  const char *prefix##_name (Type value)                                                          \
  {                                                                                               \
    g_return_val_if_fail ((gsize) value < G_N_ELEMENTS (table), NULL);                            \
    return table[value];                                                                          \
  }                                                                                               \
                                                                                                  \
  gboolean prefix##_from_name (const char *name, Type *value)                                     \
  {                                                                                               \
    guint found = 0;                                                                              \
                                                                                                  \
    if (!find (table, G_N_ELEMENTS (table), name, &found))                                        \
      return FALSE;                                                                               \
    *value = (Type) found;                                                                        \
    return TRUE;                                                                                  \
  }

DEFINE_NAMES (gradus_run_status, GradusRunStatus, statuses)
DEFINE_NAMES (gradus_event_kind, GradusEventKind, event_kinds)
DEFINE_NAMES (gradus_severity, GradusSeverity, severities)
DEFINE_NAMES (gradus_series_kind, GradusSeriesKind, series_kinds)
