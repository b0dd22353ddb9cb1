/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-op-family.h"

static const GradusOp *const families[] = {
  gradus_ops_matmul,
  gradus_ops_conv,
  gradus_ops_pool,
  gradus_ops_resample,
  gradus_ops_place,
  gradus_ops_reduce,
  gradus_ops_shape,
  gradus_ops_join,
  gradus_ops_binary,
  gradus_ops_unary,
  gradus_ops_axis,
  gradus_ops_softmax,
  gradus_ops_random,
  gradus_ops_recurrent,
  gradus_ops_sequence,
  gradus_ops_norm,
  gradus_ops_norm_sample,
  gradus_ops_loss,
  gradus_ops_pointwise,
  gradus_ops_metric,
  gradus_ops_statistic,
  gradus_ops_optimizer,
  gradus_ops_step,
  gradus_ops_penalty,
};

typedef struct
{
  GPtrArray  *rows;
  GHashTable *by_name;
} Table;

static const Table *
get_table (void)
{
  static Table *table;

  if (g_once_init_enter (&table))
    {
      Table *made = g_new (Table, 1);

      made->rows = g_ptr_array_new ();
      made->by_name = g_hash_table_new (g_str_hash, g_str_equal);
      for (guint i = 0; i < G_N_ELEMENTS (families); i++)
        for (const GradusOp *op = families[i]; op->name != NULL; op++)
          {
            g_ptr_array_add (made->rows, (gpointer) op);
            g_hash_table_insert (made->by_name, (gpointer) op->name, (gpointer) op);
          }
      g_once_init_leave (&table, made);
    }
  return table;
}

const GradusOp *
gradus_op_find (const char *name)
{
  g_return_val_if_fail (name != NULL, NULL);

  return g_hash_table_lookup (get_table ()->by_name, name);
}

const GradusOp *const *
gradus_op_table (guint *n)
{
  const Table *table = get_table ();

  if (n != NULL)
    *n = table->rows->len;
  return (const GradusOp *const *) table->rows->pdata;
}
