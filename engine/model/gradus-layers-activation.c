/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer.h"

#include <glib/gi18n-lib.h>
#include <math.h>

static gboolean
same_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  *output = inputs[0];
  return TRUE;
}

/* ReLU: above max_value that, from threshold on x, below negative_slope (x - threshold). */
static const GradusArgSpec relu_args[] = {
  { "max_value", GRADUS_ARG_FLOAT, "null", 0, 1e30 },
  { "negative_slope", GRADUS_ARG_FLOAT, "0.0", 0, 1e30 },
  { "threshold", GRADUS_ARG_FLOAT, "0.0", 0, 1e30 },
  { NULL },
};

static GradusValueId
number (GradusLayerBuild *build, double value)
{
  float single = (float) value;

  return gradus_program_add_constant (build->program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &single);
}

/* Below the threshold x may be anything: it is chosen, not multiplied by 0. */
static gboolean
relu_bent (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  double        slope = gradus_layer_arg (layer, "negative_slope")->f, threshold = gradus_layer_arg (layer, "threshold")->f;
  GradusValueId above[2] = { build->inputs[0], number (build, threshold) }, choice[3] = { 0, build->inputs[0], 0 };

  return gradus_program_add_node (build->program, "greater_equal", 0, above, 2, &choice[0], error, NULL)
         && gradus_program_add_node (build->program, "affine", 0, build->inputs, 1, &choice[2], error, "scale", slope,
                                     "offset", -slope * threshold, NULL)
         && gradus_program_add_node (build->program, "where", 0, choice, 3, &build->output, error, NULL);
}

static gboolean
relu_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  const GradusArg *most = gradus_layer_arg (layer, "max_value");
  gboolean         plain = gradus_layer_arg (layer, "negative_slope")->f == 0 && gradus_layer_arg (layer, "threshold")->f == 0;
  GradusValueId    pair[2];

  if (plain ? !gradus_program_add_node (build->program, "relu", 0, build->inputs, 1, &build->output, error, NULL)
            : !relu_bent (layer, build, error))
    return FALSE;
  if (most->is_null)
    return TRUE;
  pair[0] = build->output;
  pair[1] = number (build, most->f);
  return gradus_program_add_node (build->program, "minimum", 0, pair, 2, &build->output, error, NULL);
}

const GradusLayerClass gradus_layer_re_lu = {
  .name = "ReLU", .snake = "re_lu", .args = relu_args, .min_inputs = 1, .max_inputs = 1,
  .infer = same_infer, .build = relu_build, .mask = GRADUS_MASK_PASSES,
};

static const GradusArgSpec leaky_args[] = {
  { "negative_slope", GRADUS_ARG_FLOAT, "0.3", 0, 1e30 },
  { NULL },
};

static gboolean
leaky_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return gradus_program_add_node (build->program, "leaky_relu", 0, build->inputs, 1, &build->output, error, "alpha",
                                  gradus_layer_arg (layer, "negative_slope")->f, NULL);
}

const GradusLayerClass gradus_layer_leaky_re_lu = {
  .name = "LeakyReLU", .snake = "leaky_re_lu", .args = leaky_args, .min_inputs = 1, .max_inputs = 1,
  .infer = same_infer, .build = leaky_build, .mask = GRADUS_MASK_PASSES,
};

static const GradusArgSpec elu_args[] = {
  { "alpha", GRADUS_ARG_FLOAT, "1.0", 0, 1e30 },
  { NULL },
};

static gboolean
elu_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  return gradus_program_add_node (build->program, "elu", 0, build->inputs, 1, &build->output, error, "alpha",
                                  gradus_layer_arg (layer, "alpha")->f, NULL);
}

const GradusLayerClass gradus_layer_elu = {
  .name = "ELU", .snake = "elu", .args = elu_args, .min_inputs = 1, .max_inputs = 1,
  .infer = same_infer, .build = elu_build, .mask = GRADUS_MASK_PASSES,
};

/* PReLU: max(x, 0) - alpha max(-x, 0), an alpha for each place but along the shared axes. */
static const GradusArgSpec prelu_args[] = {
  { "alpha_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 },
  { "alpha_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },
  { "alpha_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },
  { "shared_axes", GRADUS_ARG_DIMS, "null", 1, GRADUS_MAX_RANK - 1 },
  { NULL },
};

static GradusShape
alpha_shape (const GradusLayer *layer, const GradusShape *input)
{
  const GradusArg *shared = gradus_layer_arg (layer, "shared_axes");
  GradusShape      shape = { .rank = input->rank - 1 };

  for (guint i = 0; i < shape.rank; i++)
    shape.dims[i] = input->dims[i + 1];
  for (guint i = 0; !shared->is_null && i < shared->n; i++)
    shape.dims[shared->ints[i] - 1] = 1;
  return shape;
}

static gboolean
prelu_infer (const GradusLayer *layer, const GradusShape *inputs, guint n_inputs, GradusShape *output, GError **error)
{
  const GradusArg *shared = gradus_layer_arg (layer, "shared_axes");
  g_autofree char *met = gradus_shape_to_string (&inputs[0]);
  GradusShape      alpha;
  gboolean         fits = inputs[0].rank > 1;

  for (guint i = 0; fits && !shared->is_null && i < shared->n; i++)
    fits = shared->ints[i] < inputs[0].rank;
  if (fits)
    {
      alpha = alpha_shape (layer, &inputs[0]);
      fits = !gradus_shape_is_free (&alpha);
    }
  if (!fits)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("its input has the shape %s. Share axes that it has, and those whose size is not known; the first axis after the batch is 1."), met);
      return FALSE;
    }
  *output = inputs[0];
  return TRUE;
}

static guint
prelu_weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *weights)
{
  weights[0] = (GradusWeightSpec){ "alpha", alpha_shape (layer, input), FALSE, &gradus_layer_arg (layer, "alpha_initializer")->initializer };
  return 1;
}

static gboolean
prelu_build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusShape   alpha = alpha_shape (layer, &build->shapes[0]), wide = { .rank = alpha.rank + 1, .dims = { 1 } };
  GradusValueId a = gradus_layer_weight (layer, build, "alpha"), minus, below[2], parts[2];

  for (guint i = 0; i < alpha.rank; i++)
    wide.dims[i + 1] = alpha.dims[i];
  if (!gradus_program_add_node (build->program, "reshape", 0, &a, 1, &below[1], error, "shape", wide.rank, wide.dims, NULL)
      || !gradus_program_add_node (build->program, "negative", 0, build->inputs, 1, &minus, error, NULL)
      || !gradus_program_add_node (build->program, "relu", 0, &minus, 1, &below[0], error, NULL)
      || !gradus_program_add_node (build->program, "multiply", 0, below, 2, &parts[1], error, NULL)
      || !gradus_program_add_node (build->program, "relu", 0, build->inputs, 1, &parts[0], error, NULL))
    return FALSE;
  return gradus_program_add_node (build->program, "subtract", 0, parts, 2, &build->output, error, NULL);
}

const GradusLayerClass gradus_layer_p_re_lu = {
  .name = "PReLU", .snake = "p_re_lu", .args = prelu_args, .min_inputs = 1, .max_inputs = 1,
  .infer = prelu_infer, .weights = prelu_weights, .build = prelu_build, .mask = GRADUS_MASK_PASSES,
};
