/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * GradusPhilox:
 *
 * Counter-based random numbers: Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy
 * as 1, 2, 3", SC 2011). A number is a pure function of (seed, stream, step, index): it does not
 * depend on threads, on the order of calls or on how a range is cut, and nothing needs saving to
 * resume.
 *
 * A plain value, made by gradus_philox(); copy it, share it between threads, never free it.
 * Generator key: a hash of (seed, stream). Counter: (index / 4, step), 64 bits each.
 *
 * Every function below numbers its results from 0 in a sequence of its own kind, all drawn from the
 * same words; use one kind per (seed, stream, step).
 */
typedef struct
{
  guint32 key[2];
  guint64 step;
} GradusPhilox;

GradusPhilox gradus_philox (guint64 seed, guint64 stream, guint64 step);

/* A stream's number from its name ("dropout_1"): 64-bit FNV-1a, the same in every version. */
guint64 gradus_philox_stream (const char *name);

/* The bare generator, as in Random123's philox4x32 with 10 rounds. */
void gradus_philox4x32 (const guint32 counter[4], const guint32 key[2], guint32 out[4]);

/* Words 4 * @block to 4 * @block + 3. */
void    gradus_philox_block (const GradusPhilox *self, guint64 block, guint32 out[4]);
guint32 gradus_philox_word (const GradusPhilox *self, guint64 index);
/* [0, 1) with 24 bits, from word @index. */
float gradus_philox_float (const GradusPhilox *self, guint64 index);
/* [0, 1) with 53 bits, from words 2 * @index and 2 * @index + 1. */
double gradus_philox_double (const GradusPhilox *self, guint64 index);
/* Mean 0, standard deviation 1, by Box and Muller from doubles 2 * (@index / 2) and the next. */
double gradus_philox_normal (const GradusPhilox *self, guint64 index);

/* The numbers @first to @first + @n - 1 of the kind, bit-identical to the functions above. */
void gradus_philox_fill_words (const GradusPhilox *self, guint64 first, gsize n, guint32 *out);
void gradus_philox_fill_floats (const GradusPhilox *self, guint64 first, gsize n, float *out);
/* Rounded to float from the double. */
void gradus_philox_fill_normals (const GradusPhilox *self, guint64 first, gsize n, float *out);

/**
 * GradusPermutation:
 *
 * A keyed permutation of [0, n) in constant memory: a Feistel network over the next power of two,
 * walked until it falls below n (J. Black and P. Rogaway, "Ciphers with arbitrary finite domains",
 * CT-RSA 2002). A plain value.
 */
typedef struct
{
  guint64 n;
  guint   low_bits, high_bits;
  guint64 keys[8];
} GradusPermutation;

/* @n must be from 1 to 2^62. Another @epoch is another permutation. */
void gradus_permutation_init (GradusPermutation *self, guint64 seed, guint64 epoch, guint64 n);
/* Where @index (< n) goes; on average under two walks of eight rounds. */
guint64 gradus_permutation_at (const GradusPermutation *self, guint64 index);

G_END_DECLS
