/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-dtype.h"

static const struct
{
  const char *name;
  gsize       size;
} dtypes[GRADUS_N_DTYPES] = {
  [GRADUS_DTYPE_FLOAT32] = { "float32", 4 }, [GRADUS_DTYPE_FLOAT64] = { "float64", 8 },
  [GRADUS_DTYPE_INT32] = { "int32", 4 },     [GRADUS_DTYPE_INT64] = { "int64", 8 },
  [GRADUS_DTYPE_UINT8] = { "uint8", 1 },     [GRADUS_DTYPE_BOOL] = { "bool", 1 },
};

gsize
gradus_dtype_size (GradusDType dtype)
{
  g_return_val_if_fail (dtype < GRADUS_N_DTYPES, 0);
  return dtypes[dtype].size;
}

const char *
gradus_dtype_name (GradusDType dtype)
{
  g_return_val_if_fail (dtype < GRADUS_N_DTYPES, NULL);
  return dtypes[dtype].name;
}

gboolean
gradus_dtype_from_name (const char *name, GradusDType *dtype)
{
  for (guint i = 0; i < GRADUS_N_DTYPES; i++)
    if (g_strcmp0 (dtypes[i].name, name) == 0)
      {
        *dtype = i;
        return TRUE;
      }
  return FALSE;
}
