/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

/* Calls @func with each weight that has an average, both by their index. */
static gboolean
for_averages (GradusTrainer *self,
              gboolean (*func) (GradusTrainer *self, guint weight, guint average, gsize bytes, GError **error),
              GError **error)
{
  if (!self->options->optimizer.use_ema || self->step == 0)
    return TRUE;
  for (guint i = 0; i < self->train.n_gradients; i++)
    {
      g_autofree char   *name = g_strdup_printf ("optimizer/%s/average", self->train.names[i]);
      GradusVariableRole role;
      GradusValueType    type;
      guint              weight, average;

      if (!gradus_variables_find (self->variables, self->train.names[i], &weight) ||
          !gradus_variables_find (self->variables, name, &average))
        continue;
      gradus_variables_name (self->variables, weight, &role, &type);
      if (!func (self, weight, average,
                 gradus_shape_count (&type.shape) * gradus_dtype_size (type.dtype), error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
swap (GradusTrainer *self, guint weight, guint average, gsize bytes, GError **error)
{
  return gradus_variables_read (self->variables, weight, self->host, bytes, error) &&
         gradus_variables_read (self->variables, average, self->other, bytes, error) &&
         gradus_variables_write (self->variables, weight, self->other, bytes, error) &&
         gradus_variables_write (self->variables, average, self->host, bytes, error);
}

static gboolean
reset (GradusTrainer *self, guint weight, guint average, gsize bytes, GError **error)
{
  return gradus_variables_read (self->variables, weight, self->host, bytes, error) &&
         gradus_variables_write (self->variables, average, self->host, bytes, error);
}

gboolean
gradus_trainer_swap_average (GradusTrainer *self, GError **error)
{
  return for_averages (self, swap, error);
}

gboolean
gradus_trainer_reset_average (GradusTrainer *self, GError **error)
{
  return for_averages (self, reset, error);
}
