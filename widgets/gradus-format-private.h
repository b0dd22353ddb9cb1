/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-format.h"

G_BEGIN_DECLS

/* Stands between groups of digits and before units. The narrow no-break space (U+202F) would be the
   right one for the groups, but is one pixel wide in the interface's font. */
#define GRADUS_NO_BREAK_SPACE "\u00a0"
#define GRADUS_MINUS "\u2212"

/* @value with @decimals decimals, grouped. */
char *gradus_format_fixed (double value, int decimals);

/* @value as 1.5e-3, with as many figures as a distance of @step needs. */
char *gradus_format_exponent (double value, double step);

G_END_DECLS
