/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-table.h"

struct _GradusTableRow
{
  GObject parent_instance;

  char **cells;
};

G_DEFINE_FINAL_TYPE (GradusTableRow, gradus_table_row, G_TYPE_OBJECT)

static void
gradus_table_row_finalize (GObject *object)
{
  g_strfreev (GRADUS_TABLE_ROW (object)->cells);

  G_OBJECT_CLASS (gradus_table_row_parent_class)->finalize (object);
}

static void
gradus_table_row_class_init (GradusTableRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_table_row_finalize;
}

static void
gradus_table_row_init (GradusTableRow *self)
{
}

GradusTableRow *
gradus_table_row_new (char **cells)
{
  GradusTableRow *self = g_object_new (GRADUS_TYPE_TABLE_ROW, NULL);

  self->cells = cells;

  return self;
}

static void
setup_cb (GtkListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const GradusTableColumn *column = data;
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), column->numeric ? 1 : 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  if (column->numeric)
    gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
  gtk_list_item_set_activatable (item, FALSE);
}

static void
bind_cb (GtkListItemFactory *factory, GtkListItem *item, gpointer data)
{
  guint index = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (factory), "gradus-index"));
  GradusTableRow *row = gtk_list_item_get_item (item);
  GtkWidget *label = gtk_list_item_get_child (item);

  gtk_label_set_label (GTK_LABEL (label), row->cells[index]);
  gtk_widget_set_tooltip_text (label, row->cells[index]);
}

GtkWidget *
gradus_table_new (const GradusTableColumn *columns, guint n, GListModel *model, const char *label)
{
  GtkNoSelection *selection = gtk_no_selection_new (model);
  GtkWidget *view = gtk_column_view_new (GTK_SELECTION_MODEL (selection));

  for (guint i = 0; i < n; i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      GtkColumnViewColumn *column;

      g_object_set_data (G_OBJECT (factory), "gradus-index", GUINT_TO_POINTER (i));
      g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), (gpointer) &columns[i]);
      g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), NULL);
      column = gtk_column_view_column_new (_(columns[i].title), factory);
      gtk_column_view_column_set_expand (column, columns[i].expand);
      gtk_column_view_column_set_resizable (column, TRUE);
      gtk_column_view_append_column (GTK_COLUMN_VIEW (view), column);
      g_object_unref (column);
    }
  gtk_widget_add_css_class (view, "data-table");
  gtk_accessible_update_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);

  return view;
}
