/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer.h"

static const GradusArgSpec activity_regularization_args[] = {
  { "l1", GRADUS_ARG_FLOAT, "0.0", 0, 1e30 },
  { "l2", GRADUS_ARG_FLOAT, "0.0", 0, 1e30 },
  { NULL },
};

static gboolean
infer (const GradusLayer *layer,
       const GradusShape *inputs,
       guint              n_inputs,
       GradusShape       *output,
       GError           **error)
{
  *output = inputs[0];
  return TRUE;
}

static gboolean
build (const GradusLayer *layer, GradusLayerBuild *b, GError **error)
{
  GradusValueId penalty;

  b->output = b->inputs[0];
  return gradus_program_add_node (b->program, "penalty", 0, b->inputs, 1, &penalty, error, "l1",
                                  gradus_layer_arg (layer, "l1")->f, "l2",
                                  gradus_layer_arg (layer, "l2")->f, "mean", (gint64) 1, NULL);
}

const GradusLayerClass gradus_layer_activity_regularization = {
  .name = "ActivityRegularization",
  .snake = "activity_regularization",
  .args = activity_regularization_args,
  .min_inputs = 1,
  .max_inputs = 1,
  .infer = infer,
  .build = build,
  .mask = GRADUS_MASK_PASSES,
};
