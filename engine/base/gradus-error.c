/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-error.h"

G_DEFINE_QUARK (gradus-error-quark, gradus_error)
