/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-optimizer.h"

#include "gradus-error.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#define RATE(value) { "learning_rate", value, 0, 1e6, FALSE, NULL }
#define NUMBER(name, value, min, max) { name, value, min, max, FALSE, name }
#define BETA(name, value) NUMBER (name, value, 0, 0.9999999)
#define EPSILON NUMBER ("epsilon", 1e-7, 0, 1)
#define FLAG(name) { name, 0, 0, 1, TRUE, NULL }

static const GradusOptimizerClass classes[] = {
  { "SGD",
    { RATE (0.01), { "momentum", 0, 0, 1, FALSE, NULL }, FLAG ("nesterov"), { NULL } },
    NAN, "sgd_step", { { "momentum", NULL, "momentum" } }, FALSE },
  { "RMSprop",
    { RATE (0.001), NUMBER ("rho", 0.9, 0, 1), NUMBER ("momentum", 0, 0, 1), EPSILON,
      FLAG ("centered"), { NULL } },
    NAN, "rmsprop_step",
    { { "velocity" }, { "momentum", NULL, "momentum" }, { "average_gradient", NULL, "centered" } },
    FALSE },
  { "Adagrad",
    { RATE (0.001), { "initial_accumulator_value", 0.1, 0, 1e30, FALSE, NULL }, EPSILON, { NULL } },
    NAN, "adagrad_step", { { "accumulator", "initial_accumulator_value" } }, FALSE },
  { "Adadelta",
    { RATE (0.001), NUMBER ("rho", 0.95, 0, 1), EPSILON, { NULL } },
    NAN, "adadelta_step", { { "accumulated_grad" }, { "accumulated_delta_var" } }, FALSE },
  { "Adam",
    { RATE (0.001), BETA ("beta_1", 0.9), BETA ("beta_2", 0.999), EPSILON, FLAG ("amsgrad"), { NULL } },
    NAN, "adam_step",
    { { "momentum" }, { "velocity" }, { "velocity_hat", NULL, "amsgrad" } }, TRUE },
  { "AdamW",
    { RATE (0.001), BETA ("beta_1", 0.9), BETA ("beta_2", 0.999), EPSILON, FLAG ("amsgrad"), { NULL } },
    0.004, "adam_step",
    { { "momentum" }, { "velocity" }, { "velocity_hat", NULL, "amsgrad" } }, TRUE },
  { "Adamax",
    { RATE (0.001), BETA ("beta_1", 0.9), BETA ("beta_2", 0.999), EPSILON, { NULL } },
    NAN, "adamax_step", { { "momentum" }, { "norm" } }, TRUE },
  { "Nadam",
    { RATE (0.001), BETA ("beta_1", 0.9), BETA ("beta_2", 0.999), EPSILON, { NULL } },
    NAN, "nadam_step", { { "momentum" }, { "velocity" } }, TRUE },
  { "Ftrl",
    { RATE (0.001), NUMBER ("learning_rate_power", -0.5, -10, 0),
      { "initial_accumulator_value", 0.1, 0, 1e30, FALSE, NULL },
      { "l1_regularization_strength", 0, 0, 1e30, FALSE, "l1" },
      { "l2_regularization_strength", 0, 0, 1e30, FALSE, "l2" },
      { "l2_shrinkage_regularization_strength", 0, 0, 1e30, FALSE, "l2_shrinkage" },
      NUMBER ("beta", 0, 0, 1e30), { NULL } },
    NAN, "ftrl_step", { { "accumulator", "initial_accumulator_value" }, { "linear" } }, FALSE },
  { "Lion",
    { RATE (0.001), NUMBER ("beta_1", 0.9, 1e-9, 1), NUMBER ("beta_2", 0.99, 0, 1), { NULL } },
    NAN, "lion_step", { { "momentum" } }, FALSE },
  { "Adafactor",
    { RATE (0.001), NUMBER ("beta_2_decay", -0.8, -10, 0), NUMBER ("epsilon_1", 1e-30, 0, 1),
      NUMBER ("epsilon_2", 0.001, 0, 1e30), NUMBER ("clip_threshold", 1, 1e-30, 1e30),
      /* Whatever it says, Keras's formula takes the smaller of the rate and 1 / sqrt (step). */
      { "relative_step", 1, 0, 1, TRUE, NULL }, { NULL } },
    NAN, "adafactor_step", { { "velocity" } }, TRUE },
};

/* Optimizers of Keras that a later version brings. */
static const char *const later[] = { "Lamb", "Muon", "LossScaleOptimizer",
                                     "ScheduleFreeAdamW", NULL };

const GradusOptimizerClass *
gradus_optimizer_classes (guint *n)
{
  *n = G_N_ELEMENTS (classes);
  return classes;
}

static gboolean
find_class (GradusOptimizer *self, GradusJsonObject *cursor, const char *key, const char *name)
{
  const char *names[G_N_ELEMENTS (classes) + 1] = { NULL };
  const char *near;

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      names[i] = classes[i].class_name;
      if (g_ascii_strcasecmp (name, classes[i].class_name) == 0)
        {
          self->klass = &classes[i];
          return TRUE;
        }
    }
  for (guint i = 0; later[i] != NULL; i++)
    if (g_ascii_strcasecmp (name, later[i]) == 0)
      {
        gradus_json_refuse_unavailable_but (cursor, key, later[i], "Adam", "SGD");
        return FALSE;
      }
  near = gradus_json_nearest (name, names);
  if (near != NULL)
    gradus_json_refuse (cursor, key, _("There is no optimizer “%s”; did you mean “%s”?"), name,
                        near);
  else
    gradus_json_refuse (cursor, key, _("There is no optimizer “%s”; write “Adam” or “SGD”."), name);
  return FALSE;
}

static void
read_arg (GradusOptimizer *self, guint i, GradusJsonObject *config)
{
  const GradusOptimizerArg *arg = &self->klass->args[i];
  JsonNode                 *node = gradus_json_node (config, arg->name);

  if (i == 0 && node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    {
      if (gradus_schedule_read (&self->schedule, config, arg->name))
        self->args[0] = gradus_schedule_value (&self->schedule, 0);
    }
  else if (arg->is_bool)
    self->args[i] = gradus_json_bool (config, arg->name, arg->fallback != 0);
  else
    self->args[i] = gradus_json_double (config, arg->name, arg->min, arg->max, arg->fallback);
}

static void
read_decay (GradusOptimizer *self, GradusJsonObject *config)
{
  g_autoptr (GradusJsonArray) words = NULL;
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  self->weight_decay = gradus_json_double (config, "weight_decay", 0, 1e6, self->weight_decay);
  if ((words = gradus_json_array (config, "exclude_from_weight_decay", 1000)) == NULL)
    return;
  for (guint i = 0; i < gradus_json_array_length (words); i++)
    {
      const char *word = gradus_json_array_string (words, i);

      if (word != NULL && *word == 0)
        gradus_json_array_refuse (words, i, _("An empty word is in every name. Write “bias”."));
      else if (word != NULL)
        g_strv_builder_add (builder, word);
    }
  self->exclude = g_strv_builder_end (builder);
}

static gboolean
read_config (GradusOptimizer *self, GradusJsonObject *config)
{
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    read_arg (self, i, config);
  read_decay (self, config);
  self->clipvalue = gradus_json_double (config, "clipvalue", 0, 1e30, 0);
  self->clipnorm = gradus_json_double (config, "clipnorm", 0, 1e30, 0);
  self->global_clipnorm = gradus_json_double (config, "global_clipnorm", 0, 1e30, 0);
  self->accumulate = gradus_json_int (config, "gradient_accumulation_steps", 1, 1000000, 0);
  self->use_ema = gradus_json_bool (config, "use_ema", FALSE);
  self->ema_momentum = gradus_json_double (config, "ema_momentum", 0, 1, 0.99);
  self->ema_overwrite = gradus_json_int (config, "ema_overwrite_frequency", 1, 1000000000, 0);
  gradus_json_ignore (config, "name", "jit_compile", "is_legacy_optimizer", NULL);
  gradus_json_unavailable (config, "loss_scale_factor", NULL);
  return gradus_json_end (config, NULL);
}

gboolean
gradus_optimizer_read (GradusOptimizer *self, GradusJsonObject *compile)
{
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  JsonNode   *node = gradus_json_node (compile, "optimizer");
  const char *name = NULL;

  gradus_json_require (compile, "optimizer", NULL);
  if (gradus_json_failed (compile))
    return FALSE;
  if (JSON_NODE_HOLDS_VALUE (node))
    {
      name = gradus_json_string (compile, "optimizer", NULL);
      if (name == NULL || !find_class (self, compile, "optimizer", name))
        return FALSE;
    }
  else
    {
      if ((object = gradus_json_object (compile, "optimizer")) == NULL)
        return FALSE;
      gradus_json_ignore (object, "module", "registered_name", "build_config", NULL);
      gradus_json_require (object, "class_name", NULL);
      name = gradus_json_string (object, "class_name", NULL);
      if (name == NULL || !find_class (self, object, "class_name", name))
        return FALSE;
      config = gradus_json_object (object, "config");
    }
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    self->args[i] = self->klass->args[i].fallback;
  self->weight_decay = self->klass->weight_decay;
  self->ema_momentum = 0.99;
  if (config != NULL && !read_config (self, config))
    return FALSE;
  return object == NULL || gradus_json_end (object, NULL);
}

static void
write_average (const GradusOptimizer *self, JsonObject *config)
{
  if (!self->use_ema)
    return;
  json_object_set_boolean_member (config, "use_ema", TRUE);
  json_object_set_double_member (config, "ema_momentum", self->ema_momentum);
  if (self->ema_overwrite > 0)
    json_object_set_int_member (config, "ema_overwrite_frequency", self->ema_overwrite);
}

JsonObject *
gradus_optimizer_write (const GradusOptimizer *self)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();

  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    if (i == 0 && self->schedule.klass != NULL)
      json_object_set_member (config, self->klass->args[i].name,
                              gradus_schedule_write (&self->schedule));
    else if (self->klass->args[i].is_bool)
      json_object_set_boolean_member (config, self->klass->args[i].name, self->args[i] != 0);
    else
      json_object_set_double_member (config, self->klass->args[i].name, self->args[i]);
  if (!isnan (self->weight_decay))
    json_object_set_double_member (config, "weight_decay", self->weight_decay);
  if (self->exclude != NULL)
    {
      JsonArray *words = json_array_new ();

      for (guint i = 0; self->exclude[i] != NULL; i++)
        json_array_add_string_element (words, self->exclude[i]);
      json_object_set_array_member (config, "exclude_from_weight_decay", words);
    }
  write_average (self, config);
  json_object_set_string_member (object, "class_name", self->klass->class_name);
  json_object_set_object_member (object, "config", config);
  return object;
}

void
gradus_optimizer_clear (GradusOptimizer *self)
{
  g_clear_pointer (&self->exclude, g_strfreev);
}

/* ---- In a program ---- */

/* The argument's value; 0 for none. */
static double
arg_value (const GradusOptimizer *self, const char *name)
{
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    if (g_str_equal (self->klass->args[i].name, name))
      return self->args[i];
  return 0;
}

static GradusValueId
add_slot (GradusProgram *program, const char *variable, GradusValueId id, const char *slot)
{
  g_autofree char *name = g_strdup_printf ("optimizer/%s/%s", variable, slot);
  GradusValueType  type = gradus_program_value (program, id)->type;

  return gradus_program_add_variable (program, name, GRADUS_VARIABLE_OPTIMIZER, type.dtype,
                                      type.shape);
}

static GradusValueId
decay_of (const GradusOptimizer *self, GradusProgram *program, const char *name)
{
  if (isnan (self->weight_decay))
    return GRADUS_NO_VALUE;
  for (guint i = 0; self->exclude != NULL && self->exclude[i] != NULL; i++)
    if (strstr (name, self->exclude[i]) != NULL)
      return GRADUS_NO_VALUE;
  return gradus_program_add_hyper (program, "weight_decay", self->weight_decay);
}

static GradusValueId
step_of (GradusProgram *program)
{
  return gradus_program_add_hyper (program, "step", 1);
}

/* Nadam's product of momenta, one for all variables; updated before the first of them. */
static gboolean
nadam_product (const GradusOptimizer *self, GradusProgram *program, GradusValueId *product, GError **error)
{
  GradusValueId inputs[2];

  if ((*product = gradus_program_find (program, "optimizer/u_product")) != GRADUS_NO_VALUE)
    return TRUE;
  *product = gradus_program_add_variable (program, "optimizer/u_product", GRADUS_VARIABLE_OPTIMIZER,
                                          GRADUS_DTYPE_FLOAT32, gradus_shape (0));
  inputs[0] = *product;
  inputs[1] = step_of (program);
  return gradus_program_add_node (program, "nadam_product", 0, inputs, 2, NULL, error, "beta_1",
                                  arg_value (self, "beta_1"), NULL);
}

/* The row's arguments as attributes, as text. */
static char *
attrs_text (const GradusOptimizer *self)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    if (self->klass->args[i].attr != NULL)
      g_string_append_printf (text, "%s%s=%s", text->len > 0 ? " " : "", self->klass->args[i].attr,
                              g_ascii_dtostr (number, sizeof number, self->args[i]));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
add_sgd (const GradusOptimizer *self,
         GradusProgram         *program,
         const char            *name,
         const GradusValueId   *given,
         GradusValueId          decay,
         GError               **error)
{
  double        momentum = arg_value (self, "momentum");
  GradusValueId rate = gradus_program_add_hyper (program, "learning_rate", self->args[0]);
  GradusValueId plain[5] = { given[0], given[1], given[2], rate, decay };
  guint         n = decay == GRADUS_NO_VALUE ? 0 : 1;

  /* As Keras, which has no use for nesterov without a momentum. */
  if (momentum == 0)
    return gradus_program_add_node (program, "sgd_step", 0, plain, 4 + n, NULL, error, NULL);
  GradusValueId inputs[7] = { given[0], add_slot (program, name, given[0], "momentum"), given[1],
                              given[2], rate,
                              gradus_program_add_hyper (program, "momentum", momentum), decay };
  return gradus_program_add_node (program, "momentum_step", 0, inputs, 6 + n, NULL, error, "nesterov",
                                  (gint64) (arg_value (self, "nesterov") != 0), NULL);
}

static gboolean
add_step (const GradusOptimizer *self,
          GradusProgram         *program,
          const char            *name,
          const GradusValueId   *given,
          GradusValueId          decay,
          GError               **error)
{
  const GradusOptimizerSlot *slots = self->klass->slots;
  g_autofree char           *attrs = attrs_text (self);
  GradusValueId              inputs[16];
  guint                      n = 0, used;
  gboolean                   is_nadam = g_str_equal (self->klass->op, "nadam_step");

  inputs[n++] = given[0];
  for (guint i = 0; i < GRADUS_OPTIMIZER_MAX_SLOTS && slots[i].name != NULL; i++)
    if (slots[i].optional == NULL)
      inputs[n++] = add_slot (program, name, given[0], slots[i].name);
  inputs[n++] = given[1];
  inputs[n++] = given[2];
  inputs[n++] = gradus_program_add_hyper (program, "learning_rate", self->args[0]);
  if (self->klass->wants_step)
    inputs[n++] = step_of (program);
  if (is_nadam && !nadam_product (self, program, &inputs[n++], error))
    return FALSE;
  used = n;
  if ((inputs[n++] = decay) != GRADUS_NO_VALUE)
    used = n;
  for (guint i = 0; i < GRADUS_OPTIMIZER_MAX_SLOTS && slots[i].name != NULL; i++)
    if (slots[i].optional != NULL)
      {
        inputs[n] = GRADUS_NO_VALUE;
        if (arg_value (self, slots[i].optional) != 0)
          {
            inputs[n] = add_slot (program, name, given[0], slots[i].name);
            used = n + 1;
          }
        n++;
      }
  return gradus_program_add_node_text (program, self->klass->op, 0, inputs, used, attrs, NULL, error);
}

/* Of a matrix, and of each of a stack of them, Adafactor keeps the means of rows and columns. */
static gboolean
add_adafactor (const GradusOptimizer *self,
               GradusProgram         *program,
               const char            *name,
               const GradusValueId   *given,
               GradusValueId          decay,
               GError               **error)
{
  GradusShape      shape = gradus_program_value (program, given[0])->type.shape;
  g_autofree char *attrs = attrs_text (self);
  GradusValueId    inputs[8] = { given[0], GRADUS_NO_VALUE, given[1], given[2],
                                 gradus_program_add_hyper (program, "learning_rate", self->args[0]),
                                 step_of (program), decay, GRADUS_NO_VALUE };

  if (shape.rank < 2)
    inputs[1] = add_slot (program, name, given[0], "velocity");
  else
    for (guint i = 0; i < 2; i++)
      {
        g_autofree char *full = g_strdup_printf ("optimizer/%s/%s", name, i == 0 ? "row" : "column");
        GradusShape      kept = shape;

        kept.rank--;
        if (i == 1)
          kept.dims[kept.rank - 1] = shape.dims[shape.rank - 1];
        inputs[i == 0 ? 1 : 7] = gradus_program_add_variable (program, full, GRADUS_VARIABLE_OPTIMIZER,
                                                     GRADUS_DTYPE_FLOAT32, kept);
      }
  return gradus_program_add_node_text (program, self->klass->op, 0, inputs,
                                       shape.rank < 2 ? (decay == GRADUS_NO_VALUE ? 6 : 7) : 8, attrs, NULL, error);
}

gboolean
gradus_optimizer_build (const GradusOptimizer *self,
                        GradusProgram         *program,
                        const char            *name,
                        GradusValueId          variable,
                        GradusValueId          gradient,
                        GradusValueId          scale,
                        GError               **error)
{
  const GradusValueId given[3] = { variable, gradient, scale };
  GradusValueId       decay = decay_of (self, program, name), inputs[3];
  gboolean            is_sgd = g_str_equal (self->klass->op, "sgd_step");
  gboolean            is_adafactor = g_str_equal (self->klass->op, "adafactor_step");

  if (!(is_sgd ? add_sgd : is_adafactor ? add_adafactor : add_step) (self, program, name, given,
                                                                     decay, error))
    return FALSE;
  if (!self->use_ema)
    return TRUE;
  inputs[0] = add_slot (program, name, variable, "average");
  inputs[1] = variable;
  inputs[2] = step_of (program);
  return gradus_program_add_node (program, "weight_average", 0, inputs, 3, NULL, error, "momentum",
                                  self->ema_momentum, "overwrite", self->ema_overwrite, NULL);
}

/* What the state called @name begins with. */
static double
initial_of (const GradusOptimizer *self, const char *name)
{
  const char *slot = strrchr (name, '/') + 1;

  if (g_str_equal (name, "optimizer/u_product"))
    return 1;
  for (guint i = 0; i < GRADUS_OPTIMIZER_MAX_SLOTS && self->klass->slots[i].name != NULL; i++)
    if (g_str_equal (self->klass->slots[i].name, slot) && self->klass->slots[i].initial != NULL)
      return arg_value (self, self->klass->slots[i].initial);
  return 0;
}

gboolean
gradus_optimizer_initialize (const GradusOptimizer *self, GradusVariables *variables, GError **error)
{
  for (guint i = 0; i < gradus_variables_n (variables); i++)
    {
      GradusVariableRole role;
      GradusValueType    type;
      const char        *name = gradus_variables_name (variables, i, &role, &type);
      gint64             count = gradus_shape_count (&type.shape);
      g_autofree float  *data = NULL;
      double             initial;

      if (role != GRADUS_VARIABLE_OPTIMIZER || (initial = initial_of (self, name)) == 0)
        continue;
      if ((data = g_try_new (float, MAX (1, count))) == NULL)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                       _("There is no memory left to fill “%s”. Use a smaller model."), name);
          return FALSE;
        }
      for (gint64 j = 0; j < count; j++)
        data[j] = initial;
      if (!gradus_variables_write (variables, i, data, count * sizeof (float), error))
        return FALSE;
    }
  return TRUE;
}
