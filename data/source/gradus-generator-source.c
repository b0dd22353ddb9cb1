/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-generator-source.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>

#include "gradus-generator-shapes.h"
#include "gradus-philox.h"

#define MAX_SAMPLES 1000000000
#define MAX_FEATURES 4096
#define MAX_CLASSES 4096

typedef struct _GeneratorSource GeneratorSource;

/* One sample: the inputs, and the target as a class or as a number. */
typedef void (*MakeFunc) (const GeneratorSource *self, gint64 sample, float *x, double *target);

typedef struct
{
  const char *name;
  MakeFunc    make;
  gboolean    is_class;
  guint       features, classes;            /* without the keys; 0: not counted */
  gboolean    has_features, has_classes;    /* whether the keys are there */
} Kind;

struct _GeneratorSource
{
  GradusSource parent;
  const Kind  *kind;
  double       noise;
  guint        features, classes, size;
  guint64      seed;
  char        *part;
  GradusPhilox inputs, noises, fixed;
  guint        shapes[GRADUS_N_SHAPE_TARGETS]; /* which target each is */
};

static double
noise_at (const GeneratorSource *self, guint64 i)
{
  return self->noise * gradus_philox_normal (&self->noises, i);
}

static double
uniform_at (const GeneratorSource *self, guint64 i)
{
  return gradus_philox_double (&self->inputs, i);
}

static guint
class_at (const GeneratorSource *self, guint64 i)
{
  return MIN ((guint) (uniform_at (self, i) * self->classes), self->classes - 1);
}

static void
make_line (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  /* The target belongs to the input as the model will see it. */
  x[0] = (float) (2 * uniform_at (self, sample) - 1);
  *target = 3.0 * (double) x[0] + 2.0 + noise_at (self, sample);
}

static void
make_sine (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  x[0] = (float) (2 * uniform_at (self, sample) - 1);
  *target = sin (G_PI * (double) x[0]) + noise_at (self, sample);
}

static void
make_regression (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  *target = noise_at (self, sample);
  for (guint k = 0; k < self->features; k++)
    {
      x[k] = (float) gradus_philox_normal (&self->inputs, sample * self->features + k);
      *target += (2 * gradus_philox_double (&self->fixed, k) - 1) * (double) x[k];
    }
}

static void
add_noise (const GeneratorSource *self, gint64 sample, float *x)
{
  for (guint k = 0; k < self->features; k++)
    x[k] = (float) ((double) x[k] + noise_at (self, sample * self->features + k));
}

static void
make_blobs (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  guint class = class_at (self, sample);

  for (guint k = 0; k < self->features; k++)
    x[k] = (float) (2 * gradus_philox_double (&self->fixed, class * self->features + k) - 1);
  add_noise (self, sample, x);
  *target = class;
}

static void
make_moons (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  double turn = G_PI * uniform_at (self, 2 * sample + 1);
  guint class = class_at (self, 2 * sample);

  x[0] = (float) (class == 0 ? cos (turn) : 1 - cos (turn));
  x[1] = (float) (class == 0 ? sin (turn) : 0.5 - sin (turn));
  add_noise (self, sample, x);
  *target = class;
}

static void
make_circles (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  double turn = 2 * G_PI * uniform_at (self, 2 * sample + 1);
  guint class = class_at (self, 2 * sample);
  double radius = class == 0 ? 1 : 0.5;

  x[0] = (float) (radius * cos (turn));
  x[1] = (float) (radius * sin (turn));
  add_noise (self, sample, x);
  *target = class;
}

static void
make_spirals (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  /* As many points per length of the arm everywhere. */
  double radius = sqrt (uniform_at (self, 2 * sample + 1));
  guint class = class_at (self, 2 * sample);
  double turn = 2 * G_PI * (1.5 * radius + (double) class / self->classes);

  x[0] = (float) (radius * cos (turn));
  x[1] = (float) (radius * sin (turn));
  add_noise (self, sample, x);
  *target = class;
}

static void
make_xor (const GeneratorSource *self, gint64 sample, float *x, double *target)
{
  guint negative = 0;

  for (guint k = 0; k < self->features; k++)
    {
      x[k] = (float) (2 * uniform_at (self, sample * self->features + k) - 1);
      negative += x[k] < 0;
    }
  add_noise (self, sample, x);
  *target = negative % 2;
}

static const Kind kinds[] = {
  { "line", make_line, FALSE, 1, 0, FALSE, FALSE },
  { "blobs", make_blobs, TRUE, 2, 3, TRUE, TRUE },
  { "moons", make_moons, TRUE, 2, 2, FALSE, FALSE },
  { "circles", make_circles, TRUE, 2, 2, FALSE, FALSE },
  { "spirals", make_spirals, TRUE, 2, 2, FALSE, TRUE },
  { "xor", make_xor, TRUE, 2, 2, TRUE, FALSE },
  { "sine", make_sine, FALSE, 1, 0, FALSE, FALSE },
  { "regression", make_regression, FALSE, 8, 0, TRUE, FALSE },
  { "shapes", NULL, FALSE, 0, 0, FALSE, FALSE },
};

static void
read_shapes (GeneratorSource *self, gint64 sample, guint i, void *const *inputs, void *const *targets)
{
  GradusShapePicture picture;
  gsize              pixels = (gsize) self->size * self->size;

  gradus_shape_picture_draw (&picture, &self->inputs, sample);
  if (inputs != NULL && inputs[0] != NULL)
    gradus_shape_picture_image (&picture, self->size, &self->noises, sample, self->noise,
                                (float *) inputs[0] + i * pixels);
  for (guint k = 0; targets != NULL && k < self->parent.n_targets; k++)
    if (targets[k] != NULL)
      gradus_shape_picture_target (&picture, self->size, self->shapes[k],
                                   (char *) targets[k]
                                       + i * gradus_array_spec_bytes (&self->parent.targets[k]));
}

static gboolean
generator_read (GradusSource *source,
                const gint64 *samples,
                guint         n,
                void *const  *inputs,
                void *const  *targets,
                GError      **error)
{
  GeneratorSource  *self = (GeneratorSource *) source;
  g_autofree float *row = g_new (float, MAX (self->features, 1));

  for (guint i = 0; i < n; i++)
    {
      double target;
      float *x = inputs != NULL && inputs[0] != NULL ? (float *) inputs[0] + i * self->features : row;

      if (self->kind->make == NULL)
        {
          read_shapes (self, samples[i], i, inputs, targets);
          continue;
        }
      self->kind->make (self, samples[i], x, &target);
      if (targets == NULL || targets[0] == NULL)
        continue;
      if (self->kind->is_class)
        ((gint32 *) targets[0])[i] = (gint32) target;
      else
        ((float *) targets[0])[i] = (float) target;
    }
  return TRUE;
}

static gboolean
generator_fingerprint (GradusSource *source, GChecksum *checksum, GError **error)
{
  GeneratorSource *self = (GeneratorSource *) source;
  char             noise[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text =
      g_strdup_printf ("%s %" G_GINT64_FORMAT " %s %" G_GUINT64_FORMAT " %s\n", self->kind->name,
                       source->n_samples, g_ascii_dtostr (noise, sizeof noise, self->noise),
                       self->seed, self->part);
  g_autofree char *more = g_strdup_printf ("%u %u %u\n", self->features, self->classes, self->size);

  g_checksum_update (checksum, (const guchar *) text, -1);
  if (self->kind->make != make_line)
    g_checksum_update (checksum, (const guchar *) more, -1);
  for (guint k = 0; k < source->n_targets && self->kind->make == NULL; k++)
    g_checksum_update (checksum, (const guchar *) source->targets[k].name, -1);
  return TRUE;
}

static char *
generator_place (GradusSource *source, gint64 sample)
{
  return g_strdup_printf (_ ("The generator “%s”, sample %" PRId64),
                          ((GeneratorSource *) source)->kind->name, sample);
}

static void
generator_free (GradusSource *source)
{
  g_free (((GeneratorSource *) source)->part);
  g_free (source);
}

static const GradusSourceFuncs generator_funcs = {
  .read = generator_read,
  .fingerprint = generator_fingerprint,
  .place = generator_place,
  .free = generator_free,
};

static GradusPhilox
stream (GeneratorSource *self, const char *what, const char *part)
{
  g_autofree char *name = g_strconcat (self->kind->name, "/", what, "/", part, NULL);

  return gradus_philox (self->seed, gradus_philox_stream (name), 0);
}

static void
read_count (GradusJsonObject *spec, const Kind *kind, const char *key, gboolean takes, guint least,
            guint most, guint *value)
{
  if (takes)
    *value = gradus_json_int (spec, key, least, most, *value);
  else if (gradus_json_has (spec, key))
    gradus_json_refuse (spec, key, _ ("The generator “%s” has no choice here; remove the key."),
                        kind->name);
}

static void
read_shape_targets (GeneratorSource *self, GradusJsonObject *spec)
{
  g_autoptr (GradusJsonArray) list = gradus_json_array (spec, "targets", GRADUS_N_SHAPE_TARGETS);
  guint n = list != NULL ? gradus_json_array_length (list) : 1;

  if (n == 0)
    gradus_json_refuse (spec, "targets", _ ("At least one target is needed, such as “mask”."));
  for (guint k = 0; k < n && !gradus_json_failed (spec); k++)
    {
      const char *name = list != NULL ? gradus_json_array_string (list, k) : "mask";
      int         which = name != NULL ? gradus_shape_target_find (name) : -1;

      if (which < 0 && name != NULL)
        gradus_json_array_refuse (list, k,
                                  _ ("There is no target “%s”; mask, shape, half and position are "
                                     "the ones there are."),
                                  name);
      for (guint other = 0; other < k && which >= 0; other++)
        if (self->shapes[other] == (guint) which)
          gradus_json_array_refuse (list, k, _ ("“%s” stands twice in the list; remove one."), name);
      if (gradus_json_failed (spec))
        return;
      self->shapes[k] = which;
      gradus_shape_target_spec (which, self->size, &self->parent.targets[k]);
    }
  self->parent.n_targets = n;
}

static void
make_specs (GeneratorSource *self, GradusJsonObject *spec)
{
  GradusSource *source = &self->parent;

  source->n_inputs = source->n_targets = 1;
  if (self->kind->make == NULL)
    {
      source->inputs[0] = (GradusArraySpec){ .name = "image",
                                             .dtype = GRADUS_DTYPE_FLOAT32,
                                             .rank = 3,
                                             .dims = { self->size, self->size, 1 } };
      read_shape_targets (self, spec);
      return;
    }
  source->inputs[0] = (GradusArraySpec){
    .name = "inputs", .dtype = GRADUS_DTYPE_FLOAT32, .rank = 1, .dims = { self->features }
  };
  source->targets[0] = (GradusArraySpec){ .name = "targets",
                                          .dtype = self->kind->is_class ? GRADUS_DTYPE_INT32
                                                                        : GRADUS_DTYPE_FLOAT32,
                                          .rank = self->kind->is_class ? 0 : 1,
                                          .dims = { 1 } };
}

GradusSource *
gradus_generator_source_open (GradusJsonObject *spec,
                              guint64           seed,
                              const char       *part,
                              GError          **error)
{
  const char       *names[G_N_ELEMENTS (kinds) + 1] = { NULL };
  GeneratorSource  *self = g_new0 (GeneratorSource, 1);
  const Kind       *kind;

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    names[i] = kinds[i].name;
  gradus_json_require (spec, "generator", NULL);
  kind = self->kind = &kinds[MAX (gradus_json_enum (spec, "generator", names, 0), 0)];
  self->parent.funcs = &generator_funcs;
  self->parent.n_samples = gradus_json_int (spec, "samples", 1, MAX_SAMPLES, 1024);
  self->noise = gradus_json_double (spec, "noise", 0, 1e6, 0.1);
  self->features = kind->features;
  self->classes = kind->classes;
  self->size = 32;
  read_count (spec, kind, "features", kind->has_features, 1, MAX_FEATURES, &self->features);
  read_count (spec, kind, "classes", kind->has_classes, 2, MAX_CLASSES, &self->classes);
  read_count (spec, kind, "size", kind->make == NULL, 16, 256, &self->size);
  self->seed = seed;
  self->part = g_strdup (part);
  self->inputs = stream (self, "x", part);
  self->noises = stream (self, "noise", part);
  self->fixed = stream (self, "fixed", "all");
  make_specs (self, spec);
  if (gradus_json_check (spec, error))
    return &self->parent;
  gradus_source_free (&self->parent);
  return NULL;
}
