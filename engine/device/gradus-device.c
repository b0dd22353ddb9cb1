/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-device.h"

#include <glib/gi18n-lib.h>

#include "device/cpu/gradus-cpu.h"
#include "device/ref/gradus-ref.h"

static GradusDevice *
open_ref (guint threads, GError **error)
{
  return gradus_ref_device_new ();
}

/* The best first. */
static const struct
{
  const char *name;
  GradusDevice *(*open) (guint threads, GError **error);
} devices[] = {
  { "cpu", gradus_cpu_device_new },
  { "ref", open_ref },
};

GradusDevice *
gradus_device_open (const char *name, guint threads, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      if (name == NULL || g_str_equal (name, devices[i].name))
        return devices[i].open (threads, error);
      g_string_append_printf (known, "%s“%s”", i > 0 ? ", " : "", devices[i].name);
    }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
               _ ("This build has no device called “%s”; it has %s."), name, known->str);
  return NULL;
}

GradusDevice *
gradus_device_ref (GradusDevice *device)
{
  g_return_val_if_fail (device != NULL, NULL);

  g_atomic_ref_count_inc (&device->refs);
  return device;
}

void
gradus_device_unref (GradusDevice *device)
{
  if (device != NULL && g_atomic_ref_count_dec (&device->refs))
    device->funcs->free (device);
}
