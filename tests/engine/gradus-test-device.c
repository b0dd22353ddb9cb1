/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-test-device.h"

#include "device/cpu/gradus-cpu.h"
#include "device/fake/gradus-fake.h"

GradusDevice *
gradus_test_device_open (const char *name, guint threads)
{
  g_autoptr (GError)       error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open (name, threads, &error);

  g_assert_no_error (error);
  if (g_strcmp0 (g_getenv ("GRADUS_TEST_DEVICE"), "fake") != 0)
    return g_steal_pointer (&device);
  return gradus_fake_device_new (device, 11);
}

void
gradus_test_device_close (GradusDevice *device)
{
  if (g_str_equal (device->funcs->name, "fake"))
    {
      g_autofree char *faults = gradus_fake_device_faults (device);

      g_assert_cmpstr (faults, ==, NULL);
      g_assert_cmpuint (gradus_fake_device_left (device), ==, 0);
    }
  gradus_device_unref (device);
}

void
gradus_test_device_set_grain (GradusDevice *device, double nanoseconds)
{
  if (g_str_equal (device->funcs->name, "fake"))
    device = gradus_fake_device_inner (device);
  if (g_str_equal (device->funcs->name, "cpu"))
    gradus_cpu_device_set_grain (device, nanoseconds);
}
