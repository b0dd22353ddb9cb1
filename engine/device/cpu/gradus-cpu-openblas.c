/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-openblas.h"

#include <dlfcn.h>
#include <sys/mman.h>

#define SONAME "libopenblas.so.0"

/* Each thread that calls the library maps a buffer, and where it cannot, tries for ever. */
#define BUFFER_BYTES ((gsize) 128 << 20)

static gboolean
has_address_space (void)
{
  gsize bytes = (2 * g_get_num_processors () + 1) * BUFFER_BYTES;
  void *space
      = mmap (NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (space == MAP_FAILED)
    return FALSE;
  munmap (space, bytes);
  return TRUE;
}

static gboolean
load (GradusOpenblas *library)
{
  void (*set_num_threads) (int) = NULL;
  void *handle = NULL;

  if (!has_address_space ())
    {
      g_warning ("The limit of the address space is too low for OpenBLAS, oneDNN does its work");
      return FALSE;
    }
  handle = dlopen (SONAME, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL)
    {
      g_warning ("OpenBLAS is missing, oneDNN does its work: %s", dlerror ());
      return FALSE;
    }
  /* The way that POSIX gives from the pointer of an object to that of a function. */
  *(void **) &library->sgemm = dlsym (handle, "cblas_sgemm");
  *(void **) &library->get_config = dlsym (handle, "openblas_get_config");
  *(void **) &library->get_corename = dlsym (handle, "openblas_get_corename");
  *(void **) &set_num_threads = dlsym (handle, "openblas_set_num_threads");
  if (library->sgemm == NULL || library->get_config == NULL || library->get_corename == NULL
      || set_num_threads == NULL)
    {
      g_warning ("%s lacks a function that is needed, oneDNN does its work", SONAME);
      return FALSE;
    }
  set_num_threads (1);
  return TRUE;
}

const GradusOpenblas *
gradus_openblas_get (void)
{
  static gsize once;
  static GradusOpenblas library;
  static gboolean loaded;

  if (g_once_init_enter (&once))
    {
      loaded = load (&library);
      g_once_init_leave (&once, 1);
    }
  return loaded ? &library : NULL;
}
