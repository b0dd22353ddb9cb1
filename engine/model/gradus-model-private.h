/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "model/gradus-layer.h"
#include "model/gradus-model.h"

G_BEGIN_DECLS

#define GRADUS_MODEL_MAX_LAYERS 10000
#define GRADUS_MODEL_MAX_INPUTS 1000 /* of one call */

/* An output of a call. */
typedef struct
{
  guint call, output;
} GradusTensor;

/* A use of a layer; shared layers have several. */
typedef struct
{
  guint         layer;
  guint         index; /* which use of the layer */
  guint         n_inputs; /* with the masks of @options */
  GradusTensor *inputs; /* of calls before this one */
  GradusCallOptions options;
  guint         n_outputs;
  GradusShape   shapes[GRADUS_LAYER_MAX_OUTPUTS];
} GradusCall;

struct _GradusModel
{
  gatomicrefcount refs;
  char           *name;
  gboolean        sequential;
  GPtrArray      *layers; /* GradusLayer, in the file's order */
  GPtrArray      *calls;  /* GradusCall, each after its inputs */
  GArray         *inputs, *outputs; /* GradusTensor */
  JsonNode       *canvas; /* what stood under "gradus", or NULL */
};

GradusModel *gradus_model_alloc (const char *name, gboolean sequential);
GradusLayer *gradus_model_layer_at (GradusModel *self, guint i);
GradusCall  *gradus_model_call_at (GradusModel *self, guint i);
const GradusShape *gradus_model_tensor_shape (GradusModel *self, GradusTensor tensor);
/* Appends a call of layer @layer on @inputs and infers its shapes; refuses naming the layer. */
gboolean gradus_model_call (GradusModel        *self,
                            guint               layer,
                            const GradusTensor *inputs,
                            guint               n_inputs,
                            const GradusCallOptions *options,
                            GError            **error);
/* Reading JSON; each refuses through its cursor. The layer that @object describes, appended; NULL after
 * a refusal: */
GradusLayer *gradus_model_read_layer       (GradusModel *model, GradusJsonObject *object);
gboolean     gradus_model_read_functional  (GradusModel *model, GradusJsonObject *root, GradusJsonObject *config);
/* gradus_model_call() whose error becomes a refusal of @root at the layer's place. */
gboolean     gradus_model_read_call        (GradusModel        *model,
                                            GradusJsonObject   *root,
                                            guint               layer,
                                            const GradusTensor *inputs,
                                            guint               n_inputs,
                                            const GradusCallOptions *options);
/* A shape under @key whose first axis is the batch. */
gboolean     gradus_model_read_batch_shape (GradusJsonObject *config, const char *key, GradusShape *shape);
void         gradus_model_check_policy     (GradusJsonObject *config);

/* What the layer's activity regulariser says of the output just built. */
gboolean gradus_model_build_activity (const GradusLayer *layer, GradusLayerBuild *build, GError **error);

gboolean gradus_model_find_layer (GradusModel *self, const char *name, guint *layer);

G_END_DECLS
