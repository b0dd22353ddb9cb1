/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* As much of ONNX's files (protocol buffers; onnx.proto of release 1.12) as its node tests need. */

/* TensorProto.DataType */
typedef enum
{
  ONNX_FLOAT = 1,
  ONNX_UINT8 = 2,
  ONNX_INT8 = 3,
  ONNX_UINT16 = 4,
  ONNX_INT16 = 5,
  ONNX_INT32 = 6,
  ONNX_INT64 = 7,
  ONNX_STRING = 8,
  ONNX_BOOL = 9,
  ONNX_FLOAT16 = 10,
  ONNX_DOUBLE = 11,
  ONNX_UINT32 = 12,
  ONNX_UINT64 = 13,
  ONNX_BFLOAT16 = 16,
} OnnxType;

#define ONNX_MAX_RANK 8

/* @data: the elements as float64; NULL for types that are not read (strings, 16-bit floats) */
typedef struct
{
  char    *name;
  OnnxType type;
  guint    rank;
  gint64   dims[ONNX_MAX_RANK];
  gint64   count;
  double  *data;
} OnnxTensor;

typedef struct
{
  char       *name;
  double      f;
  gint64      i;
  char       *s;
  OnnxTensor *t;
  GArray     *floats; /* double */
  GArray     *ints;   /* gint64 */
} OnnxAttribute;

typedef struct
{
  char      *op_type, *domain;
  GPtrArray *inputs, *outputs; /* char *, "" where one is left out */
  GPtrArray *attributes;
} OnnxNode;

typedef struct
{
  gint64     opset; /* of the default domain */
  GPtrArray *nodes, *initializers;
  GPtrArray *inputs, *outputs; /* char * */
} OnnxModel;

/* NULL where @bytes are not such a message; nothing is allocated from a size before it is checked. */
OnnxModel  *onnx_model_read   (const guint8 *bytes, gsize size);
void        onnx_model_free   (OnnxModel *self);
OnnxTensor *onnx_tensor_read  (const guint8 *bytes, gsize size);
OnnxTensor *onnx_tensor_new   (OnnxType type, guint rank, const gint64 *dims);
OnnxTensor *onnx_tensor_copy  (const OnnxTensor *self);
void        onnx_tensor_free  (OnnxTensor *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OnnxModel, onnx_model_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OnnxTensor, onnx_tensor_free)

/* NULL if @node has none of this name. */
const OnnxAttribute *onnx_node_attribute (const OnnxNode *node, const char *name);

G_END_DECLS
