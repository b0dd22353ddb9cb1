/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-initializer.h"

#include "gradus-philox.h"

#include <glib/gi18n-lib.h>
#include <math.h>

typedef enum
{
  FILL_CONSTANT,  /* a */
  FILL_UNIFORM,   /* from a to b */
  FILL_NORMAL,    /* mean a, deviation b */
  FILL_TRUNCATED, /* likewise, cut at two deviations */
  FILL_SCALED_UNIFORM,
  FILL_SCALED_NORMAL, /* truncated */
  FILL_VARIANCE,      /* scale a, with the initialiser's own mode and distribution */
  FILL_ORTHOGONAL,    /* gain a */
  FILL_IDENTITY,      /* gain a */
} Fill;

typedef enum
{
  FAN_IN,
  FAN_OUT,
  FAN_AVERAGE,
} Fan;

static const char *const mode_names[] = { "fan_in", "fan_out", "fan_avg", NULL };
static const char *const distribution_names[] = { "truncated_normal", "untruncated_normal", "uniform", "normal", NULL };
enum { TRUNCATED, UNTRUNCATED, UNIFORM, NORMAL };

typedef struct
{
  const char *name, *class_name;
  Fill        fill;
  double      scale; /* of variance scaling */
  Fan         fan;
  const char *first, *second; /* argument names */
  double      a, b;           /* their defaults */
} Row;

static const Row rows[] = {
  { "zeros", "Zeros", FILL_CONSTANT, 0, 0, NULL, NULL, 0, 0 },
  { "ones", "Ones", FILL_CONSTANT, 0, 0, NULL, NULL, 1, 0 },
  { "constant", "Constant", FILL_CONSTANT, 0, 0, "value", NULL, 0, 0 },
  { "random_uniform", "RandomUniform", FILL_UNIFORM, 0, 0, "minval", "maxval", -0.05, 0.05 },
  { "random_normal", "RandomNormal", FILL_NORMAL, 0, 0, "mean", "stddev", 0, 0.05 },
  { "truncated_normal", "TruncatedNormal", FILL_TRUNCATED, 0, 0, "mean", "stddev", 0, 0.05 },
  { "glorot_uniform", "GlorotUniform", FILL_SCALED_UNIFORM, 1, FAN_AVERAGE, NULL, NULL, 0, 0 },
  { "glorot_normal", "GlorotNormal", FILL_SCALED_NORMAL, 1, FAN_AVERAGE, NULL, NULL, 0, 0 },
  { "he_uniform", "HeUniform", FILL_SCALED_UNIFORM, 2, FAN_IN, NULL, NULL, 0, 0 },
  { "he_normal", "HeNormal", FILL_SCALED_NORMAL, 2, FAN_IN, NULL, NULL, 0, 0 },
  { "lecun_uniform", "LecunUniform", FILL_SCALED_UNIFORM, 1, FAN_IN, NULL, NULL, 0, 0 },
  { "lecun_normal", "LecunNormal", FILL_SCALED_NORMAL, 1, FAN_IN, NULL, NULL, 0, 0 },
  { "variance_scaling", "VarianceScaling", FILL_VARIANCE, 0, 0, "scale", NULL, 1, 0 },
  { "orthogonal", "Orthogonal", FILL_ORTHOGONAL, 0, 0, "gain", NULL, 1, 0 },
  { "identity", "Identity", FILL_IDENTITY, 0, 0, "gain", NULL, 1, 0 },
};

/* The deviation of a standard normal that is cut at two deviations. */
#define TRUNCATED_DEVIATION 0.87962566103423978

static gboolean
find_row (const char *name, guint *kind)
{
  /* Short names of Keras's. */
  if (g_str_equal (name, "uniform"))
    name = "random_uniform";
  else if (g_str_equal (name, "normal"))
    name = "random_normal";
  else if (g_str_equal (name, "OrthogonalInitializer"))
    name = "orthogonal";
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (name, rows[i].name) || g_str_equal (name, rows[i].class_name))
      {
        *kind = i;
        return TRUE;
      }
  return FALSE;
}

static void
refuse_name (GradusJsonObject *cursor, const char *key, const char *name)
{
  const char *names[2 * G_N_ELEMENTS (rows) + 1] = { NULL };
  const char *near;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      names[2 * i] = rows[i].name;
      names[2 * i + 1] = rows[i].class_name;
    }
  near = gradus_json_nearest (name, names);
  if (near != NULL)
    gradus_json_refuse (cursor, key, _("There is no initializer “%s”; did you mean “%s”?"), name,
                        near);
  else
    gradus_json_refuse (cursor, key,
                        _("This version of Gradus has no initializer “%s”; choose one such as "
                          "“glorot_uniform” or “he_normal”."),
                        name);
}

const GradusInitializer *
gradus_initializer_named (const char *name)
{
  static GradusInitializer *all;
  guint kind;

  if (g_once_init_enter (&all))
    {
      GradusInitializer *made = g_new0 (GradusInitializer, G_N_ELEMENTS (rows));

      for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
        made[i] = (GradusInitializer){ .kind = i, .a = rows[i].a, .b = rows[i].b };
      g_once_init_leave (&all, made);
    }
  if (!find_row (name, &kind))
    g_assert_not_reached ();
  return &all[kind];
}

gboolean
gradus_initializer_read (GradusInitializer *self,
                         GradusJsonObject  *cursor,
                         const char        *key,
                         JsonNode          *node)
{
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  const char *name;

  *self = (GradusInitializer){ 0 };
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    name = json_node_get_string (node);
  else
    {
      if ((object = gradus_json_object (cursor, key)) == NULL)
        return FALSE;
      gradus_json_require (object, "class_name", NULL);
      if ((name = gradus_json_string (object, "class_name", NULL)) == NULL)
        return FALSE;
      config = gradus_json_object (object, "config");
    }
  if (!find_row (name, &self->kind))
    {
      refuse_name (object ? object : cursor, object ? "class_name" : key, name);
      return FALSE;
    }
  self->a = rows[self->kind].a;
  self->b = rows[self->kind].b;
  if (config == NULL)
    return TRUE;

  if (rows[self->kind].first)
    self->a = gradus_json_double (config, rows[self->kind].first, -1e30, 1e30, self->a);
  if (rows[self->kind].second)
    self->b = gradus_json_double (config, rows[self->kind].second, -1e30, 1e30, self->b);
  if (rows[self->kind].fill == FILL_VARIANCE)
    {
      self->mode = gradus_json_enum (config, "mode", mode_names, FAN_IN);
      self->distribution = gradus_json_enum (config, "distribution", distribution_names, TRUNCATED);
    }
  self->has_seed = gradus_json_has (config, "seed");
  if (self->has_seed)
    self->seed = gradus_json_int (config, "seed", G_MININT64, G_MAXINT64, 0);
  /* Keras 2 writes the type into some of them. */
  gradus_json_ignore (config, "dtype", NULL);
  gradus_json_unavailable (config, "input_axes", "output_axes", NULL);
  return gradus_json_end (config, NULL);
}

JsonNode *
gradus_initializer_write (const GradusInitializer *self)
{
  const Row  *row = &rows[self->kind];
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  if (row->first)
    json_object_set_double_member (config, row->first, self->a);
  if (row->second)
    json_object_set_double_member (config, row->second, self->b);
  if (row->fill == FILL_VARIANCE)
    {
      json_object_set_string_member (config, "mode", mode_names[self->mode]);
      json_object_set_string_member (config, "distribution", distribution_names[self->distribution]);
    }
  if (row->fill != FILL_CONSTANT && row->fill != FILL_IDENTITY)
    {
      if (self->has_seed)
        json_object_set_int_member (config, "seed", self->seed);
      else
        json_object_set_null_member (config, "seed");
    }
  json_object_set_string_member (object, "module", "keras.initializers");
  json_object_set_string_member (object, "class_name", row->class_name);
  json_object_set_object_member (object, "config", config);
  json_object_set_null_member (object, "registered_name");
  json_node_take_object (node, object);
  return node;
}

static double
variance (const GradusInitializer *self, const GradusShape *shape)
{
  const Row *row = &rows[self->kind];
  gboolean   own = row->fill == FILL_VARIANCE;
  double     scale = own ? self->a : row->scale, window = 1, in, out;
  Fan        fan = own ? self->mode : row->fan;

  if (shape->rank == 0)
    return scale;
  for (guint i = 0; i + 2 < shape->rank; i++)
    window *= shape->dims[i];
  in = window * shape->dims[shape->rank < 2 ? 0 : shape->rank - 2];
  out = window * shape->dims[shape->rank - 1];
  return scale / MAX (1.0, fan == FAN_IN ? in : fan == FAN_OUT ? out : (in + out) / 2);
}

/* Draws outside two deviations are drawn again from the next numbers of the same sequence that no
 * other element uses. */
static double
truncated (const GradusPhilox *random, guint64 i, guint64 n)
{
  double x = gradus_philox_normal (random, i);

  for (guint64 redraw = 1; fabs (x) > 2; redraw++)
    x = gradus_philox_normal (random, i + redraw * n);
  return x;
}

/* Columns of a matrix with more rows than columns, made orthonormal one after the other (modified
 * Gram and Schmidt, twice, so that it holds to the last digits). A column's sign is that of its draw,
 * as after a QR decomposition whose R has a positive diagonal. */
static void
orthogonalise (double *q, gint64 rows_of, gint64 columns)
{
  for (gint64 c = 0; c < columns; c++)
    {
      double *column = q + c * rows_of, norm = 0;

      for (guint pass = 0; pass < 2; pass++)
        for (gint64 before = 0; before < c; before++)
          {
            const double *other = q + before * rows_of;
            double        dot = 0;

            for (gint64 i = 0; i < rows_of; i++)
              dot += column[i] * other[i];
            for (gint64 i = 0; i < rows_of; i++)
              column[i] -= dot * other[i];
          }
      for (gint64 i = 0; i < rows_of; i++)
        norm += column[i] * column[i];
      norm = sqrt (norm);
      for (gint64 i = 0; i < rows_of; i++)
        column[i] = norm > 0 ? column[i] / norm : i == c;
    }
}

/* Keras's: a matrix of all axes but the last by the last, with orthonormal rows or columns, whichever
 * are fewer. */
static void
fill_orthogonal (const GradusInitializer *self, const GradusPhilox *random, const GradusShape *shape, float *data, gsize n)
{
  gint64 columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1, m = columns > 0 ? (gint64) n / columns : 0;
  gint64 longer = MAX (m, columns), shorter = MIN (m, columns);
  g_autofree double *q = g_try_new (double, MAX (1, n));

  if (q == NULL)
    return;
  for (gint64 i = 0; i < shorter; i++)
    for (gint64 j = 0; j < longer; j++)
      q[i * longer + j] = gradus_philox_normal (random, (guint64) (j * shorter + i));
  orthogonalise (q, longer, shorter);
  for (gint64 i = 0; i < m; i++)
    for (gint64 j = 0; j < columns; j++)
      data[i * columns + j] = (float) (self->a * (m >= columns ? q[j * longer + i] : q[i * longer + j]));
}

static void
fill_identity (const GradusInitializer *self, const GradusShape *shape, float *data, gsize n)
{
  gint64 columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;

  for (gsize i = 0; i < n; i++)
    data[i] = (gint64) i / columns == (gint64) i % columns ? (float) self->a : 0.0f;
}

void
gradus_initializer_fill (const GradusInitializer *self,
                         const GradusShape       *shape,
                         guint64                  seed,
                         const char              *stream,
                         float                   *data,
                         gsize                    n)
{
  const Row   *row = &rows[self->kind];
  GradusPhilox random = gradus_philox (seed, gradus_philox_stream (stream), 0);
  Fill         fill = row->fill;
  double       limit = sqrt (3 * variance (self, shape));
  double       deviation = sqrt (variance (self, shape)) / TRUNCATED_DEVIATION;

  if (self->has_seed)
    random = gradus_philox ((guint64) self->seed, gradus_philox_stream (stream), 0);
  if (fill == FILL_ORTHOGONAL)
    fill_orthogonal (self, &random, shape, data, n);
  if (fill == FILL_IDENTITY)
    fill_identity (self, shape, data, n);
  if (fill == FILL_VARIANCE)
    fill = self->distribution == UNIFORM ? FILL_SCALED_UNIFORM : FILL_SCALED_NORMAL;
  for (gsize i = 0; i < n; i++)
    switch (fill)
      {
      case FILL_CONSTANT:
        data[i] = self->a;
        break;
      case FILL_UNIFORM:
        data[i] = self->a + (self->b - self->a) * gradus_philox_double (&random, i);
        break;
      case FILL_NORMAL:
        data[i] = self->a + self->b * gradus_philox_normal (&random, i);
        break;
      case FILL_TRUNCATED:
        data[i] = self->a + self->b * truncated (&random, i, n);
        break;
      case FILL_SCALED_UNIFORM:
        data[i] = limit * (2 * gradus_philox_double (&random, i) - 1);
        break;
      case FILL_SCALED_NORMAL:
        if (row->fill == FILL_VARIANCE && self->distribution == UNTRUNCATED)
          data[i] = sqrt (variance (self, shape)) * gradus_philox_normal (&random, i);
        else
          data[i] = deviation * truncated (&random, i, n);
        break;
      case FILL_VARIANCE:
      case FILL_ORTHOGONAL:
      case FILL_IDENTITY:
        break;
      }
}
