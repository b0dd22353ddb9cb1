/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>
#include <json-glib/json-glib.h>

#include "gradus-finding-strip.h"
#include "gradus-format.h"
#include "gradus-words.h"

struct _GradusFindingStrip
{
  GtkWidget parent_instance;

  GradusRunData *data;
  GSignalGroup  *data_signals;

  GtkWidget *box;
  GtkWidget *icon;
  GtkWidget *title;
  GtkWidget *body;
  GtkWidget *more;
  GtkWidget *more_list;
  GtkWidget *show;
};

G_DEFINE_FINAL_TYPE (GradusFindingStrip, gradus_finding_strip, GTK_TYPE_WIDGET)

static const GradusLogEvent *
primary (GradusFindingStrip *self)
{
  GPtrArray *findings = self->data != NULL ? gradus_run_data_get_findings (self->data) : NULL;
  const GradusLogEvent *worst = NULL;

  for (guint i = 0; findings != NULL && i < findings->len; i++)
    {
      const GradusLogEvent *event = g_ptr_array_index (findings, i);

      if (worst == NULL || event->severity > worst->severity)
        worst = event;
    }

  return worst;
}

/* The steps that a finding names in its data, else from its own step to the newest. */
static void
span_of (GradusFindingStrip *self, const GradusLogEvent *event, gint64 *first, gint64 *last)
{
  GradusSeries *loss = gradus_run_data_get_series (self->data, "train/loss");
  g_autoptr (JsonNode) node = event->data != NULL ? json_from_string (event->data, NULL) : NULL;
  GradusPoint point;

  *first = event->step;
  *last = event->step;
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    {
      JsonObject *object = json_node_get_object (node);

      *first = json_object_get_int_member_with_default (object, "first_step", *first);
      *last = json_object_get_int_member_with_default (object, "last_step", *last);
    }
  if (*first == *last && loss != NULL && gradus_series_get_last (loss, &point))
    *last = MAX (*last, point.step);
}

static void
highlight (GradusFindingStrip *self, gboolean on)
{
  const GradusLogEvent *event = primary (self);
  gint64 first = 1, last = 0;

  if (self->data == NULL)
    return;
  if (event != NULL && on)
    span_of (self, event, &first, &last);
  gradus_run_data_set_span (self->data, first, last,
                            event != NULL ? gradus_words_message (event->message) : NULL);
}

static void
entered_cb (GtkEventControllerMotion *motion, double x, double y, GradusFindingStrip *self)
{
  highlight (self, TRUE);
}

static void
left_cb (GtkEventControllerMotion *motion, GradusFindingStrip *self)
{
  highlight (self, gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->show)));
}

static void
show_toggled_cb (GradusFindingStrip *self)
{
  highlight (self, gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->show)));
}

/* "Subject: sentence", with the step it was found at. */
static void
fill_more (GradusFindingStrip *self, const GradusLogEvent *first)
{
  GPtrArray *findings = gradus_run_data_get_findings (self->data);
  g_autofree char *label = NULL;
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->more_list)) != NULL)
    gtk_box_remove (GTK_BOX (self->more_list), child);

  for (guint i = 0; i < findings->len; i++)
    {
      const GradusLogEvent *event = g_ptr_array_index (findings, i);
      g_autofree char *step = gradus_format_count (event->step);
      g_autofree char *text = NULL;

      if (event == first)
        continue;
      /* Translators: what was found, and the step it was found at. */
      text = g_strdup_printf (_("%s (step %s)"), gradus_words_message (event->message), step);
      child = gtk_label_new (text);
      gtk_label_set_wrap (GTK_LABEL (child), TRUE);
      gtk_label_set_xalign (GTK_LABEL (child), 0);
      gtk_label_set_max_width_chars (GTK_LABEL (child), 60);
      gtk_box_append (GTK_BOX (self->more_list), child);
    }

  label = g_strdup_printf (ngettext ("%u more", "%u more", findings->len - 1), findings->len - 1);
  gtk_menu_button_set_label (GTK_MENU_BUTTON (self->more), label);
  gtk_widget_set_visible (self->more, findings->len > 1);
}

/* Where the second sentence begins, and the length of the first without its full stop; NULL where
 * there is but one. A Chinese sentence ends in “。” with no space after it. */
static const char *
second_sentence (const char *message, gsize *length)
{
  static const char *const ends[] = { ". ", "。" };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      const char *end = strstr (message, ends[i]);

      if (end != NULL && end[strlen (ends[i])] != '\0')
        {
          *length = end - message;
          return end + strlen (ends[i]);
        }
    }

  return NULL;
}

static void
update (GradusFindingStrip *self)
{
  const GradusLogEvent *event = primary (self);
  const char *message;
  const char *rest;
  gsize length;

  gtk_widget_set_visible (GTK_WIDGET (self), event != NULL);
  if (event == NULL)
    return;

  gtk_widget_remove_css_class (GTK_WIDGET (self), "bad");
  if (event->severity == GRADUS_SEVERITY_ERROR)
    gtk_widget_add_css_class (GTK_WIDGET (self), "bad");

  /* The verdict is the first sentence; what it rests on follows it. */
  message = gradus_words_message (event->message);
  rest = second_sentence (message, &length);
  if (rest != NULL)
    {
      g_autofree char *verdict = g_strndup (message, length);

      gtk_label_set_label (GTK_LABEL (self->title), verdict);
      gtk_label_set_label (GTK_LABEL (self->body), rest);
    }
  else
    {
      g_autofree char *step = gradus_format_count (event->step);
      g_autofree char *at = g_strdup_printf (_("Found at step %s."), step);

      gtk_label_set_label (GTK_LABEL (self->title), message);
      gtk_label_set_label (GTK_LABEL (self->body), at);
    }
  fill_more (self, event);
}

static void
gradus_finding_strip_dispose (GObject *object)
{
  GradusFindingStrip *self = GRADUS_FINDING_STRIP (object);

  g_clear_object (&self->data_signals);
  g_clear_object (&self->data);
  g_clear_pointer (&self->box, gtk_widget_unparent);

  G_OBJECT_CLASS (gradus_finding_strip_parent_class)->dispose (object);
}

static void
gradus_finding_strip_class_init (GradusFindingStripClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_finding_strip_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "finding");
}

static GtkWidget *
add_label (GtkWidget *box, const char *css_class)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_widget_add_css_class (label, css_class);
  gtk_box_append (GTK_BOX (box), label);

  return label;
}

static void
gradus_finding_strip_init (GradusFindingStrip *self)
{
  GtkWidget *text = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2);
  GtkWidget *popover = gtk_popover_new ();
  GtkEventController *motion = gtk_event_controller_motion_new ();

  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 9);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
  self->icon = gtk_image_new_from_icon_name ("gradus-warning-symbolic");
  gtk_box_append (GTK_BOX (self->box), self->icon);
  gtk_widget_set_hexpand (text, TRUE);
  gtk_widget_set_valign (text, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (self->box), text);
  self->title = add_label (text, "heading");
  self->body = add_label (text, "body");

  self->more_list = gtk_box_new (GTK_ORIENTATION_VERTICAL, 9);
  gtk_popover_set_child (GTK_POPOVER (popover), self->more_list);
  self->more = gtk_menu_button_new ();
  gtk_menu_button_set_always_show_arrow (GTK_MENU_BUTTON (self->more), TRUE);
  gtk_widget_set_tooltip_text (self->more, _("Also observed"));
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (self->more), popover);
  gtk_widget_add_css_class (self->more, "flat");
  gtk_widget_set_valign (self->more, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (self->box), self->more);

  self->show = gtk_toggle_button_new_with_label (_("Show"));
  gtk_widget_set_tooltip_text (self->show, _("Highlight it in the charts"));
  gtk_widget_set_valign (self->show, GTK_ALIGN_CENTER);
  g_signal_connect_swapped (self->show, "toggled", G_CALLBACK (show_toggled_cb), self);
  gtk_box_append (GTK_BOX (self->box), self->show);

  g_signal_connect (motion, "enter", G_CALLBACK (entered_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (left_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);

  self->data_signals = g_signal_group_new (GRADUS_TYPE_RUN_DATA);
  g_signal_group_connect_swapped (self->data_signals, "events-changed", G_CALLBACK (update), self);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

GtkWidget *
gradus_finding_strip_new (void)
{
  return g_object_new (GRADUS_TYPE_FINDING_STRIP, NULL);
}

void
gradus_finding_strip_set_data (GradusFindingStrip *self, GradusRunData *data)
{
  g_return_if_fail (GRADUS_IS_FINDING_STRIP (self));

  if (self->data == data)
    return;

  highlight (self, FALSE);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->show), FALSE);
  g_set_object (&self->data, data);
  g_signal_group_set_target (self->data_signals, data);
  update (self);
}
