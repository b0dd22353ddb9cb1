/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph/gradus-program.h"

G_BEGIN_DECLS

/**
 * GradusFormula:
 *
 * An expression in named values, such as “x * sigmoid(1.702 * x)” or “mean(square(y - p) * w)”:
 * the way to a layer, a loss, a metric or a schedule that has no name of its own. Parsed once, then
 * lowered to ops of a program, so that it is differentiated, planned and run as all else is. The
 * language is described in docs/formulas.md. Immutable once parsed; one thread at a time.
 *
 * Every refusal is GRADUS_ERROR_REFUSED and names the column (in characters, from 1).
 */
typedef struct _GradusFormula GradusFormula;

#define GRADUS_FORMULA_MAX_LENGTH 4096 /* bytes */
#define GRADUS_FORMULA_MAX_NODES 1000
#define GRADUS_FORMULA_MAX_DEPTH 100
#define GRADUS_FORMULA_MAX_NAMES 32

GradusFormula *gradus_formula_parse (const char *text, GError **error);
void           gradus_formula_free  (GradusFormula *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusFormula, gradus_formula_free)

const char *gradus_formula_text (GradusFormula *self);
/* The values that it is about: names that are no function and no constant, by first appearance. */
guint       gradus_formula_n_names (GradusFormula *self);
const char *gradus_formula_name    (GradusFormula *self, guint i);
gboolean    gradus_formula_uses    (GradusFormula *self, const char *name);
/* Refuses a name that is not among @known (ended by NULL), suggesting the nearest. */
gboolean    gradus_formula_check_names (GradusFormula *self, const char *const *known, GError **error);

/**
 * gradus_formula_build:
 * @names: what may be used, ended by NULL
 * @values: parallel: float32 values of @program
 *
 * Appends the ops. Where the whole is a number, the output is a constant.
 */
gboolean gradus_formula_build (GradusFormula       *self,
                               GradusProgram       *program,
                               const char *const   *names,
                               const GradusValueId *values,
                               GradusValueId       *output,
                               GError             **error);

/* The shape of the output for inputs of these shapes. */
gboolean gradus_formula_infer (GradusFormula     *self,
                               const char *const *names,
                               const GradusShape *shapes,
                               GradusShape       *output,
                               GError           **error);

/* A formula of single numbers, computed on the host in float64 by the ops' reference kernels. */
typedef struct _GradusFormulaNumber GradusFormulaNumber;

GradusFormulaNumber *gradus_formula_number_new  (GradusFormula *formula, const char *const *names, GError **error);
void                 gradus_formula_number_free (GradusFormulaNumber *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusFormulaNumber, gradus_formula_number_free)
/* @values: parallel to the names. */
double               gradus_formula_number_evaluate (GradusFormulaNumber *self, const double *values);

G_END_DECLS
