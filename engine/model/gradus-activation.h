/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-program.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* One of Keras's named activations and the op that does it. */
typedef struct
{
  const char *name;
  const char *op;    /* NULL for linear: nothing to do */
  double      alpha; /* of ops that have it */
  gboolean    has_alpha;
  const char *also;  /* another name of the same, or NULL */
} GradusActivation;

/* NULL if there is none of this name. */
const GradusActivation *gradus_activation_find (const char *name);
/* The one of Keras's names nearest to a misspelt one; NULL if none is near. */
const char *gradus_activation_nearest (const char *name);

/* Appends the activation of @value; linear gives @value itself. */
gboolean gradus_activation_build (const GradusActivation *activation,
                                  GradusProgram          *program,
                                  GradusValueId           value,
                                  GradusValueId          *output,
                                  GError                **error);

G_END_DECLS
