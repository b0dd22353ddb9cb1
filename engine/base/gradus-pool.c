/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-pool.h"

#include "gradus-pool-size.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#define SPIN_NANOSECONDS 50000
#define SPIN_ROUNDS 64
#define CLOSED 0xffffffffu
#define CACHE_LINE 64

/* OpenMP's own threading, if it is there. Weak: base does not link it. */
extern void omp_set_num_threads (int n) __attribute__ ((weak));

/*
 * A tile is claimed by raising the ticket (generation << 32 | next tile) with compare-and-swap. A
 * worker that read an old job cannot claim a tile of it, because its ticket has another generation;
 * so nobody waits for stragglers. While the job's fields change the ticket is closed, so that a
 * ticket of one generation is never judged by the tile count of another.
 */
struct _GradusPool
{
  _Alignas (CACHE_LINE) _Atomic guint64 ticket;
  _Atomic (GradusTileFunc) func;
  _Atomic gpointer data;
  _Atomic guint32 n_tiles;

  _Alignas (CACHE_LINE) _Atomic guint32 done;
  _Atomic guint32 caller_sleeps;

  _Alignas (CACHE_LINE) _Atomic guint32 wake; /* raised with every job; what workers sleep on */
  _Atomic guint32 sleepers;
  _Atomic guint32 stop;
  _Atomic guint32 ready; /* workers that have set themselves up */

  guint n_threads;
  GThread **workers; /* n_threads - 1 */
};

static _Thread_local gboolean adopted;

static void
futex_wait (_Atomic guint32 *word, guint32 expected)
{
  syscall (SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void
futex_wake (_Atomic guint32 *word, int count)
{
  syscall (SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static gint64
now_nanoseconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

static inline void
relax (void)
{
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause ();
#endif
}

void
gradus_pool_adopt_thread (void)
{
  if (adopted)
    return;
  adopted = TRUE;
  /* OpenMP's thread count is a property of the calling thread. */
  if (omp_set_num_threads != NULL)
    omp_set_num_threads (1);
#if defined(__x86_64__) || defined(__i386__)
  _mm_setcsr (_mm_getcsr () | 0x8040); /* flush to zero, denormals are zero */
#elif defined(__aarch64__)
  guint64 fpcr;
  __asm__ volatile ("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile ("msr fpcr, %0" : : "r"(fpcr | (1u << 24)));
#endif
}

/* Works on the current job until no tile of it is left to claim. */
static void
work (GradusPool *pool)
{
  for (;;)
    {
      guint64 ticket = atomic_load_explicit (&pool->ticket, memory_order_acquire);
      guint32 tile = (guint32) ticket;
      guint32 n_tiles = atomic_load_explicit (&pool->n_tiles, memory_order_acquire);
      GradusTileFunc func = atomic_load_explicit (&pool->func, memory_order_acquire);
      gpointer data = atomic_load_explicit (&pool->data, memory_order_acquire);
      if (tile >= n_tiles)
        return;
      if (!atomic_compare_exchange_strong_explicit (&pool->ticket, &ticket, ticket + 1,
                                                    memory_order_acq_rel, memory_order_acquire))
        continue;
      func (data, tile);
      if (atomic_fetch_add_explicit (&pool->done, 1, memory_order_seq_cst) + 1 == n_tiles
          && atomic_load_explicit (&pool->caller_sleeps, memory_order_seq_cst) != 0)
        futex_wake (&pool->done, 1);
    }
}

/* Spins for a while; TRUE when *word differs from @value. */
static gboolean
spin_until_changed (_Atomic guint32 *word, guint32 value)
{
  gint64 end = now_nanoseconds () + SPIN_NANOSECONDS;
  do
    for (guint i = 0; i < SPIN_ROUNDS; i++)
      {
        if (atomic_load_explicit (word, memory_order_acquire) != value)
          return TRUE;
        relax ();
      }
  while (now_nanoseconds () < end);
  return FALSE;
}

static gpointer
worker_main (gpointer user_data)
{
  GradusPool *pool = user_data;
  guint32 seen = 0;

  gradus_pool_adopt_thread ();
  atomic_fetch_add (&pool->ready, 1);
  futex_wake (&pool->ready, 1);
  while (atomic_load_explicit (&pool->stop, memory_order_acquire) == 0)
    {
      guint32 wake = atomic_load_explicit (&pool->wake, memory_order_acquire);
      if (wake != seen)
        {
          seen = wake;
          work (pool);
          continue;
        }
      if (spin_until_changed (&pool->wake, seen))
        continue;
      atomic_fetch_add_explicit (&pool->sleepers, 1, memory_order_seq_cst);
      if (atomic_load_explicit (&pool->wake, memory_order_seq_cst) == seen)
        futex_wait (&pool->wake, seen);
      atomic_fetch_sub_explicit (&pool->sleepers, 1, memory_order_seq_cst);
    }
  return NULL;
}

static void
start_workers (GradusPool *pool, guint threads)
{
  atomic_store (&pool->stop, 0);
  atomic_store (&pool->wake, 0);
  atomic_store (&pool->ready, 0);
  pool->workers = g_new0 (GThread *, MAX (threads, 1));
  pool->n_threads = 1;
  for (guint i = 1; i < threads; i++)
    {
      g_autofree char *name = g_strdup_printf ("gradus-pool-%u", i);
      GThread *thread = g_thread_try_new (name, worker_main, pool, NULL);
      /* Fewer threads give the same results, only later. */
      if (thread == NULL)
        break;
      pool->workers[i - 1] = thread;
      pool->n_threads++;
    }
  /* What a thread allocates at its start belongs here and not into somebody's first job. */
  for (guint32 ready = 0; ready < pool->n_threads - 1; ready = atomic_load (&pool->ready))
    futex_wait (&pool->ready, ready);
}

static void
stop_workers (GradusPool *pool)
{
  atomic_store (&pool->stop, 1);
  atomic_fetch_add (&pool->wake, 1);
  futex_wake (&pool->wake, INT_MAX);
  for (guint i = 0; i + 1 < pool->n_threads; i++)
    g_thread_join (pool->workers[i]);
  g_clear_pointer (&pool->workers, g_free);
}

GradusPool *
gradus_pool_new (guint threads)
{
  GradusPool *pool = g_aligned_alloc0 (1, sizeof *pool, CACHE_LINE);
  atomic_store (&pool->ticket, CLOSED);
  start_workers (pool, threads == 0 ? gradus_pool_default_threads () : MIN (threads, 1024));
  return pool;
}

void
gradus_pool_free (GradusPool *pool)
{
  if (pool == NULL)
    return;
  stop_workers (pool);
  g_aligned_free (pool);
}

guint
gradus_pool_n_threads (GradusPool *pool)
{
  g_return_val_if_fail (pool != NULL, 1);
  return pool->n_threads;
}

void
gradus_pool_set_threads (GradusPool *pool, guint threads)
{
  g_return_if_fail (pool != NULL);

  threads = threads == 0 ? gradus_pool_default_threads () : MIN (threads, 1024);
  if (threads == pool->n_threads)
    return;
  stop_workers (pool);
  start_workers (pool, threads);
}

static void
wait_for_all (GradusPool *pool, guint n_tiles)
{
  for (;;)
    {
      guint32 done = atomic_load_explicit (&pool->done, memory_order_acquire);
      if (done == n_tiles)
        return;
      if (spin_until_changed (&pool->done, done))
        continue;
      atomic_store_explicit (&pool->caller_sleeps, 1, memory_order_seq_cst);
      done = atomic_load_explicit (&pool->done, memory_order_seq_cst);
      if (done != n_tiles)
        futex_wait (&pool->done, done);
      atomic_store_explicit (&pool->caller_sleeps, 0, memory_order_seq_cst);
    }
}

void
gradus_pool_run (GradusPool *pool, GradusTileFunc func, gpointer data, guint n_tiles)
{
  g_return_if_fail (pool != NULL && func != NULL && n_tiles < CLOSED);

  gradus_pool_adopt_thread ();
  if (pool->n_threads == 1 || n_tiles <= 1)
    {
      for (guint i = 0; i < n_tiles; i++)
        func (data, i);
      return;
    }

  guint64 generation
      = (atomic_load_explicit (&pool->ticket, memory_order_relaxed) >> 32) + 1;
  atomic_store_explicit (&pool->ticket, generation << 32 | CLOSED, memory_order_release);
  atomic_store_explicit (&pool->done, 0, memory_order_release);
  atomic_store_explicit (&pool->func, func, memory_order_release);
  atomic_store_explicit (&pool->data, data, memory_order_release);
  atomic_store_explicit (&pool->n_tiles, n_tiles, memory_order_release);
  atomic_store_explicit (&pool->ticket, generation << 32, memory_order_release);

  atomic_fetch_add_explicit (&pool->wake, 1, memory_order_seq_cst);
  guint32 sleepers = atomic_load_explicit (&pool->sleepers, memory_order_seq_cst);
  if (sleepers > 0)
    futex_wake (&pool->wake, (int) MIN (sleepers, n_tiles - 1));
  work (pool);
  wait_for_all (pool, n_tiles);
}
