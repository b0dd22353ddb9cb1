/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-philox.h"

#include <math.h>
#include <string.h>

/* From kat_vectors of Random123 1.09, "philox4x32 10". */
static void
test_vectors (void)
{
  static const struct
  {
    guint32 counter[4], key[2], out[4];
  } cases[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint32 out[4];

      gradus_philox4x32 (cases[i].counter, cases[i].key, out);
      g_assert_cmpmem (out, sizeof out, cases[i].out, sizeof cases[i].out);
    }
}

/* Checkpoints depend on these: they may never change. */
static void
test_frozen (void)
{
  GradusPhilox philox = gradus_philox (42, gradus_philox_stream ("dropout"), 7);
  GradusPhilox other = gradus_philox (42, gradus_philox_stream ("dropout"), 8);

  g_assert_cmphex (gradus_philox_stream (""), ==, 0xcbf29ce484222325);
  g_assert_cmphex (gradus_philox_stream ("a"), ==, 0xaf63dc4c8601ec8c);
  g_assert_cmphex (gradus_philox_word (&philox, 0), ==, 0x36e60222);
  g_assert_cmphex (gradus_philox_word (&philox, 5), ==, 0xaae56d19);
  g_assert_cmphex (gradus_philox_word (&other, 0), !=, gradus_philox_word (&philox, 0));
}

static void
test_fill (void)
{
  GradusPhilox        philox = gradus_philox (1, 2, 3);
  g_autofree guint32 *words = g_new (guint32, 10000);
  g_autofree float   *floats = g_new (float, 10000);
  g_autofree float   *normals = g_new (float, 10000);
  /* The last one crosses from 32 to 33 bits of block number. */
  static const guint64 firsts[] = { 0, 1, 2, 3, 61, 64, 1001, (G_GUINT64_CONSTANT (1) << 34) - 37 };
  static const gsize   counts[] = { 0, 1, 2, 3, 5, 63, 64, 65, 200, 9001 };

  for (guint f = 0; f < G_N_ELEMENTS (firsts); f++)
    for (guint c = 0; c < G_N_ELEMENTS (counts); c++)
      {
        gradus_philox_fill_words (&philox, firsts[f], counts[c], words);
        gradus_philox_fill_floats (&philox, firsts[f], counts[c], floats);
        gradus_philox_fill_normals (&philox, firsts[f], counts[c], normals);
        for (gsize i = 0; i < counts[c]; i++)
          {
            float value = gradus_philox_float (&philox, firsts[f] + i);
            float normal = (float) gradus_philox_normal (&philox, firsts[f] + i);

            g_assert_cmphex (words[i], ==, gradus_philox_word (&philox, firsts[f] + i));
            g_assert_cmpmem (&floats[i], 4, &value, 4);
            g_assert_cmpmem (&normals[i], 4, &normal, 4);
          }
      }
}

static void
test_distribution (void)
{
  GradusPhilox philox = gradus_philox (9, 0, 0);
  const guint  n = 200000;
  double       sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, fourth = 0;

  for (guint i = 0; i < n; i++)
    {
      double u = gradus_philox_double (&philox, i), z = gradus_philox_normal (&philox, i);

      g_assert_true (u >= 0 && u < 1);
      sum += u;
      squares += u * u;
      normal_sum += z;
      normal_squares += z * z;
      fourth += z * z * z * z;
    }
  /* Five standard errors. */
  g_assert_cmpfloat_with_epsilon (sum / n, 0.5, 5 * 0.2887 / sqrt (n));
  g_assert_cmpfloat_with_epsilon (squares / n, 1.0 / 3, 5 * 0.2981 / sqrt (n));
  g_assert_cmpfloat_with_epsilon (normal_sum / n, 0, 5 / sqrt (n));
  g_assert_cmpfloat_with_epsilon (normal_squares / n, 1, 5 * 1.4142 / sqrt (n));
  g_assert_cmpfloat_with_epsilon (fourth / n, 3, 5 * 9.798 / sqrt (n));
}

static void
test_permutation (void)
{
  for (guint64 n = 1; n < 3000; n += n < 40 ? 1 : 97)
    {
      g_autofree guint8 *seen = g_malloc0 (n);
      GradusPermutation  permutation;

      gradus_permutation_init (&permutation, 5, n, n);
      for (guint64 i = 0; i < n; i++)
        {
          guint64 at = gradus_permutation_at (&permutation, i);

          g_assert_cmpuint (at, <, n);
          g_assert_cmpuint (seen[at]++, ==, 0);
        }
    }
}

/* Over many epochs each element comes to each place equally often, and pairs of neighbours do not
 * stay neighbours. */
static void
test_permutation_uniform (void)
{
  enum
  {
    N = 12,
    EPOCHS = 12000
  };
  guint  counts[N][N] = { 0 };
  guint  follows = 0;
  double chi = 0;

  for (guint64 epoch = 0; epoch < EPOCHS; epoch++)
    {
      GradusPermutation permutation;

      gradus_permutation_init (&permutation, 77, epoch, N);
      for (guint i = 0; i < N; i++)
        {
          guint at = gradus_permutation_at (&permutation, i);

          counts[i][at]++;
          if (i + 1 < N && gradus_permutation_at (&permutation, i + 1) == at + 1)
            follows++;
        }
    }
  for (guint i = 0; i < N; i++)
    for (guint j = 0; j < N; j++)
      chi += pow (counts[i][j] - (double) EPOCHS / N, 2) / ((double) EPOCHS / N);
  /* (N - 1)^2 = 121 degrees of freedom: mean 121, standard deviation 15.6. */
  g_assert_cmpfloat (chi, <, 121 + 6 * 15.6);
  g_assert_cmpfloat (chi, >, 121 - 6 * 15.6);
  /* Of 11 places one in N follows by chance, 11 / 12 an epoch. */
  g_assert_cmpfloat_with_epsilon ((double) follows / EPOCHS, 11.0 / 12, 0.06);
}

static void
test_permutation_large (void)
{
  GradusPermutation permutation, again, next;
  guint             same = 0;

  gradus_permutation_init (&permutation, 3, 1, 60000);
  gradus_permutation_init (&again, 3, 1, 60000);
  gradus_permutation_init (&next, 3, 2, 60000);
  for (guint i = 0; i < 60000; i++)
    {
      g_assert_cmpuint (gradus_permutation_at (&permutation, i), ==,
                        gradus_permutation_at (&again, i));
      same += gradus_permutation_at (&permutation, i) == gradus_permutation_at (&next, i);
    }
  g_assert_cmpuint (same, <, 10);

  gradus_permutation_init (&permutation, 3, 1, G_GUINT64_CONSTANT (1) << 62);
  g_assert_cmpuint (gradus_permutation_at (&permutation, (G_GUINT64_CONSTANT (1) << 62) - 1), <,
                    G_GUINT64_CONSTANT (1) << 62);
}

static void
test_speed (void)
{
  GradusPhilox      philox = gradus_philox (1, 2, 3);
  const gsize       n = 1 << 20;
  g_autofree float *out = g_new (float, n);
  gint64            best = G_MAXINT64;

  for (guint i = 0; i < 20; i++)
    {
      gint64 start = g_get_monotonic_time ();

      gradus_philox_fill_floats (&philox, i * n, n, out);
      best = MIN (best, g_get_monotonic_time () - start);
    }
  g_test_maximized_result (n / (double) MAX (best, 1), "%.0f million numbers a second",
                           n / (double) MAX (best, 1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/philox/vectors", test_vectors);
  g_test_add_func ("/philox/frozen", test_frozen);
  g_test_add_func ("/philox/fill", test_fill);
  g_test_add_func ("/philox/distribution", test_distribution);
  g_test_add_func ("/philox/permutation", test_permutation);
  g_test_add_func ("/philox/permutation-uniform", test_permutation_uniform);
  g_test_add_func ("/philox/permutation-large", test_permutation_large);
  g_test_add_func ("/philox/speed", test_speed);
  return g_test_run ();
}
