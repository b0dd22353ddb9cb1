/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

#include <cblas.h>

G_BEGIN_DECLS

/* OpenBLAS, loaded when it is first asked for: its constructor starts a thread for each processor,
 * and they spin. A program that has nothing to multiply yet, such as a window on its way to its
 * first frame, pays nothing for it. */
typedef struct
{
  void (*sgemm) (CBLAS_ORDER order, CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b,
                 blasint m, blasint n, blasint k, float alpha, const float *a, blasint a_row,
                 const float *b, blasint b_row, float beta, float *c, blasint c_row);
  char *(*get_config) (void);
  char *(*get_corename) (void);
} GradusOpenblas;

/**
 * gradus_openblas_get:
 *
 * The functions of the library, which is told to work on the calling thread alone. Any thread.
 *
 * Returns: (nullable): static, or NULL on a machine that lacks it
 */
const GradusOpenblas *gradus_openblas_get (void);

G_END_DECLS
