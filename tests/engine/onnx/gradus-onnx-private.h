/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-execution.h"
#include "gradus-onnx-map.h"

G_BEGIN_DECLS

/* A tensor of the model at hand: its numbers where they are known before the program runs (@known,
 * given, constant or computed of shapes), and its value in the program once asked for. */
typedef struct
{
  OnnxTensor   *known;
  gboolean      given; /* an input of the model: an input of the program as well */
  gboolean      is_integer;
  GradusValueId value, integers; /* as float32, as int32 */
} OnnxValue;

/* A node on its way into the program. After a failure (@reason or @error set) everything that follows
 * gives GRADUS_NO_VALUE, so that a mapping is written straight down. */
typedef struct
{
  const OnnxModel *model;
  const OnnxNode  *node;
  GradusProgram   *program;
  GHashTable      *values; /* name -> OnnxValue */
  GArray          *fed;    /* OnnxFeed */
  const char      *reason;
  GError          *error;
} OnnxMapper;

typedef struct
{
  GradusValueId     id;
  const OnnxTensor *tensor;
} OnnxFeed;

typedef void (*OnnxMapFunc) (OnnxMapper *self, const char *argument);

typedef struct
{
  const char *op_type;
  OnnxMapFunc map;
  const char *argument;
} OnnxMapRow;

/* Ended by a NULL op_type. */
extern const OnnxMapRow onnx_rows_elementwise[], onnx_rows_shape[], onnx_rows_layer[];

gboolean onnx_failed (OnnxMapper *self);
void     onnx_refuse (OnnxMapper *self, const char *reason);

gboolean          onnx_has_input (OnnxMapper *self, guint i);
/* As float32; a reason where it is of a type that the table does not compute with. */
GradusValueId     onnx_input     (OnnxMapper *self, guint i);
/* Indices and labels, as int32. */
GradusValueId     onnx_integers  (OnnxMapper *self, guint i);
/* Numbers that must be known; NULL and a reason otherwise. */
const OnnxTensor *onnx_known     (OnnxMapper *self, guint i);
GradusShape       onnx_shape     (OnnxMapper *self, GradusValueId id);
void              onnx_output    (OnnxMapper *self, guint i, GradusValueId id);
/* Takes @tensor. */
void              onnx_output_known (OnnxMapper *self, guint i, OnnxTensor *tensor);

gint64      onnx_int    (OnnxMapper *self, const char *name, gint64 fallback);
double      onnx_float  (OnnxMapper *self, const char *name, double fallback);
const char *onnx_string (OnnxMapper *self, const char *name, const char *fallback);
/* Integers of an attribute, or else of input @i (G_MAXUINT: of none); FALSE if there are none. */
gboolean    onnx_ints   (OnnxMapper *self, const char *name, guint i, guint *n, gint64 ints[ONNX_MAX_RANK]);
/* A negative axis made positive; a reason where it is out of range. */
guint       onnx_axis   (OnnxMapper *self, gint64 axis, guint rank);

/* Output @output of @op with attributes as text (printf). */
GradusValueId onnx_emit_output (OnnxMapper *self, guint output, const char *op, guint n, const GradusValueId *inputs, const char *attrs, ...) G_GNUC_PRINTF (6, 7);
GradusValueId onnx_emit1 (OnnxMapper *self, const char *op, GradusValueId a);
GradusValueId onnx_emit2 (OnnxMapper *self, const char *op, GradusValueId a, GradusValueId b);
/* The same with a's and b's ranks made equal, as NumPy does it. */
GradusValueId onnx_emit_broadcast (OnnxMapper *self, const char *op, GradusValueId a, GradusValueId b);
GradusValueId onnx_affine    (OnnxMapper *self, GradusValueId a, double scale, double offset);
GradusValueId onnx_number    (OnnxMapper *self, double number);
GradusValueId onnx_reshape   (OnnxMapper *self, GradusValueId a, GradusShape shape);
GradusValueId onnx_transpose (OnnxMapper *self, GradusValueId a, const guint *perm);
/* Axis @from moved to place @to. */
GradusValueId onnx_move_axis (OnnxMapper *self, GradusValueId a, guint from, guint to);
/* "1,2,3" */
char         *onnx_join      (guint n, const gint64 *ints);

G_END_DECLS
