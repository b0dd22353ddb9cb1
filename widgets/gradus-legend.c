/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-draw.h"
#include "gradus-legend.h"
#include "gradus-palette.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define MAX_RUNS 6
#define SWATCH 26
#define BAND_SWATCH 18
#define SWATCH_GAP 7
#define ENTRY_GAP 18

typedef enum
{
  SWATCH_RUN,
  SWATCH_TRAIN,
  SWATCH_VALIDATION,
  SWATCH_BAND,
  SWATCH_REST,
} SwatchKind;

typedef struct
{
  SwatchKind kind;
  char      *text;
  int        color;
  gboolean   bold;
} Entry;

struct _GradusLegend
{
  GtkWidget parent_instance;

  GArray *entries; /* Entry */
};

G_DEFINE_FINAL_TYPE (GradusLegend, gradus_legend, GTK_TYPE_WIDGET)

static void
clear_entry (gpointer data)
{
  g_clear_pointer (&((Entry *) data)->text, g_free);
}

static void
add_entry (GradusLegend *self, SwatchKind kind, char *text, int color, gboolean bold)
{
  Entry entry = { kind, text, color, bold };

  g_array_append_val (self->entries, entry);
}

static double
get_swatch_width (SwatchKind kind)
{
  switch (kind)
    {
    case SWATCH_RUN:
      return SWATCH;
    case SWATCH_REST:
      return -SWATCH_GAP;
    case SWATCH_TRAIN:
    case SWATCH_VALIDATION:
    case SWATCH_BAND:
    default:
      return BAND_SWATCH;
    }
}

static void
draw_swatch (GtkSnapshot *snapshot, const GradusPalette *palette, const Entry *entry, double x, double y)
{
  GdkRGBA strong = entry->kind == SWATCH_RUN ? *gradus_palette_get_run (palette, entry->color) : palette->dim;
  GdkRGBA weak = gradus_draw_fade (&strong, palette->train);
  GdkRGBA band = gradus_draw_fade (&palette->dim, 2.0 * palette->band);

  switch (entry->kind)
    {
    case SWATCH_RUN:
      gradus_draw_rect (snapshot, x, y - 1, 11, 2, &weak);
      gradus_draw_rect (snapshot, x + 14, y - 1, 12, 2, &strong);
      break;
    case SWATCH_TRAIN:
      gradus_draw_rect (snapshot, x, y - 1, BAND_SWATCH, 2, &weak);
      break;
    case SWATCH_VALIDATION:
      gradus_draw_rect (snapshot, x, y - 1, BAND_SWATCH, 2, &strong);
      break;
    case SWATCH_BAND:
      gradus_draw_rect (snapshot, x, y - 5, BAND_SWATCH, 10, &band);
      break;
    case SWATCH_REST:
    default:
      break;
    }
}

static void
gradus_legend_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusLegend *self = GRADUS_LEGEND (widget);
  double        y = floor (gtk_widget_get_height (widget) / 2.0), x = 0.0;
  GradusPalette palette;
  gboolean      in_key = FALSE;

  gradus_palette_read (&palette, widget);
  for (guint i = 0; i < self->entries->len; i++)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (widget, entry->text, entry->bold);
      gboolean run = entry->kind == SWATCH_RUN || entry->kind == SWATCH_REST;
      int      width;
      double   text_x = x + get_swatch_width (entry->kind) + SWATCH_GAP;

      pango_layout_get_pixel_size (layout, &width, NULL);
      /* What has no room is left out, the key first as it stands last. */
      if (text_x + width > gtk_widget_get_width (widget))
        break;
      if (!run && !in_key && i > 0)
        gradus_draw_rect (snapshot, x - ENTRY_GAP / 2.0, y - 8, 1, 16, &palette.hairline);
      in_key |= !run;
      draw_swatch (snapshot, &palette, entry, x, y);
      gradus_draw_text (snapshot, layout, text_x, y, 0.0, run ? &palette.text : &palette.dim);
      x = text_x + width + ENTRY_GAP;
    }
}

static void
gradus_legend_measure (GtkWidget     *widget,
                       GtkOrientation orientation,
                       int            for_size,
                       int           *minimum,
                       int           *natural,
                       int           *minimum_baseline,
                       int           *natural_baseline)
{
  GradusLegend *self = GRADUS_LEGEND (widget);
  double        total = 0.0;
  int           height = 0;

  for (guint i = 0; i < self->entries->len; i++)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);
      g_autoptr (PangoLayout) layout = gradus_draw_layout (widget, entry->text, entry->bold);
      int width;

      pango_layout_get_pixel_size (layout, &width, &height);
      total += get_swatch_width (entry->kind) + SWATCH_GAP + width + (i > 0 ? ENTRY_GAP : 0);
    }
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 0 : MAX (height, 20);
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? (int) ceil (total) : MAX (height, 20);
}

static void
gradus_legend_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (gradus_legend_parent_class)->css_changed (widget, change);
  gtk_widget_queue_draw (widget);
}

static void
gradus_legend_finalize (GObject *object)
{
  g_array_unref (GRADUS_LEGEND (object)->entries);
  G_OBJECT_CLASS (gradus_legend_parent_class)->finalize (object);
}

static void
gradus_legend_class_init (GradusLegendClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gradus_legend_finalize;
  widget_class->snapshot = gradus_legend_snapshot;
  widget_class->measure = gradus_legend_measure;
  widget_class->css_changed = gradus_legend_css_changed;
  gtk_widget_class_set_css_name (widget_class, "gradus-legend");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
gradus_legend_init (GradusLegend *self)
{
  self->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_clear_func (self->entries, clear_entry);
  gradus_palette_watch (GTK_WIDGET (self), gtk_widget_queue_draw);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Legend"), -1);
}

GtkWidget *
gradus_legend_new (void)
{
  return g_object_new (GRADUS_TYPE_LEGEND, NULL);
}

static void
say_names (GradusLegend *self, const char *const *names, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", names[i]);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text->str, -1);
  g_string_free (text, TRUE);
}

void
gradus_legend_set_runs (GradusLegend *self, const char *const *names, const int *colors, guint n, int focus)
{
  g_return_if_fail (GRADUS_IS_LEGEND (self));
  g_return_if_fail (n == 0 || (names != NULL && colors != NULL));

  g_array_set_size (self->entries, 0);
  for (guint i = 0; i < MIN (n, MAX_RUNS); i++)
    add_entry (self, SWATCH_RUN, g_strdup (names[i]), colors[i], (int) i == focus);
  if (n > MAX_RUNS)
    add_entry (self, SWATCH_REST,
               g_strdup_printf (ngettext ("%u more", "%u more", n - MAX_RUNS), n - MAX_RUNS), 0, FALSE);
  if (n > 0)
    {
      add_entry (self, SWATCH_TRAIN, g_strdup (_("train")), 0, FALSE);
      add_entry (self, SWATCH_VALIDATION, g_strdup (_("validation")), 0, FALSE);
      add_entry (self, SWATCH_BAND, g_strdup (_("lowest to highest")), 0, FALSE);
    }
  say_names (self, names, n);
  gtk_widget_queue_resize (GTK_WIDGET (self));
}
