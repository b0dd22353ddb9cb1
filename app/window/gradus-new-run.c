/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#include "gradus-format.h"
#include "gradus-new-run.h"
#include "gradus-welcome.h"
#include "train/gradus-optimizer.h"

#define SETTLE_MS 300
#define MAX_PAST_RUNS 20

typedef enum
{
  FIELD_STRING,
  FIELD_INT,
  FIELD_DOUBLE,
} FieldKind;

/* A field of the form and the place in the recipe that it sets. */
typedef struct
{
  const char *path;
  FieldKind   kind;
  const char *drop;     /* what goes when the field is empty; NULL if it may not be */
  gsize       offset;   /* of the row in GradusNewRun */
} Field;

struct _GradusNewRun
{
  AdwWindow parent_instance;

  GradusWorkbench *workbench;
  GradusRecipe    *recipe; /* with all valid fields in place */
  GradusRunItem   *probe;  /* what asks for the summary */
  GSignalGroup    *probe_signals;
  GSignalGroup    *past_signals;
  GPtrArray       *starts; /* of GObject: GradusRunItem, or GtkStringObject of an example's name */
  guint            settle;
  gboolean         filling;

  /* Template widgets */
  GtkWidget   *accept_button;
  GtkWidget   *keep_button;
  AdwComboRow *start_row;
  GtkEditable *name_row;
  GtkEditable *epochs_row;
  GtkEditable *batch_row;
  AdwComboRow *optimizer_row;
  AdwComboRow *schedule_row;
  GtkEditable *rate_row;
  GtkEditable *warmup_row;
  GtkEditable *accumulate_row;
  GtkEditable *momentum_row;
  GtkEditable *clip_row;
  GtkEditable *seed_row;
  GtkEditable *threads_row;
  GtkEditable *histograms_row;
  GtkEditable *keep_row;
  GtkLabel    *facts;
};

G_DEFINE_FINAL_TYPE (GradusNewRun, gradus_new_run, ADW_TYPE_WINDOW)

enum
{
  SIGNAL_TRAIN,
  SIGNAL_KEEP,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

#define RATE "compile.optimizer.config.learning_rate"

#define FIELD(path, kind, drop, row) { path, kind, drop, G_STRUCT_OFFSET (GradusNewRun, row) }
static const Field fields[] = {
  FIELD ("name", FIELD_STRING, NULL, name_row),
  FIELD ("fit.epochs", FIELD_INT, NULL, epochs_row),
  FIELD ("data.pipeline.batch", FIELD_INT, NULL, batch_row),
  FIELD (RATE, FIELD_DOUBLE, NULL, rate_row),
  FIELD ("fit.warmup_steps", FIELD_INT, "fit.warmup_steps", warmup_row),
  FIELD ("fit.accumulate", FIELD_INT, "fit.accumulate", accumulate_row),
  FIELD ("compile.optimizer.config.momentum", FIELD_DOUBLE, "compile.optimizer.config.momentum",
         momentum_row),
  FIELD ("fit.clip.global_norm", FIELD_DOUBLE, "fit.clip", clip_row),
  FIELD ("seed", FIELD_INT, NULL, seed_row),
  FIELD ("fit.threads", FIELD_INT, "fit.threads", threads_row),
  FIELD ("log.histograms_every", FIELD_INT, NULL, histograms_row),
  FIELD ("checkpoints.keep", FIELD_INT, NULL, keep_row),
};

static GtkEditable *
row_of (GradusNewRun *self, const Field *field)
{
  return G_STRUCT_MEMBER (GtkEditable *, self, field->offset);
}

/* ---- From the recipe to the fields ---- */

/* NULL: the rate is one number. */
static const char *
schedule_of (GradusRecipe *recipe)
{
  return gradus_recipe_get_string (recipe, RATE ".class_name", NULL);
}

/* Where the field's number is: that of a schedule is in its config. NULL: it has no such number. */
static const char *
path_of (GradusRecipe *recipe, const Field *field)
{
  const char *schedule = g_str_equal (field->path, RATE) ? schedule_of (recipe) : NULL;

  if (schedule == NULL)
    return field->path;
  if (g_str_equal (schedule, "OneCycle"))
    return RATE ".config.max_learning_rate";
  return g_str_equal (schedule, "PiecewiseConstantDecay") ? NULL
                                                          : RATE ".config.initial_learning_rate";
}

static char *
text_of (GradusRecipe *recipe, const Field *field)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  const char *path = path_of (recipe, field);
  double value;

  if (field->kind == FIELD_STRING)
    return g_strdup (gradus_recipe_get_string (recipe, path, ""));

  value = path != NULL ? gradus_recipe_get_double (recipe, path, NAN) : NAN;
  if (isnan (value) || (field->drop != NULL && value == 0))
    return g_strdup ("");

  return g_strdup (g_ascii_formatd (number, sizeof number, "%.10g", value));
}

static const char *
optimizer_of (GradusRecipe *recipe)
{
  return gradus_recipe_get_string (recipe, "compile.optimizer.class_name", "Adam");
}

static gboolean
has_momentum (const GradusOptimizerClass *klass)
{
  for (guint i = 0; klass->args[i].name != NULL; i++)
    if (g_str_equal (klass->args[i].name, "momentum"))
      return TRUE;
  return FALSE;
}

/* Rows that what is selected has no use for go. */
static void
show_rows (GradusNewRun *self)
{
  guint n, n_schedules;
  const GradusOptimizerClass *classes = gradus_optimizer_classes (&n);
  const GradusScheduleClass *schedules = gradus_schedule_classes (&n_schedules);
  guint optimizer = adw_combo_row_get_selected (self->optimizer_row);
  guint schedule = adw_combo_row_get_selected (self->schedule_row);

  gtk_widget_set_visible (GTK_WIDGET (self->momentum_row),
                          optimizer < n && has_momentum (&classes[optimizer]));
  gtk_widget_set_visible (GTK_WIDGET (self->rate_row),
                          schedule == 0 || schedule > n_schedules ||
                            !g_str_equal (schedules[schedule - 1].class_name,
                                          "PiecewiseConstantDecay"));
}

static void
select_classes (GradusNewRun *self)
{
  guint n, schedule = 0;
  const GradusOptimizerClass *classes = gradus_optimizer_classes (&n);
  const GradusScheduleClass *schedules;

  for (guint i = 0; i < n; i++)
    if (g_str_equal (classes[i].class_name, optimizer_of (self->recipe)))
      adw_combo_row_set_selected (self->optimizer_row, i);
  schedules = gradus_schedule_classes (&n);
  for (guint i = 0; i < n; i++)
    if (g_strcmp0 (schedules[i].class_name, schedule_of (self->recipe)) == 0)
      schedule = i + 1;
  adw_combo_row_set_selected (self->schedule_row, schedule);
}

static void
fill (GradusNewRun *self)
{
  self->filling = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    {
      g_autofree char *text = text_of (self->recipe, &fields[i]);

      gtk_editable_set_text (row_of (self, &fields[i]), text);
      gtk_widget_remove_css_class (GTK_WIDGET (row_of (self, &fields[i])), "error");
    }
  select_classes (self);
  show_rows (self);
  self->filling = FALSE;
}

/* ---- From the fields to the recipe ---- */

static gboolean
parse_number (const char *text, FieldKind kind, double *value, GError **error)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  while (g_ascii_isspace (*end))
    end++;
  if (end != text && *end == '\0' && isfinite (*value) &&
      (kind != FIELD_INT || *value == floor (*value)))
    return TRUE;

  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               kind == FIELD_INT ? _("“%s” is no whole number.")
                                 : _("“%s” is no number; write it as 0.001 or 1e-3."),
               text);

  return FALSE;
}

static gboolean
apply_field (GradusRecipe *recipe, const Field *field, const char *text, GError **error)
{
  g_autofree char *stripped = g_strstrip (g_strdup (text));
  const char *path = path_of (recipe, field);
  double value;

  if (path == NULL)
    return TRUE;
  if (field->kind == FIELD_STRING)
    return gradus_recipe_set_string (recipe, path, stripped, error);
  if (*stripped == '\0' && field->drop != NULL)
    return gradus_recipe_set (recipe, field->drop, NULL, error);
  if (*stripped == '\0')
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _("A number is needed here."));
      return FALSE;
    }
  if (!parse_number (stripped, field->kind, &value, error))
    return FALSE;
  if (field->kind == FIELD_INT)
    return gradus_recipe_set_int (recipe, path, (gint64) value, error);

  return gradus_recipe_set_double (recipe, path, value, error);
}

static void
show_facts (GradusNewRun *self, const char *text, gboolean bad)
{
  gtk_label_set_label (self->facts, text);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->facts), text);
  if (bad)
    gtk_widget_add_css_class (GTK_WIDGET (self->facts), "error");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self->facts), "error");
}

static void
show_summary (GradusNewRun *self)
{
  const GradusSummary *summary = gradus_run_item_get_summary (self->probe);
  const char *problem = gradus_run_item_get_summary_error (self->probe);
  g_autofree char *text = NULL;

  if (problem != NULL)
    {
      show_facts (self, problem, TRUE);
      return;
    }
  if (summary == NULL)
    return;

  {
    g_autofree char *parameters = gradus_format_count (summary->parameters);
    g_autofree char *steps = gradus_format_count (summary->epochs * summary->steps_per_epoch);
    g_autofree char *peak = gradus_format_bytes ((double) summary->peak_bytes);
    g_autofree char *room = gradus_format_bytes ((double) summary->free_bytes);

    if (summary->peak_bytes > summary->free_bytes)
      text = g_strdup_printf (_("This needs %s of memory and %s are free. A batch of %d would fit."),
                              peak, room, (int) summary->largest_batch);
    else
      text = g_strdup_printf (_("%s parameters · %s steps · %s of %s free memory"), parameters,
                              steps, peak, room);
    if (summary->warning != NULL)
      {
        g_autofree char *facts = g_steal_pointer (&text);

        text = g_strdup_printf ("%s\n%s", facts, _(summary->warning));
      }
  }
  show_facts (self, text, summary->peak_bytes > summary->free_bytes);
}

static void
settle_cb (gpointer data)
{
  GradusNewRun *self = data;
  g_autoptr (GradusRecipe) copy = gradus_recipe_copy (self->recipe);

  self->settle = 0;
  g_clear_object (&self->probe);
  self->probe = gradus_run_item_new_draft (copy);
  g_signal_group_set_target (self->probe_signals, self->probe);
  gradus_workbench_request_summary (self->workbench, self->probe);
}

/* What is chosen in the lists: a change puts the class there with its defaults, and keeps the
 * schedule and its rate. */
static gboolean
apply_classes (GradusNewRun *self, GradusRecipe *recipe, GError **error)
{
  guint n, n_schedules;
  const GradusOptimizerClass *classes = gradus_optimizer_classes (&n);
  const GradusScheduleClass *schedules = gradus_schedule_classes (&n_schedules);
  const GradusSummary *summary = self->probe ? gradus_run_item_get_summary (self->probe) : NULL;
  guint optimizer = adw_combo_row_get_selected (self->optimizer_row);
  guint schedule = adw_combo_row_get_selected (self->schedule_row);
  const char *wanted = schedule > 0 && schedule <= n_schedules ? schedules[schedule - 1].class_name
                                                               : NULL;
  double rate = optimizer < n ? classes[optimizer].args[0].fallback : 0.001;
  g_autofree char *assignment = NULL;

  if (optimizer < n && !g_str_equal (classes[optimizer].class_name, optimizer_of (recipe)))
    {
      assignment = g_strdup_printf ("compile.optimizer={\"class_name\": \"%s\", \"config\": {}}",
                                    classes[optimizer].class_name);
      if (!gradus_recipe_assign (recipe, assignment, error))
        return FALSE;
      g_clear_pointer (&assignment, g_free);
    }
  if (g_strcmp0 (wanted, schedule_of (recipe)) == 0)
    return TRUE;
  if (schedule_of (recipe) == NULL)
    rate = gradus_recipe_get_double (recipe, RATE, rate);
  else
    rate = gradus_recipe_get_double (recipe, RATE ".config.initial_learning_rate", rate);
  if (wanted == NULL)
    return gradus_recipe_set_double (recipe, RATE, rate, error);
  {
    g_autofree char *example = gradus_schedule_example (
      &schedules[schedule - 1], rate,
      summary != NULL ? summary->epochs * summary->steps_per_epoch : 10000);

    assignment = g_strconcat (RATE "=", example, NULL);
  }
  return gradus_recipe_assign (recipe, assignment, error);
}

/* Checks every field against a fresh copy, so that a fixed one takes its error along. */
static void
check (GradusNewRun *self)
{
  g_autoptr (GradusRecipe) recipe = NULL;
  g_autoptr (GError) problem = NULL;
  g_autofree char *first_problem = NULL;

  if (self->recipe == NULL || self->filling)
    return;

  recipe = gradus_recipe_copy (self->recipe);
  if (!apply_classes (self, recipe, &problem))
    first_problem = g_strdup (problem->message);

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    {
      GtkWidget *row = GTK_WIDGET (row_of (self, &fields[i]));
      g_autoptr (GError) error = NULL;

      if (!gtk_widget_get_visible (row))
        continue;
      if (apply_field (recipe, &fields[i], gtk_editable_get_text (GTK_EDITABLE (row)), &error))
        {
          gtk_widget_remove_css_class (row, "error");
          gtk_widget_set_tooltip_text (row, NULL);
          gtk_accessible_update_state (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_STATE_INVALID,
                                       GTK_ACCESSIBLE_INVALID_FALSE, -1);
          continue;
        }
      gtk_widget_add_css_class (row, "error");
      gtk_widget_set_tooltip_text (row, error->message);
      gtk_accessible_update_state (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_STATE_INVALID,
                                   GTK_ACCESSIBLE_INVALID_TRUE, -1);
      if (first_problem == NULL)
        first_problem = g_strdup (error->message);
    }

  gtk_widget_set_sensitive (self->accept_button, first_problem == NULL);
  gtk_widget_set_sensitive (self->keep_button, first_problem == NULL);
  g_clear_handle_id (&self->settle, g_source_remove);
  if (first_problem != NULL)
    {
      show_facts (self, first_problem, TRUE);
      return;
    }

  g_set_object (&self->recipe, recipe);
  show_facts (self, _("Looking at model and data…"), FALSE);
  self->settle = g_timeout_add_once (SETTLE_MS, settle_cb, self);
}

static void
class_cb (GradusNewRun *self)
{
  show_rows (self);
  check (self);
}

/* ---- What it starts from ---- */

static void
set_recipe (GradusNewRun *self, GradusRecipe *recipe)
{
  g_autoptr (GradusRecipe) copy = gradus_recipe_copy (recipe);

  g_set_object (&self->recipe, copy);
  fill (self);
  check (self);
}

static void
past_recipe_cb (GradusNewRun *self)
{
  g_autoptr (GObject) target = g_signal_group_dup_target (self->past_signals);
  GradusRunItem *item = GRADUS_RUN_ITEM (target);

  if (gradus_run_item_get_recipe (item) != NULL)
    set_recipe (self, gradus_run_item_get_recipe (item));
  else if (gradus_run_item_get_summary_error (item) != NULL)
    show_facts (self, gradus_run_item_get_summary_error (item), TRUE);
}

static void
started_from_cb (GradusNewRun *self)
{
  guint chosen = adw_combo_row_get_selected (self->start_row);
  GObject *start = chosen < self->starts->len ? g_ptr_array_index (self->starts, chosen) : NULL;

  g_signal_group_set_target (self->past_signals, NULL);
  if (GTK_IS_STRING_OBJECT (start))
    {
      const char *name = gtk_string_object_get_string (GTK_STRING_OBJECT (start));
      g_autofree char *path = gradus_welcome_find_example (name);
      g_autoptr (GError) error = NULL;
      g_autoptr (GradusRecipe) recipe = path != NULL ? gradus_recipe_load (path, &error) : NULL;

      if (recipe != NULL)
        set_recipe (self, recipe);
      else
        show_facts (self, error != NULL ? error->message : _("The example is not installed."),
                    TRUE);
    }
  else if (start != NULL)
    {
      GradusRunItem *item = GRADUS_RUN_ITEM (start);

      if (gradus_run_item_get_recipe (item) != NULL)
        set_recipe (self, gradus_run_item_get_recipe (item));
      else
        {
          g_signal_group_set_target (self->past_signals, item);
          gradus_workbench_request_recipe (self->workbench, item);
        }
    }
}

static void
fill_starts (GradusNewRun *self, GradusRunItem *start)
{
  g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);
  GListModel *runs = gradus_workbench_get_runs (self->workbench);
  guint n = MIN (g_list_model_get_n_items (runs), MAX_PAST_RUNS);
  guint chosen = 0;

  if (start != NULL)
    {
      gtk_string_list_append (names, gradus_run_item_get_name (start));
      g_ptr_array_add (self->starts, g_object_ref (start));
    }
  for (const GradusExample *example = gradus_welcome_get_examples (); example->name != NULL;
       example++)
    {
      if (start == NULL && g_str_equal (example->name, "fashion-cnn"))
        chosen = self->starts->len;
      gtk_string_list_append (names, _(example->title));
      g_ptr_array_add (self->starts, gtk_string_object_new (example->name));
    }
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (runs, i);

      if (item == start)
        continue;
      gtk_string_list_append (names, gradus_run_item_get_name (item));
      g_ptr_array_add (self->starts, g_object_ref (item));
    }

  adw_combo_row_set_model (self->start_row, G_LIST_MODEL (names));
  adw_combo_row_set_selected (self->start_row, chosen);
}

/* ---- Closing ---- */

static void
finish (GradusNewRun *self, guint signal)
{
  g_autoptr (GradusRecipe) recipe = g_object_ref (self->recipe);

  g_signal_emit (self, signals[signal], 0, recipe);
  gtk_window_close (GTK_WINDOW (self));
}

static void
accept_cb (GradusNewRun *self)
{
  finish (self, SIGNAL_TRAIN);
}

static void
keep_cb (GradusNewRun *self)
{
  finish (self, SIGNAL_KEEP);
}

static gboolean
accept_key_cb (GtkWidget *widget, GVariant *args, gpointer data)
{
  GradusNewRun *self = GRADUS_NEW_RUN (widget);

  if (gtk_widget_get_sensitive (self->accept_button))
    accept_cb (self);

  return TRUE;
}

/* ---- Object ---- */

static void
gradus_new_run_dispose (GObject *object)
{
  GradusNewRun *self = GRADUS_NEW_RUN (object);

  g_clear_handle_id (&self->settle, g_source_remove);
  g_clear_object (&self->probe_signals);
  g_clear_object (&self->past_signals);
  g_clear_object (&self->probe);
  g_clear_object (&self->recipe);
  g_clear_object (&self->workbench);
  g_clear_pointer (&self->starts, g_ptr_array_unref);

  G_OBJECT_CLASS (gradus_new_run_parent_class)->dispose (object);
}

static void
gradus_new_run_class_init (GradusNewRunClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_new_run_dispose;
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/io/github/gradus/Gradus/ui/new-run.ui");
#define BIND(name) gtk_widget_class_bind_template_child (widget_class, GradusNewRun, name)
  BIND (accept_button);
  BIND (keep_button);
  BIND (start_row);
  BIND (name_row);
  BIND (epochs_row);
  BIND (batch_row);
  BIND (optimizer_row);
  BIND (schedule_row);
  BIND (rate_row);
  BIND (warmup_row);
  BIND (accumulate_row);
  BIND (momentum_row);
  BIND (clip_row);
  BIND (seed_row);
  BIND (threads_row);
  BIND (histograms_row);
  BIND (keep_row);
  BIND (facts);
#undef BIND
  gtk_widget_class_bind_template_callback (widget_class, accept_cb);
  gtk_widget_class_bind_template_callback (widget_class, keep_cb);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Return, GDK_CONTROL_MASK, accept_key_cb,
                                NULL);

  signals[SIGNAL_TRAIN] = g_signal_new ("train", GRADUS_TYPE_NEW_RUN, G_SIGNAL_RUN_LAST, 0, NULL,
                                        NULL, NULL, G_TYPE_NONE, 1, GRADUS_TYPE_RECIPE);
  signals[SIGNAL_KEEP] = g_signal_new ("keep", GRADUS_TYPE_NEW_RUN, G_SIGNAL_RUN_LAST, 0, NULL,
                                       NULL, NULL, G_TYPE_NONE, 1, GRADUS_TYPE_RECIPE);
}

static void
fill_classes (GradusNewRun *self)
{
  g_autoptr (GtkStringList) optimizers = gtk_string_list_new (NULL);
  g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);
  guint n;
  const GradusOptimizerClass *classes = gradus_optimizer_classes (&n);
  const GradusScheduleClass *schedules;

  for (guint i = 0; i < n; i++)
    gtk_string_list_append (optimizers, classes[i].class_name);
  gtk_string_list_append (names, _("None"));
  schedules = gradus_schedule_classes (&n);
  for (guint i = 0; i < n; i++)
    gtk_string_list_append (names, schedules[i].class_name);
  adw_combo_row_set_model (self->optimizer_row, G_LIST_MODEL (optimizers));
  adw_combo_row_set_model (self->schedule_row, G_LIST_MODEL (names));
}

static void
gradus_new_run_init (GradusNewRun *self)
{
  self->starts = g_ptr_array_new_with_free_func (g_object_unref);
  gtk_widget_init_template (GTK_WIDGET (self));
  fill_classes (self);

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    g_signal_connect_swapped (row_of (self, &fields[i]), "changed", G_CALLBACK (check), self);
  g_signal_connect_swapped (self->optimizer_row, "notify::selected", G_CALLBACK (class_cb), self);
  g_signal_connect_swapped (self->schedule_row, "notify::selected", G_CALLBACK (class_cb), self);
  self->probe_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->probe_signals, "recipe-changed", G_CALLBACK (show_summary),
                                  self);
  self->past_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->past_signals, "recipe-changed",
                                  G_CALLBACK (past_recipe_cb), self);
}

GradusNewRun *
gradus_new_run_new (GradusWorkbench *workbench, GradusRunItem *start)
{
  GradusNewRun *self = g_object_new (GRADUS_TYPE_NEW_RUN, NULL);

  self->workbench = g_object_ref (workbench);
  fill_starts (self, start);
  g_signal_connect_swapped (self->start_row, "notify::selected", G_CALLBACK (started_from_cb),
                            self);
  started_from_cb (self);

  return self;
}
