/* SPDX-License-Identifier: Apache-2.0 */

/* What every row of the op table must have and keep, whatever the op. */

#include <float.h>
#include <math.h>
#include <string.h>

#include "device/ref/gradus-ref.h"
#include "gradus-test-ops.h"

static void
test_complete (gconstpointer data)
{
  const GradusOp *op = data;

  g_assert_cmpuint (op->version, >=, 1);
  g_assert_cmpuint (op->min_inputs, <=, op->max_inputs);
  g_assert_nonnull (op->infer);
  g_assert_nonnull (op->reference);
  g_assert_nonnull (op->cost);
  g_assert_nonnull (op->cases);
  g_assert_nonnull (op->cases[0].inputs);
  g_assert_cmpint (op->inplace, >=, -1);
  if (op->inplace >= 0)
    g_assert_cmpint (op->inplace, <, op->min_inputs);
  if (op->alias)
    g_assert_cmpint (op->inplace, ==, 0);
  /* Something must come out. */
  g_assert_true (op->n_outputs > 0 || op->updates != 0);
  if (op->max_inputs != G_MAXUINT)
    g_assert_cmphex ((op->updates | op->shape_only | op->no_gradient) >> op->max_inputs, ==, 0);
  if (op->gradient == NULL)
    g_assert_cmphex (op->gradient_needs, ==, 0);
  g_assert_true (gradus_op_find (op->name) == op);
}

static double **
fill_values (GradusProgram *program, GArray *inputs, const GradusValueId *ids)
{
  double **values = g_new0 (double *, gradus_program_n_values (program));

  for (guint i = 0; i < inputs->len; i++)
    if (ids[i] != GRADUS_NO_VALUE)
      values[ids[i]] = gradus_test_fill (&g_array_index (inputs, GradusTestInput, i), i);
  return values;
}

/* What is inferred with a free batch axis and then bound is what is inferred for that batch. */
static void
check_inference (const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  g_autoptr (GArray)        free_inputs = gradus_test_parse_case (c, GRADUS_DIM_BATCH);
  g_autoptr (GArray)        bound_inputs = gradus_test_parse_case (c, batch);
  GradusValueId             free_ids[16], bound_ids[16];
  g_autoptr (GradusProgram) free_program = gradus_test_program (op, c, free_inputs, free_ids);
  g_autoptr (GradusProgram) bound_program = gradus_test_program (op, c, bound_inputs, bound_ids);
  const GradusNode         *node = gradus_program_node (bound_program, 0);

  for (guint i = 0; i < op->n_outputs; i++)
    {
      GradusValueType loose = gradus_program_value (free_program, node->outputs[i])->type;
      GradusValueType tight = gradus_program_value (bound_program, node->outputs[i])->type;

      loose.shape = gradus_shape_bind (&loose.shape, gradus_sizes (batch, 1));
      g_assert_cmpint (loose.dtype, ==, tight.dtype);
      g_assert_true (gradus_shape_equal (&loose.shape, &tight.shape));
    }
}

/* The reference writes each element that was inferred, and not the one behind. An empty batch is
 * nothing to write, but no harm either; what is reduced over it need not be a number. */
static void
check_written (const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  g_autoptr (GArray)        inputs = gradus_test_parse_case (c, batch);
  GradusValueId             ids[16];
  g_autoptr (GradusProgram) program = gradus_test_program (op, c, inputs, ids);
  const GradusNode         *node = gradus_program_node (program, 0);
  double                  **values = fill_values (program, inputs, ids);
  guint64                   untouched;

  memset (&untouched, 0xff, sizeof untouched);
  gradus_test_evaluate (program, values, batch, 1, 1);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const GradusValueType *type = &gradus_program_value (program, node->outputs[i])->type;
      gint64                 n = gradus_shape_count (&type->shape);
      const double          *y = values[node->outputs[i]];

      for (gint64 j = 0; j < n; j++)
        {
          g_assert_cmpint (memcmp (&y[j], &untouched, sizeof untouched), !=, 0);
          g_assert_true (batch == 0 || isfinite (y[j]));
        }
      g_assert_cmpint (memcmp (&y[n], &untouched, sizeof untouched), ==, 0);
    }
  gradus_test_free_values (values, gradus_program_n_values (program));
}

static void
check_cost (const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  g_autoptr (GArray)         inputs = gradus_test_parse_case (c, batch);
  GradusValueId              ids[16];
  g_autoptr (GradusProgram)  program = gradus_test_program (op, c, inputs, ids);
  const GradusNode          *node = gradus_program_node (program, 0);
  g_autofree GradusValueType *in = gradus_test_types (program, node->inputs, node->n_inputs, batch);
  g_autofree GradusValueType *out
    = gradus_test_types (program, node->outputs, node->n_outputs, batch);
  GradusCost cost = { NAN, NAN, NAN };

  op->cost (node, in, out, &cost);
  g_assert_true (cost.flops >= 0 && cost.flops < 1e12);
  g_assert_true (cost.bytes_read >= 0 && cost.bytes_written >= 0);
  if (!op->alias && gradus_shape_count (&in[0].shape) > 0)
    g_assert_true (cost.bytes_read > 0 || op->shape_only == (1u << op->max_inputs) - 1);
}

static void
test_cases (gconstpointer data)
{
  const GradusOp *op = data;

  for (const GradusOpCase *c = op->cases; c->inputs != NULL; c++)
    {
      check_inference (op, c, 3);
      check_inference (op, c, 1);
      check_written (op, c, 3);
      check_written (op, c, 1);
      check_inference (op, c, 0);
      check_written (op, c, 0);
      check_cost (op, c, 64);
    }
}

/* Finite but extreme float inputs: a row that can make something non-finite of them must say why. */
static gboolean
becomes_non_finite (const GradusOp *op, const GradusOpCase *c, guint round)
{
  static const double       extremes[] = { 0, 3e38, -3e38, 1e-38, -1e-38, 1, 1e20, -1e20 };
  g_autoptr (GArray)        inputs = gradus_test_parse_case (c, 2);
  GradusValueId             ids[16];
  g_autoptr (GradusProgram) program = gradus_test_program (op, c, inputs, ids);
  const GradusNode         *node = gradus_program_node (program, 0);
  double                  **values = fill_values (program, inputs, ids);
  gboolean                  found = FALSE;

  for (guint i = 0; i < inputs->len; i++)
    {
      const GradusTestInput *input = &g_array_index (inputs, GradusTestInput, i);

      if (input->missing || input->type.dtype != GRADUS_DTYPE_FLOAT32)
        continue;
      for (gint64 j = 0; j < gradus_shape_count (&input->type.shape); j++)
        values[ids[i]][j] = round < G_N_ELEMENTS (extremes)
                              ? extremes[round]
                              : extremes[(j * 5 + i * 3 + round) % G_N_ELEMENTS (extremes)];
    }
  gradus_test_evaluate (program, values, 2, 1, 1);
  for (guint i = 0; i < gradus_program_n_values (program); i++)
    {
      const GradusValue *value = gradus_program_value (program, i);
      gboolean           written = value->kind == GRADUS_VALUE_TEMPORARY;

      for (guint j = 0; j < node->n_inputs; j++)
        written |= node->inputs[j] == i && j < 32 && (op->updates & (1u << j)) != 0;
      for (gint64 j = 0; written && j < gradus_shape_count (&value->type.shape); j++)
        found |= fabs (values[i][j]) > FLT_MAX || isnan (values[i][j]);
    }
  gradus_test_free_values (values, gradus_program_n_values (program));
  return found;
}

static void
test_hint (gconstpointer data)
{
  const GradusOp *op = data;

  if (op->nan_hint != NULL)
    {
      g_assert_cmpuint (strlen (op->nan_hint), >, 10);
      return;
    }
  for (const GradusOpCase *c = op->cases; c->inputs != NULL; c++)
    for (guint round = 0; round < 24; round++)
      if (becomes_non_finite (op, c, round))
        g_error ("%s makes non-finite numbers of finite ones and has no hint", op->name);
}

/* The page for readers has a line for every op, and none for an op that is not there. */
static void
test_page (void)
{
  g_autofree char     *path = g_test_build_filename (G_TEST_DIST, "docs", "ops.md", NULL);
  g_autofree char     *text = NULL;
  g_autoptr (GError)   error = NULL;
  g_auto (GStrv)       lines = NULL;
  g_autoptr (GHashTable) named = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint                  n;
  const GradusOp *const *table = gradus_op_table (&n);

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) cells = g_strsplit (lines[i], "|", -1);
      g_auto (GStrv) names = NULL;

      if (g_strv_length (cells) < 5 || strstr (cells[1], "---") != NULL
          || strcmp (g_strstrip (cells[1]), "op") == 0)
        continue;
      names = g_strsplit (cells[1], ",", -1);
      for (guint j = 0; names[j] != NULL; j++)
        {
          const char *name = g_strstrip (names[j]);

          if (gradus_op_find (name) == NULL)
            g_error ("docs/ops.md describes “%s”, which is no op", name);
          g_hash_table_add (named, g_strdup (name));
        }
    }
  for (guint i = 0; i < n; i++)
    if (!g_hash_table_contains (named, table[i]->name))
      g_error ("docs/ops.md does not describe “%s”", table[i]->name);
}

static void
test_names (void)
{
  guint                  n;
  const GradusOp *const *table = gradus_op_table (&n);

  g_assert_cmpuint (n, >, 70);
  g_assert_null (gradus_op_find ("no_such_op"));
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpstr (table[i]->name, !=, table[j]->name);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char    *name;
    GTestDataFunc func;
  } tests[] = { { "complete", test_complete }, { "cases", test_cases }, { "hint", test_hint } };
  guint                  n;
  const GradusOp *const *table = gradus_op_table (&n);

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops-table/names", test_names);
  g_test_add_func ("/ops-table/page", test_page);
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < G_N_ELEMENTS (tests); j++)
      {
        g_autofree char *path
          = g_strdup_printf ("/ops-table/%s/%s", table[i]->name, tests[j].name);

        g_test_add_data_func (path, table[i], tests[j].func);
      }
  return g_test_run ();
}
