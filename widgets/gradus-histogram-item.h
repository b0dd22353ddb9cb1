/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* What is known of the values beside their bins. */
typedef struct
{
  double  min; /* of the finite values; NaN if there is none */
  double  max;
  double  mean;
  double  stddev;
  guint64 count; /* all, the non-finite included */
  guint64 zeros;
  guint64 nans;
  guint64 infs;
} GradusHistogramStats;

#define GRADUS_TYPE_HISTOGRAM_ITEM (gradus_histogram_item_get_type ())
G_DECLARE_FINAL_TYPE (GradusHistogramItem, gradus_histogram_item, GRADUS, HISTOGRAM_ITEM, GObject)

/* A histogram recorded at @step: @n_bins counts between @n_bins + 1 rising edges, copied. @epoch is
   that step's place in epochs (NaN unknown), @time in milliseconds since the run began. Immutable.
   Returns NULL if edges do not rise, or a number is not finite, or a count is negative. */
GradusHistogramItem *gradus_histogram_item_new (gint64                      step,
                                                double                      epoch,
                                                gint64                      time,
                                                const double               *edges,
                                                const double               *counts,
                                                guint                       n_bins,
                                                const GradusHistogramStats *stats)
    G_GNUC_WARN_UNUSED_RESULT;

gint64                      gradus_histogram_item_get_step (GradusHistogramItem *self);
double                      gradus_histogram_item_get_epoch (GradusHistogramItem *self);
gint64                      gradus_histogram_item_get_time (GradusHistogramItem *self);
guint                       gradus_histogram_item_get_n_bins (GradusHistogramItem *self);
const double               *gradus_histogram_item_get_edges (GradusHistogramItem *self);
const double               *gradus_histogram_item_get_counts (GradusHistogramItem *self);
const GradusHistogramStats *gradus_histogram_item_get_stats (GradusHistogramItem *self);

/* Fills @density with the share of values per unit of x in each of @n equal cells of [@x0, @x1]: the
   mean over the cell, or where bins are wider than cells what lies on the straight line between the
   middles of bins. */
void gradus_histogram_item_resample (GradusHistogramItem *self,
                                     double               x0,
                                     double               x1,
                                     guint                n,
                                     double              *density);

/* The value below which the share @p (0 to 1) of the finite values lies; NaN if there are none. */
double gradus_histogram_item_quantile (GradusHistogramItem *self, double p);

G_END_DECLS
