/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define GRADUS_TYPE_METER (gradus_meter_get_type ())
G_DECLARE_FINAL_TYPE (GradusMeter, gradus_meter, GRADUS, METER, GtkWidget)

/* A row of label, bar, percent and value: "Input wait  ▏  2 %  0.16 ms". Rows that share @labels
   (may be NULL) have labels of equal width. */
GtkWidget *gradus_meter_new (const char *label, GtkSizeGroup *labels);

/* @fraction from 0 to 1, NaN for unknown; @value is the text at the right, NULL for none. */
void gradus_meter_set (GradusMeter *self, double fraction, const char *value);

double gradus_meter_get_fraction (GradusMeter *self);

G_END_DECLS
