/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-program.h"

G_BEGIN_DECLS

typedef struct
{
  const char    *name;
  GradusAttrType type;
  const char    *fallback; /* the default as text: "0", "1.0", "1,1", "linear" */
} GradusAttrSpec;

/* Which values of the forward node its gradient reads; everything else may die early. */
#define GRADUS_NEEDS_INPUT(i) (1u << (i))
#define GRADUS_NEEDS_OUTPUT(i) (1u << (16 + (i)))

#define GRADUS_WANTED_GRADIENT ((GradusValueId) -2)

typedef enum
{
  GRADUS_PRECISION_LOWER, /* conv, matmul: may run in 16 bits */
  GRADUS_PRECISION_FLOAT32, /* softmax, losses, statistics */
  GRADUS_PRECISION_WIDEST, /* follows its inputs */
} GradusPrecisionClass;

typedef struct
{
  double flops;
  double bytes_read, bytes_written;
} GradusCost;

/* A call of a reference kernel: everything in float64 (integers too), row-major, shapes bound.
 * An optional input that is missing is NULL. */
typedef struct
{
  const GradusNode      *node;
  const GradusValueType *input_types;
  const GradusValueType *output_types;
  const double *const   *inputs;
  double *const         *outputs; /* n_outputs, then the updated variables in the order of their
                                     inputs, in the same memory as these: see GradusOp.updates;
                                     NULL where an optional one is missing */
  guint64                seed;
  guint64                step;
} GradusReferenceCall;

/* One case of the table-driven tests: finite differences, device kernels against the reference. */
typedef struct
{
  const char *inputs; /* "f32[B,5,5,3] f32[3,3,3,4] f32[4]", B is the batch axis; types f32, i32
                         and u8; "i32<10[B]": integers below 10; "f32+[3]": positive, 0.2 to 2.2;
                         "f32+1[3]": that plus 1;
                         "f32*5[3]": five times wider;
                         "f32%[]": between 0.05 and 0.95; "f32=3[]": that number; "f32[]": -2 to 2,
                         all different and none 0; "-": optional input missing */
  const char *attrs;  /* "strides=2,2 padding=same", or NULL */
  double      tolerance; /* relative, of float32 device kernels; 0 for 1e-5 */
} GradusOpCase;

/**
 * GradusOp:
 * @infer: checks the inputs and gives the outputs' types; the message names shapes met and wanted
 * @gradient: given the gradients of the outputs (GRADUS_NO_VALUE where none flows), emits nodes and
 *   gives the gradients of the inputs. An entry of input_gradients is GRADUS_NO_VALUE on entry where
 *   nobody wants it and GRADUS_WANTED_GRADIENT where somebody does; on return the latter are values,
 *   or GRADUS_NO_VALUE where none is defined. NULL: the op is not differentiable.
 * @n_differentiable: of how many outputs, the first ones, a gradient is taken; 0 for one
 * @gradient_needs: GRADUS_NEEDS_*
 * @no_gradient: bit i: input i is given, not learned (a target, a rate): no gradient flows to it
 * @shape_only: bit i: of input i only the shape is read, so its memory may be gone
 * @inplace: output 0 may be written over this input if nothing else reads it later and if both have
 *   the same size; -1: never
 * @alias: output 0 is input 0 under another shape: no work, no memory
 * @updates: bit i: input i is a variable that the op changes in place
 * @random: draws from (seed, node stream, step, element)
 * @cost: for bound types
 * @nan_hint: what usually makes this op's output non-finite
 * @reference: the definition, in plain C and float64
 *
 * An op is described once, by its row. Everything else is derived from it.
 */
struct _GradusOp
{
  const char           *name;
  guint                 version;
  guint                 min_inputs, max_inputs, n_outputs; /* max_inputs G_MAXUINT: any number */
  const GradusAttrSpec *attrs;                             /* ended by a NULL name; may be NULL */
  gboolean (*infer) (const GradusNode      *node,
                     const GradusValueType *inputs,
                     GradusValueType       *outputs,
                     GError               **error);
  gboolean (*gradient) (GradusProgram       *program,
                        const GradusNode    *node,
                        const GradusValueId *output_gradients,
                        GradusValueId       *input_gradients,
                        GError             **error);
  guint                n_differentiable;
  guint32              gradient_needs;
  guint32              no_gradient;
  guint32              shape_only;
  gint8                inplace;
  gboolean             alias;
  guint32              updates;
  gboolean             random;
  GradusPrecisionClass precision;
  void (*cost) (const GradusNode      *node,
                const GradusValueType *inputs,
                const GradusValueType *outputs,
                GradusCost            *cost);
  const char *nan_hint;
  void (*reference) (const GradusReferenceCall *call);
  const GradusOpCase *cases; /* ended by NULL inputs */
};

const GradusOp *gradus_op_find (const char *name);
/* The whole table, in the order of families. */
const GradusOp *const *gradus_op_table (guint *n);

G_END_DECLS
