/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-dtype.h"
#include "tensor/gradus-shape.h"

G_BEGIN_DECLS

typedef struct _GradusOp GradusOp;           /* graph/gradus-op.h */
typedef struct _GradusProgram GradusProgram;

/* Values and nodes are numbered from 0 in the order in which they were added. */
typedef guint32 GradusValueId;
typedef guint32 GradusNodeId;
#define GRADUS_NO_VALUE ((GradusValueId) -1)
#define GRADUS_NO_NODE ((GradusNodeId) -1)

/**
 * GradusValueKind:
 * @GRADUS_VALUE_INPUT: filled by the caller before a run (inputs, targets)
 * @GRADUS_VALUE_VARIABLE: outlives a run and is found by name in the variable store: weights,
 *   optimizer state, running statistics
 * @GRADUS_VALUE_HYPER: one float32 that the host may change between runs (learning rate, clip,
 *   dropout rate, Adam's step): changing it builds nothing
 * @GRADUS_VALUE_CONSTANT: known when the program is built
 * @GRADUS_VALUE_TEMPORARY: made by a node, placed by the plan
 */
typedef enum
{
  GRADUS_VALUE_INPUT,
  GRADUS_VALUE_VARIABLE,
  GRADUS_VALUE_HYPER,
  GRADUS_VALUE_CONSTANT,
  GRADUS_VALUE_TEMPORARY,
} GradusValueKind;

/* What a variable is for; the checkpoint and the memory summary sort by it. */
typedef enum
{
  GRADUS_VARIABLE_WEIGHT,     /* trainable */
  GRADUS_VARIABLE_STATISTIC,  /* moving mean and variance: a weight that is not trained */
  GRADUS_VARIABLE_OPTIMIZER,  /* moments, velocity */
  GRADUS_VARIABLE_GRADIENT,   /* sums of gradients within one step; in no checkpoint */
} GradusVariableRole;

typedef enum
{
  GRADUS_PHASE_FORWARD,
  GRADUS_PHASE_BACKWARD,
  GRADUS_PHASE_UPDATE,
  GRADUS_PHASE_STATISTICS, /* what layers keep of a batch; its time counts to the update's */
} GradusPhase;

typedef struct
{
  GradusDType dtype;
  GradusShape shape; /* may hold GRADUS_DIM_BATCH */
} GradusValueType;

/* Attribute values; a node's are an array parallel to its op's attribute specs. */
typedef enum
{
  GRADUS_ATTR_INT,
  GRADUS_ATTR_FLOAT,
  GRADUS_ATTR_INTS,   /* up to GRADUS_MAX_RANK * 2 integers */
  GRADUS_ATTR_STRING, /* interned */
} GradusAttrType;

typedef struct
{
  GradusAttrType type;
  union
  {
    gint64      i;
    double      f;
    const char *s;
    struct
    {
      guint  n;
      gint64 v[GRADUS_MAX_RANK * 2];
    } ints;
  };
} GradusAttr;

typedef struct
{
  GradusValueId      id;
  GradusValueKind    kind;
  GradusValueType    type;
  const char        *name;     /* interned; "conv2d/kernel", "learning_rate"; NULL for temporaries */
  GradusVariableRole role;     /* of a variable */
  float              initial;  /* of a hyper */
  GBytes            *constant; /* of a constant */
  GradusNodeId       producer; /* of a temporary */
  guint              output;   /* which output of it */
} GradusValue;

/**
 * GradusNode:
 * @layer: interned name of the layer that it belongs to, or NULL
 * @stream: key of the random numbers it draws (a hash of the layer's name and purpose); a gradient
 *   node that draws the same numbers again has the same stream
 *
 * Owned by the program.
 */
typedef struct
{
  GradusNodeId    id;
  const GradusOp *op;
  GradusPhase     phase;
  const char     *layer;
  guint64         stream;
  guint           n_inputs, n_outputs;
  GradusValueId  *inputs; /* an optional input that is missing: GRADUS_NO_VALUE */
  GradusValueId  *outputs;
  GradusAttr     *attrs;
} GradusNode;

/* A program is built on one thread, then frozen and shared: reference counting is atomic. */
GradusProgram *gradus_program_new   (const char *name);
GradusProgram *gradus_program_ref   (GradusProgram *program);
void           gradus_program_unref (GradusProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusProgram, gradus_program_unref)

/* Where nodes added from now on belong. */
void gradus_program_set_scope (GradusProgram *program, GradusPhase phase, const char *layer);

GradusValueId gradus_program_add_input    (GradusProgram *program,
                                           const char    *name,
                                           GradusDType    dtype,
                                           GradusShape    shape);
/* The variable called @name; asking for it again gives the same value (shared layers), with the
 * same type and role or it is a programming error. */
GradusValueId gradus_program_add_variable (GradusProgram     *program,
                                           const char        *name,
                                           GradusVariableRole role,
                                           GradusDType        dtype,
                                           GradusShape        shape);
/* The scalar called @name; asking again gives the same value. */
GradusValueId gradus_program_add_hyper    (GradusProgram *program, const char *name, float initial);
/* @data: row-major elements of @dtype, copied. */
GradusValueId gradus_program_add_constant (GradusProgram *program,
                                           GradusDType    dtype,
                                           GradusShape    shape,
                                           const void    *data);

/**
 * gradus_program_add_node:
 * @op: name of a row of the op table
 * @stream: random stream, 0 if the op draws none
 * @inputs: n_inputs values
 * @outputs: (out): the op's n_outputs new values
 * @...: attribute names and values, ended by NULL; an integer as gint64, a float as double, a
 *   string as const char *, a list as (guint n, const gint64 *v). Attributes not named get the
 *   row's default.
 *
 * Infers the types of the outputs. Fails with GRADUS_ERROR_REFUSED, naming the layer, the op and
 * the shapes met and wanted.
 */
gboolean gradus_program_add_node (GradusProgram       *program,
                                  const char          *op,
                                  guint64              stream,
                                  const GradusValueId *inputs,
                                  guint                n_inputs,
                                  GradusValueId       *outputs,
                                  GError             **error,
                                  ...) G_GNUC_NULL_TERMINATED;

/* The same with the attributes as text, "strides=2,2 activation=relu"; NULL for the defaults. */
gboolean gradus_program_add_node_text (GradusProgram       *program,
                                       const char          *op,
                                       guint64              stream,
                                       const GradusValueId *inputs,
                                       guint                n_inputs,
                                       const char          *attrs,
                                       GradusValueId       *outputs,
                                       GError             **error);

/* Marks a value that the caller reads after a run; it and what it needs survive the passes. */
void gradus_program_add_output (GradusProgram *program, const char *name, GradusValueId value);

/* Reading. Pointers are valid until the next add or pass. */
guint                gradus_program_n_values (GradusProgram *program);
guint                gradus_program_n_nodes  (GradusProgram *program);
const GradusValue   *gradus_program_value    (GradusProgram *program, GradusValueId id);
const GradusNode    *gradus_program_node     (GradusProgram *program, GradusNodeId id);
/* The input, variable, hyper or output called @name; GRADUS_NO_VALUE if there is none. */
GradusValueId        gradus_program_find     (GradusProgram *program, const char *name);
guint                gradus_program_n_outputs (GradusProgram *program);
GradusValueId        gradus_program_output    (GradusProgram *program, guint i, const char **name);

/* An attribute by name; the type must be the spec's. */
gint64               gradus_node_int    (const GradusNode *node, const char *name);
double               gradus_node_float  (const GradusNode *node, const char *name);
const char          *gradus_node_string (const GradusNode *node, const char *name);
const gint64        *gradus_node_ints   (const GradusNode *node, const char *name, guint *n);

/* The program as text, one node a line, for tests and the curious; free with g_free. */
char *gradus_program_to_string (GradusProgram *program);

/* For passes only: a new program with the nodes that @keep says, values renumbered, names and
 * outputs carried over. Inputs, variables and hypers stay, used or not; constants that nobody reads
 * go. */
GradusProgram *gradus_program_filter (GradusProgram *program, const gboolean *keep);

G_END_DECLS
