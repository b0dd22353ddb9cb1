/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-device.h"
#include "gradus-onnx.h"

G_BEGIN_DECLS

/**
 * onnx_run:
 * @given: a tensor for each input of the model that has no initializer, in their order
 * @outputs: (out caller-allocates): a tensor for each output of the model; what an op here cannot give
 *   stays NULL
 * @reason: (out): static; why the model is beyond the op table, on FALSE without @error
 *
 * Maps a model's nodes to ops of the table and runs them on @device. bool tensors are float 0 or 1;
 * integers are indices, labels, shapes and what is computed of shapes.
 */
gboolean onnx_run (const OnnxModel         *model,
                   const OnnxTensor *const *given,
                   guint                    n_given,
                   GradusDevice            *device,
                   OnnxTensor             **outputs,
                   const char             **reason,
                   GError                 **error);

G_END_DECLS
