/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/**
 * gradus_bench_recording:
 *
 * What recording adds to a step of a convolutional network, as a share. One run trains on and
 * records in every second block of steps; in the others all that recording takes is left out.
 * Blocks are as long as the distance of two histograms, so that each that records has one. Two
 * neighbouring blocks make a ratio, and the median of those is the overhead: whatever slows the
 * machine for a while is in both.
 */
JsonObject *gradus_bench_recording (GError **error);

G_END_DECLS
