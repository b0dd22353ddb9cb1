/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <adwaita.h>
#include <glib/gi18n-lib.h>
#include <math.h>

#include "gradus-format.h"
#include "gradus-palette.h"
#include "gradus-run-dot.h"
#include "gradus-run-filter.h"
#include "gradus-runs-page.h"
#include "gradus-sparkline.h"
#include "gradus-words.h"

typedef enum
{
  KIND_DOT,
  KIND_NAME,
  KIND_TEXT,
  KIND_NUMBER,
  KIND_SPARK,
} CellKind;

typedef char *(*DescribeFunc) (GradusRunItem *item);

typedef struct
{
  const char  *id;
  const char  *title;
  CellKind     kind;
  DescribeFunc describe;
  int          key; /* GradusRunKey, or -1 to sort by the text */
  gboolean     shown;
} Column;

struct _GradusRunsPage
{
  GtkWidget parent_instance;

  GradusWorkbench    *workbench;
  GradusRunFilter    *needle;
  GtkFilter          *filter;
  GtkSingleSelection *selection;
  GSimpleActionGroup *actions;
  gboolean            syncing;

  GtkWidget *stack;
  GtkWidget *entry;
  GtkWidget *count;
  GtkWidget *view;
};

G_DEFINE_FINAL_TYPE (GradusRunsPage, gradus_runs_page, GTK_TYPE_WIDGET)

/* ---- What the cells say ---- */

static char *
number_or_dash (double value, GradusUnit unit)
{
  return isnan (value) ? g_strdup ("–") : gradus_format_value (value, unit);
}

static char *
describe_status (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);

  return g_strdup (info != NULL ? gradus_words_status (info->status) : _("ready to train"));
}

static char *
describe_parameters (GradusRunItem *item)
{
  return number_or_dash (gradus_run_key_value (item, GRADUS_RUN_KEY_PARAMETERS), GRADUS_UNIT_COUNT);
}

static char *
describe_optimizer (GradusRunItem *item)
{
  const GradusRunDetails *details = gradus_run_item_get_details (item);

  return g_strdup (details != NULL ? details->optimizer : "");
}

static char *
describe_rate (GradusRunItem *item)
{
  return number_or_dash (gradus_run_key_value (item, GRADUS_RUN_KEY_RATE), GRADUS_UNIT_SCIENTIFIC);
}

static char *
describe_batch (GradusRunItem *item)
{
  return number_or_dash (gradus_run_key_value (item, GRADUS_RUN_KEY_BATCH), GRADUS_UNIT_COUNT);
}

static char *
describe_dropout (GradusRunItem *item)
{
  return number_or_dash (gradus_run_key_value (item, GRADUS_RUN_KEY_DROPOUT), GRADUS_UNIT_NONE);
}

static char *
describe_epochs (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  const GradusRunDetails *details = gradus_run_item_get_details (item);
  int done = info != NULL ? (int) info->epochs : 0;
  int planned = info != NULL ? (int) info->planned_epochs
                             : details != NULL ? (int) details->epochs : 0;

  if (done == planned || info == NULL || info->status == GRADUS_RUN_QUEUED)
    return g_strdup_printf ("%d", planned);

  return g_strdup_printf ("%d/%d", done, planned);
}

static char *
describe_result (double value)
{
  return isnan (value) ? g_strdup ("–") : gradus_format_number (value, 4);
}

static char *
describe_loss (GradusRunItem *item)
{
  g_autofree char *number = describe_result (gradus_run_key_value (item, GRADUS_RUN_KEY_LOSS));

  return gradus_run_item_is_best (item) ? g_strconcat ("★ ", number, NULL)
                                        : g_steal_pointer (&number);
}

static char *
describe_accuracy (GradusRunItem *item)
{
  return describe_result (gradus_run_key_value (item, GRADUS_RUN_KEY_ACCURACY));
}

static char *
describe_test (GradusRunItem *item)
{
  return describe_result (gradus_run_key_value (item, GRADUS_RUN_KEY_TEST_ACCURACY));
}

static char *
describe_duration (GradusRunItem *item)
{
  return number_or_dash (gradus_run_key_value (item, GRADUS_RUN_KEY_DURATION),
                         GRADUS_UNIT_DURATION);
}

static char *
describe_started (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);

  if (info != NULL && info->status == GRADUS_RUN_QUEUED)
    return g_strdup (_("waiting"));

  return gradus_words_started (info != NULL ? info->started : 0);
}

static char *
describe_name (GradusRunItem *item)
{
  return g_strdup (gradus_run_item_get_name (item));
}

static const Column columns[] = {
  { "dot", "", KIND_DOT, NULL, -2, TRUE },
  { "name", N_ ("Name"), KIND_NAME, describe_name, -1, TRUE },
  { "state", N_ ("State"), KIND_TEXT, describe_status, -1, TRUE },
  { "parameters", N_ ("Parameters"), KIND_NUMBER, describe_parameters, GRADUS_RUN_KEY_PARAMETERS,
    TRUE },
  { "optimizer", N_ ("Optimizer"), KIND_TEXT, describe_optimizer, -1, TRUE },
  { "rate", N_ ("Learning rate"), KIND_NUMBER, describe_rate, GRADUS_RUN_KEY_RATE, TRUE },
  { "batch", N_ ("Batch"), KIND_NUMBER, describe_batch, GRADUS_RUN_KEY_BATCH, TRUE },
  { "dropout", N_ ("Dropout"), KIND_NUMBER, describe_dropout, GRADUS_RUN_KEY_DROPOUT, FALSE },
  { "epochs", N_ ("Epochs"), KIND_NUMBER, describe_epochs, GRADUS_RUN_KEY_EPOCHS, TRUE },
  { "loss", N_ ("Best val. loss"), KIND_NUMBER, describe_loss, GRADUS_RUN_KEY_LOSS, TRUE },
  { "accuracy", N_ ("Best val. acc."), KIND_NUMBER, describe_accuracy, GRADUS_RUN_KEY_ACCURACY,
    TRUE },
  { "test", N_ ("Test acc."), KIND_NUMBER, describe_test, GRADUS_RUN_KEY_TEST_ACCURACY, TRUE },
  { "spark", N_ ("Val. loss"), KIND_SPARK, NULL, -2, TRUE },
  { "duration", N_ ("Duration"), KIND_NUMBER, describe_duration, GRADUS_RUN_KEY_DURATION, TRUE },
  { "started", N_ ("Started"), KIND_NUMBER, describe_started, GRADUS_RUN_KEY_STARTED, TRUE },
};

/* ---- Cells ---- */

static void
update_state_class (GtkWidget *label, GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  const char *css_class = NULL;

  gtk_widget_remove_css_class (label, "accent");
  gtk_widget_remove_css_class (label, "error");
  gtk_widget_remove_css_class (label, "dim-label");
  if (info == NULL || info->status == GRADUS_RUN_QUEUED)
    css_class = "dim-label";
  else if (gradus_run_item_is_live (item))
    css_class = "accent";
  else if (info->status == GRADUS_RUN_FAILED)
    css_class = "error";
  if (css_class != NULL)
    gtk_widget_add_css_class (label, css_class);
}

/* Columns that stand out in the row of the best run. */
static gboolean
is_judged (const Column *column)
{
  return column->key == GRADUS_RUN_KEY_LOSS || column->key == GRADUS_RUN_KEY_ACCURACY ||
         column->key == GRADUS_RUN_KEY_TEST_ACCURACY;
}

static void
update_best_class (GtkWidget *label, GradusRunItem *item)
{
  if (gradus_run_item_is_best (item))
    gtk_widget_add_css_class (label, "heading");
  else
    gtk_widget_remove_css_class (label, "heading");
}

static void
update_name (GtkWidget *box, GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  GtkWidget *label = gtk_widget_get_first_child (box);
  GtkWidget *badge = gtk_widget_get_last_child (box);
  gboolean bad = info != NULL && (info->status == GRADUS_RUN_FAILED ||
                                  (info->n_findings > 0 && info->worst == GRADUS_SEVERITY_ERROR));
  gboolean odd = info != NULL && info->n_findings > 0 && info->worst == GRADUS_SEVERITY_WARNING;

  gtk_label_set_label (GTK_LABEL (label), gradus_run_item_get_name (item));
  if (gradus_run_item_get_color (item) >= 0)
    gtk_widget_add_css_class (label, "shown");
  else
    gtk_widget_remove_css_class (label, "shown");
  gtk_widget_set_visible (badge, bad || odd);
  gtk_widget_remove_css_class (badge, bad ? "warning" : "error");
  gtk_widget_add_css_class (badge, bad ? "error" : "warning");
}

static void
update_dot (GtkWidget *dot, GradusRunItem *item)
{
  int color = gradus_run_item_get_color (item);

  g_object_set_data (G_OBJECT (dot), "gradus-updating", GINT_TO_POINTER (TRUE));
  gtk_widget_set_sensitive (dot, !gradus_run_item_is_draft (item));
  gradus_run_dot_set_run_name (GRADUS_RUN_DOT (dot), gradus_run_item_get_name (item));
  if (color >= 0)
    gradus_run_dot_set_color (GRADUS_RUN_DOT (dot), color);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (dot), color >= 0);
  g_object_set_data (G_OBJECT (dot), "gradus-updating", NULL);
}

static void
update_spark (GtkWidget *spark, GradusRunItem *item)
{
  int color = gradus_run_item_get_color (item);
  const double *values;
  guint n;

  values = gradus_run_item_get_spark (item, &n);
  gradus_sparkline_set_values (GRADUS_SPARKLINE (spark), values, n);
  gradus_sparkline_set_color (GRADUS_SPARKLINE (spark), color >= 0 ? color : GRADUS_COLOR_DIM);
}

static void
update_cell (GtkListItem *list_item)
{
  const Column *column = g_object_get_data (G_OBJECT (list_item), "gradus-column");
  GradusRunItem *item = gtk_list_item_get_item (list_item);
  GtkWidget *child = gtk_list_item_get_child (list_item);
  g_autofree char *text = NULL;

  if (item == NULL)
    return;

  switch (column->kind)
    {
    case KIND_DOT:
      update_dot (child, item);
      break;
    case KIND_NAME:
      update_name (child, item);
      break;
    case KIND_SPARK:
      update_spark (child, item);
      break;
    case KIND_TEXT:
    case KIND_NUMBER:
    default:
      text = column->describe (item);
      gtk_label_set_label (GTK_LABEL (child), text);
      if (g_str_equal (column->id, "state"))
        update_state_class (child, item);
      if (is_judged (column))
        update_best_class (child, item);
    }
}

static void
dot_toggled_cb (GtkToggleButton *dot, GtkListItem *list_item)
{
  GtkWidget *page = gtk_widget_get_ancestor (GTK_WIDGET (dot), GRADUS_TYPE_RUNS_PAGE);
  GradusRunItem *item = gtk_list_item_get_item (list_item);

  if (page == NULL || item == NULL || g_object_get_data (G_OBJECT (dot), "gradus-updating") != NULL)
    return;
  gradus_workbench_set_shown (GRADUS_RUNS_PAGE (page)->workbench, item,
                              gtk_toggle_button_get_active (dot));
}

static GtkWidget *
name_new (void)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = gtk_label_new (NULL);
  GtkWidget *badge = gtk_image_new_from_icon_name ("gradus-warning-symbolic");

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_width_chars (GTK_LABEL (label), 8);
  gtk_accessible_update_property (GTK_ACCESSIBLE (badge), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Has findings"), -1);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), badge);

  return box;
}

static void
setup_cb (GtkListItemFactory *factory, GtkListItem *list_item, gpointer data)
{
  const Column *column = data;
  GtkWidget *child;

  g_object_set_data (G_OBJECT (list_item), "gradus-column", data);
  switch (column->kind)
    {
    case KIND_DOT:
      child = gradus_run_dot_new ();
      gtk_widget_set_valign (child, GTK_ALIGN_CENTER);
      g_signal_connect (child, "toggled", G_CALLBACK (dot_toggled_cb), list_item);
      break;
    case KIND_NAME:
      child = name_new ();
      break;
    case KIND_SPARK:
      child = gradus_sparkline_new ();
      gtk_widget_set_valign (child, GTK_ALIGN_CENTER);
      gtk_widget_set_halign (child, GTK_ALIGN_START);
      break;
    case KIND_TEXT:
    case KIND_NUMBER:
    default:
      child = gtk_label_new (NULL);
      gtk_label_set_xalign (GTK_LABEL (child), column->kind == KIND_NUMBER ? 1 : 0);
      if (column->kind == KIND_NUMBER)
        gtk_widget_add_css_class (child, "numeric");
    }
  gtk_list_item_set_child (list_item, child);
}

static void
bind_cb (GtkListItemFactory *factory, GtkListItem *list_item, gpointer data)
{
  g_signal_connect_object (gtk_list_item_get_item (list_item), "changed",
                           G_CALLBACK (update_cell), list_item, G_CONNECT_SWAPPED);
  update_cell (list_item);
}

static void
unbind_cb (GtkListItemFactory *factory, GtkListItem *list_item, gpointer data)
{
  g_signal_handlers_disconnect_by_func (gtk_list_item_get_item (list_item), update_cell,
                                        list_item);
}

/* ---- Sorting and finding ---- */

/* Runs without a value come last when the least is first, and NaN compares with nothing. */
static int
compare (gconstpointer a, gconstpointer b, gpointer data)
{
  const Column *column = data;
  GradusRunItem *left = (GradusRunItem *) a;
  GradusRunItem *right = (GradusRunItem *) b;
  double x, y;

  if (column->key < 0)
    {
      g_autofree char *s = column->describe (left);
      g_autofree char *t = column->describe (right);

      return g_utf8_collate (s, t);
    }

  x = gradus_run_key_value (left, (GradusRunKey) column->key);
  y = gradus_run_key_value (right, (GradusRunKey) column->key);
  if (isnan (x) || isnan (y))
    return (isnan (x) != 0) - (isnan (y) != 0);

  return x < y ? GTK_ORDERING_SMALLER : x > y ? GTK_ORDERING_LARGER : GTK_ORDERING_EQUAL;
}

static gboolean
matches (gpointer item, gpointer data)
{
  GradusRunsPage *self = data;

  return self->needle == NULL || gradus_run_filter_matches (self->needle, item);
}

static void
find_changed_cb (GradusRunsPage *self)
{
  g_clear_pointer (&self->needle, gradus_run_filter_free);
  self->needle = gradus_run_filter_new (gtk_editable_get_text (GTK_EDITABLE (self->entry)));
  gtk_filter_changed (self->filter, GTK_FILTER_CHANGE_DIFFERENT);
}

static void
update_count (GradusRunsPage *self)
{
  guint all = g_list_model_get_n_items (gradus_workbench_get_runs (self->workbench));
  guint here = g_list_model_get_n_items (G_LIST_MODEL (self->selection));
  g_autoptr (GPtrArray) shown = gradus_workbench_get_shown (self->workbench);
  g_autofree char *runs = NULL;
  g_autofree char *text = NULL;

  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), all > 0 ? "table" : "empty");
  if (here < all)
    runs = g_strdup_printf (ngettext ("%u of %u run", "%u of %u runs", all), here, all);
  else
    runs = g_strdup_printf (ngettext ("%u run", "%u runs", all), all);
  /* Translators: "13 runs", and how many of them the charts show. */
  text = g_strdup_printf (_("%s, %u shown"), runs, shown->len);
  gtk_label_set_label (GTK_LABEL (self->count), text);
}

/* Losses compare only with those of the same function; one run alone is no contest. */
static GradusRunItem *
best_of (GListModel *runs, const char *loss)
{
  guint n = g_list_model_get_n_items (runs);
  GradusRunItem *best = NULL;
  guint contestants = 0;
  double lowest = HUGE_VAL;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (runs, i);
      const GradusRunDetails *details = gradus_run_item_get_details (item);
      double value = gradus_run_key_value (item, GRADUS_RUN_KEY_LOSS);

      if (details == NULL || !g_str_equal (details->loss, loss) || isnan (value))
        continue;
      contestants++;
      if (value < lowest)
        {
          lowest = value;
          best = item;
        }
    }

  return contestants > 1 ? best : NULL;
}

static void
update_best (GradusRunsPage *self)
{
  GListModel *runs = gradus_workbench_get_runs (self->workbench);
  g_autoptr (GHashTable) best = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint n = g_list_model_get_n_items (runs);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (runs, i);
      const GradusRunDetails *details = gradus_run_item_get_details (item);
      const char *loss = details != NULL ? details->loss : "";

      if (!g_hash_table_contains (best, loss))
        g_hash_table_insert (best, g_strdup (loss), best_of (runs, loss));
      gradus_run_item_set_best (item, g_hash_table_lookup (best, loss) == item);
    }
}

static void
focus_changed_cb (GradusRunsPage *self)
{
  GradusRunItem *focus = gradus_workbench_get_focus (self->workbench);
  GListModel *model = G_LIST_MODEL (self->selection);
  guint n = g_list_model_get_n_items (model);
  guint position = GTK_INVALID_LIST_POSITION;

  for (guint i = 0; i < n && focus != NULL && position == GTK_INVALID_LIST_POSITION; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (model, i);

      if (item == focus)
        position = i;
    }

  self->syncing = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->syncing = FALSE;
}

static void
selected_cb (GradusRunsPage *self)
{
  GradusRunItem *item = gtk_single_selection_get_selected_item (self->selection);

  if (!self->syncing && item != NULL)
    gradus_workbench_set_focus (self->workbench, item);
}

static void
items_changed_cb (GradusRunsPage *self)
{
  update_count (self);
  update_best (self);
  focus_changed_cb (self);
}

static void
activated_cb (GradusRunsPage *self, guint position)
{
  gtk_widget_activate_action (GTK_WIDGET (self), "win.page", "s", "train");
}

/* ---- Building ---- */

static void
toggle_column_cb (GSimpleAction *action, GVariant *state, gpointer column)
{
  g_simple_action_set_state (action, state);
  gtk_column_view_column_set_visible (column, g_variant_get_boolean (state));
}

static void
add_column (GradusRunsPage *self, const Column *spec, GMenu *menu)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_autoptr (GtkColumnViewColumn) column = NULL;

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), (gpointer) spec);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), NULL);
  g_signal_connect (factory, "unbind", G_CALLBACK (unbind_cb), NULL);
  column = gtk_column_view_column_new (*spec->title != '\0' ? _(spec->title) : NULL, factory);
  gtk_column_view_column_set_visible (column, spec->shown);
  gtk_column_view_column_set_expand (column, spec->kind != KIND_DOT);
  gtk_column_view_column_set_resizable (column, spec->kind != KIND_DOT);
  if (spec->key != -2)
    {
      g_autoptr (GtkSorter) sorter =
        GTK_SORTER (gtk_custom_sorter_new (compare, (gpointer) spec, NULL));

      gtk_column_view_column_set_sorter (column, sorter);
    }
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), column);
  if (g_str_equal (spec->id, "started"))
    gtk_column_view_sort_by_column (GTK_COLUMN_VIEW (self->view), column, GTK_SORT_DESCENDING);

  if (spec->kind != KIND_DOT && spec->kind != KIND_NAME)
    {
      g_autoptr (GSimpleAction) action =
        g_simple_action_new_stateful (spec->id, NULL, g_variant_new_boolean (spec->shown));
      g_autofree char *name = g_strconcat ("columns.", spec->id, NULL);

      g_signal_connect (action, "change-state", G_CALLBACK (toggle_column_cb), column);
      g_action_map_add_action (G_ACTION_MAP (self->actions), G_ACTION (action));
      g_menu_append (menu, _(spec->title), name);
    }
}

/* Titles of numbers stand over their ends. The titles of a column view have no property for it. */
static void
align_titles (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget))
    {
      const char *title = gtk_label_get_label (GTK_LABEL (widget));

      for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
        if (columns[i].kind == KIND_NUMBER && g_strcmp0 (_(columns[i].title), title) == 0)
          {
            gtk_widget_set_hexpand (widget, TRUE);
            gtk_label_set_xalign (GTK_LABEL (widget), 1);
          }
      return;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    align_titles (child);
}

static GtkWidget *
make_bar (GradusRunsPage *self, GMenu *menu)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 9);
  GtkWidget *button = gtk_menu_button_new ();

  self->entry = gtk_search_entry_new ();
  g_object_set (self->entry, "placeholder-text", _("Find or filter, such as loss < 0.25"), NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Find or filter runs"), -1);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->entry), 34);
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (find_changed_cb), self);
  gtk_box_append (GTK_BOX (bar), self->entry);

  self->count = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->count), 1);
  gtk_label_set_ellipsize (GTK_LABEL (self->count), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (self->count, TRUE);
  gtk_widget_add_css_class (self->count, "dim-label");
  gtk_widget_add_css_class (self->count, "numeric");
  gtk_box_append (GTK_BOX (bar), self->count);

  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), _("Columns"));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_widget_set_tooltip_text (button, _("Which columns the table has"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Columns"), -1);
  gtk_box_append (GTK_BOX (bar), button);
  gtk_widget_add_css_class (bar, "page-header");

  return bar;
}

static void
gradus_runs_page_dispose (GObject *object)
{
  GradusRunsPage *self = GRADUS_RUNS_PAGE (object);

  g_clear_pointer (&self->stack, gtk_widget_unparent);
  g_clear_pointer (&self->needle, gradus_run_filter_free);
  g_clear_object (&self->selection);
  g_clear_object (&self->actions);
  g_clear_object (&self->workbench);

  G_OBJECT_CLASS (gradus_runs_page_parent_class)->dispose (object);
}

static void
gradus_runs_page_class_init (GradusRunsPageClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradus_runs_page_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "runs-page");
}

static GtkWidget *
empty_new (void)
{
  GtkWidget *page = adw_status_page_new ();
  GtkWidget *button = gtk_button_new_with_label (_("Open the Fashion-MNIST Example"));

  adw_status_page_set_icon_name (ADW_STATUS_PAGE (page), "gradus-runs-symbolic");
  adw_status_page_set_title (ADW_STATUS_PAGE (page), _("No Runs Yet"));
  adw_status_page_set_description (ADW_STATUS_PAGE (page),
                                   _("Every run that you train stays here, to be compared."));
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "app.open-example");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", "fashion-cnn");
  gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "pill");
  gtk_widget_add_css_class (button, "suggested-action");
  adw_status_page_set_child (ADW_STATUS_PAGE (page), button);

  return page;
}

static void
gradus_runs_page_init (GradusRunsPage *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *scroller = gtk_scrolled_window_new ();
  g_autoptr (GMenu) menu = g_menu_new ();

  self->actions = g_simple_action_group_new ();
  gtk_widget_insert_action_group (GTK_WIDGET (self), "columns", G_ACTION_GROUP (self->actions));

  self->view = gtk_column_view_new (NULL);
  gtk_widget_add_css_class (self->view, "data-table");
  gtk_widget_add_css_class (self->view, "runs");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _("Runs"), -1);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    add_column (self, &columns[i], menu);
  align_titles (gtk_widget_get_first_child (self->view));

  gtk_box_append (GTK_BOX (box), make_bar (self, menu));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->view);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), scroller);

  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), empty_new (), "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), box, "table");
  gtk_widget_set_parent (self->stack, GTK_WIDGET (self));
}

void
gradus_runs_page_set_workbench (GradusRunsPage *self, GradusWorkbench *workbench)
{
  GListModel *runs = gradus_workbench_get_runs (workbench);
  GtkFilterListModel *filtered;
  GtkSortListModel *sorted;

  g_return_if_fail (GRADUS_IS_RUNS_PAGE (self));

  self->workbench = g_object_ref (workbench);
  self->filter = GTK_FILTER (gtk_custom_filter_new (matches, self, NULL));
  filtered = gtk_filter_list_model_new (g_object_ref (runs), self->filter);
  sorted = gtk_sort_list_model_new (
    G_LIST_MODEL (filtered),
    g_object_ref (gtk_column_view_get_sorter (GTK_COLUMN_VIEW (self->view))));
  self->selection = gtk_single_selection_new (NULL);
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_single_selection_set_model (self->selection, G_LIST_MODEL (sorted));
  g_object_unref (sorted);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->view), GTK_SELECTION_MODEL (self->selection));

  g_signal_connect_object (self->selection, "notify::selected-item", G_CALLBACK (selected_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->selection, "items-changed", G_CALLBACK (items_changed_cb), self,
                           G_CONNECT_SWAPPED | G_CONNECT_AFTER);
  g_signal_connect_swapped (self->view, "activate", G_CALLBACK (activated_cb), self);
  g_signal_connect_object (workbench, "notify::focus", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "run-ended", G_CALLBACK (update_best), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "shown-changed", G_CALLBACK (update_count), self,
                           G_CONNECT_SWAPPED);
  items_changed_cb (self);
}

void
gradus_runs_page_find (GradusRunsPage *self)
{
  gtk_widget_grab_focus (self->entry);
}
