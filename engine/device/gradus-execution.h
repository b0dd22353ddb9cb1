/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-device.h"

G_BEGIN_DECLS

/**
 * GradusVariables:
 *
 * The persistent memory of a model on a device: every variable by name, in one arena. The programs
 * for training, validation and prediction run over the same store. One thread at a time.
 */
typedef struct _GradusVariables GradusVariables;

/* Makes room for all variables of @program (the training program has them all), zeroed. */
GradusVariables *gradus_variables_new   (GradusProgram *program, GradusDevice *device, GError **error);
void             gradus_variables_free  (GradusVariables *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusVariables, gradus_variables_free)
guint            gradus_variables_n     (GradusVariables *self);
/* In the order of the program. */
const char      *gradus_variables_name  (GradusVariables *self, guint i, GradusVariableRole *role, GradusValueType *type);
gboolean         gradus_variables_find  (GradusVariables *self, const char *name, guint *i);
gboolean         gradus_variables_write (GradusVariables *self, guint i, const void *data, gsize bytes, GError **error);
gboolean         gradus_variables_read  (GradusVariables *self, guint i, void *data, gsize bytes, GError **error);

/**
 * GradusExecution:
 *
 * A plan at work on a device. Kernels are prepared once per batch size met (two in practice, kept
 * in a small cache, each build counted). Every arena is touched when it is made. One thread at a
 * time.
 */
typedef struct _GradusExecution GradusExecution;

typedef struct
{
  gint64 step, io, constants, scratch; /* bytes of its own arenas; the store's come on top */
} GradusExecutionMemory;

/* Called by inspect after each node: @values gives the outputs on the host, valid during the
 * call. Return FALSE to end the run there. */
typedef gboolean (*GradusInspectFunc) (const GradusNode *node,
                                       const GradusValueType *types,
                                       const void *const *outputs,
                                       gint64 nanoseconds,
                                       gpointer user_data);

GradusExecution *gradus_execution_new   (GradusPlan *plan, GradusVariables *variables, GradusDevice *device, GError **error);
void             gradus_execution_free  (GradusExecution *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusExecution, gradus_execution_free)

/* Scratch included: known once the kernels for the largest batch were prepared, before the arenas
 * are allocated. */
gboolean gradus_execution_predict (GradusPlan *plan, GradusDevice *device, GradusExecutionMemory *memory, GError **error);

/* Copies @data, rows of @batch samples. */
gboolean gradus_execution_set_input (GradusExecution *self, GradusValueId id, const void *data, gint64 batch, GError **error);
void     gradus_execution_set_hyper (GradusExecution *self, GradusValueId id, float value);
float    gradus_execution_get_hyper (GradusExecution *self, GradusValueId id);
/* One pass over the program for @batch samples. @seed and @step key the random numbers. */
gboolean gradus_execution_run       (GradusExecution *self, gint64 batch, guint64 seed, guint64 step, GError **error);
/* Likewise only the nodes of the phases from @first to @last. The parts of one run follow each other
 * with the same batch, seed and step; between them the caller may read what was made so far, and
 * leave the rest out: so a step whose gradient is not finite updates nothing. In such a program the
 * nodes of a phase stand after those of the phases before it. */
gboolean gradus_execution_run_phases (GradusExecution *self, gint64 batch, guint64 seed, guint64 step, GradusPhase first, GradusPhase last, GError **error);
/* A value of the last run to the host; @bytes must be its size at the last batch. */
gboolean gradus_execution_read      (GradusExecution *self, GradusValueId id, void *data, gsize bytes, GError **error);
/* The same plan op by op with a callback after each; same bits. */
gboolean gradus_execution_inspect   (GradusExecution *self, gint64 batch, guint64 seed, guint64 step, GradusInspectFunc func, gpointer user_data, GError **error);
/* Nanoseconds of the last run per phase (forward, backward, update). */
void     gradus_execution_times     (GradusExecution *self, gint64 nanoseconds[3]);
GradusExecutionMemory gradus_execution_memory (GradusExecution *self);
/* Kernel sets built so far. */
guint    gradus_execution_builds    (GradusExecution *self);
/* The plan with provider per op, as text. */
char    *gradus_execution_to_string (GradusExecution *self);

G_END_DECLS
