/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-source.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>

#include "gradus-generator-source.h"
#include "gradus-idx-source.h"
#include "gradus-table-source.h"

/* Labels looked at in one go. */
#define CHUNK 4096
#define MAX_CLASSES 1000000

enum
{
  IDX,
  GENERATOR,
  CSV,
  TEXT,
};
static const char *const type_names[] = { "idx", "generator",    "csv",      "text",   "npy",
                                          "npz", "image_folder", "tfrecord", "packed", NULL };

gsize
gradus_array_spec_bytes (const GradusArraySpec *spec)
{
  gsize bytes = gradus_dtype_size (spec->dtype);

  for (guint i = 0; i < spec->rank; i++)
    bytes *= spec->dims[i];
  return bytes;
}

char *
gradus_array_spec_to_string (const GradusArraySpec *spec)
{
  g_autoptr (GString) text = g_string_new (gradus_dtype_name (spec->dtype));

  g_string_append (text, " (");
  for (guint i = 0; i < spec->rank; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", spec->dims[i]);
  g_string_append_c (text, ')');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
gradus_source_echoes (GradusJsonObject *spec)
{
  JsonNode *node = gradus_json_node (spec, "targets");

  return node != NULL && JSON_NODE_HOLDS_VALUE (node)
         && json_node_get_value_type (node) == G_TYPE_STRING
         && g_str_equal (json_node_get_string (node), "inputs");
}

static gboolean
is_fractional (GradusDType dtype)
{
  return dtype == GRADUS_DTYPE_FLOAT32 || dtype == GRADUS_DTYPE_FLOAT64;
}

static gboolean
is_class (GradusSource *self)
{
  return self->n_targets == 1 && self->targets[0].rank == 0
         && !is_fractional (self->targets[0].dtype);
}

/* Beyond 2^53 a double is whole but no label anyhow; 64-bit labels lose nothing that is a class. */
static double
label_at (GradusSource *self, const void *labels, guint i)
{
  switch (self->targets[0].dtype)
    {
    case GRADUS_DTYPE_FLOAT32:
      return (double) ((const float *) labels)[i];
    case GRADUS_DTYPE_FLOAT64:
      return ((const double *) labels)[i];
    case GRADUS_DTYPE_INT32:
      return ((const gint32 *) labels)[i];
    case GRADUS_DTYPE_INT64:
      return (double) ((const gint64 *) labels)[i];
    default:
      return ((const guint8 *) labels)[i];
    }
}

/* The first sample whose label is not whole and from @low to @high (which a NaN is not); n_samples if
 * there is none. @label gets that label, @max the greatest before it. */
static gboolean
find_label (GradusSource *self,
            double        low,
            double        high,
            gint64       *found,
            double       *label,
            double       *max,
            GError      **error)
{
  g_autofree gint64 *samples = g_new (gint64, CHUNK);
  g_autofree gint64 *labels = g_new (gint64, CHUNK);
  void              *targets[GRADUS_SOURCE_MAX_ARRAYS] = { labels };

  *max = -1;
  for (*found = 0; *found < self->n_samples;)
    {
      guint n = MIN (CHUNK, self->n_samples - *found);

      for (guint i = 0; i < n; i++)
        samples[i] = *found + i;
      if (!self->funcs->read (self, samples, n, NULL, targets, error))
        return FALSE;
      for (guint i = 0; i < n; i++, (*found)++)
        {
          *label = label_at (self, labels, i);
          if (!(*label >= low && *label <= high && *label == floor (*label)))
            return TRUE;
          *max = MAX (*max, *label);
        }
    }
  return TRUE;
}

gboolean
gradus_source_check_labels (GradusSource *self, gint64 n_classes, GError **error)
{
  g_autofree char *place = NULL;
  gint64           found;
  double           label, max;

  if (self->n_targets != 1 || self->targets[0].rank != 0)
    return TRUE;
  if (!find_label (self, 0, (double) (n_classes - 1), &found, &label, &max, error))
    return FALSE;
  if (found == self->n_samples)
    return TRUE;
  place = self->funcs->place (self, found);
  if (label != floor (label) || isinf (label))
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];

      g_ascii_formatd (number, sizeof number, "%.9g", label);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s: the label is %s, but the classes are the whole numbers 0 to %" PRId64
                      ". Correct the label, or train with a loss that takes any number."),
                   place, number, n_classes - 1);
      return FALSE;
    }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("%s: the label is %" PRId64 ", but the classes are 0 to %" PRId64
                  ". Correct the label, or give the model %" PRId64 " classes."),
               place, (gint64) CLAMP (label, -9e18, 9e18), n_classes - 1, MAX ((gint64) MIN (label, 1e18) + 1, n_classes));
  return FALSE;
}

static void
read_class_names (GradusSource *self, GradusJsonObject *spec)
{
  g_autoptr (GradusJsonArray) names = gradus_json_array (spec, "class_names", MAX_CLASSES);
  guint n;

  if (names == NULL)
    return;
  n = gradus_json_array_length (names);
  if (!is_class (self))
    {
      gradus_json_refuse (
          spec, "class_names",
          _ ("The target is no class (a whole number a sample); remove the names."));
      return;
    }
  if (n < self->n_classes)
    gradus_json_refuse (spec, "class_names",
                        _ ("There are %u names, but the labels have %" PRId64
                           " classes, 0 to %" PRId64 "; name them all."),
                        n, self->n_classes, self->n_classes - 1);
  g_strfreev (self->class_names);
  self->class_names = g_new0 (char *, n + 1);
  for (guint i = 0; i < n && !gradus_json_failed (spec); i++)
    self->class_names[i] = g_strdup (gradus_json_array_string (names, i));
  self->n_classes = n;
}

static gboolean
count_classes (GradusSource *self, GError **error)
{
  gint64 found;
  double label, max;

  if (!is_class (self))
    return TRUE;
  /* Wrong labels are not refused here: a loss may take the numbers for what they are. */
  if (!find_label (self, -INFINITY, INFINITY, &found, &label, &max, error))
    return FALSE;
  self->n_classes = MAX ((gint64) MIN (max, 1e18) + 1, 1);
  return TRUE;
}

GradusSource *
gradus_source_open (GradusJsonObject *spec,
                    const char       *base,
                    guint64           seed,
                    const char       *part,
                    GradusSource     *train,
                    GError          **error)
{
  g_autoptr (GradusSource) self = NULL;
  int type;

  g_return_val_if_fail (spec != NULL && base != NULL && part != NULL, NULL);

  gradus_json_require (spec, "type", NULL);
  type = gradus_json_enum (spec, "type", type_names, IDX);
  /* Written into a stored recipe; who reads that holds it against the data. */
  gradus_json_ignore (spec, "fingerprint", NULL);
  if (type > TEXT)
    gradus_json_refuse_unavailable (spec, "type", type_names[type]);
  if (!gradus_json_check (spec, error))
    return NULL;

  if (type == IDX)
    self = gradus_idx_source_open (spec, base, error);
  else if (type == CSV || type == TEXT)
    self = gradus_table_source_open (spec, base, type == TEXT, train, error);
  else
    self = gradus_generator_source_open (spec, seed, part, error);
  if (self == NULL || (self->class_names == NULL && !count_classes (self, error)))
    return NULL;
  read_class_names (self, spec);
  if (!gradus_json_end (spec, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
gradus_source_free (GradusSource *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->class_names);
  self->funcs->free (self);
}

char *
gradus_source_fingerprint (GradusSource *self, GError **error)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);

  if (!self->funcs->fingerprint (self, checksum, error))
    return NULL;
  return g_strconcat ("sha256:", g_checksum_get_string (checksum), NULL);
}
