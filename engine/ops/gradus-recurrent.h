/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/*
 * What the recurrent ops mean, for their rows and for kernels. Gates stand in Keras's order: i, f, c,
 * o of an LSTM (Hochreiter and Schmidhuber, Long Short-Term Memory, 1997, with the forget gate of
 * Gers, Schmidhuber and Cummins, 2000), z, r, h of a GRU (Cho et al., Learning Phrase
 * Representations using RNN Encoder-Decoder, 2014; reset_after: the variant of cuDNN).
 *
 * Outputs stand in the order in which steps are taken, which with “reverse” is the input's backwards.
 * Where the mask is 0 a step changes nothing: output and states are those of the step before, and
 * before the first step the initial ones, zero if none are given.
 */
typedef enum
{
  GRADUS_CELL_SIMPLE,     /* h = a(x K + b + h R) */
  GRADUS_CELL_LSTM,       /* c = f c + i a(zc), h = o a(c) */
  GRADUS_CELL_GRU,        /* h = z h + (1 - z) a(x K + b + (r h) R) */
  GRADUS_CELL_GRU_AFTER,  /* h = z h + (1 - z) a(x K + b + r (h R + b')) */
} GradusCell;

/* Those whose derivative follows from their value. */
typedef enum
{
  GRADUS_CELL_TANH,
  GRADUS_CELL_SIGMOID,
  GRADUS_CELL_LINEAR,
  GRADUS_CELL_RELU,
  GRADUS_CELL_HARD_SIGMOID,
  GRADUS_CELL_SOFTSIGN,
  GRADUS_CELL_ELU,
  GRADUS_CELL_SOFTPLUS,
  GRADUS_CELL_EXPONENTIAL,
  GRADUS_CELL_RELU6,
} GradusCellActivation;

/* Inputs of the forward ops. Those from BIAS on are optional; CARRY is an LSTM's. */
enum
{
  GRADUS_RECURRENT_X,         /* (batch, time, features) */
  GRADUS_RECURRENT_KERNEL,    /* (features, gates units) */
  GRADUS_RECURRENT_RECURRENT, /* (units, gates units) */
  GRADUS_RECURRENT_BIAS,      /* (gates units); (2, gates units) with reset_after */
  GRADUS_RECURRENT_MASK,      /* (batch, time) */
  GRADUS_RECURRENT_DROP,      /* (batch, units): factors of the state on its way to R */
  GRADUS_RECURRENT_STATE,     /* (batch, units) */
  GRADUS_RECURRENT_CARRY,     /* (batch, units) */
};

/* Inputs of the gradient ops; those from MASK on are optional. */
enum
{
  GRADUS_RECURRENT_GRAD_X,
  GRADUS_RECURRENT_GRAD_KERNEL,
  GRADUS_RECURRENT_GRAD_RECURRENT,
  GRADUS_RECURRENT_GRAD_Y,
  GRADUS_RECURRENT_GRAD_KEPT,
  GRADUS_RECURRENT_GRAD_MASK,
  GRADUS_RECURRENT_GRAD_DROP,
  GRADUS_RECURRENT_GRAD_STATE,
  GRADUS_RECURRENT_GRAD_CARRY,
  GRADUS_RECURRENT_GRAD_C,
  GRADUS_RECURRENT_GRAD_DY,
  GRADUS_RECURRENT_GRAD_DC,
  GRADUS_RECURRENT_GRAD_N,
};

/* Outputs of the gradient ops; attribute “wanted” has a bit for each that is more than an empty
 * vector. */
enum
{
  GRADUS_RECURRENT_GRAD_DX,
  GRADUS_RECURRENT_GRAD_DKERNEL,
  GRADUS_RECURRENT_GRAD_DRECURRENT,
  GRADUS_RECURRENT_GRAD_DBIAS,
  GRADUS_RECURRENT_GRAD_DSTATE,
  GRADUS_RECURRENT_GRAD_DCARRY,
  GRADUS_RECURRENT_GRAD_N_OUTPUTS,
};

/* A bound call. */
typedef struct
{
  GradusCell           cell;
  GradusCellActivation activation, recurrent_activation;
  gboolean             reverse;
  gint64               batch, time, features, units;
  gint64               gates; /* blocks of units in the kernels */
  gint64               kept;  /* blocks of units kept a step: i f a(zc) o; z r a(zh) and h R + b' or
                                 r h; a(z); in the input's order */
} GradusRecurrent;

gboolean        gradus_cell_activation_find (const char *name, GradusCellActivation *activation);
/* @x, @kernel: the bound or free types of these inputs. */
GradusRecurrent gradus_recurrent_read (const GradusNode      *node,
                                       const GradusValueType *x,
                                       const GradusValueType *kernel);
/* The step of the input that is the @step-th taken. */
static inline gint64
gradus_recurrent_at (const GradusRecurrent *self, gint64 step)
{
  return self->reverse ? self->time - 1 - step : step;
}

/* The reference kernels. */
void gradus_recurrent_reference      (const GradusReferenceCall *call);
void gradus_recurrent_grad_reference (const GradusReferenceCall *call);

G_END_DECLS
