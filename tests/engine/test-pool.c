/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-pool-size.h"
#include "gradus-pool.h"

#include <string.h>

#define N_TILES 37
#define N_JOBS 3000

typedef struct
{
  guint hits[N_TILES];
  double sums[N_TILES];
  guint job;
} Job;

static void
count_tile (gpointer data, guint tile)
{
  Job *job = data;

  job->hits[tile]++;
  for (guint i = 1; i < 20; i++)
    job->sums[tile] += 1.0 / (tile + i + job->job);
}

/* Each tile exactly once per job; plain counters, so ThreadSanitizer sees a tile taken twice. */
static void
test_each_tile_once (void)
{
  for (guint threads = 1; threads <= 4; threads++)
    {
      g_autoptr (GradusPool) pool = gradus_pool_new (threads);
      g_assert_cmpuint (gradus_pool_n_threads (pool), ==, threads);
      for (guint job_index = 0; job_index < N_JOBS; job_index++)
        {
          Job job = { .job = job_index };
          guint n_tiles = 1 + job_index % N_TILES;
          gradus_pool_run (pool, count_tile, &job, n_tiles);
          for (guint i = 0; i < N_TILES; i++)
            g_assert_cmpuint (job.hits[i], ==, i < n_tiles ? 1 : 0);
        }
    }
}

static void
test_threads_change_nothing (void)
{
  g_autoptr (GradusPool) pool = gradus_pool_new (1);
  Job first = { 0 };

  gradus_pool_run (pool, count_tile, &first, N_TILES);
  for (guint threads = 2; threads <= 8; threads++)
    {
      Job job = { 0 };
      gradus_pool_set_threads (pool, threads);
      g_assert_cmpuint (gradus_pool_n_threads (pool), ==, threads);
      gradus_pool_run (pool, count_tile, &job, N_TILES);
      g_assert_cmpmem (&first, sizeof first, &job, sizeof job);
    }
}

/* Sleeping workers wake up, and a job after a pause is done like any other. */
static void
test_wakes_up (void)
{
  g_autoptr (GradusPool) pool = gradus_pool_new (3);

  for (guint i = 0; i < 20; i++)
    {
      Job job = { .job = i };
      g_usleep (i * 50);
      gradus_pool_run (pool, count_tile, &job, N_TILES);
      for (guint tile = 0; tile < N_TILES; tile++)
        g_assert_cmpuint (job.hits[tile], ==, 1);
    }
}

static void
see_denormal (gpointer data, guint tile)
{
  volatile float tiny = 1e-38f;
  volatile float product = tiny * 0.01f;

  ((float *) data)[tile] = product;
  g_usleep (200);
}

static void
test_flushes_denormals (void)
{
  g_autoptr (GradusPool) pool = gradus_pool_new (3);
  float seen[32];

  memset (seen, 0xff, sizeof seen);
  gradus_pool_run (pool, see_denormal, seen, G_N_ELEMENTS (seen));
  for (guint i = 0; i < G_N_ELEMENTS (seen); i++)
    g_assert_true (seen[i] == 0.0f);
}

static void
test_size (void)
{
  g_assert_cmpuint (gradus_pool_parse_cpu_max ("max 100000\n"), ==, 0);
  g_assert_cmpuint (gradus_pool_parse_cpu_max ("200000 100000\n"), ==, 2);
  g_assert_cmpuint (gradus_pool_parse_cpu_max ("150000 100000\n"), ==, 2);
  g_assert_cmpuint (gradus_pool_parse_cpu_max ("10000 100000\n"), ==, 1);
  g_assert_cmpuint (gradus_pool_parse_cpu_max ("-1 100000"), ==, 0);
  g_assert_cmpuint (gradus_pool_parse_cpu_max ("1000 0"), ==, 0);
  g_assert_cmpuint (gradus_pool_parse_cpu_max (""), ==, 0);
  g_assert_cmpuint (gradus_pool_physical_cores (), >=, 1);
  g_assert_cmpuint (gradus_pool_default_threads (), >=, 1);
  g_assert_cmpuint (gradus_pool_default_threads (), <=, gradus_pool_physical_cores ());
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pool/each-tile-once", test_each_tile_once);
  g_test_add_func ("/pool/threads-change-nothing", test_threads_change_nothing);
  g_test_add_func ("/pool/wakes-up", test_wakes_up);
  g_test_add_func ("/pool/flushes-denormals", test_flushes_denormals);
  g_test_add_func ("/pool/size", test_size);
  return g_test_run ();
}
