/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-onnx-private.h"

#include <math.h>
#include <string.h>

/* ONNX keeps channels second, the table last. */
static GradusValueId
channels_last (OnnxMapper *m, GradusValueId x)
{
  return onnx_failed (m) ? x : onnx_move_axis (m, x, 1, onnx_shape (m, x).rank - 1);
}

static GradusValueId
channels_second (OnnxMapper *m, GradusValueId x)
{
  return onnx_failed (m) ? x : onnx_move_axis (m, x, onnx_shape (m, x).rank - 1, 1);
}

/* A window over the axes between batch and channels. */
typedef struct
{
  guint  n;
  gint64 size[ONNX_MAX_RANK], strides[ONNX_MAX_RANK], dilations[ONNX_MAX_RANK];
  gint64 pads[2 * ONNX_MAX_RANK]; /* before, after, axis by axis */
} Window;

static void
read_window (OnnxMapper *m, const GradusShape *x, Window *w)
{
  const char *auto_pad = onnx_string (m, "auto_pad", "NOTSET");
  gint64      pads[2 * ONNX_MAX_RANK] = { 0 };
  guint       n;
  const OnnxAttribute *given = onnx_node_attribute (m->node, "pads");

  for (guint i = 0; i < w->n; i++)
    w->strides[i] = w->dilations[i] = 1;
  onnx_ints (m, "strides", G_MAXUINT, &n, w->strides);
  onnx_ints (m, "dilations", G_MAXUINT, &n, w->dilations);
  for (guint i = 0; given != NULL && i < MIN (given->ints->len, 2 * w->n); i++)
    pads[i] = g_array_index (given->ints, gint64, i);
  for (guint i = 0; i < w->n; i++)
    {
      gint64 extent = (w->size[i] - 1) * w->dilations[i] + 1, in = x->dims[i + 1];
      gint64 out = (in + w->strides[i] - 1) / w->strides[i];
      gint64 all = MAX (0, (out - 1) * w->strides[i] + extent - in);

      w->pads[2 * i] = pads[i];
      w->pads[2 * i + 1] = pads[i + w->n];
      if (g_str_has_prefix (auto_pad, "SAME"))
        {
          gboolean upper = g_str_equal (auto_pad, "SAME_UPPER");

          w->pads[2 * i] = upper ? all / 2 : all - all / 2;
          w->pads[2 * i + 1] = all - w->pads[2 * i];
        }
    }
}

static char *
window_text (const Window *w, gboolean dilations)
{
  g_autofree char *strides = onnx_join (w->n, w->strides), *dilation = onnx_join (w->n, w->dilations);
  g_autofree char *pads = onnx_join (2 * w->n, w->pads);

  if (dilations)
    return g_strdup_printf ("strides=%s pads=%s dilations=%s", strides, pads, dilation);
  return g_strdup_printf ("strides=%s pads=%s", strides, pads);
}

/* The kernel (out, in, sizes...) as (sizes..., in, out). */
static GradusValueId
turn_kernel (OnnxMapper *m, GradusValueId k)
{
  guint rank = onnx_shape (m, k).rank, perm[ONNX_MAX_RANK];

  if (onnx_failed (m))
    return k;
  for (guint i = 2; i < rank; i++)
    perm[i - 2] = i;
  perm[rank - 2] = 1;
  perm[rank - 1] = 0;
  return onnx_transpose (m, k, perm);
}

static void
map_conv (OnnxMapper *m, const char *unused)
{
  GradusValueId    in[3] = { channels_last (m, onnx_input (m, 0)), turn_kernel (m, onnx_input (m, 1)) };
  guint            n = onnx_has_input (m, 2) ? 3 : 2;
  GradusShape      x = onnx_shape (m, in[0]), k = onnx_shape (m, in[1]);
  Window           w = { .n = x.rank - 2 };
  g_autofree char *text = NULL;

  if (onnx_failed (m))
    return;
  for (guint i = 0; i < w.n; i++)
    w.size[i] = k.dims[i];
  read_window (m, &x, &w);
  if (n == 3)
    in[2] = onnx_input (m, 2);
  text = window_text (&w, TRUE);
  onnx_output (m, 0, channels_second (m, onnx_emit_output (m, 0, "conv", n, in, "%s groups=%d", text, (int) onnx_int (m, "group", 1))));
}

/* Padding by hand and other sizes of the output are cut from the whole. */
static void
map_conv_transpose (OnnxMapper *m, const char *unused)
{
  GradusValueId    in[2] = { channels_last (m, onnx_input (m, 0)), turn_kernel (m, onnx_input (m, 1)) }, y;
  GradusShape      x = onnx_shape (m, in[0]), k = onnx_shape (m, in[1]);
  Window           w = { .n = x.rank - 2 };
  gint64           wanted[ONNX_MAX_RANK], extra[ONNX_MAX_RANK] = { 0 }, size[ONNX_MAX_RANK];
  guint            n;
  g_autofree char *text = NULL, *sizes = NULL;
  gboolean         has_shape, same = g_str_has_prefix (onnx_string (m, "auto_pad", "NOTSET"), "SAME");

  if (onnx_failed (m))
    return;
  for (guint i = 0; i < w.n; i++)
    w.size[i] = k.dims[i];
  read_window (m, &x, &w);
  onnx_ints (m, "output_padding", G_MAXUINT, &n, extra);
  has_shape = onnx_ints (m, "output_shape", G_MAXUINT, &n, wanted);
  for (guint i = 0; i < w.n; i++)
    {
      gint64 whole = (x.dims[i + 1] - 1) * w.strides[i] + (w.size[i] - 1) * w.dilations[i] + 1 + extra[i];

      if (has_shape || same)
        {
          gint64 all = MAX (0, whole - (has_shape ? wanted[i] : x.dims[i + 1] * w.strides[i]));

          /* ONNX's own words: SAME_UPPER puts the odd one after, all else before. */
          w.pads[2 * i] = g_str_equal (onnx_string (m, "auto_pad", "NOTSET"), "SAME_UPPER") ? all / 2 : all - all / 2;
          w.pads[2 * i + 1] = all - w.pads[2 * i];
        }
      size[i] = whole - w.pads[2 * i] - w.pads[2 * i + 1];
      if (has_shape && size[i] != wanted[i])
        onnx_refuse (m, "an output larger than the transposed convolution's");
    }
  text = window_text (&w, TRUE);
  sizes = onnx_join (w.n, size);
  y = onnx_emit_output (m, 0, "conv_transpose", 2, in, "%s output_size=%s groups=%d", text, sizes, (int) onnx_int (m, "group", 1));
  if (onnx_has_input (m, 2))
    y = onnx_emit2 (m, "bias_add", y, onnx_input (m, 2));
  onnx_output (m, 0, channels_second (m, y));
}

/* With ceil_mode the last window may begin in the padding; more of it makes room for it. */
static void
round_up (OnnxMapper *m, const GradusShape *x, Window *w)
{
  for (guint i = 0; i < w->n && onnx_int (m, "ceil_mode", 0) != 0; i++)
    {
      gint64 left = (x->dims[i + 1] + w->pads[2 * i] + w->pads[2 * i + 1] - w->size[i]) % w->strides[i];

      if (left > 0)
        w->pads[2 * i + 1] += w->strides[i] - left;
    }
}

static void
map_pool (OnnxMapper *m, const char *op)
{
  GradusValueId    x = channels_last (m, onnx_input (m, 0));
  GradusShape      shape = onnx_shape (m, x);
  Window           w = { .n = shape.rank - 2 };
  guint            n;
  gint64           count_pads = onnx_int (m, "count_include_pad", 0);
  g_autofree char *text = NULL, *pool = NULL;
  gboolean         average = g_str_equal (op, "average_pool");

  if (onnx_failed (m) || !onnx_ints (m, "kernel_shape", G_MAXUINT, &n, w.size))
    return;
  if (m->node->outputs->len > 1)
    onnx_refuse (m, "places of maxima counted over the whole image");
  read_window (m, &shape, &w);
  for (guint i = 0; i < w.n; i++)
    if (w.dilations[i] != 1)
      onnx_refuse (m, "a dilated pool");
  round_up (m, &shape, &w);
  text = window_text (&w, FALSE);
  pool = onnx_join (w.n, w.size);
  x = onnx_emit_output (m, 0, op, 1, &x, "pool=%s %s%s", pool, text, average && count_pads != 0 ? " count_pads=1" : "");
  onnx_output (m, 0, channels_second (m, x));
}

static void
map_global_pool (OnnxMapper *m, const char *op)
{
  GradusValueId    x = onnx_input (m, 0);
  guint            rank = onnx_shape (m, x).rank;
  gint64           axes[ONNX_MAX_RANK];
  g_autofree char *text = NULL;

  if (onnx_failed (m))
    return;
  for (guint i = 2; i < rank; i++)
    axes[i - 2] = i;
  text = onnx_join (rank - 2, axes);
  onnx_output (m, 0, onnx_emit_output (m, 0, op, 1, &x, "axes=%s keepdims=1", text));
}

/* Vectors as matrices of one row or column; ranks made equal. */
static void
map_matmul (OnnxMapper *m, const char *unused)
{
  GradusValueId a = onnx_input (m, 0), b = onnx_input (m, 1);

  if (onnx_shape (m, a).rank < 2 || onnx_shape (m, b).rank < 2)
    onnx_refuse (m, "a product of vectors");
  onnx_output (m, 0, onnx_emit_broadcast (m, "matmul", a, b));
}

static void
map_gemm (OnnxMapper *m, const char *unused)
{
  const GradusValueId in[] = { onnx_input (m, 0), onnx_input (m, 1) };
  GradusValueId       y;

  y = onnx_emit_output (m, 0, "matmul", 2, in, "transpose_a=%d transpose_b=%d", (int) onnx_int (m, "transA", 0), (int) onnx_int (m, "transB", 0));
  y = onnx_affine (m, y, onnx_float (m, "alpha", 1), 0);
  if (onnx_has_input (m, 2))
    y = onnx_emit_broadcast (m, "add", y, onnx_affine (m, onnx_input (m, 2), onnx_float (m, "beta", 1), 0));
  onnx_output (m, 0, y);
}

/* @op over the last axis, which the wanted one is moved to and back from. */
static void
map_softmax (OnnxMapper *m, const char *op)
{
  GradusValueId x = onnx_input (m, 0);
  guint         rank = onnx_shape (m, x).rank, axis = onnx_axis (m, onnx_int (m, "axis", -1), rank);

  if (m->model->opset < 13)
    onnx_refuse (m, "the softmax of before opset 13, over several axes");
  if (onnx_failed (m))
    return;
  x = onnx_emit1 (m, op, onnx_move_axis (m, x, axis, rank - 1));
  onnx_output (m, 0, onnx_move_axis (m, x, rank - 1, axis));
}

static void
map_hardmax (OnnxMapper *m, const char *unused)
{
  GradusValueId x = onnx_input (m, 0);
  guint         rank = onnx_shape (m, x).rank, axis = onnx_axis (m, onnx_int (m, "axis", -1), rank);
  gint64        classes;

  if (onnx_failed (m))
    return;
  classes = onnx_shape (m, x).dims[axis];
  x = onnx_emit1 (m, "argmax", onnx_move_axis (m, x, axis, rank - 1));
  x = onnx_emit_output (m, 0, "one_hot", 1, &x, "classes=%d", (int) classes);
  onnx_output (m, 0, onnx_move_axis (m, x, rank - 1, axis));
}

static void
map_batch_norm (OnnxMapper *m, const char *unused)
{
  gboolean      training = onnx_int (m, "training_mode", 0) != 0;
  GradusValueId in[5];
  char          epsilon[G_ASCII_DTOSTR_BUF_SIZE];
  double        momentum = onnx_float (m, "momentum", 0.9);

  for (guint i = 0; i < 5; i++)
    in[i] = onnx_input (m, i);
  in[0] = channels_last (m, in[0]);
  g_ascii_dtostr (epsilon, sizeof epsilon, onnx_float (m, "epsilon", 1e-5));
  onnx_output (m, 0, channels_second (m, onnx_emit_output (m, 0, training ? "batch_norm" : "batch_norm_inference", training ? 3 : 5, in, "epsilon=%s", epsilon)));
  for (guint i = 1; i < 3 && training; i++)
    {
      GradusValueId batch = onnx_emit_output (m, i, "batch_norm", 3, in, "epsilon=%s", epsilon);

      onnx_output (m, i, onnx_emit2 (m, "add", onnx_affine (m, in[i + 2], momentum, 0), onnx_affine (m, batch, 1 - momentum, 0)));
    }
}

static void
map_instance_norm (OnnxMapper *m, const char *unused)
{
  GradusValueId in[3] = { channels_last (m, onnx_input (m, 0)), onnx_input (m, 1), onnx_input (m, 2) };
  char          epsilon[G_ASCII_DTOSTR_BUF_SIZE];

  if (onnx_failed (m))
    return;
  g_ascii_dtostr (epsilon, sizeof epsilon, onnx_float (m, "epsilon", 1e-5));
  onnx_output (m, 0, channels_second (m, onnx_emit_output (m, 0, "group_norm", 3, in, "groups=%d epsilon=%s", (int) onnx_shape (m, in[1]).dims[0], epsilon)));
}

static void
map_layer_norm (OnnxMapper *m, const char *unused)
{
  GradusValueId in[3] = { onnx_input (m, 0), onnx_input (m, 1) };
  GradusShape   x = onnx_shape (m, in[0]);
  guint         axis = onnx_axis (m, onnx_int (m, "axis", -1), x.rank);
  GradusShape   statistics = x;
  char          epsilon[G_ASCII_DTOSTR_BUF_SIZE];

  in[2] = onnx_has_input (m, 2) ? onnx_input (m, 2) : onnx_affine (m, in[1], 0, 0);
  for (guint i = axis; i < x.rank; i++)
    statistics.dims[i] = 1;
  g_ascii_dtostr (epsilon, sizeof epsilon, onnx_float (m, "epsilon", 1e-5));
  /* The table wants an axis before those that are normalized. */
  if (axis == 0 && !onnx_failed (m) && x.rank < ONNX_MAX_RANK)
    {
      GradusShape one = { .rank = x.rank + 1, .dims = { 1 } };

      memcpy (one.dims + 1, x.dims, x.rank * sizeof *x.dims);
      in[0] = onnx_reshape (m, in[0], one);
    }
  onnx_output (m, 0, onnx_reshape (m, onnx_emit_output (m, 0, "layer_norm", 3, in, "epsilon=%s", epsilon), x));
  for (guint i = 1; i < 3; i++)
    onnx_output (m, i, onnx_reshape (m, onnx_emit_output (m, i, "layer_norm", 3, in, "epsilon=%s", epsilon), statistics));
}

static void
map_mean_variance (OnnxMapper *m, const char *unused)
{
  GradusValueId    x = onnx_input (m, 0), mean, variance;
  gint64           axes[ONNX_MAX_RANK] = { 0, 2, 3 };
  guint            n = 3, given;
  g_autofree char *text = NULL;

  if (onnx_ints (m, "axes", G_MAXUINT, &given, axes))
    n = given;
  text = onnx_join (n, axes);
  mean = onnx_emit_output (m, 0, "reduce_mean", 1, &x, "axes=%s keepdims=1", text);
  x = onnx_emit2 (m, "subtract", x, mean);
  variance = onnx_emit1 (m, "square", x);
  variance = onnx_emit_output (m, 0, "reduce_mean", 1, &variance, "axes=%s keepdims=1", text);
  onnx_output (m, 0, onnx_emit2 (m, "divide", x, onnx_affine (m, onnx_emit1 (m, "sqrt", variance), 1, 1e-9)));
}

/* The negative log likelihood of @log_p (rows, classes) for labels, with weights and an index that is left
 * out, reduced as the node wants; @shape: of one row's place. */
static GradusValueId
likelihood (OnnxMapper *m, GradusValueId log_p, GradusShape shape)
{
  const OnnxAttribute *ignore = onnx_node_attribute (m->node, "ignore_index");
  const char          *reduction = onnx_string (m, "reduction", "mean");
  gint64               rows = gradus_shape_count (&shape), classes = onnx_shape (m, log_p).dims[1];
  GradusValueId        labels = onnx_integers (m, 1), hot, weight, loss;

  labels = onnx_reshape (m, labels, gradus_shape (1, rows));
  hot = onnx_emit_output (m, 0, "one_hot", 1, &labels, "classes=%d", (int) classes);
  weight = onnx_has_input (m, 2)
             ? onnx_emit2 (m, "multiply", hot, onnx_reshape (m, onnx_input (m, 2), gradus_shape (2, (gint64) 1, classes)))
             : hot;
  if (ignore != NULL)
    {
      GradusValueId as_float = onnx_emit_output (m, 0, "cast", 1, &labels, "dtype=float32");
      GradusValueId kept = onnx_emit2 (m, "not_equal", as_float, onnx_number (m, (double) ignore->i));

      weight = onnx_emit2 (m, "multiply", weight, onnx_reshape (m, kept, gradus_shape (2, rows, (gint64) 1)));
    }
  loss = onnx_affine (m, onnx_emit2 (m, "multiply", weight, log_p), -1, 0);
  loss = onnx_emit_output (m, 0, "reduce_sum", 1, &loss, "axes=1");
  if (g_str_equal (reduction, "none"))
    return onnx_reshape (m, loss, shape);
  loss = onnx_emit1 (m, "reduce_sum", loss);
  if (g_str_equal (reduction, "mean"))
    loss = onnx_emit2 (m, "divide", loss, onnx_emit1 (m, "reduce_sum", weight));
  return loss;
}

/* @what: "log_softmax" first, or nothing. */
static void
map_likelihood (OnnxMapper *m, const char *what)
{
  GradusValueId x = onnx_input (m, 0), log_p;
  GradusShape   shape = onnx_shape (m, x), places = { 0 };
  gint64        classes;

  if (onnx_failed (m))
    return;
  classes = shape.dims[1];
  for (guint i = 0; i < shape.rank; i++)
    if (i != 1)
      places.dims[places.rank++] = shape.dims[i];
  log_p = channels_last (m, x);
  if (what != NULL)
    log_p = onnx_emit1 (m, what, log_p);
  onnx_output (m, 1, channels_second (m, log_p));
  log_p = onnx_reshape (m, log_p, gradus_shape (2, gradus_shape_count (&places), classes));
  onnx_output (m, 0, likelihood (m, log_p, places));
}

/* @x (gates * H, ...) with its gates, each of H rows, in the order @order. */
static GradusValueId
order_gates (OnnxMapper *m, GradusValueId x, guint n, const guint *order)
{
  GradusValueId parts[4];
  gint64        h = onnx_shape (m, x).dims[0] / n;

  for (guint i = 0; i < n; i++)
    parts[i] = onnx_emit_output (m, 0, "slice", 1, &x, "axis=0 begin=%d size=%d", (int) (order[i] * h), (int) h);
  return n == 1 ? x : onnx_emit_output (m, 0, "concat", n, parts, "axis=0");
}

/* One direction of a recurrent layer: X (T, B, I) or (B, T, I), W (1, gates H, I), R, B, lengths, states. */
static void
map_recurrent (OnnxMapper *m, const char *op)
{
  static const guint lstm[] = { 0, 2, 3, 1 }, gru[] = { 0, 1, 2 }, plain[] = { 0 };
  gboolean           is_lstm = g_str_equal (op, "lstm"), is_gru = g_str_equal (op, "gru");
  const guint       *order = is_lstm ? lstm : is_gru ? gru : plain;
  guint              n = is_lstm ? 4 : is_gru ? 3 : 1, last;
  gboolean           batch_first = onnx_int (m, "layout", 0) != 0;
  GradusValueId      in[8], y, state;
  gint64             h = onnx_int (m, "hidden_size", 0), steps, batch;
  static const guint swap[] = { 1, 0, 2 }, flip[] = { 1, 0 };

  for (guint i = 0; i < 8; i++)
    in[i] = GRADUS_NO_VALUE;
  for (guint i = 4; i < 8; i++)
    if (onnx_has_input (m, i))
      onnx_refuse (m, i == 4 ? "sequences of lengths of their own" : i == 7 ? "peepholes" : "states given by the caller");
  if (!g_str_equal (onnx_string (m, "direction", "forward"), "forward") || onnx_node_attribute (m->node, "clip") != NULL)
    onnx_refuse (m, "other directions or clipped gates");
  in[0] = batch_first ? onnx_affine (m, onnx_input (m, 0), 1, 0) : onnx_transpose (m, onnx_input (m, 0), swap);
  if (onnx_failed (m))
    return;
  batch = onnx_shape (m, in[0]).dims[0];
  steps = onnx_shape (m, in[0]).dims[1];
  for (guint i = 1; i < 3; i++)
    {
      GradusShape s = onnx_shape (m, onnx_input (m, i));

      in[i] = onnx_reshape (m, onnx_input (m, i), gradus_shape (2, s.dims[1], s.dims[2]));
      in[i] = onnx_transpose (m, order_gates (m, in[i], n, order), flip);
    }
  if (onnx_has_input (m, 3))
    {
      GradusValueId halves = onnx_reshape (m, onnx_input (m, 3), gradus_shape (1, 2 * n * h)), half[2];

      for (guint i = 0; i < 2; i++)
        {
          half[i] = onnx_emit_output (m, 0, "slice", 1, &halves, "axis=0 begin=%d size=%d", (int) (i * n * h), (int) (n * h));
          half[i] = order_gates (m, half[i], n, order);
        }
      in[3] = onnx_emit2 (m, "add", half[0], half[1]);
    }
  y = onnx_emit_output (m, 0, op, 4, in, is_gru ? "reset_after=%d" : NULL, (int) onnx_int (m, "linear_before_reset", 0));
  last = (guint) steps - 1;
  state = onnx_emit_output (m, 0, "slice", 1, &y, "axis=1 begin=%u size=1", last);
  onnx_output (m, 1, onnx_reshape (m, batch_first ? state : onnx_transpose (m, state, swap),
                                   batch_first ? gradus_shape (3, batch, (gint64) 1, h) : gradus_shape (3, (gint64) 1, batch, h)));
  onnx_output (m, 0, onnx_reshape (m, batch_first ? y : onnx_transpose (m, y, swap),
                                   batch_first ? gradus_shape (4, batch, steps, (gint64) 1, h) : gradus_shape (4, steps, (gint64) 1, batch, h)));
}

static void
map_einsum (OnnxMapper *m, const char *unused)
{
  const char   *equation = onnx_string (m, "equation", "");
  static const guint flip[] = { 1, 0 };
  GradusValueId x = onnx_input (m, 0);

  if (g_str_equal (equation, "ij->ji"))
    onnx_output (m, 0, onnx_transpose (m, x, flip));
  else if (g_str_equal (equation, "ij->i"))
    onnx_output (m, 0, onnx_emit_output (m, 0, "reduce_sum", 1, &x, "axes=1"));
  else if (g_str_equal (equation, "bij, bjk -> bik"))
    onnx_output (m, 0, onnx_emit2 (m, "matmul", x, onnx_input (m, 1)));
  else if (g_str_equal (equation, "i,i"))
    onnx_output (m, 0, onnx_emit1 (m, "reduce_sum", onnx_emit2 (m, "multiply", x, onnx_input (m, 1))));
  else
    onnx_refuse (m, "a diagonal");
}

const OnnxMapRow onnx_rows_layer[] = {
  { "Conv", map_conv, NULL },
  { "ConvTranspose", map_conv_transpose, NULL },
  { "MaxPool", map_pool, "max_pool" },
  { "AveragePool", map_pool, "average_pool" },
  { "GlobalAveragePool", map_global_pool, "reduce_mean" },
  { "GlobalMaxPool", map_global_pool, "reduce_max" },
  { "MatMul", map_matmul, NULL },
  { "Gemm", map_gemm, NULL },
  { "Softmax", map_softmax, "softmax" },
  { "LogSoftmax", map_softmax, "log_softmax" },
  { "Hardmax", map_hardmax, NULL },
  { "BatchNormalization", map_batch_norm, NULL },
  { "InstanceNormalization", map_instance_norm, NULL },
  { "LayerNormalization", map_layer_norm, NULL },
  { "MeanVarianceNormalization", map_mean_variance, NULL },
  { "SoftmaxCrossEntropyLoss", map_likelihood, "log_softmax" },
  { "NegativeLogLikelihoodLoss", map_likelihood, NULL },
  { "LSTM", map_recurrent, "lstm" },
  { "GRU", map_recurrent, "gru" },
  { "RNN", map_recurrent, "simple_rnn" },
  { "Einsum", map_einsum, NULL },
  { NULL },
};
