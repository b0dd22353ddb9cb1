/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-histogram-item.h"

#include <math.h>

struct _GradusHistogramItem
{
  GObject parent_instance;

  gint64               step;
  double               epoch;
  gint64               time;
  guint                n_bins;
  double              *edges;      /* n_bins + 1 */
  double              *counts;     /* n_bins */
  double              *cumulative; /* n_bins + 1: of all counts below each edge */
  GradusHistogramStats stats;
};

G_DEFINE_FINAL_TYPE (GradusHistogramItem, gradus_histogram_item, G_TYPE_OBJECT)

static void
gradus_histogram_item_finalize (GObject *object)
{
  GradusHistogramItem *self = GRADUS_HISTOGRAM_ITEM (object);

  g_free (self->edges);
  g_free (self->counts);
  g_free (self->cumulative);
  G_OBJECT_CLASS (gradus_histogram_item_parent_class)->finalize (object);
}

static void
gradus_histogram_item_class_init (GradusHistogramItemClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gradus_histogram_item_finalize;
}

static void
gradus_histogram_item_init (GradusHistogramItem *self)
{
}

static gboolean
is_valid (const double *edges, const double *counts, guint n_bins)
{
  for (guint i = 0; i <= n_bins; i++)
    if (!isfinite (edges[i]) || (i > 0 && !(edges[i] > edges[i - 1])))
      return FALSE;
  for (guint i = 0; i < n_bins; i++)
    if (!isfinite (counts[i]) || counts[i] < 0.0)
      return FALSE;
  return TRUE;
}

GradusHistogramItem *
gradus_histogram_item_new (gint64                      step,
                           double                      epoch,
                           gint64                      time,
                           const double               *edges,
                           const double               *counts,
                           guint                       n_bins,
                           const GradusHistogramStats *stats)
{
  GradusHistogramItem *self;

  g_return_val_if_fail (n_bins >= 1 && n_bins < G_MAXUINT / sizeof (double) - 1, NULL);
  g_return_val_if_fail (edges != NULL && counts != NULL && stats != NULL, NULL);

  if (!is_valid (edges, counts, n_bins))
    return NULL;

  self = g_object_new (GRADUS_TYPE_HISTOGRAM_ITEM, NULL);
  self->step = step;
  self->epoch = epoch;
  self->time = time;
  self->n_bins = n_bins;
  self->edges = g_memdup2 (edges, (n_bins + 1) * sizeof (double));
  self->counts = g_memdup2 (counts, n_bins * sizeof (double));
  self->cumulative = g_new0 (double, n_bins + 1);
  for (guint i = 0; i < n_bins; i++)
    self->cumulative[i + 1] = self->cumulative[i] + counts[i];
  self->stats = *stats;
  return self;
}

gint64
gradus_histogram_item_get_step (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), 0);

  return self->step;
}

double
gradus_histogram_item_get_epoch (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), NAN);

  return self->epoch;
}

gint64
gradus_histogram_item_get_time (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), 0);

  return self->time;
}

guint
gradus_histogram_item_get_n_bins (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), 0);

  return self->n_bins;
}

const double *
gradus_histogram_item_get_edges (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), NULL);

  return self->edges;
}

const double *
gradus_histogram_item_get_counts (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), NULL);

  return self->counts;
}

const GradusHistogramStats *
gradus_histogram_item_get_stats (GradusHistogramItem *self)
{
  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), NULL);

  return &self->stats;
}

/* The last edge at or below @x among the first n_bins. */
static guint
find_bin (GradusHistogramItem *self, double x)
{
  guint low = 0, high = self->n_bins;

  while (high - low > 1)
    {
      guint middle = (low + high) / 2;

      if (self->edges[middle] <= x)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* The count below @x, a bin's values spread evenly over it. */
static double
count_below (GradusHistogramItem *self, double x)
{
  guint bin;

  if (x <= self->edges[0])
    return 0.0;
  if (x >= self->edges[self->n_bins])
    return self->cumulative[self->n_bins];
  bin = find_bin (self, x);
  return self->cumulative[bin]
         + self->counts[bin] * (x - self->edges[bin]) / (self->edges[bin + 1] - self->edges[bin]);
}

static double
get_middle (GradusHistogramItem *self, guint bin)
{
  return 0.5 * (self->edges[bin] + self->edges[bin + 1]);
}

static double
get_density (GradusHistogramItem *self, guint bin)
{
  return self->counts[bin] / (self->edges[bin + 1] - self->edges[bin]);
}

/* On the line between the middles of the bin that holds @x and of its neighbour on the nearer side. */
static double
interpolate (GradusHistogramItem *self, guint bin, double x)
{
  guint  other;
  double part;

  if (x < get_middle (self, bin) ? bin == 0 : bin + 1 == self->n_bins)
    return get_density (self, bin);
  other = x < get_middle (self, bin) ? bin - 1 : bin + 1;
  part = (x - get_middle (self, bin)) / (get_middle (self, other) - get_middle (self, bin));
  return get_density (self, bin) * (1.0 - part) + get_density (self, other) * part;
}

void
gradus_histogram_item_resample (GradusHistogramItem *self, double x0, double x1, guint n, double *density)
{
  double total, cell, below;

  g_return_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self));
  g_return_if_fail (n > 0 && density != NULL);
  g_return_if_fail (x0 < x1);

  total = self->cumulative[self->n_bins];
  cell = (x1 - x0) / n;
  below = count_below (self, x0);
  for (guint i = 0; i < n; i++)
    {
      double next = count_below (self, x0 + (x1 - x0) * (i + 1) / n);
      double middle = x0 + (i + 0.5) * cell;
      guint  bin = find_bin (self, middle);

      if (!(total > 0.0))
        density[i] = 0.0;
      else if (middle >= self->edges[0] && middle <= self->edges[self->n_bins]
               && self->edges[bin + 1] - self->edges[bin] > cell)
        density[i] = interpolate (self, bin, middle) / total;
      else
        /* Also where all values lie in a part of the cell. */
        density[i] = (next - below) / total / cell;
      below = next;
    }
}

double
gradus_histogram_item_quantile (GradusHistogramItem *self, double p)
{
  double target;
  guint  bin = 0;

  g_return_val_if_fail (GRADUS_IS_HISTOGRAM_ITEM (self), NAN);
  g_return_val_if_fail (p >= 0.0 && p <= 1.0, NAN);

  target = p * self->cumulative[self->n_bins];
  if (self->cumulative[self->n_bins] <= 0.0)
    return NAN;
  while (bin + 1 < self->n_bins && (self->cumulative[bin + 1] < target || self->counts[bin] == 0.0))
    bin++;
  if (self->counts[bin] == 0.0)
    return self->edges[bin];
  return self->edges[bin]
         + (self->edges[bin + 1] - self->edges[bin])
               * CLAMP ((target - self->cumulative[bin]) / self->counts[bin], 0.0, 1.0);
}
