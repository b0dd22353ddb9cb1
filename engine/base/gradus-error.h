/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * GradusError:
 * @GRADUS_ERROR_REFUSED: the input (file, recipe, model) is wrong; the message names file, place
 *   and what would be right. Command line programs exit with 2.
 * @GRADUS_ERROR_UNSUPPORTED: well-formed, but this build cannot do it
 * @GRADUS_ERROR_NOT_FOUND: a file, run, layer or checkpoint that is not there
 * @GRADUS_ERROR_IO: reading or writing failed for another reason than space
 * @GRADUS_ERROR_NO_SPACE: the disk is full; the caller may wait and try again
 * @GRADUS_ERROR_READ_ONLY: the workspace cannot be written
 * @GRADUS_ERROR_NEWER: written by a newer version of Gradus
 * @GRADUS_ERROR_CORRUPT: a file of ours is damaged
 * @GRADUS_ERROR_BUSY: somebody else holds the lock
 * @GRADUS_ERROR_NO_MEMORY: would not fit, or did not
 * @GRADUS_ERROR_NONFINITE: a loss or gradient became NaN or infinite
 * @GRADUS_ERROR_CANCELLED: the user asked to stop
 * @GRADUS_ERROR_FAILED: anything else
 *
 * One error domain for the whole product. Messages are whole sentences for the person at the
 * screen: what happened, to what, what to do.
 */
typedef enum
{
  GRADUS_ERROR_REFUSED,
  GRADUS_ERROR_UNSUPPORTED,
  GRADUS_ERROR_NOT_FOUND,
  GRADUS_ERROR_IO,
  GRADUS_ERROR_NO_SPACE,
  GRADUS_ERROR_READ_ONLY,
  GRADUS_ERROR_NEWER,
  GRADUS_ERROR_CORRUPT,
  GRADUS_ERROR_BUSY,
  GRADUS_ERROR_NO_MEMORY,
  GRADUS_ERROR_NONFINITE,
  GRADUS_ERROR_CANCELLED,
  GRADUS_ERROR_FAILED,
} GradusError;

#define GRADUS_ERROR (gradus_error_quark ())
GQuark gradus_error_quark (void);

G_END_DECLS
