/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * gradus_translate:
 * @message: what the log, or a thread that writes it, says, in English; NULL or "" gives ""
 *
 * The message in the language of this process. Its sentences may have been made of a translatable
 * format and arguments: the format is found by what stands between these, in the catalogue at hand.
 * What has no translation stays as it is. Valid as long as the process. Any thread.
 */
const char *gradus_translate (const char *message);

G_END_DECLS
