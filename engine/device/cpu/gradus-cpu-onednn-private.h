/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/cpu/gradus-cpu-onednn.h"

#include <oneapi/dnnl/dnnl.h>

G_BEGIN_DECLS

#define GRADUS_ONEDNN_MAX_ARGS 6

dnnl_engine_t gradus_onednn_engine (void);

/* FALSE and @error unless @status is success; @what names the thing that was being made. */
gboolean gradus_onednn_check (dnnl_status_t status, const char *what, GError **error);

/* An attribute with user scratch and, if @relu, that post-op. */
dnnl_primitive_attr_t gradus_onednn_attr (gboolean relu);

/**
 * GradusOnednnCall:
 *
 * A primitive with memories of its own, for one call at a time. The primitive is shared and not
 * owned.
 */
typedef struct
{
  dnnl_primitive_t primitive;
  guint            n_args;
  dnnl_exec_arg_t  args[GRADUS_ONEDNN_MAX_ARGS];
  const void      *data[GRADUS_ONEDNN_MAX_ARGS];
} GradusOnednnCall;

/* Adds the argument @arg of type @md; returns FALSE with @error. */
gboolean gradus_onednn_call_add   (GradusOnednnCall *call, int arg, const dnnl_memory_desc_t *md, GError **error);
void     gradus_onednn_call_clear (GradusOnednnCall *call);
/* The address of the @i-th argument added. */
static inline void
gradus_onednn_call_set (GradusOnednnCall *call, guint i, const void *data)
{
  if (call->data[i] == data)
    return;
  call->data[i] = data;
  dnnl_memory_set_data_handle (call->args[i].memory, (void *) data);
}
void gradus_onednn_call_run (GradusOnednnCall *call);

/* Bytes of scratch that @pd wants. */
gsize gradus_onednn_scratch (const_dnnl_primitive_desc_t pd);

G_END_DECLS
