/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-onnx-private.h"

#include <string.h>

static OnnxTensor *
integers (guint n, const gint64 *values)
{
  gint64      dims[1] = { n };
  OnnxTensor *tensor = onnx_tensor_new (ONNX_INT64, 1, dims);

  for (guint i = 0; i < n; i++)
    tensor->data[i] = (double) values[i];
  return tensor;
}

/* The shape of input 0, whether its numbers are known or not. */
static GradusShape
input_shape (OnnxMapper *m, guint i)
{
  const OnnxValue *value = onnx_has_input (m, i) ? g_hash_table_lookup (m->values, m->node->inputs->pdata[i]) : NULL;
  GradusShape      shape = { 0 };

  if (value != NULL && value->known != NULL)
    {
      shape.rank = value->known->rank;
      memcpy (shape.dims, value->known->dims, shape.rank * sizeof *shape.dims);
      return shape;
    }
  return onnx_shape (m, onnx_input (m, i));
}

static void
map_shape (OnnxMapper *m, const char *unused)
{
  GradusShape shape = input_shape (m, 0);
  gint64      start = onnx_int (m, "start", 0), end = onnx_int (m, "end", shape.rank);

  start = CLAMP (start < 0 ? start + shape.rank : start, 0, (gint64) shape.rank);
  end = CLAMP (end < 0 ? end + shape.rank : end, start, (gint64) shape.rank);
  onnx_output_known (m, 0, integers ((guint) (end - start), shape.dims + start));
}

static void
map_size (OnnxMapper *m, const char *unused)
{
  GradusShape shape = input_shape (m, 0);
  OnnxTensor *tensor = onnx_tensor_new (ONNX_INT64, 0, NULL);

  tensor->data[0] = (double) gradus_shape_count (&shape);
  onnx_output_known (m, 0, tensor);
}

static void
map_constant (OnnxMapper *m, const char *unused)
{
  const OnnxAttribute *value = onnx_node_attribute (m->node, "value");
  const OnnxAttribute *ints = onnx_node_attribute (m->node, "value_ints");
  OnnxTensor          *tensor;

  if (value != NULL && value->t != NULL && value->t->data != NULL)
    tensor = onnx_tensor_copy (value->t);
  else if (ints != NULL)
    tensor = integers (ints->ints->len, (const gint64 *) (void *) ints->ints->data);
  else if (onnx_node_attribute (m->node, "value_int") != NULL)
    {
      tensor = onnx_tensor_new (ONNX_INT64, 0, NULL);
      tensor->data[0] = (double) onnx_int (m, "value_int", 0);
    }
  else if (onnx_node_attribute (m->node, "value_float") != NULL)
    {
      tensor = onnx_tensor_new (ONNX_FLOAT, 0, NULL);
      tensor->data[0] = onnx_float (m, "value_float", 0);
    }
  else
    {
      onnx_refuse (m, "a type that is not among the engine's");
      return;
    }
  onnx_output_known (m, 0, tensor);
}

static void
map_constant_of_shape (OnnxMapper *m, const char *unused)
{
  const OnnxAttribute *value = onnx_node_attribute (m->node, "value");
  const OnnxTensor    *shape = onnx_known (m, 0);
  gint64               dims[ONNX_MAX_RANK];
  OnnxTensor          *tensor;

  if (shape == NULL || shape->count > ONNX_MAX_RANK)
    return;
  for (gint64 i = 0; i < shape->count; i++)
    dims[i] = (gint64) shape->data[i];
  tensor = onnx_tensor_new (value != NULL && value->t != NULL ? value->t->type : ONNX_FLOAT, (guint) shape->count, dims);
  for (gint64 i = 0; i < tensor->count && value != NULL && value->t != NULL && value->t->data != NULL; i++)
    tensor->data[i] = value->t->data[0];
  onnx_output_known (m, 0, tensor);
}

static void
map_range (OnnxMapper *m, const char *unused)
{
  const OnnxTensor *start = onnx_known (m, 0), *limit = onnx_known (m, 1), *delta = onnx_known (m, 2);
  OnnxTensor       *tensor;
  gint64            dims[1] = { 0 };

  if (delta == NULL || delta->data[0] == 0)
    return;
  while (dims[0] < 1000 && (limit->data[0] - start->data[0] - (double) dims[0] * delta->data[0]) / delta->data[0] > 0)
    dims[0]++;
  tensor = onnx_tensor_new (start->type, 1, dims);
  for (gint64 i = 0; i < dims[0]; i++)
    tensor->data[i] = start->data[0] + (double) i * delta->data[0];
  onnx_output_known (m, 0, tensor);
}

static void
map_eye_like (OnnxMapper *m, const char *unused)
{
  GradusShape shape = input_shape (m, 0);
  OnnxTensor *tensor;
  gint64      type = onnx_int (m, "dtype", ONNX_FLOAT), k = onnx_int (m, "k", 0);

  if (shape.rank != 2)
    return;
  tensor = onnx_tensor_new ((OnnxType) type, 2, shape.dims);
  for (gint64 i = 0; i < tensor->count; i++)
    tensor->data[i] = i % shape.dims[1] - i / shape.dims[1] == k ? 1 : 0;
  onnx_output_known (m, 0, tensor);
}

static void
map_reshape (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  GradusShape   from = onnx_shape (m, x), to = { 0 };
  gint64        ints[ONNX_MAX_RANK], known = 1, whole = gradus_shape_count (&from);
  gint          open = -1;

  if (!onnx_ints (m, "shape", 1, &to.rank, ints))
    return;
  for (guint i = 0; i < to.rank; i++)
    {
      to.dims[i] = ints[i] == 0 && onnx_int (m, "allowzero", 0) == 0 && i < from.rank ? from.dims[i] : ints[i];
      if (to.dims[i] < 0)
        open = (gint) i;
      else
        known *= to.dims[i];
    }
  if (open >= 0)
    to.dims[open] = known > 0 ? whole / known : 0;
  if (whole == 0)
    onnx_refuse (m, "tensors without elements");
  onnx_output (m, 0, onnx_reshape (m, onnx_affine (m, x, 1, 0), to));
}

static void
map_flatten (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_affine (m, onnx_input (m, 0), 1, 0);
  GradusShape   from = onnx_shape (m, x);
  gint64        axis = onnx_int (m, "axis", 1), rows = 1, columns = 1;

  axis += axis < 0 ? from.rank : 0;
  for (guint i = 0; i < from.rank; i++)
    *(i < axis ? &rows : &columns) *= from.dims[i];
  onnx_output (m, 0, onnx_reshape (m, x, gradus_shape (2, rows, columns)));
}

/* @how: "squeeze" or "unsqueeze". Integers stay integers. */
static void
map_squeeze (OnnxMapper *m, const char *how)
{
  gboolean          is_squeeze = g_str_equal (how, "squeeze");
  const OnnxValue  *value = g_hash_table_lookup (m->values, m->node->inputs->pdata[0]);
  GradusShape       from = input_shape (m, 0), to = { 0 };
  gint64            axes[ONNX_MAX_RANK];
  guint             n = 0, rank, taken = 0;
  guint32           mask = 0;

  if (!onnx_ints (m, "axes", 1, &n, axes) && !is_squeeze)
    return;
  rank = is_squeeze ? from.rank : from.rank + n;
  for (guint i = 0; i < n; i++)
    mask |= 1u << onnx_axis (m, axes[i], rank);
  for (guint i = 0; is_squeeze && n == 0 && i < rank; i++)
    mask |= from.dims[i] == 1 ? 1u << i : 0;
  if (rank > ONNX_MAX_RANK || onnx_failed (m))
    return;
  for (guint i = 0; i < rank; i++)
    if (is_squeeze && (mask & (1u << i)) == 0)
      to.dims[to.rank++] = from.dims[i];
    else if (!is_squeeze)
      to.dims[to.rank++] = (mask & (1u << i)) != 0 ? 1 : from.dims[taken++];
  if (value->known != NULL && value->known->type != ONNX_FLOAT)
    {
      OnnxTensor *tensor = onnx_tensor_copy (value->known);

      tensor->rank = to.rank;
      memcpy (tensor->dims, to.dims, sizeof tensor->dims);
      onnx_output_known (m, 0, tensor);
      return;
    }
  onnx_output (m, 0, onnx_reshape (m, onnx_affine (m, onnx_input (m, 0), 1, 0), to));
}

static void
map_transpose (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  guint         rank = onnx_shape (m, x).rank, n, perm[ONNX_MAX_RANK];
  gint64        ints[ONNX_MAX_RANK];

  if (onnx_ints (m, "perm", G_MAXUINT, &n, ints))
    for (guint i = 0; i < n; i++)
      perm[i] = (guint) ints[i];
  else
    for (guint i = 0; i < rank; i++)
      perm[i] = rank - 1 - i;
  onnx_output (m, 0, onnx_transpose (m, onnx_affine (m, x, 1, 0), perm));
}

static void
map_concat (OnnxMapper *m, const char *unused)
{
  GradusValueId in[16] = { 0 };
  guint         n = m->node->inputs->len, axis;

  if (n == 0 || n > G_N_ELEMENTS (in))
    return;
  for (guint i = 0; i < n; i++)
    in[i] = onnx_input (m, i);
  axis = onnx_axis (m, onnx_int (m, "axis", 0), onnx_shape (m, in[0]).rank);
  onnx_output (m, 0, n == 1 ? onnx_affine (m, in[0], 1, 0) : onnx_emit_output (m, 0, "concat", n, in, "axis=%u", axis));
}

static GradusValueId
slice (OnnxMapper *m, GradusValueId x, guint axis, gint64 begin, gint64 size, gint64 step)
{
  guint            rank = onnx_shape (m, x).rank;
  gint64           begins[ONNX_MAX_RANK] = { 0 }, sizes[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
  g_autofree char *b = NULL, *s = NULL, *t = NULL;

  for (guint i = 0; i < rank; i++)
    {
      begins[i] = i == axis ? begin : 0;
      sizes[i] = i == axis ? size : onnx_shape (m, x).dims[i];
      steps[i] = i == axis ? step : 1;
    }
  if (size == 0)
    onnx_refuse (m, "tensors without elements");
  b = onnx_join (rank, begins);
  s = onnx_join (rank, sizes);
  t = onnx_join (rank, steps);
  return onnx_emit_output (m, 0, "strided_slice", 1, &x, "begin=%s size=%s step=%s", b, s, t);
}

static void
map_slice (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  gint64        starts[ONNX_MAX_RANK], ends[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
  guint         n, n_axes, n_steps;

  if (!onnx_ints (m, "starts", 1, &n, starts) || !onnx_ints (m, "ends", 2, &n, ends))
    return;
  if (!onnx_ints (m, "axes", 3, &n_axes, axes))
    for (guint i = 0; i < n; i++)
      axes[i] = i;
  if (!onnx_ints (m, "steps", 4, &n_steps, steps))
    for (guint i = 0; i < n; i++)
      steps[i] = 1;
  for (guint i = 0; i < n && !onnx_failed (m); i++)
    {
      guint  axis = onnx_axis (m, axes[i], onnx_shape (m, x).rank);
      gint64 size = onnx_shape (m, x).dims[axis], step = steps[i];
      gint64 start = starts[i] < 0 ? starts[i] + size : starts[i], end = ends[i] < 0 ? ends[i] + size : ends[i];

      start = step > 0 ? CLAMP (start, 0, size) : CLAMP (start, 0, size - 1);
      end = step > 0 ? CLAMP (end, 0, size) : CLAMP (end, -1, size - 1);
      x = slice (m, x, axis, start, step > 0 ? MAX (0, (end - start + step - 1) / step) : MAX (0, (end - start + step + 1) / step), step);
    }
  onnx_output (m, 0, x);
}

static void
map_split (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  guint         axis = onnx_axis (m, onnx_int (m, "axis", 0), onnx_shape (m, x).rank), n;
  gint64        sizes[ONNX_MAX_RANK], begin = 0;

  if (onnx_failed (m))
    return;
  if (!onnx_ints (m, "split", 1, &n, sizes))
    {
      n = m->node->outputs->len;
      for (guint i = 0; i < n; i++)
        sizes[i] = onnx_shape (m, x).dims[axis] / n;
    }
  for (guint i = 0; i < n; i++)
    {
      onnx_output (m, i, slice (m, x, axis, begin, sizes[i], 1));
      begin += sizes[i];
    }
}

/* Rows of a table: the axis goes first, the rest is made one. */
static void
map_gather (OnnxMapper *m, const char *unused)
{
  const OnnxTensor *indices = onnx_known (m, 1);
  GradusValueId     x = onnx_input (m, 0), in[2];
  GradusShape       shape = onnx_shape (m, x), to = { 0 };
  guint             axis = onnx_axis (m, onnx_int (m, "axis", 0), shape.rank), n;
  g_autofree float *rows = NULL;
  GradusShape       index_shape = { 0 };
  gint64            size, width;

  if (onnx_failed (m))
    return;
  n = indices->rank;
  size = shape.dims[axis];
  width = gradus_shape_count (&shape) / size;
  rows = g_new (float, indices->count + 1);
  for (gint64 i = 0; i < indices->count; i++)
    rows[i] = (float) (indices->data[i] < 0 ? indices->data[i] + (double) size : indices->data[i]);
  index_shape.rank = n;
  memcpy (index_shape.dims, indices->dims, n * sizeof *indices->dims);
  in[0] = onnx_reshape (m, onnx_move_axis (m, onnx_affine (m, x, 1, 0), axis, 0), gradus_shape (2, size, width));
  in[1] = gradus_program_add_constant (m->program, GRADUS_DTYPE_FLOAT32, index_shape, rows);
  x = onnx_emit_output (m, 0, "gather", 2, in, NULL);
  for (guint i = 0; i < n; i++)
    to.dims[to.rank++] = indices->dims[i];
  for (guint i = 0; i < shape.rank; i++)
    if (i != axis)
      to.dims[to.rank++] = shape.dims[i];
  x = onnx_reshape (m, x, to);
  /* The axes of the indices back to where the axis was. */
  for (guint i = 0; i < axis; i++)
    x = onnx_move_axis (m, x, n + i, i);
  onnx_output (m, 0, x);
}

static GradusValueId
ones_like_shape (OnnxMapper *m, GradusShape shape)
{
  g_autofree float *ones = g_new (float, gradus_shape_count (&shape) + 1);

  for (gint64 i = 0; i < gradus_shape_count (&shape); i++)
    ones[i] = 1;
  return gradus_program_add_constant (m->program, GRADUS_DTYPE_FLOAT32, shape, ones);
}

static void
map_expand (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  GradusShape   shape = { 0 };

  if (onnx_ints (m, "shape", 1, &shape.rank, shape.dims) && !onnx_failed (m))
    onnx_output (m, 0, onnx_emit_broadcast (m, "multiply", x, ones_like_shape (m, shape)));
}

static void
map_tile (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_affine (m, onnx_input (m, 0), 1, 0), in[16];
  gint64        repeats[ONNX_MAX_RANK];
  guint         n;

  if (!onnx_ints (m, "repeats", 1, &n, repeats))
    return;
  for (guint axis = 0; axis < n; axis++)
    {
      for (guint i = 0; i < MIN (repeats[axis], 16); i++)
        in[i] = x;
      if (repeats[axis] > 16)
        onnx_refuse (m, "more than sixteen repetitions");
      if (repeats[axis] > 1)
        x = onnx_emit_output (m, 0, "concat", (guint) repeats[axis], in, "axis=%u", axis);
    }
  onnx_output (m, 0, x);
}

static void
map_pad (OnnxMapper *m, const char *unused)
{
  GradusValueId    x = onnx_input (m, 0);
  guint            rank = onnx_shape (m, x).rank;
  const OnnxTensor *pads = onnx_known (m, 1), *value = onnx_has_input (m, 2) ? onnx_known (m, 2) : NULL;
  gint64           ints[2 * ONNX_MAX_RANK];
  g_autofree char *before = NULL, *after = NULL;
  char             number[G_ASCII_DTOSTR_BUF_SIZE];

  if (!g_str_equal (onnx_string (m, "mode", "constant"), "constant"))
    onnx_refuse (m, "padding by reflection or by the edge");
  if (onnx_failed (m) || pads->count != 2 * rank)
    return;
  for (guint i = 0; i < 2 * rank; i++)
    ints[i] = (gint64) pads->data[i];
  before = onnx_join (rank, ints);
  after = onnx_join (rank, ints + rank);
  g_ascii_dtostr (number, sizeof number, value != NULL ? value->data[0] : 0);
  onnx_output (m, 0, onnx_emit_output (m, 0, "pad", 1, &x, "before=%s after=%s value=%s", before, after, number));
}

static void
map_trilu (OnnxMapper *m, const char *unused)
{
  GradusValueId     x = onnx_input (m, 0);
  const OnnxTensor *k = onnx_has_input (m, 1) ? onnx_known (m, 1) : NULL;

  onnx_output (m, 0, onnx_emit_output (m, 0, "triangle", 1, &x, "upper=%d k=%d", (int) onnx_int (m, "upper", 1), k != NULL ? (int) k->data[0] : 0));
}

static void
map_cumsum (OnnxMapper *m, const char *unused)
{
  GradusValueId     x = onnx_input (m, 0);
  const OnnxTensor *axis = onnx_known (m, 1);

  if (axis != NULL)
    onnx_output (m, 0, onnx_emit_output (m, 0, "cumsum", 1, &x, "axis=%d exclusive=%d reverse=%d", (int) axis->data[0],
                                         (int) onnx_int (m, "exclusive", 0), (int) onnx_int (m, "reverse", 0)));
}

static void
map_arg (OnnxMapper *m, const char *op)
{
  GradusValueId x = onnx_input (m, 0);

  onnx_output (m, 0, onnx_emit_output (m, 0, op, 1, &x, "axis=%d keepdims=%d last=%d", (int) onnx_int (m, "axis", 0),
                                       (int) onnx_int (m, "keepdims", 1), (int) onnx_int (m, "select_last_index", 0)));
}

static void
map_top_k (OnnxMapper *m, const char *unused)
{
  GradusValueId     x = onnx_input (m, 0);
  const OnnxTensor *k = onnx_known (m, 1);
  guint             rank = onnx_shape (m, x).rank, axis = onnx_axis (m, onnx_int (m, "axis", -1), rank);

  for (guint i = 0; i < 2 && k != NULL && !onnx_failed (m); i++)
    {
      GradusValueId last = onnx_move_axis (m, x, axis, rank - 1), y;

      y = onnx_emit_output (m, i, "top_k", 1, &last, "k=%d largest=%d", (int) k->data[0], (int) onnx_int (m, "largest", 1));
      if (i == 1 && axis != rank - 1)
        y = onnx_emit_output (m, 0, "cast", 1, &y, "dtype=float32");
      y = onnx_move_axis (m, y, rank - 1, axis);
      onnx_output (m, i, y);
    }
}

static void
map_one_hot (OnnxMapper *m, const char *unused)
{
  const OnnxTensor *depth = onnx_known (m, 1), *values = onnx_known (m, 2), *indices = onnx_known (m, 0);
  g_autofree gint32 *labels = NULL;
  GradusShape        shape = { 0 };
  GradusValueId      x;
  gint64             n;

  if (onnx_failed (m))
    return;
  n = (gint64) depth->data[0];
  labels = g_new (gint32, indices->count + 1);
  for (gint64 i = 0; i < indices->count; i++)
    labels[i] = (gint32) (indices->data[i] < 0 ? indices->data[i] + (double) n : indices->data[i]);
  shape.rank = indices->rank;
  memcpy (shape.dims, indices->dims, shape.rank * sizeof *shape.dims);
  x = gradus_program_add_constant (m->program, GRADUS_DTYPE_INT32, shape, labels);
  x = onnx_emit_output (m, 0, "one_hot", 1, &x, "classes=%d", (int) n);
  x = onnx_affine (m, x, values->data[1] - values->data[0], values->data[0]);
  onnx_output (m, 0, onnx_move_axis (m, x, shape.rank, onnx_axis (m, onnx_int (m, "axis", -1), shape.rank + 1)));
}

/* @how: the first of the two letters of CRD or DCR; SpaceToDepth undoes DCR. */
static void
map_depth_to_space (OnnxMapper *m, const char *unused)
{
  gboolean      crd = g_str_equal (onnx_string (m, "mode", "DCR"), "CRD");
  GradusValueId x = onnx_input (m, 0);
  GradusShape   s = onnx_shape (m, x);
  gint64        b = onnx_int (m, "blocksize", 1), c = s.dims[1] / (b * b);
  static const guint dcr_perm[] = { 0, 3, 4, 1, 5, 2 }, crd_perm[] = { 0, 1, 4, 2, 5, 3 };

  x = onnx_reshape (m, x, crd ? gradus_shape (6, s.dims[0], c, b, b, s.dims[2], s.dims[3]) : gradus_shape (6, s.dims[0], b, b, c, s.dims[2], s.dims[3]));
  x = onnx_transpose (m, x, crd ? crd_perm : dcr_perm);
  onnx_output (m, 0, onnx_reshape (m, x, gradus_shape (4, s.dims[0], c, s.dims[2] * b, s.dims[3] * b)));
}

static void
map_space_to_depth (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  GradusShape   s = onnx_shape (m, x);
  gint64        b = onnx_int (m, "blocksize", 1);
  static const guint perm[] = { 0, 3, 5, 1, 2, 4 };

  x = onnx_reshape (m, x, gradus_shape (6, s.dims[0], s.dims[1], s.dims[2] / b, b, s.dims[3] / b, b));
  x = onnx_transpose (m, x, perm);
  onnx_output (m, 0, onnx_reshape (m, x, gradus_shape (4, s.dims[0], s.dims[1] * b * b, s.dims[2] / b, s.dims[3] / b)));
}

/* The axes of a reduction; FALSE where none is to be reduced. */
static gboolean
reduced_axes (OnnxMapper *m, GradusValueId x, gint64 axes[ONNX_MAX_RANK], guint *n)
{
  guint rank = onnx_shape (m, x).rank;

  if (!onnx_ints (m, "axes", 1, n, axes) || *n == 0)
    {
      if (onnx_int (m, "noop_with_empty_axes", 0) != 0)
        return FALSE;
      for (*n = 0; *n < rank; (*n)++)
        axes[*n] = *n;
      return TRUE;
    }
  for (guint i = 0; i < *n; i++)
    axes[i] = onnx_axis (m, axes[i], rank);
  return TRUE;
}

static GradusValueId
reduce (OnnxMapper *m, const char *op, GradusValueId x)
{
  gint64           axes[ONNX_MAX_RANK];
  guint            n;
  g_autofree char *text = NULL;

  if (onnx_failed (m) || !reduced_axes (m, x, axes, &n))
    return x;
  text = onnx_join (n, axes);
  return onnx_emit_output (m, 0, op, 1, &x, "axes=%s keepdims=%d", text, (int) onnx_int (m, "keepdims", 1));
}

/* @how: before, what is summed, and after. */
static void
map_reduce (OnnxMapper *m, const char *how)
{
  g_auto (GStrv) steps = g_strsplit (how, " ", -1);
  GradusValueId  x = onnx_input (m, 0);

  for (guint i = 0; steps[i] != NULL; i++)
    x = g_str_has_prefix (steps[i], "reduce") ? reduce (m, steps[i], x) : onnx_emit1 (m, steps[i], x);
  onnx_output (m, 0, g_str_has_prefix (how, "reduce_sum") ? onnx_affine (m, x, 1, 0) : x);
}

/* One axis after the other, from the last. */
static void
map_reduce_prod (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  gint64        axes[ONNX_MAX_RANK];
  guint         n;

  if (onnx_failed (m) || !reduced_axes (m, x, axes, &n))
    return;
  for (gint axis = ONNX_MAX_RANK - 1; axis >= 0; axis--)
    for (guint i = 0; i < n; i++)
      if (axes[i] == axis)
        x = onnx_emit_output (m, 0, "reduce_prod", 1, &x, "axis=%d keepdims=%d", axis, (int) onnx_int (m, "keepdims", 1));
  onnx_output (m, 0, x);
}

const OnnxMapRow onnx_rows_shape[] = {
  { "Shape", map_shape, NULL },
  { "Size", map_size, NULL },
  { "Constant", map_constant, NULL },
  { "ConstantOfShape", map_constant_of_shape, NULL },
  { "Range", map_range, NULL },
  { "EyeLike", map_eye_like, NULL },
  { "Reshape", map_reshape, NULL },
  { "Flatten", map_flatten, NULL },
  { "Squeeze", map_squeeze, "squeeze" },
  { "Unsqueeze", map_squeeze, "unsqueeze" },
  { "Transpose", map_transpose, NULL },
  { "Concat", map_concat, NULL },
  { "Slice", map_slice, NULL },
  { "Split", map_split, NULL },
  { "Gather", map_gather, NULL },
  { "Expand", map_expand, NULL },
  { "Tile", map_tile, NULL },
  { "Pad", map_pad, NULL },
  { "Trilu", map_trilu, NULL },
  { "CumSum", map_cumsum, NULL },
  { "ArgMax", map_arg, "argmax" },
  { "ArgMin", map_arg, "argmin" },
  { "TopK", map_top_k, NULL },
  { "OneHot", map_one_hot, NULL },
  { "DepthToSpace", map_depth_to_space, NULL },
  { "SpaceToDepth", map_space_to_depth, NULL },
  { "ReduceSum", map_reduce, "reduce_sum" },
  { "ReduceMean", map_reduce, "reduce_mean" },
  { "ReduceMax", map_reduce, "reduce_max" },
  { "ReduceMin", map_reduce, "negative reduce_max negative" },
  { "ReduceL1", map_reduce, "abs reduce_sum" },
  { "ReduceL2", map_reduce, "square reduce_sum sqrt" },
  { "ReduceLogSum", map_reduce, "reduce_sum log" },
  { "ReduceLogSumExp", map_reduce, "exp reduce_sum log" },
  { "ReduceSumSquare", map_reduce, "square reduce_sum" },
  { "ReduceProd", map_reduce_prod, NULL },
  { NULL },
};
