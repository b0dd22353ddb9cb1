/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-dataset-private.h"

G_BEGIN_DECLS

/* Fits what the stages vectorize, fill_missing and normalize take from the samples for training, and writes it into
 * the stages that are kept. */
gboolean gradus_dataset_fit (GradusDataset *self, GError **error);
/* One sample of input @k, @n elements of @type, through fill_missing, the rescales and normalize. */
void gradus_dataset_convert (
    GradusDataset *self, guint k, const void *from, GradusDType type, gsize n, float *to);

G_END_DECLS
