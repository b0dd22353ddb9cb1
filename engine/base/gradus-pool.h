/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * GradusPool:
 *
 * Worker threads for tiles of one job at a time. The caller works too. The tile count is a function
 * of shapes alone, so results do not depend on the number of threads; small work runs on the
 * caller's thread. Workers call omp_set_num_threads (1), flush denormals to zero, spin at most
 * 50 us and then sleep on a futex. A pool has one caller at a time.
 */
typedef struct _GradusPool GradusPool;

typedef void (*GradusTileFunc) (gpointer data, guint tile);

/* @threads, the caller counted; 0: the physical cores the control group grants, one left for the
 * window when there are more than two. */
GradusPool *gradus_pool_new         (guint threads);
void        gradus_pool_free        (GradusPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusPool, gradus_pool_free)
guint       gradus_pool_n_threads   (GradusPool *pool);
/* Between two runs, by the pool's caller. */
void        gradus_pool_set_threads (GradusPool *pool, guint threads);
/* Calls func (data, tile) once for each tile in [0, n_tiles), in any order, on any worker; returns
 * when all are done. Allocates nothing. */
void        gradus_pool_run         (GradusPool *pool, GradusTileFunc func, gpointer data, guint n_tiles);
/* Flushes denormals on the calling thread and keeps OpenMP single-threaded there, as on workers. */
void        gradus_pool_adopt_thread (void);

G_END_DECLS
