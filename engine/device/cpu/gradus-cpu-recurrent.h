/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-math.h"
#include "device/cpu/gradus-cpu-panel.h"
#include "ops/gradus-recurrent.h"

/*
 * A tile takes GRADUS_RECURRENT_ROWS samples through all steps by itself: nobody waits for anybody
 * between two steps. For the kernels in C alone.
 */
#define GRADUS_RECURRENT_ROWS 16

static inline __attribute__ ((always_inline)) float
gradus_recurrent_activate (GradusCellActivation activation, float x)
{
  switch (activation)
    {
    case GRADUS_CELL_TANH:
      return gradus_tanh (x);
    case GRADUS_CELL_SIGMOID:
      return gradus_sigmoid (x);
    case GRADUS_CELL_LINEAR:
      return x;
    case GRADUS_CELL_RELU:
      return x < 0.0f ? 0.0f : x;
    case GRADUS_CELL_HARD_SIGMOID:
      x = (x + 3.0f) * (1.0f / 6.0f);
      x = x < 0.0f ? 0.0f : x;
      return x > 1.0f ? 1.0f : x;
    case GRADUS_CELL_SOFTSIGN:
      return x / (1.0f + (x < 0.0f ? -x : x));
    case GRADUS_CELL_ELU:
      return x > 0.0f ? x : gradus_exp (x) - 1.0f;
    case GRADUS_CELL_SOFTPLUS:
      return gradus_softplus (x);
    case GRADUS_CELL_EXPONENTIAL:
      return gradus_exp (x);
    case GRADUS_CELL_RELU6:
      x = x < 0.0f ? 0.0f : x;
      return x > 6.0f ? 6.0f : x;
    }
  return x;
}

/* The derivative where the value is @y. */
static inline __attribute__ ((always_inline)) float
gradus_recurrent_slope (GradusCellActivation activation, float y)
{
  float a = 1.0f - (y < 0.0f ? -y : y);

  switch (activation)
    {
    case GRADUS_CELL_TANH:
      return 1.0f - y * y;
    case GRADUS_CELL_SIGMOID:
      return y * (1.0f - y);
    case GRADUS_CELL_LINEAR:
      return 1.0f;
    case GRADUS_CELL_RELU:
      return y > 0.0f ? 1.0f : 0.0f;
    case GRADUS_CELL_HARD_SIGMOID:
      return y > 0.0f && y < 1.0f ? 1.0f / 6.0f : 0.0f;
    case GRADUS_CELL_SOFTSIGN:
      return a * a;
    case GRADUS_CELL_ELU:
      return y > 0.0f ? 1.0f : y + 1.0f;
    case GRADUS_CELL_SOFTPLUS:
      return 1.0f - gradus_exp (-y);
    case GRADUS_CELL_EXPONENTIAL:
      return y;
    case GRADUS_CELL_RELU6:
      return y > 0.0f && y < 6.0f ? 1.0f : 0.0f;
    }
  return 1.0f;
}

/* A loop for each activation, so that each becomes vector code. */
#define GRADUS_EACH_ACTIVATION(activation, DO) \
  switch (activation)                          \
    {                                          \
    case GRADUS_CELL_TANH:                     \
      DO (GRADUS_CELL_TANH) break;             \
    case GRADUS_CELL_SIGMOID:                  \
      DO (GRADUS_CELL_SIGMOID) break;          \
    case GRADUS_CELL_LINEAR:                   \
      DO (GRADUS_CELL_LINEAR) break;           \
    case GRADUS_CELL_RELU:                     \
      DO (GRADUS_CELL_RELU) break;             \
    case GRADUS_CELL_HARD_SIGMOID:             \
      DO (GRADUS_CELL_HARD_SIGMOID) break;     \
    case GRADUS_CELL_SOFTSIGN:                 \
      DO (GRADUS_CELL_SOFTSIGN) break;         \
    case GRADUS_CELL_ELU:                      \
      DO (GRADUS_CELL_ELU) break;              \
    case GRADUS_CELL_SOFTPLUS:                 \
      DO (GRADUS_CELL_SOFTPLUS) break;         \
    case GRADUS_CELL_EXPONENTIAL:              \
      DO (GRADUS_CELL_EXPONENTIAL) break;      \
    case GRADUS_CELL_RELU6:                    \
      DO (GRADUS_CELL_RELU6) break;            \
    }

/* y = activation (x), in place or not. */
static inline void
gradus_recurrent_activate_row (GradusCellActivation activation, const float *x, float *y, gint64 n)
{
#define DO(which)                                          \
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++) y[i] \
    = gradus_recurrent_activate (which, x[i]);
  GRADUS_EACH_ACTIVATION (activation, DO)
#undef DO
}

/* d *= derivative where the value is y. */
static inline void
gradus_recurrent_slope_row (GradusCellActivation activation, const float *y, float *d, gint64 n)
{
#define DO(which)                                                \
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++) d[i] *= \
    gradus_recurrent_slope (which, y[i]);
  GRADUS_EACH_ACTIVATION (activation, DO)
#undef DO
}

/* The floats of a part of the scratch, on a boundary of 64 bytes. */
static inline gsize
gradus_recurrent_part (gsize floats)
{
  return (floats + 15) / 16 * 16;
}

static inline const float *
gradus_recurrent_optional (const GradusKernel *kernel, const GradusKernelArgs *args, guint n_inputs, guint slot)
{
  return slot < n_inputs ? args->inputs[slot] : NULL;
}
