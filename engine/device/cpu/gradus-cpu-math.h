/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>
#include <math.h>

/*
 * Elementary functions without branches and calls, so that the compiler turns a loop over them into
 * vector code, and so that bits do not depend on the C library or on the width of the vectors.
 * Polynomials: S. Moshier, Cephes Mathematical Library, 1992 (exp, log, tanh); the rational
 * approximation of erf is fitted on [-4, 4], beyond which a float erf is 1.
 */

static inline __attribute__ ((always_inline)) float
gradus_bits_float (gint32 bits)
{
  union
  {
    gint32 i;
    float  f;
  } u = { .i = bits };
  return u.f;
}

static inline __attribute__ ((always_inline)) gint32
gradus_float_bits (float value)
{
  union
  {
    float  f;
    gint32 i;
  } u = { .f = value };
  return u.i;
}

static inline __attribute__ ((always_inline)) float
gradus_exp (float x)
{
  const float round = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
  /* So that no number is taken for the least: what it becomes is not looked at, but must be in range. */
  float c = x > -104.0f ? x : -104.0f;
  c = c > 89.0f ? 89.0f : c;
  float n = (c * 1.44269504088896341f + round) - round;
  float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  /* In two halves, because 2^n itself may be out of range. */
  gint32 k = (gint32) n;
  gint32 half = k >> 1;
  float y = p * gradus_bits_float ((half + 127) << 23) * gradus_bits_float ((k - half + 127) << 23);
  return x != x ? x : y;
}

static inline __attribute__ ((always_inline)) float
gradus_log (float x)
{
  gint32 bits = gradus_float_bits (x);
  float e = (float) ((bits >> 23) - 126);
  float m = gradus_bits_float ((bits & 0x007fffff) | 0x3f000000); /* [0.5, 1) */
  gint32 small = m < 0.707106781186547524f;
  e -= small ? 1.0f : 0.0f;
  m = small ? m + m - 1.0f : m - 1.0f;
  float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float y = m * z * p;
  y = y + e * -2.12194440e-4f;
  y = y - 0.5f * z;
  y = (m + y) + e * 0.693359375f;
  y = x >= 1.17549435e-38f ? y : -INFINITY;
  y = x < 0.0f ? NAN : y;
  y = x > 3.4028235e38f ? x : y;
  return x != x ? x : y;
}

static inline __attribute__ ((always_inline)) float
gradus_tanh (float x)
{
  float a = x < 0.0f ? -x : x;
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = p * z * x + x;
  float far = 1.0f - 2.0f / (gradus_exp (a + a) + 1.0f);
  far = x < 0.0f ? -far : far;
  return a < 0.625f ? near : far;
}

static inline __attribute__ ((always_inline)) float
gradus_erf (float x)
{
  float c = x < -4.0f ? -4.0f : x;
  c = c > 4.0f ? 4.0f : c;
  float z = c * c;
  float p = -2.72614225801306e-10f;
  p = p * z + 2.77068142495902e-08f;
  p = p * z - 2.10102402082508e-06f;
  p = p * z - 5.69250639462346e-05f;
  p = p * z - 7.34990630326855e-04f;
  p = p * z - 2.95459980854025e-03f;
  p = p * z - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * z - 2.13374055278905e-04f;
  q = q * z - 1.68282697438203e-03f;
  q = q * z - 7.37332916720468e-03f;
  q = q * z - 1.42647390514189e-02f;
  return c * p / q;
}

static inline __attribute__ ((always_inline)) float
gradus_sigmoid (float x)
{
  return 1.0f / (1.0f + gradus_exp (-x));
}

/* log (1 + exp (x)) without overflow; log1p by the correction of a rounded 1 + u. */
static inline __attribute__ ((always_inline)) float
gradus_softplus (float x)
{
  float u = gradus_exp (x < 0.0f ? x : -x);
  float w = 1.0f + u;
  float l = gradus_log (w) + (u - (w - 1.0f)) / w;
  return (x > 0.0f ? x : 0.0f) + l + (x != x ? x : 0.0f);
}
