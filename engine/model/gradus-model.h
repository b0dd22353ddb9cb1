/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/gradus-execution.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/**
 * GradusModel:
 *
 * What a person composes: layers and connections. A Sequential is a Functional graph with one path.
 * Immutable, reference counted.
 */
typedef struct _GradusModel GradusModel;

/* A row of the summary, in the order of the layers. */
typedef struct
{
  const char *name;       /* "conv2d_1" */
  const char *class_name; /* "Conv2D" */
  GradusShape output;
  gint64      parameters;
  gint64      trainable;
  gint64      memory; /* bytes of its temporaries in training at the planned batch; 0 before */
} GradusLayerSummary;

/**
 * gradus_model_new_from_json:
 * @json: the object that Keras 3's to_json() writes (Sequential or Functional; Keras 2's is read
 *   too)
 * @origin: file name for messages
 * @pointer: JSON pointer of @json in that file ("" for the root)
 *
 * Fails with GRADUS_ERROR_REFUSED: unknown layer, argument or activation with the nearest known
 * one and its JSON pointer; shapes that do not fit with layer, input, the shapes met and wanted and
 * a repair. Nothing is allocated from sizes in the file before they are checked.
 */
GradusModel *gradus_model_new_from_json (JsonObject *json,
                                         const char *origin,
                                         const char *pointer,
                                         GError    **error);
GradusModel *gradus_model_ref   (GradusModel *model);
void         gradus_model_unref (GradusModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusModel, gradus_model_unref)

/* What Keras 3 would write; compile_config is never written. */
JsonNode *gradus_model_to_json (GradusModel *model);
const char *gradus_model_name (GradusModel *model);

guint       gradus_model_n_inputs  (GradusModel *model);
const char *gradus_model_input     (GradusModel *model, guint i, GradusShape *shape, GradusDType *dtype);
/* TRUE if the sequences of input @i may be lengthened with @padding and nothing changes but the time
 * it takes: all that reads them masks it, and no step of a sequence comes out. */
gboolean    gradus_model_time_padding (GradusModel *model, guint i, double *padding);
guint       gradus_model_n_outputs (GradusModel *model);
const char *gradus_model_output    (GradusModel *model, guint i, GradusShape *shape);

guint              gradus_model_n_layers (GradusModel *model);
GradusLayerSummary gradus_model_layer    (GradusModel *model, guint i);
gint64             gradus_model_n_parameters (GradusModel *model, gint64 *trainable);

/**
 * gradus_model_build:
 * @input_dtypes: element type of each input as the data has it (u8 is cast inside), or NULL for the
 *   model's own
 * @outputs: (out caller-allocates): n_outputs values
 * @logits: (out caller-allocates) (optional): for an output that is the softmax of something, that
 *   something; else GRADUS_NO_VALUE. A loss may start there, as Keras's backends do.
 * @masks: (out caller-allocates) (optional): of each output, as GradusLayerBuild.masks, or
 *   GRADUS_NO_VALUE: a loss leaves padding out
 *
 * Appends the forward nodes to @program. Inputs are called as the model's inputs, variables
 * "layer/variable" (kernel, bias, gamma, beta, moving_mean, moving_variance).
 */
gboolean gradus_model_build (GradusModel       *model,
                             GradusProgram     *program,
                             gboolean           training,
                             const GradusDType *input_dtypes,
                             GradusValueId     *outputs,
                             GradusValueId     *logits,
                             GradusValueId     *masks,
                             GError           **error);

/**
 * gradus_model_build_penalties:
 * @penalty: (out): the sum of what all regularisers of the model say, a scalar to be added to the
 *   loss; GRADUS_NO_VALUE where there are none
 *
 * After gradus_model_build(), for whose activities it includes the regularisers. As in Keras those of
 * weights that are not trained count nothing.
 */
gboolean gradus_model_build_penalties (GradusModel   *model,
                                       GradusProgram *program,
                                       GradusValueId *penalty,
                                       GError       **error);
/* Appends what the constraint of the variable called @name, "layer/variable", makes of it; nothing
 * where it has none. Comes after its update. */
gboolean gradus_model_build_constraint (GradusModel   *model,
                                        GradusProgram *program,
                                        const char    *name,
                                        GError       **error);
/* The first layer whose training depends on which samples are in a batch together, as
 * BatchNormalization's; NULL if there is none. */
const char *gradus_model_batch_dependent (GradusModel *model);

/* Appends what a training step leaves behind beside the optimizer's work (moving averages), for the
 * nodes that gradus_model_build() made with @training. Comes last in the program, in the phase
 * GRADUS_PHASE_STATISTICS, so that a step that is refused changes nothing. */
gboolean gradus_model_build_updates (GradusModel *model, GradusProgram *program, GError **error);

/* Fills weights and statistics by the layers' initialisers, keyed by (seed, variable's name). */
gboolean gradus_model_initialize (GradusModel     *model,
                                  GradusVariables *variables,
                                  guint64          seed,
                                  GError         **error);

G_END_DECLS
