/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-program.h"
#include "graph/gradus-op.h"

G_BEGIN_DECLS

typedef struct
{
  const char   *name;
  GradusValueId value;
} GradusProgramOutput;

struct _GradusProgram
{
  gatomicrefcount refs;
  const char     *name;
  GPtrArray      *values;  /* GradusValue * */
  GPtrArray      *nodes;   /* GradusNode * */
  GHashTable     *names;   /* interned name -> id + 1; inputs, variables and hypers */
  GArray         *outputs; /* GradusProgramOutput */
  GradusPhase     phase;
  const char     *layer;
};

/* Adds @value under a new id; takes its constant. */
GradusValueId gradus_program_add_value (GradusProgram *program, const GradusValue *value);

/* The input, variable or hyper called @name, or GRADUS_NO_VALUE. */
GradusValueId gradus_program_find_named (GradusProgram *program, const char *name);

/* The way in for all nodes. @attrs: parallel to the op's specs, copied; NULL for none. Phase and
 * layer are the scope's. Takes nothing, leaves the program as it was on failure. */
gboolean gradus_program_append (GradusProgram       *program,
                                const GradusOp      *op,
                                guint64              stream,
                                const GradusValueId *inputs,
                                guint                n_inputs,
                                const GradusAttr    *attrs,
                                GradusValueId       *outputs,
                                GError             **error);

/* Building one program from another: @map gives for a value of @from the value of @to, or
 * GRADUS_NO_VALUE while it has none. */
typedef struct
{
  GradusProgram *from, *to;
  GradusValueId *map;
} GradusRebuild;

/* Starts with the inputs, variables and hypers. */
void           gradus_rebuild_begin (GradusRebuild *self, GradusProgram *from);
/* The value of @to for @id; constants are carried over when first asked for. */
GradusValueId  gradus_rebuild_value (GradusRebuild *self, GradusValueId id);
/* Appends @node with @attrs (NULL: its own) and @inputs (values of @from, NULL: its own), and maps
 * its outputs. */
gboolean       gradus_rebuild_node  (GradusRebuild       *self,
                                     const GradusNode    *node,
                                     const GradusValueId *inputs,
                                     guint                n_inputs,
                                     const GradusAttr    *attrs,
                                     GError             **error);
/* Carries the outputs over and gives the new program. */
GradusProgram *gradus_rebuild_end   (GradusRebuild *self);
void           gradus_rebuild_clear (GradusRebuild *self);

guint    gradus_op_n_attrs      (const GradusOp *op);
/* The defaults of @op's row; free with g_free. */
GradusAttr *gradus_op_default_attrs (const GradusOp *op);
/* Reads "0", "1.5", "1,1" or "same" as @spec's type. */
gboolean gradus_attr_parse      (const GradusAttrSpec *spec, const char *text, GradusAttr *attr);
gboolean gradus_attr_equal      (const GradusAttr *a, const GradusAttr *b);
void     gradus_attr_print      (const GradusAttr *attr, GString *string);

G_END_DECLS
