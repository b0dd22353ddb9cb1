/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/*
 * EinsumDense: a dense layer whose axes an equation names, as in “...x,xy->...y”. Axes that input
 * and kernel share are summed over, those of the input alone are kept, those of the kernel alone are
 * new: one matrix product with the axes in that order.
 */
static const GradusArgSpec einsum_args[] = {
  { "equation", GRADUS_ARG_TEXT, NULL, 0, 64 },
  { "output_shape", GRADUS_ARG_AXES, NULL, 1, 1 << 28 },
  { "activation", GRADUS_ARG_ACTIVATION, "\"linear\"", 0, 0 },
  { "bias_axes", GRADUS_ARG_TEXT, "null", 0, 8 },
  { "kernel_initializer", GRADUS_ARG_INITIALIZER, "\"glorot_uniform\"", 0, 0 },
  { "bias_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "kernel_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "bias_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "activity_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "kernel_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "bias_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "lora_rank", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "lora_alpha", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "gptq_unpacked_column_size", GRADUS_ARG_ONLY, "null", 0, 0 },
  { "quantization_config", GRADUS_ARG_ONLY, "null", 0, 0 },
  { NULL },
};

/* Axes as letters; those under “...” are 1, 2, ... */
typedef struct
{
  char   letters[GRADUS_MAX_RANK + 1];
  gint64 sizes[GRADUS_MAX_RANK];
  guint  n;
} Axes;

typedef struct
{
  Axes input, kernel, output;
} Equation;

static gboolean
add_axis (Axes *axes, char letter)
{
  if (axes->n == GRADUS_MAX_RANK || strchr (axes->letters, letter) != NULL)
    return FALSE;
  axes->letters[axes->n++] = letter;
  return TRUE;
}

/* @elided axes stand where @text has “...”. */
static gboolean
parse_axes (const char *text, gsize length, guint elided, Axes *axes)
{
  gboolean ok = TRUE;

  for (gsize i = 0; ok && i < length; i++)
    if (length - i >= 3 && strncmp (text + i, "...", 3) == 0)
      {
        for (guint k = 0; ok && k < elided; k++)
          ok = add_axis (axes, (char) (k + 1));
        i += 2;
      }
    else
      ok = g_ascii_isalpha (text[i]) && add_axis (axes, text[i]);
  return ok;
}

static gboolean
find (const Axes *axes, char letter, guint *at)
{
  const char *found = strchr (axes->letters, letter);

  if (found != NULL && at != NULL)
    *at = (guint) (found - axes->letters);
  return found != NULL;
}

static gboolean
split (const char *text, const GradusShape *input, Equation *e)
{
  const char *comma = strchr (text, ','), *arrow = strstr (text, "->");
  gsize       letters;
  gboolean    dots;

  if (comma == NULL || arrow == NULL || arrow < comma)
    return FALSE;
  dots = g_strstr_len (text, comma - text, "...") != NULL;
  letters = (gsize) (comma - text) - (dots ? 3 : 0);
  if (dots != (strstr (arrow, "...") != NULL) || letters > input->rank || (!dots && letters != input->rank))
    return FALSE;
  return parse_axes (text, (gsize) (comma - text), input->rank - (guint) letters, &e->input)
         && parse_axes (comma + 1, (gsize) (arrow - comma - 1), 0, &e->kernel)
         && parse_axes (arrow + 2, strlen (arrow + 2), input->rank - (guint) letters, &e->output)
         && e->input.n > 0 && e->output.n > 0 && e->input.letters[0] == e->output.letters[0];
}

/* The sizes that output_shape gives: of all axes after the batch but those under “...”. */
static gboolean
set_output_sizes (const GradusArg *shape, Equation *e)
{
  guint next = 0;

  for (guint i = 0; i < e->output.n; i++)
    {
      char letter = e->output.letters[i];
      guint at;

      if (find (&e->input, letter, &at))
        e->output.sizes[i] = e->input.sizes[at];
      if (letter < 32 || i == 0)
        continue;
      if (next == shape->n)
        return FALSE;
      if (!find (&e->input, letter, NULL))
        e->output.sizes[i] = shape->ints[next];
      else if (shape->ints[next] != GRADUS_ARG_NULL && shape->ints[next] != e->output.sizes[i])
        return FALSE;
      next++;
    }
  return next == shape->n;
}

static gboolean
read_equation (const GradusLayer *layer, const GradusShape *input, Equation *e)
{
  *e = (Equation){ 0 };
  if (!split (gradus_layer_arg (layer, "equation")->text, input, e))
    return FALSE;
  memcpy (e->input.sizes, input->dims, sizeof e->input.sizes);
  if (!set_output_sizes (gradus_layer_arg (layer, "output_shape"), e))
    return FALSE;
  for (guint i = 0; i < e->input.n; i++)
    if (find (&e->output, e->input.letters[i], NULL) == find (&e->kernel, e->input.letters[i], NULL))
      return FALSE;
  for (guint i = 0, at; i < e->kernel.n; i++)
    {
      char letter = e->kernel.letters[i];

      if (find (&e->input, letter, &at))
        e->kernel.sizes[i] = e->input.sizes[at];
      else if (find (&e->output, letter, &at))
        e->kernel.sizes[i] = e->output.sizes[at];
      else
        return FALSE;
      if (e->kernel.sizes[i] < 1)
        return FALSE;
    }
  for (guint i = 0; i < e->output.n; i++)
    if (!find (&e->input, e->output.letters[i], NULL) && !find (&e->kernel, e->output.letters[i], NULL))
      return FALSE;
  return TRUE;
}

/* The sizes of the bias: 1 after its first axis where it is repeated. */
static gboolean
bias_shape (const GradusLayer *layer, const Equation *e, GradusShape *shape)
{
  const char *axes = gradus_layer_arg (layer, "bias_axes")->text;
  guint       first = e->output.n;

  *shape = (GradusShape){ .rank = 0 };
  for (guint i = 0, at; axes[i] != '\0'; i++)
    {
      if (!find (&e->output, axes[i], &at) || e->output.sizes[at] < 1)
        return FALSE;
      first = MIN (first, at);
    }
  for (guint i = first; i < e->output.n; i++)
    shape->dims[shape->rank++] = strchr (axes, e->output.letters[i]) != NULL ? e->output.sizes[i] : 1;
  return shape->rank > 0;
}

static gboolean
einsum_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  Equation    e;
  GradusShape bias;

  if (!read_equation (layer, &inputs[0], &e)
      || (!gradus_layer_arg (layer, "bias_axes")->is_null && !bias_shape (layer, &e, &bias)))
    {
      g_autofree char *met = gradus_shape_to_string (&inputs[0]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("its input has the shape %s, which its equation “%s” with its output_shape and bias_axes does not "
                     "describe. Write input,kernel->output with a letter an axis, as in “abc,cd->abd”; the batch comes "
                     "first, every axis of the input is in the kernel or in the output, and output_shape leaves the batch "
                     "out."),
                   met, gradus_layer_arg (layer, "equation")->text);
      return FALSE;
    }
  *output = (GradusShape){ .rank = e.output.n };
  memcpy (output->dims, e.output.sizes, sizeof output->dims);
  return TRUE;
}

static guint
einsum_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  Equation    e;
  GradusShape kernel = { 0 }, bias;

  read_equation (layer, input, &e);
  kernel.rank = e.kernel.n;
  memcpy (kernel.dims, e.kernel.sizes, sizeof kernel.dims);
  weights[0] = (GradusWeightSpec){ "kernel", kernel, FALSE, &gradus_layer_arg (layer, "kernel_initializer")->initializer };
  if (gradus_layer_arg (layer, "bias_axes")->is_null)
    return 1;
  bias_shape (layer, &e, &bias);
  weights[1] = (GradusWeightSpec){ "bias", bias, FALSE, &gradus_layer_arg (layer, "bias_initializer")->initializer };
  return 2;
}

/* @value, whose axes are @from, with those of @order. */
static gboolean
reorder (GradusLayerBuild *b, const Axes *from, const Axes *order, GradusValueId *value, GError **error)
{
  gint64   perm[GRADUS_MAX_RANK];
  gboolean same = TRUE;

  for (guint i = 0; i < order->n; i++)
    {
      guint at = 0;

      find (from, order->letters[i], &at);
      perm[i] = at;
      same = same && at == i;
    }
  return same
         || gradus_program_add_node (b->program, "transpose", 0, value, 1, value, error, "perm", order->n, perm, NULL);
}

static void
append (Axes *axes, const Axes *from, const Axes *in, gboolean wanted)
{
  for (guint i = 0; i < from->n; i++)
    if (find (in, from->letters[i], NULL) == wanted)
      {
        axes->sizes[axes->n] = from->sizes[i];
        axes->letters[axes->n++] = from->letters[i];
      }
}

static gint64
product_of (const Axes *axes)
{
  gint64 product = 1;

  for (guint i = 0; i < axes->n; i++)
    product *= axes->sizes[i];
  return product;
}

static gboolean
reshape (GradusLayerBuild *b, GradusValueId *value, const gint64 *dims, guint n, GError **error)
{
  return gradus_program_add_node (b->program, "reshape", 0, value, 1, value, error, "shape", n, dims, NULL);
}

/* The product with the axes that are kept, then those that are new. */
static gboolean
multiply (const GradusLayer *layer, GradusLayerBuild *b, const Equation *e, Axes *made, GradusValueId *value, GError **error)
{
  Axes          summed = { 0 }, rows = { 0 }, columns = { 0 }, fresh = { 0 };
  GradusValueId pair[2] = { b->inputs[0], gradus_layer_weight (layer, b, "kernel") };
  gint64        matrix[2];

  append (&summed, &e->input, &e->kernel, TRUE);
  append (&fresh, &e->kernel, &e->input, FALSE);
  append (made, &e->input, &e->kernel, FALSE);
  append (&rows, &e->input, &e->kernel, FALSE);
  append (&rows, &summed, &summed, TRUE);
  append (&columns, &summed, &summed, TRUE);
  append (&columns, &fresh, &fresh, TRUE);
  matrix[0] = product_of (&summed);
  matrix[1] = product_of (&fresh);
  if (!reorder (b, &e->input, &rows, &pair[0], error) || !reorder (b, &e->kernel, &columns, &pair[1], error)
      || !reshape (b, &pair[1], matrix, 2, error))
    return FALSE;
  made->sizes[made->n] = matrix[0];
  if (!reshape (b, &pair[0], made->sizes, made->n + 1, error)
      || !gradus_program_add_node (b->program, "matmul", 0, pair, 2, value, error, NULL))
    return FALSE;
  append (made, &fresh, &fresh, TRUE);
  return reshape (b, value, made->sizes, made->n, error);
}

static gboolean
add_bias (const GradusLayer *layer, GradusLayerBuild *b, const Equation *e, GradusValueId *value, GError **error)
{
  GradusValueId pair[2] = { *value, GRADUS_NO_VALUE };
  GradusShape   shape, wide = { .rank = e->output.n };

  if (gradus_layer_arg (layer, "bias_axes")->is_null)
    return TRUE;
  pair[1] = gradus_layer_weight (layer, b, "bias");
  bias_shape (layer, e, &shape);
  if (shape.rank == 1)
    return gradus_program_add_node (b->program, "bias_add", 0, pair, 2, value, error, NULL);
  for (guint i = 0; i < wide.rank; i++)
    wide.dims[i] = i < wide.rank - shape.rank ? 1 : shape.dims[i - (wide.rank - shape.rank)];
  return reshape (b, &pair[1], wide.dims, wide.rank, error)
         && gradus_program_add_node (b->program, "add", 0, pair, 2, value, error, NULL);
}

static gboolean
einsum_build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  const GradusActivation *activation = gradus_layer_arg (layer, "activation")->activation;
  Equation      e;
  Axes          made = { 0 };
  GradusValueId value;

  read_equation (layer, &b->shapes[0], &e);
  if (!multiply (layer, b, &e, &made, &value, error) || !reorder (b, &made, &e.output, &value, error)
      || !add_bias (layer, b, &e, &value, error))
    return FALSE;
  if (g_strcmp0 (activation->op, "softmax") == 0)
    b->logits = value;
  return gradus_activation_build (activation, b->program, value, &b->output, error);
}

const GradusLayerClass gradus_layer_einsum_dense = {
  .name = "EinsumDense", .snake = "einsum_dense", .args = einsum_args, .min_inputs = 1, .max_inputs = 1,
  .infer = einsum_infer, .weights = einsum_weights, .build = einsum_build, .mask = GRADUS_MASK_PASSES,
};
