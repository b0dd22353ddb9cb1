/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-source.h"

G_BEGIN_DECLS

/**
 * gradus_generator_source_open:
 *
 * The source "generator": samples that are computed when they are read, each a pure function of
 * (seed, part, sample). {"generator": NAME, "samples": 1024, "noise": 0.1}, noise being the standard
 * deviation of what is added, and:
 *
 *   line        x uniform in [-1, 1), target 3 x + 2 and noise
 *   sine        x uniform in [-1, 1), target sin(pi x) and noise
 *   regression  "features" (8) normal numbers, target their product with fixed weights, and noise
 *   blobs       "classes" (3) clouds around fixed places in [-1, 1)^"features" (2)
 *   moons       two half circles, one in the other     circles  two circles, radius 1/2 and 1
 *   spirals     "classes" (2) arms                     xor      the parity of the signs of "features" (2)
 *   shapes      pictures of "size" x "size" (32) with one bright shape on a dim, noisy ground; "targets" is
 *               a list of: mask (size, size, 1: where the shape is), shape (0 disc, 1 square, 2 triangle), half
 *               (0 the left, 1 the right), position (2: row and column of the centre, from 0 to 1). ["mask"]
 *               without one; the input is "image"
 *
 * Inputs are float32, classes int32 of rank 0, other targets float32.
 */
GradusSource *gradus_generator_source_open (GradusJsonObject *spec,
                                            guint64           seed,
                                            const char       *part,
                                            GError          **error);

G_END_DECLS
