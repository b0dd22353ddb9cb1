/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-onnx-private.h"

#include <stdarg.h>
#include <string.h>

gboolean
onnx_failed (OnnxMapper *self)
{
  return self->reason != NULL || self->error != NULL;
}

void
onnx_refuse (OnnxMapper *self, const char *reason)
{
  if (!onnx_failed (self))
    self->reason = reason;
}

static OnnxValue *
find_value (OnnxMapper *self, guint i)
{
  OnnxValue *value = NULL;

  if (onnx_has_input (self, i))
    value = g_hash_table_lookup (self->values, self->node->inputs->pdata[i]);
  if (value == NULL)
    onnx_refuse (self, "an input is left out that the op here needs");
  return value;
}

gboolean
onnx_has_input (OnnxMapper *self, guint i)
{
  return i < self->node->inputs->len && *(const char *) self->node->inputs->pdata[i] != '\0';
}

static GradusShape
shape_of (const OnnxTensor *tensor)
{
  GradusShape shape = { .rank = tensor->rank };

  memcpy (shape.dims, tensor->dims, tensor->rank * sizeof *tensor->dims);
  return shape;
}

/* A constant, or an input of the program where the model was given it. */
static GradusValueId
place_known (OnnxMapper *self, OnnxValue *value, GradusDType dtype)
{
  const OnnxTensor *tensor = value->known;
  g_autofree float *floats = NULL;
  g_autofree gint32 *ints = NULL;
  OnnxFeed          feed = { GRADUS_NO_VALUE, tensor };

  if (value->given)
    {
      g_autofree char *name = g_strdup_printf ("%s/%s", tensor->name, gradus_dtype_name (dtype));

      feed.id = gradus_program_add_input (self->program, name, dtype, shape_of (tensor));
      g_array_append_val (self->fed, feed);
      return feed.id;
    }
  floats = g_new (float, tensor->count + 1);
  ints = g_new (gint32, tensor->count + 1);
  for (gint64 k = 0; k < tensor->count; k++)
    {
      floats[k] = (float) tensor->data[k];
      ints[k] = (gint32) tensor->data[k];
    }
  return gradus_program_add_constant (self->program, dtype, shape_of (tensor),
                                      dtype == GRADUS_DTYPE_INT32 ? (void *) ints : (void *) floats);
}

GradusValueId
onnx_input (OnnxMapper *self, guint i)
{
  OnnxValue *value = onnx_failed (self) ? NULL : find_value (self, i);

  if (value == NULL)
    return GRADUS_NO_VALUE;
  if (value->value == GRADUS_NO_VALUE && value->known != NULL)
    {
      if (value->known->data == NULL)
        onnx_refuse (self, "a type that is not among the engine's");
      else if (value->given && value->known->type != ONNX_FLOAT && value->known->type != ONNX_BOOL)
        onnx_refuse (self, "arithmetic on other types than float32");
      else
        value->value = place_known (self, value, GRADUS_DTYPE_FLOAT32);
    }
  if (value->value == GRADUS_NO_VALUE && value->integers != GRADUS_NO_VALUE && !onnx_failed (self))
    value->value = onnx_emit_output (self, 0, "cast", 1, &value->integers, "dtype=float32");
  return value->value;
}

GradusValueId
onnx_integers (OnnxMapper *self, guint i)
{
  OnnxValue *value = onnx_failed (self) ? NULL : find_value (self, i);

  if (value == NULL)
    return GRADUS_NO_VALUE;
  if (value->integers == GRADUS_NO_VALUE && value->known != NULL && value->known->data != NULL)
    value->integers = place_known (self, value, GRADUS_DTYPE_INT32);
  if (value->integers == GRADUS_NO_VALUE && value->value != GRADUS_NO_VALUE)
    value->integers = onnx_emit_output (self, 0, "cast", 1, &value->value, "dtype=int32");
  return value->integers;
}

const OnnxTensor *
onnx_known (OnnxMapper *self, guint i)
{
  OnnxValue *value = onnx_failed (self) ? NULL : find_value (self, i);

  if (value == NULL)
    return NULL;
  if (value->known == NULL || value->known->data == NULL)
    {
      onnx_refuse (self, "a shape or an index that is only known when the program runs");
      return NULL;
    }
  return value->known;
}

GradusShape
onnx_shape (OnnxMapper *self, GradusValueId id)
{
  if (id == GRADUS_NO_VALUE)
    return gradus_shape (0);
  return gradus_program_value (self->program, id)->type.shape;
}

static OnnxValue *
new_value (OnnxMapper *self, guint i)
{
  OnnxValue *value;

  if (i >= self->node->outputs->len)
    return NULL;
  value = g_new0 (OnnxValue, 1);
  value->value = value->integers = GRADUS_NO_VALUE;
  g_hash_table_insert (self->values, self->node->outputs->pdata[i], value);
  return value;
}

void
onnx_output (OnnxMapper *self, guint i, GradusValueId id)
{
  OnnxValue *value = onnx_failed (self) || id == GRADUS_NO_VALUE ? NULL : new_value (self, i);

  if (value == NULL)
    return;
  value->is_integer = gradus_program_value (self->program, id)->type.dtype != GRADUS_DTYPE_FLOAT32;
  *(value->is_integer ? &value->integers : &value->value) = id;
}

void
onnx_output_known (OnnxMapper *self, guint i, OnnxTensor *tensor)
{
  OnnxValue *value = onnx_failed (self) ? NULL : new_value (self, i);

  if (value == NULL)
    onnx_tensor_free (tensor);
  else
    value->known = tensor;
}

gint64
onnx_int (OnnxMapper *self, const char *name, gint64 fallback)
{
  const OnnxAttribute *attribute = onnx_node_attribute (self->node, name);

  return attribute != NULL ? attribute->i : fallback;
}

double
onnx_float (OnnxMapper *self, const char *name, double fallback)
{
  const OnnxAttribute *attribute = onnx_node_attribute (self->node, name);

  return attribute != NULL ? attribute->f : fallback;
}

const char *
onnx_string (OnnxMapper *self, const char *name, const char *fallback)
{
  const OnnxAttribute *attribute = onnx_node_attribute (self->node, name);

  return attribute != NULL && attribute->s != NULL ? attribute->s : fallback;
}

gboolean
onnx_ints (OnnxMapper *self, const char *name, guint i, guint *n, gint64 ints[ONNX_MAX_RANK])
{
  const OnnxAttribute *attribute = onnx_node_attribute (self->node, name);
  const OnnxTensor    *tensor;

  *n = 0;
  if (attribute != NULL)
    {
      *n = MIN (attribute->ints->len, ONNX_MAX_RANK);
      if (*n > 0)
        memcpy (ints, attribute->ints->data, *n * sizeof *ints);
      return TRUE;
    }
  if (i == G_MAXUINT || !onnx_has_input (self, i))
    return FALSE;
  tensor = onnx_known (self, i);
  if (tensor == NULL)
    return FALSE;
  *n = (guint) MIN (tensor->count, ONNX_MAX_RANK);
  for (guint k = 0; k < *n; k++)
    ints[k] = (gint64) CLAMP (tensor->data[k], -9e15, 9e15);
  return TRUE;
}

guint
onnx_axis (OnnxMapper *self, gint64 axis, guint rank)
{
  if (axis < 0)
    axis += rank;
  if (axis >= 0 && axis < rank)
    return (guint) axis;
  onnx_refuse (self, "an axis out of range");
  return 0;
}

char *
onnx_join (guint n, const gint64 *ints)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", ints[i]);
  return g_string_free (text, FALSE);
}

GradusValueId
onnx_emit_output (OnnxMapper *self, guint output, const char *op, guint n, const GradusValueId *inputs, const char *attrs, ...)
{
  const GradusOp  *row = gradus_op_find (op);
  GradusValueId    outputs[16];
  g_autofree char *text = NULL;
  va_list          args;

  if (onnx_failed (self))
    return GRADUS_NO_VALUE;
  g_assert_nonnull (row);
  if (attrs != NULL)
    {
      va_start (args, attrs);
      text = g_strdup_vprintf (attrs, args);
      va_end (args);
    }
  if (!gradus_program_add_node_text (self->program, op, 1, inputs, n, text, outputs, &self->error))
    return GRADUS_NO_VALUE;
  return outputs[output];
}

GradusValueId
onnx_emit1 (OnnxMapper *self, const char *op, GradusValueId a)
{
  return onnx_emit_output (self, 0, op, 1, &a, NULL);
}

GradusValueId
onnx_emit2 (OnnxMapper *self, const char *op, GradusValueId a, GradusValueId b)
{
  const GradusValueId in[] = { a, b };

  return onnx_emit_output (self, 0, op, 2, in, NULL);
}

static GradusValueId
raise_rank (OnnxMapper *self, GradusValueId a, guint rank)
{
  GradusShape from = onnx_shape (self, a), to = { .rank = rank };

  if (from.rank == 0 || from.rank >= rank)
    return a;
  for (guint i = 0; i < rank; i++)
    to.dims[i] = i < rank - from.rank ? 1 : from.dims[i - (rank - from.rank)];
  return onnx_reshape (self, a, to);
}

GradusValueId
onnx_emit_broadcast (OnnxMapper *self, const char *op, GradusValueId a, GradusValueId b)
{
  guint rank;

  if (onnx_failed (self))
    return GRADUS_NO_VALUE;
  rank = MAX (onnx_shape (self, a).rank, onnx_shape (self, b).rank);
  return onnx_emit2 (self, op, raise_rank (self, a, rank), raise_rank (self, b, rank));
}

GradusValueId
onnx_affine (OnnxMapper *self, GradusValueId a, double scale, double offset)
{
  char scale_text[G_ASCII_DTOSTR_BUF_SIZE], offset_text[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_dtostr (scale_text, sizeof scale_text, scale);
  g_ascii_dtostr (offset_text, sizeof offset_text, offset);
  return onnx_emit_output (self, 0, "affine", 1, &a, "scale=%s offset=%s", scale_text, offset_text);
}

GradusValueId
onnx_number (OnnxMapper *self, double number)
{
  float value = (float) number;

  return gradus_program_add_constant (self->program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &value);
}

GradusValueId
onnx_reshape (OnnxMapper *self, GradusValueId a, GradusShape shape)
{
  g_autofree char *text = onnx_join (shape.rank, shape.dims);
  GradusShape      from;

  if (onnx_failed (self))
    return GRADUS_NO_VALUE;
  from = onnx_shape (self, a);
  if (gradus_shape_equal (&from, &shape))
    return a;
  return onnx_emit_output (self, 0, "reshape", 1, &a, "shape=%s", text);
}

GradusValueId
onnx_transpose (OnnxMapper *self, GradusValueId a, const guint *perm)
{
  GradusShape      shape = onnx_shape (self, a);
  gint64           ints[ONNX_MAX_RANK];
  gboolean         moves = FALSE;
  g_autofree char *text = NULL;

  for (guint i = 0; i < shape.rank; i++)
    {
      ints[i] = perm[i];
      moves |= perm[i] != i;
    }
  if (!moves || onnx_failed (self))
    return a;
  text = onnx_join (shape.rank, ints);
  return onnx_emit_output (self, 0, "transpose", 1, &a, "perm=%s", text);
}

GradusValueId
onnx_move_axis (OnnxMapper *self, GradusValueId a, guint from, guint to)
{
  guint perm[ONNX_MAX_RANK], rank = onnx_shape (self, a).rank, next = 0;

  for (guint i = 0; i < rank; i++)
    {
      if (i == to)
        {
          perm[i] = from;
          continue;
        }
      next += next == from ? 1 : 0;
      perm[i] = next++;
    }
  return onnx_transpose (self, a, perm);
}

static const OnnxMapRow *
find_row (const char *op_type)
{
  static const OnnxMapRow *const tables[] = { onnx_rows_elementwise, onnx_rows_shape, onnx_rows_layer };

  for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const OnnxMapRow *row = tables[t]; row->op_type != NULL; row++)
      if (g_str_equal (row->op_type, op_type))
        return row;
  return NULL;
}

static void
value_free (gpointer data)
{
  OnnxValue *value = data;

  onnx_tensor_free (value->known);
  g_free (value);
}

static void
mapper_init (OnnxMapper *self, const OnnxModel *model)
{
  *self = (OnnxMapper) {
    .model = model,
    .program = gradus_program_new ("onnx"),
    .values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, value_free),
    .fed = g_array_new (FALSE, FALSE, sizeof (OnnxFeed)),
  };
}

static void
mapper_clear (OnnxMapper *self)
{
  gradus_program_unref (self->program);
  g_hash_table_unref (self->values);
  g_array_unref (self->fed);
  g_clear_error (&self->error);
}

static void
add_known (OnnxMapper *self, const char *name, const OnnxTensor *tensor, gboolean given)
{
  OnnxValue *value = g_new0 (OnnxValue, 1);

  value->value = value->integers = GRADUS_NO_VALUE;
  value->known = onnx_tensor_copy (tensor);
  g_free (value->known->name);
  value->known->name = g_strdup (name);
  value->given = given;
  g_hash_table_insert (self->values, (gpointer) name, value);
}

static OnnxTensor *
read_output (OnnxMapper *self, GradusExecution *execution, GradusValueId id)
{
  const GradusValueType *type = &gradus_program_value (self->program, id)->type;
  gboolean               is_integer = type->dtype == GRADUS_DTYPE_INT32;
  OnnxTensor            *tensor = onnx_tensor_new (is_integer ? ONNX_INT32 : ONNX_FLOAT, type->shape.rank,
                                                   type->shape.dims);
  g_autofree gint32     *data = g_new (gint32, tensor->count + 1);

  if (!gradus_execution_read (execution, id, data, (gsize) tensor->count * sizeof *data, &self->error))
    {
      onnx_tensor_free (tensor);
      return NULL;
    }
  for (gint64 i = 0; i < tensor->count; i++)
    tensor->data[i] = is_integer ? data[i] : ((const float *) data)[i];
  return tensor;
}

static gboolean
feed_inputs (OnnxMapper *self, GradusExecution *execution)
{
  for (guint i = 0; i < self->fed->len; i++)
    {
      const OnnxFeed    *feed = &g_array_index (self->fed, OnnxFeed, i);
      const OnnxTensor  *tensor = feed->tensor;
      gboolean           is_integer = gradus_program_value (self->program, feed->id)->type.dtype == GRADUS_DTYPE_INT32;
      g_autofree gint32 *data = g_new (gint32, tensor->count + 1);

      for (gint64 k = 0; k < tensor->count; k++)
        if (is_integer)
          data[k] = (gint32) tensor->data[k];
        else
          ((float *) data)[k] = (float) tensor->data[k];
      if (!gradus_execution_set_input (execution, feed->id, data, gradus_sizes (1, 1), &self->error)
          || !gradus_execution_synchronise (execution, &self->error))
        return FALSE;
    }
  return TRUE;
}

/* Runs what was mapped; @ids are read into @outputs. */
static void
run_program (OnnxMapper *self, GradusDevice *device, guint n, const GradusValueId *ids, OnnxTensor **outputs)
{
  g_autoptr (GradusPlan)      plan = NULL;
  g_autoptr (GradusVariables) variables = NULL;
  g_autoptr (GradusExecution) execution = NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("output %u", i);

      if (ids[i] != GRADUS_NO_VALUE)
        gradus_program_add_output (self->program, name, ids[i]);
    }
  plan = gradus_plan_new (self->program, gradus_sizes (1, 1), &self->error);
  variables = plan != NULL ? gradus_variables_new (self->program, device, &self->error) : NULL;
  execution = variables != NULL ? gradus_execution_new (plan, variables, device, &self->error) : NULL;
  if (execution == NULL || !feed_inputs (self, execution)
      || !gradus_execution_run (execution, gradus_sizes (1, 1), 1, 1, &self->error))
    return;
  for (guint i = 0; i < n && self->error == NULL; i++)
    if (ids[i] != GRADUS_NO_VALUE)
      outputs[i] = read_output (self, execution, ids[i]);
}

static gboolean
is_constant (OnnxMapper *self)
{
  for (guint i = 0; i < self->node->inputs->len; i++)
    {
      const OnnxValue *value;

      if (!onnx_has_input (self, i))
        continue;
      value = find_value (self, i);
      if (value == NULL || value->known == NULL || value->given || value->known->data == NULL)
        return FALSE;
    }
  return self->node->inputs->len > 0;
}

/* What is computed of shapes and constants alone is computed at once, by a program of this one node, so
 * that it can be a shape itself. */
static void
fold_node (OnnxMapper *self, const OnnxMapRow *row, GradusDevice *device)
{
  OnnxMapper  inner;
  guint       n = self->node->outputs->len;
  OnnxTensor *results[16] = { NULL };

  mapper_init (&inner, self->model);
  inner.node = self->node;
  for (guint i = 0; i < self->node->inputs->len; i++)
    if (onnx_has_input (self, i))
      add_known (&inner, self->node->inputs->pdata[i], find_value (self, i)->known, FALSE);
  row->map (&inner, row->argument);
  for (guint i = 0; i < n && i < 16 && !onnx_failed (&inner); i++)
    {
      OnnxValue    *value = g_hash_table_lookup (inner.values, self->node->outputs->pdata[i]);
      GradusValueId id = value == NULL ? GRADUS_NO_VALUE : value->is_integer ? value->integers : value->value;

      if (value != NULL && value->known != NULL)
        results[i] = onnx_tensor_copy (value->known);
      else if (id != GRADUS_NO_VALUE)
        run_program (&inner, device, 1, &id, &results[i]);
    }
  self->reason = inner.reason;
  self->error = g_steal_pointer (&inner.error);
  for (guint i = 0; i < n && i < 16; i++)
    if (results[i] != NULL)
      onnx_output_known (self, i, results[i]);
  mapper_clear (&inner);
}

static void
map_nodes (OnnxMapper *self, GradusDevice *device)
{
  for (guint i = 0; i < self->model->nodes->len && !onnx_failed (self); i++)
    {
      const OnnxMapRow *row;

      self->node = self->model->nodes->pdata[i];
      row = find_row (self->node->op_type);
      if (row == NULL)
        {
          g_autofree char *reason = g_strdup_printf ("no op or few of the table do %s", self->node->op_type);

          onnx_refuse (self, g_intern_string (reason));
        }
      else if (is_constant (self))
        fold_node (self, row, device);
      else
        row->map (self, row->argument);
    }
}

static void
collect (OnnxMapper *self, GradusDevice *device, OnnxTensor **outputs)
{
  guint                     n = self->model->outputs->len;
  g_autofree GradusValueId *ids = g_new (GradusValueId, n + 1);
  gboolean                  any = FALSE;

  for (guint i = 0; i < n; i++)
    {
      OnnxValue *value = g_hash_table_lookup (self->values, self->model->outputs->pdata[i]);

      ids[i] = GRADUS_NO_VALUE;
      if (value == NULL)
        continue;
      if (value->known != NULL)
        outputs[i] = onnx_tensor_copy (value->known);
      else
        ids[i] = value->is_integer ? value->integers : value->value;
      any |= ids[i] != GRADUS_NO_VALUE;
    }
  if (any)
    run_program (self, device, n, ids, outputs);
}

gboolean
onnx_run (const OnnxModel         *model,
          const OnnxTensor *const *given,
          guint                    n_given,
          GradusDevice            *device,
          OnnxTensor             **outputs,
          const char             **reason,
          GError                 **error)
{
  OnnxMapper mapper;
  gboolean   done;
  guint      next = 0;

  mapper_init (&mapper, model);
  for (guint i = 0; i < model->initializers->len; i++)
    add_known (&mapper, ((OnnxTensor *) model->initializers->pdata[i])->name, model->initializers->pdata[i], FALSE);
  for (guint i = 0; i < model->inputs->len; i++)
    if (!g_hash_table_contains (mapper.values, model->inputs->pdata[i]) && next < n_given)
      add_known (&mapper, model->inputs->pdata[i], given[next++], TRUE);
  map_nodes (&mapper, device);
  if (!onnx_failed (&mapper))
    collect (&mapper, device, outputs);
  done = !onnx_failed (&mapper);
  *reason = mapper.reason;
  if (mapper.error != NULL)
    g_propagate_error (error, g_steal_pointer (&mapper.error));
  mapper_clear (&mapper);
  return done;
}
