/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"

G_BEGIN_DECLS

/**
 * gradus_bench_source_new:
 * @rank, @dims: of one sample, float32
 * @times: (element-type gint64): gets the monotonic time in nanoseconds of every call of next()
 *
 * Batches of random numbers with ten classes, made beforehand, so that nothing but the step itself
 * takes time. @times must outlive it.
 */
GradusBatchSource *gradus_bench_source_new (guint         rank,
                                            const gint64 *dims,
                                            guint         batch_size,
                                            gint64        n_batches,
                                            GArray       *times);

G_END_DECLS
