/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"

G_BEGIN_DECLS

/* Called by next() before it hands out batch @position, on the thread that trains. */
typedef void (*GradusBenchFunc) (gint64 position, gpointer data);

/**
 * gradus_bench_source_new:
 * @rank, @dims: of one sample, float32
 * @func, @data: called by every next()
 *
 * Batches of random numbers with ten classes, made beforehand, so that nothing but the step itself
 * takes time.
 */
GradusBatchSource *gradus_bench_source_new (guint           rank,
                                            const gint64   *dims,
                                            guint           batch_size,
                                            gint64          n_batches,
                                            GradusBenchFunc func,
                                            gpointer        data);

G_END_DECLS
