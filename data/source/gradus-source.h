/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-batch-source.h"
#include "gradus-json.h"

G_BEGIN_DECLS

/* The most inputs or targets that a source may have. */
#define GRADUS_SOURCE_MAX_ARRAYS 16

typedef struct _GradusSource GradusSource;

/**
 * GradusSourceFuncs:
 *
 * What one kind of source does. All but @free may be called from several threads at once.
 */
typedef struct
{
  /* Row i of @inputs[k] gets input k of sample @samples[i], row-major, in the spec's dtype and the
   * machine's byte order; likewise targets. @inputs or @targets, or one of their pointers, may be
   * NULL: not wanted. */
  gboolean (*read) (GradusSource *self,
                    const gint64 *samples,
                    guint         n,
                    void *const  *inputs,
                    void *const  *targets,
                    GError      **error);
  /* Optional: input @k (target @k - n_inputs from n_inputs on) of a sample where it lies in memory;
   * NULL if it does not. Valid as long as the source. */
  const void *(*peek) (GradusSource *self, guint k, gint64 sample);
  /* Adds all that the content depends on. */
  gboolean (*fingerprint) (GradusSource *self, GChecksum *checksum, GError **error);
  /* Where target 0 of a sample stands, for messages ("labels.gz, sample 17"); free with g_free. */
  char *(*place) (GradusSource *self, gint64 sample);
  void (*free) (GradusSource *self);
  /* Optional: the text of a sample, where @is_text. */
  const char *(*text) (GradusSource *self, gint64 sample);
  /* Then: takes the places of words of all samples, @length each, and how many each sample has. */
  void (*take_words) (GradusSource *self, guint length, gint32 *words, gint32 *lengths);
} GradusSourceFuncs;

/**
 * GradusSource:
 *
 * Samples by index. An implementation embeds this as its first member and fills it when opening;
 * afterwards it never changes, so that any thread may read.
 *
 * @n_classes: 1 + the greatest label (but at least 1, and at least the number of @class_names) when
 *   the only target is a whole number (rank 0, integer dtype); 0 otherwise
 * @class_names: NULL-terminated, or NULL
 * @echoes: there are no targets of its own: a sample's inputs, as the model gets them, are its targets
 * @weights: what each sample counts in the loss; NULL: 1
 * @lengths: steps of each sample of sequences that are padded up to the first axis of the inputs; NULL: all
 * @is_text: the samples are texts, which gradus_source_vectorize() must make numbers of
 * @resident: bytes that the source keeps in memory
 */
struct _GradusSource
{
  const GradusSourceFuncs *funcs;
  gint64                   n_samples;
  guint                    n_inputs, n_targets;
  GradusArraySpec          inputs[GRADUS_SOURCE_MAX_ARRAYS], targets[GRADUS_SOURCE_MAX_ARRAYS];
  gint64                   n_classes;
  char                   **class_names;
  gboolean                 echoes, is_text;
  const float             *weights;
  const gint32            *lengths;
  gint64                   resident;
};

/**
 * gradus_source_open:
 * @spec: the recipe's object with a "type"; every key of it is read
 * @base: folder that relative paths start from
 * @seed: of generators
 * @train: (nullable): the source of training, whose categories the columns of a table have in every part
 * @part: "train", "validation" or "test": generators yield other samples for each
 *
 * Opens and validates a source, reading what must be read to know its size and labels. Fails with
 * GRADUS_ERROR_REFUSED (and what gradus_json_end() gives), _NOT_FOUND, _IO or _NO_MEMORY; the
 * message names file and place. Blocks: not for the main thread.
 */
GradusSource *gradus_source_open (GradusJsonObject *spec,
                                  const char       *base,
                                  guint64           seed,
                                  const char       *part,
                                  GradusSource     *train,
                                  GError          **error);
void          gradus_source_free (GradusSource *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusSource, gradus_source_free)

/* Whether @spec says {"targets": "inputs"}: the model is to give back what it gets. A file of that name
 * is "./inputs". */
gboolean gradus_source_echoes (GradusJsonObject *spec);

/* Bytes of one sample under the spec. */
gsize gradus_array_spec_bytes (const GradusArraySpec *spec);
/* "uint8 (28, 28)"; free with g_free. */
char *gradus_array_spec_to_string (const GradusArraySpec *spec);

/**
 * gradus_source_fingerprint:
 *
 * "sha256:" and 64 hexadecimal digits, for telling whether a run's data is still the same. Over
 * each file's size and its bytes as stored; of a file larger than 64 MiB over 64 pieces of 1 MiB
 * spread evenly, the first and the last included. Names and times do not count. Free with g_free.
 */
char *gradus_source_fingerprint (GradusSource *self, GError **error);

/**
 * gradus_source_check_labels:
 *
 * Fails with GRADUS_ERROR_REFUSED naming file, sample and value of the first label that is not a
 * whole number from 0 to @n_classes - 1: one that is NaN, infinite or fractional neither. TRUE at once
 * where the target is not a single number.
 */
gboolean gradus_source_check_labels (GradusSource *self, gint64 n_classes, GError **error);

G_END_DECLS
