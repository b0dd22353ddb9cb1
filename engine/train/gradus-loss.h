/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"
#include "gradus-json.h"
#include "graph/gradus-program.h"

G_BEGIN_DECLS

typedef enum
{
  GRADUS_LOSS_SPARSE,      /* crossentropy of one class index */
  GRADUS_LOSS_CATEGORICAL, /* crossentropy of a number a class */
  GRADUS_LOSS_BINARY,      /* crossentropy of each output by itself */
  GRADUS_LOSS_BINARY_FOCAL,
  GRADUS_LOSS_CATEGORICAL_FOCAL,
  GRADUS_LOSS_CTC,
  GRADUS_LOSS_PLAIN, /* prediction and target, one op */
  GRADUS_LOSS_FORMULA,
} GradusLossKind;

typedef struct
{
  GradusLossKind kind;
  const char    *name, *also; /* Keras's function name; another name, or NULL */
  const char    *class_name;
  const char    *op;
} GradusLossClass;

/* A loss with Keras's arguments; those that its class lacks are at their defaults. */
typedef struct
{
  const GradusLossClass *klass;
  gboolean               from_logits;
  double                 label_smoothing;
  gboolean               ignores; /* ignore_class was given */
  gint64                 ignore_class;
  double                 delta, gamma, alpha;
  const char            *formula; /* interned; of y, p and w */
  gboolean               balances; /* apply_class_balancing */
} GradusLoss;

/* Names of all losses as recipes write them, ended by NULL. */
const char *const *gradus_loss_names (void);
/* The loss of that name or class with the arguments' defaults; FALSE if there is none. */
gboolean gradus_loss_find (GradusLoss *self, const char *name);
/* The loss at @key of @object: a name, {"class_name", "config"}, or {"formula": "mean(square(y - p) * w)"} in the
 * targets y, the predictions p (both of the output's shape) and the weight w of each sample, 1 where the data has none; what
 * it leaves of a row is averaged. Refuses through the cursor. */
gboolean  gradus_loss_read  (GradusLoss *self, GradusJsonObject *object, const char *key);
JsonNode *gradus_loss_write (const GradusLoss *self);

/**
 * GradusHead:
 *
 * One output of the model as losses and metrics see it. An output (None) is taken for (None, 1).
 * A row is the last axis of the output, so an output of more axes has several rows a sample (a pixel,
 * a step of time).
 */
typedef struct
{
  guint           index;          /* of the model's output */
  const char     *name;           /* of the output's layer */
  GradusValueId   output, logits; /* of gradus_model_build(); (in, out) */
  GradusShape     shape;          /* of the output; (in, out) */
  GradusValueId   mask;           /* of the output, float32 [B, time]; or GRADUS_NO_VALUE */
  GradusArraySpec target;         /* as the data has it */
  gboolean        weighted;       /* rows have weights */
  /* (out) of gradus_head_add_target() and gradus_loss_build() */
  GradusValueId labels;     /* class indices int32 [rows], or GRADUS_NO_VALUE */
  GradusValueId targets;    /* float32 of the output's shape, or GRADUS_NO_VALUE */
  GradusValueId prediction; /* as metrics take it */
  GradusValueId weights;    /* float32 [rows], an input; or GRADUS_NO_VALUE */
  gboolean      weighs_itself; /* the loss has the weights in it already */
  GradusValueId valid;      /* 1 or 0, float32 [rows]: rows that count; or GRADUS_NO_VALUE */
  gint64        n_classes;  /* 0 if targets are no labels */
  gint64        n_labels;   /* labels a sample */
} GradusHead;

/* Adds the inputs "target/I", where wanted "weight/I" and "valid/I", and the loss of each row. Fails
 * with GRADUS_ERROR_REFUSED where target and output do not fit. */
gboolean gradus_loss_build (const GradusLoss *self,
                            GradusProgram    *program,
                            GradusHead       *head,
                            GradusValueId    *losses,
                            GError          **error);
/* The same from targets that are there already: for metrics. */
gboolean gradus_loss_values (const GradusLoss *self,
                             GradusProgram    *program,
                             const GradusHead *head,
                             GradusValueId     prediction,
                             GradusValueId     logits,
                             GradusValueId    *losses,
                             GError          **error);

/* “The loss does not fit …”, and what is wanted. Returns FALSE. */
gboolean gradus_head_refuse (const GradusHead *head, const char *wanted, GError **error);
/* Rows a sample. */
gint64 gradus_head_rows (const GradusHead *head);

G_END_DECLS
