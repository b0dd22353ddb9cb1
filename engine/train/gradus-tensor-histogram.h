/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-observer.h"

G_BEGIN_DECLS

#define GRADUS_TENSOR_BINS 64

typedef struct
{
  GradusHistogram histogram; /* points into the arrays below */
  double          edges[GRADUS_TENSOR_BINS + 1];
  double          counts[GRADUS_TENSOR_BINS];
} GradusTensorHistogram;

/* Bins of equal width from the smallest to the largest finite value; one bin if they are the same,
 * none if there is none. Sums run in a fixed order, so the result is a function of the data alone. */
void gradus_tensor_histogram (GradusTensorHistogram *self, const float *data, gsize n);

G_END_DECLS
