/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-device.h"

G_BEGIN_DECLS

/* The device called "ref": runs the reference kernels of the op table. Slow; the definition that
 * other devices are tested against. Inputs are widened to float64, outputs rounded to their type. */
GradusDevice *gradus_ref_device_new (void);

/* @n elements of @dtype as float64 and back; integers are cut towards zero and kept in range. */
void gradus_ref_widen (GradusDType dtype, const void *from, gint64 n, double *to);
void gradus_ref_round (GradusDType dtype, const double *from, gint64 n, void *to);

G_END_DECLS
