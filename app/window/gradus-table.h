/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* A row of text cells. */
#define GRADUS_TYPE_TABLE_ROW (gradus_table_row_get_type ())
G_DECLARE_FINAL_TYPE (GradusTableRow, gradus_table_row, GRADUS, TABLE_ROW, GObject)

/* @cells: (transfer full): one string a column */
GradusTableRow *gradus_table_row_new (char **cells);

/**
 * GradusTableColumn:
 * @title: to be translated
 * @numeric: aligned right, with figures of equal width
 * @expand: takes the room that is left
 */
typedef struct
{
  const char *title;
  gboolean    numeric;
  gboolean    expand;
} GradusTableColumn;

/* A table of GradusTableRow, for reading: @model is taken. */
GtkWidget *gradus_table_new (const GradusTableColumn *columns,
                             guint                    n,
                             GListModel              *model,
                             const char              *label);

G_END_DECLS
