/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-error.h"

G_BEGIN_DECLS

/* Writes @parts one after the other to @path: a temporary file beside it, synced, renamed onto it,
 * the folder synced. So the file is there whole or not at all. @sha256 (out, optional): free with
 * g_free. @before (nullable) runs once all is written, just before a file that was there goes. Fails
 * with GRADUS_ERROR_NO_SPACE, _READ_ONLY or _IO; nothing is left behind then. */
gboolean gradus_file_write (const char   *path,
                            GBytes *const *parts,
                            guint         n_parts,
                            char        **sha256,
                            void        (*before) (gpointer data),
                            gpointer      before_data,
                            GError      **error);

G_END_DECLS
