/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-test-ops.h"

#include <string.h>

#include "device/ref/gradus-ref.h"

static void
parse_input (const char *text, gint64 batch, GradusTestInput *input)
{
  const char *open = strchr (text, '[');
  char       *end;

  memset (input, 0, sizeof *input);
  input->kind = ' ';
  input->missing = strcmp (text, "-") == 0;
  if (input->missing)
    return;
  g_assert_nonnull (open);
  if (g_str_has_prefix (text, "f32"))
    input->type.dtype = GRADUS_DTYPE_FLOAT32, text += 3;
  else if (g_str_has_prefix (text, "i32"))
    input->type.dtype = GRADUS_DTYPE_INT32, text += 3;
  else if (g_str_has_prefix (text, "u8"))
    input->type.dtype = GRADUS_DTYPE_UINT8, text += 2;
  else
    g_error ("no type in %s", text);
  if (text < open)
    input->kind = *text++;
  if (text < open)
    {
      input->number = g_ascii_strtod (text, &end);
      g_assert_true (end == open);
    }
  for (text = open + 1; *text != ']'; text = *end == ',' ? end + 1 : end)
    {
      gint64 dim = batch;

      if (*text == 'B')
        end = (char *) text + 1;
      else
        dim = g_ascii_strtoll (text, &end, 10);
      g_assert_true (end > text && (*end == ',' || *end == ']'));
      input->type.shape.dims[input->type.shape.rank++] = dim;
    }
}

GArray *
gradus_test_parse_case (const GradusOpCase *c, gint64 batch)
{
  g_auto (GStrv) parts = g_strsplit (c->inputs, " ", -1);
  GArray        *inputs = g_array_new (FALSE, TRUE, sizeof (GradusTestInput));

  for (guint i = 0; parts[i] != NULL; i++)
    {
      GradusTestInput input;

      parse_input (parts[i], batch, &input);
      g_array_append_val (inputs, input);
    }
  return inputs;
}

/* All different, so that no maximum is tied, and none 0: the distance between two numbers is large
 * against the step of finite differences. */
static double
spread (gint64 place, gint64 n, guint index)
{
  return (place + 0.37 + 0.0731 * index) / n;
}

double *
gradus_test_fill (const GradusTestInput *input, guint index)
{
  gint64            n = gradus_shape_count (&input->type.shape);
  double           *values = g_new (double, n + 1);
  g_autofree gint64 *order = g_new (gint64, n + 1);
  g_autoptr (GRand) random = g_rand_new_with_seed (1000 + index);

  for (gint64 i = 0; i < n; i++)
    order[i] = i;
  for (gint64 i = n - 1; i > 0; i--)
    {
      gint64 j = g_rand_int_range (random, 0, i + 1), swap = order[i];

      order[i] = order[j];
      order[j] = swap;
    }
  for (gint64 i = 0; i < n; i++)
    {
      double u = spread (order[i], n, index);

      switch (input->kind)
        {
        case '+':
          values[i] = 0.2 + 2 * u + input->number;
          break;
        case '%':
          values[i] = 0.05 + 0.9 * u;
          break;
        case '=':
          values[i] = input->number;
          break;
        case '<':
          values[i] = g_rand_int_range (random, 0, (gint32) input->number);
          break;
        case '*':
          values[i] = input->number * (4 * u - 2);
          break;
        default:
          values[i] = 4 * u - 2;
        }
    }
  return values;
}

GradusProgram *
gradus_test_program (const GradusOp *op, const GradusOpCase *c, GArray *inputs, GradusValueId *ids)
{
  GradusProgram            *program = gradus_program_new (op->name);
  g_autofree GradusValueId *outputs = g_new (GradusValueId, op->n_outputs + 1);
  g_autoptr (GError)        error = NULL;

  for (guint i = 0; i < inputs->len; i++)
    {
      const GradusTestInput *input = &g_array_index (inputs, GradusTestInput, i);
      g_autofree char       *name = g_strdup_printf ("input_%u", i);

      if (input->missing)
        ids[i] = GRADUS_NO_VALUE;
      else if (input->type.dtype == GRADUS_DTYPE_FLOAT32
               && !gradus_shape_is_free (&input->type.shape))
        ids[i] = gradus_program_add_variable (program, name, GRADUS_VARIABLE_WEIGHT,
                                              input->type.dtype, input->type.shape);
      else
        ids[i] = gradus_program_add_input (program, name, input->type.dtype, input->type.shape);
    }
  gradus_program_set_scope (program, GRADUS_PHASE_FORWARD, "layer");
  gradus_program_add_node_text (program, op->name, 7, ids, inputs->len, c->attrs, outputs, &error);
  g_assert_no_error (error);
  return program;
}

GradusValueType *
gradus_test_types (GradusProgram *program, const GradusValueId *ids, guint n, gint64 batch)
{
  GradusValueType *types = g_new0 (GradusValueType, n + 1);

  for (guint i = 0; i < n; i++)
    if (ids[i] != GRADUS_NO_VALUE)
      {
        types[i] = gradus_program_value (program, ids[i])->type;
        types[i].shape = gradus_shape_bind (&types[i].shape, gradus_sizes (batch, 1));
      }
  return types;
}

static void
evaluate_node (GradusProgram    *program,
               const GradusNode *node,
               double          **values,
               gint64            batch,
               guint64           seed,
               guint64           step)
{
  g_autofree GradusValueType *in = gradus_test_types (program, node->inputs, node->n_inputs, batch);
  g_autofree GradusValueType *out
    = gradus_test_types (program, node->outputs, node->n_outputs, batch);
  g_autofree const double **inputs = g_new0 (const double *, node->n_inputs + 1);
  g_autofree double       **outputs = g_new0 (double *, node->n_outputs + node->n_inputs + 1);
  guint                     n = 0;
  const GradusReferenceCall call = {
    .node = node,
    .input_types = in,
    .output_types = out,
    .inputs = inputs,
    .outputs = outputs,
    .seed = seed,
    .step = step,
  };

  for (guint i = 0; i < node->n_inputs; i++)
    inputs[i] = node->inputs[i] != GRADUS_NO_VALUE ? values[node->inputs[i]] : NULL;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      gint64 count = gradus_shape_count (&out[i].shape);

      if (values[node->outputs[i]] == NULL)
        values[node->outputs[i]] = g_new (double, count + 1);
      /* What a kernel does not write is found out. */
      memset (values[node->outputs[i]], 0xff, (count + 1) * sizeof (double));
      outputs[n++] = values[node->outputs[i]];
    }
  for (guint i = 0; i < node->n_inputs; i++)
    if (i < 32 && (node->op->updates & (1u << i)) != 0)
      outputs[n++] = inputs[i] != NULL ? values[node->inputs[i]] : NULL;
  node->op->reference (&call);
}

void
gradus_test_evaluate (
  GradusProgram *program, double **values, gint64 batch, guint64 seed, guint64 step)
{
  for (guint i = 0; i < gradus_program_n_values (program); i++)
    {
      const GradusValue *value = gradus_program_value (program, i);

      if (value->kind != GRADUS_VALUE_CONSTANT || values[i] != NULL)
        continue;
      values[i] = g_new (double, gradus_shape_count (&value->type.shape) + 1);
      gradus_ref_widen (value->type.dtype, g_bytes_get_data (value->constant, NULL),
                        gradus_shape_count (&value->type.shape), values[i]);
    }
  for (guint i = 0; i < gradus_program_n_nodes (program); i++)
    evaluate_node (program, gradus_program_node (program, i), values, batch, seed, step);
}

void
gradus_test_free_values (double **values, guint n)
{
  for (guint i = 0; i < n; i++)
    g_free (values[i]);
  g_free (values);
}
