/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kinds of arguments that a layer of its author's own making has. For gradus-layer.c only. */

#include "model/gradus-layer.h"

G_BEGIN_DECLS

/* Each reads what stands at the spec's name into @arg, or refuses through the cursor. */
gboolean  gradus_layer_arg_read_formula    (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg);
gboolean  gradus_layer_arg_read_names      (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg);
gboolean  gradus_layer_arg_read_variables  (const GradusArgSpec *spec, GradusJsonObject *config, GradusArg *arg);
JsonNode *gradus_layer_arg_write_names     (const GradusArg *arg);
JsonNode *gradus_layer_arg_write_variables (const GradusArg *arg);
void      gradus_layer_arg_clear_formula   (GradusArg *arg);

G_END_DECLS
