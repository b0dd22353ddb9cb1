/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* Elements without the batch axis, and how many of it there are. */
static gint64
known_count (const GradusShape *shape, guint *n_free)
{
  GradusShape bound = gradus_shape_bind (shape, gradus_sizes (1, 1));

  *n_free = 0;
  for (guint i = 0; i < shape->rank; i++)
    *n_free += shape->dims[i] < 0;
  return gradus_shape_count (&bound);
}

/* Where the batch has a fixed size, -1 stands for what is left of @count. */
static void
resolve_free_axis (GradusShape *shape, gint64 count)
{
  guint  n_free;
  gint64 known = known_count (shape, &n_free);

  for (guint i = 0; n_free == 1 && known > 0 && i < shape->rank; i++)
    if (shape->dims[i] < 0)
      shape->dims[i] = count / known;
}

GRADUS_INFER (infer_reshape)
{
  guint         n, free_x, free_y;
  const gint64 *dims = gradus_node_ints (node, "shape", &n);
  GradusShape   y = { .rank = MIN (n, GRADUS_MAX_RANK) };
  gint64        count_x, count_y;

  if (n > GRADUS_MAX_RANK)
    return gradus_op_refuse (node, inputs, error, _ ("A shape has at most %d axes."),
                             GRADUS_MAX_RANK);
  for (guint i = 0; i < n; i++)
    {
      if (dims[i] < GRADUS_DIM_TIME)
        return gradus_op_refuse (node, inputs, error, _ ("Sizes of a shape are not negative."));
      y.dims[i] = dims[i];
    }
  count_x = known_count (&inputs[0].shape, &free_x);
  if (free_x == 0)
    resolve_free_axis (&y, count_x);
  count_y = known_count (&y, &free_y);
  if (free_x != free_y || gradus_shape_has_time (&inputs[0].shape) != gradus_shape_has_time (&y) || count_x != count_y || count_x < 0)
    {
      g_autofree char *text = gradus_shape_to_string (&y);

      return gradus_op_refuse (
          node, inputs, error,
          _ ("It cannot take the shape %s: the number of elements would change "
             "from %.0f to %.0f."),
          text, (double) count_x, (double) count_y);
    }
  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape = y;
  return TRUE;
}

GRADUS_GRADIENT (gradient_reshape)
{
  GradusShape x = gradus_op_type (program, node->inputs[0])->shape;

  return gradus_program_add_node (program, "reshape", 0, output_gradients, 1, &input_gradients[0],
                                  error, "shape", x.rank, x.dims, NULL);
}

static void
copy_elements (const GradusReferenceCall *call)
{
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = call->inputs[0][i];
}

GRADUS_REFERENCE (reference_reshape)
{
  copy_elements (call);
}

GRADUS_INFER (infer_transpose)
{
  guint         n, seen = 0;
  const gint64 *perm = gradus_node_ints (node, "perm", &n);

  outputs[0].dtype = inputs[0].dtype;
  outputs[0].shape.rank = inputs[0].shape.rank;
  for (guint i = 0; i < MIN (n, GRADUS_MAX_RANK); i++)
    if (perm[i] >= 0 && perm[i] < inputs[0].shape.rank)
      {
        seen |= 1u << perm[i];
        outputs[0].shape.dims[i] = inputs[0].shape.dims[perm[i]];
      }
  if (n != inputs[0].shape.rank || seen != (1u << n) - 1)
    return gradus_op_refuse (node, inputs, error, _ ("The order must name each axis once."));
  return TRUE;
}

GRADUS_GRADIENT (gradient_transpose)
{
  guint         n;
  const gint64 *perm = gradus_node_ints (node, "perm", &n);
  gint64        inverse[GRADUS_MAX_RANK];

  for (guint i = 0; i < n; i++)
    inverse[perm[i]] = i;
  return gradus_program_add_node (program, "transpose", 0, output_gradients, 1, &input_gradients[0],
                                  error, "perm", n, inverse, NULL);
}

GRADUS_REFERENCE (reference_transpose)
{
  const gint64      *perm = gradus_node_ints (call->node, "perm", NULL);
  const GradusShape *shape = &call->output_types[0].shape;
  gint64             strides[GRADUS_MAX_RANK], at[GRADUS_MAX_RANK];

  gradus_op_strides (&call->input_types[0].shape, strides);
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      gint64 from = 0;

      gradus_op_unravel (shape, i, at);
      for (guint axis = 0; axis < shape->rank; axis++)
        from += at[axis] * strides[perm[axis]];
      call->outputs[0][i] = call->inputs[0][from];
    }
}

GRADUS_INFER (infer_cast)
{
  const char *name = gradus_node_string (node, "dtype");

  if (!gradus_dtype_from_name (name, &outputs[0].dtype))
    return gradus_op_refuse (node, inputs, error, _ ("There is no element type “%s”."), name);
  outputs[0].shape = inputs[0].shape;
  return TRUE;
}

GRADUS_GRADIENT (gradient_cast)
{
  GradusDType from = gradus_op_type (program, node->inputs[0])->dtype;

  if (from != GRADUS_DTYPE_FLOAT32 && from != GRADUS_DTYPE_FLOAT64)
    {
      input_gradients[0] = GRADUS_NO_VALUE;
      return TRUE;
    }
  return gradus_program_add_node (program, "cast", 0, output_gradients, 1, &input_gradients[0],
                                  error, "dtype", gradus_dtype_name (from), NULL);
}

/* Towards zero and kept within the type, so that every value has one meaning. */
GRADUS_REFERENCE (reference_cast)
{
  static const double lowest[] = { 0, 0, -2147483648.0, -9223372036854775808.0, 0, 0 };
  static const double highest[] = { 0, 0, 2147483647.0, 9223372036854774784.0, 255, 1 };
  GradusDType         dtype = call->output_types[0].dtype;

  copy_elements (call);
  if (dtype == GRADUS_DTYPE_FLOAT32 || dtype == GRADUS_DTYPE_FLOAT64)
    return;
  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    {
      double x = call->outputs[0][i];

      if (dtype == GRADUS_DTYPE_BOOL)
        call->outputs[0][i] = x != 0;
      else
        call->outputs[0][i] = isnan (x) ? 0 : CLAMP (trunc (x), lowest[dtype], highest[dtype]);
    }
}

GRADUS_INFER (infer_affine)
{
  outputs[0].dtype = inputs[0].dtype == GRADUS_DTYPE_FLOAT64 ? GRADUS_DTYPE_FLOAT64
                                                             : GRADUS_DTYPE_FLOAT32;
  outputs[0].shape = inputs[0].shape;
  if (inputs[0].dtype == GRADUS_DTYPE_BOOL)
    return gradus_op_refuse (node, inputs, error, _ ("It takes numbers."));
  return TRUE;
}

GRADUS_GRADIENT (gradient_affine)
{
  const GradusValueType *x = gradus_op_type (program, node->inputs[0]);

  if (x->dtype != gradus_op_type (program, node->outputs[0])->dtype)
    {
      input_gradients[0] = GRADUS_NO_VALUE;
      return TRUE;
    }
  return gradus_program_add_node (program, "affine", 0, output_gradients, 1, &input_gradients[0],
                                  error, "scale", gradus_node_float (node, "scale"), NULL);
}

GRADUS_REFERENCE (reference_affine)
{
  double scale = gradus_node_float (call->node, "scale");
  double offset = gradus_node_float (call->node, "offset");

  for (gint64 i = 0; i < gradus_op_count (&call->output_types[0]); i++)
    call->outputs[0][i] = call->inputs[0][i] * scale + offset;
}

static const GradusAttrSpec reshape_attrs[] = { { "shape", GRADUS_ATTR_INTS, "" }, { NULL } };
static const GradusAttrSpec transpose_attrs[] = { { "perm", GRADUS_ATTR_INTS, "" }, { NULL } };
static const GradusAttrSpec cast_attrs[] = { { "dtype", GRADUS_ATTR_STRING, "float32" }, { NULL } };
static const GradusAttrSpec affine_attrs[] = {
  { "scale", GRADUS_ATTR_FLOAT, "1" },
  { "offset", GRADUS_ATTR_FLOAT, "0" },
  { NULL },
};

static const GradusOpCase reshape_cases[] = {
  { "f32[B,3,4]", "shape=-1,12" },
  { "f32[B,12]", "shape=-1,2,3,2" },
  { "f32[6]", "shape=3,2" },
  { "f32[1,1]", "shape=" },
  { "u8<256[B,4]", "shape=-1,2,2" },
  { NULL },
};

static const GradusOpCase transpose_cases[] = {
  { "f32[B,3]", "perm=1,0" },
  { "f32[B,3,4]", "perm=0,2,1" },
  { "f32[B,2,3,5]", "perm=3,0,1,2" },
  { "f32[B]", "perm=0" },
  { "f32[]", "perm=" },
  { "f32[B,33,65]", "perm=2,1,0" },
  { NULL },
};

static const GradusOpCase cast_cases[] = {
  { "u8<256[B,5]", NULL },
  { "i32<1000[B]", NULL },
  { "f32[B,3]", "dtype=int32" },
  { "f32+[B,3]", "dtype=uint8" },
  { "f32[B,3]", "dtype=float32" },
  { NULL },
};

static const GradusOpCase affine_cases[] = {
  { "u8<256[B,7]", "scale=0.00392156862745098" },
  { "f32[B,3]", "scale=2.5 offset=-1" },
  { "f32[]", "scale=-1" },
  { "u8<256[B,28,28]", "scale=0.00784313725490196 offset=-1" },
  { NULL },
};

#define ONE_INPUT .version = 1, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1

const GradusOp gradus_ops_shape[] = {
  {
    .name = "reshape",
    ONE_INPUT,
    .attrs = reshape_attrs,
    .infer = infer_reshape,
    .gradient = gradient_reshape,
    .inplace = 0,
    .alias = TRUE,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_none,
    .reference = reference_reshape,
    .cases = reshape_cases,
  },
  {
    .name = "transpose",
    ONE_INPUT,
    .attrs = transpose_attrs,
    .infer = infer_transpose,
    .gradient = gradient_transpose,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_move,
    .reference = reference_transpose,
    .cases = transpose_cases,
  },
  {
    .name = "cast",
    ONE_INPUT,
    .attrs = cast_attrs,
    .infer = infer_cast,
    .gradient = gradient_cast,
    .inplace = -1,
    .precision = GRADUS_PRECISION_WIDEST,
    .cost = gradus_op_cost_move,
    .reference = reference_cast,
    .cases = cast_cases,
  },
  {
    .name = "affine",
    ONE_INPUT,
    .attrs = affine_attrs,
    .infer = infer_affine,
    .gradient = gradient_affine,
    .inplace = 0,
    .precision = GRADUS_PRECISION_FLOAT32,
    .cost = gradus_op_cost_elementwise,
    .nan_hint = N_ ("its input is so large that scaling overflows"),
    .reference = reference_affine,
    .cases = affine_cases,
  },
  { NULL },
};
