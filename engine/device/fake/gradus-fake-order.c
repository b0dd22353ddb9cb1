/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/fake/gradus-fake-order.h"

const GradusFakeAccess *
gradus_fake_order_add (GArray *history, const GradusFakeAccess *access, const GradusFakeClock *clock)
{
  guint race = history->len;

  if (access->start == access->end)
    return NULL;
  for (guint i = 0; i < history->len && race == history->len; i++)
    {
      const GradusFakeAccess *other = &g_array_index (history, GradusFakeAccess, i);

      if ((access->write || other->write) && other->stream != access->stream
          && other->start < access->end && access->start < other->end
          && other->tick > clock->ticks[other->stream])
        race = i;
    }
  g_array_append_vals (history, access, 1);
  return race + 1 < history->len ? &g_array_index (history, GradusFakeAccess, race) : NULL;
}

void
gradus_fake_order_prune (GArray *history, const GradusFakeClock *clock)
{
  guint kept = 0;

  for (guint i = 0; i < history->len; i++)
    {
      GradusFakeAccess access = g_array_index (history, GradusFakeAccess, i);

      if (access.tick > clock->ticks[access.stream])
        g_array_index (history, GradusFakeAccess, kept++) = access;
    }
  g_array_set_size (history, kept);
}
