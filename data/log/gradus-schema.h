/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "log/gradus-sqlite.h"

G_BEGIN_DECLS

/* Private to data/log: the tables of the run log and the way to them from older versions. */

/* PRAGMA application_id: "Grad". */
#define GRADUS_SCHEMA_APPLICATION_ID 0x47726164

/* PRAGMA user_version of this build. */
int gradus_schema_version (void);

/**
 * gradus_schema_migrate:
 * @steps: SQL that leads from version i to i + 1
 *
 * Runs the steps that the log lacks, each in one transaction with the new version number, so that a
 * log is always whole at some version. A failing step is named in the error, with its query.
 * Several processes may do so at once.
 */
gboolean gradus_schema_migrate (sqlite3           *db,
                                const char *const *steps,
                                int                n_steps,
                                GError           **error);

/* Makes or upgrades the tables of a connection that writes. */
gboolean gradus_schema_prepare (sqlite3 *db, GError **error);

/* Whether the file is a run log, and of which version: REFUSED for another program's database.
 * @version 0 is an empty file. */
gboolean gradus_schema_identify (sqlite3 *db, gint64 *version, GError **error);

G_END_DECLS
