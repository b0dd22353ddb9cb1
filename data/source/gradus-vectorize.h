/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-source.h"

G_BEGIN_DECLS

#define GRADUS_MAX_VOCABULARY 16777216
#define GRADUS_MAX_WORDS 65536

typedef enum
{
  GRADUS_STANDARDIZE_LOWER_AND_STRIP,
  GRADUS_STANDARDIZE_LOWER,
  GRADUS_STANDARDIZE_STRIP,
  GRADUS_STANDARDIZE_NONE,
} GradusStandardize;

/**
 * GradusVectorize:
 * @vocabulary: most words, the two below among them
 * @length: words of a text; what is more is cut off, what is less is padded
 * @characters: characters are the words
 *
 * The rules of Keras's TextVectorization with output_mode "int": words by falling count (of equal counts the later in
 * the order of bytes first) from 2 on; 0 pads, 1 is any word that is not in the vocabulary. ASCII is lowered and
 * stripped of punctuation, words end at white space.
 */
typedef struct
{
  guint             vocabulary, length;
  GradusStandardize standardize;
  gboolean          characters;
} GradusVectorize;

/* The words from 2 on, from the @n samples that @at gives. (of char *) */
GPtrArray *gradus_vectorize_adapt (const GradusVectorize *self,
                                   GradusSource          *source,
                                   gint64                 n,
                                   gint64 (*at) (gpointer data, gint64 i),
                                   gpointer               data);
/* Gives @source its words. Fails with GRADUS_ERROR_NO_MEMORY. */
gboolean gradus_vectorize_apply (const GradusVectorize *self,
                                 GPtrArray             *words,
                                 GradusSource          *source,
                                 GError               **error);

G_END_DECLS
