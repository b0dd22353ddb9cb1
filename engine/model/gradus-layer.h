/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "formula/gradus-formula.h"
#include "model/gradus-activation.h"
#include "model/gradus-constraint.h"
#include "model/gradus-initializer.h"
#include "model/gradus-regularizer.h"

G_BEGIN_DECLS

/* What stands under one key of a layer's config. */
typedef enum
{
  GRADUS_ARG_INT,         /* i, from min to max */
  GRADUS_ARG_FLOAT,       /* f, from min to max */
  GRADUS_ARG_BOOL,        /* i */
  GRADUS_ARG_SINGLE,      /* ints: one number, or as many as the kind says, each from min to max */
  GRADUS_ARG_PAIR,
  GRADUS_ARG_TRIPLE,
  GRADUS_ARG_EDGES_1,     /* ints: before and after of each axis: 1, [1, 2] or [[1, 2], [0, 1]] */
  GRADUS_ARG_EDGES_2,
  GRADUS_ARG_EDGES_3,
  GRADUS_ARG_DIMS,        /* ints: a list, each from min to max */
  GRADUS_ARG_PADDING,     /* i: 0 valid, 1 same */
  GRADUS_ARG_CAUSAL,      /* i: the same, and 2 causal */
  GRADUS_ARG_INTERPOLATION, /* i: 0 nearest, 1 bilinear */
  GRADUS_ARG_ACTIVATION,
  GRADUS_ARG_INITIALIZER,
  GRADUS_ARG_AXES,        /* ints: one number or a list, each from min to max, or where these are sizes null */
  GRADUS_ARG_TEXT,        /* text: at most max bytes */
  GRADUS_ARG_FLOATS,      /* floats: a number or a list, nested or not, of at most max */
  GRADUS_ARG_FORMULA,     /* formula, and its text */
  GRADUS_ARG_NAMES,       /* names: a list of at most max, all different */
  GRADUS_ARG_VARIABLES,   /* variables: {name: {shape, initializer, trainable}}, at most max */
  GRADUS_ARG_REGULARIZER,
  GRADUS_ARG_CONSTRAINT,
  GRADUS_ARG_SEED,        /* i; null: no seed of its own */
  GRADUS_ARG_LAYER,       /* layer: a layer inside this one */
  GRADUS_ARG_MERGE_MODE,  /* i: GradusMergeMode; null: GRADUS_MERGE_NONE */
  GRADUS_ARG_ONLY,        /* Keras has it; here only null or the default */
  GRADUS_ARG_UNUSED,      /* Keras 2 wrote it and did nothing with it */
} GradusArgKind;

/**
 * GradusArgSpec:
 * @fallback: Keras's default as JSON; NULL if the argument must be there
 *
 * Where the default is null, null is a legal value (GradusArg.is_null).
 */
typedef struct
{
  const char   *name;
  GradusArgKind kind;
  const char   *fallback;
  double        min, max;
} GradusArgSpec;

#define GRADUS_ARG_NULL G_MININT64 /* a size that is null */

/* How Bidirectional joins both directions. */
typedef enum
{
  GRADUS_MERGE_CONCAT,
  GRADUS_MERGE_SUM,
  GRADUS_MERGE_MULTIPLY,
  GRADUS_MERGE_AVERAGE,
  GRADUS_MERGE_NONE,
} GradusMergeMode;

typedef struct _GradusLayer GradusLayer;

/* A variable that a model's author gives a layer. */
typedef struct
{
  char             *name;
  GradusShape       shape;
  GradusInitializer initializer;
  gboolean          trainable;
} GradusArgVariable;

typedef struct
{
  gboolean                is_null;
  gint64                  i;
  double                  f;
  guint                   n;
  gint64                  ints[GRADUS_MAX_RANK];
  char                   *text;
  GArray                 *floats; /* of double */
  GradusFormula          *formula; /* owned */
  GPtrArray              *names;   /* of char *, owned */
  GArray                 *variables; /* of GradusArgVariable, owned */
  const GradusActivation *activation;
  GradusInitializer       initializer;
  GradusLayer            *layer; /* owned */
  GradusRegularizer       regularizer;
  GradusConstraint        constraint;
} GradusArg;

typedef struct
{
  const char              *name;
  GradusShape              shape;
  gboolean                 statistic; /* not trained by the gradient */
  const GradusInitializer *initializer;
  gint64                   ones_begin, ones_end; /* elements that begin as 1 all the same */
} GradusWeightSpec;
#define GRADUS_LAYER_MAX_WEIGHTS 12

/* A layer may make states beside its output, as a recurrent layer does. */
#define GRADUS_LAYER_MAX_OUTPUTS 5

/**
 * GradusMaskRule:
 * @GRADUS_MASK_DROPS: works on padding as on anything else; what follows has no mask
 * @GRADUS_MASK_PASSES: works step by step: the output has the input's mask, that of several inputs
 *   where any of them has a real step, and none if one of them has none
 * @GRADUS_MASK_OWN: the layer sets output_mask itself
 *
 * What becomes of a mask, as in Keras.
 */
typedef enum
{
  GRADUS_MASK_DROPS,
  GRADUS_MASK_PASSES,
  GRADUS_MASK_OWN,
} GradusMaskRule;

/* Tensors that may be given to a call beside the inputs, each a mask with 1 for what is seen. */
typedef enum
{
  GRADUS_CALL_MASK,
  GRADUS_CALL_QUERY_MASK,
  GRADUS_CALL_VALUE_MASK,
  GRADUS_CALL_KEY_MASK,
  GRADUS_CALL_ATTENTION_MASK,
  GRADUS_N_CALL_MASKS,
} GradusCallMask;
/* What Keras calls them. */
extern const char *const gradus_call_mask_names[GRADUS_N_CALL_MASKS];

/**
 * GradusCallOptions:
 * @training: 0 or 1 where the call says so itself; -1 otherwise
 * @causal: use_causal_mask
 * @n_masks, @mask: how many, and for each kind 1 + which of them it is, or 0
 *
 * What a call is given beside its inputs. The masks stand after these, in the order of the call.
 */
typedef struct
{
  gint8    training;
  gboolean causal;
  guint    n_masks;
  guint8   mask[GRADUS_N_CALL_MASKS];
} GradusCallOptions;
#define GRADUS_CALL_OPTIONS_NONE ((GradusCallOptions){ .training = -1 })

/* Of GradusLayerClass.call. */
typedef enum
{
  GRADUS_CALL_CAUSAL = 1 << 0,
  GRADUS_CALL_SEPARATE = 1 << 1, /* the inputs are arguments of their own, no list of them */
  GRADUS_CALL_MASKS = 1 << 2,    /* query_mask, value_mask, key_mask and attention_mask */
  GRADUS_CALL_ONE_MASK = 1 << 3, /* mask */
} GradusCallFlags;

/**
 * GradusLayerBuild:
 * @masks: one an input, float32 (None, time) with 1 for a real step and 0 for padding;
 *   GRADUS_NO_VALUE where there is none
 * @options, @mask_inputs, @mask_shapes: what the call was given beside the inputs
 * @states: (out): the outputs after the first of a layer that has several
 * @output_mask: (out): of a layer with GRADUS_MASK_OWN; GRADUS_NO_VALUE before the call
 *
 * Where a layer puts its nodes.
 */
typedef struct
{
  GradusProgram       *program;
  gboolean             training;
  guint                use; /* which call of a shared layer */
  const GradusValueId *inputs;
  const GradusShape   *shapes; /* of the inputs */
  const GradusValueId *masks;
  guint                n_inputs;
  GradusCallOptions    options;
  const GradusValueId *mask_inputs;
  const GradusShape   *mask_shapes;
  GradusShape          output_shape;
  GradusValueId        output; /* (out) */
  GradusValueId        logits; /* (out): what a softmax at the end was given */
  GradusValueId        states[GRADUS_LAYER_MAX_OUTPUTS - 1];
  GradusValueId        output_mask;
} GradusLayerBuild;

/**
 * GradusLayerClass:
 * @args: ended by a NULL name
 * @infer: the output's shape (@output has room for GRADUS_LAYER_MAX_OUTPUTS), or an error that says what was met and wanted and what to do (the
 *   layer's name is put before it by the caller)
 * @weights: given the shapes of all inputs (of three at least; of a rank of 0 where there is no such
 *   input), fills up to GRADUS_LAYER_MAX_WEIGHTS and returns how many; NULL: none
 * @update_op, @update: the op of a training step that leaves something to be kept, and what keeps
 *   it, at the end of the step; NULL: nothing
 * @mask: what becomes of the inputs' masks
 * @n_outputs: NULL: one
 * @free_time: works on sequences of unknown length (GRADUS_DIM_TIME), although it drops masks; the
 *   layers that do not drop them do anyhow
 * @call: GradusCallFlags
 * @module: where a file says that it comes from; NULL: keras.layers
 *
 * One row a layer.
 */
typedef struct
{
  const char          *name;
  const char          *snake; /* for layers without a name of their own */
  const GradusArgSpec *args;
  guint                min_inputs, max_inputs;
  gboolean (*infer) (const GradusLayer *layer,
                     const GradusShape *inputs,
                     guint              n_inputs,
                     GradusShape       *output,
                     GError           **error);
  guint (*weights) (const GradusLayer *layer, const GradusShape *inputs, GradusWeightSpec *weights);
  gboolean (*build) (const GradusLayer *layer, GradusLayerBuild *build, GError **error);
  const char *update_op;
  gboolean (*update) (const GradusLayer *layer,
                      GradusProgram     *program,
                      const GradusNode  *node,
                      GError           **error);
  GradusMaskRule mask;
  guint (*n_outputs) (const GradusLayer *layer);
  gboolean free_time;
  guint    call;
  const char *module;
} GradusLayerClass;

/* As many inputs may decide on the shapes of weights. */
#define GRADUS_LAYER_MAX_BUILT 3

struct _GradusLayer
{
  const GradusLayerClass *klass;
  char                   *name;
  gboolean                trainable;
  GradusArg              *args; /* parallel to klass->args */
  char                   *pointer;
  /* Of InputLayer alone. */
  GradusShape             input_shape;
  GradusDType             input_dtype;
  /* Filled when the first use is known. */
  GradusShape             built_shapes[GRADUS_LAYER_MAX_BUILT]; /* of its first inputs */
  gboolean                is_built;
};

const GradusLayerClass *gradus_layer_class_find (const char *name);
const char             *gradus_layer_class_nearest (const char *name);

GradusLayer *gradus_layer_new (const GradusLayerClass *klass, const char *name);
void         gradus_layer_free (GradusLayer *self);
/* Reads the class's arguments from @config; other keys are the caller's. */
gboolean     gradus_layer_read_args (GradusLayer *self, GradusJsonObject *config);
/* Adds every argument of the class, in Keras's form. */
void         gradus_layer_write_args (const GradusLayer *self, JsonObject *config);

const GradusArg *gradus_layer_arg (const GradusLayer *self, const char *name);
/* The argument @name; NULL if the class has none or if it is null. */
const GradusArg *gradus_layer_find_arg (const GradusLayer *self, const char *name);
/* What Keras calls the regulariser or constraint (@what: “regularizer”, “constraint”) of a weight:
 * “kernel_regularizer” of kernel, “recurrent_regularizer” of recurrent_kernel; of a weight in a part
 * of the layer (“query/kernel”) that of its last name. NULL: none. */
const GradusArg *gradus_layer_weight_arg (const GradusLayer *self, const char *weight, const char *what);

/* The variable called "layer/@name" as a value of the program. */
GradusValueId gradus_layer_weight (const GradusLayer *self, GradusLayerBuild *build, const char *name);
/* The key of the layer's random numbers. */
guint64       gradus_layer_stream (const GradusLayer *self, const char *purpose);
/* Bias (if @use_bias) and activation after @value, into @build's output and logits. */
gboolean      gradus_layer_finish (const GradusLayer *self,
                                   GradusLayerBuild  *build,
                                   GradusValueId      value,
                                   GError           **error);

/* The axes of @shape, the batch's not among them, that the argument “axis” names, as a bit mask;
 * refuses others. @mask may be NULL. */
gboolean      gradus_layer_named_axes (const GradusLayer *self, const GradusShape *shape, guint32 *mask, GError **error);
/* Moves the axes of the first input in @mask behind the others, or @back again. */
gboolean      gradus_layer_axes_last (GradusLayerBuild *build, guint32 mask, gboolean back, GradusValueId *value, GError **error);

/* The rows of the families. */
extern const GradusLayerClass gradus_layer_input, gradus_layer_dense, gradus_layer_activation,
    gradus_layer_flatten, gradus_layer_reshape, gradus_layer_rescaling, gradus_layer_dropout,
    gradus_layer_activity_regularization;
extern const GradusLayerClass gradus_layer_conv1d, gradus_layer_conv2d, gradus_layer_conv3d,
    gradus_layer_depthwise_conv1d, gradus_layer_depthwise_conv2d, gradus_layer_separable_conv1d,
    gradus_layer_separable_conv2d, gradus_layer_conv1d_transpose, gradus_layer_conv2d_transpose;
extern const GradusLayerClass gradus_layer_max_pooling1d, gradus_layer_max_pooling2d,
    gradus_layer_max_pooling3d, gradus_layer_average_pooling1d, gradus_layer_average_pooling2d,
    gradus_layer_average_pooling3d, gradus_layer_global_max_pooling1d,
    gradus_layer_global_max_pooling2d, gradus_layer_global_max_pooling3d,
    gradus_layer_global_average_pooling1d, gradus_layer_global_average_pooling2d,
    gradus_layer_global_average_pooling3d;
extern const GradusLayerClass gradus_layer_up_sampling1d, gradus_layer_up_sampling2d,
    gradus_layer_up_sampling3d, gradus_layer_zero_padding1d, gradus_layer_zero_padding2d,
    gradus_layer_zero_padding3d, gradus_layer_cropping1d, gradus_layer_cropping2d,
    gradus_layer_cropping3d;
extern const GradusLayerClass gradus_layer_add, gradus_layer_concatenate, gradus_layer_subtract,
    gradus_layer_multiply, gradus_layer_average, gradus_layer_maximum, gradus_layer_minimum;
extern const GradusLayerClass gradus_layer_re_lu, gradus_layer_leaky_re_lu, gradus_layer_p_re_lu, gradus_layer_elu;
extern const GradusLayerClass gradus_layer_permute, gradus_layer_repeat_vector;
extern const GradusLayerClass gradus_layer_formula;
extern const GradusLayerClass gradus_layer_batch_normalization, gradus_layer_layer_normalization,
    gradus_layer_rms_normalization, gradus_layer_group_normalization, gradus_layer_unit_normalization,
    gradus_layer_normalization, gradus_layer_softmax;
extern const GradusLayerClass gradus_layer_multi_head_attention, gradus_layer_attention,
    gradus_layer_additive_attention;
extern const GradusLayerClass gradus_layer_einsum_dense, gradus_layer_dot;
extern const GradusLayerClass gradus_layer_embedding, gradus_layer_masking;
extern const GradusLayerClass gradus_layer_simple_rnn, gradus_layer_lstm, gradus_layer_gru;
extern const GradusLayerClass gradus_layer_bidirectional, gradus_layer_time_distributed;

G_END_DECLS
