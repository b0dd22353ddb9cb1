/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-optimizer.h"

#include <glib/gi18n-lib.h>

static GradusValueId
slot (const GradusOptimizerStep *step, const char *slot_name)
{
  g_autofree char  *name = g_strdup_printf ("optimizer/%s/%s", step->name, slot_name);
  GradusValueType type = gradus_program_value (step->program, step->variable)->type;

  return gradus_program_add_variable (step->program, name, GRADUS_VARIABLE_OPTIMIZER, type.dtype,
                                      type.shape);
}

static GradusValueId
learning_rate (const GradusOptimizerStep *step)
{
  return gradus_program_add_hyper (step->program, "learning_rate", step->args[0]);
}

static gboolean
sgd_step (const GradusOptimizerStep *step, GError **error)
{
  GradusValueId rate = learning_rate (step);
  GradusValueId plain[] = { step->variable, step->gradient, step->scale, rate };

  if (step->args[1] == 0 && step->args[2] == 0)
    return gradus_program_add_node (step->program, "sgd_step", 0, plain, 4, NULL, error, NULL);
  GradusValueId inputs[] = { step->variable, slot (step, "velocity"), step->gradient, step->scale,
                             rate,
                             gradus_program_add_hyper (step->program, "momentum", step->args[1]) };
  return gradus_program_add_node (step->program, "momentum_step", 0, inputs, 6, NULL, error,
                                  "nesterov", (gint64) (step->args[2] != 0), NULL);
}

static gboolean
adam_step (const GradusOptimizerStep *step, GError **error)
{
  GradusValueId inputs[] = { step->variable, slot (step, "m"), slot (step, "v"), step->gradient,
                             step->scale, learning_rate (step),
                             gradus_program_add_hyper (step->program, "step", 1) };

  return gradus_program_add_node (step->program, "adam_step", 0, inputs, 7, NULL, error, "beta_1",
                                  step->args[1], "beta_2", step->args[2], "epsilon",
                                  step->args[3], NULL);
}

static const GradusOptimizerClass classes[] = {
  { "SGD",
    { { "learning_rate", 0.01, 0, 1e6, FALSE },
      { "momentum", 0, 0, 1, FALSE },
      { "nesterov", 0, 0, 1, TRUE },
      { NULL, 0, 0, 0, FALSE } },
    sgd_step },
  { "Adam",
    { { "learning_rate", 0.001, 0, 1e6, FALSE },
      { "beta_1", 0.9, 0, 0.9999999, FALSE },
      { "beta_2", 0.999, 0, 0.9999999, FALSE },
      { "epsilon", 1e-7, 0, 1, FALSE },
      { NULL, 0, 0, 0, FALSE } },
    adam_step },
};

/* Optimizers of Keras that a later version brings. */
static const char *const later[] = { "RMSprop", "Adagrad", "Adadelta", "AdamW", "Adamax",
                                     "Nadam",   "Ftrl",    "Lion",     NULL };

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

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    gradus_json_refuse_unavailable (config, arg->name, _("a learning rate schedule"));
  else if (arg->is_bool)
    self->args[i] = gradus_json_bool (config, arg->name, FALSE);
  else
    self->args[i] = gradus_json_double (config, arg->name, arg->min, arg->max, arg->fallback);
}

static gboolean
read_config (GradusOptimizer *self, GradusJsonObject *config)
{
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    read_arg (self, i, config);
  self->clipvalue = gradus_json_double (config, "clipvalue", 0, 1e30, 0);
  self->clipnorm = gradus_json_double (config, "clipnorm", 0, 1e30, 0);
  self->global_clipnorm = gradus_json_double (config, "global_clipnorm", 0, 1e30, 0);
  /* They name nothing that changes a number while the arguments below are at their defaults. */
  gradus_json_ignore (config, "name", "ema_momentum", "ema_overwrite_frequency", "jit_compile",
                      "is_legacy_optimizer", NULL);
  gradus_json_unavailable (config, "weight_decay", "loss_scale_factor",
                           "gradient_accumulation_steps", NULL);
  if (gradus_json_bool (config, "use_ema", FALSE))
    gradus_json_refuse_unavailable (config, "use_ema", "use_ema");
  if (gradus_json_bool (config, "amsgrad", FALSE))
    gradus_json_refuse_unavailable (config, "amsgrad", "amsgrad");
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
  if (config != NULL && !read_config (self, config))
    return FALSE;
  return object == NULL || gradus_json_end (object, NULL);
}

JsonObject *
gradus_optimizer_write (const GradusOptimizer *self)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();

  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    if (self->klass->args[i].is_bool)
      json_object_set_boolean_member (config, self->klass->args[i].name, self->args[i] != 0);
    else
      json_object_set_double_member (config, self->klass->args[i].name, self->args[i]);
  json_object_set_string_member (object, "class_name", self->klass->class_name);
  json_object_set_object_member (object, "config", config);
  return object;
}
