/* SPDX-License-Identifier: Apache-2.0 */

/* The node tests of ONNX, as Debian's libonnx-testdata has them, through the ops of the table: on the
 * reference kernels and on the processor's. What does not apply stands in not-applicable.txt by its
 * reason; GRADUS_TEST_WRITE writes that page afresh, GRADUS_TEST_ONNX names one case to run alone. */

#include <math.h>
#include <string.h>

#include "gradus-onnx-map.h"

#define DATA "/usr/share/libonnx-testdata/data/node"
/* The suite's own bounds for a node. */
#define RELATIVE 1e-3
#define ABSOLUTE 1e-7
#define AT_LEAST 400
/* Cases of this many models at least are there in the release that the test was written for. */
#define MODELS 900

typedef struct
{
  GradusDevice *devices[2];
  GHashTable   *reasons; /* reason -> GString of names */
  guint         n_models, n_applied, n_failed;
} Suite;

static OnnxTensor *
load_tensor (const char *folder, const char *kind, guint i)
{
  g_autofree char *path = g_strdup_printf ("%s/test_data_set_0/%s_%u.pb", folder, kind, i);
  g_autofree char *bytes = NULL;
  gsize            size;

  if (!g_file_get_contents (path, &bytes, &size, NULL))
    return NULL;
  return onnx_tensor_read ((const guint8 *) bytes, size);
}

static GPtrArray *
load_tensors (const char *folder, const char *kind)
{
  GPtrArray  *tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) onnx_tensor_free);
  OnnxTensor *tensor;

  while ((tensor = load_tensor (folder, kind, tensors->len)) != NULL)
    g_ptr_array_add (tensors, tensor);
  return tensors;
}

static gboolean
is_near (const OnnxTensor *got, const OnnxTensor *wanted, char **difference)
{
  if (got->rank != wanted->rank || memcmp (got->dims, wanted->dims, got->rank * sizeof *got->dims) != 0)
    {
      *difference = g_strdup_printf ("rank %u, not %u, or other sizes", got->rank, wanted->rank);
      return FALSE;
    }
  for (gint64 i = 0; i < got->count; i++)
    {
      double a = got->data[i], b = wanted->data[i];

      if ((isnan (a) && isnan (b)) || a == b || fabs (a - b) <= ABSOLUTE + RELATIVE * fabs (b))
        continue;
      *difference = g_strdup_printf ("[%" G_GINT64_FORMAT "] is %.9g, not %.9g", i, a, b);
      return FALSE;
    }
  return TRUE;
}

static void
note_reason (Suite *suite, const char *reason, const char *name)
{
  GString *names = g_hash_table_lookup (suite->reasons, reason);

  if (names == NULL)
    {
      names = g_string_new (NULL);
      g_hash_table_insert (suite->reasons, (gpointer) reason, names);
    }
  g_string_append_printf (names, "%s%s", names->len > 0 ? " " : "", name + strlen ("test_"));
}

/* Whether every output that is wanted came and is right. */
static gboolean
check_outputs (Suite *suite, const char *name, OnnxTensor **got, GPtrArray *wanted, const char **reason)
{
  for (guint i = 0; i < wanted->len; i++)
    {
      const OnnxTensor *tensor = wanted->pdata[i];
      g_autofree char  *difference = NULL;

      if (tensor->data == NULL)
        *reason = "a type that is not among the engine's";
      else if (got[i] == NULL)
        *reason = "an output that the op here does not give";
      else if (!is_near (got[i], tensor, &difference))
        {
          g_test_message ("%s: output %u: %s", name, i, difference);
          return FALSE;
        }
    }
  return TRUE;
}

static void
run_case (Suite *suite, const char *name)
{
  g_autofree char      *folder = g_build_filename (DATA, name, NULL);
  g_autofree char      *path = g_build_filename (folder, "model.onnx", NULL);
  g_autofree char      *bytes = NULL;
  gsize                 size;
  g_autoptr (OnnxModel) model = NULL;
  g_autoptr (GPtrArray) inputs = NULL, outputs = NULL;
  const char           *reason = NULL;
  gboolean              right = TRUE;

  if (!g_file_get_contents (path, &bytes, &size, NULL))
    return;
  suite->n_models++;
  model = onnx_model_read ((const guint8 *) bytes, size);
  g_assert_nonnull (model);
  inputs = load_tensors (folder, "input");
  outputs = load_tensors (folder, "output");
  for (guint d = 0; d < G_N_ELEMENTS (suite->devices) && right && reason == NULL; d++)
    {
      g_autofree OnnxTensor **got = g_new0 (OnnxTensor *, MAX (model->outputs->len, outputs->len) + 1);
      g_autoptr (GError)      error = NULL;

      if (onnx_run (model, (const OnnxTensor *const *) inputs->pdata, inputs->len, suite->devices[d], got, &reason, &error))
        right = check_outputs (suite, name, got, outputs, &reason);
      else if (reason == NULL)
        {
          g_test_message ("%s: %s", name, error->message);
          right = FALSE;
        }
      for (guint i = 0; i < model->outputs->len; i++)
        onnx_tensor_free (got[i]);
    }
  if (right && outputs->len == 0 && reason == NULL)
    reason = "no output is given to compare with, or one that is no tensor";
  if (reason != NULL)
    note_reason (suite, reason, name);
  else if (right)
    suite->n_applied++;
  else
    suite->n_failed++;
}

static void
free_string (gpointer data)
{
  g_string_free (data, TRUE);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* What does not apply as the page beside the test has it: a reason, then its cases, a line each. */
static char *
describe_rest (Suite *suite)
{
  g_autoptr (GPtrArray) reasons = g_ptr_array_new ();
  GString              *page = g_string_new (NULL);
  GHashTableIter        iter;
  gpointer              reason;

  g_hash_table_iter_init (&iter, suite->reasons);
  while (g_hash_table_iter_next (&iter, &reason, NULL))
    g_ptr_array_add (reasons, reason);
  g_ptr_array_sort (reasons, compare_names);
  for (guint i = 0; i < reasons->len; i++)
    {
      g_auto (GStrv) cases = g_strsplit (((GString *) g_hash_table_lookup (suite->reasons, reasons->pdata[i]))->str, " ", -1);

      g_string_append_printf (page, "# %s\n", (const char *) reasons->pdata[i]);
      for (guint k = 0; cases[k] != NULL; k++)
        g_string_append_printf (page, "%s\n", cases[k]);
    }
  return g_string_free (page, FALSE);
}

/* A case that applied and does so no more is a fault; so is a page that is not kept. */
static void
check_page (Suite *suite)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "not-applicable.txt", NULL);
  g_autofree char *page = describe_rest (suite), *kept = NULL;
  g_autoptr (GError) error = NULL;

  if (g_getenv ("GRADUS_TEST_WRITE") != NULL)
    g_assert_true (g_file_set_contents (path, page, -1, NULL));
  g_file_get_contents (path, &kept, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (page, ==, kept);
}

static void
test_nodes (void)
{
  Suite           suite = { .reasons = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, free_string) };
  g_autoptr (GDir) dir = g_dir_open (DATA, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char     *only = g_getenv ("GRADUS_TEST_ONNX");
  const char     *name;

  if (dir == NULL)
    {
      g_test_skip ("libonnx-testdata is not installed");
      g_hash_table_unref (suite.reasons);
      return;
    }
  suite.devices[0] = gradus_device_open ("ref", 1, NULL);
  suite.devices[1] = gradus_device_open ("cpu", 2, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (only == NULL || g_str_equal (only, name))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    run_case (&suite, names->pdata[i]);
  g_test_message ("%u models: %u right on both devices, %u wrong, %u do not apply", suite.n_models,
                  suite.n_applied, suite.n_failed, suite.n_models - suite.n_applied - suite.n_failed);
  gradus_device_unref (suite.devices[0]);
  gradus_device_unref (suite.devices[1]);
  g_assert_cmpuint (suite.n_failed, ==, 0);
  if (only == NULL)
    {
      g_assert_cmpuint (suite.n_models, >=, MODELS);
      g_assert_cmpuint (suite.n_applied, >=, AT_LEAST);
      check_page (&suite);
    }
  g_hash_table_unref (suite.reasons);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx/nodes", test_nodes);
  return g_test_run ();
}
