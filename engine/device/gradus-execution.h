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
 * A plan at work on a device. Kernels are prepared once per pair of sizes met (two in practice where
 * time is not free, else one more a length; kept in a bounded cache, each build counted with its
 * reason). Every arena is touched when it is made. One thread at a
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

/* Scratch included: known once the kernels for the largest sizes were prepared, before the arenas
 * are allocated. */
gboolean gradus_execution_predict (GradusPlan *plan, GradusDevice *device, GradusExecutionMemory *memory, GError **error);

/* Copies @data, row-major elements of the input's shape at @sizes. A device may copy later: @data
 * stays as it is until a run, a read or gradus_execution_synchronise() returned. */
gboolean gradus_execution_set_input (GradusExecution *self, GradusValueId id, const void *data, GradusSizes sizes, GError **error);
/* The same, but the sequences of an input (batch, time, ...) are lengthened from @data's @sizes to
 * @time steps with @padding, rounded to the input's type. */
gboolean gradus_execution_set_sequence (GradusExecution *self, GradusValueId id, const void *data, GradusSizes sizes, gint64 time, double padding, GError **error);
/* Waits until the device has done all that it was given. */
gboolean gradus_execution_synchronise (GradusExecution *self, GError **error);
void     gradus_execution_set_hyper (GradusExecution *self, GradusValueId id, float value);
float    gradus_execution_get_hyper (GradusExecution *self, GradusValueId id);
/* One pass over the program at @sizes. @seed and @step key the random numbers. */
gboolean gradus_execution_run       (GradusExecution *self, GradusSizes sizes, guint64 seed, guint64 step, GError **error);
/* Likewise only the nodes of the phases from @first to @last. The parts of one run follow each other
 * with the same sizes, seed and step; between them the caller may read what was made so far, and
 * leave the rest out: so a step whose gradient is not finite updates nothing. In such a program the
 * nodes of a phase stand after those of the phases before it. */
gboolean gradus_execution_run_phases (GradusExecution *self, GradusSizes sizes, guint64 seed, guint64 step, GradusPhase first, GradusPhase last, GError **error);
/* A value of the last run to the host; @bytes must be its size at that run's sizes. */
gboolean gradus_execution_read      (GradusExecution *self, GradusValueId id, void *data, gsize bytes, GError **error);
/* The same plan op by op, as far as the end of the phase @last, with a callback after each; same bits. */
gboolean gradus_execution_inspect   (GradusExecution *self, GradusSizes sizes, guint64 seed, guint64 step, GradusPhase last, GradusInspectFunc func, gpointer user_data, GError **error);
/* Bytes of a value at the sizes of the last run. */
gsize    gradus_execution_value_bytes (GradusExecution *self, GradusValueId id);
/* Nanoseconds of the last run per phase (forward, backward, update). */
void     gradus_execution_times     (GradusExecution *self, gint64 nanoseconds[3]);
GradusExecutionMemory gradus_execution_memory (GradusExecution *self);
/* Kernel sets built so far. */
guint    gradus_execution_builds    (GradusExecution *self);
/* For which sizes the last one was and why: a sentence in English, translated where it is shown. */
const char *gradus_execution_build_reason (GradusExecution *self, GradusSizes *sizes);
/* The plan with provider per op, as text. */
char    *gradus_execution_to_string (GradusExecution *self);

G_END_DECLS
