/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Bytes that a run may take: the least of what the machine has available and of what every control
 * group above this process leaves. @limited_by_group (optional): whether a group is the narrower. */
gint64 gradus_machine_free_memory (gboolean *limited_by_group);
/* Bytes of memory in all; 0 if unknown. */
gint64 gradus_machine_total_memory (void);
/* Bytes in memory of this process, now and at most. */
void   gradus_machine_own_memory (gint64 *current, gint64 *peak);
/* "AMD EPYC 9B14"; free with g_free. */
char  *gradus_machine_cpu_model (void);
/* "avx512_bf16", "avx512", "avx2", "baseline". Static. */
const char *gradus_machine_instruction_set (void);
/* Why there is no GPU to compute on, a translated sentence; free with g_free. */
char       *gradus_machine_why_no_gpu (void);
/* CPU, instruction set, cores, memory, kernel, versions of the libraries. (transfer full) */
JsonObject *gradus_machine_describe (void);

G_END_DECLS
