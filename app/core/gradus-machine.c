/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-machine.h"

#include "device/cpu/gradus-cpu.h"

#include <dlfcn.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/utsname.h>

/* Memory ------------------------------------------------------------------------------------- */

/* The number after @key in a file of "key: number kB" lines, in bytes; -1 if it is not there. */
static gint64
read_key (const char *path, const char *key, gint64 factor)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return -1;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], key))
      return g_ascii_strtoll (lines[i] + strlen (key), NULL, 10) * factor;
  return -1;
}

/* A file with one number; -1 for "max", for what is as good as that, and where there is no file. */
static gint64
read_number (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *text = NULL;
  gint64           value = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL) || !g_ascii_isdigit (text[0]))
    return -1;
  value = g_ascii_strtoll (text, NULL, 10);
  return value < G_GINT64_CONSTANT (1) << 60 ? value : -1;
}

/* What one group leaves; -1 if it has no limit. Cached files can be given up, so they count as
 * free. */
static gint64
group_free (const char *folder, gboolean unified)
{
  g_autofree char *stat = g_build_filename (folder, "memory.stat", NULL);
  gint64           limit = read_number (folder, unified ? "memory.max" : "memory.limit_in_bytes");
  gint64 used = read_number (folder, unified ? "memory.current" : "memory.usage_in_bytes");
  gint64 cached = read_key (stat, unified ? "inactive_file " : "total_inactive_file ", 1);

  if (limit < 0 || used < 0)
    return -1;
  return MAX (0, limit - used + MAX (0, cached));
}

/* The least that @path and the groups above it leave. */
static gint64
groups_free (const char *root, const char *path, gboolean unified)
{
  g_autofree char *relative = g_strdup (path);
  gint64           least = -1;

  while (TRUE)
    {
      g_autofree char *folder = g_build_filename (root, relative, NULL);
      gint64           left = group_free (folder, unified);
      char            *slash = strrchr (relative, '/');

      if (left >= 0 && (least < 0 || left < least))
        least = left;
      if (slash == NULL || relative[0] == '\0' || g_str_equal (relative, "/"))
        return least;
      *slash = '\0';
    }
}

static gint64
all_groups_free (void)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  gint64 least = -1;

  if (!g_file_get_contents ("/proc/self/cgroup", &text, NULL, NULL))
    return -1;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (lines[i], ":", 3);
      gint64 left = -1;

      if (g_strv_length (parts) != 3)
        continue;
      if (*parts[1] == '\0')
        left = groups_free ("/sys/fs/cgroup", parts[2], TRUE);
      else if (strstr (parts[1], "memory") != NULL)
        left = groups_free ("/sys/fs/cgroup/memory", parts[2], FALSE);
      if (left >= 0 && (least < 0 || left < least))
        least = left;
    }
  return least;
}

gint64
gradus_machine_free_memory (gboolean *limited_by_group)
{
  gint64 available = read_key ("/proc/meminfo", "MemAvailable:", 1024);
  gint64 group = all_groups_free ();

  if (limited_by_group != NULL)
    *limited_by_group = group >= 0 && (available < 0 || group < available);
  if (available < 0)
    return group >= 0 ? group : G_MAXINT64;
  return group >= 0 ? MIN (group, available) : available;
}

gint64
gradus_machine_total_memory (void)
{
  return MAX (0, read_key ("/proc/meminfo", "MemTotal:", 1024));
}

void
gradus_machine_own_memory (gint64 *current, gint64 *peak)
{
  *current = MAX (0, read_key ("/proc/self/status", "VmRSS:", 1024));
  *peak = MAX (0, read_key ("/proc/self/status", "VmHWM:", 1024));
}

/* Processor ---------------------------------------------------------------------------------- */

char *
gradus_machine_cpu_model (void)
{
  g_autofree char *text = NULL;
  const char      *line = NULL;
  const char      *colon = NULL;

  if (g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL)
      && (line = strstr (text, "model name")) != NULL && (colon = strchr (line, ':')) != NULL)
    return g_strstrip (g_strndup (colon + 1, strcspn (colon + 1, "\n")));
  return g_strdup (_ ("unknown"));
}

const char *
gradus_machine_instruction_set (void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512bf16"))
    return "avx512_bf16";
  if (__builtin_cpu_supports ("avx512f"))
    return "avx512";
  if (__builtin_cpu_supports ("avx2"))
    return "avx2";
#endif
  return "baseline";
}

/* Graphics processor ------------------------------------------------------------------------- */

char *
gradus_machine_why_no_gpu (void)
{
  g_autoptr (GDir) devices = g_dir_open ("/sys/bus/pci/devices", 0, NULL);
  const char *name = NULL;
  gboolean    found = FALSE;
  void       *driver = NULL;

  while (devices != NULL && !found && (name = g_dir_read_name (devices)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/sys/bus/pci/devices", name, "vendor", NULL);
      g_autofree char *vendor = NULL;

      found =
          g_file_get_contents (path, &vendor, NULL, NULL) && g_str_has_prefix (vendor, "0x10de");
    }
  driver = dlopen ("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver != NULL)
    {
      dlclose (driver);
      return g_strdup (_ ("A CUDA driver is there, but this version of Gradus computes on the "
                          "processor only."));
    }
  if (found)
    return g_strdup (_ ("There is an NVIDIA card, but no driver answers (libcuda.so.1 is not "
                        "there), and this version of Gradus computes on the processor only."));
  return g_strdup (_ ("There is no NVIDIA card and no CUDA driver (libcuda.so.1)."));
}

/* Description -------------------------------------------------------------------------------- */

JsonObject *
gradus_machine_describe (void)
{
  JsonObject           *object = json_object_new ();
  g_autofree char      *cpu = gradus_machine_cpu_model ();
  g_autofree char      *onednn = NULL;
  const char           *openblas = NULL;
  struct utsname        kernel;

  gradus_cpu_libraries (&onednn, &openblas);
  json_object_set_string_member (object, "cpu", cpu);
  json_object_set_string_member (object, "instruction_set", gradus_machine_instruction_set ());
  json_object_set_int_member (object, "cores", g_get_num_processors ());
  json_object_set_int_member (object, "memory", gradus_machine_total_memory ());
  if (uname (&kernel) == 0)
    {
      g_autofree char *system =
          g_strdup_printf ("%s %s %s", kernel.sysname, kernel.release, kernel.machine);

      json_object_set_string_member (object, "system", system);
    }
  json_object_set_string_member (object, "gradus", GRADUS_VERSION);
  json_object_set_string_member (object, "onednn", onednn);
  json_object_set_string_member (object, "openblas", openblas);
  return object;
}
