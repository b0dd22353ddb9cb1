/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-onnx.h"

#include <string.h>

#define MAX_ELEMENTS (1 << 24)

/* A message that is being read. */
typedef struct
{
  const guint8 *at, *end;
  gboolean      bad;
} Reader;

/* A field: a number, or bytes. */
typedef struct
{
  guint         number, wire;
  guint64       value;
  const guint8 *bytes;
  gsize         size;
} Field;

enum
{
  WIRE_VARINT = 0,
  WIRE_64 = 1,
  WIRE_BYTES = 2,
  WIRE_32 = 5,
};

static guint64
read_varint (Reader *self)
{
  guint64 value = 0;

  for (guint shift = 0; shift < 64 && self->at < self->end; shift += 7)
    {
      guint8 byte = *self->at++;

      value |= (guint64) (byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
  self->bad = TRUE;
  return 0;
}

static guint64
read_fixed (Reader *self, guint bytes)
{
  guint64 value = 0;

  if ((gsize) (self->end - self->at) < bytes)
    {
      self->bad = TRUE;
      return 0;
    }
  for (guint i = 0; i < bytes; i++)
    value |= (guint64) *self->at++ << (8 * i);
  return value;
}

static gboolean
next_field (Reader *self, Field *field)
{
  guint64 key;

  if (self->bad || self->at == self->end)
    return FALSE;
  memset (field, 0, sizeof *field);
  key = read_varint (self);
  field->number = (guint) MIN (key >> 3, G_MAXUINT);
  field->wire = key & 7;
  switch (field->wire)
    {
    case WIRE_VARINT:
      field->value = read_varint (self);
      break;
    case WIRE_64:
      field->value = read_fixed (self, 8);
      break;
    case WIRE_32:
      field->value = read_fixed (self, 4);
      break;
    case WIRE_BYTES:
      field->value = read_varint (self);
      if (self->bad || field->value > (guint64) (self->end - self->at))
        {
          self->bad = TRUE;
          break;
        }
      field->bytes = self->at;
      field->size = field->value;
      self->at += field->size;
      break;
    default:
      self->bad = TRUE;
    }
  return !self->bad;
}

static Reader
reader (const guint8 *bytes, gsize size)
{
  return (Reader) { bytes, bytes + size, FALSE };
}

static char *
dup_string (const Field *field)
{
  return g_strndup ((const char *) field->bytes, field->size);
}

static double
float_of_bits (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static double
double_of_bits (guint64 bits)
{
  double value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Numbers of a repeated field, packed or one by one. */
static void
append_numbers (GArray *numbers, const Field *field, guint wire, double (*convert) (guint64 bits))
{
  Reader packed = reader (field->bytes, field->size);
  double value;

  if (field->wire == wire)
    {
      value = convert (field->value);
      g_array_append_val (numbers, value);
      return;
    }
  while (packed.at < packed.end && !packed.bad && numbers->len < MAX_ELEMENTS)
    {
      guint64 bits = wire == WIRE_VARINT ? read_varint (&packed)
                                         : read_fixed (&packed, wire == WIRE_64 ? 8 : 4);

      value = convert (bits);
      g_array_append_val (numbers, value);
    }
}

static double
from_float (guint64 bits)
{
  return float_of_bits ((guint32) bits);
}

static double
from_int (guint64 bits)
{
  return (double) (gint64) bits;
}

static guint
type_size (OnnxType type)
{
  switch (type)
    {
    case ONNX_UINT8:
    case ONNX_INT8:
    case ONNX_BOOL:
      return 1;
    case ONNX_UINT16:
    case ONNX_INT16:
      return 2;
    case ONNX_FLOAT:
    case ONNX_INT32:
    case ONNX_UINT32:
      return 4;
    case ONNX_INT64:
    case ONNX_DOUBLE:
    case ONNX_UINT64:
      return 8;
    default:
      return 0;
    }
}

static double
element (OnnxType type, guint64 bits)
{
  switch (type)
    {
    case ONNX_FLOAT:
      return float_of_bits ((guint32) bits);
    case ONNX_DOUBLE:
      return double_of_bits (bits);
    case ONNX_INT8:
      return (gint8) bits;
    case ONNX_INT16:
      return (gint16) bits;
    case ONNX_INT32:
      return (gint32) bits;
    case ONNX_INT64:
      return (double) (gint64) bits;
    default:
      return (double) bits;
    }
}

static gboolean
count_elements (OnnxTensor *self)
{
  self->count = 1;
  for (guint i = 0; i < self->rank; i++)
    {
      if (self->dims[i] < 0 || self->dims[i] > MAX_ELEMENTS)
        return FALSE;
      self->count *= self->dims[i];
      if (self->count > MAX_ELEMENTS)
        return FALSE;
    }
  return TRUE;
}

/* The elements from @raw, or from @numbers where there is none. */
static gboolean
fill_data (OnnxTensor *self, const Field *raw, GArray *numbers)
{
  guint  size = type_size (self->type);
  Reader bytes = reader (raw->bytes, raw->size);

  if (size == 0)
    return TRUE;
  if (!count_elements (self))
    return FALSE;
  if (raw->bytes != NULL ? raw->size != (gsize) self->count * size : numbers->len != (guint) self->count)
    return FALSE;
  self->data = g_new (double, self->count + 1);
  for (gint64 i = 0; i < self->count; i++)
    self->data[i] = raw->bytes != NULL ? element (self->type, read_fixed (&bytes, size))
                                       : g_array_index (numbers, double, i);
  return TRUE;
}

OnnxTensor *
onnx_tensor_read (const guint8 *bytes, gsize size)
{
  g_autoptr (OnnxTensor) self = g_new0 (OnnxTensor, 1);
  g_autoptr (GArray)     numbers = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray)     dims = g_array_new (FALSE, FALSE, sizeof (double));
  Reader                 message = reader (bytes, size);
  Field                  field, raw = { 0 };

  while (next_field (&message, &field))
    switch (field.number)
      {
      case 1:
        append_numbers (dims, &field, WIRE_VARINT, from_int);
        break;
      case 2:
        self->type = (OnnxType) field.value;
        break;
      case 4:
        append_numbers (numbers, &field, WIRE_32, from_float);
        break;
      case 5:
      case 7:
      case 11:
        append_numbers (numbers, &field, WIRE_VARINT, from_int);
        break;
      case 8:
        g_free (self->name);
        self->name = dup_string (&field);
        break;
      case 9:
        raw = field;
        break;
      case 10:
        append_numbers (numbers, &field, WIRE_64, double_of_bits);
        break;
      default:
        break;
      }
  if (message.bad || dims->len > ONNX_MAX_RANK)
    return NULL;
  self->rank = dims->len;
  for (guint i = 0; i < self->rank; i++)
    self->dims[i] = (gint64) g_array_index (dims, double, i);
  return fill_data (self, &raw, numbers) ? g_steal_pointer (&self) : NULL;
}

OnnxTensor *
onnx_tensor_new (OnnxType type, guint rank, const gint64 *dims)
{
  OnnxTensor *self = g_new0 (OnnxTensor, 1);

  self->type = type;
  self->rank = rank;
  for (guint i = 0; i < rank; i++)
    self->dims[i] = dims[i];
  g_assert_true (count_elements (self));
  self->data = g_new0 (double, self->count + 1);
  return self;
}

OnnxTensor *
onnx_tensor_copy (const OnnxTensor *self)
{
  OnnxTensor *copy = onnx_tensor_new (self->type, self->rank, self->dims);

  if (self->data == NULL)
    g_clear_pointer (&copy->data, g_free);
  else
    memcpy (copy->data, self->data, (gsize) self->count * sizeof *self->data);
  copy->name = g_strdup (self->name);
  return copy;
}

void
onnx_tensor_free (OnnxTensor *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->data);
  g_free (self);
}

static void
attribute_free (gpointer data)
{
  OnnxAttribute *self = data;

  g_free (self->name);
  g_free (self->s);
  onnx_tensor_free (self->t);
  g_array_unref (self->floats);
  g_array_unref (self->ints);
  g_free (self);
}

static OnnxAttribute *
attribute_read (const guint8 *bytes, gsize size)
{
  OnnxAttribute     *self = g_new0 (OnnxAttribute, 1);
  g_autoptr (GArray) ints = g_array_new (FALSE, FALSE, sizeof (double));
  Reader             message = reader (bytes, size);
  Field              field;

  self->floats = g_array_new (FALSE, FALSE, sizeof (double));
  self->ints = g_array_new (FALSE, FALSE, sizeof (gint64));
  while (next_field (&message, &field))
    switch (field.number)
      {
      case 1:
        g_free (self->name);
        self->name = dup_string (&field);
        break;
      case 2:
        self->f = float_of_bits ((guint32) field.value);
        break;
      case 3:
        self->i = (gint64) field.value;
        break;
      case 4:
        g_free (self->s);
        self->s = dup_string (&field);
        break;
      case 5:
        onnx_tensor_free (self->t);
        self->t = onnx_tensor_read (field.bytes, field.size);
        break;
      case 7:
        append_numbers (self->floats, &field, WIRE_32, from_float);
        break;
      case 8:
        append_numbers (ints, &field, WIRE_VARINT, from_int);
        break;
      default:
        break;
      }
  for (guint i = 0; i < ints->len; i++)
    {
      gint64 value = (gint64) g_array_index (ints, double, i);

      g_array_append_val (self->ints, value);
    }
  return self;
}

static void
node_free (gpointer data)
{
  OnnxNode *self = data;

  g_free (self->op_type);
  g_free (self->domain);
  g_ptr_array_unref (self->inputs);
  g_ptr_array_unref (self->outputs);
  g_ptr_array_unref (self->attributes);
  g_free (self);
}

static OnnxNode *
node_read (const guint8 *bytes, gsize size)
{
  OnnxNode *self = g_new0 (OnnxNode, 1);
  Reader    message = reader (bytes, size);
  Field     field;

  self->inputs = g_ptr_array_new_with_free_func (g_free);
  self->outputs = g_ptr_array_new_with_free_func (g_free);
  self->attributes = g_ptr_array_new_with_free_func (attribute_free);
  while (next_field (&message, &field))
    switch (field.number)
      {
      case 1:
        g_ptr_array_add (self->inputs, dup_string (&field));
        break;
      case 2:
        g_ptr_array_add (self->outputs, dup_string (&field));
        break;
      case 4:
        g_free (self->op_type);
        self->op_type = dup_string (&field);
        break;
      case 5:
        g_ptr_array_add (self->attributes, attribute_read (field.bytes, field.size));
        break;
      case 7:
        g_free (self->domain);
        self->domain = dup_string (&field);
        break;
      default:
        break;
      }
  if (self->op_type == NULL)
    self->op_type = g_strdup ("");
  return self;
}

const OnnxAttribute *
onnx_node_attribute (const OnnxNode *node, const char *name)
{
  for (guint i = 0; i < node->attributes->len; i++)
    {
      const OnnxAttribute *attribute = node->attributes->pdata[i];

      if (g_strcmp0 (attribute->name, name) == 0)
        return attribute;
    }
  return NULL;
}

/* The name of a ValueInfoProto. */
static char *
value_name (const Field *info)
{
  Reader message = reader (info->bytes, info->size);
  Field  field;

  while (next_field (&message, &field))
    if (field.number == 1)
      return dup_string (&field);
  return g_strdup ("");
}

static void
graph_read (OnnxModel *self, const Field *graph)
{
  Reader message = reader (graph->bytes, graph->size);
  Field  field;

  while (next_field (&message, &field))
    switch (field.number)
      {
      case 1:
        g_ptr_array_add (self->nodes, node_read (field.bytes, field.size));
        break;
      case 5:
        {
          OnnxTensor *tensor = onnx_tensor_read (field.bytes, field.size);

          if (tensor != NULL)
            g_ptr_array_add (self->initializers, tensor);
        }
        break;
      case 11:
        g_ptr_array_add (self->inputs, value_name (&field));
        break;
      case 12:
        g_ptr_array_add (self->outputs, value_name (&field));
        break;
      default:
        break;
      }
}

static void
opset_read (OnnxModel *self, const Field *opset)
{
  Reader   message = reader (opset->bytes, opset->size);
  Field    field;
  gboolean is_default = TRUE;
  gint64   version = 0;

  while (next_field (&message, &field))
    if (field.number == 1)
      is_default = field.size == 0;
    else if (field.number == 2)
      version = (gint64) field.value;
  if (is_default)
    self->opset = version;
}

OnnxModel *
onnx_model_read (const guint8 *bytes, gsize size)
{
  OnnxModel *self = g_new0 (OnnxModel, 1);
  Reader     message = reader (bytes, size);
  Field      field;

  self->nodes = g_ptr_array_new_with_free_func (node_free);
  self->initializers = g_ptr_array_new_with_free_func ((GDestroyNotify) onnx_tensor_free);
  self->inputs = g_ptr_array_new_with_free_func (g_free);
  self->outputs = g_ptr_array_new_with_free_func (g_free);
  while (next_field (&message, &field))
    if (field.number == 7 && field.wire == WIRE_BYTES)
      graph_read (self, &field);
    else if (field.number == 8 && field.wire == WIRE_BYTES)
      opset_read (self, &field);
  if (message.bad)
    {
      onnx_model_free (self);
      return NULL;
    }
  return self;
}

void
onnx_model_free (OnnxModel *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->nodes);
  g_ptr_array_unref (self->initializers);
  g_ptr_array_unref (self->inputs);
  g_ptr_array_unref (self->outputs);
  g_free (self);
}
