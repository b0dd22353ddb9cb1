/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-trainer.h"

G_BEGIN_DECLS

/* Samples in memory, drawn by (seed, epoch); the last batch is short. */
typedef struct
{
  GradusBatchSource parent;
  GradusArraySpec   input, target;
  gint64            n;
  guint             n_features, n_classes; /* 0 classes: one float target */
  gboolean          shuffle;
  guint             batch_size, next_batch_size;
  gint64            epoch, position;
  float            *x, *y;
  guint8           *labels;
  float            *batch_x, *batch_y;
  guint8           *batch_labels;
  gint64           *samples;
  const void       *inputs[1], *targets[1];
  GradusBatch       batch;
} GradusTestSource;

GradusTestSource *gradus_test_source_new  (gint64 n, guint n_features, guint n_classes, guint batch_size, guint64 seed, gboolean shuffle);
void              gradus_test_source_free (GradusTestSource *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusTestSource, gradus_test_source_free)

/* Keeps what it is told: scalars and histograms as lines "name step value". */
typedef struct
{
  GradusObserver  parent;
  GMutex          lock;
  GPtrArray      *names;
  GHashTable     *values;      /* "name step" -> GString of the bits */
  GPtrArray      *events;      /* "kind subject: message" */
  GPtrArray      *statuses;    /* "status step" */
  GPtrArray      *taken;       /* "id step error" */
  GPtrArray      *checkpoints; /* "step best path" */
  GPtrArray      *removed;     /* "step" */
  void (*on_scalar) (gpointer data, const char *name, gint64 step);
  gpointer data;
} GradusTestObserver;

GradusTestObserver *gradus_test_observer_new  (void);
void                gradus_test_observer_free (GradusTestObserver *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusTestObserver, gradus_test_observer_free)
double              gradus_test_observer_value (GradusTestObserver *self, const char *name, gint64 step);
gboolean            gradus_test_observer_has   (GradusTestObserver *self, const char *name, gint64 step);
/* Every value of @a, those of time and of the process aside, is in @b with the same bits. */
void                gradus_test_assert_same    (GradusTestObserver *a, GradusTestObserver *b);

GradusModel *gradus_test_model   (const char *json);
/* @json: {"compile": .., "fit": .., ..} */
GradusTrainerOptions *gradus_test_options (const char *json);

G_END_DECLS
