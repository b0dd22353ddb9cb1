/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-pool-size.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

guint
gradus_pool_physical_cores (void)
{
  cpu_set_t allowed;
  g_autoptr (GHashTable) cores = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  if (sched_getaffinity (0, sizeof allowed, &allowed) != 0)
    return (guint) MAX (sysconf (_SC_NPROCESSORS_ONLN), 1);
  for (guint cpu = 0; cpu < CPU_SETSIZE; cpu++)
    {
      g_autofree char *path = NULL;
      char *siblings = NULL;

      if (!CPU_ISSET (cpu, &allowed))
        continue;
      path = g_strdup_printf ("/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
      if (!g_file_get_contents (path, &siblings, NULL, NULL))
        siblings = g_strdup_printf ("%u", cpu);
      g_hash_table_add (cores, siblings);
    }
  return MAX (g_hash_table_size (cores), 1);
}

guint
gradus_pool_parse_cpu_max (const char *text)
{
  char *end = NULL;
  guint64 quota, period;

  if (!g_ascii_isdigit (text[0]))
    return 0;
  quota = g_ascii_strtoull (text, &end, 10);
  if (*end != ' ')
    return 0;
  period = g_ascii_strtoull (end + 1, NULL, 10);
  if (period == 0 || quota == 0)
    return 0;
  return (guint) MIN (1 + (quota - 1) / period, 65536);
}

/* Version 2: the strictest cpu.max from the process's group up to the root. */
static guint
quota_version_2 (void)
{
  g_autofree char *groups = NULL;
  g_autofree char *path = NULL;
  const char *start;
  guint cores = 0;

  if (!g_file_get_contents ("/proc/self/cgroup", &groups, NULL, NULL))
    return 0;
  start = g_str_has_prefix (groups, "0::") ? groups : strstr (groups, "\n0::");
  if (start == NULL)
    return 0;
  start = strchr (start, '/');
  if (start == NULL)
    return 0;
  path = g_strndup (start, strcspn (start, "\n"));
  for (;;)
    {
      g_autofree char *file = g_strconcat ("/sys/fs/cgroup", path, "/cpu.max", NULL);
      g_autofree char *text = NULL;
      char *slash;

      if (g_file_get_contents (file, &text, NULL, NULL))
        {
          guint here = gradus_pool_parse_cpu_max (text);
          if (here > 0 && (cores == 0 || here < cores))
            cores = here;
        }
      slash = strrchr (path, '/');
      if (slash == NULL)
        return cores;
      *slash = '\0';
    }
}

static guint
quota_version_1 (void)
{
  g_autofree char *quota = NULL;
  g_autofree char *period = NULL;
  g_autofree char *both = NULL;

  if (!g_file_get_contents ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, NULL, NULL)
      || !g_file_get_contents ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, NULL, NULL))
    return 0;
  both = g_strconcat (g_strchomp (quota), " ", period, NULL);
  return gradus_pool_parse_cpu_max (both);
}

guint
gradus_pool_quota_cores (void)
{
  guint cores = quota_version_2 ();
  return cores > 0 ? cores : quota_version_1 ();
}

guint
gradus_pool_default_threads (void)
{
  guint cores = gradus_pool_physical_cores ();
  guint quota = gradus_pool_quota_cores ();

  if (quota > 0)
    cores = MIN (cores, quota);
  return cores > 2 ? cores - 1 : cores;
}
