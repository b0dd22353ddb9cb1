/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-error.h"
#include "model/gradus-layer.h"
#include "ops/gradus-recurrent.h"

#include <glib/gi18n-lib.h>

#define ONLY(name, value) { name, GRADUS_ARG_ONLY, value, 0, 0 }
#define UNITS { "units", GRADUS_ARG_INT, NULL, 1, 1 << 20 }
#define ACTIVATION { "activation", GRADUS_ARG_ACTIVATION, "\"tanh\"", 0, 0 }
#define GATE_ACTIVATION { "recurrent_activation", GRADUS_ARG_ACTIVATION, "\"sigmoid\"", 0, 0 }
#define WEIGHTS                                                                 \
  { "use_bias", GRADUS_ARG_BOOL, "true", 0, 0 },                                \
  { "kernel_initializer", GRADUS_ARG_INITIALIZER, "\"glorot_uniform\"", 0, 0 }, \
  { "recurrent_initializer", GRADUS_ARG_INITIALIZER, "\"orthogonal\"", 0, 0 },  \
  { "bias_initializer", GRADUS_ARG_INITIALIZER, "\"zeros\"", 0, 0 }
#define REST                                                                    \
  { "kernel_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 }, { "recurrent_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },  \
  { "bias_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 }, { "activity_regularizer", GRADUS_ARG_REGULARIZER, "null", 0, 0 },     \
  { "kernel_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 }, { "recurrent_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },    \
  { "bias_constraint", GRADUS_ARG_CONSTRAINT, "null", 0, 0 },                                             \
  { "dropout", GRADUS_ARG_FLOAT, "0.0", 0, 0.999999 },                          \
  { "recurrent_dropout", GRADUS_ARG_FLOAT, "0.0", 0, 0.999999 },                \
  { "seed", GRADUS_ARG_SEED, "null", 0, 0 },                                    \
  { "return_sequences", GRADUS_ARG_BOOL, "false", 0, 0 },                       \
  { "return_state", GRADUS_ARG_BOOL, "false", 0, 0 },                           \
  { "go_backwards", GRADUS_ARG_BOOL, "false", 0, 0 },                           \
  ONLY ("stateful", "false"),                                                   \
  { "unroll", GRADUS_ARG_BOOL, "false", 0, 0 },                                 \
  { "zero_output_for_mask", GRADUS_ARG_BOOL, "false", 0, 0 },                   \
  ONLY ("time_major", "false"),                                                 \
  /* A hint of speed, of older versions. */                                     \
  { "implementation", GRADUS_ARG_INT, "2", 0, 2 }

static const GradusArgSpec simple_args[] = { UNITS, ACTIVATION, WEIGHTS, REST, { NULL } };
static const GradusArgSpec lstm_args[] = {
  UNITS, ACTIVATION, GATE_ACTIVATION, WEIGHTS, { "unit_forget_bias", GRADUS_ARG_BOOL, "true", 0, 0 }, REST,
  ONLY ("use_cudnn", "\"auto\""), { NULL },
};
static const GradusArgSpec gru_args[] = {
  UNITS, ACTIVATION, GATE_ACTIVATION, WEIGHTS, { "reset_after", GRADUS_ARG_BOOL, "true", 0, 0 }, REST,
  ONLY ("use_cudnn", "\"auto\""), { NULL },
};

static gboolean
is_lstm (const GradusLayer *layer)
{
  return layer->klass == &gradus_layer_lstm;
}

static gboolean
is_gru (const GradusLayer *layer)
{
  return layer->klass == &gradus_layer_gru;
}

static gint64
n_gates (const GradusLayer *layer)
{
  return is_lstm (layer) ? 4 : is_gru (layer) ? 3 : 1;
}

static gboolean
check_activation (const GradusLayer *layer, const char *argument, GError **error)
{
  const GradusActivation *activation = gradus_layer_arg (layer, argument)->activation;
  GradusCellActivation    cell;

  if (gradus_cell_activation_find (activation->name, &cell))
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("its %s is “%s”, which a recurrent layer cannot use here. Choose one such as tanh, "
                 "sigmoid, relu, hard_sigmoid or linear."),
               argument, activation->name);
  return FALSE;
}

static gboolean
infer (const GradusLayer *layer,
       const GradusShape *inputs,
       guint              n_inputs,
       GradusShape       *output,
       GError           **error)
{
  gint64 units = gradus_layer_arg (layer, "units")->i;

  if (inputs[0].rank != 3 || inputs[0].dims[2] < 1)
    {
      g_autofree char *met = gradus_shape_to_string (&inputs[0]);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("its input has shape %s, but a recurrent layer takes sequences, (None, steps, "
                     "features). Put an Embedding before it if the input is whole numbers; the "
                     "recurrent layer before it needs return_sequences."),
                   met);
      return FALSE;
    }
  if (!check_activation (layer, "activation", error) ||
      (n_gates (layer) > 1 && !check_activation (layer, "recurrent_activation", error)))
    return FALSE;
  output[1] = output[2] = output[0] = gradus_shape (2, inputs[0].dims[0], units);
  if (gradus_layer_arg (layer, "return_sequences")->i)
    output[0] = gradus_shape (3, inputs[0].dims[0], inputs[0].dims[1], units);
  return TRUE;
}

static guint
n_outputs (const GradusLayer *layer)
{
  if (!gradus_layer_arg (layer, "return_state")->i)
    return 1;
  return is_lstm (layer) ? 3 : 2;
}

static guint
weights (const GradusLayer *layer, const GradusShape *input, GradusWeightSpec *specs)
{
  gint64 units = gradus_layer_arg (layer, "units")->i, columns = n_gates (layer) * units;
  gboolean after = is_gru (layer) && gradus_layer_arg (layer, "reset_after")->i;
  const GradusInitializer *bias = &gradus_layer_arg (layer, "bias_initializer")->initializer;

  specs[0] = (GradusWeightSpec){ "kernel", gradus_shape (2, input->dims[2], columns), FALSE,
                                 &gradus_layer_arg (layer, "kernel_initializer")->initializer };
  specs[1] = (GradusWeightSpec){ "recurrent_kernel", gradus_shape (2, units, columns), FALSE,
                                 &gradus_layer_arg (layer, "recurrent_initializer")->initializer };
  specs[2] = (GradusWeightSpec){ "bias", gradus_shape (1, columns), FALSE, bias };
  if (after)
    specs[2].shape = gradus_shape (2, (gint64) 2, columns);
  /* The forget gate's quarter begins with ones, whatever fills the rest. */
  if (is_lstm (layer) && gradus_layer_arg (layer, "unit_forget_bias")->i)
    {
      specs[2].ones_begin = units;
      specs[2].ones_end = 2 * units;
    }
  return gradus_layer_arg (layer, "use_bias")->i ? 3 : 2;
}

/* (batch, width) of factors that are 0 or 1 / (1 - rate), the same for all steps. */
static gboolean
add_factors (const GradusLayer *layer, GradusLayerBuild *build, const char *argument, gint64 width, GradusValueId *factors, GError **error)
{
  const GradusArg *seed = gradus_layer_arg (layer, "seed");
  g_autofree char *hyper = g_strdup_printf ("%s/%s", layer->name,
                                            g_str_equal (argument, "dropout") ? "rate" : "recurrent_rate");
  g_autoptr (GString) purpose = g_string_new (argument);
  GradusValueId    inputs[2];

  if (!seed->is_null)
    g_string_append_printf (purpose, "/%" G_GINT64_FORMAT, seed->i);
  if (build->use > 0)
    g_string_append_printf (purpose, "/use/%u", build->use);
  inputs[1] = gradus_program_add_hyper (build->program, hyper, gradus_layer_arg (layer, argument)->f);
  return gradus_program_add_node (build->program, "step_ones", 0, build->inputs, 1, &inputs[0], error, "width",
                                  width, NULL) &&
         gradus_program_add_node (build->program, "dropout", gradus_layer_stream (layer, purpose->str), inputs, 2,
                                  factors, error, NULL);
}

static gboolean
drop_inputs (const GradusLayer *layer, GradusLayerBuild *build, GradusValueId *x, GError **error)
{
  gint64        features = build->shapes[0].dims[2];
  gint64        wide[3] = { build->shapes[0].dims[0], 1, features };
  GradusValueId pair[2] = { *x };

  return add_factors (layer, build, "dropout", features, &pair[1], error) &&
         gradus_program_add_node (build->program, "reshape", 0, &pair[1], 1, &pair[1], error, "shape", (guint) 3,
                                  wide, NULL) &&
         gradus_program_add_node (build->program, "multiply", 0, pair, 2, x, error, NULL);
}

static gboolean
add_recurrence (const GradusLayer *layer, GradusLayerBuild *build, const GradusValueId *inputs, GradusValueId *outputs, GError **error)
{
  const char *activation = gradus_layer_arg (layer, "activation")->activation->name, *gate;
  gint64      reverse = gradus_layer_arg (layer, "go_backwards")->i;

  if (n_gates (layer) == 1)
    return gradus_program_add_node (build->program, "simple_rnn", 0, inputs, 6, outputs, error, "activation",
                                    activation, "reverse", reverse, NULL);
  gate = gradus_layer_arg (layer, "recurrent_activation")->activation->name;
  if (is_lstm (layer))
    return gradus_program_add_node (build->program, "lstm", 0, inputs, 6, outputs, error, "activation", activation,
                                    "recurrent_activation", gate, "reverse", reverse, NULL);
  return gradus_program_add_node (build->program, "gru", 0, inputs, 6, outputs, error, "activation", activation,
                                  "recurrent_activation", gate, "reverse", reverse, "reset_after",
                                  gradus_layer_arg (layer, "reset_after")->i, NULL);
}

/* Outputs of padding become zero; they stand in the order of the steps. */
static gboolean
zero_padding (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  gint64        wide[3] = { build->shapes[0].dims[0], build->shapes[0].dims[1], 1 };
  GradusValueId pair[2] = { build->output };

  if (!gradus_program_add_node (build->program, "reshape", 0, build->masks, 1, &pair[1], error, "shape", (guint) 3,
                                wide, NULL))
    return FALSE;
  if (gradus_layer_arg (layer, "go_backwards")->i &&
      !gradus_program_add_node (build->program, "reverse", 0, &pair[1], 1, &pair[1], error, "axis", (gint64) 1, NULL))
    return FALSE;
  return gradus_program_add_node (build->program, "multiply", 0, pair, 2, &build->output, error, NULL);
}

static gboolean
build (const GradusLayer *layer, GradusLayerBuild *build, GError **error)
{
  GradusValueId inputs[6] = { build->inputs[0],
                              gradus_layer_weight (layer, build, "kernel"),
                              gradus_layer_weight (layer, build, "recurrent_kernel"),
                              GRADUS_NO_VALUE,
                              build->masks[0],
                              GRADUS_NO_VALUE };
  GradusValueId outputs[3];
  gboolean      sequences = gradus_layer_arg (layer, "return_sequences")->i;

  if (gradus_layer_arg (layer, "use_bias")->i)
    inputs[GRADUS_RECURRENT_BIAS] = gradus_layer_weight (layer, build, "bias");
  if (build->training && gradus_layer_arg (layer, "dropout")->f > 0 &&
      !drop_inputs (layer, build, &inputs[GRADUS_RECURRENT_X], error))
    return FALSE;
  if (build->training && gradus_layer_arg (layer, "recurrent_dropout")->f > 0 &&
      !add_factors (layer, build, "recurrent_dropout", gradus_layer_arg (layer, "units")->i,
                    &inputs[GRADUS_RECURRENT_DROP], error))
    return FALSE;
  if (!add_recurrence (layer, build, inputs, outputs, error))
    return FALSE;
  build->output = outputs[0];
  if (sequences)
    build->output_mask = build->masks[0];
  else if (!gradus_program_add_node (build->program, "step_last", 0, &outputs[0], 1, &build->output, error, NULL))
    return FALSE;
  for (guint i = 0; i + 1 < n_outputs (layer); i++)
    {
      build->states[i] = build->output;
      if ((i > 0 || sequences) && !gradus_program_add_node (build->program, "step_last", 0, &outputs[i], 1,
                                                            &build->states[i], error, NULL))
        return FALSE;
    }
  return !sequences || build->masks[0] == GRADUS_NO_VALUE ||
         !gradus_layer_arg (layer, "zero_output_for_mask")->i || zero_padding (layer, build, error);
}

#define RECURRENT(symbol, name, snake, args)                                      \
  const GradusLayerClass symbol = {                                               \
    name, snake, args, 1, 1, infer, weights, build, NULL, NULL, GRADUS_MASK_OWN,  \
    n_outputs,                                                                    \
  }
RECURRENT (gradus_layer_simple_rnn, "SimpleRNN", "simple_rnn", simple_args);
RECURRENT (gradus_layer_lstm, "LSTM", "lstm", lstm_args);
RECURRENT (gradus_layer_gru, "GRU", "gru", gru_args);
