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
} Fill;

typedef enum
{
  FAN_IN,
  FAN_AVERAGE,
} Fan;

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
};

/* The deviation of a standard normal that is cut at two deviations. */
#define TRUNCATED_DEVIATION 0.87962566103423978

static gboolean
find_row (const char *name, guint *kind)
{
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
  if (row->fill != FILL_CONSTANT)
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
variance (const Row *row, const GradusShape *shape)
{
  double window = 1, in, out;

  if (shape->rank == 0)
    return row->scale;
  for (guint i = 0; i + 2 < shape->rank; i++)
    window *= shape->dims[i];
  in = window * shape->dims[shape->rank < 2 ? 0 : shape->rank - 2];
  out = window * shape->dims[shape->rank - 1];
  return row->scale / MAX (1.0, row->fan == FAN_IN ? in : (in + out) / 2);
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
  double       limit = sqrt (3 * variance (row, shape));
  double       deviation = sqrt (variance (row, shape)) / TRUNCATED_DEVIATION;

  if (self->has_seed)
    random = gradus_philox ((guint64) self->seed, gradus_philox_stream (stream), 0);
  for (gsize i = 0; i < n; i++)
    switch (row->fill)
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
        data[i] = deviation * truncated (&random, i, n);
        break;
      }
}
