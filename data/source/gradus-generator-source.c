/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-generator-source.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

#include "gradus-philox.h"

#define MAX_SAMPLES 1000000000

typedef struct
{
  GradusSource parent;
  double       noise;
  guint64      seed;
  char        *part;
  GradusPhilox inputs, noises;
} LineSource;

static gboolean
line_read (GradusSource *source,
           const gint64 *samples,
           guint         n,
           void *const  *inputs,
           void *const  *targets,
           GError      **error)
{
  LineSource *self = (LineSource *) source;

  for (guint i = 0; i < n; i++)
    {
      double x = 2 * gradus_philox_double (&self->inputs, samples[i]) - 1;
      /* The target belongs to the input as the model will see it. */
      float rounded = (float) x;

      if (inputs != NULL && inputs[0] != NULL)
        ((float *) inputs[0])[i] = rounded;
      if (targets != NULL && targets[0] != NULL)
        ((float *) targets[0])[i] =
            (float) (3.0 * rounded + 2.0
                     + self->noise * gradus_philox_normal (&self->noises, samples[i]));
    }
  return TRUE;
}

static gboolean
line_fingerprint (GradusSource *source, GChecksum *checksum, GError **error)
{
  LineSource      *self = (LineSource *) source;
  char             noise[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text =
      g_strdup_printf ("line %" G_GINT64_FORMAT " %s %" G_GUINT64_FORMAT " %s\n", source->n_samples,
                       g_ascii_dtostr (noise, sizeof noise, self->noise), self->seed, self->part);

  g_checksum_update (checksum, (const guchar *) text, -1);
  return TRUE;
}

static char *
line_place (GradusSource *source, gint64 sample)
{
  return g_strdup_printf (_ ("The generator “line”, sample %" PRId64), sample);
}

static void
line_free (GradusSource *source)
{
  g_free (((LineSource *) source)->part);
  g_free (source);
}

static const GradusSourceFuncs line_funcs = {
  .read = line_read,
  .fingerprint = line_fingerprint,
  .place = line_place,
  .free = line_free,
};

static GradusSource *
line_new (gint64 n_samples, double noise, guint64 seed, const char *part)
{
  LineSource           *self = g_new0 (LineSource, 1);
  const GradusArraySpec one = { .dtype = GRADUS_DTYPE_FLOAT32, .rank = 1, .dims = { 1 } };
  g_autofree char      *inputs = g_strconcat ("line/x/", part, NULL);
  g_autofree char      *noises = g_strconcat ("line/noise/", part, NULL);

  self->parent.funcs = &line_funcs;
  self->parent.n_samples = n_samples;
  self->parent.n_inputs = self->parent.n_targets = 1;
  self->parent.inputs[0] = self->parent.targets[0] = one;
  self->parent.inputs[0].name = "inputs";
  self->parent.targets[0].name = "targets";
  self->noise = noise;
  self->seed = seed;
  self->part = g_strdup (part);
  self->inputs = gradus_philox (seed, gradus_philox_stream (inputs), 0);
  self->noises = gradus_philox (seed, gradus_philox_stream (noises), 0);
  return &self->parent;
}

GradusSource *
gradus_generator_source_open (GradusJsonObject *spec,
                              guint64           seed,
                              const char       *part,
                              GError          **error)
{
  static const char *const names[] = { "line", "blobs", "moons",      "circles", "spirals",
                                       "xor",  "sine",  "regression", NULL };
  int                      which;
  gint64                   n_samples;
  double                   noise;

  gradus_json_require (spec, "generator", NULL);
  which = gradus_json_enum (spec, "generator", names, 0);
  if (which != 0)
    gradus_json_refuse_unavailable (spec, "generator", names[which]);
  n_samples = gradus_json_int (spec, "samples", 1, MAX_SAMPLES, 1024);
  noise = gradus_json_double (spec, "noise", 0, 1e6, 0.1);
  if (gradus_json_has (spec, "features") || gradus_json_has (spec, "classes"))
    gradus_json_refuse (spec, NULL,
                        _ ("The generator “line” has one feature and no classes; remove "
                           "“features” and “classes”."));
  if (!gradus_json_check (spec, error))
    return NULL;
  return line_new (n_samples, noise, seed, part);
}
