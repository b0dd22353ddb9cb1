/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>

/*
 * Attention: a query looks at keys and gets the mean of their values, weighted by how well they fit.
 * In many heads: A. Vaswani et al., “Attention Is All You Need”, 2017; of one head: M.-T. Luong,
 * H. Pham, C. D. Manning, 2015 (dot) and D. Bahdanau, K. Cho, Y. Bengio, 2015 (additive).
 * A query that may look at nothing gets zeros.
 */
enum
{
  QUERY,
  VALUE,
  KEY,
};

static gboolean
emit (GradusLayerBuild *b, const char *op, GradusValueId x, GradusValueId y, GradusValueId *out, GError **error)
{
  const GradusValueId inputs[2] = { x, y };

  return gradus_program_add_node (b->program, op, 0, inputs, y == GRADUS_NO_VALUE ? 1 : 2, out, error, NULL);
}

static gboolean
reshape (GradusLayerBuild *b, GradusValueId *value, GradusShape shape, GError **error)
{
  return gradus_program_add_node (b->program, "reshape", 0, value, 1, value, error, "shape", shape.rank, shape.dims, NULL);
}

/* The mask of input @i: what the call was given, else what came with the input. */
static GradusValueId
mask_of (const GradusLayerBuild *b, guint i)
{
  static const GradusCallMask kinds[] = { GRADUS_CALL_QUERY_MASK, GRADUS_CALL_VALUE_MASK, GRADUS_CALL_KEY_MASK };
  guint given = b->options.mask[kinds[i]];

  if (given > 0)
    return b->mask_inputs[given - 1];
  return i < b->n_inputs ? b->masks[i] : GRADUS_NO_VALUE;
}

/* Both must allow it. */
static gboolean
join_mask (GradusLayerBuild *b, GradusValueId more, GradusValueId *mask, GError **error)
{
  if (*mask == GRADUS_NO_VALUE)
    *mask = more;
  else
    return emit (b, "multiply", *mask, more, mask, error);
  return TRUE;
}

static gboolean
drop (const GradusLayer *layer, GradusLayerBuild *b, GradusValueId *value, GError **error)
{
  double           rate = gradus_layer_arg (layer, "dropout")->f;
  const GradusArg *seed = gradus_layer_arg (layer, "seed");
  g_autofree char *name = g_strdup_printf ("%s/rate", layer->name);
  g_autoptr (GString) purpose = g_string_new ("dropout");
  GradusValueId    inputs[2];

  if (!b->training || rate == 0)
    return TRUE;
  if (!seed->is_null)
    g_string_append_printf (purpose, "/%" G_GINT64_FORMAT, seed->i);
  if (b->use > 0)
    g_string_append_printf (purpose, "/use/%u", b->use);
  inputs[0] = *value;
  inputs[1] = gradus_program_add_hyper (b->program, name, rate);
  return gradus_program_add_node (b->program, "dropout", gradus_layer_stream (layer, purpose->str), inputs, 2, value, error, NULL);
}

static gboolean
softmax (GradusLayerBuild *b, GradusValueId *scores, GradusValueId mask, GError **error)
{
  const GradusValueId inputs[2] = { *scores, mask };

  if (mask == GRADUS_NO_VALUE && !b->options.causal)
    return emit (b, "softmax", *scores, GRADUS_NO_VALUE, scores, error);
  return gradus_program_add_node (b->program, "masked_softmax", 0, inputs, mask == GRADUS_NO_VALUE ? 1 : 2, scores, error,
                                  "causal", (gint64) b->options.causal, NULL);
}

static gboolean
product (GradusLayerBuild *b, GradusValueId x, GradusValueId y, gboolean transpose, GradusValueId *out, GError **error)
{
  const GradusValueId inputs[2] = { x, y };

  return gradus_program_add_node (b->program, "matmul", 0, inputs, 2, out, error, "transpose_b", (gint64) transpose, NULL);
}

static gboolean
refuse_shapes (const GradusShape *inputs, guint n, const char *repair, GError **error)
{
  g_autoptr (GString) met = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *shape = gradus_shape_to_string (&inputs[i]);

      g_string_append_printf (met, "%s%s", i > 0 ? ", " : "", shape);
    }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _("its inputs have the shapes %s. %s"), met->str, repair);
  return FALSE;
}

static gboolean
check_rate (const GradusLayer *layer, GError **error)
{
  if (gradus_layer_arg (layer, "dropout")->f < 1)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("its rate is 1, which drops everything. Choose a rate below 1."));
  return FALSE;
}

/* MultiHeadAttention */
static const GradusArgSpec multi_head_args[] = {
  { "num_heads", GRADUS_ARG_INT, NULL, 1, 1 << 16 },
  { "key_dim", GRADUS_ARG_INT, NULL, 1, 1 << 20 },
  { "value_dim", GRADUS_ARG_INT, "null", 1, 1 << 20 },
  { "dropout", GRADUS_ARG_FLOAT, "0.0", 0, 1 },
  { "use_bias", GRADUS_ARG_BOOL, "true", 0, 0 },
  { "output_shape", GRADUS_ARG_AXES, "null", 1, 1 << 28 },
  { "attention_axes", GRADUS_ARG_AXES, "null", -GRADUS_MAX_RANK, GRADUS_MAX_RANK - 1 },
  { "sliding_window", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "flash_attention", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "kernel_initializer", GRADUS_ARG_INITIALIZER, "\"glorot_uniform\"", 0, 0 },
  { "bias_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "kernel_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "bias_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "activity_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "kernel_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "bias_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "use_gate", GRADUS_ARG_ONLY, "false", 0, 0 },
  { "seed", GRADUS_ARG_SEED, "null", 0, 0 },
  { NULL },
};

static gint64
value_dim (const GradusLayer *layer)
{
  const GradusArg *value = gradus_layer_arg (layer, "value_dim");

  return value->is_null ? gradus_layer_arg (layer, "key_dim")->i : value->i;
}

/* Attention goes over all axes between the batch and the features, or else it is refused. */
static gboolean
check_axes (const GradusLayer *layer, const GradusShape *query, GError **error)
{
  const GradusArg *axes = gradus_layer_arg (layer, "attention_axes");
  guint32 seen = 0;

  for (guint i = 0; i < axes->n && !axes->is_null; i++)
    seen |= 1u << ((axes->ints[i] < 0 ? axes->ints[i] + query->rank : axes->ints[i]) & 31);
  if (axes->is_null || seen == (1u << (query->rank - 1)) - 2)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("this version of Gradus attends over all axes between the batch and the features. Leave "
                         "attention_axes out."));
  return FALSE;
}

static gboolean
multi_head_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  const GradusArg *shape = gradus_layer_arg (layer, "output_shape");
  const GradusShape *value = &inputs[VALUE], *key = n_inputs > KEY ? &inputs[KEY] : value;
  gboolean fits = inputs[QUERY].rank >= 3 && value->rank >= 3 && key->rank == value->rank;

  for (guint i = 0; fits && i + 1 < value->rank; i++)
    fits = key->dims[i] == value->dims[i];
  if (!fits || inputs[QUERY].dims[0] != value->dims[0])
    return refuse_shapes (inputs, n_inputs,
                          _("It takes a query (None, steps, features) and a value (None, steps, features), and a key "
                            "with as many steps as the value."),
                          error);
  if ((inputs[QUERY].rank > 3 && gradus_shape_has_time (&inputs[QUERY])) || (value->rank > 3 && gradus_shape_has_time (value)))
    return refuse_shapes (inputs, n_inputs, _("Only with one axis of steps may their number be free (null)."), error);
  if (!check_rate (layer, error) || !check_axes (layer, &inputs[QUERY], error))
    return FALSE;
  *output = inputs[QUERY];
  if (shape->is_null)
    return TRUE;
  if (inputs[QUERY].rank - 1 + shape->n > GRADUS_MAX_RANK)
    return refuse_shapes (inputs, n_inputs, _("Its output_shape has too many axes."), error);
  output->rank = inputs[QUERY].rank - 1 + shape->n;
  for (guint i = 0; i < shape->n; i++)
    output->dims[inputs[QUERY].rank - 1 + i] = shape->ints[i];
  return TRUE;
}

static gint64
features (const GradusShape *shape)
{
  return shape->dims[shape->rank - 1];
}

static guint
multi_head_weights (const GradusLayer *layer, const GradusShape *inputs, GradusWeightSpec *weights)
{
  static const char *const kernels[] = { "query/kernel", "key/kernel", "value/kernel" };
  static const char *const biases[] = { "query/bias", "key/bias", "value/bias" };
  const GradusShape *key = inputs[KEY].rank > 0 ? &inputs[KEY] : &inputs[VALUE];
  const gint64 from[] = { features (&inputs[QUERY]), features (key), features (&inputs[VALUE]) };
  gint64 heads = gradus_layer_arg (layer, "num_heads")->i, key_dim = gradus_layer_arg (layer, "key_dim")->i;
  const gint64 to[] = { key_dim, key_dim, value_dim (layer) };
  const GradusInitializer *kernel = &gradus_layer_arg (layer, "kernel_initializer")->initializer;
  const GradusInitializer *bias = &gradus_layer_arg (layer, "bias_initializer")->initializer;
  const GradusArg *shape = gradus_layer_arg (layer, "output_shape");
  GradusShape out = gradus_shape (3, heads, value_dim (layer), from[QUERY]), out_bias = gradus_shape (1, from[QUERY]);
  gboolean use_bias = gradus_layer_arg (layer, "use_bias")->i != 0;
  guint n = 0;

  for (guint i = 0; i < 3; i++)
    {
      weights[n++] = (GradusWeightSpec){ kernels[i], gradus_shape (3, from[i], heads, to[i]), FALSE, kernel };
      if (use_bias)
        weights[n++] = (GradusWeightSpec){ biases[i], gradus_shape (2, heads, to[i]), FALSE, bias };
    }
  if (!shape->is_null)
    {
      out.rank = 2 + shape->n;
      out_bias.rank = shape->n;
      for (guint i = 0; i < shape->n; i++)
        out.dims[2 + i] = out_bias.dims[i] = shape->ints[i];
    }
  weights[n++] = (GradusWeightSpec){ "attention_output/kernel", out, FALSE, kernel };
  if (use_bias)
    weights[n++] = (GradusWeightSpec){ "attention_output/bias", out_bias, FALSE, bias };
  return n;
}

/* @value (None, steps, from) times the kernel of @part, as a matrix from x to, and its bias. */
static gboolean
project (const GradusLayer *layer, GradusLayerBuild *b, const char *part, gint64 from, gint64 to, GradusValueId *value, GError **error)
{
  g_autofree char *kernel_name = g_strdup_printf ("%s/kernel", part), *bias_name = g_strdup_printf ("%s/bias", part);
  GradusValueId kernel = gradus_layer_weight (layer, b, kernel_name), bias;

  if (!reshape (b, &kernel, gradus_shape (2, from, to), error) || !product (b, *value, kernel, FALSE, value, error))
    return FALSE;
  if (!gradus_layer_arg (layer, "use_bias")->i)
    return TRUE;
  bias = gradus_layer_weight (layer, b, bias_name);
  return reshape (b, &bias, gradus_shape (1, to), error) && emit (b, "bias_add", *value, bias, value, error);
}

/* Between (None, steps, heads, size) and (None, heads, steps, size). */
static gboolean
swap_heads (GradusLayerBuild *b, GradusValueId *value, GError **error)
{
  static const gint64 perm[] = { 0, 2, 1, 3 };

  return gradus_program_add_node (b->program, "transpose", 0, value, 1, value, error, "perm", 4u, perm, NULL);
}

/* The steps of an input, whose axes between batch and features are one. */
static gint64
steps_of (const GradusShape *shape)
{
  gint64 steps = shape->dims[1];

  for (guint i = 2; i + 1 < shape->rank; i++)
    steps *= shape->dims[i];
  return steps;
}

/* Input @i as (None, heads, steps, size). */
static gboolean
make_heads (const GradusLayer *layer, GradusLayerBuild *b, guint i, const char *part, gint64 size, GradusValueId *value, GError **error)
{
  const GradusShape *shape = &b->shapes[i];
  gint64 heads = gradus_layer_arg (layer, "num_heads")->i, steps = steps_of (shape);

  *value = b->inputs[i];
  if (shape->rank > 3 && !reshape (b, value, gradus_shape (3, shape->dims[0], steps, features (shape)), error))
    return FALSE;
  return project (layer, b, part, features (shape), heads * size, value, error)
         && reshape (b, value, gradus_shape (4, shape->dims[0], steps, heads, size), error)
         && swap_heads (b, value, error);
}

/* A mask of the steps of input @i where scores (None, heads, query, key) have them. */
static gboolean
add_step_mask (GradusLayerBuild *b, guint i, GradusValueId *mask, GError **error)
{
  GradusValueId more = mask_of (b, i);
  const GradusShape *shape = &b->shapes[MIN (i, b->n_inputs - 1)];
  gint64 steps = steps_of (shape), one = 1;

  if (more == GRADUS_NO_VALUE || shape->rank > 3)
    return TRUE;
  return reshape (b, &more, gradus_shape (4, shape->dims[0], one, i == QUERY ? steps : one, i == QUERY ? one : steps), error)
         && join_mask (b, more, mask, error);
}

static gboolean
add_attention_mask (GradusLayerBuild *b, GradusValueId *mask, GError **error)
{
  guint given = b->options.mask[GRADUS_CALL_ATTENTION_MASK];
  GradusValueId more;
  GradusShape shape;

  if (given == 0)
    return TRUE;
  more = b->mask_inputs[given - 1];
  shape = b->mask_shapes[given - 1];
  if (shape.rank == 3)
    shape = gradus_shape (4, shape.dims[0], (gint64) 1, shape.dims[1], shape.dims[2]);
  if (shape.rank != 4)
    return refuse_shapes (b->mask_shapes, b->options.n_masks,
                          _("An attention mask has the shape (None, steps of the query, steps of the value)."), error);
  return reshape (b, &more, shape, error) && join_mask (b, more, mask, error);
}

static gboolean
multi_head_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  gint64 heads = gradus_layer_arg (layer, "num_heads")->i, key_dim = gradus_layer_arg (layer, "key_dim")->i;
  const GradusShape *out = &b->output_shape;
  guint key_input = b->n_inputs > KEY ? KEY : VALUE;
  GradusValueId q, k, v, scores, mask = GRADUS_NO_VALUE, mixed;
  gint64 to = 1;

  for (guint i = b->shapes[QUERY].rank - 1; i < out->rank; i++)
    to *= out->dims[i];
  if (!make_heads (layer, b, QUERY, "query", key_dim, &q, error)
      || !gradus_program_add_node (b->program, "affine", 0, &q, 1, &q, error, "scale", 1 / sqrt ((double) key_dim), NULL)
      || !make_heads (layer, b, key_input, "key", key_dim, &k, error)
      || !make_heads (layer, b, VALUE, "value", value_dim (layer), &v, error)
      || !product (b, q, k, TRUE, &scores, error))
    return FALSE;
  if (!add_step_mask (b, QUERY, &mask, error) || !add_step_mask (b, VALUE, &mask, error)
      || (b->n_inputs > KEY && !add_step_mask (b, KEY, &mask, error)) || !add_attention_mask (b, &mask, error)
      || !softmax (b, &scores, mask, error) || !drop (layer, b, &scores, error)
      || !product (b, scores, v, FALSE, &mixed, error) || !swap_heads (b, &mixed, error))
    return FALSE;
  b->output_mask = mask_of (b, QUERY);
  return reshape (b, &mixed, gradus_shape (3, out->dims[0], steps_of (&b->shapes[QUERY]), heads * value_dim (layer)), error)
         && project (layer, b, "attention_output", heads * value_dim (layer), to, &mixed, error)
         && (b->output = mixed, gradus_shape_equal (&gradus_program_value (b->program, mixed)->type.shape, out)
                                    || reshape (b, &b->output, *out, error));
}

const GradusLayerClass gradus_layer_multi_head_attention = {
  .name = "MultiHeadAttention",
  .snake = "multi_head_attention",
  .args = multi_head_args,
  .min_inputs = 2,
  .max_inputs = 3,
  .infer = multi_head_infer,
  .weights = multi_head_weights,
  .build = multi_head_build,
  .mask = GRADUS_MASK_OWN,
  .call = GRADUS_CALL_SEPARATE | GRADUS_CALL_CAUSAL | GRADUS_CALL_MASKS,
};

/* Attention and AdditiveAttention */
static const GradusArgSpec attention_args[] = {
  { "use_scale", GRADUS_ARG_BOOL, "false", 0, 0 },
  { "score_mode", GRADUS_ARG_TEXT, "\"dot\"", 0, 16 },
  { "dropout", GRADUS_ARG_FLOAT, "0.0", 0, 1 },
  { "seed", GRADUS_ARG_SEED, "null", 0, 0 },
  { NULL },
};

static const GradusArgSpec additive_args[] = {
  { "use_scale", GRADUS_ARG_BOOL, "true", 0, 0 },
  { "dropout", GRADUS_ARG_FLOAT, "0.0", 0, 1 },
  { "seed", GRADUS_ARG_SEED, "null", 0, 0 },
  { NULL },
};

static gboolean
is_additive (const GradusLayer *layer)
{
  return layer->klass == &gradus_layer_additive_attention;
}

static gboolean
is_dot (const GradusLayer *layer)
{
  return !is_additive (layer) && g_str_equal (gradus_layer_arg (layer, "score_mode")->text, "dot");
}

static gboolean
attention_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  const GradusShape *query = &inputs[QUERY], *value = &inputs[VALUE], *key = n_inputs > KEY ? &inputs[KEY] : value;

  if (!is_additive (layer) && !is_dot (layer) && !g_str_equal (gradus_layer_arg (layer, "score_mode")->text, "concat"))
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _("its score_mode must be “dot” or “concat”."));
      return FALSE;
    }
  if (query->rank != 3 || value->rank != 3 || key->rank != 3 || query->dims[2] != key->dims[2]
      || value->dims[1] != key->dims[1])
    return refuse_shapes (inputs, n_inputs,
                          _("It takes a query (None, steps, features) and a value (None, steps, features) of as many "
                            "features, and a key with the features of the query and the steps of the value."),
                          error);
  *output = *query;
  output->dims[2] = value->dims[2];
  return check_rate (layer, error);
}

static guint
attention_weights (const GradusLayer *layer, const GradusShape *inputs, GradusWeightSpec *weights)
{
  const GradusInitializer *ones = gradus_initializer_named ("ones");
  const GradusInitializer *glorot = gradus_initializer_named ("glorot_uniform");
  GradusShape scalar = { .rank = 0 };
  guint n = 0;

  if (is_additive (layer))
    {
      if (gradus_layer_arg (layer, "use_scale")->i)
        weights[n++] = (GradusWeightSpec){ "scale", gradus_shape (1, features (&inputs[QUERY])), FALSE, glorot };
      return n;
    }
  if (gradus_layer_arg (layer, "use_scale")->i)
    weights[n++] = (GradusWeightSpec){ "scale", scalar, FALSE, ones };
  if (!is_dot (layer))
    weights[n++] = (GradusWeightSpec){ "concat_score_weight", scalar, FALSE, ones };
  return n;
}

/* sum(w tanh(s (query + key))) over the features: w or s is what the layer learns. */
static gboolean
additive_scores (const GradusLayer *layer, GradusLayerBuild *b, GradusValueId q, GradusValueId k, GradusValueId *scores, GError **error)
{
  const GradusShape *query = &b->shapes[QUERY], *value = &b->shapes[VALUE];
  gint64 one = 1, size = query->dims[2], last[] = { 3 };
  gboolean scaled = gradus_layer_arg (layer, "use_scale")->i != 0;
  GradusValueId scale = GRADUS_NO_VALUE;

  if (scaled)
    scale = gradus_layer_weight (layer, b, "scale");
  if (!reshape (b, &q, gradus_shape (4, query->dims[0], query->dims[1], one, size), error)
      || !reshape (b, &k, gradus_shape (4, value->dims[0], one, value->dims[1], size), error)
      || !emit (b, "add", q, k, scores, error)
      || (scaled && !is_additive (layer) && !emit (b, "multiply", *scores, scale, scores, error))
      || !emit (b, "tanh", *scores, GRADUS_NO_VALUE, scores, error))
    return FALSE;
  if (scaled && is_additive (layer)
      && (!reshape (b, &scale, gradus_shape (4, one, one, one, size), error)
          || !emit (b, "multiply", *scores, scale, scores, error)))
    return FALSE;
  return gradus_program_add_node (b->program, "reduce_sum", 0, scores, 1, scores, error, "axes", 1u, last, NULL)
         && (is_additive (layer)
             || emit (b, "multiply", *scores, gradus_layer_weight (layer, b, "concat_score_weight"), scores, error));
}

static gboolean
dot_scores (const GradusLayer *layer, GradusLayerBuild *b, GradusValueId q, GradusValueId k, GradusValueId *scores, GError **error)
{
  if (!product (b, q, k, TRUE, scores, error))
    return FALSE;
  return !gradus_layer_arg (layer, "use_scale")->i
         || emit (b, "multiply", *scores, gradus_layer_weight (layer, b, "scale"), scores, error);
}

static gboolean
attention_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusValueId q = b->inputs[QUERY], v = b->inputs[VALUE], k = b->n_inputs > KEY ? b->inputs[KEY] : v, scores;
  GradusValueId query_mask = b->masks[QUERY], mask = b->masks[VALUE];
  const GradusShape *query = &b->shapes[QUERY], *value = &b->shapes[VALUE];
  gint64 one = 1;

  b->output_mask = query_mask;
  if (!(is_dot (layer) ? dot_scores (layer, b, q, k, &scores, error) : additive_scores (layer, b, q, k, &scores, error)))
    return FALSE;
  if (mask != GRADUS_NO_VALUE && !reshape (b, &mask, gradus_shape (3, value->dims[0], one, value->dims[1]), error))
    return FALSE;
  if (!softmax (b, &scores, mask, error) || !drop (layer, b, &scores, error)
      || !product (b, scores, v, FALSE, &b->output, error))
    return FALSE;
  return query_mask == GRADUS_NO_VALUE
         || (reshape (b, &query_mask, gradus_shape (3, query->dims[0], query->dims[1], one), error)
             && emit (b, "multiply", b->output, query_mask, &b->output, error));
}

#define ATTENTION(Name, Snake, Args)                                                                               \
  {                                                                                                                \
    .name = Name, .snake = Snake, .args = Args, .min_inputs = 2, .max_inputs = 3, .infer = attention_infer,        \
    .weights = attention_weights, .build = attention_build, .mask = GRADUS_MASK_OWN, .call = GRADUS_CALL_CAUSAL,   \
  }

const GradusLayerClass gradus_layer_attention = ATTENTION ("Attention", "attention", attention_args);
const GradusLayerClass gradus_layer_additive_attention = ATTENTION ("AdditiveAttention", "additive_attention", additive_args);
