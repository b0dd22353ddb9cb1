/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/**
 * gradus_settings_get:
 *
 * The application's settings. The schema is the one that the desktop has; where none is installed,
 * the copy inside the program.
 *
 * Main thread only. Returns: (transfer none): one object for the whole process
 */
GSettings *gradus_settings_get (void);

/* The file @name below the folder of installed or source resources, such as
 * "examples/line.json"; NULL if it is nowhere. Free with g_free. */
char *gradus_settings_find_resource (const char *name);

G_END_DECLS
