/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-session.h"

G_BEGIN_DECLS

/**
 * GradusProgressLine:
 *
 * Shows how training goes on standard output: on a terminal a bar that is redrawn, with a lasting
 * line per epoch above it; elsewhere the line per epoch alone; or JSON, an object a line. Any
 * thread.
 */
typedef struct _GradusProgressLine GradusProgressLine;

typedef enum
{
  GRADUS_PROGRESS_PLAIN,
  GRADUS_PROGRESS_QUIET,
  GRADUS_PROGRESS_JSON,
} GradusProgressStyle;

GradusProgressLine *gradus_progress_line_new (GradusProgressStyle style);
void                gradus_progress_line_free (GradusProgressLine *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusProgressLine, gradus_progress_line_free)

/* Redraws the bar. */
void gradus_progress_line_update (GradusProgressLine *self, const GradusProgress *progress);
/* Prints the line of an epoch that ended. */
void gradus_progress_line_epoch (GradusProgressLine *self, const GradusProgress *progress);
/* Prints something in between; with JSON only where @json (an object) is given. Either may be
 * NULL. */
void gradus_progress_line_say (GradusProgressLine *self, const char *text, JsonObject *json);
/* Takes the bar away. */
void gradus_progress_line_clear (GradusProgressLine *self);

/* The bar alone, @width columns, for a share of 0 to 1; free with g_free. */
char *gradus_progress_bar (double share, guint width);

G_END_DECLS
