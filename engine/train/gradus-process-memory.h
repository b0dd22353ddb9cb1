/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Resident bytes of this process, now and at most, read from the kernel at most every 50 ms: between two
 * readings the last one is repeated. One thread. Zero where there is no /proc. */
typedef struct
{
  int    fd;
  gint64 read_at; /* monotonic microseconds */
  gint64 current, peak;
} GradusProcessMemory;

void gradus_process_memory_init   (GradusProcessMemory *self);
void gradus_process_memory_clear  (GradusProcessMemory *self);
void gradus_process_memory_sample (GradusProcessMemory *self, gint64 now);

G_END_DECLS
