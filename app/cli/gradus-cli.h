/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>

#include "log/gradus-log-reader.h"

G_BEGIN_DECLS

/* What the program ends with. */
enum
{
  GRADUS_CLI_DONE = 0,
  GRADUS_CLI_FAILED = 1,
  GRADUS_CLI_REFUSED = 2,
};

/* The commands. @argv[0] is the command's own name. Return the exit status. */
int gradus_cli_train (int argc, char **argv);
int gradus_cli_runs (int argc, char **argv);
int gradus_cli_check (int argc, char **argv);
int gradus_cli_doctor (int argc, char **argv);
int gradus_cli_evaluate (int argc, char **argv);
int gradus_cli_infer (int argc, char **argv);
int gradus_cli_export (int argc, char **argv);
int gradus_cli_bench (int argc, char **argv);

/**
 * gradus_cli_parse:
 * @arguments: what stands after the options, for the help ("RECIPE.json")
 * @n_min, @n_max: how many of them there may be
 * @summary, @description: for the help
 *
 * Reads the options of a command; afterwards @argv[1] and on are the arguments. FALSE when they are
 * not right, which was said then.
 */
gboolean gradus_cli_parse (int                *argc,
                           char             ***argv,
                           const GOptionEntry *entries,
                           const char         *arguments,
                           int                 n_min,
                           int                 n_max,
                           const char         *summary,
                           const char         *description);

/* Prints the message and gives the exit status that belongs to it. */
int gradus_cli_refuse (const GError *error);
int gradus_cli_fail (const GError *error);
/* Prints a line of our own to the error output. */
void gradus_cli_complain (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Columns that @text takes on a terminal. */
guint gradus_cli_width (const char *text);
/* Columns of the terminal on standard output; 0 if it is none. */
guint gradus_cli_terminal_width (void);

/* Prints @rows (of GStrv, the first the titles) in columns; those whose letter in @alignment is 'r'
 * stand right. */
void gradus_cli_table (GPtrArray *rows, const char *alignment);
/* Adds a row of copied cells to a table; ends with NULL. */
void gradus_cli_add_row (GPtrArray *rows, const char *first, ...) G_GNUC_NULL_TERMINATED;

/* "0.0312", "-" for NaN; "2.1 MiB"; "02:19"; "3 min ago". Free with g_free. */
char *gradus_cli_number (double value);
char *gradus_cli_size (gint64 bytes);
char *gradus_cli_seconds (double seconds);
char *gradus_cli_age (gint64 ms_since_1970);
/* Translated word for a status, static. */
const char *gradus_cli_status (GradusRunStatus status);

/* Opens an existing workspace; only the default one, for NULL, is made where it is not there. */
GradusWorkspace *gradus_cli_open_workspace (const char *path, GError **error);

G_END_DECLS
