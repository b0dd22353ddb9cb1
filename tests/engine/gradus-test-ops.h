/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-op.h"

G_BEGIN_DECLS

/* The cases of the op table as programs and numbers. */

typedef struct
{
  gboolean        missing;
  GradusValueType type; /* B bound, or left free */
  char            kind; /* ' ', '+', '%', '*', '=', '<' */
  double          number; /* behind '*', '=' and '<' */
} GradusTestInput;

/* The inputs of @c with B at @batch (GRADUS_DIM_BATCH: left free); free with g_array_unref. */
GArray *gradus_test_parse_case (const GradusOpCase *c, gint64 batch);
/* Numbers for input @index of a case, as its kind says; free with g_free. */
double *gradus_test_fill (const GradusTestInput *input, guint index);

/* A program with one node, the op over its case. @ids: the inputs' values. Floats are variables when
 * B is bound, everything else inputs. */
GradusProgram *gradus_test_program (const GradusOp     *op,
                                    const GradusOpCase *c,
                                    GArray             *inputs,
                                    GradusValueId      *ids);

/* The types of a node's inputs and outputs with B at @batch; free with g_free. */
GradusValueType *gradus_test_types (GradusProgram       *program,
                                    const GradusValueId *ids,
                                    guint                n,
                                    gint64               batch);

/* Runs @program's reference kernels in float64. @values: one array a value, those of inputs,
 * variables and hypers filled; the others are made. */
void gradus_test_evaluate (GradusProgram *program, double **values, gint64 batch, guint64 seed, guint64 step);
/* Frees @n arrays and the array of them. */
void gradus_test_free_values (double **values, guint n);

G_END_DECLS
