/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "train/gradus-heads.h"
#include "train/gradus-optimizer.h"
#include "train/gradus-trainer.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_CLIP_NONE,
  GRADUS_CLIP_VALUE,
  GRADUS_CLIP_NORM,
  GRADUS_CLIP_GLOBAL_NORM,
} GradusClip;

typedef enum
{
  GRADUS_MODE_AUTO,
  GRADUS_MODE_MIN,
  GRADUS_MODE_MAX,
} GradusMode;

typedef enum
{
  GRADUS_NONFINITE_STOP,
  GRADUS_NONFINITE_SKIP,
  GRADUS_NONFINITE_IGNORE,
} GradusNonfinite;

typedef enum
{
  GRADUS_REMAT_NONE,
  GRADUS_REMAT_AUTO, /* as little as brings the run under its budget */
  GRADUS_REMAT_SQRT,
} GradusRematPolicy;

struct _GradusTrainerOptions
{
  /* compile */
  GradusOptimizer optimizer;
  GradusHeads     heads;
  /* fit */
  gint64          memory_budget; /* bytes; 0: none */
  double          memory_share;  /* of what is free, instead; 0: none */
  GradusRematPolicy rematerialize;
  gint64          epochs, steps_per_epoch, validation_every;
  guint           threads;
  char           *device;
  GradusClip      clip;
  double          clip_limit;
  GradusNonfinite on_nonfinite;
  gboolean        stop_early;
  char           *stop_monitor;
  gint64          patience;
  double          min_delta;
  GradusMode      stop_mode;
  gboolean        restore_best;
  gint64          accumulate;   /* batches a step; 1: none are put together */
  gint64          warmup_steps; /* before the schedule begins */
  gboolean        reduce;       /* reduce_on_plateau */
  char           *reduce_monitor;
  double          reduce_factor, reduce_min_delta, min_lr;
  gint64          reduce_patience, cooldown;
  GradusMode      reduce_mode;
  /* log */
  gint64          scalars_every, histograms_every, per_layer_every;
  /* checkpoints */
  gint64          every; /* steps; 0: at the end of each epoch */
  gint64          keep;
  gboolean        best;
  char           *monitor;
  GradusMode      mode;
};

/* Whether smaller is better for the series, Keras's "auto" resolved. */
gboolean gradus_mode_is_min (GradusMode mode, const char *monitor);

G_END_DECLS
