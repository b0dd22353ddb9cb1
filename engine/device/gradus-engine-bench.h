/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-execution.h"

G_BEGIN_DECLS

/* Training steps of fixed networks on random data, for `gradus-cli bench` and tests. Everything is
 * measured by wall clock on the calling thread and the device's workers. */
typedef struct
{
  gint64 batch;
  double build_ms;       /* program, plan and kernels, the first time */
  double step_ms;        /* median of a whole step: forward, backward, update */
  double step_min_ms;
  double forward_ms, backward_ms, update_ms; /* of the step with the least time */
  double library_ms;     /* the sum of the library kernels (oneDNN, OpenBLAS) alone, each warm and at
                            its least */
  GradusPlanMemory      plan;
  GradusExecutionMemory memory;
} GradusEngineBench;

/* "mlp" (784-512-256-10) and "cnn" (conv 32 and 64 of 3x3, pool, 128, 10 on 28x28), both with Adam and
 * a batch of 64; "lstm" (28 steps of 28, 128 units); ended by NULL. */
const char *const *gradus_engine_bench_names (void);

/* The training program of a network, after the passes; output "loss". */
GradusProgram *gradus_engine_bench_program (const char *name, GError **error);

/* Fills weights, inputs and labels with numbers that depend on @seed alone. */
gboolean gradus_engine_bench_fill (GradusExecution *execution, GradusProgram *program, GradusVariables *variables, gint64 batch, guint64 seed, GError **error);

/* @steps: how many are timed after a few that are not. */
gboolean gradus_engine_bench_run (const char *name, GradusDevice *device, guint steps, GradusEngineBench *result, GError **error);

G_END_DECLS
