/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-source.h"

G_BEGIN_DECLS

/**
 * gradus_table_source_open:
 * @text: the source "text" and not "csv"
 *
 * A table in memory: {"type": "csv", "file": F, "inputs": [column, ..] | {name: [..]}, "targets": column | [..] |
 * {name: ..}, "categorical": [column, ..], "missing": ["", "NA"], "weights": column, "header": true | false | "auto",
 * "delimiter": "auto" | ","}, or {"type": "text", "file": F, "column": column, "targets": ..}.
 *
 * A column whose cells are all numbers or missing is one of numbers, any other one, and those that are named, are
 * categories, in the order of their bytes. An input's columns go side by side as float32: a number as it is, a category as
 * a row of 0 and 1 (all 0, if training has it not). Without "inputs" all columns that are nothing else are the input.
 * A target of categories, or of whole numbers from 0 on without a gap (1000 at most), is a class, int32 of rank 0; one or
 * more columns of numbers are float32.
 *
 * A missing number is NaN in an input, which the stage fill_missing fills; as a target or weight it is refused. Texts are
 * numbers only after gradus_source_vectorize().
 */
GradusSource *gradus_table_source_open (GradusJsonObject *spec,
                                        const char       *base,
                                        gboolean          text,
                                        GradusSource     *train,
                                        GError          **error);

G_END_DECLS
