/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-layer-window.h"

#include "gradus-error.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <string.h>

guint
gradus_layer_axes (const GradusLayer *layer)
{
  const char *digit = strpbrk (layer->klass->name, "123");

  g_assert (digit != NULL);
  return (guint)(*digit - '0');
}

gboolean
gradus_layer_check_axes (const GradusLayer *layer, const GradusShape *input, GError **error)
{
  guint            n_axes = gradus_layer_axes (layer);
  gboolean         fits = input->rank == n_axes + 2;
  g_autofree char *met = NULL;

  for (guint i = 1; fits && i < input->rank; i++)
    /* How long sequences are may be free where the class says so. */
    fits = input->dims[i] > 0 || (input->dims[i] == GRADUS_DIM_TIME && layer->klass->free_time);
  if (fits)
    return TRUE;
  met = gradus_shape_to_string (input);
  if (n_axes == 1)
    g_set_error (
        error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
        _ ("its input has shape %s, but sequences (None, steps, channels) are wanted. Put a "
           "Reshape before it, such as to (100, 1), or give the input layer that shape."),
        met);
  else if (n_axes == 2)
    g_set_error (
        error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
        _ ("its input has shape %s, but images (None, height, width, channels) are wanted. "
           "Put a Reshape before it, such as to (28, 28, 1), or give the input layer that "
           "shape."),
        met);
  else
    g_set_error (
        error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
        _ ("its input has shape %s, but volumes (None, depth, height, width, channels) are "
           "wanted. Put a Reshape before it, or give the input layer that shape."),
        met);
  return FALSE;
}

static gboolean
has_arg (const GradusLayer *layer, const char *name)
{
  for (guint i = 0; layer->klass->args[i].name != NULL; i++)
    if (g_str_equal (layer->klass->args[i].name, name))
      return TRUE;
  return FALSE;
}

void
gradus_layer_window_read (const GradusLayer *layer, const char *window, GradusLayerWindow *self)
{
  const GradusArg *size = gradus_layer_arg (layer, window);
  const GradusArg *strides = gradus_layer_arg (layer, "strides");
  const GradusArg *dilations =
      has_arg (layer, "dilation_rate") ? gradus_layer_arg (layer, "dilation_rate") : NULL;

  *self = (GradusLayerWindow){ .n_axes = gradus_layer_axes (layer) };
  for (guint i = 0; i < self->n_axes; i++)
    {
      self->window[i] = size->ints[i];
      self->strides[i] = strides->is_null ? size->ints[i] : strides->ints[i];
      self->dilations[i] = dilations != NULL ? dilations->ints[i] : 1;
    }
}

/* Where a window of @size that moves by @stride over @in lands, and what it needs at the edges. */
static gint64
slide (gint64 in, gint64 size, gint64 stride, gint64 padding, gint64 *pads)
{
  gint64 out, missing;

  pads[0] = pads[1] = 0;
  if (padding == 2)
    pads[0] = size - 1;
  if (padding != 1)
    return in + pads[0] < size ? 0 : (in + pads[0] - size) / stride + 1;
  out = (in + stride - 1) / stride;
  missing = MAX (0, (out - 1) * stride + size - in);
  pads[0] = missing / 2;
  pads[1] = missing - pads[0];
  return out;
}

gboolean
gradus_layer_window_settle (GradusLayerWindow *self,
                            const GradusShape *input,
                            gint64             padding,
                            GError           **error)
{
  for (guint i = 0; i < self->n_axes; i++)
    {
      gint64           size = (self->window[i] - 1) * self->dilations[i] + 1;
      g_autofree char *met = NULL;

      self->out[i] =
          slide (input->dims[i + 1], size, self->strides[i], padding, &self->pads[2 * i]);
      if (self->out[i] >= 1)
        continue;
      met = gradus_shape_to_string (input);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("its window covers %" PRId64
                      " along axis %u, but its input has shape %s. Use a smaller window, "
                      "padding “same”, or fewer pooling layers before it."),
                   size, i + 1, met);
      return FALSE;
    }
  return TRUE;
}

GradusShape
gradus_layer_axes_shape (guint n_axes, const gint64 *sizes, gint64 channels)
{
  GradusShape shape = { .rank = n_axes + 2, .dims = { GRADUS_DIM_BATCH } };

  for (guint i = 0; i < n_axes; i++)
    shape.dims[1 + i] = sizes[i];
  shape.dims[n_axes + 1] = channels;
  return shape;
}
