/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-format.h"
#include "gradus-model-page.h"
#include "gradus-table.h"

struct _GradusModelPage
{
  GradusSubjectPage parent_instance;

  GtkWidget  *title;
  GtkWidget  *origin;
  GListStore *layers;
  GtkWidget  *parameters;
  GtkWidget  *memory;
  GtkWidget  *count;
};

G_DEFINE_FINAL_TYPE (GradusModelPage, gradus_model_page, GRADUS_TYPE_SUBJECT_PAGE)

static const GradusTableColumn columns[] = {
  { N_ ("Layer"), FALSE, TRUE },
  { N_ ("Type"), FALSE, TRUE },
  { N_ ("Output shape"), FALSE, TRUE },
  { N_ ("Parameters"), TRUE, FALSE },
  { N_ ("Memory"), TRUE, FALSE },
};

static char **
cells_of (const GradusSummaryLayer *layer)
{
  char **cells = g_new0 (char *, G_N_ELEMENTS (columns) + 1);

  cells[0] = g_strdup (layer->name);
  cells[1] = g_strdup (layer->class_name);
  cells[2] = g_strdup (layer->output_shape);
  cells[3] = layer->parameters > 0 ? gradus_format_count (layer->parameters) : g_strdup ("–");
  cells[4] = layer->bytes > 0 ? gradus_format_bytes ((double) layer->bytes) : g_strdup ("–");

  return cells;
}

static char *
describe_memory (const GradusSummary *summary)
{
  g_autofree char *peak = gradus_format_bytes ((double) summary->peak_bytes);
  g_autofree char *free_memory = gradus_format_bytes ((double) summary->free_bytes);
  g_autofree char *batch = gradus_format_count (summary->batch_size);
  g_autofree char *largest = gradus_format_count (summary->largest_batch);

  if (summary->peak_bytes > summary->free_bytes)
    /* Translators: bold numbers; batch sizes at the end. */
    return g_strdup_printf (_("peak <b>%s</b> at batch %s, but only %s are free: take a batch of "
                              "%s"),
                            peak, batch, free_memory, largest);
  if (summary->largest_batch > 0)
    return g_strdup_printf (_("peak <b>%s</b> at batch %s (largest that fits: %s)"), peak, batch,
                            largest);

  return g_strdup_printf (_("peak <b>%s</b> at batch %s"), peak, batch);
}

static void
gradus_model_page_fill (GradusSubjectPage   *page,
                        GradusRunItem       *item,
                        const GradusSummary *summary)
{
  GradusModelPage *self = GRADUS_MODEL_PAGE (page);
  g_autofree char *parameters = gradus_format_count (summary->parameters);
  g_autofree char *trainable = gradus_format_count (summary->trainable);
  g_autofree char *shown_parameters = NULL;
  g_autofree char *memory = describe_memory (summary);
  g_autofree char *count = NULL;
  g_autofree char *origin = NULL;

  g_list_store_remove_all (self->layers);
  for (guint i = 0; i < summary->layers->len; i++)
    {
      g_autoptr (GradusTableRow) row =
        gradus_table_row_new (cells_of (g_ptr_array_index (summary->layers, i)));

      g_list_store_append (self->layers, row);
    }

  gtk_label_set_label (GTK_LABEL (self->title), summary->model_name);
  /* Translators: the run, or the recipe, whose model it is. */
  origin = g_strdup_printf (_("of %s"), gradus_run_item_get_name (item));
  gtk_label_set_label (GTK_LABEL (self->origin), origin);
  shown_parameters =
    summary->trainable < summary->parameters
      ? g_strdup_printf (_("<b>%s</b> parameters, <b>%s</b> of them trainable"), parameters,
                         trainable)
      : g_strdup_printf (_("<b>%s</b> parameters"), parameters);
  gtk_label_set_markup (GTK_LABEL (self->parameters), shown_parameters);
  gtk_label_set_markup (GTK_LABEL (self->memory), memory);
  if (summary->peak_bytes > summary->free_bytes)
    gtk_widget_add_css_class (self->memory, "error");
  else
    gtk_widget_remove_css_class (self->memory, "error");
  count = g_strdup_printf (ngettext ("%u layer", "%u layers", summary->layers->len),
                           summary->layers->len);
  gtk_label_set_label (GTK_LABEL (self->count), count);
}

static void
gradus_model_page_class_init (GradusModelPageClass *klass)
{
  GRADUS_SUBJECT_PAGE_CLASS (klass)->fill = gradus_model_page_fill;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "model-page");
}

static GtkWidget *
add_label (GtkWidget *box, const char *css_class)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (label, "numeric");
  gtk_widget_add_css_class (label, css_class);
  gtk_box_append (GTK_BOX (box), label);

  return label;
}

static void
gradus_model_page_init (GradusModelPage *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *header = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 9);
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 18);

  gtk_widget_add_css_class (header, "page-header");
  self->title = add_label (header, "heading");
  self->origin = add_label (header, "dim-label");
  gtk_box_append (GTK_BOX (box), header);

  self->layers = g_list_store_new (GRADUS_TYPE_TABLE_ROW);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller),
                                 gradus_table_new (columns, G_N_ELEMENTS (columns),
                                                   G_LIST_MODEL (self->layers),
                                                   _("Layers of the model")));
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), scroller);

  gtk_widget_add_css_class (bar, "page-footer");
  self->parameters = add_label (bar, "body");
  self->memory = add_label (bar, "body");
  gtk_widget_set_hexpand (self->memory, TRUE);
  self->count = add_label (bar, "dim-label");
  gtk_box_append (GTK_BOX (box), bar);

  gradus_subject_page_set_child (GRADUS_SUBJECT_PAGE (self), box, "gradus-model-symbolic",
                                 _("No Model Yet"), _("The Model Cannot Be Built"));
}
