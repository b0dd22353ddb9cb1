/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-philox.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ROUNDS 10
#define M0 0xD2511F53u
#define M1 0xCD9E8D57u
#define W0 0x9E3779B9u
#define W1 0xBB67AE85u

/* Blocks computed side by side by the bulk functions. */
#define LANES 8

static guint64
mix (guint64 x)
{
  x ^= x >> 30;
  x *= G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= G_GUINT64_CONSTANT (0x94d049bb133111eb);
  x ^= x >> 31;
  return x;
}

GradusPhilox
gradus_philox (guint64 seed, guint64 stream, guint64 step)
{
  guint64 key = mix (mix (seed + G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) ^ stream);

  return (GradusPhilox){ { (guint32) key, (guint32) (key >> 32) }, step };
}

guint64
gradus_philox_stream (const char *name)
{
  guint64 hash = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  g_return_val_if_fail (name != NULL, 0);
  for (const guchar *c = (const guchar *) name; *c != 0; c++)
    hash = (hash ^ *c) * G_GUINT64_CONSTANT (0x100000001b3);
  return hash;
}

void
gradus_philox4x32 (const guint32 counter[4], const guint32 key[2], guint32 out[4])
{
  guint32 c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  guint32 k0 = key[0], k1 = key[1];

  for (guint i = 0; i < ROUNDS; i++)
    {
      guint64 p0 = (guint64) M0 * c0, p1 = (guint64) M1 * c2;

      c0 = (guint32) (p1 >> 32) ^ c1 ^ k0;
      c1 = (guint32) p1;
      c2 = (guint32) (p0 >> 32) ^ c3 ^ k1;
      c3 = (guint32) p0;
      k0 += W0;
      k1 += W1;
    }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

void
gradus_philox_block (const GradusPhilox *self, guint64 block, guint32 out[4])
{
  guint32 counter[4] = { (guint32) block, (guint32) (block >> 32), (guint32) self->step,
                         (guint32) (self->step >> 32) };

  gradus_philox4x32 (counter, self->key, out);
}

guint32
gradus_philox_word (const GradusPhilox *self, guint64 index)
{
  guint32 words[4];

  gradus_philox_block (self, index / 4, words);
  return words[index % 4];
}

static inline float
to_float (guint32 word)
{
  /* By way of a signed number, which has a vector instruction. */
  return (float) (gint32) (word >> 8) * 0x1p-24f;
}

static inline double
to_double (guint32 a, guint32 b)
{
  return (double) (((guint64) (a >> 5) << 26) | (b >> 6)) * 0x1p-53;
}

float
gradus_philox_float (const GradusPhilox *self, guint64 index)
{
  return to_float (gradus_philox_word (self, index));
}

double
gradus_philox_double (const GradusPhilox *self, guint64 index)
{
  guint32 words[4];

  gradus_philox_block (self, index / 2, words);
  return index % 2 == 0 ? to_double (words[0], words[1]) : to_double (words[2], words[3]);
}

static void
normal_pair (const GradusPhilox *self, guint64 block, double pair[2])
{
  guint32 words[4];
  double  radius, angle;

  gradus_philox_block (self, block, words);
  /* 1 - u is in (0, 1], so the logarithm is finite. */
  radius = sqrt (-2.0 * log (1.0 - to_double (words[0], words[1])));
  angle = 2.0 * G_PI * to_double (words[2], words[3]);
  pair[0] = radius * cos (angle);
  pair[1] = radius * sin (angle);
}

double
gradus_philox_normal (const GradusPhilox *self, guint64 index)
{
  double pair[2];

  normal_pair (self, index / 2, pair);
  return pair[index % 2];
}

/* Four words each of LANES blocks from @block on. */
typedef void (*LanesFunc) (const GradusPhilox *self, guint64 block, guint32 *out);

static void
lanes_plain (const GradusPhilox *self, guint64 block, guint32 *out)
{
  for (guint l = 0; l < LANES; l++)
    gradus_philox_block (self, block + l, out + 4 * l);
}

#if defined(__x86_64__)
#define AVX2 __attribute__ ((target ("avx2")))

/* Four blocks in the 64-bit lanes of registers, of which only the low halves count: the
 * multiplication takes no others. */
typedef struct
{
  __m256i c0, c1, c2, c3;
} Quad;

AVX2 static inline Quad
quad_start (const GradusPhilox *self, guint64 block)
{
  Quad q;

  q.c0 = _mm256_add_epi64 (_mm256_set1_epi64x (block), _mm256_set_epi64x (3, 2, 1, 0));
  q.c1 = _mm256_srli_epi64 (q.c0, 32);
  q.c2 = _mm256_set1_epi64x ((guint32) self->step);
  q.c3 = _mm256_set1_epi64x (self->step >> 32);
  return q;
}

AVX2 static inline Quad
quad_round (Quad q, __m256i key0, __m256i key1)
{
  __m256i p0 = _mm256_mul_epu32 (q.c0, _mm256_set1_epi64x (M0));
  __m256i p1 = _mm256_mul_epu32 (q.c2, _mm256_set1_epi64x (M1));

  q.c0 = _mm256_xor_si256 (_mm256_srli_epi64 (p1, 32), _mm256_xor_si256 (q.c1, key0));
  q.c2 = _mm256_xor_si256 (_mm256_srli_epi64 (p0, 32), _mm256_xor_si256 (q.c3, key1));
  q.c1 = p1;
  q.c3 = p0;
  return q;
}

AVX2 static inline void
quad_store (Quad q, guint32 *out)
{
  __m256i words01 = _mm256_blend_epi32 (q.c0, _mm256_slli_epi64 (q.c1, 32), 0xaa);
  __m256i words23 = _mm256_blend_epi32 (q.c2, _mm256_slli_epi64 (q.c3, 32), 0xaa);
  __m256i even = _mm256_unpacklo_epi64 (words01, words23); /* blocks 0 and 2 */
  __m256i odd = _mm256_unpackhi_epi64 (words01, words23);  /* blocks 1 and 3 */

  _mm256_storeu_si256 ((__m256i *) out, _mm256_permute2x128_si256 (even, odd, 0x20));
  _mm256_storeu_si256 ((__m256i *) (out + 8), _mm256_permute2x128_si256 (even, odd, 0x31));
}

/* Two quads side by side hide the latency of the multiplications and still fit the registers. */
AVX2 static void
lanes_avx2 (const GradusPhilox *self, guint64 block, guint32 *out)
{
  G_STATIC_ASSERT (LANES == 8);
  Quad    a = quad_start (self, block), b = quad_start (self, block + 4);
  __m256i key0 = _mm256_set1_epi64x (self->key[0]), key1 = _mm256_set1_epi64x (self->key[1]);

#pragma GCC unroll 10
  for (guint i = 0; i < ROUNDS; i++)
    {
      a = quad_round (a, key0, key1);
      b = quad_round (b, key0, key1);
      key0 = _mm256_add_epi32 (key0, _mm256_set1_epi64x (W0));
      key1 = _mm256_add_epi32 (key1, _mm256_set1_epi64x (W1));
    }
  quad_store (a, out);
  quad_store (b, out + 16);
}
#endif

static LanesFunc
choose_lanes (void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports ("avx2"))
    return lanes_avx2;
#endif
  return lanes_plain;
}

void
gradus_philox_fill_words (const GradusPhilox *self, guint64 first, gsize n, guint32 *out)
{
  LanesFunc func = choose_lanes ();
  guint32   words[4 * LANES];

  for (; n > 0 && first % 4 != 0; first++, n--)
    *out++ = gradus_philox_word (self, first);
  for (; n >= 4 * LANES; first += 4 * LANES, n -= 4 * LANES, out += 4 * LANES)
    func (self, first / 4, out);
  if (n > 0)
    {
      func (self, first / 4, words);
      memcpy (out, words, n * sizeof *out);
    }
}

__attribute__ ((optimize ("O3"))) static void
convert_words (const guint32 *restrict words, gsize n, float *restrict out)
{
  for (gsize i = 0; i < n; i++)
    out[i] = to_float (words[i]);
}

void
gradus_philox_fill_floats (const GradusPhilox *self, guint64 first, gsize n, float *out)
{
  guint32 words[128 * LANES];

  while (n > 0)
    {
      gsize now = MIN (n, G_N_ELEMENTS (words));

      gradus_philox_fill_words (self, first, now, words);
      convert_words (words, now, out);
      first += now;
      out += now;
      n -= now;
    }
}

void
gradus_philox_fill_normals (const GradusPhilox *self, guint64 first, gsize n, float *out)
{
  double pair[2];

  for (; n > 0 && first % 2 != 0; first++, n--)
    *out++ = (float) gradus_philox_normal (self, first);
  for (; n >= 2; first += 2, n -= 2, out += 2)
    {
      normal_pair (self, first / 2, pair);
      out[0] = (float) pair[0];
      out[1] = (float) pair[1];
    }
  if (n > 0)
    *out = (float) gradus_philox_normal (self, first);
}

void
gradus_permutation_init (GradusPermutation *self, guint64 seed, guint64 epoch, guint64 n)
{
  GradusPhilox philox = gradus_philox (seed, gradus_philox_stream ("permutation"), epoch);
  guint        bits = 0;

  g_return_if_fail (n > 0 && n <= G_GUINT64_CONSTANT (1) << 62);

  while (bits < 62 && (G_GUINT64_CONSTANT (1) << bits) < n)
    bits++;
  self->n = n;
  self->high_bits = bits / 2;
  self->low_bits = bits - self->high_bits;
  for (guint i = 0; i < G_N_ELEMENTS (self->keys); i++)
    self->keys[i] = (guint64) gradus_philox_word (&philox, 2 * i) << 32
                    | gradus_philox_word (&philox, 2 * i + 1);
}

guint64
gradus_permutation_at (const GradusPermutation *self, guint64 index)
{
  guint64 low_mask = (G_GUINT64_CONSTANT (1) << self->low_bits) - 1;
  guint64 high_mask = (G_GUINT64_CONSTANT (1) << self->high_bits) - 1;

  g_return_val_if_fail (index < self->n, 0);

  do
    {
      guint64 low = index & low_mask, high = index >> self->low_bits;

      for (guint i = 0; i < G_N_ELEMENTS (self->keys); i += 2)
        {
          low ^= mix (high + self->keys[i]) & low_mask;
          high ^= mix (low + self->keys[i + 1]) & high_mask;
        }
      index = high << self->low_bits | low;
    }
  while (index >= self->n);
  return index;
}
