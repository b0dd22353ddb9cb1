/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For the families of the op table only: what their rows have in common. */

#include <glib/gi18n-lib.h>
#include <math.h>

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/* The families, each ended by a row without a name. */
extern const GradusOp gradus_ops_matmul[];
extern const GradusOp gradus_ops_conv[];
extern const GradusOp gradus_ops_pool[];
extern const GradusOp gradus_ops_resample[];
extern const GradusOp gradus_ops_place[];
extern const GradusOp gradus_ops_reduce[];
extern const GradusOp gradus_ops_shape[];
extern const GradusOp gradus_ops_join[];
extern const GradusOp gradus_ops_binary[];
extern const GradusOp gradus_ops_unary[];
extern const GradusOp gradus_ops_axis[];
extern const GradusOp gradus_ops_softmax[];
extern const GradusOp gradus_ops_random[];
extern const GradusOp gradus_ops_recurrent[];
extern const GradusOp gradus_ops_sequence[];
extern const GradusOp gradus_ops_norm[];
extern const GradusOp gradus_ops_norm_sample[];
extern const GradusOp gradus_ops_loss[];
extern const GradusOp gradus_ops_pointwise[];
extern const GradusOp gradus_ops_metric[];
extern const GradusOp gradus_ops_statistic[];
extern const GradusOp gradus_ops_optimizer[];
extern const GradusOp gradus_ops_step[];
extern const GradusOp gradus_ops_penalty[];

/* The signatures of a row's functions. */
#define GRADUS_INFER(name)                                                                         \
  static gboolean name (const GradusNode *node, const GradusValueType *inputs,                     \
                        GradusValueType *outputs, GError **error)
#define GRADUS_GRADIENT(name)                                                                      \
  static gboolean name (GradusProgram *program, const GradusNode *node,                            \
                        const GradusValueId *output_gradients, GradusValueId *input_gradients,     \
                        GError **error)
#define GRADUS_COST(name)                                                                          \
  static void name (const GradusNode *node, const GradusValueType *inputs,                         \
                    const GradusValueType *outputs, GradusCost *cost)
#define GRADUS_REFERENCE(name) static void name (const GradusReferenceCall *call)

/* Refuses: "Layer “dense”: matmul cannot work on float32(None, 784) and float32(10, 7): REASON".
 * @reason: a translated sentence of what is wanted. Returns FALSE. */
gboolean gradus_op_refuse (const GradusNode      *node,
                           const GradusValueType *inputs,
                           GError               **error,
                           const char            *reason,
                           ...) G_GNUC_PRINTF (4, 5);

gboolean gradus_op_has_input (const GradusNode *node, guint i);
/* All inputs present are of the one float type of the first. */
gboolean gradus_op_check_floats (const GradusNode *node, const GradusValueType *inputs, GError **error);
gboolean gradus_op_check_rank   (const GradusNode *node, const GradusValueType *inputs, guint i, guint rank, GError **error);
gboolean gradus_op_check_scalar (const GradusNode *node, const GradusValueType *inputs, guint i, GError **error);
/* Input @i has the shape of input @j. */
gboolean gradus_op_check_same   (const GradusNode *node, const GradusValueType *inputs, guint i, guint j, GError **error);
/* The shape of input @i is @wanted. */
gboolean gradus_op_check_shape  (const GradusNode *node, const GradusValueType *inputs, guint i, const GradusShape *wanted, GError **error);

/* infer: one float input or several of the same shape; the output has the type of input 0. */
gboolean gradus_op_infer_elementwise (const GradusNode *node, const GradusValueType *inputs, GradusValueType *outputs, GError **error);
/* infer for a gradient op (dy, v): both of one shape. */
#define gradus_op_infer_gradient gradus_op_infer_elementwise

/* The attribute “axes” as a bit mask; empty means all. Fails on an axis out of range or named
 * twice. */
gboolean gradus_op_axes (const GradusNode *node, const GradusValueType *inputs, guint rank, guint32 *mask, GError **error);
/* @shape without the axes of @mask, or with 1 in their place. */
GradusShape gradus_op_reduced_shape (const GradusShape *shape, guint32 mask, gboolean keepdims);

/* Elements of a bound shape, and bytes of all inputs present or outputs. */
gint64 gradus_op_count (const GradusValueType *type);
double gradus_op_bytes (const GradusNode *node, const GradusValueType *types, guint n, gboolean inputs);
/* @flops, with every input read and every output written once. */
void   gradus_op_cost (const GradusNode *node, const GradusValueType *inputs, const GradusValueType *outputs, double flops, GradusCost *cost);
/* One flop for each element of the largest of inputs and outputs. */
void   gradus_op_cost_elementwise (const GradusNode *node, const GradusValueType *inputs, const GradusValueType *outputs, GradusCost *cost);
/* The same with ten, about what exp or tanh takes. */
void   gradus_op_cost_transcendental (const GradusNode *node, const GradusValueType *inputs, const GradusValueType *outputs, GradusCost *cost);
/* Bytes only. */
void   gradus_op_cost_move (const GradusNode *node, const GradusValueType *inputs, const GradusValueType *outputs, GradusCost *cost);
/* Nothing: an alias. */
void   gradus_op_cost_none (const GradusNode *node, const GradusValueType *inputs, const GradusValueType *outputs, GradusCost *cost);

/* Row-major strides in elements. */
void   gradus_op_strides (const GradusShape *shape, gint64 *strides);
/* Splits @index of a row-major @shape into coordinates. */
void   gradus_op_unravel (const GradusShape *shape, gint64 index, gint64 *coordinates);

/* Does the builder's caller want the gradient of input @i? */
#define gradus_op_wants(i) (input_gradients[i] != GRADUS_NO_VALUE)
/* Emits @op over the inputs given, without attributes beyond its defaults. */
gboolean gradus_op_emit (GradusProgram *program, const char *op, GradusValueId *output, GError **error, guint n_inputs, ...);
const GradusValueType *gradus_op_type (GradusProgram *program, GradusValueId id);

G_END_DECLS
