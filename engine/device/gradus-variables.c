/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-execution-private.h"

#include <glib/gi18n-lib.h>

typedef struct
{
  const char        *name;
  GradusVariableRole role;
  GradusValueType    type;
  gsize              bytes;
  gsize              offset;
} Variable;

struct _GradusVariables
{
  GradusDevice *device;
  GradusStream *stream;
  GArray       *variables;
  GHashTable   *by_name; /* name -> index + 1 */
  gsize         bytes;
  char         *arena;
};

static gsize
round_up (gsize bytes)
{
  return (bytes + GRADUS_PLAN_ALIGNMENT - 1) / GRADUS_PLAN_ALIGNMENT * GRADUS_PLAN_ALIGNMENT;
}

static gboolean
add_variable (GradusVariables *self, const GradusValue *value, GError **error)
{
  gint64 count = gradus_shape_count (&value->type.shape);
  Variable variable = { value->name, value->role, value->type, 0, self->bytes };

  if (count < 0 || count > G_MAXINT64 / 64 - (gint64) self->bytes)
    {
      g_autofree char *shape = gradus_shape_to_string (&value->type.shape);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("The variable “%s” of shape %s is beyond what any machine can hold. Choose "
                      "smaller layers."),
                   value->name, shape);
      return FALSE;
    }
  variable.bytes = (gsize) count * gradus_dtype_size (value->type.dtype);
  self->bytes += round_up (variable.bytes);
  g_array_append_val (self->variables, variable);
  g_hash_table_insert (self->by_name, (gpointer) value->name, GUINT_TO_POINTER (self->variables->len));
  return TRUE;
}

GradusVariables *
gradus_variables_new (GradusProgram *program, GradusDevice *device, GError **error)
{
  g_autoptr (GradusVariables) self = NULL;
  guint n_values;

  g_return_val_if_fail (program != NULL && device != NULL, NULL);

  self = g_new0 (GradusVariables, 1);
  self->device = gradus_device_ref (device);
  self->variables = g_array_new (FALSE, FALSE, sizeof (Variable));
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  n_values = gradus_program_n_values (program);
  for (guint id = 0; id < n_values; id++)
    {
      const GradusValue *value = gradus_program_value (program, id);
      if (value->kind == GRADUS_VALUE_VARIABLE && !add_variable (self, value, error))
        return NULL;
    }
  self->stream = device->funcs->stream_new (device, error);
  if (self->stream == NULL)
    return NULL;
  self->arena = device->funcs->allocate (device, self->bytes, error);
  if (self->arena == NULL)
    return NULL;
  return g_steal_pointer (&self);
}

void
gradus_variables_free (GradusVariables *self)
{
  if (self == NULL)
    return;
  if (self->arena != NULL)
    self->device->funcs->deallocate (self->device, self->arena, self->bytes);
  if (self->stream != NULL)
    self->device->funcs->stream_free (self->device, self->stream);
  g_array_unref (self->variables);
  g_hash_table_unref (self->by_name);
  gradus_device_unref (self->device);
  g_free (self);
}

guint
gradus_variables_n (GradusVariables *self)
{
  g_return_val_if_fail (self != NULL, 0);
  return self->variables->len;
}

const char *
gradus_variables_name (GradusVariables *self, guint i, GradusVariableRole *role, GradusValueType *type)
{
  const Variable *variable;

  g_return_val_if_fail (self != NULL && i < self->variables->len, NULL);
  variable = &g_array_index (self->variables, Variable, i);
  if (role != NULL)
    *role = variable->role;
  if (type != NULL)
    *type = variable->type;
  return variable->name;
}

gboolean
gradus_variables_find (GradusVariables *self, const char *name, guint *i)
{
  guint found;

  g_return_val_if_fail (self != NULL && name != NULL, FALSE);
  found = GPOINTER_TO_UINT (g_hash_table_lookup (self->by_name, name));
  if (found == 0)
    return FALSE;
  if (i != NULL)
    *i = found - 1;
  return TRUE;
}

static gboolean
check_size (const Variable *variable, gsize bytes, GError **error)
{
  if (bytes == variable->bytes)
    return TRUE;
  g_set_error (
      error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
      _ ("The variable “%s” has %zu bytes, not %zu. Take data that was written for this model."),
      variable->name, variable->bytes, bytes);
  return FALSE;
}

gboolean
gradus_variables_write (GradusVariables *self, guint i, const void *data, gsize bytes, GError **error)
{
  const GradusDeviceFuncs *funcs;
  const Variable *variable;

  g_return_val_if_fail (self != NULL && i < self->variables->len && data != NULL, FALSE);
  funcs = self->device->funcs;
  variable = &g_array_index (self->variables, Variable, i);
  return check_size (variable, bytes, error)
         && funcs->upload (self->device, self->stream, self->arena + variable->offset, data, bytes, error)
         && funcs->synchronise (self->device, self->stream, error);
}

gboolean
gradus_variables_read (GradusVariables *self, guint i, void *data, gsize bytes, GError **error)
{
  const GradusDeviceFuncs *funcs;
  const Variable *variable;

  g_return_val_if_fail (self != NULL && i < self->variables->len && data != NULL, FALSE);
  funcs = self->device->funcs;
  variable = &g_array_index (self->variables, Variable, i);
  return check_size (variable, bytes, error)
         && funcs->download (self->device, self->stream, data, self->arena + variable->offset, bytes, error)
         && funcs->synchronise (self->device, self->stream, error);
}

void *
gradus_variables_address (GradusVariables *self, const char *name, const GradusValueType *type)
{
  const Variable *variable;
  guint i;

  if (!gradus_variables_find (self, name, &i))
    return NULL;
  variable = &g_array_index (self->variables, Variable, i);
  if (variable->type.dtype != type->dtype || !gradus_shape_equal (&variable->type.shape, &type->shape))
    return NULL;
  return self->arena + variable->offset;
}

GradusDevice *
gradus_variables_device (GradusVariables *self)
{
  return self->device;
}
