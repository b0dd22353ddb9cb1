/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For the layers of convolution, pooling and resampling: windows over one to three axes that stand
 * between the batch and the channels. */

#include "model/gradus-layer.h"

G_BEGIN_DECLS

#define GRADUS_LAYER_AXES 3

/* One number an axis; pads and edges two: before and after. */
typedef struct
{
  guint  n_axes;
  gint64 window[GRADUS_LAYER_AXES], strides[GRADUS_LAYER_AXES], dilations[GRADUS_LAYER_AXES];
  gint64 pads[2 * GRADUS_LAYER_AXES];
  gint64 out[GRADUS_LAYER_AXES];
} GradusLayerWindow;

/* The axes that the layer works on, which Keras puts into its name: 2 of Conv2D. */
guint       gradus_layer_axes          (const GradusLayer *layer);
/* Refuses an @input that is not (None, sizes of these axes, channels). */
gboolean    gradus_layer_check_axes    (const GradusLayer *layer, const GradusShape *input, GError **error);
/* From the arguments called @window, “strides” (as the window, where null) and “dilation_rate”, if there
 * is one; 1 for the others. */
void        gradus_layer_window_read   (const GradusLayer *layer, const char *window, GradusLayerWindow *self);
/* Fills pads and out for a “padding” of 0 valid, 1 same (the odd one at the end) or 2 causal. */
gboolean    gradus_layer_window_settle (GradusLayerWindow *self, const GradusShape *input, gint64 padding, GError **error);
/* (None, @sizes, @channels). */
GradusShape gradus_layer_axes_shape    (guint n_axes, const gint64 *sizes, gint64 channels);

G_END_DECLS
