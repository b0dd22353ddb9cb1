/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"
#include "ops/gradus-recurrent.h"

#include <string.h>

static const char *const activation_names[] = {
  [GRADUS_CELL_TANH] = "tanh",
  [GRADUS_CELL_SIGMOID] = "sigmoid",
  [GRADUS_CELL_LINEAR] = "linear",
  [GRADUS_CELL_RELU] = "relu",
  [GRADUS_CELL_HARD_SIGMOID] = "hard_sigmoid",
  [GRADUS_CELL_SOFTSIGN] = "softsign",
  [GRADUS_CELL_ELU] = "elu",
  [GRADUS_CELL_SOFTPLUS] = "softplus",
  [GRADUS_CELL_EXPONENTIAL] = "exponential",
  [GRADUS_CELL_RELU6] = "relu6",
};

gboolean
gradus_cell_activation_find (const char *name, GradusCellActivation *activation)
{
  for (guint i = 0; i < G_N_ELEMENTS (activation_names); i++)
    if (g_str_equal (activation_names[i], name))
      {
        *activation = i;
        return TRUE;
      }
  return FALSE;
}

static GradusCell
cell_of (const GradusNode *node)
{
  if (g_str_has_prefix (node->op->name, "lstm"))
    return GRADUS_CELL_LSTM;
  if (g_str_has_prefix (node->op->name, "gru"))
    return gradus_node_int (node, "reset_after") ? GRADUS_CELL_GRU_AFTER : GRADUS_CELL_GRU;
  return GRADUS_CELL_SIMPLE;
}

GradusRecurrent
gradus_recurrent_read (const GradusNode *node, const GradusValueType *x, const GradusValueType *kernel)
{
  static const gint64 gates[] = { 1, 4, 3, 3 }, kept[] = { 1, 4, 4, 4 };
  GradusRecurrent     self = { .cell = cell_of (node) };

  gradus_cell_activation_find (gradus_node_string (node, "activation"), &self.activation);
  if (self.cell != GRADUS_CELL_SIMPLE)
    gradus_cell_activation_find (gradus_node_string (node, "recurrent_activation"),
                                 &self.recurrent_activation);
  self.reverse = gradus_node_int (node, "reverse") != 0;
  self.gates = gates[self.cell];
  self.kept = kept[self.cell];
  self.batch = x->shape.dims[0];
  self.time = x->shape.dims[1];
  self.features = x->shape.dims[2];
  self.units = kernel->shape.dims[1] / self.gates;
  return self;
}

static gboolean
check_activation (const GradusNode *node, const GradusValueType *inputs, const char *attr, GError **error)
{
  GradusCellActivation activation;
  const char          *name = gradus_node_string (node, attr);

  if (gradus_cell_activation_find (name, &activation))
    return TRUE;
  return gradus_op_refuse (node, inputs, error,
                           _ ("“%s” cannot be the activation of a recurrent layer; choose one such as "
                              "tanh, sigmoid, relu or linear."),
                           name);
}

/* x, kernel and recurrent kernel, and optional inputs by their slots (G_MAXUINT: has none). */
static gboolean
check_common (const GradusNode *node, const GradusValueType *inputs, guint mask, guint drop, guint state, guint carry, GradusRecurrent *r, GError **error)
{
  const GradusShape *x = &inputs[0].shape;
  const guint        states[] = { drop, state, carry };
  GradusShape        wanted;

  if (!gradus_op_check_floats (node, inputs, error) || !gradus_op_check_rank (node, inputs, 0, 3, error)
      || !gradus_op_check_rank (node, inputs, 1, 2, error)
      || !check_activation (node, inputs, "activation", error)
      || (cell_of (node) != GRADUS_CELL_SIMPLE
          && !check_activation (node, inputs, "recurrent_activation", error)))
    return FALSE;
  *r = gradus_recurrent_read (node, &inputs[0], &inputs[1]);
  wanted = gradus_shape (2, x->dims[2], r->gates * r->units);
  if (r->units < 1 || !gradus_op_check_shape (node, inputs, 1, &wanted, error))
    return FALSE;
  wanted = gradus_shape (2, r->units, r->gates * r->units);
  if (!gradus_op_check_shape (node, inputs, 2, &wanted, error))
    return FALSE;
  wanted = gradus_shape (2, x->dims[0], x->dims[1]);
  if (gradus_op_has_input (node, mask) && !gradus_op_check_shape (node, inputs, mask, &wanted, error))
    return FALSE;
  wanted = gradus_shape (2, x->dims[0], r->units);
  for (guint i = 0; i < G_N_ELEMENTS (states); i++)
    if (gradus_op_has_input (node, states[i])
        && !gradus_op_check_shape (node, inputs, states[i], &wanted, error))
      return FALSE;
  return TRUE;
}

static GradusShape
bias_shape (const GradusRecurrent *r)
{
  if (r->cell == GRADUS_CELL_GRU_AFTER)
    return gradus_shape (2, (gint64) 2, r->gates * r->units);
  return gradus_shape (1, r->gates * r->units);
}

static GradusValueType
sequence (const GradusValueType *x, gint64 width)
{
  GradusValueType type = *x;

  type.shape.dims[2] = width;
  return type;
}

GRADUS_INFER (infer_recurrent)
{
  GradusRecurrent r;
  GradusShape     bias;
  guint           n = 0;

  if (!check_common (node, inputs, GRADUS_RECURRENT_MASK, GRADUS_RECURRENT_DROP, GRADUS_RECURRENT_STATE,
                     GRADUS_RECURRENT_CARRY, &r, error))
    return FALSE;
  bias = bias_shape (&r);
  if (gradus_op_has_input (node, GRADUS_RECURRENT_BIAS)
      && !gradus_op_check_shape (node, inputs, GRADUS_RECURRENT_BIAS, &bias, error))
    return FALSE;
  outputs[n++] = sequence (&inputs[0], r.units);
  if (r.cell == GRADUS_CELL_LSTM)
    outputs[n++] = sequence (&inputs[0], r.units);
  outputs[n] = sequence (&inputs[0], r.kept * r.units);
  return TRUE;
}

GRADUS_INFER (infer_recurrent_grad)
{
  GradusRecurrent r;
  GradusValueType y, kept, state;
  gint64          wanted = gradus_node_int (node, "wanted");

  if (!check_common (node, inputs, GRADUS_RECURRENT_GRAD_MASK, GRADUS_RECURRENT_GRAD_DROP,
                     GRADUS_RECURRENT_GRAD_STATE, GRADUS_RECURRENT_GRAD_CARRY, &r, error))
    return FALSE;
  y = sequence (&inputs[0], r.units);
  kept = sequence (&inputs[0], r.kept * r.units);
  if (!gradus_op_check_shape (node, inputs, GRADUS_RECURRENT_GRAD_Y, &y.shape, error)
      || !gradus_op_check_shape (node, inputs, GRADUS_RECURRENT_GRAD_KEPT, &kept.shape, error))
    return FALSE;
  for (guint i = GRADUS_RECURRENT_GRAD_C; i < GRADUS_RECURRENT_GRAD_N; i++)
    if (gradus_op_has_input (node, i) && !gradus_op_check_shape (node, inputs, i, &y.shape, error))
      return FALSE;
  state = (GradusValueType){ inputs[0].dtype, gradus_shape (2, inputs[0].shape.dims[0], r.units) };
  outputs[GRADUS_RECURRENT_GRAD_DX] = inputs[0];
  outputs[GRADUS_RECURRENT_GRAD_DKERNEL] = inputs[1];
  outputs[GRADUS_RECURRENT_GRAD_DRECURRENT] = inputs[2];
  outputs[GRADUS_RECURRENT_GRAD_DBIAS] = (GradusValueType){ inputs[0].dtype, bias_shape (&r) };
  outputs[GRADUS_RECURRENT_GRAD_DSTATE] = outputs[GRADUS_RECURRENT_GRAD_DCARRY] = state;
  for (guint i = 0; i < GRADUS_RECURRENT_GRAD_N_OUTPUTS; i++)
    if ((wanted & (1 << i)) == 0)
      outputs[i].shape = gradus_shape (1, (gint64) 0);
  return TRUE;
}

GRADUS_GRADIENT (gradient_recurrent)
{
  static const gint8 slots[GRADUS_RECURRENT_GRAD_N_OUTPUTS] = {
    GRADUS_RECURRENT_X,    GRADUS_RECURRENT_KERNEL, GRADUS_RECURRENT_RECURRENT,
    GRADUS_RECURRENT_BIAS, GRADUS_RECURRENT_STATE,  GRADUS_RECURRENT_CARRY,
  };
  GradusCell    cell = cell_of (node);
  gboolean      lstm = cell == GRADUS_CELL_LSTM;
  GradusValueId in[GRADUS_RECURRENT_GRAD_N], out[GRADUS_RECURRENT_GRAD_N_OUTPUTS];
  const char   *name = lstm ? "lstm_grad" : cell == GRADUS_CELL_SIMPLE ? "simple_rnn_grad" : "gru_grad";
  gint64        wanted = 0;
  gboolean      done;

#define OPTIONAL(slot) ((slot) < node->n_inputs ? node->inputs[slot] : GRADUS_NO_VALUE)
  in[GRADUS_RECURRENT_GRAD_X] = node->inputs[GRADUS_RECURRENT_X];
  in[GRADUS_RECURRENT_GRAD_KERNEL] = node->inputs[GRADUS_RECURRENT_KERNEL];
  in[GRADUS_RECURRENT_GRAD_RECURRENT] = node->inputs[GRADUS_RECURRENT_RECURRENT];
  in[GRADUS_RECURRENT_GRAD_Y] = node->outputs[0];
  in[GRADUS_RECURRENT_GRAD_KEPT] = node->outputs[lstm ? 2 : 1];
  in[GRADUS_RECURRENT_GRAD_MASK] = OPTIONAL (GRADUS_RECURRENT_MASK);
  in[GRADUS_RECURRENT_GRAD_DROP] = OPTIONAL (GRADUS_RECURRENT_DROP);
  in[GRADUS_RECURRENT_GRAD_STATE] = OPTIONAL (GRADUS_RECURRENT_STATE);
  in[GRADUS_RECURRENT_GRAD_CARRY] = OPTIONAL (GRADUS_RECURRENT_CARRY);
  in[GRADUS_RECURRENT_GRAD_C] = lstm ? node->outputs[1] : GRADUS_NO_VALUE;
  in[GRADUS_RECURRENT_GRAD_DY] = output_gradients[0];
  in[GRADUS_RECURRENT_GRAD_DC] = lstm ? output_gradients[1] : GRADUS_NO_VALUE;
#undef OPTIONAL
  for (guint i = 0; i < GRADUS_RECURRENT_GRAD_N_OUTPUTS; i++)
    if (slots[i] < (gint) node->n_inputs && gradus_op_wants (slots[i]))
      wanted |= 1 << i;
  if (cell == GRADUS_CELL_SIMPLE)
    done = gradus_program_add_node (program, name, 0, in, G_N_ELEMENTS (in), out, error, "activation",
                                    gradus_node_string (node, "activation"), "reverse",
                                    gradus_node_int (node, "reverse"), "wanted", wanted, NULL);
  else
    done = gradus_program_add_node (program, name, 0, in, G_N_ELEMENTS (in), out, error, "activation",
                                    gradus_node_string (node, "activation"), "recurrent_activation",
                                    gradus_node_string (node, "recurrent_activation"), "reverse",
                                    gradus_node_int (node, "reverse"), "wanted", wanted,
                                    lstm ? NULL : "reset_after",
                                    lstm ? (gint64) 0 : gradus_node_int (node, "reset_after"), NULL);
  for (guint i = 0; done && i < GRADUS_RECURRENT_GRAD_N_OUTPUTS; i++)
    if ((wanted & (1 << i)) != 0)
      input_gradients[slots[i]] = out[i];
  return done;
}

static double
step_flops (const GradusRecurrent *r, double products)
{
  double steps = (double) r->batch * r->time;

  return steps * r->units * (products * 2 * r->gates * (r->features + r->units) + 10 * r->kept);
}

GRADUS_COST (cost_recurrent)
{
  GradusRecurrent r = gradus_recurrent_read (node, &inputs[0], &inputs[1]);

  gradus_op_cost (node, inputs, outputs, step_flops (&r, 1), cost);
}

GRADUS_COST (cost_recurrent_grad)
{
  GradusRecurrent r = gradus_recurrent_read (node, &inputs[0], &inputs[1]);

  gradus_op_cost (node, inputs, outputs, step_flops (&r, 2), cost);
}

static const GradusAttrSpec simple_attrs[] = {
  { "activation", GRADUS_ATTR_STRING, "tanh" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec simple_grad_attrs[] = {
  { "activation", GRADUS_ATTR_STRING, "tanh" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { "wanted", GRADUS_ATTR_INT, "63" },
  { NULL },
};
static const GradusAttrSpec lstm_attrs[] = {
  { "activation", GRADUS_ATTR_STRING, "tanh" },
  { "recurrent_activation", GRADUS_ATTR_STRING, "sigmoid" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { NULL },
};
static const GradusAttrSpec lstm_grad_attrs[] = {
  { "activation", GRADUS_ATTR_STRING, "tanh" },
  { "recurrent_activation", GRADUS_ATTR_STRING, "sigmoid" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { "wanted", GRADUS_ATTR_INT, "63" },
  { NULL },
};
static const GradusAttrSpec gru_attrs[] = {
  { "activation", GRADUS_ATTR_STRING, "tanh" },
  { "recurrent_activation", GRADUS_ATTR_STRING, "sigmoid" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { "reset_after", GRADUS_ATTR_INT, "1" },
  { NULL },
};
static const GradusAttrSpec gru_grad_attrs[] = {
  { "activation", GRADUS_ATTR_STRING, "tanh" },
  { "recurrent_activation", GRADUS_ATTR_STRING, "sigmoid" },
  { "reverse", GRADUS_ATTR_INT, "0" },
  { "reset_after", GRADUS_ATTR_INT, "1" },
  { "wanted", GRADUS_ATTR_INT, "63" },
  { NULL },
};

/* x, kernel, recurrent, bias, mask, drop, state, carry */
static const GradusOpCase simple_cases[] = {
  { "f32[B,3,2] f32[2,3] f32[3,3] f32[3]", NULL, 1e-4 },
  { "f32[B,4,3] f32[3,2] f32[2,2] - f32<2[B,4] f32+[B,2] f32[B,2]", "reverse=1", 1e-4 },
  { "f32[B,3,5] f32[5,17] f32[17,17] f32[17] - - f32[B,17]", "activation=sigmoid", 1e-4 },
  { "f32[B,3,2] f32%[2,3] f32%[3,3] f32[3]", "activation=softsign", 1e-4 },
  { "f32[B,2,2] f32%[2,3] f32%[3,3] f32[3]", "activation=linear", 1e-4 },
  { NULL },
};
static const GradusOpCase lstm_cases[] = {
  { "f32[B,3,2] f32[2,12] f32[3,12] f32[12]", NULL, 1e-4 },
  { "f32[B,4,3] f32[3,8] f32[2,8] - f32<2[B,4] f32+[B,2] f32[B,2] f32[B,2]", "reverse=1", 1e-4 },
  { "f32[B,3,5] f32[5,68] f32[17,68] f32[68] - - f32[B,17] f32[B,17]", NULL, 1e-4 },
  { "f32[B,3,2] f32%[2,12] f32%[3,12] f32[12]", "activation=softplus recurrent_activation=softsign",
    1e-4 },
  { NULL },
};
static const GradusOpCase gru_cases[] = {
  { "f32[B,3,2] f32[2,9] f32[3,9] f32[2,9]", NULL, 1e-4 },
  { "f32[B,3,2] f32[2,9] f32[3,9] f32[9]", "reset_after=0", 1e-4 },
  { "f32[B,4,3] f32[3,6] f32[2,6] - f32<2[B,4] f32+[B,2] f32[B,2]", "reverse=1", 1e-4 },
  { "f32[B,4,3] f32[3,6] f32[2,6] - f32<2[B,4] f32+[B,2] f32[B,2]", "reverse=1 reset_after=0", 1e-4 },
  { "f32[B,3,5] f32[5,51] f32[17,51] f32[2,51] - - f32[B,17]", NULL, 1e-4 },
  { "f32[B,3,5] f32[5,51] f32[17,51] f32[51] - - f32[B,17]", "reset_after=0", 1e-4 },
  { NULL },
};
/* x, kernel, recurrent, y, kept, mask, drop, state, carry, c, dy, dc */
static const GradusOpCase simple_grad_cases[] = {
  { "f32[B,3,2] f32[2,3] f32[3,3] f32[B,3,3] f32%[B,3,3] - - - - - f32[B,3,3] -", NULL, 1e-4 },
  { "f32[B,4,3] f32[3,2] f32[2,2] f32[B,4,2] f32%[B,4,2] f32<2[B,4] f32+[B,2] f32[B,2] - - f32[B,4,2] -",
    "reverse=1", 1e-4 },
  { "f32[B,3,5] f32[5,17] f32[17,17] f32[B,3,17] f32%[B,3,17] - - - - - f32[B,3,17] -", "wanted=6", 1e-4 },
  { NULL },
};
static const GradusOpCase lstm_grad_cases[] = {
  { "f32[B,3,2] f32[2,12] f32[3,12] f32[B,3,3] f32%[B,3,12] - - - - f32[B,3,3] f32[B,3,3] -", NULL, 1e-4 },
  { "f32[B,4,3] f32[3,8] f32[2,8] f32[B,4,2] f32%[B,4,8] f32<2[B,4] f32+[B,2] f32[B,2] f32[B,2] f32[B,4,2] "
    "f32[B,4,2] f32[B,4,2]",
    "reverse=1", 1e-4 },
  { "f32[B,3,5] f32[5,68] f32[17,68] f32[B,3,17] f32%[B,3,68] - - - - f32[B,3,17] - f32[B,3,17]", "wanted=14",
    1e-4 },
  { NULL },
};
static const GradusOpCase gru_grad_cases[] = {
  { "f32[B,3,2] f32[2,9] f32[3,9] f32[B,3,3] f32%[B,3,12] - - - - - f32[B,3,3] -", NULL, 1e-4 },
  { "f32[B,3,2] f32[2,9] f32[3,9] f32[B,3,3] f32%[B,3,12] - - - - - f32[B,3,3] -", "reset_after=0", 1e-4 },
  { "f32[B,4,3] f32[3,6] f32[2,6] f32[B,4,2] f32%[B,4,8] f32<2[B,4] f32+[B,2] f32[B,2] - - f32[B,4,2] -",
    "reverse=1", 1e-4 },
  { "f32[B,4,3] f32[3,6] f32[2,6] f32[B,4,2] f32%[B,4,8] f32<2[B,4] f32+[B,2] f32[B,2] - - f32[B,4,2] -",
    "reverse=1 reset_after=0", 1e-4 },
  { "f32[B,3,5] f32[5,51] f32[17,51] f32[B,3,17] f32%[B,3,68] - - - - - f32[B,3,17] -", "wanted=14", 1e-4 },
  { NULL },
};

#define RECURRENT_HINT                                                                             \
  N_ ("the states grew from step to step; clip the gradients by their global norm, lower the "     \
      "learning rate, or use an activation that is bounded, such as tanh")

#define NEEDS                                                                                      \
  (GRADUS_NEEDS_INPUT (0) | GRADUS_NEEDS_INPUT (1) | GRADUS_NEEDS_INPUT (2) | GRADUS_NEEDS_INPUT (4) \
   | GRADUS_NEEDS_INPUT (5) | GRADUS_NEEDS_INPUT (6) | GRADUS_NEEDS_OUTPUT (0) | GRADUS_NEEDS_OUTPUT (1))

#define FORWARD(op_name, n_in, n_out, differentiable, needs, table, its_cases)                     \
  {                                                                                                \
    .name = op_name, .version = 1, .min_inputs = 3, .max_inputs = n_in, .n_outputs = n_out,        \
    .attrs = table, .infer = infer_recurrent, .gradient = gradient_recurrent,                      \
    .gradient_needs = needs,                                                                       \
    .no_gradient = 1u << GRADUS_RECURRENT_MASK | 1u << GRADUS_RECURRENT_DROP,                      \
    .n_differentiable = differentiable, .inplace = -1, .precision = GRADUS_PRECISION_FLOAT32,      \
    .cost = cost_recurrent, .nan_hint = RECURRENT_HINT, .reference = gradus_recurrent_reference,   \
    .cases = its_cases                                                                             \
  }

#define BACKWARD(op_name, table, its_cases)                                                        \
  {                                                                                                \
    .name = op_name, .version = 1, .min_inputs = 5, .max_inputs = GRADUS_RECURRENT_GRAD_N,         \
    .n_outputs = GRADUS_RECURRENT_GRAD_N_OUTPUTS, .attrs = table, .infer = infer_recurrent_grad,   \
    .inplace = -1, .precision = GRADUS_PRECISION_FLOAT32, .cost = cost_recurrent_grad,             \
    .nan_hint = RECURRENT_HINT, .reference = gradus_recurrent_grad_reference, .cases = its_cases   \
  }

const GradusOp gradus_ops_recurrent[] = {
  FORWARD ("simple_rnn", 7, 2, 1, NEEDS, simple_attrs, simple_cases),
  BACKWARD ("simple_rnn_grad", simple_grad_attrs, simple_grad_cases),
  FORWARD ("lstm", 8, 3, 2, NEEDS | GRADUS_NEEDS_INPUT (7) | GRADUS_NEEDS_OUTPUT (2), lstm_attrs, lstm_cases),
  BACKWARD ("lstm_grad", lstm_grad_attrs, lstm_grad_cases),
  FORWARD ("gru", 7, 2, 1, NEEDS, gru_attrs, gru_cases),
  BACKWARD ("gru_grad", gru_grad_attrs, gru_grad_cases),
  { NULL },
};
