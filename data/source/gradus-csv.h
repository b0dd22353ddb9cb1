/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-file.h"

G_BEGIN_DECLS

#define GRADUS_CSV_MAX_COLUMNS 16384

/**
 * GradusCsv:
 * @names: of the columns: the header's, or "0", "1" and so on
 * @bytes: held in memory
 *
 * A table of text (RFC 4180, any delimiter; .gz too) in memory: n_rows * n_columns cells, the header not
 * among them. Empty lines are skipped. Valid UTF-8.
 */
typedef struct
{
  GradusFile file;
  char      *text;
  gsize      bytes;
  guint      n_columns;
  gint64     n_rows;
  char     **names;
  guint32   *cells; /* offsets into @text */
  guint32   *lines; /* where each row starts, from 1 */
} GradusCsv;

/**
 * gradus_csv_read:
 * @delimiter: 0: the one of comma, tab, semicolon and bar that cuts the first lines alike
 * @header: whether the first line has names; -1: if none of its cells is a number, is empty, stands there twice
 *   or comes again below in its column
 *
 * Fails with GRADUS_ERROR_NOT_FOUND, _IO, _NO_MEMORY or _REFUSED naming file and line: rows of another
 * number of cells, a quote that does not end, bytes that are no UTF-8, more than 2 GiB.
 */
GradusCsv  *gradus_csv_read (const char *path, char delimiter, int header, GError **error);
void        gradus_csv_free (GradusCsv *self);
const char *gradus_csv_cell (const GradusCsv *self, gint64 row, guint column);
/* -1 if there is none of that name. */
int gradus_csv_column (const GradusCsv *self, const char *name);
/* Whether the text is a finite number and nothing more but blanks around it. */
gboolean gradus_csv_number (const char *cell, double *number);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusCsv, gradus_csv_free)

G_END_DECLS
