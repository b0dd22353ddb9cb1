/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-activation.h"

#include "gradus-json.h"

static const GradusActivation activations[] = {
  { "linear", NULL, 0, FALSE, NULL },
  { "relu", "relu", 0, FALSE, NULL },
  { "softmax", "softmax", 0, FALSE, NULL },
  { "sigmoid", "sigmoid", 0, FALSE, NULL },
  { "tanh", "tanh", 0, FALSE, NULL },
  { "elu", "elu", 1, TRUE, NULL },
  { "selu", "selu", 0, FALSE, NULL },
  { "softplus", "softplus", 0, FALSE, NULL },
  { "softsign", "softsign", 0, FALSE, NULL },
  { "silu", "silu", 0, FALSE, "swish" },
  { "gelu", "gelu", 0, FALSE, NULL },
  { "exponential", "exp", 0, FALSE, NULL },
  { "leaky_relu", "leaky_relu", 0.2, TRUE, NULL },
  { "relu6", "relu6", 0, FALSE, NULL },
  { "hard_sigmoid", "hard_sigmoid", 0, FALSE, NULL },
  { "log_softmax", "log_softmax", 0, FALSE, NULL },
};

const GradusActivation *
gradus_activation_find (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (activations); i++)
    if (g_str_equal (name, activations[i].name) || g_strcmp0 (name, activations[i].also) == 0)
      return &activations[i];
  return NULL;
}

const char *
gradus_activation_nearest (const char *name)
{
  const char *names[G_N_ELEMENTS (activations) + 1] = { NULL };

  for (gsize i = 0; i < G_N_ELEMENTS (activations); i++)
    names[i] = activations[i].name;
  return gradus_json_nearest (name, names);
}

gboolean
gradus_activation_build (const GradusActivation *activation,
                         GradusProgram          *program,
                         GradusValueId           value,
                         GradusValueId          *output,
                         GError                **error)
{
  *output = value;
  if (activation->op == NULL)
    return TRUE;
  if (activation->has_alpha)
    return gradus_program_add_node (program, activation->op, 0, &value, 1, output, error,
                                    "alpha", activation->alpha, NULL);
  return gradus_program_add_node (program, activation->op, 0, &value, 1, output, error, NULL);
}
