/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The messages with conversions ("%s") of a compiled catalogue (GNU gettext's .mo), in English, the parts that
 * depend on the system put in; without those that are hardly more than conversions. Empty for a file that is none. (transfer full) (element-type utf8) */
GPtrArray *gradus_catalogue_formats (const guint8 *bytes, gsize size);

/* Matches @message against @format: the texts that stood at its conversions, in their order, or NULL. (transfer full) */
GPtrArray *gradus_catalogue_match   (const char *format, const char *message);
/* @format with its conversions, numbered or not, replaced by these. (transfer full) */
char      *gradus_catalogue_fill    (const char *format, GPtrArray *arguments);

G_END_DECLS
