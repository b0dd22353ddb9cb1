/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-idx-source.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

#include "gradus-idx.h"

typedef struct
{
  GradusSource parent;
  guint        n_files;
  GradusIdx   *files[2 * GRADUS_SOURCE_MAX_ARRAYS]; /* the inputs, then the targets */
  char        *names[2 * GRADUS_SOURCE_MAX_ARRAYS];
} IdxSource;

static gboolean
idx_read (GradusSource *source,
          const gint64 *samples,
          guint         n,
          void *const  *inputs,
          void *const  *targets,
          GError      **error)
{
  IdxSource *self = (IdxSource *) source;

  for (guint k = 0; k < self->n_files; k++)
    {
      gboolean               input = k < source->n_inputs;
      guint                  at = input ? k : k - source->n_inputs;
      void *const           *wanted = input ? inputs : targets;
      const GradusArraySpec *spec = input ? &source->inputs[at] : &source->targets[at];
      gsize                  bytes = gradus_array_spec_bytes (spec);

      if (wanted == NULL || wanted[at] == NULL)
        continue;
      for (guint i = 0, run; i < n; i += run)
        {
          for (run = 1; i + run < n && samples[i + run] == samples[i] + run;)
            run++;
          if (!gradus_idx_read (self->files[k], samples[i], run, (char *) wanted[at] + i * bytes,
                                error))
            return FALSE;
        }
    }
  return TRUE;
}

static const void *
idx_peek (GradusSource *source, guint k, gint64 sample)
{
  return gradus_idx_peek (((IdxSource *) source)->files[k], sample);
}

static gboolean
idx_fingerprint (GradusSource *source, GChecksum *checksum, GError **error)
{
  IdxSource *self = (IdxSource *) source;

  for (guint k = 0; k < self->n_files; k++)
    if (!gradus_file_fingerprint (&self->files[k]->file, checksum, error))
      return FALSE;
  return TRUE;
}

static char *
idx_place (GradusSource *source, gint64 sample)
{
  GradusIdx *labels = ((IdxSource *) source)->files[source->echoes ? 0 : source->n_inputs];

  return g_strdup_printf (_ ("%s, sample %" PRId64 " (byte %" PRId64 ")"), labels->file.path,
                          sample, gradus_idx_byte (labels, sample));
}

static void
idx_free (GradusSource *source)
{
  IdxSource *self = (IdxSource *) source;

  for (guint k = 0; k < G_N_ELEMENTS (self->files); k++)
    {
      g_clear_pointer (&self->files[k], gradus_idx_free);
      g_free (self->names[k]);
    }
  g_free (self);
}

static const GradusSourceFuncs idx_funcs = {
  .read = idx_read,
  .peek = idx_peek,
  .fingerprint = idx_fingerprint,
  .place = idx_place,
  .free = idx_free,
};

static gboolean
add_file (IdxSource  *self,
          gboolean    input,
          const char *name,
          const char *file,
          const char *base,
          GError    **error)
{
  GradusSource    *source = &self->parent;
  g_autofree char *path = g_canonicalize_filename (file, base);
  GradusIdx       *idx = gradus_idx_open (path, error);
  GradusArraySpec *spec;

  if (idx == NULL)
    return FALSE;
  self->files[self->n_files] = idx;
  spec = input ? &source->inputs[source->n_inputs++] : &source->targets[source->n_targets++];
  spec->name = self->names[self->n_files++] = g_strdup (name);
  spec->dtype = idx->dtype;
  spec->rank = idx->rank;
  for (guint i = 0; i < idx->rank; i++)
    spec->dims[i] = idx->dims[i];
  source->resident += idx->data != NULL ? idx->n * idx->row : 0;

  if (self->n_files == 1)
    source->n_samples = idx->n;
  if (idx->n != source->n_samples)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s has %" PRId64 " samples, but %s has %" PRId64
                      ". They must belong together, sample by sample."),
                   self->files[0]->file.path, source->n_samples, path, idx->n);
      return FALSE;
    }
  if (input && idx->rank == 0)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("%s holds single values, as labels are, but stands as an input. Is it the "
                      "file for “targets”? An input needs at least two axes in its file."),
                   path);
      return FALSE;
    }
  return TRUE;
}

/* A file, or several by name. */
static void
add_files (IdxSource *self, GradusJsonObject *spec, const char *key, const char *base)
{
  gboolean input = g_str_equal (key, "inputs");
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusJsonObject) by_name = NULL;
  JsonNode *node = gradus_json_node (spec, key);
  g_autoptr (GList) names = NULL;
  const char *file;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      file = gradus_json_string (spec, key, NULL);
      if (file != NULL && !add_file (self, input, key, file, base, &error))
        gradus_json_take_error (spec, g_steal_pointer (&error));
      return;
    }
  by_name = gradus_json_object (spec, key);
  if (by_name == NULL)
    return;
  names = json_object_get_members (gradus_json_peek (by_name));
  if (names == NULL || g_list_length (names) > GRADUS_SOURCE_MAX_ARRAYS)
    gradus_json_refuse (spec, key, _ ("From 1 to %d files by name are possible."),
                        GRADUS_SOURCE_MAX_ARRAYS);
  for (GList *l = names; l != NULL && !gradus_json_failed (spec); l = l->next)
    {
      file = gradus_json_string (by_name, l->data, NULL);
      if (file == NULL)
        gradus_json_require (by_name, l->data, NULL);
      else if (!add_file (self, input, l->data, file, base, &error))
        gradus_json_take_error (spec, g_steal_pointer (&error));
    }
}

GradusSource *
gradus_idx_source_open (GradusJsonObject *spec, const char *base, GError **error)
{
  IdxSource *self = g_new0 (IdxSource, 1);

  self->parent.funcs = &idx_funcs;
  gradus_json_require (spec, "inputs", "targets", NULL);
  if (!gradus_json_failed (spec))
    add_files (self, spec, "inputs", base);
  if (!gradus_json_failed (spec) && !(self->parent.echoes = gradus_source_echoes (spec)))
    add_files (self, spec, "targets", base);
  if (gradus_json_check (spec, error))
    return &self->parent;
  gradus_source_free (&self->parent);
  return NULL;
}
