/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-axis.h"

#include <math.h>

#define N_KINDS (GRADUS_X_TIME + 1)
#define MAX_HISTORY 64

/* Zooming closer than this share of the whole would only show rounding. */
#define MIN_SHARE 1e-9

typedef struct
{
  double x0, x1;
} Range;

struct _GradusAxis
{
  GObject parent_instance;

  GradusXKind kind;
  GHashTable *extents; /* owner address -> Range */
  double      expected_end[N_KINDS];
  Range       extent;
  Range       range;
  Range       selection;
  double      cursor;
  gboolean    zoomed;
  gboolean    sliding; /* the right end stays at the end of the data */
  gboolean    continuous; /* the last change was one of a stream of wheel events */
  GArray     *history; /* Range */
};

G_DEFINE_FINAL_TYPE (GradusAxis, gradus_axis, G_TYPE_OBJECT)

enum
{
  PROP_KIND = 1,
  PROP_ZOOMED,
  N_PROPERTIES,
};

enum
{
  SIGNAL_RANGE_CHANGED,
  SIGNAL_CURSOR_CHANGED,
  SIGNAL_SELECTION_CHANGED,
  N_SIGNALS,
};

static GParamSpec *properties[N_PROPERTIES];
static guint       signals[N_SIGNALS];

static void
set_zoomed (GradusAxis *self, gboolean zoomed)
{
  if (self->zoomed == zoomed)
    return;
  self->zoomed = zoomed;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ZOOMED]);
}

static void
set_range (GradusAxis *self, double x0, double x1)
{
  if (self->range.x0 == x0 && self->range.x1 == x1)
    return;
  self->range = (Range){ x0, x1 };
  g_signal_emit (self, signals[SIGNAL_RANGE_CHANGED], 0);
}

static Range
measure_extent (GradusAxis *self)
{
  GHashTableIter iter;
  gpointer       value;
  Range          all = { 0.0, 0.0 };
  double         expected = self->expected_end[self->kind];

  g_hash_table_iter_init (&iter, self->extents);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Range *one = value;

      all.x0 = MIN (all.x0, one->x0);
      all.x1 = MAX (all.x1, one->x1);
    }
  if (expected > all.x1)
    all.x1 = expected;
  if (!(all.x1 > all.x0))
    all.x1 = all.x0 + 1.0;
  return all;
}

/* Data came or went. */
static void
update_extent (GradusAxis *self)
{
  Range old = self->extent;

  self->extent = measure_extent (self);
  if (!self->zoomed)
    set_range (self, self->extent.x0, self->extent.x1);
  else if (self->sliding && self->extent.x1 != old.x1)
    {
      double span = self->range.x1 - self->range.x0;

      set_range (self, MAX (self->extent.x1 - span, self->extent.x0), self->extent.x1);
    }
}

/* Moves, then cuts [@x0, @x1] so that it lies in the extent, and shows it. */
static void
show (GradusAxis *self, double x0, double x1)
{
  double whole = self->extent.x1 - self->extent.x0;
  double span = CLAMP (x1 - x0, whole * MIN_SHARE, whole);

  x0 = CLAMP (x0, self->extent.x0, self->extent.x1 - span);
  x1 = x0 + span;
  if (span >= whole * (1.0 - 1e-12))
    {
      self->sliding = FALSE;
      set_zoomed (self, FALSE);
      set_range (self, self->extent.x0, self->extent.x1);
      return;
    }
  self->sliding = x1 >= self->extent.x1 - span * 1e-6;
  set_zoomed (self, TRUE);
  set_range (self, x0, x1);
}

static void
remember (GradusAxis *self)
{
  if (self->history->len == MAX_HISTORY)
    g_array_remove_index (self->history, 0);
  g_array_append_val (self->history, self->range);
}

static void
gradus_axis_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GradusAxis *self = GRADUS_AXIS (object);

  switch (id)
    {
    case PROP_KIND:
      g_value_set_int (value, self->kind);
      break;
    case PROP_ZOOMED:
      g_value_set_boolean (value, self->zoomed);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
gradus_axis_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GradusAxis *self = GRADUS_AXIS (object);

  switch (id)
    {
    case PROP_KIND:
      gradus_axis_set_kind (self, (GradusXKind) g_value_get_int (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
gradus_axis_finalize (GObject *object)
{
  GradusAxis *self = GRADUS_AXIS (object);

  g_hash_table_unref (self->extents);
  g_array_unref (self->history);
  G_OBJECT_CLASS (gradus_axis_parent_class)->finalize (object);
}

static guint
add_signal (GradusAxisClass *klass, const char *name)
{
  return g_signal_new (name, G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                       G_TYPE_NONE, 0);
}

static void
gradus_axis_class_init (GradusAxisClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = gradus_axis_get_property;
  object_class->set_property = gradus_axis_set_property;
  object_class->finalize = gradus_axis_finalize;

  properties[PROP_KIND]
      = g_param_spec_int ("kind", NULL, NULL, 0, N_KINDS - 1, GRADUS_X_STEP,
                          G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  properties[PROP_ZOOMED]
      = g_param_spec_boolean ("zoomed", NULL, NULL, FALSE,
                              G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  signals[SIGNAL_RANGE_CHANGED] = add_signal (klass, "range-changed");
  signals[SIGNAL_CURSOR_CHANGED] = add_signal (klass, "cursor-changed");
  signals[SIGNAL_SELECTION_CHANGED] = add_signal (klass, "selection-changed");
}

static void
gradus_axis_init (GradusAxis *self)
{
  self->extents = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->history = g_array_new (FALSE, FALSE, sizeof (Range));
  self->cursor = NAN;
  self->selection = (Range){ NAN, NAN };
  self->extent = self->range = (Range){ 0.0, 1.0 };
  for (guint i = 0; i < N_KINDS; i++)
    self->expected_end[i] = NAN;
}

GradusAxis *
gradus_axis_new (void)
{
  return g_object_new (GRADUS_TYPE_AXIS, NULL);
}

void
gradus_axis_set_kind (GradusAxis *self, GradusXKind kind)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));
  g_return_if_fail (kind < N_KINDS);

  if (self->kind == kind)
    return;

  self->kind = kind;
  /* What the charts said was in the old unit; they say it anew when they hear of the change. */
  g_hash_table_remove_all (self->extents);
  g_array_set_size (self->history, 0);
  self->sliding = FALSE;
  self->extent = measure_extent (self);
  self->range = self->extent;
  set_zoomed (self, FALSE);
  gradus_axis_set_cursor (self, NAN);
  gradus_axis_set_selection (self, NAN, NAN);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_KIND]);
  g_signal_emit (self, signals[SIGNAL_RANGE_CHANGED], 0);
}

GradusXKind
gradus_axis_get_kind (GradusAxis *self)
{
  g_return_val_if_fail (GRADUS_IS_AXIS (self), GRADUS_X_STEP);

  return self->kind;
}

void
gradus_axis_get_range (GradusAxis *self, double *x0, double *x1)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  *x0 = self->range.x0;
  *x1 = self->range.x1;
}

void
gradus_axis_get_extent (GradusAxis *self, double *x0, double *x1)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  *x0 = self->extent.x0;
  *x1 = self->extent.x1;
}

void
gradus_axis_set_extent (GradusAxis *self, gconstpointer owner, double x0, double x1)
{
  Range  range = { x0, x1 };
  Range *known;

  g_return_if_fail (GRADUS_IS_AXIS (self));
  g_return_if_fail (isfinite (x0) && isfinite (x1) && x0 <= x1);

  known = g_hash_table_lookup (self->extents, owner);
  if (known != NULL && known->x0 == x0 && known->x1 == x1)
    return;
  g_hash_table_replace (self->extents, (gpointer) owner, g_memdup2 (&range, sizeof range));
  update_extent (self);
}

void
gradus_axis_unset_extent (GradusAxis *self, gconstpointer owner)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  if (g_hash_table_remove (self->extents, owner))
    update_extent (self);
}

void
gradus_axis_set_expected_end (GradusAxis *self, GradusXKind kind, double x)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));
  g_return_if_fail (kind < N_KINDS);
  g_return_if_fail (!isinf (x));

  self->expected_end[kind] = x;
  if (kind == self->kind)
    update_extent (self);
}

void
gradus_axis_zoom (GradusAxis *self, double x0, double x1)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  if (!isfinite (x0) || !isfinite (x1) || !(x0 < x1))
    return;
  x0 = MAX (x0, self->extent.x0);
  x1 = MIN (x1, self->extent.x1);
  if (!(x0 < x1))
    return;
  self->continuous = FALSE;
  remember (self);
  show (self, x0, x1);
}

void
gradus_axis_zoom_around (GradusAxis *self, double x, double factor)
{
  double x0, x1;

  g_return_if_fail (GRADUS_IS_AXIS (self));

  if (!isfinite (x) || !(factor > 0.0) || !isfinite (factor))
    return;
  if (!self->zoomed && factor >= 1.0)
    return;
  if (!self->continuous)
    remember (self);
  self->continuous = TRUE;
  x0 = x - (x - self->range.x0) * factor;
  x1 = x + (self->range.x1 - x) * factor;
  show (self, x0, x1);
}

void
gradus_axis_pan (GradusAxis *self, double dx)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  if (self->zoomed && isfinite (dx))
    show (self, self->range.x0 + dx, self->range.x1 + dx);
}

gboolean
gradus_axis_zoom_back (GradusAxis *self)
{
  Range last;

  g_return_val_if_fail (GRADUS_IS_AXIS (self), FALSE);

  if (self->history->len == 0)
    return FALSE;
  last = g_array_index (self->history, Range, self->history->len - 1);
  g_array_set_size (self->history, self->history->len - 1);
  self->continuous = FALSE;
  show (self, last.x0, last.x1);
  return TRUE;
}

void
gradus_axis_reset (GradusAxis *self)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  self->continuous = FALSE;
  self->sliding = FALSE;
  g_array_set_size (self->history, 0);
  set_zoomed (self, FALSE);
  set_range (self, self->extent.x0, self->extent.x1);
}

gboolean
gradus_axis_get_zoomed (GradusAxis *self)
{
  g_return_val_if_fail (GRADUS_IS_AXIS (self), FALSE);

  return self->zoomed;
}

void
gradus_axis_set_cursor (GradusAxis *self, double x)
{
  g_return_if_fail (GRADUS_IS_AXIS (self));

  if (self->cursor == x || (isnan (self->cursor) && isnan (x)))
    return;
  self->cursor = x;
  g_signal_emit (self, signals[SIGNAL_CURSOR_CHANGED], 0);
}

double
gradus_axis_get_cursor (GradusAxis *self)
{
  g_return_val_if_fail (GRADUS_IS_AXIS (self), NAN);

  return self->cursor;
}

void
gradus_axis_set_selection (GradusAxis *self, double x0, double x1)
{
  Range    selection = { MIN (x0, x1), MAX (x0, x1) };
  gboolean had = !isnan (self->selection.x0);

  g_return_if_fail (GRADUS_IS_AXIS (self));

  if (isnan (x0) || isnan (x1))
    selection = (Range){ NAN, NAN };
  if (isnan (selection.x0) ? !had
                           : had && selection.x0 == self->selection.x0 && selection.x1 == self->selection.x1)
    return;
  self->selection = selection;
  g_signal_emit (self, signals[SIGNAL_SELECTION_CHANGED], 0);
}

gboolean
gradus_axis_get_selection (GradusAxis *self, double *x0, double *x1)
{
  g_return_val_if_fail (GRADUS_IS_AXIS (self), FALSE);

  *x0 = self->selection.x0;
  *x1 = self->selection.x1;
  return !isnan (self->selection.x0);
}
