/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-data-page.h"
#include "gradus-format.h"
#include "gradus-table.h"

struct _GradusDataPage
{
  GradusSubjectPage parent_instance;

  GtkWidget  *title;
  GtkWidget  *stages;
  GtkWidget  *sources;
  GtkWidget  *classes;
  GtkWidget  *classes_group;
  GListStore *parts;
};

G_DEFINE_FINAL_TYPE (GradusDataPage, gradus_data_page, GRADUS_TYPE_SUBJECT_PAGE)

static const GradusTableColumn columns[] = {
  { N_ ("Part"), FALSE, FALSE },      { N_ ("Samples"), TRUE, FALSE },
  { N_ ("Batches"), TRUE, FALSE },    { N_ ("Input"), FALSE, TRUE },
  { N_ ("Target"), FALSE, TRUE },
};

static const char *
part_name (const char *part)
{
  if (g_str_equal (part, "train"))
    return _("Training");
  if (g_str_equal (part, "validation"))
    return _("Validation");
  if (g_str_equal (part, "test"))
    return _("Test");

  return part;
}

static char **
cells_of (const GradusSummaryPart *part)
{
  char **cells = g_new0 (char *, G_N_ELEMENTS (columns) + 1);

  cells[0] = g_strdup (part_name (part->name));
  cells[1] = gradus_format_count (part->n_samples);
  cells[2] = gradus_format_count (part->n_batches);
  cells[3] = g_strdup (part->inputs);
  cells[4] = g_strdup (part->targets);

  return cells;
}

static const char *
stage_title (const char *stage)
{
  static const char *const titles[][2] = {
    { "cache", NC_ ("stage", "Cache") },       { "shuffle", NC_ ("stage", "Shuffle") },
    { "batch", NC_ ("stage", "Batch") },       { "rescale", NC_ ("stage", "Rescale") },
    { "prefetch", NC_ ("stage", "Prefetch") }, { "normalize", NC_ ("stage", "Normalise") },
    { "one_hot", NC_ ("stage", "One-hot") },   { "cast", NC_ ("stage", "Cast") },
    { "vectorize", NC_ ("stage", "Vectorise") },
    { "fill_missing", NC_ ("stage", "Fill missing") },
  };

  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    if (g_str_equal (titles[i][0], stage))
      return g_dpgettext2 (GETTEXT_PACKAGE, "stage", titles[i][1]);

  return stage;
}

/* A stage's options as a person would write them: "scale 0.0039", "64", "in memory". */
static char *
describe_value (JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autoptr (GList) members = json_object_get_members (json_node_get_object (node));

      for (GList *l = members; l != NULL; l = l->next)
        {
          g_autofree char *value =
            describe_value (json_object_get_member (json_node_get_object (node), l->data));

          g_string_append_printf (text, "%s%s %s", text->len > 0 ? ", " : "",
                                  (const char *) l->data, value);
        }
      return g_string_free (g_steal_pointer (&text), FALSE);
    }
  if (!JSON_NODE_HOLDS_VALUE (node))
    return json_to_string (node, FALSE);

  switch (json_node_get_value_type (node))
    {
    case G_TYPE_STRING:
      return g_strdup (json_node_get_string (node));
    case G_TYPE_INT64:
      return gradus_format_count (json_node_get_int (node));
    case G_TYPE_DOUBLE:
      return gradus_format_number (json_node_get_double (node), 4);
    default:
      return g_strdup (json_node_get_boolean (node) ? _("on") : _("off"));
    }
}

static void
clear_list (GtkWidget *list)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (list)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (list), child);
}

static void
add_row (GtkWidget *list, const char *title, const char *subtitle)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 2);
  gtk_list_box_append (GTK_LIST_BOX (list), row);
}

static void
fill_stages (GradusDataPage *self, GradusRecipe *recipe)
{
  JsonNode *pipeline = gradus_recipe_get (recipe, "data.pipeline");
  JsonArray *stages = pipeline != NULL && JSON_NODE_HOLDS_ARRAY (pipeline)
                        ? json_node_get_array (pipeline)
                        : NULL;

  clear_list (self->stages);
  for (guint i = 0; stages != NULL && i < json_array_get_length (stages); i++)
    {
      JsonNode *node = json_array_get_element (stages, i);
      g_autoptr (GList) members = NULL;

      if (!JSON_NODE_HOLDS_OBJECT (node))
        continue;
      members = json_object_get_members (json_node_get_object (node));
      if (members != NULL)
        {
          g_autofree char *value =
            describe_value (json_object_get_member (json_node_get_object (node), members->data));

          add_row (self->stages, stage_title (members->data), value);
        }
    }
}

/* Adds a line for @value, for its members if it is an object. */
static void
describe_source (GString *text, JsonNode *value)
{
  g_autofree char *line = NULL;

  if (value != NULL && JSON_NODE_HOLDS_OBJECT (value))
    {
      JsonObject *object = json_node_get_object (value);
      g_autoptr (GList) members = json_object_get_members (object);

      for (GList *l = members; l != NULL; l = l->next)
        describe_source (text, json_object_get_member (object, l->data));
    }
  if (value == NULL || !JSON_NODE_HOLDS_VALUE (value))
    return;
  line = describe_value (value);
  g_string_append_printf (text, "%s%s", text->len > 0 ? "\n" : "", line);
}

/* The source of a part: its type and its files, or how it is split off. */
static void
add_source (GradusDataPage *self, GradusRecipe *recipe, const char *part)
{
  static const char *const keys[] = { "inputs", "targets", "file", "directory", "generator" };
  g_autofree char *path = g_strconcat ("data.", part, NULL);
  JsonNode *node = gradus_recipe_get (recipe, path);
  g_autoptr (GString) text = g_string_new (NULL);
  JsonObject *source;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  source = json_node_get_object (node);
  if (json_object_has_member (source, "split"))
    {
      g_autofree char *share =
        gradus_format_percent (json_object_get_double_member_with_default (source, "split", 0));

      /* Translators: how much of the training data is kept for validation, such as "10 %". */
      g_string_append_printf (text, _("%s of the training data, drawn by the seed"), share);
    }
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    describe_source (text, json_object_get_member (source, keys[i]));

  add_row (self->sources, part_name (part), text->str);
}

static void
fill_classes (GradusDataPage *self, GradusRecipe *recipe, guint n_classes)
{
  JsonNode *node = gradus_recipe_get (recipe, "data.train.class_names");
  JsonArray *names = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node)
                                                                  : NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; names != NULL && i < json_array_get_length (names); i++)
    g_string_append_printf (text, "%s%u  %s", i > 0 ? "\n" : "", i,
                            json_array_get_string_element (names, i));
  if (names == NULL && n_classes > 0)
    g_string_append_printf (text, ngettext ("%u class", "%u classes", n_classes), n_classes);

  gtk_label_set_label (GTK_LABEL (self->classes), text->str);
  gtk_widget_set_visible (self->classes_group, text->len > 0);
}

static void
gradus_data_page_fill (GradusSubjectPage   *page,
                       GradusRunItem       *item,
                       const GradusSummary *summary)
{
  static const char *const parts[] = { "train", "validation", "test" };
  GradusDataPage *self = GRADUS_DATA_PAGE (page);
  GradusRecipe *recipe = gradus_run_item_get_recipe (item);
  g_autofree char *title = NULL;

  /* Translators: the run, or the recipe, whose data it is. */
  title = g_strdup_printf (_("Data of %s"), gradus_run_item_get_name (item));
  gtk_label_set_label (GTK_LABEL (self->title), title);

  g_list_store_remove_all (self->parts);
  for (guint i = 0; i < summary->parts->len; i++)
    {
      g_autoptr (GradusTableRow) row =
        gradus_table_row_new (cells_of (g_ptr_array_index (summary->parts, i)));

      g_list_store_append (self->parts, row);
    }

  clear_list (self->sources);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    add_source (self, recipe, parts[i]);
  fill_stages (self, recipe);
  fill_classes (self, recipe, summary->n_classes);
}

static void
gradus_data_page_class_init (GradusDataPageClass *klass)
{
  GRADUS_SUBJECT_PAGE_CLASS (klass)->fill = gradus_data_page_fill;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "data-page");
}

static GtkWidget *
add_group (GtkWidget *box, const char *title, GtkWidget *child)
{
  GtkWidget *group = adw_preferences_group_new ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), child);
  gtk_box_append (GTK_BOX (box), group);

  return group;
}

static GtkWidget *
boxed_list_new (void)
{
  GtkWidget *list = gtk_list_box_new ();

  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");

  return list;
}

static void
gradus_data_page_init (GradusDataPage *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkWidget *clamp = adw_clamp_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18);
  GtkWidget *frame = gtk_frame_new (NULL);

  self->title = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->title), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->title), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->title, "title-2");
  gtk_box_append (GTK_BOX (box), self->title);

  self->parts = g_list_store_new (GRADUS_TYPE_TABLE_ROW);
  gtk_frame_set_child (GTK_FRAME (frame),
                       gradus_table_new (columns, G_N_ELEMENTS (columns),
                                         G_LIST_MODEL (self->parts), _("Parts of the data")));
  gtk_widget_add_css_class (frame, "card");
  gtk_widget_set_overflow (frame, GTK_OVERFLOW_HIDDEN);
  gtk_box_append (GTK_BOX (box), frame);

  self->sources = boxed_list_new ();
  add_group (box, _("Sources"), self->sources);
  self->stages = boxed_list_new ();
  add_group (box, _("Stages"), self->stages);
  self->classes = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->classes), 0);
  gtk_label_set_selectable (GTK_LABEL (self->classes), TRUE);
  gtk_widget_add_css_class (self->classes, "numeric");
  self->classes_group = add_group (box, _("Classes"), self->classes);

  gtk_widget_add_css_class (box, "page-body");
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 820);
  adw_clamp_set_tightening_threshold (ADW_CLAMP (clamp), 700);
  adw_clamp_set_child (ADW_CLAMP (clamp), box);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  gradus_subject_page_set_child (GRADUS_SUBJECT_PAGE (self), scroller, "gradus-data-symbolic",
                                 _("No Data Yet"), _("The Data Cannot Be Read"));
}
