/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-onednn-private.h"

#include <glib/gi18n-lib.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;

gboolean
gradus_onednn_check (dnnl_status_t status, const char *what, GError **error)
{
  if (status == dnnl_success)
    return TRUE;
  g_set_error (error, GRADUS_ERROR,
               status == dnnl_out_of_memory ? GRADUS_ERROR_NO_MEMORY : GRADUS_ERROR_FAILED,
               _ ("oneDNN could not prepare %s (status %d)."), _ (what), status);
  return FALSE;
}

gboolean
gradus_cpu_onednn_init (GradusCpuIsa isa, GError **error)
{
  static gsize once;
  static dnnl_status_t status;

  if (g_once_init_enter (&once))
    {
      /* Only before the library's first use; the level of the first device then stays. */
      if (isa == GRADUS_CPU_ISA_BASELINE)
        dnnl_set_max_cpu_isa (dnnl_cpu_isa_sse41);
      else if (isa == GRADUS_CPU_ISA_AVX2)
        dnnl_set_max_cpu_isa (dnnl_cpu_isa_avx2);
      status = dnnl_engine_create (&engine, dnnl_cpu, 0);
      if (status == dnnl_success)
        status = dnnl_stream_create (&stream, engine, dnnl_stream_in_order);
      g_once_init_leave (&once, 1);
    }
  return gradus_onednn_check (status, N_ ("the processor"), error);
}

char *
gradus_cpu_onednn_version (void)
{
  const dnnl_version_t *version = dnnl_version ();
  return g_strdup_printf ("%d.%d.%d", version->major, version->minor, version->patch);
}

const char *
gradus_cpu_onednn_isa (void)
{
  switch (dnnl_get_effective_cpu_isa ())
    {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "other";
    }
}

dnnl_engine_t
gradus_onednn_engine (void)
{
  return engine;
}

dnnl_primitive_attr_t
gradus_onednn_attr (gboolean relu)
{
  dnnl_primitive_attr_t attr = NULL;

  if (dnnl_primitive_attr_create (&attr) != dnnl_success)
    return NULL;
  dnnl_primitive_attr_set_scratchpad_mode (attr, dnnl_scratchpad_mode_user);
  if (relu)
    {
      dnnl_post_ops_t ops = NULL;
      dnnl_post_ops_create (&ops);
      dnnl_post_ops_append_eltwise (ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
      dnnl_primitive_attr_set_post_ops (attr, ops);
      dnnl_post_ops_destroy (ops);
    }
  return attr;
}

gboolean
gradus_onednn_call_add (GradusOnednnCall *call, int arg, const dnnl_memory_desc_t *md, GError **error)
{
  dnnl_memory_t memory = NULL;

  g_assert (call->n_args < GRADUS_ONEDNN_MAX_ARGS);
  if (!gradus_onednn_check (dnnl_memory_create (&memory, md, engine, DNNL_MEMORY_NONE), N_ ("memory"),
                            error))
    return FALSE;
  call->args[call->n_args].arg = arg;
  call->args[call->n_args].memory = memory;
  call->n_args++;
  return TRUE;
}

void
gradus_onednn_call_clear (GradusOnednnCall *call)
{
  for (guint i = 0; i < call->n_args; i++)
    dnnl_memory_destroy (call->args[i].memory);
  call->n_args = 0;
}

void
gradus_onednn_call_run (GradusOnednnCall *call)
{
  dnnl_status_t status = dnnl_primitive_execute (call->primitive, stream, (int) call->n_args, call->args);
  /* A prepared primitive with all its memories has no way to fail. */
  g_assert (status == dnnl_success);
}

gsize
gradus_onednn_scratch (const_dnnl_primitive_desc_t pd)
{
  const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md (pd, dnnl_query_scratchpad_md, 0);
  return md != NULL ? dnnl_memory_desc_get_size (md) : 0;
}
