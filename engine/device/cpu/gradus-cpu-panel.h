/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>
#include <string.h>

#if defined(__AVX__)
#include <immintrin.h>
#endif

/*
 * Small matrix products for kernels that do many of them inside one tile: B is packed once into
 * panels of a few vectors' width, then C[m,n] = A[m,k] B[k,n] runs in registers. Every element is one
 * chain of products over k in blocks of GRADUS_PANEL_DEPTH, whatever the tile, so bits depend on
 * shapes alone. Included by the kernels in C, once per instruction-set level.
 */
#if defined(__AVX512F__)
#define GRADUS_PANEL_LANES 16
#define GRADUS_PANEL_ROWS 8
typedef __m512 GradusLanes;
#define GRADUS_LANES_LOAD(p) _mm512_loadu_ps (p)
#define GRADUS_LANES_STORE(p, v) _mm512_storeu_ps (p, v)
#define GRADUS_LANES_SET(x) _mm512_set1_ps (x)
#define GRADUS_LANES_FMA(a, b, c) _mm512_fmadd_ps (a, b, c)
#elif defined(__AVX2__) && defined(__FMA__)
#define GRADUS_PANEL_LANES 8
#define GRADUS_PANEL_ROWS 4
typedef __m256 GradusLanes;
#define GRADUS_LANES_LOAD(p) _mm256_loadu_ps (p)
#define GRADUS_LANES_STORE(p, v) _mm256_storeu_ps (p, v)
#define GRADUS_LANES_SET(x) _mm256_set1_ps (x)
#define GRADUS_LANES_FMA(a, b, c) _mm256_fmadd_ps (a, b, c)
#else
#define GRADUS_PANEL_LANES 4
#define GRADUS_PANEL_ROWS 4
typedef float GradusLanes __attribute__ ((vector_size (16)));
typedef float GradusLooseLanes __attribute__ ((vector_size (16), aligned (4), may_alias));
#define GRADUS_LANES_LOAD(p) ((GradusLanes) *(const GradusLooseLanes *) (p))
#define GRADUS_LANES_STORE(p, v) (*(GradusLooseLanes *) (p) = (v))
#define GRADUS_LANES_SET(x) ((GradusLanes){ (x), (x), (x), (x) })
#define GRADUS_LANES_FMA(a, b, c) ((a) * (b) + (c))
#endif
#define GRADUS_PANEL_WIDTH (2 * GRADUS_PANEL_LANES)
#define GRADUS_PANEL_DEPTH 256

static inline gint64
gradus_panel_count (gint64 n)
{
  return (n + GRADUS_PANEL_WIDTH - 1) / GRADUS_PANEL_WIDTH;
}

/* Floats of a packed B[k,n]. */
static inline gsize
gradus_panel_size (gint64 k, gint64 n)
{
  return (gsize) (gradus_panel_count (n) * GRADUS_PANEL_WIDTH * k);
}

/* Packs @n <= GRADUS_PANEL_WIDTH columns of B[k, ...] from @b, the rest with zeros. */
static inline void
gradus_panel_pack (const float *b, gint64 b_row, gint64 b_column, gint64 k, gint64 n, float *panel)
{
  for (gint64 i = 0; i < k; i++, panel += GRADUS_PANEL_WIDTH)
    {
      const float *row = b + i * b_row;

      if (b_column == 1 && n == GRADUS_PANEL_WIDTH)
        {
          memcpy (panel, row, sizeof (float) * GRADUS_PANEL_WIDTH);
          continue;
        }
      for (gint64 j = 0; j < n; j++)
        panel[j] = row[j * b_column];
      for (gint64 j = n; j < GRADUS_PANEL_WIDTH; j++)
        panel[j] = 0;
    }
}

static inline __attribute__ ((always_inline)) void
gradus_panel_rows (const int rows, gint64 k, const float *a, gint64 a_row, gint64 a_column, const float *panel, float *c, gint64 c_row, gint64 n, gboolean add)
{
  GradusLanes acc[8][2];

  for (int r = 0; r < rows; r++)
    acc[r][0] = acc[r][1] = GRADUS_LANES_SET (0.0f);
  for (gint64 i = 0; i < k; i++, panel += GRADUS_PANEL_WIDTH, a += a_column)
    {
      const GradusLanes b0 = GRADUS_LANES_LOAD (panel);
      const GradusLanes b1 = GRADUS_LANES_LOAD (panel + GRADUS_PANEL_LANES);

      for (int r = 0; r < rows; r++)
        {
          const GradusLanes x = GRADUS_LANES_SET (a[r * a_row]);

          acc[r][0] = GRADUS_LANES_FMA (x, b0, acc[r][0]);
          acc[r][1] = GRADUS_LANES_FMA (x, b1, acc[r][1]);
        }
    }
  for (int r = 0; r < rows; r++)
    {
      float *to = c + r * c_row, part[GRADUS_PANEL_WIDTH];

      if (n == GRADUS_PANEL_WIDTH && !add)
        {
          GRADUS_LANES_STORE (to, acc[r][0]);
          GRADUS_LANES_STORE (to + GRADUS_PANEL_LANES, acc[r][1]);
          continue;
        }
      GRADUS_LANES_STORE (part, acc[r][0]);
      GRADUS_LANES_STORE (part + GRADUS_PANEL_LANES, acc[r][1]);
      for (gint64 j = 0; j < n; j++)
        to[j] = add ? to[j] + part[j] : part[j];
    }
}

/* @n <= GRADUS_PANEL_WIDTH columns of C by one panel of @k <= GRADUS_PANEL_DEPTH rows. */
static inline void
gradus_panel_block (gint64 m, gint64 n, gint64 k, const float *a, gint64 a_row, gint64 a_column, const float *panel, float *c, gint64 c_row, gboolean add)
{
  gint64 i = 0;

  for (; i + GRADUS_PANEL_ROWS <= m; i += GRADUS_PANEL_ROWS)
    gradus_panel_rows (GRADUS_PANEL_ROWS, k, a + i * a_row, a_row, a_column, panel, c + i * c_row, c_row, n, add);
  for (; i + 2 <= m; i += 2)
    gradus_panel_rows (2, k, a + i * a_row, a_row, a_column, panel, c + i * c_row, c_row, n, add);
  for (; i < m; i++)
    gradus_panel_rows (1, k, a + i * a_row, a_row, a_column, panel, c + i * c_row, c_row, n, add);
}

/* C[m,n] = A[m,k] B[k,n], or added to it; @packed: all panels of B one after the other. */
static inline void
gradus_panel_multiply (gint64 m, gint64 n, gint64 k, const float *a, gint64 a_row, gint64 a_column, const float *packed, float *c, gint64 c_row, gboolean add)
{
  for (gint64 j = 0; j < n; j += GRADUS_PANEL_WIDTH)
    for (gint64 i = 0; i < k; i += GRADUS_PANEL_DEPTH)
      gradus_panel_block (m, MIN (GRADUS_PANEL_WIDTH, n - j), MIN (GRADUS_PANEL_DEPTH, k - i), a + i * a_column, a_row,
                          a_column, packed + j * k + i * GRADUS_PANEL_WIDTH, c + j, c_row, add || i > 0);
}
