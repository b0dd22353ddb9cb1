/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-predict.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Preparation -------------------------------------------------------------------------------- */

static double
element (const GradusNpy *npy, gsize i)
{
  switch (npy->dtype)
    {
    case GRADUS_DTYPE_FLOAT32:
      return ((const float *)npy->data)[i];
    case GRADUS_DTYPE_FLOAT64:
      return ((const double *)npy->data)[i];
    case GRADUS_DTYPE_INT32:
      return ((const gint32 *)npy->data)[i];
    case GRADUS_DTYPE_INT64:
      return (double)((const gint64 *)npy->data)[i];
    default:
      return ((const guint8 *)npy->data)[i];
    }
}

static gboolean
rescale (GradusNpy *npy, JsonObject *stage, GError **error)
{
  float  scale = stage != NULL ? (float)json_object_get_double_member_with_default (stage, "scale", 1) : 1;
  float  offset = stage != NULL ? (float)json_object_get_double_member_with_default (stage, "offset", 0) : 0;
  gsize  n = npy->bytes / gradus_dtype_size (npy->dtype);
  float *data = g_try_new (float, MAX (n, 1));

  if (data == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("The input does not fit into memory. Ask for fewer samples."));
      return FALSE;
    }
  for (gsize i = 0; i < n; i++)
    data[i] = (float)element (npy, i) * scale + offset;
  g_free (npy->data);
  npy->data = data;
  npy->dtype = GRADUS_DTYPE_FLOAT32;
  npy->bytes = n * sizeof (float);
  return TRUE;
}

/* The numbers fitted for input @i, as many as the array's last axis has; NULL if they are not there. */
static float *
fitted (const GradusNpy *npy, JsonObject *stage, const char *name, guint i)
{
  JsonNode  *lists = json_object_get_member (stage, name);
  JsonArray *all = lists != NULL && JSON_NODE_HOLDS_ARRAY (lists) ? json_node_get_array (lists) : NULL;
  JsonNode  *list = all != NULL && i < json_array_get_length (all) ? json_array_get_element (all, i) : NULL;
  gint64     n = npy->shape.rank > 1 ? npy->shape.dims[npy->shape.rank - 1] : 1;
  float     *values = NULL;

  if (list == NULL || !JSON_NODE_HOLDS_ARRAY (list)
      || json_array_get_length (json_node_get_array (list)) != n)
    return NULL;
  values = g_new (float, MAX (n, 1));
  for (gint64 k = 0; k < n; k++)
    values[k] = (float)json_array_get_double_element (json_node_get_array (list), k);
  return values;
}

/* Fills or normalises by the numbers that training found. */
static gboolean
apply_fitted (GradusNpy *npy, JsonObject *stages, gboolean fill, guint i, const char *path, GError **error)
{
  g_autofree float *first = fitted (npy, stages, fill ? "fitted" : "mean", i);
  g_autofree float *scale = fill ? NULL : fitted (npy, stages, "scale", i);
  gsize             n = npy->shape.rank > 1 ? npy->shape.dims[npy->shape.rank - 1] : 1;
  float            *data = NULL;

  if (first == NULL || (!fill && scale == NULL))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s: The array's last axis has not the size for which training found the numbers to fill "
                      "and normalise with. Prepare the array yourself and use --prepared."),
                   path);
      return FALSE;
    }
  if (npy->dtype != GRADUS_DTYPE_FLOAT32 && !rescale (npy, NULL, error))
    return FALSE;
  data = npy->data;
  for (gsize k = 0; k < npy->bytes / sizeof (float); k++)
    if (!fill)
      data[k] = (data[k] - first[k % n]) * scale[k % n];
    else if (isnan (data[k]))
      data[k] = first[k % n];
  return TRUE;
}

static gboolean
prepare_by (GradusNpy *npy, JsonObject *stage, const char *name, guint i, const char *path, GError **error)
{
  JsonObject *settings = NULL;

  if (stage == NULL || !json_object_has_member (stage, name)
      || !JSON_NODE_HOLDS_OBJECT (json_object_get_member (stage, name)))
    return TRUE;
  settings = json_object_get_object_member (stage, name);
  return g_str_equal (name, "rescale") ? rescale (npy, settings, error)
                                       : apply_fitted (npy, settings, *name == 'f', i, path, error);
}

/* Does what the pipeline did in training: filling, rescaling, normalising, in this order. */
static gboolean
prepare (GradusNpy *npy, guint input, const char *path, JsonObject *extras, GError **error)
{
  JsonArray *stages = extras != NULL && json_object_has_member (extras, "stages")
                          ? json_object_get_array_member (extras, "stages")
                          : NULL;

  static const char *const order[] = { "fill_missing", "rescale", "normalize" };

  for (guint k = 0; stages != NULL && k < G_N_ELEMENTS (order); k++)
    for (guint i = 0; i < json_array_get_length (stages); i++)
      if (!prepare_by (npy, json_array_get_object_element (stages, i), order[k], input, path, error))
        return FALSE;
  return TRUE;
}

/* Shapes ------------------------------------------------------------------------------------- */

/* Whether the samples are what the model wants, axes of size 1 not counted. */
static gboolean
fits (const GradusShape *have, const GradusShape *want)
{
  guint i = 1;
  guint j = 1;

  if (have->rank < 1)
    return FALSE;
  while (i < have->rank || j < want->rank)
    {
      if (i < have->rank && j < want->rank
          && (have->dims[i] == want->dims[j] || (want->dims[j] < 0 && have->dims[i] > 0)))
        {
          i++;
          j++;
        }
      else if (i < have->rank && have->dims[i] == 1)
        i++;
      else if (j < want->rank && want->dims[j] == 1)
        j++;
      else
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_shape (const GradusNpy *npy, const GradusShape *want, const char *path, GError **error)
{
  g_autofree char *have_text = NULL;
  g_autofree char *want_text = NULL;

  if (fits (&npy->shape, want))
    return TRUE;
  have_text = gradus_shape_to_string (&npy->shape);
  want_text = gradus_shape_to_string (want);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("%s: The array has the shape %s; the model wants %s, the first axis counting "
                  "samples."),
               path, have_text, want_text);
  return FALSE;
}

static char *
input_names (GradusModel *model)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < gradus_model_n_inputs (model); i++)
    {
      GradusShape shape;
      GradusDType dtype;

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "",
                              gradus_model_input (model, i, &shape, &dtype));
    }
  return g_string_free (text, FALSE);
}

/* Which of the files is the model's input @i. */
static gboolean
find_file (GradusModel       *model,
           guint              i,
           const char *const *names,
           guint              n,
           guint             *found,
           GError           **error)
{
  GradusShape      shape;
  GradusDType      dtype;
  const char      *name = gradus_model_input (model, i, &shape, &dtype);
  g_autofree char *all = NULL;

  for (guint j = 0; j < n; j++)
    if (g_strcmp0 (names[j], name) == 0 || (names[j] == NULL && gradus_model_n_inputs (model) == 1))
      {
        *found = j;
        return TRUE;
      }
  all = input_names (model);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("No array is given for the model's input “%s”. Its inputs are: %s."), name, all);
  return FALSE;
}

static gboolean
load_inputs (GradusCheckpoint  *checkpoint,
             GradusModel       *model,
             const char *const *names,
             const char *const *paths,
             guint              n,
             gboolean           prepared,
             GPtrArray         *arrays,
             GError           **error)
{
  if (n != gradus_model_n_inputs (model))
    {
      g_autofree char *all = input_names (model);

      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("The model has %u inputs (%s), but %u arrays are given."),
                   gradus_model_n_inputs (model), all, n);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      GradusShape shape;
      GradusDType dtype;
      guint       file = 0;
      GradusNpy  *npy = NULL;

      gradus_model_input (model, i, &shape, &dtype);
      if (!find_file (model, i, names, n, &file, error))
        return FALSE;
      npy = gradus_npy_read (paths[file], error);
      if (npy == NULL)
        return FALSE;
      g_ptr_array_add (arrays, npy);
      if (!check_shape (npy, &shape, paths[file], error)
          || (!prepared && !prepare (npy, i, paths[file], gradus_checkpoint_extras (checkpoint), error)))
        return FALSE;
      if (npy->shape.dims[0] != ((GradusNpy *)g_ptr_array_index (arrays, 0))->shape.dims[0])
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("%s: The array has %" PRId64 " samples, another one %" PRId64
                          ". All must have as many."),
                       paths[file], npy->shape.dims[0],
                       ((GradusNpy *)g_ptr_array_index (arrays, 0))->shape.dims[0]);
          return FALSE;
        }
    }
  return TRUE;
}

/* Steps of the sequences, which all inputs that leave them free must have alike; 1 where none does. */
static gboolean
find_time (GradusModel       *model,
           GPtrArray         *arrays,
           const char *const *paths,
           gint64            *time,
           GError           **error)
{
  *time = 0;
  for (guint i = 0; i < arrays->len; i++)
    {
      const GradusNpy *npy = g_ptr_array_index (arrays, i);
      GradusShape      shape;
      gint64           steps;

      gradus_model_input (model, i, &shape, NULL);
      if (!gradus_shape_has_time (&shape))
        continue;
      steps = npy->shape.rank > 1 ? npy->shape.dims[1] : 1;
      if (*time > 0 && steps != *time)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _ ("%s: The sequences have %" PRId64 " steps, but those of another input have "
                          "%" PRId64 ". All must have as many."),
                       paths[i], steps, *time);
          return FALSE;
        }
      *time = steps;
    }
  *time = MAX (*time, 1);
  return TRUE;
}

/* Outputs ------------------------------------------------------------------------------------ */

static gboolean
write_outputs (GradusModel *model,
               float      **outputs,
               gint64       n_samples,
               gint64       time,
               const char  *folder,
               GError     **error)
{
  if (g_mkdir_with_parents (folder, 0777) != 0)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO, _ ("The folder %s cannot be made: %s"),
                   folder, g_strerror (errno));
      return FALSE;
    }
  for (guint i = 0; i < gradus_model_n_outputs (model); i++)
    {
      GradusShape      shape;
      const char      *name = gradus_model_output (model, i, &shape);
      g_autofree char *safe = g_strdelimit (g_strdup (name), "/", '_');
      g_autofree char *file = g_strconcat (safe, ".npy", NULL);
      g_autofree char *path = g_build_filename (folder, file, NULL);
      GradusShape      bound = gradus_shape_bind (&shape, gradus_sizes (n_samples, time));

      if (!gradus_npy_write (path, GRADUS_DTYPE_FLOAT32, &bound, outputs[i], error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gradus_predict_files (GradusCheckpoint  *checkpoint,
                      const char *const *names,
                      const char *const *paths,
                      guint              n,
                      const char        *folder,
                      gboolean           prepared,
                      gint64            *n_samples,
                      GError           **error)
{
  g_autoptr (GradusModel) model = gradus_checkpoint_model (checkpoint, error);
  g_autoptr (GradusDevice) device = NULL;
  g_autoptr (GPtrArray) arrays = g_ptr_array_new_with_free_func ((GDestroyNotify)gradus_npy_free);
  g_autofree const void **inputs = NULL;
  g_autofree GradusDType *dtypes = NULL;
  g_autofree float      **outputs = NULL;
  gint64                  samples = 0;
  gint64                  time = 1;
  gboolean                done = FALSE;

  if (model == NULL || !load_inputs (checkpoint, model, names, paths, n, prepared, arrays, error)
      || !find_time (model, arrays, paths, &time, error))
    return FALSE;
  device = gradus_device_open (NULL, 0, error);
  if (device == NULL)
    return FALSE;
  inputs = g_new0 (const void *, MAX (n, 1));
  dtypes = g_new0 (GradusDType, MAX (n, 1));
  outputs = g_new0 (float *, gradus_model_n_outputs (model));
  for (guint i = 0; i < n; i++)
    {
      GradusNpy *npy = g_ptr_array_index (arrays, i);

      inputs[i] = npy->data;
      dtypes[i] = npy->dtype;
      samples = npy->shape.dims[0];
    }
  done = gradus_infer (checkpoint, device, inputs, dtypes, samples, time, outputs, error)
         && write_outputs (model, outputs, samples, time, folder, error);
  for (guint i = 0; i < gradus_model_n_outputs (model); i++)
    g_free (outputs[i]);
  if (n_samples != NULL)
    *n_samples = samples;
  return done;
}
