/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <adwaita.h>
#include <glib/gi18n-lib.h>

#include "gradus-card-row.h"
#include "gradus-settings.h"
#include "gradus-welcome.h"

struct _GradusWelcome
{
  GtkWidget parent_instance;

  GtkWidget *scroller;
};

G_DEFINE_FINAL_TYPE (GradusWelcome, gradus_welcome, GTK_TYPE_WIDGET)

static const GradusExample examples[] = {
  { "line", N_ ("Straight Line"), N_ ("One neuron finds y = 3x + 2 in noisy points."),
    N_ ("2 parameters"), N_ ("seconds") },
  { "spirals", N_ ("Three Spirals"), N_ ("A small dense network winds three spirals apart."),
    N_ ("1 251 parameters"), N_ ("seconds") },
  { "fashion-dense", N_ ("Fashion-MNIST, Dense"),
    N_ ("Two dense layers tell ten kinds of clothing apart."), N_ ("203 530 parameters"),
    N_ ("about a minute") },
  { "fashion-cnn", N_ ("Fashion-MNIST, Convolutional"),
    N_ ("Two convolutions see shapes, and do better."), N_ ("1.2 million parameters"),
    N_ ("5 to 10 minutes") },
  { "lenet", N_ ("LeNet-5"), N_ ("The network of 1998 that read cheques looks at clothing."),
    N_ ("61 706 parameters"), N_ ("seconds") },
  { "resnet-20", N_ ("ResNet-20"), N_ ("Twenty layers with shortcuts, on Fashion-MNIST."),
    N_ ("273 754 parameters"), N_ ("3 to 5 minutes") },
  { "separable", N_ ("Separable Convolutions"),
    N_ ("Depthwise convolutions tell clothing apart with few weights."), N_ ("32 522 parameters"),
    N_ ("about 2 minutes") },
  { "unet", N_ ("U-Net"), N_ ("Finds the pixels of a shape in a noisy picture."),
    N_ ("29 321 parameters"), N_ ("seconds") },
  { "heads", N_ ("Three Answers"), N_ ("One trunk says which shape, in which half, and where."),
    N_ ("39 175 parameters"), N_ ("seconds") },
  { "autoencoder", N_ ("Autoencoder"), N_ ("Squeezes pictures into 16 numbers, and unfolds them."),
    N_ ("205 856 parameters"), N_ ("seconds") },
  { "lstm", N_ ("Text, LSTM"), N_ ("Reads reviews word by word and tells their mood."),
    N_ ("28 450 parameters"), N_ ("seconds") },
  { "gru", N_ ("Text, GRU"), N_ ("The same reviews with fewer gates."), N_ ("24 706 parameters"),
    N_ ("seconds") },
  { "transformer", N_ ("Small Transformer"), N_ ("Looks at all words of a review at once."),
    N_ ("33 058 parameters"), N_ ("seconds") },
  { "houses", N_ ("Prices of Houses"), N_ ("A regression from a table with gaps and categories."),
    N_ ("2 945 parameters"), N_ ("seconds") },
  { NULL, NULL, NULL, NULL, NULL },
};

const GradusExample *
gradus_welcome_get_examples (void)
{
  return examples;
}

char *
gradus_welcome_find_example (const char *name)
{
  for (const GradusExample *example = examples; example->name != NULL; example++)
    if (g_str_equal (example->name, name))
      {
        g_autofree char *file = g_strconcat ("examples/", name, ".json", NULL);

        return gradus_settings_find_resource (file);
      }

  return NULL;
}

static GtkWidget *
label_new (const char *text, const char *css_class)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, css_class);

  return label;
}

static GtkWidget *
card_new (const GradusExample *example)
{
  GtkWidget *button = gtk_button_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *text = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *line = label_new (_(example->line), "body");
  GtkWidget *picture;
  g_autofree char *path = NULL;
  g_autofree char *size = NULL;

  path = g_strdup_printf ("/io/github/gradus/Gradus/pictures/%s.svg", example->name);
  picture = gtk_picture_new_for_resource (path);
  gtk_widget_set_size_request (picture, -1, 140);
  gtk_picture_set_can_shrink (GTK_PICTURE (picture), TRUE);
  gtk_picture_set_content_fit (GTK_PICTURE (picture), GTK_CONTENT_FIT_COVER);
  gtk_widget_set_overflow (picture, GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_state (GTK_ACCESSIBLE (picture), GTK_ACCESSIBLE_STATE_HIDDEN, TRUE, -1);
  gtk_box_append (GTK_BOX (box), picture);

  gtk_widget_add_css_class (text, "text");
  gtk_widget_set_vexpand (line, TRUE);
  gtk_widget_set_valign (line, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (text), label_new (_(example->title), "heading"));
  gtk_box_append (GTK_BOX (text), line);
  /* Translators: size of a model, and the time that training takes. */
  size = g_strdup_printf (_("%s · %s"), _(example->size), _(example->minutes));
  gtk_box_append (GTK_BOX (text), label_new (size, "dim-label"));
  gtk_box_append (GTK_BOX (box), text);

  gtk_button_set_child (GTK_BUTTON (button), box);
  gtk_widget_add_css_class (button, "card");
  gtk_widget_add_css_class (button, "example");
  gtk_widget_set_overflow (button, GTK_OVERFLOW_HIDDEN);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "app.open-example");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", example->name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _(example->title), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  _(example->line), -1);

  return button;
}

static void
gradus_welcome_dispose (GObject *object)
{
  g_clear_pointer (&GRADUS_WELCOME (object)->scroller, gtk_widget_unparent);

  G_OBJECT_CLASS (gradus_welcome_parent_class)->dispose (object);
}

static void
gradus_welcome_class_init (GradusWelcomeClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradus_welcome_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "welcome");
}

static void
gradus_welcome_init (GradusWelcome *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  GtkWidget *clamp = adw_clamp_new ();
  GtkWidget *cards = gradus_card_row_new_plain (250, 282);
  GtkWidget *title = gtk_label_new (_("Train a Neural Network"));
  GtkWidget *line = gtk_label_new (_("Open an example, press Train, and watch it learn."));
  GtkWidget *open = gtk_button_new_with_label (_("Open a Recipe…"));

  gtk_widget_add_css_class (title, "title-1");
  gtk_label_set_wrap (GTK_LABEL (title), TRUE);
  gtk_label_set_wrap (GTK_LABEL (line), TRUE);
  gtk_box_append (GTK_BOX (box), title);
  gtk_box_append (GTK_BOX (box), line);

  gtk_widget_set_margin_top (cards, 12);
  gtk_widget_set_margin_bottom (cards, 12);
  for (const GradusExample *example = examples; example->name != NULL; example++)
    gradus_card_row_append (GRADUS_CARD_ROW (cards), card_new (example), 1);
  gtk_box_append (GTK_BOX (box), cards);

  gtk_widget_set_halign (open, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (open, "pill");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (open), "win.open");
  gtk_box_append (GTK_BOX (box), open);
  gtk_widget_set_valign (box, GTK_ALIGN_CENTER);
  gtk_widget_set_margin_top (box, 24);
  gtk_widget_set_margin_bottom (box, 24);
  gtk_widget_set_margin_start (box, 18);
  gtk_widget_set_margin_end (box, 18);

  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 960);
  adw_clamp_set_child (ADW_CLAMP (clamp), box);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), clamp);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
}
