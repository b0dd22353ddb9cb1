/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

/* One row an optimizer, one pass over the variable and its state. Inputs are, in this order: the
 * variable, its state, the gradient, the scale that clipping gives it, the learning rate, the step
 * where the formula has it, then, each of them left out if there is none, the weight decay and
 * state that an argument asks for. Formulas are those of Keras 3's update_step. */

/* @n_state variables beside the one that is trained; from @optional on more of them. */
static gboolean
infer_step (const GradusNode      *node,
            const GradusValueType *inputs,
            guint                  n_state,
            guint                  optional,
            GError               **error)
{
  if (!gradus_op_check_floats (node, inputs, error))
    return FALSE;
  for (guint i = 1; i < node->n_inputs; i++)
    if (gradus_op_has_input (node, i)
        && !(i <= n_state + 1 || i >= optional ? gradus_op_check_same (node, inputs, i, 0, error)
                                               : gradus_op_check_scalar (node, inputs, i, error)))
      return FALSE;
  return TRUE;
}

#define INFER_STEP(name, n_state, optional)                                                        \
  GRADUS_INFER (name)                                                                              \
  {                                                                                                \
    return infer_step (node, inputs, n_state, optional, error);                                    \
  }
INFER_STEP (infer_state_0, 0, G_MAXUINT)
INFER_STEP (infer_state_1, 1, G_MAXUINT)
INFER_STEP (infer_state_2, 2, G_MAXUINT)
INFER_STEP (infer_rmsprop, 1, 6)
INFER_STEP (infer_adam, 2, 8)

/* The variable after weight decay, which is decoupled and comes first: variable -= variable decay
 * rate. @decay: index of its input. */
static double
decayed (const GradusReferenceCall *call, guint decay, double rate, gint64 i)
{
  double w = call->inputs[0][i];

  return gradus_op_has_input (call->node, decay) ? w - w * call->inputs[decay][0] * rate : w;
}

static gint64
count (const GradusReferenceCall *call)
{
  return gradus_op_count (&call->input_types[0]);
}

static double
attr (const GradusReferenceCall *call, const char *name)
{
  return gradus_node_float (call->node, name);
}

GRADUS_REFERENCE (reference_sgd)
{
  double scale = call->inputs[2][0], rate = call->inputs[3][0];

  for (gint64 i = 0; i < count (call); i++)
    call->outputs[0][i] = decayed (call, 4, rate, i) - rate * call->inputs[1][i] * scale;
}

GRADUS_REFERENCE (reference_momentum)
{
  double   scale = call->inputs[3][0], rate = call->inputs[4][0], momentum = call->inputs[5][0];
  gboolean nesterov = gradus_node_int (call->node, "nesterov") != 0;

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 6, rate, i);
      double step = rate * call->inputs[2][i] * scale;
      double velocity = momentum * call->inputs[1][i] - step;

      call->outputs[1][i] = velocity;
      call->outputs[0][i] = w + (nesterov ? momentum * velocity - step : velocity);
    }
}

/* Tieleman and Hinton, 2012; centered as Graves, 2013. */
GRADUS_REFERENCE (reference_rmsprop)
{
  double   rho = attr (call, "rho"), epsilon = attr (call, "epsilon");
  double   momentum = attr (call, "momentum");
  double   scale = call->inputs[3][0], rate = call->inputs[4][0];
  gboolean has_momentum = gradus_op_has_input (call->node, 6);
  gboolean centered = gradus_op_has_input (call->node, 7);

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 5, rate, i);
      double g = call->inputs[2][i] * scale;
      double velocity = rho * call->inputs[1][i] + (1 - rho) * g * g;
      double denominator = velocity + epsilon, increment;

      if (centered)
        {
          double average = rho * call->inputs[7][i] + (1 - rho) * g;

          call->outputs[3][i] = average;
          denominator -= average * average;
        }
      increment = rate * g / sqrt (denominator);
      if (has_momentum)
        call->outputs[2][i] = increment += momentum * call->inputs[6][i];
      call->outputs[1][i] = velocity;
      call->outputs[0][i] = w - increment;
    }
}

/* Duchi, Hazan and Singer, 2011. */
GRADUS_REFERENCE (reference_adagrad)
{
  double epsilon = attr (call, "epsilon");
  double scale = call->inputs[3][0], rate = call->inputs[4][0];

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 5, rate, i);
      double g = call->inputs[2][i] * scale;
      double sum = call->inputs[1][i] + g * g;

      call->outputs[1][i] = sum;
      call->outputs[0][i] = w - rate * g / sqrt (sum + epsilon);
    }
}

/* Zeiler, 2012. */
GRADUS_REFERENCE (reference_adadelta)
{
  double rho = attr (call, "rho"), epsilon = attr (call, "epsilon");
  double scale = call->inputs[4][0], rate = call->inputs[5][0];

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 6, rate, i);
      double g = call->inputs[3][i] * scale;
      double squares = rho * call->inputs[1][i] + (1 - rho) * g * g;
      double delta = -sqrt (call->inputs[2][i] + epsilon) * g / sqrt (squares + epsilon);

      call->outputs[1][i] = squares;
      call->outputs[2][i] = rho * call->inputs[2][i] + (1 - rho) * delta * delta;
      call->outputs[0][i] = w + rate * delta;
    }
}

/* Kingma and Ba, Adam, 2015, in the form before its section 2.1 as Keras has it: epsilon is outside
 * the bias correction. With velocity_hat: Reddi, Kale and Kumar, 2018. */
GRADUS_REFERENCE (reference_adam)
{
  double   beta_1 = attr (call, "beta_1"), beta_2 = attr (call, "beta_2");
  double   epsilon = attr (call, "epsilon");
  double   scale = call->inputs[4][0], rate = call->inputs[5][0], step = call->inputs[6][0];
  double   alpha = rate * sqrt (1 - pow (beta_2, step)) / (1 - pow (beta_1, step));
  gboolean amsgrad = gradus_op_has_input (call->node, 8);

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 7, rate, i);
      double g = call->inputs[3][i] * scale;
      double m = call->inputs[1][i] + (g - call->inputs[1][i]) * (1 - beta_1);
      double v = call->inputs[2][i] + (g * g - call->inputs[2][i]) * (1 - beta_2);

      call->outputs[1][i] = m;
      call->outputs[2][i] = v;
      if (amsgrad)
        call->outputs[3][i] = v = MAX (v, call->inputs[8][i]);
      call->outputs[0][i] = w - m * alpha / (sqrt (v) + epsilon);
    }
}

/* The same paper, section 7.1. */
GRADUS_REFERENCE (reference_adamax)
{
  double beta_1 = attr (call, "beta_1"), beta_2 = attr (call, "beta_2");
  double epsilon = attr (call, "epsilon");
  double scale = call->inputs[4][0], rate = call->inputs[5][0], step = call->inputs[6][0];

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 7, rate, i);
      double g = call->inputs[3][i] * scale;
      double m = call->inputs[1][i] + (g - call->inputs[1][i]) * (1 - beta_1);
      double u = MAX (beta_2 * call->inputs[2][i], fabs (g));

      call->outputs[1][i] = m;
      call->outputs[2][i] = u;
      call->outputs[0][i] = w - rate * m / ((1 - pow (beta_1, step)) * (u + epsilon));
    }
}

/* Dozat, 2015. The product of the momenta comes from nadam_product. */
GRADUS_REFERENCE (reference_nadam)
{
  double beta_1 = attr (call, "beta_1"), beta_2 = attr (call, "beta_2");
  double epsilon = attr (call, "epsilon");
  double scale = call->inputs[4][0], rate = call->inputs[5][0], step = call->inputs[6][0];
  double product = call->inputs[7][0];
  double now = beta_1 * (1 - 0.5 * pow (0.96, step));
  double next = beta_1 * (1 - 0.5 * pow (0.96, step + 1));

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 8, rate, i);
      double g = call->inputs[3][i] * scale;
      double m = call->inputs[1][i] + (g - call->inputs[1][i]) * (1 - beta_1);
      double v = call->inputs[2][i] + (g * g - call->inputs[2][i]) * (1 - beta_2);
      double hat = next * m / (1 - product * next) + (1 - now) * g / (1 - product);

      call->outputs[1][i] = m;
      call->outputs[2][i] = v;
      call->outputs[0][i] = w - hat * rate / (sqrt (v / (1 - pow (beta_2, step))) + epsilon);
    }
}

/* McMahan et al., Ad click prediction, 2013. */
GRADUS_REFERENCE (reference_ftrl)
{
  double power = -attr (call, "learning_rate_power");
  double l1 = attr (call, "l1"), shrinkage = attr (call, "l2_shrinkage");
  double scale = call->inputs[4][0], rate = call->inputs[5][0];
  double l2 = attr (call, "l2") + attr (call, "beta") / (2 * rate);

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 6, rate, i);
      double g = call->inputs[3][i] * scale;
      double accumulator = call->inputs[1][i] + g * g;
      double to = pow (accumulator, power), from = pow (call->inputs[1][i], power);
      double linear = call->inputs[2][i] + g + 2 * shrinkage * w - (to - from) / rate * w;

      call->outputs[1][i] = accumulator;
      call->outputs[2][i] = linear;
      call->outputs[0][i] = (CLAMP (linear, -l1, l1) - linear) / (to / rate + 2 * l2);
    }
}

/* Chen et al., Symbolic discovery of optimization algorithms, 2023. */
GRADUS_REFERENCE (reference_lion)
{
  double beta_1 = attr (call, "beta_1"), beta_2 = attr (call, "beta_2");
  double scale = call->inputs[3][0], rate = call->inputs[4][0];

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 5, rate, i);
      double g = call->inputs[2][i] * scale, m = call->inputs[1][i];
      double direction = m * beta_1 + g * (1 - beta_1);

      call->outputs[0][i] = w - rate * ((direction > 0) - (direction < 0));
      call->outputs[1][i] = m * beta_2 + g * (1 - beta_2);
    }
}

/* Shazeer and Stern, 2018. Of a matrix two vectors are kept, the means of its rows and of its columns,
 * of anything else the velocity. Inputs: variable, row means or velocity, gradient, scale,
 * learning rate, step, weight decay, column means. */
GRADUS_INFER (infer_adafactor)
{
  GradusShape row = inputs[0].shape, column = inputs[0].shape;

  if (!gradus_op_check_floats (node, inputs, error)
      || !gradus_op_check_same (node, inputs, 2, 0, error))
    return FALSE;
  for (guint i = 3; i < MIN (node->n_inputs, 7); i++)
    if (gradus_op_has_input (node, i) && !gradus_op_check_scalar (node, inputs, i, error))
      return FALSE;
  if (!gradus_op_has_input (node, 7))
    return gradus_op_check_same (node, inputs, 1, 0, error);
  if (row.rank < 2)
    return gradus_op_refuse (node, inputs, error, _ ("Only a matrix has means of its columns."));
  row.rank--;
  column.rank--;
  column.dims[column.rank - 1] = inputs[0].shape.dims[row.rank];
  return gradus_op_check_shape (node, inputs, 1, &row, error)
         && gradus_op_check_shape (node, inputs, 7, &column, error);
}

/* The means of the squares; afterwards @velocity (i) is row (i / columns) column / mean of rows. */
static void
adafactor_means (const GradusReferenceCall *call, double scale, double beta, gint64 rows, gint64 columns)
{
  double epsilon = attr (call, "epsilon_1");
  gint64 matrices = count (call) / MAX (1, rows * columns);

  for (gint64 r = 0; r < matrices * rows; r++)
    call->outputs[1][r] *= beta;
  for (gint64 c = 0; c < matrices * columns; c++)
    call->outputs[2][c] *= beta;
  for (gint64 i = 0; i < count (call); i++)
    {
      double g = call->inputs[2][i] * scale;
      double square = (1 - beta) * (g * g + epsilon);

      call->outputs[1][i / columns] += square / columns;
      call->outputs[2][i / (rows * columns) * columns + i % columns] += square / rows;
    }
}

static double
adafactor_velocity (const GradusReferenceCall *call, gint64 rows, gint64 columns, gint64 i)
{
  gint64 matrix = columns > 0 ? i / (rows * columns) : 0;
  double mean = 0;

  if (columns == 0)
    return call->outputs[1][i];
  for (gint64 r = 0; r < rows; r++)
    mean += call->outputs[1][matrix * rows + r] / rows;
  return call->outputs[1][i / columns] / mean * call->outputs[2][matrix * columns + i % columns];
}

GRADUS_REFERENCE (reference_adafactor)
{
  const GradusShape *shape = &call->input_types[0].shape;
  gboolean factored = gradus_op_has_input (call->node, 7);
  gint64   columns = factored ? shape->dims[shape->rank - 1] : 0;
  gint64   rows = factored ? shape->dims[shape->rank - 2] : 0;
  double   scale = call->inputs[3][0], rate = call->inputs[4][0], step = call->inputs[5][0];
  double   beta = 1 - pow (step, attr (call, "beta_2_decay"));
  double   weights = 0, steps = 0, n = MAX (1, count (call)), alpha, clip;

  for (gint64 i = 0; i < count (call); i++)
    {
      double w = decayed (call, 6, rate, i);

      call->outputs[0][i] = w;
      weights += w * w / n;
    }
  if (factored)
    adafactor_means (call, scale, beta, rows, columns);
  else
    for (gint64 i = 0; i < count (call); i++)
      {
        double g = call->inputs[2][i] * scale;

        call->outputs[1][i] = beta * call->inputs[1][i]
                              + (1 - beta) * (g * g + attr (call, "epsilon_1"));
      }
  for (gint64 i = 0; i < count (call); i++)
    {
      double g = call->inputs[2][i] * scale;

      steps += g * g / adafactor_velocity (call, rows, columns, i) / n;
    }
  alpha = MAX (attr (call, "epsilon_2"), sqrt (weights)) * MIN (rate, 1 / sqrt (step));
  clip = MAX (1, sqrt (steps) / attr (call, "clip_threshold"));
  for (gint64 i = 0; i < count (call); i++)
    call->outputs[0][i] -= alpha * call->inputs[2][i] * scale
                           / sqrt (adafactor_velocity (call, rows, columns, i)) / clip;
}

GRADUS_COST (cost_step)
{
  gradus_op_cost (node, inputs, outputs, 12.0 * gradus_op_count (&inputs[0]), cost);
}

#define RATE(name, fallback) { name, GRADUS_ATTR_FLOAT, fallback }
static const GradusAttrSpec momentum_attrs[] = { { "nesterov", GRADUS_ATTR_INT, "0" }, { NULL } };
static const GradusAttrSpec rmsprop_attrs[] = { RATE ("rho", "0.9"), RATE ("momentum", "0"),
                                                RATE ("epsilon", "1e-7"), { NULL } };
static const GradusAttrSpec adagrad_attrs[] = { RATE ("epsilon", "1e-7"), { NULL } };
static const GradusAttrSpec adadelta_attrs[] = { RATE ("rho", "0.95"), RATE ("epsilon", "1e-7"),
                                                 { NULL } };
static const GradusAttrSpec adam_attrs[] = { RATE ("beta_1", "0.9"), RATE ("beta_2", "0.999"),
                                             RATE ("epsilon", "1e-7"), { NULL } };
static const GradusAttrSpec ftrl_attrs[] = { RATE ("learning_rate_power", "-0.5"),
                                             RATE ("l1", "0"), RATE ("l2", "0"),
                                             RATE ("l2_shrinkage", "0"), RATE ("beta", "0"),
                                             { NULL } };
static const GradusAttrSpec lion_attrs[] = { RATE ("beta_1", "0.9"), RATE ("beta_2", "0.99"),
                                             { NULL } };

static const GradusOpCase sgd_cases[] = {
  { "f32[5,3] f32[5,3] f32+[] f32+[]", NULL },
  { "f32[7] f32[7] f32=1[] f32=0.1[] f32=0.01[]", NULL },
  { "f32[131,67] f32[131,67] f32%[] f32=0.01[] -", NULL },
  { NULL },
};
static const GradusOpCase momentum_cases[] = {
  { "f32[5,3] f32[5,3] f32[5,3] f32+[] f32=0.1[] f32=0.9[]", NULL },
  { "f32[7] f32[7] f32[7] f32=1[] f32=0.1[] f32%[] f32=0.02[]", "nesterov=1" },
  { "f32[131,67] f32[131,67] f32[131,67] f32%[] f32=0.01[] f32=0.9[]", "nesterov=1" },
  { NULL },
};
static const GradusOpCase rmsprop_cases[] = {
  { "f32[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[]", NULL },
  { "f32[7] f32+[7] f32[7] f32=1[] f32=0.1[] f32=0.02[] f32[7]", "momentum=0.8 epsilon=1e-3" },
  { "f32[7] f32=9[7] f32[7] f32=1[] f32=0.1[] - - f32%[7]", "rho=0.8 epsilon=1" },
  { "f32[131,67] f32=9[131,67] f32[131,67] f32%[] f32=0.01[] f32=0.1[] f32[131,67] f32%[131,67]",
    "momentum=0.9" },
  { NULL },
};
static const GradusOpCase adagrad_cases[] = {
  { "f32[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[]", NULL },
  { "f32[131,67] f32=0.1[131,67] f32[131,67] f32%[] f32=0.01[] f32=0.1[]", "epsilon=1e-3" },
  { NULL },
};
static const GradusOpCase adadelta_cases[] = {
  { "f32[5,3] f32+[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[]", NULL },
  { "f32[7] f32=0[7] f32=0[7] f32[7] f32=1[] f32=1[]", NULL },
  { "f32[131,67] f32+[131,67] f32+[131,67] f32[131,67] f32%[] f32=0.01[] f32=0.1[]", "rho=0.8" },
  { NULL },
};
static const GradusOpCase adam_cases[] = {
  { "f32[5,3] f32[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[] f32=1[]", NULL },
  { "f32[7] f32=0[7] f32=0[7] f32[7] f32=1[] f32=0.001[] f32=1[] f32=0.004[]", "epsilon=1e-3" },
  { "f32[7] f32[7] f32+[7] f32[7] f32=1[] f32=0.01[] f32=3[] - f32+[7]", NULL },
  { "f32[131,67] f32[131,67] f32+[131,67] f32[131,67] f32%[] f32=0.001[] f32=1000[]",
    "beta_1=0.8" },
  { "f32[131,67] f32[131,67] f32+[131,67] f32[131,67] f32%[] f32=0.001[] f32=9[] f32=0.1[] "
    "f32+[131,67]", NULL },
  { NULL },
};
static const GradusOpCase adamax_cases[] = {
  { "f32[5,3] f32[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[] f32=1[]", NULL },
  { "f32[131,67] f32[131,67] f32+[131,67] f32[131,67] f32%[] f32=0.01[] f32=9[] f32=0.1[]",
    "beta_1=0.8" },
  { NULL },
};
static const GradusOpCase nadam_cases[] = {
  { "f32[5,3] f32[5,3] f32+[5,3] f32[5,3] f32+[] f32=0.1[] f32=1[] f32=0.468[]", NULL },
  { "f32[131,67] f32[131,67] f32+[131,67] f32[131,67] f32%[] f32=0.01[] f32=9[] f32=0.02[] "
    "f32=0.1[]", "beta_1=0.8" },
  { NULL },
};
static const GradusOpCase ftrl_cases[] = {
  { "f32[5,3] f32+[5,3] f32[5,3] f32[5,3] f32+[] f32=0.1[]", NULL },
  { "f32[7] f32=0.1[7] f32=0[7] f32[7] f32=1[] f32=0.05[] f32=0.01[]",
    "l1=0.1 l2=0.2 l2_shrinkage=0.05 beta=0.1" },
  { "f32[131,67] f32+[131,67] f32[131,67] f32[131,67] f32%[] f32=0.1[]",
    "learning_rate_power=-0.7 l1=1" },
  { NULL },
};
static const GradusOpCase lion_cases[] = {
  { "f32[5,3] f32[5,3] f32[5,3] f32=1[] f32=0.1[]", NULL },
  { "f32[7] f32=0[7] f32=0[7] f32=1[] f32=0.1[]", NULL },
  { "f32[131,67] f32[131,67] f32[131,67] f32%[] f32=0.01[] f32=0.1[]", "beta_1=0.8 beta_2=0.9" },
  { NULL },
};

static const GradusAttrSpec adafactor_attrs[] = { RATE ("beta_2_decay", "-0.8"),
                                                  RATE ("epsilon_1", "1e-30"),
                                                  RATE ("epsilon_2", "0.001"),
                                                  RATE ("clip_threshold", "1"), { NULL } };
static const GradusOpCase adafactor_cases[] = {
  { "f32[7] f32+[7] f32[7] f32=1[] f32=0.1[] f32=1[]", NULL },
  { "f32[67] f32+[67] f32[67] f32%[] f32=0.01[] f32=9[] f32=0.1[]", "clip_threshold=0.5" },
  { "f32[5,3] f32+[5] f32[5,3] f32+[] f32=0.1[] f32=1[] - f32+[3]", NULL },
  { "f32[3,2,5,4] f32+[3,2,5] f32[3,2,5,4] f32=1[] f32=0.1[] f32=4[] - f32+[3,2,4]", "epsilon_1=0.1" },
  { "f32[131,67] f32+[131] f32[131,67] f32%[] f32=0.01[] f32=9[] f32=0.1[] f32+[67]",
    "beta_2_decay=-0.5 epsilon_2=3" },
  { "f32[2,300,130] f32+[2,300] f32[2,300,130] f32%[] f32=0.01[] f32=9[] f32=0.1[] f32+[2,130]", NULL },
  { NULL },
};

#define STEP_ROW(op, min, max, attrs_, infer_, updates_)                                           \
  {                                                                                                \
    .name = #op "_step", .version = 2, .min_inputs = (min), .max_inputs = (max), .n_outputs = 0,   \
    .attrs = attrs_, .infer = infer_, .inplace = -1, .updates = (updates_),                        \
    .precision = GRADUS_PRECISION_FLOAT32, .cost = cost_step,                                      \
    .nan_hint = N_ ("the gradient or the learning rate is so large that the step overflows; clip " \
                    "the gradients or lower the learning rate"),                                   \
    .reference = reference_##op, .cases = op##_cases,                                              \
  }

const GradusOp gradus_ops_step[] = {
  STEP_ROW (sgd, 4, 5, NULL, infer_state_0, 1),
  STEP_ROW (momentum, 6, 7, momentum_attrs, infer_state_1, 3),
  STEP_ROW (rmsprop, 5, 8, rmsprop_attrs, infer_rmsprop, 3 | 1 << 6 | 1 << 7),
  STEP_ROW (adagrad, 5, 6, adagrad_attrs, infer_state_1, 3),
  STEP_ROW (adadelta, 6, 7, adadelta_attrs, infer_state_2, 7),
  STEP_ROW (adam, 7, 9, adam_attrs, infer_adam, 7 | 1 << 8),
  STEP_ROW (adamax, 7, 8, adam_attrs, infer_state_2, 7),
  STEP_ROW (nadam, 8, 9, adam_attrs, infer_state_2, 7),
  STEP_ROW (ftrl, 6, 7, ftrl_attrs, infer_state_2, 7),
  STEP_ROW (lion, 5, 6, lion_attrs, infer_state_1, 3),
  STEP_ROW (adafactor, 6, 8, adafactor_attrs, infer_adafactor, 3 | 1 << 7),
  { NULL },
};
