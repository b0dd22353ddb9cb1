/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <adwaita.h>
#include <glib/gi18n-lib.h>
#include <math.h>
#include <unistd.h>

#include "gradus-format.h"
#include "gradus-memory-bar.h"
#include "gradus-meter.h"
#include "gradus-train-panel.h"

/* A live option goes out once the hand has rested so long. */
#define SETTLE_MS 250
#define RATE_STEP 0.30103 /* log10 (2) */
#define N_METERS 5

struct _GradusTrainPanel
{
  GtkWidget parent_instance;

  GradusWorkbench *workbench;
  GradusRunItem   *item;
  GSignalGroup    *item_signals;
  GSignalGroup    *data_signals;
  GradusRunData   *data;
  guint            settle_rate;
  guint            settle_clip;
  guint            settle_batch;
  double           sent_rate; /* until the log shows it; NaN otherwise */
  gboolean         updating;

  GtkWidget *meters[N_METERS];
  GtkWidget *memory;

  /* Template widgets */
  GtkWidget      *scroller;
  GtkWidget      *train_button;
  GtkWidget      *options_button;
  GtkWidget      *pause_button;
  GtkWidget      *resume_button;
  GtkWidget      *step_button;
  GtkWidget      *stop_button;
  GtkWidget      *again_button;
  GtkProgressBar *progress;
  GtkLabel       *step_title;
  GtkLabel       *step;
  GtkLabel       *n_steps;
  GtkLabel       *elapsed;
  GtkWidget      *live_section;
  GtkLabel       *rate_label;
  GtkWidget      *schedule_button;
  GtkWidget      *rate_scale;
  GtkAdjustment  *rate_adjustment;
  GtkWidget      *clip_spin;
  GtkAdjustment  *clip_adjustment;
  GtkWidget      *batch_spin;
  GtkAdjustment  *batch_adjustment;
  GtkWidget      *speed_section;
  GtkLabel       *throughput;
  GtkWidget      *memory_section;
  GtkWidget      *checkpoint_section;
  GtkLabel       *disk;
  GtkGrid        *checkpoints;
  GtkWidget      *checkpoint_button;
};

G_DEFINE_FINAL_TYPE (GradusTrainPanel, gradus_train_panel, GTK_TYPE_WIDGET)

static const char *const meter_series[N_METERS] = {
  "time/input_wait", "time/forward", "time/backward", "time/update", "time/log",
};
static const char *const meter_names[N_METERS] = {
  N_ ("Input wait"), N_ ("Forward"), N_ ("Backward"), N_ ("Update"), N_ ("Log"),
};

/* ---- Live options ---- */

static void
show_rate (GradusTrainPanel *self, double rate)
{
  g_autofree char *text = isnan (rate) ? g_strdup ("–")
                                       : gradus_format_value (rate, GRADUS_UNIT_SCIENTIFIC);

  gtk_label_set_label (self->rate_label, text);
}

static void
send_rate_cb (gpointer data)
{
  GradusTrainPanel *self = data;

  self->settle_rate = 0;
  if (self->item == NULL)
    return;
  self->sent_rate = pow (10, gtk_adjustment_get_value (self->rate_adjustment));
  gradus_workbench_set_option (self->workbench, self->item, "learning_rate", self->sent_rate);
}

/* One click beside the knob is a step of two, up or down: what a jump there would do ruins a run. A drag
 * comes in many small moves. */
static gboolean
rate_moves_cb (GtkRange *range, GtkScrollType scroll, double value, GradusTrainPanel *self)
{
  double now = gtk_adjustment_get_value (self->rate_adjustment);

  if (scroll != GTK_SCROLL_JUMP || fabs (value - now) <= RATE_STEP)
    return GDK_EVENT_PROPAGATE;
  gtk_adjustment_set_value (self->rate_adjustment, value > now ? now + RATE_STEP : now - RATE_STEP);
  return GDK_EVENT_STOP;
}

static void
rate_changed_cb (GradusTrainPanel *self)
{
  if (self->updating)
    return;

  show_rate (self, pow (10, gtk_adjustment_get_value (self->rate_adjustment)));
  g_clear_handle_id (&self->settle_rate, g_source_remove);
  self->settle_rate = g_timeout_add_once (SETTLE_MS, send_rate_cb, self);
}

static void
send_clip_cb (gpointer data)
{
  GradusTrainPanel *self = data;

  self->settle_clip = 0;
  if (self->item != NULL)
    gradus_workbench_set_option (self->workbench, self->item, "clip",
                                 gtk_adjustment_get_value (self->clip_adjustment));
}

static void
clip_changed_cb (GradusTrainPanel *self)
{
  if (self->updating)
    return;

  g_clear_handle_id (&self->settle_clip, g_source_remove);
  self->settle_clip = g_timeout_add_once (SETTLE_MS, send_clip_cb, self);
}

static void
send_batch_cb (gpointer data)
{
  GradusTrainPanel *self = data;

  self->settle_batch = 0;
  if (self->item != NULL)
    gradus_workbench_set_option (self->workbench, self->item, "batch_size",
                                 gtk_adjustment_get_value (self->batch_adjustment));
}

static void
batch_changed_cb (GradusTrainPanel *self)
{
  if (self->updating)
    return;

  g_clear_handle_id (&self->settle_batch, g_source_remove);
  self->settle_batch = g_timeout_add_once (SETTLE_MS, send_batch_cb, self);
}

/* No clipping is not clipping at zero. */
static gboolean
clip_output_cb (GtkSpinButton *spin, gpointer data)
{
  if (gtk_spin_button_get_value (spin) > 0)
    return FALSE;

  /* Translators: gradients are not clipped. */
  gtk_editable_set_text (GTK_EDITABLE (spin), C_("clip", "off"));

  return TRUE;
}

static int
clip_input_cb (GtkSpinButton *spin, double *value, gpointer data)
{
  if (g_utf8_collate (gtk_editable_get_text (GTK_EDITABLE (spin)), C_("clip", "off")) != 0)
    return FALSE;
  *value = 0;

  return TRUE;
}

/* The value that was set by hand last, or else the recipe's. */
static double
option_of (GradusTrainPanel *self, const char *name, double recipe)
{
  double set = self->data != NULL ? gradus_run_data_get_option (self->data, name) : NAN;

  return isnan (set) ? recipe : set;
}

static void
update_options (GradusTrainPanel *self)
{
  const GradusRunDetails *details =
    self->item != NULL ? gradus_run_item_get_details (self->item) : NULL;
  double clip = option_of (self, "clip", details != NULL ? details->clip : NAN);
  double planned = details != NULL ? (double) details->batch_size : 0;
  double batch = option_of (self, "batch_size", planned);

  self->updating = TRUE;
  if (self->settle_clip == 0)
    gtk_adjustment_set_value (self->clip_adjustment, isnan (clip) ? 0 : clip);
  /* Memory was planned for the recipe's batch: none can be larger. */
  gtk_adjustment_set_upper (self->batch_adjustment, MAX (planned, batch));
  gtk_adjustment_set_lower (self->batch_adjustment, MIN (1, planned));
  if (self->settle_batch == 0)
    gtk_adjustment_set_value (self->batch_adjustment, batch);
  self->updating = FALSE;
}

static void
follow_schedule_cb (GradusTrainPanel *self)
{
  g_clear_handle_id (&self->settle_rate, g_source_remove);
  self->sent_rate = NAN;
  if (self->item != NULL)
    gradus_workbench_set_option (self->workbench, self->item, "learning_rate", NAN);
}

/* Whether something but a number says what the rate is, and a rate was set by hand. */
static gboolean
is_off_schedule (GradusTrainPanel *self)
{
  const GradusRunDetails *details = gradus_run_item_get_details (self->item);

  return details != NULL && details->scheduled && gradus_run_item_is_live (self->item) &&
         !isnan (option_of (self, "learning_rate", NAN));
}

static void
update_rate (GradusTrainPanel *self)
{
  const GradusRunDetails *details = gradus_run_item_get_details (self->item);
  double rate = self->data != NULL ? gradus_run_data_get_last (self->data, "learning_rate") : NAN;

  gtk_widget_set_visible (self->schedule_button, is_off_schedule (self));
  if (isnan (rate) && details != NULL)
    rate = details->learning_rate;
  if (!isnan (self->sent_rate) && fabs (rate - self->sent_rate) > 1e-6 * self->sent_rate &&
      gradus_run_item_is_live (self->item))
    return;
  self->sent_rate = NAN;
  if (self->settle_rate != 0)
    return;

  show_rate (self, rate);
  if (rate > 0)
    {
      self->updating = TRUE;
      gtk_adjustment_set_value (self->rate_adjustment, log10 (rate));
      self->updating = FALSE;
    }
}

/* ---- Sections ---- */

static void
update_buttons (GradusTrainPanel *self)
{
  const GradusRunInfo *info = gradus_run_item_get_info (self->item);
  gboolean draft = info == NULL;
  gboolean live = gradus_run_item_is_live (self->item);
  gboolean paused = live && info->status == GRADUS_RUN_PAUSED;
  gboolean queued = !draft && info->status == GRADUS_RUN_QUEUED;

  gtk_widget_set_visible (self->train_button, draft);
  gtk_widget_set_visible (self->options_button, draft);
  gtk_widget_set_visible (self->pause_button, live && !paused);
  gtk_widget_set_visible (self->resume_button,
                          paused || gradus_run_item_is_resumable (self->item));
  gtk_widget_set_visible (self->step_button, live);
  gtk_widget_set_visible (self->stop_button, live || queued);
  gtk_widget_set_visible (self->again_button, !draft && !live && !queued);
  gtk_widget_set_sensitive (self->live_section, live);
  gtk_widget_set_visible (self->live_section, !draft);
  gtk_widget_set_visible (self->speed_section, !draft);
  gtk_widget_set_visible (self->memory_section, !draft);
  gtk_widget_set_visible (self->checkpoint_section, !draft);
  gtk_widget_set_visible (self->checkpoint_button, live);
}

static void
update_progress (GradusTrainPanel *self)
{
  const GradusRunInfo *info = gradus_run_item_get_info (self->item);
  gint64 step = info != NULL ? info->last_step : 0;
  gint64 n_steps = gradus_run_item_get_n_steps (self->item);
  g_autofree char *done = gradus_format_count (step);
  g_autofree char *all = gradus_format_count (n_steps);
  g_autofree char *of = n_steps > 0 ? g_strdup_printf (" / %s", all) : g_strdup ("");
  g_autofree char *elapsed = gradus_format_duration (info != NULL ? info->last_time / 1000.0 : 0);

  gtk_progress_bar_set_fraction (self->progress,
                                 n_steps > 0 ? CLAMP ((double) step / n_steps, 0, 1) : 0);
  gtk_label_set_label (self->step, done);
  gtk_label_set_label (self->n_steps, of);
  gtk_label_set_label (self->elapsed, elapsed);
}

static void
update_speed (GradusTrainPanel *self)
{
  double rate = gradus_run_data_get_last (self->data, "throughput");
  g_autofree char *text = isnan (rate) ? g_strdup ("–")
                                       : gradus_format_value (rate, GRADUS_UNIT_SAMPLES_RATE);
  double whole = gradus_run_data_get_recent (self->data, "time/step");
  double wait = gradus_run_data_get_recent (self->data, "time/input_wait");
  double sum = 0;

  gtk_label_set_label (self->throughput, text);
  for (guint i = 0; i < N_METERS; i++)
    {
      double part = gradus_run_data_get_recent (self->data, meter_series[i]);

      if (!isnan (part))
        sum += part;
    }
  if (!isnan (whole))
    sum = MAX (sum, whole + (isnan (wait) ? 0 : wait));

  for (guint i = 0; i < N_METERS; i++)
    {
      double part = gradus_run_data_get_recent (self->data, meter_series[i]);
      g_autofree char *value = gradus_format_value (part, GRADUS_UNIT_SECONDS);

      gtk_widget_set_visible (self->meters[i], !isnan (part));
      gradus_meter_set (GRADUS_METER (self->meters[i]), sum > 0 ? part / sum : NAN, value);
    }
}

static void
update_memory (GradusTrainPanel *self)
{
  const GradusSummary *summary = gradus_run_item_get_summary (self->item);
  double planned = summary != NULL ? (double) summary->device_bytes : NAN;
  double total = (double) sysconf (_SC_PHYS_PAGES) * (double) sysconf (_SC_PAGESIZE);

  gradus_memory_bar_set (GRADUS_MEMORY_BAR (self->memory),
                         gradus_run_data_get_last (self->data, "memory/device/current"),
                         gradus_run_data_get_last (self->data, "memory/device/peak"), planned,
                         total);
}

static void
clear_grid (GtkGrid *grid)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (grid))) != NULL)
    gtk_grid_remove (grid, child);
}

static GtkWidget *
cell (GtkGrid *grid, int column, int row, const char *text, const char *css_class)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), column == 1 ? 0 : 1);
  gtk_widget_set_hexpand (label, column == 1);
  if (css_class != NULL)
    gtk_widget_add_css_class (label, css_class);
  gtk_grid_attach (grid, label, column, row, 1, 1);

  return label;
}

/* The value that the checkpoint was judged by, or its training loss. */
static double
checkpoint_value (const GradusLogCheckpoint *checkpoint)
{
  static const char *const names[] = { "validation/loss", "train/loss" };
  g_autoptr (JsonNode) node =
    checkpoint->metrics != NULL ? json_from_string (checkpoint->metrics, NULL) : NULL;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (node != NULL && JSON_NODE_HOLDS_OBJECT (node) &&
        json_object_has_member (json_node_get_object (node), names[i]))
      return json_object_get_double_member_with_default (json_node_get_object (node), names[i],
                                                         NAN);

  return NAN;
}

static void
update_checkpoints (GradusTrainPanel *self)
{
  GPtrArray *rows = self->data != NULL ? gradus_run_data_get_checkpoints (self->data) : NULL;
  double bytes = 0;
  g_autofree char *size = NULL;
  g_autofree char *disk = NULL;

  clear_grid (self->checkpoints);
  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      const GradusLogCheckpoint *checkpoint = g_ptr_array_index (rows, i);
      double value = checkpoint_value (checkpoint);
      g_autofree char *step = gradus_format_count (checkpoint->step);
      g_autofree char *name = g_strdup_printf (_("step %s"), step);
      g_autofree char *number = isnan (value) ? g_strdup ("")
                                              : gradus_format_value (value, GRADUS_UNIT_NONE);
      g_autofree char *own_size = gradus_format_bytes (checkpoint->bytes);
      GtkWidget *star = gtk_image_new ();

      if (checkpoint->best)
        {
          gtk_image_set_from_icon_name (GTK_IMAGE (star), "gradus-star-symbolic");
          gtk_widget_add_css_class (star, "accent");
          gtk_widget_set_tooltip_text (star, _("The best so far"));
          gtk_accessible_update_property (GTK_ACCESSIBLE (star), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                          _("The best so far"), -1);
        }
      gtk_grid_attach (self->checkpoints, star, 0, (int) i, 1, 1);
      cell (self->checkpoints, 1, (int) i, name, NULL);
      cell (self->checkpoints, 2, (int) i, number, checkpoint->best ? "heading" : NULL);
      cell (self->checkpoints, 3, (int) i, own_size, "dim-label");
      bytes += checkpoint->bytes;
    }

  size = gradus_format_bytes (bytes);
  /* Translators: what all checkpoints of a run take, such as "20 MB on disk". */
  disk = rows != NULL && rows->len > 0 ? g_strdup_printf (_("%s on disk"), size)
                                       : g_strdup (_("none yet"));
  gtk_label_set_label (self->disk, disk);
}

static void
update_data (GradusTrainPanel *self)
{
  if (self->item == NULL || self->data == NULL)
    return;

  update_rate (self);
  update_speed (self);
  update_memory (self);
}

static void
update_item (GradusTrainPanel *self)
{
  gtk_widget_set_visible (self->scroller, self->item != NULL);
  if (self->item == NULL)
    return;

  /* How long an epoch is, and what memory is planned, is asked once a run that is on is looked
   * at. */
  if (gradus_run_item_is_live (self->item))
    gradus_workbench_request_summary (self->workbench, self->item);
  update_buttons (self);
  update_progress (self);
  update_options (self);
  update_rate (self);
}

/* What was refused is not shown as if it had been taken. */
static void
refused_cb (GradusTrainPanel *self)
{
  if (self->item == NULL)
    return;

  self->sent_rate = NAN;
  update_options (self);
  update_rate (self);
}

static void
focus_changed_cb (GradusTrainPanel *self)
{
  GradusRunItem *item = gradus_workbench_get_focus (self->workbench);
  GradusRunData *data = gradus_workbench_get_data (self->workbench, item);

  if (self->item == item && self->data == data)
    return;

  /* What was set by hand is for the run it was set for, and holds when its curves come in. */
  if (self->item != item)
    {
      g_clear_handle_id (&self->settle_rate, g_source_remove);
      g_clear_handle_id (&self->settle_clip, g_source_remove);
      g_clear_handle_id (&self->settle_batch, g_source_remove);
      self->sent_rate = NAN;
    }
  g_set_object (&self->item, item);
  g_set_object (&self->data, data);
  g_signal_group_set_target (self->item_signals, item);
  g_signal_group_set_target (self->data_signals, data);

  update_item (self);
  update_data (self);
  update_checkpoints (self);
}

/* ---- Object ---- */

static void
gradus_train_panel_dispose (GObject *object)
{
  GradusTrainPanel *self = GRADUS_TRAIN_PANEL (object);

  g_clear_handle_id (&self->settle_rate, g_source_remove);
  g_clear_handle_id (&self->settle_clip, g_source_remove);
  g_clear_handle_id (&self->settle_batch, g_source_remove);
  g_clear_object (&self->item_signals);
  g_clear_object (&self->data_signals);
  g_clear_object (&self->item);
  g_clear_object (&self->data);
  g_clear_object (&self->workbench);
  g_clear_pointer (&self->scroller, gtk_widget_unparent);

  G_OBJECT_CLASS (gradus_train_panel_parent_class)->dispose (object);
}

static void
gradus_train_panel_class_init (GradusTrainPanelClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_train_panel_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "train-panel");
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/io/github/gradus/Gradus/ui/train-panel.ui");
#define BIND(name) gtk_widget_class_bind_template_child (widget_class, GradusTrainPanel, name)
  BIND (scroller);
  BIND (train_button);
  BIND (options_button);
  BIND (pause_button);
  BIND (resume_button);
  BIND (step_button);
  BIND (stop_button);
  BIND (again_button);
  BIND (progress);
  BIND (step_title);
  BIND (step);
  BIND (n_steps);
  BIND (elapsed);
  BIND (live_section);
  BIND (rate_label);
  BIND (schedule_button);
  BIND (rate_scale);
  BIND (rate_adjustment);
  BIND (clip_spin);
  BIND (clip_adjustment);
  BIND (batch_spin);
  BIND (batch_adjustment);
  BIND (speed_section);
  BIND (throughput);
  BIND (memory_section);
  BIND (checkpoint_section);
  BIND (disk);
  BIND (checkpoints);
  BIND (checkpoint_button);
#undef BIND
}

static void
gradus_train_panel_init (GradusTrainPanel *self)
{
  g_autoptr (GtkSizeGroup) labels = gtk_size_group_new (GTK_SIZE_GROUP_HORIZONTAL);

  self->sent_rate = NAN;
  gtk_widget_init_template (GTK_WIDGET (self));

  for (guint i = 0; i < N_METERS; i++)
    {
      self->meters[i] = gradus_meter_new (_(meter_names[i]), labels);
      gtk_box_append (GTK_BOX (self->speed_section), self->meters[i]);
    }
  self->memory = gradus_memory_bar_new (_("Memory"));
  gtk_box_append (GTK_BOX (self->memory_section), self->memory);

  g_signal_connect (self->rate_scale, "change-value", G_CALLBACK (rate_moves_cb), self);
  g_signal_connect_swapped (self->rate_adjustment, "value-changed", G_CALLBACK (rate_changed_cb),
                            self);
  g_signal_connect_swapped (self->schedule_button, "clicked", G_CALLBACK (follow_schedule_cb), self);
  g_signal_connect_swapped (self->clip_adjustment, "value-changed", G_CALLBACK (clip_changed_cb),
                            self);

  g_signal_connect (self->clip_spin, "output", G_CALLBACK (clip_output_cb), NULL);
  g_signal_connect (self->clip_spin, "input", G_CALLBACK (clip_input_cb), NULL);
  gtk_spin_button_update (GTK_SPIN_BUTTON (self->clip_spin));
  g_signal_connect_swapped (self->batch_adjustment, "value-changed",
                            G_CALLBACK (batch_changed_cb), self);

  self->item_signals = g_signal_group_new (GRADUS_TYPE_RUN_ITEM);
  g_signal_group_connect_swapped (self->item_signals, "changed", G_CALLBACK (update_item), self);
  self->data_signals = g_signal_group_new (GRADUS_TYPE_RUN_DATA);
  g_signal_group_connect_swapped (self->data_signals, "changed", G_CALLBACK (update_data), self);
  g_signal_group_connect_swapped (self->data_signals, "events-changed",
                                  G_CALLBACK (update_options), self);
  g_signal_group_connect_swapped (self->data_signals, "checkpoints-changed",
                                  G_CALLBACK (update_checkpoints), self);
}

void
gradus_train_panel_set_workbench (GradusTrainPanel *self, GradusWorkbench *workbench)
{
  g_return_if_fail (GRADUS_IS_TRAIN_PANEL (self));

  self->workbench = g_object_ref (workbench);
  g_signal_connect_object (workbench, "focus-data", G_CALLBACK (focus_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (workbench, "refused", G_CALLBACK (refused_cb), self,
                           G_CONNECT_SWAPPED);
  focus_changed_cb (self);
}

