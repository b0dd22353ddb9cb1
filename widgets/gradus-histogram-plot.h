/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-histogram-view.h"
#include "gradus-palette.h"
#include "gradus-ticks.h"

G_BEGIN_DECLS

/* The drawn part of a histogram view. Private to this library. */
#define GRADUS_TYPE_HISTOGRAM_PLOT (gradus_histogram_plot_get_type ())
G_DECLARE_FINAL_TYPE (GradusHistogramPlot, gradus_histogram_plot, GRADUS, HISTOGRAM_PLOT, GtkWidget)

/* Where things are, in pixels; values along x in the first two modes and along y in the others. */
typedef struct
{
  double      left, top, width, height;
  double      low, high; /* range of values */
  double      x0, x1;    /* range of steps, in the axis' kind */
  double      max_density;
  GradusTicks value_ticks;
  GradusTicks x_ticks;
} GradusHistogramGeometry;

#define GRADUS_HISTOGRAM_CELLS 160

/* A histogram that is drawn, resampled to the cells of the range of values. */
typedef struct
{
  guint                position; /* in the model */
  GradusHistogramItem *item;     /* owned */
  double               x;
  double               density[GRADUS_HISTOGRAM_CELLS];
} GradusHistogramRow;

struct _GradusHistogramPlot
{
  GtkWidget parent_instance;

  GListModel *model;
  GradusAxis *axis;

  GradusHistogramMode     mode;
  int                     color;
  guint                   position; /* the one picked, in the model */
  GradusHistogramGeometry geometry;
  GArray                 *rows; /* GradusHistogramRow, oldest first */
  GradusPalette           palette;
  GdkTexture             *heat;
  gboolean                valid;
};

GtkWidget *gradus_histogram_plot_new (void);
void       gradus_histogram_plot_set_model (GradusHistogramPlot *self, GListModel *model);
void       gradus_histogram_plot_set_axis (GradusHistogramPlot *self, GradusAxis *axis);
void       gradus_histogram_plot_set_mode (GradusHistogramPlot *self, GradusHistogramMode mode);
void       gradus_histogram_plot_set_color (GradusHistogramPlot *self, int color);
void       gradus_histogram_plot_set_position (GradusHistogramPlot *self, guint position);
void       gradus_histogram_plot_invalidate (GradusHistogramPlot *self);

/* The position in the model of what is drawn at (@px, @py); FALSE if nothing is. */
gboolean gradus_histogram_plot_pick (GradusHistogramPlot *self, double px, double py, guint *position);

/* Where @item stands on an axis of @kind. */
double gradus_histogram_item_get_x (GradusHistogramItem *item, GradusXKind kind);

/* "epoch 12" or "step 10 320". */
char *gradus_histogram_item_format_x (GradusHistogramItem *item, GradusXKind kind);

/* The modes. */
void     gradus_histogram_draw_ridges (GradusHistogramPlot *self, GtkSnapshot *snapshot);
void     gradus_histogram_draw_distribution (GradusHistogramPlot *self, GtkSnapshot *snapshot);
void     gradus_histogram_draw_heat_map (GradusHistogramPlot *self, GtkSnapshot *snapshot);
gboolean gradus_histogram_pick_ridge (GradusHistogramPlot *self, double px, double py, guint *position);

/* Shared by them: ticks of the values along the bottom or the left, of the steps along the bottom. */
void gradus_histogram_draw_value_axis (GradusHistogramPlot *self, GtkSnapshot *snapshot, gboolean vertical);
void gradus_histogram_draw_step_axis (GradusHistogramPlot *self, GtkSnapshot *snapshot);

G_END_DECLS
