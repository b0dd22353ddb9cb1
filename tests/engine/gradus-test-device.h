/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-device.h"

G_BEGIN_DECLS

/* gradus_device_open(); where the environment says GRADUS_TEST_DEVICE=fake, the fake device over that one. */
GradusDevice *gradus_test_device_open  (const char *name, guint threads);
/* Gives the last reference back; the fake device must have nothing to complain of and nothing left. */
void          gradus_test_device_close (GradusDevice *device);
/* gradus_cpu_device_set_grain() of the cpu device inside, if that is what it is. */
void          gradus_test_device_set_grain (GradusDevice *device, double nanoseconds);

G_END_DECLS
