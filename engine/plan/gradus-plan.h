/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/**
 * GradusPlan:
 *
 * A program in order, every value with its place. Planned for the largest batch and the longest
 * sequence; since sizes do not shrink with them, the same offsets serve every smaller one. Immutable and reference counted.
 *
 * Lifetime classes, one arena each: variables (owned by the variable store, shared by all plans),
 * io (inputs), hyper, constants, step (temporaries). Alignment is 64 bytes.
 */
typedef struct _GradusPlan GradusPlan;

typedef struct
{
  gint64 variables;   /* weights and statistics */
  gint64 optimizer;   /* optimizer state */
  gint64 io;
  gint64 constants;   /* and hypers */
  gint64 step;        /* the arena of temporaries */
  gint64 lower_bound; /* largest sum of live temporaries at any node: no plan can be smaller */
} GradusPlanMemory;

#define GRADUS_PLAN_ALIGNMENT 64

/* Greedy by size over live intervals, in three orders, the smallest kept (Pisarchyk and Lee,
 * Efficient Memory Management for Deep Neural Net Inference, 2020). In-place and alias rules come
 * from the op rows. Fails with GRADUS_ERROR_NO_MEMORY, naming the value, when sizes pass 2^62. */
GradusPlan       *gradus_plan_new    (GradusProgram *program, GradusSizes max, GError **error);
GradusPlan       *gradus_plan_ref    (GradusPlan *plan);
void              gradus_plan_unref  (GradusPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusPlan, gradus_plan_unref)

GradusProgram    *gradus_plan_program   (GradusPlan *plan); /* borrowed */
GradusSizes       gradus_plan_max       (GradusPlan *plan);
GradusPlanMemory  gradus_plan_memory    (GradusPlan *plan);
/* Offset of a value in the arena of its class; an alias has its source's. */
gint64            gradus_plan_offset    (GradusPlan *plan, GradusValueId id);
/* The value whose memory @id shares, through aliases and writes in place: itself where it has its
 * own. Its kind names the arena (an alias of an input lies in io). */
GradusValueId     gradus_plan_root      (GradusPlan *plan, GradusValueId id);
/* Bytes of a value at @sizes, unrounded. */
gint64            gradus_plan_bytes     (GradusPlan *plan, GradusValueId id, GradusSizes sizes);
/* First and last node during which the memory of @id (a temporary's) is in use; a program output
 * is in use until the last node. FALSE for a value that is no temporary or that nobody makes. */
gboolean          gradus_plan_live      (GradusPlan *plan, GradusValueId id, GradusNodeId *first, GradusNodeId *last);
/* Bytes of temporaries that the nodes of @layer (interned or not) produce, forward and backward. */
gint64            gradus_plan_layer_bytes (GradusPlan *plan, const char *layer);
char             *gradus_plan_to_string (GradusPlan *plan);

G_END_DECLS
