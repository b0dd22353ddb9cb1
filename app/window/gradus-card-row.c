/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-card-row.h"
#include "gradus-palette.h"

#define GAP 17

struct _GradusCardRow
{
  GtkWidget parent_instance;

  int      least_width;
  int      row_height;
  gboolean plain;
  GArray  *lines; /* of graphene_rect_t: the hairlines */
};

G_DEFINE_FINAL_TYPE (GradusCardRow, gradus_card_row, GTK_TYPE_WIDGET)

static double
weight_of (GtkWidget *child)
{
  const double *weight = g_object_get_data (G_OBJECT (child), "gradus-weight");

  return weight != NULL ? *weight : 1;
}

static guint
count_visible (GradusCardRow *self)
{
  guint n = 0;

  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (self)); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += gtk_widget_get_visible (child);

  return n;
}

/* Rows are filled evenly: four that do not fit become two and two, not three and one. */
static guint
columns_for (GradusCardRow *self, int width)
{
  guint n = count_visible (self);
  guint fit = MAX (1, (width + GAP) / (self->least_width + GAP));

  if (n <= fit)
    return MAX (n, 1);

  return (n + (n + fit - 1) / fit - 1) / ((n + fit - 1) / fit);
}

static void
gradus_card_row_measure (GtkWidget      *widget,
                         GtkOrientation  orientation,
                         int             for_size,
                         int            *minimum,
                         int            *natural,
                         int            *minimum_baseline,
                         int            *natural_baseline)
{
  GradusCardRow *self = GRADUS_CARD_ROW (widget);
  guint n = MAX (count_visible (self), 1);

  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = self->least_width;
      *natural = (int) n * (self->least_width + GAP) - GAP;
    }
  else
    {
      guint columns = for_size > 0 ? columns_for (self, for_size) : n;
      guint rows = (n + columns - 1) / columns;

      *minimum = *natural = (int) rows * (self->row_height + GAP) - GAP;
    }
}

static void
allocate_row (GradusCardRow *self, GPtrArray *row, guint columns, int y, int width)
{
  /* Cards that stand alone are of one size; charts in a card fill it. */
  guint n_empty = self->plain ? columns - row->len : 0;
  double weights = n_empty;
  double x = 0;
  int room = width - GAP * ((int) (row->len + n_empty) - 1);

  for (guint i = 0; i < row->len; i++)
    weights += weight_of (g_ptr_array_index (row, i));

  for (guint i = 0; i < row->len; i++)
    {
      GtkWidget *child = g_ptr_array_index (row, i);
      double share = room * weight_of (child) / weights;
      GskTransform *move;

      move = gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT ((int) x, y));
      gtk_widget_allocate (child, (int) share, self->row_height, -1, move);
      x += share;
      if (i + 1 < row->len)
        {
          graphene_rect_t line = GRAPHENE_RECT_INIT ((int) x + GAP / 2, y, 1, self->row_height);

          g_array_append_val (self->lines, line);
          x += GAP;
        }
    }
}

static void
gradus_card_row_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  GradusCardRow *self = GRADUS_CARD_ROW (widget);
  guint columns = columns_for (self, width);
  g_autoptr (GPtrArray) row = g_ptr_array_new ();
  int y = 0;

  g_array_set_size (self->lines, 0);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      if (!gtk_widget_get_visible (child))
        continue;
      if (row->len == columns)
        {
          graphene_rect_t line = GRAPHENE_RECT_INIT (0, y + self->row_height + GAP / 2, width, 1);

          allocate_row (self, row, columns, y, width);
          g_array_append_val (self->lines, line);
          g_ptr_array_set_size (row, 0);
          y += self->row_height + GAP;
        }
      g_ptr_array_add (row, child);
    }
  if (row->len > 0)
    allocate_row (self, row, columns, y, width);
}

static void
gradus_card_row_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GradusCardRow *self = GRADUS_CARD_ROW (widget);
  GradusPalette palette;

  gradus_palette_read (&palette, widget);
  for (guint i = 0; !self->plain && i < self->lines->len; i++)
    gtk_snapshot_append_color (snapshot, &palette.hairline,
                               &g_array_index (self->lines, graphene_rect_t, i));

  GTK_WIDGET_CLASS (gradus_card_row_parent_class)->snapshot (widget, snapshot);
}

static GtkSizeRequestMode
gradus_card_row_get_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
gradus_card_row_dispose (GObject *object)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (object))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (gradus_card_row_parent_class)->dispose (object);
}

static void
gradus_card_row_finalize (GObject *object)
{
  g_array_unref (GRADUS_CARD_ROW (object)->lines);

  G_OBJECT_CLASS (gradus_card_row_parent_class)->finalize (object);
}

static void
gradus_card_row_class_init (GradusCardRowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = gradus_card_row_dispose;
  G_OBJECT_CLASS (klass)->finalize = gradus_card_row_finalize;
  widget_class->measure = gradus_card_row_measure;
  widget_class->size_allocate = gradus_card_row_size_allocate;
  widget_class->snapshot = gradus_card_row_snapshot;
  widget_class->get_request_mode = gradus_card_row_get_request_mode;
  gtk_widget_class_set_css_name (widget_class, "card-row");
}

static void
gradus_card_row_init (GradusCardRow *self)
{
  self->lines = g_array_new (FALSE, FALSE, sizeof (graphene_rect_t));
}

GtkWidget *
gradus_card_row_new (int least_width, int row_height)
{
  GtkWidget *self = gradus_card_row_new_plain (least_width, row_height);

  GRADUS_CARD_ROW (self)->plain = FALSE;
  gtk_widget_add_css_class (self, "card");

  return self;
}

GtkWidget *
gradus_card_row_new_plain (int least_width, int row_height)
{
  GradusCardRow *self = g_object_new (GRADUS_TYPE_CARD_ROW, NULL);

  self->least_width = least_width;
  self->row_height = row_height;
  self->plain = TRUE;

  return GTK_WIDGET (self);
}

void
gradus_card_row_append (GradusCardRow *self, GtkWidget *child, double weight)
{
  g_return_if_fail (GRADUS_IS_CARD_ROW (self));

  g_object_set_data_full (G_OBJECT (child), "gradus-weight", g_memdup2 (&weight, sizeof weight),
                          g_free);
  gtk_widget_set_parent (child, GTK_WIDGET (self));
}

void
gradus_card_row_remove (GradusCardRow *self, GtkWidget *child)
{
  g_return_if_fail (gtk_widget_get_parent (child) == GTK_WIDGET (self));

  gtk_widget_unparent (child);
}
