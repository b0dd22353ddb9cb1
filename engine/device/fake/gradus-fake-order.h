/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * What of the work on several streams happened before what: a vector clock for each stream, each
 * event and the host (Mattern, Virtual Time and Global States of Distributed Systems, 1989). The
 * host's grows when it synchronises, and work given to a stream comes after all the host knows.
 */
#define GRADUS_FAKE_MAX_STREAMS 16

typedef struct
{
  guint64 ticks[GRADUS_FAKE_MAX_STREAMS];
} GradusFakeClock;

typedef struct
{
  const char *start, *end;
  gboolean    write;
  guint       stream;
  guint64     tick;
  const char *what; /* static or interned */
} GradusFakeAccess;

static inline void
gradus_fake_clock_merge (GradusFakeClock *into, const GradusFakeClock *from)
{
  for (guint i = 0; i < GRADUS_FAKE_MAX_STREAMS; i++)
    into->ticks[i] = MAX (into->ticks[i], from->ticks[i]);
}

/* Adds an access made at @clock to @history, an array of GradusFakeAccess; gives the one it races
 * with, or NULL. */
const GradusFakeAccess *gradus_fake_order_add   (GArray                 *history,
                                                 const GradusFakeAccess *access,
                                                 const GradusFakeClock  *clock);
/* Forgets what @clock, the host's, knows to be done. */
void                    gradus_fake_order_prune (GArray *history, const GradusFakeClock *clock);

G_END_DECLS
