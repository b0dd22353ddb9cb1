/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* Whether a prediction is right: 1 or 0 a sample, a metric that sums up to accuracy. */

static GradusShape
without_last (const GradusShape *shape)
{
  GradusShape left = *shape;

  if (left.rank > 0)
    left.dims[--left.rank] = 0;
  return left;
}

static gboolean
infer_correct (const GradusNode      *node,
               const GradusValueType *inputs,
               GradusValueType       *outputs,
               gboolean               sparse,
               GError               **error)
{
  GradusShape sample = without_last (&inputs[0].shape);
  GradusShape wanted = sparse ? sample : inputs[0].shape;

  if (inputs[0].shape.rank < 1)
    return gradus_op_refuse (node, inputs, error, _ ("Input %u must have at least one axis."), 1);
  if (sparse && inputs[1].dtype != GRADUS_DTYPE_INT32)
    return gradus_op_refuse (node, inputs, error, _ ("The labels must be of type int32."));
  if (!sparse && !gradus_op_check_floats (node, inputs, error))
    return FALSE;
  if (!gradus_op_check_shape (node, inputs, 1, &wanted, error))
    return FALSE;
  outputs[0].dtype = GRADUS_DTYPE_FLOAT32;
  outputs[0].shape = sample;
  return TRUE;
}

GRADUS_INFER (infer_sparse)
{
  return infer_correct (node, inputs, outputs, TRUE, error);
}

GRADUS_INFER (infer_dense)
{
  return infer_correct (node, inputs, outputs, FALSE, error);
}

static gint64
first_greatest (const double *x, gint64 n)
{
  gint64 best = 0;

  for (gint64 i = 1; i < n; i++)
    if (x[i] > x[best])
      best = i;
  return best;
}

static gint64
classes_of (const GradusReferenceCall *call)
{
  const GradusShape *shape = &call->input_types[0].shape;

  return shape->dims[shape->rank - 1];
}

GRADUS_REFERENCE (reference_correct_sparse)
{
  gint64 n = classes_of (call);

  for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)
    call->outputs[0][r] = first_greatest (call->inputs[0] + r * n, n) == call->inputs[1][r];
}

GRADUS_REFERENCE (reference_correct_categorical)
{
  gint64 n = classes_of (call);

  for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)
    call->outputs[0][r] = first_greatest (call->inputs[0] + r * n, n)
                          == first_greatest (call->inputs[1] + r * n, n);
}

/* Keras: with several outputs a sample, the share of them that is right. */
GRADUS_REFERENCE (reference_correct_binary)
{
  gint64 n = classes_of (call);
  double threshold = gradus_node_float (call->node, "threshold");

  for (gint64 r = 0; r < gradus_op_count (&call->output_types[0]); r++)
    {
      double right = 0;

      for (gint64 c = 0; c < n; c++)
        right += (call->inputs[0][r * n + c] > threshold) == (call->inputs[1][r * n + c] != 0);
      call->outputs[0][r] = right / n;
    }
}

static const GradusAttrSpec binary_attrs[] = { { "threshold", GRADUS_ATTR_FLOAT, "0.5" },
                                               { NULL } };

static const GradusOpCase sparse_cases[] = {
  { "f32[B,10] i32<10[B]", NULL },
  { "f32[B,2] i32<2[B]", NULL },
  { "f32[B,1] i32<2[B]", NULL },
  { "f32[B,3,5] i32<5[B,3]", NULL },
  { "f32=1[B,4] i32<2[B]", NULL },
  { NULL },
};
static const GradusOpCase categorical_cases[] = {
  { "f32[B,3] f32%[B,3]", NULL },
  { "f32[B,2] f32%[B,2]", NULL },
  { "f32[B,3,5] f32%[B,3,5]", NULL },
  { NULL },
};
static const GradusOpCase binary_cases[] = {
  { "f32%[B,1] f32=1[B,1]", NULL },
  { "f32%[B,1] f32=0[B,1]", NULL },
  { "f32[B,4] f32=1[B,4]", "threshold=0" },
  { NULL },
};

#define CORRECT_ROW(op, attrs_, infer_, cases_)                                                    \
  {                                                                                                \
    .name = "correct_" #op, .version = 1, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,        \
    .attrs = attrs_, .infer = infer_, .inplace = -1, .precision = GRADUS_PRECISION_FLOAT32,        \
    .cost = gradus_op_cost_elementwise, .reference = reference_correct_##op, .cases = cases_,      \
  }

const GradusOp gradus_ops_metric[] = {
  CORRECT_ROW (sparse, NULL, infer_sparse, sparse_cases),
  CORRECT_ROW (categorical, NULL, infer_dense, categorical_cases),
  CORRECT_ROW (binary, binary_attrs, infer_dense, binary_cases),
  { NULL },
};
