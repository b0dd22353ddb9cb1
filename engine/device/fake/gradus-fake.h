/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-device.h"

G_BEGIN_DECLS

/**
 * The device called "fake", for tests: truly asynchronous, and severe. Nothing is done until
 * somebody synchronises; then the work of all streams is done in an order drawn by the seed, any that
 * streams and events allow, by the kernels of another device. Its addresses cannot be read by the
 * host: a kernel of the engine that follows one ends the test. It notes as a fault
 *
 * - work of two streams on the same bytes, one of them writing, that no event or synchronisation
 *   orders;
 * - memory, a kernel or a stream given back while work that uses it is waiting;
 * - host memory that changes between an upload's call and the upload;
 * - an address that it never gave, or a range that passes its end.
 *
 * What it downloads is spoilt at the call and right only after a synchronisation. One thread.
 */

/* Calls so far. */
typedef struct
{
  guint64 allocations, deallocations, uploads, downloads, prepares, runs, records, waits,
      synchronisations;
} GradusFakeCounts;

/* @inner: whose kernels do the work; a reference is taken. */
GradusDevice    *gradus_fake_device_new    (GradusDevice *inner, guint64 seed);
/* Borrowed. */
GradusDevice    *gradus_fake_device_inner  (GradusDevice *device);
GradusFakeCounts gradus_fake_device_counts (GradusDevice *device);
/* Calls that can fail, so far. */
guint64          gradus_fake_device_calls  (GradusDevice *device);
/* The @n-th such call from now fails, the first being 1, and no other; 0: none. */
void             gradus_fake_device_fail   (GradusDevice *device, guint64 n);
/* The faults, a line each; NULL if there is none. Free with g_free. */
char            *gradus_fake_device_faults (GradusDevice *device);
/* Bytes allocated and work waiting: 0 when all was given back. */
gsize            gradus_fake_device_left   (GradusDevice *device);

G_END_DECLS
