/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/**
 * GradusCardRow:
 *
 * A card whose children stand side by side, parted by hairlines, as long as each has its least
 * width; in more rows otherwise. Hidden children take no place.
 */
#define GRADUS_TYPE_CARD_ROW (gradus_card_row_get_type ())
G_DECLARE_FINAL_TYPE (GradusCardRow, gradus_card_row, GRADUS, CARD_ROW, GtkWidget)

/* @least_width of a child, @row_height of a row. */
GtkWidget *gradus_card_row_new (int least_width, int row_height);
/* The same without card and hairlines. */
GtkWidget *gradus_card_row_new_plain (int least_width, int row_height);
/* @weight: share of the width beside the others in its row. */
void gradus_card_row_append (GradusCardRow *self, GtkWidget *child, double weight);
void gradus_card_row_remove (GradusCardRow *self, GtkWidget *child);

G_END_DECLS
