/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-process-memory.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL (50 * 1000)

void
gradus_process_memory_init (GradusProcessMemory *self)
{
  *self = (GradusProcessMemory){ .fd = open ("/proc/self/status", O_RDONLY | O_CLOEXEC),
                                 .read_at = -INTERVAL };
}

void
gradus_process_memory_clear (GradusProcessMemory *self)
{
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
}

static gint64
kilobytes (const char *text, const char *key)
{
  const char *at = strstr (text, key);

  return at == NULL ? 0 : g_ascii_strtoll (at + strlen (key), NULL, 10) * 1024;
}

void
gradus_process_memory_sample (GradusProcessMemory *self, gint64 now)
{
  char    text[4096];
  gssize  n;

  if (self->fd < 0 || now - self->read_at < INTERVAL)
    return;
  self->read_at = now;
  if ((n = pread (self->fd, text, sizeof text - 1, 0)) <= 0)
    return;
  text[n] = 0;
  self->current = kilobytes (text, "\nVmRSS:");
  self->peak = MAX (kilobytes (text, "\nVmHWM:"), self->current);
}
