/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "source/gradus-source.h"

G_BEGIN_DECLS

/**
 * GradusCache:
 *
 * What a source gave, kept in memory from the first reading on; only arrays that the source itself
 * does not keep there. Several threads may fetch at once: of the same sample they write the same.
 */
typedef struct _GradusCache GradusCache;

/* Bytes of a sample that the source does not keep in memory itself. */
gint64 gradus_cache_sample_bytes (GradusSource *source);
/* Bytes that a cache of @source will hold; 0: there is nothing to keep. */
gint64 gradus_cache_bytes (GradusSource *source);
/* @source is borrowed. Fails with GRADUS_ERROR_NO_MEMORY. */
GradusCache *gradus_cache_new (GradusSource *source, GError **error);
void         gradus_cache_free (GradusCache *self);
/* Reads those of the samples that are not there yet. */
gboolean gradus_cache_fetch (GradusCache *self, const gint64 *samples, guint n, GError **error);
/* Array @k (inputs, then targets) of a sample that was fetched; NULL if the cache leaves that array
 * to the source. */
const void *gradus_cache_peek (GradusCache *self, guint k, gint64 sample);

G_END_DECLS
